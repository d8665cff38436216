#!/usr/bin/env python3
"""What the classroom opens of an address that names keys: read by the page's own scripts in node, and the run
file that comes of it checked by the program; skipped where there is no node.

usage: links.py TRAINYARD
"""
import json
import pathlib
import shutil
import subprocess
import sys

from tap import Test

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOM = TOP / "sim" / "classroom"
READ = """const code = ['address.js', 'model.js'].map((name) => require('fs').readFileSync(process.argv[1] + '/' + name, 'utf8')).join('\\n');
const {pairsOf, keysOf, runFileOf, MODEL_USUAL} = new Function(code + 'return {pairsOf, keysOf, runFileOf, MODEL_USUAL};')();
console.log(JSON.stringify(process.argv.slice(2).map((link) => {
  const keys = keysOf(pairsOf(link), MODEL_USUAL);
  return [Object.fromEntries(keys), runFileOf(keys), Object.fromEntries(MODEL_USUAL)];
})));"""
WHOLE = "model.preset=llama-7b&cluster.preset=dgx-h100&cluster.nodes=1&layout.global_batch=8"
# Addresses, and what of the keys they change.
LINKS = [("", {}), ("model.preset=llama-13b&layout.tensor=2", {"model.preset": "llama-13b", "layout.tensor": "2"}),
         ("layout.pipeline=2", {"layout.pipeline": "2"}), ("model.sequence=1024", {"model.sequence": "1024"}),
         ("cluster.preset=dgx-h100&layout.global_batch=256&schedule.name=gpipe&layout.recompute=full",
          {"cluster.preset": "dgx-h100", "layout.global_batch": "256", "schedule.name": "gpipe", "layout.recompute": "full"}),
         (WHOLE, None)]


def main():
    node, test = shutil.which("node"), Test(str(pathlib.Path(sys.argv[1]).resolve()))
    if node is None:
        print("1..0 # SKIP no node")
        return 0
    done = subprocess.run([node, "-e", READ, str(ROOM), *(link for link, _ in LINKS)], capture_output=True, text=True, check=True)
    for (link, changed), (keys, text, usual) in zip(LINKS, json.loads(done.stdout)):
        want = dict(pair.split("=") for pair in link.split("&")) if changed is None else {**usual, **changed}
        test.check(f"#{link} {'is a run file of its own' if changed is None else 'changes what the page opens with'}", keys == want, keys)
        checked = subprocess.run([test.binary, "check", "-"], input=text, capture_output=True, text=True, check=False)
        test.check("and is one that the program takes", checked.returncode in (0, 1), checked.stderr)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
