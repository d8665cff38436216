#!/usr/bin/env python3
"""`trainyard diff`: sums that have to come out, traces that keep the rules, profiles read back.

`diff.py BINARY CHECK_TRACE PICTURE`; PICTURE is that of docs/guides/diff.md. The strongest check of profiles is a circle: what a simulation writes as
a PyTorch profile (--trace kineto) and the simulation itself must not differ."""
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

import native

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
SMALL = """cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b}
layout: {tensor: 2, pipeline: 4, global_batch: 8, micro_batch: 1}
schedule: {name: gpipe}
"""
FSDP = """cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b, layers: 4}
layout: {tensor: 2, global_batch: 8, micro_batch: 1, zero: 3}
"""
COMPUTE = ["compute_forward", "compute_backward", "recompute", "optimizer", "compute_other",
           "compute"]


class Tool:
    def __init__(self, binary, check, picture, folder):
        self.binary, self.check_trace, self.picture = binary, check, pathlib.Path(picture)
        self.folder = pathlib.Path(folder)

    def run(self, *words, status=0):
        done = subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True,
                              cwd=self.folder, check=False)
        assert done.returncode == status, (words, done.returncode, done.stderr)
        return done

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def diff(self, *words, status=0):
        return json.loads(self.run("diff", *words, "--stats", "json", "-q", status=status).stdout)

    def rules(self, path):
        done = subprocess.run([self.check_trace, str(self.folder / path)], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def near(x, y, of):
    return abs(x - y) <= 1e-9 * abs(of)


def check_sums(told):
    """Parts sum to step times, differences to their difference, operations to computation."""
    first = told["runs"][0]
    for pair in told["against_first"]:
        other = told["runs"][pair["run"]]
        for side, run in (("a_s", first), ("b_s", other)):
            total = sum(part[side] for part in pair["breakdown"])
            assert near(total, run["step_time_s"], run["step_time_s"]), (total, run)
        assert near(sum(part["difference_s"] for part in pair["breakdown"]),
                    other["step_time_s"] - first["step_time_s"], first["step_time_s"])
        computed = sum(p["difference_s"] for p in pair["breakdown"] if p["part"] in COMPUTE)
        kinds = sum(k["difference_s"] for k in pair["operations"] if k["group"] is None)
        assert near(computed, kinds, first["step_time_s"]), (computed, kinds)


def equal_runs_do_not_differ(tool):
    tool.write("a.yaml", SMALL)
    told = tool.diff("a.yaml", "a.yaml")
    check_sums(told)
    pair = told["against_first"][0]
    assert pair["keys"] == [] and pair["step_time_difference_s"] == 0
    assert all(part["difference_s"] == 0 for part in pair["breakdown"])
    assert all(kind["difference_s"] == 0 and kind["a"] == kind["b"] for kind in pair["operations"])


def differences_sum_and_figures_are_those_of_run(tool):
    tool.write("a.yaml", SMALL)
    told = tool.diff("a.yaml", "a.yaml", "a.yaml", "--set", "B:schedule.name=zb-1p", "--set",
                     "C:layout.tensor=1", "--set", "run.steps=2")
    check_sums(told)
    sets = [[], ["--set", "schedule.name=zb-1p"], ["--set", "layout.tensor=1"]]
    for run, own, pair in zip(told["runs"], sets, [None] + told["against_first"]):
        alone = json.loads(tool.run("run", "a.yaml", "--set", "run.steps=2", "--stats", "json",
                                    *own).stdout)
        for key in ("step_time_s", "tokens_per_s", "mfu", "config_digest", "gpus", "steps"):
            assert run[key] == alone[key], key
        for part in pair["breakdown"] if pair is not None else []:
            assert part["b_s"] == alone["breakdown"][part["part"]]
    keys = {key["key"]: (key["a"], key["b"]) for key in told["against_first"][0]["keys"]}
    assert keys == {"schedule.name": ("gpipe", "zb-1p")}, keys
    keys = {key["key"]: (key["a"], key["b"]) for key in told["against_first"][1]["keys"]}
    assert keys["layout.tensor"] == ("2", "1") and keys["layout.data"] == ("1", "2"), keys


def other_work_is_told(tool):
    tool.write("a.yaml", SMALL)
    told = tool.diff("a.yaml", "--against-set", "model.layers=16")
    assert "models differ" in " ".join(told["against_first"][0]["remarks"])
    told = tool.diff("a.yaml", "--against-set", "layout.global_batch=16")
    assert "tokens" in " ".join(told["against_first"][0]["remarks"])
    check_sums(told)


def slices(path):
    """By name of its process: all slices, without what says whom they concern."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    found = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            args = {k: v for k, v in e.get("args", {}).items() if k not in ("group", "peer")}
            found[names[e["pid"]]].append((e["tid"], e["ts"], e["dur"], e["name"], str(args)))
    return {name: sorted(rows) for name, rows in found.items()}


def each_run_is_in_the_trace_as_by_itself(tool):
    tool.write("a.yaml", SMALL)
    tool.write("b.yaml", FSDP)
    tool.run("diff", "a.yaml", "b.yaml", "-q", "--detail", "op", "--ranks", "all", "--trace",
             "chrome:ab.json")
    tool.rules("ab.json")
    both = slices(tool.folder / "ab.json")
    for letter, name in (("A", "a"), ("B", "b")):
        tool.run("run", f"{name}.yaml", "-q", "--detail", "op", "--critical", "none", "--trace",
                 "chrome:one.json")
        for rank, rows in slices(tool.folder / "one.json").items():
            assert both.pop(f"{letter} {rank}") == rows, rank
    assert both == {}


def ranks_take_turns(tool):
    tool.write("a.yaml", SMALL)
    for order, wanted in ((None, "AB" * 4), ("run", "AAAABBBB")):
        tool.run("diff", "a.yaml", "--against-set", "schedule.name=1f1b", "-q", "--ranks",
                 "one-per-stage", "--trace", "chrome:t.json", *(["--order", order] if order else []))
        tool.rules("t.json")
        events = json.loads((tool.folder / "t.json").read_text())["traceEvents"]
        place = {e["pid"]: e["args"]["sort_index"] for e in events
                 if e["name"] == "process_sort_index"}
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        shown = "".join(names[pid][0] for pid in sorted(place, key=place.get) if pid in names)
        assert shown == wanted, shown


def unasked_one_rank_of_each_stage_is_shown(tool):
    tool.write("a.yaml", SMALL)
    tool.run("diff", "a.yaml", "--against-set", "schedule.name=1f1b", "-q", "--trace",
             "chrome:t.json")
    tool.rules("t.json")
    assert list(slices(tool.folder / "t.json")) == [f"{run} stage {s}" for run in "AB"
                                                    for s in range(4)]


def rules_hold_for_varied_runs(tool):
    for words in (["stragglers.yaml", "gpipe-memory.yaml"],
                  ["llama3-8b-fsdp-8xh100.yaml", "custom-cluster.yaml", "--detail", "op"],
                  ["background-job.yaml", "slow-gpu.yaml", "--window", "0.1s:0.4s"]):
        done = subprocess.run([tool.binary, "diff", *[str(EXAMPLES / w) if ".yaml" in w else w
                                                      for w in words],
                               "-q", "-o", "null:", "--trace", "chrome:t.json"],
                              capture_output=True, text=True, cwd=tool.folder, check=False)
        assert done.returncode in (0, 1), done.stderr
        tool.rules("t.json")


def a_deadlock_is_drawn_beside_the_other(tool):
    tool.write("a.yaml", SMALL)
    circle = EXAMPLES / "deadlock" / "circle.yaml"
    done = tool.run("diff", "a.yaml", circle, "-q", "--trace", "chrome:t.json", "--trace",
                    "svg:t.svg", status=4)
    assert done.stdout == "" and "deadlock" in done.stderr
    tool.rules("t.json")
    text = (tool.folder / "t.json").read_text()
    assert '"name":"deadlock"' in text and '"run_b.incomplete":true' in text
    assert "incomplete" in (tool.folder / "t.svg").read_text()


def pictures_have_a_panel_for_each_run(tool):
    tool.write("a.yaml", SMALL)
    for palette in ("traces", "safe", "print"):
        tool.run("diff", "a.yaml", "a.yaml", "a.yaml", "--set", "B:schedule.name=1f1b", "--set",
                 "C:schedule.name=zb-1p", "-q", "--palette", palette, "--trace", "svg:t.svg")
        text = (tool.folder / "t.svg").read_text()
        tree.fromstring(text)
        assert text.count("translate(0 ") == 3
        for title in ("A a.yaml", "B a.yaml schedule.name=1f1b", "C a.yaml schedule.name=zb-1p"):
            assert title in text.replace("  ", " "), title
        assert " %)" in text


def the_picture_of_the_guide_is_what_is_drawn(tool):
    guide = (tool.picture.parent / "diff.md").read_text(encoding="utf-8")
    command = next(line for line in guide.splitlines()
                   if line.startswith("trainyard diff") and "svg:docs/guides/diff.svg" in line)
    done = subprocess.run([tool.binary, *command.replace("svg:docs/guides/diff.svg", "svg:-").split()[1:]],
                          capture_output=True, text=True, cwd=tool.picture.parents[2], check=False)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout == tool.picture.read_text(encoding="utf-8"), "draw docs/guides/diff.svg anew"


def steps_are_a_window_of_both(tool):
    """From where the first of the runs begins a step to where the last ends it."""
    tool.write("a.yaml", SMALL)
    both = ("a.yaml", "--against-set", "schedule.name=zb-1p", "--set", "run.steps=2", "-q")
    extent, whole = [], []
    for words, found in ((("--steps", "1"), extent), ((), whole)):
        tool.run("diff", *both, *words, "--trace", "chrome:t.json")
        tool.rules("t.json")
        for rows in slices(tool.folder / "t.json").values():
            found.append((min(s[1] for s in rows), max(s[1] + s[2] for s in rows)))
    first = min(run["step_time_s"] for run in tool.diff(*both[:3])["runs"])
    assert min(s for s, _ in whole) == 0
    assert abs(min(s for s, _ in extent) - first * 1e6) < 0.01, extent
    assert max(e for _, e in extent) == max(e for _, e in whole)


def perfetto_has_what_chrome_has(tool):
    tool.write("a.yaml", SMALL)
    tool.run("run", "a.yaml", "-q", "--trace", "kineto:prof", "--ranks", "all")
    for words in (["a.yaml", "--against-set", "schedule.name=zb-1p"], ["prof", "a.yaml"]):
        tool.run("diff", *words, "-q", "--detail", "op", "--trace", "chrome:t.json", "--trace",
                 "perfetto:t.pftrace")
        native.compare(tool.folder / "t.pftrace", tool.folder / "t.json")


def a_written_profile_does_not_differ(tool):
    for text, names in ((SMALL, 8), (FSDP, 8)):
        tool.write("a.yaml", text)
        for f in (tool.folder / "prof").glob("*"):
            f.unlink()
        tool.run("run", "a.yaml", "-q", "--trace", "kineto:prof", "--ranks", "all")
        told = tool.diff("prof", "a.yaml", "--trace", "chrome:t.json", "--detail", "op")
        check_sums(told)
        tool.rules("t.json")
        a, b = told["runs"]
        assert a["measured"] and not b["measured"] and a["gpus"] == b["gpus"] == names
        for part in told["against_first"][0]["breakdown"]:  # kernels are cut to nanoseconds
            assert abs(part["difference_s"]) < 5e-6 * a["step_time_s"], part
        for kind in told["against_first"][0]["operations"]:
            assert kind["a"]["count"] == kind["b"]["count"], kind


def several_steps_without_marks_are_told(tool):
    """A profile may not say how many it has; the run beside it does. trainyard's own say so."""
    tool.write("a.yaml", SMALL)
    for steps, wanted in ((1, False), (3, True)):
        tool.run("run", "a.yaml", "-q", "--set", f"run.steps={steps}", "--ranks", "all", "--trace",
                 f"kineto:prof{steps}")
        told = tool.diff(f"prof{steps}", "a.yaml", "--set", f"run.steps={steps}")
        assert not [n for n in told["against_first"][0]["remarks"] if "is marked" in n], told
        assert [run["steps"] for run in told["runs"]] == [steps, steps], told["runs"]
        for part in told["against_first"][0]["breakdown"]:
            assert abs(part["difference_s"]) < 5e-6 * told["runs"][0]["step_time_s"], part
        for path in (tool.folder / f"prof{steps}").iterdir():
            path.write_text(re.sub(r', "step": \d+', "", path.read_text()))
        told = tool.diff(f"prof{steps}", "a.yaml", "--set", f"run.steps={steps}")
        notes = [n for n in told["against_first"][0]["remarks"] if n.startswith("no step is marked")]
        assert len(notes) == 1 and ("while B has 3;" in notes[0]) == wanted, notes


def ranks_without_marks_among_others_with_them_are_told(tool):
    tool.write("a.yaml", SMALL)
    tool.run("run", "a.yaml", "-q", "--ranks", "all", "--trace", "kineto:prof")
    for n, verb in ((1, "has"), (2, "have")):
        path = sorted((tool.folder / "prof").iterdir())[n]
        path.write_text(re.sub(r', "step": \d+', "", path.read_text()))
        remarks = tool.diff("prof", "a.yaml")["against_first"][0]["remarks"]
        assert [r for r in remarks
                if r.startswith(f"in A {n} of 8 ranks {verb} no step marked")], remarks


def ranks_that_were_not_measured_do_not_count(tool):
    tool.write("a.yaml", SMALL)
    tool.run("run", "a.yaml", "-q", "--trace", "kineto:prof", "--ranks", "pp=3")
    told = tool.diff("prof", "a.yaml", "--trace", "chrome:t.json")
    check_sums(told)
    assert [run["ranks"] for run in told["runs"]] == [2, 2]
    for part in told["against_first"][0]["breakdown"]:
        if part["part"] != "idle":  # the profile begins with its own first kernel
            assert abs(part["difference_s"]) < 5e-6, part
    events = json.loads((tool.folder / "t.json").read_text())["traceEvents"]
    names = [e["args"]["name"].split(" ·")[0] for e in events if e["name"] == "process_name"
             and "rank" in e["args"]["name"]]
    assert sorted(names) == ["measured rank 6", "measured rank 7", "simulated rank 6",
                             "simulated rank 7"], names


def ranks_count_that_every_profile_has(tool):
    """Two profiles of one job, of other ranks: its simulation is that of the ranks in both; of all
    where no rank is in both."""
    tool.write("a.yaml", SMALL)
    for name, ranks in (("p", "4-7"), ("q", "6-7"), ("r", "0-1")):
        tool.run("run", "a.yaml", "-q", "--trace", f"kineto:{name}", "--ranks", ranks)
    for files, counts in ((("p", "q", "a.yaml"), [4, 2, 2]), (("q", "p", "a.yaml"), [2, 4, 2]),
                          (("p", "r", "a.yaml"), [4, 2, 8])):
        told = tool.diff(*files)
        assert [run["ranks"] for run in told["runs"]] == counts, (files, told["runs"])


def what_is_shown_by_rule_gives_way_to_what_was_measured(tool):
    """Of 64 ranks a trace shows replica dp=0; of that one nothing was measured."""
    tool.write("a.yaml", SMALL)
    tool.write("p.json", json.dumps({
        "schemaVersion": 1, "distributedInfo": {"rank": 63, "world_size": 64},
        "traceEvents": [kernel(0, 100, 7, 1, "forward")]}))
    tool.diff("p.json", "a.yaml", "--set", "cluster.nodes=8", "--set", "layout.global_batch=64",
              "--trace", "chrome:t.json")
    events = json.loads((tool.folder / "t.json").read_text())["traceEvents"]
    names = {e["args"]["name"].split(" ·")[0] for e in events if e["name"] == "process_name"}
    assert {"measured rank 63", "simulated rank 63"} <= names, names


def steps_are_those_that_anything_ran_in(tool):
    """Marks of a step without kernels, and ranks that begin with different steps."""
    for rank, marks in ((0, (4, 5, 6)), (1, (6, 7))):
        events = []
        for n in marks:
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}",
                           "pid": 9, "tid": 9, "ts": 1000 * n, "dur": 1000, "args": {}})
            if n != 4:
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                               "pid": 9, "tid": 9, "ts": 1000 * n + 10, "dur": 1,
                               "args": {"correlation": n}})
                events.append(kernel(1000 * n + 100, 1000 * n + 700, 7, n, "forward"))
        tool.write(f"rank{rank}.json", json.dumps({
            "schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2},
            "traceEvents": events}))
    (tool.folder / "two").mkdir()
    for rank in (0, 1):
        (tool.folder / f"rank{rank}.json").rename(tool.folder / "two" / f"rank{rank}.json")
    told = tool.diff("two", "two", "--trace", "csv:t.csv")
    assert [run["steps"] for run in told["runs"]] == [3, 3], told["runs"]
    assert abs(told["runs"][0]["step_time_s"] - 2600e-6 / 3) < 1e-12, told["runs"]
    with open(tool.folder / "t.csv", encoding="utf-8") as file:
        rows = [(int(row["rank"]), int(row["step"])) for row in csv.DictReader(file)]
    assert sorted(rows) == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 1), (3, 1), (3, 2)], rows


