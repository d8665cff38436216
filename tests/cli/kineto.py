#!/usr/bin/env python3
"""Computes from Kineto files what Holistic Trace Analysis does, by its definitions, and holds it
against trainyard's statistics and its table of tasks.

usage: kineto.py TRAINYARD [--all]

Definitions of HTA (facebookresearch/HolisticTraceAnalysis, docs/source/features/
temporal_breakdown.rst and comm_comp_overlap.rst): a GPU is idle while no kernel runs between its
first and last one; computing while a kernel that is neither communication nor memory runs;
non-computing in what remains. Overlap is the share of the time in which communication runs that
computation runs, too. HTA rounds starts up and ends down to whole microseconds.

PARAM (facebookresearch/param, et_replay/comm/profiler_trace_analysis.py) works out bus bandwidths: bytes
over time, times 2 (n - 1) / n for all-reduce, (n - 1) / n where every rank gathers or scatters, 1 for
others (nccl-tests, doc/PERFORMANCE.md).
"""
import csv
import itertools
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

from few import WHOLE

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
# example, options, and whether all waiting is for communication of the rank's own: no pipeline,
# members in step. Then what trainyard calls exposed is what HTA calls non-computing.
FORMS = [
    ("llama3-8b-fsdp-8xh100.yaml", [], True),
    ("gpipe-memory.yaml", ["--set", "run.steps=2", "--set", "layout.global_batch=32"], False),
    ("custom-cluster.yaml", ["--set", "layout.global_batch=64"], False),
    ("stragglers.yaml", ["--set", "layout.global_batch=32"], False),
    ("measured.yaml", ["--set", "layout.global_batch=8", "--set", "run.contention=false"], False),
    ("gpipe-memory.yaml", ["--set", "schedule.name=zb-1p", "--set", "layout.global_batch=64"],
     False),
    ("llama-30b-256xa100.yaml", ["--set", "schedule.name=interleaved", "--set",
                                 "schedule.chunks=3", "--set", "cluster.nodes=1", "--set",
                                 "layout.global_batch=16"], False),
    ("llama-30b-256xa100.yaml", ["--set", "cluster.nodes=1", "--set", "layout.pipeline=1", "--set",
                                 "layout.tensor=4", "--set", "layout.global_batch=8"], True),
    ("llama3-8b-fsdp-8xh100.yaml", ["--set", "model.preset=olmoe-1b-7b", "--set",
                                    "layout.expert=8", "--set", "layout.zero=1"], True),
]
# With --all: as many micro-batches as the examples have, or nearly; and every layer.
LARGE = [
    ("gpipe-memory.yaml", ["--set", "run.steps=2"], False),
    ("custom-cluster.yaml", ["--set", "layout.global_batch=256"], False),
    ("stragglers.yaml", ["--set", "layout.global_batch=64"], False),
]
COMM = re.compile(r"(^nccl)|(^hip)|(^hccl)|(.*ncclKernel.*)")
MEMORY = re.compile(r"(^(hip)?Memcpy)|(^(hip)?Memset)|(^dma)")
PARAM = ("allreduce", "all_gather", "reduce_scatter", "all_to_allv", "broadcast", "send", "recv")
FIVE = ("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype")


def ns(us):
    """Whole: lengths have four decimals and are a tenth of a nanosecond short."""
    whole, part = us.split(".")
    assert len(part) == 3 or (len(part) == 4 and part[3] == "9"), us
    return int(whole) * 1000 + int(part[:3]) + (len(part) == 4)


def check_doubles(kernels):
    """A kernel ends before the next of its stream begins, as a reader of JSON adds doubles."""
    for a, b in itertools.pairwise(sorted(kernels, key=lambda e: (e["tid"], float(e["ts"])))):
        assert a["tid"] != b["tid"] or float(a["ts"]) + float(a["dur"]) < float(b["ts"]), (a, b)


def merged(spans):
    """Disjoint stretches that cover the same time."""
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def length(spans):
    return sum(end - start for start, end in spans)


