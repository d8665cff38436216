#!/usr/bin/env python3
"""`trainyard plan`: its best layouts are those of a sweep over everything, at any number of threads,
killed and resumed; what is told of them is true; wrong questions get an answer.

usage: planned.py TRAINYARD [RUN.yaml GPUS LAYERS BATCH, a larger space]
"""
import csv
import io
import itertools
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from sweep import partial
from tap import Test

RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 2, gpus_per_node: 4, memory: 8 GiB}
model: {layers: 8, hidden: 2048, heads: 8, vocabulary: 32000, sequence: 1024}
layout: {global_batch: 16}
"""
GPUS, LAYERS, BATCH = 8, 8, 16
ORDERS = ["[tensor, context, data, pipeline]", "[tensor, context, pipeline, data]"]
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
STYLE = EXAMPLES.parents[1] / "traces" / "page" / "page.css"
FILES = ["plan.json", "rows.csv", "best.yaml", "pareto.svg", "plan.html"]
KEYS = ["layout.tensor", "layout.pipeline", "layout.micro_batch", "schedule.name",
        "schedule.chunks", "layout.zero", "layout.recompute", "layout.sequence_parallel",
        "layout.order"]


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def places(order, degree):
    """The order without axes of one rank."""
    return [axis for axis in order.strip("[]").split(", ") if degree.get(axis, 1) > 1]


def layouts(gpus, layers, batch, orders):
    """Every layout that could be legal, in the order of a plan's rows: the rules of docs/reference/formats.md, once
    more."""
    for t in divisors(gpus):
        for p in divisors(gpus // t):
            data = gpus // t // p
            for b in divisors(batch // data) if batch % data == 0 else []:
                schedules = [("gpipe", 1), ("1f1b", 1)] + [
                    ("interleaved", v) for v in range(2, 65)
                    if p > 1 and (layers % (p * v) == 0 or (layers + 2) % (p * v) == 0)]
                degree = {"tensor": t, "pipeline": p, "data": data}
                distinct = [o for i, o in enumerate(orders) if places(o, degree) not in
                            [places(x, degree) for x in orders[:i]]]
                for rest in itertools.product(
                        schedules, range(4 if data > 1 else 1), ["none", "selective", "ffn", "full"],
                        ["false", "true"] if t > 1 else ["false"], distinct):
                    (name, chunks), *others = rest
                    yield [t, p, b, name, chunks, *others]


class Suite(Test):
    def __init__(self, binary, folder):
        super().__init__(binary)
        self.folder, self.sets = folder, []
        (folder / "run.yaml").write_text(RUN, encoding="utf-8")

    def trainyard(self, *words):
        return subprocess.run([self.binary, *map(str, words)], cwd=self.folder, capture_output=True,
                              text=True, check=False)

    def plan(self, *words):
        done = self.trainyard("plan", "run.yaml", *self.sets, *words, "--stats", "json")
        return json.loads(done.stdout) if done.returncode == 0 else {"says": done.stderr}

    def swept(self, shape, orders):
        """What fits of everything, fastest first, of those with least memory; how many layouts are legal."""
        rows = io.StringIO()
        table = csv.writer(rows)
        table.writerow(KEYS)
        table.writerows(layouts(*shape, orders))
        (self.folder / "all.csv").write_text(rows.getvalue(), encoding="utf-8")
        done = self.trainyard("sweep", "run.yaml", "--rows", "all.csv", "-o", "swept.csv", "-q",
                              *self.sets)
        if done.returncode != 0:
            self.check("the sweep over everything runs", False, done.stderr)
        with open(self.folder / "swept.csv", encoding="utf-8", newline="") as file:
            legal = [row for row in csv.DictReader(file) if not row["error"]]
        for i, row in enumerate(legal):
            row["row"] = i + 1
        fit = [row for row in legal if row["fits"] == "1"]
        return sorted(fit, key=lambda row: (float(row["step_time_s"]),
                                            float(row["peak_memory_bytes"]), row["row"])), len(legal)

    @staticmethod
    def apart(rows, found):
        """Rows of a sweep that keep the usual margin, and those that do not."""
        most = 0.95 * found["rows"][0]["capacity_bytes"]
        roomy = [row for row in rows if float(row["peak_memory_bytes"]) <= most]
        return roomy, [row for row in rows if row not in roomy]

    def same(self, mine, theirs):
        def text(value):
            return str(value).lower() if isinstance(value, bool) else str(value)
        return all(text(mine[key]) == theirs[key] for key in KEYS) and all(
            mine[name] == float(theirs[name]) for name in ("step_time_s", "mfu", "tokens_per_s"))

    def exhaustive(self, shape, orders):
        over = ["--over", "layout.order=" + ",".join(orders)]
        swept, legal = self.swept(shape, orders)
        found = self.plan(*over, "--jobs", 1)
        self.check("the space is every legal layout", found.get("space") == legal and found["exact"]
                   and 0 < found["fit"] == len(swept) < legal, (found, legal, len(swept)))
        roomy, tight = self.apart(swept, found)
        self.check("its rows are the first of a sweep that keep the margin, bit for bit",
                   len(found["rows"]) == 10 and all(
                       self.same(a, b) and a["row"] == b["row"] for a, b in zip(found["rows"], roomy)),
                   (found["rows"][:2], roomy[:2]))
        ahead = [row for row in tight if swept.index(row) < swept.index(roomy[9])][:10]
        least = 1 if len(sys.argv) == 2 else 0  # a space from outside may have none
        self.check("and tight are those ahead of the last of them", least <= len(ahead) ==
                   len(found["tight"]) and all(self.same(a, b) and a["row"] == b["row"]
                                               for a, b in zip(found["tight"], ahead)),
                   (found["tight"], ahead))
        self.check("what a bound rules out was not simulated, and the rest was",
                   found["bounded"] + found["simulated"] == found["fit"], found)
        with open(self.folder / "swept.csv", encoding="utf-8", newline="") as file:
            self.pareto(found, self.apart([row for row in csv.DictReader(file)
                                           if row["fits"] == "1"], found)[0])
        del found["seconds"]
        other = self.plan(*over, "--jobs", 2)
        del other["seconds"]
        self.check("two threads find the same", found == other, other)
        return over

    def schemes(self):
        """Tensor schemes and depths, beside a sweep over all that there could be."""
        fixed = {"layout.pipeline": 1, "layout.zero": 0, "layout.recompute": "none",
                 "schedule.name": "1f1b"}
        keys = ["layout.tensor", "layout.tensor_scheme", "layout.tensor_depth", "layout.micro_batch",
                "layout.sequence_parallel"]
        grids = [("1d", 1), ("2d", 1), ("3d", 1), *(("2.5d", d) for d in (2, 4, 8))]
        rows = [[t, scheme, d, b, on] for t, (scheme, d), b, on in itertools.product(
            (1, 4, 8), grids, divisors(BATCH), ("false", "true")) if t > 1 or scheme == "1d"]
        text = io.StringIO()
        csv.writer(text).writerows([keys, *rows])
        (self.folder / "grids.csv").write_text(text.getvalue(), encoding="utf-8")
        sets = [word for key, value in fixed.items() for word in ("--set", f"{key}={value}")]
        self.trainyard("sweep", "run.yaml", "--rows", "grids.csv", "-o", "gridded.csv", "-q", *sets)
        with open(self.folder / "gridded.csv", encoding="utf-8", newline="") as file:
            legal = [row for row in csv.DictReader(file) if not row["error"]
                     and (row["layout.tensor"] != "1" or row["layout.sequence_parallel"] == "false")]
        fit = sorted((float(row["step_time_s"]), float(row["peak_memory_bytes"]))
                     for row in legal if row["fits"] == "1")
        found = self.plan(*sets, "--over", "layout.tensor=1,4,8", "--over",
                          "layout.tensor_scheme=auto", "--over",
                          "layout.order=" + ORDERS[0], "--top", 400, "--margin", 0)
        shown = {row["layout.tensor_scheme"] for row in found["rows"]}
        self.check("schemes are searched as a sweep over them finds", found["exact"]
                   and found["space"] == len(legal) and shown == {"1d", "2d", "2.5d", "3d"}
                   and [row["step_time_s"] for row in found["rows"]] == [step for step, _ in fit],
                   (found["space"], len(legal), shown))
        usual = self.plan(*sets, "--top", 1)["rows"][0]
        self.check("nobody is told of schemes who did not ask",
                   "layout.tensor_scheme" not in usual and "layout.tensor_depth" not in usual, usual)

    def pareto(self, found, fit):
        front = [(row["step_time_s"], row["peak_memory_bytes"]) for row in found["pareto"]]
        column = next(k for k in fit[0] if k.startswith("peak_memory"))
        points = [(float(row["step_time_s"]), float(row[column])) for row in fit]
        least = min(point[0] for point in points)
        own = sorted({p for p in points if p[0] <= 1.5 * least and not any(
            q[0] <= p[0] and q[1] <= p[1] and q != p for q in points)})
        self.check("the Pareto set is that of everything", sorted(front) == own, (front, own))

    def tight(self, over):
        """A layout that nearly fills the memory is not recommended, unless the margin is smaller."""
        best = self.plan(*over, "--top", 1)["rows"][0]
        memory = ["--set", f"cluster.memory={int(1.03 * best['peak_memory_bytes'])} B", *over]
        usual, small = (self.plan(*memory, *words, "--top", 400) for words in (
            [], ["--margin", "2 %"]))
        free = [1 - row["peak_memory_bytes"] / row["capacity_bytes"]
                for row in usual["rows"] + usual["pareto"]]
        self.check("what leaves less than 5 % free is not recommended", min(free) >= 0.05
                   and usual["tight"][0]["row"] == best["row"] and {row["verdict"] for row in
                                                                    usual["tight"]} == {"tight"}
                   and usual["margin"] == 0.05, usual["tight"][:2])
        self.check("but with a smaller --margin", small["rows"][0]["row"] == best["row"]
                   and small["rows"][0]["verdict"] == "fits" and small["margin"] == 0.02,
                   small["rows"][0])
        first = self.plan(*memory, "--top", 1)
        told = self.trainyard("plan", "run.yaml", *memory, "--top", 1).stdout
        self.check("tight ones have a table of their own, below the best with more",
                   "\ntight: fast enough for the rows above, but they leave less than 5.00 % of the memory "
                   f"free (--margin) and may fail; row {first['rows'][0]['row']} to compare\n" in told
                   and first["tight"][0]["row"] == best["row"], told)
        emitted = self.trainyard("plan", "run.yaml", *memory, "--emit", "yaml").stdout
        (self.folder / "roomy.yaml").write_text(emitted, encoding="utf-8")
        run = json.loads(self.trainyard("run", "roomy.yaml", "--stats", "json").stdout)
        self.check("best.yaml is not tight", run["step_time_s"] == first["rows"][0]["step_time_s"]
                   and run["memory"]["verdict"] == "fits", run["memory"])
        told = self.trainyard("plan", "run.yaml", *over, "--set", "cluster.memory=80 GiB").stdout
        self.check("without tight ones there is no such table", "tight" not in told, told)
        none = self.trainyard("plan", "run.yaml", *memory, "--margin", "90 %")
        said = re.search(r"^none of [\d,]+ layouts that fit leaves 90.00 % of the memory free "
                         r"\(--margin\); the best of them: .* free\nhint: --margin ([\d.]+)% takes it",
                         none.stderr)
        self.check("where none keeps it, a margin is told that one keeps", none.returncode == 1
                   and none.stdout == "" and said is not None and self.plan(
                       *memory, "--margin", said[1] + "%", "--top", 1).get("rows"), none.stderr)

    def resumed(self, over):
        words = [*over, "--top", 5, "-o", "out"]
        self.trainyard("plan", "run.yaml", *words)
        names = FILES
        whole = {name: (self.folder / "out" / name).read_text(encoding="utf-8") for name in names}
        lines = whole["rows.csv"].splitlines(True)
        for name in names:
            (self.folder / "out" / name).unlink()
        numbers = [int(line.split(",")[0]) - 1 for line in lines[1:]]
        record = partial([lines[0], *([""] * (max(numbers) + 1))], [])
        for k in (len(lines) - 1, 1, len(lines) // 2):
            record += partial([lines[0], *([""] * numbers[k - 1]), lines[k]], [numbers[k - 1]])[
                len("row,bytes,crc32," + lines[0]):]
        left = self.folder / "out" / "rows.csv.partial"
        left.write_text(record[:-5], encoding="utf-8")
        again = self.trainyard("plan", "run.yaml", *words)
        self.check("rows that are there are not lost unasked", again.returncode == 3
                   and "rows that an earlier plan finished; --resume continues there"
                   in again.stderr, again.stderr)
        again = self.trainyard("plan", "run.yaml", *words[:-1], "merged", "--merge",
                               "out/rows.csv.partial", "run.yaml")
        self.check("what is no table of a plan is not merged", again.returncode == 3 and
                   "run.yaml: its columns are not those of this plan; merge the shards of one plan"
                   in again.stderr, again.stderr)
        self.trainyard("plan", "run.yaml", *words, "--resume", "--jobs", 2)
        back = {name: (self.folder / "out" / name).read_text(encoding="utf-8") for name in names}
        self.check("after a kill --resume writes the same bytes", back == whole,
                   [name for name in names if back[name] != whole[name]])
        left.write_text(record.replace(",1f1b,", ",gpipe,"), encoding="utf-8")
        again = self.trainyard("plan", "run.yaml", *words, "--resume")
        self.check("rows of another plan are not taken for its own", again.returncode != 0
                   or (self.folder / "out" / "rows.csv").read_text(encoding="utf-8")
                   == whole["rows.csv"], again.stderr)
        left.unlink(missing_ok=True)
        best = json.loads(whole["plan.json"])["rows"][0]
        run = json.loads(self.trainyard("run", "out/best.yaml", "--stats", "json").stdout)
        self.check("best.yaml runs as it is, as long", run["step_time_s"] == best["step_time_s"]
                   and max(run["memory"]["peak_bytes"]) == best["peak_memory_bytes"], run)

    def shards(self, over):
        whole = self.plan(*over, "--top", 4)
        words = [*over, "--top", 4]
        parts = [self.plan(*words, "--shard", f"{i}/3", "-o", f"part{i}") for i in (1, 2, 3)]
        rows = sorted((row for part in parts for row in part["rows"]),
                      key=lambda row: (row["step_time_s"], row["peak_memory_bytes"], row["row"]))
        self.check("three shards have every layout between them, and the best ones",
                   sum(part["fit"] for part in parts) == whole["fit"]
                   and rows[:4] == whole["rows"], parts)
        self.trainyard("plan", "run.yaml", *words, "-o", "at-once")
        done = self.trainyard("plan", "run.yaml", *words, "-o", "merged", "--merge",
                              *(f"part{i}/rows.csv" for i in (1, 2, 3)))
        self.check("merged they are the bytes of a plan at once", done.returncode == 0 and all(
            (self.folder / "merged" / name).read_text(encoding="utf-8")
            == (self.folder / "at-once" / name).read_text(encoding="utf-8")
            for name in FILES), done.stderr)

    def pictures(self, over):
        self.trainyard("plan", "run.yaml", *over, "--top", 3, "-o", "drawn", "--gpus", "4,8")
        found = json.loads((self.folder / "drawn/plan.json").read_text(encoding="utf-8"))
        svg = xml.etree.ElementTree.parse(self.folder / "drawn/pareto.svg").getroot()
        marks = [m for m in svg.iter("{http://www.w3.org/2000/svg}path") if m.get("stroke-width")
                 and m.get("transform") and m.get("fill") != "#fff"]
        lines = [t for t in svg.iter("{http://www.w3.org/2000/svg}text")
                 if re.fullmatch(r"[\d.]+ [GM]iB", t.text or "")]
        self.check("the picture has a mark for every layout that nothing of its size beats",
                   len(marks) - len(lines) - 2 >= len(found["pareto"]) > 2, len(marks))
        texts = [t for t in svg.iter("{http://www.w3.org/2000/svg}text")]
        ends = [float(t.get("y")) for t in texts if t.get("y")]
        width, height = map(float, svg.get("viewBox").split()[2:])
        self.check("its words are within it, and it ends behind them", all(
            float(t.get("x")) + 7 * len(t.text or "") < width
            for t in texts if t.get("x") and t.get("text-anchor") is None and not t.get("font-size"))
                   and 0 < height - max(ends) < 30
                   and any(t.text.endswith(" none,") for t in texts), max(ends))
        page = (self.folder / "drawn/plan.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="data">\n(.*?)\n</script>', page, re.S)[1])
        self.check("the page has the answer and the table, and needs nothing else", data["plan"] == found
                   and "layouts on 8 GPUs" in data["text"] and "src=" not in page, page[:300])
        colours = [set(re.findall(r"--\w+: ?(#\w+)", text)) for text in (STYLE.read_text(encoding="utf-8"), page)]
        self.check("it looks like a report: its style, dark and narrow screens, headings, what scrolls by keyboard",
                   len(colours[0]) > 20 and colours[0] == colours[1] and 'name="viewport"' in page
                   and page.count("prefers-color-scheme: dark") + page.count("prefers-color-scheme:dark") > 2
                   and page.count("<h2") == 2 and re.search(r'<pre id="words" tabindex="0" role="region"', page), page[:300])

    def told(self, over):
        """Why layouts stand where they stand: words of the table beside the numbers of the object."""
        unit = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
        line = re.compile(r"row (\d+) against row (\d+): (?:([\d.]+ \w+) more of memory \(.*?\), |as much "
                          r"memory, )?([+-][\d.]+) (\w+) a step \([\d.]+ %\): (.*)")

        def parts(row):
            all_of = dict(row["breakdown"])
            bubble = sum(all_of.pop(f"bubble_{kind}") for kind in ("fill", "stall", "drain"))
            return {**all_of, "bubble": bubble}
        for words in ([], ["--objective", "memory"], ["--over", "schedule.name=interleaved"]):
            found = self.plan(*over, *words, "--top", 40)
            row = {row["row"]: row for row in found["rows"]}
            table = self.trainyard("plan", "run.yaml", *over, *words, "--top", 40).stdout
            said = line.search(table)
            a, b = (row[int(said[i])] for i in (2, 1))
            difference = {name: parts(b)[name] - parts(a)[name] for name in parts(a)}
            reasons = {name: float(x) * unit[u] for name, x, u in
                       re.findall(r"([\w ]+) ([+-][\d.]+) (\w+)", said[6].replace(", ", ","))}
            rest = reasons.pop("the rest", 0)
            name = " ".join(words)
            self.check(f"reasons are the largest differences {name}", reasons and all(
                abs(s - difference[part]) < 1e-3 * abs(s) for part, s in reasons.items())
                and min(map(abs, reasons.values())) >= max(
                    [abs(s) for part, s in difference.items() if part not in reasons]),
                (said[0], difference))
            whole, step = sum(reasons.values()) + rest, float(said[4]) * unit[said[5]]
            self.check(f"and add up to that of the steps {name}",
                       abs(whole - step) < 0.03 * max(map(abs, reasons.values()))
                       and abs(step - (b["step_time_s"] - a["step_time_s"])) < 1e-3 * abs(step),
                       (said[0], whole))
            bound = re.search(r"row (\d+) is bound by (\w+) ", table)
            waits = {k: v for k, v in parts(found["rows"][0]).items() if not k.startswith("compute")}
            self.check(f"what it is bound by is the largest part {name}",
                       int(bound[1]) == found["rows"][0]["row"]
                       and waits[bound[2]] == max(waits.values()), (bound[0], waits))
        words = ["--gpus", "1,8", "--set", "fleet.price=3", "--set", "layout.pipeline=1"]
        found = self.plan(*words, "--top", 1)
        table = self.trainyard("plan", "run.yaml", *words, "--top", 1).stdout
        self.check("the table has the values of all numbers of GPUs, in order",
                   re.search(r"^  layout.tensor +1, 2, 4, 8$", table, re.M)
                   and re.search(r"^  layout.zero +0, 1, 2, 3$", table, re.M), table)
        self.check("what a step costs, and on how many GPUs", re.search(r" cost/step$", table, re.M)
                   and f" {found['rows'][0]['cost_per_step']:.4g}\n" in table
                   and f"\n{found['rows'][0]['gpus']} GPUs, " in table, table)

    def emitted(self, over):
        best = self.plan(*over, "--top", 1)["rows"][0]
        flags = self.trainyard("plan", "run.yaml", *over, "--emit", "megatron").stdout
        self.check("--emit megatron gives the flags of the best layout",
                   f"--tensor-model-parallel-size {best['layout.tensor']}\n" in flags
                   and f"--micro-batch-size {best['layout.micro_batch']}\n" in flags, flags)
        again = self.trainyard("plan", "run.yaml", *over, "--emit", "yaml").stdout
        (self.folder / "emitted.yaml").write_text(again, encoding="utf-8")
        run = json.loads(self.trainyard("run", "emitted.yaml", "--stats", "json").stdout)
        self.check("--emit yaml gives a file that runs as long",
                   run["step_time_s"] == best["step_time_s"], again)

    def caps(self):
        best = []
        for memory in (4, 5, 6, 8, 12, 20):
            found = self.plan("--set", f"cluster.memory={memory} GiB", "--top", 1, "--over",
                              "schedule.name=1f1b", "--over", "layout.order=" + ORDERS[0])
            best.append(found["rows"][0]["step_time_s"] if found.get("rows") else float("inf"))
        self.check("with more memory no step is longer", best == sorted(best, reverse=True)
                   and best[1] > best[-1] > 0, best)
        least = self.plan("--objective", "memory", "--top", 3, "--over", "schedule.name=1f1b")
        front = least["pareto"][-1]
        self.check("the objective memory finds the end of the Pareto set",
                   least["rows"][0]["peak_memory_bytes"] == front["peak_memory_bytes"]
                   and least["rows"][0]["step_time_s"] == front["step_time_s"], least["rows"][0])

    def curve(self):
        few = ["--over", "schedule.name=1f1b", "--over", "layout.order=" + ORDERS[0], "--top", 1]
        found = self.plan("--gpus", "4,8,16", *few, "--set", "fleet.price=2")
        alone = self.plan("--gpus", "16", *few, "--set", "fleet.price=2")
        last = found["scaling"][-1]
        self.check("a curve has the best of each number of GPUs",
                   [point["gpus"] for point in found["scaling"]] == [4, 8, 16]
                   and last["step_time_s"] == alone["rows"][0]["step_time_s"]
                   and found["scaling"][0]["efficiency"] == 1, found["scaling"])
        front = [(row["step_time_s"], row["peak_memory_bytes"], row["gpus"], row["cost_per_step"])
                 for row in found["pareto"]]
        self.check("and its Pareto set no row that another beats in time, memory, GPUs and cost",
                   not any(a != b and all(x <= y for x, y in zip(a, b))
                           for a in front for b in front), front)

    def interrupted(self, over):
        with subprocess.Popen([self.binary, "plan", "run.yaml", *over, "--jobs", "1", "-o", "stopped",
                               "--stats", "json"], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            rows = self.folder / "stopped" / "rows.csv.partial"
            while process.poll() is None and not (rows.exists() and rows.stat().st_size > 2000):
                pass
            process.send_signal(signal.SIGINT)
            out, said = process.communicate()
        found = json.loads(out) if out else {}
        done = process.returncode == 0  # it was faster than the signal
        # A signal behind the end of the search still ends the process, but takes nothing away.
        self.check("Ctrl-C gives the best so far, and says that it is no proof", done or (
            process.returncode == 130
            and found["exact"] is not ("--resume continues there" in said)),
            (process.returncode, out, said))
        self.trainyard("plan", "run.yaml", *over, "-o", "stopped", "--resume")
        self.trainyard("plan", "run.yaml", *over, "-o", "whole")
        self.check("and --resume the rest", all(
            (self.folder / "stopped" / name).read_text(encoding="utf-8")
            == (self.folder / "whole" / name).read_text(encoding="utf-8")
            for name in FILES), said)

    def within(self):
        """A search without time has looked at something, and says that it is not all."""
        done = self.call(self.folder, "plan", "run.yaml", *self.sets, "--within", "1e-9", "-j", "1",
                         "--stats", "json")
        answer = json.loads(done.stdout)
        self.check("a search that ends early is not exact", done.returncode in (0, 1)
                   and answer["exact"] is False and answer["given"]["step_time_s"] > 0, done)
        whole = json.loads(self.trainyard("plan", "run.yaml", *self.sets, "--stats", "json").stdout)
        best = whole["rows"][0]["step_time_s"]
        gaps = {}
        for within in ("0.01", "0.03", "0.1", "100"):
            found = json.loads(self.trainyard("plan", "run.yaml", *self.sets, "--within", within,
                                              "--stats", "json").stdout)
            if found.get("rows") and "gap" in found:
                gaps[within] = found["gap"], 1 - best / found["rows"][0]["step_time_s"]
        self.check("what the rest can gain is at most the gap", all(
            real <= gap + 1e-12 and 0 <= gap < 1 for gap, real in gaps.values()), gaps)
        self.check("a search that ended has no gap", found["exact"] and "gap" not in found
                   and found["rows"] == whole["rows"], found)
        done = self.trainyard("plan", "run.yaml", *self.sets, "--within", "1e-9", "-j", "1")
        self.check("and shows the layout of the file", "\nyours " in done.stdout, done)
        (self.folder / "fixed.yaml").write_text("""\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b, layers: 4}
