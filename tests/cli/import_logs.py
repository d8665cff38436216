#!/usr/bin/env python3
"""`trainyard import log`: the logs in logs/ beside this file, written for it, each against its run
file, and what logs are like that nobody hoped for.

usage: import_logs.py TRAINYARD [--update]   with --update the run files are written anew
"""
import gzip
import pathlib
import re
import sys
import tempfile

import tap

LOGS = pathlib.Path(__file__).resolve().parent / "logs"
# Name: further words.
FORMATS = {"megatron": (), "bloom": (), "neox": (), "torchtitan": (), "nanotron": (), "maxtext": (),
           "llm-foundry": (), "trainer": (), "nemo": (), "megatron-bridge": (),
           "mlperf": ("mlperf_config.sh",), "deepspeed": ("config.json",)}


def plain(text):
    """Without the version, which changes."""
    return re.sub(r"imported by trainyard \S+", "imported by trainyard", text, count=1)


def value(text, key):
    found = re.search(rf"^  {key}: (.*?) +#", text, re.M)
    return found[1] if found else None


def check_formats(t, update):
    for name, more in FORMATS.items():
        done = t.call(LOGS, "import", "log", f"{name}.log", *more, "--quiet")
        kept = LOGS / f"{name}.yaml"
        if update:
            kept.write_text(plain(done.stdout), encoding="utf-8")
        t.check(f"{name}: the run file", done.returncode == 0
                and plain(done.stdout) == kept.read_text(encoding="utf-8"), done.stderr + done.stdout)


def imported(t, folder, text, *words, mode="w"):
    path = pathlib.Path(folder, "train.log")
    with open(path, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:
        file.write(text)
    return t.call(folder, "import", "log", "train.log", "--quiet", *words)


def check_variants(t, folder, log):
    """The same log as launchers, terminals and packers leave it."""
    usual = value(t.call(LOGS, "import", "log", "megatron.log", "--quiet").stdout, "step_time")
    lines = log.split("\n")
    noise = ["[rank3]: a word of another rank", "\x1b[31mwarning\x1b[0m"]
    mixed = "\n".join(other for line in lines for other in ["0: " + line, "1: " + noise[0]])
    bars = log.replace("\n", "\r\n") + "\rdata:  10%|#  | 1/10 [00:01<00:09, 1.00s/it]\r"
    for what, text in (("srun's labels, interleaved", mixed), ("carriage returns", bars),
                       ("colours", "\n".join(f"\x1b[32m{line}\x1b[0m" for line in lines)),
                       ("torchrun's labels", "\n".join("[default0]:" + line for line in lines))):
        done = imported(t, folder, text)
        t.check(f"{what}: the same step time", value(done.stdout, "step_time") == usual, done)
        t.check(f"{what}: the same layers", value(done.stdout, "layers") == "32", done)
    done = imported(t, folder, gzip.compress(log.encode()), mode="wb")
    t.check("gzip: the same step time", value(done.stdout, "step_time") == usual, done)
    done = imported(t, folder, gzip.compress(log.encode())[:-2000], mode="wb")
    t.check("gzip that is cut is refused, with its name", done.returncode == 3
            and "train.log" in done.stderr, done)
    cut = imported(t, folder, "\n".join(lines[:-9])[:-7])
    t.check("a log that is cut gives what is there", cut.returncode == 0
            and value(cut.stdout, "steps") != value(log, "steps"), cut)


def check_runs(t, folder, log):
    slow = re.sub(r"\(ms\): (\d+)\.\d \|", lambda found: f"(ms): {2 * int(found[1])}.0 |", log)
    crashed = "\n".join(log.split("\n")[:80])
    both = log + slow + crashed
    times = {run: value(imported(t, folder, both, *run).stdout, "step_time")
             for run in ((), ("--run", "1"), ("--run", "2"))}
    t.check("of several runs the last with steps counts", times[()] == times[("--run", "2")], times)
    t.check("--run chooses", times[("--run", "1")] != times[()], times)
    done = imported(t, folder, both, "--run", "3")
    t.check("a run without steps is refused with those that have some", done.returncode == 2
            and "1, 2" in done.stderr, done)
    done = imported(t, folder, both, "--run", "9")
    t.check("a run that is not there is refused", done.returncode == 2 and "3 runs" in done.stderr,
            done)
    done = imported(t, folder, crashed)
    t.check("a run that crashed before its first step", done.returncode == 3
            and "no step" in done.stderr, done)
    other = slow.replace(" [2025", "[rank1]: [2025")
    mixed = "\n".join(a + "\n" + b for a, b in zip(log.replace(" [2025", "[rank0]: [2025").split("\n"),
                                                   other.split("\n")))
    done = imported(t, folder, mixed)
    t.check("two ranks that disagree are told", done.returncode == 0 and "disagree" in done.stdout,
            done)


def check_refusals(t, folder, log):
    steps = "\n".join(line for line in log.split("\n") if " iteration " in line)
    done = imported(t, folder, steps)
    t.check("without arguments: file, line, and what to give", done.returncode == 3
            and "train.log:1:" in done.stderr and "behind it" in done.stderr, done)
    done = imported(t, folder, "epoch 1 loss 2.3\n" * 100)
    t.check("an unknown framework: the formats are named", done.returncode == 3
            and "Megatron-LM" in done.stderr and "MaxText" in done.stderr, done)
    done = imported(t, folder, "")
    t.check("an empty log", done.returncode == 3, done)
    evil = b"\x1b]0;title\x07\xff\xfe\x00 elapsed time per iteration (ms): \x1b[2J\n"
    done = imported(t, folder, evil * 50 + log.encode().replace(
        b"RMSNorm", b"RMSNorm\x1b[2J\xff"), mode="wb")
    t.check("escapes and bytes that are no text are not echoed", done.returncode == 0
            and not re.search("[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr), done)
    done = imported(t, folder, "(((" * 200000 + "\nConfig(general=" + "(" * 100000 + "\n")
    t.check("brackets without an end", done.returncode == 3, done)
    done = t.call(folder, "import", "log", "none.log")
    t.check("a file that is not there", done.returncode == 3 and "none.log" in done.stderr, done)


def main():
    t = tap.Test(pathlib.Path(sys.argv[1]).resolve())
    log = (LOGS / "megatron.log").read_text(encoding="utf-8")
    check_formats(t, "--update" in sys.argv)
    with tempfile.TemporaryDirectory() as folder:
        check_variants(t, folder, log)
        check_runs(t, folder, log)
        check_refusals(t, folder, log)
    print(f"1..{t.n}")
    return t.failed > 0


if __name__ == "__main__":
    sys.exit(main())
