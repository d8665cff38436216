"""Tables of the page about whole runs, of what steps.py scored."""
import dataclasses
import statistics

import scores
from datasets import BLIND, ROLES, written
from page import cell, folded, percent, table
from results import by, choices, outcomes, pairs

# What the page calls a large bias: in percent, over so many rows.
WORST_BIAS, WORST_ROWS, WORST_SHOWN = 10, 5, 12
NOT_GIVEN = "not given here"
# A set of very many small models would drown what it is mixed with.
APART = "vtrain single"


def gpus(job):
    return int(job["cluster.nodes"]) * int(job.get("cluster.gpus_per_node", 8))


def key(name, default="1"):
    return lambda job: int(job.get(name, default))


@dataclasses.dataclass
class Axis:
    """What errors are told by: the value of a job, and the upper ends of groups of values."""
    title: str
    word: str
    value: object
    ends: list

    def groups(self, results):
        """{label: results}, labels in order; named after the values that occur."""
        groups = {}
        for r in results:
            value = self.value(r.job)
            groups.setdefault(sum(value > end for end in self.ends), []).append(r)
        return {self.label(groups[at]): groups[at] for at in sorted(groups)}

    def label(self, results):
        values = [self.value(r.job) for r in results]
        low, high = min(values), max(values)
        return f"{self.word} {low}" + (f" to {high}" if high != low else "")


AXES = [
    Axis("GPUs", "GPUs", gpus, [8, 32, 64, 128, 256, 512, 1024]),
    Axis("tensor degree", "tensor", key("layout.tensor"), [1, 2, 4, 8]),
    Axis("pipeline depth", "pipeline", key("layout.pipeline"), [1, 2, 4, 8, 16]),
    Axis("sequence length", "sequence", key("model.sequence"),
         [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]),
    Axis("micro-batch", "micro-batch", key("layout.micro_batch"), [1, 2, 4, 8, 16]),
]
RECOMPUTE = "recomputation"


def axes(results):
    """(title, {label: results}) of every axis that the results differ in."""
    found = [(axis.title, axis.groups(results)) for axis in AXES]
    found.append((RECOMPUTE, dict(sorted(by(results, lambda r: "recompute " + r.job.get(
        "layout.recompute", "none")).items()))))
    return [(title, groups) for title, groups in found if len(groups) > 1]


def errors(results):
    """Cells of a line: rows, mean, median, p90, bias."""
    f = scores.errors(pairs(results))
    return [f["n"], percent(f["mean"]), percent(f["median"]), percent(f["p90"]),
            percent(f["bias"], True)]


ERRORS = ["rows", "mean", "median", "p90", "bias"]


def timed(found):
    return [r for s in found for r in s.timed]


def families(found):
    return by(found, lambda s: s.dataset.family)


def starred(name, found):
    return name + ("" if all(s.carried for s in found) else " *")


def right(counts):
    """How many outcomes of memory were predicted."""
    if not counts["known"]:
        return "-"
    if not counts["oom_refused"] + counts["oom_fits"]:
        return f"{counts['known']} ran, {counts['ran_refused'] or 'none'} refused"
    return f"{percent(100 * (1 - counts['wrong'] / counts['known']))} of {counts['known']}"


def lost(found):
    """What choosing by simulation costs."""
    points, _, failed = choices(found)
    if not points and not failed:
        return "-"
    n = len(points) + failed
    return cell(statistics.mean(points) if points else None, "{:.1f}") \
        + f" ({n} choice{'s' * (n > 1)}" + (f", {failed} did not run)" if failed else ")")


def span(values):
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


# Scored by others on rows that the authors did not have, release 0.1.0: mean error, rows, or what
# else; presets as shipped, or with the keys that the data set documents.
BLIND_SCORES = [
    ("LLaMA 13B to 65B, Hagemann et al.", "4.4 %", "4.5 %", "178"),
    ("the same, fits or not", "", "92.0 % right", "525"),
    ("MLPerf GPT-3 175B, fp8, 256 to 11,616 H100", "3.9 %", "", "21"),
    ("MLPerf Llama 3.1 405B, fp8, 256 to 8,192 H100, H200, GB200", "4.7 %", "", "14"),
    ("the same, peak memory on H100 and H200", "0.8 % at most", "", "7"),
    ("MLPerf Llama 3.1 405B and 8B on B200, B300", "25 %", "", "9"),
    ("MLPerf Llama 3.1 8B on 128 and 512 GPUs", "26 to 29 %", "", "3"),
    ("MLPerf DeepSeek-V3, 256 to 8,192 GB200, GB300", "26 %", "", "9"),
    ("GPT 175B, vTrain", "3.8 %", "6.3 %", "21"),
    ("large runs", "8.3 %, median 4.7 %", "", "23"),
    ("MegaScale", "", "2.6 %", "6"),
    ("models with experts, H100 and H800", "median 10.1 %", "median 14.7 %", "38"),
    ("torchtitan with context parallelism", "35 %", "4.6 %", "4"),
    ("power of a node, GPT-3 on 64 DGX H100", "0.6 %", "", "6"),
]
# The family that such a score belongs to, and which of its two figures: shipped or documented.
BLIND_OF = {"LLaMA 13B to 65B, Hagemann et al.": ("LLaMA 13B to 65B, Hagemann et al.", 2),
            "GPT 3.6B to 39B, vTrain": ("GPT 175B, vTrain", 2),
            "published runs of GPT, 18B to 1T": ("large runs", 1),
            "models with experts": ("models with experts, H100 and H800", 2),
            "long sequences on H100, NVIDIA and torchtitan": ("torchtitan with context parallelism", 1)}


