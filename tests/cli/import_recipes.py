#!/usr/bin/env python3
"""`trainyard import` of files that no shell carries: TOML, YAML, JSON, Python.

What a file says must be in the run file, with the word and line that said it; what is not
understood must be told. Files of real projects are read where they are (../shared/configs) and held
to the facts of expected.csv, exact parameters among them.

usage: import_recipes.py TRAINYARD
"""
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT.parent / "shared" / "configs"
if not CONFIGS.exists():  # a worktree lies one deeper
    CONFIGS = ROOT.parents[1] / "shared" / "configs"

checks = []


def check(name, ok, why=""):
    checks.append((name, bool(ok)))
    if not ok:
        print("# " + name + ": " + str(why).replace("\n", "\n# "))


def imported(folder, form, files, *options):
    """Imports {name: text} or paths; (exit status, {key: (value, comment)}, run file, stderr)."""
    paths = []
    for name, text in files.items() if isinstance(files, dict) else ():
        (folder / name).write_text(text)
        paths.append(folder / name)
    out = folder / "out.yaml"
    out.unlink(missing_ok=True)
    run = subprocess.run([sys.argv[1], "import", form, *map(str, paths or files), "-o", str(out),
                          *options], capture_output=True, text=True)
    text = out.read_text() if out.exists() else ""
    facts, section = {}, ""
    for line in text.splitlines():
        found = re.match(r"(\w+):$", line)
        section = found.group(1) if found else section
        found = re.match(r"  ([\w.]+): (.*?) +# (.*)$", line)
        if found:
            facts[section + "." + found.group(1)] = found.group(2), found.group(3)
    return run.returncode, facts, text, run.stderr


TITAN = """[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 8
seq_len = 4096
[parallelism]
tensor_parallel_degree = 2
pipeline_parallel_degree = 4
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 4
[activation_checkpoint]
mode = "full"
"""
NANOTRON = """model:
  dtype: bfloat16
  make_vocab_size_divisible_by: 64
  model_config: {hidden_size: 1024, intermediate_size: 4096, num_attention_heads: 8,
    num_hidden_layers: 12, num_key_value_heads: null, tie_word_embeddings: false, vocab_size: 1000}
parallelism: {dp: 2, pp: 2, tp: 2, pp_engine: afab, tp_mode: ALL_REDUCE}
optimizer: {zero_stage: 1, accumulate_grad_in_fp32: true}
tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 3, sequence_length: 512}
"""
NEMO = """trainer: {num_nodes: 4, devices: 8, precision: bf16}
model:
  micro_batch_size: 1
  global_batch_size: 64
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 4
  virtual_pipeline_model_parallel_size: 3
  encoder_seq_length: 1024
  num_layers: ${multiply:${.pipeline_model_parallel_size}, ${training.model.doubled}}
  doubled: 6
  hidden_size: ${divide_ceil:2047,2}
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: ${..trainer.devices}
  num_query_groups: 2
  bias: false
  activation: fast-swiglu
  normalization: rmsnorm
  position_embedding_type: rope
  hidden_dropout: 0.0
  attention_dropout: 0.0
  activations_checkpoint_granularity: null
  activations_checkpoint_method: block
  sequence_parallel: True
  warp_drive: 3
  tokenizer: {type: GPT2BPETokenizer, vocab_file: "${data_dir}/v.json"}
  optim: {name: distributed_fused_adam, overlap_grad_sync: true, lr: 1e-4}
  data: {seq_length: 4096}
"""
NEURON = """trainer: {devices: 32, num_nodes: 1}
distributed_strategy: {tensor_model_parallel_size: 8, pipeline_model_parallel_size: 1, zero1: True,
  sequence_parallel: True}
data: {micro_batch_size: 1, global_batch_size: 64, seq_length: 2048}
model: {num_layers: 4, hidden_size: 512, num_attention_heads: 8, vocab_size: 1024}
precision: {type: mixed_precision}
"""
PYTHON = """# a recipe as NeMo 2 has them
def model():
    \'\'\'num_layers=99, and (tensor_parallelism: int = 99)\'\'\'
    return run.Config(llm.LlamaModel, config=run.Config(llm.Llama3Config8B))

def trainer(tensor_parallelism: int = 2, pipeline_parallelism: int = 4,
            virtual_pipeline_parallelism: Optional[int] = None, num_nodes: int = 2,
            num_gpus_per_node: int = 8, dtype: torch.dtype = torch.bfloat16):
    return run.Config(nl.Trainer, num_nodes=num_nodes, plugins=bf16_mixed(),
                      strategy=run.Config(nl.MegatronStrategy, sequence_parallel=True,
                                          tensor_model_parallel_size=tensor_parallelism))

def pretrain_recipe(performance_mode: bool = False):
    data = run.Config(MockDataModule, seq_length=2_048, global_batch_size=8 * 16,
                      micro_batch_size=1)
    if performance_mode:
        recipe = pretrain_performance_optimizations(recipe)

def pretrain_performance_optimizations(recipe):
    recipe.trainer.strategy.tensor_model_parallel_size = 8

def finetune_recipe():
    recipe.trainer.strategy.tensor_model_parallel_size = 1
"""
BRIDGE = """def mixtral_8x7b_pretrain_64gpu_h100_bf16_config():
    cfg = mixtral_8x7b_pretrain_config()
    cfg.mixed_precision = "bf16_mixed"
    cfg.model.tensor_model_parallel_size = 1
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.expert_model_parallel_size = 8
    cfg.train.global_batch_size = 256
    cfg.train.micro_batch_size = 1
    cfg.model.recompute_granularity = "selective"
    cfg.model.recompute_modules = ["moe_act", "layernorm"]
    cfg.ddp.overlap_grad_reduce = True
    cfg.model.warp_drive = 3
    return cfg
"""
NEOX = """{
  # as its files are, comments and all
  "pipe-parallel-size": 2, "model_parallel_size": 2,
  "num_layers": 8, "hidden-size": 1536, "num_attention_heads": 12, "seq_length": 1024,
  "max_position_embeddings": 1024, "pos_emb": "rotary", "rotary_pct": 0.25,
  "no_weight_tying": true, "gpt_j_residual": True, "activation": "swiglu",
  "mlp_multiple_of": 256, "attention_config": [[["flash"], 8]],
  "train_batch_size": 96, "train_micro_batch_size_per_gpu": 4, "gas": 3,
  "zero_optimization": {"stage": 1, "overlap_comm": True},
  "fp16": {"enabled": true, "loss_scale": 0}, "warp_drive": 3,
  "tokenizer_type": "HFTokenizer", "vocab-file": "20B_tokenizer.json",
  "checkpoint-activations": true,
}
"""
MODEL = json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
                    "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4,
                    "intermediate_size": 512, "vocab_size": 1000})
