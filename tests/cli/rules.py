#!/usr/bin/env python3
"""The rules that a Chrome trace has to keep, apart from trace_rules.h, on any trace that a test or an
example writes.

usage: rules.py FILE...             .json or .json.gz: counts of each, or the rule that it breaks
       rules.py --examples BINARY [--all]
                                    a trace of every run file in docs/examples; and traces in which
                                    one rule is broken, which have to be refused
"""
import bisect
import copy
import gzip
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

from few import WHOLE, shortened

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
PATH, RANK = 2, 1000  # pid of the critical path, of rank 0
ROWS = {10: "critical path", 11: "compute", 12: "tensor comm", 13: "data comm",
        14: "pipeline send", 15: "pipeline recv", 16: "replica comm", 17: "context comm",
        18: "expert comm", 19: "row comm", 20: "column comm", 21: "depth comm",
        22: "h2d", 23: "d2h", 24: "nvme", 25: "host"}
COLOURS = {"compute.forward": "thread_state_running", "compute.backward": "rail_response",
           "compute.dgrad": "thread_state_runnable", "compute.wgrad": "cq_build_running",
           "compute.recompute": "cq_build_passed", "optimizer": "rail_load",
           "comm.tp": "thread_state_iowait", "comm.dp": "thread_state_unknown",
           "comm.pp": "thread_state_uninterruptible", "comm.cp": "olive",
           "comm.ep": "rail_animation", "offload": "rail_idle", "host": "rail_load", "bubble": "grey"}
NUMBERED = ("forward", "backward", "dgrad", "wgrad", "recompute", "send", "recv", "in flight")
OUTER = ("forward", "backward", "dgrad", "wgrad", "optimizer step", "bubble")
PARTS = ("attention", "mlp", "moe", "embedding", "head", "recompute")
KEYS = {"X": {"name", "cat", "cname", "ph", "tid", "args", "pid", "ts", "dur"},
        "C": {"name", "ph", "args", "pid", "ts"},
        "i": {"name", "cat", "ph", "s", "tid", "args", "pid", "ts"},
        "s": {"name", "cat", "id", "ph", "pid", "tid", "ts"},
        "f": {"name", "cat", "id", "ph", "bp", "pid", "tid", "ts"},
        "M": {"name", "ph", "pid", "tid", "args"}}
NAMING = ("process_name", "process_sort_index", "process_labels", "thread_name",
          "thread_sort_index")
MOMENTS = ("step start", "step end", "peak memory", "out of memory", "deadlock")
MEMORY = {"weights_GB", "grads_GB", "optimizer_GB", "activations_GB"}
LINKS = ("NVLink", "PCIe", "NIC", "leaf uplinks", "pod uplinks",
         "host links", "host links both ways", "host memory", "host processors", "drives")


class Written(str):
    """A number with a point or an exponent, as it is written."""


class Broken(Exception):
    """A rule that a trace breaks."""


def need(fact, rule, event=None):
    if not fact:
        raise Broken(rule if event is None else f"{rule}: {json.dumps(event)[:400]}")


def nanoseconds(text, rule, event):
    """Whole, from microseconds with three decimals."""
    need(isinstance(text, Written) and re.fullmatch(r"(0|[1-9]\d*)\.\d{3}", text), rule, event)
    return int(text.replace(".", ""))


def length(text, rule, event):
    """Whole nanoseconds of a length in microseconds with four decimals, and the tenths of one that are
    missing: one for the slice itself and one for each around it."""
    need(isinstance(text, Written) and re.fullmatch(r"(0|[1-9]\d*)\.\d{3}[789]", text), rule, event)
    tenths = int(text.replace(".", ""))
    return tenths // 10 + 1, 10 - tenths % 10


def split(name):
    """`kind 12` into kind and number; None: no number."""
    kind, _, number = name.rpartition(" ")
    return (kind, int(number)) if number.isdigit() and kind else (name, None)