layout: {zero: 1, recompute: none, global_batch: 8}
""", encoding="utf-8")
        done = self.trainyard("plan", "run.yaml", "--over", "layout.tensor=3,2,5", "--over",
                              "schedule.name=1f1b,interleaved", "--over", "layout.pipeline=1")
        self.check("keys that the file fixes are listed, those that are searched are not",
                   re.search(r"^  fixed +layout\.zero \d, layout\.recompute none; --free "
                             r"layout,schedule searches them$", self.trainyard(
                                 "plan", "fixed.yaml").stdout, re.M), done)
        self.check("listed values that no layout can have are named", all(
            f"\n  {line}\n" in re.sub(" +", " ", done.stdout).replace("\n ", "\n  ") for line in (
                "layout.tensor 2; none has 3, 5", "schedule.name 1f1b; none has interleaved")), done)

    def hasty(self):
        """Ctrl-C before anything is simulated, where a layout was to be printed."""
        (self.folder / "large.yaml").write_text("""\
cluster: {preset: dgx-h100, nodes: 128}
model: {preset: llama3-405b}
layout: {global_batch: 4096}
""", encoding="utf-8")
        for stack in ("megatron", "yaml"):
            # A signal ends the search once there is a folder, and the process before.
            with subprocess.Popen([self.binary, "plan", "large.yaml", "--jobs", "1", "--emit", stack,
                                   "-o", stack], cwd=self.folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                while process.poll() is None and not (self.folder / stack).exists():
                    time.sleep(0.01)
                process.send_signal(signal.SIGINT)
                out, said = process.communicate()
            self.check(f"Ctrl-C before there is a layout: --emit {stack} says so",
                       process.returncode == 130 and (
                           out == "" and "before a layout was simulated" in said
                           or "NOT exact" in out), (process.returncode, out, said))

    def uneven(self):
        """Memory that is short for none and generous for all layers: counts are in between."""
        (self.folder / "tight.yaml").write_text("""\
