#!/usr/bin/env python3
"""Holds the Perfetto file of a run against the Chrome JSON of the same run, event by event.

usage: native.py TRAINYARD WRITE_SMALL [--all]
"""
import colorsys
import itertools
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import pftrace
import rules
import svg
from few import WHOLE, shortened, thinned

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
FORMS = [
    ("llama-30b-256xa100.yaml", ["--ranks", "one-per-stage", "--window", "0s:1.5s"]),
    ("gpipe-memory.yaml", ["--detail", "stage", "--ranks", "all"]),
    ("llama-30b-256xa100.yaml", ["--window", "0.5s:1.2s", "--order", "node", "--ranks", "3,64-70"]),
    ("llama-65b-256xa100.yaml", ["--detail", "microbatch", "--ranks", "slowest:3"]),
    ("llama3-8b-fsdp-8xh100.yaml", ["--detail", "op", "--ranks", "1,0,5"]),
    ("stragglers.yaml", ["--detail", "microbatch", "--ranks", "dp=1"]),
    ("custom-cluster.yaml", ["--no-bubbles", "--order", "rank", "--ranks", "one-per-stage"]),
    ("gpipe-memory.yaml", ["--set", "run.steps=2", "--ranks", "0-3,8"]),
    ("deadlock/circle.yaml", ["--detail", "op"]),
    ("stragglers.yaml", ["--ranks", "dp=0", "--detail", "op", "--args", "full", "--window",
                         "0s:1s"]),
    ("gpipe-memory.yaml", ["--set", "run.steps=3", "--ranks", "0-3,8", "--steps", "1-2",
                           "--args", "none", "--flows", "none"]),
    ("deadlock/group.yaml", ["--engine", "events", "--ranks", "dp=1"]),
    ("background-job.yaml", ["--detail", "op", "--ranks", "one-per-stage", "--window", "0s:0.2s"]),
    ("background-job.yaml", ["--detail", "stage", "--set", "layout.global_batch=128"]),
    ("gpipe-memory.yaml", ["--set", "schedule.name=zb-v", "--set", "layout.global_batch=32"]),
    ("mixtral-8x7b-64xh100.yaml", ["--set", "run.routing=dirichlet:0.5", "--ranks", "0-3",
                                   "--window", "0s:0.5s"]),
]
# With --all: a hundred thousand slices each, and the others with all their micro-batches.
LARGE = [
    ("llama-30b-256xa100.yaml", ["--ranks", "one-per-stage"]),
    ("llama-30b-256xa100.yaml", ["--detail", "stage", "--ranks", "all"]),
    ("llama-30b-256xa100.yaml", ["--ranks", "one-per-stage", "--detail", "op", "--args", "full"]),
]


# With all ranks, and all that they do.
EVERYTHING = [
    ("stragglers.yaml", ["--set", "cluster.nodes=2", "--set", "layout.global_batch=8"]),
    ("llama3-8b-fsdp-8xh100.yaml", ["--set", "layout.global_batch=8"]),
]
BY_HAND_RUN = [
    str(EXAMPLES / "gpipe-memory.yaml"), "--ranks", "0,1", "--detail", "microbatch",
    "--set", "cluster.nodes=1", "--set", "cluster.gpus_per_node=2", "--set", "layout.pipeline=2",
    "--set", "layout.global_batch=4", "--set", "schedule.name=1f1b",
    "--set", "framework.overlap_p2p=true",
]


def number(x):
    """A number of the JSON, of which some are kept as text."""
    return float(x) if isinstance(x, str) else x


def same_args(ours, theirs):
    return ours.keys() == theirs.keys() and all(
        abs(ours[k] - float(v)) < 1e-12 * max(1, abs(float(v)))
        if isinstance(ours[k], float) else ours[k] == v for k, v in theirs.items())


class Chrome:
    """The events of a Chrome trace by the names of their rows."""

    def __init__(self, trace):
        self.meta = trace["metadata"]
        self.events = trace["traceEvents"]
        self.process, self.row, self.place, self.first = {}, {}, {}, {}
        for e in self.events:
            if e["name"] == "process_name":
                self.process[e["pid"]] = e["args"]["name"]
            elif e["name"] == "thread_name":
                self.row[e["pid"], e["tid"]] = e["args"]["name"]
                if e["tid"] <= 11:
                    self.first[self.process[e["pid"]]] = e["args"]["name"]
            elif e["name"] == "process_sort_index":
                self.place[e["pid"]] = e["args"]["sort_index"]

    def of(self, ph):
        return [e for e in self.events if e["ph"] == ph]

    def row_of(self, e):
        return self.process[e["pid"]], self.row[e["pid"], e["tid"]]


