"""Pictures by matplotlib. Each function draws on `ax` (or on a new one) and returns it."""
from typing import Any, Dict, Mapping, Optional, Tuple

import matplotlib.pyplot as plt
import numpy as np

from ._run import Result

# Told apart by those who see no colours, too (Okabe and Ito 2008).
_PHASES = {"forward": "#56b4e9", "backward": "#0072b2", "input gradient": "#0072b2",
           "weight gradient": "#009e73", "recompute": "#e69f00", "optimizer": "#cc79a7"}
_KINDS = {"F": "#56b4e9", "B": "#0072b2", "I": "#0072b2", "W": "#009e73"}
_IDLE = ("bubble_", "exposed_")


def _axes(ax: Any, width: float, height: float) -> Any:
    return ax if ax is not None else plt.subplots(figsize=(width, height), layout="constrained")[1]


def _duration(kind: str, times: Mapping[str, float]) -> float:
    forward, backward = times.get("F", 1), times.get("B")
    parts = times.get("I"), times.get("W")
    if backward is None:
        backward = sum(parts) if None not in parts else 2 * (parts[0] or parts[1] or 1)  # type: ignore
    both = {"F": forward, "B": backward,
            "I": parts[0] if parts[0] is not None else backward - (parts[1] or backward / 2),
            "W": parts[1] if parts[1] is not None else backward - (parts[0] or backward / 2)}
    return both[kind]


def schedule(answer: Mapping[str, Any], ax: Any = None) -> Any:
    """The order of `trainyard.schedule(...)`: one row a rank, numbers of micro-batches in boxes."""
    ax = _axes(ax, 10, 0.45 * len(answer["ranks"]) + 1.2)
    narrow = answer["makespan"] / 120
    for rank in answer["ranks"]:
        for action, start in zip(rank["actions"], rank["start"]):
            _put_slot(ax, rank["rank"], action, start, answer["times"], narrow)
    ax.set(yticks=range(len(answer["ranks"])), ylim=(len(answer["ranks"]) - 0.5, -0.5),
           xlim=(0, answer["makespan"]), xlabel="time, units of a forward", ylabel="rank",
           title=f"{answer['schedule']}, p = {answer['p']}, m = {answer['m']}: "
                 f"bubble {100 * answer['bubble_fraction']:.1f} % of the step")
    return ax


def _put_slot(ax: Any, rank: int, action: str, start: float, times: Mapping[str, float],
              narrow: float) -> None:
    parts = action.strip("()").split("|")
    width = (sum(_duration(part[0], times) for part in parts) if len(parts) == 1
             else times.get("FB", sum(_duration(part[0], times) for part in parts)))
    for k, part in enumerate(parts):
        ax.barh(rank - 0.2 * (len(parts) - 1) + 0.4 * k, width, left=start,
                height=0.8 / len(parts), color=_KINDS[part[0]], edgecolor="white", linewidth=0.5)
    if width > 2 * narrow:
        ax.text(start + width / 2, rank, parts[0][1:].split(".")[0], ha="center", va="center",
                fontsize=7, color="white")


def timeline(result: Result, ranks: Optional[str] = "one-per-stage", ax: Any = None) -> Any:
    """What ranks compute over a step: one row a rank, gaps are idle."""
    tasks = result.tasks(ranks)
    computes = np.char.startswith(np.array(tasks.category_names)[tasks.category], "compute")
    shown = np.unique(tasks.rank)
    ax = _axes(ax, 10, 0.4 * len(shown) + 1.2)
    drawn: Dict[str, Any] = {}
    for row, rank in enumerate(shown):
        for number, name in enumerate(tasks.phase_names):
            of = computes & (tasks.rank == rank) & (tasks.phase == number)
            if of.any():
                spans = np.stack([tasks.start_ps[of] * 1e-12, tasks.dur_ps[of] * 1e-12], axis=1)
                bars = ax.broken_barh(spans.tolist(), (row - 0.4, 0.8),
                                      facecolors=_PHASES.get(name, "#999999"))
                drawn.setdefault(name, bars)
    ax.set(yticks=range(len(shown)), yticklabels=[f"rank {rank}" for rank in shown],
           ylim=(len(shown) - 0.5, -0.5), xlabel="time, s", title=f"step {result.step_time_s:.4g} s")
    ax.set_xlim(left=0)
    ax.legend(drawn.values(), drawn.keys(), ncols=4, loc="lower right", fontsize=8)
    return ax


