"""`trainyard import megatron`: a script of flags of Megatron-LM, the model_config.yaml of a functional
test (MODEL_ARGS), or a file for --yaml-cfg. Its forks by DeepSpeed, BigScience and megablocks share
the words; where they have other defaults, `fork` says so."""
import re
from typing import List, Optional, Tuple

from . import tokenizers
from .bash import Shell
from .carriers import launched, read_carriers, variables
from .facts import Facts, From, truth, whole_number
from .flags import Flags, short
from .megatron_layers import expert_layers, set_stages
from .megatron_rows import IDLE_ROWS, ROWS

RULE = "default of Megatron-LM"
MEMORY = RULE + ", from memory"
DECODERS, MAMBA = "encoders (T5, BERT) are not known; only decoders are", (
    "Mamba layers are not known; only transformers are")
OTHERS = {  # what is no decoder of equal layers
    "--encoder-num-layers": DECODERS, "--decoder-num-layers": DECODERS,
    "--decoder-seq-length": DECODERS, "--hybrid-override-pattern": MAMBA,
    "--hybrid-layer-pattern": MAMBA, "--hybrid-attention-ratio": MAMBA, "--is-hybrid-model": MAMBA,
    "--heterogeneous-layers-config-path": "layers that differ are not known",
    "--experimental-attention-variant": "such attention is not known",
}
TRAINER = "--per-device-train-batch-size"

# Launches cost nothing where one of these is given.
GRAPHS = ("--use-cuda-graph", "--enable-cuda-graph", "--external-cuda-graph", "--cuda-graph-impl")


