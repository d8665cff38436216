#!/usr/bin/env python3
"""The framework of a run that names none: one for every layout, and shown where every output
begins when the layout left no choice.

usage: stack.py TRAINYARD
"""
import csv
import json
import pathlib
import re
import sys
import tempfile

from tap import Test

RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 512, heads: 8, vocabulary: 1000, sequence: 512}
layout: {global_batch: 16}
"""
WORDS = "fsdp (not named; layout.zero is 3)"


def heads(test, folder):
    """Outputs for people begin with the framework."""
    for command in (["run"], ["check"], ["explain"]):
        done = test.call(folder, *command, "run.yaml", "--set", "layout.zero=3")
        test.check(f"{command[0]} says which framework the layout chose",
                   WORDS in "\n".join(done.stdout.splitlines()[:3]), done)
        named = test.call(folder, *command, "run.yaml", "--set", "layout.zero=3",
                          "--set", "framework.preset=fsdp").stdout.splitlines()[:3]
        test.check(f"{command[0]} says no more of one that was named",
                   named[1].endswith("framework fsdp"), named)
    page = test.call(folder, "report", "run.yaml", "--set", "layout.zero=3",
                     "-o", "-").stdout
    test.check("report has it in the head of the page", page.count(WORDS) >= 2, page[-400:])
    two = test.call(folder, "report", "run.yaml", "--against-set", "layout.zero=3",
                    "-o", "-").stdout
    test.check("a page of two runs has both frameworks", f'"stack":"{WORDS}"' in two
               and '"stack":"megatron-lm"' in two, two[-400:])


def diff(test, folder):
    done = test.call(folder, "diff", "run.yaml", "--against-set", "layout.zero=3")
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r"[AB] +[0-9]", line)]
    test.check("diff has a column of frameworks", [r[-1] for r in rows] == ["megatron-lm", "fsdp"], rows)
    before = done.stdout.split("keys that differ", maxsplit=1)[0]
    test.check("diff says that they differ, and who chose, before it blames a key",
               "the frameworks differ (megatron-lm, fsdp)" in before
               and "B names no framework.preset: layout.zero 3 makes it fsdp" in before, before)
    same = test.call(folder, "diff", "run.yaml", "--against-set", "layout.zero=1").stdout
    test.check("ZeRO-0 and ZeRO-1 are of one framework: diff names zero, and no key that follows",
               "frameworks differ" not in same and "that follow from these" not in same, same)
    out = json.loads(test.call(folder, "diff", "run.yaml", "--against-set", "layout.zero=3",
                               "--stats", "json").stdout)
    test.check("diff --stats json has the framework of each run",
               [run["framework"] for run in out["runs"]] == ["megatron-lm", "fsdp"], out["runs"])


def sweep(test, folder):
    done = test.call(folder, "sweep", "run.yaml", "--over", "layout.zero=0,1,2,3,4")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    test.check("a sweep has a column of frameworks, empty where a row has no answer",
               [row["framework"] for row in rows] == ["megatron-lm"] * 3 + ["fsdp", ""], rows)
    test.check("a sweep whose layouts chose a framework says so",
               "framework.preset is not named: rows with layout.zero 3 are of fsdp" in done.stderr,
               done.stderr)
    named = test.call(folder, "sweep", "run.yaml", "--over", "layout.zero=0,3",
                      "--set", "framework.preset=megatron-deepspeed")
    rows = list(csv.DictReader(named.stdout.splitlines()))
    test.check("a named framework is that of all rows, and nothing is said",
               [row["framework"] for row in rows] == ["megatron-deepspeed"] * 2
               and "not named" not in named.stderr, named)


def stats(test, folder):
    seen = {}
    for zero in range(4):
        out = json.loads(test.call(folder, "run", "run.yaml", "--set", f"layout.zero={zero}",
                                   "--stats", "json").stdout)
        seen[zero] = out["framework"]
    test.check("run --stats json has the preset", seen
               == {0: "megatron-lm", 1: "megatron-lm", 2: "megatron-lm", 3: "fsdp"}, seen)


SHARDED = """
cluster: {preset: dgx-a100-80g, nodes: 2}
model: {preset: gpt3-1.3b}
layout: {zero: 3, micro_batch: 1, global_batch: 16, recompute: full}
framework: {preset: fsdp}
"""


def gathers(test, folder):
    """explain counts the collectives of ZeRO-3: of 24 layers and two tables, in both passes."""
    pathlib.Path(folder, "sharded.yaml").write_text(SHARDED, encoding="utf-8")

    def said(*sets):
        out = test.call(folder, "explain", "sharded.yaml", *sets).stdout
        line = re.search(r"number of collectives +(\S+ \S+) +latency of ([\d,]+) gathers? and "
                         r"([\d,]+) reductions?", out)
        return (line[1], *(int(n.replace(",", "")) for n in line.groups()[1:])) if line else None

    layers = said()
    test.check("fsdp gathers every layer forward and backward and reduces it once",
               layers and layers[1] >= 2 * 24 and 24 <= layers[2] < layers[1], layers)
    old = said("--set", "framework.preset=deepspeed-zero3-2021")
    test.check("a DeepSpeed without prefetch gathers each of four matrices of a layer three times",
               old and 3 * 4 * 24 <= old[1] < 3 * 4 * 24 + 8 and old[2] >= 12 * 24, old)
    kept = said("--set", "framework.preset=deepspeed-zero3",
                "--set", "framework.gather_persistent=1e8")
    test.check("matrices below the threshold of parameters that stay are not gathered",
               kept and kept[1] < 4, kept)
    whole = said("--set", "layout.zero=1")
    test.check("without ZeRO-3 there is no such line", whole is None, whole)


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "run.yaml").write_text(RUN, encoding="utf-8")
        for part in (heads, diff, sweep, stats, gathers):
            part(test, folder)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
