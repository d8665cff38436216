"""`trainyard import accelerate`: the YAML that `accelerate config` writes, the JSON of DeepSpeed that it
names, and the config.json of the model; or a script that starts the Trainer of transformers or TRL,
and the adapter_config.json of PEFT. Sources: notes on accelerate (16cb6eb8) and its templates;
fp8_config, dynamo_config, degrees of Megatron-LM, all defaults, TrainingArguments of transformers,
ModelConfig of TRL and their example scripts are from memory."""
import os
import re
from typing import Optional

from . import adapters, huggingface
from .adapters import Words
from .bash import Shell
from .carriers import launched, read_script, variables
from .deepspeed import BATCH, MICRO, STEPS, Json
from .facts import Facts, File, From, Refused
from .flags import Flags, Table, truth_of
from .megatron_rows import IDLE_ROWS, dashed
from .trees import add_words, parse_yaml, read_words

RULE = "default of accelerate, from memory"
FSDP, DS = "fsdp_config.fsdp_", "deepspeed_config."
DEGREE = "parallelism_config.parallelism_config_{}_size"
LM = "megatron_lm_config.megatron_lm_"
ROWS = Table(
    taken=" ".join([FSDP + word for word in (
        "sharding_strategy reshard_after_forward version offload_params activation_checkpointing"
        ).split()] + [DS + word for word in (
            "zero_stage gradient_accumulation_steps offload_optimizer_device offload_param_device "
            "deepspeed_config_file").split()] + [LM + word for word in (
                "tp_degree pp_degree num_micro_batches sequence_parallelism recompute_activations "
                "use_distributed_optimizer").split()]) + """
        distributed_type num_processes num_machines mixed_precision gradient_accumulation_steps
        parallelism_config.* fp8_config.*""",
    no_key={DS + "deepspeed_hostfile": "nodes by name: their number is num_machines",
            "dynamo_config.*": "the compiler fuses kernels of its choice"},
    idle=f"""fsdp_config.* {DS}deepspeed_* {DS}gradient_clipping {DS}offload_optimizer_nvme_path
        {DS}offload_param_nvme_path {DS}zero3_* {LM}gradient_clipping compute_environment debug
        downcast_bf16 enable_cpu_affinity gpu_ids machine_rank main_process_*
        main_training_function rdzv_* same_network tpu_* use_cpu ipex_config.* commands
        command_file""")
# Number, word and stage of a way of sharding; those that are hybrid share within a node.
STRATEGIES = {"1": "FULL_SHARD", "2": "SHARD_GRAD_OP", "3": "NO_SHARD", "4": "HYBRID_SHARD",
              "5": "HYBRID_SHARD_ZERO2"}
STAGES = {"FULL_SHARD": 3, "SHARD_GRAD_OP": 2, "NO_SHARD": 0, "HYBRID_SHARD": 3,
          "HYBRID_SHARD_ZERO2": 2}

LENGTHS = "block-size max-seq-length max-seq-len max-length cutoff-len model-max-length sequence-len"
TRL = Words("--lora-r", "--lora-dropout", "--lora-target-modules", "--lora-modules-to-save", 16, 0.05,
            "q v", "default of TRL, from memory")
TRAINER_ROWS = Table(
    taken=dashed("per-device-train-batch-size gradient-accumulation-steps gradient-checkpointing "
                 f"{LENGTHS} bf16 fp16 mixed-precision deepspeed deepspeed-config-file fsdp "
                 "num-processes num-machines nproc-per-node nnodes num-gpus num-nodes optim "
                 "model-name-or-path use-peft use-lora lora-r lora-rank lora-dropout "
                 "lora-target-modules lora-target lora-modules-to-save load-in-4bit load-in-8bit"),
    no_key={"--use-dora": adapters.PEFT_ROWS.rows["use_dora"][1],
            "--packing": "documents in a sequence do not shorten attention here",
            "--torch-compile": "the compiler fuses kernels of its choice",
            "--attn-implementation": "say the kernel by model.attention"},
    idle=dashed("""fsdp-config use-deepspeed config-file config-name lora-alpha lora-task-type
        use-rslora bnb-4bit-* use-bnb-nested-quant
        tokenizer-name dataset-* train-file validation-* output-dir overwrite-* do-*
        num-train-epochs max-steps learning-rate warmup-* adam-* max-grad-norm logging-*
        evaluation-* eval-* per-device-eval-batch-size report-to run-name preprocessing-*
        dataloader-* torch-dtype trust-remote-code use-fast-tokenizer low-cpu-mem-usage
        remove-unused-columns group-by-length ddp-timeout push-to-hub hub-* tf32"""))