def bytes_have_more_than_32_bits(tool):
    sizes = {"In msg nelems": 1 << 33, "Out msg nelems": 1 << 33, "dtype": "Float"}
    tool.write("p.json", json.dumps({
        "schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2},
        "traceEvents": [kernel(0, 100, 7, 1, "forward"),
                        kernel(100, 200, 20, 2, "forward", coll="AllReduce", **sizes,
                               **{"Collective name": "allreduce", "Group size": 2,
                                  "Process Group Name": "dp"})]}))
    tool.diff("p.json", "p.json", "--trace", "chrome:t.json", "--detail", "op")
    events = json.loads((tool.folder / "t.json").read_text())["traceEvents"]
    found = [e["args"]["bytes"] for e in events if "bytes" in e.get("args", {})]
    assert found == 2 * [4 << 33], found


def kernel(start, end, stream, correlation, phase, **args):
    coll = args.pop("coll", None)
    name = f"ncclDevKernel_{coll}(x)" if coll else "void gemm<128>(float*)"
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start,
            "dur": end - start, "args": {"stream": stream, "device": 0, "context": 1,
                                         "correlation": correlation, "phase": phase, **args}}


def profile(names):
    """Two steps of 1 ms; per step: forward 200 us, 150 us of communication that nothing hides (two
    collectives on two streams, which overlap), backward 250 us, optimizer 50 us."""
    events, number = [], 0
    for step in range(2):
        t = 1000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}",
                       "pid": 9, "tid": 9, "ts": t, "dur": 1000, "args": {}})
        for start, end, stream, phase, coll, group in (
                (100, 300, 7, names[0], None, None), (250, 400, 20, names[0], "AllGather", "mesh_tp"),
                (350, 500, 24, names[0], "ReduceScatter", "mesh_dp_shard"),
                (450, 700, 7, names[1], None, None), (700, 750, 7, names[2], None, None)):
            number += 1
            args = {"Process Group Name": group, "Process Group Description": group,
                    "Group size": 2, "Collective name": coll} if group else {}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9,
                           "tid": 9, "ts": t + 10 + number, "dur": 1,
                           "args": {"correlation": number}})
            events.append(kernel(t + start, t + end, stream, number, phase, coll=coll, **args))
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1},
                       "traceEvents": events})


