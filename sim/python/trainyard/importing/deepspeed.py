"""`trainyard import deepspeed`: a script of Megatron-DeepSpeed with the JSON that it writes or names,
or a JSON alone, which is half a job.

Flags say what the model is and how it is laid out, the JSON how states are shared, in which type and
in which batch. JSON is read as YAML, which takes the bare words of templates (GBSIZE, ZERO_STAGE) for
texts: where a number belongs they are not known. Sources: notes on DeepSpeed's config.py and
zero/config.py (edaa7221).
"""
from typing import NamedTuple, Optional

from .bash import Shell
from .bash_text import Mark, Text
from .carriers import launched, read_carriers, variables
from .facts import Facts, File, From, Place, Refused, truth
from .flags import Flags, Table, number_of, short
from .megatron import Megatron
from .trees import Node, parse_yaml

BATCH, MICRO, STEPS = ("--global-batch-size", "--micro-batch-size", "--gradient-accumulation-steps")
ZERO = "zero_optimization"
ROWS = Table(
    taken="""train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps
        zero_optimization fp16 bf16 bfloat16 communication_data_type data_types""",
    no_key={"activation_checkpointing": "how checkpoints are kept makes no difference here; whether there "
                                        "are any is a flag's to say",
            "sparse_attention": "attention is over all tokens before",
            "aio": "NVMe is as fast as cluster.nvme says"},
    idle="""optimizer scheduler gradient_clipping prescale_gradients gradient_predivide_factor
        steps_per_print wall_clock_breakdown dump_state zero_allow_untested_optimizer
        zero_force_ds_cpu_optimizer flops_profiler comms_logger tensorboard wandb csv_monitor
        monitor_config curriculum_learning data_efficiency checkpoint elasticity seed""")
NO_KEY = {
    "zero_hpz_partition_size": "a second shard inside the node is not known",
    "zero_quantized_weights": "weights are gathered in 16 bits",
    "zero_quantized_gradients": "gradients are reduced in 16 or 32 bits",
}
# of stage 3: keys, and what transformers writes for "auto" times the hidden width (HfDeepSpeedConfig:
# reduce_bucket_size h h, stage3_prefetch_bucket_size 0.9 h h, stage3_param_persistence_threshold 10 h)
GATHERS = {
    "stage3_prefetch_bucket_size": ("framework.gather_prefetch", lambda h: 0.9 * h * h),
    "stage3_param_persistence_threshold": ("framework.gather_persistent", lambda h: 10 * h),
    "stage3_max_live_parameters": ("framework.gather_live", None),
    "stage3_max_reuse_distance": ("framework.gather_reuse", None),
    "reduce_bucket_size": ("framework.bucket", lambda h: h * h),
}


class Value(NamedTuple):
    """A value that is there; `doubt`: why it is not known."""
    node: Node
    source: From
    doubt: str


