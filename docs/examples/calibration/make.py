#!/usr/bin/env python3
"""Writes measured.csv: step times of a machine that is not the preset's, simulated, with scatter.

`make.py TRAINYARD`; with --check it writes nothing and fails when the table is not the one that
today's model makes. TRUTH is what a calibration should find; every run is off by its own 0.6 %, as
repeated runs of real clusters are.
"""
import csv
import io
import math
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KEYS = ["model.preset", "layout.tensor", "layout.pipeline", "layout.micro_batch",
        "layout.recompute"]
TRUTH = {"cluster.derate": "1.28", "cluster.norm_passes": "4.6",
         "cluster.nvlink_efficiency": "0.45", "cluster.nvlink_pair_efficiency": "0.5",
         "cluster.nic_efficiency": "0.6"}
LAYOUTS = [(1, 1, 1, "none"), (1, 1, 2, "full"), (1, 4, 1, "none"), (1, 4, 2, "full"),
           (2, 1, 1, "none"), (2, 1, 4, "full"), (2, 2, 2, "none"), (2, 4, 1, "full"),
           (4, 1, 1, "none"), (4, 2, 4, "none"), (8, 1, 1, "none"), (8, 1, 4, "full"),
           (8, 2, 2, "none"), (4, 4, 1, "full")]


def main():
    rows = [(model, *layout) for model in ("llama-7b", "llama-13b") for layout in LAYOUTS]
    lines = [",".join(KEYS)] + [",".join(map(str, row)) for row in rows]
    sets = [word for key, value in TRUTH.items() for word in ("--set", f"{key}={value}")]
    with tempfile.TemporaryDirectory() as folder:
        layouts = pathlib.Path(folder) / "layouts.csv"
        layouts.write_text("\n".join(lines) + "\n", encoding="utf-8")
        swept = subprocess.run([sys.argv[1], "sweep", HERE / "run.yaml", "--rows", layouts, *sets],
                               capture_output=True, text=True, check=True)
    dice = random.Random(1)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(KEYS + ["step_s", "run"])
    for row, result in zip(rows, csv.DictReader(io.StringIO(swept.stdout))):
        fits = result["fits"] == "1"
        seconds = float(result["step_time_s"]) * math.exp(dice.gauss(0, 0.006))
        writer.writerow([*row, f"{seconds:.3f}" if fits else "",
                         "ok" if fits else "out of memory"])
    table = HERE / "measured.csv"
    if "--check" in sys.argv:
        if table.read_text(encoding="utf-8") != out.getvalue():
            sys.exit(f"{table.name} is not what today's model makes: run make.py")
    else:
        table.write_text(out.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    main()