def streams_that_overlap_have_rows_of_their_own(tool):
    tool.write("p.json", profile(["forward", "backward", "optimizer step"]))
    told = tool.diff("p.json", "p.json", "--trace", "chrome:t.json", "--detail", "op")
    check_sums(told)
    tool.rules("t.json")
    assert abs(told["runs"][0]["step_time_s"] - 825e-6) < 1e-12
    found = {part["part"]: round(1e6 * part["a_s"], 3) for part in told["against_first"][0]["breakdown"]}
    assert found == {"compute_forward": 200, "compute_backward": 250, "optimizer": 50,
                     "exposed_tensor": 100, "exposed_data": 50, "idle": 175}, found
    events = json.loads((tool.folder / "t.json").read_text())["traceEvents"]
    rows = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"compute (stream 7)", "comm (stream 20)", "comm (stream 24)"} <= rows, rows


def phases_that_are_not_known_are_one_part(tool):
    tool.write("p.json", profile(["", "", ""]))
    told = tool.diff("p.json", "p.json", "--trace", "chrome:t.json", "--trace", "svg:t.svg")
    tool.rules("t.json")
    found = {part["part"]: round(1e6 * part["a_s"], 3) for part in told["against_first"][0]["breakdown"]}
    assert found["compute"] == 500 and "compute_forward" not in found, found
    assert "no phases are known" in " ".join(told["against_first"][0]["remarks"])


