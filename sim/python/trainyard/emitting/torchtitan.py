"""A TOML file of torchtitan, as its job configuration was before it became Python (February 2026; the
fields keep their names there). Sources: importing/torchtitan.py."""
from itertools import product
from typing import Optional

from ..importing.facts import truth
from ..importing.titan_flavors import Flavor, flavors
from ..importing.torchtitan import dealt
from . import Emission
from .megatron import parts_of

SCHEDULES = {"gpipe": "GPipe", "1f1b": "1F1B", "interleaved": "Interleaved1F1B",
             "bfs": "LoopedBFS", "interleaved-zb": "InterleavedZeroBubble",
             "zb-v": "ZBVZeroBubble", "dualpipev": "DualPipeV"}
LESS_MAX = 16  # layers that a stage may have less


def is_flavor(e: Emission, flavor: Flavor) -> bool:
    return (("experts" in flavor.keys) == e.moe and ("kv_latent" in flavor.keys) == e.latent
            and ("qk_norm" in flavor.keys) == e.on("model.qk_norm")
            and all(e.key("model." + key) == value for key, value in flavor.keys.items()))


def model(e: Emission) -> None:
    e.add("", "[model]")
    if e.key("model.dtype") == "fp8":
        blocks = e.key("framework.fp8_recipe") in ("blockwise", "mxfp8")
        e.add(f'converters = ["{"mx" if blocks else "float8"}"]')
    found = next((flavor for flavor in flavors() if is_flavor(e, flavor)), None)
    if found:
        e.add(f'name = "{found.name}"', f'flavor = "{found.flavor}"')
    else:
        dim, layers, heads, kv_heads, ffn, words = (e.key("model." + key) for key in (
            "hidden", "layers", "heads", "kv_heads", "ffn", "vocabulary"))
        e.no_word(f"section model: add a flavor of dim {dim}, n_layers {layers}, n_heads {heads}, "
                  f"n_kv_heads {kv_heads}, inner width {ffn}, vocabulary {words}")


def training(e: Emission) -> None:
    """Without a pipeline a rank gets a micro-batch at a time and accumulates; with one it gets all
    of its share, which the pipeline cuts."""
    passes = e.d("micro_batches") if e.pipeline > 1 else 1
    e.add("", "[training]", f"local_batch_size = {e.n('layout.micro_batch') * passes}",
          f"global_batch_size = {e.key('layout.global_batch')}",
          f"seq_len = {e.key('model.sequence')}", "mixed_precision_param = "
          f'"{"float32" if e.key("model.dtype") == "fp32" else "bfloat16"}"',
          f'mixed_precision_reduce = "{"float32" if e.d("reduce_fp32") else "bfloat16"}"')
    if e.key("framework.master_dtype") == "none":
        e.add('dtype = "bfloat16"')
    if e.key("model.dtype") == "fp16":
        e.no_word("model.dtype fp16")


