"""What flags come in: a script, whose programs, #SBATCH lines and variables are looked at, or YAML.

Of all programs that a script starts the job is the one with the most flags that are known. Quotes
around several words (bash -c "...") are opened. A file that only sets arrays, as `plan --emit` writes
them, has no program: then its variables are looked at.
"""
import re
from typing import List, NamedTuple, Optional, Sequence, Tuple

from .bash import Array, Command, Shell
from .bash_text import Doubt, Text, split_words
from .facts import UINT_MAX, Facts, File, From, Place, whole_number
from .flags import Flags, Table
from .megatron_rows import IDLE_ROWS, ROWS
from .trees import Node, read_tree

FEWEST = 3  # flags that are known, of what is taken for a job
FLAG = re.compile("--[A-Za-z]")
MEGATRON = "Megatron-LM, such as --num-layers"
# Programs that train no decoder of language.
PROGRAMS = {
    "pretrain_bert": "it trains an encoder", "pretrain_t5": "it trains an encoder and a decoder",
    "pretrain_ict": "it trains an encoder", "pretrain_biencoder": "it trains an encoder",
    "pretrain_realm": "it trains an encoder", "pretrain_vision": "it trains a model of pictures",
    "pretrain_vlm": "its decoder has an encoder of pictures before it",
    "pretrain_retro": "its layers attend to retrieved texts",
    "pretrain_mamba": "Mamba layers are not known; only transformers are",
    "pretrain_hybrid": "Mamba layers are not known; only transformers are",
}


def why(doubt: Optional[Doubt]) -> str:
    return doubt.why if doubt else ""


def from_of(word: Text) -> From:
    return From(word.s, word.at)


# ---- words to flags ----

def opened(words: Sequence[Text]) -> List[Text]:
    """With the words of those that hold a command line of their own."""
    found: List[Text] = []
    for word in words:
        holds = " --" in word.s or "\n--" in word.s or re.match("--.*[ \n]", word.s)
        found += split_words(word) if holds else [word]
    return found


def is_flag(word: Text) -> bool:
    return FLAG.match(word.s) is not None


def flag_name(word: Text) -> str:
    """ "--num_layers=4" is "--num-layers"."""
    return word.s.partition("=")[0].replace("_", "-")


def program_at(words: Sequence[Text]) -> int:
    """The word that is the program in Python; len(words): it is started otherwise."""
    return next((i for i, word in enumerate(words)
                 if word.s[:1] != "-" and word.s.endswith(".py")), len(words))


def name_of(word: Text) -> str:
    return word.s.rpartition("/")[2]


def put_launchers(words: Sequence[Text], doubt: str, flags: Flags) -> None:
    """Launchers before the program: what is known of their options is kept, and how many processes
    MPI starts, unless each starts others; the rest has no part in a step."""
    names = [name_of(word) for word in words]
    mpi = {"mpirun", "mpiexec"} & set(names) and not any(
        name in ("torchrun", "accelerate") or name.startswith("torch.distributed.")
        for name in names)
    is_open = False
    for word in words:
        if mpi and word.s in ("-np", "-n"):
            flags.put("--num-processes", from_of(word))
            is_open = True
        elif is_flag(word):
            name = flag_name(word)
            is_open = bool(ROWS.find(name) or IDLE_ROWS.find(name))
            if is_open:
                flags.add(word.s, from_of(word), doubt or why(word.doubt))
            else:
                flags.facts.tell_idle(from_of(word))
        elif is_open and not flags.all[-1].values:
            flags.value(word.s, why(word.doubt))


def put_words(words: Sequence[Text], doubt: str, flags: Flags) -> None:
    program = program_at(words)
    if 0 < program < len(words):
        put_launchers(words[:program], doubt, flags)
        words = words[program + 1:]
    elif program == 0 and words:
        words = words[0:]
    for word in words:
        whole = word.wholly()
        if is_flag(word):
            flags.add(word.s, from_of(word), doubt or why(word.doubt))
        elif not flags.all:
            continue
        elif whole and whole.unset and flags.all[-1].values:
            flags.facts.remark(from_of(word), f"taken as empty: {whole.why}")
        elif not re.match("-[a-z]", word.s):  # -m, -u of interpreters and launchers
            flags.value(word.s, why(word.doubt))


# ---- which program is the job ----

def known(rows: Table, words: Sequence[Text]) -> int:
    return sum(1 for word in words if is_flag(word) and rows.find(flag_name(word)))