def common(a, b):
    total = i = k = 0
    while i < len(a) and k < len(b):
        total += max(0, min(a[i][1], b[k][1]) - max(a[i][0], b[k][0]))
        if a[i][1] < b[k][1]:
            i += 1
        else:
            k += 1
    return total


def shares(kernels, unit):
    """HTA's figures in seconds; times in units of so many ns, starts up and ends down."""
    spans = [(-(-ns(e["ts"]) // unit), (ns(e["ts"]) + ns(e["dur"])) // unit, e["name"])
             for e in kernels]
    busy = merged((s, e) for s, e, _ in spans)
    compute = merged((s, e) for s, e, n in spans if not COMM.match(n) and not MEMORY.match(n))
    comm = merged((s, e) for s, e, n in spans if COMM.match(n))
    span = max(e for _, e, _ in spans) - min(s for s, _, _ in spans)
    idle = span - length(busy)
    scale = unit * 1e-9
    return {"span": span * scale, "idle": idle * scale, "compute": length(compute) * scale,
            "non_compute": (span - idle - length(compute)) * scale, "comm": length(comm) * scale,
            "overlap": common(compute, comm) * scale}


def check_form(path, trace, rank):
    """What HTA and PARAM need to read a file."""
    for line in path.read_text().splitlines():
        found = re.search(r'"rank":\s+(\d+)', line)
        if found:
            assert int(found[1]) == rank, "the first rank of the file"
            break
    info = trace["distributedInfo"]
    groups = {g["pg_name"]: g for g in info["pg_config"]}
    assert info["rank"] == rank and len(groups) == info["pg_count"] == len(info["pg_config"])
    kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    assert len({e["args"]["correlation"] for e in kernels}) == len(kernels)
    check_doubles(kernels)
    for e in kernels:
        args = e["args"]
        assert e["ph"] == "X" and args["stream"] == e["tid"] > 0 and args["device"] == e["pid"]
        if not COMM.match(e["name"]):
            assert not MEMORY.match(e["name"]) and not any(k in args for k in FIVE)
            continue
        assert e["name"].startswith("ncclDevKernel_") and "(" in e["name"]
        assert all(k in args for k in FIVE) and args["Collective name"] in PARAM
        if "In split size" in args:  # of all ranks, as this is of a group of 8
            assert sum(json.loads(args["In split size"])) == args["In msg nelems"]
        group = groups[args["Process Group Name"]]
        assert rank in group["ranks"] and len(group["ranks"]) == group["pg_size"]
        assert args["Group size"] == group["pg_size"]
        if "Src Rank" in args:
            assert sorted((args["Src Rank"], args["Dst Rank"])) == group["ranks"]
    return kernels, groups


def check_host(events):
    """As HTA links them: every kernel and copy has one call of the host, not after it and inside
    the step of its number, and the flow between them, which TraceLens follows."""
    marks = [e for e in events if e.get("cat") == "user_annotation"]
    steps = {int(e["name"].removeprefix("ProfilerStep#")): (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]))
             for e in marks}
    assert len(steps) == len(marks) > 0
    for (_, end), (start, _) in itertools.pairwise(steps[n] for n in sorted(steps)):
        assert end == start, "the host has one step after the other"
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    flows = {(e["ph"], e["id"]): (e["pid"], e["tid"], e["ts"]) for e in events
             if e.get("cat") == "ac2g"}
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy")]
    assert len(calls) == len(work) == len(flows) / 2
    for e in work:
        number = e["args"]["correlation"]
        call = calls.pop(number)
        start, end = steps[e["args"]["step"]]
        assert start <= ns(call["ts"]) < end and ns(call["ts"]) <= ns(e["ts"]), (call, e)
        assert call["name"] == ("cudaLaunchKernel" if e["cat"] == "kernel" else "cudaMemcpyAsync")
        assert call["pid"] != e["pid"] and "stream" not in call["args"]
        assert flows["s", number] == (call["pid"], call["tid"], call["ts"])
        assert flows["f", number] == (e["pid"], e["tid"], e["ts"])


