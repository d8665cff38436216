#!/usr/bin/env python3
"""Facts about the package trainyard, told as JSON, a line each. Usage: facts.py TOP"""
import concurrent.futures
import copy
import gc
import json
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import warnings
import weakref

import numpy as np
import trainyard

TOP = pathlib.Path(sys.argv[1])
JOB = {"cluster": {"preset": "dgx-a100-80g", "nodes": 2},
       "model": {"preset": "llama-13b", "sequence": 2048},
       "layout": {"tensor": 2, "pipeline": 4, "global_batch": 64}}


def fact(name, good, seen=""):
    print(json.dumps({"name": name, "good": bool(good), "seen": str(seen)[:800]}), flush=True)


def raised(kind, function, *arguments, **more):
    """The exception of that kind which a call ends with; None."""
    try:
        function(*arguments, **more)
    except kind as caught:
        return caught
    return None


def error(function, *arguments, **more):
    return raised(trainyard.Error, function, *arguments, **more)


def sources():
    text = trainyard.run_file_text(JOB)
    path = pathlib.Path("job.yaml")
    path.write_text(text)
    results = [trainyard.run(given) for given in (JOB, text, "job.yaml", path)]
    fact("a dictionary, a text and a path are one job",
         len({r.report["config_digest"] for r in results}) == 1, text)
    changed = [trainyard.run(JOB, sets) for sets in ({"layout.tensor": 4}, {"layout": {"tensor": 4}},
                                                     ["layout.tensor=4"])]
    fact("settings as dictionaries and as texts", len({r.step_time_s for r in changed}) == 1
         and changed[0].step_time_s != results[0].step_time_s, changed)
    pathlib.Path("over.yaml").write_text("layout: {tensor: 4}\n")
    fact("overlays", trainyard.run(JOB, overlays=["over.yaml"]).step_time_s
         == changed[0].step_time_s)


def result():
    r = trainyard.run(JOB)
    fact("the breakdown adds up to the step",
         abs(sum(r.breakdown.values()) - r.step_time_s) < 1e-9 * r.step_time_s, r.breakdown)
    fact("figures are those of the report",
         all(r.report[k] == getattr(r, k) for k in ("mfu", "hfu", "tokens_per_s", "bubble_fraction",
                                                    "fits", "step_time_s")), r.report)
    peaks = trainyard.check(JOB).peak_memory_bytes
    fact("a plan has the memory of its run", peaks == r.memory["peak_bytes"]
         == r.peak_memory_bytes and "memory of a GPU" in str(trainyard.check(JOB)), peaks)
    fact("figures of the catalogue", r.figures["mfu"] == r.mfu and "wall_s" not in r.figures
         and r.figure("breakdown.exposed_data") == r.breakdown["exposed_data"], r.figures)
    fact("texts", "MFU" in str(r) and "step" in repr(r) and "layout.tensor" in r.config()
         and "idle time" in r.explain() and r.layers() and r.traffic(), repr(r))
    weeks = trainyard.fleet(JOB, days=30, runs=10)
    fact("weeks", 0.9 < weeks.goodput < 1 and weeks.report == r.fleet(30, 10).report
         and len(weeks.sizes) > 5, weeks)
    said = r.trace("step.json.gz"), r.trace("step.svg", ranks="one-per-stage"), r.page("p.html")
    fact("files", all(pathlib.Path(p).stat().st_size > 1000 for p in
                      ("step.json.gz", "step.svg", "p.html")) and "step.svg" in said[1], said)
    fact("a name that says no format", "which format" in str(raised(ValueError, r.trace, "step")))
    shallow = copy.copy(r)
    del r
    fact("a copy shares the run, which is freed once", shallow.mfu > 0)
    both = trainyard.diff(shallow, trainyard.run(JOB, {"schedule.name": "zb-1p"}))
    fact("two runs aligned", len(both["runs"]) == 2, both)
    band = trainyard.run(TOP / "docs/examples/uncertain.yaml", uncertain=True).report
    low, high = band["uncertainty"]["step_time_s"]
    fact("a band around the step", low < band["step_time_s"] < high, band["uncertainty"])


def handed_on():
    r = trainyard.run(JOB, {"layout.tensor": 4})
    fact("a copy is the same run", copy.copy(r) is r and copy.deepcopy([r])[0] is r)
    again = pickle.loads(pickle.dumps(r))
    figures = [{k: v for k, v in one.report.items() if k not in ("wall_s", "peak_rss_bytes")}
               for one in (r, again)]
    fact("a pickle is executed again, to the same figures", figures[0] == figures[1], again)
    pair = trainyard.diff(JOB, {**JOB, "schedule": {"name": "gpipe"}})
    fact("run files are compared as results are", pair == trainyard.diff(
        trainyard.run(JOB), trainyard.run({**JOB, "schedule": {"name": "gpipe"}})), pair)
    told = [x._repr_html_() for x in (r, trainyard.plan(JOB, over={"layout.zero": [0, 1]}), r.fleet(runs=2))]
    fact("notebooks show runs, plans and weeks", "step time" in told[0] and all(
        "<table" in text for text in told[1:]), told)


