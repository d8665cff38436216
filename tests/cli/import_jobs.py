#!/usr/bin/env python3
"""`trainyard import` of jobs: facts of scripts in jobs/ beside this file, and of the configurations
that ../shared/configs holds where it is there (expected.csv), value by value.

usage: import_jobs.py TRAINYARD [--table]   with --table a row for each job: what was found

A job is a row of JOBS: whose it is, its files, what has to be said on the command line. What it must
give is written beside it, or is the row of that name in expected.csv; a refusal is the part of the
message that has to be there.
"""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

import tap

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE / "jobs"
CONFIGS = HERE.parents[2] / "shared" / "configs"
if not CONFIGS.is_dir():  # a worktree beside others
    CONFIGS = HERE.parents[3] / "shared" / "configs"

# column of expected.csv: key
KEYS = {
    "layers": "model.layers", "hidden": "model.hidden", "heads": "model.heads",
    "kv_heads": "model.kv_heads", "head_dim": "model.head_dim", "ffn": "model.ffn",
    "mlp": "model.mlp", "norm": "model.norm_kind", "tied": "model.tied",
    "positions": "model.positions", "padded_vocab": "model.vocabulary",
    "experts": "model.experts", "top_k": "model.experts_per_token", "moe_ffn": "model.expert_ffn",
    "shared_ffn": "model.shared_ffn", "mtp_layers": "model.mtp", "seq": "model.sequence",
    "tp": "layout.tensor", "pp": "layout.pipeline", "vp": "schedule.chunks", "cp": "layout.context",
    "ep": "layout.expert", "etp": "layout.expert_tensor", "dp": "layout.data",
    "shard": "layout.shard", "micro_batch": "layout.micro_batch",
    "global_batch": "layout.global_batch", "precision": "model.dtype",
    "recompute": "layout.recompute", "zero": "layout.zero",
    "sequence_parallel": "layout.sequence_parallel", "schedule": "schedule.name",
    "stage_layers": "layout.stage_layers", "bias": "model.bias", "attention": "model.attention",
}


def job(stack, *files, more=(), **facts):
    return {"stack": stack, "files": files, "more": list(more), "facts": facts}


# Rows whose files are kept elsewhere; the worlds that these do not say are chosen to divide.
GIVEN = {
    "g04": job("megatron", "g04-megatron-lm/model_config.yaml", more=["--gpus", "8"]),
    "g05": job("megatron", "g05-megatron-lm/model_config.yaml", more=["--gpus", "4"]),
    "g06": job("megatron", "g06-megatron-lm/model_config.yaml", more=["--gpus", "64"]),
    "g07": job("megatron", "g07-megatron-lm/model_config.yaml", more=["--gpus", "64"]),
    "g08": job("megatron", "g08-megatron-lm/model_config.yaml", more=["--gpus", "64"]),
    "g09": job("megatron", "g09-megatron-lm/model_config.yaml", more=["--gpus", "128"]),
    "g36": job("deepspeed", "g36-accelerate/zero_stage3_offload_config.json"),
}

