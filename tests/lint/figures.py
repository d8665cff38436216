#!/usr/bin/env python3
"""Compares the numbers in the sentences of pages with what trainyard prints: figures.py BINARY TOP PAGE...

A number of three digits or more with a point or a unit, such as 3.88 s or 57.3 %, stands in a block of
its page, which readme.py compares, or in an exercise, which lessons.py does. Else a comment of the page
says where it is from: "figure: NUMBER = FIELD of trainyard ..." is compared with that field, or the sum of
A+B, in the JSON that the command prints, and "given: NUMBER, NUMBER" names what no run prints, such as a result of the
page's own arithmetic or a published value. Tables are left out.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import tools

UNITS = {"": 1, "%": 0.01, "us": 1e-6, "ms": 1e-3, "s": 1, "GiB": 2**30, "TiB": 2**40, "GB/s": 1e9,
         "million": 1e6, "billion": 1e9}
NUMBER = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)(?: ?(%|(?:us|ms|s|GiB|TiB|GB/s|million|billion)\b))?"
                    r"(?![\w.]*[\w])")
COMMENT = re.compile(r"<!-- (figure|given): (.*?) -->")
FIGURE = re.compile(r"([\d.,]+)(?: (\S+))? = (\S+) of trainyard (.+)")
BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
# What is no sentence: tables, also generated ones, code, where links point to.
OTHER = re.compile(r"^\|[^\n]*$|`[^`\n]+`|\]\([^)]*\)|<!--.*?-->", re.M | re.S)


def telling(number, unit):
    digits = number.replace(",", "").replace(".", "").lstrip("0")
    return len(digits) >= 3 and ("." in number or bool(unit))


def numbers(text):
    """(line, number, unit) of the sentences of a page."""
    def blank(match):
        return "\n" * match[0].count("\n")
    lines = OTHER.sub(blank, BLOCK.sub(blank, text)).split("\n")
    for at, line in enumerate(lines, 1):
        for number, unit in NUMBER.findall(line):
            if telling(number, unit):
                yield at, number, unit


def value_of(data, field):
    for name in re.findall(r"[^.\[\]]+", field):
        data = data[int(name) if isinstance(data, list) else name]
    return data


def printed(binary, top, words):
    done = subprocess.run([binary, *shlex.split(words), "--stats", "json"], cwd=top, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ})
    return json.loads(done.stdout)


def complaints(page, text, run):
    """What is wrong with the numbers of a page; `run` gives the JSON of a command."""
    known = set(re.findall(r"\d[\d,]*(?:\.\d+)?", "\n".join(BLOCK.findall(text))))
    for kind, said in COMMENT.findall(text):
        if kind == "given":
            known |= set(re.split(r",\s+", said))
            continue
        found = FIGURE.fullmatch(said)
        if found is None:
            yield f"{page}: not \"NUMBER = FIELD of trainyard ...\": {said}"
            continue
        number, unit, field, command = found.groups()
        digits = len(number.partition(".")[2])
        data = run(command)
        value = sum(value_of(data, name) for name in field.split("+"))
        now = f"{value / UNITS[unit or '']:,.{digits}f}"
        if now.replace(",", "") != number.replace(",", ""):
            yield f"{page}: {number} is {now} now: {field} of trainyard {command}"
        known.add(number)
    there = list(numbers(text))
    for at, number, unit in there:
        if number not in known:
            yield f"{page}:{at}: {number} {unit}".rstrip() + \
                " is in no block of the page; say in a comment where it is from"
    for kind, said in COMMENT.findall(text):
        for number in re.split(r",\s+", said) if kind == "given" else [said.split(" ")[0]]:
            if number not in {n for _, n, _ in there}:
                yield f"{page}: {number} is in no sentence; remove it from the comment"


def main():
    binary, top, *pages = sys.argv[1:]
    binary, top = str(pathlib.Path(binary).resolve()), pathlib.Path(top)
    texts = {page: (top / page).read_text(encoding="utf-8") for page in pages}
    found = [words for page, text in texts.items()
             for words in complaints(page, text, lambda words: printed(binary, top, words))]
    checked = sum(len(list(numbers(text))) for text in texts.values())
    return tools.verdict(found, [], f"{checked} numbers in sentences of {len(pages)} pages are known")


if __name__ == "__main__":
    sys.exit(main())
