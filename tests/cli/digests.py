#!/usr/bin/env python3
"""Every example gives the digests in tests/golden/digests.txt: what is shared estimated beforehand, on
both executors, and simulated. The long ones are executed by events with --all alone.

`digests.py --update BINARY` writes the file anew.
"""
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = TOP / "tests" / "golden" / "digests.txt"
LARGE = {"deepseek-v3-2048xh800.yaml", "gpt3-175b-1024xa100.yaml", "llama-65b-256xa100.yaml",
         "llama3-405b-16384xh100.yaml", "megascale-175b-256xa100.yaml"}
WAYS = {"sweep": ["--engine", "sweep"],
        "events": ["--engine", "events", "--set", "run.contention=false"],
        "shared": []}


def digest(binary, example, way):
    done = subprocess.run([binary, "run", str(example), "--quiet", *WAYS[way], "-o",
                           "/dev/null", "--trace", "digest:-"], capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{example.name}: {done.stderr.decode()}")
    return done.stdout.decode().strip()


def update(binary, examples):
    GOLDEN.write_text("".join(
        f"{digest(binary, e, 'sweep')}  {digest(binary, e, 'shared')}  {e.name}\n"
        for e in examples), encoding="utf-8")


def main():
    words = [w for w in sys.argv[1:] if w != "--update"]
    examples = sorted((TOP / "docs" / "examples").glob("*.yaml"))
    if "--update" in sys.argv:
        update(words[0], examples)
        return 0
    lines = GOLDEN.read_text(encoding="utf-8").splitlines() if GOLDEN.exists() else []
    golden = {name: (fixed, shared) for fixed, shared, name in (line.split() for line in lines)}
    number, failed = 0, 0
    for example in examples:
        for way in WAYS:
            if way == "events" and example.name in LARGE and "--all" not in sys.argv:
                continue
            number += 1
            got = digest(words[0], example, way)
            want = golden.get(example.name, ("none", "none"))[way == "shared"]
            failed += got != want
            print(f"{'ok' if got == want else 'not ok'} {number} - {example.name} {way} {got}"
                  f"{'' if got == want else ' expected ' + want}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
