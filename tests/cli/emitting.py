#!/usr/bin/env python3
"""Configurations in the words of other stacks: what must be said, and what has no word.

usage: emitting.py TRAINYARD
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tap

LLAMA = """cluster: {preset: dgx-a100-80g, nodes: 4}
model: {preset: llama3-70b}
layout: {tensor: 4, pipeline: 4, micro_batch: 1, global_batch: 32, sequence_parallel: true}
"""
SPARSE = """cluster: {preset: dgx-h100, nodes: 2}
model: {preset: deepseek-v3, layers: 8, mtp: 1, dtype: fp8}
layout: {tensor: 1, expert: 8, pipeline: 2, global_batch: 64, recompute: [norm, mla_up]}
framework: {preset: deepseek}
"""
# run file, stack, settings, what is said, what is not
CASES = [
    (LLAMA, "megatron", ["layout.zero=1"], ["--num-layers 80\n", "--num-query-groups 8\n",
     "--ffn-hidden-size 28672\n", "--swiglu\n", "--padded-vocab-size 128256\n",
     "--tensor-model-parallel-size 4\n", "--sequence-parallel\n", "--use-distributed-optimizer\n",
     "--global-batch-size 32\n", "--nnodes 4 --nproc_per_node 8",
     "--untie-embeddings-and-output-weights\n", "--disable-bias-linear\n"], ["has no option",
     "--num-virtual-stages", "--recompute", "--num-experts"]),
    (LLAMA, "megatron", ["schedule.name=interleaved", "schedule.chunks=2", "layout.recompute=full",
     "layout.order=[tensor, context, pipeline, data]", "framework.bucket=80 MB"], [
     "--num-virtual-stages-per-pipeline-rank 2\n", "--recompute-granularity full\n",
     "--recompute-num-layers 1\n", "--use-tp-pp-dp-mapping\n", "--ddp-bucket-size 40000000\n"], [
     "has no option"]),
    (LLAMA, "megatron", ["layout.zero=3", "layout.pipeline=1", "model.vocabulary=50257"], [
     "--use-distributed-optimizer\n", "--use-megatron-fsdp\n",
     "--data-parallel-sharding-strategy optim_grads_params\n", "--padded-vocab-size 50260\n",
     "#   model.vocabulary 50257: 4 tensor ranks share whole rows, 50260\n",
     "# simulated with the framework defaults of fsdp; --set framework.preset=megatron-lm has those of Megatron-LM\n"
     ], []),
    (LLAMA, "megatron", ["layout.zero=3", "layout.pipeline=1", "framework.preset=megatron-lm"], [
     "--use-distributed-optimizer\n", "--use-megatron-fsdp\n"], ["habits", "has no option"]),
    (LLAMA, "deepspeed", ["layout.zero=1"], [
     "# simulated with the framework defaults of megatron-lm; --set framework.preset=megatron-deepspeed has those of DeepSpeed\n"
     ], ["has no option"]),
    (SPARSE, "megatron", ["model.dense_layers=1", "model.mlp_layers=[3, 4]"], [
     "--moe-layer-freq '([0]*1+[1]*2+[0]*2+[1]*3)'\n"], ["has no option for"]),
    (LLAMA, "megatron", ["model.rotary=25 %", "model.norms=4"], ["--rotary-percent 0.25\n",
     "#   model.norms 4\n"], ["model.norm_kind"]),
    (LLAMA, "deepspeed", ["layout.pipeline=1", "layout.offload=zero-infinity",
     "layout.offload_parameters=cpu"], [
     "\"offload_optimizer\": {\"device\": \"nvme\", \"pin_memory\": true, \"ratio\": 1}",
     "\"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}", "\"stage\": 3"], [
     "layout.offload"]),
    (LLAMA, "deepspeed", ["layout.pipeline=1", "layout.offload=zero-offload",
     "layout.offload_share=0.4"], ["\"device\": \"cpu\"", "\"ratio\": 0.4}", "\"stage\": 2"], [
     "offload_param"]),
    (LLAMA, "megatron", ["layout.pipeline=1", "layout.offload=zero-offload"], [
     "layout.offload zero-offload: states beside the GPU\n"], []),
    (LLAMA, "megatron", ["layout.pipeline=1", "schedule.name=interleaved", "schedule.chunks=4"], [
     "#   schedule.name interleaved of 4 chunks: "], ["--num-virtual-stages-per-pipeline-rank"]),
    (LLAMA, "megatron", ["layout.stage_layers=[19, 21, 21, 19]"], [
     "--pipeline-model-parallel-layout 'Et*19|t*21|t*21|t*19L'\n"], ["has no option"]),
    (LLAMA, "megatron", ["layout.recompute=full", "layout.recompute_layers=[3]"], [
     "--recompute-method block\n", "--recompute-num-layers 3\n"], ["has no option", "uniform"]),
    (LLAMA, "megatron", ["layout.recompute=full", "layout.recompute_layers=[3, 2, 1, 0]"], [
     "#   layout.recompute_layers "], ["--recompute"]),
    (LLAMA, "megatron", ["model.lora=16", "model.lora.targets=qkv", "model.frozen_dtype=nf4"],
     ["#   model.lora 16: adapters beside qkv, all else frozen; frozen_dtype nf4\n"], []),
    (LLAMA, "torchtitan", ["model.frozen=embedding", "framework.preset=torchtitan"],
     ["#   model.frozen embedding\n"], []),
    (LLAMA, "megatron", ["schedule.name=zb-1p", "layout.order=[data, tensor, context, pipeline]"],
     ["Megatron-LM has no option for\n", "#   schedule.name zb-1p: ", "#   layout.order "], [
     "--use-tp-pp-dp-mapping"]),
    (SPARSE, "megatron", [], ["--multi-latent-attention\n", "--q-lora-rank 1536\n",
     "--kv-lora-rank 512\n", "--num-experts 256\n", "--moe-router-topk 8\n",
     "--moe-layer-freq '([0]*3+[1]*5)'\n", "--expert-model-parallel-size 8\n",
     "--moe-flex-dispatcher-backend deepep\n", "--mtp-num-layers 1\n",
     "--recompute-modules layernorm mla_up_proj\n", "--fp8-recipe blockwise\n"], ["--kv-channels"
     ]),
    (LLAMA, "deepspeed", ["layout.zero=1", "layout.recompute=full"], ["\"stage\": 1",
     "\"train_batch_size\": 32", "\"gradient_accumulation_steps\": 16",
     "--pipeline-model-parallel-size 4\n", "--num-key-value-heads 8\n",
     "--deepspeed-activation-checkpointing\n", "\"bf16\": {\"enabled\": true}"], ["has no option",
     "--no-pipeline-parallel"]),
    (LLAMA, "deepspeed", ["layout.pipeline=1", "layout.tensor=1", "layout.zero=3",
     "layout.context=2", "layout.recompute=norm"], ["--no-pipeline-parallel\n", "\"stage\": 3",
     "#   layout.context 2 by zigzag", "#   layout.recompute norm"], ["--ds-sequence-parallel-size"
     ]),
    (LLAMA, "torchtitan", ["layout.zero=3", "layout.pipeline=1", "layout.recompute=full",
     "framework.preset=fsdp"], ["flavor = \"70B\"", "local_batch_size = 1\n",
     "global_batch_size = 32\n", "data_parallel_shard_degree = 8\n", "tensor_parallel_degree = 4\n"
     , "pipeline_parallel_degree = 1\n", "mode = \"full\"",
     "fsdp_reshard_after_forward = \"default\"\n"], ["has no option", "pipeline_parallel_schedule"]),
    (LLAMA, "torchtitan", ["layout.zero=1", "layout.context=2", "layout.pipeline=1"], [
     "#   layout.zero 1: context ranks always share"], []),
    (LLAMA, "torchtitan", ["layout.zero=0", "schedule.name=interleaved", "schedule.chunks=2"], [
     "local_batch_size = 16\n", "pipeline_parallel_microbatch_size = 1\n", "\"Interleaved1F1B\"",
     "pipeline_parallel_layers_per_stage = 10\n", "data_parallel_replicate_degree = 2\n"], [
     "has no option"]),
    (LLAMA, "megatron", ["layout.tensor_scheme=2d", "layout.sequence_parallel=false",
     "layout.micro_batch=2"], ["#   layout.tensor_scheme 2d: it splits GEMMs in one dimension\n"],
     []),
    (LLAMA, "deepspeed", ["layout.tensor_scheme=2d", "layout.sequence_parallel=false",
     "layout.micro_batch=2"], ["#   layout.tensor_scheme 2d: it splits GEMMs in one dimension\n"],
     []),
    (LLAMA, "torchtitan", ["layout.tensor_scheme=2d", "layout.sequence_parallel=false",
     "layout.micro_batch=2"], ["#   layout.tensor_scheme 2d: it splits GEMMs in one dimension\n"],
     []),
]


def emitted(binary, stack, text):
    """By trainyard-import, which `plan --emit` hands a run file."""
    build = pathlib.Path(binary).resolve().parent
    return subprocess.run([build / "sim/python/trainyard-import", "--emit", stack, "run.yaml"],
                          input=text, capture_output=True, text=True, check=False, env={
                              **os.environ, "TRAINYARD_LIBRARY": str(build / "libtrainyard.so")})


def with_settings(text, settings):
    """A run file with keys of its flow mappings replaced or added."""
    sections = {}
    for line in text.splitlines():
        name, _, rest = line.partition(": {")
        sections[name] = [rest.removesuffix("}")]
    for setting in settings:
        key, _, value = setting.partition("=")
        section, _, key = key.partition(".")
        rows = sections.setdefault(section, [])
        before = [part for row in rows for part in split(row)]
        sections[section] = [", ".join([part for part in before if part.split(":")[0] != key]
                                       + [f"{key}: {value}"])]
    return "".join(f"{name}: {{{', '.join(rows)}}}\n" for name, rows in sections.items())


def split(row):
    """At commas that are not in brackets."""
    parts, depth = [""], 0
    for c in row:
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def main():
    t = tap.Test(sys.argv[1])
    for base, stack, settings, said, not_said in CASES:
        done = emitted(sys.argv[1], stack, with_settings(base, settings))
        missing = [part for part in said if part not in done.stdout]
        wrong = [part for part in not_said if part in done.stdout]
        t.check(f"{stack}, {' '.join(settings)}", done.returncode == 0 and not missing and not wrong,
                (missing, wrong, done.stderr, done.stdout))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "run.yaml")
        file.write_text(LLAMA)
        for stack in ("megatron", "deepspeed", "torchtitan"):
            done = t.call(None, "plan", file, "--emit", stack)
            t.check(f"plan --emit {stack} prints the best layout",
                    done.returncode == 0 and "on 32 GPUs" in done.stdout, done)
        # FSDP is over shard x context: one shard beside two context ranks is no plain DDP
        file.write_text(with_settings(LLAMA, ["layout.context=2", "layout.tensor=8", "layout.zero=3",
                                              "layout.pipeline=1", "framework.preset=torchtitan"]))
        toml = pathlib.Path(folder, "job.toml")
        toml.write_text(re.sub("(shard|replicate)_degree = .*", r"\1_degree = 1", emitted(
            sys.argv[1], "torchtitan", file.read_text()).stdout))
        back = t.call(None, "import", "torchtitan", toml, "--gpus", "16")
        t.check("shards beside context ranks come back as ZeRO-3", back.returncode == 0
                and "  zero: 3 " in back.stdout, (toml.read_text(), back))
        done = t.call(None, "plan", file, "--emit", "megatron-lm")
        t.check("a stack that is not there is refused", done.returncode == 2
                and "megatron, deepspeed, torchtitan, yaml" in done.stderr, done)
    print(f"1..{t.n}")
    return t.failed > 0


if __name__ == "__main__":
    sys.exit(main())