# Command lines written here, in the style of those that are published.
OWN = {
    "gpt3 175B, 1536 GPUs": job(
        "megatron", "gpt3-175b.sh", more=["--gpus", "1536"], params=174615846912, tp=8, pp=16, dp=12,
        padded_vocab=51200, global_batch=1536, precision="fp16", zero=0, positions=2048, tied="true",
        bias="true", schedule="1f1b"),
    "mixtral, 64 GPUs": job(
        "megatron", "mixtral.sh", more=["--gpus", "64"], tp=1, pp=4, ep=8, etp=1, dp=16, kv_heads=8,
        experts=8, top_k=2, moe_ffn=14336, seq=4096, params_without_vocab=46440648704, zero=1,
        sequence_parallel="false", global_batch=256),
    "llama3 8B in fp8": job(
        "megatron", "llama3-8b-h100-fp8.sh", params=8030261248, dp=8, precision="fp8", zero=1,
        global_batch=128, padded_vocab=128256, kv_heads=8, norm="rmsnorm", bias="false"),
    "bloom 176B": job(
        "deepspeed", "bloom-176b.slurm", params=176247271424, tp=4, pp=12, dp=4, zero=0,
        padded_vocab=250880, global_batch=2048, micro_batch=2, recompute="full", precision="bf16",
        positions="none", stage_layers="5,6,6,6,6,6,6,6,6,6,6,5", ffn=57344),
    "bigscience 13B": job(
        "deepspeed", "bigscience-13b.slurm", params=12854282240, tp=2, pp=4, dp=64, zero=1,
        head_dim=160, padded_vocab=50432, global_batch=1024, recompute="full", precision="fp16"),
    "gpt 175B with ZeRO-3": job(
        "deepspeed", "gpt-175b-azure.sh", params=174592253952, tp=1, pp=1, dp=8, zero=3,
        micro_batch=4, global_batch=32, seq=1024, recompute="full", padded_vocab=50304),
    "gpt 13B, a JSON by sed": job(
        "deepspeed", "gpt-13b-template.sh", more=["--gpus", "128"], params=12855592960, tp=4, pp=8,
        dp=4, zero=1, micro_batch=2, global_batch=1024, padded_vocab=50688, recompute="full"),
    "llama2 of DeepSpeed's fork": job(
        "deepspeed", "llama2-deepspeed.sh", params_without_vocab=1063356416, tp=2, pp=2, dp=2,
        kv_heads=4, ffn=5504, norm="rmsnorm", bias="false", positions="none", zero=0,
        precision="bf16", recompute="none", tied="false"),
    "gpt 1.3B with 128 experts": job(
        "deepspeed", "gpt-1.3b-moe-128.sh", params=52471525376, active_params=1318965248, ep=64,
        dp=64, experts=128, top_k=1, zero=0, micro_batch=8, global_batch=512, recompute="full"),
    "sections of --yaml-cfg, True and False": job(
        "megatron", "gpt-yaml-cfg.yaml", more=["--gpus", "8", "--env", "VOCAB_SIZE=32000"],
        params=364480512, layers=24, kv_heads=16, ffn=2688, mlp="swiglu", bias="false",
        tied="false", norm="layernorm", positions="none", seq=4096, padded_vocab=32000, tp=2,
        sequence_parallel="true", zero=0, precision="bf16", global_batch=64, attention="fused-softmax",
        recompute="none"),
    "sizes of an associative array": job(
        "megatron", "llama-by-sizes.sh", params_without_vocab=68452360192, tp=4, pp=2, dp=4,
        padded_vocab=128512, global_batch=64, recompute="full", kv_heads=8, zero=1),
    "the other size, by an argument of the script": job(
        "megatron", "llama-by-sizes.sh", more=["--env", "1=8b"], params_without_vocab=6979588096,
        layers=32, hidden=4096),
    "settings in a file that is sourced, srun, a function's output": job(
        "megatron", "llama3-70b.slurm", "llama3-70b-env.sh", params=70557900800, tp=4, pp=4, cp=2,
        vp=5, dp=8, padded_vocab=128512, seq=8192, micro_batch=1, global_batch=512, zero=1,
        sequence_parallel="true", recompute="selective", precision="bf16", schedule="interleaved"),
    "the same in fp8 on less, by its environment": job(
        "megatron", "llama3-70b.slurm", "llama3-70b-env.sh",
        more=["--env", "FP8=1", "--env", "TP=8", "--gpus", "128"], tp=8, dp=2, precision="fp8",
        padded_vocab=129024),
    "mpirun, a function that chooses, latent attention": job(
        "megatron", "deepseek-v2-lite-mpi.sh", params=15706484224, active_params=2661150208, tp=1,
        pp=4, ep=8, etp=1, dp=16, stage_layers="6,7,7,7", moe_ffn=1408, shared_ffn=2816,
        padded_vocab=102400, recompute="norm+mla_up+moe_act", micro_batch=2, global_batch=1024),
    "options of a loop, read and printf": job(
        "megatron", "gpt-read-options.sh", more=[part for n, word in enumerate(
            "--tp 4 --pp=2 --nodes 2 --swiglu".split(), 1) for part in ("--env", f"{n}={word}")]
        + ["--env", "LAYERS=24"], layers=24, hidden=2048, heads=16, seq=2048, tp=4, pp=2, dp=2,
        ffn=5440, global_batch=64, padded_vocab=50688, mlp="swiglu", params=1313524736),
    "DeepSeek-V3, a stage for further tokens alone": job(
        "megatron", "deepseek-v3-stages.sh", params=671026419200, active_params=37552297472, pp=16,
        vp=2, ep=64, etp=1, mtp_layers=1, schedule="interleaved", padded_vocab=129280,
        stage_layers="3" + ",2" * 28 + ",1,1,0"),
}