FSDP = """distributed_type: FSDP
num_processes: 16
num_machines: 2
mixed_precision: bf16
fsdp_config: {fsdp_sharding_strategy: 4, fsdp_activation_checkpointing: true}
"""
DEEPSPEED = """distributed_type: DEEPSPEED
num_processes: 4
mixed_precision: bf16
deepspeed_config: {deepspeed_config_file: a/zero.json}
"""
MEGATRON = """distributed_type: MEGATRON_LM
num_processes: 8
mixed_precision: bf16
megatron_lm_config:
  megatron_lm_tp_degree: 2
  megatron_lm_pp_degree: 2
  megatron_lm_num_micro_batches: 4
  megatron_lm_sequence_parallelism: true
  megatron_lm_recompute_activations: true
  megatron_lm_use_distributed_optimizer: true
  megatron_lm_gradient_clipping: 1.0
"""
ZERO = json.dumps({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
                   "bf16": {"enabled": True}, "train_micro_batch_size_per_gpu": 2,
                   "gradient_accumulation_steps": 3, "train_batch_size": "auto"})

TRAINER = """#!/bin/bash
ARGS="--model_name_or_path a/b --block_size 512 --bf16 True"
deepspeed --num_gpus 4 --num_nodes ${NODES:-2} --hostfile hosts run_clm.py $ARGS --deepspeed a/zero.json \\
  --per_device_train_batch_size ${BATCH} --gradient_accumulation_steps 8 --gradient_checkpointing \\
  --learning_rate 2e-5 --do_train --warp_speed 9
"""
AUTO = json.dumps({"zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"},
                   "bf16": {"enabled": "auto"}, "train_batch_size": "auto",
                   "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"})

AXOLOTL = """base_model: meta-llama/Llama-3.1-70B
adapter: qlora
load_in_4bit: true
lora_r: 32
lora_alpha: 64
lora_dropout: 0.05
lora_target_linear: true
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
fsdp: [full_shard, auto_wrap]
fsdp_config: {fsdp_sharding_strategy: SHARD_GRAD_OP, state_dict_type: FULL_STATE_DICT}
warp_drive: 3
"""
FACTORY = """model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
finetuning_type: lora
lora_rank: 16
lora_target: q_proj,v_proj,down_proj
additional_target: embed_tokens
quantization_bit: 8
deepspeed: examples/deepspeed/ds_z2_config.json
cutoff_len: 1024
packing: true
gradient_accumulation_steps: 8
bf16: true
flash_attn: fa2
warp_drive: 3
"""
TUNE = """# tune run --nproc_per_node 8 lora_finetune_distributed: on 8 GPUs
model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  lora_rank: 16
tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 4096}
dataset: {_component_: torchtune.datasets.alpaca_dataset, packed: True}
batch_size: 2
gradient_accumulation_steps: 4
optimizer: {_component_: bitsandbytes.optim.PagedAdamW8bit, lr: 3e-4}
compile: True
dtype: bf16
enable_activation_checkpointing: False
warp_drive: 3
"""
PEFT = json.dumps({"peft_type": "LORA", "base_model_name_or_path": "mistralai/Mistral-7B-v0.3",
                   "r": 8, "lora_alpha": 16, "lora_dropout": 0.1, "modules_to_save": ["lm_head"],
                   "target_modules": ["q_proj", "query", "v_proj"], "use_dora": True, "warp": 3})
LORA = """def llama3_70b_peft_16gpu_h100_bf16_config(peft_scheme: str = "lora"):
    cfg = _peft_common()
    cfg.model = AutoBridge.from_hf_pretrained("meta-llama/Meta-Llama-3-70B")
    cfg.mixed_precision = "bf16_mixed"
    cfg.peft = default_peft_config(peft_scheme, dim=8, target_modules=["linear_fc1"])
    cfg.peft.dim = 16
    cfg.model.tensor_model_parallel_size = 4
    cfg.train.global_batch_size = 32
    cfg.train.micro_batch_size = 1
    cfg.peft.warp = 3
    return cfg
"""

