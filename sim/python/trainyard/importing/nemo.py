"""`trainyard import nemo`: YAML of NeMo's launcher, of a run (run_config.yaml) or of
neuronx-distributed-training, which kept the words; a recipe of NeMo 2 or Megatron-Bridge in Python
(recipe.py); and a model's config.json beside them.

Their words are fields of Megatron-Core, as Megatron-LM's flags are: they become these flags, and what
flags mean is found out once (megatron.py). Most are called as the flag is; tables have the others.
Adapters (peft) have words of their own: src/megatron/bridge/peft/lora.py of Megatron-Bridge.
Sources: six files of NeMo-Framework-Launcher (26e42fa9), and notes on it, on NeMo (8cfedd72) and
Megatron-Bridge (067f987d). Words of their configuration objects that these do not name
(grad_reduce_in_fp32, pipeline_dtype, should_pad_vocab, ...), and most of
neuronx-distributed-training, are from memory. A few words are spelled as its files spell them.
"""
import math
import re
from typing import Callable, Dict, List, Optional, Tuple

from . import adapters, engine
from .carriers import launched
from .facts import Facts, File, From, Refused
from .flags import Flag, Flags, Table, Value, number_of
from .megatron import Megatron
from .megatron_rows import IDLE_ROWS, ROWS
from .named import model_of
from .recipe import MODEL, read_recipe
from .trees import Node, read_words


def _pairs(text: str) -> Dict[str, str]:
    """ "word=flag" or "word=flag:value"."""
    return dict(pair.split("=") for pair in text.split())


# The flag has the word's value; the same, but 0 is none; it is there when the word is true; or false.
VALUE = _pairs("""
    encoder_seq_length=seq-length normalization=normalization
    tensor_parallelism=tensor-model-parallel-size
    pipeline_parallelism=pipeline-model-parallel-size context_parallelism=context-parallel-size
    expert_parallelism=expert-model-parallel-size
    expert_tensor_parallel_size=expert-tensor-parallel-size
    num_layers_in_first_pipeline_stage=decoder-first-pipeline-num-layers
    num_layers_in_last_pipeline_stage=decoder-last-pipeline-num-layers
    activations_checkpoint_granularity=recompute-granularity
    activations_checkpoint_method=recompute-method rampup_batch_size=rampup-batch-size
    data.micro_batch_size=micro-batch-size data.global_batch_size=global-batch-size
    fp8_recipe=fp8-recipe optim.optimizer=optimizer bucket_size=ddp-bucket-size
    tokenizer.type=tokenizer-type tokenizer.model=tokenizer-model
    tokenizer.tokenizer_type=tokenizer-type tokenizer.tokenizer_model=tokenizer-model
    tokenizer.vocab_size=vocab-size vocab_size=vocab-size override_vocab_size=vocab-size
    trainer.num_nodes=nnodes trainer.devices=nproc-per-node num_nodes=nnodes
    num_gpus_per_node=nproc-per-node gpus_per_node=nproc-per-node devices=nproc-per-node
    make_vocab_size_divisible_by=make-vocab-size-divisible-by""")
NONZERO = _pairs("""
    virtual_pipeline_parallelism=num-virtual-stages-per-pipeline-rank num_moe_experts=num-experts
    moe_shared_expert_intermediate_size=moe-shared-expert-intermediate-size
    activations_checkpoint_num_layers=recompute-num-layers""")
