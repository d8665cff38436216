#!/usr/bin/env python3
"""What docs/reference/versions.md promises: nothing that was there before is gone.

usage: promises.py TRAINYARD TOP [--update]

promises.json has every key of the run file with its default, the members of JSON answers with their
types, the columns of a sweep, exit codes, and the functions and structs of the library. What is new is allowed; --update adds it. What is gone,
or of another type, fails."""
import json
import pathlib
import re
import subprocess
import sys

from tap import Test

HERE = pathlib.Path(__file__).resolve().parent
STORED = HERE / "promises.json"
FIRST = "docs/examples/first.yaml"
ANSWERS = {
    "run": ["run", FIRST], "run of experts": ["run", "docs/examples/mixtral-8x7b-64xh100.yaml"],
    "fleet": ["fleet", "docs/examples/llama3-405b-16384xh100.yaml"],
    "plan": ["plan", FIRST, "--over", "layout.tensor=1,2", "--top", "2"],
    "diff": ["diff", FIRST, FIRST, "--set", "B:layout.tensor=4"],
}
EXITS = {"a run that fits": (["check", FIRST], 0),
         "one that does not": (["check", FIRST, "--set", "layout.micro_batch=8", "--set",
                                "model.preset=gpt3-175b"], 1),
         "a wrong option": (["run", FIRST, "--nonsense"], 2),
         "a wrong key": (["run", FIRST, "--set", "layout.nonsense=1"], 3),
         "a file that is not there": (["run", "nowhere.yaml"], 3)}


def kind(value):
    return {bool: "bool", int: "number", float: "number", str: "text", type(None): "null"}[type(value)]


def members(value, path=""):
    """{path: type} of all that an answer has; of lists the first item."""
    if isinstance(value, dict):
        found = {}
        for name, inner in value.items():
            found |= members(inner, f"{path}.{name}" if path else name)
        return found
    if isinstance(value, list):
        return members(value[0], path + "[]") if value else {path: "list"}
    return {path: kind(value)}


def declared(header):
    """{name: text} of the functions and of the structs, whose members are one promise."""
    code = " ".join(re.sub(r"/\*.*?\*/|^#.*?$", "", header, flags=re.S | re.M).split())
    return dict((name, text) for text, name in [
        *re.findall(r"TY_API ([^;]*?(ty_\w+)\([^;]*\));", code),
        *re.findall(r"((struct ty_\w+) \{.*?\});", code)])


def collect(program, top):
    def run(*words):
        return subprocess.run([program, *words], cwd=top, capture_output=True, text=True, check=False)
    pages = (top / "docs/reference/keys.md").read_text(encoding="utf-8")
    keys = re.findall(r"^\| `([a-z_]+\.[a-z0-9_]+)` \| (.*?) \| (.*?) \|", pages, re.M)
    found = {"keys": {name: default.strip() for name, _, default in keys}}
    for name, words in ANSWERS.items():
        done = run(*words, "--stats", "json")
        found[name] = members(json.loads(done.stdout))
    table = run("sweep", FIRST, "--over", "layout.tensor=1,2").stdout.splitlines()[0]
    found["columns of a sweep"] = {column: "column" for column in table.split(",")}
    found["library"] = declared((top / "sim/trainyard.h").read_text(encoding="utf-8"))
    found["exit codes"] = {name: run(*words).returncode for name, (words, _) in EXITS.items()}
    return found


def main():
    program, top = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    found = collect(program, top)
    if "--update" in sys.argv:
        STORED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    test = Test(None)
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    for name, kept in stored.items():
        gone = {k: (v, found[name].get(k)) for k, v in kept.items()
                if found[name].get(k) != v and "null" not in (v, found[name].get(k))}
        test.check(f"{name}: {len(kept)} promises hold", not gone, gone)
    wrong = {name: found["exit codes"][name] for name, (_, code) in EXITS.items()
             if found["exit codes"][name] != code}
    test.check("exit codes are those of the contract", not wrong, wrong)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
