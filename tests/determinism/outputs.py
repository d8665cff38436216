#!/usr/bin/env python3
"""Everything that trainyard writes is a function of its input: not of the compiler, of optimization,
of a sanitizer or of how many threads wrote it.

    outputs.py TRAINYARD [--small] [--manifest PATH] [--wrapper COMMAND]

calls every command over examples, schedules, layouts and formats. As a test it tells whether one
thread and several write the same bytes, and whether packed files hold what plain ones do. The
manifest has a line for each output, its SHA-256 and the command: two programs that agree have the
same manifest (`.ci/full determinism` compares those of several builds). --small leaves out what
takes long under valgrind, which is the --wrapper.

Left out are the lines that speak of the machine: wall_s, peak_rss_bytes, "simulated ... in ...".
"""
import argparse
import gzip
import hashlib
import pathlib
import shlex
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "docs" / "examples"
LARGE = {"deepseek-v3-2048xh800.yaml", "gpt3-175b-1024xa100.yaml", "llama-65b-256xa100.yaml"}
MACHINE = (b'"wall_s"', b'"peak_rss_bytes"', b"simulated ")
TINY = """
cluster: {preset: dgx-a100-80g, nodes: 2}
model: {layers: 16, hidden: 512, heads: 8, vocabulary: 1000, sequence: 256, mlp: swiglu}
layout: {global_batch: 32, pipeline: 4, tensor: 2}
"""
# What is executed of the examples: estimates and simulation of shared links, on both executors.
WAYS = {"sweep": ["--engine", "sweep"],
        "events": ["--engine", "events", "--set", "run.contention=false"],
        "shared": []}
# Parallelism under which every schedule is executed, where it can.
LAYOUTS = ["layout.tensor=1", "layout.tensor=4,layout.sequence_parallel=true", "layout.zero=3",
           "layout.pipeline=2,layout.zero=2,layout.recompute=full",
           "schedule.chunks=2", "layout.pipeline=8,layout.recompute=selective",
           "run.jitter=2 %,run.seed=7", "run.gpu_spread=1 %,run.steps=2",
           "layout.pipeline=1,layout.tensor=8"]
FORMATS = {"chrome": "t.json", "perfetto": "t.pftrace", "csv": "t.csv", "gantt": "t.txt",
           "svg": "t.svg", "kineto": "t.kineto", "digest": "t.digest"}
FORMS = [["--detail", "stage", "--ranks", "all"], ["--detail", "op", "--args", "full"],
         ["--set", "run.jitter=3 %", "--ranks", "one-per-stage"],
         ["--set", "schedule.name=zb-1p", "--set", "run.steps=2", "--window", "0s:1s"]]


def sets(text):
    """Options for settings that are separated by commas."""
    return [word for pair in text.split(",") for word in ("--set", pair)]