IF_TRUE = _pairs("""
    gated_linear_unit=swiglu layernorm_zero_centered_gamma=apply-layernorm-1p
    sequence_parallelism=sequence-parallel use_flash_attention=use-flash-attn
    fusions.flash_attention=use-flash-attn fp8_params=fp8-param-gather bf16=bf16 fp16=fp16
    fp8_output_proj=fp8-output-proj fp8_dot_product_attention=fp8-dot-product-attention
    mixed_precision.fp8_dot_product_attention=fp8-dot-product-attention
    ub_tp_comm_overlap=tp-comm-overlap tp_comm_overlap=tp-comm-overlap
    comm_overlap.tp_comm_overlap=tp-comm-overlap
    comm_overlap.overlap_grad_reduce=overlap-grad-reduce
    comm_overlap.overlap_param_gather=overlap-param-gather
    comm_overlap.overlap_moe_expert_parallel_comm=overlap-moe-expert-parallel-comm
    comm_overlap.delay_wgrad_compute=delay-wgrad-compute
    cross_entropy_loss_fusion=cross-entropy-loss-fusion
    defer_embedding_wgrad_compute=defer-embedding-wgrad-compute
    use_distributed_optimizer=use-distributed-optimizer
    optim.use_distributed_optimizer=use-distributed-optimizer zero1=use-distributed-optimizer
    optim.overlap_grad_sync=overlap-grad-reduce optim.overlap_param_sync=overlap-param-gather
    fsdp=use-torch-fsdp2 use_megatron_fsdp=use-megatron-fsdp
    mcore_customization_config.new_decoder_architecture=spec:falcon
    mcore_customization_config.parallel_attention=spec:falcon""")
IF_FALSE = _pairs("""
    bias=disable-bias-linear add_bias_linear=disable-bias-linear
    share_embeddings_and_output_weights=untie-embeddings-and-output-weights
    overlap_p2p_comm=no-overlap-p2p-communication
    gradient_accumulation_fusion=no-gradient-accumulation-fusion apply_rope_fusion=no-rope-fusion
    grad_reduce_in_fp32=grad-reduce-in-bf16""")
NO_KEY = {
    "activations_checkpoint_layers_per_pipeline": "later stages recompute fewer layers",
    "num_micro_batches_with_partial_activation_checkpoints":
        "micro-batches differ in what is recomputed",
    "model_config": "the model is in that config.json; name it as a further file",
    "kv_replicator": "copies of key and value heads over tensor ranks make no difference here",
    "optim.bucket_cap_mb": "buckets are as large as Megatron-LM makes them",
    "data.packed_sequence*": adapters.PACKED,
}
IDLE = """
    activation_func fusions.* fp8_e4m3 fp8_hybrid fp8_* reduce_amax use_emha mixed_precision.*
    precision.* params_dtype* activation_func.* activations_checkpoint_recompute compiler_*
    aync_exec_* async_exec_* pipeline_dtype autocast_dtype tp_comm_overlap_*
    ub_tp_comm_overlap_cfg* comm_overlap.* batch_p2p_comm optim.* fsdp_* tokenizer.*
    should_pad_vocab trainer.accumulate_grad_batches trainer.* data.* ffn_dropout
    transformer_block_type attention_type headscale mcore_gpt transformer_engine megatron_amp_O2
    native_amp_* grad_allreduce_chunk_size_mb grad_div_ar_fusion bias_activation_fusion
    bias_dropout* masked_softmax_fusion get_attention_mask_from_fusion gradient_as_bucket_view
    async_grad_allreduce sync_batch_comm apex_transformer_log_level pre_process post_process
    persist_layer_norm do_layer_norm_weight_decay use_scaled_init_method init_method*
    normalize_attention_scores scale_positional_embedding seq_len_interpolation_factor
    resume_from_checkpoint wgrad_deferral_limit deterministic_mode deteministic_mode gc_interval
    nsys_profile.* sharp reset_* _target_ average_in_collective check_for_nan_in_grad model_type
    model_source name strategy config target model trainer tokenizer log resume performance_mode
    pipeline_parallelism_type use_distributed_sampler dir max_* log_* val_* limit_* callbacks fn
    accelerator defaults"""

_TABLE = Table(" ".join([*VALUE, *NONZERO, *IF_TRUE, *IF_FALSE]), {}, NO_KEY, IDLE)
# Sections whose fields are flags by themselves, and those whose fields keep their section; any other
# section has no part in a step.
SECTIONS = (("model.data.", "data."), ("model.optim.", "optim."), ("model.", ""),
            ("distributed_strategy.", ""), ("trainer.strategy.", ""), ("trainer.", "trainer."),
            ("train.", ""), ("ddp.", ""), ("optimizer.", "optim."), ("optim.", "optim."),
            ("dataset.", "data."), ("data.", "data."), ("tokenizer.", "tokenizer."),
            ("mixed_precision", "mixed_precision"), ("precision.", "precision."),
            ("comm_overlap.", "comm_overlap."))


