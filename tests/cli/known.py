#!/usr/bin/env python3
"""Where a result hangs on little, docs/internals/model.md says so, and a run says it.

usage: known.py TRAINYARD
"""
import json
import subprocess
import sys

from tap import Test

# Two directions of a pipeline on uplinks that they fill: members of a group that start together
# share them, those that start one after the other do not.
TIES = """\
cluster: {preset: gb200-nvl72, nodes: 4, gpus_per_node: 16}
model: {layers: 8, hidden: 2048, heads: 8, vocabulary: 128256, sequence: 8192, ffn: 8192, mlp: gelu,
  norm_kind: layernorm, head_dim: 64, kv_heads: 4, window: 128, qk_norm: true, dtype: fp8}
layout: {pipeline: 2, tensor: 8, global_batch: 32, zero: 1, recompute: [norm, mlp],
  order: [data, context, pipeline, tensor]}
schedule: {name: chimera}
framework: {preset: torchtitan, overlap_p2p: true, scatter_gather_p2p: true}
fabric: {topology: fat-tree, leaf_nodes: 1, oversubscription: 2}
"""

# A host that sets the pace of layers with experts, exchanges during weight gradients.
FLOOR = """\
cluster: {preset: dgx-h100, nodes: 4, collectives: ring}
model: {layers: 4, hidden: 2048, heads: 8, vocabulary: 32000, sequence: 4096, ffn: 4096, mlp: swiglu,
  norm_kind: layernorm, head_dim: 64, kv_latent: 256, head_rope: 32, head_value: 64, experts: 16,
  experts_per_token: 2, expert_ffn: 2048, shared_ffn: 1024}
layout: {tensor: 8, context: 2, context_method: all-gather, global_batch: 8, zero: 1, expert: 4,
  sequence_parallel: true, order: [context, data, pipeline, tensor]}
framework: {preset: megatron-lm, dispatcher: allgather, overlap_dispatch: true}
run: {contention: false}
"""


def run(test, text, *sets, form="table"):
    done = subprocess.run([test.binary, "run", "-", "--stats", form,
                           *(w for s in sets for w in ("--set", s))],
                          input=text, capture_output=True, text=True, check=False)
    return done.stdout


def step(test, text, *sets):
    return json.loads(run(test, text, *sets, form="json"))["step_time_s"]


def ties(test):
    apart = step(test, TIES, "run.jitter=1e-9") / step(test, TIES) - 1
    said = run(test, TIES)
    test.check("ties decide 5 % of a step, and the run says so",
               abs(apart) > 0.01 and f"{100 * apart:+.1f} %" in said and "ties decide" in said, said)
    test.check("not where nothing is full", "ties decide" not in run(
        test, TIES, "fabric.oversubscription=1"), said)
    test.check("nor where there are none", "ties decide" not in run(test, TIES, "run.jitter=1e-9"),
               said)


def floor(test):
    slow, fast = (step(test, FLOOR, f"cluster.memory_bandwidth={b}") for b in ("3.35TB/s", "20TB/s"))
    test.check("under a host's floor faster memory may cost a few per cent", 1 < fast / slow < 1.05,
               (slow, fast))
    slow, fast = (step(test, FLOOR, f"cluster.memory_bandwidth={b}", "framework.layer_floor=0 s")
                  for b in ("3.35TB/s", "20TB/s"))
    test.check("without one it does not", fast < slow, (slow, fast))


def main():
    test = Test(sys.argv[1])
    ties(test)
    floor(test)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
