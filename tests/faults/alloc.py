#!/usr/bin/env python3
"""Every allocation of small runs of every command fails once, each in a run of its own.

alloc.py BINARY SHIM [STRIDE]: with a stride only every so-manieth of them, and every one of the
last, where commands differ. The run ends as if nothing had happened (somebody could do without), or
with exit status 4, a message and no output file; never by a signal, never with half of an answer.
"""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

BINARY, SHIM = (os.path.abspath(path) for path in sys.argv[1:3])
STRIDE = int(sys.argv[3]) if len(sys.argv) > 3 else 1
LAST = 120
RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}
layout: {global_batch: 8, pipeline: 2, tensor: 2}
"""
JOBS = RUN + "jobs: [{name: other, layout: {gpus: 4-7, data: 1}}]\n"
PROFILE = "profile"  # in place of a run file: what the run file's own --trace kineto has of a rank
WRONG = RUN.replace("nodes", "node").replace("heads", "hedas")
# words after the program, what they write, and the run file
COMMANDS = [
    (["run", "run.yaml", "-o", "out"], ["out"], RUN),
    (["run", "run.yaml", "--stats", "json", "--engine", "events", "-o", "out"], ["out"], RUN),
    (["run", "run.yaml", "-o", "out", "--set", "layout.nodes=0", "--trace", "chrome:t.json.gz",
      "--trace", "perfetto:t.pftrace", "--trace", "svg:t.svg"],
     ["out", "t.json.gz", "t.pftrace", "t.svg"], RUN),
    (["run", "run.yaml", "-o", "out", "--trace", "kineto:folder", "--trace", "csv:t.csv",
      "--trace", "gantt:t.txt"], ["out", "t.csv", "t.txt"], RUN),
    (["schedule", "--compare", "gpipe,1f1b", "-p", "2", "-m", "4", "--format", "svg", "-o", "out"],
     ["out"], ""),
    (["run", "run.yaml", "-o", "out"], ["out"], JOBS.replace("pipeline: 2", "pipeline: 2, gpus: 0-3")),
    (["report", "run.yaml", "-o", "page.html"], ["page.html"], RUN),
    (["explain", "run.yaml", "-o", "out"], ["out"], RUN),
    (["check", "run.yaml"], [], WRONG),
    (["check", "run.yaml", "--show-config", "-o", "out"], ["out"], RUN),
    (["sweep", "run.yaml", "--over", "layout.tensor=1,2", "-j", "1", "-o", "table.csv"],
     ["table.csv"], RUN),
    (["diff", "run.yaml", "--against-set", "schedule.name=gpipe", "-o", "out", "--trace",
      "svg:both.svg"], ["out", "both.svg"], RUN),
    (["import", "kineto", "rank-0.json", "-o", "table.csv"], ["table.csv"], PROFILE),
    (["schedule", "zb-v", "-p", "2", "-m", "4", "-o", "out"], ["out"], ""),
    (["list", "schema"], [], ""),
]
# numbers that no two runs have in common
CHANGING = ("wall_s", "peak_rss_bytes", "simulated")


@functools.lru_cache(maxsize=1)
def profile():
    """What a rank of the small run does, as PyTorch would have recorded it."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "run.yaml").write_text(RUN)
        subprocess.run([BINARY, "run", "run.yaml", "-o", "out", "--ranks", "0", "--trace",
                        "kineto:folder"], cwd=here, check=True, capture_output=True)
        return (here / "folder/rank-0.json").read_text()


class Outcome:
    """How a run ended, what it printed and wrote."""

    def __init__(self, words, outputs, yaml, fail_at):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            if yaml == PROFILE:
                (here / "rank-0.json").write_text(profile())
            elif yaml:
                (here / "run.yaml").write_text(yaml)
            env = {**os.environ, "LD_PRELOAD": SHIM, "FAIL_ALLOC": str(fail_at),
                   "FAIL_ALLOC_COUNT": str(here / "count")}
            done = subprocess.run([BINARY, *words], cwd=here, env=env, capture_output=True,
                                  check=False, timeout=60)
            self.status, self.err = done.returncode, done.stderr.decode()
            self.printed = self.stable(done.stdout)
            self.count = int((here / "count").read_text()) if (here / "count").exists() else 0
            self.files = {name: self.stable((here / name).read_bytes()) for name in outputs
                          if (here / name).exists()}
            self.litter = sorted(p.name for p in here.iterdir()
                                 if p.name not in {"run.yaml", "rank-0.json", "count", "folder",
                                                   "table.csv.partial", *outputs})

    @staticmethod
    def stable(data):
        return b"\n".join(line for line in data.split(b"\n")
                          if not any(word.encode() in line for word in CHANGING))


def complaint(right, now):
    """What is wrong with how a run ended; None when nothing is."""
    if now.status < 0:
        return f"signal {-now.status}"
    if now.litter:
        return f"left behind: {now.litter}"
    if now.status == right.status:
        if now.printed != right.printed and now.files == right.files:
            return "another answer"
        return None if now.files == right.files else f"files {sorted(now.files)}"
    if now.status != 4:
        return f"exit status {now.status}"
    if "memory" not in now.err and "cannot" not in now.err:
        return f"message: {now.err!r}"
    partial = [name for name, data in now.files.items() if data != right.files.get(name)]
    return f"partial {partial}" if partial else None


def main():
    print(f"1..{len(COMMANDS)}")
    failed = 0
    for number, (words, outputs, yaml) in enumerate(COMMANDS, 1):
        right = Outcome(words, outputs, yaml, 0)
        assert right.count > 0 and right.status in (0, 3), (words, right.err)
        wrong, harmless = [], 0
        for n in range(1, right.count + 1):
            if n % STRIDE != 0 and n + LAST < right.count:
                continue
            now = Outcome(words, outputs, yaml, n)
            what = complaint(right, now)
            harmless += now.status == right.status
            if what is not None:
                wrong.append(f"{n}: {what}")
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {' '.join(words[:5])}: "
              f"{right.count} allocations, {harmless} not missed")
        for line in wrong[:10]:
            print("#", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
