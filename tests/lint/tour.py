#!/usr/bin/env python3
"""docs/internals/architecture.md speaks of this tree: every file, function and type that it names is there,
and every folder of sources is named, or a file of it.

A name without a folder (`stall.h`) is in that of the last path before it on its line, or the only
one of that name.
"""
import collections
import pathlib
import re
import sys

GUIDE = "docs/internals/architecture.md"
SOURCES = ["sim", "topology", "model", "traces", "tests", "docs"]
PATH = re.compile(r"[\w./-]+\.(?:c|h|py|js|md|yaml|txt)|(?:sim|topology|model|traces|tests|docs)(?:/[\w./-]+)?")


def named_paths(line, top, homes):
    """Paths that a line names in code, and folders among them; a path with * or <> is a pattern.
    homes: where the files of a name are."""
    folder = None
    for code in re.findall(r"`([^`]+)`", line):
        word = code.split(" ")[0]
        if "*" in word or "<" in word or not PATH.fullmatch(word):
            continue
        path = pathlib.PurePosixPath(word)
        if len(path.parts) == 1 and path.suffix and folder is not None:
            path = folder / path
            if not (top / path).exists() and len(homes[word]) == 1:
                path = homes[word][0]
        folder = path.parent if path.suffix else path
        yield word, top / path


def main():
    top = pathlib.Path(sys.argv[1])
    text = (top / GUIDE).read_text(encoding="utf-8")
    tree = [p for root in SOURCES for p in (top / root).rglob("*") if p.suffix in (".c", ".h")]
    words = set(re.findall(r"\w+", "\n".join(p.read_text(encoding="utf-8") for p in tree)))
    homes = collections.defaultdict(list)
    for path in tree:
        homes[path.name].append(path.relative_to(top))
    wrong, named = [], set(re.findall(r"`([\w/]+)`", text))
    for number, line in enumerate(text.splitlines(), 1):
        for word, path in named_paths(line, top, homes):
            named.add(path.parent.relative_to(top).as_posix())
            if not path.exists():
                wrong.append(f"{GUIDE}:{number}: `{word}` is not there")
        for name in re.findall(r"\b(?:ty|TY)_\w+\b", line):
            if name not in words and not name.endswith("_"):
                wrong.append(f"{GUIDE}:{number}: nothing is called {name}")
    folders = {p.parent.relative_to(top).as_posix() for p in tree if "examples" not in p.parts}
    for folder in sorted(folders):
        parent, _, last = folder.rpartition("/")
        if folder.startswith("tests/unit/"):
            continue
        if folder not in named and not (parent == "tests" and last in named):
            wrong.append(f"{GUIDE}: nothing is said of {folder}")
    print("\n".join(wrong) if wrong else "tour ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
