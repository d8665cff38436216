#!/usr/bin/env python3
"""A test of the command line in a program whose locale has a decimal comma.

comma.py SHIM SCRIPT ARGUMENT...: runs the script with a locale in which 1.5 is 1,5 and with SHIM
preloaded, which makes it the program's. Numbers in run files, tables, traces and reports have a
point all the same.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # noqa: E402

SOURCE = pathlib.Path(__file__).with_name("comma.locale")


def main():
    shim, script, *words = sys.argv[1:]
    shim = os.path.abspath(shim)
    try:
        needs.program("localedef")
    except needs.Missing as why:
        return needs.told_of_all(why)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["localedef", "--force", "--no-archive", "--inputfile", SOURCE, "--charmap",
                        "ANSI_X3.4-1968", f"{folder}/comma"], capture_output=True, check=False)
        if not pathlib.Path(folder, "comma", "LC_NUMERIC").exists():
            return needs.told_of_all(needs.Missing("what localedef reads", "locales"))
        env = {**os.environ, "LOCPATH": folder, "LC_ALL": "comma", "LD_PRELOAD": shim,
               "PYTHONUTF8": "1"}
        return subprocess.run([sys.executable, script, *words], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
