#!/usr/bin/env python3
"""`trainyard import kineto` on profiles whose every duration is known, and on trainyard's own.

usage: importing.py TRAINYARD
"""
import csv
import gzip
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_profile  # noqa: E402
from kineto import merged  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1, gpus_per_node: 2, derate: 1, nvlink_overlap_slowdown: 0 %,
  operators: table.csv}
model: {layers: 3, hidden: 768, heads: 12, ffn: 3072, vocabulary: 32000, sequence: 512, mlp: gelu,
  norm: fused, attention: flash2, positions: 512, tied: false}
layout: {data: 2, micro_batch: 2, global_batch: 4}
framework: {preset: ideal, bucket: 10 GB, first_bucket: 10 GB}
"""

# What the generator calls a kernel, and the row that it must become.
T, H, F, V = 1024, 768, 3072, 32000
ROWS = {
    "qkv": ("matmul", "forward", "m", T, "n", 3 * H, "k", H),
    "qkv dgrad": ("matmul", "dgrad", "m", T, "n", H, "k", 3 * H),
    "qkv wgrad": ("matmul", "wgrad", "m", H, "n", 3 * H, "k", T),
    "proj": ("matmul", "forward", "m", T, "n", H, "k", H),
    "proj dgrad": ("matmul", "dgrad", "m", T, "n", H, "k", H),
    "proj wgrad": ("matmul", "wgrad", "m", H, "n", H, "k", T),
    "fc1": ("matmul", "forward", "m", T, "n", F, "k", H),
    "fc1 dgrad": ("matmul", "dgrad", "m", T, "n", H, "k", F),
    "fc1 wgrad fc2 wgrad": ("matmul", "wgrad", "m", H, "n", F, "k", T),  # transposes: one row
    "fc2": ("matmul", "forward", "m", T, "n", H, "k", F),
    "fc2 dgrad": ("matmul", "dgrad", "m", T, "n", F, "k", H),
    "head dgrad": ("matmul", "dgrad", "m", T, "n", H, "k", V),
    "head wgrad": ("matmul", "wgrad", "m", H, "n", V, "k", T),
    "attention": ("attention", "forward", "batch", 2, "sequence", 512, "heads", 12, "kv_heads", 12,
                  "head_dim", 64, "causal", "true"),
    "attention backward": ("attention", "backward", "batch", 2, "sequence", 512, "heads", 12,
                           "kv_heads", 12, "head_dim", 64, "causal", "true"),
    "norm": ("norm", "forward", "elements", T * H),
    "norm backward": ("norm", "backward", "elements", T * H),
    "gelu": ("activation", "forward", "elements", T * F),
    "gelu backward": ("activation", "backward", "elements", T * F),
    "embedding": ("embedding", "forward", "elements", T * H),
    "embedding backward": ("embedding", "backward", "elements", T * H),
    "adam": ("optimizer", "step", "elements", torch_profile.Shape.parameters),
}

checks = []


def check(name, ok, why=""):
    checks.append((name, bool(ok)))
    if not ok:
        print("# " + name + ": " + str(why).replace("\n", "\n# "))


class Known:
    """Durations that differ by kind, by rank and from one kernel to the next, and are remembered."""

    def __init__(self):
        self.base, self.given = {}, {}

    def __call__(self, rank, kind, n):
        ns = self.base.setdefault(kind, 15_000 + 2_345 * len(self.base)) + 7 * ((5 * n + rank) % 11)
        self.given.setdefault(kind, []).append((rank, ns))
        return ns

    def median_us(self, kind):
        return statistics.median(ns for _, ns in self.given[kind]) / 1000


def run(binary, *args, code=0, cwd=None):
    p = subprocess.run([binary, *map(str, args)], capture_output=True, text=True, cwd=cwd,
                       check=False)
    if p.returncode not in (code, 1 if args[0] == "run" else code, 0 if code == 1 else code):  # 1: does not fit in memory
        raise SystemExit(f"{args}: exit {p.returncode}\n{p.stderr}")
    return p


def table_of(path):
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(f))


def find(rows, want):
    pairs = dict(zip(want[2::2], map(str, want[3::2])))
    found = [r for r in rows if r["op"] == want[0] and r["role"] == want[1] and
             all(r[k] == v for k, v in pairs.items())]
    return found[0] if len(found) == 1 else None


def report_of(binary, *args):
    return json.loads(run(binary, "import", "kineto", *args, "--stats", "json").stdout)


# ---- a profile with shapes ----

def close(a, b, rel=1e-9):
    return abs(a - b) <= rel * max(abs(a), abs(b))


def check_rows(known, rows):
    for label, want in ROWS.items():
        row = find(rows, want)
        kinds = re.findall(r"\w+ wgrad", label) if " wgrad " in label else [label]
        us = statistics.median(ns for k in kinds for _, ns in known.given[k]) / 1000
        check(f"the row of {label} is the median of its kernels",
              row is not None and close(float(row["time_us"]), us), f"{row} {us}")
    row = find(rows, ("matmul", "forward", "m", T, "n", V, "k", H))
    pairs = [ns for _, ns in known.given["head"]]
    sums = [pairs[i] + pairs[i + 1] for i in range(0, len(pairs), 2)]
    check("a product of two kernels is their sum",
          row and close(float(row["time_us"]), statistics.median(sums) / 1000), row)
    for role, parts in (("forward", ("softmax", "nll")), ("backward", ("softmax backward",
                                                                       "nll backward"))):
        row = find(rows, ("cross-entropy", role, "elements", T * V))
        if role == "forward":
            us = statistics.median(a[1] + b[1] for a, b in zip(*(known.given[p] for p in parts)))
            us /= 1000
        else:
            us = sum(known.median_us(p) for p in parts)
        check(f"cross-entropy {role} is all its kernels",
              row and close(float(row["time_us"]), us), f"{row} {us}")
    row = find(rows, ("all-reduce", "", "ranks", 2, "nodes", 1, "bytes",
                      2 * torch_profile.Shape.parameters))
    ranks = [[ns for r, ns in known.given["allreduce"] if r == rank] for rank in (0, 1)]
    us = statistics.median(min(p) for p in zip(*ranks)) / 1000
    check("an all-reduce is the shortest over its members",
          row and close(float(row["time_us"]), us), f"{row} {us}")
    check("nothing else is in the table", len(rows) == len(ROWS) + 4, rows)


def check_lanes(folder, stats):
    """The same figures, worked out again from the files."""
    for r, path in enumerate(sorted(folder.iterdir())):
        events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "kernel"]
        spans = {True: [], False: []}
        for e in events:
            start = round(e["ts"] * 1000)
            spans[e["name"].startswith("nccl")].append((start, start + round(e["dur"] * 1000)))
        def length(s):
            return sum(b - a for a, b in merged(s))
        every = spans[True] + spans[False]
        span = max(b for _, b in every) - min(a for a, _ in every)
        busy, compute = length(every), length(spans[False])
        want = {"span_s": span, "busy_s": busy, "compute_s": compute, "idle_s": span - busy,
                "communication_s": length(spans[True]), "exposed_s": busy - compute}
        got = stats["ranks"][r]
        check(f"busy, exposed and idle of rank {r}",
              all(abs(got[k] * 1e9 - v) < 0.5 for k, v in want.items()), f"{got} {want}")


def check_run(binary, folder, known, rows):
    """A run with the table has the kernels that were measured."""
    (folder / "run.yaml").write_text(RUN, encoding="utf-8")
    said = run(binary, "check", "run.yaml", cwd=folder).stdout
    model = said.split("by the model, for lack of a row\n")[1].split("\n\n")[0].split("\n")
    check("only residuals are left to the model",
          [line.split()[0] for line in model] == ["residual", "residual"], said)
    run(binary, "run", "run.yaml", "--trace", "csv:tasks.csv", cwd=folder)
    tasks = {r["name"]: int(r["dur_ps"]) for r in table_of(folder / "tasks.csv") if r["rank"] == "0"}
    def row(*want):
        return float(find(rows, want)["time_us"])
    wanted = {
        "attention core": row(*ROWS["attention"]),
        "attention core backward": row(*ROWS["attention backward"]),
        "qkv": row(*ROWS["qkv"]), "qkv dgrad": row(*ROWS["qkv dgrad"]),
        "qkv wgrad": row(*ROWS["qkv wgrad"]), "embedding": row(*ROWS["embedding"]),
        "optimizer step": row(*ROWS["adam"]), "logits wgrad": row(*ROWS["head wgrad"]),
        "proj": row(*ROWS["proj"]),
        "all-reduce": row("all-reduce", "", "ranks", 2),
    }
    for name, us in wanted.items():
        check(f"the run's {name} takes what was measured",
              abs(tasks.get(name, 0) - us * 1e6) <= 1, f"{tasks.get(name)} {us}")


def with_shapes(binary, folder):
    traces = folder / "traces"
    traces.mkdir()
    known = Known()
    torch_profile.write(traces, torch_profile.Shape(), known, skews={1: 1_234_567})
    run(binary, "import", "kineto", traces, "-o", folder / "table.csv")
    rows = table_of(folder / "table.csv")
    check_rows(known, rows)
    stats = report_of(binary, traces)
    check_lanes(traces, stats)
    every = sum(ns for kind, spans in known.given.items() if kind != "allreduce"
                for _, ns in spans)
    left = {x["name"]: x for x in stats["not_in_table"]}
    check("what is not told is named with its time", set(left) == {"aten::add"} and close(
        left["aten::add"]["seconds"] * 1e9, sum(ns for _, ns in known.given["residual"])), left)
    check("table and rest are all of the computation", close(
        stats["table"]["computation_s"] + left["aten::add"]["seconds"], every * 1e-9), stats)
    check_run(binary, folder, known, rows)
    one = report_of(binary, traces, "--steps", "6")
    check("--steps takes what was launched in them", one["kernels"] * 3 == stats["kernels"], one)
    paths = sorted(traces.iterdir())
    with gzip.open(folder / "rank0.json.gz", "wb") as f:
        f.write(paths[0].read_bytes())
    alone = run(binary, "import", "kineto", folder / "rank0.json.gz", "-o", folder / "one.csv")
    check("one file alone says that its collectives may have waited",
          "have one member only" in alone.stdout, alone.stdout)
    row = find(table_of(folder / "one.csv"), ("all-reduce", ""))
    least = min(ns for r, ns in known.given["allreduce"] if r == 0) / 1000
    check("and takes a low quantile", row and close(float(row["time_us"]), least) and
          row["note"] == "10 % quantile of 3, of one member", row)
    far = run(binary, "import", "kineto", traces, "--gpus-per-node", "1", "-o", folder / "far.csv")
    row = find(table_of(folder / "far.csv"), ("all-reduce", ""))
    check("--gpus-per-node says where ranks are", row and row["nodes"] == "2", far.stdout)


# ---- profiles that do not tell all ----

class Square(torch_profile.Shape):
    """As many tokens as outputs: both gradients of a matrix have products of one size."""
    batch, sequence, hidden, heads, ffn = 1, 768, 768, 12, 3072
    steps, ranks = 1, 1


def in_doubt(binary, folder):
    for strides in (True, False):
        traces = folder / f"strides-{strides}"
        traces.mkdir()
        known = Known()
        torch_profile.write(traces, Square(), known, strides=strides)
        run(binary, "import", "kineto", traces, "-o", folder / "square.csv")
        rows = table_of(folder / "square.csv")
        stats = report_of(binary, traces)
        dgrad = find(rows, ("matmul", "dgrad", "m", H, "n", H, "k", H))
        wgrad = find(rows, ("matmul", "wgrad", "m", H, "n", H, "k", H))
        left = [x for x in stats["not_in_table"] if "unknown whether" in x["why"]]
        if strides:
            check("strides tell the gradients apart", dgrad and wgrad and
                  close(float(dgrad["time_us"]), known.median_us("proj dgrad")) and
                  close(float(wgrad["time_us"]), known.median_us("proj wgrad")), rows)
        else:
            spent = sum(ns for k in ("proj", "fc2") for role in ("dgrad", "wgrad")
                        for _, ns in known.given[f"{k} {role}"])
            check("without strides they are not guessed", dgrad is None and wgrad is None and
                  len(left) == 1 and left[0]["name"] == "aten::mm" and
                  close(left[0]["seconds"] * 1e9, spent), left)
    traces = folder / "bare"
    traces.mkdir()
    torch_profile.write(traces, Square(), Known(), shapes=False)
    said = run(binary, "import", "kineto", traces, "-o", folder / "bare.csv").stdout
    check("without shapes there are no rows of kernels, and the reason is named",
          all(r["op"] not in ("matmul", "norm") for r in table_of(folder / "bare.csv")) and
          "no shapes (record with record_shapes=True)" in said, said)


# ---- communication, said in several ways ----

NODE = list(range(0, 24, 8))  # a pipeline group: a rank of each of three nodes


def comm(name, ts, dur, n_in, n_out, pg="3", ranks=None, dtype="Float", **more):
    return {"ph": "X", "cat": "kernel", "name": f"ncclDevKernel_{name}_RING_LL(x)", "pid": 0,
            "tid": 20, "ts": ts, "dur": dur, "args": {
                "stream": 20, "Collective name": name, "In msg nelems": n_in,
                "Out msg nelems": n_out, "Group size": 3, "dtype": dtype,
                "Process Group Name": pg, "Process Group Description": "pp",
                "Process Group Ranks": str(ranks or NODE), **more}}


def write_rank(folder, rank, events):
    groups = [{"pg_name": "7", "pg_desc": "ep", "pg_size": 3, "ranks": NODE}]
    (folder / f"rank{rank}.json").write_text(json.dumps({
        "distributedInfo": {"rank": rank, "world_size": 24, "pg_config": groups},
        "traceEvents": events}), encoding="utf-8")


def sizes_and_ends(binary, folder):
    traces = folder / "comm"
    traces.mkdir()
    # Rank 0 waits for rank 8 in all of them; of messages it is told the other end within the group.
    for rank, late in ((0, 5), (8, 0)):
        write_rank(traces, rank, [
            comm("_allgather_base", 10, 20 + late, 256, 768, Seq=1),
            comm("_reduce_scatter_base", 50, 21 + late, 1536, 512, Seq=2),
            comm("all_to_allv", 90, 22 + late, 300, 300, dtype="BFloat16", Seq=3),
            comm("broadcast", 130, 23 + late, 128, 128, pg="7", ranks=[0, "..."], Seq=1),
            comm("broadcast", 170, 24, 128, 128, pg="9", ranks=[0, "..."], Seq=1),
            comm("reduce", 210, 25, 128, 128, Seq=4),
            comm("send", 250, 90 + late, 64, 64, Seq=1, **{"Dst Rank": 1}) if rank == 0 else
            comm("recv", 250, 30, 64, 64, Seq=1, **{"Src Rank": 0}),
            comm("allreduce", 300, 26 + late, 99, 99), comm("allreduce", 400, 40 + late, 99, 99),
        ])
    run(binary, "import", "kineto", traces, "-o", folder / "comm.csv")
    rows = {(r["op"], r["ranks"], r["nodes"], r["bytes"], r["time_us"]): r["note"]
            for r in table_of(folder / "comm.csv")}
    pair = "median of 1, each the shortest of 2 members"
    check("sizes are those of nccl-tests, ends of messages are found, without Seq none is matched",
          rows == {("all-gather", "3", "3", "3072", "20"): pair,
                   ("reduce-scatter", "3", "3", "6144", "21"): pair,
                   ("all-to-all", "3", "3", "600", "22"): pair,
                   ("broadcast", "3", "3", "512", "23"): pair,
                   ("send-recv", "2", "2", "256", "30"): pair,
                   ("all-reduce", "3", "3", "396", "26"): "10 % quantile of 4, of one member"}, rows)
    left = {(x["name"], x["kernels"]): x["why"] for x in
            report_of(binary, traces)["not_in_table"]}
    check("a group whose ranks are cut off, and a reduction, are left out",
          left == {("ncclDevKernel_broadcast_RING_LL(x)", 2):
                   "the ranks of its group are not recorded",
                   ("ncclDevKernel_reduce_RING_LL(x)", 2): "the table has no row for it"}, left)


def optimizers(binary, folder):
    """Adam in pieces, and gradients of several micro-batches added."""
    def event(cat, name, ts, dur, ident, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
                "args": {"External id": ident, **args}}
    lists = {"Input Dims": [[[4, 5], [7]], [[4, 5], [7]]], "Input type": ["TensorList"] * 2}
    kernel = "multi_tensor_apply_kernel<TensorListMetadata<3>, %sFunctor<float, 3>>"
    events = [
        event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 0,
              8, 1, **{"Sequence number": 1, "Fwd thread id": 1}),
        event("cpu_op", "torch::autograd::AccumulateGrad", 1, 6, 2),
        event("cpu_op", "aten::add_", 2, 4, 3, **{
            "Input Dims": [[4, 5], [4, 5], []], "Input type": ["float", "c10::BFloat16", "Scalar"]}),
        event("kernel", "add", 3, 1.5, 3, stream=7),
        event("user_annotation", "Optimizer.step#AdamW.step", 10, 50, 4),
        event("cpu_op", "aten::_foreach_mul_", 11, 4, 5, **lists),
        event("cpu_op", "aten::_foreach_addcdiv_", 21, 4, 6, **lists),
        event("kernel", kernel % "BinaryOpScalar", 30, 2.25, 5, stream=7),
        event("kernel", kernel % "PointwiseOpList", 40, 3.5, 6, stream=7),
    ]
    (folder / "adam.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    run(binary, "import", "kineto", folder / "adam.json", "-o", folder / "adam.csv")
    rows = [(r["op"], r["role"], r["kernel"], r["dtype"], r["elements"], r["time_us"])
            for r in table_of(folder / "adam.csv")]
    check("Adam in pieces is one row, an accumulation another",
          rows == [("accumulation", "wgrad", "", "fp32", "20", "1.5"),
                   ("optimizer", "step", "unfused", "fp32", "27", "5.75")], rows)


def older_versions(binary, folder):
    """Sizes from the operators of the host, kernels that are called alike whatever they do, and
    what has no backward."""
    traces = folder / "older"
    traces.mkdir()
    said = {"Process Group Name": "3", "Process Group Description": "dp",
            "Process Group Ranks": str(NODE), "Group size": 3}
    # name of the operator, its arguments and their types; of the kernel; what is due
    calls = [
        ("c10d::allreduce_", [[[40, 5], [56]], [], []], ["TensorList", "", ""],
         "ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", ("all-reduce", 512)),
        ("c10d::_allgather_base_", [[768], [256], []], ["float", "float", ""],
         "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", ("all-gather", 3072)),
        ("c10d::_reduce_scatter_base_", [[512], [1536], []], ["c10::BFloat16"] * 2 + [""],
         "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", ("reduce-scatter", 3072)),
        ("record_param_comms", [[[99]], []], ["TensorList", ""],
         "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", ("all-reduce", 396)),
        ("nccl:all_to_all", [[300]], ["c10::Half"],
         "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", ("all-to-all", 600)),
        ("symm_mem::multimem_all_reduce_", [[64, 2], [], []], ["c10::BFloat16", "", ""],
         "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)",
         ("all-reduce", 256)),
        ("c10d::allreduce_", [[[40, 5]], []], ["TensorList", ""],  # of a type that nothing says
         "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", None),
    ]
    events = []
    for i, (op, dims, types, kernel, _) in enumerate(calls):
        ident = 10 + i
        events += [
            {"ph": "X", "cat": "cpu_op", "name": op, "pid": 1, "tid": 1, "ts": 100 * i, "dur": 9,
             "args": {"External id": ident, "Input Dims": dims, "Input type": types}},
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 20, "ts": 100 * i + 20,
             "dur": 30 + i, "args": {"External id": ident, "stream": 20, "Seq": i, **said}}]
    write_rank(traces, 0, events + [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 900, "dur": 9,
         "args": {"External id": 50, "Input Dims": [[64, 32], [32, 16]],
                  "Input type": ["float", "float"]}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 920, "dur": 8.5,
         "args": {"External id": 50, "stream": 7}},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1,
         "ts": 0, "dur": 915, "args": {}}])
    told = run(binary, "import", "kineto", traces, "-o", folder / "older.csv").stdout
    rows = table_of(folder / "older.csv")
    got = {(r["op"], int(r["bytes"]), float(r["time_us"])) for r in rows if r["ranks"]}
    due = {(*want, 30.0 + i) for i, (*_, want) in enumerate(calls) if want}
    check("sizes come from the arguments of what issued a collective", got == due, f"{got} {due}")
    left = {x["name"]: x["why"] for x in report_of(binary, traces)["not_in_table"]}
    check("one of no known type has no size",
          left == {calls[2][3]: "no size (newer versions of PyTorch record it)"}, left)
    check("products of a file without a backward are forward",
          [(r["role"], r["m"], r["n"], r["k"]) for r in rows if r["op"] == "matmul"] ==
          [("forward", "64", "16", "32")], rows)
    check("why steps of the host and GPUs differ is told with figures",
          "the host issued them in 915.0 us; GPUs took 908.5 us, began 20.00 us after it and ended "
          "13.50 us after:" in told, told)


def where_from(binary, folder):
    """A table knows its GPU, its shapes and its members; a comparison whose work it is."""
    traces = folder / "traces"
    table = (folder / "table.csv").read_text()
    check("a table names its GPU and its members", table_of(folder / "table.csv")[0]["gpu"] ==
          "NVIDIA A100-SXM4-80GB" and all(r["members"] == "2" for r in table_of(
              folder / "table.csv") if r["ranks"]), table[:300])
    (folder / "run.yaml").write_text(RUN, encoding="utf-8")
    said = run(binary, "run", "run.yaml", cwd=folder).stdout
    check("a run says how much is measured", "kernels of this run are from table.csv" in said and
          "1 of the 1 kinds of communication" in said and "waiting" not in said, said)
    stats = json.loads(run(binary, "run", "run.yaml", "--stats", "json", cwd=folder).stdout)
    check("and so does its JSON", stats["measured"]["collectives"] == 1 and
          0 < stats["measured"]["kernels"] < stats["measured"]["kernels_of_run"], stats["measured"])
    for sets in (["model.hidden=1024", "model.heads=16"], ["model.dtype=fp16"]):
        none = run(binary, "run", "run.yaml", *[w for s in sets for w in ("--set", s)],
                   cwd=folder).stdout
        check(f"shapes that are not there are told: {' '.join(sets)}", re.search(
            r"none of its \d+ GEMMs is there: the table has other shapes or another "
            r"type", none) and "none of its" not in said, none)
    for gpu, code in (("AMD Instinct MI300X", 3), ("NVIDIA H100 80GB HBM3", 3), ("", 0),
                      ("NVIDIA A100-PCIE-40GB", 3), ("NVIDIA A100-SXM4-40GB", 0)):
        (folder / "other.csv").write_text(table.replace("NVIDIA A100-SXM4-80GB", gpu))
        p = subprocess.run([binary, "run", "run.yaml", "--set", "cluster.operators=other.csv"],
                           cwd=folder, capture_output=True, text=True, check=False)
        check(f"a table of {gpu or 'nobody'} is {'refused' if code else 'taken'}",
              (p.returncode in (0, 1) if code == 0 else p.returncode == code and
               f"measured on another GPU ({gpu}) than the cluster's (a100-sxm-80g)" in p.stderr),
              p.stderr)
    run(binary, "import", "kineto", next(iter(sorted(traces.iterdir()))), "-o", folder / "one.csv")
    said = run(binary, "run", "run.yaml", "--set", "cluster.operators=one.csv", cwd=folder).stdout
    check("waiting that may be in a table is told",
          "of 1 rows of communication in one.csv 1 may hold waiting" in said, said)
    # the profile against the run of its model, and against one of another
    both = json.loads(run(binary, "diff", "traces", "run.yaml", "--stats", "json",
                          cwd=folder).stdout)
    check("a profile has the MFU of the model it trains", 0 < both["runs"][0]["mfu"] < 1, both)
    other = (RUN.replace("layers: 3", "layers: 96").replace("hidden: 768", "hidden: 12288")
             .replace("ffn: 3072", "ffn: 49152").replace("heads: 12", "heads: 96"))
    (folder / "large.yaml").write_text(other.replace("operators: table.csv", "derate: 1").replace(
        "derate: 1, nvlink", "nvlink"))
    small = RUN.replace("layers: 3", "layers: 1").replace("vocabulary: 32000", "vocabulary: 512")
    (folder / "small.yaml").write_text(small)
    for name, words in (("large", "its MFU would be"), ("small", "its GEMMs alone are")):
        p = run(binary, "diff", "traces", f"{name}.yaml", cwd=folder, code=1)
        both = json.loads(run(binary, "diff", "traces", f"{name}.yaml", "--stats", "json",
                              cwd=folder, code=1).stdout)
        check(f"but not beside a {name} one", words in p.stdout and both["runs"][0]["mfu"] is None
              and both["runs"][0]["tokens_per_s"] is None, p.stdout)


# ---- trainyard's own files ----

# example, options, how near a run with the table comes: the reductions of a loss over a tensor group
# are one task of three, which a table cannot tell from one of three times the size.
OWN = [("llama3-8b-fsdp-8xh100.yaml", [], 1e-8),
       ("llama-30b-256xa100.yaml", ["--set", "cluster.nodes=1", "--set", "layout.pipeline=2", "--set",
                                    "layout.tensor=4", "--set", "layout.global_batch=8"], 1e-3)]


def round_trip(binary, folder, example, options, near):
    traces = folder / "own"
    config = [EXAMPLES / example, *options, "-q"]
    step = json.loads(run(binary, "run", *config, "--stats", "json", "--trace", f"kineto:{traces}",
                          "--trace", f"csv:{folder}/tasks.csv", "--ranks", "all").stdout)
    tasks = [r for r in table_of(folder / "tasks.csv")]
    stats = report_of(binary, traces)
    own = folder / "own.csv"
    run(binary, "import", "kineto", traces, "-o", own)
    ns = [(int(t["start_ps"]) + int(t["dur_ps"])) // 1000 - int(t["start_ps"]) // 1000
          for t in tasks]
    check(f"{example}: as many kernels", stats["kernels"] == sum(n > 0 for n in ns),
          f"{stats['kernels']} {len(tasks)}")
    compute = sum(n for n, t in zip(ns, tasks) if t["stream"] == "compute")
    comm = sum(n for n, t in zip(ns, tasks) if t["stream"] != "compute")
    check(f"{example}: the same durations", round(stats["all"]["computation_s"] * 1e9) == compute and
          round(stats["all"]["communication_s"] * 1e9) == comm, stats["all"])
    host = sum(n for n, t in zip(ns, tasks) if t["name"] == "host")
    shares = sum(stats["computation_s"].values())
    check(f"{example}: every kind is known", close(shares, stats["all"]["computation_s"]) and
          abs(stats["computation_s"]["other"] * 1e9 - host) < 0.5, stats["computation_s"])
    check(f"{example}: all communication is in the table",
          close(stats["table"]["communication_s"], stats["all"]["communication_s"]), stats["table"])
    (folder / "with.yaml").write_text(f"cluster: {{operators: {own}}}\n", encoding="utf-8")
    again = json.loads(run(binary, "run", *config, "--with", folder / "with.yaml", "--stats",
                           "json").stdout)
    check(f"{example}: a run with what was imported takes as long",
          close(again["step_time_s"], step["step_time_s"], near),
          f"{again['step_time_s']} {step['step_time_s']}")
    for path in traces.iterdir():
        path.unlink()
    traces.rmdir()


def steps_of_some(binary, folder):
    """Marks in one file only, and a step that none has."""
    traces = folder / "marks"
    traces.mkdir()
    for rank in (0, 8):
        marks = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1,
                  "tid": 1, "ts": 100 * n, "dur": 90, "args": {}} for n in (3, 4)]
        write_rank(traces, rank, (marks if rank == 8 else []) +
                   [comm("allreduce", 310, 20, 256, 256, Seq=1)])
    said = run(binary, "import", "kineto", traces, "--steps", "7", code=3).stderr
    check("a step that is not there is told with those that are",
          said == "--steps 7: no such step; the profile has 3 to 4\n", said)


def parts_of_steps(binary, folder):
    """A trace of a window, or of what a deadlock left, says which steps it has only a part of."""
    said = "steps (over all ranks) are not whole"
    first = EXAMPLES / "first.yaml"
    for name, example, options, code, cut in (
            ("whole", first, ["--steps", "0-3"], 0, []), ("window", first, ["--window", "2s:4s"], 0, [1, 3]),
            ("deadlock", EXAMPLES / "deadlock" / "order.yaml", [], 4, [0])):
        traces = folder / name
        steps = ["--set", "run.steps=4"] if code == 0 else []
        subprocess.run([binary, "run", example, *steps, *options, "-q", "--trace",
                        f"kineto:{traces}"], capture_output=True, check=False)
        with open(traces / "rank-0.json", encoding="utf-8") as f:
            written = json.load(f).get("trainyardCutSteps", [])
        check(f"{name}: the steps that are not whole are in the file", written == cut, written)
        told = run(binary, "import", "kineto", traces, "-o", "-").stderr
        other = run(binary, "diff", first, traces).stdout
        check(f"{name}: import and diff say whether steps are whole",
              (said in told) == bool(cut) and (said in other) == bool(cut), told + other)
        check(f"{name}: scripts are told how many are not",
              ("cut_steps" in report_of(binary, traces)["all"]) == bool(cut))
    chosen = report_of(binary, folder / "window", "--steps", "2")
    check("of steps that are whole nothing is said", "cut_steps" not in chosen["all"], chosen["all"])


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with_shapes(binary, folder)
        where_from(binary, folder)
        in_doubt(binary, folder)
        sizes_and_ends(binary, folder)
        optimizers(binary, folder)
        older_versions(binary, folder)
        steps_of_some(binary, folder)
        parts_of_steps(binary, folder)
        for example, options, near in OWN:
            round_trip(binary, folder, example, options, near)
    print(f"TAP version 13\n1..{len(checks)}")
    for i, (name, ok) in enumerate(checks, 1):
        print(f"{'ok' if ok else 'not ok'} {i} - {name}")
    return 0 if all(ok for _, ok in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
