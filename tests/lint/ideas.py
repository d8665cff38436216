#!/usr/bin/env python3
"""Fails on a C file that does not name its idea, and on a folder that docs/internals/architecture.md leaves out:
ideas.py TOP

Every file begins with a comment `name - its one idea.`, in words of its own: "see other.h" names none.
Every folder of sources has a row in the table of folders. `ideas.py TOP --list [FOLDER]` prints the
files of a folder, or of all, each with its idea: the table of contents of the code.
"""
import pathlib
import re
import sys

from layers import SOURCES

GUIDE = "docs/internals/architecture.md"
HEAD = re.compile(r"/\*+ (.*?)(?:\*/|\n \*\n)", re.S)
SEE = re.compile(r"see \S+\.[ch]\b", re.I)
WORDS = 3
# Folders whose files still have to be given ideas of their own; none is added.
LATER = ("sim/calibrate sim/classroom sim/cli sim/diff sim/draw sim/exchange sim/fleet "
         "sim/plan sim/profile sim/report sim/run sim/wasm traces "
         "model/lower").split()


def idea(name, text):
    """The first sentence of a file about itself; None where the file does not begin so."""
    found = HEAD.match(text)
    head = " ".join(line.strip(" *") for line in found[1].splitlines()) if found else ""
    if not head.startswith(f"{name} - "):
        return None
    return re.split(r"[.:;] (?=[A-Z])|[.;] |\.$", head.split(" - ", 1)[1].strip())[0]


def files(root, folder=""):
    """(path, its text) of each C file of the sources below a folder."""
    for top in SOURCES:
        for path in sorted((root / top).rglob("*.[ch]")):
            if path.relative_to(root).as_posix().startswith(folder):
                yield path.relative_to(root), path.read_text(encoding="utf-8")


def nameless(path, text):
    """What is wrong with the head of a file, as a list of none or one."""
    what = idea(path.name, text)
    if what is None:
        return [f"{path}:1: begins with no comment `{path.name} - its idea.`"]
    if (SEE.match(what) or len(what.split()) < WORDS) and not path.as_posix().startswith(tuple(LATER)):
        return [f"{path}:1: '{what}' names no idea"]
    return []


def unlisted(folders, guide):
    """Folders that no row of the table has in its first cell."""
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| `")]
    listed = {word for row in rows for word in re.findall(r"`([^`]+)`", row)}
    return [f"{GUIDE}: no row for {folder}" for folder in sorted(folders - listed)]


def main():
    root = pathlib.Path(sys.argv[1])
    if "--list" in sys.argv[2:]:
        for path, text in files(root, (sys.argv[3:] or [""])[0]):
            print(f"{path}  {idea(path.name, text)}")
        return 0
    found = list(files(root))
    bad = [line for path, text in found for line in nameless(path, text)]
    bad += unlisted({path.parent.as_posix() for path, _ in found},
                    (root / GUIDE).read_text(encoding="utf-8"))
    print("\n".join(bad) if bad else f"{len(found)} files name their ideas, and all folders have a row")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
