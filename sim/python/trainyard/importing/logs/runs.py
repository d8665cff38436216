"""What handlers find in logs: runs, each with blocks of configuration, facts and steps."""
import re
from typing import Callable, Dict, List, NamedTuple, Optional

from ..facts import Facts, File, From, Place
from .measure import Step
from .stream import Block, Line

MOST_RANKS = 64       # whose times are compared
MOST_COMPARED = 2000  # steps of a rank, for that


class Found(NamedTuple):
    """A value of a line outside of blocks."""
    value: str
    line: Line


class Run:
    """One start of a training."""

    def __init__(self) -> None:
        self.blocks: Dict[str, Block] = {}
        self.found: Dict[str, Found] = {}
        self.steps: Dict[str, List[Step]] = {}  # by writer, as one rank prints them
        self.rank: Dict[str, str] = {}          # by writer, the label of that rank
        self.times: Dict[str, Dict[int, float]] = {}  # by label: seconds of steps
        self.memory: Dict[str, float] = {}      # by rank: bytes allocated at most
        self.reserved: Dict[str, float] = {}
        self.timers: Dict[str, List[float]] = {}      # seconds of a step
        self.gpu: Optional[Line] = None
        self.event = False  # an evaluation or a checkpoint since the last step

    def get(self, name: str, otherwise: float = 0) -> float:
        try:
            return float(self.found[name].value.replace(",", ""))
        except (KeyError, ValueError):
            return otherwise

    def count(self, name: str) -> int:
        return int(self.get(name))


class Log:
    """All runs of all files, and the run that is being read."""

    def __init__(self) -> None:
        self.runs = [Run()]

    @property
    def run(self) -> Run:
        return self.runs[-1]

    def capture(self, kind: str, line: Line, start: str = "", ends: str = "", brackets: str = "",
                lead: bool = False) -> Optional[Block]:
        """A block of configuration. Behind steps, or a second one of its kind, it is of a new run;
        another rank's copy is left out."""
        before = self.run.blocks.get(kind)
        if before is not None and before.first.label != line.label:
            return None
        if before is not None or any(self.run.steps.values()):
            self.runs.append(Run())

        def done(block: Block) -> None:
            self.run.blocks[kind] = block
        block = Block(line, done, start, ends, brackets, lead)
        self.run.blocks[kind] = block
        return block

    def find(self, name: str, line: Line, value: str) -> None:
        """The first line that says it counts; behind steps it is of a new run."""
        self.run.found.setdefault(name, Found(value, line))

    def step(self, writer: str, line: Line, step: Step) -> None:
        run = self.run
        steps = run.steps.setdefault(writer, [])
        rank = run.rank.setdefault(writer, line.label)
        if steps and line.label == rank and 0 <= step.number < steps[-1].number:
            self.runs.append(Run())
            self.runs[-1].blocks, self.runs[-1].found = run.blocks, run.found
            self.step(writer, line, step)
            return
        again = line.label != rank or (steps and 0 <= step.number == steps[-1].number)
        if len(run.times) < MOST_RANKS:
            times = run.times.setdefault((line.label or "another rank") if again else rank, {})
            if len(times) < MOST_COMPARED:
                times[step.number] = step.seconds or step.tokens_per_s_per_gpu
        if again:
            return
        steps.append(step._replace(after_event=run.event))
        run.event = False

    def keep_most(self, of: Dict[str, float], rank: str, size: float) -> None:
        if rank in of or len(of) < 4096:
            of[rank] = max(of.get(rank, 0), size)


def number(pattern: "re.Pattern[str]", text: str) -> float:
    """What a pattern's group says, commas left out; 0: the pattern is not there."""
    found = pattern.search(text)
    return float(found[1].replace(",", "")) if found else 0.0


def rank_of(line: Line, otherwise: str = "0") -> str:
    found = re.search(r"\d+", line.label)
    return found[0] if found else otherwise


def source(line: Line, word: str) -> From:
    return From(word, Place(File(line.file, ""), line.number, 1, False))


def excerpt(block: Block, text: Optional[str] = None) -> File:
    """A block as a file of its own, whose lines know where they stand in the log."""
    return File(block.first.file, block.text if text is None else text, block.numbers)


class Writer(NamedTuple):
    """A framework whose logs are read.

    handlers   words of lines, and what becomes of such a line
    configure  facts of a run's configuration; False: the run has none
    stack      the form whose reader takes further files in its place
    """
    name: str
    title: str
    handlers: Dict[str, Callable[[Log, Line], Optional[Block]]]
    configure: Callable[[Facts, Run, List[File]], bool]
    stack: str = ""