def choose(facts: Facts, shell: Shell, rows: Table) -> Tuple[Optional[Command], List[Text]]:
    """The command with the most known flags; of equals the last one."""
    best: Optional[Command] = None
    words: List[Text] = []
    most, alike = FEWEST - 1, 0
    for command in shell.commands:
        found = opened(command.words)
        n = known(rows, found)
        alike += n >= FEWEST and n + 2 >= most
        if n >= max(most, FEWEST):
            most, best, words = n, command, found
    if best and alike > 1:
        facts.remark(From(best.words[0].s, best.at),
                     f"one of {alike} programs that look like the job; this one is taken")
    return best, words


def loose_words(shell: Shell, rows: Table) -> List[Text]:
    """Flags that stand alone on lines without a program; else the variables of a script."""
    found = [word for command in shell.commands if is_flag(command.words[0])
             for word in opened(command.words)]
    if known(rows, found) >= FEWEST:
        return found
    found = []
    for value in shell.vars.values():
        own = opened(list(value.values()) if isinstance(value, Array) else split_words(value))
        found += own if known(rows, own) else []
    return found


def check_program(facts: Facts, words: Sequence[Text]) -> None:
    at = program_at(words)
    name = name_of(words[at]) if at < len(words) else ""
    for begin, what in PROGRAMS.items():
        if name.startswith(begin):
            facts.refuse(From(name, words[at].at), f"{what}; decoders are known")


def default_processes(facts: Facts, words: Sequence[Text], flags: Flags) -> None:
    """torchrun starts one process on each node where nobody says how many."""
    for word in words:
        if (facts.gpus or word.doubt or word.s.endswith(".py")
                or flags.find("--nproc-per-node") is not None):
            return
        if name_of(word) == "torchrun":
            flags.put("--nproc-per-node", From("torchrun", word.at), "1")


def read_script(facts: Facts, file: File, rows: Table, whose: str, shell: Shell,
                flags: Flags) -> None:
    """Flags of the program that has most of a table; `whose` is for messages."""
    read_sbatch(facts, file, shell)
    shell.run(file)
    if facts.refused:
        return
    job, words = choose(facts, shell, rows)
    words = words if job else loose_words(shell, rows)
    if known(rows, words) >= FEWEST:
        put_words(words, why(job.doubt) if job else "", flags)
        check_program(facts, words)
        default_processes(facts, words, flags)
    elif shell.ended:
        facts.refuse(From("exit", shell.ended),
                     "the script ends here before it starts a job; give its arguments with "
                     "--env 1=VALUE, and what it asks for with --env NAME=VALUE")
    else:
        facts.refuse(From(file.path), f"no program in it has flags of {whose}")


def read_carriers(facts: Facts, shell: Shell, flags: Flags) -> None:
    """The flags of all files, but for JSON: YAML, else scripts and command lines. The first script
    starts the job; the others are there to be sourced."""
    scripts: List[File] = []
    for file in facts.files:
        if facts.refused:
            return
        if file.path.endswith((".yaml", ".yml")):
            read_yaml(facts, file, flags)
        elif not file.path.endswith(".json"):
            scripts.append(file)
            if len(scripts) == 1:
                read_script(facts, file, ROWS, MEGATRON, shell, flags)
                facts.notice_gpu(file.name, From(file.name))
    for file in scripts[1:] if not facts.refused else ():
        if file not in shell.files:
            facts.remark(From(file.name), f"nothing in {scripts[0].name} reads it")


# ---- how many GPUs: #SBATCH lines ----

class _Sbatch(NamedTuple):
    name: str
    value: str
    source: From


def _sbatch_options(file: File) -> List[_Sbatch]:
    """--name=value, --name value, -N value, -N24; what stands alone is none."""
    found: List[_Sbatch] = []
    for number, line in enumerate(file.lines(), 1):
        if not line.startswith("#SBATCH"):
            continue
        words = line[7:].split("#")[0].split()
        for i, word in enumerate(words):
            source = From(f"#SBATCH {word}", Place(file, number, 1))
            name, equals, value = word.partition("=")
            if equals:
                found.append(_Sbatch(name, value, source))
            elif re.match("-[^-].", word):
                found.append(_Sbatch(word[:2], word[2:], source))
            elif word[0] == "-" and i + 1 < len(words) and words[i + 1][0] != "-":
                found.append(_Sbatch(word, words[i + 1], source))
    return found


def _last_number(value: str) -> int:
    """8 of gpu:a100:8; 0: there is none."""
    found = re.match("[0-9]+", value.rpartition(":")[2])
    return int(found[0]) if found and int(found[0]) <= 1 << 24 else 0


