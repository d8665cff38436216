#!/usr/bin/env python3
"""What a run is called: by `model.name`, else its preset, else what the Hugging Face file is of, else
its file; in all that has a title.

usage: titles.py TRAINYARD
"""
import json
import pathlib
import re
import sys
import tempfile

from tap import Test

RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {%s, sequence: 256}
layout: {pipeline: 2, global_batch: 8}
"""
OWN = "layers: 4, hidden: 512, heads: 8, vocabulary: 1000"
HF = {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
      "intermediate_size": 1024, "vocab_size": 1000}
FILES = {"tiny.json": HF, "config.json": HF,
         "named.json": {"_name_or_path": "acme/it's-4: x", **HF},
         "broken.json": {"_name_or_path": "\u009b31m", **HF},
         "placed.json": {"_name_or_path": "/models/acme-4", **HF}}
# Model section, settings, title.
TITLES = [
    (OWN, [], "my-net"),
    (OWN + ", name: Net 4", [], "Net 4"),
    ("preset: llama-7b", [], "llama-7b"),
    ("preset: llama-7b, layers: 4", ["model.name=small llama"], "small llama"),
    ("preset: llama-7b, name: auto", [], "llama-7b"),
    ("huggingface: tiny.json", [], "tiny"),
    ("huggingface: config.json", [], "llama"),
    ("huggingface: named.json", [], "acme/it's-4: x"),
    ("huggingface: placed.json", [], "acme-4"),
    ("huggingface: broken.json", [], "broken"),
    ("huggingface: named.json, name: own", [], "own"),
    ("huggingface: named.json", ["model.preset=llama-7b"], "llama-7b"),
]


def run_file(folder, name, model):
    pathlib.Path(folder, name).write_text(RUN % model, encoding="utf-8")


def titles_of(test, folder, sets):
    """All titles of a run."""
    traces = [w for f in ("svg", "chrome") for w in ("--trace", f"{f}:t.{f}")]
    run = test.call(folder, "run", "my-net.yaml", *sets, *traces)
    yield "run", run.stdout.split(",")[0]
    yield "explain", test.call(folder, "explain", "my-net.yaml", *sets).stdout.split(",")[0]
    test.call(folder, "report", "my-net.yaml", "-q", "-o", "t.html", *sets)
    page = pathlib.Path(folder, "t.html").read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', page, re.S)
    yield "report", json.loads(data.group(1))["runs"][0]["model"]
    svg = pathlib.Path(folder, "t.svg").read_text(encoding="utf-8")
    yield "svg", re.search("<title>(.*), 1f1b</title>", svg).group(1).replace("&apos;", "'")
    chrome = json.loads(pathlib.Path(folder, "t.chrome").read_text(encoding="utf-8"))
    yield "chrome", chrome["otherData"]["model"]


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        for name, config in FILES.items():
            pathlib.Path(folder, name).write_text(json.dumps(config), encoding="utf-8")
        digests = set()
        for model, settings, title in TITLES:
            run_file(folder, "my-net.yaml", model)
            sets = [w for s in settings for w in ("--set", s)]
            said = dict(titles_of(test, folder, sets))
            test.check(f"{model} {' '.join(settings)}: {title}", set(said.values()) == {title}, said)
            if model.startswith(OWN):
                done = test.call(folder, "run", "my-net.yaml", "--stats", "json")
                digests.add(json.loads(done.stdout)["config_digest"])
        test.check("a name changes nothing else", len(digests) == 1, digests)

        run_file(folder, "my-net.yaml", OWN)
        stdin = pathlib.Path(folder, "my-net.yaml").read_text(encoding="utf-8")
        done = test.call(folder, "run", "-", input=stdin)
        test.check("what is read from standard input is a model",
                   done.stdout.startswith("model, "), done.stdout[:80])

        run_file(folder, "other-net.yaml", OWN.replace("4", "8"))
        done = test.call(folder, "diff", "my-net.yaml", "other-net.yaml")
        test.check("that files have names is no difference of theirs",
                   "model.layers" in done.stdout and "model.name" not in done.stdout, done.stdout)
        done = test.call(folder, "diff", "my-net.yaml", "--against-set", "model.name=other")
        test.check("a name that somebody gave is one",
                   re.search("model.name +my-net +other", done.stdout), done.stdout)

        pathlib.Path(folder, "my-net.yaml").write_text(
            RUN.replace("nodes: 1", "nodes: 3").replace("global_batch", "data: 4, global_batch")
            % OWN + "jobs:\n- {name: same, model: {name: twin}}\n"
            "- {name: filed, file: other-net.yaml, layout: {data: 4}}\n", encoding="utf-8")
        done = test.call(folder, "check", "my-net.yaml")
        test.check("jobs are called in the same way",
                   done.stdout.startswith("my-net, ") and "same: twin, " in done.stdout and
                   "filed: other-net, " in done.stdout, done)
    print(f"1..{test.n}")
    return test.failed > 0


if __name__ == "__main__":
    sys.exit(main())
