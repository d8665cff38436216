#!/usr/bin/env python3
"""Whether exported traces are what their readers ask for, rule by rule.

    conform.py chakra FOLDER        trace.N.et, comm.json, system.json, network.yml, memory.json
    conform.py goal FOLDER          trace.goal, trace.bin

Rules are notes on et_def.proto (chakra 21585d8f), ASTRA-sim 518bd513 with feeder v3 and LogGOPSim
76451de1; neither program was run. What a rule is from memory of its program says so.
"""
import collections
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
import replay  # noqa: E402

# fields of the oneof of AttributeProto, by the kind that readers take an attribute for
INT32, INT64, UINT64, BOOL, STRING = 7, 9, 13, 27, 29
KINDS = {"is_cpu_op": BOOL, "num_ops": INT64, "tensor_size": UINT64, "comm_type": INT64,
         "comm_size": INT64, "comm_src": INT32, "comm_dst": INT32, "comm_tag": INT32,
         "pg_name": STRING}
NEEDED = {replay.COMP: {"is_cpu_op", "num_ops"},
          replay.SEND: {"is_cpu_op", "comm_size", "comm_src", "comm_dst", "comm_tag"},
          replay.RECV: {"is_cpu_op", "comm_size", "comm_src", "comm_dst", "comm_tag"},
          replay.COLL: {"is_cpu_op", "comm_type", "comm_size", "pg_name"}}
PLAYED = {0, 2, 6, 7}  # all-reduce, all-gather, all-to-all, reduce-scatter; others throw


class Rules:
    """Rules and what breaks them first."""

    def __init__(self, *names):
        self.broken = dict.fromkeys(names)

    def ask(self, name, holds, where):
        if not holds and self.broken[name] is None:
            self.broken[name] = where


# ---- Chakra ----

NODES = ("metadata comes first, with version 0.0.4",
         "ids are unique and ascend, so that what a node waits for comes before it",
         "nodes are computations, sends, receives and collectives",
         "attributes have the kinds of the convention, each once",
         "nodes have the attributes that their type needs",
         "what is waited for is a node of the file, and not waited for twice in one list",
         "communication is no CPU operation",
         "messages have bytes, run on their rank and go to another",
         "collectives are of a kind that is played, with bytes")
GROUPS = ("groups are called by whole numbers above 0",
          "groups have two members or more, of the job, each once",
          "a rank calls collectives of groups that it is in",
          "members of a group call the same collectives in the same order",
          "every send has its receive, of as many bytes, and no tag serves two at once")
FILES = ("system, network and memory are those of a switch, or of two dimensions",)


def kinds_of(data):
    """Attribute name: number of the oneof's field, in the order of the node."""
    found = []
    for number, value in replay.fields(data):
        if number == 10:
            parts = list(replay.fields(value))
            found.append((dict(parts)[1].decode(), [n for n, _ in parts if n != 1]))
    return found


def check_node(rules, rank, where, data, node, before):
    kinds = kinds_of(data)
    names = [name for name, _ in kinds]
    rules.ask(NODES[1], not before or node.id > max(before), where)
    rules.ask(NODES[2], node.type in NEEDED, where)
    rules.ask(NODES[3], len(set(names)) == len(names) and all(
        numbers == [KINDS.get(name, numbers[0])] for name, numbers in kinds), (where, kinds))
    rules.ask(NODES[4], NEEDED.get(node.type, set()) <= set(names), (where, names))
    rules.ask(NODES[5], set(node.data) | set(node.ctrl) <= before and
              all(len(set(deps)) == len(deps) for deps in (node.data, node.ctrl)), where)
    rules.ask(NODES[6], node.type == replay.COMP or not node.attrs.get("is_cpu_op"), where)
    if node.type in (replay.SEND, replay.RECV):
        a, here = node.attrs, "comm_src" if node.type == replay.SEND else "comm_dst"
        rules.ask(NODES[7], a["comm_size"] > 0 and a[here] == rank and
                  a["comm_src"] != a["comm_dst"] and a["comm_tag"] >= 0, (where, a))
    if node.type == replay.COLL:
        rules.ask(NODES[8], node.attrs["comm_type"] in PLAYED and node.attrs["comm_size"] > 0,
                  (where, node.attrs))


def read_rank(rules, path, rank):
    data = list(replay.messages(path))
    rules.ask(NODES[0], data and dict(replay.fields(data[0])).get(1) == b"0.0.4", path.name)
    nodes, before = [], set()
    for number, message in enumerate(data[1:]):
        node = replay.Node(message)
        check_node(rules, rank, (path.name, number, node.id), message, node, before)
        before.add(node.id)
        nodes.append(node)
    return nodes


def check_groups(rules, ranks, groups):
    calls = collections.defaultdict(dict)
    for name, members in groups.items():
        rules.ask(GROUPS[0], re.fullmatch("[1-9][0-9]*", name), name)
        rules.ask(GROUPS[1], len(members) > 1 and len(set(members)) == len(members) and
                  set(members) <= set(ranks), (name, members))
    for rank, nodes in ranks.items():
        for node in (n for n in nodes if n.type == replay.COLL):
            name = node.attrs["pg_name"]
            rules.ask(GROUPS[2], rank in groups.get(name, []), (rank, name))
            calls[name].setdefault(rank, []).append(
                (node.attrs["comm_type"], node.attrs["comm_size"]))
    for name, of in calls.items():
        rules.ask(GROUPS[3], set(of) == set(groups.get(name, [])) and
                  len({tuple(row) for row in of.values()}) == 1, name)