def read_sbatch(facts: Facts, file: File, shell: Shell) -> None:
    """How many GPUs #SBATCH lines ask for, which Slurm then says in variables."""
    nodes = each = tasks = gpus = 0
    nodes_from = gpus_from = From("")
    for name, value, source in _sbatch_options(file):
        if name in ("--nodes", "-N"):
            nodes, nodes_from = _last_number(value.partition("-")[2] or value), source
        elif name in ("--gres", "--gpus-per-node"):
            each, gpus_from = _last_number(value), source
            facts.notice_gpu(value, source)
        elif name in ("--gpus", "-G"):
            gpus, gpus_from = _last_number(value), source
        elif name == "--ntasks-per-node":
            tasks = _last_number(value)
        elif name in ("--constraint", "-C", "--partition", "-p"):
            facts.notice_gpu(value, source)
    all_tasks = nodes * (tasks or 1)
    for variable, number, source in (
            ("SLURM_NNODES", nodes, nodes_from), ("SLURM_JOB_NUM_NODES", nodes, nodes_from),
            ("SLURM_GPUS_PER_NODE", each, gpus_from), ("SLURM_GPUS_ON_NODE", each, gpus_from),
            ("SLURM_NTASKS_PER_NODE", tasks, nodes_from), ("SLURM_NTASKS", all_tasks, nodes_from),
            ("SLURM_NPROCS", all_tasks, nodes_from)):
        if 0 < number < UINT_MAX and shell.value(variable) is None:
            shell.assign(variable, Text.of(str(number), source.at))
    each = each or tasks
    found = gpus or nodes * each
    if 0 < found < UINT_MAX and not facts.gpus:
        facts.gpus, facts.per_node = found, 0 if gpus else each
        facts.gpus_from = gpus_from if gpus else nodes_from


# ---- what launchers are told, and variables by the names that people give them ----

def _told(facts: Facts, flags: Flags, name: str) -> int:
    """ "8", "1:4" (the most); else 0, and why."""
    flag = flags.find(name)
    if flag is None or not flag.values:
        return 0
    number = whole_number(flag.first.rpartition(":")[2])
    doubt = flag.doubt or flag.values[0].doubt
    if doubt or number is None or number > 1 << 24:
        facts.no_world = doubt or f"{flag.first} is no whole number"
        facts.gpus_from = flag.source
        return 0
    return number


def launched(facts: Facts, flags: Flags) -> None:
    if facts.asked_gpus:
        return
    each, nodes = (flags.first_of("--nproc-per-node", "--num-gpus"),
                   flags.first_of("--nnodes", "--num-nodes"))
    every = flags.first_of("--num-processes", "--world-size")
    if flags.find(each) is None:
        each = "--num-gpus"
    if flags.find(nodes) is None:
        nodes = "--num-nodes"
    per_node, n_nodes = _told(facts, flags, each), _told(facts, flags, nodes)
    whole = _told(facts, flags, every)
    said = flags.find(nodes) is not None
    if whole:
        facts.gpus, facts.gpus_from = whole, flags.source(every)
    elif per_node and (n_nodes or not said):
        gpus = per_node * (n_nodes or 1)
        facts.gpus, facts.per_node = gpus if gpus < UINT_MAX else 0, per_node
        facts.gpus_from = flags.source(nodes if said else each)


def _variable(shell: Shell, names: str) -> Tuple[int, From]:
    """The first that is a number above 0."""
    for name in names.split():
        value = shell.vars.get(name)
        if isinstance(value, Text) and len(value):
            number, doubt = shell.arithmetic(value)
            if not doubt and 1 <= number <= 1 << 24:
                return number, From(name, value.at if value.at.line else Place())
    return 0, From("")


def variables(facts: Facts, shell: Shell) -> None:
    """What a script calls WORLD_SIZE and the like, where nothing else says it."""
    if facts.known_gpus():
        return
    gpus, source = _variable(shell, "WORLD_SIZE NUM_GPUS N_GPUS NGPUS TOTAL_GPUS")
    per_node, _ = _variable(
        shell, "GPUS_PER_NODE NUM_GPUS_PER_NODE NPROC_PER_NODE NGPUS_PER_NODE GPN")
    if not gpus and per_node:
        nodes, source = _variable(shell, "NNODES NUM_NODES N_NODES NODES NUM_WORKERS")
        gpus = per_node * nodes
    if 0 < gpus < UINT_MAX:
        facts.gpus, facts.per_node, facts.gpus_from = gpus, per_node, source
        facts.remark(source,
                     f"{gpus} GPUs by the name of a variable: no launcher sets the number")


