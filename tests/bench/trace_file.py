#!/usr/bin/env python3
"""Writes the trace of a 256-rank run, each operation group of each layer a slice, to a file, and
the same compressed, each beside what only has to be done: a copy of the bytes, zlib alone.

usage: trace_file.py TRAINYARD     (core: `taskset -c 0` in front of it shows one core)
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib

RUN = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "llama-65b-256xa100.yaml"
ROUNDS = 3


def best(work):
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def main():
    binary = sys.argv[1]
    words = [binary, "run", str(RUN), "-q", "-o", "/dev/null", "--ranks", "all", "--detail",
             "layer", "--force"]

    def run(*more):
        return lambda: subprocess.run(words + list(more), check=False, stderr=subprocess.DEVNULL)

    bare = best(run())
    print(f"the run alone: {bare:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        slices = None
        for name, end in (("chrome", "json"), ("perfetto", "pftrace")):
            path = pathlib.Path(folder, f"t.{end}")
            took = best(run("--trace", f"{name}:{path}")) - bare
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
            copy = best(lambda path=path, other=other: subprocess.run(
                ["cp", str(path), str(other)], check=True))
            other.unlink()
            path.unlink()
            packed = pathlib.Path(folder, f"t.{end}.gz")
            squeezed = best(run("--trace", f"{name}:{packed}")) - bare
            print(f"{name}: {slices} slices, {size / 1e6:.0f} MB, {size / slices:.1f} B/slice, "
                  f"written in {took:.2f} s (a copy takes {copy:.2f} s); compressed to "
                  f"{packed.stat().st_size / 1e6:.0f} MB in {squeezed:.2f} s (zlib alone "
                  f"{alone:.2f} s, {os.cpu_count()} cores)", flush=True)
            packed.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