class Accelerate:
    def __init__(self, facts: Facts, words: Flags, script: Flags, file: File) -> None:
        self.f, self.w, self.script, self.file = facts, words, script, file
        self.flags = Flags(facts)  # of the batch, by DeepSpeed's JSON
        self.json = Json(facts, self.flags)
        self.rows = TRAINER_ROWS, IDLE_ROWS  # of the script
        self.lora: Optional[Words] = TRL  # adapters in it; None: they are known

    def world(self) -> None:
        f, processes = self.f, self.w.get("num_processes")
        if f.gpus:
            return  # a launcher said it
        if processes is None:
            f.no_world = f.no_world or "no num_processes"
            return
        f.gpus, f.gpus_from = self.w.count("num_processes"), processes.source
        machines = self.w.count("num_machines", 1)
        if machines > 1 and f.gpus % machines == 0:
            f.per_node = f.gpus // machines

    def types(self) -> None:
        kind = self.w.opt("mixed_precision")
        if kind is None or "model.dtype" in self.f.facts:
            return  # the JSON of DeepSpeed counts
        self.f.set("model.dtype", self.w.source("mixed_precision"),
                   "fp32" if kind.lower() in ("no", "false") else kind)  # YAML 1.1 reads no so

    # ---- FSDP ----

    def strategy(self) -> None:
        word, reshard = FSDP + "sharding_strategy", FSDP + "reshard_after_forward"
        given = self.w.opt(word)
        if given is None:  # version 2 has true or false for it, version 1 the same words
            keep = self.w.text(reshard, "true")
            given = {"false": "SHARD_GRAD_OP", "true": "FULL_SHARD"}.get(keep.lower(), keep)
        source = self.w.source(word if self.w.find(word) is not None else reshard, RULE)
        name = STRATEGIES.get(given, given.upper())
        if name not in STAGES:
            self.f.refuse(source, f"'{given}' is no way of sharding; write FULL_SHARD, "
                                  "SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or HYBRID_SHARD_ZERO2")
            return
        self.f.set("layout.zero", source, STAGES[name])
        if name.startswith("HYBRID"):
            self.f.set("layout.shard", source, self.f.per_node or 8, "the GPUs of a node")

    def away(self) -> None:
        """Parameters, gradients and the update on the host; parameters that are kept after the
        forward do not go back there."""
        if not self.w.true(FSDP + "offload_params"):
            return
        source = self.w.source(FSDP + "offload_params")
        self.f.set("layout.offload_optimizer", source, "cpu")
        if self.f.get("layout.zero") == "3":
            self.f.set("layout.offload_parameters", source, "cpu")
        else:
            self.f.remark(source, "parameters that are kept after a forward stay on the GPU here; "
                                  "the optimizer alone is on the host")

    def fsdp(self) -> None:
        self.f.set("framework.preset", self.w.source("distributed_type"), "fsdp")
        self.strategy()
        self.away()
        again = FSDP + "activation_checkpointing"
        if self.w.find(again) is not None:
            self.f.set("layout.recompute", self.w.source(again),
                       "full" if self.w.true(again) else "none")

    def degrees(self) -> None:
        for word, key in (("tp", "tensor"), ("cp", "context"), ("sp", "context")):
            if self.w.count(DEGREE.format(word), 1) > 1:
                self.w.set_count("layout." + key, DEGREE.format(word))
        replicate, sharded = DEGREE.format("dp_replicate"), DEGREE.format("dp_shard")
        copies, shard = self.w.count(replicate, 1), self.w.count(sharded, 1)
        if copies > 1 and shard > 1:
            self.f.set("layout.shard", self.w.source(sharded), shard, f"of each of {copies} groups")
        elif copies > 1:
            self.f.set("layout.zero", self.w.source(replicate), "0")

    # ---- DeepSpeed: the JSON that the file names decides over batch, types and stage ----

    def is_auto(self, name: str) -> bool:
        word = self.w.find(name)
        return word is None or word.first in ("", "auto")

    def open_json(self) -> None:
        word = DS + "deepspeed_config_file"
        path = self.w.opt(word)
        if path is None:
            return
        file = self.f.named(self.file, path)
        stage = re.search(r"z(?:ero)?[_-]?([0-3])", os.path.basename(path))
        if file is None and stage and self.is_auto(DS + "zero_stage"):
            self.w.put(DS + "zero_stage", self.w.source(word), stage[1])
            self.f.remark(self.w.source(word), f"{path} is not beside this file: its name says stage "
                          f"{stage[1]}; name it as a further file for all that it holds")
            return
        if file is None:
            self.f.refuse(self.w.source(word),
                          f"{path} is not beside this file; name it as a further file")
            return
        self.json = Json(self.f, self.flags, file)

    def deepspeed(self) -> None:
        self.open_json()
        self.f.set("framework.preset", self.w.source("distributed_type"), "megatron-deepspeed")
        if self.json.root is None or not self.is_auto(DS + "zero_stage"):
            self.w.set_count_or("layout.zero", DS + "zero_stage", 2, RULE)
        for name, key in (("offload_optimizer_device", "layout.offload_optimizer"),
                          ("offload_param_device", "layout.offload_parameters")):
            device = "none" if self.is_auto(DS + name) else self.w.text(DS + name, "none")
            if device != "none":
                self.f.set(key, self.w.source(DS + name), device)
        self.json.batch()
        self.json.read()
        if self.f.get("layout.zero") == "3":
            self.f.set("framework.preset", self.w.source("distributed_type"), "deepspeed-zero3")

    # ---- Megatron-LM, plain data parallelism ----

    def megatron(self) -> None:
        self.f.set("framework.preset", self.w.source("distributed_type"), "megatron-lm")
        self.w.set_count("layout.tensor", LM + "tp_degree")
        self.w.set_count("layout.pipeline", LM + "pp_degree")
        for word, key, yes, no in (
                ("sequence_parallelism", "layout.sequence_parallel", "true", "false"),
                ("recompute_activations", "layout.recompute", "selective", "none"),
                ("use_distributed_optimizer", "layout.zero", "1", "0")):
            alone = word == "sequence_parallelism" and self.f.count("layout.tensor") == 1
            on = self.w.true(LM + word) and not alone  # one rank is no group
            self.f.set(key, self.w.source(LM + word, RULE), yes if on else no)

    def plain(self) -> None:
        source = self.w.source("distributed_type", RULE)
        self.f.set("framework.preset", source, "ddp")
        self.f.set("layout.zero", source, "0")

    # ---- the batch ----

    def accumulation(self) -> int:
        """Times that a GPU works before an update; 0: no file says it."""
        if self.flags.find(STEPS) is not None:
            return self.flags.count(STEPS)
        for name in (DS + "gradient_accumulation_steps", LM + "num_micro_batches",
                     "gradient_accumulation_steps"):
            if not self.is_auto(name):
                return self.w.count(name)
        return 0

    def batch(self) -> None:
        """Of batch, micro-batch and accumulation what the JSON leaves out follows."""
        steps, flags = self.accumulation(), self.flags
        micro, every = flags.find(MICRO) is not None, flags.find(BATCH) is not None
        if not micro and not every:
            huggingface.set_batch(self.f, steps, self.script)
            return
        each = self.f.replicas() * (steps or 1)
        batch = flags.count(BATCH) if every else each * flags.count(MICRO)
        one = flags.count(MICRO) if micro else batch // each if each else 0
        if one and batch:
            source = flags.source(BATCH if every else MICRO)
            self.f.set("layout.micro_batch", source, one)
            self.f.set("layout.global_batch", source, batch)

    def read(self) -> None:
        f, kinds = self.f, {"FSDP": self.fsdp, "DEEPSPEED": self.deepspeed,
                            "MEGATRON_LM": self.megatron, "MULTI_GPU": self.plain, "NO": self.plain}
        kind = self.w.text("distributed_type", "NO")
        self.world()
        self.degrees()
        if kind.upper() in kinds:
            kinds[kind.upper()]()
        else:
            f.refuse(self.w.source("distributed_type"),
                     f"{kind} is not read; FSDP, DEEPSPEED, MEGATRON_LM and MULTI_GPU are")
        self.types()
        trainer_flags(f, self.script, self.lora)
        self.script.apply(*self.rows)
        if "model.layers" in f.facts:
            self.batch()
        else:
            f.remark(From(self.file.name), "no model and no batch are in it: name the model's "
                                           "config.json behind it for a whole run file")
            f.remark(f.gpus_from, f"{f.gpus} GPUs: how many is left to the run file it goes with")
        self.w.apply(ROWS)