class Json:
    """DeepSpeed's JSON: a file, or what a script writes into one, whose marks say where."""

    def __init__(self, facts: Facts, flags: Flags, file: Optional[File] = None,
                 text: Optional[Text] = None) -> None:
        self.f, self.flags, self.written = facts, flags, text
        self.root: Optional[Node] = None
        if file is None:
            return
        try:
            self.root, again = parse_yaml(file)
        except Refused as why:
            facts.refuse_text(str(why))
            return
        if self.root is None or not isinstance(self.root.value, dict):
            self.root = None
            facts.refuse(From(file.path),
                         "no mapping; DeepSpeed's JSON has keys such as train_batch_size")
        if again:
            facts.remark(self.source(again.at, again.word),
                         "it is given more than once: the last counts")

    def mark(self, at: Place) -> Optional[Mark]:
        """Of what a script wrote there; None: it is a file."""
        if self.written is None or at.file is None:
            return None
        lines = self.written.s.split("\n")
        i = sum(len(line) + 1 for line in lines[:at.line - 1]) + at.column - 1
        return self.written.marks[i] if i < len(self.written) else None

    def source(self, at: Place, word: str) -> From:
        mark = self.mark(at)
        if mark and mark[0].line:
            return From(word, mark[0])
        return From(word, at._replace(shown=self.written is None))

    def find(self, section: str, key: str) -> Optional[Value]:
        """ "zero_optimization.stage": the value behind up to two keys."""
        node = self.root.child(section) if self.root and section else self.root
        node = node.child(key) if node else None
        if node is None or isinstance(node.value, list):
            return None
        mark = self.mark(node.at)
        doubt = (mark[1].why if mark and mark[1] and node.scalar else
                 "auto is set by the program that trains" if node.text == "auto" else "")
        return Value(node, self.source(node.at, f"{section}.{key}" if section else key), doubt)

    def number(self, section: str, key: str) -> Optional[float]:
        """None: it is not there, or not known, which is remarked."""
        value = self.find(section, key)
        if value is None or not value.node.scalar:
            return None
        number = number_of(value.node.text) if "_" not in value.node.text else None
        if value.doubt or number is None:
            self.f.remark(value.source, f"{value.node.text}: " + (
                value.doubt or "no number; a script may fill it in"))
            return None
        return number

    def true(self, section: str, key: str) -> bool:
        value = self.find(section, key)
        if value and value.doubt:
            self.f.remark(value.source, f"{value.node.text}: {value.doubt}")
        return bool(value) and not value.doubt and value.node.text in ("true", "True")

    def set(self, key: str, section: str, name: str, value: object) -> None:
        found = self.find(section, name)
        self.f.set(key, found.source if found else From("default of DeepSpeed"), value)

    # ---- the batch ----

    def batch(self) -> None:
        """What it says of the batch, as flags where there are none."""
        if self.root is None or self.f.refused:
            return
        words = {"train_batch_size": BATCH, "train_micro_batch_size_per_gpu": MICRO,
                 "gradient_accumulation_steps": STEPS}
        numbers = {key: self.number("", key) for key in words}
        for key, number in numbers.items():
            value, given = self.find("", key), self.flags.find(words[key])
            if number is None or value is None:
                continue
            if given is None:
                self.flags.put(words[key], value.source._replace(word=key), f"{number:.0f}")
            elif given.values and not given.values[0].doubt and (
                    number_of(given.first) not in (number, None)):
                self.f.refuse(value.source, f"{number:.0f} contradicts {words[key]} {given.first}")

    # ---- zero_optimization ----

    def offload(self, section: str, key: str) -> None:
        zero = self.root.child(ZERO) if self.root else None
        away = zero.child(section) if zero else None
        device, ratio = (away.child("device"), away.child("ratio")) if away else (None, None)
        if device is None or not device.scalar or device.text == "none":
            return
        self.f.set(key, self.source(device.at, f"{section}.device"), device.text)
        if ratio is not None and ratio.scalar:
            self.f.set("layout.offload_share", self.source(ratio.at, "offload_optimizer.ratio"),
                       ratio.text)

    def sharing(self) -> None:
        shard = self.number(ZERO, "mics_shard_size")
        if shard and shard > 0:
            self.set("layout.shard", ZERO, "mics_shard_size", f"{shard:.0f}")
        for key, note in NO_KEY.items():
            value = self.find(ZERO, key)
            if value and value.node.scalar and value.node.text not in ("false", "1"):
                self.f.remark(value.source, f"{value.node.text}: {note}")
        if self.true(ZERO, "cpu_offload"):
            self.set("layout.offload_optimizer", ZERO, "cpu_offload", "cpu")
        self.offload("offload_optimizer", "layout.offload_optimizer")
        self.offload("offload_param", "layout.offload_parameters")

    def elements(self, name: str) -> None:
        """A count of parameters; "auto" of jobs that transformers starts follows from the width."""
        key, rule = GATHERS[name]
        value, width = self.find(ZERO, name), number_of(self.f.get("model.hidden") or "")
        if value and value.node.text == "auto" and rule and width:
            number: Optional[float] = rule(width)
        else:
            number = self.number(ZERO, name)
        if number is not None and number >= 0 and (number > 0 or key != "framework.bucket"):
            self.set(key, ZERO, name,
                     f"{2 * number:.0f} B" if key == "framework.bucket" else f"{number:.0f}")

    def zero(self) -> None:
        stage, found = self.number(ZERO, "stage"), self.find(ZERO, "stage")
        if stage is not None and found and not 0 <= stage <= 3:
            self.f.refuse(found.source, f"{short(stage)} is no stage; write 0 to 3")
            return
        if stage is not None:
            self.set("layout.zero", ZERO, "stage", f"{stage:.0f}")
        elif found is None and "layout.zero" not in self.f.facts:
            self.set("layout.zero", ZERO, "stage", "0")
        if self.f.get("layout.zero") == "0":
            return  # the rest is of stages from 1
        overlap = (self.true(ZERO, "overlap_comm") if self.find(ZERO, "overlap_comm") else
                   stage == 3)
        self.set("framework.overlap_grad_reduce", ZERO, "overlap_comm", truth(overlap))
        for name in GATHERS if stage == 3 else ("reduce_bucket_size",):
            self.elements(name)
        if stage == 3 and self.f.get("framework.preset") in (None, "", "megatron-deepspeed"):
            self.set("framework.preset", ZERO, "stage", "deepspeed-zero3")
        if self.find(ZERO, "reduce_scatter"):
            self.set("framework.reduce_scatter", ZERO, "reduce_scatter",
                     truth(self.true(ZERO, "reduce_scatter")))
        self.sharing()

    # ---- types and words ----

    def types(self) -> None:
        for section, kind in (("fp16", "fp16"), ("bf16", "bf16"), ("bfloat16", "bf16")):
            if not self.true(section, "enabled") or self.f.get("model.dtype") == "fp8":
                continue
            flag, value = self.f.facts.get("model.dtype"), self.find(section, "enabled")
            if flag and value and flag.source.at.line and flag.value != kind:
                self.f.refuse(value.source, f"it contradicts {flag.source.word}")
            else:
                self.set("model.dtype", section, "enabled", kind)
        for key, section, word in (
                ("framework.reduce_dtype", "", "communication_data_type"),
                ("framework.grad_dtype", "data_types", "grad_accum_dtype")):
            value = self.find(section, word)
            if value and not value.doubt:
                self.set(key, section, word, "fp32" if value.node.text == "fp32" else "model")
        # its optimizer for bf16 keeps one 32-bit copy for all replicas, whatever the stage
        if self.f.get("model.dtype") == "bf16" and self.f.get("layout.zero") == "0":
            self.f.remark(self.f.facts["layout.zero"].source,
                          "with bf16 its optimizer shares its state all the same: memory and "
                          "traffic are those of layout.zero=1")

    def words(self) -> None:
        for key, entry in self.root.map.items() if self.root else ():
            use, note, _ = ROWS.find(key) or ("", "", None)
            source = self.source(entry.node.at, key)
            if use == "idle":
                self.f.tell_idle(source)
            elif use == "no key":
                self.f.remark(source, note)
            elif not use:
                self.f.tell_unknown(source, entry.node.text)

    def read(self) -> None:
        """All but the batch; it counts more than flags do."""
        if self.root is None or self.f.refused:
            return
        self.zero()
        self.types()
        self.words()
        if "model.layers" not in self.f.facts:  # half a job
            self.flags.set_count("layout.micro_batch", MICRO)
            self.flags.set_count("layout.global_batch", BATCH)