cluster: {preset: dgx-a100-80g, nodes: 1, reserve: 71.9 GB}
model: {preset: llama-7b, sequence: 4096, layers: 16}
layout: {tensor: 2, global_batch: 32, zero: 0, sequence_parallel: false}
schedule: {name: 1f1b}
""", encoding="utf-8")
        words = ["plan", "tight.yaml", "--over", "layout.recompute=none,full", "--margin", "0",
                 "--stats", "json"]
        plain = json.loads(self.trainyard(*words).stdout)
        texts = [self.trainyard(*words, "--uneven", 8, "--jobs", jobs).stdout for jobs in (1, 2)]
        found = json.loads(texts[0])
        row = found["uneven"]["rows"][0]
        sets = [f"--set={key}={value}" for key, value in row.items() if "." in key]
        run = json.loads(self.trainyard("run", "tight.yaml", "--stats", "json", *sets).stdout)
        self.check("--uneven beats the best of the space", found["rows"] == plain["rows"]
                   and row["step_time_s"] < 0.8 * found["rows"][0]["step_time_s"], row)
        self.check("and its keys do", run["step_time_s"] == row["step_time_s"], run["step_time_s"])
        self.check("at any number of threads",
                   {**found, "seconds": 0} == {**json.loads(texts[1]), "seconds": 0}, texts[1][-900:])
        self.trainyard(*words, "--uneven", 8, "-o", "dealt")
        best = json.loads(self.trainyard("run", "dealt/best.yaml", "--stats", "json").stdout)
        self.check("and best.yaml is that one", best["step_time_s"] == row["step_time_s"],
                   (self.folder / "dealt/best.yaml").read_text(encoding="utf-8"))
        margin = 1.005 - row["peak_memory_bytes"] / row["capacity_bytes"]
        kept = json.loads(self.trainyard(*words, "--margin", margin, "--uneven", 8).stdout)
        kept = kept["uneven"]["rows"][0]
        self.check("it keeps the margin", kept["step_time_s"] > row["step_time_s"]
                   and 1 - kept["peak_memory_bytes"] / kept["capacity_bytes"] >= margin, (kept, row))
        (self.folder / "meshes.yaml").write_text("""\
