#!/usr/bin/env python3
"""`trainyard export`, held to the grammars of its formats and to another execution.

usage: exchange.py TRAINYARD [--all | --table]

replay.py reads what was written and executes it by the rules of ASTRA-sim and LogGOPSim. On a
fabric of one switch, with rings, without what collectives take beside their messages, both must
take what trainyard does, but for whole microseconds and nanoseconds, where at most one
communication of a rank is on the way at a time. Where there are more ASTRA-sim runs one at a time
and LogGOPSim lets messages queue, so that they take longer: by how much at most is in the table
below, which --table writes for docs/guides/exchange.md. Without either the jobs with the most messages
have a third of their layers.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
import conform  # noqa: E402
import replay  # noqa: E402
from few import WHOLE  # noqa: E402
from tap import Test  # noqa: E402

GIVEN = HERE.parents[2] / "shared" / "configs" / "formats"
if not GIVEN.is_dir():
    GIVEN = HERE.parents[3] / "shared" / "configs" / "formats"
PROTO = HERE.parents[1] / "sim" / "exchange" / "chakra.proto"

FLAT = """
cluster: {gpu: a100-sxm-80g, gpus_per_node: 1, nodes: 8, nic_bandwidth: 50 GB/s,
  nic_efficiency: 100 %, net_p2p_efficiency: 100 %, net_p2p_latency: 2 us, net_step: 2 us,
  net_latency: 0 s, net_ring_factor: 1, net_ll: false, net_overlap_slowdown: 0 %,
  collectives: ring}
