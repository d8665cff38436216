#!/usr/bin/env python3
"""Fails on an include that is out of order: layers.py TOP

Each folder may include itself and what is below it. A file includes its own header first, or one
that includes it, as NAME_internal.h does. No header includes itself by way of others, and what
folders may include leads none back to itself. No file includes an internal header of another
folder. modules.py holds what is called against the same table.
"""
import pathlib
import re
import sys

CORE = ["sim/base", "sim/core/program", "sim/core/deadlock", "sim/core/execute", "sim/core/analyse"]
MACHINE = ["sim/base", "sim/document", "topology", "topology/collectives"]
TRACES = CORE + ["sim/document", "traces/out", "traces/view"]
RUN = CORE + MACHINE + ["topology/fabric", "model", "model/kernel", "model/block", "model/parallel",
                        "model/schedule", "model/orders", "sim", "sim/config"]
ALLOWED = {  # what a folder may include besides itself
    "sim/base": [],
    "sim/document": CORE[:1],
    "sim/core/program": CORE[:1],
    "sim/core/deadlock": CORE[:2],
    "sim/core/execute": CORE[:3],
    "sim/core/analyse": CORE[:4],
    "topology": MACHINE[:2],
    "topology/collectives": MACHINE[:3],
    "topology/fabric": MACHINE + ["sim/core/program"],
    "model/kernel": MACHINE,
    "model": MACHINE + ["sim/core/program", "model/kernel"],
    "model/schedule": MACHINE[:2] + ["sim/core/program", "model"],
    "model/orders": MACHINE + CORE[1:3] + ["model", "model/schedule"],
    "model/block": MACHINE + ["sim/core/program", "model", "model/kernel"],
    "model/parallel": MACHINE + ["sim/core/program", "model", "model/kernel", "model/block"],
    "model/price": MACHINE + ["sim/core/program", "model", "model/kernel", "model/block",
                              "model/parallel"],
    "model/issue": MACHINE + ["sim/core/program", "model", "model/kernel", "model/block",
                              "model/price"],
    "model/lower": MACHINE + ["sim/core/program", "sim/core/execute", "topology/fabric", "model",
                              "model/kernel", "model/block", "model/parallel", "model/schedule",
                              "model/price", "model/issue"],
    "model/lower/offload": ["model/lower"],
    "traces/out": TRACES[:6],
    "traces/view": TRACES[:7],
    "traces": TRACES,
    "traces/chrome": TRACES,
    "traces/perfetto": TRACES,
    "traces/svg": TRACES,
    "traces/page": TRACES,
    "sim/profile/read": CORE[:2],
    "sim/config": RUN + ["traces/out", "traces", "traces/svg", "sim/exchange/read"],
    "sim/run": RUN + ["model/lower", "traces/out", "traces", "sim/exchange/read"],
    "sim/schedule": RUN + ["sim/run", "traces/view", "traces/svg"],
    "sim/sweep": RUN + ["model/price", "sim/run"],
    "sim/search": RUN + ["sim/run", "sim/sweep"],
    "sim/plan": RUN + ["model/price", "model/issue", "sim/run", "sim/sweep", "sim/search"],
    "sim/plan/search": RUN + ["model/price", "sim/run", "sim/sweep", "sim/search", "sim/plan"],
    "sim/fleet": RUN + ["sim/run"],
    "sim/exchange": RUN + ["sim/run", "sim/exchange/read", "traces/out"],
    "sim/exchange/read": MACHINE + ["sim/core/program", "topology/fabric", "model"],
    "sim/calibrate": RUN + ["sim/run", "sim/sweep", "sim/report"],
    "sim/report": RUN + ["sim/run", "sim/draw", "sim/sweep", "sim/search", "sim/plan/search",
                         "sim/fleet", "traces/svg"],
    "sim/report/plan": RUN + ["sim/run", "sim/sweep", "sim/plan", "sim/plan/search", "sim/report",
                              "traces/svg"],
    "sim/draw": RUN + ["sim/run", "traces/out", "traces"],
    "sim/report/page": RUN + ["sim/run", "sim/search", "sim/report", "traces/out", "traces/page"],
    "sim/profile": RUN + ["sim/profile/read"],
    "sim/diff": RUN + ["sim/run", "sim/draw", "sim/sweep", "sim/report", "sim/profile", "traces"],
    "sim/cli": ["sim"],
    "sim/mpi": ["sim", "sim/cli"],
    "sim/python": [],
    "sim/wasm": ["sim"],
    "sim/classroom": ["sim", "sim/base", "sim/document", "sim/wasm"],
    "sim": CORE[:1] + ["traces/out"],
}
SHARED = ["traces/svg/internal.h"]  # as long as the library draws plans and fleets
SOURCES = ["sim", "topology", "model", "traces"]
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def includes(path):
    """(line, file, whether it is the project's) of each."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found[2], found[1] == '"'


def upward(root, path, folder):
    for number, name, own in includes(path):
        other = str(pathlib.PurePosixPath(name).parent)
        if own and other not in [folder] + ALLOWED[folder]:
            yield f"{path.relative_to(root)}:{number}: {folder} may not include {name}"
        elif own and other != folder and name.endswith("internal.h") and name not in SHARED:
            yield f"{path.relative_to(root)}:{number}: {name} is internal to {other}"


def own_header(root, path):
    """A source file whose header is there includes that before anything else."""
    header = path.with_suffix(".h")
    if path.suffix == ".c" and header.exists():
        name = header.relative_to(root).as_posix()
        number, first, own = next(includes(path), (1, "", False))
        by_way = [other for _, other, _ in includes(root / first)] if own else []
        if name not in [first] + by_way:
            yield f"{path.relative_to(root)}:{number}: its own header, {name}, comes first"


def circle(below, name, above, done):
    """The first circle of headers that can be reached from one, as a list; or nothing."""
    if name in above:
        return above[above.index(name):] + [name]
    for other in [] if name in done else below.get(name, []):
        found = circle(below, other, above + [name], done)
        if found:
            return found
    done.add(name)
    return []


def circles(what, below):
    """The first circle, as a finding."""
    done = set()
    for name in sorted(below):
        found = circle(below, name, [], done)
        if found:
            yield f"{what}: " + ", ".join(found)
            return


def violations(root):
    below = {}
    for top in SOURCES:
        for path in sorted((root / top).rglob("*.[ch]")):
            folder = path.parent.relative_to(root).as_posix()
            if folder not in ALLOWED:
                yield f"{path.relative_to(root)}: no layer is stated for {folder}"
                continue
            yield from upward(root, path, folder)
            yield from own_header(root, path)
            if path.suffix == ".h":
                below[path.relative_to(root).as_posix()] = [
                    name for _, name, own in includes(path) if own]
    yield from circles("headers include each other", below)
    yield from circles("folders may include each other", {
        folder: [other for other in known if other != folder] for folder, known in ALLOWED.items()})


def main():
    bad = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(bad) if bad else "layers ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
