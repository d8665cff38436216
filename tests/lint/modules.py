#!/usr/bin/env python3
"""Fails on a call that is out of order, by the symbols of a build: modules.py TOP BUILD

layers.py reads includes; a header may be declared below what defines it, so this reads, with nm, which
object uses whose symbols. A module (a folder) uses what it may include, the programs and pages what
trainyard.h and cli_api.h declare; and no modules use each other in a circle. Functions with a single other
file that calls them would often be static in that file: their share may only fall.
"""
import collections
import json
import pathlib
import re
import sys

import tools  # finds needs
import needs
from layers import ALLOWED, SOURCES, circles

SINGLE = 0.53  # of all functions with linkage
# These headers alone say what the programs and pages know of the library.
PUBLIC = ["sim/trainyard.h", "sim/cli_api.h"]
OUTSIDE = ["sim/cli", "sim/mpi", "sim/wasm", "sim/classroom"]
# Tables of descriptors name what is above them: one row for each kind there is.
TABLES = ["traces/formats.c"]
# The words of `cluster.collectives` are those of the table of algorithms.
WORDS = [("topology/cluster.c", "ty_coll_algorithm_words")]
# A folder that is one module with the one it is in.
PARTS = {"model/lower/offload": "model/lower"}


def objects(root, build):
    """{object: source} of the sources of the tree that were compiled."""
    found = {}
    text = (build / "compile_commands.json").read_text(encoding="utf-8")
    for entry in json.loads(text):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        made = pathlib.Path(entry["directory"]) / entry.get("output", "")
        if source.is_relative_to(root) and not source.is_relative_to(build) and made.is_file():
            path = source.relative_to(root).as_posix()
            if path.startswith(tuple(f"{top}/" for top in SOURCES)):
                found[str(made)] = path
    return found


def symbols(listing, source_of):
    """What `nm -A -P` prints as {name: (source, kind)} and {name: sources that use it}."""
    defined, used = {}, collections.defaultdict(set)
    for line in listing.splitlines():
        made, _, rest = line.partition(": ")
        words = rest.split()
        if made in source_of and len(words) > 1 and words[0].startswith("ty_"):
            if words[1] == "U":
                used[words[0]].add(source_of[made])
            elif words[1].isupper():
                defined[words[0]] = (source_of[made], words[1])
    return defined, used


def module(path):
    folder = str(pathlib.PurePosixPath(path).parent)
    return PARTS.get(folder, folder)


def uses(defined, used):
    """(user, definer, name) between modules, but for what tables name."""
    for name, (source, _) in sorted(defined.items()):
        for user in sorted(used[name]):
            if module(user) != module(source) and user not in TABLES and (user, name) not in WORDS:
                yield user, source, name


def judge(defined, used, public):
    """What is wrong, line by line."""
    below = collections.defaultdict(list)
    for user, source, name in uses(defined, used):
        known = ALLOWED.get(module(user), [])
        if name in public and module(user) in OUTSIDE:
            continue
        below[module(user)].append(module(source))
        if module(source) not in known:
            yield f"{user}: {module(user)} may not use {name} of {source}"
    yield from circles("modules use each other", below)


def single(defined, used):
    """(functions that exactly one other file calls, all functions)."""
    functions = {name: source for name, (source, kind) in defined.items() if kind == "T"}
    return sum(len(used[name] - {source}) == 1 for name, source in functions.items()), len(functions)


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    if not tools.present(["nm"]):
        return tools.verdict([], ["nm"], "")
    source_of = objects(root, build)
    listing, _ = tools.run(["nm", "-A", "-P", "--", *source_of])
    defined, used = symbols(listing, source_of)
    public = set(re.findall(r"\bty_\w+", "".join(
        (root / name).read_text(encoding="utf-8") for name in PUBLIC)))
    found = list(judge(defined, used, public))
    one, n = single(defined, used)
    if n == 0:
        print("objects without symbols: a build with -Db_lto=true")
        return needs.SKIPPED
    if one > SINGLE * n:
        found.append(f"{one} of {n} functions have one other file that calls them, more than "
                     f"{SINGLE:.0%}; make them static there")
    return tools.verdict(found, [], f"{n} functions in order; {one / n:.1%} have one other file "
                                    "that calls them")


if __name__ == "__main__":
    sys.exit(main())