def blind_of(family):
    """"4.5 % of 178": the score of `family` on rows kept back."""
    of, column = BLIND_OF.get(family, (None, 1))
    return next((f"{row[column].split(',')[0]} of {row[3]}" for row in BLIND_SCORES if row[0] == of), "-")


def mean(results, simulated=lambda r: r.time):
    return percent(scores.errors(pairs(results, simulated))["mean"])


def summary(found):
    """One line a family."""
    lines = []
    for name, group in families(found).items():
        results = timed(group)
        lines.append([starred(name, group), span([gpus(r.job) for r in results]), len(results),
                      mean(results, lambda r: r.shipped), mean(results), blind_of(name),
                      right(outcomes([r for s in group for r in s.results])), lost(group)])
    return table(["measured", "GPUs", "step times", "presets alone", "documented keys", "blind",
                  "fits or not", "MFU points lost"], lines)


# The table of README.md: families in four rows, and the blind score beside each.
HEADLINES = [
    ("GPT and LLaMA on V100 and A100, 8 to 3,072 GPUs",
     ["LLaMA 13B to 65B, Hagemann et al.", "published runs of GPT, 18B to 1T", "GPT 3.6B to 39B, vTrain"],
     "LLaMA 13B to 65B, Hagemann et al."),
    ("dense models on H100 and B200, FSDP, 4 to 3,584 GPUs",
     ["MPT with FSDP, LLM Foundry", "torchtitan, nanotron, vocabulary parallelism",
      "Llama 3 on 8 B200, SimuMax", "long sequences on H100, NVIDIA and torchtitan",
      "NVIDIA's recipes: MLPerf, Megatron-Bridge"], "MLPerf GPT-3 175B, fp8, 256 to 11,616 H100"),
    ("models with experts, 8 to 2,048 GPUs", ["models with experts"],
     "models with experts, H100 and H800"),
    ("small GPT on one node, 2 to 8 GPUs", ["small GPT on one node, vTrain"], None),
]


def headline(found):
    known, lines = families(found), []
    if set(known) - {name for _, names, _ in HEADLINES for name in names}:
        raise RuntimeError("a family is in no row of HEADLINES")
    for title, names, score in HEADLINES:
        results = [r for name in names for r in timed(known.get(name, []))]
        kept = next(((keys or alone) + f" of {rows}" for name, alone, keys, rows in BLIND_SCORES
                     if name == score), "-")
        lines.append([f"{title}: {len(results)}", mean(results, lambda r: r.shipped),
                      mean(results), kept])
    return table(["measured step times", "shipped", "documented", "blind"], lines)


def blind(_):
    return table(["rows that were kept back", "presets alone", "documented keys", "rows"],
                 [[name, alone or "-", keys or "-", rows] for name, alone, keys, rows in BLIND_SCORES])


def left_out(found):
    return table(["data", "left out"], [[s.name, s.dataset.left_out] for s in found
                                        if s.dataset.left_out])


def roles(found):
    """What was fitted, what was seen, and what others fill in."""
    lines = []
    for name, group in families(found).items():
        times, memory = [], []
        for role in ROLES:
            results = timed([s for s in group if s.dataset.time == role])
            times.append(f"{percent(scores.errors(pairs(results))['mean'])} of {len(results)}"
                         if results else NOT_GIVEN if role == BLIND else "-")
            memory.append(right(outcomes([r for s in group if s.dataset.memory == role
                                          for r in s.results])))
            if role == BLIND and memory[-1] == "-":
                memory[-1] = NOT_GIVEN
        lines.append([starred(name, group), "step times, mean error", *times])
        if any(r.oom for s in group for r in s.results):
            lines.append(["", "fits or not, predicted", *memory])
    return table(["measured", "what", *ROLES], lines)


def by_axis(found):
    """Errors of all sets together: GPUs first, the rest folded away."""
    results = timed([s for s in found if s.dataset.name != APART])
    (_, first), *others = [
        (title, table([title, *ERRORS], [[label.split(" ", 1)[1], *errors(group)]
                                         for label, group in groups.items()]))
        for title, groups in axes(results)]
    return first + "".join("\n" + folded(f"by {title}", text) for title, text in others)