def tasks():
    r = trainyard.run(JOB)
    t = r.tasks("all")
    n, before = t.n, t.dur_ps.sum()
    start, duration, stream, rank = t.start_ps, t.dur_ps, t.stream, t.rank
    fact("columns are arrays over the library's memory", n == len(t) == len(start) and not
         start.flags.owndata and not start.flags.writeable and start.dtype == np.uint64, n)
    del r, t
    gc.collect()
    junk = [trainyard.run(JOB).tasks("all").n for _ in range(3)]
    fact("they outlive run and tasks", duration.sum() == before and junk == [n] * 3)
    column = trainyard.run(JOB).tasks("0").dur_ps
    memory, view = weakref.ref(column.base._memory), column[1:]
    del column
    gc.collect()
    kept = memory() is not None
    del view
    gc.collect()
    fact("a view keeps the library's memory, and the last one frees it", kept and memory() is None)
    busy = trainyard.run(JOB).tasks("all")
    computes = busy.dur_ps[busy.of(stream="compute")].sum() * 1e-12 / len(set(busy.rank))
    parts = trainyard.run(JOB).breakdown
    fact("what columns add up to is in the breakdown", abs(computes - sum(
        parts[k] for k in ("compute_forward", "compute_backward", "recompute", "optimizer",
                           "compute_other"))) < 1e-9, (computes, parts))
    fact("a name that there is not", "there are" in str(raised(KeyError, busy.of, stream="x")))
    order = np.lexsort((start, stream, rank))
    same = (np.diff(rank[order]) == 0) & (np.diff(stream[order].astype(int)) == 0)
    ends = (start + duration)[order]
    fact("tasks of one stream never overlap", (start[order][1:][same] >= ends[:-1][same]).all())
    try:
        frame = trainyard.run(JOB).tasks("dp=0").frame()
        fact("a frame has names and seconds", set(frame.category) >= {"compute.forward", "comm.tp"}
             and frame.start_s.max() < 10, frame.head())
    except ImportError:
        pass


def records(rows):
    return rows.to_dict("records") if hasattr(rows, "to_dict") else rows


def tables():
    rows = records(trainyard.sweep(JOB, {"layout.tensor": [2, 4, 3], "layout.zero": [0, 1]}))
    fact("a sweep has a row of each combination", [
        (r["layout.tensor"], r["layout.zero"]) for r in rows if not r["error"]]
        == [(2, 0), (2, 1), (4, 0), (4, 1)] and rows[0]["step_time_s"]
        == trainyard.run(JOB, {"layout.zero": 0}).step_time_s, rows)
    fact("a row that cannot be says why, and has no figures", "does not divide model.heads" in
         rows[-1]["error"] and np.isnan(rows[-1]["mfu"]) and not rows[-1]["fits"], rows[-1])
    given = [{"who": "a", "layout.zero": 1, "layout.recompute": ["norm", "mlp"]},
             {"who": "b, or not", "layout.zero": 3, "layout.recompute": None}]
    rows = records(trainyard.sweep(JOB, rows=given))
    fact("rows of one's own keep their columns",
         [(r["who"], r["layout.recompute"]) for r in rows]
         == [("a", "[norm, mlp]"), ("b, or not", "")] and rows[0]["mfu"] < rows[0]["hfu"], rows)
    again = records(trainyard.sweep(JOB, rows=[{k: v for k, v in row.items() if "layout" in k}
                                               for row in rows]))
    fact("and can be swept again", [r["mfu"] for r in rows] == [r["mfu"] for r in again], again)
    wrong = error(trainyard.sweep, JOB, {"layout.zeros": [1]})
    fact("a sweep over what is no key", wrong and wrong.status == 2
         and 'did you mean "layout.zero"' in str(wrong), wrong)
    answer = trainyard.plan(JOB, 16, top=3, over={"layout.tensor": [2, 4]})
    best = records(answer.rows)
    fact("plan: the best rows, proven", answer.exact and len(best) == 3 and not answer.stopped and
         records(answer.pareto) and best[0]["step_time_s"] <= best[1]["step_time_s"], answer)
    fact("and a run file to go on with", trainyard.run(answer.best).step_time_s
         == best[0]["step_time_s"], answer.best)
    fact("no layout that fits is status 1", error(
        trainyard.plan, JOB, 8, sets={"model.preset": "gpt3-175b"}).status == 1)
    names = [r["name"] for r in records(trainyard.list("schedules"))]
    fact("catalogues", len(names) == len(set(names)) > 16 and names[:2] == ["gpipe", "1f1b"]
         and all(len(trainyard.list(r["name"])) > 0 for r in records(trainyard.list())
                 if r["name"] not in ("keys", "schema", "layer", "ranks"))
         and "llama" in trainyard.preset("models", "llama-13b")
         and any(r["name"] == "layout.tensor" for r in records(trainyard.keys())), names)
    first = trainyard.init(gpus=16)
    tuned = trainyard.init("llama2-70b", gpus=8, lora=16, qlora=True)
    fact("init writes adapters", "rank: 16" in tuned, tuned)
    fact("a first run file runs", trainyard.run(first).fits, first)
    words = {"--num-layers": 24, "--hidden-size": 1024, "--num-attention-heads": 16,
             "--seq-length": 1024, "--max-position-embeddings": 1024, "--micro-batch-size": 2,
             "--global-batch-size": 64, "--bf16": True, "--tensor-model-parallel-size": 2,
             "--vocab-size": 50257, "--nobody-knows": 3}
    pathlib.Path("args.yaml").write_text(trainyard.run_file_text({"MODEL_ARGS": words}))
    job = trainyard.import_job("megatron", "args.yaml", gpus=8, cluster="dgx-a100-80g")
    fact("a job of Megatron-LM", trainyard.run(job.run_file).report["gpus"] == 8
         and "tensor: 2" in job.run_file and "--nobody-knows" in job.notes, job)


