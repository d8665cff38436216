#!/usr/bin/env python3
"""Executes traces as other simulators do, by their rules, knowing nothing of who wrote them.

    replay.py chakra PREFIX --network F.yml --system F.json --groups F.json
    replay.py goal FILE.goal [FILE.bin] -L N -o N -g N -G N -O N -S N

Chakra is read by field numbers, without a protobuf library, and run as ASTRA-sim's workload layer
runs it on its analytical back end without congestion: a node is ready when its data and control
dependencies are done; a rank has one CPU operation, one computation and one communication at a
time, receives aside; collectives are the messages of a ring or, of an all-to-all, direct ones; the
switch is two hops away. Times are whole nanoseconds.

Rules and grammar are from notes on both programs (astra-sim 518bd513, LogGOPSim 76451de1), neither
of which was run.

GOAL text is read by LogGOPSim's grammar and run by its rules (LogGP with rendezvous above S), in
which a node counts as done when it begins and keeps its CPU busy.
"""
import argparse
import collections
import heapq
import json
import re
import struct
import sys

# ---- protobuf ----


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field: integers, or the bytes of what has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut short"
        else:
            size = {1: 8, 5: 4}[wire]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def messages(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        assert at + size <= len(data), f"{path}: cut short"
        yield data[at:at + size]
        at += size


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def attribute(data):
    name, value = "", None
    for number, got in fields(data):
        if number == 1:
            name = got.decode()
        elif number == 29:
            value = got.decode()
        elif number in (7, 9):
            value = signed(got)
        elif number in (11, 13, 27):
            value = got
        else:
            raise ValueError(f"field {number} of an attribute")
    return name, value


METADATA, LOAD, STORE, COMP, SEND, RECV, COLL = range(1, 8)


class Node:
    def __init__(self, data):
        self.id, self.name, self.type, self.us = 0, "", 0, 0
        self.ctrl, self.data, self.attrs = [], [], {}
        for number, value in fields(data):
            if number == 1:
                self.id = value
            elif number == 2:
                self.name = value.decode()
            elif number == 3:
                self.type = value
            elif number in (4, 5):
                into = self.ctrl if number == 4 else self.data
                at = 0
                if isinstance(value, int):
                    into.append(value)
                    continue
                while at < len(value):
                    dep, at = varint(value, at)
                    into.append(dep)
            elif number == 7:
                self.us = value
            elif number == 10:
                name, got = attribute(value)
                self.attrs[name] = got


def read_et(path):
    first, *rest = messages(path)
    version = dict(fields(first)).get(1, b"").decode()
    assert version in ("0.0.4", "1.0.0"), f"{path}: version {version!r}"
    return [Node(data) for data in rest]


# ---- ASTRA-sim ----

COLLECTIVES = {0: "all-reduce", 2: "all-gather", 6: "all-to-all", 7: "reduce-scatter"}


class Astra:
    """Ranks, their resources, messages by (source, destination, tag)."""

    def __init__(self, prefix, network, system, groups):
        text = open(network, encoding="utf-8").read()
        def value(key):
            return re.search(rf"^{key}: \[ *([^\] ]+) *\]", text, re.M)[1]
        assert value("topology") == "Switch"
        self.n = int(value("npus_count"))
        self.bandwidth = float(value("bandwidth")) * 2**30 / 1e9  # bytes a nanosecond
        self.latency = float(value("latency"))
        with open(system, encoding="utf-8") as file:
            setup = json.load(file)
        assert setup["all-reduce-implementation"] == ["ring"] and setup["endpoint-delay"] == 1
        direct = setup["all-to-all-implementation"][0]
        assert direct.startswith("direct")
        self.window = int(direct[6:] or 0)  # messages of an all-to-all at a time; 0: all
        with open(groups, encoding="utf-8") as file:
            self.groups = {int(k): v for k, v in json.load(file).items()}
        self.nodes = [{x.id: x for x in read_et(f"{prefix}.{r}.et")} for r in range(self.n)]
        self.time, self.events, self.serial = 0, [], 0
        self.missing = [{} for _ in range(self.n)]
        self.waiting = [collections.defaultdict(list) for _ in range(self.n)]
        self.ready = [[] for _ in range(self.n)]
        self.free = [dict(cpu=True, comp=True, comm=True) for _ in range(self.n)]
        self.arrived = collections.defaultdict(collections.deque)
        self.posted = collections.defaultdict(collections.deque)
        self.calls = collections.Counter()
        self.done = 0
        self.end = [0] * self.n

    def at(self, delay, what, *args):
        self.serial += 1
        heapq.heappush(self.events, (self.time + delay, self.serial, what, args))

    def run(self):
        for r, nodes in enumerate(self.nodes):
            for x in nodes.values():
                deps = set(x.ctrl) | set(x.data)
                assert deps <= nodes.keys(), f"rank {r} node {x.id}: unknown dependency"
                self.missing[r][x.id] = len(deps)
                for dep in deps:
                    self.waiting[r][dep].append(x.id)
                if not deps:
                    heapq.heappush(self.ready[r], x.id)
        for r in range(self.n):
            self.issue(r)
        while self.events:
            self.time, _, what, args = heapq.heappop(self.events)
            what(*args)
        total = sum(map(len, self.nodes))
        assert self.done == total, f"{total - self.done} of {total} nodes never ran"
        return self.time

    def resource(self, x):
        if x.type == RECV:
            return None
        if x.attrs.get("is_cpu_op"):
            return "cpu"
        return "comp" if x.type == COMP else "comm"

    def issue(self, r):
        later = []
        while self.ready[r]:
            number = heapq.heappop(self.ready[r])
            x = self.nodes[r][number]
            what = self.resource(x)
            if what is not None and not self.free[r][what]:
                later.append(number)
                continue
            if what is not None:
                self.free[r][what] = False
            self.start(r, x)
        for number in later:
            heapq.heappush(self.ready[r], number)

    def finish(self, r, x):
        what = self.resource(x)
        if what is not None:
            self.free[r][what] = True
        self.done += 1
        self.end[r] = self.time
        for number in self.waiting[r][x.id]:
            self.missing[r][number] -= 1
            if self.missing[r][number] == 0:
                heapq.heappush(self.ready[r], number)
        self.issue(r)

    def start(self, r, x):
        if x.type == COMP:
            self.at(max(1, x.us * 1000), self.finish, r, x)
        elif x.type == SEND:
            assert x.attrs["comm_src"] == r
            self.send(r, x.attrs["comm_dst"], x.attrs["comm_tag"], x.attrs["comm_size"],
                      lambda: self.finish(r, x))
        elif x.type == RECV:
            assert x.attrs["comm_dst"] == r
            self.recv(x.attrs["comm_src"], r, x.attrs["comm_tag"], lambda: self.finish(r, x))
        elif x.type == COLL:
            self.collective(r, x)
        else:
            raise ValueError(f"rank {r} node {x.id}: type {x.type}")

    def send(self, src, dst, tag, size, then):
        def arrive():
            then()
            key = src, dst, tag
            if self.posted[key]:
                self.posted[key].popleft()()
            else:
                self.arrived[key].append(size)
        self.at(int(2 * self.latency + size / self.bandwidth), arrive)

    def recv(self, src, dst, tag, then):
        key = src, dst, tag
        if self.arrived[key]:
            self.arrived[key].popleft()
            self.at(0, then)
        else:
            self.posted[key].append(then)

    def collective(self, r, x):
        kind = COLLECTIVES[x.attrs["comm_type"]]
        group = int(x.attrs.get("pg_name") or 0)
        members = self.groups[group] if group else list(range(self.n))
        n, at = len(members), members.index(r)
        call = group, self.calls[group, r]
        self.calls[group, r] += 1
        size = x.attrs["comm_size"]
        if kind == "all-to-all" and n == self.n:
            self.exchange(r, x, members, at, call, size // n)
            return
        steps = 2 * (n - 1) if kind == "all-reduce" else n - 1
        if kind == "all-to-all":  # groups that are not everybody have a ring
            steps = n * (n - 1) // 2
        block = size if kind == "all-gather" else size // n
        after, before = members[(at + 1) % n], members[at - 1]
        left = [2 * steps]

        def over():
            left[0] -= 1
            if left[0] == 0:
                self.finish(r, x)

        def step(k):
            self.send(r, after, (call, k), block, over)

            def received():
                if k + 1 < steps:
                    step(k + 1)
                over()
            self.recv(before, r, (call, k), received)
        step(0)

    def exchange(self, r, x, members, at, call, block):
        n = len(members)
        left, state = [2 * (n - 1)], {"next": 1}

        def over():
            left[0] -= 1
            if left[0] == 0:
                self.finish(r, x)

        def one():
            d = state["next"]
            state["next"] += 1
            if d < n:
                pair = [2]

                def half():
                    pair[0] -= 1
                    if pair[0] == 0:
                        one()
                    over()
                self.send(r, members[(at + d) % n], (call, d), block, half)
                self.recv(members[at - d], r, (call, d), half)
        for _ in range(self.window or n - 1):
            one()


# ---- GOAL ----

LABEL = r"[a-zA-Z][a-zA-Z0-9_]*"
LINE = re.compile(rf"(?:({LABEL})\s*:\s*)?(?:(send|recv)\s+(\d+)b\s+(to|from)\s+(-?\d+)|calc\s+(\d+))"
                  r"(?:\s+tag\s+(-?\d+))?(?:\s+cpu\s+(\d+))?(?:\s+nic\s+(\d+))?")
DEP = re.compile(rf"({LABEL})\s+(i?requires)\s+({LABEL})")


class Op:
    def __init__(self, kind, size, peer, tag, cpu, nic):
        self.kind, self.size, self.peer, self.tag, self.cpu, self.nic = kind, size, peer, tag, cpu, nic
        self.missing, self.then, self.on_start = 0, [], []


def read_goal(path):
    text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    ranks, labels = None, {}
    current = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split("//")[0].strip()
        if not line:
            continue
        if m := re.fullmatch(r"num_ranks\s+(\d+)", line):
            ranks = [None] * int(m[1])
        elif m := re.fullmatch(r"rank\s+(\d+)\s*\{", line):
            assert ranks.index(None) == int(m[1]), f"{path}:{number}: out of order"
            current = ranks[int(m[1])] = []
            labels = {}
        elif line == "}":
            current = None
        elif m := DEP.fullmatch(line):
            a, b = labels[m[1]], labels[m[3]]
            a.missing += 1
            (b.on_start if m[2] == "irequires" else b.then).append(a)
        else:
            m = LINE.fullmatch(line)
            assert m, f"{path}:{number}: {line}"
            kind = m[2] or "calc"
            assert kind != "calc" or (m[7] is None and m[9] is None), f"{path}:{number}: {line}"
            assert (m[4] == "to") == (kind == "send"), f"{path}:{number}: {line}"
            op = Op(kind, int(m[3] or m[6]), int(m[5] or 0), int(m[7] or 0), int(m[8] or 0),
                    int(m[9] or 0))
            current.append(op)
            if m[1]:
                labels[m[1]] = op
    assert None not in ranks
    return ranks


class LogGOP:
    """LogGOPSim's loop: what cannot begin yet is put back to when it can."""

    def __init__(self, ranks, args):
        self.ranks, self.p = ranks, args
        self.cpu = collections.defaultdict(int)
        self.sends, self.receives = collections.defaultdict(int), collections.defaultdict(int)
        self.posted = collections.defaultdict(collections.deque)
        self.early = collections.defaultdict(collections.deque)
        self.queue, self.serial, self.done = [], 0, 0

    def put(self, time, what, *args):
        self.serial += 1
        heapq.heappush(self.queue, (time, self.serial, what, args))

    def run(self):
        for r, ops in enumerate(self.ranks):
            for op in ops:
                if op.missing == 0:
                    self.put(0, self.begin, r, op)
        end = 0
        while self.queue:
            time, _, what, args = heapq.heappop(self.queue)
            what(time, *args)
            end = max(end, time)
        total = sum(map(len, self.ranks))
        assert self.done == total, f"{total - self.done} of {total} nodes never ran"
        return max([end] + list(self.cpu.values()))

    def release(self, time, r, ops):
        for op in ops:
            op.missing -= 1
            if op.missing == 0:
                self.put(time, self.begin, r, op)

    def finish(self, time, r, op):
        self.done += 1
        self.release(time, r, op.then)

    def begin(self, time, r, op):
        free = self.cpu[r, op.cpu]
        if op.kind == "send":
            free = max(free, self.sends[r, op.nic])
        if op.kind != "recv" and free > time:
            self.put(free, self.begin, r, op)
            return
        p = self.p
        self.release(time, r, op.on_start)
        if op.kind == "calc":
            self.cpu[r, op.cpu] = time + op.size
            self.finish(time, r, op)
        elif op.kind == "send":
            self.cpu[r, op.cpu] = time + p.o + (op.size - 1) * p.O
            self.sends[r, op.nic] = time + p.g + (op.size - 1) * p.G
            self.put(time + p.o + p.L, self.message, r, op)
            if op.size <= p.S:
                self.finish(time, r, op)
        else:
            key = r, op.peer, op.tag
            if self.early[key]:
                src, sent = self.early[key].popleft()
                if sent.size > p.S:
                    self.finish(time, src, sent)
                self.finish(time, r, op)
            else:
                self.posted[key].append(op)

    def message(self, time, src, op):
        r, p = op.peer, self.p
        free = max(self.cpu[r, op.cpu], self.receives[r, op.nic])
        if free > time:
            self.put(free, self.message, src, op)
            return
        self.cpu[r, op.cpu] = time + p.o + max((op.size - 1) * p.O, (op.size - 1) * p.G)
        self.receives[r, op.nic] = time + p.g + (op.size - 1) * p.G
        key = r, src, op.tag
        if self.posted[key]:
            posted = self.posted[key].popleft()
            assert posted.size == op.size, "a message of another size than was expected"
            if op.size > p.S:
                self.finish(time, src, op)
            self.finish(time, r, posted)
        else:
            self.early[key].append((src, op))


def binary(ranks):
    """The bytes of LogGOPSim's txt2bin: header, places of ranks, nodes, who waits for whom."""
    body, places = b"", b""
    head = 6 + 16 * len(ranks)
    for ops in ranks:
        number = {id(op): i for i, op in enumerate(ops)}
        roots = [i for i, op in enumerate(ops) if op.missing == 0]
        block = struct.pack(f"<II{len(roots)}I", len(ops), len(roots), *roots)
        tail = []
        for op in ops:
            kind = {"send": 1, "recv": 2, "calc": 3}[op.kind]
            block += struct.pack("<IBIQIBB", op.missing, kind, op.peer & 0xffffffff, op.size,
                                 op.tag & 0xffffffff, op.cpu, op.nic)
            for waiting in (op.then, op.on_start):
                block += struct.pack("<II", len(waiting), len(tail))
                tail += [number[id(x)] for x in waiting]
        block += struct.pack(f"<{len(tail)}I", *tail)
        places += struct.pack("<QQ", head + len(body), head + len(body) + len(block))
        body += block
    most = [max(getattr(op, which) for ops in ranks for op in ops) for which in ("cpu", "nic")]
    return struct.pack("<QIBB", 4223, len(ranks), *most) + places + body


def command(readme):
    """The parameters that a README tells LogGOPSim, and picoseconds of a unit."""
    text = open(readme, encoding="utf-8").read()
    line = re.search(r"LogGOPSim -f .*", text)[0]
    values = {k: int(re.search(rf" -{k} (\d+)", line)[1]) for k in "LogGOS"}
    return argparse.Namespace(**values), float(re.search(r"unit of its time is (\S+) ps", text)[1])


def chakra_seconds(folder):
    return Astra(f"{folder}/trace", f"{folder}/network.yml", f"{folder}/system.json",
                 f"{folder}/comm.json").run() * 1e-9


def goal_seconds(folder):
    parameters, unit = command(f"{folder}/README.txt")
    return LogGOP(read_goal(f"{folder}/trace.goal"), parameters).run() * unit * 1e-12


if __name__ == "__main__":
    for path in sys.argv[2:]:
        print(f"{path}: {(chakra_seconds if sys.argv[1] == 'chakra' else goal_seconds)(path):.9f} s")
