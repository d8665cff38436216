#!/usr/bin/env python3
"""Shards of a sweep, merged, are the table that one process writes; what does not go together is
refused.

shards.py BINARY
"""
import csv
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tap import Test

RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}
layout: {global_batch: 8, pipeline: 2}
"""
# rows that fail, that do not fit, and that have to be quoted
ROWS = '''\
name,layout.tensor,model.hidden,note
plain,2,,"with, a comma"
broken,3,,"three ""heads"" of four, on
two lines"
large,1,65536,
empty,,,
same,2,,"with, a comma"
same,2,,"with, a comma"
sixth,1,512,
'''
OVER = ("--over", "layout.tensor=1,2,4", "--over", "schedule.name=gpipe,1f1b,interleaved", "--over",
        "schedule.chunks=1,2")


class Folder:
    """A run file and rows, and the table that one process makes of them."""

    def __init__(self, test, path, *table):
        self.test, self.path, self.table = test, path, table or ("--rows", "rows.csv")
        path.mkdir()
        (path / "run.yaml").write_text(RUN)
        (path / "rows.csv").write_text(ROWS)
        self.whole = self.sweep("-o", "whole.csv")
        assert self.whole.returncode == 0, self.whole
        self.right = (path / "whole.csv").read_bytes()

    def words(self, *options):
        return ["sweep", "run.yaml", *self.table, *options]

    def sweep(self, *options):
        return self.test.call(self.path, *self.words(*options))

    def shards(self, n, *options):
        """Names of the tables of n shards."""
        for i in range(1, n + 1):
            done = self.sweep("--shard", f"{i}/{n}", "-o", f"s{i}.csv", *options)
            assert done.returncode == 0, done
        return [f"s{i}.csv" for i in range(1, n + 1)]

    def merged(self, names):
        """How the merge ended; whether it made the right table and left nothing over."""
        (self.path / "all.csv").unlink(missing_ok=True)
        done = self.sweep("-o", "all.csv", "--merge", *names)
        there = sorted(p.name for p in self.path.iterdir() if p.name.startswith("all.csv"))
        return done, there == ["all.csv"] and (self.path / "all.csv").read_bytes() == self.right


def merges(test, path):
    """Any number of shards, also more than rows."""
    for name, table in ("rows", ()), ("combinations", OVER):
        folder = Folder(test, path / name, *table)
        n_rows = len(list(csv.reader(folder.right.decode().splitlines(True)))) - 1
        for n in (1, 2, 3, n_rows + 2):
            names = folder.shards(n, "--jobs", "3")
            done, same = folder.merged(names[::-1])
            test.check(f"{n} shards of {n_rows} {name} are one table",
                       done.returncode == 0 and same, done)
        tail = folder.whole.stderr.split(" simulated")[1]
        test.check(f"a merge of {name} says of it what one process does",
                   done.stderr.endswith(f"0 rows simulated, {n_rows} kept{tail}")
                   and done.stderr.split("0 rows")[0]
                   == folder.whole.stderr.split(f"{n_rows} rows simulated")[0], done.stderr)
        out = folder.sweep("--merge", *names)
        test.check(f"a merge of {name} on standard output",
                   out.stdout.encode() == folder.right, out)
    names = folder.shards(2)
    text = (folder.path / "s2.csv").read_text()
    rows = [row[0] for row in csv.reader(text.splitlines(True))]
    test.check("the second of two shards has every second row", rows ==
               ["row", *(str(i) for i in range(2, n_rows + 1, 2))], rows)
    folder.shards(3)
    done, same = folder.merged([*names, "s3.csv"])
    test.check("rows that are there more than once are the same", done.returncode == 0 and same,
               done)


def ended(test, path):
    """A shard that is killed goes on; what it had finished can be merged as it is."""
    values = [f"n{i},{i % 5},{256 * (1 + i % 3)},\n" for i in range(150)]
    folder = Folder(test, path / "ended")
    head = "name,layout.tensor,model.hidden,note\n"
    (folder.path / "rows.csv").write_text(head + "".join(values))
    assert folder.sweep("-o", "whole.csv").returncode == 0
    folder.right = (folder.path / "whole.csv").read_bytes()
    folder.shards(2)
    (folder.path / "s2.csv").unlink()
    partial = folder.path / "s2.csv.partial"
    words = folder.words("--shard", "2/2", "-o", "s2.csv", "-j", "1", "-q")
    with subprocess.Popen([test.binary, *words], cwd=folder.path) as process:
        while process.poll() is None and not (
                partial.exists() and partial.read_bytes().count(b"\n") > 5):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    kept = partial.read_bytes().count(b"\n") - 1 if partial.exists() else 0
    done, _ = folder.merged(["s1.csv", "s2.csv.partial"])
    test.check("killed, it lacks rows", 0 < kept < 75 and done.returncode == 3
               and " of 150 rows are missing: " in done.stderr, (kept, done))
    again = folder.sweep("--shard", "2/2", "-o", "s2.csv", "--resume")
    done, same = folder.merged(["s1.csv", "s2.csv"])
    test.check("and goes on", again.returncode == 0 and f"{kept} kept" in again.stderr and same,
               (again, done))


def mistakes(test, path):
    """Nothing but all shards of one sweep makes a table."""
    folder = Folder(test, path / "mistakes")
    for name, text, status, said in (
            ("no number", "x", 2, "--shard x: not I/N; write which of how many, such as 2/8"),
            ("no count", "2", 2, "--shard 2: not I/N; write which of how many, such as 2/8"),
            ("more behind it", "1/2x", 2, "--shard 1/2x: not I/N"),
            ("none of them", "0/4", 2, "there is no shard 0; write one of 1/4 .. 4/4"),
            ("one too many", "5/4", 2, "there is no shard 5; write one of 1/4 .. 4/4"),
            ("of none", "0/0", 2, "--shard 0/0: not I/N")):
        done = folder.sweep("--shard", text, "-o", "bad.csv")
        test.check(f"--shard with {name}", done.returncode == status and said in done.stderr, done)
    a, b, c = folder.shards(3)
    shutil.copy(folder.path / b, folder.path / "other.csv")
    lines = (folder.path / a).read_bytes()
    (folder.path / "cut.csv").write_bytes(lines[:-9])
    (folder.path / "bent.csv").write_bytes(lines.replace(b",plain,", b",plein,"))
    (folder.path / "table.csv").write_bytes(folder.right)
    for name, words, status, said in (
            ("no table", (), 2, "--merge: no table of a shard is named"),
            ("a shard that is missing", (a, c), 3,
             "all.csv: 2 of 7 rows are missing: 2, 5\nhint: the shards that have them"),
            ("a shard that is cut", ("cut.csv", b, c), 3, "1 of 7 rows are missing: 7"),
            ("a shard that was changed", ("bent.csv", b, c), 3, "3 of 7 rows are missing: 1, 4, 7"),
            ("a shard that is no file", (a, b, "none.csv"), 3, "none.csv"),
            ("a table that is no shard", (a, b, "table.csv"), 3,
             "table.csv: its columns are not those of this sweep; merge the shards of one sweep"),
            ("another run file", (a, b, c, "--set", "layout.global_batch=16"), 3,
             "s1.csv: row 7 has another result now"),
            ("other rows", (a, b, c, "--rows", "others.csv"), 3,
             "s1.csv: its row 1 is not that of this sweep; merge the shards of one sweep"),
            ("the table among them", (a, b, c, "-o", a), 2, f"{a} is an input")):
        (folder.path / "others.csv").write_text(ROWS.replace("plain", "other"))
        done = folder.sweep("-o", "all.csv", "--merge", *words)
        left = sorted(p.name for p in folder.path.iterdir() if p.name.startswith("all.csv"))
        test.check(f"a merge of {name}", done.returncode == status and said in done.stderr
                   and left == [], (done, left))
    done = folder.sweep(a)
    test.check("tables without --merge", done.returncode == 2
               and "tables of shards go with --merge" in done.stderr, done)
    done = folder.sweep("--shard", "1/2")
    test.check("a shard without a table", done.returncode == 2 and "name the table" in done.stderr,
               done)
    done = folder.sweep("--shard", "1/2", "--merge", a, b, "-o", "all.csv")
    test.check("a shard that merges", done.returncode == 2 and "write one of them" in done.stderr,
               done)
    broken = Folder(test, path / "broken")
    (broken.path / "rows.csv").write_text(ROWS.replace("1,512", "3,512"))
    left, right = broken.shards(2)
    done = broken.sweep("--merge", left, right)
    test.check("the first row without an answer is told, whoever had it",
               done.stderr.startswith("row 2: layout.tensor: 3 does not divide"), done.stderr)


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    for part in (merges, ended, mistakes):
        with tempfile.TemporaryDirectory() as name:
            part(test, pathlib.Path(name).resolve())
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