def ends(e, first):
    """Of a slice, as a reader of JSON adds doubles: as they are, and counted from the row's first."""
    return e["double"] + e["length"], e["double"] - first + e["length"]


class Trace:
    """Lists of events by sort; slices with start, end and children."""

    def __init__(self, document):
        self.names, self.rows, self.of = {}, {}, {ph: [] for ph in KEYS}
        self.document(document)
        for event in document["traceEvents"]:
            self.event(event)
        self.naming()
        self.bubbles = any(e["cat"] == "bubble" for e in self.of["X"])
        self.extent = {}
        for place, slices in self.by_row().items():
            self.row(place, slices)
        self.arrows()
        self.counters()
        self.collectives()
        self.path()

    def document(self, document):
        need(list(document) == ["displayTimeUnit", "metadata", "otherData", "traceEvents"],
             "the document has displayTimeUnit, metadata, otherData, traceEvents")
        need(document["displayTimeUnit"] == "ms", "displayTimeUnit is ms")
        need(document["metadata"] == document["otherData"], "metadata and otherData are equal")
        need(all(not isinstance(v, (dict, list)) for v in document["metadata"].values()),
             "metadata is flat")
        need(all(math.isfinite(float(v)) for v in document["metadata"].values()
                 if isinstance(v, Written)), "numbers are finite")

    def event(self, e):
        ph = e.get("ph")
        need(ph in KEYS, "events are X, C, i, s, f or M", e)
        need(set(e) <= KEYS[ph] and KEYS[ph] - set(e) <= {"args", "cname"}, "an event has its keys", e)
        need(isinstance(e["pid"], int) and e["pid"] > 0, "pid and tid are in range", e)
        need(ph == "C" or (isinstance(e["tid"], int) and 10 <= e["tid"] <= 25
                           and e["pid"] != e["tid"] and (e["pid"] == PATH) == (e["tid"] == 10)),
             "pid and tid are in range", e)
        need(e["pid"] >= RANK or ph == "M" or (ph == "C" and e["name"] != "memory")
             or (e["pid"], ph) == (PATH, "X"), "slices are of ranks", e)
        if ph != "M":
            e["double"] = float(e["ts"])
            e["ts"] = nanoseconds(e["ts"], "ts has three decimals", e)
        getattr(self, {"X": "slice", "C": "counter", "i": "moment", "s": "flow", "f": "flow",
                       "M": "name"}[ph])(e)
        self.of[ph].append(e)

    def slice(self, e):
        e["length"] = float(e["dur"])
        e["dur"], e["short"] = length(e["dur"], "dur has four decimals, a tenth short", e)
        need(COLOURS.get(e["cat"]) == e.get("cname", COLOURS.get(e["cat"], "none"))
             or (e["name"], e["cname"]) in (("mlp", "yellow"), ("moe", "olive")),
             "category and colour belong together", e)
        need(e["name"] != "mlp" or "cname" in e, "an mlp is not as pink as attention", e)
        need("cname" in e or (e["cat"] != "bubble" and e["tid"] == 11),
             "bubbles and communication have a colour", e)
        kind, number = split(e["name"])
        need(re.fullmatch(r"[a-z-][a-z -]*", kind) and (number is None or kind in NUMBERED),
             "a name is a kind, or a kind and a number", e)
        args = e.get("args", {})
        need(e["cat"] != "bubble" or set(args) == {"why", "kind"}, "a bubble says why", e)
        need(args.get("critical", True) is True, "critical is true or not there", e)
        need(number is None or args.get("mb", number) == number, "the number is the micro-batch", e)

    def counter(self, e):
        values = e["args"].values()
        need(all(isinstance(v, (int, Written)) and float(v) >= 0 for v in values),
             "counters are numbers, not negative", e)
        if e["name"] == "expert load":
            need(set(e["args"]) == {"rows over mean"}, "loads of experts are over their mean", e)
        elif e["name"] != "memory":
            need(e["name"] in LINKS and set(e["args"]) == {"GB/s"}, "links are in GB/s", e)
        else:
            need(set(e["args"]) == MEMORY, "memory has its four series", e)

    def moment(self, e):
        need(e["s"] == "p" and e["name"] in MOMENTS, "instants are of a process", e)

    def flow(self, e):
        need(isinstance(e["id"], int) and e["cat"] == "p2p" and split(e["name"])[1] is not None
             and e.get("bp", "e") == "e", "a flow is numbered, and its end is bound", e)

    def name(self, e):
        need(e["name"] in NAMING and len(e["args"]) == 1, "names are of a known sort", e)
        place = (e["pid"], e["name"]) + ((e["tid"],) if e["name"].startswith("thread") else ())
        need(place not in self.names, "named once", e)
        self.names[place] = next(iter(e["args"].values()))

    def naming(self):
        pids = {e["pid"] for events in self.of.values() for e in events}
        for pid in pids:
            need(all((pid, n) in self.names for n in NAMING[:3]), f"process {pid} has its names")
            need("," not in self.names[pid, "process_labels"], "labels are split at commas")
            rank = re.match(r"rank (\d+)( |$)", self.names[pid, "process_name"])
            need(rank is None or pid < RANK or int(rank[1]) == pid - RANK, "a rank has its number")
        places = sorted(self.names[pid, "process_sort_index"] for pid in pids if pid != PATH)
        need(places == list(range(len(places))), "sort indices are 0, 1, ...")
        need(PATH not in pids or self.names[PATH, "process_sort_index"] == -1,
             "the critical path is on top")
        for (pid, what, *tid), value in self.names.items():
            if what == "thread_name":
                need(value == ROWS[tid[0]], "a row has the name of its tid")
                need(self.names.get((pid, "thread_sort_index", *tid)) == tid[0],
                     "a row has its place")

    def by_row(self):
        rows = {}
        for number, e in enumerate(self.of["X"]):
            e["end"], e["order"] = e["ts"] + e["dur"], number
            rows.setdefault((e["pid"], e["tid"]), []).append(e)
        return rows

    def row(self, place, slices):
        """Slices nest or are disjoint; passes and bubbles fill the compute row."""
        need((place[0], "thread_name", place[1]) in self.names, f"row {place} has a name")
        slices.sort(key=lambda e: (e["ts"], -e["dur"], e["order"]))
        stack, until, compute, first = [], None, place[1] == 11, slices[0]["double"]
        for e in slices:
            while stack and stack[-1]["end"] <= e["ts"]:
                before = stack.pop()
                need(all(end < start for end, start in zip(ends(before, first), (
                    e["double"], e["double"] - first))),
                     "as doubles, a slice ends before the next begins", e)
            need(not stack or e["end"] <= stack[-1]["end"], "slices of a row do not overlap", e)
            need(not stack or (compute and "bubble" not in (e["cat"], stack[-1]["cat"])),
                 "slices nest on compute rows only", e)
            need(len(stack) < 2 or (len(stack) == 2 and stack[1]["name"] in PARTS),
                 "operations are in parts, parts in passes", e)
            need(e["short"] == 1 + len(stack), "a slice is a tenth short for each around it", e)
            need(not stack or all(map(float.__lt__, ends(e, first), ends(stack[-1], first))),
                 "as doubles, a slice ends before the one around it", e)
            if compute and not stack:
                need(split(e["name"])[0] in OUTER, "outermost are passes and bubbles", e)
                need(not self.bubbles or until in (None, e["ts"]), "compute rows have no hole", e)
                until = e["end"]
            e["up"] = stack[-1] if stack else None
            stack.append(e)
        if compute and self.bubbles:
            job = re.split("rank |stage ", self.names[place[0], "process_name"])[0]
            mine = slices[0]["ts"], until
            need(self.extent.setdefault(job, mine) == mine, "compute rows are as long as each other",
                 slices[0])
        self.rows[place] = slices

    def arrows(self):
        ends = {}
        for ph in "sf":
            for e in self.of[ph]:
                need((e["id"], ph) not in ends, "a flow has one start and one end", e)
                ends[e["id"], ph] = e
        sends = {(e["pid"], e["tid"], e["end"] - 1): e for e in self.of["X"]
                 if split(e["name"])[0] == "send"}
        recvs = {(e["pid"], e["tid"], e["ts"]): e for e in self.of["X"]
                 if split(e["name"])[0] == "recv"}
        met = set()
        for (number, _), e in ends.items():
            s, f = ends.get((number, "s")), ends.get((number, "f"))
            need(s and f, "a flow has both ends", e)
            a = sends.get((s["pid"], s["tid"], s["ts"]))
            b = recvs.get((f["pid"], f["tid"], f["ts"]))
            need(a, "a flow starts in the last nanosecond of its send", s)
            need(b, "a flow ends at the start of its receive", f)
            need(f["ts"] > s["ts"] and a["args"]["peer"] + RANK == f["pid"]
                 and b["args"]["peer"] + RANK == s["pid"], "a flow goes forward, between peers", s)
            need({split(x["name"])[1] for x in (s, f, a, b)} == {split(s["name"])[1]},
                 "a flow has the number of its message", s)
            met.update((id(a), id(b)))
        need(len(met) == len(ends), "a message has one flow")

    def counters(self):
        last = {}
        for e in sorted(self.of["C"], key=lambda e: e["ts"]):
            before = last.get((e["pid"], e["name"]))
            need(before is None or (before["ts"] < e["ts"] and before["args"] != e["args"]),
                 "counters are written when they change", e)
            last[e["pid"], e["name"]] = e
        for e in last.values():
            need(e["name"] in ("memory", "expert load") or float(e["args"]["GB/s"]) == 0, "links are idle at last", e)

    def collectives(self):
        known, there = {}, set()
        for e in self.of["X"]:
            if e["tid"] in (12, 13, 16, 17, 18, 19, 20, 21):
                args = e["args"]
                need("group" in args and isinstance(args.get("seq"), int),
                     "a collective has a group and a number", e)
                key = (args["group"], args["seq"])
                when = (e["name"], e["ts"], e["dur"], args.get("bytes"))
                need(known.setdefault(key, when) == when and key + (e["pid"],) not in there,
                     "members of a collective are in it together", e)
                there.add(key + (e["pid"],))

    def path(self):
        steps, seen = self.rows.get((PATH, 10), []), set()
        for before, e in zip(steps, steps[1:]):
            need(before["end"] == e["ts"], "the critical path has no gap", e)
        if steps and self.bubbles and "" in self.extent and len(self.extent) == 1:
            need((steps[0]["ts"], steps[-1]["end"]) == self.extent[""],
                 "the critical path is as long as the run")
        for e in steps:
            args = e["args"]
            need({"rank", "stage", "why"} <= set(args) and args["why"]
                 and ("row" in args) == (split(e["name"])[0] != "in flight"),
                 "a step says where it is, and why", e)
            tid = {v: k for k, v in ROWS.items()}.get(args.get("row"))
            row = self.rows.get((args["rank"] + RANK, tid))
            if tid is None or (args["rank"] + RANK, "thread_name", tid) not in self.names:
                continue
            at = bisect.bisect_right(row or [], e["ts"], key=lambda s: s["ts"])
            found = row[at - 1] if at > 0 else None  # the innermost that has begun
            while found and not (found["end"] >= e["end"] and
                                 (found["name"], found["cat"]) == (e["name"], e["cat"])):
                found = found["up"]
            need(found, "a step is a slice of its rank", e)
            need("critical" in found.get("args", {}), "a slice on the path says so", found)
            seen.add(id(found))
        for e in self.of["X"]:
            need("critical" not in e.get("args", {}) or id(e) in seen, "not on the path", e)

    def __str__(self):
        return ", ".join(f"{len(self.of[ph])} {what}" for ph, what in (
            ("X", "slices"), ("s", "flows"), ("C", "values"), ("i", "instants"))) + \
            f", {len(self.rows.get((PATH, 10), []))} steps"


