#!/usr/bin/env python3
"""Scores predictions of training steps, of any tool, on measured runs.

    score.py [--rows FOLDER]... [--by set|gpu] [--svg FILE] [--write PAGE | --check PAGE] PREDICTIONS.csv...

docs/benchmark.md says what the columns of rows and predictions are. It needs Python 3.9 and
nothing else; trainyard itself is not called."""
import argparse
import csv
import difflib
import io
import math
import pathlib
import re
import signal
import statistics
import sys

import scores
from page import fill, percent, table

HERE = pathlib.Path(__file__).resolve().parent
KEYS = HERE.parents[1] / "docs" / "reference" / "keys.md"
MACHINES = HERE / "machines.csv"
MEASURED = "measured_s"


def positive(text):
    try:
        return math.isfinite(float(text)) and float(text) > 0
    except ValueError:
        return False


# Of a cell that is not empty: what is right, and whether it is so. Numbers are read as such.
NUMBER = ("a positive number, with a point", positive)
COUNT = ("a whole number from 1", lambda text: positive(text) and float(text).is_integer())
FLAG = ("0, 1 or nothing", lambda text: text in ("0", "1"))
KIND = ("allocated or reserved", lambda text: text in ("allocated", "reserved"))
TEXT = ("text", lambda text: True)
SIZES = ["model.layers", "model.hidden", "model.heads", "model.vocabulary", "model.sequence",
         "layout.global_batch"]
ROW = dict.fromkeys(["id", "source", "licence", "gpu", "sweep"], TEXT) | \
    dict.fromkeys(["noise", MEASURED, "peak_memory_gib", "power_w", "ideal_s"], NUMBER) | \
    dict.fromkeys(["gpus", "params", *SIZES, "layout.tensor", "layout.context", "layout.pipeline",
                   "layout.data", "layout.expert", "layout.micro_batch"], COUNT) | \
    {"layouts": FLAG, "oom": FLAG, "memory_kind": KIND}
ROW_NEEDS = ["id", "source", "licence", "gpu", "gpus", *SIZES]
SAID = {"id": TEXT, "fits": FLAG} | \
    dict.fromkeys(["step_time_s", "low_s", "high_s", "peak_memory_gib"], NUMBER)


def fail(path, line, text):
    sys.exit(f"{path}:{line}: {text}")