# name, form, files, options, keys with their values, parts of comments by key
JOBS = [
    ("axolotl: QLoRA under FSDP", "axolotl", {"a.yml": AXOLOTL}, ["--gpus", "8"],
     {"model.layers": "80", "model.lora": "32", "model.lora.targets": "[all]",
      "model.lora.dropout": "0.05", "model.frozen_dtype": "nf4", "model.sequence": "4096",
      "model.dtype": "bf16", "model.attention": "flash2", "layout.zero": "2",
      "layout.micro_batch": "2", "layout.global_batch": "64", "layout.recompute": "full",
      "framework.preset": "fsdp", "framework.optimizer": "adam8bit"},
     {"model.lora": "lora_r, a.yml:4", "model.lora.targets": "lora_target_linear, a.yml:7",
      "model.layers": "sizes are those of trainyard's llama3-70b"}),
    ("axolotl: defaults, all weights, a model from its file", "axolotl",
     {"a.yml": "base_model: x/y\nmicro_batch_size: 1\n", "config.json": MODEL}, ["--gpus", "1"],
     {"model.layers": "4", "model.lora": None, "model.sequence": "512", "layout.zero": "0",
      "layout.recompute": "none", "framework.fused_optimizer": "true"},
     {"model.sequence": "default of axolotl"}),
    ("llamafactory: LoRA on weights in 8 bits", "llamafactory", {"a.yaml": FACTORY},
     ["--gpus", "4"],
     {"model.hidden": "3584", "model.bias": "qkv", "model.lora": "16",
      "model.lora.targets": "[q, v, down]", "model.frozen_dtype": "int8",
      "model.frozen": "[attention, mlp, experts, router, norm, head, mtp]",
      "model.sequence": "1024", "layout.zero": "2", "layout.micro_batch": "8",
      "layout.global_batch": "256", "layout.recompute": "full", "model.attention": "flash2"},
     {"layout.micro_batch": "default of transformers", "model.lora": "lora_rank, a.yaml:4",
      "layout.recompute": "default of LLaMA-Factory"}),
    ("llamafactory: the same words as flags, all weights", "llamafactory",
     {"a.sh": "FORCE_TORCHRUN=1 NNODES=1 llamafactory-cli train --model_name_or_path "
              "Qwen/Qwen2.5-7B --finetuning_type full --per_device_train_batch_size 1 "
              "--bf16 --cutoff_len 512 --disable_gradient_checkpointing true\n"}, ["--gpus", "8"],
     {"model.lora": None, "layout.recompute": "none", "model.sequence": "512",
      "layout.global_batch": "8"}, {}),
    ("torchtune: adapters beside attention and MLP", "torchtune", {"a.yaml": TUNE}, [],
     {"cluster.nodes": "1", "model.layers": "32", "model.lora": "16",
      "model.lora.targets": "[q, v, proj, gate, down, up]", "model.sequence": "4096",
      "layout.zero": "3", "layout.global_batch": "64", "layout.recompute": "none",
      "framework.optimizer": "adam8bit", "framework.master_dtype": "none",
      "framework.fused_activation": "true", "model.frozen_dtype": None},
     {"model.layers": "model._component_, a.yaml:3", "cluster.nodes": "a comment, a.yaml:1"}),
    ("torchtune: QLoRA by its builder", "torchtune",
     {"a.yaml": TUNE.replace("lora_llama3_1_8b", "qlora_llama3_1_8b")}, [],
     {"model.frozen_dtype": "nf4"}, {"model.frozen_dtype": "model._component_, a.yaml:3"}),
    ("accelerate: adapters of PEFT's file beside a script", "accelerate",
     {"train.sh": TRAINER, "zero.json": AUTO, "adapter_config.json": PEFT}, ["--env", "BATCH=1"],
     {"model.lora": "8", "model.lora.targets": "[q, v]", "model.lora.dropout": "0.1",
      "model.layers": "32", "model.ffn": "14336",
      "model.frozen": "[embedding, attention, mlp, experts, router, norm, mtp]"},
     {"model.lora": "r, adapter_config.json:1"}),
    ("accelerate: adapters by flags of TRL", "accelerate",
     {"train.sh": TRAINER.replace("--warp_speed 9", "--use_peft --lora_r 64 --load_in_4bit "
                                  "--optim adamw_bnb_8bit --lora_target_modules q_proj o_proj"),
      "zero.json": AUTO, "config.json": MODEL}, ["--env", "BATCH=1"],
     {"model.lora": "64", "model.lora.targets": "[q, proj]", "model.lora.dropout": "0.05",
      "model.frozen_dtype": "nf4", "framework.optimizer": "adam8bit"},
     {"model.lora": "--lora_r, train.sh:5", "model.lora.dropout": "default of TRL, from memory"}),
    ("nemo: adapters of Megatron-Bridge", "nemo", {"a.py": LORA}, [],
     {"model.lora": "16", "model.lora.targets": "[gate, up]", "model.lora.dropout": None,
      "layout.tensor": "4", "cluster.nodes": "2"},
     {"model.lora": "cfg.peft.dim, a.py:6", "model.lora.targets": "peft.target_modules, a.py:5"}),
    ("nemo: adapters as an object, in its defaults", "nemo",
     {"a.py": LORA.replace('default_peft_config(peft_scheme, dim=8, target_modules=["linear_fc1"])',
                           "LoRA(alpha=32)").replace("    cfg.peft.dim = 16\n", "")}, [],
     {"model.lora": "32", "model.lora.targets": "[qkv, proj, gate, up, down]"},
     {"model.lora": "default of Megatron-Bridge"}),
    ("nemo: adapters in YAML of the launcher", "nemo",
     {"a.yaml": NEMO.replace("  warp_drive: 3\n", "  peft: {peft_scheme: lora, lora_tuning: "
                             "{adapter_dim: 16, adapter_dropout: 0.05}}\n")}, [],
     {"model.lora": "16", "model.lora.targets": "[qkv]", "model.lora.dropout": "0.05"}, {}),
    ("nemo: no adapters", "nemo",
     {"a.py": LORA.replace('"lora"', "None").replace("    cfg.peft.dim = 16\n", "").replace(
         "default_peft_config(peft_scheme, dim=8, target_modules=[\"linear_fc1\"])", "None")},
     [], {"model.lora": None}, {}),
    ("torchtitan: replicas and shards, a pipeline of its own division", "torchtitan",
     {"a.toml": TITAN}, [],
     {"cluster.nodes": "8", "model.layers": "32", "model.ffn": "14336", "model.sequence": "4096",
      "layout.tensor": "2", "layout.pipeline": "4", "layout.zero": "3", "layout.shard": "4",
      "layout.micro_batch": "1", "layout.global_batch": "64", "layout.sequence_parallel": "true",
      "layout.stage_layers": "[8, 9, 8, 7]", "schedule.name": "1f1b",
      "framework.reshard_after_forward": "no-pipeline", "layout.recompute": "full"},
     {"layout.tensor": "parallelism.tensor_parallel_degree, a.toml:8"}),
    ("torchtitan: two stages a rank, layers of each given", "torchtitan",
     {"a.toml": TITAN.replace("mode =", "x.y = 1\nmode =").replace(
         "tensor_p", 'pipeline_parallel_schedule = "interleaved1f1b"\n'
         "pipeline_parallel_layers_per_stage = 4\n"
         "pipeline_parallel_first_stage_less_layers = 0\n"
         "pipeline_parallel_last_stage_less_layers = 0\ntensor_p")}, [],
     {"schedule.name": "interleaved", "schedule.chunks": "2",
      "layout.stage_layers": "[4, 4, 4, 4, 4, 4, 4, 4]"}, {}),
    ("torchtitan: the file of 2024", "torchtitan",
     {"a.toml": '[model]\nname = "llama2"\nflavor = "7B"\n[training]\nbatch_size = 2\n'
                "tensor_parallel_degree = 2\n[experimental]\npipeline_parallel_degree = 1\n"
                "[float8]\nenable_float8_linear = true\n[activation_checkpoint]\n"
                'selective_ac_option = "2"\n'}, ["--gpus", "8"],
     {"layout.global_batch": "8", "model.dtype": "fp8", "layout.recompute": "full",
      "layout.recompute_layers": "[16]", "model.vocabulary": "32000"},
     {"layout.tensor": "training.tensor_parallel_degree, a.toml:6",
      "cluster.nodes": "--gpus; 8 GPUs"}),
    ("torchtitan: the first file of 2024, without fp8", "torchtitan",
     {"a.toml": '[model]\nname = "llama2"\nflavor = "13B"\nnorm_type = "fused_rmsnorm"\n[training]\n'
                'batch_size = 2\nfp8_linear = ""\ndata_parallel_degree = -1\n'
                '[activation_checkpoint]\nmode = "none"\n'}, ["--gpus", "8"],
     {"model.dtype": "bf16", "layout.global_batch": "16", "layout.recompute": "none"}, {}),
    ("torchtitan: stages cut by names of layers", "torchtitan",
     {"a.toml": TITAN.replace("pipeline_parallel_degree = 4", 'pipeline_parallel_degree = 2\n'
                              'pipeline_parallel_split_points = ["layers.12"]').replace(
         '"llama3"', '"llama3_simple_fsdp"')}, [],
     {"layout.stage_layers": "[12, 20]", "model.layers": "32"},
     {"layout.stage_layers": "parallelism.pipeline_parallel_split_points, a.toml:10"}),
    ("torchtitan: Maverick has experts in every second layer", "torchtitan",
     {"a.toml": '[model]\nname = "llama4"\nflavor = "17bx128e"\n[training]\nlocal_batch_size = 1\n'
                "[parallelism]\ntensor_parallel_degree = 8\nexpert_parallel_degree = 8\n"
                'expert_parallel_comm_backend = "deepep"\n[activation_checkpoint]\n'
                'selective_ac_option = "op"\n'}, ["--gpus", "64"],
     {"model.experts": "128", "model.dense_layers": "1", "model.ffn": "16384",
      "framework.dispatcher": "deepep", "layout.recompute": "[ffn, norm, moe_act]"}, {}),
    ("torchtitan: a model that is not known comes from its config.json", "torchtitan",
     {"a.toml": TITAN.replace("8B", "9B"), "config.json": MODEL}, [],
     {"model.layers": "4", "model.hidden": "256"}, {"model.hidden": "config.json"}),
    ("nanotron: padded vocabulary, accumulation, all forwards first", "nanotron",
     {"a.yaml": NANOTRON}, [],
     {"model.vocabulary": "1024", "layout.global_batch": "12", "layout.micro_batch": "2",
      "schedule.name": "gpipe", "layout.zero": "1", "layout.sequence_parallel": "false",
      "framework.grad_dtype": "fp32"},
     {"layout.tensor": "parallelism.tp, a.yaml:6", "model.vocabulary": "rounded up to a multiple of 128"}),
    ("accelerate: hybrid sharding over nodes of eight", "accelerate",
     {"a.yaml": FSDP, "config.json": MODEL}, ["--env", "PER_DEVICE_TRAIN_BATCH_SIZE=3"],
     {"cluster.nodes": "2", "layout.zero": "3", "layout.shard": "8", "layout.recompute": "full",
      "layout.micro_batch": "3", "layout.global_batch": "48", "model.dtype": "bf16"},
     {"layout.zero": "fsdp_config.fsdp_sharding_strategy, a.yaml:5"}),
    ("accelerate: FSDP2 that keeps parameters, its optimizer on the host", "accelerate",
     {"a.yaml": FSDP.replace("fsdp_sharding_strategy: 4", "fsdp_version: 2, fsdp_offload_params: "
                             "true, fsdp_reshard_after_forward: false"), "config.json": MODEL},
     ["--env", "GRADIENT_ACCUMULATION_STEPS=2"],
     {"layout.zero": "2", "layout.offload_optimizer": "cpu", "layout.offload_parameters": None,
      "layout.global_batch": "32"}, {}),
    ("accelerate: without a model it is an overlay", "accelerate", {"a.yaml": FSDP}, [],
     {"layout.zero": "3", "model.dtype": "bf16"}, {}),
    ("accelerate: DeepSpeed's JSON decides", "accelerate",
     {"a.yaml": DEEPSPEED, "zero.json": ZERO, "config.json": MODEL}, [],
     {"layout.zero": "3", "layout.offload_optimizer": "cpu", "layout.micro_batch": "2",
      "layout.global_batch": "24"}, {"layout.zero": "zero_optimization.stage, zero.json:1"}),
    ("accelerate: degrees of Megatron-LM", "accelerate", {"a.yaml": MEGATRON, "config.json": MODEL},
     [], {"layout.tensor": "2", "layout.pipeline": "2", "layout.sequence_parallel": "true",
          "layout.recompute": "selective", "layout.zero": "1", "layout.global_batch": "8",
          "framework.preset": "megatron-lm"},
     {"layout.tensor": "megatron_lm_config.megatron_lm_tp_degree, a.yaml:5"}),
    ("nemo: resolvers, chunks a rank, what is null", "nemo", {"a.yaml": NEMO}, [],
     {"cluster.nodes": "4", "model.layers": "24", "model.hidden": "1024", "model.ffn": "4096",
      "model.heads": "8", "model.kv_heads": "2", "model.sequence": "1024", "model.tied": "true",
      "model.bias": "false", "model.mlp": "swiglu", "model.positions": "none",
      "model.vocabulary": "50432", "schedule.chunks": "3", "schedule.name": "interleaved",
      "layout.recompute": None, "layout.zero": "1", "layout.sequence_parallel": "true"},
     {"model.layers": "model.num_layers, a.yaml:9", "layout.zero": "model.optim.name, a.yaml:26"}),
    ("nemo: neuronx-distributed-training", "nemo", {"a.yaml": NEURON}, [],
     {"layout.tensor": "8", "layout.zero": "1", "model.layers": "4",
      "layout.micro_batch": "1", "layout.global_batch": "64", "model.sequence": "2048",
      "layout.sequence_parallel": "true", "model.dtype": "bf16"},
     {"layout.tensor": "distributed_strategy.tensor_model_parallel_size, a.yaml:2"}),
    ("nemo: a model of its config.json", "nemo",
     {"a.yaml": NEURON.replace("num_layers: 4, hidden_size: 512, num_attention_heads: 8, "
                               "vocab_size: 1024", "num_layers: 2").replace(
         "parallel_size: 8", "parallel_size: 4"), "config.json": MODEL}, [],
     {"model.layers": "2", "model.hidden": "256", "model.ffn": "512", "model.bias": "false"}, {}),
    ("nemo: a recipe of functions with defaults", "nemo", {"a.py": PYTHON}, [],
     {"cluster.nodes": "2", "model.layers": "32", "model.ffn": "14336", "model.sequence": "2048",
      "layout.tensor": "2", "layout.pipeline": "4", "layout.sequence_parallel": "true",
      "layout.global_batch": "128", "model.dtype": "bf16", "schedule.chunks": None,
      "layout.zero": "1"},
     {"layout.tensor": "tensor_model_parallel_size, a.py:11",
      "layout.global_batch": "global_batch_size, a.py:14",
      "model.layers": "llm.Llama3Config8B, a.py:4"}),
    ("nemo: a recipe of assignments, the world in its name", "nemo", {"a.py": BRIDGE}, [],
     {"cluster.preset": "dgx-h100", "cluster.nodes": "8", "model.layers": "32",
      "model.experts": "8", "layout.pipeline": "4", "layout.expert": "8", "model.dtype": "bf16",
      "layout.recompute": "[moe_act, norm]", "framework.overlap_grad_reduce": "true",
      "framework.fused_experts": "true", "framework.fused_permute": "true",
      "framework.preset": "nemo", "framework.overlap_tensor_products": "false",
      "framework.layer_floor": "0.3 ms", "layout.order": "[tensor, context, data, pipeline]"},
     {"layout.pipeline": "cfg.model.pipeline_model_parallel_size, a.py:5",
      "framework.fused_permute": "as NeMo's recipes have it, from memory",
      "cluster.nodes": "a.py:1; 64 GPUs"}),
    ("nemo: a recipe that says what recipes do not", "nemo",
     {"a.py": BRIDGE.replace("    return", "    cfg.model.moe_permute_fusion = False\n    return")},
     [], {"framework.fused_experts": "true", "framework.fused_permute": "false"}, {}),
    ("nemo: what is in fp8", "nemo",
     {"a.py": BRIDGE.replace("bf16_mixed", "bf16_with_mxfp8_mixed").replace(
         "warp_drive = 3", "fp8_output_proj = True\n"
         "    cfg.mixed_precision.fp8_dot_product_attention = True")}, [],
     {"framework.fp8_recipe": "mxfp8", "framework.fp8_head": "true",
      "framework.fp8_attention": "true", "framework.fp8_weights": "false"},
     {"framework.fp8_head": "cfg.model.fp8_output_proj, a.py:12"}),
    ("nemo: one recipe of two", "nemo",
     {"a.py": BRIDGE + BRIDGE.replace("64gpu", "128gpu").replace("size = 4", "size = 8")},
     ["--env", "RECIPE=mixtral_8x7b_pretrain_128gpu_h100_bf16_config"],
     {"cluster.nodes": "16", "layout.pipeline": "8"}, {}),
    ("neox: the world follows from the batch", "neox", {"a.yml": NEOX}, [],
     {"cluster.nodes": "4", "layout.tensor": "2", "layout.pipeline": "2", "layout.zero": "1",
      "layout.micro_batch": "4", "layout.global_batch": "96", "layout.recompute": "full",
      "model.hidden": "1536", "model.ffn": "2048", "model.mlp": "swiglu", "model.tied": "false",
      "model.vocabulary": "50432", "model.block": "parallel", "model.norms": "2",
      "model.bias": "true", "model.dtype": "fp16", "model.attention": "flash2",
      "model.positions": "none", "model.rotary": "0.25"},
     {"layout.pipeline": "pipe-parallel-size, a.yml:3", "cluster.nodes": "train_batch_size"}),
    ("neox: another's tokenizer, in whole 128 times 2", "neox",
     {"a.yml": NEOX.replace("20B_tokenizer.json", "/x/Mistral-Nemo-Base/tokenizer.json")}, [],
     {"model.vocabulary": "131072"},
     {"model.vocabulary": "Mistral NeMo's, from memory, rounded up to a multiple of 256"}),
    ("neox: a tokenizer that no name tells is a guess", "neox",
     {"a.yml": NEOX.replace("20B_tokenizer.json", "own.json")}, [],
     {"model.vocabulary": "50432"}, {}),
    ("neox: defaults that are remembered say so", "neox",
     {"a.yml": NEOX.replace('"rotary_pct": 0.25,', "")}, [],
     {"model.rotary": "1"}, {"model.rotary": "default of GPT-NeoX, from memory"}),
    ("torchtitan: sizes of the notes", "torchtitan", {"a.toml": TITAN}, [],
     {"model.layers": "32"}, {"model.layers": "a.toml:3; sizes are those of llama3 8B in torchtitan"}),
    ("torchtitan: sizes that are remembered say so", "torchtitan",
     {"a.toml": TITAN.replace("llama3", "qwen3").replace("8B", "14B")}, [],
     {"model.layers": "40"}, {"model.layers": "qwen3 14B in torchtitan, from memory"}),
    ("nemo: Llama 4's tokenizer is not Llama 2's", "nemo",
     {"a.yaml": NEMO.replace('type: GPT2BPETokenizer, vocab_file: "${data_dir}/v.json"',
                             "type: meta-llama/Llama-4-Scout-17B-16E")}, [],
     {"model.vocabulary": "201216"}, {"model.vocabulary": "Llama 4's, from memory"}),
    ("accelerate: what ZeRO-3 gathers, from its JSON", "accelerate",
     {"a.yaml": DEEPSPEED, "config.json": MODEL,
      "zero.json": ZERO.replace('"stage": 3', '"stage": 3, "stage3_prefetch_bucket_size": 2e7, '
                                '"stage3_max_live_parameters": 3e9, "reduce_bucket_size": 1e8, '
                                '"stage3_max_reuse_distance": "auto", '
                                '"stage3_param_persistence_threshold": 20000')}, [],
     {"framework.preset": "deepspeed-zero3", "framework.gather_prefetch": "20000000",
      "framework.gather_live": "3000000000", "framework.gather_persistent": "20000",
      "framework.bucket": "200000000 B"},
     {"framework.gather_live": "stage3_max_live_parameters, zero.json"}),
    ("accelerate: a script of the Trainer, whose JSON leaves all to it", "accelerate",
     {"train.sh": TRAINER, "zero.json": AUTO, "config.json": MODEL}, ["--env", "BATCH=3"],
     {"cluster.nodes": "2", "model.layers": "4", "model.sequence": "512", "model.dtype": "bf16",
      "layout.zero": "2", "layout.micro_batch": "3", "layout.global_batch": "192",
      "layout.recompute": "full"},
     {"layout.micro_batch": "--per_device_train_batch_size, train.sh:4", "layout.zero": "zero.json",
      "cluster.nodes": "--num_nodes, train.sh:3; 8 GPUs",
      "model.sequence": "--block_size, train.sh:2"}),
    ("accelerate: a script beside its YAML, and --fsdp", "accelerate",
     {"train.sh": TRAINER.replace("deepspeed --num_gpus 4 --num_nodes ${NODES:-2} --hostfile hosts",
                                  "accelerate launch --config_file a.yaml --num_processes 8").replace(
         "--deepspeed a/zero.json", "--fsdp 'shard_grad_op offload'"),
      "a.yaml": "mixed_precision: bf16\nnum_processes: 16\n", "config.json": MODEL},
     ["--env", "BATCH=1"],
     {"cluster.nodes": "1", "layout.zero": "2", "layout.offload_optimizer": "cpu",
      "framework.preset": "fsdp", "layout.global_batch": "64"},
     {"layout.zero": "--fsdp, train.sh:3", "cluster.nodes": "--num_processes, train.sh:3"}),
    ("megatron: only --swiglu narrows the MLP", "megatron",
     {"a.sh": "python train.py --num-layers 2 --hidden-size 1024 --num-attention-heads 8 "
              "--seq-length 64 --micro-batch-size 1 --quick-geglu --nproc_per_node 8\n"}, [],
     {"model.mlp": "swiglu", "model.ffn": "4096"}, {"model.ffn": "4 --hidden-size"}),
    ("huggingface: a model and a world", "huggingface", {"config.json": MODEL}, ["--gpus", "4"],
     {"model.layers": "4", "layout.global_batch": "4"}, {}),
]

