#!/usr/bin/env python3
"""The Python package as its user has it: a wheel of the tree, in a fresh environment.

usage: package.py TOP LIBRARY

Skips where a Python with venv, pip, setuptools, wheel and numpy is missing.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import Test  # noqa: E402

SKIPPED = 77
NEEDS = "venv, pip, setuptools, wheel, numpy"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def interpreter():
    """This Python or the system's, whichever has what it takes; None."""
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([python, "-c", f"import {NEEDS}"], capture_output=True, check=False)
        if done.returncode == 0:
            return python
    return None


class Package(Test):
    def __init__(self, top, library, folder):
        super().__init__(None)
        self.top, self.library, self.folder = top, library, folder
        self.python = str(folder / "env/bin/python")

    def run(self, *words, cwd=None, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TRAINYARD_L"))}
        return subprocess.run(list(map(str, words)), cwd=cwd or self.top, capture_output=True,
                              text=True, check=False, env={**env, "MPLBACKEND": "agg", **more})

    def install(self, python):
        """True: it is there."""
        made = self.run(python, "-m", "venv", "--system-site-packages", self.folder / "env")
        self.check("an environment", made.returncode == 0, made.stderr)
        source = self.folder / "source"  # a build leaves files beside its sources
        self.run("cp", "-r", self.top / "sim/python", source)
        pip = [self.python, "-m", "pip", "-q", "--disable-pip-version-check"]
        offline = ["--no-index", "--no-build-isolation", "--no-deps"]
        missing = self.run(*pip, "wheel", *offline, "-w", self.folder, source,
                           TRAINYARD_LIBRARY="/nowhere/libtrainyard.so")
        self.check("without the library there is no wheel, and it says which one is missing",
                   missing.returncode != 0 and "/nowhere/libtrainyard.so is not there" in
                   missing.stderr + missing.stdout, missing)
        built = self.run(*pip, "wheel", *offline, "-w", self.folder, source,
                         TRAINYARD_LIBRARY=self.library)
        wheels = list(self.folder.glob("*.whl"))
        self.check("a wheel for this kind of machine", len(wheels) == 1
                   and re.fullmatch(r"trainyard-[0-9.]+-py3-none-\w+\.whl", wheels[0].name)
                   and "any" not in wheels[0].name, built)
        installed = self.run(*pip, "install", "--no-index", "--no-deps", *wheels)
        self.check("pip installs it", installed.returncode == 0, installed)
        return installed.returncode == 0

    def facts(self):
        """What tests/python/facts.py found, in the environment."""
        done = self.run(self.python, self.top / "tests/python/facts.py", self.top,
                        cwd=self.folder)
        for line in done.stdout.splitlines():
            fact = json.loads(line)
            self.check(fact["name"], fact["good"], fact["seen"])
        self.check("and ends", done.returncode == 0, done.stderr[-2000:])

    def sizes(self):
        """Structures are as long as a compiler makes them."""
        names = json.loads(self.run(self.python, "-c", (
            "import ctypes, json, trainyard._library as c;"
            "print(json.dumps({k: ctypes.sizeof(v) for k, v in c.STRUCTURES.items()}))")).stdout)
        lines = "".join(f'printf("\\"{name}\\": %zu,", sizeof(struct {name}));' for name in names)
        program = self.folder / "sizes.c"
        program.write_text('#include <stdio.h>\n#include "sim/trainyard.h"\nint main(void) '
                           '{printf("{");' + lines + 'printf("\\"\\": 0}");}\n')
        built = self.run("cc", "-I", self.top, program, "-o", self.folder / "sizes")
        told = json.loads(self.run(self.folder / "sizes").stdout or "{}")
        told.pop("", None)
        self.check("structures have the sizes of the header", told == names, (told, names, built))

    def guide(self):
        """docs/python.md, block after block in one program."""
        text = (self.top / "docs/python.md").read_text(encoding="utf-8")
        program = self.folder / "guide.py"
        program.write_text("\n".join(BLOCK.findall(text)))
        done = self.run(self.python, program, PYTHONWARNINGS="error::DeprecationWarning")
        self.check("the guide's examples run", done.returncode == 0 and BLOCK.search(text),
                   done.stderr[-2000:])

    def notebook(self):
        """docs/python.ipynb, by nbconvert; told as skipped where that is missing."""
        with tempfile.TemporaryDirectory() as config:
            there = self.run(self.python, "-c", "import nbconvert, ipykernel, matplotlib")
            if there.returncode != 0:
                self.n += 1
                print(f"ok {self.n} - the notebook # SKIP nbconvert, ipykernel or matplotlib")
                return
            done = self.run(self.python, "-m", "nbconvert", "--to", "notebook", "--execute",
                            "--output-dir", self.folder, self.top / "docs/python.ipynb",
                            HOME=config, JUPYTER_PATH=str(self.kernel()))
        told = self.folder / "python.ipynb"
        cells = json.loads(told.read_text())["cells"] if told.exists() else []
        pictures = sum("image/png" in output.get("data", {}) for cell in cells
                       for output in cell.get("outputs", []))
        self.check("the notebook runs, with its pictures", done.returncode == 0 and pictures >= 3,
                   done.stderr[-2000:])

    def kernel(self):
        """A kernel of the environment's Python, in a folder of the test's own."""
        folder = self.folder / "jupyter/kernels/python3"
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps({
            "argv": [self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "trainyard", "language": "python"}))
        return self.folder / "jupyter"


def main():
    python = interpreter()
    if python is None:
        print(f"no Python with {NEEDS}", file=sys.stderr)
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        test = Package(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(),
                       pathlib.Path(name))
        if test.install(python):
            test.facts()
            test.sizes()
            test.guide()
            test.notebook()
        print(f"1..{test.n}")
        return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
