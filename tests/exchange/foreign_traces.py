#!/usr/bin/env python3
"""Traces of others executed: `workload: {chakra: ...}` and `{goal: ...}` in place of a model.

usage: foreign_traces.py TRAINYARD [--all]

What trainyard exports and reads again takes what replay.py says, or, where no two communications of
a rank overlap, what the model took; small traces take what one works out by hand; wrong ones are
told with file and node; those that can never finish end in an autopsy.
"""
import json
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
import exchange  # noqa: E402
import replay  # noqa: E402

# 8 GB/s both ways, no latency but what is said: times can be worked out in the head
SMALL = """
cluster: {gpu: a100-sxm-80g, gpus_per_node: 1, nodes: 4, nic_bandwidth: 8 GB/s,
  nic_efficiency: 100 %, net_p2p_efficiency: 100 %, net_p2p_latency: 0 s, net_step: 0 s,
  net_latency: 0 s, net_ring_factor: 1, net_ll: false, collectives: ring}
"""
COMP, SEND, RECV, COLL = 4, 5, 6, 7


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(number, kind, us=0, data=(), ctrl=(), packed=True, **attrs):
    """A node; integers are int64, but bools and texts."""
    out = field(1, number) + field(2, f"n{number} work".encode()) + field(3, kind)
    for where, deps in ((4, ctrl), (5, data)):
        if packed and deps:
            out += field(where, b"".join(map(varint, deps)))
        elif deps:
            out += b"".join(field(where, dep) for dep in deps)
    out += field(7, us) if us else b""
    for name, value in attrs.items():
        text = isinstance(value, str)
        what = field(29, value.encode()) if text else field(27 if isinstance(value, bool) else 9,
                                                            int(value))
        out += field(10, field(1, name.encode()) + what)
    return out


class Traces(exchange.Exchange):
    def write(self, *ranks, version=b"0.0.4", groups=None, schema=None):
        for path in self.folder.glob("t.*.et"):
            path.unlink()
        for r, nodes in enumerate(ranks):
            named = field(1, b"schema") + field(29, schema) if schema is not None else None
            parts = [field(1, version) + (field(2, named) if named else b""), *nodes]
            (self.folder / f"t.{r}.et").write_bytes(
                b"".join(varint(len(part)) + part for part in parts))
        more = ""
        if groups is not None:
            (self.folder / "g.json").write_text(json.dumps(groups), encoding="utf-8")
            more = ", groups: g.json"
        (self.folder / "small.yaml").write_text(SMALL + f"workload: {{chakra: t{more}}}\n",
                                                encoding="utf-8")

    def goal(self, text):
        (self.folder / "t.goal").write_text(text, encoding="utf-8")
        (self.folder / "small.yaml").write_text(SMALL + "workload: {goal: t.goal}\n",
                                                encoding="utf-8")

    def seconds(self, name="small.yaml", *more):
        done = self.call(self.folder, "run", name, "-q", "--stats", "json", *more)
        return json.loads(done.stdout)["step_time_s"] if done.returncode == 0 else done.stderr

    def takes(self, name, us):
        got = self.seconds()
        self.check(f"{name}: {us} us", got == us * 1e-6 or
                   (isinstance(got, float) and abs(got - us * 1e-6) < 1e-12), got)

    def refuses(self, name, *words, status=3):
        done = self.call(self.folder, "run", "small.yaml", "-q")
        self.check(name, done.returncode == status and all(w in done.stderr for w in words),
                   (done.returncode, done.stderr))


def send(number, src, dst, size, tag, **more):
    return node(number, SEND, comm_src=src, comm_dst=dst, comm_size=size, comm_tag=tag, **more)


def recv(number, src, dst, size, tag, **more):
    return node(number, RECV, comm_src=src, comm_dst=dst, comm_size=size, comm_tag=tag, **more)


