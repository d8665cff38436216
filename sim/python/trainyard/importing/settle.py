"""The cluster of an imported job, and whether its world can be.

Files of jobs say what a model is and how it is laid out; the machine they leave to whoever starts
them. So --cluster and --gpus decide, then what the files say, then a guess that is told as one.
"""
import re

from . import engine
from .facts import Facts, From, Refused

PRESETS = {"v100": "dgx1-v100", "a100": "dgx-a100-80g", "h100": "dgx-h100", "h200": "dgx-h200",
           "h800": "dgx-h800", "b200": "dgx-b200", "b300": "dgx-b300", "gb200": "gb200-nvl72",
           "gb300": "gb300-nvl72"}
PRESET_NODE = 8  # GPUs of a node, of presets that say nothing else


def choose_cluster(f: Facts) -> None:
    if f.asked_cluster is not None:
        if not engine.preset("clusters", f.asked_cluster):
            raise Refused(f"--cluster {f.asked_cluster}: unknown preset; `trainyard list clusters` "
                          "shows all", 2)
        f.set("cluster.preset", From("--cluster"), f.asked_cluster)
    elif f.gpu:
        f.set("cluster.preset", f.gpu[1], PRESETS[f.gpu[0]],
              "a guess by its name; --cluster says it")
    else:
        why = ("fp8 runs on Hopper and later" if f.get("model.dtype") == "fp8"
               else "no file names a GPU")
        f.set("cluster.preset", From("guess"), "dgx-h100", why + "; --cluster says it")
        f.remark(From("guess"), "no file names a GPU: the cluster is a guess; --cluster says it")


def node_of(preset: str) -> int:
    """GPUs of a node of that preset; 0: there is no such preset."""
    text = engine.preset("clusters", preset)
    found = re.search(r"^\s*gpus_per_node:\s*(\d+)", text, re.M)
    return int(found[1]) if found else PRESET_NODE if text else 0


def set_nodes(f: Facts) -> None:
    preset = node_of(f.get("cluster.preset"))
    if preset == 0:
        return  # the run file's reader knows the names there are
    each = min(f.per_node or preset, f.gpus)
    while f.gpus % each != 0:
        each -= 1
    f.set("cluster.nodes", f.gpus_from, f.gpus // each, f"{f.gpus} GPU{'s' * (f.gpus != 1)}")
    if each != preset:
        f.set("cluster.gpus_per_node", f.gpus_from, each)


def check_world(f: Facts) -> None:
    grids = [("tensor", "context", "pipeline"), ("expert", "expert_tensor", "pipeline")]
    products = [f.product(*keys) for keys in grids]
    if 0 in products:
        return  # a degree of zero is the run file's to refuse
    if f.gpus == 0:
        multiple = f", a multiple of {max(products)}" if max(products) > 1 else ""
        why = f": {f.no_world}" if f.no_world else ""
        f.refuse(f.gpus_from,
                 f"how many GPUs there are is not known{why}; say it with --gpus N{multiple}")
        return
    for keys, product in zip(grids, products):
        if f.gpus % product != 0:
            facts = [f.facts[f"layout.{key}"] for key in keys if f.get(f"layout.{key}") not in
                     ("", "1")]
            told = ", ".join(f"{fact.source.word} {fact.value}" for fact in facts)
            f.refuse(f.gpus_from, f"a world of {f.gpus} GPUs is not a multiple of {product} "
                                  f"({told}); say how many there are with --gpus N")
            return


def check_batch(f: Facts) -> None:
    """The batch is whole micro-batches on every replica: a world that leaves another number of
    replicas is the more likely mistake, as files seldom say it."""
    each = f.product("tensor", "context", "pipeline")
    micro, whole = f.count("layout.micro_batch"), f.count("layout.global_batch", 0)
    replicas = f.gpus // each if each else 0
    if not whole or not micro or not replicas or whole % (replicas * micro) == 0:
        return
    source = f.facts["layout.global_batch"].source
    if whole % micro != 0:
        f.refuse(source, f"{whole} is no multiple of the micro-batch, {micro}")
        return
    most = min(whole // micro, replicas)
    while whole // micro % most != 0:
        most -= 1
    f.refuse(source, f"{whole} is no multiple of the micro-batch, {micro}, times {replicas} replicas"
                     f", which {f.gpus} GPUs make; say how many there are with --gpus N, such as "
                     f"{most * each}")


def settle(f: Facts) -> None:
    f.half = not {"model.layers", "model.preset", "model.huggingface"} & set(f.facts)
    if f.half:
        return
    if f.asked_gpus:
        if f.gpus and f.gpus != f.asked_gpus:
            f.remark(f.gpus_from,
                     f"the files say {f.gpus} GPUs; --gpus {f.asked_gpus} counts")
        f.gpus, f.gpus_from = f.asked_gpus, From("--gpus")
    choose_cluster(f)
    check_world(f)
    if not f.refused:
        check_batch(f)
    if not f.refused:
        set_nodes(f)
