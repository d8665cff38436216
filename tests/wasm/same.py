#!/usr/bin/env python3
"""The module for pages says what the program says: same.py BINARY HOST.js CORE.wasm

Schedules in every format, reports, explanations, traces and digests of the examples, catalogues, mistakes: to
the letter, but for the time and the memory that a run took. Calls go to one instance, one after the other, as
a page's do.
"""
import base64
import csv
import io
import itertools
import json
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(TOP / "tests" / "common"), str(TOP / "tests" / "cli")]
import digests  # noqa: E402
import needs  # noqa: E402

EXAMPLES = pathlib.Path("docs/examples")
# explained: every change is another run
EXPLAINED = ["first.yaml", "slow-gpu.yaml", "uncertain.yaml", "own-job.yaml"]
FORMATS = ["gantt", "svg", "slots", "csv", "json"]
PAGES = 2048  # of 64 KiB: 128 MiB


def files():
    """What examples name, by the paths that they have for who stands at the top."""
    return {path.relative_to(TOP).as_posix(): path.read_text(encoding="utf-8")
            for path in (TOP / EXAMPLES).rglob("*") if path.suffix in (".yaml", ".slots", ".log", ".json", ".txt",
                                                                       ".csv")}


class Native:
    """What the program answers: (status, text or error)."""

    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *words):
        done = subprocess.run([self.binary, *map(str, words)], cwd=TOP, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL)
        failed = done.returncode > 1 or done.returncode == 1 and not done.stdout
        text = (done.stderr if failed else done.stdout).decode(errors="replace")
        if failed and done.returncode == 2:
            text = text.removeprefix(f"trainyard {words[0]}: ")
        return done.returncode, text.rstrip("\n")


def same_report(text):
    """A text without what no two runs share: how long one took, and its memory."""
    text = re.sub(r'"(wall_s|peak_rss_bytes)": [\d.e+-]+', "", text)
    return re.sub(r"(GPUs in )[\d.]+ \w+( \(.*, )[\d.]+ \w+ of memory", r"\1\2", text)


class Cases:
    """Calls, and what each should be answered."""

    def __init__(self, native):
        self.native, self.list = native, []

    def add(self, name, call, request, want, **how):
        """`want` is what the program answers, or a function that looks at the reply."""
        self.list.append((name, {"call": call, "request": request, **how}, want))

    def as_native(self, name, call, request, *words, **how):
        self.add(name, call, request, self.native(*words), **how)


def schedules(cases):
    names = [line.split()[0] for line in cases.native("list", "schedules")[1].splitlines()]
    for name in names:
        for form in FORMATS:
            request = {"name": name, "pipeline": 4, "micro_batches": 8, "format": form}
            words = ["schedule", name, "-p", 4, "-m", 8, "--format", form]
            if form == "gantt":
                request["width"] = 120
                words += ["--width", 120]
            cases.as_native(f"{name} as {form}", "schedule", request, *words)
    request = {"name": ",".join(names), "pipeline": 4, "micro_batches": 8, "width": 120}
    cases.as_native("all schedules compared", "compare", request, "schedule", "--compare", request["name"], "-p", 4,
                    "-m", 8, "--width", 120)
    for path in sorted((TOP / EXAMPLES / "deadlock").glob("*.slots")):
        name = path.relative_to(TOP).as_posix()
        request = {"name": name, "text": path.read_text(encoding="utf-8"), "pipeline": 2, "micro_batches": 2}
        cases.as_native(f"{path.name} as text", "schedule", request, "schedule", name, "-p", 2, "-m", 2)


def passes_hold(table):
    """Whether columns of passes are the lists of a table, the program's JSON, and the rest of it as it is there."""
    def holds(reply):
        ours = dict(reply["passes"])
        n, first = ours.pop("n"), ours.pop("first")["values"]
        names = "start duration micro_batch stage phase slice direction half".split()
        columns = [ours.pop(name)["values"] for name in names]
        assert {len(column) for column in columns} == {n}
        atoms = [f"{chr(phase)}{mb}.{stage}{'^' if way else ''}{f'#{piece}' if piece else ''}"
                 for mb, stage, phase, piece, way in zip(*columns[2:7])]
        for rank, begin, end in zip(ours["ranks"], first, first[1:]):
            rows = [i for i in range(begin, end) if columns[7][i] != 2]
            rank["actions"] = [f"({atoms[i]}|{atoms[i + 1]})" if columns[7][i] == 1 else atoms[i] for i in rows]
            rank["start"] = [columns[0][i] for i in rows]
            rank["duration"] = [columns[1][i] for i in rows]
        return ours == json.loads(table)
    return holds


