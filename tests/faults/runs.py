"""Small runs of every command, for faults to be put into: words, what they write, what they read."""
import functools
import os
import pathlib
import subprocess
import tempfile

RUN = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}
layout: {global_batch: 8, pipeline: 2, tensor: 2}
"""
JOBS = (RUN + "jobs: [{name: other, layout: {gpus: 4-7, data: 1}}]\n").replace(
    "pipeline: 2", "pipeline: 2, gpus: 0-3")
PROFILE = "profile"  # in place of a run file: what the run file's own --trace kineto has of a rank
ROWS = "layout.tensor,seconds\n1,0.002\n2,0.003\n"  # beside every run file, as rows.csv
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
    (["check", "run.yaml"], [], RUN.replace("nodes", "node").replace("heads", "hedas")),
    (["check", "run.yaml", "--show-config", "-o", "out"], ["out"], RUN),
    (["sweep", "run.yaml", "--over", "layout.tensor=1,2", "-j", "1", "-o", "table.csv"],
     ["table.csv"], RUN),
    (["diff", "run.yaml", "--against-set", "schedule.name=gpipe", "-o", "out", "--trace",
      "svg:both.svg"], ["out", "both.svg"], RUN),
    (["import", "kineto", "rank-0.json", "-o", "table.csv"], ["table.csv"], PROFILE),
    (["schedule", "zb-v", "-p", "2", "-m", "4", "-o", "out"], ["out"], ""),
    (["list", "schema"], [], ""),
    (["list", "keys", "layout"], [], ""),
    (["list", "models"], [], ""),
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


class Outcome:
    """How a run ended, what it printed and wrote; `litter` is what nobody asked for. A setting of
    the environment may speak of the folder of the run, {here}, and what is written to {here}/log is
    kept in `log`."""

    def __init__(self, binary, words, yaml, environment, more=None):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            inputs = {"rank-0.json": profile(binary)} if yaml == PROFILE else (
                {"run.yaml": yaml, "rows.csv": ROWS} if yaml else {})
            for name, text in {**inputs, **(more or {})}.items():
                (here / name).write_bytes(text if isinstance(text, bytes) else text.encode())
            env = {key: value.replace("{here}", folder) for key, value in environment.items()}
            done = subprocess.run([binary, *words], cwd=here, env={**os.environ, **env},
                                  capture_output=True, check=False, timeout=120)
            self.status, self.err = done.returncode, done.stderr.decode()
            self.printed = stable(done.stdout)
            self.log = (here / "log").read_text().split() if (here / "log").exists() else []
            self.files = {str(p.relative_to(here)): stable(p.read_bytes())
                          for p in sorted(here.rglob("*"))
                          if p.is_file() and p.name not in {*inputs, "log"}}
            self.folders = [p.name for p in here.iterdir() if p.is_dir()]
