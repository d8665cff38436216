"""One run: executed, asked, drawn."""
import ctypes
import json
import os
from typing import Any, Dict, Iterable, List, Optional, Union

import numpy as np

from . import _library as c
from ._source import Settings, Source, SourceLike

Path = Union[str, "os.PathLike[str]"]


class _Columns:
    """The memory of struct ty_tasks, freed when no array looks at it any more."""

    def __init__(self, tasks: Any) -> None:
        self._tasks = tasks

    def __del__(self) -> None:
        c.lib.ty_tasks_free(self._tasks)


class Tasks:
    """What ranks did, a row a task, as read-only numpy arrays of `n` over the library's memory.

    Rows are in rising order of ranks, each in its order of issue; tasks of one stream never
    overlap.

    start_ps, dur_ps        picoseconds, from the start of the run
    rank, pass_             global rank; number of the pass within the rank
    micro_batch, stage, step, layer     of the pass; layer 65535: none
    kind, stream, phase, category       numbers into kind_names, stream_names, ...
    """

    start_ps: "np.ndarray[Any, Any]"
    dur_ps: "np.ndarray[Any, Any]"
    rank: "np.ndarray[Any, Any]"
    kind: "np.ndarray[Any, Any]"
    pass_: "np.ndarray[Any, Any]"
    micro_batch: "np.ndarray[Any, Any]"
    stage: "np.ndarray[Any, Any]"
    step: "np.ndarray[Any, Any]"
    layer: "np.ndarray[Any, Any]"
    stream: "np.ndarray[Any, Any]"
    phase: "np.ndarray[Any, Any]"
    category: "np.ndarray[Any, Any]"
    kind_names: List[str]
    stream_names: List[str]
    phase_names: List[str]
    category_names: List[str]

    def __init__(self, pointer: Any) -> None:
        memory, tasks = _Columns(pointer), pointer.contents
        self.n: int = tasks.n
        for name, kind in c.COLUMNS:
            address = ctypes.cast(getattr(tasks, name), ctypes.c_void_p).value
            buffer = (kind * self.n).from_address(address) if self.n else (kind * 0)()
            buffer._memory = memory  # the array keeps its buffer, the buffer the columns
            column = np.frombuffer(buffer, dtype=kind)
            column.flags.writeable = False
            setattr(self, name, column)
        for name in c.NAMES:
            words = getattr(tasks, name + "_names")
            setattr(self, name + "_names",
                    [words[i].decode() for i in range(getattr(tasks, "n_" + name))])

    def __len__(self) -> int:
        return self.n

    def frame(self) -> Any:
        """A pandas DataFrame with names in place of numbers (as categories) and times in seconds."""
        import pandas as pd
        columns: Dict[str, Any] = {"start_s": self.start_ps * 1e-12, "dur_s": self.dur_ps * 1e-12}
        for name, _ in c.COLUMNS[2:]:
            column = getattr(self, name)
            if name in c.NAMES:
                names, number = np.unique(getattr(self, name + "_names"), return_inverse=True)
                column = pd.Categorical.from_codes(number[column], names)
            columns[name] = column
        return pd.DataFrame(columns)


class _Planned:
    """A configuration and its plan."""

    def __init__(self, source: SourceLike, sets: Settings, overlays: Iterable[Path],
                 outline: bool) -> None:
        self._config, self._run = ctypes.c_void_p(), ctypes.c_void_p()
        given = Source(source, sets, overlays)
        self.name = given.name
        c.call(c.lib.ty_config_read, ctypes.byref(self._config), ctypes.byref(given.c))
        c.call(c.lib.ty_run_outline if outline else c.lib.ty_run_new, ctypes.byref(self._run),
               self._config)

    def __del__(self) -> None:
        c.lib.ty_run_free(self._run)
        c.lib.ty_config_free(self._config)

    @property
    def config(self) -> str:
        """Every value with its unit and where it came from, a line a key."""
        return c.call_text(c.lib.ty_config_show, self._config)

    @property
    def fits(self) -> bool:
        """Whether every stage fits into the memory of its GPUs."""
        return bool(c.lib.ty_run_fits(self._run))

    @property
    def peak_memory_bytes(self) -> List[float]:
        """Bytes of a GPU of each stage at its fullest moment."""
        value, peaks = ctypes.c_double(), []
        for stage in range(c.lib.ty_run_stages(self._run)):
            c.call(c.lib.ty_run_peak_memory, self._run, stage, ctypes.byref(value))
            peaks.append(value.value)
        return peaks


class Plan(_Planned):
    """A run file that was read and planned, and not executed: see `check`."""

    def __init__(self, source: SourceLike, sets: Settings = None,
                 overlays: Iterable[Path] = ()) -> None:
        super().__init__(source, sets, overlays, outline=True)

    def __str__(self) -> str:
        return c.call_text(c.lib.ty_run_describe, self._run)

    def __repr__(self) -> str:
        return f"<trainyard.Plan {self.name}: {'fits' if self.fits else 'does not fit'}>"


