#!/usr/bin/env python3
"""`trainyard list`: every name of a list is one that its key accepts.

usage: lists.py TRAINYARD
"""
import pathlib
import sys
import tempfile

from tap import Test

RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 16, hidden: 512, heads: 8, vocabulary: 1000, sequence: 2048, dtype: fp16}
layout: {global_batch: 288, pipeline: 2}
"""
# What can be listed, and a setting that takes one of it.
KEYS = {"models": "model.preset", "gpus": "cluster.gpu", "clusters": "cluster.preset",
        "fabrics": "fabric.preset", "frameworks": "framework.preset", "schedules": "schedule.name"}
# What a preset sets is not set beside it, and every model fits.
BARE = {"models": [("model", "model: {sequence: 2048, dtype: fp16}\n"),
                   ("layout", "layout: {global_batch: 288}\n"),
                   ("cluster", "cluster: {preset: dgx-a100-80g, nodes: 1, memory: 100 TB}\n")]}


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        for what, key in KEYS.items():
            lines = {line.split(":")[0]: line for line in RUN.splitlines(True)}
            lines.update(BARE.get(what, []))
            pathlib.Path(folder, "run.yaml").write_text("".join(lines.values()), encoding="utf-8")
            listed = test.call(folder, "list", what)
            names = [line.split()[0] for line in listed.stdout.splitlines()]
            said = [line for line in listed.stdout.splitlines() if not line.endswith("]")]
            test.check(f"{what}: {len(names)} names, each once, each with a source",
                       listed.returncode == 0 and len(names) == len(set(names)) > 3 and not said,
                       listed)
            wrong = []
            for name in names:
                done = test.call(folder, "check", "run.yaml", "--set", f"{key}={name}")
                if done.returncode not in (0, 1):
                    wrong.append((name, done.stderr))
            test.check(f"{what}: {key} accepts every one", not wrong, wrong)
            other = test.call(folder, "check", "run.yaml", "--set", f"{key}=none-such")
            test.check(f"{what}: {key} refuses others", other.returncode in (2, 3)
                       and "none-such" in other.stderr, other)
        algorithms = [line.split()[0]
                      for line in test.call(folder, "list", "collectives").stdout.splitlines()]
        row = test.call(folder, "list", "keys", "cluster.collectives").stdout
        test.check("collectives: those that can be chosen are listed", "ring" in algorithms
                   and all(word in row for word in algorithms
                           if word not in ("direct", "per-node")),  # chosen by what they move
                   (algorithms, row))
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
