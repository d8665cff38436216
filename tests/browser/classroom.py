#!/usr/bin/env python3
"""Makes the classroom's page and lets classroom.js use it in Chromium; skipped, with a line that says so, where
there is no node, no Chromium, no playwright-core, or no simulator for pages in the program (-Dwasm=enabled).

usage: classroom.py TRAINYARD
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def pages(binary, folder):
    """A schedule, an order of the user's own beside a schedule, and one longer than addresses may be."""
    def schedule(*words):
        subprocess.run([binary, "schedule", *words], cwd=folder, check=True)
    schedule("zb-v", "-p", "6", "-m", "12", "-o", "zb-v.html")
    schedule("gpipe", "-p", "2", "-m", "2", "-o", "own.slots")
    schedule("--compare", "1f1b,./own.slots", "-p", "2", "-m", "2", "-o", "own.html")
    two = subprocess.run([binary, "schedule", "--compare", "own.slots,./own.slots", "-p", "2", "-m", "2", "-o", "two.html"],
                         cwd=folder, capture_output=True, text=True, check=False)
    assert two.returncode == 2 and "name one file" in two.stderr, two
    schedule("1f1b", "-p", "16", "-m", "800", "-o", "long.slots")
    schedule("long.slots", "-o", "long.html")


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    node = shutil.which("node")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    env = dict(os.environ)
    if shutil.which("npm"):
        root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False)
        env["NODE_PATH"] = os.pathsep.join(filter(None, [env.get("NODE_PATH"), root.stdout.strip()]))
    if node is None or browser is None or subprocess.run(
            [node, "-e", "require('playwright-core')"], env=env, capture_output=True,
            check=False).returncode != 0:
        print("1..0 # SKIP no node, chromium or playwright-core")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([binary, "classroom", "-o", f"{folder}/page.html"],
                              capture_output=True, text=True, check=False)
        if done.returncode == 3 and "-Dwasm=enabled" in done.stderr:
            print("1..0 # SKIP the simulator for pages was not built in: -Dwasm=enabled")
            return 0
        pages(binary, folder)
        return subprocess.run([node, str(HERE / "classroom.js"), browser, folder, binary], env=env,
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