REFUSED = {
    "a world too small": (job("megatron", "gpt3-175b.sh"), [
        "gpt3-175b.sh:14:5: --nnodes: a world of 8 GPUs is not a multiple of 128", "--gpus N"]),
    "a world too small for experts": (job("megatron", "mixtral.sh"), [
        "a world of 8 GPUs is not a multiple of 32", "--expert-model-parallel-size 8", "--gpus N"]),
    "a world that machines are asked for": (job("deepspeed", "gpt-13b-template.sh"), [
        "how many GPUs there are is not known", "--gpus N, a multiple of 32"]),
    "a value that a program would print": (job("megatron", "gpt-read-options.sh"), [
        "gpt-read-options.sh:22:5: --num-layers: its value is not known: $(jq .layers model.json) "
        "(gpt-read-options.sh:20) would have to be run; give it with --env LAYERS=VALUE"]),
    "a batch that does not divide": (
        job("megatron", "mixtral.sh", more=["--gpus", "4096"]), [
            "--global-batch-size: 256 is no multiple of the micro-batch, 1, times 1024 replicas, "
            "which 4096 GPUs make", "--gpus N, such as 1024"]),
    "a program for encoders": (job("megatron", "bert.sh"), [
        "bert.sh:3:40: pretrain_bert.py: it trains an encoder"]),
}


class Tool:
    def __init__(self, exe):
        self.exe = str(pathlib.Path(exe).resolve())

    def run(self, *args):
        return subprocess.run([self.exe, *map(str, args)], capture_output=True, text=True,
                              timeout=120, check=False)

    def imported(self, root, the, folder):
        out = pathlib.Path(folder) / "run.yaml"
        files = [root / name for name in the["files"]]
        done = self.run("import", the["stack"], *files, *the["more"], "-o", out, "-q")
        return out, done.stderr if done.returncode != 0 else ""

    def values(self, run_file):
        """Key: value, of a run file that is complete."""
        done = self.run("check", run_file, "--show-config")
        lines = re.findall(r"^(\S+\.\S+) +(.*?) +# ", done.stdout, re.M)
        return {key: value.strip() for key, value in lines}

    def parameters(self, run_file):
        """All, and those active for a token; of the model without what predicts further tokens."""
        text = self.run("check", run_file, "--set", "model.mtp=0").stdout
        whole = re.search(r"([\d,]+) parameters, on", text)
        active = re.search(r"active for a token: ([\d,]+)", text)
        return [int(m[1].replace(",", "")) if m else None for m in (whole, active)]


def overlay_values(path):
    """Of half a job, which no run file can be made of."""
    section, found = "", {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r"^\w+:$", line):
            section = line[:-1]
        elif m := re.match(r"^  (\w+): (.*?)(?: +#.*)?$", line):
            found[f"{section}.{m[1]}"] = m[2]
    return found


