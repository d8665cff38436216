#!/usr/bin/env python3
"""Sweeps: rows pass through in order, bad rows are reported and passed over, threads
change nothing. What kills and crashes leave is in tests/faults/resume.py."""
import csv
import pathlib
import subprocess
import sys
import tempfile
import zlib

RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 4}
model: {preset: llama-13b}
layout: {pipeline: 4, global_batch: 256, zero: 1}
"""
ROWS = '''\
name,layout.tensor,layout.pipeline,layout.micro_batch,note
plain,2,4,,"with, a comma"
broken,3,4,1,three does not divide
empty,,2,1,"a ""quote"""
too large,1,1,8,
'''
OVER = ["--over", "layout.tensor=1,2,4", "--over", "layout.zero=0,1,2,3", "--over",
        "schedule.name=gpipe,1f1b,zb-1p"]


def partial(lines, rows):
    """What an interrupted sweep leaves of a table: rows that are finished, with their number, length
    and check in front."""
    def record(row, line):
        data = line.encode()
        return f"{row + 1},{len(data)},{zlib.crc32(data, row + 1):08x},{line}"
    return "row,bytes,crc32," + lines[0] + "".join(record(row, lines[row + 1]) for row in rows)


class Suite:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)
        self.number, self.failed = 0, 0
        (self.folder / "run.yaml").write_text(RUN, encoding="utf-8")
        (self.folder / "rows.csv").write_text(ROWS, encoding="utf-8")

    def sweep(self, *options):
        return subprocess.run([self.binary, "sweep", "run.yaml", *options], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def check(self, fact, good, detail=""):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {fact}{'' if good else ': ' + detail}")

    def targets(self):
        (self.folder / "real.csv").write_text("old\n", encoding="utf-8")
        (self.folder / "link.csv").symlink_to("real.csv")
        done = self.sweep("--rows", "rows.csv", "-o", "link.csv")
        text = (self.folder / "real.csv").read_text(encoding="utf-8")
        self.check("a link stays one and its file is written", done.returncode == 0
                   and (self.folder / "link.csv").is_symlink() and text.startswith("name,"),
                   done.stderr)
        full = pathlib.Path("/dev/full")
        if full.is_char_device():
            done = self.sweep("--rows", "rows.csv", "-o", str(full))
            self.check("a device stays one, and a full one is an error", done.returncode == 3
                       and full.is_char_device(), done.stderr)

    def left_alone(self):
        """Rows that --resume would keep are not thrown away by a sweep that nobody told to."""
        done = self.sweep("--rows", "rows.csv", "-o", "t.csv")
        lines = (self.folder / "t.csv").read_text(encoding="utf-8").splitlines(True)
        left = self.folder / "t.csv.partial"
        said = ("t.csv.partial: rows that an earlier sweep finished; --resume continues there, "
                "or remove it to start again\n")
        self.check("a table that is finished is no obstacle", done.returncode == 0, done.stderr)
        for rows, options, refused in (([0, 1], [], True), ([0, 1], ["-q"], True), ([], [], False),
                                       ([0, 1], ["--resume"], False)):
            left.write_text(partial(lines, rows), encoding="utf-8")
            (self.folder / "t.csv").write_text("old\n", encoding="utf-8")
            done = self.sweep("--rows", "rows.csv", "-o", "t.csv", *options)
            kept = left.exists() and left.read_text(encoding="utf-8") == partial(lines, rows)
            table = (self.folder / "t.csv").read_text(encoding="utf-8")
            good = (done.returncode == 3 and done.stderr.endswith(said) and kept and table == "old\n"
                    if refused else done.returncode == 0 and table == "".join(lines))
            self.check(f"{len(rows)} rows of an earlier sweep, {' '.join(options) or 'no options'}",
                       good, done.stderr)
            left.unlink(missing_ok=True)
        for options in ([], ["-o", "-"]):
            done = self.sweep("--rows", "rows.csv", "--resume", *options)
            self.check("--resume needs a table to go on with", done.returncode == 2 and done.stderr
                       == "trainyard sweep: --resume continues the PATH.partial of -o PATH; "
                          "name the table, such as -o table.csv\n", done.stderr)

    def rows(self):
        done = self.sweep("--rows", "rows.csv")
        table = list(csv.DictReader(done.stdout.splitlines()))
        self.check("a sweep with a bad row succeeds", done.returncode == 0, done.stderr)
        self.check("rows come back in order", [r["name"] for r in table] ==
                   ["plain", "broken", "empty", "too large"], done.stdout)
        self.check("other columns pass through untouched",
                   [r["note"] for r in table] ==
                   ["with, a comma", "three does not divide", 'a "quote"', ""], done.stdout)
        self.check("a bad row carries its message", table[1]["error"] ==
                   "layout.tensor: 3 does not divide model.heads (40); try 1, 2, 4, 8"
                   and table[1]["step_time_s"] == "", table[1]["error"])
        self.check("a row that does not fit carries times", table[3]["fits"] == "0"
                   and float(table[3]["step_time_s"]) > 0, str(table[3]))
        self.check("a summary goes to standard error, with the first error", done.stderr.startswith(
                   "row 2: layout.tensor: 3 does not divide model.heads (40); try 1, 2, 4, 8\n"
                   "4 rows simulated: 2 fit, 1 does not, 1 with an error\n\nfastest that fit\nrow "),
                   done.stderr)
        self.check("--quiet has none", self.sweep("--rows", "rows.csv", "-q").stderr == "")
        for column, key in [("tensor", "layout.tensor"), ("layout_zero", "layout.zero"),
                            ("Layout.Tensor", "layout.tensor")]:
            (self.folder / "slip.csv").write_text(f"{column}\n1\n", encoding="utf-8")
            slip = self.sweep("--rows", "slip.csv")
            self.check(f"a column {column} is remarked on", slip.stderr.startswith(
                       f"column {column} passes through; did you mean {key}?\n"), slip.stderr)
        slips = ["tensor", "pipeline", "zero", "micro_batch", "recompute", "sequence", "hidden",
                 "heads", "vocab", "ffn"]
        (self.folder / "slips.csv").write_text(",".join(slips) + "\n" + "1," * 9 + "1\n",
                                               encoding="utf-8")
        said = self.sweep("--rows", "slips.csv").stderr.split("1 row simulated")[0]
        *lines, last = said.splitlines()
        self.check("of many such columns whole lines are given", len(lines) > 5
                   and last == "(and others)"
                   and all(line.startswith("column ") and line.endswith("?") for line in lines),
                   str(lines))
        (self.folder / "twice.csv").write_text("layout.tensor,layout.tensor\n1,2\n",
                                               encoding="utf-8")
        twice = self.sweep("--rows", "twice.csv")
        self.check("a key has one column", twice.returncode == 3
                   and "layout.tensor is there twice; keep one" in twice.stderr, twice.stderr)
        misspelt = self.sweep("--over", "layout.tensr=1,2")
        self.check("a misspelt key is an error", misspelt.returncode == 2, misspelt.stderr)

    def best(self):
        """The table at the end is that of the rows with most tokens a second, and no other."""
        over = ["--over", "layout.tensor=1,2,4,8", "--over", "layout.zero=0,1", "--over",
                "schedule.name=gpipe,1f1b", "--over", "layout.micro_batch=1"]
        done = self.sweep(*over)
        table = list(csv.DictReader(done.stdout.splitlines()))
        fit = [(-float(r["tokens_per_s"]), i) for i, r in enumerate(table) if r["fits"] == "1"]
        head, *lines = done.stderr.split("fastest that fit\n")[1].splitlines()
        rows = [line.split() for line in lines]
        self.check("five rows are named, the fastest first",
                   [int(r[0]) - 1 for r in rows] == [i for _, i in sorted(fit)[:5]], done.stderr)
        self.check("with the keys that vary, what came out of them, and the stack", head.split() ==
                   ["row", "tensor", "zero", "schedule", "step", "tokens/s", "MFU", "memory",
                    "framework"], head)
        self.check("as the table has them", all(
            r[1:4] == [table[int(r[0]) - 1][k] for k in ("layout.tensor", "layout.zero",
                                                         "schedule.name")]
            and abs(float(r[4]) / float(table[int(r[0]) - 1]["step_time_s"]) - 1) < 1e-3
            and r[-1] == table[int(r[0]) - 1]["framework"] for r in rows), done.stderr)
        none = self.sweep("--over", "layout.tensor=1", "--over", "layout.micro_batch=32")
        self.check("where nothing fits there is no such table", none.returncode == 0
                   and "fastest" not in none.stderr and "1 does not" in none.stderr, none.stderr)

    def space(self):
        """Combinations whose values cannot go together have no rows; mistakes keep theirs."""
        done = self.sweep("--over", "schedule.chunks=1,2,4", "--over",
                          "schedule.name=1f1b,interleaved,zb-v")
        table = list(csv.DictReader(done.stdout.splitlines()))
        self.check("chunks are for schedules that have them",
                   [(r["schedule.chunks"], r["schedule.name"]) for r in table] ==
                   [("1", "1f1b"), ("1", "interleaved"), ("2", "interleaved"), ("2", "zb-v"),
                    ("4", "interleaved")] and not any(r["error"] for r in table), done.stdout)
        self.check("and the others are counted, with the reason", done.stderr.startswith(
            "4 of 9 combinations left out, whose values cannot go together: 4 for schedule.chunks "
            "(such as zb-v: 1 virtual stage per rank; it has exactly 2)\n5 rows simulated"),
            done.stderr)
        done = self.sweep("--over", "layout.tensor=2,3", "--over", "layout.pipeline=4,5,8")
        table = list(csv.DictReader(done.stdout.splitlines()))
        self.check("a value that is wrong beside all others keeps its rows, with the error",
                   [(r["layout.tensor"], r["layout.pipeline"], bool(r["error"])) for r in table] ==
                   [("2", "4", False), ("2", "5", True), ("2", "8", False), ("3", "4", True),
                    ("3", "5", True), ("3", "8", True)] and "left out" not in done.stderr,
                   done.stdout)
        done = self.sweep("--over", "layout.tensor=8,4", "--over", "layout.pipeline=8,4", "--over",
                          "layout.micro_batch=1,2")
        self.check("GPUs that do not suffice for both are a reason", done.returncode == 0
                   and done.stdout.count("\n") == 7 and "2 of 8 combinations left out" in done.stderr
                   and "2 for layout.pipeline (such as tensor x context x pipeline" in done.stderr,
                   done.stderr)
        (self.folder / "chunks.csv").write_text("schedule.chunks,schedule.name\n1,1f1b\n2,1f1b\n"
                                                "2,zb-v\n1,zb-v\n", encoding="utf-8")
        done = self.sweep("--rows", "chunks.csv")
        table = list(csv.DictReader(done.stdout.splitlines()))
        self.check("rows that somebody wrote stay", [bool(r["error"]) for r in table] ==
                   [False, True, False, True] and "left out" not in done.stderr, done.stdout)
        self.left_out_and_resumed()

    def piped(self):
        """A run file on standard input is read once, and by every row."""
        done = subprocess.run([self.binary, "sweep", "-", "--rows", "rows.csv", "-q"], input=RUN,
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.check("a run file may be standard input", done.returncode == 0 and done.stdout.replace(
            "<stdin>", "run.yaml") == self.sweep("--rows", "rows.csv", "-q").stdout, done.stderr)

    def left_out_and_resumed(self):
        over = ["--over", "schedule.chunks=1,2", "--over", "schedule.name=1f1b,zb-v", "--over",
                "layout.tensor=2,4", "-o", "space.csv"]
        self.sweep(*over)
        whole = (self.folder / "space.csv").read_text(encoding="utf-8")
        (self.folder / "space.csv.partial").write_text(
            partial(whole.splitlines(True), [3, 0]), encoding="utf-8")
        done = self.sweep(*over, "--resume", "--jobs", "3")
        self.check("what is left out stays out when a sweep goes on", done.stderr.count("2 kept") == 1
                   and (self.folder / "space.csv").read_text(encoding="utf-8") == whole, done.stderr)

    def threads(self):
        whole = self.sweep(*OVER, "--jobs", "1", "-o", "one.csv")
        one = (self.folder / "one.csv").read_bytes()
        self.check("a sweep writes its table", whole.returncode == 0 and one.count(b"\n") == 37,
                   whole.stderr)
        self.sweep(*OVER, "--jobs", "4", "-o", "four.csv")
        self.check("threads change nothing", (self.folder / "four.csv").read_bytes() == one)

    def kept_rows(self):
        """The summary is of the whole table, whoever simulated its rows."""
        whole = self.sweep("--rows", "rows.csv", "-o", "whole.csv")
        found = whole.stderr.split(" simulated", 1)[-1]
        lines = (self.folder / "whole.csv").read_text(encoding="utf-8").splitlines(True)
        for kept, simulated in ((1, "3 rows"), (2, "2 rows"), (3, "1 row"), (4, "0 rows")):
            (self.folder / "kept.csv.partial").write_text(partial(lines, range(kept)),
                                                          encoding="utf-8")
            done = self.sweep("--rows", "rows.csv", "-o", "kept.csv", "--resume")
            self.check(f"a summary counts {kept} kept rows", "fastest that fit" in found
                       and done.stderr.endswith(f"{simulated} simulated, {kept} kept{found}"),
                       done.stderr)

    def foreign_rows(self):
        """A partial table of another sweep is refused and left as it was."""
        left = self.folder / "other.csv.partial"
        for fact, over in (("other values", "layout.tensor=4,2"),
                           ("too many rows", "layout.tensor=1"),
                           ("other columns", "layout.pipeline=1,2")):
            text = self.sweep("--over", "layout.tensor=1,2").stdout
            numbered = partial(text.splitlines(True), [0, 1])
            left.write_text(numbered)
            done = self.sweep("--over", over, "-o", "other.csv", "--resume")
            self.check(f"--resume refuses a partial table with {fact}", done.returncode == 3
                       and "of this sweep; remove it to start again" in done.stderr
                       and left.read_text() == numbered, done.stderr)


    def bands(self):
        """How sure a table is depends neither on threads nor on who simulated its rows."""
        over = ["--over", "layout.tensor=1,2,4,8", "--over", "layout.micro_batch=1,2",
                "--uncertain", "--set", "uncertainty.errors=[cluster.derate 5 %]"]
        whole = self.sweep(*over, "-o", "bands.csv", "--jobs", "1")
        text = (self.folder / "bands.csv").read_text(encoding="utf-8")
        rows = [row for row in csv.DictReader(text.splitlines()) if not row["error"]]
        self.check("a step time lies in its band", rows and all(
            float(row["step_low_s"]) < 0.95 * float(row["step_time_s"])
            and float(row["step_high_s"]) > 1.05 * float(row["step_time_s"]) for row in rows), text)
        (self.folder / "bands.csv.partial").write_text(
            partial(text.splitlines(True), [5, 0, 3]), encoding="utf-8")
        done = self.sweep(*over, "-o", "bands.csv", "--jobs", "3", "--resume")
        self.check("a sweep with bands goes on", "3 kept" in done.stderr and text ==
                   (self.folder / "bands.csv").read_text(encoding="utf-8"), done.stderr)
        said = "fastest that fit"
        self.check("and tells the same rows apart", "no significant difference from row" in whole.stderr
                   and whole.stderr.split(said)[1] == done.stderr.split(said)[1], done.stderr)
        sure = self.sweep(*over, "--set", "uncertainty.scatter=0 %",
                          "--set", "uncertainty.layout_scatter=0 %")
        self.check("rows without scatter of their own are told apart",
                   "(p > 0.05): 0 of" in sure.stderr, sure.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        suite.rows()
        suite.piped()
        suite.left_alone()
        suite.best()
        suite.space()
        suite.targets()
        suite.threads()
        suite.kept_rows()
        suite.foreign_rows()
        suite.bands()
        print(f"1..{suite.number}")
        return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
