#!/usr/bin/env python3
"""The Python package as its user has it: a wheel of the tree, in a fresh environment.

usage: package.py TOP LIBRARY

The environment sees the modules of the Python that makes it, so that nothing is fetched. With numpy
alone there is no wheel: then the package is tried as it stands in the tree.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "common")]
import needs  # noqa: E402
from tap import Test  # noqa: E402

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


# Executes its arguments as the cells of a notebook without pictures; prints what each prints.
PRINTED = """
import contextlib, io, json, sys, types, trainyard
sys.modules["trainyard.plot"] = trainyard.plot = types.ModuleType("plot")
trainyard.plot.__getattr__ = lambda name: lambda *given, **more: None
space, told = {}, []
for cell in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        lines = cell.splitlines()
        tables = lines[-1].startswith(("answer.rows[", "trainyard.compare("))  # pandas shows them
        exec("\\n".join(lines[:-1] if tables else lines), space)
    told.append(out.getvalue())
print(json.dumps(told))
"""


def timeless(text):
    """Without what a run says of itself: seconds of the processor, memory."""
    return [line for line in text.splitlines() if not re.match(r"simulated |.*tasks in ", line)]


class Package(Test):
    def __init__(self, top, library, folder):
        super().__init__(None)
        self.top, self.library, self.folder = top, library, folder
        self.python = str(folder / "env/bin/python")
        self.more = {}  # environment

    def run(self, *words, cwd=None, **more):
        hides = ("PYTHON", "TRAINYARD_L", "LD_LIBRARY_PATH")
        env = {k: v for k, v in os.environ.items() if not k.startswith(hides)}
        return subprocess.run(list(map(str, words)), cwd=cwd or self.top, capture_output=True,
                              text=True, check=False, env={**env, "MPLBACKEND": "agg", **self.more, **more})

    def install(self, python):
        """True: it is there."""
        made = self.run(python, "-m", "venv", "--system-site-packages", self.folder / "env")
        self.check("an environment", made.returncode == 0, made.stderr)
        source = self.folder / "source"  # a build leaves files beside its sources
        shutil.copytree(self.top / "sim/python", source)
        pip = [self.python, "-m", "pip", "-q", "--disable-pip-version-check"]
        offline = ["--no-index", "--no-build-isolation", "--no-deps"]
        missing = self.run(*pip, "wheel", *offline, "-w", self.folder, source,
                           TRAINYARD_LIBRARY="/nowhere/libtrainyard.so")
        self.check("without the library there is no wheel, and it says which one is missing",
                   missing.returncode != 0 and "/nowhere/libtrainyard.so is not there" in
                   missing.stderr + missing.stdout, missing)
        left = list(source.glob("build/lib*/trainyard"))
        for folder in left:  # of that build, which ended early
            (folder / "gone.py").touch()
        built = self.run(*pip, "wheel", *offline, "-w", self.folder, source,
                         TRAINYARD_LIBRARY=self.library,
                         TRAINYARD_PROGRAM=self.library.with_name("trainyard"))
        wheels = list(self.folder.glob("*.whl"))
        self.check("a wheel for this kind of machine", len(wheels) == 1
                   and re.fullmatch(r"trainyard_sim-[0-9.]+-py3-none-\w+\.whl", wheels[0].name)
                   and "any" not in wheels[0].name, built)
        installed = self.run(*pip, "install", "--no-index", *wheels)
        self.check("pip installs it", installed.returncode == 0, installed)
        held = [name for wheel in wheels for name in zipfile.ZipFile(wheel).namelist()]
        self.check("with types and library", {"trainyard/py.typed", "trainyard/libtrainyard.so"}
                   <= set(held), held)
        program = self.folder / "env/bin/trainyard"
        asked = self.run(program, "run", "docs/examples/first.yaml", "--stats", "json")
        self.check("with the program", asked.returncode == 0
                   and '"step_time_s": 1.2' in asked.stdout, asked)
        own = self.run(program, "plan", "docs/examples/first.yaml", "--emit", "megatron")
        self.check("and what reads and writes files of other frameworks",
                   own.returncode == 0 and "MEGATRON_ARGS=(" in own.stdout, own)
        self.check("and nothing of an earlier build", left and "trainyard/gone.py" not in held, held)
        return installed.returncode == 0

    def facts(self):
        """What tests/python/facts.py found, in the environment."""
        done = self.run(self.python, self.top / "tests/python/facts.py", self.top,
                        cwd=self.folder)
        for line in done.stdout.splitlines():
            fact = json.loads(line)
            self.check(fact["name"], fact["good"], fact["seen"])
        self.check("and ends", done.returncode == 0, done.stderr[-2000:])

    def structures(self):
        """Members lie where a compiler puts them, and are as long."""
        told = json.loads(self.run(self.python, "-c", (
            "import json, trainyard._library as c;"
            "print(json.dumps({k: [[n, getattr(v, n).offset, getattr(v, n).size]"
            " for n, _ in v._fields_] for k, v in c.STRUCTURES.items()}))")).stdout)
        lines = "".join(f'printf("%zu %zu\\n", offsetof(struct {name}, {member.rstrip("_")}), '
                        f'sizeof(((struct {name} *)0)->{member.rstrip("_")}));\n'
                        for name, members in told.items() for member, _, _ in members)
        ends = "".join(f'printf("%zu\\n", sizeof(struct {name}));\n' for name in told)
        program = self.folder / "structures.c"
        program.write_text('#include <stddef.h>\n#include <stdio.h>\n#include "sim/trainyard.h"\n'
                           'int main(void) {\n' + lines + ends + "}\n")
        built = self.run("cc", "-I", self.top, program, "-o", self.folder / "structures")
        self.check("structures have the members of the header", built.returncode == 0, built.stderr)
        if built.returncode != 0:
            return
        got = self.run(self.folder / "structures").stdout.splitlines()
        mine = [(f"{name}.{member}", f"{at} {size}") for name, members in told.items()
                for member, at, size in members]
        wrong = [(name, is_now, said) for (name, said), is_now in zip(mine, got) if said != is_now]
        self.check("which lie where a compiler puts them", got and not wrong, wrong)
        sizes = self.run(self.python, "-c", (
            "import ctypes, trainyard._library as c;"
            "print(*[ctypes.sizeof(v) for v in c.STRUCTURES.values()], sep='\\n')"))
        self.check("and none is missing", got[len(mine):] == sizes.stdout.splitlines(), sizes)

    def version(self):
        """One, that of the header."""
        header = (self.top / "sim/trainyard.h").read_text(encoding="utf-8")
        version, = re.findall(r'TRAINYARD_VERSION "(.*)"', header)
        done = self.run(self.python, "-c", "import trainyard, importlib.metadata as m;"
                        "print(trainyard.__version__, trainyard.version(), m.version('trainyard-sim'))")
        self.check("there is one version", done.stdout.split() == [version] * 3, done)

    def libraries(self):
        """Which is loaded, and what is said where none can be."""
        found = "import trainyard._library as c; print(c._find())"
        own = self.run(self.python, "-c", found)
        self.check("the library is that of the wheel", "env/lib" in own.stdout, own)
        named = self.run(self.python, "-c", found, TRAINYARD_LIBRARY=str(self.library))
        self.check("unless another is named", named.stdout.strip() == str(self.library), named)
        lost = self.run(self.python, "-c", "import trainyard", TRAINYARD_LIBRARY="/nowhere.so")
        self.check("one that is not there is told", "ImportError: /nowhere.so cannot be loaded"
                   in lost.stderr, lost)
        alone = self.folder / "alone"  # the package as Debian has it, beside the library
        shutil.copytree(self.top / "sim/python/trainyard", alone / "trainyard")
        said = "import trainyard; print(trainyard.version())"
        without = self.run(self.python, "-c", said, cwd=alone)
        self.check("without a library it is named", "libtrainyard.so" in without.stderr
                   and "TRAINYARD_LIBRARY" in without.stderr, without)
        beside = self.run(self.python, "-c", said, cwd=alone,
                          LD_LIBRARY_PATH=str(self.library.parent))
        self.check("one that is installed is found by its name", beside.returncode == 0, beside)
        other = self.folder / "other.c"
        other.write_text('const char *ty_version(void) { return "9.8.7"; }\n')
        self.run("cc", "-shared", "-fPIC", other, "-o", self.folder / "other.so")
        wrong = self.run(self.python, "-c", "import trainyard",
                         TRAINYARD_LIBRARY=str(self.folder / "other.so"))
        self.check("so is one of another version", "other.so is trainyard 9.8.7, and this package "
                   "is of" in wrong.stderr, wrong)

    def types(self):
        """By mypy, where there is one."""
        if self.lacks("types", "mypy"):
            return
        done = self.run(self.python, "-m", "mypy", "--cache-dir", self.folder / "mypy",
                        cwd=self.top / "sim/python")
        self.check("types", done.returncode == 0, done.stdout)

    def lacks(self, name, *modules):
        """Whether a fact cannot be tried for want of modules, which is told."""
        if self.run(self.python, "-c", f"import {', '.join(modules)}").returncode == 0:
            return False
        self.n += 1
        self.failed += needs.told(self.n, name, needs.Missing(
            f"Python's {' or '.join(modules)}", " ".join(needs.MODULES[m] for m in modules)))
        return True

    def guide(self):
        """docs/guides/python.md, block after block in one program."""
        if self.lacks("the guide's examples", "matplotlib", "pandas"):
            return
        text = (self.top / "docs/guides/python.md").read_text(encoding="utf-8")
        program = self.folder / "guide.py"
        program.write_text("\n".join(BLOCK.findall(text)))
        done = self.run(self.python, program, PYTHONWARNINGS="error::DeprecationWarning")
        self.check("the guide's examples run", done.returncode == 0 and BLOCK.search(text),
                   done.stderr[-2000:])

    def notebook(self):
        """docs/guides/python.ipynb, by nbconvert."""
        if self.lacks("the notebook", "ipykernel", "matplotlib", "nbconvert", "pandas"):
            return
        done = self.run(self.python, "-m", "nbconvert", "--to", "notebook", "--execute",
                        "--output-dir", self.folder, self.top / "docs/guides/python.ipynb",
                        HOME=str(self.folder), JUPYTER_PATH=str(self.kernel()),
                        MPLBACKEND="module://matplotlib_inline.backend_inline")
        told = self.folder / "python.ipynb"
        cells = json.loads(told.read_text())["cells"] if told.exists() else []
        pictures = sum("image/png" in output.get("data", {}) for cell in cells
                       for output in cell.get("outputs", []))
        self.check("the notebook runs, with its pictures", done.returncode == 0 and pictures >= 4,
                   done.stderr[-2000:])
        kept = json.loads((self.top / "docs/guides/python.ipynb").read_text())["cells"]
        self.check("it is kept with its pictures", pictures == sum(
            "image/png" in output.get("data", {}) for cell in kept for output in cell.get("outputs", [])), pictures)

    def notebook_text(self):
        """What its cells print is what is kept in it; pictures are not drawn."""
        cells = [cell for cell in json.loads((self.top / "docs/guides/python.ipynb").read_text())["cells"]
                 if cell["cell_type"] == "code"]
        kept = ["".join(text for output in cell["outputs"] for text in output.get("text", ""))
                for cell in cells]
        done = self.run(self.python, "-c", PRINTED, *("".join(cell["source"]) for cell in cells))
        got = json.loads(done.stdout) if done.returncode == 0 else done.stderr
        wrong = [(one, two) for one, two in zip(kept, got) if timeless(one) != timeless(two)]
        self.check("the notebook prints what is kept in it; else run it anew: python.ipynb",
                   done.returncode == 0 and any(kept) and not wrong, wrong or done.stderr)

    def kernel(self):
        """A kernel of the environment's Python, in a folder of the test's own."""
        folder = self.folder / "jupyter/kernels/python3"
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps({
            "argv": [self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "trainyard", "language": "python"}))
        return self.folder / "jupyter"


def in_place(test, lacking):
    """Without what makes wheels: what the package does, with the library that was built."""
    try:
        test.python = needs.python("numpy")
    except needs.Missing as why:
        return needs.told_of_all(why)
    test.more = {"PYTHONPATH": str(test.top / "sim/python"), "TRAINYARD_LIBRARY": str(test.library)}
    test.facts()
    test.notebook_text()
    test.n += 1
    test.failed += needs.told(test.n, "the package as a wheel", lacking)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


def main():
    with tempfile.TemporaryDirectory() as name:
        test = Package(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(),
                       pathlib.Path(name))
        try:
            python = needs.python("ensurepip", "numpy", "setuptools", "wheel")
            needs.program("cc")
        except needs.Missing as why:
            return in_place(test, why)
        if test.install(python):
            for part in (test.facts, test.structures, test.version, test.libraries, test.types,
                         test.guide, test.notebook, test.notebook_text):
                part()
        print(f"1..{test.n}")
        return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