# ---- scripts of the Trainer ----

def is_on(flags: Flags, name: str) -> bool:
    """Whether a flag is there, and not as "--bf16 False"."""
    flag = flags.get(name)
    return flag is not None and (not flag.values or truth_of(flag.first) is not False)


def trainer_script(f: Facts, file: File, flags: Flags, words: Flags) -> None:
    """Flags of a script; what they say of how GPUs share the work, as words of the YAML where that
    does not say it; the world, by what its launcher is told."""
    shell = Shell(f)
    read_script(f, file, TRAINER_ROWS, "the Trainer, such as --per_device_train_batch_size", shell,
                flags)
    if f.refused:
        return
    launched(f, flags)
    variables(f, shell)
    trainer_words(flags, words)


def trainer_words(flags: Flags, words: Flags) -> None:
    """Flags that say how GPUs share the work, as words of the YAML."""
    def put(word: str, flag: str, value: Optional[str]) -> None:
        if words.find(word) is None and value is not None:
            words.put(word, flags.source(flag, "the script"), value)
    for json in ("--deepspeed", "--deepspeed-config-file"):
        path = flags.opt(json)
        if path is not None:
            put("distributed_type", json, "DEEPSPEED")
            put(DS + "deepspeed_config_file", json, path)
    fsdp = flags.get("--fsdp")  # "full_shard auto_wrap offload"
    if fsdp is not None and fsdp.values:
        put("distributed_type", "--fsdp", "FSDP")
        ways = [way for way in ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard_zero2",
                                "hybrid_shard") if way in fsdp.said()]
        put(FSDP + "sharding_strategy", "--fsdp", ways[0] if ways else None)
        put(FSDP + "offload_params", "--fsdp", "true" if "offload" in fsdp.said() else None)
    put("distributed_type", "--nproc-per-node", "MULTI_GPU")
    put("mixed_precision", "--mixed-precision", flags.opt("--mixed-precision"))
    for kind in ("bf16", "fp16"):
        put("mixed_precision", "--" + kind, kind if is_on(flags, "--" + kind) else None)
    put("gradient_accumulation_steps", STEPS, flags.opt(STEPS))