# ---- flags that stand in YAML ----

# Sections of a file for --yaml-cfg call a few flags otherwise: word, flag, the value that means it.
CALLED = [row.split() for row in """
    num_moe_experts --num-experts
    add_bias_linear --disable-bias-linear false
    activation_func --swiglu swiglu
    activation_func --squared-relu squaredrelu
    gated_linear_unit --swiglu true
    layernorm_zero_centered_gamma --apply-layernorm-1p true
    encoder_seq_length --seq-length
    virtual_pipeline_model_parallel_size --num-virtual-stages-per-pipeline-rank
    microbatch_group_size_per_vp_stage --microbatch-group-size-per-vp-stage
    fp8 --fp8-format
    gradient_accumulation_fusion --no-gradient-accumulation-fusion false
    apply_rope_fusion --no-rope-fusion false
    bias_swiglu_fusion --no-bias-swiglu-fusion false
    masked_softmax_fusion --no-masked-softmax-fusion false
    overlap_p2p_comm --no-overlap-p2p-communication false
    scatter_gather_tensors_in_pipeline --no-scatter-gather-tensors-in-pipeline false
    async_tensor_model_parallel_allreduce --no-async-tensor-model-parallel-allreduce false
    cpu_offloading_num_layers --cpu-offloading-num-layers
""".strip().splitlines()]
# Fields that no flag is for: the capacity says moe_token_dropping, tp_comm_overlap how it is done,
# cpu_offloading what is taken, fp16 and bf16 the types.
FIELDS = Table(idle="""fp8_wgrad moe_token_dropping tp_comm_split_ag tp_comm_split_rs
    tp_comm_atomic_ag tp_comm_atomic_rs tp_comm_bulk_wgrad tp_comm_bulk_dgrad
    cpu_offloading_activations bias_activation_fusion bias_dropout_fusion persist_layer_norm
    memory_efficient_layer_norm clone_scatter_output_in_embedding enable_autocast batch_p2p_comm
    batch_p2p_sync deallocate_pipeline_outputs delay_param_gather standalone_embedding_stage
    adlr_autoresume* retriever_seq_length sample_rate rotary_interleaved params_dtype pipeline_dtype
    autocast_dtype""")


def put_flag(flags: Flags, name: str, source: From, node: Node) -> None:
    """ `true` is a bare flag, `false` none; of a flag that is on by itself it is --no-..."""
    if isinstance(node.value, dict) or node.is_null() or node.truth() is False:
        return
    flag = flags.put(name, source)
    if node.truth() is True:
        return
    if isinstance(node.value, list):
        for item in node.value:
            if item.scalar:
                flags.value(item.text)
        return
    dollar = node.text.find("$")
    flags.value(node.text, f"{node.text[dollar:]} is set by the person who runs it"
                if dollar >= 0 else "")
    assert flag is flags.all[-1]


def read_args(args: Node, flags: Flags) -> None:
    """MODEL_ARGS, perhaps by mode: MODEL_ARGS: {pretrain: {--x: ...}}."""
    for key, entry in args.map.items():
        if key.startswith("--"):
            put_flag(flags, key.replace("_", "-"), entry.source, entry.node)
        else:
            read_args(entry.node, flags)


def read_sections(section: Node, flags: Flags) -> None:
    for key, entry in section.map.items():
        node, n = entry.node, len(flags.all)
        if isinstance(node.value, dict):
            read_sections(node, flags)
            continue
        called = [row for row in CALLED if row[0] == key]
        for _, flag, *only in called:
            if not only:
                put_flag(flags, flag, entry.source, node)
            elif (node.truth() is (only[0] == "true") if only[0] in ("true", "false")
                  else node.scalar and node.text == only[0]):
                flags.put(flag, entry.source)
        if not called and FIELDS.find(key) is None:
            name = key.replace("_", "-")
            put_flag(flags, name if name.startswith("--") else "--" + name, entry.source, node)
        elif len(flags.all) == n:
            flags.facts.tell_idle(entry.source)
    groups = section.map.get("num_query_groups")
    if groups and not groups.node.is_null():  # the flag is not asked for there
        flags.put("--group-query-attention", groups.source)


def read_yaml(facts: Facts, file: File, flags: Flags) -> None:
    """Flags of a mapping MODEL_ARGS, or of the sections of --yaml-cfg."""
    root = read_tree(facts, file)
    if root is not None:
        args = root.child("MODEL_ARGS")
        if args is not None:
            read_args(args, flags)
        else:
            read_sections(root, flags)
