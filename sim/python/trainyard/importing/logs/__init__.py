"""`trainyard import log`: the log of a training as a run file with what was measured.

    stream.py   lines that somebody asked for, out of files of any size
    runs.py     runs, with blocks of configuration, facts and steps, as handlers find them
    measure.py  which steps count, and their figures
    others      a writer each: its lines, and its configuration given to the reader of that framework

A log may hold several runs: the last one that made steps counts, unless the caller says which.
"""
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from .. import settle, write
from ..facts import Facts, File, From, Place, Refused, read_file
from .foundry import FOUNDRY
from .maxtext import MAXTEXT
from .measure import Figures, Step, disagreement, figures
from .megatron import BRIDGE, MEGATRON, NEMO
from .mlperf import MLPERF
from .nano import NANOTRON
from .runs import Log, Run, Writer
from .stream import Block, Handler, Line, Scanner, pieces
from .titan import TITAN
from .trainer import DEEPSPEED, TRAINER

# The first of these whose steps a log has wrote it, so those that others run come last.
WRITERS = (MEGATRON, TITAN, NANOTRON, MAXTEXT, FOUNDRY, NEMO, BRIDGE, MLPERF, TRAINER, DEEPSPEED)
# Under which names its steps are, where these are not its own name alone.
STEPS = {"mlperf": ("mlperf", "mlperf blocks"), "deepspeed": ("deepspeed", "deepspeed pipeline")}
SETTINGS = (".json", ".yaml", ".yml", ".toml", ".sh", ".slurm", ".sbatch", ".conf")
LOOKED_AT = 64 << 20  # bytes of a file after which only words of writers that were met count
GPU_WORDS = ("NVIDIA H100", "NVIDIA H200", "NVIDIA A100", "NVIDIA H800", "NVIDIA B200", "NVIDIA GB200",
             "NVIDIA B300", "NVIDIA GB300", "V100-SXM")


class Chosen(NamedTuple):
    number: int
    run: Run
    writer: Writer
    steps: List[Step]


def _gpu(log: Log, line: Line) -> None:
    """The first line that names a GPU."""
    log.run.gpu = log.run.gpu or line


def scan(paths: Iterable[str]) -> Log:
    """All runs of logs, which are read one behind the other."""
    log = Log()
    handlers = {word: _bind(handler, log) for writer in WRITERS
                for word, handler in writer.handlers.items()}
    handlers.update({word: _bind(_gpu, log) for word in GPU_WORDS})
    for path in paths:
        scanner, bytes_read = Scanner(dict(handlers)), 0
        name = "<stdin>" if path == "-" else path
        for data, number in pieces(path):
            if bytes_read < LOOKED_AT <= bytes_read + len(data):
                met = {word for writer in WRITERS if _met(log, writer) for word in writer.handlers}
                if met:
                    scanner.keep(met)
            bytes_read += len(data)
            scanner.scan(name, data, number)
        scanner.finish()
    return log


def _bind(handler: Callable[[Log, Line], Optional[Block]], log: Log) -> Handler:
    return lambda line: handler(log, line)


def _met(log: Log, writer: Writer) -> bool:
    return any(run.steps.get(name) for run in log.runs for name in STEPS.get(writer.name,
                                                                            (writer.name,)))


def _steps(run: Run, writer: Writer) -> List[Step]:
    """Those of the first name that has some: a bridge's own lines do where no better ones are."""
    return next((run.steps[name] for name in STEPS.get(writer.name, (writer.name,))
                 if run.steps.get(name)), [])


