#!/usr/bin/env python3
"""No command writes to a file that it reads: whichever option, key, column or file names it, and
whatever is wrong with what is in it.

usage: inputs.py TRAINYARD
"""
import pathlib
import sys
import tempfile

from tap import Test

RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b}
layout: {tensor: 2, pipeline: 2, global_batch: 16}
"""
OPERATORS = "operator,shape,dtype,gpu,time\nattention,1,bf16,a100,1 ms\n"
FILES = {
    "run.yaml": RUN,
    "names.yaml": RUN.replace("nodes: 1", "nodes: 1, operators: op.csv"),
    "named.yaml": RUN + "schedule: {file: in.slots}\n",
    "overlay.yaml": "cluster: {operators: op.csv}\n",
    "full.yaml": RUN + "jobs:\n  - {name: other, file: sub/other.yaml}\n",
    "job.yaml": RUN.replace("nodes: 1", "nodes: 2").replace("16}", "16, nodes: 0}")
                + "jobs:\n  - {name: other, file: sub/other.yaml, layout: {nodes: 1}}\n",
    "sub/other.yaml": RUN,
    "op.csv": OPERATORS,
    "in.slots": "rank 0: F0.0 F0.1 B0.1 B0.0\nrank 1: F0.0\n",
    "log.txt": "no log\n",
    "rows.csv": "layout.tensor,schedule.file\n1,\n2,in.slots\n",
    "times.csv": "layout.tensor,cluster.operators,step_s\n1,op.csv,1\n2,op.csv,1\n",
    "t.csv.partial": "layout.tensor\n1\n2\n",
}
OVER = ["--over", "layout.tensor=1,2"]
REFUSED = [
    ["schedule", "in.slots", "-o", "in.slots"],
    ["schedule", "./in.slots", "-o", "sub/../in.slots"],
    ["schedule", "in.slots", "--format", "svg", "-o", "link"],
    ["sweep", "run.yaml", *OVER, "-o", "run.yaml"],
    ["sweep", "run.yaml", "--rows", "rows.csv", "-o", "rows.csv"],
    ["sweep", "run.yaml", "--rows", "rows.csv", "-o", "in.slots"],
    ["sweep", "run.yaml", "--rows", "t.csv.partial", "-o", "t.csv"],
    ["sweep", "run.yaml", *OVER, "--with", "overlay.yaml", "-o", "overlay.yaml"],
    ["sweep", "run.yaml", *OVER, "--with", "overlay.yaml", "-o", "op.csv"],
    ["sweep", "run.yaml", *OVER, "--set", "cluster.operators=op.csv", "-o", "op.csv"],
    ["sweep", "run.yaml", *OVER, "--set", "cluster.operators=op.csv", "--set", "cluster.nodes=0",
     "-o", "op.csv"],
    ["sweep", "run.yaml", *OVER, "--set", "cluster.collectives.measured=[log.txt]", "-o",
     "log.txt"],
    ["sweep", "names.yaml", *OVER, "-o", "op.csv"],
    ["sweep", "named.yaml", *OVER, "-o", "link"],
    ["sweep", "job.yaml", *OVER, "-o", "sub/other.yaml"],
    ["sweep", "full.yaml", *OVER, "-o", "sub/other.yaml"],
    ["sweep", "run.yaml", *OVER, "--over", "schedule.file=in.slots", "-o", "in.slots"],
    ["calibrate", "run.yaml", "--rows", "times.csv", "--measured", "step_s", "-o", "op.csv"],
    ["calibrate", "names.yaml", "--collectives", "log.txt", "-o", "op.csv"],
    ["calibrate", "run.yaml", "--collectives", "log.txt", "-o", "log.txt"],
    ["calibrate", "run.yaml", "--operators", "op.csv", "-o", "op.csv"],
    ["run", "run.yaml", "-o", "run.yaml"],
    ["run", "run.yaml", "--trace", "csv:run.yaml"],
    ["check", "job.yaml", "-o", "sub/other.yaml"],
    ["explain", "run.yaml", "-o", "run.yaml"],
    ["report", "run.yaml", "run.yaml", "-o", "run.yaml"],
    ["report", "run.yaml", "--against", "job.yaml", "-o", "sub/other.yaml"],
    ["diff", "run.yaml", "job.yaml", "-o", "sub/other.yaml"],
    ["import", "kineto", "log.txt", "-o", "log.txt"],
    ["import", "kineto", "sub", "-o", "sub/other.yaml"],
]


def fill(folder):
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "link").symlink_to("in.slots")


def lost(words):
    path = words[-1].removeprefix("csv:")
    return path + ".partial" if path + ".partial" in FILES else path


def unchanged(folder):
    return all((folder / f).is_file() and (folder / f).read_text(encoding="utf-8") == text
               for f, text in FILES.items())


def main():
    test = Test(sys.argv[1])
    test.binary = str(pathlib.Path(test.binary).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        fill(folder)
        before = sorted(folder.rglob("*"))
        for words in REFUSED:
            done = test.call(folder, *words)
            test.check(" ".join(words), done.returncode == 2 and done.stdout == "" and done.stderr
                       == f"trainyard {words[0]}: {lost(words)} is an input and would "
                       "be overwritten; name another file\n"
                       and unchanged(folder), done)
        test.check("nothing was left beside them", sorted(folder.rglob("*")) == before,
                   sorted(folder.rglob("*")))
        for words in (["sweep", "run.yaml", *OVER, "-q", "-o", "op.csv"],
                      ["schedule", "zb-v", "-p", "4", "-m", "8", "-o", "zb-v"],
                      ["schedule", "zb-v", "-p", "4", "-m", "8", "-o", "zb-v"],
                      ["sweep", "run.yaml", *OVER, "-q", "-o", "-"]):
            done = test.call(folder, *words)
            test.check(f"what is no input is written: {' '.join(words)}",
                       done.returncode == 0 and done.stderr == "", done)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
