"""`trainyard import huggingface`: a config.json is a model; how it is trained is said by options, or
by files beside it. And what only a training script says, where files hold a model and a layout."""
from typing import Optional

from . import engine
from .facts import Facts, File, From, Refused
from .flags import Flags
from .named import model_of

SEQUENCE = 2048  # guess: what scripts often cut texts to
GUESS = From("guess")
MICRO, STEPS = "PER_DEVICE_TRAIN_BATCH_SIZE", "GRADIENT_ACCUMULATION_STEPS"
FLAG = "--per-device-train-batch-size"


def set_model(f: Facts, file: File) -> None:
    """The section `model` as model.huggingface would, the file as its source."""
    source = From(file.name)
    try:
        lines, remarks = engine.huggingface(file.path)
    except Refused as why:
        f.refuse_text(str(why))
        return
    f.set_lines("model", source, lines)
    for line in remarks.splitlines():
        f.remark(source, line)
    set_sequence(f)


def name_model(f: Facts, source: From, name: str) -> bool:
    """The section `model` of a model that is only named, unless a file has it; False: it is not
    known by its name."""
    if "model.layers" in f.facts:
        return True
    lines, whose = model_of(name)
    f.set_lines("model", source, lines)
    if lines:
        f.explain("model.layers", f"sizes are those of {whose}")
        f.remark(source, f"{name} is known by its name alone: the sizes are those of {whose}; a "
                         "config.json as a further file counts")
        f.facts.pop("model.sequence", None)  # how long it could be
        set_sequence(f)
    return bool(lines)


def need_model(f: Facts, source: From, name: str) -> None:
    if not name_model(f, source, name):
        f.refuse(source, f"no sizes of {name or 'it'} are known here; name the model's config.json as "
                         "a further file")


def set_sequence(f: Facts) -> None:
    if "SEQ_LENGTH" in f.env:
        f.set("model.sequence", From("--env SEQ_LENGTH"), f.env["SEQ_LENGTH"])
    elif "model.sequence" not in f.facts:
        f.set("model.sequence", GUESS, SEQUENCE)


def set_batch(f: Facts, accumulation: int, script: Optional[Flags] = None) -> None:
    """micro_batch and global_batch, of each of the replicas that the degrees of the layout leave, so
    many times (`accumulation`; 0: no file says it): by --env, else by flags, else guesses."""
    flagged = script is not None and script.has(FLAG)
    source = (script.source(FLAG) if script and flagged and MICRO not in f.env
              else From(f"--env {MICRO}"))
    given = f.env_count(MICRO, script.count(FLAG) if script and flagged else 0)
    steps = f.env_count(STEPS, accumulation or 1)
    source = source if given else GUESS
    f.set("layout.micro_batch", source, given or 1)
    if f.replicas() and steps:
        f.set("layout.global_batch", source, (given or 1) * steps * f.replicas(),
              f"{steps} times on each of {f.replicas()} replicas")
    if not given:
        f.remark(GUESS, f"no file says the batch: 1 sequence a GPU; --env {MICRO}=N and "
                        f"--env {STEPS}=N say it")
    tell_sequence(f)


def tell_sequence(f: Facts) -> None:
    if "model.sequence" in f.facts and f.facts["model.sequence"].source.word == "guess":
        f.remark(GUESS, f"no file says how long sequences are: {f.get('model.sequence')} tokens; "
                        "--env SEQ_LENGTH=N says it")


def read(f: Facts) -> None:
    if len(f.files) > 1:
        f.refuse(From(f.files[1].path), "a second file; a config.json is all, write accelerate for "
                                        "one with an accelerate file")
        return
    set_model(f, f.files[0])
    set_batch(f, 0)
