#!/usr/bin/env python3
"""The course of docs/course: every exercise's answer is what its command prints.

usage: lessons.py TRAINYARD TOP

A lesson N-NAME.md has exercises, whose hint and worked answer are folded away, and blocks
"```widget". An exercise has question, hint and a block "```exercise" of lines "key: value": answer (a
number, perhaps a unit), field (of the JSON that its command prints) and command; mostly a widget, too: the state of the classroom's page in which it is solved, either of
a schedule (schedule=1f1b&p=4&m=8) or keys of a run file with their values. An exercise whose answer
is found by a rule of thumb says how near that comes (within), and "if NUMBER" is a wrong answer,
with what it comes of.
"""
import json
import pathlib
import re
import shlex
import sys

from tap import Test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "sim/classroom"))
from lessons import gathered  # noqa: E402

BLOCK = re.compile(r"^```(exercise|widget)\n(.*?)^```$", re.M | re.S)
UNITS = {"": 1, "%": 0.01, "ms": 1e-3, "s": 1, "GiB": 2**30}
FIELDS = {"question", "answer", "field", "command", "hint", "worked"}


def value_of(data, field):
    for name in re.findall(r"[^.\[\]]+", field):
        data = data[int(name) if isinstance(data, list) else name]
    return data


def blocks(text):
    """(kind, {key: value}) of each block; a widget's state stands alone."""
    for kind, body in BLOCK.findall(text):
        yield kind, body.strip() if kind == "widget" else dict(
            line.split(": ", 1) for line in body.splitlines())


def run_file(keys):
    """Of pairs ("layout.tensor", "4")."""
    sections = {}
    for key, value in keys:
        section, _, name = key.partition(".")
        sections.setdefault(section, []).append(f"  {name}: {value}\n")
    return "".join(f"{section}:\n{''.join(lines)}" for section, lines in sections.items())


class Lessons(Test):
    def __init__(self, binary, top):
        super().__init__(binary)
        self.top = top
        self.path = None  # of the lesson that is read

    def json_of(self, command):
        done = self.call(self.top, *shlex.split(command)[1:])
        return json.loads(done.stdout) if done.returncode in (0, 1) and done.stdout else done

    def exercise(self, x):
        """The answer as it is printed, to the digits that it has."""
        name = f"{self.path.name}: {x['question'][:60]}"
        wrong = {key for key in x if re.fullmatch(r"if [0-9.]+( \S+)?", key)}
        if not FIELDS <= set(x) <= FIELDS | {"widget", "within"} | wrong:
            self.check(name, False, x)
            return
        number, unit = re.fullmatch(r"([0-9.]+)(?: (\S+))?", x["answer"]).groups()
        digits = len(number.partition(".")[2])
        printed = self.json_of(x["command"])
        try:
            is_now = value_of(printed, x["field"]) / UNITS[unit or ""]
        except (KeyError, TypeError, IndexError):
            self.check(name, False, printed)
            return
        self.check(name, f"{is_now:.{digits}f}" == number, f"answer: {is_now:.{digits}f}")

    def state(self, state):
        """It names a schedule, or keys of which a run file can be made."""
        pairs = [pair.split("=", 1) for pair in state.split("&")]
        if pairs[0][0] == "schedule":
            words = {"p": "-p", "m": "-m", "v": "-v", "times": "--times"}
            rest = [w for k, v in pairs[1:] for w in (words[k], v)]
            done = self.call(self.top, "schedule", pairs[0][1], *rest, "--format", "json")
        else:
            done = self.call(self.top, "check", "-", input=run_file(pairs))
        self.check(f"{self.path.name}: {state[:70]}", done.returncode in (0, 1), done.stderr)

    def lesson(self, path):
        self.path = path
        found = list(blocks(gathered(path.read_text(encoding="utf-8"))))
        exercises = [x for kind, x in found if kind == "exercise"]
        widgets = [x for kind, x in found if kind == "widget"]
        self.check(f"{path.name}: three exercises, and something to play with",
                   len(exercises) == 3 and widgets, found)
        for x in exercises:
            self.exercise(x)
        for state in sorted({*widgets, *(x["widget"] for x in exercises if "widget" in x)}):
            self.state(state)


def main():
    test = Lessons(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]))
    lessons = sorted((test.top / "docs/course").glob("[0-9]-*.md"))
    test.check("a course of nine", [path.name[0] for path in lessons] == list("123456789"), lessons)
    for path in lessons:
        test.lesson(path)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
