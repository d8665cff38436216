"""Pipeline schedules without a model."""
import ctypes
import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _library as c
from ._catalogues import table

Times = Union[Mapping[str, float], str, None]


class Schedule:
    """An order of passes, executed. Times are in the unit of `times`; left out, the forward of a
    virtual stage takes 1.

    report      all of `trainyard schedule --format json`
    table()     a row a pass
    print       a Gantt chart of letters
    """

    def __init__(self, options: Dict[str, Any]) -> None:
        self._options = options
        self.report: Dict[str, Any] = json.loads(self.text("json"))

    def text(self, form: str, **more: Any) -> str:
        """As "gantt", "svg", "slots", "csv" (PyTorch's) or "json"; `svg_width` "17 cm",
        `palette` "traces", "safe", "print", `bubbles` "shaded", "named", "none" are of a picture,
        `width` (columns) of a chart."""
        given = {name: c.encode(value) if isinstance(value, str) else value
                 for name, value in {**self._options, "format": form, **more}.items()}
        return c.call_text(c.lib.ty_schedule_show, ctypes.byref(c.ScheduleOptions(**given)))

    @property
    def unit(self) -> str:
        """Of its times, for axes."""
        return "in units of times" if self._options["times"] else "in forwards of a virtual stage"

    @property
    def makespan(self) -> float:
        """From the first pass to the end of the last."""
        return float(self.report["makespan"])

    @property
    def bubble_fraction(self) -> float:
        """Share of the makespan in which a rank idles, mean over ranks."""
        return float(self.report["bubble_fraction"])

    def table(self) -> Any:
        """A row a pass: rank, action ("F3.0": micro-batch 3, virtual stage 0), start, duration."""
        return table([{"rank": rank["rank"], "action": action, "start": start, "duration": duration}
                      for rank in self.report["ranks"] for action, start, duration
                      in zip(rank["actions"], rank["start"], rank["duration"])])

    def __str__(self) -> str:
        return self.text("gantt")

    def __repr__(self) -> str:
        return (f"<trainyard.Schedule {self.report['schedule']}, p = {self.report['p']}, "
                f"m = {self.report['m']}: bubble {100 * self.bubble_fraction:.1f} %>")

    def _repr_svg_(self) -> str:  # what a notebook shows
        return self.text("svg")


def _times(times: Times) -> Optional[str]:
    if not isinstance(times, Mapping):
        return times
    return ",".join(f"{key}={float(value)!r}" for key, value in times.items()) or None


def schedule(name: str, p: int = 0, m: int = 0, *, v: int = 0, group: int = 0, slices: int = 0,
             times: Times = None, stages: Sequence[float] = (),
             slots: Optional[str] = None) -> Schedule:
    """A pipeline schedule alone: p ranks, m micro-batches, v virtual stages a rank.

    name    one of `trainyard.list("schedules")`, or the path of a file of slots
    times   {"F": 1, "B": 2, "I": 1, "W": 1, "C": 0}, of a virtual stage: forward, backward, its
            input and weight parts, delay of a message
    stages  of each virtual stage, how many times as long it takes
    slots   an order of your own, "rank 0: F0.0 B0.0"; `name` then only names it

    Raises Error, of status 4 for an order that would deadlock.
    """
    return Schedule({"name": name, "text": slots, "pipeline": p, "micro_batches": m, "chunks": v,
                     "group": group, "slices": slices, "times": _times(times),
                     "stages": ",".join(repr(float(x)) for x in stages) or None})


class Comparison:
    """Schedules of the same work under one clock; `print` stacks their charts."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self._options = options
        self.report: List[Dict[str, Any]] = json.loads(self.text("json"))["schedules"]

    def text(self, form: Optional[str] = None) -> str:
        """Table and charts of letters, or as "svg" or "json"."""
        given = {name: c.encode(value) if isinstance(value, str) else value
                 for name, value in {**self._options, "format": form}.items()}
        return c.call_text(c.lib.ty_schedule_compare, ctypes.byref(c.ScheduleOptions(**given)))

    def table(self) -> Any:
        """A row a schedule: makespan, bubble_fraction, held_I and held_W (most micro-batches whose
        activations a rank holds), weight_copies, messages."""
        return table(self.report)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<trainyard.Comparison {self._options['name']}>"

    def _repr_svg_(self) -> str:
        return self.text("svg")


def compare(names: Union[Sequence[str], str], p: int, m: int, *, v: int = 0, group: int = 0, slices: int = 0,
            times: Times = None) -> Comparison:
    """Schedules under one clock. `times` are of a whole stage, whatever it is cut into."""
    name = names if isinstance(names, str) else ",".join(names)
    return Comparison({"name": name, "pipeline": p, "micro_batches": m, "chunks": v,
                       "group": group, "slices": slices, "times": _times(times)})
