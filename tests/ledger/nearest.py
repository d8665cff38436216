#!/usr/bin/env python3
"""Writes sim/report/nearest_rows.h: groups of measured runs, and how far off their simulations are.

    nearest.py [--check]

`trainyard run` prints the nearest of them. Errors are those of tests/ledger/predictions/
trainyard-documented.csv; a group has the runs of one set, GPU, type, framework and number of GPUs
whose models are of one size, within a factor of 1.4. --check fails where the file is another."""
import argparse
import math
import pathlib
import statistics
import sys

import ledger
from score import read_predictions, read_rows

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parents[1] / "sim" / "report" / "nearest_rows.h"
GENERATIONS = {"v100": "VOLTA", "a100": "AMPERE", "h100": "HOPPER", "h200": "HOPPER",
               "h800": "HOPPER", "b200": "BLACKWELL", "b300": "BLACKWELL"}
HEAD = """/* nearest_rows.h - measured runs by kind, and the errors of their simulations (nearest.c).
 *
 * Written by tests/ledger/nearest.py from tests/ledger/rows and predictions; do not edit. Columns:
 * the set, GPU, framework, parameters, GPUs, generation, bits of GEMMs, experts, runs, mean error
 * (simulated over measured, minus one), and the largest. */
/* clang-format off */
"""


def bits(row):
    return {"fp8": 8, "nvfp4": 4}.get(row.get("model.dtype"), 16)


def generation(gpu):
    return next(word for name, word in GENERATIONS.items() if name in gpu or name in gpu.replace("g", "", 1))


def short(error):
    return f"{error:.3f}".replace("0.", ".")


def line(rows, errors):
    one = rows[0]
    params = math.exp(statistics.mean(math.log(float(r["params"])) for r in rows))
    sparse = 1 if one.get("model.experts") else 0
    worst = max(errors, key=abs)
    return (f'{{"{one["set"]}", "{one["gpu"]}", "{one["framework.preset"]}", {f"{params:.3g}".replace("e+", "e")}, {one["gpus"]}, '
            f'{generation(one["gpu"])}, {bits(one)}, {sparse}, {len(rows)}, '
            f'{short(statistics.mean(errors))}, {short(worst)}}},\n')


def text():
    rows = read_rows(HERE / "rows")
    said = read_predictions(HERE / "predictions" / "trainyard-documented.csv", rows)
    groups = {}
    for name, row in rows.items():
        if row["measured_s"] and said.get(name, {}).get("step_time_s"):
            size = round(2 * math.log2(float(row["params"])))
            key = (row["set"], row["gpu"], bits(row), row["framework.preset"], row["gpus"], size)
            groups.setdefault(key, []).append(name)
    return HEAD + "".join(
        line([rows[i] for i in names], [said[i]["step_time_s"] / rows[i]["measured_s"] - 1 for i in names])
        for names in groups.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="fail where the file is another")
    args = parser.parse_args()
    if args.check:
        same = OUT.exists() and OUT.read_text(encoding="utf-8") == text()
        print(f"1..1\n{'ok' if same else 'not ok'} 1 - {OUT.name} has the errors of the predictions; else "
              "nearest.py")
        return 0 if same else 1
    ledger.write(OUT, text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
