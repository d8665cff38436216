"""One run: executed, asked, drawn."""
import ctypes
import html
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Union

try:
    import numpy as np
except ImportError as why:
    raise ImportError(f"trainyard needs numpy, which {sys.executable} does not have; install it, such "
                      "as with apt-get install python3-numpy") from why

from . import _library as c
from ._catalogues import catalogue, table, table_html
from ._source import Overlays, Settings, Source, SourceLike

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[Any]
    Times = npt.NDArray[np.uint64]

# Which format a timeline has by the end of its file's name.
_FORMATS = {".json": "chrome", ".json.gz": "chrome", ".pftrace": "perfetto",
            ".perfetto-trace": "perfetto", ".csv": "csv", ".csv.gz": "csv", ".svg": "svg",
            ".txt": "gantt"}


class _Column:
    """One of the library's arrays, as numpy asks for it: it keeps the memory that it shows."""

    def __init__(self, memory: c.Owned, pointer: Any, kind: Any, n: int) -> None:
        self._memory = memory
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        self.__array_interface__ = {"version": 3, "shape": (n,), "typestr": np.dtype(kind).str,
                                    "data": (address, True)}  # True: to be read only


class Tasks:
    """What ranks did, a row a task, as read-only numpy arrays over the library's own memory.

    Rows are rank by rank in rising order, each in its order of issue; tasks of one stream never
    overlap. The arrays live as long as someone has them, also without run and Tasks.

    start_ps, dur_ps                    picoseconds, from the start of the run
    rank, pass_                         global rank; number of the pass within the rank
    micro_batch, stage, step, layer     of the pass; layer 65535: none
    kind, stream, phase, category       numbers into kind_names, stream_names, ...
    """

    start_ps: "Times"
    dur_ps: "Times"
    rank: "Numbers"
    kind: "Numbers"
    pass_: "Numbers"
    micro_batch: "Numbers"
    stage: "Numbers"
    step: "Numbers"
    layer: "Numbers"
    stream: "Numbers"
    phase: "Numbers"
    category: "Numbers"
    kind_names: List[str]
    stream_names: List[str]
    phase_names: List[str]
    category_names: List[str]

    def __init__(self, pointer: Any) -> None:
        memory, tasks = c.Owned(c.lib.ty_tasks_free, pointer), pointer.contents
        self.n: int = tasks.n
        for name, kind in c.COLUMNS:
            setattr(self, name, np.asarray(_Column(memory, getattr(tasks, name), kind, self.n)))
        for name, count in c.NAMES.items():
            words = getattr(tasks, name + "_names")
            setattr(self, name + "_names",
                    [words[i].decode() for i in range(getattr(tasks, count))])

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"<trainyard.Tasks: {self.n:,} of {len(np.unique(self.rank)):,} ranks>"

    def of(self, **names: str) -> "npt.NDArray[np.bool_]":
        """Which rows are of these names: tasks.dur_ps[tasks.of(stream="compute")]."""
        rows = np.ones(self.n, dtype=bool)
        for column, name in names.items():
            known = getattr(self, f"{column}_names")
            if name not in known:
                raise KeyError(f"no {column} {name!r}; there are {', '.join(known)}")
            rows &= getattr(self, column) == known.index(name)
        return rows

    def frame(self) -> Any:
        """A copy as pandas DataFrame: names in place of numbers (as categories), seconds."""
        import pandas as pd
        columns: Dict[str, Any] = {"start_s": self.start_ps * 1e-12, "dur_s": self.dur_ps * 1e-12}
        for name, _ in c.COLUMNS[2:]:
            column = getattr(self, name)
            if name in c.NAMES:  # kinds of different groups may have one name
                names, number = np.unique(getattr(self, name + "_names"), return_inverse=True)
                column = pd.Categorical.from_codes(number[column], names)
            columns[name] = column
        return pd.DataFrame(columns)