def read(path):
    """The document of a file, its numbers with a point as they are written."""
    data = pathlib.Path(path).read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    def never(word):
        raise Broken(f"{word} is no number")
    return json.loads(text, parse_float=Written, parse_constant=never)


def check(path):
    """A Trace, or Broken. Lines are events."""
    return Trace(read(path))


def is_trace(path):
    """Whether a file that a test left behind is one of ours."""
    if not path.name.endswith((".json", ".json.gz")) or not path.is_file():
        return False
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return data.startswith(b'{"displayTimeUnit"')


# ---- traces that have to be refused ----

def first(trace, **wanted):
    return next(e for e in trace["traceEvents"]
                if all((v(e) if callable(v) else e.get(k) == v) for k, v in wanted.items()))


def put(key, value, **wanted):
    """Sets a key (or key of args, with a dot) of the first event that is as wanted."""
    def change(trace):
        event = first(trace, **wanted)
        at = event["args"] if key.startswith(".") else event
        if value is None:
            del at[key.lstrip(".")]
        else:
            at[key.lstrip(".")] = value(event) if callable(value) else value
    return change


def twice(**wanted):
    return lambda trace: trace["traceEvents"].append(copy.deepcopy(first(trace, **wanted)))


def longer(text, us):
    return Written(f"{float(text) + us:.{len(text.partition('.')[2])}f}")