def schedules():
    one = trainyard.schedule("1f1b", 4, 8)
    fact("a schedule", one.makespan == 33 and one.report["formula"]["value"] == 33
         and len(one.table()) == 64 and "stage 0" in str(one), one)
    own = trainyard.schedule("mine", slots="rank 0: F0.0 B0.0\n", times={"F": 1, "B": 3})
    fact("an order of one's own", own.makespan == 4, own)
    both = trainyard.compare(["1f1b", "zb-1p"], 4, 8)
    fact("schedules compared", [r["makespan"] for r in records(both.table())] == [33, 27]
         and "zb-1p" in str(both) and "<svg" in both.text("svg"), both)
    fact("unequal stages", trainyard.schedule("1f1b", 2, 4, stages=[1, 2]).makespan
         > trainyard.schedule("1f1b", 2, 4).makespan)
    fact("forms", "<svg" in one.text("svg", bubbles="named") and "F0.0" in one.text("slots"))


def errors():
    wrong = error(trainyard.run, {**JOB, "model": {"preset": "llama-13b", "layer": 4}})
    fact("an error has its place, key, hint and status", wrong.status == 3 and wrong.places == [
        ("<dict>", 6, 3, "model.layer", 'unknown key; hint: did you mean "layers"?')], wrong)
    both = error(trainyard.run, {**JOB, "model": {"preset": "x", "layer": 4}}).places
    fact("all that is wrong is told", [p.key for p in both] == ["model.preset", "model.layer"], both)
    other = pickle.loads(pickle.dumps(wrong))
    fact("it goes to another process", (str(other), other.status) == (str(wrong), 3), other)
    named = error(trainyard.run, JOB, {"layout.tensor": 3}).places
    fact("of a setting, too", named[0][:4] == ("--set layout.tensor=3", 0, 0, "layout.tensor"), named)
    lacking = error(trainyard.run, {k: v for k, v in JOB.items() if k != "layout"}).places
    fact("of a key that is missing, too", [(p.file, p.line, p.key) for p in lacking]
         == [("<dict>", 0, "layout.global_batch")], lacking)
    gone = error(trainyard.run, "nowhere.yaml")
    fact("a file that is not there is a FileNotFoundError, too, also in another process",
         gone.status == 3 and all(isinstance(e, FileNotFoundError) for e in
                                  (gone, pickle.loads(pickle.dumps(gone)))), repr(gone))
    fact("so is that of a job to import", isinstance(error(
        trainyard.import_job, "megatron", "nowhere.sh"), FileNotFoundError))
    fact("other errors are not", not isinstance(wrong, FileNotFoundError))
    profile = error(trainyard.import_job, "kineto", "nowhere.json")
    fact("a profile makes no run file", profile.status == 2 and "trainyard import kineto" in
         str(profile), profile)
    fact("a figure that is not there",
         error(trainyard.run(JOB).figure, "nope").status == 2)
    fact("a setting that is none", error(trainyard.run, JOB, ["nonsense"]).status == 2)
    fact("ranks that are not there", error(trainyard.run(JOB).tasks, "99").status == 2)
    fact("an engine that there is not", error(trainyard.run, JOB, engine="steam").status == 2)
    fact("a catalogue that there is not", error(trainyard.list, "cats").status == 2)
    fact("a deadlock", error(trainyard.schedule, "x", slots=(
        "rank 0: F0.0 B0.0 F1.0 B1.0\nrank 1: F1.1 B1.1 F0.1 B0.1\n")).status == 4)
    fact("a sweep of nothing", "over={key: values}" in str(raised(ValueError, trainyard.sweep, JOB)))
    fact("a text with a zero, which C would cut",
         raised(ValueError, trainyard.run, "a: 1\n\0b: 2\n") is not None)
    for what, call in (("ranks", lambda: trainyard.schedule("1f1b", -1, 8)),
                       ("threads", lambda: trainyard.run(JOB, threads=-1)),
                       ("jobs", lambda: trainyard.sweep(JOB, {"layout.zero": 1}, jobs=-2))):
        fact(f"less than none: {what}", "out of range" in str(raised(ValueError, call)))
    fact("what is no run file", raised(TypeError, trainyard.run, 5) is not None)
    odd = {**JOB, "model": {**JOB["model"], "name": 'a: "b" #, é'}}
    fact("any text can be a value", 'a: "b" #, é' in str(trainyard.run(odd)), odd)
    nested = {**JOB, "layout": {**JOB["layout"], "recompute": ("norm", "mlp"), "tensor": np.int64(2)}}
    fact("lists, and numbers of numpy", trainyard.run(nested).hfu > trainyard.run(nested).mfu)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        trainyard.sweep(JOB, {"schedule.name": ["1f1b", "interleaved"], "schedule.chunks": [1, 2]})
    fact("combinations that cannot be are told of", len(told) == 1, [str(w.message) for w in told])


