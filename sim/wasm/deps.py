#!/usr/bin/env python3
"""Builds what the library stands on for WebAssembly, of Debian's sources: libyaml, GSL, zlib, libcsv, yajl.

    deps.py FOLDER COMPILER...   makes FOLDER/libdeps.a and FOLDER/include; sources stay in FOLDER/sources

Debian has no such libraries for WebAssembly, but the sources of its own. apt-get fetches them, and checks
their signatures, by a list and with indexes that lie in FOLDER: the system's configuration is neither
asked nor changed. Nothing is configured: the few lines that a configure script would find out stand here.
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

RELEASE = "bookworm"  # whose emcc the recipe is tried with
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ["libyaml", "gsl", "zlib", "libcsv", "yajl"]
FLAGS = ["-Oz", "-DNDEBUG", "-ffp-contract=off"]
# Two: a compiler takes 200 MB, and the library is compiled beside them.
PARALLEL = 2

# Of GSL the files that fits, curves and quantiles reach; the linker names what is missing. blas reaches
# every file of cblas.
GSL = {
    "blas": "blas",
    "block": "init",
    "cdf": "fdist gauss gaussinv",
    "complex": "inline math",
    "eigen": "symm",
    "err": "error stream strerror",
    "interpolation": "inline interp steffen",
    "linalg": "cholesky condest householder inline invtri qr qrpt symmtd trimult",
    "matrix": "copy init matrix rowcol submatrix swap view",
    "min": "brent fsolver",
    "multifit_nlinear": "convergence fdf fdfvv fdjac lm qr scaling trust",
    "permutation": "init inline permutation permute",
    "randist": "beta binomial binomial_tpe gamma gausszig poisson shuffle",
    "rng": "inline mt rng",
    "specfunc": "beta elementary erfc exp expint gamma gamma_inc lambert log psi trig zeta",
    "sys": "fdiv infnan pow_int",
    "vector": "copy init minmax oper subvector swap vector view",
}
GSL_CONFIG = """\
#define HAVE_COMPLEX_H 1
#define HAVE_IEEE_COMPARISONS 1
#define HAVE_IEEE_DENORMALS 1
#define HAVE_MEMCPY 1
#define HAVE_MEMMOVE 1
#define HAVE_STRDUP 1
#define HAVE_STRTOL 1
#define HAVE_STRTOUL 1
#define HAVE_VPRINTF 1
#define STDC_HEADERS 1
#define HAVE_EXIT_SUCCESS_AND_FAILURE 1
""" + "".join(f"#define HAVE_DECL_{name} 1\n" for name in (
    "ACOSH", "ASINH", "ATANH", "EXPM1", "FINITE", "FREXP", "HYPOT", "ISFINITE", "ISINF", "ISNAN", "LDEXP",
    "LOG1P")) + """\
#define RETURN_IF_NULL(x) if (!x) { return; }
#define GSL_COERCE_DBL(x) (x)
"""


def run(words, folder, what):
    """Ends the program where the command fails, with what it printed."""
    try:
        done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except FileNotFoundError:
        sys.exit(f"deps.py: {words[0]} is not installed; {what} needs it")
    if done.returncode != 0:
        sys.exit(f"deps.py: {what} failed: {' '.join(map(str, words))}\n"
                 f"{done.stdout.decode(errors='replace')}")


def fetch(folder):
    """Source packages as folders; returns them by name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    if not pathlib.Path(KEYRING).exists():
        sys.exit(f"deps.py: {KEYRING} is not there; debian-archive-keyring has it")
    sources = folder / "sources.list"
    sources.write_text(f"deb-src [signed-by={KEYRING}] {MIRROR} {RELEASE} main\n", encoding="ascii")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", f"Dir::State::lists={folder / 'lists'}", "-o", "APT::Update::Error-Mode=any",
           "-o", "APT::Sandbox::User=root"]
    if not all(list(folder.glob(f"{name}_*.dsc")) for name in PACKAGES):
        run(apt + ["update"], folder, f"reading the index of {MIRROR}")
        run(apt + ["source", "--download-only", *PACKAGES], folder, "fetching sources")
    found = {}
    for name in PACKAGES:
        dsc = max(folder.glob(f"{name}_*.dsc"))
        found[name] = folder / name
        shutil.rmtree(found[name], ignore_errors=True)
        run(["dpkg-source", "--no-check", "-x", dsc, found[name]], folder, f"unpacking {dsc.name}")
    return found


def headers(source, include):
    """Headers as programs include them."""
    for name in ("gsl", "yajl"):
        (include / name).mkdir(parents=True, exist_ok=True)
    for path in source["gsl"].rglob("gsl_*.h"):
        shutil.copy(path, include / "gsl")
    for path in (source["yajl"] / "src" / "api").glob("*.h"):
        shutil.copy(path, include / "yajl")
    api = (source["yajl"] / "src" / "api" / "yajl_version.h.cmake").read_text(encoding="ascii")
    cmake = (source["yajl"] / "CMakeLists.txt").read_text(encoding="ascii")
    for part in ("YAJL_MAJOR", "YAJL_MINOR", "YAJL_MICRO"):
        number = re.search(rf"SET \({part} (\d+)\)", cmake).group(1)
        api = api.replace("${" + part + "}", number)
    (include / "yajl" / "yajl_version.h").write_text(api, encoding="ascii")
    for path in (source["libyaml"] / "include" / "yaml.h", source["zlib"] / "zlib.h", source["zlib"] / "zconf.h",
                 source["libcsv"] / "csv.h"):
        shutil.copy(path, include)
    (source["gsl"] / "config.h").write_text(GSL_CONFIG, encoding="ascii")


def parts(source):
    """(name, files, flags) of what is compiled together."""
    yaml = source["libyaml"] / "src"
    version = [f"-DYAML_VERSION_{part}={number}" for part, number in
               zip(("MAJOR", "MINOR", "PATCH"), (0, 2, 5))] + ['-DYAML_VERSION_STRING="0.2.5"']
    yield "yaml", [yaml / f"{name}.c" for name in ("api", "reader", "scanner", "parser", "loader")], version
    # Without HAVE_UNISTD_H, which callers do not define either: both must agree on the width of an offset.
    yield "zlib", sorted(source["zlib"].glob("*.c")), ["-include", "unistd.h"]
    yield "csv", [source["libcsv"] / "libcsv.c"], []
    yield "yajl", sorted((source["yajl"] / "src").glob("*.c")), []
    gsl = source["gsl"]
    yield "gsl-cblas", sorted((gsl / "cblas").glob("[cdisxz]*.c")), [f"-I{gsl}"]
    for folder, names in GSL.items():
        yield f"gsl-{folder}", [gsl / folder / f"{name}.c" for name in names.split()], [f"-I{gsl}"]


def compile_part(compiler, objects, include, part):
    name, files, flags = part
    folder = objects / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run([*compiler, *FLAGS, *flags, f"-I{include}", "-w", "-c", *files], folder, f"compiling {name}")
    return sorted(folder.glob("*.o"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("compiler", nargs=argparse.REMAINDER, help="a C compiler and its flags for WebAssembly")
    parser.add_argument("--emar", default="emar")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    source = fetch(folder / "sources")
    shutil.rmtree(folder / "include", ignore_errors=True)
    headers(source, folder / "include")
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        done = pool.map(lambda part: compile_part(asked.compiler, folder / "objects", folder / "include", part),
                        parts(source))
        objects = [path for one in done for path in one]
    library = folder / "libdeps.a"
    library.unlink(missing_ok=True)
    run([asked.emar, "rcs", library, *objects], folder, "putting the objects together")


if __name__ == "__main__":
    main()