class Megatron:
    """Flags of one job become facts."""

    def __init__(self, facts: Facts, flags: Flags, fork: bool = False, recipes: bool = False) -> None:
        self.f, self.flags, self.fork, self.recipes = facts, flags, fork, recipes

    def set(self, key: str, flag: str, value: object, note: str = "", rule: str = RULE) -> None:
        self.f.set(key, self.flags.source(flag, rule), value, note)

    def set_if(self, key: str, flag: str, value: str) -> None:
        if self.flags.has(flag):
            self.set(key, flag, value)

    # ---- the model ----

    def required(self, flag: str, key: str) -> None:
        if self.flags.require(flag):
            self.flags.set_count(key, flag)

    def latent(self) -> None:
        f = self.flags
        f.set_count("model.query_latent", "--q-lora-rank")
        for flag, key, otherwise in (("--kv-lora-rank", "kv_latent", 32),  # not the dataclass's 512
                                     ("--qk-head-dim", "head_dim", 128),
                                     ("--qk-pos-emb-head-dim", "head_rope", 64),
                                     ("--v-head-dim", "head_value", 128)):
            f.set_count_or("model." + key, flag, otherwise, RULE)
        if not f.has("--qk-layernorm"):
            self.f.remark(f.source("--multi-latent-attention", RULE), "without --qk-layernorm there "
                          "are no norms of latents; here there are")

    def heads(self) -> None:
        f, groups = self.flags, "--num-query-groups"
        if f.has("--group-query-attention"):
            f.set_count_or("model.kv_heads", groups, 1, RULE)
        elif f.has(groups):
            self.f.remark(f.source(groups), "groups count only with --group-query-attention")
        f.set_count("model.kv_heads", "--num-key-value-heads")
        if f.has("--multi-latent-attention"):
            self.latent()
            return
        f.set_count("model.head_dim", "--kv-channels")
        kind = f.text("--normalization", "LayerNorm").lower()
        self.set_if("model.qk_norm", "--qk-layernorm", "true" if kind == "rmsnorm" else "layernorm")

    def kernels(self) -> None:
        """Megatron-LM's own choice is flash or cuDNN's; forks have to be asked for it."""
        f = self.flags
        own = f.text("--transformer-impl", "local" if self.fork else "") == "local"
        backend = f.text("--attention-backend", "local" if own else "auto")
        asked = f.find("--attention-backend") is not None
        source = f.source("--attention-backend" if asked or not own else "--transformer-impl", RULE)
        fused = backend not in ("unfused", "local")
        for flash in ("", "-v1", "-v2", "-builder", "-triton"):
            if f.has("--use-flash-attn" + flash):
                source, fused = f.source("--use-flash-attn" + flash), True
        masked = f.find("--no-masked-softmax-fusion") is None
        self.f.set("model.attention", source,
                   "flash1" if fused and source.word == "--use-flash-attn-v1" else
                   "flash2" if fused else "fused-softmax" if masked else "unfused")

    def positions(self) -> None:
        """A table of positions has as many rows as --max-position-embeddings, whatever is read."""
        f = self.flags
        kind = f.text("--position-embedding-type", "learned_absolute")
        source = f.source("--position-embedding-type", RULE)
        if f.has("--use-rotary-position-embeddings"):
            source, kind = f.source("--use-rotary-position-embeddings"), "rope"
        elif kind == "learned_absolute" and f.has("--no-position-embedding"):
            source, kind = f.source("--no-position-embedding"), "none"
        if kind in ("learned_absolute", "absolute"):
            self.set("model.positions", "--max-position-embeddings",
                     f.text("--max-position-embeddings", self.f.get("model.sequence") or "2048"))
            return
        self.f.set("model.positions", source, "none")
        if kind in ("alibi", "none", "relative"):
            self.f.set("model.rotary", source, "0")
        elif f.has("--rotary-percent"):
            self.set("model.rotary", "--rotary-percent", short(f.real("--rotary-percent", 1)))
        if kind == "alibi":
            self.f.set("model.full_attention", source, "true", "ALiBi: flash kernels cannot skip")

    def mlp(self) -> None:
        f, hidden = self.flags, self.f.count("model.hidden", 0)
        gate = ("--glu-activation" if f.opt("--glu-activation") is not None else
                next((flag for flag in ("--swiglu", "--quick-geglu") if f.has(flag)), ""))
        source = f.source(gate or "--squared-relu", RULE)
        note = ("two matrices, as with a GELU" if not gate and f.has("--squared-relu") else
                "gated, whatever the activation" if gate not in ("", "--swiglu") else "")
        self.f.set("model.mlp", source, "swiglu" if gate else "gelu", note)
        if f.has("--ffn-hidden-size"):
            f.set_count("model.ffn", "--ffn-hidden-size")
        elif gate == "--swiglu":  # two thirds of it, rounded down to a multiple of 64
            self.f.set("model.ffn", source, int(hidden * 8 / 3 / 64) * 64,
                       "int(8 --hidden-size / 3 / 64) 64")
        else:
            self.f.set("model.ffn", source, 4 * hidden, "4 --hidden-size")

    def norms(self) -> None:
        f = self.flags
        kind = f.text("--normalization", "LayerNorm").lower()
        self.set("model.norm_kind", "--normalization",
                 "rmsnorm" if kind == "rmsnorm" else "layernorm")
        self.set_if("model.embedding_norm", "--embed-layernorm", "true")
        none = f.has("--disable-bias-linear")
        qkv = none and f.has("--add-qkv-bias")
        self.set("model.bias", "--add-qkv-bias" if qkv else "--disable-bias-linear",
                 "qkv" if qkv else truth(not none))
        untied = "--untie-embeddings-and-output-weights"
        self.set("model.tied", untied, truth(not f.has(untied)))
        hidden, attention = f.real("--hidden-dropout", 0.1), f.real("--attention-dropout", 0.1)
        self.set("model.dropout", "--hidden-dropout", short(hidden))
        if hidden != attention:
            self.f.remark(f.source("--attention-dropout", RULE), f"{short(attention)}: one dropout "
                          "is for all; it is --hidden-dropout's")

    def types(self) -> None:
        f = self.flags
        flag = "--bf16" if f.has("--bf16") else "--fp16"
        kind = flag[2:] if f.has(flag) else "fp32"
        for fp8 in ("--fp8-format", "--fp8-hybrid", "--fp8-e4m3"):
            flag, kind = (fp8, "fp8") if f.has(fp8) else (flag, kind)
        if "model.dtype" not in self.f.facts or f.find(flag) is not None:
            self.set("model.dtype", flag, kind)

    def window(self) -> None:
        """ "(W, 0)" or "W 0": W tokens to the left, beside a token's own."""
        window = self.flags.opt("--window-size")
        if window is None:
            return
        left = re.search("[0-9]{1,9}", window)
        if not left:
            self.f.refuse(self.flags.source("--window-size"),
                          f"'{window}' is no pair of whole numbers, such as 4096,0")
            return
        self.set("model.window", "--window-size", int(left[0]) + 1)
        skip = self.flags.opt("--window-attn-skip-freq")
        if skip is not None:
            self.set("model.window_period", "--window-attn-skip-freq", skip)

    def model(self) -> None:
        f = self.flags
        self.required("--num-layers", "model.layers")
        self.required("--hidden-size", "model.hidden")
        self.required("--num-attention-heads", "model.heads")
        encoder = f.find("--encoder-seq-length") is not None
        self.required("--encoder-seq-length" if encoder else "--seq-length", "model.sequence")
        for part in (self.heads, self.kernels, self.positions, self.mlp, self.norms, self.types,
                     self.window):
            part()

    # ---- rows of the embedding ----

    def tokenizer(self) -> Tuple[int, From, str]:
        """Words of the tokenizer that the flags name, where from, and whose; 0: none is known."""
        f = self.flags
        read = {name: flag.first for name in (
            "--tokenizer-name-or-path", "--tokenizer-model", "--vocab-file",
            "--patch-tokenizer-type", "--tokenizer-type")
            if (flag := f.find(name)) is not None and flag.values}
        for name, value in read.items():
            words, whose = tokenizers.words_of(value)
            if words:
                return words, f.source(name), whose
        # files of a byte-pair encoding, or nothing at all: GPT2BPETokenizer was the default
        if f.find("--merge-file") is not None or "--tokenizer-type" not in read:
            return 50257, f.source("--vocab-file", "guess"), "a guess: GPT-2's byte pairs"
        return 0, From(""), ""

    def words(self) -> Tuple[int, From, str]:
        f = self.flags
        if f.has("--vocab-size"):
            return f.count("--vocab-size"), f.source("--vocab-size"), ""
        given = whole_number(self.f.env.get("VOCAB_SIZE", ""))
        if given is not None and given <= 100000000:
            return given, From("--env VOCAB_SIZE"), ""
        words, source, whose = self.tokenizer()
        told = f"{words}, {whose}"
        if not words:
            words, source, whose = 32000, f.source("--tokenizer-type", "guess"), "a guess"
            told = "32000 is a guess"
        self.f.remark(source, f"how many words the tokenizer has is in its files: {told}; --env "
                              "VOCAB_SIZE=N says it")
        return words, source, whose

    def vocabulary(self) -> None:
        """Words of the tokenizer, padded so that tensor ranks get equal shares: so parameters change
        with the layout."""
        f = self.flags
        for whole in ("--padded-vocab-size", "--pad-vocab-size-to"):
            if f.has(whole):
                f.set_count("model.vocabulary", whole)
                return
        step = f.count("--make-vocab-size-divisible-by", 128) * self.f.count("layout.tensor")
        words, source, whose = self.words()
        self.f.set("model.vocabulary", source, -(-words // step) * step if step else words,
                   f"{whose}{', ' * bool(whose)}rounded up to a multiple of {step}")

    # ---- experts: Megatron-LM's flags, DeepSpeed's and megablocks' ----

    def router(self, blocks: bool) -> None:
        f = self.flags
        topk = ("--topk" if self.fork else
                "--moe-top-k" if f.has("--moe-top-k") else "--moe-router-topk")
        rule = "default of Megatron-DeepSpeed" if self.fork else RULE
        f.set_count_or("model.experts_per_token", topk, 1 if self.fork or blocks else 2, rule)
        self.set_if("model.router_bias", "--moe-router-enable-expert-bias", "true")
        f.set_count("model.expert_groups", "--moe-router-num-groups")
        f.set_count("model.group_limit", "--moe-router-group-topk")

    def dispatcher(self, blocks: bool) -> None:
        f = self.flags
        kind = f.text("--moe-token-dispatcher-type",
                      "alltoall" if self.fork or blocks else "allgather")
        backend = f.text("--moe-flex-dispatcher-backend", "deepep")
        flex = kind == "flex" or f.has("--moe-enable-deepep")
        self.set("framework.dispatcher", "--moe-token-dispatcher-type",
                 backend if flex else kind if kind == "allgather" else "alltoall")

    def capacity(self) -> None:
        f = self.flags
        for flag in ("--moe-expert-capacity-factor", "--moe-train-capacity-factor",
                     "--moe-capacity-factor"):
            if f.real(flag) > 0:
                self.set("framework.capacity", flag, short(f.real(flag)))
        if not f.has("--disable-moe-token-dropping") and self.fork:
            # its buffers have a place for every row of the capacity
            rule = From("default of Megatron-DeepSpeed")
            if "framework.capacity" not in self.f.facts:
                self.f.set("framework.capacity", rule, "1")
            self.f.set("framework.pad_to_capacity", rule, "true")
        self.set_if("framework.pad_to_capacity", "--moe-pad-expert-input-to-capacity", "true")

    def experts(self) -> None:
        f = self.flags
        blocks = f.has("--moe-num-experts")
        flag = "--moe-num-experts" if blocks else "--num-experts"
        n = f.count(flag) if f.has(flag) else 0
        if n == 0 or (self.fork and n == 1):  # a list there, [1]: an MLP
            return
        f.set_count("model.experts", flag)
        self.router(blocks)
        f.set_count("model.expert_ffn", "--moe-ffn-hidden-size")
        f.set_count("model.shared_ffn", "--moe-shared-expert-intermediate-size")
        expert_layers(self.f, f, self.fork)
        self.dispatcher(blocks)
        self.capacity()
        if not self.fork:
            for key, switch in (("fused_experts", "--moe-grouped-gemm"),
                                ("fused_permute", "--moe-permute-fusion")):
                self.set("framework." + key, switch, truth(f.has(switch)))
        if f.text("--mlp-type") == "residual":
            self.set("model.shared_ffn", "--mlp-type", self.f.get("model.ffn"),
                     "the MLP beside the experts")
            self.f.remark(f.source("--mlp-type"),
                          "the weights that mix the two are not counted")

    # ---- degrees ----

    def context(self) -> None:
        f = self.flags
        if f.count("--ds-sequence-parallel-size", 1) > 1:
            f.set_count("layout.context", "--ds-sequence-parallel-size")
            self.set("layout.context_method", "--ds-sequence-parallel-size", "ulysses")
            return
        f.set_count("layout.context", "--context-parallel-size")
        if self.f.count("layout.context") == 1:
            return
        methods = {"p2p": "zigzag", "a2a": "ulysses", "allgather": "all-gather",
                   "a2a+p2p": "hybrid"}
        kind, flag = f.text("--cp-comm-type", "p2p"), f.find("--cp-comm-type")
        if kind in methods:
            self.set("layout.context_method", "--cp-comm-type", methods[kind])
        if flag and any(value.text != kind for value in flag.values[1:]):
            self.f.remark(flag.source, f"layers differ; all are as the first, {kind}")

    def expert_degrees(self) -> None:
        f = self.flags
        if "model.experts" not in self.f.facts:
            return
        f.set_count("layout.expert", "--expert-model-parallel-size")
        f.set_count("layout.expert", "--moe-expert-parallel-size")
        if not self.fork:  # experts are cut like everything else, unless it is said
            f.set_count_or("layout.expert_tensor", "--expert-tensor-parallel-size",
                           self.f.count("layout.tensor"), "as --tensor-model-parallel-size")
        if f.has("--moe-expert-model-parallelism"):
            self.f.remark(f.source("--moe-expert-model-parallelism"), "over how many ranks experts "
                          "are shared is megablocks' choice; say it with layout.expert")

    def degrees(self) -> None:
        f = self.flags
        f.set_count("layout.tensor", "--model-parallel-size")
        f.set_count("layout.tensor", "--tensor-model-parallel-size")
        f.set_count("layout.pipeline", "--pipeline-model-parallel-size")
        self.context()
        self.expert_degrees()
        grouped = self.f.count("layout.tensor") > 1
        if f.has("--sequence-parallel"):
            self.set("layout.sequence_parallel", "--sequence-parallel", truth(grouped),
                     "" if grouped else "off, as one rank is a group")
        elif grouped:
            self.f.set("layout.sequence_parallel", From(RULE), "false")
        self.set_if("layout.order", "--use-tp-pp-dp-mapping", "[tensor, context, pipeline, data]")

    # ---- the batch ----

    def train_tokens(self) -> float:
        """Of the whole training, where they are said; else more than there are."""
        samples = self.flags.find("--train-samples")
        if samples is None or not samples.values or samples.values[0].doubt:
            return 1e30
        return self.f.count("model.sequence") * self.flags.real("--train-samples", 1e30)

    def steps(self) -> None:
        """ "0:384 200B:768": the batch grows; the last one that this training comes to counts."""
        flag = self.flags.get("--step-batch-size-schedule")
        if flag is None:
            return
        if self.flags.has("--global-batch-size"):
            self.f.remark(flag.source, "Megatron-LM refuses it together with --global-batch-size, "
                                       "which counts here")
            return
        text, every, batch = flag.said(), self.train_tokens(), 0
        for step in text.split() or [""]:
            found = re.fullmatch(r"([0-9.e+]+)([KMBT]?):([0-9]{1,9})", step)
            try:
                tokens = float(found[1]) if found else 0.0
            except ValueError:
                found = None
            if not found:
                self.f.refuse(flag.source, f"'{text}' is no list of TOKENS:BATCH, such as 0:384 "
                                           "200B:768")
                return
            tokens *= 1000.0 ** (" KMBT".index(found[2]) if found[2] else 0)
            batch = int(found[3]) if batch == 0 or tokens < every else batch
        self.f.set("layout.global_batch", flag.source, batch)
        which = "--train-samples come to" if every < 1e30 else "there is"
        self.f.remark(flag.source, f"{text}: the batch grows; it is the last one that {which}, "
                                   f"{batch}")

    def batch(self) -> None:
        f = self.flags
        f.set_count("layout.micro_batch", "--batch-size")
        f.set_count("layout.micro_batch", "--micro-batch-size")
        if "layout.micro_batch" not in self.f.facts:
            self.f.refuse(From("--micro-batch-size"), "no file says it")
        f.set_count("layout.global_batch", "--global-batch-size")
        self.steps()
        ramp = f.get("--rampup-batch-size")
        if ramp is not None and ramp.values:
            self.f.remark(ramp.source, f"the batch grows from {ramp.first}; it is the last one, "
                                       "--global-batch-size")
        if "layout.global_batch" not in self.f.facts and self.f.replicas():
            self.f.set("layout.global_batch", From("--micro-batch-size for every replica"),
                       self.f.replicas() * self.f.count("layout.micro_batch"))

    # ---- sharding and recomputation ----

    def sharding(self) -> None:
        f, shared = self.flags, "--use-distributed-optimizer"
        strategies = ("no_shard", "optim", "optim_grads", "optim_grads_params")
        self.set("layout.zero", shared, "1" if f.has(shared) else "0")
        for flag in ("--use-torch-fsdp2", "--use-megatron-fsdp", "--use-custom-fsdp"):
            if f.has(flag):
                strategy = (strategies[3] if flag == "--use-torch-fsdp2" else
                            f.text("--data-parallel-sharding-strategy", strategies[3]))
                if strategy in strategies:
                    self.set("layout.zero", flag, strategies.index(strategy))
        copies = f.count("--num-distributed-optimizer-instances", 1)
        if copies > 1 and self.f.replicas():
            self.set("layout.shard", "--num-distributed-optimizer-instances",
                     self.f.replicas() // copies)

    def recompute_modules(self, source: From) -> None:
        modules = {"core_attn": "core_attn", "layernorm": "norm", "mla_up_proj": "mla_up",
                   "moe_act": "moe_act", "mlp": "mlp", "moe": "moe",
                   "shared_experts": "shared_experts"}
        flag = self.flags.get("--recompute-modules")
        if flag is None:
            self.f.set("layout.recompute", source, "selective")
            return
        parts: List[str] = []
        for value in flag.values:
            if value.text in modules:
                parts.append(modules[value.text])
            else:
                self.f.remark(flag.source, f"{value.text} is no part of a layer here: it is kept")
        if parts:
            self.f.set("layout.recompute", flag.source,
                       parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]")

    def recompute_full(self, source: From) -> None:
        f = self.flags
        method = f.text("--recompute-method", f.text("--activations-checkpoint-method", "uniform"))
        flag = "--recompute-num-layers"
        for other in ("--activations-checkpoint-num-layers", "--checkpoint-num-layers"):
            flag = other if f.has(other) else flag
        n = f.count(flag, 1)
        self.f.set("layout.recompute", source, "full")
        if method == "block":
            self.set("layout.recompute_layers", flag, f"[{n}]")
        elif n > 1:
            self.f.remark(f.source(flag), f"{n} layers run again together; here each keeps its "
                                          "input, and runs alone")

    def recompute(self) -> None:
        f = self.flags
        granularity: Optional[str] = f.opt("--recompute-granularity")
        source = f.source("--recompute-granularity", RULE)
        for always, what in (("--checkpoint-activations", "full"),
                             ("--deepspeed-activation-checkpointing", "full"),
                             ("--activations-checkpoint-method", "full"),
                             ("--recompute-activations", "selective")):
            if granularity is None and f.has(always):
                granularity, source = what, f.source(always)
        if granularity == "full":
            self.recompute_full(source)
        elif granularity == "selective":
            self.recompute_modules(source)
        elif granularity is not None:
            self.f.refuse(source, f"'{granularity}' is neither full nor selective")

    # ---- the stack: a flag's absence counts, too: presets are of recipes, which set most ----

    def gradients(self) -> None:
        """bf16 accumulates and reduces in 32 bits unless it is told otherwise, fp16 does not."""
        f = self.flags
        half = f.has("--grad-reduce-in-bf16") or f.text("--main-grads-dtype", "fp32") != "fp32"
        wide = not half and (f.has("--accumulate-allreduce-grads-in-fp32") or f.has("--bf16"))
        self.set("framework.grad_dtype", "--accumulate-allreduce-grads-in-fp32" if not half else
                 "--grad-reduce-in-bf16" if f.find("--grad-reduce-in-bf16") else
                 "--main-grads-dtype", "fp32" if wide else "model")

    def overlap(self) -> None:
        f = self.flags
        keys = [("overlap_grad_reduce", "--overlap-grad-reduce")]
        if self.f.get("layout.zero") != "0":
            keys.append(("overlap_param_gather", "--overlap-param-gather"))
        for key, flag in keys:
            self.set("framework." + key, flag, truth(f.has(flag)))
        if f.has("--ddp-bucket-size"):  # it counts parameters, the key 16-bit bytes
            self.set("framework.bucket", "--ddp-bucket-size",
                     f"{2 * f.real('--ddp-bucket-size'):.0f} B")

    def states(self) -> None:
        f = self.flags
        for moment in ("--exp-avg-dtype", "--exp-avg-sq-dtype"):
            kind = f.text(moment, "fp32")
            if kind != "fp32":
                self.set("framework.moment_dtype", moment, "fp8" if kind == "fp8" else "bf16")
        if f.text("--main-params-dtype", "fp32") != "fp32":
            self.set("framework.master_dtype", "--main-params-dtype", "bf16")
        if f.has("--optimizer-cpu-offload") or f.has("--cpu-optimizer"):
            flag = f.first_of("--optimizer-cpu-offload", "--cpu-optimizer")
            self.set("layout.offload_optimizer", flag, "cpu")
            self.set("layout.offload_share", "--optimizer-offload-fraction",
                     short(f.real("--optimizer-offload-fraction", 1)), rule=MEMORY)
        optimizer = f.text("--optimizer", "adam")
        if optimizer in ("sgd", "muon", "dist_muon"):
            self.set("framework.optimizer", "--optimizer", optimizer.removeprefix("dist_"))
        elif optimizer not in ("adam", "adamw"):
            self.f.remark(f.source("--optimizer"), f"{optimizer}: states and update are those of "
                                                   "Adam")

    def fp8(self) -> None:
        recipes = {"delayed": "delayed", "tensorwise": "current", "blockwise": "blockwise",
                   "mxfp8": "mxfp8"}
        given = self.flags.text("--fp8-recipe", "delayed")
        if self.f.get("model.dtype") != "fp8":
            return
        if given in recipes:
            self.set("framework.fp8_recipe", "--fp8-recipe", recipes[given], rule=MEMORY)
        else:
            self.f.remark(self.flags.source("--fp8-recipe"), f"{given}: no such way of casting "
                                                             "here; it is delayed")

    def without_recipes(self) -> None:
        """What the preset nemo has, and a job without the flag has not."""
        flags = [("framework.overlap_tensor_products", "--tp-comm-overlap", "false"),
                 ("framework.fused_loss", "--cross-entropy-loss-fusion", "false")]
        if self.f.get("model.dtype") == "fp8":
            flags.append(("framework.fp8_weights", "--fp8-param-gather", "false"))
        if self.f.count("layout.pipeline") > 1:
            flags.append(("layout.order", "--use-tp-pp-dp-mapping",
                          "[tensor, context, data, pipeline]"))
        if not any(self.flags.has(flag) for flag in GRAPHS):
            flags += [("framework.layer_floor", "--cuda-graph-impl", "0.3 ms"),
                      ("framework.pass_overhead", "--cuda-graph-impl", "0.3 ms")]
        for key, flag, value in flags:
            if not self.flags.has(flag):
                self.set(key, flag, value)

    def stack(self) -> None:
        self.f.set("framework.preset", From("Megatron-DeepSpeed" if self.fork else
                                            "NeMo" if self.recipes else "Megatron-LM"),
                   "megatron-deepspeed" if self.fork else
                   "nemo" if self.recipes else "megatron-lm")
        if self.recipes:
            self.without_recipes()
        if not self.fork:  # there the JSON says it
            self.gradients()
            self.overlap()
        self.states()
        self.fp8()

    # ---- all of it ----

    def refuse_others(self) -> None:
        for flag, why in OTHERS.items():
            found = self.flags.find(flag)
            if found is not None:
                self.f.refuse(found.source, why)
        spec = self.flags.find("--spec")
        if spec is not None:
            self.f.remark(spec.source,
                          "layers of a module of one's own: they are the usual ones here")

    def read(self) -> None:
        if self.flags.find(TRAINER) is not None:
            self.f.refuse(self.flags.source(TRAINER), "a flag of the Trainer of transformers; "
                          "trainyard import accelerate reads scripts that start it")
            return
        self.refuse_others()
        self.model()
        self.experts()
        for part in (self.degrees, self.batch, self.sharding, self.recompute):
            part()
        self.vocabulary()
        self.flags.apply(ROWS, IDLE_ROWS)
        set_stages(self.f, self.flags, self.fork)
        self.stack()


def read(f: Facts) -> None:
    flags, shell = Flags(f), Shell(f)
    read_carriers(f, shell, flags)
    if not f.refused:
        launched(f, flags)
        variables(f, shell)
        Megatron(f, flags).read()