def choose(log: Log, paths: List[str], wanted: int) -> Chosen:
    """The run that is asked for, else the last one with steps, and who wrote it."""
    writer = next((writer for writer in WRITERS if _met(log, writer)), None)
    if writer is None:
        raise Refused(_no_steps(log, paths))
    runs = [(n, run) for n, run in enumerate(log.runs, 1)
            if any(run.steps.values()) or run.blocks or run.found]
    if wanted > len(runs):
        raise Refused(f"--run {wanted}: {paths[0]} has {len(runs)} run{'s' * (len(runs) != 1)}; write "
                      f"one from 1 to {len(runs)}", 2)
    with_steps = [number for number, (_, run) in enumerate(runs, 1) if _steps(run, writer)]
    number = wanted or with_steps[-1]
    run = runs[number - 1][1]
    if not _steps(run, writer):
        raise Refused(f"--run {number}: it ended before its first step was logged; runs with steps "
                      f"are {', '.join(map(str, with_steps))}", 2)
    return Chosen(number, run, writer, _steps(run, writer))


def _no_steps(log: Log, paths: List[str]) -> str:
    met = [writer.title for writer in WRITERS for run in log.runs if run.blocks and any(
        word in run.blocks for word in (writer.name, "arguments")[:1 + (writer is MEGATRON)])]
    if met:
        return (f"{paths[0]}: the configuration of {met[0]} is there, but no step: the run ended "
                "before its first one was logged; give a log with steps, or import the "
                f"configuration alone")
    names = ", ".join(writer.title for writer in WRITERS)
    return (f"{paths[0]}: no line of a step in any form that is known ({names}); give what such a "
            "framework prints while it trains")


# ---- seconds of steps that say tokens or samples alone ----

def complete(f: Facts, steps: List[Step]) -> List[Step]:
    batch, length = f.count("layout.global_batch", 0), f.count("model.sequence", 0)
    gpus = f.gpus or 1
    found = []
    for step in steps:
        samples = step.batch or batch
        seconds = step.seconds
        if not seconds and step.samples_per_s:
            seconds = samples / step.samples_per_s
        elif not seconds and step.tokens_per_s_per_gpu:
            seconds = samples * length / (step.tokens_per_s_per_gpu * gpus)
        found.append(step._replace(seconds=seconds))
    return found


def _title(chosen: Chosen) -> str:
    """Who wrote it, of those whose steps look alike."""
    block = chosen.run.blocks.get("arguments")
    if chosen.writer is MEGATRON and block and " pipe_parallel_size " in block.text:
        return "GPT-NeoX"
    return (BRIDGE if chosen.writer is MEGATRON and chosen.run.steps.get("bridge")
            else chosen.writer).title


# ---- the section `measured` ----

def _exact(value: float, unit: str = "") -> str:
    return f"{value:.7g}{' ' * bool(unit)}{unit}"


def _sizes(of: Dict[str, float]) -> str:
    ranks = sorted(of, key=lambda rank: (len(rank), rank))[:128]
    return "[" + ", ".join(f"{rank} {of[rank] / 2**30:.6g} GiB" for rank in ranks) + "]"