def find_json(f: Facts, shell: Shell, flags: Flags) -> Json:
    """A file that a script writes or that was given, by the value of a flag."""
    flag = flags.find("--deepspeed-config")
    path = flag.first if flag else ""
    text = shell.file_text(path, Place(shell.files[0])) if path and shell.files else None
    if text is not None:
        return Json(f, flags, File(path.rpartition("/")[2], text.s), text)
    for file in f.files:
        if file.path.endswith(".json"):
            return Json(f, flags, file)
    if flag and flag.values:
        f.remark(flag.source, f"{path} is neither written by the script nor given: how states are "
                              "shared is not known; name it, too")
    return Json(f, flags)


def read_batch(f: Facts, json: Json, flags: Flags) -> None:
    """Without a batch in flags or JSON it follows from the replicas, which no word says."""
    json.batch()
    steps = flags.find(STEPS)
    if steps is not None and steps.values and flags.find(BATCH) is None:
        f.remark(steps.source, f"{steps.first}: the batch is micro-batch x this x replicas; say it "
                               "with layout.global_batch")


def read(f: Facts) -> None:
    flags, shell = Flags(f), Shell(f)
    script = any(not file.path.endswith(".json") for file in f.files)
    if script:
        read_carriers(f, shell, flags)
        if f.refused:
            return
        launched(f, flags)
        variables(f, shell)
    json = find_json(f, shell, flags)
    read_batch(f, json, flags)
    if script:
        Megatron(f, flags, fork=True).read()
        if flags.has("--zero-stage") and not flags.has("--use-distributed-optimizer"):
            flags.set_count("layout.zero", "--zero-stage")
    json.read()
