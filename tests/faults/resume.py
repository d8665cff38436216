#!/usr/bin/env python3
"""A sweep that is ended, in whatever way, goes on from the rows it finished: the table is the same to
the byte.

resume.py BINARY SHIM [STRIDE]: with a stride only every so-manieth place where a table can be cut,
and some of the calls where it is killed.
SHIM is fail_io.so, or "none" where nothing can be preloaded.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from tap import Test  # pylint: disable=wrong-import-position

SHIM = os.path.abspath(sys.argv[2]) if sys.argv[2] != "none" else None
STRIDE = int(sys.argv[3]) if len(sys.argv) > 3 else 1
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
'''
SLOTS = "rank 0: F0.0 F1.0 B0.0 B1.0\nrank 1: F0.1 B0.1 F1.1 B1.1\n"
SEED = 7


class Sweep:
    """A folder with a run file and a table of rows, and the table that a sweep makes of them."""

    def __init__(self, test, folder, rows=ROWS, run=RUN):
        self.test, self.folder = test, folder
        (folder / "run.yaml").write_text(run)
        (folder / "rows.csv").write_text(rows)
        (folder / "own.slots").write_text(SLOTS)
        self.out, self.partial = folder / "t.csv", folder / "t.csv.partial"
        done = self.sweep("-j", "1")
        assert done.returncode == 0, done
        self.right = self.out.read_bytes()
        self.out.unlink()

    def words(self, *options):
        return ["sweep", "run.yaml", "--rows", "rows.csv", "-o", "t.csv", *options]

    def sweep(self, *options, **more):
        return self.test.call(self.folder, *self.words(*options), **more)

    def start(self, *options, env=None):
        return subprocess.Popen([self.test.binary, *self.words(*options)], cwd=self.folder, env=env,
                                stderr=subprocess.PIPE, text=True)

    def goes_on(self, *options):
        """Whether the same command with --resume makes the same table, and nothing is left over."""
        done = self.sweep("--resume", *options)
        same = self.out.exists() and self.out.read_bytes() == self.right
        left = sorted(p.name for p in self.folder.iterdir() if p.name.startswith("t.csv"))
        self.out.unlink(missing_ok=True)
        return done.returncode == 0 and same and left == ["t.csv"], done

    def whole_partial(self):
        """PATH.partial with all rows, from a sweep whose last step cannot be done."""
        (self.folder / "t.csv.partial.ordered").mkdir()
        done = self.sweep("-j", "1")
        (self.folder / "t.csv.partial.ordered").rmdir()
        assert done.returncode == 3 and "--resume continues there" in done.stderr, done
        return self.partial.read_bytes()


def cuts(test, folder):
    """A kill in the middle of a write leaves the file cut anywhere; a crash of the machine may leave
    zeros from anywhere on, or instead of a block in the middle."""
    sweep = Sweep(test, folder)
    whole = sweep.whole_partial()
    wrong = {"cut": [], "zero tail": [], "zero block": []}
    for at in range(0, len(whole) + 1, STRIDE):
        for kind, left in (("cut", whole[:at]), ("zero tail", whole[:at].ljust(len(whole), b"\0")),
                           ("zero block", whole[:at] + bytes(len(whole[at:at + 64]))
                            + whole[at + 64:])):
            sweep.partial.write_bytes(left)
            good, done = sweep.goes_on("-j", "1")
            if not good:
                wrong[kind].append((at, done.stderr))
                sweep.partial.unlink(missing_ok=True)
    for kind, places in wrong.items():
        test.check(f"{kind} at each of {len(whole)} bytes, every {STRIDE}.", not places,
                   (len(places), places[:3]))
    head, first, *others = whole.split(b"\n")
    torn = b"\n".join([first, others[0][:40], *others[1:]])
    sweep.partial.write_bytes(head + b"\n" + torn)
    good, done = sweep.goes_on()
    test.check("all before a torn row counts, what comes behind is told and run again",
               good and f"its last {len(torn) - len(first) - 1} bytes are no whole rows" in done.stderr
               and ", 1 kept" in done.stderr, done)


def orders(test, folder):
    """Rows are kept in whatever order they finished, and given back in that of the table."""
    sweep = Sweep(test, folder)
    first, *rows = sweep.whole_partial().replace(b"on\ntwo", b"on@two").splitlines(True)
    dice = random.Random(SEED)
    for attempt in range(5):
        some = dice.sample(rows, dice.randrange(len(rows) + 1))
        sweep.partial.write_bytes(b"".join([first, *some]).replace(b"on@two", b"on\ntwo"))
        good, done = sweep.goes_on()
        test.check(f"rows in order {[int(r.split(b',')[0]) for r in some]}", good
                   and (not some or f"{len(some)} kept" in done.stderr), done)


def kills(test, folder):
    """kill -9 before every single call that touches a file, and at random moments."""
    sweep = Sweep(test, folder)
    for jobs in ("1", "4"):
        wrong, at, ended = [], 0, False
        while SHIM and not ended:
            at += 1 if STRIDE == 1 else 3
            env = {**os.environ, "LD_PRELOAD": SHIM, "FAIL_IO": str(at), "FAIL_IO_HOW": "kill"}
            ended = sweep.sweep("-j", jobs, env=env).returncode == 0
            good, done = sweep.goes_on("-j", jobs)
            if not good:
                wrong.append((at, done))
        test.check(f"killed before some of {at} calls, --jobs {jobs}", not wrong, wrong[:3])
    many = folder / "many"
    many.mkdir()
    values = [f"n{i},{i % 5},{256 * (1 + i % 3)}" for i in range(120)]
    sweep = Sweep(test, many, "name,layout.tensor,model.hidden\n" + "\n".join(values) + "\n")
    dice = random.Random(SEED)
    for jobs in ("1", "2", "8"):
        for attempt in range(4):
            for _ in range(3):
                with sweep.start("--resume", "-j", jobs) as process:
                    time.sleep(dice.uniform(0, 0.3))
                    process.send_signal(signal.SIGKILL)
                sweep.out.unlink(missing_ok=True)  # it may have come to its end
            good, done = sweep.goes_on("-j", jobs)
            test.check(f"killed three times, seed {SEED}, --jobs {jobs}, attempt {attempt}", good,
                       done)
    shutil.rmtree(many)


def wait_for(found, process):
    """Polls until it is found, or the process has ended."""
    while process.poll() is None and not found():
        time.sleep(0.002)
    return found()


def stuck(test, folder):
    """A sweep whose first row waits for a pipe while another thread finishes the others."""
    rows = "schedule.file,layout.global_batch,layout.data\nwait.slots,2,1\n" + ",8,\n" * 5
    (folder / "wait.slots").write_text(SLOTS)
    sweep = Sweep(test, folder, rows)

    def begin():
        (folder / "wait.slots").unlink(missing_ok=True)
        os.mkfifo(folder / "wait.slots")
        process = sweep.start("-j", "2")
        ready = wait_for(lambda: sweep.partial.exists()
                         and sweep.partial.read_bytes().count(b"\n") == 6, process)
        return process, ready

    def unblock():
        (folder / "wait.slots").unlink()
        (folder / "wait.slots").write_text(SLOTS)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        process, ready = begin()
        process.send_signal(number)
        said = process.stderr.read()
        status = process.wait()
        kept = sweep.partial.read_bytes()
        unblock()
        good, done = sweep.goes_on()
        killed = number == signal.SIGKILL
        test.check(f"{number.name}: rows behind one that is not finished are kept",
                   ready and status == (-9 if killed else 128 + number)
                   and kept.count(b"\n") == 6
                   and (killed or "with --resume continues" in said)
                   and good and "1 row simulated, 5 kept" in done.stderr, (status, said, done))
    process, ready = begin()
    other = sweep.sweep("--resume")
    test.check("a second sweep into the same table is refused", ready and other.returncode == 3
               and "another sweep writes it" in other.stderr, other)
    process.kill()
    process.wait()
    process.stderr.close()
    unblock()
    good, done = sweep.goes_on()
    test.check("and a dead one holds nothing", good, done)


def changes(test, folder):
    """A partial table belongs to its rows, its run file, and what the run file names."""
    sweep = Sweep(test, folder)
    whole = sweep.whole_partial()
    for fact, name, text, said in (
            ("a row changed", "rows.csv", ROWS.replace("65536", "32768"), "row 3 is not that of"),
            ("a row inserted", "rows.csv", ROWS.replace("plain", "new,1,,\nplain"), "row 1 is not"),
            ("a row removed", "rows.csv", "\n".join(ROWS.split("\n")[:-2]) + "\n", "row 6 is not"),
            ("a column renamed", "rows.csv", ROWS.replace("note", "text"), "its columns are not"),
            ("the run file changed", "run.yaml", RUN.replace("global_batch: 8", "global_batch: 16"),
             "has another result now")):
        before = (folder / name).read_text()
        (folder / name).write_text(text)
        sweep.partial.write_bytes(whole)
        done = sweep.sweep("--resume")
        test.check(f"{fact}: told, and nothing is touched", done.returncode == 3
                   and said in done.stderr and "remove it to start again" in done.stderr
                   and sweep.partial.read_bytes() == whole and not sweep.out.exists(), done)
        (folder / name).write_text(before)
    sweep.partial.write_bytes(b"\xef\xbb\xbf" + whole)
    done = sweep.sweep("--resume")
    test.check("what an editor made of it is refused", done.returncode == 3
               and "not what a sweep wrote" in done.stderr, done)
    sweep.partial.unlink()


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    for part in (cuts, orders, kills, stuck, changes):
        with tempfile.TemporaryDirectory() as name:
            part(test, pathlib.Path(name).resolve())
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
