#!/usr/bin/env python3
"""Every call that reads, writes, names or starts something fails once, in a run of its own.

io.py BINARY SHIM [STRIDE]: with a stride only every so-manieth of the calls of a kind. What may
happen is one of two: the run ends as if there had been no fault, or it ends with a message that says
what could not be done and exit status 3 (4: where memory was short; 130: interrupted), and what is under a final name
then is whole. No temporary is left, and a sweep goes on from what it finished.
"""
import errno
import os
import sys

from runs import COMMANDS, RUN, Outcome

BINARY, SHIM = (os.path.abspath(path) for path in sys.argv[1:3])
STRIDE = int(sys.argv[3]) if len(sys.argv) > 3 else 1
# what the run files above leave out: (words, what they write, run file)
MORE = [
    (["calibrate", "run.yaml", "--rows", "rows.csv", "--measured", "seconds", "--fit",
      "cluster.derate", "-j", "1", "-o", "overlay.yaml"], ["overlay.yaml"], RUN),
    (["run", "run.yaml", "-q", "--trace", "digest:d.txt", "--trace", "chrome:-"], ["d.txt"], RUN),
    (["run", "run.yaml", "-o", "out", "--trace", "kineto:folder.gz", "--ranks", "0-1"], ["out"],
     RUN),
    (["sweep", "run.yaml", "--rows", "rows.csv", "-j", "2"], [], RUN),
    (["import", "kineto", ".", "-o", "table.csv"], ["table.csv"], "profile"),
]
# how a call fails, with what number, and whether the answer must be the same all the same
# where several threads are started
THREADS = [
    (["sweep", "run.yaml", "--over", "layout.tensor=1,2", "--over", "layout.zero=0,1", "-j", "4",
      "-o", "table.csv"], ["table.csv"], RUN),
    (["run", "run.yaml", "--set", "layout.global_batch=128", "--detail", "op", "--args", "full",
      "-o", "out", "--trace", "chrome:t.json.gz"], ["out", "t.json.gz"], RUN),
]
FAULTS = [("error", errno.ENOSPC, False), ("error", errno.EIO, False), ("ever", errno.ENOSPC, False),
          ("error", errno.EMFILE, False), ("short", 0, True), ("signal", 0, True),
          ("user", 0, False)]


def run(case, how, number, at, more=None, calls=None):
    words, _, yaml = case
    environment = {"LD_PRELOAD": SHIM, "FAIL_IO": str(at), "FAIL_IO_HOW": how,
                   "FAIL_IO_ERRNO": str(number), "FAIL_IO_LOG": "{here}/log"}
    if calls:
        environment["FAIL_IO_CALLS"] = calls
    return Outcome(BINARY, words, yaml, environment, more)


def same(right, now):
    return (now.status, now.printed, now.files) == (right.status, right.printed, right.files)


def resumed(case, right, now):
    """A sweep that was ended goes on from the rows it has, and its table is the same."""
    name = "table.csv.partial"
    words = [*case[0], "--resume"]
    again = Outcome(BINARY, words, case[2], {}, {name: now.files[name]})
    return again.files.get("table.csv") == right.files["table.csv"] and again.status == 0


def complaint(case, right, now, how, must_be_same):
    """What is wrong with how a run ended; None when nothing is."""
    if same(right, now):
        return None
    if must_be_same:
        return f"another answer, status {now.status}: {now.err}"
    if now.status not in ((130,) if how == "user" else (3, 4)):
        return f"exit status {now.status}: {now.err}"
    if how != "user" and not any(word in now.err for word in ("cannot", "memory")):
        return f"message: {now.err!r}"
    kept = {"table.csv.partial"} if case[0][0] == "sweep" else set()
    litter = set(now.files) - set(right.files) - kept
    if litter:
        return f"left behind: {litter}"
    broken = [name for name in set(now.files) - kept if now.files[name] != right.files[name]]
    if broken:
        return f"not whole: {broken}"
    if "table.csv.partial" in now.files and not resumed(case, right, now):
        return "the sweep does not go on"
    return None


def every_call(case, fault, calls=None):
    """Whether each call may fail so. Prints what was tried, and what was wrong."""
    how, number, must_be_same = fault
    right = run(case, how, number, 0, calls=calls)
    assert right.status in (0, 1), (case[0], right.err)
    wrong, n_calls, harmless = [], int(right.log[0]), 0
    if n_calls == 0:
        wrong.append("none of them is called")
    for at in range(1, n_calls + 1, 1 if calls else STRIDE):
        now = run(case, how, number, at, calls=calls)
        what = complaint(case, right, now, how, must_be_same)
        harmless += what is None and same(right, now)
        if what is not None:
            wrong.append(f"{at} ({now.log[1] if now.log else '?'}): {what}")
    told = f"{' '.join(case[0][:6])}: {how} {errno.errorcode.get(number, '')}"
    return wrong, f"{told}: {n_calls} calls{' of ' + calls if calls else ''}, {harmless} not missed"


def main():
    cases = [case for case in COMMANDS if case[1] or case[0][0] == "list"] + MORE
    tries = [(case, fault) for case in cases for fault in FAULTS]
    tries += [(case, ("error", errno.EAGAIN, True), "pthread_create") for case in THREADS]
    failed = 0
    print(f"1..{len(tries)}")
    for n, one in enumerate(tries, 1):
        wrong, told = every_call(*one)
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {n} - {told}", flush=True)
        for line in wrong[:10]:
            print("#", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