def row_of(path, chrome):
    """Process and row in the JSON: a track below no other is the critical path, or a rank and its
    computation."""
    return path if len(path) == 2 else path + (chrome.first[path[0]],)


def slices(native, chrome):
    """The same slices with the same arguments, but for `why` they started, which only bubbles and
    the critical path have in JSON; nothing nests that did not."""
    ours, theirs = {}, {}
    for track, start, end, _, name, category, _, args in native.slices:
        if name != "bubble" and row_of(native.path(track), chrome)[1] != "critical path":
            args = {key: value for key, value in args.items() if key != "why"}
        ours.setdefault((row_of(native.path(track), chrome), start, end, name, category), []).append(args)
    for e in chrome.of("X"):
        key = (chrome.row_of(e), e["ts"], e["ts"] + e["dur"], e["name"], e["cat"])
        theirs.setdefault(key, []).append(e.get("args", {}))
    assert ours.keys() == theirs.keys(), sorted(ours.keys() ^ theirs.keys())[:4]
    for key, args in theirs.items():
        assert len(args) == len(ours[key]) and all(map(same_args, ours[key], args)), (
            key, args, ours[key])
    depth = {}
    for track, start, end, level, *_ in sorted(native.slices, key=lambda s: (s[1], -s[2], s[3])):
        stack = depth.setdefault(track, [])
        while stack and stack[-1] <= start:
            stack.pop()
        stack.append(end)
        assert len(stack) == level and stack == sorted(stack, reverse=True), (track, start, end)
    return len(native.slices)


def flows(native, chrome):
    """By number: where an arrow leaves and where it arrives."""
    def place(i):
        track, start, end, *_ = native.slices[i]
        return row_of(native.path(track), chrome), start, end
    ours = {n: (place(a)[0], place(a)[2] - 1, place(b)[0], place(b)[1])
            for n, (a, b) in native.flows.items()}
    ends = {}
    for ph in "sf":
        for e in chrome.of(ph):
            ends.setdefault(e["id"], []).extend((chrome.row_of(e), e["ts"]))
    assert ours == {n: tuple(v) for n, v in ends.items()}
    return len(ours)


def counters(native, chrome):
    """Values by the name of the row, in order of time; JSON repeats those that stay."""
    ours, theirs = {}, {}
    for track, ns, value in native.values:
        ours.setdefault(native.path(track), []).append((ns, value))
    for e in chrome.of("C"):
        for key, value in e["args"].items():
            process = chrome.process[e["pid"]]
            if e["name"] == "memory":
                name = (process, "memory", key[:-len("_GB")])
            else:
                name = (process, e["name"])
            series = theirs.setdefault(name, [])
            if not series or series[-1][1] != number(value):
                series.append((e["ts"], number(value)))
    ours = {(p if p[-2] == "memory" else p[-2:]): v for p, v in ours.items()}
    assert ours.keys() == theirs.keys(), (ours.keys() ^ theirs.keys())
    for name, series in theirs.items():
        assert series == ours[name], (name, series[:3], ours[name][:3])
    units = {(t[4], t[5]) for t in native.tracks.values() if t[4]}
    assert all(u in (("GB", "memory"), ("rows over mean", "expert load")) or
               u[0] == "GB/s" for u in units), units
    return len(native.values)


def marks(native, chrome):
    figures = [m for m in native.marks if m[3] == "metadata"]
    assert len(figures) == 1 and same_args(figures[0][4], chrome.meta), figures
    assert all(native.path(t)[1:] == ("moments",) for t, _, _, cat, _ in native.marks
               if cat != "metadata")
    ours = sorted((native.path(t)[0], ns, name, cat, list(args.items()))
                  for t, ns, name, cat, args in native.marks if cat != "metadata")
    theirs = sorted((chrome.process[e["pid"]], e["ts"], e["name"], e["cat"],
                     [(k, float(v) if k == "memory_GB" else v) for k, v in e["args"].items()])
                    for e in chrome.of("i"))
    assert ours == theirs
    return len(ours)