# name, form, files, options, parts of what is said
REFUSALS = [
    ("axolotl: a rank of nothing", "axolotl", {"a.yml": AXOLOTL.replace("lora_r: 32", "lora_r: 0")},
     ["--gpus", "8"], ["a.yml:4:1: lora_r: a rank of 0; write how wide adapters are, such as 16"]),
    ("axolotl: a dropout of all", "axolotl",
     {"a.yml": AXOLOTL.replace("dropout: 0.05", "dropout: 1")}, ["--gpus", "8"],
     ["a.yml:6:1: lora_dropout: a dropout of 1; write a share below 1"]),
    ("axolotl: matrices that no model has", "axolotl",
     {"a.yml": AXOLOTL.replace("lora_target_linear: true", "lora_target_modules: [warp]")},
     ["--gpus", "8"], ["a.yml:7:1: lora_target_modules: 'warp' has no matrix that is known; write "
                       "names such as q_proj"]),
    ("axolotl: another kind of adapter", "axolotl",
     {"a.yml": AXOLOTL.replace("adapter: qlora", "adapter: llama-adapter")}, ["--gpus", "8"],
     ["a.yml:2:1: adapter: llama-adapter is not simulated; lora and qlora are"]),
    ("axolotl: a model that is not known", "axolotl",
     {"a.yml": AXOLOTL.replace("Llama-3.1-70B", "Lama-70B")}, ["--gpus", "8"],
     ["a.yml:1:1: base_model: no sizes of meta-llama/Lama-70B are known here; name the model's "
      "config.json as a further file"]),
    ("axolotl: no world", "axolotl", {"a.yml": AXOLOTL}, [],
     ["how many GPUs there are is not known: the launcher says it; say it with --gpus N"]),
    ("axolotl: a file of LLaMA-Factory", "axolotl", {"a.yaml": FACTORY}, ["--gpus", "8"],
     ["seems to be of LLaMA-Factory, not of axolotl; write trainyard import llamafactory"]),
    ("llamafactory: layers that are frozen", "llamafactory",
     {"a.yaml": FACTORY.replace("type: lora", "type: freeze")}, ["--gpus", "8"],
     ["a.yaml:3:1: finetuning_type: freeze trains some layers", "write lora or full"]),
    ("llamafactory: bits that nobody trains on", "llamafactory",
     {"a.yaml": FACTORY.replace("bit: 8", "bit: 3")}, ["--gpus", "8"],
     ["a.yaml:7:1: quantization_bit: 3 bits are not simulated; 4 and 8 are"]),
    ("torchtune: a component that is not known", "torchtune",
     {"a.yaml": TUNE.replace("llama3_1.lora_llama3_1_8b", "phi3.lora_phi3_mini")}, [],
     ["a.yaml:3:3: model._component_: no sizes of torchtune.models.phi3.lora_phi3_mini are known"]),
    ("accelerate: another method of PEFT", "accelerate",
     {"train.sh": TRAINER, "adapter_config.json": PEFT.replace('"LORA"', '"IA3"')}, [],
     ["adapter_config.json:1:2: peft_type: IA3: of PEFT's methods LORA is simulated"]),
    ("nemo: another kind of adapter", "nemo", {"a.py": LORA.replace('"lora"', '"ptuning"')}, [],
     ["ptuning is not simulated; lora is"]),
    ("nemo: a rank that tensor ranks do not divide", "nemo",
     {"a.py": LORA.replace("dim = 16", "dim = 6")}, [], ["4 does not divide model.lora.rank (6)"]),
    ("torchtitan: no world", "torchtitan",
     {"a.toml": TITAN.replace("degree = 4\n[act", "degree = -1\n[act")}, [],
     ["parallelism.data_parallel_shard_degree", "--gpus N, a multiple of 8", "NGPU"]),
    ("torchtitan: a world that does not divide", "torchtitan",
     {"a.toml": TITAN.replace("degree = 4\n[act", "degree = -1\n[act")}, ["--gpus", "20"],
     ["a world of 20 GPUs is not a multiple of 8"]),
    ("torchtitan: degrees that make another world", "torchtitan", {"a.toml": TITAN},
     ["--gpus", "32"], ["the degrees make 64 GPUs, --gpus says 32"]),
    ("torchtitan: a flavor that is not known", "torchtitan",
     {"a.toml": TITAN.replace("8B", "9B")}, [],
     ["a.toml:3:1: model.flavor: no sizes of llama3 9B", "config.json"]),
    ("torchtitan: an unknown schedule", "torchtitan",
     {"a.toml": TITAN.replace("[activ", 'pipeline_parallel_schedule = "Mine"\n[activ')}, [],
     ["pipeline_parallel_schedule: no such schedule is known (Mine)"]),
    ("torchtitan: broken TOML", "torchtitan", {"a.toml": "[model\n"}, [],
     ["a.toml:1:7: expected ']' at the end of a table declaration", "    [model\n          ^"]),
    ("nanotron: no model", "nanotron", {"a.yaml": "parallelism: {dp: 1}\n"}, [],
     ["model.model_config.num_hidden_layers: no file says it"]),
    ("accelerate: a JSON that is not there", "accelerate", {"b.yaml": DEEPSPEED.replace(
        "zero.json", "other.json")}, [], ["a/other.json is not beside this file"]),
    ("accelerate: what is no GPU", "accelerate",
     {"a.yaml": "distributed_type: XLA\nnum_processes: 8\n"}, [], ["XLA is not read", "MEGATRON_LM"]),
    ("nemo: a value that is not in the file", "nemo",
     {"a.yaml": NEMO.replace("hidden_size: ${divide_ceil:2047,2}", "hidden_size: ${width}")}, [],
     ["a.yaml:11:3: model.hidden_size: its value is not known: ${width} is not in this file"]),
    ("nemo: a resolver that is not known", "nemo",
     {"a.yaml": NEMO.replace("divide_ceil:2047,2", "power:2,10")}, [],
     ["model.hidden_size: its value is not known: ${power:2,10}"]),
    ("nemo: values that name each other", "nemo",
     {"a.yaml": NEMO.replace("doubled: 6", "doubled: ${.num_layers}")}, [],
     ["model.num_layers: its value is not known"]),
    ("nemo: a model that is elsewhere", "nemo",
     {"a.yaml": NEURON.replace("hidden_size: 512", "model_config: /x/config.json")}, [],
     ["a.yaml:5:24: model.model_config: the model is in /x/config.json; name it"]),
    ("nemo: two recipes, and none is chosen", "nemo",
     {"a.py": BRIDGE + BRIDGE.replace("64gpu", "128gpu")}, [],
     ["2 recipes are in it", "mixtral_8x7b_pretrain_64gpu_h100_bf16_config, ", "--env RECIPE=NAME"]),
    ("nemo: a value that is code", "nemo",
     {"a.py": BRIDGE.replace("batch_size = 256", "batch_size = batch_of(256)")}, [],
     ["a.py:7:5: cfg.train.global_batch_size: its value is not known: it is code",
      "run_config.yaml"]),
    ("nemo: an assignment below an if", "nemo",
     {"a.py": BRIDGE.replace("    cfg.train.global", "    if fast:\n        cfg.train.global")}, [],
     ["a.py:8:9: cfg.train.global_batch_size: whether it is given is not known: it stands below an "
      "if"]),
    ("neox: no world", "neox", {"a.yml": NEOX.replace('"train_batch_size": 96, ', "")}, [],
     ["--gpus N, a multiple of 4", "hostfile"]),
    ("neox: no model", "neox", {"a.yml": '{"train_batch_size": 8}'}, [],
     ["num_layers: no file says it", "hidden_size: no file says it"]),
    ("huggingface: no world", "huggingface", {"config.json": MODEL}, [], ["--gpus N"]),
    ("accelerate: a batch that a script leaves to its environment", "accelerate",
     {"train.sh": TRAINER, "zero.json": AUTO, "config.json": MODEL}, [],
     ["train.sh:4:3: --per_device_train_batch_size: its value is not known: BATCH is not set",
      "--env BATCH=VALUE"]),
    ("deepspeed: a script of the Trainer is another form's", "deepspeed",
     {"train.sh": TRAINER, "zero.json": AUTO}, [],
     ["train.sh:4:3: --per_device_train_batch_size", "trainyard import accelerate"]),
]

