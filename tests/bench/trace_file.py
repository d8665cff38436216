#!/usr/bin/env python3
"""Writes the trace of a 256-rank run, each operation group of each layer a slice, to a file, and
the same compressed, each beside what only has to be done: a copy of the bytes, zlib alone.

usage: trace_file.py TRAINYARD     (`taskset -c 0` in front of it: on one core)
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import zlib

RUN = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "llama-65b-256xa100.yaml"
ROUNDS = 3


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Best:
    """Least time of a few rounds: by the clock, and of all cores together."""

    def __init__(self, work):
        rows = []
        for _ in range(ROUNDS):
            begun, before = time.perf_counter(), spent()
            work()
            rows.append((time.perf_counter() - begun, spent() - before))
        self.wall, self.cpu = min(r[0] for r in rows), min(r[1] for r in rows)

    def beyond(self, other):
        return f"{self.wall - other.wall:.2f} s ({self.cpu - other.cpu:.2f} s of processor)"


def main():
    binary = sys.argv[1]
    words = [binary, "run", str(RUN), "-q", "-o", "/dev/null", "--ranks", "all", "--detail",
             "layer", "--force"]

    def run(*more, instead_of=None):
        def work():
            if instead_of is not None:
                instead_of.unlink(missing_ok=True)
            subprocess.run(words + list(more), check=False, stderr=subprocess.DEVNULL)
        return work

    bare = Best(run())
    print(f"the run alone: {bare.wall:.2f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        slices = None
        for name, end in (("chrome", "json"), ("perfetto", "pftrace")):
            path = pathlib.Path(folder, f"t.{end}")
            took = Best(run("--trace", f"{name}:{path}", instead_of=path)).beyond(bare)
            over = Best(run("--trace", f"{name}:{path}")).beyond(bare)
            size = path.stat().st_size
            if slices is None:
                with open(path, "rb") as trace:
                    slices = sum(b'"ph":"X"' in line for line in trace)
            with open(path, "rb") as trace:
                sample = trace.read(200 << 20)
            begun = time.perf_counter()
            packer = zlib.compressobj(1, zlib.DEFLATED, 31, 8)
            packer.compress(sample)
            packer.flush()
            alone = (time.perf_counter() - begun) * size / len(sample)
            other = pathlib.Path(folder, "copy")
            copy = Best(lambda path=path, other=other: subprocess.run(
                ["cp", str(path), str(other)], check=True)).wall
            other.unlink()
            path.unlink()
            packed = pathlib.Path(folder, f"t.{end}.gz")
            squeezed = Best(run("--trace", f"{name}:{packed}")).beyond(bare)
            print(f"{name}: {slices} slices, {size / 1e6:.0f} MB, {size / slices:.1f} B/slice, "
                  f"written in {took}, over an old one {over} (a copy takes {copy:.2f} s); compressed to "
                  f"{packed.stat().st_size / 1e6:.0f} MB in {squeezed}, zlib alone "
                  f"{alone:.2f} s; {os.cpu_count()} cores", flush=True)
            packed.unlink()
        one, all_ = (Best(run("--trace", "kineto:null:", "--jobs", str(n))).beyond(bare)
                     for n in (1, os.cpu_count()))
        print(f"kineto: a file for each of 256 ranks, to nowhere, in {one} by one thread, {all_} "
              f"by {os.cpu_count()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
