#!/usr/bin/env python3
"""The fleet section: days, GPU-hours and cost of a training, in reports, tables and pages, and no
other step for it.

usage: fleet.py TRAINYARD
"""
import collections
import csv
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from sweep import partial
from tap import Test

RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 2}
model: {layers: 8, hidden: 1024, heads: 8, vocabulary: 32000, sequence: 1024}
layout: {tensor: 2, pipeline: 2, global_batch: 64}
"""
FLEET = "fleet: {price: 2.5, tokens: 15.6e12}\n"
NAMES = ["days_for_tokens", "gpu_hours", "cost", "cost_per_billion_tokens"]
GPUS = 16


def close(a, b):
    return abs(a - b) <= 1e-9 * abs(b)


def expected(tokens_per_s, price, tokens):
    hours = tokens / tokens_per_s / 3600
    return {"days_for_tokens": hours / 24, "gpu_hours": hours * GPUS, "cost": hours * GPUS * price,
            "cost_per_billion_tokens": 1e9 / tokens_per_s / 3600 * GPUS * price}


class Suite(Test):
    def __init__(self, binary, folder):
        super().__init__(binary)
        self.folder = folder
        (folder / "plain.yaml").write_text(RUN)
        (folder / "fleet.yaml").write_text(RUN + FLEET)

    def trainyard(self, *words):
        return subprocess.run([self.binary, *words], cwd=self.folder, capture_output=True, text=True,
                              check=False)

    def stats(self, *words):
        return json.loads(self.trainyard("run", *words, "--stats", "json").stdout)

    def figures(self):
        plain, fleet = self.stats("plain.yaml"), self.stats("fleet.yaml")
        want = expected(fleet["tokens_per_s"], 2.5, 15.6e12)
        self.check("days, GPU-hours and costs are those of so many tokens at this speed",
                   all(close(fleet[k], want[k]) for k in NAMES), fleet)
        self.check("they are not there when nobody asks", not set(NAMES) & set(plain), plain)
        self.check("the step is the same, and so is its configuration",
                   all(plain[k] == fleet[k] for k in ("step_time_s", "mfu", "config_digest")),
                   (plain["config_digest"], fleet["config_digest"]))
        tokens = self.stats("plain.yaml", "--set", "fleet.tokens=1e12")
        price = self.stats("plain.yaml", "--set", "fleet.price=3")
        self.check("what one of the two keys tells is told", set(NAMES) & set(tokens) ==
                   {"days_for_tokens", "gpu_hours"} and set(NAMES) & set(price) ==
                   {"cost_per_billion_tokens"}, (tokens, price))
        said = self.trainyard("diff", "plain.yaml", "fleet.yaml").stdout
        self.check("and a diff of two prices has no difference", "no key differs" in said, said)

    def table(self):
        f = self.stats("fleet.yaml")
        lines = self.trainyard("run", "fleet.yaml").stdout.splitlines()
        training = next((s.split(None, 1)[1] for s in lines if s.startswith("training ")), "")
        cost = next((s.split(None, 1)[1] for s in lines if s.startswith("cost ")), "")
        self.check("the report has them", training.split() == (
            f"{f['days_for_tokens']:.4g} days {f['gpu_hours']:,.0f} GPU-hours for 1.56e+13 tokens, "
            "every step like this one").split() and cost.split() == (
            f"{f['cost']:,.0f} of these tokens at 2.5 per GPU and hour").split(), (training, cost))

    def sweeps(self):
        over = ["--over", "layout.zero=0,1", "--over", "layout.tensor=2,3"]
        for words, given in ((["fleet.yaml", *over], True), (["plain.yaml", *over], False),
                             (["plain.yaml", *over, "--set", "fleet.tokens=1e12"], True),
                             (["plain.yaml", "--over", "fleet.price=1,2"], True)):
            done = self.trainyard("sweep", *words)
            rows = list(csv.DictReader(done.stdout.splitlines()))
            there = [name for name in NAMES if name in rows[0]]
            self.check(f"columns of {' '.join(words)}", there == (NAMES if given else [])
                       and all(len(row) == len(rows[0]) and None not in row for row in rows),
                       done.stdout)
        done = self.trainyard("sweep", "fleet.yaml", *over, "-o", "t.csv")
        text = (self.folder / "t.csv").read_text()
        rows = list(csv.DictReader(text.splitlines()))
        self.check("their values are those of each row", all(
            row["error"] and not any(row[k] for k in NAMES) or all(close(
                float(row[k]), expected(float(row["tokens_per_s"]), 2.5, 15.6e12)[k]) for k in NAMES)
            for row in rows) and sum(not row["error"] for row in rows) == 2, text)
        head = done.stderr.split("fastest that fit\n")[1].splitlines()[0].split()
        self.check("the best are shown with days and cost", head[-3:] ==
                   ["days", "cost", "framework"], done.stderr)
        (self.folder / "t.csv.partial").write_text(partial(text.splitlines(True), [2, 1]))
        done = self.trainyard("sweep", "fleet.yaml", *over, "-o", "t.csv", "--resume")
        self.check("rows with them are kept", ", 2 kept" in done.stderr
                   and (self.folder / "t.csv").read_text() == text, done.stderr)

    def page(self):
        self.trainyard("report", "fleet.yaml", "-o", "fleet.html")
        self.trainyard("report", "plain.yaml", "-o", "plain.html")
        want = self.stats("fleet.yaml")
        texts = [(self.folder / name).read_text() for name in ("fleet.html", "plain.html")]
        fleet = self.trainyard("fleet", "fleet.yaml", "--stats", "json").stdout
        there = texts[0].find('"fleet":{')
        shown = json.JSONDecoder().raw_decode(texts[0][there + 8:])[0] if there >= 0 else {}
        self.check("and the weeks around the step, with their picture", shown.get("report") == fleet
                   and "day by day" in shown["svg"] and '"fleet":{' not in texts[1], shown)
        self.check("the page has them when they are asked for", all(
            f'"{k}":{json.dumps(want[k])}' in texts[0] for k in NAMES)
            and not any(f'"{k}":' in texts[1] for k in NAMES), [text.find("days_for") for text in texts])

    def adapters(self):
        """Adapters alone are written; beside frozen parts all weights are, and states of the others."""
        def written(*sets):
            words = [w for s in sets for w in ("--set", s)]
            said = json.loads(self.trainyard("fleet", "fleet.yaml", "--stats", "json", "--runs", "1",
                                             *words).stdout)["checkpoint_bytes"]
            return said, self.stats("fleet.yaml", *words)
        whole, all_of = written()
        each = whole / all_of["parameters"]
        tuned, some = written("model.lora=16")
        parts, half = written("model.frozen=embedding+attention")
        self.check("a checkpoint with adapters has these alone", some["parameters_trained"] < 1e9
                   and close(tuned, each * some["parameters_trained"]), tuned)
        self.check("one beside frozen parts has their weights, too", close(
            parts, 2 * half["parameters"] + (each - 2) * half["parameters_trained"]), parts)

    def days(self):
        def fleet(*sets):
            words = [w for s in sets for w in ("--set", s)]
            return self.trainyard("fleet", "fleet.yaml", "--stats", "json", *words)
        rates = ("fleet.failures_per_1000_node_days=100", "fleet.job_failures_per_day=0.5")
        one = json.loads(fleet(*rates, "fleet.checkpoint=1 h", "fleet.checkpoint.stall=30 s",
                               "fleet.checkpoint.durable_after=2 min", "fleet.spares=1",
                               "fleet.planned=0.5", "fleet.restart=300 s").stdout)
        mtbf = 86400 / (100 / 1000 * 2 + 0.5)
        # Of what work ends by: failures lose what is not durable, stops nothing.
        stop = 172800 - 600
        ends = 1 / mtbf + 1 / stop
        durable = (1 / stop + math.exp(-120 * ends) / mtbf) / ends
        part = (-math.expm1(-3600 * ends) / ends - 3600 * math.exp(-3630 * ends)) / stop / ends
        kept = 3600 * durable * math.exp(-3630 * ends) + part
        work = ends * kept / -math.expm1(-3630 * ends)
        alone = work * mtbf / ((mtbf + 600) * math.exp(300 / mtbf))
        load = 0.1 * 2
        waits = load * load / 2 / (1 + load + load * load / 2)
        self.check("goodput is the closed form, without enough spares and planned stops",
                   close(one["goodput"], alone * (1 - waits) * (1 - 0.5 * 600 / 86400)), one)
        self.check("losses and goodput add up to 1",
                   abs(sum(one["loss"].values()) + one["goodput"] - 1) < 1e-12, one)
        self.check("so they do where it is played", abs(
            sum(one["monte_carlo"]["loss"].values()) + one["monte_carlo"]["goodput"] - 1) < 1e-12, one)
        self.check("the time between failures is that of nodes and job", close(one["mtbf_s"], mtbf), one)
        step = self.stats("fleet.yaml")
        self.check("the step is that of run, and days are longer than if all were steps",
                   one["step_time_s"] == step["step_time_s"] and one["mfu"] == step["mfu"]
                   and close(one["goodput_mfu"], step["mfu"] * one["goodput"])
                   and close(one["days_for_tokens"], step["days_for_tokens"] / one["goodput"])
                   and close(one["cost"], one["gpu_hours"] * 2.5 * 24 / 16), one)
        never = json.loads(fleet("fleet.failures_per_1000_node_days=0", "fleet.job_failures_per_day=0",
                                 "fleet.checkpoint.every=1 h", "fleet.checkpoint.stall=30 s").stdout)
        self.check("without failures checkpoints are all that is lost",
                   never["goodput"] == 3600 / 3630 and never["mtbf_s"] is None, never)
        again = [fleet(*rates, "run.seed=7").stdout for _ in range(2)]
        small = self.trainyard("fleet", "fleet.yaml", "--set", "cluster.memory=2 GiB")
        self.check("a step that does not fit is told, and the status", small.returncode == 1
                   and "too little, so that there is no such step" in small.stdout, small.stdout)
        self.check("a seed gives the same days", again[0] == again[1] != fleet(*rates).stdout, again)

    def elastic(self):
        """Replicas leave one by one only if each has all states, on nodes of its own."""
        def fleet(*sets):
            words = [w for s in sets for w in ("--set", s)]
            return self.trainyard("fleet", "fleet.yaml", "--stats", "json", "--set",
                                  "fleet.elastic=true", *words)
        apart = "layout.order=[tensor, pipeline, context, data]"
        rates = ("fleet.failures_per_1000_node_days=100", "fleet.restart=1 h", "fleet.detect=0 s",
                 "fleet.elastic.regroup=0 s", "fleet.job_failures_per_day=0", "fleet.elastic.least=0")
        one = json.loads(fleet(apart, "layout.zero=0", *rates).stdout)
        # A node is away for an hour of ten days and an hour: what else fails costs nothing.
        self.check("two nodes of two replicas each, which are away on their own",
                   one["elastic_replicas"] == 2 and abs(one["goodput"] - 240 / 241) < 4e-5
                   and abs(sum(one["loss"].values()) + one["goodput"] - 1) < 1e-12, one)
        healed = json.loads(fleet(apart, "layout.zero=0", "fleet.drained=0", "fleet.spares=2",
                                  *rates).stdout)
        self.check("and spares are nothing to nodes that a restart heals",
                   healed["goodput"] == one["goodput"], healed)
        shared, states = fleet("layout.zero=0", *rates), fleet(apart, "layout.zero=1", *rates)
        self.check("not those that share nodes, nor those that share states", all(
            done.returncode == 3 and not done.stdout and "fleet.elastic: true, and no replica can "
            "leave" in done.stderr for done in (shared, states)), (shared, states))
        one = fleet("layout.tensor=8", *rates)
        self.check("nor the only one", one.returncode == 3 and "there is one replica" in one.stderr
                   and "layout.data of 2 or more" in one.stderr, one)

    def slow(self):
        """Hosts that become slow, by both policies; launches that drift."""
        def fleet(*sets):
            words = [w for s in sets for w in ("--set", s)]
            return json.loads(self.trainyard("fleet", "fleet.yaml", "--stats", "json", *words).stdout)
        spread = fleet("fleet.stragglers=0 %", "fleet.stragglers.slow_hosts=20 %",
                       "fleet.stragglers.slow_by=50 %")
        self.check("the step may wait for one of two hosts that is slow", close(
            spread["step_slow_hosts_s"], spread["step_time_s"] * (1 + 0.5 * (1 - 0.8 ** 2)))
            and spread["step_slowest_gpu_s"] == spread["step_time_s"], spread)
        off, rate = fleet(), "fleet.stragglers.per_1000_node_days=500"
        self.check("nothing is slow that is not said to be", off["loss"]["slow_hosts"] == 0
                   and off["loss"]["drift"] == 0 and off["slow_hosts"]["loss"] == 0
                   and not any("slow" in c["name"] for c in off["causes"]), off)
        evicted, alone = fleet(rate), fleet(rate, "fleet.stragglers.evict=false")
        for one in (evicted, alone, fleet(rate, "fleet.stragglers.drift_per_day=10 %")):
            played = one["monte_carlo"]
            self.check("slow steps are a loss among the others",
                       abs(sum(one["loss"].values()) + one["goodput"] - 1) < 1e-12
                       and abs(sum(played["loss"].values()) + played["goodput"] - 1) < 1e-12
                       and abs(played["goodput"] - one["goodput"]) < 4 * played["standard_error"]
                       and abs(played["loss"]["slow_hosts"] / one["loss"]["slow_hosts"] - 1) < 0.1,
                       one)
        # 1 a day: for an hour 10 % longer, which is 1/11 of it; then the restart.
        self.check("an evicted host was slow until it was found",
                   abs(evicted["loss"]["slow_hosts"] / evicted["goodput"] / (1 / 24 / 11) - 1) < 0.05
                   and close(evicted["causes"][-1]["per_day"], 1)
                   and evicted["causes"][-1]["loss"] * 86400 >= evicted["restart_s"] * 0.9, evicted)
        self.check("each policy tells what the other costs", alone["slow_hosts"]["evicted"] is False
                   and alone["slow_hosts"]["loss"] > evicted["slow_hosts"]["loss"] > 0
                   and close(evicted["goodput"] + evicted["slow_hosts"]["loss"],
                             fleet(f"fleet.checkpoint={evicted['checkpoint_interval_s']} s")["goodput"]),
                   (alone["slow_hosts"], evicted["slow_hosts"]))
        drift = [fleet(f"fleet.stragglers.drift_per_day={d} %", "fleet.planned=1",
                       "fleet.failures_per_1000_node_days=0", "fleet.job_failures_per_day=0")
                 for d in (0, 5)]
        day = (86400 - 600) / 86400
        mean = 1 / (1 + math.log(1.05) * day)
        self.check("launches that drift, from stop to stop",
                   close(drift[1]["goodput"], drift[0]["goodput"] * mean), drift)

    def drawn(self):
        """Slow hosts in the step: drawn by share and seed, executed as if they were named."""
        def run(*sets):
            return self.stats("plain.yaml", *[w for s in sets for w in ("--set", s)])
        by = "run.slow_by=25 %"
        plain, both = run(), run("run.slow_hosts=100 %", by)
        self.check("all nodes drawn slow are all GPUs at 80 %", close(
            both["step_time_s"], run(f"cluster.exceptions=[gpus 0-{GPUS - 1} at 80 %]")["step_time_s"])
            and both["step_time_s"] > 1.1 * plain["step_time_s"], both)
        none = run("run.slow_hosts=0 %")
        self.check("none, and the run is what it was", all(
            none[k] == plain[k] for k in ("step_time_s", "mfu", "config_digest"))
            and both["config_digest"] != plain["config_digest"], (none, plain))
        one = [run(f"cluster.exceptions=[gpus {k * GPUS // 2}-{(k + 1) * GPUS // 2 - 1} at 80 %]")
               for k in range(2)]
        drawn = [run("run.slow_hosts=50 %", by, f"run.seed={seed}")["step_time_s"]
                 for seed in range(12)]
        kinds = [r["step_time_s"] for r in (plain, both, *one)]
        self.check("half of two nodes are none, one or both of them", all(
            any(close(d, k) for k in kinds) for d in drawn)
            and min(drawn) < max(drawn) and any(close(d, kinds[0]) for d in drawn), (drawn, kinds))
        fleet = json.loads(self.trainyard("fleet", "fleet.yaml", "--stats", "json", "--set",
                                          "run.slow_hosts=100 %", "--set", by).stdout)
        self.check("and the fleet starts from that step",
                   fleet["step_time_s"] == both["step_time_s"], fleet)
        said = self.trainyard("explain", "plain.yaml", "--set", "run.slow_hosts=100 %", "--set",
                              by).stdout
        self.check("explain says what they cost", "slow_hosts 100 %" in said
                   and "2 of 2 nodes, 25 % longer" in said, said)

    def checkpoints(self):
        def fleet(*sets):
            words = [w for s in sets for w in ("--set", s)]
            return json.loads(self.trainyard("fleet", "fleet.yaml", "--stats", "json", *words).stdout)
        parameters = self.stats("fleet.yaml")["parameters"]
        one = fleet("fleet.checkpoint.storage=1 GB/s", "fleet.checkpoint.copy=10 GB/s")
        self.check("a checkpoint has weights and the optimizer's state once",
                   close(one["checkpoint_bytes"], 14 * parameters)
                   and 1 <= one["checkpoint_gpu_bytes"] / (14 * parameters / GPUS) < 1.5, one)
        self.check("it stops the job for the copy, and is durable when it is stored",
                   close(one["checkpoint_stall_s"], one["checkpoint_gpu_bytes"] / 1e10)
                   and close(one["checkpoint_durable_after_s"], 14 * parameters / 1e9), one)
        two = fleet("fleet.checkpoint.storage=1 GB/s", "fleet.checkpoint.copy=10 GB/s",
                    "fleet.checkpoint.async=false")
        host = fleet("fleet.checkpoint.storage=1 GB/s", "fleet.checkpoint.copy=10 GB/s",
                     "layout.offload=zero3-offload", "cluster.host.bandwidth=320 GB/s",
                     "cluster.host.memory=10 TiB", "layout.pipeline=1")
        self.check("what waits on the host is copied in its memory, read and written", close(
            host["checkpoint_stall_s"],
            host["checkpoint_gpu_bytes"] * 2 / (320e9 / 8)), host)
        self.check("or for all of it", two["checkpoint_durable_after_s"] == 0 and close(
            two["checkpoint_stall_s"],
            one["checkpoint_stall_s"] + one["checkpoint_durable_after_s"]), two)

    def causes(self):
        def fleet(*sets):
            words = [w for s in sets for w in ("--set", s)]
            return json.loads(self.trainyard("fleet", "fleet.yaml", "--stats", "json", *words).stdout)
        lines = "fleet.failures=[bad GPU 100 detect 10 s, cable 50 detect 2 min replace 1 h healed]"
        one = fleet(lines, "fleet.job_failures_per_day=0.1", "fleet.spares=1")
        rates = {c["name"]: c["per_day"] for c in one["causes"]}
        self.check("failures by cause are those of the nodes", close(rates["bad GPU"], 0.2)
                   and close(rates["cable"], 0.1) and close(rates["job"], 0.1), one)
        self.check("what causes take is what is lost by failures", close(
            sum(c["loss"] for c in one["causes"]),
            sum(one["loss"][k] for k in ("lost_work", "detect", "restart"))), one)
        self.check("what would be worth most comes first", one["worth"] == sorted(
            one["worth"], key=lambda w: -w["goodput"])
            and all(w["goodput"] > one["goodput"] for w in one["worth"]), one)
        sizes = one["sizes"]
        self.check("larger jobs lose more to failures and to their slowest GPU",
                   [s["gpus"] for s in sizes] == [256 << i for i in range(10)]
                   and all(a["goodput"] > b["goodput"] and a["slowest"] < b["slowest"]
                           and close(a["together"], a["goodput"] / a["slowest"])
                           for a, b in zip(sizes, sizes[1:])), sizes)
        self.check("a node draws more than idle, less than its data sheet says",
                   0.2 * 6500 < one["node_power_w"] < 0.83 * 6500
                   and close(one["energy_j_per_token"] * one["tokens_per_day"],
                             one["facility_power_w"] * 86400), one)
        self.check("no energy without the node's power",
                   fleet("cluster.idle_power=none")["energy_j_per_token"] is None, one)

    def extremes(self):
        """Figures, not a signal and not nan, where hardly anything is progress."""
        memory = ("--set", "fleet.checkpoint.store_every=10", "--set",
                  "fleet.checkpoint.from_memory=0.9")
        often = ("--set", "fleet.failures_per_1000_node_days=20000")
        stalled = ("--set", "fleet.checkpoint.store_every=60", "--set",
                   "fleet.checkpoint.from_memory=1", "--set", "fleet.checkpoint.memory_stall=37.58 s",
                   "--set", "fleet.failures_per_1000_node_days=99162")
        rare = ("--set", "fleet.checkpoint.every=5 d", *often)
        for sets in ((*memory, *often), stalled, rare):
            done = self.trainyard("fleet", "fleet.yaml", "--stats", "json", "--runs", "2", *sets)
            one = json.loads(done.stdout) if done.returncode == 0 else {"loss": {}, "goodput": None}
            self.check(f"{sets[1]} has figures that add up to 1", one["goodput"] is not None
                       and one["goodput"] > 0
                       and abs(sum(one["loss"].values()) + one["goodput"] - 1) < 1e-12, done)
            table = self.trainyard("fleet", "fleet.yaml", *sets).stdout
            done = self.trainyard("fleet", "fleet.yaml", *sets, "--trace", "svg:far.svg", "-o", "null:")
            picture = (self.folder / "far.svg").read_text() if done.returncode == 0 else "nan"
            self.check("nothing of it is nan", table and "nan" not in table + picture, table)
            done = self.trainyard("report", "fleet.yaml", *sets, "-o", "far.html")
            self.check("its page is written, and nothing beside it", done.returncode == 0
                       and not list(self.folder.glob("*.part*")), done.stderr)

    def kinds(self):
        """What is not known, and what is not exact, is not shown as if it were."""
        one = json.loads(self.trainyard("fleet", "fleet.yaml", "--runs", "1", "--stats", "json").stdout)
        table = self.trainyard("fleet", "fleet.yaml", "--runs", "1").stdout
        self.check("one history has no standard error",
                   one["monte_carlo"]["standard_error"] is None and "+-" not in table, table)
        said = [self.trainyard("fleet", "fleet.yaml", "--set", f"fleet.failure_shape={k}").stdout
                for k in (1, 0.7)]
        self.check("a closed form for another shape of failures is told", "shape" not in said[0]
                   and "closed form is that of failure_shape 1, not 0.7" in said[1], said[1])

    def pictures(self):
        sets = ("--set", "fleet.failures_per_1000_node_days=500", "--set", "fleet.spares=1", "--set",
                "fleet.planned=0.3", "--days", "20", "-o", "null:")
        done = self.trainyard("fleet", "fleet.yaml", *sets, "--trace", "gantt:days.txt", "--trace",
                              "svg:days.svg", "--trace", "chrome:days.json.gz")
        self.check("pictures are written", done.returncode == 0, done.stderr)
        lines = (self.folder / "days.txt").read_text().splitlines()
        self.check("a line a day, and what fails in it", len(lines) == 22
                   and all(len(line) == 101 for line in lines[1:21])
                   and set("=DR") <= set("".join(lines[1:21])), lines)
        events = json.loads(gzip.decompress((self.folder / "days.json.gz").read_bytes()))
        states = [e for e in events["traceEvents"] if e["ph"] == "X" and e["tid"] == 0]
        gaps = [abs(a["ts"] + a["dur"] - b["ts"]) for a, b in zip(states, states[1:])]
        self.check("slices have no holes between them", max(gaps) < 1
                   and abs(states[-1]["ts"] + states[-1]["dur"] - 20 * 86400e6) < 1, max(gaps))
        self.check("checkpoints come after work", sum(b["name"] == "checkpoint" and a["name"] == "work"
                   for a, b in zip(states, states[1:])) > 0.9 * sum(
                   e["name"] == "checkpoint" for e in states) > 0, states[:5])
        stretches = sum(e["name"] not in ("checkpoint", a["name"]) and (
            e["name"] != "work" or a["name"] != "checkpoint") for a, e in zip(states, states[1:]))
        played = lines[-1].split("goodput ")[1].split(";")[0]
        self.check("the picture says what these days came to", f"goodput {played} (closed form"
                   in (self.folder / "days.svg").read_text(), played)
        picture = xml.etree.ElementTree.parse(self.folder / "days.svg").getroot()
        self.check("the picture has a bar for every stretch, and two curves",
                   len(picture.findall("{*}rect")) >= stretches
                   and sum("2" == p.get("stroke-width") for p in picture.findall("{*}path")) == 2,
                   len(states))
        self.check("which are too short for the eye, as is said",
                   "checkpoints, 0.021 % of the time" in lines[-1] and "c checkpoint" not in lines[-1]
                   and "c" not in "".join(line[5:] for line in lines[1:21])
                   and "are not drawn (" in (self.folder / "days.svg").read_text(), lines[-1])
        self.long_checkpoints(sets)
        done = self.trainyard("fleet", "fleet.yaml", "--trace", "svg")
        self.check("no picture without a path", done.returncode == 2
                   and "svg:days.svg" in done.stderr and not (self.folder / "svg").exists(),
                   done.stderr)
        done = self.trainyard("fleet", "fleet.yaml", "--trace", "jpeg:days")
        self.check("no other form", done.returncode == 2 and "gantt" in done.stderr
                   and not (self.folder / "days").exists(), done.stderr)

    def long_checkpoints(self, sets):
        """Those of 10 minutes every hour are a seventh of work, in each picture."""
        self.trainyard("fleet", "fleet.yaml", *sets, "--set", "fleet.checkpoint=1 h", "--set",
                       "fleet.checkpoint.stall=10 min", "--trace", "gantt:long.txt", "--trace",
                       "svg:long.svg", "--trace", "chrome:long.json")
        lines = (self.folder / "long.txt").read_text().splitlines()
        cells = "".join(line[5:] for line in lines[1:21])
        events = [e for e in json.loads((self.folder / "long.json").read_text())["traceEvents"]
                  if e["ph"] == "X"]
        took = {name: sum(e["dur"] for e in events if e["name"] == name) / 1e6
                for name in ("work", "checkpoint")}
        colours = collections.Counter(r.get("fill") for r in xml.etree.ElementTree.parse(
            self.folder / "long.svg").getroot().findall("{*}rect") if r.get("width") == "5.88")
        n = sum(e["name"] == "checkpoint" for e in events)
        self.check("long checkpoints are told from work", "c checkpoint" in lines[-1]
                   and 0.9 * n < cells.count("c") < 2 * n and abs(took["checkpoint"] / n / 600 - 1) < 0.05
                   and abs(took["checkpoint"] / took["work"] * 6 - 1) < 0.1, (lines, took, n))
        self.check("and drawn as wide as they are", colours["#56b4e9"] > 0.9 * n
                   and "are not drawn" not in (self.folder / "long.svg").read_text(), (colours, n))

    def wrong(self):
        for sets, words in [
                ("fleet.failures=[gpu]", "no rate behind the cause"),
                ("fleet.failures=[1.5 detect 10 s]", "no cause before the rate"),
                ("fleet.failures=[gpu 1.5 detect 10]", "a bare number where a unit is due"),
                ("fleet.failures=[gpu 1.5 sometimes]", "a word too many"),
                ("fleet.planned=200", "fill the day"),
                ("fleet.checkpoint.from_memory=0.5", "store_every of 2 or more"),
                ("fleet.spares=-1", "whole number from 0")]:
            done = self.trainyard("fleet", "fleet.yaml", "--set", sets)
            self.check(f"{sets} is refused", done.returncode == 3 and words in done.stderr
                       and sets.split("=", maxsplit=1)[0] in done.stderr, done.stderr)
        done = self.trainyard("fleet", "fleet.yaml", "--set", "fleet.checkpoint=10 s", "--set",
                              "fleet.checkpoint.durable_after=2 min")
        self.check("checkpoints are durable before the next", done.returncode == 3
                   and "checkpoint.durable_after: 120 s" in done.stderr, done.stderr)
        done = self.trainyard("fleet", "fleet.yaml", "--days", "0")
        self.check("no days are no length", done.returncode == 2, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        suite = Suite(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(name).resolve())
        suite.figures()
        suite.table()
        suite.sweeps()
        suite.page()
        suite.days()
        suite.elastic()
        suite.slow()
        suite.drawn()
        suite.checkpoints()
        suite.adapters()
        suite.causes()
        suite.extremes()
        suite.kinds()
        suite.pictures()
        suite.wrong()
        print(f"1..{suite.n}")
        return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
