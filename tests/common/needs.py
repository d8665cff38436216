#!/usr/bin/env python3
"""What tests need beyond the packages of README.md, and what happens where it is missing.

Such a test is skipped, and says what is not installed and which package of Debian 12 has it. Where
TRAINYARD_CI_FULL=1 is set (.ci/full) it fails. What npm has (`network`) is skipped there,
too: no package of Debian has it.

needs.py: prints the packages. needs.py --absent NAME: the test of what the build did not find.
needs.py --skipped TESTLOG.json...: a line for each test of these logs of meson that skipped a part.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

PROGRAMS = {
    "bash": "bash",
    "c++": "g++",
    "cc": "gcc",
    "clang": "clang",
    "clang-format": "clang-format",
    "clang-tidy": "clang-tidy",
    "cppcheck": "cppcheck",
    "emcc": "emscripten",
    "fish": "fish",
    "gcc": "gcc",
    "groff": "groff-base",
    "localedef": "libc-bin",
    "mandoc": "mandoc",
    "mpirun": "openmpi-bin",
    "munged": "munge",
    "nm": "binutils",
    "node": "nodejs",
    "parallel": "parallel",
    "pmccabe": "pmccabe",
    "pyflakes3": "pyflakes3",
    "sbatch": "slurm-client",
    "shellcheck": "shellcheck",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "zopfli": "zopfli",
    "zsh": "zsh",
}
MODULES = {
    "ensurepip": "python3-venv",
    "ipykernel": "python3-ipykernel",
    "jsonschema": "python3-jsonschema",
    "matplotlib": "python3-matplotlib",
    "mypy": "mypy",
    "nbconvert": "jupyter-nbconvert",
    "numpy": "python3-numpy",
    "pandas": "python3-pandas",
    "setuptools": "python3-setuptools",
    "wheel": "python3-wheel",
    "yaml": "python3-yaml",
}
FILES = {"/usr/share/bash-completion/bash_completion": "bash-completion"}
LIBRARIES = {"mpi": "libopenmpi-dev", "simgrid": "libsimgrid-dev"}
SKIPPED = 77  # what meson takes for a test that was skipped


class Missing(Exception):
    """A test cannot be tried; the text says why. `network`: not even .ci/full demands it."""

    def __init__(self, what, package=None, network=False):
        super().__init__(f"{what} is not installed" + (f" (Debian: {package})" if package else ""))
        self.fails = not network and os.environ.get("TRAINYARD_CI_FULL") == "1"


class Unmounted(Missing):
    """The same of what the system itself has where a folder of it is mounted."""

    def __init__(self, what, path):
        super().__init__(what)
        self.args = (f"{what} cannot be had (is {path} mounted?)",)


def terminal():
    """The two ends of a new pseudo-terminal; small containers have none."""
    try:
        return os.openpty()
    except OSError as why:
        raise Unmounted("a terminal", "/dev/pts") from why


def program(name):
    if shutil.which(name) is None:
        raise Missing(name, PROGRAMS[name])


def file(path):
    if not pathlib.Path(path).exists():
        raise Missing(path, FILES[path])
    return path


def python(*modules):
    """An interpreter that has the modules: this one, or Debian's, where another comes first in PATH."""
    for one in sys.executable, "/usr/bin/python3":
        if shutil.which(one) and subprocess.run([one, "-c", f"import {', '.join(modules)}"],
                                                capture_output=True, check=False).returncode == 0:
            return one
    raise Missing(f"Python's {' or '.join(modules)}", " ".join(MODULES[name] for name in modules))


def told(number, name, why):
    """Prints that a test of several cannot be tried; whether it fails by that."""
    print(f"not ok {number} - {name}: {why}" if why.fails else f"ok {number} - {name} # SKIP {why}",
          flush=True)
    return why.fails


def told_of_all(why):
    """The same of all tests of a program; its exit status."""
    print(f"1..1\nnot ok 1 - {why}" if why.fails else f"1..0 # SKIP {why}")
    return 1 if why.fails else 0


def skipped(path):
    """(test, why) of what the tests of a log did not try."""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        said = row.get("stdout", "")
        whys = set(re.findall(r"# SKIP (.*)", said))
        if row["result"] == "SKIP":
            whys = whys or {said.strip()}
        if whys:
            yield row["name"].split(" / ")[-1], ", ".join(sorted(whys))


def main():
    if sys.argv[1:2] == ["--absent"]:
        why = Missing(sys.argv[2], LIBRARIES[sys.argv[2]])
        print(why)
        return 1 if why.fails else SKIPPED
    if sys.argv[1:2] == ["--skipped"]:
        for line in sorted({f"{name}: {why}" for path in sys.argv[2:] for name, why in
                            skipped(path)}):
            print(line)
        return 0
    print(" ".join(sorted({package for table in (PROGRAMS, MODULES, FILES, LIBRARIES)
                           for package in table.values()})))
    return 0


if __name__ == "__main__":
    sys.exit(main())
