#!/usr/bin/env python3
"""Coverage by folder, and whether it reaches its floors.

    folders.py BUILD TOP LINES BRANCHES [--never]

reads what the programs of a build with -Db_coverage=true left behind, through gcovr. Exits 1 when
the whole has less than LINES or BRANCHES percent, or a folder less than LINES. --never lists the
functions that nothing called and, by file, the lines that nothing reached.
"""
import json
import subprocess
import sys

FOLDERS = ["sim/base", "sim/document", "sim/core", "topology", "model", "traces", "sim/config",
           "sim/run", "sim/sweep", "sim/search", "sim/calibrate", "sim/report", "sim/draw",
           "sim/diff", "sim/profile", "sim/schedule", "sim/cli"]


class Count:
    """How many of what there is were reached."""

    def __init__(self):
        self.lines, self.lines_hit, self.branches, self.branches_hit = 0, 0, 0, 0

    def add(self, lines):
        for line in lines:
            self.lines += 1
            self.lines_hit += line["count"] > 0
            self.branches += len(line["branches"])
            self.branches_hit += sum(b["count"] > 0 for b in line["branches"])

    def percent(self):
        return 100 * self.lines_hit / max(self.lines, 1), \
            100 * self.branches_hit / max(self.branches, 1)


def measured(build, top):
    """Files with their lines and functions; those of system headers and tests left out."""
    filters = [word for folder in FOLDERS for word in ("--filter", f"{folder}/")]
    done = subprocess.run(["gcovr", "--root", top, *filters, "--json", "-", "-j", "2", build],
                          cwd=top, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    files = json.loads(done.stdout)["files"]
    for file in files:
        file["lines"] = [line for line in file["lines"] if not line.get("gcovr/noncode")]
    return files


def ranges(numbers):
    """3-5, 9"""
    spans = []
    for n in sorted(numbers):
        if spans and n == spans[-1][1] + 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in spans)


def never(files):
    for file in files:
        missed = {line["line_number"] for line in file["lines"] if line["count"] == 0}
        called = [f for f in file.get("functions", []) if f["execution_count"] == 0]
        if missed:
            print(f"{file['file']}: {ranges(missed)}")
        for function in called:
            print(f"{file['file']}:{function['lineno']}: {function['name']} is never called")


def main():
    build, top, lines, branches = sys.argv[1:5]
    files = measured(build, top)
    whole, low = Count(), []
    print(f"{'folder':10} {'lines':>7} {'reached':>8} {'branches':>9} {'reached':>8}")
    for folder in FOLDERS:
        count = Count()
        for file in files:
            if file["file"].startswith(folder + "/"):
                count.add(file["lines"])
                whole.add(file["lines"])
        of_lines, of_branches = count.percent()
        print(f"{folder:10} {count.lines:7} {of_lines:6.1f} % {count.branches:9} {of_branches:6.1f} %")
        if of_lines < float(lines):
            low.append(f"{folder}: {of_lines:.1f} % of lines, not {lines} %")
    of_lines, of_branches = whole.percent()
    print(f"{'all':10} {whole.lines:7} {of_lines:6.1f} % {whole.branches:9} {of_branches:6.1f} %")
    if of_branches < float(branches):
        low.append(f"all: {of_branches:.1f} % of branches, not {branches} %")
    if "--never" in sys.argv:
        never(files)
    print("\n".join(low))
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