def again(test):
    """Of each job of exchange.py: exported, read and executed."""
    for name, sets, *most in exchange.JOBS:
        own = json.loads(test.call(test.folder, "run", "flat.yaml", "-q", "--stats", "json",
                                   *[w for s in sets for w in ("--set", s)]).stdout)["step_time_s"]
        for form, bound, seconds in (("chakra", most[0], replay.chakra_seconds),
                                     ("goal", most[1], replay.goal_seconds)):
            done = test.export(form, sets)
            if "without protobuf-c" in done.stderr:
                continue
            there = seconds(str(test.folder / "out"))
            unit = replay.command(test.folder / "out/README.txt")[1] if form == "goal" else 0
            what = (f"goal: out/trace.bin, unit: {unit} ps" if form == "goal"
                    else "chakra: out/trace, groups: out/comm.json")
            cluster = exchange.FLAT.split("model:")[0]
            (test.folder / "again.yaml").write_text(cluster + f"workload: {{{what}}}\n",
                                                    encoding="utf-8")
            got = test.seconds("again.yaml")
            near = isinstance(got, float) and abs(got - there) <= 0.01 * there
            test.check(f"{name}: {form} read again takes what it does elsewhere, within 1 %", near,
                       (got, there, own))
            if bound <= 1e-3 and isinstance(got, float):
                test.check(f"{name}: and what the model took", abs(got - own) <= 1e-3 * own,
                           (got, own))


def schedules(test):
    """Of every schedule: written, read, written again and read again. Messages between two ranks
    are told apart by their tags alone in those that fold a pipe."""
    pipe = ("cluster: {preset: dgx-h100, nodes: 1, gpus_per_node: 4}\n")
    (test.folder / "pipe.yaml").write_text(pipe + "model: {layers: 16, hidden: 1024, heads: 8, "
        "vocabulary: 32000, sequence: 1024}\nlayout: {pipeline: 4, global_batch: 16}\n",
        encoding="utf-8")
    names = [line.split()[0] for line in test.call(test.folder, "list", "schedules")
             .stdout.splitlines()]
    test.check("there are schedules", len(names) >= 17, names)
    for name in names:
        for form in ("chakra", "goal"):
            seconds, source = [], ("pipe.yaml", "--set", f"schedule.name={name}")
            for folder in ("once", "twice", None):
                seconds.append(test.seconds(*source))
                if folder is None:
                    break
                shutil.rmtree(test.folder / folder, ignore_errors=True)
                done = test.call(test.folder, "export", form, *source, "-o", folder)
                if done.returncode != 0:
                    break
                what = f"chakra: {folder}/trace, groups: {folder}/comm.json"
                if form == "goal":
                    unit = replay.command(test.folder / folder / "README.txt")[1]
                    what = f"goal: {folder}/trace.bin, unit: {unit} ps"
                (test.folder / "again.yaml").write_text(pipe + f"workload: {{{what}}}\n",
                                                        encoding="utf-8")
                source = ("again.yaml",)
            if "without protobuf-c" not in done.stderr:
                # latency beyond the one of LogGOPSim stands behind a receive, and is priced again
                near = 1e-4 if form == "chakra" else 5e-3
                test.check(f"{name}: {form} read twice takes what the model does", len(seconds) == 3
                           and all(abs(s - seconds[0]) <= near * seconds[0] for s in seconds),
                           (seconds, done.stderr))


def small_chakra(test):
    test.write([node(1, COMP, 100), node(2, COMP, 50, data=[1])])
    test.takes("computations one after the other", 150)
    test.write([node(1, COMP, 100), node(2, COMP, 30, ctrl=[1], packed=False, is_cpu_op=True),
                node(3, COMP, 50, data=[1])])
    test.takes("a CPU beside them, dependencies unpacked", 150)
    test.write([node(5, COMP, 10), send(9, 0, 1, 8000000, 3, data=[5])],
               [recv(1, 0, 1, 8000000, 3), node(2, COMP, 10, data=[1])])
    test.takes("a message of a millisecond", 1020)
    test.write([send(1, 0, 2, 8000000, 1)], [send(1, 1, 2, 8000000, 1)],
               [recv(1, 0, 2, 8000000, 1), recv(2, 1, 2, 8000000, 1)])
    test.takes("two messages share the way in", 2000)
    ring = [[node(1, COLL, comm_type=0, comm_size=16000000)] for _ in range(4)]
    test.write(*ring)
    test.takes("an all-reduce of everybody: 2 x 3/4 of 2 ms", 3000)
    gather = [[node(1, COLL, comm_type=2, comm_size=4000000, pg_name="7")] if r in (1, 3) else []
              for r in range(4)]
    test.write(*gather, groups={"7": [1, 3]})
    test.takes("an all-gather has the piece of one rank", 500)
    test.write([recv(1, 1, 0, 8000, 1), recv(2, 1, 0, 8000, 2), node(3, COMP, 5, data=[2])],
               [node(1, COMP, 1000), send(2, 1, 0, 8000, 2), send(3, 1, 0, 8000, 1, data=[1, 2])])
    test.takes("a receive that came late holds up nobody", 1001)
    for schema in (b"1.0.2-chakra.0.0.4", b"symbolic_tensor_network"):
        test.write([node(1, COMP, 7)], version=b"", schema=schema)
        test.takes(f"a converter's schema, {schema.decode()}", 7)
    test.write([node(1, COMP, 0, num_ops=312 * 10**9, tensor_size=0)])
    got = test.seconds()
    test.check("without a duration the GPU's rate decides", isinstance(got, float) and
               1e-3 < got < 2e-3, got)


