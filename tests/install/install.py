#!/usr/bin/env python3
"""Installs into an empty folder and builds programs against what is there, as a user would.

install.py MESON BUILD SOURCE: the header stands alone, the shared library exports what it declares
and nothing else, pkg-config finds shared and static, and the examples of docs/examples/library say
what the program says.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # noqa: E402

MESON, BUILD, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
LIBRARY = SOURCE / "docs/examples/library"
FSDP = SOURCE / "docs/examples/llama3-8b-fsdp-8xh100.yaml"
PIPELINE = SOURCE / "docs/examples/llama-30b-256xa100.yaml"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


class Tree:
    """An installed tree, and where things are in it."""

    def __init__(self, root):
        self.root = root
        subprocess.run([MESON, "install", "-C", str(BUILD), "--no-rebuild"], check=True,
                       env={**os.environ, "DESTDIR": str(root)}, stdout=subprocess.DEVNULL)
        self.files = sorted(p for p in root.rglob("*") if not p.is_dir())
        self.header = self.one("include/trainyard.h")
        self.shared = self.one("/libtrainyard.so")
        self.program = self.one("bin/trainyard")

    def one(self, end):
        found = [p for p in self.files if str(p).endswith(end)]
        assert len(found) == 1, f"{end}: {found}"
        return found[0]

    def flags(self, *wanted):
        """What pkg-config says, of the tree in place of the system's root."""
        package = self.one("pkgconfig/trainyard.pc").parent
        command = ["pkg-config", *wanted, "trainyard"]
        said = subprocess.run(command, check=True, capture_output=True, text=True, env={
            **os.environ, "PKG_CONFIG_PATH": str(package),
            "PKG_CONFIG_SYSROOT_DIR": str(self.root)}).stdout.split()
        # the sysroot is put before paths of other packages, too, which lie on the real root
        return [f for f in said if not f.startswith("-I/") or pathlib.Path(f[2:]).exists()]

    def build(self, *flags, source=LIBRARY / "overlap.c"):
        program = self.root / "consumer"
        subprocess.run(["cc", "-std=c11", *STRICT, str(source), *self.flags("--cflags"), *flags,
                        "-o", str(program)], check=True)
        return program

    def start(self, command, **more):
        env = {**os.environ, "LD_LIBRARY_PATH": str(self.shared.parent),
               "TRAINYARD_LIBRARY": str(self.shared), "PYTHONDONTWRITEBYTECODE": "1",
               "PYTHONPATH": str(SOURCE / "sim/python")}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env,
                              **more)

    def run(self, command):
        return self.start(command).stdout

    def stats(self, path):
        return json.loads(self.run([str(self.program), "run", str(path), "--stats", "json"]))


def what_is_installed_is_what_a_package_would_hold(tree):
    guides = tree.one("reference/formats.md").parents[1]
    package = tree.one("libexec/trainyard/trainyard-import").with_name("python")
    names = {re.sub(r"\.so(\.\d+)*$", ".so", p.name) for p in tree.files
             if not {guides, package} & set(p.parents)}
    names -= {"trainyard-mpi"}  # where there is MPI
    assert names == {"trainyard", "trainyard-import", "trainyard-compare", "trainyard.h",
                     "trainyard.pc", "libtrainyard.a", "libtrainyard.so", "trainyard.1",
                     "trainyard.5", "trainyard.bash", "_trainyard", "trainyard.fish"}, names


def the_guides_are_installed_and_their_examples_run(tree):
    guides = tree.one("reference/formats.md").parents[1]
    sources = {p.relative_to(SOURCE / "docs").as_posix() for p in (SOURCE / "docs").rglob("*.md")}
    sources -= {"internals/style.md", "internals/packaging.md"}
    assert sources == {p.relative_to(guides).as_posix() for p in guides.rglob("*.md")}
    assert not list(guides.rglob("__pycache__"))
    installed, given = (tree.stats(path) for path in (guides / "examples" / FSDP.name, FSDP))
    assert installed["config_digest"] == given["config_digest"]


def a_job_is_imported_by_what_is_installed(tree):
    job = SOURCE / "tests/cli/jobs/llama3-8b-h100-fp8.sh"
    found = tree.run([str(tree.program), "import", "megatron", str(job), "-q"])
    assert "  layers: 32 " in found and "--num-layers, llama3-8b-h100-fp8.sh:" in found, found


