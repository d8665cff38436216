#!/usr/bin/env python3
"""MFU and HFU count by one convention: HFU is never below MFU, and above it by what recomputation
repeats; in full and with causal attention; of every example and every model.

usage: utilisation.py TRAINYARD
"""
import csv
import json
import pathlib
import sys
import tempfile

from tap import Test

EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs/examples").glob("*.yaml"))
MODES = ["none", "selective", "ffn", "full"]
RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {sequence: 2048}
layout: {global_batch: 8}
"""


def report(test, *words):
    done = test.call(None, "run", *words, "--engine", "sweep", "--stats", "json", "--quiet")
    return json.loads(done.stdout)


def examples(test):
    for example in EXAMPLES:
        figures = report(test, example)
        recomputes = figures["breakdown"]["recompute"] > 0
        test.check(f"{example.name}: HFU is {'above' if recomputes else 'equal to'} MFU",
                   all((figures[h] > figures[m]) if recomputes else (figures[h] == figures[m])
                       for h, m in (("hfu", "mfu"), ("hfu_causal", "mfu_causal")))
                   and figures["mfu_causal"] < figures["mfu"], figures)


def models(test):
    listed = test.call(None, "list", "models").stdout.splitlines()
    names = [line.split()[0] for line in listed]
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, "run.yaml")
        run.write_text(RUN, encoding="utf-8")
        done = test.call(None, "sweep", run, "--over", f"model.preset={','.join(names)}",
                         "--over", f"layout.recompute={','.join(MODES)}")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    wrong = []
    for row in rows:
        ratio = float(row["hfu"]) / float(row["mfu"]) if row["mfu"] else 0
        recompute = row["layout.recompute"]
        # all of a forward again is a third of a step, but for the embedding and the head; models
        # of experts alone have no MLP of which half could run again, those of states no attention
        sparse = ratio == 1 and (recompute == "ffn" or
                                 (recompute == "selective" and row["model.preset"].startswith("rwkv")))
        good = ratio == 1 if recompute == "none" else sparse or 1 < ratio < 4 / 3
        if not good:
            wrong.append((row["model.preset"], recompute, ratio, row["error"]))
    test.check(f"{len(names)} models: HFU is at least MFU, at most four thirds of it",
               len(rows) == len(names) * len(MODES) > 60 and not wrong, wrong)


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    examples(test)
    models(test)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
