#!/usr/bin/env python3
"""`trainyard compare`: the run files of logs in logs/ beside this file, simulated beside measured.

usage: compare.py TRAINYARD
"""
import json
import pathlib
import re
import sys
import tempfile

import tap

LOGS = pathlib.Path(__file__).resolve().parent / "logs"
NAMES = sorted(path.stem for path in LOGS.glob("*.yaml"))
KEYS = {"file", "simulated_s", "measured_s", "error", "inside_band", "peak_memory_bytes",
        "measured_memory_bytes", "mfu", "mfu_framework", "explained_by"}
BARE = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b}
layout: {tensor: 2, global_batch: 64}
"""


def rows(done):
    return json.loads(done.stdout)["rows"] if done.stdout[:1] == "{" else []


def check_rows(t):
    done = t.call(LOGS, "compare", *[f"{name}.yaml" for name in NAMES], "--json", "--no-tries")
    found = rows(done)
    t.check("a row for each file", [row["file"] for row in found] == [f"{name}.yaml" for name in
                                                                     NAMES], done)
    t.check("the columns that are promised", all(KEYS <= set(row) for row in found), found[:1])
    for row in found:
        text = (LOGS / row["file"]).read_text(encoding="utf-8")
        measured = float(re.search(r"step_time: ([\d.]+) s", text)[1])
        ran = json.loads(t.call(LOGS, "run", row["file"], "--stats", "json").stdout)
        t.check(f"{row['file']}: both times, and their difference",
                abs(row["measured_s"] / measured - 1) < 1e-4
                and row["simulated_s"] == ran["step_time_s"]
                and abs(row["error"] - (ran["step_time_s"] / measured - 1)) < 1e-4, row)
        low, high = row["band_s"]
        t.check(f"{row['file']}: the band decides", row["inside_band"] == (low <= measured <= high),
                row)
    by = {row["file"]: row for row in found}
    titan = by["torchtitan.yaml"]
    ran = json.loads(t.call(LOGS, "run", "torchtitan.yaml", "--stats", "json").stdout)
    t.check("MFU as the framework counts is the run's, torchtitan's below PaLM's",
            titan["mfu_framework"] == ran["mfu_framework"] < ran["mfu"]
            and ran["mfu_framework_convention"] == "torchtitan", ran)
    t.check("what the log does not say is null", by["trainer.yaml"]["mfu_framework"] is None
            and by["trainer.yaml"]["measured_memory_bytes"] is None, by["trainer.yaml"])
    t.check("memory of ranks beside their stages", [rank["rank"] for rank in
                                                    by["megatron.yaml"]["ranks"]] == [0, 4], by)


def check_tries(t, folder):
    """A run that a known change made slower: that change is found."""
    base = pathlib.Path(folder, "a.yaml")
    base.write_text(BARE, encoding="utf-8")
    slow = json.loads(t.call(folder, "run", "a.yaml", "--set", "cluster.derate=1.2", "--stats",
                             "json").stdout)["step_time_s"]
    base.write_text(BARE + f"measured: {{step_time: {slow} s}}\n", encoding="utf-8")
    row = rows(t.call(folder, "compare", "a.yaml", "--json"))[0]
    best = row["explained_by"][0]
    t.check("the change that was made is the first that is told", best["set"].startswith(
        "cluster.derate=") and abs(best["error"]) < 0.02, row)
    again = json.loads(t.call(folder, "run", "a.yaml", "--set", best["set"], "--stats",
                              "json").stdout)["step_time_s"]
    t.check("what it leaves is what a run with it leaves", abs(best["error"] - (again / slow - 1))
            < 1e-5, best)
    exact = json.loads(t.call(folder, "run", "a.yaml", "--stats", "json").stdout)["step_time_s"]
    base.write_text(BARE + f"measured: {{step_time: {exact} s}}\n", encoding="utf-8")
    row = rows(t.call(folder, "compare", "a.yaml", "--json"))[0]
    t.check("without a gap nothing is tried", row["explained_by"] == [] and abs(row["error"]) < 1e-4,
            row)
    base.write_text(BARE + f"measured: {{step_time: {9 * exact} s}}\n", encoding="utf-8")
    done = t.call(folder, "compare", "a.yaml")
    t.check("outside the band: status 1, and it is said", done.returncode == 1
            and "outside" in done.stdout, done)


def check_forms(t, folder):
    pathlib.Path(folder, "b.yaml").write_text(BARE, encoding="utf-8")
    done = t.call(folder, "compare", "b.yaml")
    t.check("without measurements: not known, no error", done.returncode == 0
            and "not known" in done.stdout, done)
    done = t.call(LOGS, "compare", "megatron.log", "nanotron.yaml", "--no-tries")
    t.check("without tries nothing is said of fixes that close the gap",
            "fixes that close the gap" not in done.stdout, done.stdout)
    t.check("a log is imported first; several files end in a table", done.returncode == 0
            and re.search(r"^megatron\.log .*yes$", done.stdout, re.M)
            and "mean error" in done.stdout, done)
    page = pathlib.Path(folder, "page.html")
    done = t.call(LOGS, "compare", "megatron.yaml", "--no-tries", "-o", page)
    text = page.read_text(encoding="utf-8")
    t.check("a page that needs no network", "<table>" in text and "http" not in text
            and "step time" in text, done)
    for words, status, said in ((("none.yaml",), 3, "none.yaml"), ((), 2, "FILE is missing"),
                                (("b.yaml", "--stats", "xml"), 2, "table or json"),
                                (("b.yaml", "--frobnicate"), 2, "unknown option"),
                                (("b.yaml", "-o", "b.yaml"), 2, "overwrite")):
        done = t.call(folder, "compare", *words)
        t.check(f"compare {' '.join(words)}: {said}", done.returncode == status
                and said in done.stderr, done)


def check_calibrate(t, folder):
    """Run files as rows: a derate that was simulated comes back."""
    for name, model in (("c", "llama-7b"), ("d", "llama-13b"), ("e", "gpt3-6.7b")):
        text = BARE.replace("llama-7b", model)
        path = pathlib.Path(folder, name + ".yaml")
        path.write_text(text, encoding="utf-8")
        slow = json.loads(t.call(folder, "run", path, "--set", "cluster.derate=1.2", "--stats",
                                 "json").stdout)["step_time_s"]
        path.write_text(text + f"measured: {{step_time: {slow:.9f} s}}\n", encoding="utf-8")
    done = t.call(folder, "calibrate", "c.yaml", "d.yaml", "e.yaml", "--prior", "none", "-o",
                  "ours.yaml")
    found = re.search(r"derate: ([\d.]+)", pathlib.Path(folder, "ours.yaml").read_text(
        encoding="utf-8") if done.returncode == 0 else "")
    t.check("calibrate fits to the measured sections of run files", found
            and abs(float(found[1]) - 1.2) < 1e-3 and "c.yaml" in done.stdout, done)
    done = t.call(folder, "calibrate", "c.yaml", "b.yaml")
    t.check("a file without a measured time is refused", done.returncode == 3
            and "b.yaml: no measured.step_time" in done.stderr, done)
    done = t.call(folder, "calibrate", "c.yaml", "d.yaml", "--rows", "x.csv")
    t.check("run files and a table are too much", done.returncode == 2
            and "leave one" in done.stderr, done)


def main():
    t = tap.Test(pathlib.Path(sys.argv[1]).resolve())
    check_rows(t)
    with tempfile.TemporaryDirectory() as folder:
        check_tries(t, folder)
        check_forms(t, folder)
        check_calibrate(t, folder)
    print(f"1..{t.n}")
    return t.failed > 0


if __name__ == "__main__":
    sys.exit(main())
