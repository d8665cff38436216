"""`trainyard import torchtitan`: a TOML file, and where it names a model that is not known here, the
model's config.json.

Sources: notes on 238fa995 (February 2026), five of its files, and one of November 2024 with [float8],
[experimental] and degrees under [training]. From memory are words that these do not have:
pipeline_parallel_split_points, ..._schedule_csv and ..._microbatches, module_fqns_per_model_part,
expert_parallel_comm_backend, fp8_linear and simple ones such as gc_freq.
"""
import re
from typing import List, Optional

from . import huggingface
from .facts import UINT_MAX, Facts, File, From, join
from .flags import Flags, Table
from .titan_flavors import flavors
from .trees import read_words, world_of

RULE = "default of torchtitan"
MEMORY = RULE + ", from memory"
P, A = "parallelism.", "activation_checkpoint."
STAGES_MAX = 128


def _of(section: str, words: str) -> str:
    return " ".join(section + word for word in words.split()) + " "


ROWS = Table(
    taken=_of("model.", "name flavor converters norm_type") + _of(
        "training.", """local_batch_size global_batch_size seq_len dtype mixed_precision_param
        mixed_precision_reduce enable_cpu_offload fp8_linear""") + _of(
        P, """data_parallel_replicate_degree data_parallel_shard_degree fsdp_reshard_after_forward
        tensor_parallel_degree disable_loss_parallel enable_async_tensor_parallel
        pipeline_parallel_degree pipeline_parallel_schedule pipeline_parallel_schedule_csv
        pipeline_parallel_microbatch_size pipeline_parallel_microbatches
        pipeline_parallel_layers_per_stage pipeline_parallel_first_stage_less_layers
        pipeline_parallel_last_stage_less_layers pipeline_parallel_split_points
        context_parallel_degree context_parallel_rotate_method expert_parallel_degree
        expert_tensor_parallel_degree expert_parallel_comm_backend""") + _of(
        A, "mode selective_ac_option") + "float8.* mx.* quantize.* compile.enable "
    "compile.components " + _of("optimizer.", "name implementation fused"),
    no_key={"model.use_flex_attn": "attention in blocks with a mask of one's own makes no difference here",
            "model.attn_mask_type": "documents in a sequence do not shorten attention here",
            P + "module_fqns_per_model_part": "stages by name; layers are assigned evenly, or say "
                                              "layout.stage_layers",
            "optimizer.early_step_in_backward": "the update comes after the backward here",
            "fault_tolerance.enable": "replicas that join and leave: see the section fleet"},
    idle="model.* " + _of("training.", """data_parallel_type dataset* steps warmup_steps max_norm
        gc_freq gc_debug seed deterministic debug*""") + _of(
        P, "enable_compiled_autograd pipeline_parallel_expert_parallel_overlap") + """
        activation_checkpoint.* compile.* optimizer.* lr_scheduler.* fault_tolerance.* job.*
        profiling.* metrics.* checkpoint.* comm.* memory_estimation.* validation.* debug.*
        experimental.custom*""")

# Words that moved to [parallelism], whatever section they stood in before 2025, and others.
MOVED = """data_parallel_replicate_degree data_parallel_shard_degree fsdp_reshard_after_forward
    tensor_parallel_degree disable_loss_parallel enable_async_tensor_parallel
    pipeline_parallel_degree pipeline_parallel_schedule pipeline_parallel_schedule_csv
    pipeline_parallel_microbatches pipeline_parallel_split_points context_parallel_degree
    context_parallel_rotate_method enable_compiled_autograd""".split()
RENAMED = {"training.batch_size": "training.local_batch_size",
           "training.data_parallel_degree": P + "data_parallel_shard_degree",
           "training.compile": "compile.enable",
           "training.enable_fp8_linear": "float8.enable_float8_linear",
           "training.enable_float8_linear": "float8.enable_float8_linear"}
SCHEDULES = {"1f1b": ("1f1b", 1), "gpipe": ("gpipe", 1), "interleaved1f1b": ("interleaved", 2),
             "flexibleinterleaved1f1b": ("interleaved", 2), "loopedbfs": ("bfs", 2),
             "interleavedzerobubble": ("interleaved-zb", 2), "zbvzerobubble": ("zb-v", 2),
             "dualpipev": ("dualpipev", 2)}
INSTEAD = "give the config.json of the model as a second file, and it is taken from there"


def today(name: str) -> str:
    section, _, word = name.partition(".")
    if section in ("training", "experimental") and word in MOVED:
        return P + word
    return RENAMED.get(name, name)


