#!/usr/bin/env python3
"""`trainyard init`: what it writes runs as it is, for every model on every machine; what cannot be
is said, and nothing is overwritten.

init.py TRAINYARD [--all]: all pairs of a model and a machine, else some of each.
"""
import json
import pathlib
import re
import sys
import tempfile

from few import WHOLE
from tap import Test

CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048,
          "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32,
          "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 131072,
          "tie_word_embeddings": False, "hidden_act": "silu", "rms_norm_eps": 1e-5}


def names(test, what):
    return [line.split()[0] for line in test.call(None, "list", what).stdout.splitlines()]


def value(text, key):
    return re.search(rf"^ +{key}: (\S+)", text, re.M)[1]


def judge(test, folder, name, *words):
    """A file of ten to twenty lines with comments, that fits and leaves some memory free."""
    done = test.call(folder, "init", *words, "-o", "run.yaml")
    path = folder / "run.yaml"
    text = path.read_text() if path.exists() else ""
    checked = test.call(folder, "check", "run.yaml") if text else done
    test.check(f"{name}: a file that fits", done.returncode == 0 and done.stdout == done.stderr == ""
               and 10 <= text.count("\n") <= 22 and text.count("#") > 7
               and checked.returncode == 0 and "does not fit" not in checked.stdout
               and "tight" not in checked.stdout, (done, text, checked))
    if text:
        path.unlink()
    return text


def every_pair(test, folder):
    alone = test.call(None, "init", "--cluster", "h100-pcie")
    test.check("a GPU that no cluster has is refused", alone.returncode == 2
               and "no cluster preset has this GPU" in alone.stderr, alone)
    models, machines = names(test, "models"), names(test, "clusters") + names(test, "gpus")
    machines.remove("h100-pcie")
    for i, model in enumerate(models):
        for k, machine in enumerate(machines):
            if WHOLE or (i + 3 * k) % 41 == 0:
                judge(test, folder, f"{model} on {machine}", "--model", model, "--cluster", machine)


