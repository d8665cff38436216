#!/usr/bin/env python3
"""What the programs of tests/lint share: tools that may be missing, the files of the tree, a verdict.

A tool that is not installed skips its test, visibly, or fails it (tests/common/needs.py).
"""
import concurrent.futures
import fnmatch
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


def tracked(root):
    """What git takes for files of the tree; None where it is not installed, or this is no clone, or
    one that git does not trust, since it belongs to somebody else."""
    try:
        git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                              "--exclude-standard"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return git.stdout.split("\0") if git.returncode == 0 else None


def ignored(path, patterns):
    """Whether lines of .gitignore (without `!` and `**`) leave a file out: /ANCHORED, FOLDER/."""
    for pattern in patterns:
        within = list(path.parents)[:-1] + ([] if pattern.endswith("/") else [path])
        wanted = pattern.strip("/")
        if any(fnmatch.fnmatchcase(str(one) if pattern.startswith("/") else one.name, wanted)
               for one in within):
            return True
    return False


def walked(root):
    """The same without git."""
    rules = root / ".gitignore"
    patterns = ["/.git", *(rules.read_text(encoding="utf-8").split() if rules.exists() else [])]
    paths = [path.relative_to(root) for path in root.rglob("*")]
    return [path.as_posix() for path in paths if not ignored(path, patterns)]


def tree(root, *suffixes):
    """Paths, from the root, of the files that belong to the tree and end so."""
    names = tracked(root)
    names = walked(root) if names is None else names
    return sorted(pathlib.PurePosixPath(name) for name in names
                  if name and name.endswith(suffixes) and (root / name).is_file())


def run(command, folder=None, text=""):
    """What a command that reads a text printed on both of its outputs, and its exit status."""
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True,
                          encoding="utf-8", errors="replace", check=False)
    return done.stdout + done.stderr, done.returncode


def in_parallel(function, items):
    """The results in the order of the items, on as many threads as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))