cluster: {preset: dgx-a100-80g, nodes: 3, reserve: 60 GB}
model: {preset: llama-7b, layers: 9}
layout: {global_batch: 16, micro_batch: 2, zero: 0, sequence_parallel: false}
""", encoding="utf-8")
        words = ["plan", "meshes.yaml", "--meshes", 8, "--stats", "json", "--margin"]
        mesh = json.loads(self.trainyard(*words, 0).stdout)["uneven"]["rows"][0]
        margin = 1.005 - mesh["peak_memory_bytes"] / mesh["capacity_bytes"]
        kept = json.loads(self.trainyard(*words, margin).stdout)["uneven"]["rows"][0]
        self.check("meshes keep the margin, too", kept["step_time_s"] > mesh["step_time_s"]
                   and 1 - kept["peak_memory_bytes"] / kept["capacity_bytes"] >= margin, (kept, mesh))
        words = ["plan", "tight.yaml", "--over", "layout.recompute=none,full", "--margin", "0"]
        said = self.trainyard(*words, "--uneven", 8, "--emit", "megatron").stdout
        self.check("in a stack's words, too", "layout.recompute_layers [" in said, said)
        wide = json.loads(self.trainyard("plan", "tight.yaml", "--uneven", 8, "--margin", "0",
                                         "--stats", "json").stdout)
        other = wide["uneven"]["rows"][0]
        self.check("what layers may repeat is what the space says",
                   other["step_time_s"] < wide["rows"][0]["step_time_s"]
                   and other["step_time_s"] < row["step_time_s"]
                   and "ffn" in other["layout.recompute_layers"], other)

    def sure(self):
        """Bands of rows are those of their runs; gaps those of a diff of the two runs."""
        file = EXAMPLES / "uncertain.yaml"
        words = ["plan", file, "--over", "layout.tensor=1,4", "--over", "layout.pipeline=1,8",
                 "--over", "layout.recompute=none,full", "--over", "layout.micro_batch=1",
                 "--over", "layout.sequence_parallel=false", "--uncertain", "--margin", "0",
                 "--top", "40"]
        found = json.loads(self.trainyard(*words, "--stats", "json").stdout)
        rows, sure = found["rows"], found["uncertainty"]
        runs = []
        for row in (rows[0], rows[-1]):
            runs.append([f"{key}={value}" for key, value in row.items()
                         if key in KEYS and key != "layout.order"] + [
                             f"layout.order={row['layout.order']}"])
            run = json.loads(self.trainyard("run", file, "--uncertain", "--stats", "json", *(
                f"--set={word}" for word in runs[-1])).stdout)
            band = next(x for x in sure if x["row"] == row["row"])
            self.check(f"the band of row {row['row']} is that of its run",
                       run["step_time_s"] == row["step_time_s"] and [
                           band["step_low_s"], band["step_high_s"]]
                       == run["uncertainty"]["step_time_s"], (band, run["uncertainty"]))
        diff = json.loads(self.trainyard("diff", file, file, "--uncertain", "--stats", "json", *(
            f"--set={letter}:{word}" for letter, run in zip("AB", runs) for word in run)).stdout)
        names = ("gap_low", "gap_high", "faster", "told_apart")
        pair = next(value for value in diff.values()
                    if isinstance(value, list) and "gap_low" in value[0])[0]
        self.check("and its gap that of a diff", [pair[name] for name in names]
                   == [sure[-1][name] for name in names], (pair["gap_low"], sure[-1]))
        self.check("a small gap is none, a large one is", "faster" not in sure[0]
                   and sure[1]["told_apart"] is False and sure[-1]["told_apart"] is True
                   and sure[-1]["faster"] < 0.05 < sure[1]["faster"], sure)
        tied = sum(not x["told_apart"] for x in sure[1:])
        told = self.trainyard(*words).stdout
        self.check("the table counts those that make no difference here",
                   f"no significant difference from row {rows[0]['row']} (p > 0.05): {tied} of {len(sure) - 1} "
                   "other rows\n" in told and told.count(", not significant: p = 0.") == tied, told)
        self.check("two threads find the same bands", {**found, "seconds": 0} == {
            **json.loads(self.trainyard(*words, "--stats", "json", "--jobs", 2).stdout),
            "seconds": 0}, sure)

    def nearest(self):
        """Where nothing fits: what would make the nearest layout fit does."""
        (self.folder / "near.yaml").write_text("""\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b}