def check_together(files):
    """A group has one number everywhere; members of a collective are in it at the same time."""
    known, times = {}, {}
    for rank, (kernels, groups) in files.items():
        for name, group in groups.items():
            assert known.setdefault(name, group["ranks"]) == group["ranks"]
        for e in kernels:
            args = e["args"]
            if "Group size" in args and "Src Rank" not in args:
                key = (args["Process Group Name"], args["Seq"], e["name"])
                when = (e["ts"], e["dur"], args["Process Group Ranks"])
                assert times.setdefault(key, when) == when, (rank, key, when)
    return len(known)


BESIDE = {22: "gpu_memcpy", 23: "gpu_memcpy", 24: "cpu_op", 25: "cpu_op"}


def check_table(events, rows):
    """The same tasks as the table has, cut to nanoseconds; those of no length left out. What is
    beside the GPU is no kernel."""
    check_host(events)
    tasks = [e for e in events if e["ph"] == "X" and e["tid"] < 1000]
    for e in tasks:
        assert e["cat"] == BESIDE.get(e["tid"], "kernel"), e
        assert (e["cat"] == "gpu_memcpy") == bool(MEMORY.match(e["name"])), e
        assert (e["cat"] == "cpu_op") == ("stream" not in e["args"]), e
    ours = sorted((e["tid"], ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in tasks)
    tids = {"compute": 11, "tensor comm": 12, "data comm": 13, "pipeline send": 14,
            "pipeline recv": 15, "replica comm": 16, "context comm": 17,
            "expert comm": 18, "row comm": 19, "column comm": 20, "depth comm": 21,
            "h2d": 22, "d2h": 23, "nvme": 24, "host": 25}
    theirs = sorted((tids[r["stream"]], s, e) for r, s, e in (
        (r, int(r["start_ps"]) // 1000, (int(r["start_ps"]) + int(r["dur_ps"])) // 1000)
        for r in rows) if e > s)
    assert ours == theirs


def bus_bandwidth(e):
    """Of a collective or message, as PARAM has it, in GB/s."""
    args = e["args"]
    n, name = args["Group size"], args["Collective name"]
    size = max(args["In msg nelems"], args["Out msg nelems"])  # bytes: dtype is Byte
    factor = {"allreduce": 2 * (n - 1) / n, "all_gather": (n - 1) / n,
              "reduce_scatter": (n - 1) / n, "all_to_all": (n - 1) / n}.get(name, 1)
    return factor * size / ns(e["dur"])


def measured(log):
    """(bytes, GB/s on the bus), out of place, as nccl-tests printed them."""
    rows = (line.split() for line in log.read_text().splitlines() if not line.startswith("#"))
    return [(int(row[0]), float(row[7])) for row in rows if row]


def check_bandwidths(files, points):
    """Sizes of what goes in and comes out belong together; nothing is faster than the NVLink of an
    A100 or H100 in one direction; what was measured is as fast as measured."""
    fastest = 0.0
    for kernels, _ in files.values():
        for e in (e for e in kernels if "Group size" in e["args"]):
            args = e["args"]
            into, out, n = args["In msg nelems"], args["Out msg nelems"], args["Group size"]
            shape = {"all_gather": (into * n, out), "reduce_scatter": (into, out * n)}
            a, b = shape.get(args["Collective name"], (into, out))
            assert abs(a - b) <= n, args
            if args["Collective name"] == "recv":  # lasts for the latency only
                continue
            speed = bus_bandwidth(e)
            fastest = max(fastest, speed)
            assert speed < 450, (e["name"], speed)  # NVLink 4: 18 x 25 GB/s
            if "_measured(" in e["name"] and points and points[0][0] <= into <= points[-1][0]:
                low = max(p for p in points if p[0] <= into)
                high = min(p for p in points if p[0] >= into)
                assert low[1] * 0.99 < speed < high[1] * 1.01, (into, low, speed, high)
    return fastest


def check_percent(coarse, figures, stats):
    """Shares that HTA prints, of files rounded as it does, against --stats json, to 0.1 points; what
    rounding a kernel to whole microseconds takes comes on top."""
    part = stats["breakdown"]
    total = sum(part.values())
    compute = 100 * sum(part[k] for k in ("compute_forward", "compute_backward", "recompute",
                                          "optimizer")) / total
    run = max(f["span"] for f in figures)  # HTA divides by each rank's own stretch
    theirs = 100 * sum(f["compute"] for f in coarse) / len(coarse) / run
    lost = 100 * sum(f["compute"] - c["compute"] for f, c in zip(figures, coarse)) / len(coarse) / run
    assert abs(theirs + lost - compute) < 0.1, (theirs, lost, compute)
    return compute - theirs


def check_figures(figures, stats, n_kernels, steps, alone):
    """Means over ranks against the statistics, within what cutting times can do."""
    def mean(key):
        return sum(f[key] for f in figures) / len(figures)
    near = 1e-9 * n_kernels  # a nanosecond a kernel
    part = {k: v * steps for k, v in stats["breakdown"].items()}
    compute = sum(part[k] for k in ("compute_forward", "compute_backward", "recompute",
                                    "optimizer"))
    bubble = sum(v for k, v in part.items() if k.startswith("bubble"))
    exposed = sum(v for k, v in part.items() if k.startswith("exposed"))
    total = compute + bubble + exposed
    outside = total - mean("span")  # before the first kernel and after the last
    assert abs(mean("compute") - compute) < near, ("compute", mean("compute"), compute)
    waits = mean("idle") + mean("non_compute") + outside
    assert abs(waits - bubble - exposed) < near, ("waiting", waits, bubble + exposed)
    if alone:
        assert abs(mean("non_compute") - exposed) < near, (mean("non_compute"), exposed)
        assert abs(mean("idle") + outside - bubble) < near, (mean("idle"), bubble)
        uncovered = mean("comm") - mean("overlap")
        assert abs(uncovered - exposed) < near, ("overlap", uncovered, exposed)


def check(binary, example, options, alone, folder):
    out, table = folder / "kineto", folder / "tasks.csv"
    done = subprocess.run([binary, "run", str(EXAMPLES / example), "--stats", "json", "-q",
                           "--ranks", "all", "--trace", f"kineto:{out}", "--trace",
                           f"csv:{table}"] + options, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    stats = json.loads(done.stdout)
    rows = {}
    with table.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            rows.setdefault(int(row["rank"]), []).append(row)
    files, figures, coarse = {}, [], []
    assert sorted(p.name for p in out.iterdir()) == sorted(f"rank-{r}.json" for r in rows)
    for rank in rows:
        path = out / f"rank-{rank}.json"
        trace = json.loads(path.read_text(), parse_float=str)
        files[rank] = check_form(path, trace, rank)
        check_table(trace["traceEvents"], rows[rank])
        figures.append(shares(files[rank][0], 1))
        coarse.append(shares(files[rank][0], 1000))
    n_groups = check_together(files)
    log = EXAMPLES / "all_reduce_4xa100.log"
    fastest = check_bandwidths(files, measured(log) if example == "measured.yaml" else [])
    steps = round(max(int(r["start_ps"]) + int(r["dur_ps"]) for rank in rows.values()
                      for r in rank) * 1e-12 / stats["step_time_s"])
    check_figures(figures, stats, max(len(k) for k, _ in files.values()), steps, alone)
    most = max(len(k) for k, _ in files.values())
    off = check_percent(coarse, figures, stats)
    percent = []
    for key, of in (("idle", "span"), ("compute", "span"), ("non_compute", "span"),
                    ("overlap", "comm")):
        rough, exact = (100 * sum(f[key] for f in fs) / sum(f[of] for f in fs)
                        for fs in (coarse, figures))
        loss = 100 * 2e-6 * most * len(files) / sum(f[of] for f in figures)  # 2 us a kernel
        assert abs(rough - exact) < loss, (key, rough, exact, loss)
        percent.append(rough)
    return (f"{len(rows)} ranks, {n_groups} groups; idle %.2f %%, compute %.2f %%, non-compute "
            f"%.2f %%, overlap %.2f %% (compute {off:.2f} points below --stats); busbw up to "
            f"{fastest:.0f} GB/s" % tuple(percent))


def folders(binary, folder):
    """All files or none: what was there stays when anything fails, and strangers are refused. The
    same bytes from any number of threads."""
    out = folder / "out"

    def run(ranks, limit=resource.RLIM_INFINITY, jobs=2):
        done = subprocess.run(
            [binary, "run", str(EXAMPLES / "gpipe-memory.yaml"), "-q", "-o", "/dev/null",
             "--ranks", ranks, "--trace", f"kineto:{out}", "--jobs", str(jobs)], capture_output=True, text=True,
            check=False, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
        found = {p.name: p.read_bytes() for p in out.iterdir()} if out.exists() else None
        return done.returncode, done.stderr, found

    status, said, found = run("0-3", limit=10000)
    assert status == 3 and "cannot be written" in said and found is None, (status, said, found)
    status, said, first = run("0-3")
    assert status == 0 and sorted(first) == [f"rank-{r}.json" for r in range(4)], said
    for jobs in 1, 3, 16:
        status, said, found = run("0-3", limit=10000, jobs=jobs)
        assert status == 3 and said.count("rank-") == 1 and found == first, (jobs, said)
        status, said, found = run("0-3", jobs=jobs)
        assert status == 0 and found == first, (jobs, said)
    status, said, found = run("0-1")
    assert status == 3 and "holds rank-" in said and found == first, said
    (out / "notes.txt").write_text("mine")
    status, said, found = run("0-3")
    assert status == 0 and found.pop("notes.txt") == b"mine" and found == first, said
    return "folders are written whole or not at all"


def beside(binary, folder):
    """Copies and work of the host are told from kernels."""
    out, table = folder / "kineto", folder / "tasks.csv"
    subprocess.run([binary, "run", str(EXAMPLES / "llama3-8b-fsdp-8xh100.yaml"), "--set",
                    "layout.offload=zero-infinity", "--set", "model.layers=4", "-q", "-o",
                    "/dev/null", "--ranks", "0", "--trace", f"kineto:{out}", "--trace",
                    f"csv:{table}"], capture_output=True, check=False)
    trace = json.loads((out / "rank-0.json").read_text(), parse_float=str)
    check_form(out / "rank-0.json", trace, 0)
    with table.open(encoding="utf-8") as lines:
        check_table(trace["traceEvents"], list(csv.DictReader(lines)))
    assert {e.get("tid") for e in trace["traceEvents"]} > set(BESIDE)
    return "copies and work of the host are no kernels"


def main():
    failed = 0
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    cut = [(example, ["--set", "model.layers=12", *options], alone)
           for example, options, alone in FORMS]
    forms = FORMS + LARGE if WHOLE else cut
    for i, (example, options, alone) in enumerate(forms, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                said, good = check(binary, example, options, alone, pathlib.Path(folder)), True
            except (AssertionError, KeyError, ValueError) as error:
                said, good = f"{type(error).__name__} {str(error)[:1500]}", False
        failed += not good
        print(f"{'ok' if good else 'not ok'} {i} - {example} {' '.join(options)}: {said}",
              flush=True)
    for i, also in enumerate((folders, beside), len(forms) + 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"ok {i} - {also(binary, pathlib.Path(folder))}")
            except AssertionError as error:
                failed += 1
                print(f"not ok {i} - {also.__name__}: {str(error)[:1500]}")
    print(f"1..{len(forms) + 2}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
