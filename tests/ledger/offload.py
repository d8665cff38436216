#!/usr/bin/env python3
"""Published throughput of states beside the GPU, on 512 V100, and docs/guides/offload.md shows what comes out.

usage: offload.py TRAINYARD PAGE

Activation checkpoints are divided among tensor ranks, which sequence parallelism does here. Rows from
5T on tile their layers and fetch operator by operator, which is left out: here a GPU is too small for
them, their time is asked all the same. 0.5T fits in two passes, 1T in four.

Shapes, tensor ranks and batches are those of table 1 of Rajbhandari et al. 2021 (arXiv 2104.07857),
transcribed from memory: no copy was at hand. How fast kernels of a V100 are is a guess of the preset,
and 70 % too fast for all rows alike, that without offload among them. So this one row sets
cluster.derate, and the others are held to what was published."""
import json
import pathlib
import sys

from tables import Tables, run_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import Test  # pylint: disable=wrong-import-position,wrong-import-order

GPUS, SEQUENCE, WORDS = 512, 1024, 50304
RUN = """\
cluster: {{preset: dgx2-v100, nodes: 32, derate: {derate}}}
model: {{layers: {layers}, hidden: {hidden}, heads: {heads}, vocabulary: {words}, sequence: {sequence},
        dtype: fp16, attention: fused-softmax, dropout: 10 %}}
layout: {{tensor: {tensor}, micro_batch: {micro}, global_batch: {batch}, recompute: full, zero: 3,
         sequence_parallel: true, offload: {offload}, offload_activations: {activations}}}
framework: {{preset: megatron-deepspeed, bucket: 400 MB, overlap_grad_reduce: true}}
"""
NEAR = 0.25  # of what was published
PASSES = {"500": 2, "1000": 4}
FITS = {"500", "1000"}


class Throughput(Test):
    def __init__(self, binary, page):
        super().__init__(binary)
        self.page = pathlib.Path(page).read_text(encoding="utf-8")
        self.fits = None  # whether the last run did
        self.rows, _ = Tables(None).read("offload_throughput")

    def tflops(self, row, derate):
        """Of a GPU, recomputation counted, as the papers do: 8 tokens parameters."""
        layers, hidden, tensor = (int(row[key]) for key in ("layers", "hidden", "tensor"))
        batch = round(GPUS * float(row["batch_per_gpu"]))
        micro = batch * tensor // GPUS // PASSES.get(row["params_B"], 1)
        text = RUN.format(derate=derate, layers=layers, hidden=hidden, heads=hidden // 128, words=WORDS,
                          sequence=SEQUENCE, tensor=tensor, micro=micro, batch=batch,
                          offload=row["offload"], activations=row["activations"])
        with run_file(text) as path:
            done = self.call(None, "run", path, "--stats", "json", "--quiet")
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(done.stderr)
        run = json.loads(done.stdout)
        self.fits = run["fits"]
        params = layers * 12 * hidden ** 2 + WORDS * hidden
        return 8 * batch * SEQUENCE * params / run["step_time_s"] / GPUS / 1e12

    def derate(self, row):
        """With which the row is as published: by its neighbours on a line, as compute is nearly all."""
        want, low, high = 1 / float(row["tflops_per_gpu"]), 1.0, 3.0
        at_low, at_high = 1 / self.tflops(row, low), 1 / self.tflops(row, high)
        return low + (want - at_low) / (at_high - at_low) * (high - low)

    def all(self):
        first, offloaded = self.rows[0], self.rows[1:]
        derate = self.derate(first)
        want = float(first["tflops_per_gpu"])
        self.check("the row without offload is as published", abs(self.tflops(first, derate) / want - 1)
                   < 0.01, derate)
        above = []
        for row in offloaded:
            want, preset, got = float(row["tflops_per_gpu"]), self.tflops(row, 1), self.tflops(row, derate)
            above.append(preset / want)
            name = f"{float(row['params_B']) / 1000:g}T, {float(row['batch_per_gpu']):g} sequences a GPU"
            self.check(f"{name}: within {NEAR:.0%}", abs(got / want - 1) < NEAR, got)
            self.check(f"{name}: fits, or is too large untiled", self.fits == (row["params_B"] in FITS),
                       self.fits)
            shown = f"| {name} | {want:g} | {preset:.1f} | {got:.1f} ({got / want - 1:+.1%}) |"
            self.check(f"the page shows {shown}", shown in self.page, "")
        self.check("as the preset has it all are too fast, by nearly the same",
                   min(above) > 1 + NEAR and max(above) / min(above) < 1.15, above)
        self.check("the page shows the derate", f"`cluster.derate` {derate:.2f}" in self.page, derate)


def main():
    suite = Throughput(*sys.argv[1:])
    suite.all()
    print(f"1..{suite.n}")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