def tree(native, chrome):
    """What is below no other: the critical path with the links, then the ranks in the order of the
    JSON, also when sorted by name, as viewers do; below each its rows. All have a place of their own."""
    children = {}
    for uuid, (parent, order, *_) in native.tracks.items():
        children.setdefault(parent, []).append((order, uuid))
    for siblings in children.values():
        assert len({order for order, _ in siblings}) == len(siblings), "two have one place"
    top = [native.tracks[u][2] for _, u in sorted(children[0])]
    names = [pftrace.plain(name) for name in top]
    ranks = {pid: name for pid, name in chrome.process.items() if pid >= 1000 and pid in chrome.place
             and not name.startswith("node ")}
    assert names[1:] == [ranks[pid] for pid in sorted(ranks, key=chrome.place.get)]
    assert top == sorted(top, key=str.encode), top
    path = "critical path" in chrome.process.values()
    below = [native.tracks[u][2] for _, u in sorted(children[sorted(children[0])[0][1]])]
    assert names[0] == ("critical path" if path else "figures") and below[0] == "figures", below
    assert all(re.fullmatch("node [0-9]+|switches", name) for name in below[1:])
    for _, uuid in sorted(children[0])[1:]:
        rows = [native.tracks[u][2] for _, u in sorted(children[uuid])]
        shown = [row for (pid, tid), row in sorted(chrome.row.items())
                 if chrome.process[pid] == pftrace.plain(native.tracks[uuid][2])]
        assert [r for r in rows if r not in ("memory", "expert load")] == ["moments"] + shown[1:], (rows, shown)
    return len(native.tracks)


WHY = re.compile("(?P<start>start of the run)|(?:next in order after|waited for) (?P<own>.*)"
                 "|message .* arrived from rank (?P<sender>[0-9]+)"
                 "|the last to join was rank (?P<rank>[0-9]+), after (?P<late>.*)")


def hold(native):
    """Where everything is shown, what is said to have ended when a slice started did so."""
    paths = {track: native.path(track) for track in native.tracks}
    rank = [re.search("rank ([0-9]+)|$", paths[s[0]][0])[1] for s in native.slices]
    ended = {(who, s[4], s[2]) for who, s in zip(rank, native.slices)}
    left = {arrives: leaves for leaves, arrives in native.flows.values()}
    kinds = {}
    for i, (_, start, _, _, name, _, _, args) in enumerate(native.slices):
        if rank[i] is None or name == "bubble":
            continue
        told = WHY.fullmatch(args["why"])
        if told["start"]:
            good = start == 0
        elif told["sender"]:  # the send itself says of which message it is
            good = rank[left[i]] == told["sender"] == str(args["peer"])
        else:
            what = re.sub("^(send|recv) .* ", r"\1 ", told["own"] or told["late"])
            good = (told["rank"] or rank[i], what, start) in ended
        assert good, (rank[i], start, name, args)
        kinds.setdefault(told.lastgroup, []).append(i)
    assert {"start", "own"} <= kinds.keys() and len(left) == len(kinds.get("sender", [])), kinds.keys()
    return {kind: len(found) for kind, found in kinds.items()}


# By stage and name, of the first micro-batches of 1F1B with two stages.
BY_HAND = {
    (0, "forward 0"): "start of the run",
    (0, "send 0"): "waited for forward 0",
    (1, "recv 0"): "message act 0 arrived from rank 0",
    (1, "forward 0"): "waited for recv act 0",
    (0, "forward 1"): "next in order after forward 0",
    (1, "backward 0"): "next in order after forward 0",
    (1, "send 0"): "waited for backward 0",
    (0, "recv 0"): "message grad 0 arrived from rank 1",
    (0, "backward 0"): "waited for recv grad 0",
    (1, "forward 1"): "next in order after backward 0",
    (0, "forward 2"): "next in order after backward 0",
}


def hue(word):
    """Of a word in Perfetto's page (ui/src/components/colorizer.ts): FNV, in numbers that are doubles."""
    value = 0x811c9dc5 & 0xfffffff
    for letter in word:
        value = int(float(value - (value >= 2**31) * 2**32 ^ ord(letter)) * 16777619) & 0xffffffff
    return abs(value - (value >= 2**31) * 2**32) % 360


def apart(words):
    """The least difference of the colours of words, to eyes of any kind."""
    fills = ["#" + "".join(f"{round(255 * part):02x}" for part in
                           colorsys.hls_to_rgb(hue(word) / 360, 0.5, 0.8)) for word in words]
    return min(math.dist(svg.lab(svg.linear(a), sight), svg.lab(svg.linear(b), sight))
               for a, b in itertools.combinations(fills, 2) for sight in svg.SIGHT)