def passes(cases):
    """Columns of every schedule; and those of one whose times are of a whole stage, beside others."""
    for name in [line.split()[0] for line in cases.native("list", "schedules")[1].splitlines()]:
        table = cases.native("schedule", name, "-p", 4, "-m", 8, "--times", "C=0.25", "--format", "json")[1]
        request = {"name": name, "pipeline": 4, "micro_batches": 8, "times": "C=0.25"}
        cases.add(f"passes of {name}", "passes", request, passes_hold(table))
    table = cases.native("schedule", "zb-v", "-p", 2, "-m", 4, "--times", "F=0.5,B=1", "--stages", "1,1,2,2", "--format",
                         "json")[1]
    cases.add("passes of stages that others have, too", "passes", {"name": "zb-v", "pipeline": 2, "micro_batches": 4,
              "stages": "1,2", "shared": 1}, passes_hold(table))
    cases.as_native("no passes of what cannot be", "passes", {"name": "chimera", "pipeline": 5, "micro_batches": 8},
                    "schedule", "chimera", "-p", 5, "-m", 8)


def of_file(path):
    name = path.as_posix()
    return {"name": name, "text": (TOP / path).read_text(encoding="utf-8"), "files": "all"}


def examples(cases):
    paths = [path.relative_to(TOP) for path in sorted((TOP / EXAMPLES).glob("*.yaml")) +
             sorted((TOP / EXAMPLES / "deadlock").glob("*.yaml"))]
    for path in paths:
        request = of_file(path)
        fresh = {"renew": path.name in digests.LARGE}
        for form in "json", "table":
            cases.as_native(f"{path.name}: run, {form}", "run", {**request, "format": form}, "run", path, "--quiet",
                            "--stats", form, **fresh)
        cases.as_native(f"{path.name}: check", "check", request, "check", path, "--quiet")
        if path.name in EXPLAINED:
            cases.as_native(f"{path.name}: explain", "explain", request, "explain", path, "--quiet")
    request = of_file(EXAMPLES / "first.yaml")
    for form in "chrome", "perfetto", "kineto", "csv", "svg", "gantt":
        cases.as_native(f"first.yaml as {form}", "trace", {**request, "format": form, "ranks": "one-per-stage"}, "run",
                        EXAMPLES / "first.yaml", "--quiet", "--ranks", "one-per-stage", "--trace", f"{form}:-")


def golden(cases):
    for line in digests.GOLDEN.read_text(encoding="utf-8").splitlines():
        fixed, shared, name = line.split()
        request = of_file(EXAMPLES / name)
        ways = {"shared": (request, shared), "sweep": ({**request, "engine": "sweep"}, fixed)}
        if name not in digests.LARGE:
            alone = {"engine": "events", "set": ["run.contention=false"]}
            ways["events"] = ({**request, **alone}, fixed)
        for way, (asked, want) in ways.items():
            cases.add(f"{name}: digest, {way}", "digest", asked,
                      lambda reply, want=want: reply.get("text", "").strip() == want,
                      renew=name in digests.LARGE)


def catalogues(cases):
    for what in "schedules", "models", "gpus", "clusters", "frameworks", "formats", "figures", "schema":
        cases.as_native(f"list {what}", "list", {"what": what}, "list", what)
    cases.as_native("a preset", "list", {"what": "models", "name": "llama-13b"}, "list", "models", "llama-13b")
    cases.as_native("all keys", "keys", {}, "list", "keys")
    cases.as_native("one key", "keys", {"about": "layout.zero"}, "list", "keys", "layout.zero")
    cases.as_native("a first run file", "init", {"model": "llama2-70b", "cluster": "dgx-h100", "gpus": 64},
                    "init", "--model", "llama2-70b", "--cluster", "dgx-h100", "--gpus", 64)
    cases.add("version", "version", {}, lambda reply: f"trainyard {reply.get('text')}" ==
              cases.native("--version")[1].splitlines()[0])


def mistakes(cases):
    first = of_file(EXAMPLES / "first.yaml")
    for name, words in {
            "a preset that is not there": ["model.preset=llama-13c"],
            "two mistakes": ["layout.tensor=3", "schedule.name=1f1c"],
            "no setting": ["layout.tensor"],
            "what does not fit": ["layout.tensor=1", "layout.pipeline=1"],
            "too large for anyone": ["cluster.nodes=1000000"]}.items():
        cases.as_native(name, "run", {**first, "set": words, "format": "table"}, "run", first["name"], "--quiet",
                        *(word for one in words for word in ("--set", one)))
    cases.as_native("another engine", "run", {**first, "engine": "fast"}, "run", first["name"], "--quiet",
                    "--engine", "fast")
    cases.as_native("a file that is not there", "run", {**first, "set": ["cluster.operators=none.csv"]}, "run",
                    first["name"], "--quiet", "--set", "cluster.operators=none.csv")
    cases.as_native("a schedule that is not there", "schedule", {"name": "1f1c", "pipeline": 2, "micro_batches": 2},
                    "schedule", "1f1c", "-p", 2, "-m", 2)
    cases.as_native("no stages", "schedule", {"name": "1f1b"}, "schedule", "1f1b")

    def refused(call, request, error):
        cases.add(error, call, request, lambda reply: reply == {"status": 2, "error": error})
    refused("simulate", {}, "simulate: simulate: no such call")
    refused("run", {}, "run: text: missing")
    refused("schedule", {"pipeline": 4}, "schedule: name: missing")
    refused("schedule", {"name": "1f1b", "pipe": 4}, "schedule: pipe: not a key of this call")
    refused("schedule", {"name": "1f1b", "pipeline": "4x"},
            "schedule: pipeline: not a whole number from 0 to 4294967295")


