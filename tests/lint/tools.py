#!/usr/bin/env python3
"""What the programs of tests/lint share: tools that may be missing, the files of the tree, a verdict.

A tool that is not installed skips its test, visibly, or fails it (tests/common/needs.py).
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # noqa: E402

# Releases differ in what they find, and in what they make of the same rules: those of Debian 12.
RELEASES = {"clang-format": "14", "clang-tidy": "14", "cppcheck": "2.10"}


def present(tools):
    """Those of the tools that are installed, in the release that decides where there is one."""
    return [tool for tool in tools if shutil.which(tool) and release(tool) in
            (None, RELEASES.get(tool))]


def release(tool):
    """The release that is installed of a tool for which that matters, as far as RELEASES says it."""
    if tool not in RELEASES:
        return None
    out, _ = run([tool, "--version"])
    found = re.search(r"(?:version|Cppcheck) (\d+(?:\.\d+)?)", out)
    parts = RELEASES[tool].count(".") + 1
    return ".".join(found[1].split(".")[:parts]) if found else ""


def verdict(findings, missing, fine):
    """Prints what was found, or that all is well; the exit status of the test."""
    if findings:
        print("\n".join(findings))
        print(f"{len(findings)} findings")
        return 1
    if missing:
        why = needs.Missing(", ".join(f"{tool} {RELEASES.get(tool, '')}".strip() for tool in missing),
                            " ".join(needs.PROGRAMS[tool] for tool in missing))
        print(why)
        return 1 if why.fails else needs.SKIPPED
    print(fine)
    return 0


def tree(root, *suffixes):
    """Paths, from the root, of the files that belong to the tree and end so."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                          "--exclude-standard"], capture_output=True, text=True, check=False)
    if git.returncode == 0:
        names = [name for name in git.stdout.split("\0") if name and (root / name).is_file()]
    else:  # a tree out of an archive
        names = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
        names = [name for name in names if not name.startswith("build") and "__pycache__" not in name]
    return sorted(pathlib.PurePosixPath(name) for name in names if name.endswith(suffixes))


def run(command, folder=None, text=""):
    """What a command that reads a text printed on both of its outputs, and its exit status."""
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True,
                          encoding="utf-8", errors="replace", check=False)
    return done.stdout + done.stderr, done.returncode


def in_parallel(function, items):
    """The results in the order of the items, on as many threads as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))