class Planned:
    """A run file that was read and planned; `print` shows what it is, and its memory estimate."""

    def __init__(self, given: Source, plan: Any) -> None:
        self.name = given.name
        self._config = c.Owned(c.lib.ty_config_free)
        c.call(c.lib.ty_config_read, ctypes.byref(self._config.pointer), ctypes.byref(given.c))
        self._run = c.Owned(c.lib.ty_run_free, after=self._config)
        c.call(plan, ctypes.byref(self._run.pointer), self._config.pointer)

    def _text(self, function: Any, *arguments: Any) -> str:
        return c.call_text(function, self._run.pointer, *arguments)

    def config(self) -> str:
        """Every value with its unit and where it came from, a line a key."""
        return c.call_text(c.lib.ty_config_show, self._config.pointer)

    def check(self) -> str:
        """What `trainyard check` says: cluster, layout, tasks, memory estimate."""
        return self._text(c.lib.ty_run_report, b"check")

    def traffic(self) -> str:
        """Who talks over which class of link, and how many bytes a step."""
        return self._text(c.lib.ty_run_report, b"traffic")

    def layers(self) -> str:
        """The operators of each kind of layer, as one rank does them."""
        return self._text(c.lib.ty_run_report, b"layers")

    @property
    def fits(self) -> bool:
        """Whether every stage fits into the memory of its GPUs."""
        return bool(c.lib.ty_run_fits(self._run.pointer))

    @property
    def peak_memory_bytes(self) -> List[float]:
        """Bytes of a GPU of each stage at its fullest moment."""
        n = c.lib.ty_run_stage_memory(self._run.pointer, None, 0)
        peaks = (ctypes.c_double * n)()
        c.lib.ty_run_stage_memory(self._run.pointer, peaks, n)
        return list(peaks)

    def __str__(self) -> str:
        return self.check()

    def _repr_html_(self) -> str:
        """In a notebook: what `print` shows, in columns."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def __repr__(self) -> str:
        return f"<trainyard.Planned {self.name}: {'fits' if self.fits else 'does not fit'}>"


class Result(Planned):
    """An executed run. Times are seconds, sizes bytes, ratios 0..1; `print` shows its report.

    It may be made on any thread, and several at once; each is used by one thread at a time. A copy
    is the same object. A pickle holds what the run was made from, and executes it again when loaded.
    """

    def __init__(self, given: Source, engine: Optional[str], threads: int,
                 uncertain: bool) -> None:
        super().__init__(given, c.lib.ty_run_new)
        self._made = (given.made, engine, threads, uncertain)
        self._stop = c.Stop()
        options = c.ExecuteOptions(engine=c.encode(engine), threads=threads,
                                   stop=self._stop.pointer)
        self._watch(c.call, c.lib.ty_run_execute, self._run.pointer, ctypes.byref(options))
        if uncertain:
            self._watch(c.call, c.lib.ty_run_uncertain, self._run.pointer, ctypes.byref(given.c))
        self._report: Optional[Dict[str, Any]] = None

    def __reduce__(self) -> Any:
        given, *options = self._made
        return _again, (given, options)

    def __copy__(self) -> "Result":
        return self

    def __deepcopy__(self, _: Any) -> "Result":
        return self

    def _watch(self, function: Any, *arguments: Any) -> Any:
        """What function(*arguments) returns, which executes: Ctrl-C ends it."""
        self._stop.clear()
        return self._stop.watch(function, *arguments)

    # ---- figures ----

    @property
    def report(self) -> Dict[str, Any]:
        """All of `trainyard run --stats json` (docs/reference/formats.md)."""
        if self._report is None:
            self._report = json.loads(self._text(c.lib.ty_run_report, b"json"))
        return self._report

    @property
    def figures(self) -> Dict[str, float]:
        """All of `trainyard.list("figures")` that it has: a row of a table of one's own."""
        return {name: self.report[name] for name, _ in catalogue("figures")
                if self.report.get(name) is not None}

    def figure(self, name: str) -> float:
        """One of `trainyard.list("figures")`, or a part of the step, "breakdown.exposed_data"."""
        value = ctypes.c_double()
        c.call(c.lib.ty_run_figure, self._run.pointer, c.encode(name), ctypes.byref(value))
        return value.value

    @property
    def step_time_s(self) -> float:
        """Seconds of an optimizer step."""
        return self.figure("step_time_s")

    @property
    def mfu(self) -> float:
        """Model FLOPs utilisation, PaLM convention: 6 N + 12 L h s a token, over dense peak."""
        return self.figure("mfu")

    @property
    def hfu(self) -> float:
        """The same with what recomputation repeats."""
        return self.figure("hfu")

    @property
    def tokens_per_s(self) -> float:
        """Tokens a second, of all GPUs together."""
        return self.figure("tokens_per_s")

    @property
    def bubble_fraction(self) -> float:
        """Idle share of the compute stream that is due to the pipeline."""
        return self.figure("bubble_fraction")

    @property
    def breakdown(self) -> Dict[str, float]:
        """Seconds of a step by what they go to, mean over GPUs; they add up to step_time_s."""
        parts: Dict[str, float] = self.report["breakdown"]
        return parts

    @property
    def memory(self) -> Dict[str, Any]:
        """Bytes: capacity, peak of each stage, what the fullest GPU holds (docs/reference/formats.md)."""
        bill: Dict[str, Any] = self.report["memory"]
        return bill

    # ---- more to read ----

    def tasks(self, ranks: Optional[str] = None) -> Tasks:
        """What ranks did: "all", "0-15,64", "dp=0", "one-per-stage", "slowest:8"; left out: all up
        to 32, one data-parallel replica above. 39 bytes a task."""
        pointer = ctypes.POINTER(c.Tasks)()
        c.call(c.lib.ty_run_tasks, self._run.pointer, c.encode(ranks), ctypes.byref(pointer))
        return Tasks(pointer)

    def explain(self) -> str:
        """Where the time goes, and what changes of layout, schedule and machine would do."""
        said: str = self._watch(self._text, c.lib.ty_run_report, b"explain")
        return said

    def fleet(self, days: float = 0, runs: int = 0) -> "Weeks":
        """The weeks around the step, as the section `fleet` says: see `trainyard.fleet`."""
        return _weeks(self._run, days, runs)

    # ---- files ----

    def trace(self, path: c.PathLike, form: Optional[str] = None, *, ranks: Optional[str] = None,
              detail: Optional[str] = None, window: Optional[str] = None,
              steps: Optional[str] = None) -> str:
        """Writes a timeline, and returns a line about it.

        form     one of `trainyard.list("formats")`; left out: as the name ends (.json and .json.gz
                 are Chrome's, .pftrace Perfetto's, .csv, .svg, .txt)
        ranks    as in `tasks`
        detail   "stage", "microbatch", "layer", "op"
        window   "1.5 s:2 s"; steps: "2-3"
        """
        name, stop = os.fspath(path), c.Stop()
        ends = [end for end in _FORMATS if name.endswith(end)]
        if form is None and not ends:
            raise ValueError(f"{name}: which format? write form=, or a name that ends in "
                             f"{', '.join(_FORMATS)}")
        target = f"{form or _FORMATS[max(ends, key=len)]}:{name}"
        options = c.TraceOptions(ranks=c.encode(ranks), detail=c.encode(detail), stop=stop.pointer,
                                 window=c.encode(window), steps=c.encode(steps))
        said: str = stop.watch(self._text, c.lib.ty_run_trace, c.encode(target),
                               ctypes.byref(options))
        return said.strip()

    def page(self, path: c.PathLike, *, ranks: Optional[str] = None,
             detail: Optional[str] = None) -> str:
        """Writes a page for a browser that needs no other file, and returns a line about it."""
        stop = c.Stop()
        shown = c.ShownRun(run=self._run.pointer, name=c.encode(self.name))
        options = c.PageOptions(ranks=c.encode(ranks), detail=c.encode(detail), stop=stop.pointer)
        said: str = stop.watch(c.call_text, c.lib.ty_run_page, ctypes.byref(shown), 1,
                               c.encode(path), ctypes.byref(options))
        return said.strip()

    def export(self, form: str, folder: c.PathLike, *, ranks: Optional[str] = None,
               unit: Optional[str] = None) -> str:
        """Writes what ranks do for another simulator, "chakra" or "goal" (docs/guides/exchange.md), and
        returns a line about it. unit="ns": GOAL's time, for packet simulators."""
        stop = c.Stop()
        options = c.ExportOptions(c.encode(form), c.encode(folder), c.encode(ranks), stop.pointer,
                                  c.encode(unit))
        said: str = stop.watch(self._text, c.lib.ty_run_export, ctypes.byref(options))
        return said.strip()

    def __str__(self) -> str:
        return self._text(c.lib.ty_run_report, b"table")

    def __repr__(self) -> str:
        return (f"<trainyard.Result {self.name}: step {self.step_time_s:.4g} s, "
                f"MFU {100 * self.mfu:.1f} %>")


