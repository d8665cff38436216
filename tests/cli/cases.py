#!/usr/bin/env python3
"""Runs the command line as a user would and compares what comes back.

A case file is a list of cases. In each, lines starting with

    #    are comments
    |    are the text of run.yaml in the working directory of the case
    +    are lines of run.yaml below those of the base
    $    is the command, split as a shell would
    ?    is the exit status; left out: 2 where standard error begins with "trainyard", 3 where it
         begins with anything else, 0 where nothing is printed there
    >    are standard output; left out: whatever it prints is right
    2>   are standard error; left out: nothing may be printed there

EXAMPLES in a command, in run.yaml, and in what comes back, is the folder docs/examples.
Chrome traces that a command leaves behind have to keep the rules of rules.py.
A blank line ends a case. Lines of run.yaml without a command are a base: the run.yaml of all cases
from there to the next base that have none of their own. `cases.py --update BINARY FILE...` writes
what comes back into the files.
"""
import pathlib
import shlex
import subprocess
import sys
import tempfile

import rules


class Case:
    def __init__(self, base):
        self.comment, self.own, self.more, self.out, self.err = [], [], [], [], []
        self.base, self.command, self.status, self.compares_out = base, "", None, False

    @property
    def yaml(self):
        return self.own or self.base + self.more

    def usual_status(self):
        return (2 if self.err[0].startswith("trainyard") else 3) if self.err else 0

    def run(self, binary, examples):
        words = shlex.split(self.command.replace("EXAMPLES", str(examples)))
        with tempfile.TemporaryDirectory() as folder:
            if self.yaml:
                text = "\n".join(self.yaml).replace("EXAMPLES", str(examples))
                pathlib.Path(folder, "run.yaml").write_text(text + "\n", encoding="utf-8")
            done = subprocess.run([binary] + words[1:], cwd=folder, capture_output=True,
                                  stdin=subprocess.DEVNULL, check=False)
            for path in filter(rules.is_trace, pathlib.Path(folder).iterdir()):
                rules.check(path)
        out, err = (text.decode().replace(str(examples), "EXAMPLES").splitlines()
                    for text in (done.stdout, done.stderr))
        return done.returncode, out, err

    def lines(self):
        yield from self.comment
        yield from ("| " + line if line else "|" for line in self.own)
        yield from ("+ " + line for line in self.more)
        if not self.command:
            return
        yield "$ " + self.command
        if self.status != self.usual_status():
            yield f"? {self.status}"
        if self.compares_out:
            yield from ("> " + line if line else ">" for line in self.out)
        yield from ("2> " + line if line else "2>" for line in self.err)


def read(path):
    cases, case, used = [], Case([]), False
    for line in path.read_text(encoding="utf-8").splitlines() + [""]:
        if not line:
            if used:
                if case.status is None:
                    case.status = case.usual_status()
                cases.append(case)
            case, used = Case(case.base if case.command else case.own or case.base), False
            continue
        used = True
        mark, _, text = line.partition(" ")
        if line.startswith("#"):
            case.comment.append(line)
        elif mark == "|":
            case.own.append(text)
        elif mark == "+":
            case.more.append(text)
        elif mark == "$":
            case.command = text
        elif mark == "?":
            case.status = int(text)
        elif mark == ">":
            case.out.append(text)
            case.compares_out = True
        elif mark == "2>":
            case.err.append(text)
        else:
            raise SystemExit(f"{path}: line not understood: {line}")
    return cases


def main():
    words = [w for w in sys.argv[1:] if w != "--update"]
    update = "--update" in sys.argv
    binary, files = str(pathlib.Path(words[0]).resolve()), [pathlib.Path(f) for f in words[1:]]
    examples = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
    number, failed = 0, 0
    for path in files:
        cases = read(path)
        for case in filter(lambda case: case.command, cases):
            number += 1
            status, out, err = case.run(binary, examples)
            if update:
                case.status, case.err = status, err
                case.out = out if case.compares_out else []
                continue
            good = status == case.status and err == case.err and \
                (not case.compares_out or out == case.out)
            print(f"{'ok' if good else 'not ok'} {number} - {path.name}: {case.command}")
            if not good:
                failed += 1
                print(f"# status {status}, expected {case.status}")
                for name, got, want in (("out", out, case.out), ("err", err, case.err)):
                    if got != want and (name == "err" or case.compares_out):
                        print("\n".join(f"# {name} got:      {line}" for line in got))
                        print("\n".join(f"# {name} expected: {line}" for line in want))
        if update:
            path.write_text("\n\n".join("\n".join(c.lines()) for c in cases) + "\n",
                            encoding="utf-8")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
