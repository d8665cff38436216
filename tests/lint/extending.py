#!/usr/bin/env python3
"""Fails where "Adding things" in docs/internals/architecture.md is not true of what is there: extending.py TOP

A schedule, an algorithm of collectives or a trace format is a file and a row, a preset is a row. So
outside these two nobody names it, in quotes or by its descriptor.
"""
import pathlib
import re
import sys

from layers import SOURCES

# what it is, the file with its rows, a row, and the descriptor that its own file defines; a row has
# the end of that and the name, where a name means this and nothing else
KINDS = [
    ("a schedule", "model/schedule/schedule.h",
     re.compile(r'^    X\((?P<end>\w+), "(?P<name>[^"]+)"\)', re.M), "ty_sched_"),
    ("an algorithm of collectives", "topology/collectives/coll.h",
     re.compile(r"^    WORD\((?P<end>\w+)(?P<name>)", re.M), "ty_coll_"),
    ("a trace format", "traces/out/writer.h",
     re.compile(r"^    X\((?P<end>\w+)(?P<name>)\)", re.M), "ty_trace_"),
    *(("a preset", file, re.compile(r'^    \{(?P<end>)(?:\.name = )?"(?P<name>[^"]+)"', re.M), "")
      for file in ("topology/gpu_presets.c", "topology/cluster_presets.c", "model/arch_presets.c")),
]
KNOWN = {  # where else a name may stand
    "ring": ["topology/collectives/ring_ll.c", "topology/collectives/ring_ll128.c"],  # its messages
    "tree": ["topology/collectives/tree_ll.c"],
    "1f1b": ["model/schedule/schedule.c", "sim/search/change.c"],  # the default; holds little
    "pipedream-2bw": ["model/lower/lower.c"],  # what a message names in place of pipedream
    "dgx-h100": ["sim/search/init.c"],  # defaults of init
    "llama3-8b": ["sim/search/init.c"],
    "deepseek-v2": ["model/framework_presets.c"],  # the framework of the same name
    "dbrx": ["model/huggingface_families.c"],  # a family of the same name
}
GENERATED = "nearest_rows.h"  # names of measured runs
WORD = re.compile(r'"[^"\n]+"|\bty_\w+')
# Comments, and the schedule that another one is in a special case.
ASIDE = re.compile(r'/\*.*?\*/|\.reduced = "[^"]*"', re.S)


def sources(root):
    return {path.relative_to(root).as_posix(): ASIDE.sub("", path.read_text(encoding="utf-8"))
            for top in SOURCES for path in sorted((root / top).rglob("*.[ch]")) if path.name != GENERATED}


def violations(texts):
    words = {path: set(WORD.findall(text)) for path, text in texts.items()}
    for what, table, row, prefix in KINDS:
        rows = list(row.finditer(texts[table]))
        if not rows:
            yield f"{table}: no row of {what}"
        for end, name in (found.group("end", "name") for found in rows):
            names, descriptor = {f'"{name}"', prefix + end}, f" {prefix}{end} = {{"
            known = [table, *KNOWN.get(name or end, [])]
            for path, text in texts.items():
                if names & words[path] and path not in known and descriptor not in text:
                    yield f"{path}: names {name or end}, {what}; see docs/internals/architecture.md, Adding things"


def main():
    bad = list(violations(sources(pathlib.Path(sys.argv[1]))))
    print("\n".join(bad) if bad else "what can be added stands where the guide says")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
