#!/usr/bin/env python3
"""Facts about the package trainyard, told as JSON, a line each. Usage: facts.py TOP"""
import concurrent.futures
import gc
import json
import pathlib
import re
import resource
import sys

import numpy as np
import trainyard

TOP = pathlib.Path(sys.argv[1])
JOB = {"cluster": {"preset": "dgx-a100-80g", "nodes": 2},
       "model": {"preset": "llama-13b", "sequence": 2048},
       "layout": {"tensor": 2, "pipeline": 4, "global_batch": 64}}


def fact(name, good, seen=""):
    print(json.dumps({"name": name, "good": bool(good), "seen": str(seen)[:800]}), flush=True)


def error(function, *arguments, **more):
    try:
        function(*arguments, **more)
    except trainyard.Error as caught:
        return caught
    return None


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
    fact("texts", "MFU" in str(r) and "step" in repr(r) and "layout.tensor" in r.config
         and "idle time" in r.explain() and r.layers() and r.traffic(), repr(r))
    fact("weeks", 0.9 < r.fleet(days=30, runs=10)["goodput"] < 1)
    said = r.trace("step.json.gz"), r.trace("step.svg", "svg", ranks="one-per-stage"), r.page("p.html")
    fact("files", all(pathlib.Path(p).stat().st_size > 1000 for p in
                      ("step.json.gz", "step.svg", "p.html")) and "step.svg" in said[1], said)


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
    fact("a sweep has a row of each combination that can be", [
        (r["layout.tensor"], r["layout.zero"]) for r in rows if not r["error"]]
        == [(2, 0), (2, 1), (4, 0), (4, 1)] and rows[0]["step_time_s"]
        == trainyard.run(JOB, {"layout.zero": 0}).step_time_s, rows)
    given = [{"who": "a", "layout.zero": 1}, {"who": "b", "layout.zero": 3}]
    rows = records(trainyard.sweep(JOB, rows=given))
    fact("rows of one's own keep their columns", [r["who"] for r in rows] == ["a", "b"], rows)
    found = trainyard.plan(JOB, 16, top=3, over={"layout.tensor": [2, 4]})
    best = records(found.rows)
    fact("plan: the best rows, proven", found.exact and len(best) == 3 and records(found.pareto)
         and best[0]["step_time_s"] <= best[1]["step_time_s"], found.report)
    fact("no layout that fits is status 1", error(
        trainyard.plan, JOB, 8, sets={"model.preset": "gpt3-175b"}).status == 1)
    names = [r["name"] for r in records(trainyard.listed("schedules"))]
    fact("catalogues", len(names) == 17 and names[:2] == ["gpipe", "1f1b"]
         and "llama" in trainyard.preset("models", "llama-13b")
         and any(r["name"] == "layout.tensor" for r in records(trainyard.keys())), names)
    first = trainyard.init(gpus=16)
    fact("a first run file runs", trainyard.run(first).fits, first)


def schedules():
    one = trainyard.schedule("1f1b", 4, 8)
    fact("a schedule", one["makespan"] == 33 and one["formula"]["value"] == 33, one)
    own = trainyard.schedule("mine", slots="rank 0: F0.0 B0.0\n", times={"F": 1, "B": 3})
    fact("an order of one's own", own["makespan"] == 4, own)
    fact("forms", "<svg" in trainyard.schedule("zb-v", 4, 8, form="svg")
         and "zb-1p" in trainyard.compare(["1f1b", "zb-1p"], 4, 8))


def errors():
    wrong = error(trainyard.run, {**JOB, "model": {"preset": "llama-13b", "layer": 4}})
    fact("an error has its place, the hint and the status", wrong.status == 3 and
         wrong.places[0][:3] == ("<dict>", 6, 3) and 'did you mean "layers"' in str(wrong), wrong)
    fact("a file that is not there", error(trainyard.run, "nowhere.yaml").status == 3)
    fact("a figure that is not there",
         error(trainyard.run(JOB).figure, "nope").status == 2)
    fact("a setting that is none", error(trainyard.run, JOB, ["nonsense"]).status == 2)
    fact("a deadlock", error(trainyard.schedule, "x", slots=(
        "rank 0: F0.0 B1.0 F1.0 B0.0\nrank 1: F0.1 B0.1 F1.1 B1.1\n")).status == 4)
    try:
        trainyard.sweep(JOB)
    except ValueError as caught:
        fact("a sweep of nothing", "over={key: values}" in str(caught))


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
    def once():
        r = trainyard.run(JOB)
        r.tasks("one-per-stage"), r.report, str(r)  # pylint: disable=expression-not-assigned
        error(trainyard.run, "nowhere.yaml")
    for _ in range(50):
        once()
    before = resident()
    for _ in range(300):
        once()
    fact("300 runs more hold no more memory", resident() - before < 4096,
         (before, resident(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def main():
    for part in (sources, result, tasks, tables, schedules, errors, threads, memory):
        part()


if __name__ == "__main__":
    main()