def _again(given: Any, options: Any) -> Result:
    """The run that a pickle holds."""
    return Result(Source(*given), *options)


def run(source: SourceLike, sets: Settings = None, overlays: Overlays = (), *,
        engine: Optional[str] = None, threads: int = 0, uncertain: bool = False) -> Result:
    """Executes a run file: a path, its text (with a line end in it), or a dictionary of sections.

    sets        values over it, {"layout.tensor": 4} or ["layout.tensor=4"]
    overlays    files between the two, as a calibration writes them
    engine      "sweep", "events" or "auto"; left out: as run.engine says
    threads     0: one per core
    uncertain   with a 90 % band, by more runs (in `report`; docs/guides/uncertainty.md)

    >>> result = run("docs/examples/llama-30b-256xa100.yaml", {"schedule.name": "gpipe"})
    >>> result.mfu, result.breakdown["exposed_tensor"]

    Raises Error with the words of the command line.
    """
    return Result(Source(source, sets, overlays), engine, threads, uncertain)


def check(source: SourceLike, sets: Settings = None, overlays: Overlays = ()) -> Planned:
    """Reads and plans, simulates nothing: `fits`, `peak_memory_bytes`; `print` shows the memory estimate."""
    return Planned(Source(source, sets, overlays), c.lib.ty_run_outline)


