#!/usr/bin/env python3
"""Converts the workbooks of Hagemann et al. 2023 to rows of the benchmark, for who has them.

    hagemann.py FOLDER [--fetch]

They are under CC BY-NC-SA 4.0, so their rows are not in this repository. FOLDER holds the *.xlsx;
--fetch downloads those that are missing (2 MB). Rows go to FOLDER/rows: score.py --rows FOLDER/rows.
A step time is computed from the column "Average MFU" as the paper defines it, which gives its printed
step times within 0.2 %; text there is a run that ran out of memory. A step has 4 Mi tokens; of 13B with
FlashAttention 2 an eighth, which times with two stages show (docs/internals/accuracy.md)."""
import argparse
import csv
import pathlib
import re
import sys
import urllib.request
import zipfile
from xml.etree import ElementTree

SOURCE = ("https://raw.githubusercontent.com/Aleph-Alpha/"
          "NeurIPS-WANT-submission-efficient-parallelization-layouts/main/data/")
BOOKS = ["llama_13B_bfloat16_64_GPUs_all_runs", "llama_13B_bfloat16_8k_seq_length_128_GPUs_all_runs",
         "llama_30B_bfloat16_256_GPUs_all_runs", "llama_30B_8k_seq_length_bfloat16_128_GPUs_all_runs",
         "llama_65B_bfloat16_128_GPUs_all_runs",
         "seqpara/llama_13B_bfloat16_32_GPUs_sequence_parallelism",
         "seqpara/llama_13B_bfloat16_8k_seq_length_64_GPUs_sequence_parallelism",
         "seqpara/llama_30B_bfloat16_64_GPUs_sequence_parallelism",
         "seqpara/llama_30B_8k_seq_length_bfloat16_64_GPUs_sequence_parallelism",
         "seqpara/llama_65B_bfloat16_64_GPUs_sequence_parallelism"]
MODELS = {"13B": (40, 5120, 13824), "30B": (60, 6656, 17888), "65B": (80, 8192, 22016)}
HEADS = {"13B": 40, "30B": 52, "65B": 64}
VOCABULARY, PEAK = 128000, 312e12
TOKENS = 2048 * 2048  # of a global batch, at both lengths
FEWER = TOKENS // 8   # of the late sheets
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def cells(path):
    """Rows of the first sheet, {column letters: text}."""
    with zipfile.ZipFile(path) as book:
        shared = []
        if "xl/sharedStrings.xml" in book.namelist():
            shared = ["".join(t.text or "" for t in item.iter(MAIN + "t"))
                      for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))]
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    for row in sheet.iter(MAIN + "row"):
        found = {}
        for cell in row:
            text = "".join(t.text or "" for t in cell.iter() if t.tag in (MAIN + "v", MAIN + "t"))
            text = shared[int(text)] if cell.get("t") == "s" and text else text
            found[re.match("[A-Z]+", cell.get("r"))[0]] = text
        yield found


def table(path):
    """The rows under the names that the second row has."""
    rows = list(cells(path))
    names = rows[1]
    return [{names[c]: text for c, text in row.items() if c in names} for row in rows[2:]]


def seconds(mfu, tokens, model, sequence, gpus):
    layers, hidden, ffn = MODELS[model]
    weights = layers * (4 * hidden ** 2 + 3 * hidden * ffn) + 2 * hidden * VOCABULARY
    return tokens * (6 * weights + 12 * layers * hidden * sequence) / (mfu * gpus * PEAK)


def row_of(name, at, row):
    model = re.search(r"_(\d+B)_", name)[1]
    gpus, sequence = int(re.search(r"_(\d+)_GPUs", name)[1]), 8192 if "8k" in name else 2048
    kernel = row["kernel"]
    late = name == "llama_13B_bfloat16_64_GPUs_all_runs" and "attention2" in kernel
    replicas = gpus // int(row["model_parallel_size"]) // int(row["pipe_parallel_size"])
    tokens = max(FEWER if late else TOKENS, sequence * replicas * int(row["micro_batch_size"]))
    shape = tokens, model, sequence, gpus
    try:
        mfu = float(row["Average MFU"])
    except ValueError:
        mfu = None
    layers, hidden, ffn = MODELS[model]
    return {
        "id": f"{name.split('/')[-1]}-{at}", "source": "Hagemann et al. 2023", "licence": "CC BY-NC-SA 4.0",
        "noise": "0.005", "gpu": "a100-sxm-80g", "gpus": gpus, "layouts": 1,
        "sweep": f"{name}, {kernel}, {row.get('sequence_parallel', '')}",
        "measured_s": "" if mfu is None else f"{seconds(mfu, *shape):.6g}",
        "peak_memory_gib": "", "oom": int(mfu is None), "power_w": "",
        "ideal_s": f"{seconds(1, *shape):.6g}",
        "cluster.preset": "dgx-a100-80g", "cluster.nodes": gpus // 8, "model.layers": layers,
        "model.hidden": hidden, "model.heads": HEADS[model], "model.ffn": ffn,
        "model.vocabulary": VOCABULARY, "model.sequence": sequence,
        "model.attention": "flash2" if "attention2" in kernel else "flash1" if "flash" in kernel else
        "fused-softmax" if "megatron" in kernel.lower() else "unfused",
        "model.norm": "fused" if "RMS" in kernel else "unfused",
        "layout.tensor": row["model_parallel_size"], "layout.pipeline": row["pipe_parallel_size"],
        "layout.micro_batch": row["micro_batch_size"], "layout.global_batch": tokens // sequence,
        "layout.recompute": "none" if row["activation_checkpointing_type"] == "disabled" else "full",
        "layout.sequence_parallel":
        "true" if row.get("sequence_parallel", "").lower() in ("true", "1") else "false",
        "layout.zero": 1, "framework.preset": "aleph-alpha-scaling"}


def fetch(url, path):
    """The file has its name only when it is whole."""
    part = path.with_suffix(".part")
    try:
        urllib.request.urlretrieve(url, part)
    except OSError as error:
        sys.exit(f"{url}: {error}; or put the file there by hand: {path}")
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--fetch", action="store_true", help="download workbooks that are missing")
    args = parser.parse_args()
    (args.folder / "rows").mkdir(parents=True, exist_ok=True)
    written = 0
    for name in BOOKS:
        path = args.folder / f"{name.split('/')[-1]}.xlsx"
        if args.fetch and not path.exists():
            fetch(f"{SOURCE}{name}.xlsx", path)
        if not path.exists():
            continue
        try:
            rows = [row_of(name, at, row) for at, row in enumerate(table(path), 1) if row.get("kernel")]
        except (KeyError, IndexError, zipfile.BadZipFile, ElementTree.ParseError) as error:
            sys.exit(f"{path}: not such a workbook: {error!r}")
        with open(args.folder / "rows" / f"{path.stem}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        written += len(rows)
    if written == 0:
        sys.exit(f"{args.folder}: none of the workbooks; --fetch downloads them")
    print(f"{written} rows in {args.folder / 'rows'}")


if __name__ == "__main__":
    main()