model: {preset: gpt3-1.3b}
layout: {global_batch: 8}
"""
MOE = ["model.preset=qwen3-30b-a3b", "model.layers=4"]
ALONE = 1e-4  # of whole microseconds, nanoseconds and bytes

# what, settings, most that each replay may take more and less: of Chakra, of GOAL
JOBS = [
    ("data parallel", ["framework.overlap_grad_reduce=false"], ALONE, ALONE),
    ("data parallel, gradients beside computation", [], ALONE, ALONE),
    ("FSDP", ["layout.zero=3", "framework.preset=fsdp"], ALONE, ALONE),
    ("tensor 8", ["layout.tensor=8"], 2e-3, ALONE),
    ("tensor 4, sequence parallel, data 2, nothing overlaps",
     ["layout.tensor=4", "layout.sequence_parallel=true", "framework.overlap_grad_reduce=false",
      "framework.overlap_param_gather=false"], 2e-3, ALONE),
    ("pipeline 8, 1F1B", ["layout.pipeline=8"], ALONE, ALONE),
    ("pipeline 4, zero bubble", ["layout.pipeline=4", "schedule.name=zb-v"], 1e-2, 1e-2),
    ("experts over 4, gradients last",
     [*MOE, "layout.expert=4", "framework.overlap_grad_reduce=false"], 2e-3, 5e-4),
    ("experts over 4", [*MOE, "layout.expert=4"], 0.2, 5e-4),
    ("experts over all 8, gradients last",
     [*MOE, "layout.expert=8", "framework.overlap_grad_reduce=false"], 2e-3, 1e-3),
    ("context 4, ring of keys and values", ["layout.context=4"], 0.05, ALONE),
    ("tensor 2, pipeline 2, data 2, gradients last",
     ["layout.tensor=2", "layout.pipeline=2", "framework.overlap_grad_reduce=false"], 0.02, 0.02),
    ("tensor 2, pipeline 2, data 2, gradients beside tensor groups",
     ["layout.tensor=2", "layout.pipeline=2"], 0.1, 0.15),
]
if not WHOLE and "--table" not in sys.argv:
    # A third of the layers: what the ends of a step differ by weighs three times as much.
    JOBS = [(name, sets + ["model.layers=8"], 3 * chakra, goal)
            if name.startswith(("tensor 8", "tensor 4")) else (name, sets, chakra, goal)
            for name, sets, chakra, goal in JOBS]
# whose files are looked at rule by rule: all kinds of nodes are in them
LOOKED_AT = ("tensor 8", "pipeline 4, zero bubble", "experts over 4", "FSDP")


class Exchange(Test):
    def __init__(self, binary, folder):
        super().__init__(pathlib.Path(binary).resolve())
        self.folder = folder
        (folder / "flat.yaml").write_text(FLAT, encoding="utf-8")

    def export(self, form, sets, *more, name="out"):
        shutil.rmtree(self.folder / name, ignore_errors=True)
        words = [word for s in sets for word in ("--set", s)]
        return self.call(self.folder, "export", form, "flat.yaml", *words, "-o", name, *more)


def takes(folder):
    text = (folder / "README.txt").read_text(encoding="utf-8")
    return float(re.search(r"it takes (\S+) s", text)[1])


def conforms(test, name, form):
    """The files of a job are what their readers ask for (conform.py)."""
    told = {"chakra": conform.chakra, "goal": conform.goal}[form](test.folder / "out")
    broken = {rule: where for rule, where in told.items() if where is not None}
    test.check(f"{name}: {form} keeps {len(told)} rules of its readers", told and not broken, broken)


def mistakes(test, chakra):
    """The rules are not kept by whatever is written."""
    out = test.folder / "out"
    test.export("goal", ["layout.pipeline=2"])
    text = (out / "trace.goal").read_text(encoding="utf-8")
    for rule, old, new in ((1, "calc ", "calc 1."), (3, "b to 4 ", "b to 44 "),
                           (4, "b from 0 tag", "0b from 0 tag"), (2, "l1 requires", "l9999 requires"),
                           (0, "rank 1 {", "rank 3 {"), (5, " nic 0", " nic 999")):
        (out / "trace.goal").write_text(text.replace(old, new, 1), encoding="utf-8")
        test.check(f"a rule of GOAL is broken, and told: {conform.TEXT[rule]}",
                   text != text.replace(old, new, 1) and conform.goal(out)[conform.TEXT[rule]],
                   (old, new))
    if not chakra:
        return
    test.export("chakra", ["layout.pipeline=2"])
    first, groups = out / "trace.0.et", (out / "comm.json").read_text(encoding="utf-8")
    (out / "comm.json").write_text(groups.replace("[0, ", "[", 1), encoding="utf-8")
    told = conform.chakra(out)
    test.check("a group without one who calls it is told", told[conform.GROUPS[2]] is not None
               and told[conform.GROUPS[3]] is not None, told)
    (out / "comm.json").write_text(groups, encoding="utf-8")
    data = first.read_bytes()
    first.write_bytes(data.replace(b"comm_tag", b"comm_gat", 1))
    test.check("a message without its tag is told", lacks_tag(out), "comm_gat")
    first.write_bytes(data.replace(b"0.0.4", b"0.0.1", 1))
    test.check("another version is told", conform.chakra(out)[conform.NODES[0]] is not None, "0.0.1")


def lacks_tag(out):
    rules = conform.Rules(*conform.NODES)
    try:
        conform.read_rank(rules, out / "trace.0.et", 0)
    except KeyError:  # looked for behind the rule that is broken
        pass
    return rules.broken[conform.NODES[4]] is not None


def replays(test, chakra):
    """(name, trainyard's seconds, Chakra's, GOAL's) of every job."""
    rows = []
    for name, sets, *most in JOBS:
        row = [name]
        for form, bound, seconds in (("chakra", most[0], replay.chakra_seconds),
                                     ("goal", most[1], replay.goal_seconds)):
            if form == "chakra" and not chakra:
                row.append(None)
                continue
            done = test.export(form, sets)
            own = takes(test.folder / "out") if done.returncode in (0, 1) else 0
            if name in LOOKED_AT:
                conforms(test, name, form)
            there = seconds(str(test.folder / "out")) if own else 1
            row = row + [own] if len(row) == 1 else row
            row.append(there)
            test.check(f"{name}: {form} takes what trainyard does, within {bound:.2%}",
                       abs(there - own) <= bound * own, (own, there, done.stderr))
        rows.append(row)
    return rows


def binaries(test):
    done = test.export("goal", ["layout.tensor=2", "layout.pipeline=2"])
    ranks = replay.read_goal(test.folder / "out" / "trace.goal")
    with open(test.folder / "out" / "trace.bin", "rb") as file:
        data = file.read()
    test.check("the binary is what the text makes", replay.binary(ranks) == data, done.stderr)
    test.check("nothing is at a length of none", all(op.size > 0 for ops in ranks for op in ops
                                                     if op.kind != "calc"), "a message")
    if (GIVEN / "goal2bin.py").is_file():
        subprocess.run([sys.executable, GIVEN / "goal2bin.py", test.folder / "out" / "trace.goal",
                        test.folder / "given.bin"], check=True)
        test.check("and what the given program makes of it",
                   (test.folder / "given.bin").read_bytes() == data, "other bytes")
        given = replay.binary(replay.read_goal(GIVEN / "two.goal"))
        test.check("the second writer makes the given bytes of the given text",
                   given == (GIVEN / "two.bin").read_bytes(), "other bytes")


def protocol(test):
    """protoc reads every message and writes it again as it is."""
    protoc = shutil.which("protoc")
    test.export("chakra", ["layout.tensor=2", "layout.pipeline=2", *MOE, "layout.tensor=1",
                           "layout.expert=2"])
    if protoc is None:
        print("# no protoc here: its reading is skipped")
        return
    messages = list(replay.messages(test.folder / "out" / "trace.3.et"))
    types = ["GlobalMetadata"] + ["Node"] * (len(messages) - 1)
    same = True
    for number in [0, *range(1, len(messages), max(1, len(messages) // 40))]:
        command = [protoc, f"--proto_path={PROTO.parent}", PROTO.name]
        kind = f"ChakraProtoMsg.{types[number]}"
        text = subprocess.run([*command, f"--decode={kind}"], input=messages[number],
                              capture_output=True, check=True).stdout
        again = subprocess.run([*command, f"--encode={kind}"], input=text, capture_output=True,
                               check=True).stdout
        same = same and again == messages[number] and b"\n1: " not in text
    test.check("protoc reads nodes and writes equal bytes", same, messages[number])


def sums(test):
    """Microseconds of a rank's computation add up to its picoseconds."""
    test.export("chakra", ["layout.pipeline=8"])
    for rank in (0, 5):
        nodes = [x for x in replay.read_et(test.folder / "out" / f"trace.{rank}.et")
                 if x.type == replay.COMP and not x.attrs["is_cpu_op"]]
        total, off = 0, 0
        for x in nodes:
            total += x.us * 10**6 - x.attrs["trainyard_ps"]
            off = max(off, abs(total))
        test.check(f"rank {rank}: microseconds are rounded so that sums stay", off <= 500000, off)


def selections(test):
    test.export("chakra", ["layout.pipeline=2"], "--ranks", "pp=1")
    names = sorted(path.name for path in (test.folder / "out").glob("*.et"))
    test.check("ranks are chosen", names == [f"trace.{r}.et" for r in (4, 5, 6, 7)], names)
    full = test.export("chakra", ["layout.pipeline=2"], name="all")
    same = all((test.folder / "out" / name).read_bytes() ==
               (test.folder / "all" / name).read_bytes() for name in names)
    test.check("and written as among all", same, full.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        test = Exchange(sys.argv[1], pathlib.Path(folder))
        tried = test.export("chakra", [])
        chakra = "without protobuf-c" not in tried.stderr
        rows = replays(test, chakra)
        if sys.argv[2:] == ["--table"]:
            print("| job on 8 GPUs | trainyard | Chakra replayed | | GOAL replayed | |")
            print("|---|---|---|---|---|---|")
            for name, own, *there in rows:
                print(f"| {name} | {own * 1e3:.3f} ms |" + "".join(
                    f" {t * 1e3:.3f} ms | {t / own - 1:+.3%} |" for t in there))
        binaries(test)
        mistakes(test, chakra)
        if chakra:
            protocol(test)
            sums(test)
            selections(test)
        else:
            print("# built without protobuf-c: Chakra is skipped")
        print(f"1..{test.n}")
        return test.failed > 0


if __name__ == "__main__":
    sys.exit(main())
