#!/usr/bin/env python3
"""Writes sets of the ledger as one sheet, for `trainyard calibrate` or a sweep.

    sheet.py [--measured DIR] STEM SET...
    trainyard calibrate STEM.yaml --rows STEM.csv --measured measured_s --group set --fit KEY,KEY

STEM.yaml is the run file that the rows of STEM.csv start from, so the sets must share it, as those
of one stack do. Inputs of the sets (datasets.py) are lines of it: what is to be fitted must not be
set by the rows."""
import argparse
import csv
import os
import pathlib
import sys

import sheets
import tables


def lines(dataset, own):
    """The set's rows: their keys, what was measured, and whose rows they are."""
    for row in own.read(dataset.table)[0]:
        if dataset.keep(row):
            yield {"set": dataset.name, sheets.MEASURED: dataset.seconds(row) or "",
                   sheets.OOM: int(dataset.oom(row) or False)} | dataset.keys(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("stem", type=pathlib.Path, help="path of what is written, without suffix")
    parser.add_argument("sets", nargs="+", metavar="SET", help="their names on the page")
    parser.add_argument("--measured", metavar="DIR", default=os.environ.get("TRAINYARD_MEASURED"),
                        help="folder of further tables of your own")
    args = parser.parse_args()
    own = tables.Tables(args.measured)
    known = {d.name: d for d in sheets.everything(own)}
    missing = [name for name in args.sets if name not in known]
    if missing:
        parser.error(f"no such set ({missing[0]}); there are {'; '.join(known)}")
    chosen = [known[name] for name in args.sets]
    texts = {d.base for d in chosen}
    if len(texts) > 1:
        parser.error(f"{args.sets[0]} and the others do not start from the same run file")
    try:
        rows = [line for dataset in chosen for line in lines(dataset, own)]
    except tables.Missing as error:
        parser.error(f"{error}.csv is not here; --measured names your folder of it")
    args.stem.with_suffix(".yaml").write_text(texts.pop(), encoding="utf-8")
    with open(args.stem.with_suffix(".csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(k for row in rows for k in row)),
                                lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
