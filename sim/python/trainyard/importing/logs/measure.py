"""What a log says of its steps, and which of them count.

A step counts unless the log itself says why it differs: it is the first one after a start or behind an
evaluation or a checkpoint, its batch or its sequences are not yet what they become, or its update was
skipped. One robust rule is about numbers: a step that took more than INTERRUPTED times the median was
interrupted. A rule that would leave fewer than a third of the steps is not applied.
"""
import statistics
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

INTERRUPTED = 2.0
SETTLED = 1.2        # leading steps this much above the median of the second half are warm-up
RANKS_AGREE = 0.05   # of two ranks' times of one step, in the median


class Step(NamedTuple):
    number: int          # as the log counts; -1: it does not say
    seconds: float       # 0: it has to be worked out of tokens or samples
    line: int
    batch: int = 0       # sequences; 0: the log does not say
    sequence: int = 0    # tokens
    samples_per_s: float = 0
    tokens_per_s: float = 0          # of all GPUs
    tokens_per_s_per_gpu: float = 0
    flops: float = 0     # FLOP/s of a GPU, as printed
    mfu: float = 0       # ratio, as printed
    skipped: bool = False
    after_event: bool = False  # an evaluation or a checkpoint came before it


class Figures(NamedTuple):
    """Of the steps that count; `left_out` says how many do not, and why."""
    median: float
    p10: float
    p90: float
    steps: List[Step]
    left_out: List[str]


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two nearest values, linearly."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def _warm_up(steps: List[Step]) -> int:
    """Leading steps: the first, and those behind it that are above what the second half takes."""
    if len(steps) < 3:
        return 0
    limit = SETTLED * statistics.median(step.seconds for step in steps[len(steps) // 2:])
    n = 1
    while n < len(steps) // 2 and steps[n].seconds > limit:
        n += 1
    return n


def _most_common(steps: Sequence[Step], of: Callable[[Step], int]) -> int:
    """The value of most steps, of two the later one; 0: no step has one."""
    counts: Dict[int, int] = {}
    for step in steps:
        if of(step):
            counts[of(step)] = counts.pop(of(step), 0) + 1
    return max(reversed(list(counts)), key=counts.__getitem__) if counts else 0


def figures(steps: Sequence[Step], batch: int = 0) -> Optional[Figures]:
    """Figures of a run whose batch is `batch` (0: that of most steps); None: no step has a time."""
    timed = [step for step in steps if step.seconds > 0]
    left_out: List[str] = []
    if batch not in {step.batch for step in timed}:
        batch = _most_common(timed, lambda step: step.batch)
    length = max((step.sequence for step in timed), default=0)

    def drop(why: str, bad: Callable[[Step], bool]) -> None:
        nonlocal timed
        kept = [step for step in timed if not bad(step)]
        if len(kept) < len(timed) and 3 * len(kept) >= len(timed):
            left_out.append(f"{len(timed) - len(kept)} {why}")
            timed = kept

    drop("of another batch", lambda step: step.batch not in (0, batch))
    drop("of shorter sequences", lambda step: step.sequence not in (0, length))
    warm = {id(step) for step in timed[:_warm_up(timed)]}
    drop("of warm-up", lambda step: id(step) in warm)
    drop("behind an evaluation or a checkpoint", lambda step: step.after_event)
    drop("whose update was skipped", lambda step: step.skipped)
    if not timed:
        return None
    limit = INTERRUPTED * statistics.median(step.seconds for step in timed)
    drop(f"that took more than {INTERRUPTED:g} times the median", lambda step: step.seconds > limit)
    seconds = [step.seconds for step in timed]
    return Figures(statistics.median(seconds), quantile(seconds, 0.1), quantile(seconds, 0.9),
                   timed, left_out)


def disagreement(times: Dict[str, Dict[int, float]]) -> Optional[Tuple[str, str, float]]:
    """Two ranks whose times of equal steps differ by more than RANKS_AGREE in the median."""
    ranks = list(times)
    for other in ranks[1:]:
        both = [abs(times[other][n] / times[ranks[0]][n] - 1) for n in times[ranks[0]]
                if n in times[other] and times[ranks[0]][n] > 0]
        if both and statistics.median(both) > RANKS_AGREE:
            return ranks[0], other, statistics.median(both)
    return None