# name, form, files, options, parts of the run file and of standard error
TOLD = [
    ("axolotl: packed documents and unknown words are told", "axolotl", {"a.yml": AXOLOTL},
     ["--gpus", "8"], ["#   warp_drive 3, a.yml:18", "#   sample_packing, a.yml:9: true: each "],
     ["a.yml:18: warp_drive 3: not understood", "Llama-3.1-70B is known by its name alone"]),
    ("llamafactory: a stage by the name of a file", "llamafactory", {"a.yaml": FACTORY},
     ["--gpus", "4"], ["#   warp_drive 3, a.yaml:14", "#   packing, a.yaml:10"],
     ["ds_z2_config.json is not beside this file: its name says stage 2"]),
    ("torchtune: packed documents and unknown words are told", "torchtune", {"a.yaml": TUNE}, [],
     ["#   warp_drive 3, a.yaml:15", "#   dataset.packed, a.yaml:8"], []),
    ("PEFT: what is not simulated is told", "accelerate",
     {"train.sh": TRAINER, "zero.json": AUTO, "adapter_config.json": PEFT}, ["--env", "BATCH=1"],
     ["#   warp 3, adapter_config.json:1"],
     ["target_modules: adapters beside query are not simulated", "magnitudes of DoRA"]),
    ("nemo: an unknown word of adapters is told", "nemo", {"a.py": LORA}, [],
     ["#   cfg.peft.warp 3, a.py:10"], []),
    ("an unknown word is in the run file and told", "torchtitan",
     {"a.toml": TITAN.replace("[activ", "warp_drive = 3\n[activ")}, [],
     ["# Not understood, and left out:", "#   parallelism.warp_drive 3, a.toml:12"],
     ["a.toml:12: parallelism.warp_drive 3: not understood, and left out"]),
    ("selective by operators has no key", "torchtitan",
     {"a.toml": TITAN.replace('"full"', '"selective"\nselective_ac_option = "op"')}, [],
     ["recompute: ffn", "selective_ac_option, a.toml:14"], ["is the nearest, and a guess"]),
    ("words of NeMo that no table has", "nemo", {"a.yaml": NEMO}, [],
     ["#   model.warp_drive 3, a.yaml:24", "#   model.doubled 6"],
     ["model.warp_drive 3: not understood", "50257, GPT-2's"]),
    ("what a helper sets is not known", "nemo", {"a.py": BRIDGE}, [],
     ["#   cfg.model.warp_drive 3, a.py:12"],
     ["a.py:2: mixtral_8x7b_pretrain_config: what this function sets is not known here",
      "a.py:12: cfg.model.warp_drive 3: not understood"]),
    ("what has no key in the JSON that accelerate names is told as that of a script is", "accelerate",
     {"a.yaml": DEEPSPEED, "config.json": MODEL,
      "zero.json": ZERO.replace('"stage": 3', '"stage": 3, "zero_quantized_weights": true, '
                                '"zero_hpz_partition_size": 8')}, [],
     ["bf16.enabled, zero.json:1"],
     ["zero_quantized_weights: true: weights are gathered in 16 bits",
      "zero_hpz_partition_size: 8", "train_batch_size: auto: auto is set by the program that trains"]),
    ("an unknown word of accelerate is told", "accelerate",
     {"a.yaml": DEEPSPEED.replace("a/zero.json", "zero.json, zero_warp: 3"), "zero.json": ZERO,
      "config.json": MODEL}, [], ["#   deepspeed_config.zero_warp 3"], []),
    ("a world in a comment counts, and is told", "torchtitan",
     {"a.toml": "# for 64 A100 GPUs\n" + TITAN.replace("degree = 4\n[act", "degree = -1\n[act")},
     [], ["preset: dgx-a100-80g", "64 GPUs"], ["64 GPUs are said there alone"]),
    ("an unknown flag of a Trainer's script is told", "accelerate",
     {"train.sh": TRAINER, "zero.json": AUTO, "config.json": MODEL}, ["--env", "BATCH=3"],
     ["#   --warp_speed 9, train.sh:5"], ["train.sh:5: --warp_speed 9: not understood"]),
    ("a guessed batch is told", "huggingface", {"config.json": MODEL}, ["--gpus", "4"], ["# guess"],
     ["no file says the batch", "no file says how long sequences are"]),
]