def choices(test, folder):
    tuned = judge(test, folder, "adapters", "--model", "llama2-70b", "--lora", "16")
    test.check("adapters fit on a node that all states do not fit on", value(tuned, "nodes") == "1"
               and value(tuned, "lora") == "{rank:" and value(tuned, "global_batch") == "32", tuned)
    packed = judge(test, folder, "QLoRA", "--qlora", "16", "--gpus", "1")
    (folder / "packed.yaml").write_text(packed)
    said = test.call(folder, "check", "packed.yaml").stdout
    test.check("QLoRA stores weights in 4 bits, and check says so", value(packed, "frozen_dtype")
               == "nf4" and "adapters of rank 16; frozen matrices in nf4" in said, said)
    for words, part in ((("--lora", "0"), "--lora 0: not a whole number of at least 1"),
                        (("--lora", "8", "--qlora", "8"), "either in 16 or in 4 bits"),
                        (("--lora", "5000"), "rank 5000 is more than model.kv_heads")):
        done = test.call(folder, "init", *words)
        test.check(f"init {' '.join(words)} is refused", done.returncode in (2, 3)
                   and part in done.stderr and not done.stdout, done)
    small = judge(test, folder, "a small model", "--model", "gpt3-125m", "--gpus", "8")
    test.check("is not cut, and takes several sequences at a time", value(small, "tensor") == "1"
               and value(small, "pipeline") == "1" and int(value(small, "micro_batch")) > 1, small)
    large = judge(test, folder, "a large one", "--model", "gpt3-175b", "--cluster", "dgx-a100-80g",
                  "--gpus", "1024")
    test.check("is cut within a node first, then into stages", value(large, "tensor") == "8"
               and int(value(large, "pipeline")) > 1 and "recompute" not in large, large)
    replicas = 1024 // 8 // int(value(large, "pipeline"))
    each = int(value(large, "global_batch")) // replicas // int(value(large, "micro_batch"))
    test.check("with micro-batches enough for each stage",
               each >= 4 * int(value(large, "pipeline")), large)
    least = judge(test, folder, "as few nodes as will do", "--model", "llama2-70b")
    nodes = int(value(least, "nodes"))
    half = test.call(folder, "init", "--model", "llama2-70b", "--gpus", str(8 * nodes // 2))
    test.check("fewer need recomputation, or none is enough", half.returncode == 1
               or "recompute" in half.stdout, (least, half))
    sparse = judge(test, folder, "a model of experts", "--model", "mixtral-8x7b", "--gpus", "32")
    test.check("has them dealt to the ranks of a node", value(sparse, "expert") == "8", sparse)
    wide = judge(test, folder, "one for many nodes", "--model", "deepseek-v3", "--cluster",
                 "dgx-h800", "--gpus", "2048")
    test.check("keeps them in a node and matrices wide, and makes anew what is cheap",
               value(wide, "expert") == "8" and int(value(wide, "tensor")) <= 2
               and value(wide, "recompute") == "norm+mla_up+moe_act", wide)
    judge(test, folder, "experts on a GPU without bf16", "--model", "deepseek-v2-lite",
          "--cluster", "dgx1-v100")
    odd = judge(test, folder, "24 GPUs", "--model", "llama-13b", "--gpus", "24")
    test.check("are three nodes", value(odd, "nodes") == "3", odd)
    part = judge(test, folder, "two GPUs", "--model", "gpt3-350m", "--gpus", "2")
    test.check("are a part of one", value(part, "gpus_per_node") == "2", part)
    own = judge(test, folder, "a machine of one's own", "--cluster", "a100-sxm-80g")
    test.check("is spelled out", value(own, "gpu") == "a100-sxm-80g" and "preset: dgx" not in own
               and re.search(r"nvlink_bandwidth: 300 GB/s .*\n.*nics_per_node: \d+\n"
                             r" +nic_bandwidth: 200 Gb/s", own), own)
    same = [test.call(folder, "init", "--model", "llama-65b").stdout for _ in range(2)]
    test.check("the same every time", same[0] == same[1] != "", same)


def files(test, folder):
    (folder / "models").mkdir()
    (folder / "a job").mkdir()
    config = folder / "models/config.json"
    config.write_text(json.dumps(CONFIG))
    for name, word, where in (("a Hugging Face file", "models/config.json", "run.yaml"),
                              ("its folder", "models", "run.yaml"),
                              ("a file read from elsewhere", "models/config.json", "a job/r.yaml")):
        done = test.call(folder, "init", "--model", word, "--gpus", "8", "-o", where)
        run = test.call(folder, "run", where)
        text = (folder / where).read_text() if (folder / where).exists() else ""
        test.check(f"{name} is a model", done.returncode == run.returncode == 0
                   and "huggingface: " in text and value(text, "sequence") == "2048", (done, run, text))
        (folder / where).unlink(missing_ok=True)
    config.write_text("{")
    done = test.call(folder, "init", "--model", "models/config.json")
    test.check("one that is broken is told with its place", done.returncode == 3
               and done.stdout == "" and done.stderr.startswith("models/config.json:")
                   and "run.yaml" not in done.stderr, done)


def refusals(test, folder):
    (folder / "mine.yaml").write_text("mine")
    (folder / "nowhere.yaml").symlink_to("gone/away")
    for words, status, said in (
            (["-o", "mine.yaml"], 2, "trainyard init: -o mine.yaml: there is one already, and init "
             "overwrites nothing; write another name\n"),
            (["-o", "nowhere.yaml"], 2, "overwrites nothing"),
            (["-o", "no/run.yaml"], 3, "no/run.yaml: cannot be written (its folder does not exist)"),
            (["--model", "lama3-8b"], 2, 'did you mean "llama3-8b"?'),
            (["--model", "no/config.json"], 2, "neither a model nor a file"),
            (["--cluster", "dgx-a100"], 2, 'did you mean "dgx-a100-'),
            (["--gpus", "12"], 2, "--gpus 12: not a whole number of nodes of 8 GPUs; write 8 or 16\n"),
            (["--gpus", "0"], 2, "--gpus"),
            (["--gpus", "4000000"], 2, "more than 4096 nodes"),
            (["--model", "llama3-405b", "--gpus", "8"], 1, "it fits into "),
            (["llama-7b"], 2, "one word too many")):
        done = test.call(folder, "init", *words)
        test.check(f"init {' '.join(words)}", done.returncode == status and done.stdout == ""
                   and said in done.stderr, done)
    found = sorted(path.name for path in folder.iterdir())
    test.check("nothing is written then", found == ["mine.yaml", "nowhere.yaml"]
               and (folder / "mine.yaml").read_text() == "mine", found)
    done = test.call(folder, "init", "--model", "llama3-405b", "--gpus", "8")
    fits = re.search(r"--gpus (\d+)\n", done.stderr)[1]
    (folder / "mine.yaml").unlink()
    (folder / "nowhere.yaml").unlink()
    judge(test, folder, "what is said to fit", "--model", "llama3-405b", "--gpus", fits)


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    for part in (every_pair, choices, files, refusals):
        with tempfile.TemporaryDirectory() as name:
            part(test, pathlib.Path(name).resolve())
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
