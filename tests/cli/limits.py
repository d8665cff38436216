#!/usr/bin/env python3
"""What is too large is refused before memory is taken, with the figure and what to do; and what a run
is said to take is about what it takes.

usage: limits.py TRAINYARD
"""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

from tap import Test

RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}
layout: {global_batch: 8, pipeline: 2, tensor: 2}
"""
MB = 1 << 20
ROOM = 1024 * MB      # address space of a run that is refused
TAKEN = 100 * MB      # and what it may have taken of it
WITHIN = 1.5          # bills and measured peaks, either way
UNITS = {"KiB": 1 << 10, "MiB": MB, "GiB": 1 << 30}

# settings, and what the message has to say
TOO_LARGE = [
    (["cluster.nodes=4294967296"], "from 1 to 65536"),
    (["model.layers=1000000000"], "from 1 to 10000"),
    (["layout.global_batch=1000000000"], "at most 65534 are simulated"),
    (["layout.pipeline=4294967295"], "from 1 to 65535"),
    (["schedule.chunks=1000000000"], "from 1 to 64"),
    (["schedule.slices=1000000000"], "from 1 to 255"),
    (["run.steps=1000000000"], "from 1 to 1000"),
    (["run.jitter=1e308"], "from 0 % to 100 %"),
    (["cluster.memory=1e308GiB"], "too large a number"),
    (["layout.global_batch=131068", "run.steps=1000"], "simulate fewer run.steps"),
    (["layout.global_batch=131068", "run.steps=1000", "model.layers=10000"],
     "simulate fewer run.steps"),
    (["layout.global_batch=131068", "model.layers=10000"], "simulate fewer run.steps"),
    (["cluster.nodes=5000", "cluster.gpus_per_node=2", "layout.tensor=1", "layout.data=1",
      "model.layers=10000", "layout.pipeline=10000", "layout.global_batch=65534"],
     "simulate fewer run.steps"),
    (["cluster.nodes=65536", "cluster.gpus_per_node=1024", "layout.global_batch=33554432"],
     "simulate fewer run.steps"),
    (["layout.global_batch=131068", "model.layers=100"], "the address space that ulimit -v leaves"),
]


def peak(binary, folder, words, room=None):
    """Exit status, standard error and the most memory that was resident, in bytes."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room))) if room else None
    # meson's MALLOC_PERTURB_ writes to pages that a run allocates and does not touch
    env = {k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"}
    with subprocess.Popen([binary, *words], cwd=folder, env=env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, preexec_fn=limit) as done:
        said = done.stderr.read()
        _, status, usage = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
    return done.returncode, said, usage.ru_maxrss * 1024


def at_once(test, folder):
    """What passes and layers alone would leave room for, but not their operations: refused when the
    first step of a rank is known, before the passes of a thousand are made."""
    one = ["cluster.nodes=1", "cluster.gpus_per_node=1", "layout.tensor=1", "layout.pipeline=1",
           "model.layers=8", "run.steps=1000", "layout.global_batch=60000"]
    long = ["model.layers=8", "run.steps=1000", "layout.global_batch=10000"]
    for settings, least in ((one, 24 << 30), (long, 5 << 30),
                            ([*long, "schedule.name=dualpipe"], 5 << 30)):
        words = ["run", "run.yaml", "-q", *with_sets([*settings, f"run.memory_limit={least}B"])]
        status, said, most = peak(test.binary, folder, words)
        tasks = re.search(r"a run of about ([\d,]+) tasks would take about ([\d.]+) GiB", said)
        small = [s.replace("run.steps=1000", "run.steps=1") for s in settings]
        plan = subprocess.run([test.binary, "check", "run.yaml", *with_sets(small)], cwd=folder,
                              stdout=subprocess.PIPE, text=True, check=False).stdout
        true = 1000 * int(re.search(r"to simulate: ([\d,]+) tasks", plan)[1].replace(",", ""))
        test.check(f"{' '.join(settings)} is refused at once", status == 3 and tasks
                   and most < TAKEN, (status, said, most / MB))
        test.check("and its tasks are told", tasks
                   and abs(int(tasks[1].replace(",", "")) / true - 1) < 0.05, (said, true))


def schedules(test, folder):
    """A schedule alone is told and refused by what it takes, not by a number of passes."""
    words = ["schedule", "zb-v", "-p", "256", "-m", "10000"]
    status, said, most = peak(test.binary, folder, words, ROOM)
    test.check("a large schedule is refused before it is made", status == 3 and most < TAKEN
               and re.search(r"zb-v of 5,120,000 forward passes would take about [\d.]+ MiB, more than "
                             r"80 % of the address space .*; take fewer micro-batches \(-m\)", said),
               (status, said, most / MB))
    status, said, most = peak(test.binary, folder, ["schedule", "1f1b", "-p", "64", "-m", "25000"])
    told = re.search(r"1f1b of 1,600,000 forward passes takes about ([\d.]+) MiB or more", said)
    test.check("and told what it takes when it is not", status == 0 and told
               and most / WITHIN < float(told[1]) * MB < most * WITHIN, (status, said, most / MB))
    test.check("unless nobody wants to know or it is little", not any(peak(
        test.binary, folder, ["schedule", "1f1b", "-p", "8", *rest])[1] for rest in
        (["-m", "1000"], ["-m", "60000", "-v", "1", "-q"])), said)


def with_sets(settings):
    return [word for one in settings for word in ("--set", one)]


def too_large(test, folder):
    for settings, word in TOO_LARGE:
        status, said, most = peak(test.binary, folder, ["run", "run.yaml", "-q",
                                                        *with_sets(settings)], ROOM)
        test.check(f"{' '.join(settings)} is refused in {TAKEN // MB} MB", status == 3
                   and word in said and most < TAKEN, (status, said, most))


def hostile_files(test, folder):
    """Files that would take memory or stack out of proportion to their size."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n"
        for i in range(9))
    files = {"bomb.yaml": bomb,
             "deep.yaml": "a: " + "[" * 100000,
             "deep_map.yaml": "".join(" " * i + "a:\n" for i in range(2000)),
             "key.yaml": "k" * 10_000_000 + ": 1\n",
             "colon.yaml": "model: {layers: " + "1" * 5_000_000 + "}\n",
             "cycle.yaml": "a: &a [*a]\n",
             "few.yaml": "\n".join(bomb.split("\n")[:5]) + "\nlayout: {recompute: *e}\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
        status, said, most = peak(test.binary, folder, ["check", name], ROOM)
        test.check(f"{name} is refused", status == 3 and name in said and len(said) < 20000
                   and most < 3 * TAKEN, (status, said[:300], most))
        (folder / name).unlink()
    (folder / "line.csv").write_text("layout.tensor\n" + "1" * 20_000_000 + "\n")
    (folder / "cells.csv").write_text("layout.tensor\n" + "," * 8_000_000 + "\n")
    (folder / "quote.csv").write_text("layout.tensor\n\"" + "1\n" * 4_000_000)
    (folder / "square.csv").write_text("," * 20_000 + "\n" + "\n1" * 20_000)
    for name in ("line.csv", "cells.csv", "quote.csv", "square.csv"):
        status, said, most = peak(test.binary, folder, ["sweep", "run.yaml", "--rows", name],
                                  ROOM)
        test.check(f"{name} is refused", status == 3 and name in said and len(said) < 20000,
                   (status, said[:300], most))
        (folder / name).unlink()
    over = with_over(["run.steps=" + ",".join(["1"] * 1000)] + ["run.seed=" + ",".join(["1"] * 1001)])
    status, said, most = peak(test.binary, folder, ["sweep", "run.yaml", *over], ROOM)
    test.check("a million and a thousand combinations are refused", status in (2, 3)
               and "combinations" in said and most < TAKEN, (status, said, most))


def with_over(lists):
    return [word for one in lists for word in ("--over", one)]


def bill_of(test, folder, words, limit):
    """Exit status and, of a refusal, the bytes it tells."""
    status, said, _ = peak(test.binary, folder, [*words, "--set", f"run.memory_limit={limit:.0f}B"])
    found = re.search(r"would take about ([\d.]+) (\w+)(?: beside [^,]*)?, more than run.memory_limit",
                      said)
    return status, float(found[1]) * UNITS[found[2]] if found else 0


def bills(test, folder):
    """The figure of a refusal, beside the peak of the run when it is let through."""
    for settings in (["layout.global_batch=20000"],
                     ["layout.global_batch=10000", "model.layers=16"],
                     ["layout.global_batch=10000", "model.layers=16", "run.engine=sweep"],
                     ["layout.global_batch=5000", "model.layers=16", "run.jitter=0.1"],
                     ["layout.global_batch=20000", "run.contention=false"],
                     ["layout.global_batch=100", "run.steps=200"],
                     ["cluster.nodes=64", "layout.global_batch=1048576", "layout.zero=3"],
                     ["cluster.nodes=64", "layout.global_batch=16384", "run.gpu_spread=0.01"]):
        words = ["run", "run.yaml", "-q", *with_sets(settings)]
        status, bill = bill_of(test, folder, words, 10 * MB)
        through, _, most = peak(test.binary, folder, words)
        most -= 5 * MB  # the program itself
        test.check(f"{' '.join(settings)} takes what it was said to", status == 3
                   and through in (0, 1) and most / WITHIN < bill < most * WITHIN,
                   (status, bill / MB, most / MB))


def other_engine(test, folder):
    """The engine of the command line is billed, not that of the run file."""
    words = ["run", "run.yaml", "-q", *with_sets(["layout.global_batch=10000", "model.layers=16"])]
    swept = [*words, "--set", "run.engine=sweep"]
    sweep, events = (bill_of(test, folder, w, 10 * MB)[1] for w in (swept, words))
    room = (sweep + events) / 2
    status, other = bill_of(test, folder, [*swept, "--engine", "events"], room)
    test.check("engine sweep is let through where events is not, and --engine decides",
               1.3 * sweep < events and bill_of(test, folder, swept, room)[0] in (0, 1)
               and status == 3 and events / WITHIN < other < events * WITHIN,
               (sweep / MB, events / MB, status, other / MB))


def together(test, folder):
    """Runs beside each other take no more than one of them may: of a sweep they wait, of a diff the
    later one is refused."""
    text = RUN + "run: {jitter: 0.1, memory_limit: 50MiB}\n"
    (folder / "jitter.yaml").write_text(text)
    words = ["sweep", "jitter.yaml", *with_sets(["layout.global_batch=4000", "model.layers=8"]),
             "--over", "run.seed=1,2,3,4,5,6,7,8"]
    tables = []
    for jobs in ("1", "8"):
        status, said, most = peak(test.binary, folder, [*words, "-j", jobs, "-o", "t.csv"])
        tables.append((folder / "t.csv").read_text())
        test.check(f"a sweep with --jobs {jobs} keeps to run.memory_limit", status == 0
                   and most < WITHIN * 50 * MB and "8 rows simulated" in said,
                   (status, said, most / MB))
    test.check("and its table is the same", tables[0] == tables[1], tables)
    status, said, _ = peak(test.binary, folder,
                           ["diff", "run.yaml", "run.yaml",
                            *with_sets(["layout.global_batch=20000", "run.memory_limit=100MiB"])])
    test.check("a diff tells what the first run has taken", status == 3
               and "that are taken already, more than run.memory_limit (100.0 MiB)" in said,
               (status, said))


LARGE = """\
cluster: {preset: dgx-h100, nodes: 2048}
model: {preset: llama3-405b}
layout: {tensor: 8, pipeline: 16, global_batch: 2048, micro_batch: 1, recompute: full}
"""


def explained(test, folder):
    """Ranks that cannot differ are executed once, for an explanation, too."""
    (folder / "large.yaml").write_text(LARGE)
    status, said, most = peak(test.binary, folder, ["explain", "large.yaml"])
    test.check("16,384 GPUs are explained in little memory", status in (0, 1) and said == ""
               and most < 1.5 * TAKEN, (status, said, most / MB))


STACK = 1 << 20  # bytes; other systems give less than the usual 8 MiB, and threads less still


def little_stack(test, folder):
    limit = lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))  # noqa: E731
    for words in (["run", "run.yaml", "--trace", "chrome:t.json.gz"], ["fleet", "run.yaml"],
                  ["explain", "run.yaml"], ["report", "run.yaml", "-o", "t.html"],
                  ["plan", "run.yaml", "--over", "layout.tensor=auto", "-j", "2"],
                  ["sweep", "run.yaml", "--over", "layout.tensor=1,2", "-j", "2"]):
        done = subprocess.run([test.binary, *words], cwd=folder, capture_output=True, text=True,
                              check=False, preexec_fn=limit)
        test.check(f"{words[0]} needs no more than 1 MiB of stack", done.returncode == 0, done)


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    for part in (too_large, at_once, schedules, bills, other_engine, together, explained,
                 little_stack, hostile_files):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            (folder / "run.yaml").write_text(RUN)
            part(test, folder)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