def bash_finds_the_completion_by_the_name_of_the_program(tree):
    loader = needs.file("/usr/share/bash-completion/bash_completion")
    data = tree.one("completions/trainyard.bash").parents[2]
    said = subprocess.run(["bash", "--norc", "-c", f". {loader}; _completion_loader trainyard;"
                           "complete -p trainyard"], capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_DATA_DIRS": str(data)})
    assert "-F _trainyard trainyard" in said.stdout, said


def the_header_stands_alone_in_c_and_cpp(tree):
    for compiler, language, standard in ("cc", "c", "c11"), ("c++", "c++", "c++11"):
        needs.program(compiler)
        subprocess.run([compiler, "-x", language, f"-std={standard}", *STRICT, "-c",
                        "-o", os.devnull, "-"], check=True, text=True,
                       input=f'#include "{tree.header}"\n')


def the_shared_library_exports_what_the_header_declares(tree):
    declared = set(re.findall(r"^TY_API [^;]*?(ty_\w+)\(", tree.header.read_text(), re.M))
    table = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", str(tree.shared)],
                           check=True, capture_output=True, text=True).stdout
    exported = {line.split()[0] for line in table.splitlines()}
    assert len(declared) > 30 and exported == declared, exported ^ declared


def the_debian_package_of_the_library_knows_what_it_exports(tree):
    file, = (SOURCE / "docs/debian").glob("libtrainyard*.symbols")
    symbols = file.read_text().splitlines()
    name = re.search(r"SONAME\s+\[?([\w.]+)", subprocess.run(
        ["objdump", "-p", str(tree.shared)], check=True, capture_output=True, text=True).stdout)[1]
    package = name.replace(".so.", "")
    assert symbols[0] == f"{name} {package} #MINVER#" and file.stem == package, (name, symbols[0])
    declared = set(re.findall(r"^TY_API [^;]*?(ty_\w+)\(", tree.header.read_text(), re.M))
    known = {line.split("@")[0].strip() for line in symbols[1:] if line[0] == " "}
    assert known == declared, known ^ declared


def there_is_one_version(tree):
    """In what is installed, and in what is written for people."""
    version, = re.findall(r'#define TRAINYARD_VERSION "(\d+\.\d+\.\d+)"', tree.header.read_text())
    package, = tree.flags("--modversion")
    program = tree.run([str(tree.program), "--version"]).strip()
    library, = [p.name for p in tree.files if ".so." in p.name and not p.is_symlink()]
    changes = re.findall(r"^## ([\d.]+) - (?:unreleased|\d{4}-\d\d-\d\d)$",
                         (SOURCE / "docs/CHANGELOG.md").read_text(), re.M)
    debian = (SOURCE / "docs/debian/changelog").read_text()
    seen = [package, program, library, changes[:1], debian.split("\n", maxsplit=1)[0]]
    assert package == version and program == f"trainyard {version}", seen
    assert library == f"libtrainyard.so.{version}" and changes[0] == version, seen
    assert debian.startswith(f"trainyard ({version})"), seen


def there_is_one_licence(_tree):
    """In what a build, a package and a reader are told."""
    project = (SOURCE / "meson.build").read_text()
    assert re.search(r"license: '(.*?)'", project)[1] == "GPL-3.0-or-later"
    assert "\nLicence: [GPL-3.0-or-later](" in (SOURCE / "README.md").read_text()
    assert "Files: *\nCopyright: " in (SOURCE / "docs/debian/copyright").read_text()
    assert "\nLicense: GPL-3+\n" in (SOURCE / "docs/debian/copyright").read_text()


def every_public_function_is_documented(tree):
    """A comment ends on the line before, or the declaration follows another that has one."""
    lines = tree.header.read_text().splitlines()
    for i, line in enumerate(lines):
        if line.startswith("TY_API"):
            above = i - 1
            while not lines[above].rstrip().endswith(("*/", "{")) and lines[above].strip():
                above -= 1
            noted = lines[above].rstrip().endswith("*/") or "/*" in line
            assert noted or line.startswith("TY_API void"), line


def a_c_program_against_the_shared_library_alone(tree):
    program = tree.build(*tree.flags("--libs"))
    said = tree.run([str(program), str(FSDP)])
    stats = tree.stats(FSDP)
    assert f"MFU {100 * stats['mfu']:.1f} %" in said, said
    busy, hidden = re.search(r"data comm +([\d.]+) s, +([\d.]+) % behind", said).groups()
    exposed = float(busy) * (1 - float(hidden) / 100)
    assert exposed <= stats["breakdown"]["exposed_data"] + 0.01, (said, exposed)
    assert float(hidden) > 50, said  # FSDP gathers ahead


def a_c_program_against_the_static_library_alone(tree):
    static = [f for f in tree.flags("--libs", "--static") if f != "-ltrainyard"]
    program = tree.build(str(tree.one("libtrainyard.a")), *static)
    assert "step " in tree.run([str(program), str(FSDP)])