def wrong_profiles_are_refused(tool):
    tool.write("a.yaml", SMALL)
    for name, text, said in (("cut.json", profile(["", "", ""])[:400], "cut.json"),
                             ("no.json", '{"traceEvents": []}', "no.json"),
                             ("list.json", "[1, 2", "list.json")):
        tool.write(name, text)
        done = tool.run("diff", name, "a.yaml", "--trace", "chrome:new.json", status=3)
        assert said in done.stderr and done.stdout == "", done.stderr
        assert not (tool.folder / "new.json").exists()
    tool.run("diff", "missing.json", "a.yaml", status=3)


TESTS = [equal_runs_do_not_differ, differences_sum_and_figures_are_those_of_run, other_work_is_told,
         each_run_is_in_the_trace_as_by_itself, ranks_take_turns,
         unasked_one_rank_of_each_stage_is_shown, rules_hold_for_varied_runs,
         a_deadlock_is_drawn_beside_the_other, pictures_have_a_panel_for_each_run,
         the_picture_of_the_guide_is_what_is_drawn, perfetto_has_what_chrome_has,
         steps_are_a_window_of_both,
         a_written_profile_does_not_differ,
         several_steps_without_marks_are_told, ranks_without_marks_among_others_with_them_are_told,
         ranks_that_were_not_measured_do_not_count,
         ranks_count_that_every_profile_has,
         what_is_shown_by_rule_gives_way_to_what_was_measured, bytes_have_more_than_32_bits,
         steps_are_those_that_anything_ran_in,
         streams_that_overlap_have_rows_of_their_own, phases_that_are_not_known_are_one_part,
         wrong_profiles_are_refused]


def main():
    words = [str(pathlib.Path(w).resolve()) for w in sys.argv[1:4]]
    failed = 0
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as folder:
            said = ""
            try:
                test(Tool(*words, folder))
            except (AssertionError, KeyError, ValueError) as error:
                said = f": {type(error).__name__} {error}".replace("\n", "\n# ")
                failed += 1
            print(f"{'not ok' if said else 'ok'} {number} - "
                  f"{test.__name__.replace('_', ' ')}{said}")
    print(f"1..{len(TESTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