class Outputs:
    """Calls trainyard in a folder of its own and keeps what comes out of it."""

    def __init__(self, options, folder):
        self.program = shlex.split(options.wrapper or "") + [options.binary]
        self.folder, self.small = pathlib.Path(folder), options.small
        self.lines, self.n, self.failed = [], 0, 0
        (self.folder / "tiny.yaml").write_text(TINY, encoding="utf-8")

    def call(self, *words):
        """What the command printed, its exit status among it. Statuses of crashes end the test."""
        done = subprocess.run([*self.program, *map(str, words)], capture_output=True, check=False,
                              cwd=self.folder)
        if done.returncode not in (0, 1, 2, 3, 4):
            raise SystemExit(f"{words}: exit status {done.returncode}\n{done.stderr.decode()}")
        said = (done.stdout + done.stderr).replace(str(TOP).encode(), b"TOP")
        kept = [line for line in said.split(b"\n") if not line.lstrip().startswith(MACHINE)]
        return b"\n".join(kept) + b"\nstatus %d" % done.returncode

    def keep(self, words, data):
        name = " ".join(str(w).replace(str(TOP) + "/", "") for w in words)
        self.lines.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")

    def printed(self, *words):
        self.keep(words, self.call(*words))

    def written(self, path):
        """The bytes of a file, or of all in a folder, and it is gone."""
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        data = b"".join(file.name.encode() + b"\n" + file.read_bytes() for file in files)
        for file in files:
            file.unlink()
        if path.is_dir():
            path.rmdir()
        return data

    def check(self, name, good):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)

    def examples(self):
        for example in sorted(EXAMPLES.glob("*.yaml")) + sorted(EXAMPLES.glob("deadlock/*.yaml")):
            if self.small and example.name not in ("measured.yaml", "rank-file.yaml", "circle.yaml"):
                continue
            for way in ["sweep", "shared"] if example.name in LARGE else WAYS:
                self.printed("run", example, "-q", "--stats", "json", *WAYS[way], "--trace",
                             "digest:-")
            self.printed("check", example, "--show-config")
            if example.name not in LARGE:
                self.printed("explain", example)

    def schedules(self):
        """Every schedule under every layout; what a schedule refuses has its message."""
        listed = self.call("list", "schedules").decode().splitlines()[:-2]  # less the status
        names = [line.split()[0] for line in listed]
        layouts = LAYOUTS[6:7] if self.small else LAYOUTS
        for name in names[::4] if self.small else names:
            for layout in layouts:
                self.printed("run", "tiny.yaml", "-q", "--stats", "json", "--trace", "digest:-",
                             "--set", f"schedule.name={name}", *sets(layout))
            self.printed("schedule", name, "-p", "4", "-m", "8", "--format", "json", "--times",
                         "F=1.5,B=2.25,I=1,W=1.25,C=0.125")

    def formats(self):
        """Every trace format, plain and packed."""
        for form in FORMS[1:3] if self.small else FORMS:
            for name, file in FORMATS.items():
                path, packed = self.folder / file, self.folder / (file + ".gz")
                words = ["run", "tiny.yaml", "-q", "-o", "/dev/null", *form]
                self.call(*words, "--trace", f"{name}:{file}")
                data = self.written(path)
                self.keep([*words, name], data)
                if name in ("kineto", "digest"):
                    continue
                self.call(*words, "--trace", f"{name}:{file}.gz")
                same = file.encode() + b"\n" + gzip.decompress(packed.read_bytes()) == data
                self.check(f"{name} {' '.join(form)}: packed is plain", same)
                self.keep([*words, name, "packed"], self.written(packed))

    def pages(self):
        for words in (["report", "tiny.yaml", "-q", "-o", "out"],
                      ["report", "tiny.yaml", "-q", "--against-set", "schedule.name=zb-1p", "-o",
                       "out"],
                      ["schedule", "--compare", "gpipe,1f1b,zb-v", "-p", "4", "-m", "8", "--format",
                       "svg", "-o", "out"]):
            self.call(*words)
            self.keep(words, self.written(self.folder / "out"))
        self.printed("diff", "tiny.yaml", "-q", "--against-set", "schedule.name=gpipe")
        self.call("run", "tiny.yaml", "-q", "-o", "/dev/null", "--trace", "kineto:measured")
        self.printed("import", "kineto", "measured", "-o", "-")
        self.printed("list", "keys")

    def threads(self):
        """Tables of sweeps and overlays of calibrations with one thread and with four."""
        over = ["--over", "layout.tensor=1,2,4", "--over", "schedule.name=gpipe,1f1b,zb-1p",
                "--over", "layout.zero=0,1"]
        rows = TOP / "docs/examples/calibration/measured.csv"
        commands = [["sweep", "tiny.yaml", "-q", *over]]
        if not self.small:
            commands += [["sweep", EXAMPLES / "stragglers.yaml", "-q", "--over",
                          "run.seed=1,2,3,4,5,6", "--set", "layout.global_batch=64"],
                         ["calibrate", EXAMPLES / "calibration/run.yaml", "-q", "--rows", rows,
                          "--measured", "step_s", "--fit", "cluster.derate,cluster.norm_passes"]]
        for words in commands:
            one, four = (self.call(*words, "--jobs", jobs, "-o", "out") +
                         self.written(self.folder / "out") for jobs in (1, 4))
            self.check(f"{words[0]} {words[-1]}: four threads and one write the same", one == four)
            self.keep(words, one)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--manifest", type=pathlib.Path)
    parser.add_argument("--wrapper")
    options = parser.parse_args()
    options.binary = str(pathlib.Path(options.binary).resolve())
    with tempfile.TemporaryDirectory() as folder:
        outputs = Outputs(options, folder)
        for part in (outputs.examples, outputs.schedules, outputs.formats, outputs.pages,
                     outputs.threads):
            part()
    if options.manifest is not None:
        options.manifest.write_text("".join(outputs.lines), encoding="utf-8")
    outputs.check(f"{len(outputs.lines)} outputs have names of their own",
                  len({line.split("  ", 1)[1] for line in outputs.lines}) == len(outputs.lines))
    print(f"1..{outputs.n}")
    return 1 if outputs.failed else 0


if __name__ == "__main__":
    sys.exit(main())
