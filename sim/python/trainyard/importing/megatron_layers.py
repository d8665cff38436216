"""Which layers have experts, and which are on which stage of the pipeline.

A list of stages is in the order in which a micro-batch visits them, as Megatron-LM's layout is: item
a p + b is chunk a of rank b.
"""
import ast
import re
from typing import List, Optional, Sequence

from .facts import Facts, From, join, whole_number
from .flags import Flags

RULE = "default of Megatron-LM"
LAYERS_MAX, STAGES_MAX, UNITS_MAX = 10000, 128, 20000

# ---- experts ----


def zeros_and_ones(text: str) -> Optional[List[int]]:
    """Python's lists of 0 and 1: ([0]*3+[1]*58), [1, 0] * 12; None: it is none of these."""
    def value(node: ast.AST) -> List[int]:
        if isinstance(node, ast.List) and node.elts:
            found = [item.value for item in node.elts if isinstance(item, ast.Constant)
                     and type(item.value) is int and item.value in (0, 1)]
            if len(found) == len(node.elts):
                return found
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return few(value(node.left) + value(node.right))
        if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
                and isinstance(node.right, ast.Constant) and type(node.right.value) is int
                and 0 <= node.right.value <= LAYERS_MAX):
            left = value(node.left)
            return few(left * min(node.right.value, LAYERS_MAX // max(len(left), 1) + 1))
        raise ValueError

    def few(found: List[int]) -> List[int]:
        if len(found) > LAYERS_MAX:
            raise ValueError
        return found
    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def set_expert_layers(f: Facts, source: From, has: Sequence[int]) -> None:
    """Dense layers may come first, or be scattered."""
    layers = f.count("model.layers", 0)
    if len(has) != layers:
        f.refuse(source, f"it says something of {len(has)} layers; there are {layers}")
        return
    first = has.index(1) if 1 in has else len(has)
    rest = [i for i in range(first, len(has)) if not has[i]]
    if first:
        f.set("model.dense_layers", source, first)
    if rest:
        f.set("model.mlp_layers", source, f"[{join(rest)}]")


def every(f: Facts, source: From, period: int, begin: int) -> None:
    """Every n-th layer has experts: Megatron-LM counts from the first one, DeepSpeed's fork to the
    n-th."""
    layers = f.count("model.layers", 0)
    if period == 0 or layers > LAYERS_MAX:
        f.refuse(source, "0 is no distance of layers; write 1 or more")
    else:
        set_expert_layers(f, source, [int(i % period == begin) for i in range(layers)])


def expert_layers(f: Facts, flags: Flags, fork: bool) -> None:
    freq = flags.opt("--moe-layer-freq")
    if fork:
        interval = flags.count("--expert-interval", 2)
        every(f, flags.source("--expert-interval", "--expert-interval"), interval,
              max(interval - 1, 0))
    elif freq is not None:
        source = flags.source("--moe-layer-freq", RULE)
        period, found = whole_number(freq), zeros_and_ones(freq)
        if period is not None and period <= LAYERS_MAX:
            every(f, source, period, 0)
        elif found is None:
            f.refuse(source, f"'{freq}' is neither a whole number nor a sum of lists of 0 and 1, "
                             "such as ([0]*3+[1]*58)")
        else:
            set_expert_layers(f, source, found)


# ---- stages ----

def set_layers(f: Facts, source: From, layers: Sequence[int]) -> None:
    f.set("layout.stage_layers", source, f"[{join(layers)}]")


def unrolled(text: str) -> Optional[str]:
    """ "t*3" is ttt, "(tt|)*2" tt|tt|, commas are nothing; parentheses do not hold others."""
    out = ""
    text = re.sub("[, ]", "", text)
    for group, units, unit, times in re.findall(r"(\(([^()]*)\)|([^()]))(?:\*([0-9]{1,5}))?", text):
        piece = units if group[0] == "(" else unit
        if group[0] == "(":
            piece = unrolled(units) if "(" not in units else None
        n = int(times) if times else 1
        if piece is None or len(out) + len(piece) * n > UNITS_MAX:
            return None
        out += piece * n
    return out


def fill_stages(f: Facts, source: From, layers: List[int]) -> None:
    """A stage between others that has only what predicts further tokens. Here that runs on the last
    stage, and a stage without layers cannot be: it takes one of the nearest before it."""
    for i in range(1, len(layers) - 1):
        giver = i
        while layers[i] == 0 and giver > 0 and layers[giver] < 2:
            giver -= 1
        if layers[i] > 0 or layers[giver] < 2:
            continue
        layers[i] += 1
        layers[giver] -= 1
        f.remark(source, f"stage {i} has no layers there, at most what predicts further tokens: "
                         "that runs on the last stage here, and one layer of stage "
                         f"{giver} comes instead")


def set_map(f: Facts, flags: Flags, ranks: int) -> int:
    """--pipeline-model-parallel-layout; virtual stages of a rank, 0: refused."""
    text = flags.text("--pipeline-model-parallel-layout")
    source = flags.source("--pipeline-model-parallel-layout", RULE)
    units = unrolled(text) if text.count("(") == text.count(")") else None
    stages = units.split("|") if units is not None else []
    if units is None or len(stages) > STAGES_MAX or set(units) - set("EtmL|"):
        f.refuse(source, f"'{text}' cannot be read; it has E, t, m, L, |, x*N and (..)*N, and at "
                         f"most {STAGES_MAX} stages")
        return 0
    if len(stages) % ranks != 0:
        f.refuse(source, f"{len(stages)} stages are no multiple of {ranks} pipeline ranks")
        return 0
    layers = [stage.count("t") for stage in stages]
    fill_stages(f, source, layers)
    set_layers(f, source, layers)
    return len(stages) // ranks


EMBEDDING = "--account-for-embedding-in-pipeline-split"
LOSS = "--account-for-loss-in-pipeline-split"
ENDS = ("--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers")
EACH = "--num-layers-per-virtual-pipeline-stage"
MANY = "--num-virtual-stages-per-pipeline-rank"


def set_accounts(f: Facts, flags: Flags, n: int) -> None:
    """Embedding and loss count as layers: the first and the last stage have one fewer."""
    first, last = flags.has(EMBEDDING), flags.has(LOSS)
    units = f.count("model.layers", 0) + first + last
    source = flags.source(EMBEDDING if first else LOSS, RULE)
    if units % n != 0 or units == 0:
        f.refuse(source, f"{units} layers, embedding and loss counted, are no multiple of {n} "
                         "stages")
        return
    layers = [units // n] * n
    layers[0] -= first
    layers[-1] -= last
    set_layers(f, source, layers)


def set_ends(f: Facts, flags: Flags, ranks: int, chunks: int) -> None:
    """Layers of the first and last rank; the others have the rest, equally."""
    given = [flags.has(end) for end in ENDS]
    ends = [flags.count(end) for end in ENDS]
    inner, layers = ranks - sum(given), f.count("model.layers", 0)
    source = flags.source(ENDS[0] if given[0] else ENDS[1], RULE)
    rest = layers - sum(ends)
    uneven = rest != 0 if inner == 0 else rest % (inner * chunks) != 0
    if rest < 0 or uneven or ends[0] % chunks or ends[1] % chunks:
        f.refuse(source, f"{layers} layers do not go evenly on {inner} ranks of {chunks} stages "
                         "behind it")
        return
    row = [rest // (inner * chunks) if inner else 0] * ranks
    row[0] = ends[0] // chunks if given[0] else row[0]
    row[-1] = ends[1] // chunks if given[1] and not (given[0] and ranks == 1) else row[-1]
    set_layers(f, source, row * chunks)


def set_balance(f: Facts, flags: Flags, ranks: int) -> None:
    """DeepSpeed's type:transformer|embedding: the two embeddings weigh as much as a layer each, and
    the fullest stage is as empty as it can be; the first ones are filled."""
    method = flags.text("--pp-partition-method", "type:transformer")
    source = flags.source("--pp-partition-method", RULE)
    layers, embeddings = f.count("model.layers", 0), "embedding" in method
    units = layers + 2 * embeddings
    if not embeddings and layers % ranks == 0:
        return  # equal stages, as without a word
    most = -(-units // ranks)
    found = [max(min(most, units - i * most), 0) for i in range(ranks)]
    if embeddings and not (found[0] and found[-1]):
        f.remark(source, f"{method}: stages are partitioned differently here")
        return
    found[0] -= embeddings
    found[-1] -= embeddings
    set_layers(f, source, found)


def chunks_of(f: Facts, flags: Flags, ranks: int) -> int:
    """Chunks of a rank by the two flags that say it without a map; 0: refused."""
    units = f.count("model.layers", 0) + flags.has(EMBEDDING) + flags.has(LOSS)
    layers = flags.count(EACH)
    if not flags.has(EACH):
        return flags.count(MANY, 1)
    if layers == 0 or units % (ranks * layers) != 0:
        f.refuse(flags.source(EACH), f"{units} layers are no multiple of {ranks} ranks with stages "
                                     f"of {layers}")
        return 0
    return units // ranks // layers


def set_schedule(f: Facts, flags: Flags, chunks: int) -> None:
    source = flags.source("--pipeline-model-parallel-size", RULE)
    for flag in (EACH, MANY, "--pipeline-model-parallel-layout"):
        source = flags.source(flag) if flags.find(flag) is not None else source
    f.set("schedule.name", source, "interleaved" if chunks > 1 else "1f1b")
    if chunks > 1:
        f.set("schedule.chunks", source, chunks)
        flags.set_count("schedule.group", "--microbatch-group-size-per-vp-stage")
        flags.set_count("schedule.group", "--microbatch-group-size-per-virtual-pipeline-stage")


def set_stages(f: Facts, flags: Flags, fork: bool) -> None:
    ranks = f.count("layout.pipeline")
    mapped = flags.has("--pipeline-model-parallel-layout")
    if ranks < 2 or f.refused:
        return
    chunks = set_map(f, flags, ranks) if mapped else chunks_of(f, flags, ranks)
    if chunks == 0:
        return
    n, layers = ranks * chunks, f.count("model.layers", 0)
    if n <= STAGES_MAX and not mapped:  # a longer list the run file's reader refuses
        if flags.has(EMBEDDING) or flags.has(LOSS):
            set_accounts(f, flags, n)
        elif flags.has(ENDS[0]) or flags.has(ENDS[1]):
            set_ends(f, flags, ranks, chunks)
        elif fork:
            set_balance(f, flags, ranks)
        elif f.get("model.mtp") not in ("", "0") and layers % n == 0:
            # modules that predict further tokens stand behind equal stages
            set_layers(f, f.facts["model.mtp"].source, [layers // n] * n)
    set_schedule(f, flags, chunks)