def trained(f: Facts, flags: Flags, words: Words) -> None:
    """Adapters, if a flag says that there are some."""
    words = words._replace(rank=flags.first_of("--lora-r", "--lora-rank"),
                           targets=flags.first_of("--lora-target-modules", "--lora-target"))
    switches = [name for name in ("--use-peft", "--use-lora") if flags.find(name) is not None]
    if any(is_on(flags, name) for name in switches) if switches else flags.has(words.rank):
        adapters.set_adapters(f, flags, words)
        adapters.set_bits(f, flags, "--load-in-4bit", "--load-in-8bit")


def trainer_flags(f: Facts, flags: Flags, words: Optional[Words]) -> None:
    """Behind all that files say: how long sequences are, what runs again, what is trained."""
    if words is not None:
        trained(f, flags, words)
    if flags.find("--optim") is not None:
        adapters.set_optimizer(f, flags.source("--optim"), flags.text("--optim"))
    for length in dashed(LENGTHS).split():
        if flags.has(length) and "SEQ_LENGTH" not in f.env:
            flags.set_count("model.sequence", length)
    if is_on(flags, "--gradient-checkpointing"):
        f.set("layout.recompute", flags.source("--gradient-checkpointing"), "full")


def read_json(f: Facts, file: File) -> None:
    """A config.json is the model's, an adapter_config.json PEFT's; other JSON is DeepSpeed's, and
    read where it is named."""
    try:
        root, _ = parse_yaml(file)
    except Refused as why:
        f.refuse_text(str(why))
        return
    if root and (root.child("model_type") or root.child("architectures")):
        huggingface.set_model(f, file)
    elif root and root.child("peft_type"):
        peft = Flags(f)
        add_words(peft, root)
        if peft.text("peft_type").upper() != "LORA":
            f.refuse(peft.source("peft_type"), f"{peft.text('peft_type')}: of PEFT's methods LORA is "
                                               "simulated")
        adapters.set_adapters(f, peft, adapters.PEFT)
        base = peft.find("base_model_name_or_path")
        if base is not None:
            huggingface.name_model(f, base.source, base.first)
        peft.apply(adapters.PEFT_ROWS)


def read(f: Facts) -> None:
    words, flags = Flags(f), Flags(f)
    settings: Optional[File] = None
    script: Optional[File] = None
    for file in sorted(f.files, key=lambda file: file.name.startswith("adapter")):
        if file.path.endswith(".json"):
            read_json(f, file)
        elif file.path.endswith((".sh", ".slurm", ".sbatch")):
            script = file
        elif read_words(words, file) is not None:
            settings = file
    if script and not f.refused:
        trainer_script(f, script, flags, words)
        settings = settings or script
        huggingface.name_model(f, flags.source("--model-name-or-path"),
                               flags.text("--model-name-or-path"))
    if f.refused:
        return
    if settings is None:
        f.refuse(From(f.files[0].path), "no YAML that accelerate config writes, and no script (.sh) "
                                        "that starts the Trainer; name one, too")
        return
    Accelerate(f, words, flags, settings).read()