def tasks(cases):
    """Columns beside a table of the same, which is the program's."""
    first = of_file(EXAMPLES / "first.yaml")
    _, table = cases.native("run", first["name"], "--quiet", "--ranks", "one-per-stage", "--trace", "csv:-")
    rows = list(csv.DictReader(io.StringIO(table)))
    # name in the table, column, table of its names
    names = [("rank", "rank", None), ("start_ps", "start_ps", None), ("dur_ps", "dur_ps", None),
             ("stream", "stream", "stream_names"), ("phase", "phase", "phase_names"), ("name", "kind", "kind_names"),
             ("category", "category", "category_names")]

    def holds(reply):
        columns = reply["tasks"]
        ours = zip(*([columns[words][x] if words else str(x) for x in columns[column]["values"]]
                     for _, column, words in names))
        return sorted(ours) == sorted(tuple(row[name] for name, _, _ in names) for row in rows)
    cases.add("columns of tasks", "tasks", {**first, "ranks": "one-per-stage"}, holds)


def one_after_the_other(cases):
    """The run that is kept is not taken for another."""
    first = of_file(EXAMPLES / "first.yaml")
    words = {"": [], " with other settings": ["--set", "layout.tensor=4"]}
    for turn, which in enumerate(["", " with other settings", ""]):
        sets = {"set": ["layout.tensor=4"]} if which else {}
        cases.as_native(f"first.yaml{which}, call {turn + 1}", "run", {**first, **sets}, "run", first["name"],
                        "--quiet", "--stats", "json", *words[which])
        cases.add(f"its digest{which}, call {turn + 1}", "digest", {**first, **sets},
                  lambda reply: reply["status"] == 0)
    log = "docs/examples/all_reduce_4xa100.log"
    measured = of_file(EXAMPLES / "measured.yaml")
    cases.as_native("measured.yaml", "run", measured, "run", measured["name"], "--quiet", "--stats", "json")
    cases.add("measured.yaml with another log", "run", {**measured, "files": {**files(), log: "nothing\n"}},
              lambda reply: reply["status"] == 3 and log in reply["error"])
    cases.add("no run file", "run", {"text": "a text\n"},
              lambda reply: reply["status"] == 3 and reply["error"].startswith("run.yaml:1:1: "))


def limits(cases):
    """Memory that ends, and a module that ended: the next call works."""
    first = of_file(EXAMPLES / "first.yaml")
    large = of_file(EXAMPLES / "gpt3-175b-1024xa100.yaml")
    report = cases.native("run", first["name"], "--quiet", "--stats", "json")
    cases.add("memory ends", "tasks", large, lambda reply: reply == {"status": 4, "error": "memory is exhausted"},
              small=PAGES)
    cases.add("after it", "run", first, report, small=PAGES)
    cases.add("a defect of the module", "version", {},
              lambda reply: reply == {"status": 4, "error": "internal error: unreachable"}, trap=True)
    cases.add("after that", "run", first, report)


def said(reply):
    if "error" in reply:
        return reply["error"]
    return base64.b64decode(reply["bytes"]).decode(errors="replace") if "bytes" in reply else reply["text"]


def agrees(reply, want):
    if callable(want):
        return want(reply)
    status, text = want
    return reply["status"] == status and same_report(said(reply).rstrip("\n")) == same_report(text)


def difference(reply, want):
    """The first line that is not as it should be."""
    status, text = (0, "") if callable(want) else want
    for ours, theirs in itertools.zip_longest(said(reply).splitlines(), text.splitlines()):
        if ours != theirs:
            return f"status {reply['status']}, {ours!r}; should be {status}, {theirs!r}"
    return f"status {reply['status']}; should be {status}"


def main():
    try:
        needs.program("node")
    except needs.Missing as why:
        return needs.told_of_all(why)
    binary, host, core = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:])
    cases = Cases(Native(binary))
    for add in schedules, passes, catalogues, mistakes, one_after_the_other, tasks, examples, golden, limits:
        add(cases)
    done = subprocess.run(["node", str(pathlib.Path(__file__).with_name("calls.js")), host, core],
                          input=json.dumps({"files": files(), "calls": [call for _, call, _ in cases.list]}).encode(), stdout=subprocess.PIPE,
                          check=True)
    failed = 0
    for number, ((name, _, want), reply) in enumerate(zip(cases.list, json.loads(done.stdout)), 1):
        good = agrees(reply, want)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print(f"# {difference(reply, want)}")
    print(f"1..{len(cases.list)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