layout: {tensor: 1, pipeline: 1, zero: 0, global_batch: 32}
""", encoding="utf-8")
        done = self.trainyard("plan", "near.yaml")
        said = re.search(r"^none of 24 layouts fits on 8 GPUs; nearest is (.*), with (.*) GiB of 79.2 "
                         r"GiB$", done.stderr, re.M)
        hints = re.findall(r"^hint: the nearest would fit with --set (\S+)(?: --set (\S+))?$",
                           done.stderr, re.M)
        self.check("the nearest of those that do not fit", done.returncode == 1 and said is not None
                   and len(hints) == 3, done.stderr)
        near = [f"--set={value.replace(' ', '=')}" for value in said[1].split(", ")]
        self.check("does not fit", self.trainyard("run", "near.yaml", *near).returncode == 1, near)
        for hint in hints:
            more = [f"--set={word}" for word in hint if word != ""]
            self.check(f"but with {' '.join(more)}",
                       self.trainyard("run", "near.yaml", *near, *more).returncode == 0, more)

    def files(self):
        """Files that a run file and an overlay name, beside each of them: best.yaml, which is elsewhere,
        reads the same ones."""
        for to, name in (("jobs/models", "own-model.json"), ("fit", "all_reduce_4xa100.log")):
            (self.folder / to).mkdir(parents=True)
            shutil.copy(EXAMPLES / name, self.folder / to)
        (self.folder / "jobs/run.yaml").write_text("""\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {huggingface: models/own-model.json, sequence: 1024, layers: 8}
