"""`trainyard import axolotl`: the YAML of a run, which axolotl hands to the Trainer of transformers and to
accelerate: its words become theirs (accelerate.py). Sources: axolotl-ai-cloud/axolotl,
src/axolotl/utils/schemas/config.py, peft.py, training.py and fsdp.py, and examples/llama-3."""
import re

from . import accelerate, adapters, huggingface
from .accelerate import DEGREE, FSDP
from .adapters import PACKED, Words
from .facts import Facts, File, From
from .flags import Flags, Table
from .trees import settings_of

RULE = "default of axolotl"
LORA = Words("lora_r", "lora_dropout", "lora_target_modules", "lora_modules_to_save", 8, 0.0, "q v",
             RULE + ", PEFT's of most models")
# word: flag of the Trainer
FLAGS = {"micro_batch_size": "--per-device-train-batch-size", "sequence_len": "--sequence-len",
         "gradient_accumulation_steps": "--gradient-accumulation-steps", "optimizer": "--optim",
         "deepspeed": "--deepspeed", "fsdp": "--fsdp", "fp16": "--fp16"}
DEGREES = {"tensor_parallel_size": "tp", "context_parallel_size": "cp",
           "sequence_parallel_degree": "cp", "dp_shard_size": "dp_shard",
           "dp_replicate_size": "dp_replicate"}
KERNELS = "fused kernels of adapters make no difference here"
ROWS = Table(
    taken=" ".join([*FLAGS, *DEGREES]) + """ base_model adapter lora_r lora_dropout
        lora_target_modules lora_target_linear lora_modules_to_save load_in_4bit load_in_8bit bf16
        bfloat16 gradient_checkpointing flash_attention eager_attention fsdp_config.*
        fsdp_version""",
    no_key={"sample_packing": PACKED, "batch_flattening": PACKED, "pretraining_sample_concatenation":
            PACKED, "peft_use_dora": adapters.PEFT_ROWS.rows["use_dora"][1],
            "peft_layers_to_transform": "adapters are in all layers here",
            "lora_target_parameters": "adapters of parameters by name are left out",
            "unfrozen_parameters": "single parameters are not frozen; say parts by model.frozen",
            "relora*": "weights are never merged during training here", "batch_size":
            "taken for none: micro_batch_size and gradient_accumulation_steps count",
            "lora_mlp_kernel": KERNELS, "lora_qkv_kernel": KERNELS, "lora_o_kernel": KERNELS,
            "torch_compile": "the compiler fuses kernels of its choice",
            "rl": "one forward and one backward pass of one model, as of sft, are all",
            "fp8": "fp8 is not read; say it by model.dtype", "s2_attention": "attention is full",
            "gptq": "weights in GPTQ's form are not known", "peft.*": "left out here"},
    idle="""base_model_config model_type tokenizer_* is_* trust_remote_code datasets* test_datasets*
        dataset_* pretraining_dataset* val_set_size output_dir hub_* push_* hf_use_auth_token
        lora_alpha lora_model_dir lora_fan_in_fan_out lora_on_cpu peft_use_rslora
        peft_init_lora_weights loraplus_* qlora_sharded_model_loading merge_* pad_to_sequence_len
        eval_* train_on_inputs group_by_length num_epochs max_steps lr_* learning_rate warmup_*
        weight_decay adam_* max_grad_norm cosine_* optim_args* early_stopping_patience
        resume_from_checkpoint auto_resume_from_checkpoints local_rank logging_steps saves_per_epoch
        save_* evals_per_epoch load_best_model_at_end debug strict seed special_tokens* tokens
        added_tokens_overrides* wandb_* mlflow_* comet_* use_* tf32 gradient_checkpointing_kwargs.*
        sdp_attention xformers_attention flex_attention chat_template* sample_packing_* dataloader_*
        shuffle_merged_datasets ddp* low_cpu_mem_usage fsdp_final_state_dict_type bnb_config_kwargs.*
        heads_k_stride ring_attn_func plugins liger_* remove_unused_columns neftune_noise_alpha
        model_config* overrides_of_model_config* revision_of_model cut_cross_entropy device_map
        max_memory*""")


class Axolotl:
    def __init__(self, facts: Facts) -> None:
        self.f = facts
        self.w, self.words, self.flags = Flags(facts), Flags(facts), Flags(facts)

    def put(self, name: str, word: str, value: str, rule: str = RULE) -> None:
        self.words.put(name, self.w.source(word, rule), value)

    def sharing(self) -> None:
        """fsdp_config has its words with and without fsdp_, which accelerate's YAML has."""
        for word in self.w.all:
            if word.name.startswith("fsdp_config."):
                name = FSDP + re.sub("^fsdp_", "", word.name.partition(".")[2])
                self.words.put(name, word.source).values += word.values
                if self.words.find("distributed_type") is None:
                    self.put("distributed_type", word.name, "FSDP")
        for word, degree in DEGREES.items():
            if self.w.count(word, 1) > 1:
                self.put(DEGREE.format(degree), word, str(self.w.count(word)))
        accelerate.trainer_words(self.flags, self.words)
        if self.words.find("distributed_type") is None:
            self.put("distributed_type", "", "MULTI_GPU", RULE + ": no fsdp, no deepspeed")

    def types(self) -> None:
        word = self.w.first_of("bf16", "bfloat16")
        if self.words.find("mixed_precision") is None and self.w.text(word, "auto") not in (
                "false", "False"):
            self.put("mixed_precision", word, "bf16")

    def adapters(self) -> None:
        f, w = self.f, self.w
        kind = w.text("adapter")
        if kind not in ("", "lora", "qlora"):
            f.refuse(w.source("adapter"), f"{kind} is not simulated; lora and qlora are")
        if kind not in ("lora", "qlora"):
            return
        if w.true("lora_target_linear"):
            w.put("lora_target_modules", w.source("lora_target_linear"), "all-linear")
        adapters.set_adapters(f, w, LORA)
        adapters.set_bits(f, w, "load_in_4bit", "load_in_8bit")

    def kernels(self) -> None:
        f, w = self.f, self.w
        for word, kind in (("flash_attention", "flash2"), ("eager_attention", "unfused")):
            if w.true(word):
                f.set("model.attention", w.source(word), kind)
        again = w.text("gradient_checkpointing", "false")
        off = again.lower() == "false"
        f.set("layout.recompute", w.source("gradient_checkpointing", RULE), "none" if off else "full")
        if again == "offload":
            f.set("layout.offload_activations", w.source("gradient_checkpointing"), "cpu")

    def read(self, file: File) -> None:
        f, w = self.f, self.w
        huggingface.need_model(f, w.source("base_model", "base_model"), w.text("base_model"))
        for name in FLAGS:
            word = w.find(name)
            if word is not None and word.first.lower() != "false":
                self.flags.put(FLAGS[name], word.source).values += word.values
        for name, value in (("micro_batch_size", "1"), ("sequence_len", "512"),
                            ("optimizer", "adamw_torch_fused")):
            if w.find(name) is None:
                self.flags.put(FLAGS[name], From(RULE), value)
        self.types()
        self.sharing()
        self.adapters()
        self.kernels()
        f.no_world = "the launcher says it"
        w.apply(ROWS)
        accelerate.Accelerate(f, self.words, self.flags, file).read()


def read(f: Facts) -> None:
    job = Axolotl(f)
    settings = settings_of(job.w, accelerate.read_json, "axolotl", "qlora.yml")
    if settings is not None:
        job.read(settings)
