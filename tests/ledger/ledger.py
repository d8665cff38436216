#!/usr/bin/env python3
"""The accuracy ledger: public measurements beside simulations of the same runs.

    ledger.py BUILD/trainyard [--measured DIR] [--write TOP] [--expect] [--check]

Data that the repository carries is in tests/ledger/data. Other public tables, which may not be
passed on, are scored when DIR (or TRAINYARD_MEASURED) has them; so is any sheet in DIR whose
columns are keys of the run file (sheets.py), as blind. --write renews the tables of
TOP/docs/internals/accuracy.md and TOP/README.md and the plot, --expect records the figures of carried data,
--check fails when one got worse."""
import argparse
import json
import os
import pathlib
import sys

import ablation
import attention
import bands
import choosing
import collectives
import directions
import engine
import exchanges
import kernels
import layers
import memory
import peers
import steps
import trace_kernels
from page import fill
from tables import Tables

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
PAGES = ["docs/internals/accuracy.md", "README.md"]

# Figures that may not get worse: by how much they may move, and which way is worse.
WATCHED = {"mean": 0.3, "median": 0.3, "p90": 0.6, "spearman": -0.01, "regret": 0.3, "wrong": 0,
           "chose_oom": 0, "wrong_sign": 0, "outside": 1.0}
MINUTES = [bands, ablation]  # what they take: for the page only
PARTS = [steps, choosing, peers, directions, kernels, trace_kernels, layers, attention, collectives,
         exchanges, engine, memory]


class Context:
    """What a part is given, and where it puts what it finds."""

    def __init__(self, binary, measured, quick=False):
        self.binary = pathlib.Path(binary).resolve()
        self.programs = self.binary.parent / "tests" / "ledger"
        self.tables = Tables(measured)
        self.blocks, self.pictures, self.figures = {}, {}, {}
        self.scored = []  # whole runs, of steps.py
        self.quick, self.left_out = quick, set()

    def page(self, name, text):
        self.blocks[name] = text

    def picture(self, path, text):
        self.pictures[path] = text

    def record(self, part, name, figures, carried):
        """Figures of data that everybody has are watched."""
        if carried:
            self.figures[f"{part}: {name}"] = {
                key: round(value, 4) for key, value in figures.items()
                if key in WATCHED and value is not None}


def compare(name, figures, recorded):
    """TAP lines' worth of what changed: (good, text)."""
    if recorded is None:
        return False, f"{name}: not recorded yet; --expect records it"
    worse, better = [], []
    for key, value in figures.items():
        if key not in recorded:
            worse.append(f"{key} {value:g} is not recorded")
            continue
        limit, change = WATCHED[key], value - recorded[key]
        change = -change if limit < 0 else change
        text = f"{key} {recorded[key]:g} -> {value:g}"
        if change > abs(limit) + 1e-9:
            worse.append(text)
        elif change < -abs(limit) - 1e-9:
            better.append(text)
    missing = [key for key in recorded if key not in figures]
    worse += [f"{key} is gone" for key in missing]
    note = "; ".join(worse) if worse else "better: " + "; ".join(better) if better else ""
    return not worse, f"{name}{' # ' if note else ''}{note}"


def check(context):
    recorded = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    names = sorted((set(context.figures) | set(recorded)) - context.left_out)
    failed = 0
    print(f"1..{len(names)}")
    for number, name in enumerate(names, 1):
        if name in context.figures:
            good, text = compare(name, context.figures[name], recorded.get(name))
        else:
            good, text = False, f"{name}: recorded, but no longer measured"
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {text}")
    return 1 if failed else 0


def write(path, text):
    """The file has its name only when it is whole."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def publish(top, context):
    """Renews the pages and the plot of a source tree."""
    pages = [top / name for name in PAGES]
    texts = fill([page.read_text(encoding="utf-8") for page in pages], context.blocks)
    for path, text in [*zip(pages, texts),
                       *((top / name, text) for name, text in context.pictures.items())]:
        write(path, text)


def work(args):
    context = Context(args.trainyard, args.measured, args.quick)
    for part in [*PARTS, *(MINUTES if args.write else [])]:
        try:
            part.measure(context)
        except KeyError as error:
            raise RuntimeError(f"{part.__name__}: a table has no column {error}") from error
    if args.write and context.tables.missing:
        raise RuntimeError("--write would drop rows from the page; it needs your own copies of "
                           f"{', '.join(sorted(context.tables.missing))} (--measured)")
    if args.write:
        publish(args.write, context)
    if args.expect:
        write(EXPECTED, json.dumps(context.figures, indent=1, sort_keys=True) + "\n")
    if args.check:
        return check(context)
    if not args.write and not args.expect:
        for name, text in context.blocks.items():
            print(f"## {name}\n\n{text}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trainyard", help="the program, in its build directory")
    parser.add_argument("--measured", metavar="DIR", default=os.environ.get("TRAINYARD_MEASURED"),
                        help="folder of further tables of your own")
    parser.add_argument("--write", metavar="TOP", type=pathlib.Path,
                        help="renew pages and plot of this source tree")
    parser.add_argument("--expect", action="store_true",
                        help="record the figures of carried data as those to keep")
    parser.add_argument("--check", action="store_true",
                        help="fail when a recorded figure got worse")
    parser.add_argument("--quick", action="store_true",
                        help="without the sets that take seconds")
    args = parser.parse_args()
    if args.measured and not pathlib.Path(args.measured).is_dir():
        parser.error(f"--measured: no such folder ({args.measured})")
    if args.quick and (args.write or args.expect):
        parser.error("--quick leaves sets out, which pages and expected figures need")
    if args.write and not (args.write / PAGES[0]).is_file():
        parser.error(f"--write: no {PAGES[0]} there ({args.write}); name the top of a source tree")
    try:
        return work(args)
    except (RuntimeError, OSError) as error:
        print(f"ledger: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