def stage_words(e: Emission, stages: int) -> bool:
    """Its words for stages, where first and last count as so many more; False: there are none."""
    layers = e.n("model.layers")
    wanted = e.list("layout.stage_layers") or ([layers // stages] * stages if layers % stages == 0
                                               else [])
    for first, last in product(range(LESS_MAX), repeat=2):
        units = layers + first + last
        each = -(-units // stages)
        if -(-units // each) == stages and dealt(layers, stages, first, last) == wanted:
            e.add(f"pipeline_parallel_layers_per_stage = {each}",
                  f"pipeline_parallel_first_stage_less_layers = {first}",
                  f"pipeline_parallel_last_stage_less_layers = {last}")
            return True
    return False


def pipeline(e: Emission) -> None:
    name = e.derived["schedule"]
    e.add(f"pipeline_parallel_degree = {e.pipeline}")
    if e.pipeline == 1:
        return
    if name in SCHEDULES:
        e.add(f'pipeline_parallel_schedule = "{SCHEDULES[name]}"')
    else:
        e.no_word(f"schedule.name {name}")
    e.add(f"pipeline_parallel_microbatch_size = {e.key('layout.micro_batch')}")
    if not stage_words(e, e.pipeline * e.chunks):
        e.no_key("layout.stage_layers", "it assigns layers by ..._layers_per_stage, and "
                 "..._first_stage_less_layers and ..._last_stage_less_layers")


def data(e: Emission) -> None:
    zero, ranks = e.n("layout.zero"), e.n("layout.data")
    replicas = e.d("replicas") if zero >= 2 else ranks
    e.add(f"data_parallel_replicate_degree = {replicas}",
          f"data_parallel_shard_degree = {ranks // replicas}")
    if zero >= 2:
        habit = e.key("framework.reshard_after_forward") if zero == 3 else "false"
        word = {"true": "always", "false": "never"}.get(habit, "default")
        e.add(f'fsdp_reshard_after_forward = "{word}"')
    elif e.n("layout.context") > 1:
        e.no_word(f"layout.zero {zero}: context ranks always share weights, gradients and states (3)")
    elif zero == 1 and ranks > 1:
        e.no_word("layout.zero 1: it shares gradients and weights, too (2 or 3), or nothing")


def parallelism(e: Emission) -> None:
    tensor, dispatcher = e.n("layout.tensor"), e.key("framework.dispatcher")
    e.add("", "[parallelism]")
    data(e)
    e.add(f"tensor_parallel_degree = {tensor}")
    if e.key("layout.tensor_scheme") != "1d":
        e.no_key("layout.tensor_scheme", "it splits GEMMs in one dimension")
    elif tensor > 1 and not e.on("layout.sequence_parallel"):
        e.no_word("layout.sequence_parallel false: its tensor ranks share sequences, too")
    if tensor > 1 and e.on("framework.overlap_tensor_products"):
        e.add("enable_async_tensor_parallel = true")
    e.add(f"context_parallel_degree = {e.key('layout.context')}")
    if e.n("layout.context") > 1:
        gathers = e.key("layout.context_method") == "all-gather"
        e.add(f'context_parallel_rotate_method = "{"allgather" if gathers else "alltoall"}"')
    if e.moe:
        e.add(f"expert_parallel_degree = {e.key('layout.expert')}",
              f"expert_tensor_parallel_degree = {e.key('layout.expert_tensor')}")
        if e.n("layout.expert") > 1 and dispatcher in ("deepep", "hybridep"):
            e.add(f'expert_parallel_comm_backend = "{dispatcher}"')
    pipeline(e)


def period_of(e: Emission) -> Optional[int]:
    """One of how many layers runs again, where each virtual stage repeats so many."""
    counts, each = e.list("layout.recompute_layers"), e.n("model.layers") // (
        e.pipeline * e.chunks)
    if len(counts) != 1 or not counts[0]:
        return None
    return next((period for period in range(2, each + 1) if -(-each // period) == counts[0]), None)


def recompute(e: Emission) -> None:
    parts, period = parts_of(e), period_of(e)
    nearest = set(parts) == ({"ffn", "norm", "moe_act"} if e.moe else {"ffn"})
    e.add("", "[activation_checkpoint]")
    if parts == ["full"] and period:
        e.add('mode = "selective"', f'selective_ac_option = "{period}"')
        return
    if nearest:
        e.add('mode = "selective"', 'selective_ac_option = "op"')
    else:
        e.add(f'mode = "{"full" if parts == ["full"] else "none"}"')
    if e.key("layout.recompute_layers") != "auto":
        e.no_key("layout.recompute_layers", "it is one of so many layers, or all")
    if parts not in (["full"], ["none"]):
        e.no_key("layout.recompute", f"its selective mode{', the nearest,' * nearest} keeps every "
                                     "second GEMM")


def emit(e: Emission) -> None:
    for part in (model, training, parallelism, recompute):
        part(e)
    if e.on("framework.fused_activation") and e.on("framework.fused_rotary"):
        e.add("", "[compile]", "enable = true")
    if not e.on("framework.fused_optimizer"):
        e.add("", "[optimizer]", 'implementation = "foreach"')
    if e.key("model.dtype") == "fp8" and e.on("framework.fp8_weights"):
        e.add("", "[float8]", f"enable_fsdp_float8_all_gather = {truth(True)}")
    axes = e.key("layout.order").strip("[]").split(", ")
    if axes[0] != "tensor" or axes[-1] != "pipeline":
        e.no_key("layout.order", "ranks are numbered tensor, context, data, pipeline")