def breakdown(result: Result, ax: Any = None) -> Any:
    """Seconds of a step by what they go to, mean over GPUs; waiting is hatched."""
    parts = {name: s for name, s in result.breakdown.items() if s > 1e-4 * result.step_time_s}
    ax = _axes(ax, 7, 0.35 * len(parts) + 1)
    for row, (name, seconds) in enumerate(parts.items()):
        idle = name.startswith(_IDLE)
        ax.barh(row, seconds, color="#dddddd" if idle else "#0072b2", hatch="////" if idle else None,
                edgecolor="#888888" if idle else "none")
        ax.text(seconds, row, f" {100 * seconds / result.step_time_s:.1f} %", va="center",
                fontsize=8)
    ax.set(yticks=range(len(parts)), yticklabels=[name.replace("_", " ") for name in parts],
           ylim=(len(parts) - 0.5, -0.5), xlabel="s of a step, mean over GPUs")
    ax.margins(x=0.12)
    return ax


def memory(result: Result, ax: Any = None) -> Any:
    """GiB of a GPU of each stage at its fullest moment, and what there is."""
    gib = np.array(result.memory["peak_bytes"]) / 2**30
    capacity = result.memory["capacity_bytes"] / 2**30
    ax = _axes(ax, 7, 0.35 * len(gib) + 1.2)
    ax.barh(range(len(gib)), gib, color=["#0072b2" if x <= capacity else "#d55e00" for x in gib])
    ax.axvline(capacity, color="black", linestyle="--", linewidth=1)
    ax.text(capacity, -0.7, f"{capacity:.0f} GiB", ha="right", fontsize=8)
    ax.set(yticks=range(len(gib)), yticklabels=[f"stage {i}" for i in range(len(gib))],
           ylim=(len(gib) - 0.5, -1), xlabel="GiB of a GPU at the fullest moment")
    return ax


def pareto(layouts: Any, ax: Any = None) -> Any:
    """Of `trainyard.plan(...)`: step time over memory, the best rows and what nothing beats."""
    ax = _axes(ax, 7, 4.5)

    def xy(rows: Any) -> Tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        return (np.array([row["peak_memory_bytes"] for row in rows]) / 2**30,
                np.array([row["step_time_s"] for row in rows]))
    ax.scatter(*xy(layouts.report["rows"]), color="#56b4e9", label="the best by the objective")
    front = sorted(layouts.report["pareto"], key=lambda row: row["peak_memory_bytes"])
    ax.plot(*xy(front), "o-", color="#d55e00", markersize=4, label="nothing beats them")
    ax.set(xlabel="GiB of the fullest GPU", ylabel="step, s", title="layouts that fit")
    ax.legend(fontsize=8)
    return ax


def goodput(fleet: Mapping[str, Any], ax: Any = None) -> Any:
    """Of `result.fleet()`: goodput over the number of GPUs."""
    ax = _axes(ax, 7, 4)
    sizes = fleet["sizes"]
    ax.semilogx([s["gpus"] for s in sizes], [100 * s["goodput"] for s in sizes], "o-",
                color="#0072b2", label="spares enough, best checkpoints")
    ax.plot(fleet["gpus"], 100 * fleet["goodput"], "D", color="#d55e00", label="this job")
    ax.set(xlabel="GPUs of the job", ylabel="goodput, %", ylim=(0, 100))
    ax.grid(True, which="both", alpha=0.3)
    ax.legend(fontsize=8)
    return ax