def expected_rows():
    if not (CONFIGS / "expected.csv").is_file():
        return {}
    with open(CONFIGS / "expected.csv", encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def plain(value):
    return re.sub(r"[\[\] ]", "", str(value)).lower()


def differences(facts, values, parameters):
    """What is other than it has to be: "zero 1, not 3"."""
    whole, active = parameters
    wrong = []
    for name, want in facts.items():
        if want in ("", None) or name not in {*KEYS, "params", "params_without_vocab",
                                              "active_params"}:
            continue
        if name == "params":
            got = whole
        elif name == "active_params":
            got = active
        elif name == "params_without_vocab":
            copies = 1 if values.get("model.tied") == "true" else 2
            got = whole - copies * int(values["model.vocabulary"]) * int(values["model.hidden"])
        else:
            got = values.get(KEYS[name])
        if name == "vp" and got == "auto":  # of a schedule that has one chunk on each rank
            got = 1
        if name == "schedule" and want == "none" and values.get("layout.pipeline", "1") == "1":
            continue
        if plain(got) != plain(want):
            wrong.append(f"{name} {got}, not {want}")
    return wrong


def check(t, tool, name, root, the, facts, table):
    with tempfile.TemporaryDirectory() as folder:
        out, error = tool.imported(root, the, folder)
        if error:
            t.check(name, False, error)
            table.append([name, the["stack"], "refused", error.splitlines()[0]])
            return
        if "It has no model" in out.read_text(encoding="utf-8"):
            values, parameters = overlay_values(out), [None, None]
        else:
            values, parameters = tool.values(out), tool.parameters(out)
        wrong = differences(facts, values, parameters)
        t.check(f"{name}: imported as it is", not wrong, wrong)
        table.append([name, the["stack"], f"{parameters[0]:,}" if parameters[0] else "half a job",
                      "; ".join(wrong)])


def check_refusals(t, tool):
    for name, (the, parts) in REFUSED.items():
        with tempfile.TemporaryDirectory() as folder:
            out, error = tool.imported(SCRIPTS, the, folder)
            t.check(f"{name}: is refused, and how it would be right is said",
                    error and not out.exists() and all(part in error for part in parts), error)


# What `plan --emit` prints for a run file, imported, takes the same time to the last digit.
THERE_AND_BACK = {
    "megatron": """
cluster: {preset: dgx-h100, nodes: 8}
model: {preset: llama2-70b, dropout: 0.1}
layout: {tensor: 4, pipeline: 4, zero: 1, micro_batch: 1, global_batch: 128,
  sequence_parallel: true, recompute: selective}
schedule: {name: interleaved, chunks: 2}
""",
    "deepspeed": """
cluster: {preset: dgx-h100, nodes: 8}
model: {preset: gpt3-13b, vocabulary: 51200, positions: 2048, dropout: 0.1, tied: true, bias: true,
  attention: fused-softmax}
layout: {tensor: 4, pipeline: 4, zero: 1, micro_batch: 2, global_batch: 128, recompute: full,
  sequence_parallel: false}
framework: {preset: megatron-deepspeed}
""",
}


def check_there_and_back(t, tool):
    for stack, text in THERE_AND_BACK.items():
        with tempfile.TemporaryDirectory() as folder:
            first, script = pathlib.Path(folder) / "first.yaml", pathlib.Path(folder) / "job.sh"
            first.write_text(text, encoding="utf-8")
            script.write_text(tool.run("plan", first, "--emit", stack).stdout, encoding="utf-8")
            out, error = tool.imported(pathlib.Path(folder), job(
                stack, "job.sh", more=["--gpus", "64", "--cluster", "dgx-h100", "--env",
                                       "VOCAB_SIZE=51200"]), folder)
            times = [re.search(r'"step_time_s": ([\d.e-]+)',
                               tool.run("run", file, "-q", "--stats", "json").stdout)
                     for file in (first, out)]
            told = [m[1] if m else None for m in times]
            t.check(f"what plan --emit {stack} prints comes back as it was",
                    not error and told[0] is not None and told[0] == told[1], (error, told))


# Jobs that come back from `plan --emit megatron` with every key of model and layout that has a word
# there; what has none is named beside.
ROUND_TRIPS = {
    "gpt3 175B, 1536 GPUs": [], "mixtral, 64 GPUs": [], "llama3 8B in fp8": [],
    "sections of --yaml-cfg, True and False": [], "gpt 1.3B with 128 experts": [],
    "llama2 of DeepSpeed's fork": [],
    "g04": [], "g05": [], "g06": [], "g07": [], "g08": [], "g09": [],
}


def check_round_trips(t, tool):
    jobs = {**{name: (SCRIPTS, the) for name, the in OWN.items()},
            **({name: (CONFIGS, the) for name, the in GIVEN.items()} if expected_rows() else {})}
    for name, lost in ROUND_TRIPS.items():
        if name not in jobs:
            continue
        with tempfile.TemporaryDirectory() as folder:
            first, error = tool.imported(jobs[name][0], jobs[name][1], folder)
            before, whole = tool.values(first), tool.run("check", first).stdout
            gpus = re.search(r"on ([\d,]+) x", whole)[1].replace(",", "")
            script = pathlib.Path(folder) / "job.sh"
            script.write_text(tool.run("plan", first, "--emit", "megatron").stdout,
                              encoding="utf-8")
            out, error = tool.imported(
                pathlib.Path(folder), job("megatron", "job.sh", more=["--gpus", gpus]), folder)
            after = tool.values(out) if not error else {}
            changed = [f"{key} {value}, then {after.get(key)}" for key, value in before.items()
                       if key.startswith(("model.", "layout.", "schedule."))
                       and key != "model.name" and key not in lost and after.get(key) != value]
            t.check(f"{name}: through plan --emit megatron and back", not error and not changed,
                    error or changed)


def main():
    tool, t, table = Tool(sys.argv[1]), tap.Test(sys.argv[1]), []
    for name, the in OWN.items():
        check(t, tool, name, SCRIPTS, the, the["facts"], table)
    rows = expected_rows()
    for name, the in GIVEN.items() if rows else ():
        check(t, tool, name, CONFIGS, the, rows[name], table)
    if not rows:
        print("# ../shared/configs is not here: its rows are left out")
    check_refusals(t, tool)
    check_there_and_back(t, tool)
    check_round_trips(t, tool)
    if "--table" in sys.argv:
        for name, stack, found, wrong in table:
            print(f"# {name:30} {stack:12} {found:>18}  {wrong}")
    print(f"1..{t.n}")
    return t.failed > 0


if __name__ == "__main__":
    sys.exit(main())