def wrong_chakra(test):
    test.write([node(1, COMP, 5, data=[4])])
    test.refuses("an unknown dependency", "t.0.et: node 1 (n1 work): waits for node 4")
    test.write([node(1, COMP, 5, data=[2]), node(2, COMP, 5, data=[1])])
    test.refuses("a circle", "t.0.et: rank 0: node 1", "waits for itself")
    test.write([node(1, COMP, 5), node(1, COMP, 5)])
    test.refuses("an id twice", "node 1: there are two of that id")
    test.write([node(1, SEND, comm_src=0, comm_dst=0, comm_size=5)])
    test.refuses("no tag", "node 1", "comm_tag is missing")
    test.write([node(1, COLL, comm_type=0, comm_size=8, pg_name="3")])
    test.refuses("an unknown group", "group 3 is in no file", "workload.groups")
    test.write([node(1, COMP, 5)], version=b"0.0.1")
    test.refuses("another schema", "schema version \"0.0.1\"; 0.0.4 and 1.0.0 are read")
    test.write([node(1, COMP, 5)], version=b"", schema=b"1.1.0-chakra.0.0.9")
    test.refuses("another schema in an attribute", "schema version \"0.0.9\"")
    test.write([node(1, COMP, 5)], version=b"")
    test.refuses("no schema", "schema version \"\"")
    test.write([node(1, COMP, 5)])
    path = test.folder / "t.0.et"
    path.write_bytes(path.read_bytes()[:-2])
    test.refuses("a file that is cut short", "t.0.et: ends within message 1", "small.yaml")
    test.write(*[[node(1, COMP, 5)]] * 5)
    test.refuses("too many ranks", "5 ranks, and the cluster has 4 GPUs")
    path = test.folder / "small.yaml"
    test.write([node(1, COMP, 5)])
    path.write_text(path.read_text() + "layout: {tensor: 2}\n", encoding="utf-8")
    test.refuses("a layout beside it", "layout.tensor: the trace of workload defines")


def options(test):
    """What of a run makes sense for a trace does what it says, the rest is refused."""
    test.write([node(1, COMP, 100), node(2, COMP, 50, data=[1])], [node(1, COMP, 150)])
    slow = test.seconds("small.yaml", "--set", "cluster.exceptions=[gpu 1 at 50 %]")
    test.check("a slow GPU computes longer", slow == 300e-6, slow)
    drawn = [test.seconds("small.yaml", "--set", "run.jitter=10 %", "--seed", s) for s in (1, 2, 1)]
    test.check("jitter is drawn by the seed", drawn[0] == drawn[2] != drawn[1], drawn)
    for key in ("steps=2", "routing=uniform", "detail=steps"):
        done = test.call(test.folder, "run", "small.yaml", "--set", f"run.{key}")
        test.check(f"run.{key} is refused", done.returncode == 3 and
                   f"run.{key.split('=')[0]}: " in done.stderr, done.stderr)


def halts(test):
    test.write([recv(1, 1, 0, 8, 1)], [node(1, COMP, 5)])
    test.refuses("a message that nobody sends", "deadlock", "rank 0", status=4)
    test.write([node(1, COLL, comm_type=0, comm_size=8)],
               [node(1, COMP, 5), node(2, COLL, comm_type=0, comm_size=8), node(3, COMP, 1)],
               [node(1, COLL, comm_type=0, comm_size=8)], [])
    test.refuses("a collective that one rank never comes to", "deadlock", status=4)
    first = [node(1, COLL, comm_type=0, comm_size=8, pg_name="1"),
             node(2, COLL, comm_type=0, comm_size=8, pg_name="2", data=[1])]
    second = [node(1, COLL, comm_type=0, comm_size=8, pg_name="2"),
              node(2, COLL, comm_type=0, comm_size=8, pg_name="1", data=[1])]
    test.write(first, second, groups={"1": [0, 1], "2": [0, 1]})
    test.refuses("two groups the other way round", "deadlock", status=4)
    test.write([node(1, COLL, comm_type=0, comm_size=8)], [node(1, COLL, comm_type=0, comm_size=16)])
    test.refuses("members that mean different sizes", "mismatch", status=4)


