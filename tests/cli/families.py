#!/usr/bin/env python3
"""Hugging Face files as users have them: what `check`, `run` and `init` say of a model, what is read of
one and what is refused; and where there are files of others (../shared/configs), their facts.

usage: families.py TRAINYARD
"""
import csv
import json
import pathlib
import sys
import tempfile

from tap import Test

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = [ROOT.parent / "shared" / "configs", ROOT.parents[1] / "shared" / "configs"]
RUN = """cluster: {preset: dgx-h100, nodes: 1}
model: {huggingface: %s, mtp: 0}
layout: {data: auto, global_batch: 8}
"""
LLAMA = {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
         "intermediate_size": 1024, "vocab_size": 1000, "rms_norm_eps": 1e-5}
# File, what is said on standard error, keys of the model section.
SAID = [
    (LLAMA, [], {"mlp": "swiglu", "norm_kind": "rmsnorm", "bias": "false"}),
    ({**LLAMA, "model_type": "frog"}, ["model_type: unknown", "read as llama"], {"heads": "8"}),
    ({**LLAMA, "architectures": ["PondForCausalLM"]}, ["PondForCausalLM: a class that is not known"],
     {"layers": "4"}),
    ({"text_config": LLAMA, "vision_config": {"depth": 4}, "tie_word_embeddings": True},
     ["vision_config: left out: the language model alone is simulated"],
     {"tied": "true", "hidden": "512"}),
    ({**LLAMA, "num_nextn_predict_layers": 1}, ["num_nextn_predict_layers: these modules"],
     {"mtp": "1"}),
    ({**LLAMA, "model_type": "gemma2", "sliding_window": 64}, [],
     {"norms": "4", "tied": "true", "window": "64", "window_period": "2", "kv_heads": "4"}),
    ({**LLAMA, "model_type": "gpt_neo", "num_layers": 4, "num_heads": 8, "window_size": 64,
      "max_position_embeddings": 512, "attention_layers": ["global", "local"] * 2,
      "attention_types": [[["global", "local"], 2]]}, [],
     {"full_layers": "[0, 2]", "window": "64", "bias": "outputs", "positions": "512"}),
    ({**LLAMA, "model_type": "cohere2", "num_key_value_heads": 4, "layer_switch": 2,
      "use_embedding_sharing": True, "use_parallel_block": True, "use_gated_activation": True,
      "sliding_window": 64}, [], {"block": "parallel", "norm_kind": "layernorm-scale",
                                  "tied": "true", "window_period": "2"}),
    ({**LLAMA, "model_type": "gpt_neox"}, [], {"block": "parallel", "norms": "2", "rotary": "25 %"}),
]


def shown(test, folder):
    """The model section, key by key."""
    done = test.call(folder, "check", "run.yaml", "--show-config")
    rows = (line.split("#")[0].split(None, 1) for line in done.stdout.splitlines()
            if line.startswith("model."))
    return done, {row[0][len("model."):]: row[1].strip() for row in rows if len(row) > 1}


def write(folder, config, mtp=""):
    pathlib.Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
    pathlib.Path(folder, "run.yaml").write_text((RUN % "config.json").replace(", mtp: 0", mtp),
                                                encoding="utf-8")


def what_is_said(test, folder):
    for config, words, keys in SAID:
        write(folder, config)
        done, model = shown(test, folder)
        kind = config.get("model_type", "nested")
        test.check(f"{kind}: {', '.join(words) or 'nothing to say'}",
                   all(w in done.stderr for w in words) and bool(words) == bool(done.stderr), done)
        test.check(f"{kind}: {keys}", keys.items() <= model.items(), model)


def lists(test, folder):
    done = test.call(folder, "list", "families")
    known = {line.split()[0] for line in done.stdout.split("\n\n")[0].splitlines()}
    test.check("the list has the families and what is refused",
               {"llama", "qwen2", "gpt_neox", "deepseek_v3"} <= known and len(known) > 75
               and "zamba plamo2" in done.stdout, done)
    for name in sorted(known):
        write(folder, {"model_type": name})
        done = test.call(folder, "check", "run.yaml")
        test.check(f"{name} is known, and a file with nothing else not enough",
                   done.returncode == 3 and "missing; the model's size" in done.stderr, done)


def init(test, folder):
    config = {**LLAMA, "model_type": "qwen3", "num_key_value_heads": 4, "head_dim": 64}
    write(folder, config)
    done = test.call(folder, "init", "--model", "config.json", "-o", "first.yaml")
    run = test.call(folder, "check", "first.yaml")
    test.check("init takes a config.json", (done.returncode, run.returncode) == (0, 0), (done, run))


def of_others(test, folder, configs):
    """Facts of files that nobody here wrote."""
    with open(configs / "expected.csv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["format"] == "hf-config"]
    for row in rows:
        path = configs / row["file"].removeprefix("given/")
        if not path.is_file():
            print(f"# {row['id']}: no {path.name}")
            continue
        pathlib.Path(folder, "run.yaml").write_text(RUN % path, encoding="utf-8")
        if row["notes"].startswith("REFUSE"):
            done = test.call(folder, "check", "run.yaml")
            kind = json.loads(path.read_text(encoding="utf-8")).get("model_type")
            came = f"\n{kind} " in test.call(folder, "list", "families").stdout.split("\n\n")[0]
            test.check(f"{row['id']}: {'known since' if came else 'refused'}",
                       done.returncode in (0, 1) if came else
                       done.returncode == 3 and "model_type" in done.stderr, done)
            continue
        done = test.call(folder, "run", "run.yaml", "--stats", "json")
        said = json.loads(done.stdout) if done.stdout else {}
        want = [int(row["params"]), int(row["active_params"] or row["params"])]
        got = [said.get(k) for k in ("parameters", "parameters_active")]
        test.check(f"{row['id']}: {want[0]} parameters, {want[1]} active", got == want, (got, done))


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        what_is_said(test, folder)
        lists(test, folder)
        init(test, folder)
        there = [place for place in PLACES if (place / "expected.csv").is_file()]
        if there:
            of_others(test, folder, there[0])
        else:
            print("# no ../shared/configs: files of others are not read")
    print(f"1..{test.n}")
    return test.failed > 0


if __name__ == "__main__":
    sys.exit(main())
