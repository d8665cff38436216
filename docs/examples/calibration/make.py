#!/usr/bin/env python3
"""Writes measured.csv: step times of a machine that is not the preset's, simulated, with scatter.

`make.py TRAINYARD`. TRUTH is what a calibration should find; every run is off by its own 0.6 %, as
repeated runs of real clusters are.
"""
import csv
import io
import math
import pathlib
import random
import subprocess
import sys

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
    table = HERE / "measured.csv"
    lines = [",".join(KEYS)] + [",".join(map(str, row)) for row in rows]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sets = [word for key, value in TRUTH.items() for word in ("--set", f"{key}={value}")]
    swept = subprocess.run([sys.argv[1], "sweep", HERE / "run.yaml", "--rows", table, *sets],
                           capture_output=True, text=True, check=True)
    dice = random.Random(1)
    with table.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(KEYS + ["step_s", "run"])
        for row, result in zip(rows, csv.DictReader(io.StringIO(swept.stdout))):
            fits = result["fits"] == "1"
            seconds = float(result["step_time_s"]) * math.exp(dice.gauss(0, 0.006))
            writer.writerow([*row, f"{seconds:.3f}" if fits else "",
                             "ok" if fits else "out of memory"])


if __name__ == "__main__":
    main()
