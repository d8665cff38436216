#!/usr/bin/env python3
"""Every allocation of small runs of every command fails once, each in a run of its own.

alloc.py BINARY SHIM [STRIDE]: with a stride only every so-manieth of them, and the last, where
commands differ; without, all processors take part. calibrate makes tens of thousands,
mostly the same for each of its runs: of them one in THINNED. The run ends as if nothing had happened
(somebody could do without), or with exit status 4, a message and no output file; never by a signal,
never with half of an answer.
"""
import concurrent.futures
import functools
import os
import sys

from runs import COMMANDS, READERS, WRONG, Outcome

BINARY, SHIM = (os.path.abspath(path) for path in sys.argv[1:3])
STRIDE = int(sys.argv[3]) if len(sys.argv) > 3 else 1
LAST = 20 if STRIDE == 1 else 6
THINNED = 67
CASES = COMMANDS + READERS


def run(case, at):
    words, _, yaml = case
    return Outcome(BINARY, words, yaml, {"LD_PRELOAD": SHIM, "FAIL_ALLOC": str(at),
                                         "FAIL_ALLOC_COUNT": "{here}/log"})


def complaint(right, now):
    """What is wrong with how a run ended; None when nothing is."""
    if now.status < 0:
        return f"signal {-now.status}"
    litter = sorted(set(now.files) - set(right.files) - {"table.csv.partial"})
    if litter:
        return f"left behind: {litter}"
    if now.status == right.status:
        if now.status == 0 and "memory is exhausted" in now.err:
            return f"as if done, with the message {now.err!r}"
        if now.printed != right.printed and now.files == right.files:
            return "another answer"
        return None if now.files == right.files else f"files {sorted(now.files)}"
    if now.status != 4:
        return f"exit status {now.status}"
    if "memory" not in now.err and "cannot" not in now.err:
        return f"message: {now.err!r}"
    partial = [name for name, data in now.files.items()
               if name in right.files and data != right.files[name]]
    return f"partial {partial}" if partial else None


def judge(case, right, at):
    """Whether it ended as if nothing had happened, and what is wrong."""
    now = run(case, at)
    return now.status == right.status, complaint(right, now)


def tried(case, allocations):
    """Which allocations fail."""
    stride = STRIDE * (THINNED if case[0][0] == "calibrate" else 1)
    return [n for n in range(1, allocations + 1) if n % stride == 0 or n + LAST >= allocations]


def main():
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() if STRIDE == 1 else 1)
    print(f"1..{len(CASES)}")
    failed = 0
    for number, case in enumerate(CASES, 1):
        right = run(case, 0)
        allocations = int(right.log[0])
        assert allocations > 0 and right.status == (3 if case[2] == WRONG else 0), right.err
        numbers = tried(case, allocations)
        ends = list(pool.map(functools.partial(judge, case, right), numbers))
        harmless = sum(same for same, _ in ends)
        wrong = [f"{n}: {what}" for n, (_, what) in zip(numbers, ends) if what is not None]
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {' '.join(case[0][:5])}: "
              f"{allocations} allocations, {harmless} not missed")
        for line in wrong[:10]:
            print("#", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
