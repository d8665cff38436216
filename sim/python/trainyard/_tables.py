"""Many runs, layouts, schedules, catalogues: answers as tables."""
import csv
import ctypes
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _library as c
from ._source import Settings, Source, SourceLike, name_and_text, settings, value_text

Path = Union[str, "os.PathLike[str]"]


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame where pandas is installed, else a list of dictionaries."""
    try:
        import pandas as pd
    except ImportError:
        return [dict(row) for row in rows]
    return pd.DataFrame(list(rows))


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _alternatives(over: Optional[Mapping[str, Iterable[Any]]]) -> List[str]:
    return [f"{key}={','.join(value_text(value) for value in values)}"
            for key, values in (over or {}).items()]


def _records(rows: Any) -> List[Dict[str, Any]]:
    return rows.to_dict("records") if hasattr(rows, "to_dict") else [dict(row) for row in rows]


def _run_file_in(folder: str, source: SourceLike) -> str:
    """The path of a run file; of a text, that of a file which holds it."""
    name, text = name_and_text(source)
    if text is None:
        return name
    path = pathlib.Path(folder, "run.yaml")
    path.write_text(text, encoding="utf-8")
    return str(path)


def sweep(source: SourceLike, over: Optional[Mapping[str, Iterable[Any]]] = None,
          rows: Any = None, *, sets: Settings = None, overlays: Iterable[Path] = (),
          jobs: int = 0) -> Any:
    """Simulates every combination of `over`, or every row of `rows`.

    over    {"layout.tensor": [1, 2, 4], "schedule.name": ["1f1b", "zb-v"]}; the last varies fastest
    rows    a DataFrame or dictionaries whose columns name keys of the run file; others pass through
    jobs    threads; 0: one per core

    A table of one row each, in order: what varied, step_time_s (seconds), mfu, hfu, tokens_per_s,
    bubble_fraction, peak_memory_bytes, fits (0 or 1), error (why a row cannot be; else "").
    """
    if (over is None) == (rows is None):
        raise ValueError("a sweep needs over={key: values} or rows=a table, and one of them")
    with tempfile.TemporaryDirectory() as folder:
        output = str(pathlib.Path(folder, "out.csv"))
        given, files = settings(sets), [os.fspath(path) for path in overlays]
        alternatives = _alternatives(over)
        options = c.SweepOptions(
            path=c.encode(_run_file_in(folder, source)), output=c.encode(output), jobs=jobs,
            rows=c.encode(_rows_file(folder, rows)) if rows is not None else None,
            over=ctypes.cast(c.array(alternatives), c.texts_t), n_over=len(alternatives),
            with_=ctypes.cast(c.array(files), c.texts_t), n_with=len(files),
            sets=ctypes.cast(c.array(given), c.texts_t), n_sets=len(given))
        c.call(c.lib.ty_sweep_rows, ctypes.byref(options))
        with open(output, encoding="utf-8", newline="") as file:
            return table([{k: v if k == "error" else _value(v) for k, v in row.items()}
                          for row in csv.DictReader(file)])


def _rows_file(folder: str, rows: Any) -> str:
    records = _records(rows)
    if not records:
        raise ValueError("a sweep needs a row")
    path = pathlib.Path(folder, "rows.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows({k: value_text(v) for k, v in row.items()} for row in records)
    return str(path)


class Layouts(NamedTuple):
    """The answer of `plan`: the best layouts, those that nothing beats in time, memory, GPUs and
    cost at once, whether no layout of the space can be better, and all that the command says."""
    rows: Any
    pareto: Any
    exact: bool
    report: Dict[str, Any]


def plan(source: SourceLike, gpus: Union[int, Sequence[int], None] = None, *, top: int = 10,
         over: Optional[Mapping[str, Iterable[Any]]] = None, objective: str = "time",
         sets: Settings = None, overlays: Iterable[Path] = (), jobs: int = 0) -> Layouts:
    """Searches the layouts that a run file leaves open for the best; docs/plan.md.

    gpus        how many, or several; left out: those of the run file
    objective   "time", "cost" or "memory"
    over        values that are searched of a key: {"layout.zero": [1, 3]}

    Raises Error with status 1 where no layout fits.
    """
    counts = [gpus] if isinstance(gpus, int) else list(gpus or [])
    alternatives = _alternatives(over)
    with tempfile.TemporaryDirectory() as folder:
        given = Source(_run_file_in(folder, source), sets, overlays)
        options = c.PlanOptions(
            source=given.c, gpus=",".join(map(str, counts)).encode() if counts else None,
            over=ctypes.cast(c.array(alternatives), c.texts_t), n_over=len(alternatives),
            objective=objective.encode(), top=top, jobs=jobs, stats=b"json")
        report = json.loads(c.call_text(c.lib.ty_plan, ctypes.byref(options)))
    return Layouts(table(report["rows"]), table(report["pareto"]), report["exact"], report)


# ---- schedules without a model ----

def _schedule_options(name: str, p: int, m: int, chunks: int, group: int, slices: int,
                      times: Optional[Mapping[str, float]], form: str,
                      text: Optional[str] = None) -> Any:
    given = ",".join(f"{key}={value:g}" for key, value in (times or {}).items())
    return c.ScheduleOptions(name=name.encode(), text=text.encode() if text is not None else None,
                             pipeline=p, micro_batches=m, chunks=chunks, group=group,
                             slices=slices, times=given.encode() if given else None,
                             format=form.encode())


def schedule(name: str, p: int = 0, m: int = 0, *, v: int = 0, group: int = 0, slices: int = 0,
             times: Optional[Mapping[str, float]] = None, slots: Optional[str] = None,
             form: str = "json") -> Any:
    """A pipeline schedule alone: p ranks, m micro-batches, v chunks a rank.

    times   {"F": 1, "B": 2, "I": 1, "W": 1, "C": 0}, of a virtual stage: forward, backward, its
            input and weight parts, delay of a message
    slots   an order of your own, "rank 0: F0.0 B0.0"; `name` then only names it
    form    "json": a dictionary; "gantt", "svg", "slots", "csv": a text
    """
    options = _schedule_options(name, p, m, v, group, slices, times, form, slots)
    shown = c.call_text(c.lib.ty_schedule_show, ctypes.byref(options))
    if form != "json":
        return shown
    answer = json.loads(shown)
    answer["times"] = dict(times or {})
    return answer


def compare(names: Sequence[str], p: int, m: int, *, v: int = 0, group: int = 0, slices: int = 0,
            times: Optional[Mapping[str, float]] = None, form: str = "gantt") -> str:
    """Schedules under one clock: a table and stacked charts, or with "svg" a picture of them.
    `times` are of a whole stage, whatever it is cut into."""
    options = _schedule_options(",".join(names), p, m, v, group, slices, times, form)
    return c.call_text(c.lib.ty_schedule_compare, ctypes.byref(options))


# ---- catalogues ----

def listed(what: str) -> Any:
    """A catalogue: "schedules", "models", "gpus", "clusters", "collectives", "formats", "figures",
    "frameworks": a table of name and about."""
    lines = c.call_text(c.lib.ty_list, what.encode()).splitlines()
    found = [line.split(None, 1) for line in lines if line.strip() and not line.startswith(" ")]
    return table([{"name": words[0], "about": words[1] if len(words) > 1 else ""}
                  for words in found])


def preset(what: str, name: str) -> str:
    """A preset of "models", "gpus", "clusters", "frameworks" as a section, with reasons."""
    return c.call_text(c.lib.ty_list_preset, what.encode(), name.encode())


def keys() -> Any:
    """All keys of run files: name, accepts, default ("" where there is none), doc, required."""
    pointer = ctypes.POINTER(c.Keys)()
    c.call(c.lib.ty_keys_new, ctypes.byref(pointer))
    try:
        all_keys = [pointer.contents.key[i] for i in range(pointer.contents.n)]
        return table([{"name": k.name.decode(), "accepts": k.accepts.decode(),
                       "default": (k.fallback or b"").decode(), "doc": k.doc.decode(),
                       "required": k.required} for k in all_keys])
    finally:
        c.lib.ty_keys_free(pointer)


def init(model: Optional[str] = None, cluster: Optional[str] = None, gpus: int = 0) -> str:
    """A commented run file with a layout that fits, as text."""
    options = c.InitOptions(c.encode(model), c.encode(cluster), gpus, None)
    return c.call_text(c.lib.ty_init, ctypes.byref(options))


def version() -> str:
    """Of the library."""
    return c.lib.ty_version().decode()