def given(folder):
    """Files of real projects, by their facts."""
    forms = {"torchtitan-toml": "torchtitan", "nanotron-yaml": "nanotron",
             "nemo-launcher-yaml": "nemo"}
    names = {"layers": "model.layers", "hidden": "model.hidden", "heads": "model.heads",
             "ffn": "model.ffn", "padded_vocab": "model.vocabulary", "seq": "model.sequence",
             "norm": "model.norm_kind", "tied": "model.tied", "experts": "model.experts",
             "tp": "layout.tensor", "pp": "layout.pipeline", "micro_batch": "layout.micro_batch",
             "global_batch": "layout.global_batch", "zero": "layout.zero",
             "precision": "model.dtype"}
    for row in csv.DictReader((CONFIGS / "expected.csv").open()):
        if row["format"] not in forms:
            continue
        path = CONFIGS / row["file"].removeprefix("given/")
        world = [] if row["world"] else ["--gpus", "64"]
        status, facts, _, said = imported(folder, forms[row["format"]], [path], *world)
        check(row["id"] + " is imported", status == 0, said)
        for column, key in names.items():
            if row[column] != "" and status == 0:
                got = facts.get(key, ("1" if key == "layout.context" else None, ""))[0]
                check(f"{row['id']} {key}", got == row[column], f"{got}, not {row[column]}")
        if status == 0:
            run = subprocess.run([sys.argv[1], "run", str(folder / "out.yaml"), "--stats", "json"],
                                 capture_output=True, text=True)
            report = json.loads(run.stdout)
            if row["params"] != "":
                check(row["id"] + " parameters", report["parameters"] == int(row["params"]),
                      f"{report['parameters']}, not {row['params']}")
            elif row["params_without_vocab"] != "":
                ends = 1 if facts["model.tied"][0] == "true" else 2
                rest = report["parameters"] - ends * int(facts["model.vocabulary"][0]) * int(
                    facts["model.hidden"][0])
                check(row["id"] + " parameters without vocabulary",
                      rest == int(row["params_without_vocab"]),
                      f"{rest}, not {row['params_without_vocab']}")


