#!/usr/bin/env python3
"""Scores predictions of training steps, of any tool, on measured runs.

    score.py [--rows FOLDER] [--by set|gpu] [--svg FILE] [--write PAGE | --check PAGE] PREDICTIONS.csv...

docs/benchmark.md says what the columns of rows and predictions are. It needs Python 3.9 and
nothing else; trainyard itself is not called."""
import argparse
import csv
import math
import pathlib
import signal
import statistics
import sys

import scores
from page import fill, percent, table

HERE = pathlib.Path(__file__).resolve().parent
MEASURED = "measured_s"
NUMBERS = ("step_time_s", "low_s", "high_s", "peak_memory_gib")


def fail(path, line, text):
    sys.exit(f"{path}:{line}: {text}")


def number(path, line, column, text):
    """A positive number, or None where the cell is empty."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        fail(path, line, f"{column}: {text!r} is not a positive number")
    return value


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        return [(reader.line_num, row) for row in reader]


def read_rows(folder):
    """{id: row} of every table of the folder; numbers are numbers, `set` is the table's name."""
    rows = {}
    for path in sorted(folder.glob("*.csv")):
        for line, row in read(path):
            if row["id"] in rows:
                fail(path, line, f"id: {row['id']!r} is there twice")
            for column in (MEASURED, "peak_memory_gib", "ideal_s", "power_w"):
                row[column] = number(path, line, column, row.get(column))
            if row["oom"] not in ("", "0", "1"):
                fail(path, line, f"oom: {row['oom']!r}; write 0, 1 or nothing")
            row["set"] = path.stem
            rows[row["id"]] = row
    if not rows:
        sys.exit(f"{folder}: no table of rows")
    return rows


def read_predictions(path, rows):
    """{id: prediction}; one without a time is a refusal."""
    found = {}
    for line, row in read(path):
        name = row.get("id")
        if name not in rows:
            fail(path, line, f"id: {name!r} is no row of the benchmark")
        if name in found:
            fail(path, line, f"id: {name!r} is there twice")
        if row.get("fits") not in (None, "", "0", "1"):
            fail(path, line, f"fits: {row['fits']!r}; write 0, 1 or nothing")
        found[name] = row | {c: number(path, line, c, row.get(c)) for c in NUMBERS}
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
    sweeps = by([row for row, _ in told if row["sweep"]], "sweep").values()
    out["rank"], _ = scores.spearman_within(
        [[(row[MEASURED], said[row["id"]]["step_time_s"]) for row in group] for group in sweeps])
    out["regret"] = regret(rows, said)
    bands = [(row, p) for row, p in told if p["low_s"] and p["high_s"]]
    if bands:
        out["inside"] = 100 * statistics.mean(p["low_s"] <= row[MEASURED] <= p["high_s"]
                                              for row, p in bands)
    held = [(row["peak_memory_gib"], said[row["id"]]["peak_memory_gib"]) for row in rows
            if row["peak_memory_gib"] and said.get(row["id"], {}).get("peak_memory_gib")]
    if held:
        out["memory"] = statistics.mean(100 * abs(p / m - 1) for m, p in held)
    verdicts = [(row["oom"] == "0", said[row["id"]]["fits"] == "1") for row in rows
                if row["oom"] and said.get(row["id"], {}).get("fits")]
    if verdicts:
        out["right"] = 100 * statistics.mean(a == b for a, b in verdicts)
        out["verdicts"] = len(verdicts)
    return out


def regret(rows, said):
    """Points of MFU that choosing the layout predicted fastest loses, mean over sweeps."""
    groups = [[(said[row["id"]]["step_time_s"], said[row["id"]].get("fits") != "0", row[MEASURED],
                row["ideal_s"] / row[MEASURED] if row[MEASURED] and row["ideal_s"] else None)
               for row in group if said.get(row["id"], {}).get("step_time_s")]
              for group in by([r for r in rows if r["sweep"] and r["layouts"] == "1"], "sweep").values()]
    lost, _, _ = scores.regret([group for group in groups if group])
    return statistics.mean(lost) if lost else None


HEAD = ["rows", "refused", "mean", "median", "bias", "worst", "rank", "MFU points lost", "inside band",
        "memory", "fits or not"]


def cells(s):
    def form(key, text):
        return text.format(s[key]) if s.get(key) is not None else "-"
    return [s["rows"], s["rows"] - s["told"], percent(s.get("mean")), percent(s.get("median")),
            percent(s.get("bias"), True), percent(s.get("worst"), True), form("rank", "{:.2f}"),
            form("regret", "{:.1f}"), percent(s.get("inside")), percent(s.get("memory")),
            form("right", "{:.1f} %") + (f" of {s['verdicts']}" if "right" in s else "")]


def overall(rows, said):
    """Every set counts once: the mean over sets of those that the tool says something of."""
    sets = [score(group, said) for group in by(rows.values(), "set").values()]
    means = [s["mean"] for s in sets if "mean" in s]
    return statistics.mean(means) if means else None, len(means), len(sets)


WIDTH, LEFT, LANE, EDGE = 760, 190, 34, 60  # of the picture; its scale ends at this error, %


def picture(rows, tools):
    """A lane for each tool: every error a line, the middle half a box, the median a bar, as SVG."""
    def at(error):
        return LEFT + (WIDTH - LEFT - 36) * (max(-EDGE, min(EDGE, error)) + EDGE) / (2 * EDGE)
    out, height = [], 60 + LANE * len(tools)
    for tick in range(-EDGE, EDGE + 1, 20):
        out.append(f'<path class="grid" d="M{at(tick):.1f} 30V{height - 26}"/>'
                   f'<text class="mid" x="{at(tick):.1f}" y="{height - 8}">{tick:+d} %</text>')
    for lane, (name, said) in enumerate(tools.items()):
        top = 36 + lane * LANE
        errors = sorted(100 * (said[i]["step_time_s"] / row[MEASURED] - 1) for i, row in rows.items()
                        if row[MEASURED] and said.get(i, {}).get("step_time_s"))
        low, mid, high = (at(scores.percentile(errors, q)) for q in (0.25, 0.5, 0.75))
        lines = "".join(f"M{at(e):.1f} {top}v20" for e in errors)
        out.append(f'<text x="12" y="{top + 15}">{name}</text><path class="one" d="{lines}"/>'
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
    parser.add_argument("--rows", type=pathlib.Path, default=HERE / "rows", help="folder of tables")
    parser.add_argument("--by", choices=("set", "gpu"), default="set")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FILE", help="draw the errors")
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE", help="fail where they are not these")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="renew its tables")
    args = parser.parse_args()
    try:
        rows = read_rows(args.rows)
        tools = {path.stem: read_predictions(path, rows) for path in args.predictions}
    except (OSError, KeyError) as error:
        sys.exit(f"score.py: {error}" if isinstance(error, OSError) else f"score.py: no column {error}")
    lines, groups = [], by(rows.values(), args.by)
    for name, said in tools.items():
        mean, told, sets = overall(rows, said)
        lines.append([name, f"{told} of {sets}", percent(mean), *cells(score(list(rows.values()), said))])
    blocks = {"scores": table(["tool", "sets", "mean over sets", *HEAD], lines),
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
