#!/usr/bin/env python3
"""Every example gives the digest in tests/golden/digests.txt, on both executors.

`digests.py --update BINARY` writes the file anew.
"""
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = TOP / "tests" / "golden" / "digests.txt"
LARGE = {"gpt3-175b-1024xa100.yaml", "llama-65b-256xa100.yaml"}  # sweep only: the suite is short


def digest(binary, example, engine):
    done = subprocess.run([binary, "run", str(example), "--quiet", "--engine", engine, "-o",
                           "/dev/null", "--trace", "digest:-"], capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{example.name}: {done.stderr.decode()}")
    return done.stdout.decode().strip()


def main():
    words = [w for w in sys.argv[1:] if w != "--update"]
    examples = sorted((TOP / "docs" / "examples").glob("*.yaml"))
    if "--update" in sys.argv:
        GOLDEN.write_text("".join(f"{digest(words[0], e, 'sweep')}  {e.name}\n" for e in examples),
                          encoding="utf-8")
        return 0
    lines = GOLDEN.read_text(encoding="utf-8").splitlines() if GOLDEN.exists() else []
    golden = {name: value for value, name in (line.split() for line in lines)}
    number, failed = 0, 0
    for example in examples:
        for engine in ["sweep"] if example.name in LARGE else ["sweep", "events"]:
            number += 1
            got = digest(words[0], example, engine)
            good = got == golden.get(example.name)
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {example.name} {engine} {got}"
                  f"{'' if good else ' expected ' + str(golden.get(example.name))}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
