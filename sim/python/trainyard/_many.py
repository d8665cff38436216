"""Many runs: sweeps over values, the search for the best layout."""
import csv
import ctypes
import json
import pathlib
import tempfile
import threading
import warnings
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _library as c
from ._catalogues import table, table_html
from ._source import Overlays, Settings, Source, SourceLike, alternatives, value_text

# Columns of a sweep that are texts, whatever they look like.
_TEXTS = ("framework", "error")


def _value(text: str) -> Any:
    """A cell as the number that it is; a text stays."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _row(row: Mapping[str, str]) -> Dict[str, Any]:
    """Figures that there are none of are NaN in a row with an error."""
    found = {name: text if name in _TEXTS else _value(text) for name, text in row.items()}
    bare = {name: float("nan") for name in _FIGURES if found.get(name) == ""}
    return {**found, **bare, "fits": row["fits"] == "1"}


_FIGURES = ("step_time_s", "mfu", "hfu", "tokens_per_s", "bubble_fraction", "peak_memory_bytes",
            "days_for_tokens", "gpu_hours", "cost", "cost_per_billion_tokens", "step_low_s",
            "step_high_s")


def _cell(value: Any) -> str:
    if value is None or value != value:  # NaN: what pandas puts where a column has no value
        return ""
    return value if isinstance(value, str) else value_text(value)


def _write_rows(path: pathlib.Path, rows: Any) -> None:
    records = rows.to_dict("records") if hasattr(rows, "to_dict") else [dict(row) for row in rows]
    if not records:
        raise ValueError("a sweep needs a row")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in records)


def sweep(source: SourceLike, over: Optional[Mapping[str, Any]] = None, rows: Any = None, *,
          sets: Settings = None, overlays: Overlays = (), jobs: int = 0,
          uncertain: bool = False) -> Any:
    """Simulates every combination of `over`, or every row of `rows`; Ctrl-C ends it.

    over    {"layout.tensor": [1, 2, 4], "schedule.name": ["1f1b", "zb-v"]}, the last varies
            fastest; a warning tells of combinations that are left out since they cannot be
    rows    a DataFrame or dictionaries whose columns name keys of the run file; others pass through
    jobs    threads; 0: one per core

    A table of a row each, in order: what varied, step_time_s (seconds), mfu, hfu, tokens_per_s,
    bubble_fraction, peak_memory_bytes (of the fullest stage), fits, framework, error: why a row
    cannot be, whose figures are NaN then. With `uncertain` step_low_s and step_high_s: ends of the
    90 % band.
    """
    if (over is None) == (rows is None):
        raise ValueError("a sweep needs over={key: values} or rows=a table, and one of them")
    given, stop = Source(source, sets, overlays), c.Stop()
    values, summary = c.Texts(alternatives(over)), c.SweepSummary()
    with tempfile.TemporaryDirectory() as folder:
        listed, output = pathlib.Path(folder, "rows.csv"), pathlib.Path(folder, "table.csv")
        if rows is not None:
            _write_rows(listed, rows)
        options = c.SweepOptions(
            path=given.c.path, text=given.c.text, with_=given.with_.pointer, n_with=given.with_.n,
            sets=given.sets.pointer, n_sets=given.sets.n, over=values.pointer, n_over=values.n,
            rows=c.encode(listed) if rows is not None else None, output=c.encode(output),
            jobs=jobs, uncertain=uncertain, stop=stop.pointer, summary=ctypes.pointer(summary))
        try:
            stop.watch(c.call, c.lib.ty_sweep_rows, ctypes.byref(options))
        finally:
            c.lib.ty_text_free(summary.best)
        if summary.left_out:
            warnings.warn(summary.left_out.decode(), stacklevel=2)
        with output.open(encoding="utf-8", newline="") as file:
            return table([_row(row) for row in csv.DictReader(file)])


class Layouts(NamedTuple):
    """The answer of `plan`.

    rows        the best layouts, a table: keys with their values, step_time_s, mfu,
                peak_memory_bytes, ...
    pareto      those that nothing beats in time, memory, GPUs and cost at once, a table
    tight       those that would be among the rows, but leave less memory free than the margin
    best        the best one as a run file, to go on with: trainyard.run(answer.best); "" where
                time was up before there was one
    exact       whether no layout of the space can be better
    stopped     whether time was up before the search was done
    report      all of `trainyard plan --stats json`
    """
    rows: Any
    pareto: Any
    tight: Any
    best: str
    exact: bool
    stopped: bool
    report: Dict[str, Any]

    def _repr_html_(self) -> str:
        proof = "no layout of the space is faster" if self.exact else "the search was not finished"
        return f"<p>{self.report['space']:,} layouts; {proof}</p>{table_html(self.rows)}"


def plan(source: SourceLike, gpus: Union[int, Sequence[int], None] = None, *, top: int = 10,
         over: Optional[Mapping[str, Any]] = None, objective: str = "time",
         sets: Settings = None, overlays: Overlays = (), jobs: int = 0, uneven: int = 0,
         meshes: int = 0, within_s: Optional[float] = None,
         margin: Union[float, str] = 0.05, uncertain: bool = False) -> Layouts:
    """Searches the layouts that a run file leaves open for the best (docs/guides/plan.md); Ctrl-C ends it.

    gpus        how many, or several; left out: those of the run file
    over        values that are searched of a key: {"layout.zero": [1, 3]}
    objective   "time", "cost" or "memory"
    uneven      layouts whose layers are then repartitioned unevenly
    meshes      cuts into stages on parts of the machine of different shape, then simulated
    within_s    after so many seconds the answer is the best so far
    uncertain   also bands of the rows: report["uncertainty"]
    margin      share of the memory that rows leave free; those that fit with less are `tight`

    Raises Error with status 1 where no layout fits and leaves the margin free.
    """
    counts: Iterable[int] = [gpus] if isinstance(gpus, int) else gpus or []
    given, values, stop = Source(source, sets, overlays), c.Texts(alternatives(over)), c.Stop()
    stopped = ctypes.c_bool(False)
    with tempfile.TemporaryDirectory() as folder:
        options = c.PlanOptions(
            source=given.c, gpus=c.encode(",".join(str(n) for n in counts)) or None,
            over=values.pointer, n_over=values.n, objective=c.encode(objective), top=top,
            uneven=uneven, meshes=meshes, jobs=jobs, folder=c.encode(folder), stats=b"json",
            margin=c.encode(str(margin)), uncertain=uncertain,
            stop=stop.pointer, stopped=ctypes.pointer(stopped))
        alarm = threading.Timer(within_s, stop.set) if within_s is not None else None
        if alarm is not None:
            alarm.daemon = True
            alarm.start()
        try:
            report = json.loads(stop.watch(c.call_text, c.lib.ty_plan, ctypes.byref(options)))
        finally:
            if alarm is not None:
                alarm.cancel()
                alarm.join()
        best = pathlib.Path(folder, "best.yaml")
        text = best.read_text(encoding="utf-8") if best.exists() else ""
    return Layouts(*(_layouts(report[name]) for name in ("rows", "pareto", "tight")), text,
                   report["exact"], stopped.value, report)


def _layouts(rows: List[Dict[str, Any]]) -> Any:
    """Without parts that are tables themselves."""
    return table([{name: value for name, value in row.items() if not isinstance(value, dict)}
                  for row in rows])