layout: {tensor: 4, global_batch: 16, zero: 1, order: [tensor, context, data, pipeline]}
""", encoding="utf-8")
        (self.folder / "fit/measured.yaml").write_text(
            "cluster: {collectives: {measured: all_reduce_4xa100.log}}\n", encoding="utf-8")
        words = ["jobs/run.yaml", "--with", "fit/measured.yaml"]
        self.trainyard("plan", *words, "--top", 1, "-o", "found")
        best = json.loads((self.folder / "found/plan.json").read_text(encoding="utf-8"))["rows"][0]
        text = (self.folder / "found/best.yaml").read_text(encoding="utf-8")
        run = json.loads(self.trainyard("run", "found/best.yaml", "--stats", "json").stdout)
        self.check("files that are read have their whole names in best.yaml",
                   f"huggingface: {self.folder}/jobs/models/own-model.json\n" in text
                   and f"measured: {self.folder}/fit/all_reduce_4xa100.log\n" in text, text)
        self.check("and are read", run["step_time_s"] == best["step_time_s"], run)
        plain = json.loads(self.trainyard("run", "found/best.yaml", "--stats", "json",
                                          "--set=cluster.collectives.measured=none").stdout)
        self.check("and matter", plain["step_time_s"] != best["step_time_s"], plain)

    def models(self):
        """Several values of a key of the model or the run: one ranking of them all."""
        words = ["--set", "layout.tensor=2", "--stats", "json"]
        over = [*words, "--over", "model.lora.rank=8,64"]
        alone = []
        for rank in (8, 64):
            done = self.trainyard("plan", "run.yaml", *words, "--set", f"model.lora.rank={rank}")
            alone += [(row["step_time_s"], rank) for row in json.loads(done.stdout)["rows"]]
        answer = json.loads(self.trainyard("plan", "run.yaml", *over).stdout)
        rows = [(row["step_time_s"], int(row["model.lora.rank"])) for row in answer["rows"]]
        self.check("values of a key are ranked together", rows == sorted(alone)[:10], answer)
        self.check("and each has its best", [row["model.lora.rank"] for row in answer["scaling"]]
                   == ["8", "64"], answer)
        self.trainyard("plan", "run.yaml", *over[:2], *over[4:], "-o", "ranks")
        best = (self.folder / "ranks/best.yaml").read_text(encoding="utf-8")
        head = (self.folder / "ranks/rows.csv").read_text(encoding="utf-8").split("\n", 1)[0]
        self.check("the best is written with its value", f"lora: {rows[0][1]}\n" in best, best)
        self.check("and rows with theirs", head.startswith("row,gpus,model.lora.rank,"), head)
        done = self.call(self.folder, "plan", "run.yaml", *over, "--over", "run.seed=1,2")
        self.check("two such keys are refused", done.returncode == 2
                   and "another key of the model" in done.stderr, done)
        done = self.call(self.folder, "plan", "run.yaml", "--over", "model.lora.rank=8,")
        self.check("and an empty value", done.returncode == 2 and "not KEY=V1,V2" in done.stderr,
                   done)

    def piped(self):
        """A run file on standard input."""
        words = ["--over", "schedule.name=1f1b", "--top", "2", "--emit", "yaml"]
        done = subprocess.run([self.binary, "plan", "-", *words], input=RUN, cwd=self.folder,
                              capture_output=True, text=True, check=False)
        plain = self.trainyard("plan", "run.yaml", *words)
        self.check("a run file may be standard input", done.returncode == 0 and
                   done.stdout.replace("<stdin>", "run.yaml", 1) == plain.stdout != "", done.stderr)

    def wrong(self):
        (self.folder / "best.yaml").write_text("run: {seed: 1}\n", encoding="utf-8")
        for words, status, says in [
                (["--gpus", "12x"], 2, "--gpus 12x: not a number of GPUs, or several"),
                (["--gpus", "10"], 2, "--gpus 10: not a whole number of nodes of 4 GPUs; write 8 or 12"),
                (["--gpus", "400000"], 2, "--gpus 400000: more than 65536 nodes of 4 GPUs; write at "
                 "most 262144"),
                (["--gpus", "1", "--set", "cluster.memory=3 GiB", *(word for key in (
                    "layout.micro_batch=1", "layout.recompute=none", "schedule.name=1f1b")
                    for word in ("--over", key))], 1, "none of 1 layout fits on 1 GPU; nearest is that"),
                (["--top", "0"], 2, "--top 0: not a whole number of at least 1"),
                (["--top", "1000000"], 2, "at most 10000 rows are kept"),
                (["--objective", "speed"], 2, "--objective speed: write time, cost or memory"),
                (["--margin", "x"], 2, "--margin x: not a share of the memory below 100 %; write one"),
                (["--margin", "100 %"], 2, "--margin 100 %: not a share of the memory below 100 %"),
                (["--margin", "-1 %"], 2, "--margin -1 %: not a share of the memory below 100 %"),
                (["--shard", "4/3"], 2, "--shard 4/3: there is no shard 4"),
                (["--merge", "run.yaml"], 2, "--merge combines the rows of shards in a folder"),
                (["--uneven", "4", "--shard", "1/2"], 2, "--uneven: looks for what is faster than"),
                (["--uneven", "4", "--objective", "memory"], 2, "leave --objective out"),
                (["--meshes", "4", "--objective", "memory"], 2, "--meshes: looks for what is faster"),
                (["--meshes", "0"], 2, "--meshes 0: not a whole number of at least 1"),
                (["--gpus", "8,8"], 2, "--gpus 8,8: 8 is there twice; keep one"),
                (["--over", "layout.tensor=2,1,2"], 2, "--over layout.tensor: 2 is there twice"),
                (["--over", "layout.tensor=1", "--over", "layout.tensor=2"], 2, "is given twice"),
                *((["--over", f"{key}={words}"], 2, f"--over {key}: {words.split(',')[at]} leaves its "
                   "values to the search; leave it or the others out")
                  for key, words, at in [
                      ("layout.tensor", "auto,2", 0), ("layout.micro_batch", "2,auto", 1),
                      ("layout.zero", "auto,1", 0), ("layout.offload", "none,auto", 1),
                      ("layout.order", "auto,[tensor, context, data, pipeline]", 0),
                      ("schedule.name", "all,1f1b", 0), ("schedule.name", "1f1b,auto", 1)]),
                (["--emit", "megatron", "--stats", "json"], 2, "leave --stats out"),
                (["--emit", "mgt"], 2, "write one of megatron, deepspeed, torchtitan, yaml"),
                (["--stats", "xml"], 2, "--stats xml: write table or json"),
                (["-o", ".", "--with", "best.yaml"], 2, "best.yaml"),
                (["--resume"], 2, "--resume continues the search in a folder"),
                (["--over", "layout.tensr=1"], 2, 'did you mean "layout.tensor"?'),
                (["--over", "layout.tensor=3"], 3, "layout.tensor: 3 does not divide model.heads (8)"),
                (["--over", "layout.tensor=1,,2"], 2, "value 2 is empty"),
                (["--set", "layout.data=3"], 3, "and the cluster has 8 GPUs; write 8, or auto"),
                (["--set", "cluster.memory=2 GiB", "--gpus", "4"], 1, "layouts fits on 4 GPUs; nearest is"),
                (["--set", "layout.nodes=0", "--gpus", "4"], 2, "says where the job sits"),
                (["--set", "layout.global_batch=auto"], 3, "layout.global_batch: not a whole number")]:
            done = self.trainyard("plan", "run.yaml", *words)
            self.check(f"{' '.join(words)}: {status}", done.returncode == status
                       and says in done.stderr and done.stdout == "", (done.returncode, done.stderr))
        for command in ("run", "check"):
            done = self.trainyard(command, "run.yaml", "--set", "layout.tensor=auto")
            self.check(f"{command} leaves auto to plan", done.returncode == 3
                       and '"trainyard plan" with this file finds the best' in done.stderr, done.stderr)
        given = self.plan("--set", "layout.tensor=auto", "--over", "schedule.name=all", "--over",
                          "layout.recompute=none", "--over", "layout.micro_batch=1", "--top", 400)
        names = {row["schedule.name"] for row in given["rows"]}
        self.check("all schedules are the synchronous ones", {"zb-1p", "1f1b", "interleaved"} <= names
                   and not names & {"pipedream", "pipedream-2bw"}, names)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        suite = Suite(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        if len(sys.argv) > 2:
            text = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
            (folder / "run.yaml").write_text(text, encoding="utf-8")
            gpus, layers, batch = map(int, sys.argv[3:])
            suite.sets = ["--set", f"layout.global_batch={batch}"]
            suite.exhaustive((gpus, layers, batch), ORDERS[:1])
        else:
            over = suite.exhaustive((GPUS, LAYERS, BATCH), ORDERS)
            suite.schemes()
            suite.tight(over)
            suite.resumed(over)
            suite.shards(over)
            suite.caps()
            suite.curve()
            suite.pictures(over)
            suite.told(over)
            suite.emitted(over)
            suite.interrupted(over)
            suite.hasty()
            suite.within()
            suite.uneven()
            suite.sure()
            suite.nearest()
            suite.files()
            suite.piped()
            suite.models()
            suite.wrong()
        print(f"1..{suite.n}")
        return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
