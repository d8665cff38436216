#!/usr/bin/env python3
"""measure_kernels.py lists every kernel that a run looks up: with its rows as a table (each given
some time), `check` finds all of them, for layouts that cut the model in every way."""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "measure_kernels.py"
MODEL = {"layers": 4, "hidden": 1024, "heads": 8, "kv_heads": 8, "ffn": 2816, "vocabulary": 32000,
         "sequence": 512, "mlp": "swiglu", "norm_kind": "rmsnorm"}
# What differs: keys of the model, of the layout, of the framework; options of the script
CASES = [
    ({}, {}, {"grad_dtype": "fp32"}, []),
    ({"kv_heads": 2}, {"tensor": 4}, {"fused_qkv": "false", "grad_dtype": "fp32"},
     ["--no-fused-qkv"]),
    ({"mlp": "gelu", "norm_kind": "layernorm", "positions": 512}, {"tensor": 2},
     {"grad_dtype": "fp32"}, ["--positions", "learned"]),
    ({"dtype": "fp16", "full_attention": "true"}, {"tensor": 2, "sequence_parallel": "true"},
     {"fused_gate": "false", "fused_optimizer": "false", "grad_dtype": "model"},
     ["--sequence-parallel", "--no-grad-fp32", "--no-fused-gate", "--no-fused-optimizer",
      "--no-causal"]),
    ({}, {"tensor": 8, "micro_batch": 4, "recompute": "full"},
     {"fused_accumulation": "false", "grad_dtype": "fp32"}, ["--compile", "--no-fused-accumulation"]),
]


def table(model, layout, options, folder):
    words = [sys.executable, str(SCRIPT), "--dry-run", *options]
    for key, value in model.items():
        if key not in ("positions", "full_attention"):
            words += ["--" + key.replace("_", "-"), str(value)]
    for key in "tensor", "micro_batch":
        words += ["--" + key.replace("_", "-"), str(layout.get(key, 1))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    for row in rows:
        assert row["time_us"] == "", row
        row["time_us"] = "10"
    with open(pathlib.Path(folder, "kernels.csv"), "w", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return rows


def section(name, values):
    return name + ": {" + ", ".join(f"{k}: {v}" for k, v in values.items()) + "}\n"


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (model, layout, framework, options) in enumerate(CASES, 1):
        model = {**MODEL, **model}
        compiled = "--compile" in options
        norm = "fused" if compiled or model["norm_kind"] == "layernorm" else "unfused"
        framework = {"preset": "ideal", "fused_optimizer": "true",
                     "fused_activation": str(compiled).lower(), "fused_rotary": str(compiled).lower(), **framework}
        with tempfile.TemporaryDirectory() as folder:
            table(model, layout, options, folder)
            run = pathlib.Path(folder, "run.yaml")
            run.write_text(section("cluster", {"preset": "dgx-a100-80g", "operators": "kernels.csv"})
                           + section("model", {**model, "norm": norm})
                           + section("layout", {**layout, "global_batch": 64})
                           + section("framework", framework), encoding="utf-8")
            done = subprocess.run([sys.argv[1], "check", str(run)], capture_output=True, text=True,
                                  check=False)
        said = re.search(r"; (\d+) of the (\d+) kernels", done.stdout)
        good = said is not None and said[1] == said[2] and int(said[1]) > 20
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {layout} {options} "
              f"{said[0] if said else done.stderr}")
        if not good:
            print("\n".join("# " + line for line in done.stdout.splitlines()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