ROUND = [
    "layout: {tensor: 8, pipeline: 4, zero: 3, sequence_parallel: true, global_batch: 128}\n"
    "model: {preset: llama3-70b}\nschedule: {name: 1f1b}\n",
    "layout: {zero: 3, shard: 8, global_batch: 128, micro_batch: 2, recompute: full}\n"
    "model: {preset: llama3-8b}\nschedule: {name: 1f1b}\n",
    "layout: {tensor: 2, context: 2, context_method: all-gather, zero: 3, sequence_parallel: true,\n"
    "  pipeline: 2, global_batch: 64, micro_batch: 2}\nmodel: {preset: llama3-8b}\n"
    "schedule: {name: interleaved, chunks: 4}\n",
]


def round_trip(folder):
    """plan --emit torchtitan, imported: the same step to the last digit."""
    for number, text in enumerate(ROUND):
        path, toml = folder / "round.yaml", folder / "round.toml"
        path.write_text("cluster: {preset: dgx-h100, nodes: 8}\n"
                        "framework: {preset: torchtitan}\n" + text)
        plan = subprocess.run([sys.argv[1], "plan", str(path), "--margin", "0", "--emit", "torchtitan"],
                              capture_output=True, text=True)
        toml.write_text(plan.stdout)
        status, _, run_file, said = imported(folder, "torchtitan", [toml], "--gpus", "64")
        check(f"round trip {number} is imported", status == 0, said)
        steps = [json.loads(subprocess.run([sys.argv[1], "run", str(p), "--stats", "json"],
                                           capture_output=True, text=True).stdout)["step_time_s"]
                 for p in (path, folder / "out.yaml") if status == 0]
        check(f"round trip {number} takes as long", len(steps) == 2 and steps[0] == steps[1],
              f"{steps}\n{run_file}")