def small_goal(test):
    head = "num_ranks 2\n"
    test.goal(head + "rank 0 {\na: calc 1000 cpu 0\nb: calc 500 cpu 1\nb irequires a\n}\n"
              "rank 1 { // nothing\n}\n")
    test.takes("irequires waits for the start", 1)
    test.goal(head + "rank 0 {\na: calc 1000\ns: send 8000b to 1 tag 4 cpu 1 nic 0\ns requires a\n"
              "c: calc 7000 cpu 0\nc requires s\n}\n/* over\ntwo lines */\n"
              "rank 1 {\nr: recv 8000b from 0 tag 4\nd: calc 1000\nd requires r\n}\n")
    test.takes("who requires a send waits until it has begun", 8)
    test.goal(head + "rank 0 {\ncalc 5\nx: calc 7\n x requires y\n}\nrank 1 {\n}\n")
    test.refuses("an unknown label", "t.goal:5: a label that this rank has not had before")
    test.goal(head + "rank 0 {\nsend 5b from 1\n}\nrank 1 {\n}\n")
    test.refuses("a wrong word", "t.goal:3: to RANK is expected")
    test.goal(head + "rank 0 {\nrecv 5b from -1 tag 2\n}\nrank 1 {\n}\n")
    test.refuses("a receive from anybody", "t.goal:3: a receive from anybody")
    test.goal(head + "rank 0 {\ncalc 5\n}\n")
    test.refuses("a rank that is missing", "the file ends before its last rank")
    test.goal(head + "rank 0 {\nrecv 5b from 1 tag 2\n}\nrank 1 {\n}\n")
    test.refuses("a receive without a send", "deadlock", status=4)
    (test.folder / "t.goal").write_bytes(bytes([0x7f, 0x10, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9]))
    test.refuses("a binary that is cut short", "not as LogGOPSim's binary is")


def both_forms(test):
    """The binary of a schedule is the schedule."""
    if not (exchange.GIVEN / "two.goal").is_file():
        print("# the given traces are not here")
        return
    shutil.copytree(exchange.GIVEN, test.folder / "given", dirs_exist_ok=True)
    digests = []
    for name in ("two.goal", "two.bin"):
        (test.folder / "small.yaml").write_text(SMALL + f"workload: {{goal: given/{name}}}\n",
                                                encoding="utf-8")
        done = test.call(test.folder, "run", "small.yaml", "-q", "-o", "null:", "--trace",
                         "digest:-")
        digests.append(done.stdout or done.stderr)
    test.check("text and binary are executed alike", digests[0] == digests[1], digests)
    # 1 us, 4096 B at 8 GB/s, 2 us, the same back
    test.takes("the given schedule", 3 + 2 * 0.512)


def exported_again(test):
    """A trace goes out in the other form, and takes as long."""
    done = test.export("chakra", ["layout.tensor=4", "layout.sequence_parallel=true",
                                  "framework.overlap_grad_reduce=false",
                                  "framework.overlap_param_gather=false"])
    if "without protobuf-c" in done.stderr:
        return
    (test.folder / "again.yaml").write_text(
        exchange.FLAT.split("model:")[0] +
        "workload: {chakra: out/trace, groups: out/comm.json}\n", encoding="utf-8")
    own = test.seconds("again.yaml")
    done = test.call(test.folder, "export", "goal", "again.yaml", "-o", "turned")
    there = replay.goal_seconds(str(test.folder / "turned")) if done.returncode == 0 else 0
    test.check("Chakra becomes GOAL", isinstance(own, float) and abs(there - own) < 1e-3 * own,
               (own, there, done.stderr))


def main():
    with tempfile.TemporaryDirectory() as folder:
        test = Traces(sys.argv[1], pathlib.Path(folder))
        chakra = "without protobuf-c" not in test.export("chakra", []).stderr
        again(test)
        schedules(test)
        if chakra:
            small_chakra(test)
            wrong_chakra(test)
            options(test)
            halts(test)
        else:
            print("# built without protobuf-c: Chakra is skipped")
        small_goal(test)
        both_forms(test)
        exported_again(test)
        print(f"1..{test.n}")
        return test.failed > 0


if __name__ == "__main__":
    sys.exit(main())