def dealt(layers: int, stages: int, first: int, last: int) -> List[int]:
    """Layers of every virtual stage: embedding and head count as layers of the first and the last."""
    units = layers + first + last
    found = [units // stages + (s < units % stages) for s in range(stages)]
    found[0] = max(found[0] - first, 0)
    found[-1] = max(found[-1] - last, 0)
    return found


class Titan:
    def __init__(self, facts: Facts, words: Flags) -> None:
        self.f, self.w = facts, words
        self.tensor = self.pipeline = self.context = self.replicate = 1
        self.shard, self.rest = 0, True  # what is left of the world; 0: not known

    def set(self, key: str, word: str, value: object, note: str = "", rule: str = RULE) -> None:
        self.f.set(key, self.w.source(word, rule), value, note)

    # ---- the model ----

    @staticmethod
    def is_model(given: str, name: str) -> bool:
        """ "llama3", and other ways of training it: "llama3_simple_fsdp", "simple_fsdp.llama3"."""
        return bool(re.fullmatch(rf"{name}([_.].*)?|.*[_.]{name}", given, re.S))

    def model(self) -> None:
        f, w = self.f, self.w
        name, given = w.text("model.name", "llama3"), w.text("model.flavor", "debugmodel")
        if "model.layers" in f.facts:
            return  # a config.json said it
        if w.find("model.flavor") is None:
            f.refuse(w.source("model.name", "model.flavor"), f"no model.flavor: of {name} there is "
                     f"no model without one; {INSTEAD}")
            return
        known = [flavor for flavor in flavors() if self.is_model(name, flavor.name)]
        for flavor in known:  # "8B", or "8B_flex", which has other attention kernels
            if re.fullmatch(re.escape(flavor.flavor) + "(_.*)?", given, re.I | re.S):
                source = w.source("model.flavor", RULE)
                for key, value in flavor.keys.items():
                    f.set("model." + key, source, value)
                f.explain("model.layers", f"sizes are those of {flavor.name} {flavor.flavor} in "
                                          f"torchtitan{flavor.sure}")
                return
        names = ([flavor.flavor for flavor in known] or
                 list(dict.fromkeys(flavor.name for flavor in flavors())))
        f.refuse(w.source("model.flavor" if known else "model.name", RULE),
                 f"no sizes of {name} {given} are known here ({join(names)}); {INSTEAD}")

    # ---- types ----

    def fp8(self) -> None:
        """On by a converter, or by the switch of 2024; a section of settings alone does nothing."""
        w = self.w
        mx = w.lists("model.converters", "mx") or w.lists("model.converters", "quantize.linear.mx")
        converted = mx or w.lists("model.converters", "float8") or w.lists(
            "model.converters", "quantize.linear.float8")
        way = w.text("training.fp8_linear")  # "dynamic", of 2024
        word = ("model.converters" if converted else "training.fp8_linear" if way else
                "float8.enable_float8_linear")
        if not converted and not way and not w.true(word):
            return
        self.set("model.dtype", word, "fp8")
        if mx:
            self.set("framework.fp8_recipe", word, "mxfp8")
        for gather in ("quantize.linear.float8.enable_fsdp_float8_all_gather",
                       "float8.enable_fsdp_float8_all_gather"):
            if w.true(gather):
                self.set("framework.fp8_weights", gather, "true")

    def types(self) -> None:
        w = self.w
        for word, key, otherwise, kinds in (
                ("training.mixed_precision_param", "model.dtype", "bfloat16", ("fp32", "bf16")),
                ("training.mixed_precision_reduce", "framework.reduce_dtype", "float32",
                 ("fp32", "model"))):
            self.set(key, word, kinds[w.text(word, otherwise) != "float32"])
        if w.text("training.dtype", "float32") != "float32":
            self.set("framework.master_dtype", "training.dtype", "none")
            self.set("framework.moment_dtype", "training.dtype", "bf16")
        self.fp8()

    # ---- degrees ----

    def degrees(self) -> None:
        """data_parallel_shard_degree -1 is what others leave; where it is a number the world
        follows."""
        f, w, word = self.f, self.w, P + "data_parallel_shard_degree"
        self.tensor, self.pipeline, self.context = (
            w.set_count_or("layout." + key, f"{P}{key}_parallel_degree", 1, RULE)
            for key in ("tensor", "pipeline", "context"))
        self.replicate = w.count(P + "data_parallel_replicate_degree", 1)
        others = self.tensor * self.pipeline * self.context * self.replicate
        self.rest = w.real(word, -1) < 0
        if not self.rest:
            self.shard = w.count(word, 1)
            world = others * self.shard
            if f.asked_gpus not in (0, world):
                f.refuse(w.source(word), f"the degrees make {world} GPUs, --gpus says "
                         f"{f.asked_gpus}; leave the option out, or write -1 here for the rest")
            elif 0 < world < UINT_MAX:
                f.gpus, f.gpus_from = world, w.source(word)
        elif others and f.known_gpus() and f.known_gpus() % others == 0:
            self.shard = f.known_gpus() // others
        else:
            f.gpus_from = f.gpus_from if f.gpus else w.source(word, RULE)
            f.no_world = "the launcher says it (NGPU)"

    def sharding(self) -> None:
        """FSDP shares weights, gradients and states (ZeRO-3) over shard x context ranks (fsdp_enabled
        in torchtitan's parallel_dims.py) unless that is one: plain DDP."""
        w, shared = self.w, self.rest or self.shard > 1 or self.context > 1
        self.set("layout.zero", P + "data_parallel_shard_degree", "3" if shared else "0")
        if not shared:
            return
        if self.replicate > 1 and self.shard:
            self.set("layout.shard", P + "data_parallel_replicate_degree", self.shard,
                     f"of each of {self.replicate} groups")
        reshard = P + "fsdp_reshard_after_forward"
        self.set("framework.reshard_after_forward", reshard,
                 {"always": "true", "never": "false"}.get(w.text(reshard), "no-pipeline"))
        if w.true("training.enable_cpu_offload"):
            for key in ("layout.offload_parameters", "layout.offload_optimizer"):
                self.set(key, "training.enable_cpu_offload", "cpu")

    def groups(self) -> None:
        f, w = self.f, self.w
        if self.tensor > 1:
            self.set("layout.sequence_parallel", P + "tensor_parallel_degree", "true",
                     "tensor ranks always share sequences")
        if self.context > 1:
            rotate = P + "context_parallel_rotate_method"
            self.set("layout.context_method", rotate,
                     "all-gather" if w.text(rotate, "allgather") == "allgather" else "zigzag")
        if "model.experts" not in f.facts:
            return
        within, how = P + "expert_tensor_parallel_degree", P + "expert_parallel_comm_backend"
        if w.set_count_or("layout.expert", P + "expert_parallel_degree", 1, RULE) > 1:
            w.set_count_or("layout.expert_tensor", within, 1, RULE)
            backend = w.text(how, "standard")
            self.set("framework.dispatcher", how,
                     "alltoall" if backend == "standard" else backend, rule=MEMORY)
        else:
            self.set("layout.expert_tensor", within, self.tensor,
                     "without expert ranks tensor ranks cut them")

    # ---- the batch ----

    def batch(self) -> None:
        w, local_word, whole = self.w, "training.local_batch_size", "training.global_batch_size"
        local, every = w.count(local_word, 8), w.real(whole, -1)
        replicas = self.replicate * self.shard
        if self.pipeline > 1:
            word = P + "pipeline_parallel_microbatches"
            cut = w.count(word)
            size = P + "pipeline_parallel_microbatch_size"
            micro = local // cut if cut and local % cut == 0 else w.count(size, 1)
            self.set("layout.micro_batch", word if cut else size, micro,
                     f"a pipeline cuts the local batch of {local}")
        else:
            self.set("layout.micro_batch", local_word, local)
        step = local * replicas
        if every > 0:
            self.set("layout.global_batch", whole, f"{every:.0f}")
            if self.pipeline > 1 and 0 < step < every:
                self.f.remark(w.source(whole), f"gradients of {every / step:.0f} local batches add "
                              "up, and the pipeline drains between them; here it does not")
        elif step:
            self.set("layout.global_batch", local_word, step, f"of each of {replicas} replicas")

    # ---- the pipeline ----

    def split(self, layers: int) -> List[int]:
        """["layers.4", "layers.20"]: the layers before each point, and those behind the last one;
        []: none that can be read."""
        points = self.w.get(P + "pipeline_parallel_split_points")
        found, before = [], 0
        for value in points.values if points else ():
            number = re.fullmatch("[^0-9]*([0-9]{1,9})", value.text)
            if not number or not before <= int(number[1]) <= layers:
                return []
            found.append(int(number[1]) - before)
            before = int(number[1])
        return found + [layers - before] if found else []

    def stages(self, of_rank: int) -> None:
        f, w, layers = self.f, self.w, self.f.count("model.layers", 0)
        per_stage, less = (P + "pipeline_parallel_layers_per_stage",
                           P + "pipeline_parallel_first_stage_less_layers")
        first, each = w.count(less, 1), w.count(per_stage)
        last = w.count(P + "pipeline_parallel_last_stage_less_layers", 1)
        units, split = layers + first + last, self.split(layers)
        n = len(split) or (-(-units // each) if each else self.pipeline * of_rank)
        if n % self.pipeline != 0 or n > STAGES_MAX:
            f.refuse(w.source(per_stage, RULE), f"{n} stages cannot be assigned to {self.pipeline} "
                     f"pipeline ranks; leave it out for {self.pipeline * of_rank}, or write how "
                     f"many of the {units} layers, embedding and head counted, each has")
            return
        if n // self.pipeline > 1:
            self.set("schedule.chunks", per_stage, n // self.pipeline)
        if split:
            self.set("layout.stage_layers", P + "pipeline_parallel_split_points",
                     f"[{join(split)}]")
            return
        self.set("layout.stage_layers", less if w.find(less) is not None else per_stage,
                 f"[{join(dealt(layers, n, first, last))}]",
                 f"embedding and head count as {first} and {last}")

    def pipes(self) -> None:
        w, word, csv = self.w, P + "pipeline_parallel_schedule", P + "pipeline_parallel_schedule_csv"
        given = w.text(word, "1F1B")
        if self.pipeline <= 1:
            return
        if w.text(csv):
            self.f.refuse(w.source(csv), "an order of one's own: import without this line, then "
                                         "name the file by schedule.file")
        elif given.lower() not in SCHEDULES:
            self.f.refuse(w.source(word), f"no such schedule is known ({given}); trainyard list "
                                          "schedules has those that are")
        else:
            name, of_rank = SCHEDULES[given.lower()]
            self.set("schedule.name", word, name)
            self.stages(of_rank)

    # ---- recomputation and the stack ----

    def recompute(self) -> None:
        f, w, option = self.f, self.w, A + "selective_ac_option"
        mode, kind = w.text(A + "mode", "selective"), w.text(option, "2")
        if mode in ("none", "full"):
            self.set("layout.recompute", A + "mode", mode, rule=MEMORY)
        elif mode == "memory_budget":
            f.remark(w.source(A + "mode"),
                     "what the compiler recomputes is its choice: nothing is here")
            self.set("layout.recompute", A + "mode", "none")
        elif mode != "selective":
            f.refuse(w.source(A + "mode"), f"'{mode}' is none of none, full, selective")
        elif kind == "op":
            experts = "model.experts" in f.facts
            parts = "[ffn, norm, moe_act]" if experts else "ffn"
            again = "gate and up, norms and activations" if experts else "gate and up"
            self.set("layout.recompute", option, parts,
                     "the nearest to op, which recomputes every second GEMM")
            f.remark(w.source(option), "op keeps attention and every second GEMM; no key does: "
                     f"recompute {parts}, by which {again} run again, is the nearest, and a guess")
        else:
            period, layers = w.count(option, 2), f.count("model.layers", 0)
            stages = f.count("layout.pipeline") * f.count("schedule.chunks")
            self.set("layout.recompute", option, "full", rule=MEMORY)
            if period > 1 and stages:
                self.set("layout.recompute_layers", option, f"[{-(-(layers // stages) // period)}]",
                         f"one of {period} layers", MEMORY)

    def stack(self) -> None:
        f, w = self.f, self.w
        f.set("framework.preset", From("torchtitan"), "torchtitan")
        model = w.find("compile.components") is None or w.lists("compile.components", "model")
        for word, value, *keys in (
                ("compile.enable", "true", "fused_activation", "fused_rotary"),
                (P + "enable_async_tensor_parallel", "true", "overlap_tensor_reduce",
                 "overlap_tensor_products"),
                (P + "disable_loss_parallel", "false", "parallel_loss")):
            if w.true(word) and (model or word != "compile.enable"):
                for key in keys:
                    self.set("framework." + key, word, value)
        unfused = w.text("optimizer.implementation", "fused") != "fused"
        if unfused or not w.true("optimizer.fused", True):
            self.set("framework.fused_optimizer",
                     "optimizer.implementation" if unfused else "optimizer.fused", "false")
        optimizer = w.text("optimizer.name", "AdamW")
        if not optimizer.startswith("Adam"):
            f.remark(w.source("optimizer.name"), f"{optimizer}: simulated as Adam")

    def read(self, file: File) -> None:
        self.w.rename(today)
        self.model()
        self.w.set_count_or("model.sequence", "training.seq_len", 2048, RULE)
        if self.w.find("model.norm_type") is not None:
            self.set("model.norm_kind", "model.norm_type",
                     "rmsnorm" if "rms" in self.w.text("model.norm_type", "rmsnorm") else
                     "layernorm")
        self.types()
        world_of(self.f, "NGPU", file)
        for part in (self.degrees, self.sharding, self.groups, self.batch, self.pipes,
                     self.recompute, self.stack):
            part()
        self.w.apply(ROWS)


def read(f: Facts) -> None:
    words = Flags(f)
    settings: Optional[File] = None
    for file in f.files:
        if file.path.endswith(".json"):
            huggingface.set_model(f, file)
        elif read_words(words, file) is not None:
            settings = file
    if f.refused:
        return
    if settings is None:
        f.refuse(From(f.files[0].path), "no TOML file of torchtitan; write one, such as train.toml")
        return
    Titan(f, words).read(settings)
