"""Small runs of every command, for faults to be put into: words, what they write, what they read."""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import torch_profile  # noqa: E402

RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}
layout: {global_batch: 8, pipeline: 2, tensor: 2}
"""
JOBS = (RUN + "jobs: [{name: other, layout: {gpus: 4-7, data: 1}}]\n").replace(
    "pipeline: 2", "pipeline: 2, gpus: 0-3")
# parts that wait for each other, and what a training costs
UNEVEN = RUN + """
run: {jitter: 0.02, gpu_spread: 0.03}
fleet: {price: 2, tokens: 1e9}
"""
UNEVEN = UNEVEN.replace("nodes: 1", 'nodes: 1, exceptions: ["gpu 1 at 80 %", "nvlink 3 at 50 %"]')
THREE_JOBS = JOBS.replace("4-7, data: 1}}", "4-5, pipeline: 1, data: 1}}, "
                          "{name: third, layout: {gpus: 6-7, pipeline: 1, data: 1}}")
WRONG = RUN.replace("nodes", "node").replace("heads", "hedas")
PROFILE = "profile"  # in place of a run file: what the run file's own --trace kineto has of a rank
HOSTS = [f"host-{rank}.1700000000.pt.trace.json" for rank in range(2)]  # as PyTorch writes them
ROWS = "layout.tensor,seconds\n1,0.002\n2,0.003\n"
LOG = """# nThread 1 nGpus 2 minBytes 1024 maxBytes 4194304 step: 2(factor)
#  Rank  0 Group  0 Pid   1000 on     node-0 device  0 [0x07] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid   1000 on     node-0 device  1 [0x0f] NVIDIA A100-SXM4-80GB
#       size         count      type   redop    root     time   algbw   busbw #wrong
        1024           256     float     sum      -1     10.1    0.10    0.10      0
       65536         16384     float     sum      -1     12.4    5.28    5.28      0
     4194304       1048576     float     sum      -1    77.32   54.25   54.25      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 19.8766
"""
OPERATORS = """\
op,role,kernel,dtype,m,n,k,batch,sequence,heads,kv_heads,head_dim,causal,elements,time_us
matmul,forward,,bf16,128,384,256,,,,,,,,12
matmul,forward,,bf16,256,384,256,,,,,,,,14
attention,forward,flash2,bf16,,,,1,128,2,2,64,true,,9
norm,forward,fused,bf16,,,,,,,,,,32768,4
"""
# beside every run file
FILES = {
    "rows.csv": ROWS,
    "two.slots": "rank 0: F0.0 F1.0 B0.0 B1.0\nrank 1: F0.1 B0.1 F1.1 B1.1\n",
    "torch.csv": "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n",
    "all_reduce.log": LOG,
    "operators.csv": OPERATORS,
    "ranks.txt": "# rank  node.gpu\n" + "".join(f"{n} 0.{n ^ 1}\n" for n in range(8)),
    "overlay.yaml": "cluster: {derate: 0.9}\n",
    "config.json": """{"model_type": "llama", "hidden_size": 256, "intermediate_size": 688,
        "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 1000}""",
}
# a run file that reads them
READER = """
cluster:
  {preset: dgx-a100-80g, nodes: 1, operators: operators.csv, collectives: {measured: all_reduce.log}}
model: {huggingface: config.json, sequence: 128}
layout: {global_batch: 8, pipeline: 2, tensor: 2, rank_file: ranks.txt}
"""
# words after the program, what they write, and the run file
COMMANDS = [
    (["run", "run.yaml", "-o", "out"], ["out"], RUN),
    (["run", "run.yaml", "--stats", "json", "--engine", "events", "-o", "out"], ["out"], RUN),
    (["run", "run.yaml", "-o", "out", "--set", "layout.nodes=0", "--trace", "chrome:t.json.gz",
      "--trace", "perfetto:t.pftrace", "--trace", "svg:t.svg"],
     ["out", "t.json.gz", "t.pftrace", "t.svg"], RUN),
    (["run", "run.yaml", "-o", "out", "--trace", "kineto:folder", "--trace", "csv:t.csv",
      "--trace", "gantt:t.txt"], ["out", "t.csv", "t.txt"], RUN),
    (["schedule", "--compare", "gpipe,1f1b", "-p", "2", "-m", "4", "--format", "svg", "-o", "out"],
     ["out"], ""),
    (["run", "run.yaml", "-o", "out"], ["out"], JOBS),
    (["report", "run.yaml", "-o", "page.html"], ["page.html"], RUN),
    (["explain", "run.yaml", "-o", "out"], ["out"], RUN),
    (["check", "run.yaml"], [], WRONG),
    (["check", "run.yaml", "--show-config", "-o", "out"], ["out"], RUN),
    (["sweep", "run.yaml", "--over", "layout.tensor=1,2", "-j", "1", "-o", "table.csv"],
     ["table.csv"], RUN),
    (["diff", "run.yaml", "--against-set", "schedule.name=gpipe", "-o", "out", "--trace",
      "svg:both.svg"], ["out", "both.svg"], RUN),
    (["import", "kineto", "rank-0.json", "-o", "table.csv"], ["table.csv"], PROFILE),
    (["schedule", "zb-v", "-p", "2", "-m", "4", "-o", "out"], ["out"], ""),
    (["schedule", "1f1b", "-p", "2", "-m", "4", "-o", "out.svg"], ["out.svg"], ""),
    (["init", "--model", "gpt3-125m", "--cluster", "h100-sxm", "--gpus", "2", "-o", "first.yaml"],
     ["first.yaml"], ""),
    (["list", "schema"], [], ""),
    (["list", "keys", "layout"], [], ""),
    (["list", "models"], [], ""),
]
# what reads the other files there are, and threads: only for allocations
READERS = [
    (["run", "run.yaml", "--with", "overlay.yaml", "-o", "out"], ["out"], READER),
    (["init", "--model", "config.json", "--cluster", "dgx-a100-80g", "-o", "first.yaml"],
     ["first.yaml"], RUN),
    (["run", "run.yaml", "--stats", "json", "-o", "out"], ["out"], UNEVEN),
    (["explain", "run.yaml", "-o", "out"], ["out"], UNEVEN),
    (["explain", "run.yaml", "-o", "out"], ["out"], THREE_JOBS),
    (["report", "run.yaml", "--against-set", "layout.tensor=1", "-o", "page.html"], ["page.html"],
     UNEVEN),
    (["diff", "run.yaml", "rank-0.json", "-o", "out"], ["out"], RUN),
    (["import", "kineto", *HOSTS, "-o", "table.csv"], ["table.csv"], RUN),
    (["sweep", "run.yaml", "--over", "schedule.name=1f1b,interleaved", "--over",
      "schedule.chunks=1,2", "-j", "1", "-o", "table.csv"], ["table.csv"], UNEVEN),
    (["schedule", "two.slots", "-o", "out"], ["out"], RUN),
    (["schedule", "torch.csv", "-o", "out"], ["out"], RUN),
    (["sweep", "run.yaml", "--rows", "rows.csv", "-j", "2", "-o", "table.csv"], ["table.csv"], RUN),
    (["sweep", "run.yaml", "--rows", "rows.csv", "-j", "1", "--resume", "-o", "table.csv"],
     ["table.csv"], RUN),
    (["calibrate", "run.yaml", "--rows", "rows.csv", "--measured", "seconds", "--fit",
      "cluster.derate", "-j", "1", "-o", "new.yaml"], ["new.yaml"], RUN),
]
# numbers that no two runs have in common
CHANGING = ("wall_s", "peak_rss_bytes", "simulated")