def _median(steps: List[Step], name: str) -> float:
    values = sorted(value for value in (getattr(step, name) for step in steps) if value)
    return values[len(values) // 2] if values else 0.0


def measured(f: Facts, chosen: Chosen, found: Figures, at: Place) -> None:
    run, steps = chosen.run, found.steps
    source = From(_title(chosen), at)
    f.set("measured.step_time", source, _exact(found.median, "s"), "median")
    f.set("measured.step_time_p10", source, _exact(found.p10, "s"))
    f.set("measured.step_time_p90", source, _exact(found.p90, "s"))
    left = f"; not {', '.join(found.left_out)}" if found.left_out else ""
    f.set("measured.steps", source, len(steps), f"of {len(chosen.steps)}{left}")
    tokens = _median(steps, "tokens_per_s") or _median(steps, "tokens_per_s_per_gpu") * f.gpus
    for key, value, unit in (("tokens_per_s", tokens, ""),
                             ("model_flops", _median(steps, "flops") / 1e12, "TFLOP/s"),
                             ("mfu", 100 * _median(steps, "mfu"), "%")):
        if value:
            f.set("measured." + key, source, _exact(value, unit))
    for key, of in (("memory", run.memory), ("reserved", run.reserved)):
        if of:
            f.set("measured." + key, source, _sizes(of))
    if run.timers:
        names = sorted(run.timers, key=lambda name: -max(run.timers[name]))[:32]
        f.set("measured.timers", source, "[" + ", ".join(
            f"{name} {_exact(sorted(run.timers[name])[len(run.timers[name]) // 2], 's')}"
            for name in names) + "]")
    f.set("measured.writer", source, _title(chosen))
    f.set("measured.source", source, f"{at.file.path if at.file else ''}:{at.line}")


def agree_on_batch(f: Facts, steps: List[Step], at: Place) -> None:
    """The batch of the steps that count, where the run has not come to the one it was configured
    for."""
    batch = steps[-1].batch
    if batch and batch != f.count("layout.global_batch", 0):
        f.remark(From("global batch size", at), f"the steps that count are of {batch} sequences, not "
                 f"of {f.get('layout.global_batch')}: the batch had not grown further")
        f.set("layout.global_batch", From("global batch size", at), batch)


def _notes(f: Facts, log: Log, chosen: Chosen, at: Place) -> None:
    if len(log.runs) > 1:
        n = sum(1 for run in log.runs if any(run.steps.values()))
        if n > 1:
            f.remark(From("runs", at), f"the log holds {n} runs with steps; this is run "
                     f"{chosen.number}; --run N chooses another")
    apart = disagreement(chosen.run.times)
    if apart:
        one, other, by = apart
        f.remark(From("ranks", at), f"{one.strip() or 'one rank'} and {other.strip()} disagree by "
                 f"{100 * by:.1f} % on the time of a step; that of the first counts")


def _configure(f: Facts, chosen: Chosen, more: List[File], at: Place) -> None:
    writer, run = chosen.writer, chosen.run
    if run.gpu:
        f.notice_gpu(run.gpu.text, From("GPU", Place(File(run.gpu.file, ""), run.gpu.number, 1, False)))
    if writer.configure(f, run, more) or f.refused:
        return
    others = [other for other in WRITERS if other is not writer]
    if any(other.configure(f, run, more) for other in others):
        return
    if writer.stack and more:  # the job's own files say what the log does not
        import importlib
        from .. import FORMATS
        f.files = more
        importlib.import_module(".." + FORMATS[writer.stack][0], __name__).read(f)
        return
    f.refuse(From("", at), f"steps of {writer.title}, and no configuration before them; give the log "
             "from its beginning, or the job's own files (such as train.sh) behind it")


def read_job(paths: List[str], gpus: int = 0, cluster: Optional[str] = None,
             env: Optional[Dict[str, str]] = None, run: int = 0) -> Tuple[str, str]:
    """A run file of logs and of a job's own files behind them, and notes. Raises Refused."""
    logs = [path for path in paths if not path.endswith(SETTINGS)]
    more = [read_file(path) for path in paths if path.endswith(SETTINGS)]
    if not logs:
        raise Refused(f"{paths[0]}: settings, and no log; name a log first")
    log = scan(logs)
    chosen = choose(log, logs, run)
    where = Line(logs[0], chosen.steps[0].line, "")
    at = Place(File(where.file, ""), where.number, 1, False)
    f = Facts([File(path, "") for path in logs] + more, gpus, cluster, env or {})
    _configure(f, chosen, more, at)
    f.files = [File(path, "") for path in logs] + more
    f.stop_if_refused()
    found = figures(complete(f, chosen.steps), f.count("layout.global_batch", 0))
    if found:
        agree_on_batch(f, found.steps, at)
    settle.settle(f)
    f.stop_if_refused()
    found = figures(complete(f, chosen.steps), f.count("layout.global_batch", 0))
    if found is None:
        raise Refused(f"{where.file}:{where.number}: no step of {chosen.writer.title} has a time")
    at = at._replace(line=found.steps[0].line)
    measured(f, chosen, found, at)
    _notes(f, log, chosen, at)
    text = write.run_file(f, _title(chosen))
    write.check(f, text)
    return text, write.notes(f)
