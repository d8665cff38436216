#!/usr/bin/env python3
"""Makes pages and lets report.js read them in Chromium; skipped where there is no node, no Chromium or
no playwright-core. The module is looked for in NODE_PATH and beside the globally installed ones:

    npm install -g playwright-core

usage: report.py TRAINYARD [--all]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import needs  # noqa: E402

EXAMPLES = HERE.parents[1] / "docs" / "examples"
SMALL = ["--set", "layout.global_batch=256"]
PAGES = {
    "one.html": ["llama-30b-256xa100.yaml"] + SMALL,
    "two.html": ["gpipe-memory.yaml", "--set", "layout.global_batch=64",
                 "--against-set", "schedule.name=zb-1p"],
    "op.html": ["llama-30b-256xa100.yaml", "--detail", "op"] + SMALL,
    "stop.html": ["deadlock/circle.yaml"],
    "chunks.html": ["llama-30b-256xa100.yaml", "--set", "schedule.name=interleaved",
                    "--set", "schedule.chunks=3", "--set", "layout.global_batch=256"],
    "uneven.html": ["llama-30b-256xa100.yaml", "--set", "layout.global_batch=1024"],
    "shards.html": ["llama3-8b-fsdp-8xh100.yaml"],
    "full.html": ["gpipe-memory.yaml", "--set", "layout.recompute=none"],
    "long.html": ["gpt3-175b-1024xa100.yaml", "--set", "cluster.nodes=16", "--set",
                  "layout.data=1", "--set", "layout.global_batch=256"],
}


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    node = shutil.which("node")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser",
                                                   "google-chrome"))), None)
    if node is None or browser is None:
        return needs.told_of_all(needs.Missing("node" if node is None else "chromium",
                                               "nodejs chromium", network=True))
    env = dict(os.environ)
    if shutil.which("npm"):
        root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False)
        env["NODE_PATH"] = os.pathsep.join(
            filter(None, [env.get("NODE_PATH"), root.stdout.strip()]))
    if subprocess.run([node, "-e", "require('playwright-core')"], env=env, capture_output=True,
                      check=False).returncode != 0:
        return needs.told_of_all(needs.Missing("playwright-core", network=True))
    with tempfile.TemporaryDirectory() as folder:
        for name, words in PAGES.items():
            subprocess.run([binary, "report", str(EXAMPLES / words[0]), "-q", "-o",
                            str(pathlib.Path(folder, name))] + words[1:],
                           stderr=subprocess.DEVNULL, check=False)
        subprocess.run([binary, "plan", str(EXAMPLES / "first.yaml"), "--over", "layout.tensor=1,2", "--over",
                        "layout.pipeline=1,2", "-q", "-o", f"{folder}/plan"], stdout=subprocess.DEVNULL, check=False)
        done = subprocess.run([node, str(HERE / "report.js"), browser, folder, *sys.argv[2:]],
                              env=env, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
