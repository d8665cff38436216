"""Pictures by matplotlib. Each function draws on `ax`, or on new axes, and returns them.

Colours are told apart by those who see few, too (Okabe and Ito 2008; input gradients are a darker
backward).
"""
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

from ._many import Layouts
from ._run import Result, Weeks
from ._schedules import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORWARD, _BACKWARD, _INPUT, _WEIGHT, _RECOMPUTE, _OPTIMIZER = (
    "#56b4e9", "#0072b2", "#00457c", "#009e73", "#e69f00", "#cc79a7")
_BAD, _IDLE, _EDGE = "#d55e00", "#e6e6e6", "#9a9a9a"
# By the words of Tasks.category_names; all else that computes is grey.
_CATEGORIES = {"compute.forward": ("forward", _FORWARD),
               "compute.backward": ("backward", _BACKWARD),
               "compute.dgrad": ("input gradient", _INPUT),
               "compute.wgrad": ("weight gradient", _WEIGHT),
               "compute.recompute": ("recomputation", _RECOMPUTE),
               "optimizer": ("optimizer", _OPTIMIZER)}
_ACTIONS = {"F": ("forward", _FORWARD), "B": ("backward", _BACKWARD),
            "I": ("input gradient", _INPUT), "W": ("weight gradient", _WEIGHT)}
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def _axes(ax: "Optional[Axes]", width: float, height: float) -> "Axes":
    if ax is not None:
        return ax
    made: "Axes" = plt.subplots(figsize=(width, height), layout="constrained")[1]
    return made


def _unit(longest_s: float) -> Tuple[float, str]:
    """Seconds of the unit in which a time has digits before the point, and its name."""
    return next((unit for unit in _UNITS if longest_s >= unit[0]), _UNITS[-1])


def _rows(ax: "Axes", names: List[str]) -> None:
    """One row each, the first on top, without a frame around them."""
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.4, -0.6))
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _legend(ax: "Axes", drawn: Dict[str, Any]) -> None:
    """Below the axes, where nothing is covered."""
    ax.legend(drawn.values(), drawn.keys(), ncols=max(1, len(drawn)), loc="upper left",
              bbox_to_anchor=(0, -0.55 / _height(ax)), frameon=False, fontsize=8,
              handlelength=1.2, borderaxespad=0)


def _height(ax: "Axes") -> float:
    """Inches of the axes."""
    figure = ax.get_figure()
    return float(ax.get_position().height * figure.get_size_inches()[1]) if figure else 1.0


def timeline(of: Union[Result, Schedule], ranks: str = "one-per-stage",
             ax: "Optional[Axes]" = None) -> "Axes":
    """When ranks compute: a row a rank, grey where it idles or waits.

    Of a run, of `ranks` as in Result.tasks; of a schedule all, with the numbers of micro-batches
    where there is room for them.
    """
    return _schedule(of, ax) if isinstance(of, Schedule) else _run(of, ranks, ax)


def _run(result: Result, ranks: str, ax: "Optional[Axes]") -> "Axes":
    tasks = result.tasks(ranks)
    shown = np.unique(tasks.rank)
    ends = tasks.start_ps + tasks.dur_ps
    scale, unit = _unit(float(ends.max()) * 1e-12)
    ax = _axes(ax, 10, 0.42 * len(shown) + 1.3)
    drawn: Dict[str, Any] = {}
    idle = ax.barh(range(len(shown)), ends.max() * 1e-12 / scale, height=0.8, color=_IDLE)
    for number, category in enumerate(tasks.category_names):
        name, colour = _CATEGORIES.get(category, ("other computation", _EDGE))
        computes = (tasks.category == number) & tasks.of(stream="compute")
        for row, rank in enumerate(shown):
            of = computes & (tasks.rank == rank)
            if of.any():
                spans = _joined(tasks.start_ps[of], ends[of]) * 1e-12 / scale
                drawn[name] = ax.broken_barh(spans.tolist(), (row - 0.4, 0.8), facecolors=colour)
    _rows(ax, [f"rank {rank}" for rank in shown])
    ax.set(xlabel=f"time, {unit}", xlim=(0, ends.max() * 1e-12 / scale))
    ax.set_title(f"step {result.step_time_s / scale:.4g} {unit}, MFU {100 * result.mfu:.1f} %",
                 loc="left", fontsize=10)
    _legend(ax, {**drawn, "idle": idle})
    return ax


