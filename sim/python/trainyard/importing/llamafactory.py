"""`trainyard import llamafactory`: the YAML of a run, or a script with the same words as flags. Most words are
those of the Trainer of transformers (accelerate.py). Sources: hiyouga/LLaMA-Factory,
src/llamafactory/hparams/finetuning_args.py, model_args.py and data_args.py, model/adapter.py, and
examples/train_lora."""
from typing import Optional

from . import accelerate, adapters, huggingface
from .adapters import PACKED, Words
from .bash import Shell
from .carriers import launched, read_script, variables
from .facts import Facts, File, From
from .flags import Flags, Table
from .megatron_rows import dashed
from .trees import read_words

RULE = "default of LLaMA-Factory"
LORA = Words("--lora-rank", "--lora-dropout", "--lora-target", "--additional-target", 8, 0.0, "all",
             RULE)
# What flags are there without a word.
USUAL = (("--per-device-train-batch-size", "8", "default of transformers"),
         ("--cutoff-len", "2048", RULE))
ROWS = Table(
    taken=dashed("""finetuning-type additional-target quantization-bit disable-gradient-checkpointing
        flash-attn freeze-*"""),
    no_key={"--packing": PACKED, "--neat-packing": PACKED,
            "--use-dora": adapters.PEFT_ROWS.rows["use_dora"][1],
            "--use-unsloth": "unsloth's kernels are not known",
            "--enable-liger-kernel": "liger's kernels are not known",
            "--use-galore": "GaLore is not simulated", "--use-apollo": "APOLLO is not simulated",
            "--use-badam": "BAdam is not simulated", "--pissa-convert": "left out here",
            "--shift-attn": "attention is full", "--pure-bf16": "weights have masters in 32 bits",
            "--use-llama-pro": "no layers are added", "--resize-vocab": "the vocabulary stays"},
    idle=dashed("""stage template dataset eval-dataset media-dir cutoff-len max-samples
        overwrite-cache tokenized-path streaming buffer-size mix-strategy interleave-probs val-size
        train-on-prompt mask-history lora-alpha loraplus-* use-rslora pissa-* create-new-adapter
        adapter-name-or-path cache-dir plot-loss save-* resume-from-checkpoint lr-scheduler-type
        weight-decay num-train-epochs ddp-* quantization-* double-quantization upcast-* use-swanlab
        swanlab-* include-* predict-with-generate ray-* print-param-status use-reentrant-gc
        rope-scaling compute-accuracy freeze-vision-tower freeze-multi-modal-projector
        image-* video-* pref-* optim-* average-tokens-across-devices flash-attn do-train
        model-revision seed preprocessing-num-workers dataloader-*"""))


def trained(f: Facts, flags: Flags) -> None:
    kind = flags.text("--finetuning-type", "lora")
    if kind == "lora":
        adapters.set_adapters(f, flags, LORA)
        bits = flags.text("--quantization-bit")
        if bits in ("4", "8"):
            f.set("model.frozen_dtype", flags.source("--quantization-bit"),
                  "nf4" if bits == "4" else "int8")
        elif bits:
            f.refuse(flags.source("--quantization-bit"), f"{bits} bits are not simulated; 4 and 8 are")
    elif kind == "freeze":
        f.refuse(flags.source("--finetuning-type"), "freeze trains some layers, and no key freezes the "
                 "others; write lora or full, or freeze parts by model.frozen in the run file")
    elif kind != "full":
        f.refuse(flags.source("--finetuning-type"), f"{kind} is not simulated; write lora or full")


def kernels(f: Facts, flags: Flags) -> None:
    off = "--disable-gradient-checkpointing"
    f.set("layout.recompute", flags.source(off, RULE), "none" if flags.true(off) else "full")
    kind = {"fa2": "flash2", "disabled": "unfused"}.get(flags.text("--flash-attn"))
    if kind:
        f.set("model.attention", flags.source("--flash-attn"), kind)


def read_settings(f: Facts, file: File, flags: Flags) -> None:
    if file.path.endswith((".sh", ".slurm", ".sbatch")):
        shell = Shell(f)
        read_script(f, file, accelerate.TRAINER_ROWS, "LLaMA-Factory, such as --finetuning_type", shell,
                    flags)
        if not f.refused:
            launched(f, flags)
            variables(f, shell)
        return
    words = Flags(f)
    read_words(words, file)
    for word in words.all:
        flags.put("--" + word.name.replace("_", "-"), word.source).values += word.values


def read(f: Facts) -> None:
    flags, words = Flags(f), Flags(f)
    settings: Optional[File] = None
    for file in f.files:
        if file.path.endswith(".json"):
            accelerate.read_json(f, file)
        else:
            read_settings(f, file, flags)
            settings = file
    if settings is None or f.refused:
        if settings is None and not f.refused:
            f.refuse(From(f.files[0].path), "no YAML of LLaMA-Factory; write one, such as sft.yaml")
        return
    name = "--model-name-or-path"
    huggingface.need_model(f, flags.source(name, name), flags.text(name))
    for flag, value, rule in USUAL:
        if flags.find(flag) is None:
            flags.put(flag, From(rule), value)
    accelerate.trainer_words(flags, words)
    if words.find("distributed_type") is None:
        words.put("distributed_type", From(RULE + ": no fsdp, no deepspeed"), "MULTI_GPU")
    trained(f, flags)
    kernels(f, flags)
    f.no_world = "the launcher says it"
    job = accelerate.Accelerate(f, words, flags, settings)
    job.rows, job.lora = (ROWS, *job.rows), None
    job.read()