def days_later(trace):
    """So much later that doubles have no room for tenths of nanoseconds."""
    for e in trace["traceEvents"]:
        if "ts" in e:
            whole, _, part = e["ts"].partition(".")
            e["ts"] = Written(f"{int(whole) + 4 * 10**14}.{part}")


OP = {"ph": "X", "cat": "compute.forward", "is": lambda e: "layers" not in e.get("args", {})
      and e["pid"] >= RANK}
PASS = {"ph": "X", "is": lambda e: "layers" in e.get("args", {})}
PART = {"ph": "X", "name": "attention"}
COLL = {"ph": "X", "tid": 12}
STEP = {"ph": "X", "pid": PATH, "is": lambda e: e["ts"] != "0.000"}
BREAKS = [
    ("events are", put("ph", "B", **PASS)), ("events are", put("ph", "b", **PASS)),
    ("an event has its keys", put("tts", 1, **PASS)), ("an event has", put("dur", None, **PASS)),
    ("pid and tid", put("tid", 0, **PASS)), ("pid and tid", put("pid", 0, **PASS)),
    ("pid and tid", put("pid", 11, **PASS)), ("pid and tid", put("pid", -4, **PASS)),
    ("pid and tid", put("tid", 10, **PASS)), ("slices are of ranks", put("pid", 100, **PASS)),
    ("ts has", put("ts", Written("-1.000"), **PASS)), ("ts has", put("ts", Written("1.00"), **PASS)),
    ("ts has", put("ts", Written("01.000"), **PASS)), ("ts has", put("ts", 1, **PASS)),
    ("dur has", put("dur", Written("1e3"), **PASS)), ("dur has", put("dur", Written("0.000"), **PASS)),
    ("dur has", put("dur", Written("1.000"), **PASS)), ("dur has", put("dur", Written("1.0000"), **PASS)),
    ("a slice is a tenth", put("dur", lambda e: longer(e["dur"], 1e-4), ph="X", name="qkv", tid=11)),
    ("as doubles, a slice", days_later),
    ("category", put("cat", "compute,forward", **PASS)), ("category", put("cname", "red", **PASS)),
    ("an mlp is not", put("cname", None, ph="X", name="mlp", tid=11)),
    ("category", put("cname", "yellow", **PASS)),
    ("bubbles and communication", put("cname", None, ph="X", tid=15)),
    ("a name is", put("name", "forward 3 1", **PASS)), ("a name is", put("name", "fwd2", **OP)),
    ("a name is", put("name", "attention 3", **OP)),
    ("the number is", put("name", "forward 99", **PASS)),
    ("a bubble says why", put(".why", None, ph="X", cat="bubble")),
    ("critical is true", put(".critical", 1, **PASS)),
    ("counters are numbers", put("args", lambda e: {**e["args"], "grads_GB": Written("-1.0")},
                                 ph="C", name="memory")),
    ("memory has", put(".grads_GB", None, ph="C", name="memory")),
    ("links are in", put("name", "wire", ph="C", here=lambda e: e["name"] in LINKS)),
    ("links are idle", lambda t: [e["args"].update({"GB/s": Written("1.5")}) for e in t["traceEvents"]
                                  if e["name"] in LINKS and float(e["args"]["GB/s"]) == 0]),
    ("counters are written", twice(ph="C", name="memory")),
    ("instants", put("s", "g", ph="i")), ("instants", put("name", "begin", ph="i")),
    ("a flow is", put("id", "7", ph="s")), ("an event has its keys", put("bp", None, ph="f")),
    ("a flow is", put("bp", "s", ph="f")), ("a flow has one", twice(ph="s")),
    ("a flow has both", put("id", 10**9, ph="s")),
    ("a flow starts", put("ts", lambda e: longer(e["ts"], 0.001), ph="s")),
    ("a flow ends", put("ts", lambda e: longer(e["ts"], 0.001), ph="f")),
    ("a flow goes", put(".peer", lambda e: e["args"]["peer"] + 1, ph="X", tid=15)),
    ("a flow has the number", put("name", "act 99", ph="s")),
    ("a message has", lambda t: t["traceEvents"].extend(
        {**first(t, ph=ph, id=first(t, ph="s")["id"]), "id": 10**9} for ph in "sf")),
    ("names are", put("name", "thread_nam", name="thread_name")),
    ("named once", twice(name="thread_name")), ("process", put("pid", 1999, name="process_labels", pid=RANK)),
    ("labels", put(".labels", "a, b", name="process_labels")),
    ("a rank has", put(".name", "rank 999 x", name="process_name", pid=RANK)),
    ("sort indices", put(".sort_index", 9, name="process_sort_index", pid=RANK)),
    ("the critical path is on top", put(".sort_index", 0, name="process_sort_index", pid=PATH)),
    ("a row has the name", put(".name", "gpu", name="thread_name")),
    ("a row has its place", put(".sort_index", 9, name="thread_sort_index")),
    ("row", lambda t: t["traceEvents"].remove(first(t, name="thread_name", tid=12))),
    ("slices of a row", put("dur", lambda e: longer(e["dur"], 5), ph="X", name="qkv", tid=11)),
    ("slices nest", put("dur", lambda e: longer(e["dur"], 900000), **COLL)),
    ("outermost", put("name", "warm-up", **PASS)),
    ("operations are in parts", put("name", "mix", **PART)),
    ("compute rows have no hole", put("ts", lambda e: longer(e["ts"], 0.001), ph="X", cat="bubble",
                                      here=lambda e: e["ts"] != "0.000" and e["pid"] > RANK)),
    ("compute rows are", lambda t: t["traceEvents"].remove(first(
        t, ph="X", cat="bubble", ts="0.000"))),
    ("a collective has", put(".seq", None, **COLL)),
    ("members", put("name", "all-gather", **COLL)),
    ("members", put("dur", lambda e: longer(e["dur"], -0.001), **COLL)),
    ("the critical path has no gap", put("dur", lambda e: longer(e["dur"], -0.001), **STEP)),
    ("the critical path is as long", lambda t: t["traceEvents"].remove(
        first(t, ph="X", pid=PATH, ts="0.000"))),
    ("a step says", put(".rank", None, **STEP)), ("a step says", put(".why", "", **STEP)),
    ("a step is", put("name", "other", ph="X", pid=PATH, ts="0.000")),
    ("a slice on", put(".critical", None, ph="X", here=lambda e: "critical" in e.get("args", {}))),
    ("not on the path", put(".critical", True, ph="X", here=lambda e: e["pid"] >= RANK
                            and "critical" not in e.get("args", {}) and e["cat"] == "comm.pp")),
    ("displayTimeUnit", lambda t: t.update(displayTimeUnit="us")),
    ("the document", lambda t: t.update(more=1)),
    ("metadata and", lambda t: t["metadata"].update(more=1)),
    ("metadata is", lambda t: [t[k].update(more={}) for k in ("metadata", "otherData")]),
    ("numbers are", lambda t: [t[k].update(more=Written("1e999")) for k in ("metadata", "otherData")]),
]


