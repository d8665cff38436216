#!/usr/bin/env python3
"""Fails on an include that points upward: each folder may include itself and what is below it."""
import pathlib
import re
import sys

ALLOWED = {
    "sim/base": {"sim/base"},
    "sim/core": {"sim/base", "sim/core"},
    "topology": {"sim/base", "sim/core", "topology"},
    "model": {"sim/base", "sim/core", "topology", "model"},
    "traces": {"sim/base", "sim/core", "traces"},
    "sim/run": {"sim/base", "sim/core", "topology", "model", "traces", "sim/run", "sim"},
    "sim/cli": {"sim", "sim/cli"},
    "sim/manual": {"sim", "sim/cli", "sim/manual"},
    "sim": {"sim/base"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def violations(root):
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).glob("*.[ch]")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                found = INCLUDE.match(line)
                if found and str(pathlib.PurePosixPath(found.group(1)).parent) not in allowed:
                    yield f"{path.relative_to(root)}:{number}: {folder} may not include {found.group(1)}"


def main():
    bad = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(bad) if bad else "layers ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