def diff(*runs: Union[Result, SourceLike]) -> Dict[str, Any]:
    """Two to eight runs, the others against the first: keys that differ, where the time of a step
    goes in each (seconds), what operations take (docs/guides/diff.md). A run is a Result, or a run file as
    `run` takes it, which is executed."""
    return dict(json.loads(_diff(runs, "json")))


def diff_text(*runs: Union[Result, SourceLike]) -> str:
    """The same for people."""
    return _diff(runs, "table")


def _diff(given: Sequence[Union[Result, SourceLike]], form: str) -> str:
    results = [one if isinstance(one, Result) else run(one) for one in given]
    runs = (c.ShownRun * len(results))(*[c.ShownRun(run=r._run.pointer, name=c.encode(r.name))
                                         for r in results])
    return c.call_text(c.lib.ty_diff_report, runs, len(results), c.encode(form))


# ---- the weeks around a step ----

class Weeks(NamedTuple):
    """A training of many steps, with what fails: docs/guides/fleet.md.

    goodput     share of the time that steps take which are not lost
    loss        share that each cause takes
    causes      a table: failures a day, seconds of waiting, share lost
    sizes       a table: the same job on other numbers of GPUs
    worth       a table: goodput with one thing better
    report      all of `trainyard fleet --stats json`
    """
    goodput: float
    loss: Dict[str, float]
    causes: Any
    sizes: Any
    worth: Any
    report: Dict[str, Any]

    def _repr_html_(self) -> str:
        return f"<p>goodput {100 * self.goodput:.2f} %</p>{table_html(self.causes)}"


def _weeks(run: c.Owned, days: float, runs: int) -> Weeks:
    stop = c.Stop()
    request = c.FleetRequest(days, runs, 0, b"json", stop=stop.pointer)
    report = json.loads(stop.watch(c.call_text, c.lib.ty_run_fleet, run.pointer,
                                   ctypes.byref(request)))
    return Weeks(report["goodput"], report["loss"], table(report["causes"]),
                 table(report["sizes"]), table(report["worth"]), report)


def fleet(source: SourceLike, sets: Settings = None, overlays: Overlays = (), *, days: float = 0,
          runs: int = 0) -> Weeks:
    """The weeks around a step, as the section `fleet` says: failures, checkpoints, spares, cost.

    `runs` trainings of `days` are played; 0: 100 of 365.
    """
    planned = Planned(Source(source, sets, overlays), c.lib.ty_run_outline)
    stop = c.Stop()
    stop.watch(c.call, c.lib.ty_run_execute, planned._run.pointer,
               ctypes.byref(c.ExecuteOptions(figures=True, stop=stop.pointer)))
    return _weeks(planned._run, days, runs)