def refused(trace):
    """What the checks do not notice in traces with one thing wrong."""
    unnoticed = []
    for number, (rule, change) in enumerate(BREAKS):
        broken = copy.deepcopy(trace)
        change(broken)
        try:
            Trace(broken)
            unnoticed.append(f"{number} {rule}: not noticed")
        except Broken as error:
            if not str(error).startswith(rule):
                unnoticed.append(f"{number} {rule}: {str(error)[:160]}")
    return unnoticed


# ---- the examples ----

# Their plans take seconds: with --all alone.
LONG = {"deepseek-v3-2048xh800.yaml", "llama3-405b-16384xh100.yaml", "megascale-175b-256xa100.yaml"}
SMALL = ["--set", "layout.pipeline=2", "--set", "layout.tensor=2", "--set", "cluster.nodes=1",
         "--set", "layout.global_batch=4", "--set", "model.layers=2", "--detail", "op", "--ranks", "all",
         "--args", "full"]


def trace_of(binary, example, path, options):
    done = subprocess.run([binary, "run", str(EXAMPLES / example), "-q", "-o", "/dev/null",
                           "--trace", f"chrome:{path}"] + shortened(example, options),
                          capture_output=True, text=True, check=False)
    need(done.returncode in ((0, 1, 4) if example.parts[0] == "deadlock" else (0, 1)), done.stderr)