# Words of adapters: cfg.peft.dim, peft_cfg.dim, model.peft.lora_tuning.adapter_dim.
PEFT_WORD = re.compile(r"(?:^|\.)peft\w*\.(?:lora_tuning\.)?(?:adapter_(?=dim|dropout))?(\w+)$")
PEFT = adapters.Words("dim", "dropout", "target_modules", "", 32, 0.0, "qkv proj gate up down",
                      "default of Megatron-Bridge")
PEFT_ROWS = Table(
    taken="dim dropout target_modules peft_scheme _target_",
    keys={"a2a_experimental": "model.lora.all_to_all"},
    no_key={"exclude_modules": "nothing is excluded here", "layer_selection":
            "adapters are in all layers here", "normalize_moe_lora": "all adapters have one rank here"},
    idle="""alpha dropout_position lora_* column_init_method row_init_method
        restore_from_path variant weight_tying position_embedding_strategy hparams_file""")


def field_of(name: str) -> Optional[str]:
    """A word without its section; None: it is of a section without a part."""
    for prefix, instead in SECTIONS:
        if name.startswith(prefix):
            return instead + name[len(prefix):]
    return name if "." not in name else None  # an argument in Python


# ---- ${...} of OmegaConf ----

LEVELS = 16  # references inside each other
OPERATIONS: Dict[str, Callable[[float, float], float]] = {
    "multiply": lambda x, y: x * y, "divide_ceil": lambda x, y: math.ceil(x / y),
    "divide_floor": lambda x, y: math.floor(x / y), "add": lambda x, y: x + y}


class _Unknown(Exception):
    """What is not in the file."""


def _length(text: str, ends: str) -> int:
    """Characters up to one of `ends`, whatever braces hold."""
    depth = 0
    for i, c in enumerate(text):
        if depth == 0 and c in ends:
            return i
        depth += (c == "{") - (c == "}")
    return len(text)


class Omega:
    """${a.b} from the root (`training.` is the file itself), ${.sibling}, ${..uncle}, and the
    launcher's resolvers multiply, divide_ceil and divide_floor."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def walk(self, maps: List[Node], keys: List[str]) -> Tuple[List[Node], Optional[Node]]:
        """The maps on the way, and what is there."""
        node: Optional[Node] = None
        for key in keys:
            node = maps[-1].child(key)
            if node is None:
                break
            maps = maps + [node] if isinstance(node.value, dict) else maps
        return maps, node

    def refer(self, name: str, maps: List[Node], level: int) -> str:
        dots = len(name) - len(name.lstrip("."))
        key, at = name[dots:], [self.root]
        if dots > len(maps):
            raise _Unknown(name)
        if dots:
            at = maps[:len(maps) - dots + 1]
        elif key.startswith("training.") and self.root.child("training") is None:
            key = key[len("training."):]
        at, node = self.walk(at, key.split("."))
        if node is None or not isinstance(node.value, str):
            raise _Unknown(name)
        return self.evaluate(node.value, at, level + 1)

    def calculate(self, name: str, maps: List[Node], level: int) -> str:
        function, _, rest = name.partition(":")
        values: List[float] = []
        while rest and len(values) < 3:
            n = _length(rest, ",")
            number = number_of(self.evaluate(rest[:n].strip(), maps, level + 1))
            if number is None:
                raise _Unknown(name)
            values.append(number)
            rest = rest[n + 1:]
        if function not in OPERATIONS or len(values) != 2 or (
                function.startswith("divide") and values[1] == 0):
            raise _Unknown(name)
        return f"{OPERATIONS[function](*values):.15g}"

    def evaluate(self, text: str, maps: List[Node], level: int = 0) -> str:
        found = ""
        while (start := text.find("${")) >= 0:
            n = _length(text[start + 2:], "}")
            name = text[start + 2:start + 2 + n]
            if level >= LEVELS:
                raise _Unknown(name)
            found += text[:start] + (self.calculate if ":" in name else self.refer)(
                name, maps, level)
            text = text[start + 3 + n:]
        return found + text

    def resolve(self, words: List[Flag]) -> None:
        """Puts values in their places; what is not in the file stays in doubt."""
        for word in words:
            maps, _ = self.walk([self.root], word.name.split(".")[:-1])
            for i, value in enumerate(word.values):
                try:
                    word.values[i] = Value(self.evaluate(value.text, maps), value.doubt)
                except _Unknown as why:
                    word.values[i] = Value(value.text, f"${{{why}}} is not in this file")


# ---- a model that stands elsewhere or is only named, as the flags that would describe it ----

# Key of the section `model`: flag, or flag that goes with it; "key=value": of that value alone.
MEANINGS = [row.split() for row in """
    layers num-layers
    hidden hidden-size
    heads num-attention-heads
    kv_heads num-query-groups group-query-attention
    ffn ffn-hidden-size
    vocabulary vocab-size
    sequence seq-length
    positions max-position-embeddings
    mlp=swiglu swiglu
    norm_kind=rmsnorm normalization:RMSNorm
    bias=false disable-bias-linear
    bias=qkv add-qkv-bias disable-bias-linear
    tied=false untie-embeddings-and-output-weights
    qk_norm=true qk-layernorm
    experts num-experts
    experts_per_token moe-router-topk
    expert_ffn moe-ffn-hidden-size
    shared_ffn moe-shared-expert-intermediate-size
    router_bias=true moe-router-enable-expert-bias
    expert_groups moe-router-num-groups
    group_limit moe-router-group-topk
    query_latent q-lora-rank
    kv_latent kv-lora-rank multi-latent-attention
    head_rope qk-pos-emb-head-dim
    head_value v-head-dim