def _joined(start: "np.ndarray[Any, Any]", end: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """(start, length) of spans of tasks that follow one another without a gap, in order of time."""
    order = np.argsort(start)
    start, end = start[order], end[order]
    first = np.concatenate([[True], start[1:] > end[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([start[first], end[last] - start[first]], axis=1)


def _schedule(order: Schedule, ax: "Optional[Axes]") -> "Axes":
    report = order.report
    ax = _axes(ax, 10, 0.42 * len(report["ranks"]) + 1.3)
    idle = ax.barh(range(len(report["ranks"])), report["makespan"], height=0.8, color=_IDLE)
    drawn: Dict[str, Any] = {}
    for rank in report["ranks"]:
        for action, start, duration in zip(rank["actions"], rank["start"], rank["duration"]):
            _slot(ax, (rank["rank"], start, duration), action, drawn, report["makespan"])
    _rows(ax, [f"rank {rank['rank']}" for rank in report["ranks"]])
    ax.set(xlabel=f"time, {order.unit}", xlim=(0, report["makespan"]))
    ax.set_title(f"{report['schedule']}, {report['p']} ranks, {report['m']} micro-batches: "
                 f"bubble {100 * order.bubble_fraction:.1f} %", loc="left", fontsize=10)
    _legend(ax, {**drawn, "idle": idle})
    return ax


def _slot(ax: "Axes", box: Tuple[int, float, float], action: str, drawn: Dict[str, Any],
          makespan: float) -> None:
    """A pass; of two that overlap both, one below the other."""
    rank, start, duration = box
    parts = action.strip("()").split("|")
    height = 0.8 / len(parts)
    for k, part in enumerate(parts):
        name, colour = _ACTIONS[part[0]]
        drawn[name] = ax.barh(rank - 0.4 + height * (k + 0.5), duration, left=start, height=height,
                              color=colour, edgecolor="white", linewidth=0.6)
        number = part[1:].split(".")[0]
        if duration > makespan * 0.008 * len(number):
            ax.text(start + duration / 2, rank - 0.4 + height * (k + 0.5), number, ha="center",
                    va="center_baseline", fontsize=7, clip_on=True,
                    color="black" if colour == _FORWARD else "white")


def breakdown(*results: Result, names: Optional[List[str]] = None,
              ax: "Optional[Axes]" = None) -> "Axes":
    """Where the time of a step goes, mean over GPUs; waiting is hatched. Several runs lie side by
    side, `names` beside them."""
    longest = max(result.step_time_s for result in results)
    parts = [part for part in results[0].breakdown
             if any(r.breakdown[part] > 1e-3 * longest for r in results)]
    scale, unit = _unit(longest)
    ax = _axes(ax, 7, 0.16 * len(parts) * (len(results) + 1) + 1.1)
    height, drawn = 0.8 / len(results), {}
    for k, result in enumerate(results):
        seconds = np.array([result.breakdown[part] for part in parts])
        rows = np.arange(len(parts)) - 0.4 + height * (k + 0.5)
        colour = (_BACKWARD, _RECOMPUTE, _WEIGHT, _OPTIMIZER)[k % 4]
        bars = ax.barh(rows, seconds / scale, height=0.9 * height, color=colour)
        drawn[names[k] if names else result.name] = bars
        for bar, part, row, value in zip(bars, parts, rows, seconds):
            if part.startswith(("bubble_", "exposed_")):
                bar.set(facecolor="white", edgecolor=colour, hatch="/////", linewidth=0.8)
            ax.text(value / scale, row, f" {100 * value / result.step_time_s:.1f} %",
                    va="center_baseline", fontsize=8)
    _rows(ax, [part.replace("_", " ") for part in parts])
    ax.set(xlabel=f"{unit} of a step, mean over GPUs; hatched: waiting")
    ax.margins(x=0.1)
    if len(results) > 1:
        ax.legend(drawn.values(), drawn.keys(), frameon=False, fontsize=8, loc="lower right")
    return ax


def memory(result: Result, ax: "Optional[Axes]" = None) -> "Axes":
    """What a GPU of each stage holds at its fullest moment; a stage that does not fit is red."""
    gib = np.array(result.memory["peak_bytes"]) / 2**30
    room = np.array(result.memory["stage_capacity_bytes"]) / 2**30
    ax = _axes(ax, 7, 0.34 * len(gib) + 1.1)
    rows = np.arange(len(gib))
    ax.barh(rows, gib, color=np.where(gib <= room, _BACKWARD, _BAD))
    ax.vlines(room, rows - 0.5, rows + 0.5, color="black", linewidth=1.2)
    for row, (used, capacity) in enumerate(zip(gib, room)):
        ax.text(used, row, f" {used:.1f}", va="center_baseline", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8})
    _rows(ax, [f"stage {stage}" for stage in rows])
    ax.set(xlabel="GiB of a GPU at its fullest moment; line: what there is",
           xlim=(0, 1.1 * max(gib.max(), room.max())))
    return ax


def pareto(layouts: Layouts, ax: "Optional[Axes]" = None) -> "Axes":
    """Step time over memory: the best layouts of a search, and those that nothing beats."""
    ax = _axes(ax, 7, 4)
    front = sorted(layouts.report["pareto"], key=lambda row: float(row["peak_memory_bytes"]))
    ax.plot(*_points(front), ".-", color=_BAD, label="nothing beats them")
    ax.scatter(*_points(layouts.report["rows"]), s=36, facecolors="none", edgecolors=_BACKWARD,
               zorder=3, label=f"the best {len(layouts.report['rows'])}")
    for row in layouts.report["rows"][:1]:
        x, y = _points([row])
        words = ", ".join(f"{name} {row['layout.' + name]}"
                          for name in ("tensor", "pipeline", "data") if "layout." + name in row)
        ax.annotate(words, (x[0], y[0]), (0, -14), textcoords="offset points", fontsize=8,
                    ha="center")
    ax.set(xlabel="memory of the fullest GPU, GiB", ylabel="step, s")
    ax.margins(0.12)
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax


def _points(rows: List[Dict[str, Any]]) -> Tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
    return (np.array([row["peak_memory_bytes"] for row in rows]) / 2**30,
            np.array([row["step_time_s"] for row in rows]))


def goodput(weeks: Weeks, ax: "Optional[Axes]" = None) -> "Axes":
    """What failures leave of the time, over the number of GPUs; the diamond is the job."""
    ax = _axes(ax, 7, 3.6)
    sizes = weeks.report["sizes"]
    ax.semilogx([size["gpus"] for size in sizes], [size["goodput"] for size in sizes], ".-",
                base=2, color=_BACKWARD, label="the same job on other numbers of GPUs")
    ax.plot(weeks.report["gpus"], weeks.goodput, "D", color=_BAD, label="this job")
    ax.set(xlabel="GPUs", ylabel="goodput", ylim=(0, 1.02))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    return ax