def examples(binary):
    tests = []
    for run in sorted(EXAMPLES.rglob("*.yaml")):
        if run.name in LONG and not WHOLE:
            continue
        options = ["--ranks", "one-per-stage", "--detail", "layer", "--window", "0s:0.3s"]
        if run.parent != EXAMPLES:
            options = ["--detail", "op", "--ranks", "all"]
        tests.append((run.relative_to(EXAMPLES), options))
    tests.append((pathlib.Path("mixtral-8x7b-64xh100.yaml"),
                  ["--ranks", "0-7", "--detail", "op", "--set", "run.routing=dirichlet:0.5",
                   "--window", "0s:0.3s"]))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (example, options) in enumerate(tests, 1):
            path = pathlib.Path(folder, "t.json.gz")
            try:
                trace_of(binary, example, path, options)
                said, good = str(check(path)), True
            except Broken as error:
                said, good = str(error), False
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {example}: {said}", flush=True)
        path = pathlib.Path(folder, "small.json")
        trace_of(binary, pathlib.Path("llama-30b-256xa100.yaml"), path, SMALL)
        check(path)
        unnoticed = refused(read(path))
    print("\n".join(f"# {u}" for u in unnoticed))
    print(f"{'not ok' if unnoticed else 'ok'} {len(tests) + 1} - {len(BREAKS)} broken traces")
    print(f"1..{len(tests) + 1}")
    return 1 if failed or unnoticed else 0


def main():
    if sys.argv[1:2] == ["--examples"]:
        return examples(str(pathlib.Path(sys.argv[2]).resolve()))
    for path in sys.argv[1:]:
        print(f"{path}: {check(path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