# What takes minutes, and one signal in its midst.
_INTERRUPTED = """
import os, signal, sys, threading, trainyard
job = {"cluster": {"preset": "dgx-a100-80g", "nodes": 64}, "model": {"preset": "gpt3-175b"},
       "layout": {"tensor": "auto", "pipeline": "auto", "global_batch": 1536}}
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    if sys.argv[1] == "plan":
        trainyard.plan(job, over={"schedule.name": "all"})
    elif sys.argv[1] == "run":  # collectives message by message; durations take seconds to draw
        trainyard.run({**job, "run": {"detail": "steps", "jitter": "3 %", "steps": 40}},
                      {"layout.tensor": 8, "layout.pipeline": 8})
    else:
        trainyard.sweep(job, {"run.seed": range(20000)},
                        sets={"layout.tensor": 8, "layout.pipeline": 8})
except KeyboardInterrupt:
    print("interrupted")
"""


def interrupts():
    for what in "plan", "sweep", "run":
        done = subprocess.run([sys.executable, "-c", _INTERRUPTED, what], capture_output=True,
                              text=True, check=False)
        fact(f"Ctrl-C ends a {what}", done.stdout == "interrupted\n" and done.returncode == 0, done)
    answer = trainyard.plan({**JOB, "layout": {"global_batch": 64, "tensor": "auto"}}, within_s=1e9)
    early = trainyard.plan({**JOB, "layout": {"global_batch": 64, "tensor": "auto"}}, within_s=0)
    fact("a search whose time is up says so", early.stopped and not early.exact
         and len(early.rows) == 0, early)
    half = trainyard.plan({**JOB, "layout": {"global_batch": 64, "tensor": "auto"}}, margin=0.5)
    fact("rows leave the margin free", all(
        row["peak_memory_bytes"] <= 0.5 * row["capacity_bytes"] for row in half.report["rows"])
         and len(half.tight) > 0 and half.report["margin"] == 0.5, half)
    fact("an alarm that never rings leaves nothing behind", not answer.stopped
         and threading.active_count() == 1, threading.enumerate())


def threads():
    tensors = [1, 2, 4, 8] * 4
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda t: trainyard.run(JOB, {"layout.tensor": t, "layout.pipeline": 1,
                                                          "layout.zero": 1}).step_time_s, tensors))
    fact("threads find what one finds", got[:4] * 4 == got and len(set(got)) == 4, got)


def resident():
    """KiB, now."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1])


def memory():
    """Of a small job, so that there is time for a thousand."""
    small = {"cluster": {"preset": "dgx-a100-80g", "nodes": 1},
             "model": {"preset": "llama-7b", "layers": 4},
             "layout": {"tensor": 2, "pipeline": 2, "global_batch": 8}}

    def once():
        r = trainyard.run(small)
        r.tasks("one-per-stage"), r.report, str(r)  # pylint: disable=expression-not-assigned
        error(trainyard.run, "nowhere.yaml")
        trainyard.schedule("1f1b", 2, 2)
    for _ in range(200):
        once()
    before = resident()
    for _ in range(1000):
        once()
    fact("1000 runs more hold no more memory", resident() - before < 4096, (before, resident()))


def main():
    for part in (sources, result, handed_on, tasks, tables, schedules, errors, interrupts, threads, memory):
        part()


if __name__ == "__main__":
    main()