def like(name, known):
    near = [k for k in known if name.startswith(f"{k}_")] or difflib.get_close_matches(name.lower(), known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def header(path, names, columns, needs, known):
    """Fails unless each name is that of a column, each once, and no column that is needed lacks."""
    if len(names) == 1 and re.search("[;\t]", names[0]):
        fail(path, 1, "no column id; is the file comma-separated?")
    for name in names:
        of = "rows" if name in ROW else "predictions" if name in SAID else ""
        if name not in known and of:
            fail(path, 1, f"{name}: a column of {of}; this table is read as the other kind")
        if name not in known:
            fail(path, 1, f"{name or '(no name)'}: no such column" + (like(name, known) or
                                                      f"; line 1 names columns: {', '.join(columns)}"))
        if names.count(name) > 1:
            fail(path, 1, f"{name}: this column is there twice")
    for name in needs:
        if name not in names:
            fail(path, 1, f"no column {name}; needed are {', '.join(needs)}")


# Kinds of values in keys.md, and what a cell of them looks like; all others are words.
FORMS = {"whole number": r"\d+", "like ": r"[\d.]+(e[+-]?\d+)? ?[\w/%]*", "text": ".*", "list of": ".*",
         "letters": ".*", "path": ".*"}


def right(value, meaning):
    """(what is right, whether a cell is so) of a key, as far as its line of keys.md says it."""
    kind, *words = value.split(r" \| ")
    form = next((form for start, form in FORMS.items() if kind.startswith(start)), None)
    several = re.match("(?:some|order) of (.*)", kind)
    limits = re.fullmatch(r"whole number (\d+) \.\. (\d+)", kind)
    if several:
        one = f"({'|'.join(map(re.escape, several[1].split(', ')))})"
        form = rf"\[?{one}([+, ]+{one})*\]?"
    elif kind == "text" and "<br>" in meaning:  # the names of presets
        form, words = None, re.findall("`([^`]+)`", meaning.rpartition("<br>")[2])
    elif form is None:
        words.insert(0, kind)
    said = " or ".join(words if form is None else [kind, *words])
    words += [case for word in words if word in ("true", "false") for case in (word.title(), word.upper())]
    return said, lambda text: text in words or form is not None and bool(re.fullmatch(form, text)) and (
        not limits or int(limits[1]) <= int(text) <= int(limits[2]))


def read(path, columns, needs, full, keys=None):
    """(line, row) of a table with `columns` and further `keys`, all cells checked. The columns
    `needs` must be there, and cells of `full` may not be empty."""
    known = (keys or {}) | columns
    data = path.read_bytes()
    try:
        lines = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        names = [name.strip() for name in next(lines, [])]
        header(path, names, columns, needs, known)
        count = 0
        for count, cells in enumerate(filter(None, lines), 1):
            at = lines.line_num
            if len(cells) != len(names):
                fail(path, at, f"{len(cells)} cells under {len(names)} columns; numbers take a point, "
                               "and a text with commas takes quotes")
            row = dict.fromkeys(columns, "") | {n: c.strip() for n, c in zip(names, cells)}
            for name, text in row.items():
                said, good = known[name]
                if not good(text) if text else name in full:
                    fail(path, at, f"{name}: {repr(text) if text else 'empty'}; write {said}")
            yield at, row | {n: float(row[n]) if row[n] else None for n in columns
                             if columns[n] is NUMBER}
    except UnicodeDecodeError as error:
        fail(path, data[:error.start].count(b"\n") + 1, "not UTF-8; save the file as UTF-8")
    except csv.Error as error:
        fail(path, lines.line_num, error)
    if not count:
        fail(path, 1, "no line below the names of columns")


def contradictions(row, machines):
    """(column, what else the row says) where its cells do not fit together."""
    def count(column, default=1):
        return int(float(row.get(column) or default))
    known = list(dict.fromkeys(m["gpu"] for m in machines))
    own = [m for m in machines if m["gpu"] == row["gpu"]]
    if not own and like(row["gpu"], known):
        yield "gpu", f"machines.csv has {', '.join(known)}"
        return
    gpus, preset = count("gpus"), row.get("cluster.preset")
    if preset and preset not in [m["cluster.preset"] for m in own]:
        yield "cluster.preset", f"gpu is {row['gpu']}; see machines.csv"
    nodes, size = count("cluster.nodes"), row.get("cluster.gpus_per_node")
    if preset and not size:
        size = next(m["gpus_per_node"] for m in machines if m["cluster.preset"] == preset)
    if size and nodes * int(size) != gpus:
        yield "gpus", f"cluster.nodes x cluster.gpus_per_node is {nodes} x {size}"
    ranks = math.prod(count(f"layout.{name}") for name in ("tensor", "context", "pipeline"))
    data = count("layout.data", gpus // ranks)
    if data * ranks != gpus:
        yield "gpus", f"layout.data x tensor x context x pipeline is {data} x {ranks}"
    elif row[MEASURED] and count("layout.global_batch") % (data * count("layout.micro_batch")):
        yield "layout.global_batch", f"{data} replicas x layout.micro_batch do not divide it"
    if (row["ideal_s"] or 0) > (row[MEASURED] or math.inf):
        yield "ideal_s", f"{MEASURED} is less, {row[MEASURED]:g}"
    held = re.match(r"([\d.]+) ?GiB", row.get("cluster.memory") or
                    (f"{own[0]['memory_gib']} GiB" if own else ""))
    if held and (row["peak_memory_gib"] or 0) > float(held[1]):
        yield "peak_memory_gib", f"{row['gpu']} has {held[1]}"


def read_rows(*folders):
    """{id: row} of every table of the folders; numbers are numbers, `set` is the table's name."""
    rows, keys = {}, {key: right(*of) for key, *of in re.findall(
        r"^\| `([\w.]+)` \| (.*?) \| .*? \| (.*) \|$", KEYS.read_text(encoding="utf-8"), re.M)}
    with MACHINES.open(encoding="utf-8", newline="") as file:
        machines = list(csv.DictReader(file))
    for folder in folders:
        tables = sorted(folder.glob("*.csv")) if folder.is_dir() else [folder]
        if not tables:
            sys.exit(f"{folder}: no table of rows in it")
        for path in tables:
            for line, row in read(path, ROW, ROW_NEEDS, ROW_NEEDS, keys):
                if row["id"] in rows:
                    fail(path, line, f"id: {row['id']!r} is there twice")
                if (row[MEASURED] is None) != (row["oom"] == "1"):
                    fail(path, line, f"{MEASURED}: {row[MEASURED] or 'empty'}, but oom is "
                                     f"{row['oom'] or 'empty'}; write a time, or oom 1")
                for column, why in contradictions(row, machines):
                    fail(path, line, f"{column}: {row[column]}, but {why}")
                rows[row["id"]] = row | {"set": path.stem}
    return rows


def read_predictions(path, rows):
    """{id: prediction}; one without a time is a refusal."""
    found = {}
    for line, row in read(path, SAID, ["id", "step_time_s"], ["id"]):
        name, low, high = row["id"], row["low_s"], row["high_s"]
        if name not in rows:
            fail(path, line, f"id: {name!r} is no row of the benchmark")
        if name in found:
            fail(path, line, f"id: {name!r} is there twice")
        if (low is None) != (high is None):
            fail(path, line, f"{'low_s' if low is None else 'high_s'}: empty; a band needs both ends")
        if low and low > high:
            fail(path, line, f"low_s: {low:g} is above high_s, {high:g}; exchange them")
        found[name] = row
    return found


def by(rows, column):
    groups = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def score(rows, said):
    """Figures of one tool over some rows."""
    ran = [row for row in rows if row[MEASURED]]
    told = [(row, said[row["id"]]) for row in ran if said.get(row["id"], {}).get("step_time_s")]
    out = {"rows": len(ran), "told": len(told)}
    if not told:
        return out
    errors = [100 * (p["step_time_s"] / row[MEASURED] - 1) for row, p in told]
    out |= {"mean": statistics.mean(map(abs, errors)), "median": statistics.median(map(abs, errors)),
            "bias": statistics.mean(errors), "worst": max(errors, key=abs)}
    known = {row["id"] for row, _ in told}
    sweeps = [group for group in by([row for row in ran if row["sweep"]], "sweep").values()
              if known.issuperset(row["id"] for row in group)]
    out["rank"], _ = scores.spearman_within(
        [[[statistics.mean(times) for times in zip(*((row[MEASURED], said[row["id"]]["step_time_s"])
                                                     for row in repeats))]
          for repeats in alike(group)] for group in sweeps], constant=0)
    out["choices"], out["regret"] = regret(rows, said)
    bands = [(row, p) for row, p in told if p["low_s"] and p["high_s"]]
    if bands:
        out["inside"] = 100 * statistics.mean(p["low_s"] <= row[MEASURED] <= p["high_s"]
                                              for row, p in bands)
    held = [(row["peak_memory_gib"], said[row["id"]]["peak_memory_gib"]) for row in rows
            if row["peak_memory_gib"] and said.get(row["id"], {}).get("peak_memory_gib")]
    if held:
        out["memory"] = statistics.mean(100 * abs(p / m - 1) for m, p in held)
    both = [group for group in by([row for row in rows if row["oom"]], "set").values()
            if len({row["oom"] for row in group}) == 2]
    verdicts = [(row["oom"] == "0", said[row["id"]]["fits"] == "1") for row in sum(both, [])
                if said.get(row["id"], {}).get("fits")]
    if verdicts:
        out["right"] = 100 * statistics.mean(a == b for a, b in verdicts)
        out["verdicts"] = len(verdicts)
    return out


def alike(rows):
    """Rows in lists: those that differ in no key, repeats of a run, in one."""
    same = {}
    for row in rows:
        same.setdefault(tuple(v for k, v in row.items() if "." in k), []).append(row)
    return list(same.values())


def regret(rows, said):
    """((choices, those without a layout that ran, sweeps in part), points of MFU lost, in the mean).
    A choice is the layout of a sweep that is predicted fastest among those predicted to fit. A sweep
    is one in part unless every layout has a time, or does not fit."""
    def seen(repeats):
        p = next((p for p in (said.get(row["id"], {}) for row in repeats)
                  if p.get("step_time_s") or p.get("fits") == "0"), None)
        ran = [row[MEASURED] for row in repeats if row[MEASURED]]
        mean = statistics.mean(ran) if ran else None
        return (p, p is not None and p["fits"] != "0", mean,
                repeats[0]["ideal_s"] / mean if ran else None)
    groups = [[seen(repeats) for repeats in alike(r for r in group if r["ideal_s"] or not r[MEASURED])]
              for group in by([r for r in rows if r["sweep"] and r["layouts"] == "1"], "sweep").values()]
    groups = [group for group in groups if any(p and p["step_time_s"] for p, *_ in group)
              and sum(ran is not None for _, _, ran, _ in group) > 1]
    all_told = [[(p["step_time_s"], *rest) for p, *rest in group] for group in groups
                if all(p for p, *_ in group)]
    lost, _, _ = scores.regret(all_told)
    return ((len(all_told), len(all_told) - len(lost), len(groups) - len(all_told)),
            statistics.mean(lost) if lost else None)


def size(rows):
    ran, gpus = sum(bool(row[MEASURED]) for row in rows), [int(float(row["gpus"])) for row in rows]
    sizes = " to ".join(f"{n:,}" for n in sorted({min(gpus), max(gpus)}))
    return f"{ran:,} measured training step{'s' * (ran != 1)} on {sizes} GPUs.\n"


HEAD = ["rows", "refused", "mean", "median", "bias", "worst", "rank", "MFU points lost", "inside band",
        "memory", "fits or not"]


def cells(s):
    def form(key, text):
        return text.format(s[key]) if s.get(key) is not None else "-"
    return [s["rows"], s["rows"] - s["told"], percent(s.get("mean")), percent(s.get("median")),
            percent(s.get("bias"), True), percent(s.get("worst"), True), form("rank", "{:.2f}"),
            form("regret", "{:.1f}") + chosen(*s.get("choices", (0, 0, 0))),
            percent(s.get("inside")), percent(s.get("memory")),
            form("right", "{:.1f} %") + (f" of {s['verdicts']}" if "right" in s else "")]


def chosen(choices, without, part):
    return (f" of {choices}" if choices else "") + (f", {without} without" if without else "") + in_part(part)


def in_part(part):
    return f", {part} in part" if part else ""


def overall(rows, said):
    """Every set counts once, where all its steps have a prediction: their mean, and how many there are."""
    sets = [score(group, said) for group in by(rows.values(), "set").values()]
    means = [s["mean"] for s in sets if s["told"] and s["told"] == s["rows"]]
    part = sum(s["told"] > 0 for s in sets) - len(means)
    return statistics.mean(means) if means else None, f"{len(means)} of {len(sets)}{in_part(part)}"


WIDTH, LEFT, LANE, EDGE = 760, 190, 34, 60  # of the picture; its scale ends at this error, %


def picture(rows, tools):
    """A lane for each tool: every error a line, the middle half a box, the median a bar, as SVG."""
    def at(error):
        return LEFT + (WIDTH - LEFT - 36) * (max(-EDGE, min(EDGE, error)) + EDGE) / (2 * EDGE)
    out, height = [], 60 + LANE * len(tools)
    for tick in range(-EDGE, EDGE + 1, 20):
        label = f"{tick:+d}" if tick else "0"
        out.append(f'<path class="grid" d="M{at(tick):.1f} 30V{height - 26}"/>'
                   f'<text class="mid" x="{at(tick):.1f}" y="{height - 8}">{label} %</text>')
    for lane, (name, said) in enumerate(tools.items()):
        top = 36 + lane * LANE
        errors = sorted(100 * (said[i]["step_time_s"] / row[MEASURED] - 1) for i, row in rows.items()
                        if row[MEASURED] and said.get(i, {}).get("step_time_s"))
        out.append(f'<text x="12" y="{top + 15}">{name}</text>')
        if not errors:
            continue
        low, mid, high = (at(scores.percentile(errors, q)) for q in (0.25, 0.5, 0.75))
        lines = "".join(f"M{at(e):.1f} {top}v20" for e in errors)
        out.append(f'<path class="one" d="{lines}"/>'
                   f'<path class="box" d="M{low:.1f} {top - 2}H{high:.1f}v24H{low:.1f}z"/>'
                   f'<path class="median" d="M{mid:.1f} {top - 4}v28"/>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="system-ui, sans-serif" font-size="13"><style>svg{background:#fff}'
            '.grid{stroke:#e1e5ea}.one{stroke:#1f6feb;stroke-opacity:.12}.box{fill:none;stroke:#1f2328}'
            '.median{stroke:#cf222e;stroke-width:3}.mid{text-anchor:middle}</style>'
            f'<text x="12" y="18">Error of step times: every row, the middle half, the median. '
            f'Rows beyond {EDGE} % stand at the edge.</text>{"".join(out)}</svg>\n')


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("predictions", nargs="+", type=pathlib.Path)
    parser.add_argument("--rows", type=pathlib.Path, action="append", metavar="FOLDER",
                        help="folder or table, in place of tests/ledger/rows; may be repeated")
    parser.add_argument("--by", choices=("set", "gpu"), default="set")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FILE", help="draw the errors")
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE", help="fail where they are not these")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="renew its tables")
    args = parser.parse_args()
    tools = {}
    try:
        rows = read_rows(*args.rows or [HERE / "rows"])
        for path in args.predictions:
            if path.stem in tools:
                sys.exit(f"{path}: another file is named {path.stem}, too; rename one")
            tools[path.stem] = read_predictions(path, rows)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
    lines, groups = [], by(rows.values(), args.by)
    for name, said in tools.items():
        mean, sets = overall(rows, said)
        lines.append([name, sets, percent(mean), *cells(score(list(rows.values()), said))])
    blocks = {"size": size(rows.values()),
              "scores": table(["tool", "sets", "mean over sets", *HEAD], lines),
              "scores by group": table([args.by, "tool", *HEAD], [
                  [group, name, *cells(score(own, said))] for group, own in groups.items()
                  for name, said in tools.items() if score(own, said)["told"]])}
    if args.check:
        page = args.check.read_text(encoding="utf-8")
        same = fill([page], blocks) == [page] and picture(rows, tools) == \
            args.check.with_suffix(".svg").read_text(encoding="utf-8")
        print(f"1..1\n{'ok' if same else 'not ok'} 1 - {args.check.name} and its picture have these "
              "scores; else give --write and --svg")
        return 0 if same else 1
    if args.svg:
        args.svg.write_text(picture(rows, tools), encoding="utf-8")
    if args.write:
        (text,) = fill([args.write.read_text(encoding="utf-8")], blocks)
        args.write.write_text(text, encoding="utf-8")
    else:
        print("\n".join(blocks.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