class Result(_Planned):
    """An executed run. Times are seconds, sizes bytes, ratios 0..1; `print` shows its report.

    It is a thread's own, and may be made on any thread; several run at once.
    """

    def __init__(self, source: SourceLike, sets: Settings = None, overlays: Iterable[Path] = (),
                 engine: Optional[str] = None, threads: int = 0) -> None:
        super().__init__(source, sets, overlays, outline=False)
        c.lib.ty_run_threads(self._run, threads)
        c.call(c.lib.ty_run_execute, self._run, c.encode(engine))
        self._report: Optional[Dict[str, Any]] = None

    # ---- figures ----

    @property
    def report(self) -> Dict[str, Any]:
        """All of `trainyard run --stats json`."""
        if self._report is None:
            self._report = json.loads(c.call_text(c.lib.ty_run_report, self._run, b"json"))
        return self._report

    def figure(self, name: str) -> float:
        """One of `trainyard.listed("figures")`, or a part of the step: "breakdown.exposed_data"."""
        value = ctypes.c_double()
        c.call(c.lib.ty_run_figure, self._run, name.encode(), ctypes.byref(value))
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
        """Of all GPUs together."""
        return self.figure("tokens_per_s")

    @property
    def bubble_fraction(self) -> float:
        """Idle share of the compute stream that is due to the pipeline."""
        return self.figure("bubble_fraction")

    @property
    def breakdown(self) -> Dict[str, float]:
        """Seconds of a step by what they go to, mean over GPUs; they add up to step_time_s."""
        return self.report["breakdown"]

    @property
    def memory(self) -> Dict[str, Any]:
        """Capacity, peak of each stage, what the fullest GPU holds: bytes."""
        return self.report["memory"]

    # ---- more to read ----

    def tasks(self, ranks: Optional[str] = None) -> Tasks:
        """Columns of the ranks "all", "0-15,64", "dp=0", "one-per-stage", "slowest:8"."""
        pointer = ctypes.POINTER(c.Tasks)()
        c.call(c.lib.ty_run_tasks, self._run, c.encode(ranks), ctypes.byref(pointer))
        return Tasks(pointer)

    def explain(self) -> str:
        """Where the time goes, and what changes of layout, schedule and machine would do."""
        return c.call_text(c.lib.ty_run_explain, self._run)

    def layers(self) -> str:
        """The operators of each kind of layer, as one rank does them."""
        return c.call_text(c.lib.ty_run_layers, self._run)

    def traffic(self) -> str:
        """Bytes of a step by groups and links."""
        return c.call_text(c.lib.ty_run_traffic, self._run)

    def fleet(self, days: float = 0, runs: int = 0) -> Dict[str, Any]:
        """The weeks around the step (section `fleet`): goodput, losses, days, cost, energy."""
        request = c.FleetRequest(days, runs, 0, b"json")
        return json.loads(c.call_text(c.lib.ty_run_fleet, self._run, ctypes.byref(request)))

    # ---- files ----

    def trace(self, path: Path, form: str = "chrome", *, ranks: Optional[str] = None,
              detail: Optional[str] = None, window: Optional[str] = None) -> str:
        """Writes a timeline; `form` is one of `listed("formats")`. Returns a line about the file."""
        options = c.TraceOptions(ranks=c.encode(ranks), detail=c.encode(detail),
                                 window=c.encode(window))
        return c.call_text(c.lib.ty_run_trace, self._run, f"{form}:{os.fspath(path)}".encode(),
                           ctypes.byref(options)).strip()

    def page(self, path: Path) -> str:
        """Writes a page for a browser that needs no other file. Returns a line about it."""
        shown = c.PageRun(self._run, c.encode(self.name), None)
        return c.call_text(c.lib.ty_run_page, ctypes.byref(shown), 1, c.encode(path), None).strip()

    def __str__(self) -> str:
        return c.call_text(c.lib.ty_run_report, self._run, b"table")

    def __repr__(self) -> str:
        return (f"<trainyard.Result {self.name}: step {self.step_time_s:.4g} s, "
                f"MFU {100 * self.mfu:.1f} %>")


def run(source: SourceLike, sets: Settings = None, overlays: Iterable[Path] = (), *,
        engine: Optional[str] = None, threads: int = 0) -> Result:
    """Executes a run file: a path, its text (with a line end in it), or a dictionary of sections.

    `sets` are values over it, {"layout.tensor": 4} or ["layout.tensor=4"]; `overlays` are files
    between the two, as a calibration writes them; `threads` 0: one per core.

    >>> result = run("docs/examples/llama-30b-256xa100.yaml", {"schedule.name": "gpipe"})
    >>> result.mfu, result.breakdown["exposed_tensor"]

    Raises Error with the words of the command line.
    """
    return Result(source, sets, overlays, engine, threads)


def check(source: SourceLike, sets: Settings = None, overlays: Iterable[Path] = ()) -> Plan:
    """Reads and plans, simulates nothing: `fits`, `peak_memory_bytes`; `print` shows the bill."""
    return Plan(source, sets, overlays)