""".strip().splitlines()]
USUAL = ("name:", "head_dim:", "dense_layers:", "dropout:", "mlp: gelu", "norm_kind: layernorm",
         "bias: true", "tied: true", "qk_norm: false", "attention:")


class Nemo:
    def __init__(self, facts: Facts) -> None:
        self.f, self.words, self.flags = facts, Flags(facts), Flags(facts)
        self.peft = Flags(facts)

    def put(self, flag: str, source: From, *values: str, doubt: str = "") -> Flag:
        """ "swiglu", or "spec:falcon" with its value."""
        name, colon, value = flag.partition(":")
        return self.flags.put("--" + name, source, *([value] if colon else values), doubt=doubt)

    # ---- models ----

    def put_lines(self, lines: str, source: From) -> None:
        """Lines of a section `model`; settings that come behind them count."""
        keys = {key.strip(): re.sub("#.*", "", value).strip() for key, colon, value in (
            line.partition(":") for line in lines.splitlines()) if colon}
        for meaning, flag, *more in MEANINGS:
            key, only, value = meaning.partition("=")
            if keys.get(key, "0") in (value if only else keys.get(key), ) and keys.get(key,
                                                                                      "0") != "0":
                self.put(flag, source, *([] if only else [keys[key]]))
                for other in more:
                    self.put(other, source)
        latent = "kv_latent" in keys
        if "head_dim" in keys:
            self.put("qk-head-dim" if latent else "kv-channels", source, keys["head_dim"])
        if latent:
            self.put("qk-layernorm", source)
        if keys.get("dense_layers", "0") != "0" and "layers" in keys:
            first, every = int(keys["dense_layers"]), int(keys["layers"])
            self.put("moe-layer-freq", source, f"([0]*{first}+[1]*{max(every - first, 0)})")
        if "positions" not in keys:
            self.put("position-embedding-type:rope", source)
        for dropout in ("hidden-dropout", "attention-dropout"):
            self.put(dropout, source, keys.get("dropout", "0"))
        said = {meaning.partition("=")[0] for meaning, *_ in MEANINGS if "=" not in meaning}
        only_said = tuple(meaning.replace("=", ": ") for meaning, *_ in MEANINGS if "=" in meaning)
        for line in lines.splitlines():
            if line and line.partition(":")[0] not in said and not line.startswith(
                    USUAL + only_said):
                self.f.remark(source, f"{line}: no field of NeMo says it; add it to the run file")

    def read_model(self, file: File) -> None:
        try:
            lines, _ = engine.huggingface(file.path)
        except Refused as why:
            self.f.refuse_text(str(why))
            return
        self.put_lines(lines, From(file.name))

    def name_model(self) -> None:
        """The model that a recipe only names, unless a config.json says it: the first known."""
        for word in self.words.all:
            if self.flags.find("--num-layers") is not None:
                return
            if word.name != MODEL:
                continue
            lines, whose = model_of(word.first)
            if lines:
                self.put_lines(lines, word.source)
                self.f.remark(word.source, f"the sizes are those of {whose}")

    # ---- words to flags ----

    def same(self, flag: str, word: Flag) -> None:
        """A flag that stands where the word does, with its values."""
        self.put(flag, word.source, doubt=word.doubt).values += word.values

    def put_code(self, field: str, word: Flag) -> bool:
        """Words that code is about; False: it is another one."""
        given, low = word.first, word.first.lower()
        if field == "num_query_groups":
            self.put("group-query-attention", word.source, doubt=word.doubt)
            self.same("num-query-groups", word)
        elif field in ("data.seq_length", "data.sequence_length"):
            # the length of the data, where the model does not say its own
            if self.flags.find("--seq-length") is None:
                self.same("seq-length", word)
        elif field == "activation":
            flag = ("squared-relu" if re.search("squared[-_]relu", given) else
                    "swiglu" if "swiglu" in given else "quick-geglu" if "glu" in given else "")
            if flag:
                self.put(flag, word.source, doubt=word.doubt)
        elif field == "virtual_pipeline_model_parallel_size":
            if low not in ("0", "1"):
                self.same("num-virtual-stages-per-pipeline-rank", word)
        elif field == "fp8":
            if low != "false":
                self.put(f"fp8-format:{'e4m3' if low == 'e4m3' else 'hybrid'}", word.source,
                         doubt=word.doubt)
        elif field in ("precision", "trainer.precision", "precision.type", "mixed_precision",
                       "plugins"):
            self.put_precision(word)
        elif field == "optim.name":
            if "distributed" in given:
                self.put("use-distributed-optimizer", word.source, doubt=word.doubt)
        elif field == "optim.grad_sync_dtype":
            if low in ("bf16", "fp16"):
                self.put("grad-reduce-in-bf16", word.source, doubt=word.doubt)
        else:
            return False
        return True

    def put_precision(self, word: Flag) -> None:
        """ "bf16-mixed", "bf16_with_fp8_current_scaling_mixed", 16, autocast, mixed_precision."""
        given = word.first
        if given.lower() in ("32", "fp32", "32-true"):
            return
        half = "16" in given and "bf16" not in given
        self.put("fp16" if half else "bf16", word.source, doubt=word.doubt)
        if "fp8" in given:
            self.put("fp8-format:hybrid", word.source, doubt=word.doubt)
            for has, recipe in (("current", "tensorwise"), ("delayed", "delayed"),
                                ("subchannel", "blockwise"), ("blockwise", "blockwise"),
                                ("mxfp8", "mxfp8")):
                if has in given:
                    self.put("fp8-recipe:" + recipe, word.source, doubt=word.doubt)

    def put_word(self, field: str, word: Flag) -> None:
        low = word.first.lower()
        flag = "--" + field.replace("_", "-")
        use, note, _ = _TABLE.find(field) or ("", "", None)
        switch = field in IF_TRUE
        if field in VALUE or field in NONZERO:
            if field in VALUE or low != "0":
                self.same({**VALUE, **NONZERO}[field], word)
        elif switch or field in IF_FALSE:
            if word.values and word.values[0].doubt:
                self.f.refuse(word.source, f"its value is not known: {word.values[0].doubt}")
            elif (low in ("true", "1")) == switch:
                self.put((IF_TRUE if switch else IF_FALSE)[field], word.source, doubt=word.doubt)
        elif use == "idle":
            self.f.tell_idle(word.source)
        elif use == "no key":
            self.f.remark(word.source, note)
        elif ROWS.find(flag) or IDLE_ROWS.find(flag):  # called as a flag is
            if low == "false":
                self.f.tell_idle(word.source)
            elif low == "true":
                self.put(flag[2:], word.source, doubt=word.doubt)
            else:
                self.same(flag[2:], word)
        else:
            self.f.tell_unknown(word.source, word.first)

    def put_words(self) -> None:
        for word in self.words.all:
            field = field_of(word.name)
            peft = PEFT_WORD.search(word.source.word)
            if peft or word.name in ("peft", "peft_scheme"):
                name = peft[1] if peft else "peft_scheme"
                self.peft.put(name, word.source, doubt=word.doubt).values += word.values
                continue
            if word.name == MODEL:
                continue  # of which one is the model, and the others are none
            if field is None:
                self.f.tell_idle(word.source)
            elif not self.put_code(field, word):
                self.put_word(field, word)

    # ---- adapters ----

    def put_adapters(self) -> None:
        f, w = self.f, self.peft
        name = w.first_of("peft_scheme", "_target_")
        scheme = w.text(name).rpartition(".")[2].lower() if w.find(name) else ""
        if scheme in ("lora", "canonicallora", "canonical_lora", "dora") or not scheme and w.find("dim"):
            old = any("lora_tuning" in word.source.word for word in w.all)
            adapters.set_adapters(f, w, PEFT._replace(targets_of="qkv") if old else PEFT)
            if "model.experts" in f.facts:
                f.set("model.lora.experts", w.source(name, PEFT.rule), "shared")
        elif scheme not in ("", "none"):
            f.refuse(w.source(name), f"{scheme} is not simulated; lora is")
        if scheme == "dora":
            f.remark(w.source(name), adapters.PEFT_ROWS.rows["use_dora"][1])
        w.apply(PEFT_ROWS)

    # ---- what no file says ----

    def suppose(self) -> None:
        """What recipes leave to the functions they call."""
        source = From("as NeMo's recipes have it, from memory")
        fields = {word.name.rpartition(".")[2] for word in self.words.all}
        for flag, unless, given, field in (
                ("--bf16", "--fp16", "", "bf16"),
                ("--use-distributed-optimizer", "", "", "use_distributed_optimizer"),
                ("--moe-grouped-gemm", "", "--num-experts", "moe_grouped_gemm"),
                ("--moe-permute-fusion", "", "--num-experts", "moe_permute_fusion")):
            has = [self.flags.find(name) is not None for name in (flag, unless, given)]
            if not has[0] and not has[1] and (has[2] or not given) and field not in fields:
                self.flags.put(flag, source)
                self.f.remark(source, f"{flag}, which no line here says")

    def widen(self) -> None:
        """Inner width: NeMo's default is 4 h, of gated MLPs, too; Megatron-LM's flag cuts these."""
        if self.flags.find("--ffn-hidden-size") is None and self.flags.find("--hidden-size"):
            self.flags.put("--ffn-hidden-size",
                           From("default of NeMo, from memory: 4 hidden_size"),
                           str(4 * self.flags.count("--hidden-size")))

    def ask_for_model(self) -> None:
        """neuronx-distributed-training: the sizes are in a config.json that the file names."""
        path = self.words.find("model.model_config")
        if path is not None and path.values and self.words.find("model.hidden_size") is None and (
                self.flags.find("--hidden-size") is None):
            self.f.refuse(path.source, f"the model is in {path.first}; name it as a further file")

    def read(self) -> None:
        f = self.f
        for file in f.files:
            if file.path.endswith(".json"):
                self.read_model(file)
        python = False
        for file in f.files:
            if file.path.endswith(".py"):
                python = True
                read_recipe(self.words, file)
            elif not file.path.endswith(".json"):
                n = len(self.words.all)
                root = read_words(self.words, file)
                if root is not None:
                    Omega(root).resolve(self.words.all[n:])
        if f.refused:
            return
        self.name_model()
        self.ask_for_model()
        if f.refused:
            return
        self.put_words()
        if python:
            self.suppose()
        self.widen()
        launched(f, self.flags)
        Megatron(f, self.flags, recipes=True).read()
        self.put_adapters()


def read(f: Facts) -> None:
    Nemo(f).read()