def check_messages(rules, ranks):
    """Of a tag in the order of the file; one under way at a time cannot be taken for another."""
    ends = collections.defaultdict(lambda: ([], []))
    for nodes in ranks.values():
        for node in (n for n in nodes if n.type in (replay.SEND, replay.RECV)):
            a = node.attrs
            ends[a["comm_src"], a["comm_dst"], a["comm_tag"]][node.type - replay.SEND].append(
                a["comm_size"])
    for key, (sent, received) in ends.items():
        rules.ask(GROUPS[4], sent == received, (key, sent[:4], received[:4]))


def network_row(text, key):
    """A row of network.yml: a word of each dimension."""
    return re.search(rf"^{key}: \[ (.*?) \]", text, re.M)[1].split(", ")


def chakra(folder):
    rules = Rules(*NODES, *GROUPS, *FILES)
    ranks = {int(path.name.split(".")[1]): path for path in folder.glob("trace.*.et")}
    ranks = {rank: read_rank(rules, path, rank) for rank, path in sorted(ranks.items())}
    groups = json.loads((folder / "comm.json").read_text(encoding="utf-8"))
    check_groups(rules, ranks, groups)
    check_messages(rules, ranks)
    system = json.loads((folder / "system.json").read_text(encoding="utf-8"))
    memory = json.loads((folder / "memory.json").read_text(encoding="utf-8"))
    network = (folder / "network.yml").read_text(encoding="utf-8")
    sizes = network_row(network, "npus_count")
    ways = [system[f"{what}-implementation"] for what in
            ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")]
    rules.ask(FILES[0], memory == {"memory-type": "NO_MEMORY_EXPANSION"}
              and all(len(way) == len(sizes) for way in ways)
              and {"Switch"} == set(network_row(network, "topology"))
              and math.prod(map(int, sizes)) == len(ranks) and "1" not in sizes[1:]
              and all(len(row) == len(sizes) and min(map(float, row)) >= 0
                      for row in (network_row(network, "bandwidth"), network_row(network, "latency")))
              and system["local-mem-bw"] == 1e9 and system["endpoint-delay"] == 1 and system["peak-perf"] > 0
              and system["roofline-enabled"] == 0, (system, network, memory))
    return rules.broken


# ---- GOAL ----

LABEL = r"[a-zA-Z][a-zA-Z0-9_]*"
MESSAGE = rf"(?:{LABEL}: )?(?:send \d+b to \d+|recv \d+b from \d+) tag \d+ cpu \d+ nic \d+"
CALC = rf"(?:{LABEL}: )?calc \d+ cpu \d+"
TEXT = ("num_ranks comes first; ranks follow, each once, from 0 upwards",
        "lines are of the grammar: sends, receives and calculations in whole numbers",
        "labels are known before they are used, and of one node of their rank",
        "a message goes to another rank of the job",
        "every send has its receive, of as many bytes",
        "CPUs and cards fit the bytes that the binary has for them")


def goal(folder):
    rules = Rules(*TEXT)
    lines = (folder / "trace.goal").read_text(encoding="utf-8").splitlines()
    lines = [(i, line.split("//")[0].rstrip()) for i, line in enumerate(lines, 1)]
    lines = [(i, line.lstrip()) for i, line in lines if line]
    head = re.fullmatch(r"num_ranks (\d+)", lines[0][1])
    rules.ask(TEXT[0], head, lines[0])
    n, rank, inside, labels = int(head[1]) if head else 0, -1, False, set()
    ends = collections.defaultdict(lambda: ([], []))
    for i, line in lines[1:]:
        if m := re.fullmatch(r"rank (\d+) \{", line):
            rules.ask(TEXT[0], not inside and int(m[1]) == rank + 1, (i, line))
            rank, inside, labels = int(m[1]), True, set()
        elif line == "}":
            rules.ask(TEXT[0], inside, (i, line))
            inside = False
        elif m := re.fullmatch(rf"({LABEL}) i?requires ({LABEL})", line):
            rules.ask(TEXT[2], {m[1], m[2]} <= labels and m[1] != m[2], (i, line))
        else:
            rules.ask(TEXT[1], inside and re.fullmatch(f"{MESSAGE}|{CALC}", line), (i, line))
            check_operation(rules, rank, n, (i, line), labels, ends)
    rules.ask(TEXT[0], not inside and rank + 1 == n, (rank, n))
    for key, (sent, received) in ends.items():
        rules.ask(TEXT[4], sent == received, (key, sent[:4], received[:4]))
    return rules.broken


def check_operation(rules, rank, n, at, labels, ends):
    line = at[1]
    if m := re.match(rf"({LABEL}):", line):
        rules.ask(TEXT[2], m[1] not in labels, at)
        labels.add(m[1])
    if m := re.search(r"(send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)", line):
        size, peer, tag, sends = int(m[2]), int(m[3]), int(m[4]), m[1] == "send"
        rules.ask(TEXT[3], peer < n and peer != rank and size > 0, at)
        key = (rank, peer, tag) if sends else (peer, rank, tag)
        ends[key][0 if sends else 1].append(size)
    rules.ask(TEXT[5], all(int(number) < 256 for number in re.findall(r"(?:cpu|nic) (\d+)", line)),
              at)


if __name__ == "__main__":
    told = {"chakra": chakra, "goal": goal}[sys.argv[1]](pathlib.Path(sys.argv[2]))
    for rule, where in told.items():
        print(f"{'ok' if where is None else 'not ok'} - {rule}" + (f": {where}" if where else ""))
    sys.exit(any(where is not None for where in told.values()))