def colours(native):
    """One word for each category; forwards and the two gradients, which share a row, are told apart."""
    words = {}
    for _, _, _, _, _, category, colour, _ in native.slices:
        assert words.setdefault(category, colour) == colour
    assert len(set(words.values())) == len(words), words
    row = [words[c] for c in ("compute.forward", "compute.dgrad", "compute.wgrad") if c in words]
    assert len(row) < 3 or apart(row) > 20 > apart(["forward", "dgrad", "wgrad"]), apart(row)


def why(native):
    """Whether slices of ranks say why they started: all those whose cause is known, or none."""
    return any("why" in args for track, _, _, _, name, *_, args in native.slices
               if name != "bubble" and native.path(track) != ("critical path",))


def compare(native, json, full=None, bare=False):
    if not bare and json.stat().st_size < 2_000_000:  # check_trace has the larger ones
        rules.check(json)
    native, chrome = pftrace.Native(pftrace.load(native)), Chrome(pftrace.chrome(json))
    said = (f"{slices(native, chrome)} slices, {flows(native, chrome)} flows, "
            f"{counters(native, chrome)} values, {marks(native, chrome)} instants, "
            f"{tree(native, chrome)} tracks")
    colours(native)
    assert full is None or why(native) == full, "reasons of slices"
    return said


def check(binary, example, options, folder):
    json, packed = folder / "t.json", folder / "t.pftrace.gz"
    plain = folder / "t.pftrace"
    done = subprocess.run([binary, "run", str(EXAMPLES / example), "-q", "-o", "/dev/null"]
                          + [w for f, p in (("chrome", json), ("perfetto", plain),
                                            ("perfetto", packed))
                             for w in ("--trace", f"{f}:{p}")] + shortened(example, options),
                          capture_output=True, text=True, check=False)
    assert done.returncode in ((4,) if "deadlock" in example else (0, 1)), done.stderr
    assert pftrace.load(plain) == pftrace.load(packed), "gzip differs"
    args = dict(itertools.pairwise(options)).get("--args")
    return compare(plain, json, args == "full", args == "none")


def trace_of(binary, options, folder):
    path = folder / "t.pftrace"
    done = subprocess.run([binary, "run", *options, "-q", "-o", "/dev/null", "--args", "full",
                           "--trace", f"perfetto:{path}"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return pftrace.Native(pftrace.load(path))


def check_causes(binary, folder):
    """A run whose schedule is known by hand, and runs that are shown whole."""
    native = trace_of(binary, BY_HAND_RUN, folder)
    told = {}
    for track, _, _, _, name, *_, args in native.slices:
        place = re.search("pp([01]) ", native.path(track)[0])
        if place and "why" in args and name != "bubble":
            told.setdefault((int(place[1]), name), args["why"])
    for place, reason in BY_HAND.items():
        assert told[place] == reason, (place, told[place], reason)
    return [hold(trace_of(binary, [str(EXAMPLES / example), *options, "--ranks", "all", "--detail",
                                   "op"], folder)) for example, options in EVERYTHING]


def check_small(writer, folder):
    """Small programs with hard times: below a nanosecond, jittered, several steps, cut. Each tenth
    of them has every form of a trace, of one program or another; --all takes every one."""
    subprocess.run([writer, str(folder)], check=True)
    files = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    assert len(files) > 50
    files = thinned(files, 10)
    for json in files:
        try:
            compare(json.with_suffix(".pftrace"), json)
        except (AssertionError, KeyError, ValueError, IndexError) as error:
            raise AssertionError(f"{json.name}: {type(error).__name__} {error}") from error
    return f"{len(files)} traces"


def main():
    failed = 0
    binary, writer = (str(pathlib.Path(w).resolve()) for w in sys.argv[1:3])
    forms = FORMS + (LARGE if WHOLE else [])
    tests = [(" ".join([example] + options), lambda folder, e=example, o=options:
              check(binary, e, o, folder)) for example, options in forms]
    tests.append(("why slices started", lambda folder: check_causes(binary, folder)))
    tests.append(("small programs", lambda folder: check_small(writer, folder)))
    for i, (name, test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                said, good = test(pathlib.Path(folder)), True
            except (AssertionError, KeyError, ValueError, IndexError) as error:
                said, good = f"{type(error).__name__} {str(error)[:1500]}", False
        failed += not good
        print(f"{'ok' if good else 'not ok'} {i} - {name}: {said}", flush=True)
    print(f"1..{len(tests)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