def the_examples_of_the_header_run(tree):
    """Each is the body of a function that has an error object."""
    said = {}
    for name, comment in re.findall(r"/\* ==== (\w+) ====\n(.*?)\*/", tree.header.read_text(), re.S):
        code = "\n".join(line[7:] for line in comment.splitlines() if line.startswith(" *     "))
        source = tree.root / f"{name}.c"
        source.write_text("#include <stdio.h>\n#include <trainyard.h>\nint main(void)\n{\n"
                          f"struct ty_err *err = ty_err_new();\n{code}\n"
                          'fputs(ty_err_text(err), stderr);\nty_err_free(err);\nreturn 0;\n}\n')
        program = tree.build(*tree.flags("--libs"), source=source)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SOURCE / "docs/examples/first.yaml", folder)
            done = tree.start([str(program)], cwd=folder)
        assert not done.stderr and done.stdout, (name, done)
        said[name] = done.stdout
    found = {"errors": "exit status 3", "config": "layout.tensor", "run": "MFU 44.0 %, fits: 1",
             "report": "step.json.gz", "plan": "layouts", "sweep": "fastest: row",
             "fleet": "goodput", "schedule": "bubble"}
    assert said.keys() == found.keys(), said.keys()
    for name, words in found.items():
        assert words in said[name], (name, said[name])


def errors_come_back_with_their_place(tree):
    wrong = tree.root / "wrong.yaml"
    wrong.write_text("cluster: {preset: dgx-a100}\nmodel: {preset: llama-7b}\n")
    program = tree.build(str(tree.one("libtrainyard.a")), *tree.flags("--libs", "--static"))
    done = subprocess.run([str(program), str(wrong)], capture_output=True, text=True, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": str(tree.shared.parent)})
    assert done.returncode == 3 and "wrong.yaml:1:19: cluster.preset" in done.stderr, done


def the_drawing_example_draws(tree):
    python = needs.python("matplotlib", "numpy")
    picture = tree.root / "picture.png"
    said = tree.run([python, str(LIBRARY / "utilization.py"), str(PIPELINE), str(picture)])
    shares = [float(x) for x in re.findall(r"computes ([\d.]+) %", said)]
    stats = tree.stats(PIPELINE)
    computing = sum(s for k, s in stats["breakdown"].items()
                    if k.startswith(("compute", "recompute", "optimizer")))
    assert len(shares) == 4 and abs(sum(shares) / 4 - 100 * computing / stats["step_time_s"]) < 0.02
    assert picture.read_bytes().startswith(b"\x89PNG")


def the_build_serves_programs_without_being_installed(tree):
    """As `meson devenv` sets it up: compiler, loader and Python find what was built."""
    python = needs.python("numpy")
    script = f"""cc -std=c11 {LIBRARY}/overlap.c $(pkg-config --cflags --libs trainyard) -o "$1" &&
"$1" {FSDP} && {python} -c 'import trainyard; print(trainyard.run("{FSDP}").mfu)'"""
    said = subprocess.run([MESON, "devenv", "-C", str(BUILD), "sh", "-ec", script, "sh",
                           str(tree.root / "consumer")], check=True, capture_output=True, text=True,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}).stdout
    assert "MFU" in said and said.endswith(f"{tree.stats(FSDP)['mfu']}\n"), said


def main():
    tests = [what_is_installed_is_what_a_package_would_hold,
             the_guides_are_installed_and_their_examples_run,
             a_job_is_imported_by_what_is_installed,
             the_build_serves_programs_without_being_installed,
             bash_finds_the_completion_by_the_name_of_the_program, the_header_stands_alone_in_c_and_cpp,
             the_shared_library_exports_what_the_header_declares,
             the_debian_package_of_the_library_knows_what_it_exports, there_is_one_version, there_is_one_licence,
             every_public_function_is_documented,
             a_c_program_against_the_shared_library_alone, the_examples_of_the_header_run,
             errors_come_back_with_their_place,
             a_c_program_against_the_static_library_alone,
             the_drawing_example_draws]
    print(f"1..{len(tests)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(pathlib.Path(folder))
        for number, test in enumerate(tests, 1):
            name = test.__name__.replace("_", " ")
            try:
                test(tree)
                print(f"ok {number} - {name}")
            except needs.Missing as why:
                failed += needs.told(number, name, why)
            except Exception as why:  # pylint: disable=broad-except
                failed += 1
                output = getattr(why, "stderr", None) or ""
                print(f"not ok {number} - {name}\n# {type(why).__name__}: {why} {output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
