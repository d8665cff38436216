"""Adapters and frozen weights of fine-tuning jobs, by whatever words a stack has for them.

Sources: PEFT (src/peft/tuners/lora/config.py, src/peft/utils/constants.py), Megatron-Bridge
(src/megatron/bridge/peft/lora.py); NeMo 1's adapter_dim and attention_qkv are from memory.
"""
import re
from typing import List, NamedTuple, Optional

from .facts import Facts, From, join
from .flags import Flag, Flags, Table, short

PACKED = "each sequence is one document of full length; say others by run.lengths"


def _pairs(text: str) -> "dict[str, str]":
    return dict(pair.split("=") for pair in text.split())


class Words(NamedTuple):
    """What a stack calls them, the first that is there, and its defaults."""
    rank: str
    dropout: str
    targets: str
    save: str  # modules that are trained beside adapters
    rank_of: int
    dropout_of: float
    targets_of: str
    rule: str


# What stacks call a matrix: its words in model.lora.targets, joined by +.
MATRICES = _pairs("""q_proj=q k_proj=k v_proj=v o_proj=proj out_proj=proj output_proj=proj dense=proj
    in_proj=in in_proj_qkvz=in in_proj_ba=in query_key_value=qkv qkv_proj=qkv c_attn=qkv
    Wqkv=qkv W_pack=qkv q_a_proj=q q_b_proj=q kv_a_proj_with_mqa=k+v kv_b_proj=k+v gate_proj=gate up_proj=up down_proj=down
    gate_up_proj=gate+up w1=gate w2=down w3=up fc_in=up fc_out=down fc1=up fc2=down
    dense_h_to_4h=up dense_4h_to_h=down all-linear=all all_linear=all all=all
    linear_qkv=qkv linear_proj=proj linear_fc1=gate+up linear_fc2=down linear_q=q linear_k=k
    linear_v=v linear_fc1_gate=gate linear_fc1_up=up linear_q_proj=q linear_q_down_proj=q
    linear_q_up_proj=q linear_kv_down_proj=k+v linear_kv_up_proj=k+v attention_qkv=qkv
    attention_dense=proj mlp_fc1=gate+up mlp_fc2=down attention=attention mlp=mlp""")
SAVED = _pairs("""embed_tokens=embedding wte=embedding embed_in=embedding word_embeddings=embedding
    tok_embeddings=embedding lm_head=head embed_out=head output=head output_layer=head
    input_layernorm=norm post_attention_layernorm=norm""")
PARTS = "embedding attention mlp experts router norm head mtp".split()
# Of adapter_config.json.
PEFT_ROWS = Table(
    taken="r lora_dropout target_modules modules_to_save base_model_name_or_path peft_type",
    no_key={"use_dora": "magnitudes of DoRA are not simulated: plain adapters are",
            "layers_to_transform": "adapters are in all layers here",
            "rank_pattern": "all adapters have one rank here",
            "rank_pattern.*": "all adapters have one rank here",
            "exclude_modules": "nothing is excluded here", "target_parameters": "left out here",
            "layer_replication": "layers are not repeated here",
            "trainable_token_indices": "rows of the embedding are frozen here"},
    idle="""lora_alpha alpha_pattern auto_mapping bias revision task_type inference_mode
        fan_in_fan_out use_rslora init_lora_weights layers_pattern loftq_config megatron_* eva_config
        corda_config lora_bias peft_version qalora_group_size use_qalora lora_ga_config arrow_config
        ensure_weight_tying alora_invocation_tokens runtime_config""")
PEFT = Words("r", "lora_dropout", "target_modules", "modules_to_save", 8, 0.0, "q v",
             "default of PEFT")
OPTIMIZERS = (("adafactor", "adafactor"), ("muon", "muon"), ("sgd", "sgd"), ("adam", "adam"))


def _words(flag: Flag) -> List[str]:
    """Names in values that are lists, or joined by commas; of patterns, what is a name in them."""
    found: List[str] = []
    for value in flag.values:
        for word in re.split(r"[,\s]+", value.text):
            found += re.findall(r"[A-Za-z_][\w-]*", word) if re.search(r"[*()|\\^$]", word) else (
                [word.rpartition(".")[2]] if word else [])
    return list(dict.fromkeys(found))


def _targets(f: Facts, flag: Flag) -> List[str]:
    """Words of model.lora.targets; what is no matrix here is told."""
    said, found = flag.said(), []
    pattern = re.search(r"[*()|\\^$]", said) is not None
    for word in _words(flag):
        if word == "out_proj" and "model.layer_pattern" in f.facts:
            found.append("out")  # Mamba's; in other models that of attention
        elif word in MATRICES:
            found += MATRICES[word].split("+")
        elif not pattern:
            f.remark(flag.source, f"adapters beside {word} are not simulated")
    if pattern:
        f.remark(flag.source, f"a pattern: adapters beside {join(dict.fromkeys(found)) or 'nothing'} "
                              "of all layers are a guess")
    if not found:
        f.refuse(flag.source, f"'{said}' has no matrix that is known; write names such as q_proj, "
                              "v_proj or linear_qkv, or all-linear")
    return list(dict.fromkeys(found))


def _frozen(f: Facts, flag: Optional[Flag]) -> None:
    """Modules that are trained as a whole."""
    trained = {SAVED.get(word, "") for word in _words(flag)} if flag else set()
    if flag is None or not trained:
        return
    for word in _words(flag):
        if word not in SAVED:
            f.remark(flag.source, f"{word} is frozen here: no part of model.frozen is it alone")
    if trained - {""}:
        f.set("model.frozen", flag.source, f"[{join(p for p in PARTS if p not in trained)}]",
              "all but what is trained beside adapters")


def set_adapters(f: Facts, w: Flags, words: Words) -> None:
    rank = w.count(words.rank, words.rank_of)
    if rank < 1:
        f.refuse(w.source(words.rank), f"a rank of {rank}; write how wide adapters are, such as 16")
        return
    f.set("model.lora", w.source(words.rank, words.rule), rank)
    flag = w.get(words.targets)
    given = flag is not None and flag.values and flag.first not in ("", "None", "null")
    found = _targets(f, flag) if flag and given else words.targets_of.split()
    f.set("model.lora.targets", w.source(words.targets, words.rule) if given else From(words.rule),
          f"[{join(found)}]")
    share = w.real(words.dropout, words.dropout_of)
    if not 0 <= share < 1:
        f.refuse(w.source(words.dropout), f"a dropout of {short(share)}; write a share below 1, such "
                                          "as 0.05")
    elif share > 0:
        f.set("model.lora.dropout", w.source(words.dropout, words.rule), short(share))
    _frozen(f, w.find(words.save))


def set_bits(f: Facts, w: Flags, four: str, eight: str) -> None:
    """Frozen matrices as bitsandbytes packs them, by switches."""
    for name, kind in ((four, "nf4"), (eight, "int8")):
        flag = w.find(name)
        if flag is not None and (not flag.values or w.true(name)):
            f.set("model.frozen_dtype", flag.source, kind)


def set_optimizer(f: Facts, source: From, name: str) -> None:
    """ "adamw_torch_fused", "paged_adamw_8bit", "torch.optim.AdamW"."""
    low = name.lower()
    kind = next((value for has, value in OPTIMIZERS if has in low), "")
    narrow = kind == "adam" and "8bit" in low
    if kind and kind != "adam" or narrow:
        f.set("framework.optimizer", source, "adam8bit" if narrow else kind)
    elif not kind:
        f.remark(source, f"{name}: simulated as Adam, in 32 bits")
    if "fused" in low:
        f.set("framework.fused_optimizer", source, "true")