# Jobs that come back from `plan --emit torchtitan` with every key; files of real projects do, too.
TITAN_JOBS = [
    ("replicas and shards, a pipeline", TITAN, []),
    ("stages that begin with two layers less, every third layer recomputed",
     TITAN.replace('"full"', '"selective"\nselective_ac_option = "3"').replace(
         "[activ", "pipeline_parallel_first_stage_less_layers = 2\n[activ"), []),
    ("chunks, fp8, weights in it, a compiler", TITAN.replace(
        '"llama3"', '"llama3"\nconverters = ["float8"]').replace(
        "[activ", 'pipeline_parallel_schedule = "Interleaved1F1B"\n'
        "pipeline_parallel_microbatch_size = 2\n[activ") + "[compile]\nenable = true\n"
     "[float8]\nenable_fsdp_float8_all_gather = true\n", []),
    ("the words of 2024, stages by split points", """[model]
name = "llama3"
flavor = "8B"
norm_type = "fused_rmsnorm"
[optimizer]
name = "AdamW"
fused = true
[training]
batch_size = 8
seq_len = 8192
data_parallel_degree = -1
tensor_parallel_degree = 2
compile = true
enable_float8_linear = false
[experimental]
pipeline_parallel_degree = 4
pipeline_parallel_split_points = ["layers.8", "layers.16", "layers.24"]
pipeline_parallel_schedule = "1f1b"
pipeline_parallel_microbatches = 8
[activation_checkpoint]
mode = 'selective'
selective_ac_option = 'op'
""", ["--gpus", "64"]),
    ("experts by DeepEP, 16-bit weights, weights kept", """[model]
name = "qwen3"
flavor = "30B-A3B"
[optimizer]
implementation = "foreach"
[training]
local_batch_size = 4
global_batch_size = 512
seq_len = 4096
dtype = "bfloat16"
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 16
fsdp_reshard_after_forward = "never"
tensor_parallel_degree = 2
expert_parallel_degree = 8
expert_parallel_comm_backend = "deepep"
[activation_checkpoint]
mode = "full"
""", []),
]


def keys_of(path):
    """Key: value of a run file that is complete, and its GPUs."""
    shown = subprocess.run([sys.argv[1], "check", str(path), "--show-config"], capture_output=True,
                           text=True).stdout
    found = dict(re.findall(r"^(\S+\.\S+) +(.*?) +# ", shown, re.M))
    return {key: value for key, value in found.items() if key != "model.name" and key.startswith(
        ("model.", "layout.", "schedule.", "framework."))}


def there_and_back(folder):
    """Jobs of torchtitan through plan --emit torchtitan."""
    jobs = [(name, {"job.toml": text}, more) for name, text, more in TITAN_JOBS]
    jobs += [(path.parent.name, [path], ["--gpus", "512"])
             for path in sorted(CONFIGS.glob("g*-torchtitan/*.toml"))]
    for name, files, more in jobs:
        status, _, _, said = imported(folder, "torchtitan", files, *more)
        (folder / "out.yaml").replace(folder / "first.yaml")
        before = keys_of(folder / "first.yaml")
        plan = subprocess.run([sys.argv[1], "plan", str(folder / "first.yaml"), "--margin",
                               "0", "--emit", "torchtitan"], capture_output=True, text=True)
        again, _, _, told = imported(folder, "torchtitan", {"again.toml": plan.stdout})
        after = keys_of(folder / "out.yaml")
        changed = {key: (value, after.get(key)) for key, value in before.items()
                   if after.get(key) != value}
        check(f"{name}: through plan --emit torchtitan and back",
              status == 0 and again == 0 and before and not changed,
              (said, plan.stderr, told, changed if again == 0 else ""))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, form, files, options, keys, comments in JOBS:
            status, facts, text, said = imported(folder, form, files, *options)
            check(title, status == 0, said)
            for key, value in keys.items():
                got = facts.get(key, (None, ""))[0]
                check(f"{title}: {key}", got == value, f"{got}, not {value}\n{text}")
            for key, part in comments.items():
                check(f"{title}: origin of {key}", part in facts.get(key, ("", ""))[1], text)
        for title, form, files, options, parts in REFUSALS:
            status, _, text, said = imported(folder, form, files, *options)
            check(title, status == 3 and text == "", f"{status} {said}")
            for part in parts:
                check(f"{title}: {part}", part in said, said)
        for title, form, files, options, inside, told in TOLD:
            status, _, text, said = imported(folder, form, files, *options)
            check(title, status == 0, said)
            for part in inside:
                check(f"{title}: {part}", part in text, text)
            for part in told:
                check(f"{title}: {part}", part in said, said)
        round_trip(folder)
        there_and_back(folder)
        if CONFIGS.exists():
            given(folder)
        else:
            print("# no ../shared/configs: files of real projects are not read")
    for number, (title, ok) in enumerate(checks, 1):
        words = " ".join(title.replace("#", "no.").split())
        print(("ok" if ok else "not ok"), number, "-", words)
    print(f"1..{len(checks)}")
    sys.exit(0 if all(ok for _, ok in checks) else 1)


main()