def stable(data):
    """Without the lines that no two runs have in common."""
    return b"\n".join(line for line in data.split(b"\n")
                      if not any(word.encode() in line for word in CHANGING))


@functools.lru_cache(maxsize=1)
def profile(binary):
    """What a rank of the small run does, as PyTorch would have recorded it."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "run.yaml").write_text(RUN)
        subprocess.run([binary, "run", "run.yaml", "-o", "out", "--ranks", "0", "--trace",
                        "kineto:folder"], cwd=here, check=True, capture_output=True)
        return (here / "folder/rank-0.json").read_text()


class Short(torch_profile.Shape):
    layers, steps = 1, 2


@functools.lru_cache(maxsize=1)
def hosts():
    """Of two ranks, with operators and their shapes, and collectives that have both members."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        torch_profile.write(here, Short(), lambda *_: 20_000)
        return {name: (here / name).read_text() for name in HOSTS}


@functools.lru_cache(maxsize=1)
def interrupted(binary):
    """What a sweep of rows.csv keeps of its rows when it ends in its second."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "run.yaml").write_text(RUN)
        (here / "rows.csv").write_text(ROWS)
        (here / "table.csv.partial.ordered").mkdir()  # so that the last step cannot be done
        subprocess.run([binary, "sweep", "run.yaml", "--rows", "rows.csv", "-j", "1", "-o",
                        "table.csv"], cwd=here, check=False, capture_output=True)
        text = (here / "table.csv.partial").read_text()
    assert text.count("\n") == 3, text
    return text[:text.rindex("\n2,") + 10]


class Outcome:
    """How a run ended, what it printed and wrote; `litter` is what nobody asked for. A setting of
    the environment may speak of the folder of the run, {here}, and what is written to {here}/log is
    kept in `log`."""

    def __init__(self, binary, words, yaml, environment, more=None):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            inputs = {"run.yaml": yaml, **FILES} if yaml not in ("", PROFILE) else {}
            if yaml == PROFILE or "rank-0.json" in words:
                inputs["rank-0.json"] = profile(binary)
            if HOSTS[0] in words:
                inputs.update(hosts())
            if "--resume" in words and not more:
                more = {"table.csv.partial": interrupted(binary)}
            for name, text in {**inputs, **(more or {})}.items():
                (here / name).write_bytes(text if isinstance(text, bytes) else text.encode())
            env = {key: value.replace("{here}", folder) for key, value in environment.items()}
            done = subprocess.run([binary, *words], cwd=here, env={**os.environ, **env},
                                  capture_output=True, check=False)
            self.status, self.err = done.returncode, done.stderr.decode()
            self.printed = stable(done.stdout)
            self.log = (here / "log").read_text().split() if (here / "log").exists() else []
            self.files = {str(p.relative_to(here)): stable(p.read_bytes())
                          for p in sorted(here.rglob("*"))
                          if p.is_file() and p.name not in {*inputs, "log"}}
            self.folders = [p.name for p in here.iterdir() if p.is_dir()]
