#!/usr/bin/env python3
"""Makes the classroom's page and lets page.js measure it in Chromium.

usage: page.py TRAINYARD
"""
import os
import shutil
import subprocess
import sys
import tempfile


def main():
    root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False).stdout.strip()
    env = {**os.environ, "NODE_PATH": os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), root]))}
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "classroom", "-o", f"{folder}/page.html"], check=True)
        print(os.path.getsize(f"{folder}/page.html"), "bytes", flush=True)
        here = os.path.dirname(os.path.abspath(__file__))
        return subprocess.run(["node", f"{here}/page.js", f"{folder}/page.html", browser], env=env,
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