def step_times(found):
    lines = []
    for s in found:
        f = s.figures
        lines.append([s.name, *errors(s.results), cell(f["spearman"], "{:.3f}"),
                      percent(f["one_factor"]), percent(f["constant_mfu"]),
                      percent(f["constant_time"])])
    return table(["data", *ERRORS, "rank", "one factor", "constant MFU", "constant time"], lines)


def chosen(found):
    return table(
        ["data", "sweeps", "MFU points lost, mean", "worst", "by any layout that ran",
         "choices that did not run"],
        [[s.name, s.figures["regret_sweeps"], cell(s.figures["regret"], "{:.1f}"),
          cell(s.figures["regret_worst"], "{:.1f}"), cell(s.figures["regret_any"], "{:.1f}"),
          s.figures["chose_oom"]]
         for s in found if "regret" in s.figures])


def share(part, whole):
    return f"{part}" + (f" ({100 * part / whole:.1f} %)" if part else "") if whole else "-"


def fits(found):
    """Confusion of what happened with what was simulated."""
    lines = []
    groups = [(s.name, s.results) for s in found]
    groups.append(("all", [r for s in found for r in s.results]))
    for name, results in groups:
        f = outcomes(results)
        if not f["known"]:
            continue
        lines.append([name, f["known"], percent(100 * (1 - f["wrong"] / f["known"])),
                      f["ran_fits"], share(f["ran_refused"], f["ran_fits"] + f["ran_refused"]),
                      f["oom_refused"] if f["oom_refused"] + f["oom_fits"] else "-",
                      share(f["oom_fits"], f["oom_refused"] + f["oom_fits"])])
    return table(["data", "outcomes", "right", "ran and fits", "ran, refused: false refusals",
                  "out of memory and refused", "out of memory, fits: false fits"], lines)


def run_as(dataset):
    """The presets of the run file, and what is written beside them."""
    keys = written(dataset.base)
    texts = []
    for section in ("cluster", "framework"):
        words = [value if name == "preset" else f"{name}: {value}"
                 for name, value in ((k.removeprefix(section + "."), v) for k, v in keys.items()
                                     if k.startswith(section + "."))]
        texts.append(", ".join(words) or "as its rows say")
    return "; ".join(texts)


def about(found):
    lines = []
    for s in found:
        d = s.dataset
        role = f"times {d.time}, memory {d.memory}" if d.time != d.memory else d.time
        lines.append([s.name, d.machine, run_as(d), role + (f": {d.role}" if d.role else ""),
                      d.notes or "-", d.source])
    return table(["data", "machine", "cluster; framework", "role", "notes", "source"], lines)


def inputs(found):
    """What the sources do not state; sets that share an input are one line."""
    shared = {}
    for s in found:
        for name, given in s.dataset.inputs.items():
            shared.setdefault((name, given.value, given.error, given.how), []).append(s.name)
    return table(["data", "input", "taken as", "error", "how"],
                 [[", ".join(names), f"`{name}`", value, error or "-", how]
                  for (name, value, error, how), names in shared.items()])


def groups_of(scored):
    """(title, {label: results}): its own groups, then the axes it varies in."""
    own = [(title, by(scored.timed, lambda r, f=label: f(r.row)))
           for title, label in scored.dataset.groups.items()]
    return [(title, dict(sorted(groups.items(), key=natural))) for title, groups in own] \
        + axes(scored.timed)


def natural(item):
    """Sorts 'tensor 16' behind 'tensor 8'."""
    words = item[0].replace(",", " ").split()
    return [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in words]


def worst(found):
    """Groups with a large bias."""
    lines = []
    for s in found:
        for _, groups in groups_of(s):
            for label, results in groups.items():
                n, mean, _, _, bias = errors(results)
                size = abs(scores.errors(pairs(results))["bias"])
                if n >= WORST_ROWS and size >= WORST_BIAS:
                    lines.append((size, [s.name, label, n, mean, bias]))
    lines.sort(key=lambda line: -line[0])
    return table(["data", "group", "rows", "mean", "bias"],
                 [cells for _, cells in lines[:WORST_SHOWN]])


def by_group(found):
    """Every set folded away: its name and mean show."""
    parts = []
    for s in found:
        lines = [[label, *errors(results)]
                 for _, groups in groups_of(s) for label, results in groups.items()]
        parts.append(folded(f"{s.name}: {s.figures['n']} step times, mean error "
                            f"{percent(s.figures['mean'])}", table(["group", *ERRORS], lines)))
    return "\n".join(parts)


BLOCKS = {"headline": headline, "summary": summary, "blind": blind, "left out": left_out, "roles": roles, "by axis": by_axis, "step times": step_times,
          "choices": chosen, "fits": fits, "data sets": about, "inputs": inputs, "worst": worst,
          "by group": by_group}


def all_of(found):
    return {name: block(found) for name, block in BLOCKS.items()}
