"""`trainyard import torchtune`: the YAML of a recipe, and the model's config.json where its component is not
known by its name. Sources: pytorch/torchtune, recipes/configs/llama3_1/70B_lora.yaml and
torchtune/models/llama3_1/_model_builders.py; degrees, data_parallel_* and fsdp_* are from memory."""

from . import accelerate, adapters, huggingface
from .adapters import PACKED, Words
from .facts import Facts, File, From
from .flags import Flags, Table
from .trees import settings_of, world_of

RULE = "default of torchtune"
C = "_component_"
LORA = Words("model.lora_rank", "model.lora_dropout", "model.lora_attn_modules", "", 8, 0.0, "q v", RULE)
DEGREES = {"tensor_parallel_dim": "tensor", "context_parallel_dim": "context"}
ROWS = Table(
    taken=f"""model.{C} model.lora_attn_modules model.apply_lora_to_mlp model.lora_rank
        model.lora_dropout model.quantize_base optimizer.{C} optimizer.fused tokenizer.max_seq_len
        batch_size gradient_accumulation_steps dtype enable_activation_checkpointing
        enable_activation_offloading fsdp_cpu_offload fsdp_reshard_after_forward
        data_parallel_shard_dim data_parallel_replicate_dim compile """ + " ".join(DEGREES),
    no_key={"model.apply_lora_to_output": "adapters beside the output matrix are not simulated",
            "model.use_dora": adapters.PEFT_ROWS.rows["use_dora"][1],
            "dataset.packed": PACKED,
            "custom_sharded_layers": "embedding and head are in the unit of the whole model",
            "optimizer_in_bwd": "the update comes after the backward here",
            "ac_mode": "whole layers run again", "ac_option": "whole layers run again",
            "enable_fp8_training": "fp8 is not read; say it by model.dtype"},
    idle="""model.lora_alpha model.* tokenizer.* checkpointer.* checkpoint_* resume_from_checkpoint
        save_* dataset.* dataset_* collate_fn seed shuffle optimizer.* lr_scheduler.* loss.* epochs
        max_steps_per_epoch clip_grad_norm metric_logger.* log_* output_dir device profiler.*
        cudnn_* optimizer_in_bwd_* keep_* run_val_* tensor_parallel_plan.* memory_format* name
        fp8_* batch_size_val dataset_val.* dcp_*""")


class Tune:
    def __init__(self, facts: Facts) -> None:
        self.f, self.w = facts, Flags(facts)

    def model(self) -> None:
        f, w = self.f, self.w
        word = "model." + C
        huggingface.need_model(f, w.source(word, word), w.text(word))
        length = "tokenizer.max_seq_len"
        if w.find(length) is not None and "SEQ_LENGTH" not in f.env:
            w.set_count("model.sequence", length)

    def trained(self) -> None:
        f, w = self.f, self.w
        builder = w.text("model." + C).rpartition(".")[2]
        if not builder.startswith(("lora", "qlora")):
            return
        modules = w.find("model.lora_attn_modules")
        if modules is not None and w.true("model.apply_lora_to_mlp"):
            w.put(modules.name, modules.source, *(value.text for value in modules.values), "w1", "w2",
                  "w3")
        adapters.set_adapters(f, w, LORA)
        packed = "model.quantize_base"
        if w.true(packed, builder.startswith("qlora")):
            f.set("model.frozen_dtype", w.source(packed if w.find(packed) else "model." + C), "nf4")

    def layout(self) -> None:
        """FSDP2 shards weights, gradients and states over all that the degrees leave."""
        f, w = self.f, self.w
        f.set("framework.preset", From("torchtune"), "fsdp", "FSDP2, as its distributed recipes")
        for word, key in DEGREES.items():
            if w.count(word, 1) > 1:
                w.set_count("layout." + key, word)
        f.set("layout.zero", From(RULE), "3")
        replicate = w.count("data_parallel_replicate_dim", 1)
        if replicate > 1 and f.replicas() and f.replicas() % replicate == 0:
            f.set("layout.shard", w.source("data_parallel_replicate_dim"), f.replicas() // replicate)
        if w.find("fsdp_reshard_after_forward") is not None:
            w.set_true("framework.reshard_after_forward", "fsdp_reshard_after_forward")
        for word, keys in (("fsdp_cpu_offload", ("offload_parameters", "offload_optimizer")),
                           ("enable_activation_offloading", ("offload_activations",))):
            for key in keys if w.true(word) else ():
                f.set("layout." + key, w.source(word), "cpu")
        again = "enable_activation_checkpointing"
        f.set("layout.recompute", w.source(again, RULE), "full" if w.true(again) else "none")

    def types(self) -> None:
        """Weights, gradients and states have one type, adapters, too."""
        f, w = self.f, self.w
        kind = w.text("dtype", "bf16")
        f.set("model.dtype", w.source("dtype", RULE), kind)
        if kind == "bf16":
            f.set("framework.master_dtype", w.source("dtype", RULE), "none")
            f.set("framework.moment_dtype", w.source("dtype", RULE), "bf16")
        optimizer = "optimizer." + C
        if w.find(optimizer) is not None:
            adapters.set_optimizer(f, w.source(optimizer), w.text(optimizer))
        w.set_true("framework.fused_optimizer", "optimizer.fused")
        for key in ("fused_activation", "fused_rotary") if w.true("compile") else ():
            f.set("framework." + key, w.source("compile"), "true")

    def batch(self) -> None:
        f, w = self.f, self.w
        word = "batch_size"
        micro = w.set_count_or("layout.micro_batch", word, 1, RULE)
        steps = w.count("gradient_accumulation_steps", 1)
        if f.replicas():
            f.set("layout.global_batch", w.source(word, RULE), micro * steps * f.replicas(),
                  f"{steps} times on each of {f.replicas()} replicas")
        huggingface.tell_sequence(f)

    def read(self, file: File) -> None:
        world_of(self.f, "NGPU", file)
        self.f.no_world = "tune run says it (--nproc_per_node)"
        for part in (self.model, self.trained, self.layout, self.types, self.batch):
            part()
        self.w.apply(ROWS)


def read(f: Facts) -> None:
    job = Tune(f)
    settings = settings_of(job.w, accelerate.read_json, "torchtune", "8B_lora.yaml")
    if settings is not None:
        job.read(settings)
