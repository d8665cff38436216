#!/usr/bin/env python3
"""Makes pages of the examples and reads them back without a browser: a second implementation of
docs/reference/report-data.md. Sums of slices must equal the statistics, in whole picoseconds."""
import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

from few import WHOLE, shortened

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
# 16 stages of 256 micro-batches: the longest that a page must hold.
LONG = ["--set", "cluster.nodes=16", "--set", "layout.data=1", "--set", "layout.global_batch=256"]
INTERLEAVED = ["--set", "schedule.name=interleaved", "--set", "schedule.chunks=2"]
# Example, options, exit status, shown ranks.
PAGES = [
    ("llama-30b-256xa100.yaml", [], 0, 4),
    ("llama-30b-256xa100.yaml", ["--detail", "op", "--ranks", "6", "--set", "layout.global_batch=256"], 0, 1),
    ("llama-65b-256xa100.yaml", ["--detail", "stage", "--ranks", "0-7"], 0, 8),
    ("llama3-8b-fsdp-8xh100.yaml", ["--detail", "layer", "--ranks", "all"], 0, 8),
    ("gpt3-175b-1024xa100.yaml", [], 0, 16),
    ("stragglers.yaml", ["--ranks", "dp=1", "--set", "layout.global_batch=64"], 0, None),
    ("background-job.yaml", [], 0, None),
    ("gpipe-memory.yaml", ["--set", "run.steps=3", "--set", "schedule.name=zb-h1"], 3, None),
    ("gpipe-memory.yaml", ["--set", "run.steps=2", "--set", "schedule.name=zb-1p",
                           "--set", "layout.global_batch=64"], 0, 4),
    ("gpipe-memory.yaml", ["--set", "layout.recompute=none"], 1, 4),
    ("deadlock/circle.yaml", [], 4, 3),
    ("llama3-8b-fsdp-8xh100.yaml", ["--set", "model.preset=olmoe-1b-7b", "--set", "layout.expert=8",
                                    "--set", "run.routing=dirichlet:1"], 0, 1),
    ("gpipe-memory.yaml", ["--set", "layout.global_batch=64", "--set", "run.jitter=3 %",
                           "--against-set", "schedule.name=zb-1p"], 0, 4),
    ("gpt3-175b-1024xa100.yaml", LONG[:-1] + ["layout.global_batch=64", "--detail", "layer"], 0, 16),
]
# With --all: every page that must hold the longest.
LARGE = [
    ("gpt3-175b-1024xa100.yaml", LONG, 0, 16),
    ("gpt3-175b-1024xa100.yaml", LONG[:-1] + ["layout.global_batch=64", "--set", "run.jitter=3 %"], 0, 16),
    ("gpt3-175b-1024xa100.yaml", LONG + ["--against-set", "schedule.name=zb-1p"], 0, 16),
    ("gpt3-175b-1024xa100.yaml", LONG + ["--set", "run.jitter=3 %"], 0, 16),
    ("gpt3-175b-1024xa100.yaml", LONG + INTERLEAVED, 0, 16),
    ("gpt3-175b-1024xa100.yaml", LONG + INTERLEAVED + ["--against-set", "schedule.chunks=3"], 0, 16),
]
RETYPED = PAGES[8][1]  # the page whose table of schedules is typed line by line
LIMIT = 320_000  # bytes of a run on up to 16 ranks, and of what every page has


def numbers(text):
    value = shift = 0
    for byte in zlib.decompress(base64.b64decode(text), -15):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def signed(z):
    return z // 2 if z % 2 == 0 else -(z + 1) // 2


def tokens(text):
    seen = []
    for x in numbers(text):
        if x % 2 == 1:
            seen.append(x // 2)
        yield x // 2 if x % 2 == 1 else seen[x // 2]


def sparse(text, n):
    out, at, values = [0] * n, 0, numbers(text)
    for skipped in values:
        out[at + skipped] = next(values)
        at += skipped + 1
    return out


def followed(column):
    following = 0
    for x in column:
        if x > 0:
            following += signed(x - 1) + 1
        yield following - 1 if x > 0 else -1


def mixes_of(text):
    values = numbers(text)
    return [[(next(values), next(values)) for _ in range(n)] for n in values]


class Run:
    def __init__(self, run):
        self.run, n = run, run["n_slices"]
        columns = run["columns"]
        start, dur = list(map(signed, tokens(columns["start"]))), list(tokens(columns["dur"]))
        self.kind, cause = list(numbers(columns["kind"])), list(numbers(columns["cause"]))
        self.mix, self.mixes = list(followed(sparse(columns["mix"], n))), mixes_of(run["mixes"])
        self.delay, self.via = sparse(columns["delay"], n), sparse(columns["via"], n)
        assert len(start) == len(self.kind) == len(cause) == n
        assert len(dur) == self.mix.count(-1)
        dur = iter(dur)
        self.start, self.end, self.before, self.how, self.row = [], [], [], [], []
        for row, _, count in run["lanes"]:
            free, last, first = 0, {}, len(self.start)
            for i in range(first, first + count):
                kind = self.kind[i]
                before = last[kind] = last.get(kind, 0) + 1 + signed(cause[i] // 8)
                before -= 1
                known = 0 <= before < i and run["kinds"][kind]["sort"] != "idle"
                self.start.append(start[i] + (self.end[before] + self.delay[i] if known else free))
                free = self.start[i] + (next(dur) if self.mix[i] < 0 else
                                        sum(t for _, t in self.mixes[self.mix[i]]))
                self.end.append(free)
                self.row.append(row)
                self.before.append(before)
                self.how.append(run["hows"][cause[i] % 8])

    def problems(self):
        """What is wrong with it."""
        run = self.run
        for row, (first, count) in self.compute_lanes().items():
            sums = [0] * len(run["buckets"])
            free = 0
            for i in range(first, first + count):
                kind = run["kinds"][self.kind[i]]
                if self.start[i] < free:
                    yield f"slice {i} overlaps the one before it"
                free = self.end[i]
                if kind["sort"] == "idle":
                    sums[run["buckets"].index(kind["name"])] += self.end[i] - self.start[i]
                else:
                    for bucket, t in self.mixes[self.mix[i]]:
                        sums[bucket] += t
            if sums != run["rows"][row]["buckets_ps"]:
                yield f"row {row}: {sums} is not {run['rows'][row]['buckets_ps']}"
            if sum(sums) != run["makespan_ps"] and not run["rows"][row]["job"] and \
                    not any(r["job"] for r in run["rows"]):
                yield f"row {row}: the buckets do not make the run"
        for i, before in enumerate(self.before):
            if before >= len(self.start) or (before >= 0 and self.start[before] > self.start[i]
                                             and run["kinds"][self.kind[i]]["sort"] != "idle"):
                yield f"slice {i} waited for one that started later"
            if self.how[i] == "stream" and before >= 0 and self.end[before] > self.start[i] and \
                    self.end[before] < self.end[i]:  # what is not a part of the pass is shown by it
                yield f"slice {i} started before the one it follows ended"

    def compute_lanes(self):
        lanes, first = {}, 0
        for row, lane, count in self.run["lanes"]:
            if lane == 0:
                lanes[row] = (first, count)
            first += count
        return lanes

    def path_ps(self):
        total, values = 0, numbers(self.run["path"])
        for slice_plus_one in values:
            if slice_plus_one == 0:
                next(values)  # the rank
            total += next(values)
        return total


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', page, re.S)
    return json.loads(found.group(1))


def check_page(text, n_rows):
    outside = [link for link in re.findall(r"(?:https?:)?//[\w.]+", text)
               if "www.w3.org" not in link and re.match(r"(https?:)?//\w+\.\w+", link)]
    if outside:
        yield f"it names other places: {outside[:3]}"
    data = data_of(text)
    if "'col'},'')" in text or "'nodes',tabindex:0" not in text or 'id="others" role="region" tabindex="0"' not in text:
        yield "a head without a name, or a list that scrolls and no keyboard reaches"
    if not re.match(r"trainyard report [\w.-]+ -q -o page\.html", data["command"]) or re.search(r"[ '=]/", data["command"]):
        yield f"the foot says where files lie: {data['command']}"
    for run in data["runs"]:
        if not re.fullmatch(r"[\w.-]+", run["file"]):
            yield f"where the file lies: {run['file']}"
        read = Run(run)
        yield from list(read.problems())[:3]
        if not run["halted"] and not any(r["job"] for r in run["rows"]) and \
                read.path_ps() != run["makespan_ps"]:
            yield "the critical path is not as long as the run"
        if n_rows is not None and len(run["rows"]) != n_rows:
            yield f"{len(run['rows'])} rows"
        if not run["halted"]:
            yield from check_memory(run)
        if not run["halted"] and run is data["runs"][0]:
            yield from check_others({**run, "layers": layers_of(run)})
        if not run["halted"]:
            yield from check_experts(run)
        if run["halted"] != bool(run["trouble"]):
            yield "a deadlock without a word, or a word without a deadlock"


# What does not come and go with passes: not in the curve of a row.
RESERVE = ("fragmentation", "CUDA context", "communicators", "reserve", "rows above the mean")


def check_memory(run):
    """A row's peak is what its stage is judged by, and has the parts of its bill."""
    for row in run["rows"]:
        own = None if row["job"] else run["stages"][row["stage"]]
        if not 0 <= row["reserve"] < row["peak"] or sum(row["fixed"]) > row["peak"]:
            yield f"rank {row['rank']}: parts larger than the whole, {row}"
        if own is None:
            continue
        kept = sum(b for what, b, _ in own["bill"] if what in RESERVE)
        if row["peak"] != own["total"] or abs(kept - row["reserve"]) > 1e-9 * own["total"]:
            yield f"rank {row['rank']}: {row['peak']} and {row['reserve']} in reserve, not " \
                  f"{own['total']} and {kept}"
        if row["capacity"] < own["capacity"] or \
                (own["verdict"] == "does not fit") != (own["total"] > own["capacity"]):
            yield f"rank {row['rank']}: {own['verdict']}, {row['peak']} of {row['capacity']}"


def check_experts(run):
    """Whom the layers wait for: the fullest have more than the mean, and waits add up."""
    waited = run["figures"]["expert_wait_s"]
    layers = run.get("experts", [])
    if abs(sum(x["waited_s"] for x in layers) - waited) > 1e-9 * waited:
        yield f"{waited} s of waiting for experts, not the sum of their layers"
    if (waited > 0) != any(x["load"] > 1 for x in layers):
        yield f"{waited} s of waiting for experts, and loads {[x['load'] for x in layers]}"


def check_others(run):
    """Other schedules: in order, this run among them, and formulas where everybody knows them."""
    p, m = run["pipeline"], run["micro_batches"]
    items = run["schedules"]["items"]
    if p == 1:
        if items:
            yield "schedules for a pipeline of one stage"
        return
    own = [item for item in items if item["own"]]
    if len(own) != 1 or own[0]["set"] or own[0]["name"] != run["schedule"]:
        yield f"this run is not among the schedules: {own}"
    elif not run["schedules"]["no_dice"] and \
            abs(own[0]["step_s"] / run["figures"]["step_time_s"] - 1) > 1e-12:
        yield f"this run takes {own[0]['step_s']} there"
    if items != sorted(items, key=lambda item: item["step_s"]):
        yield "schedules are not in order of time"
    if any((item["verdict"] == "does not fit") != (item["peak"] > item["capacity"])
           for item in items):
        yield "a verdict that its bytes do not have"
    others = {item["name"]: (item["chunks"], item["formula"], item["held"]) for item in items
              if not item["balance"]}
    known = {"gpipe": (1, (p - 1) / (m + p - 1), m), "1f1b": (1, (p - 1) / (m + p - 1), min(p, m)),
             "bfs": (max(run["chunks"], 2), (p - 1) / (max(run["chunks"], 2) * m + p - 1), m)}
    for name, (chunks, share, held) in known.items():
        if name == run["schedule"] or p * chunks > run["layers"]:
            continue
        if name not in others:
            yield f"{name} is not among {sorted(others)}"
        elif others[name][0] != chunks or others[name][2] != held or \
                abs(others[name][1] - share) > 1e-9:
            yield f"{name}: {others[name]} is not {(chunks, share, held)}"


def check_retyped(binary, text, example, options):
    """What stands in the table comes out when it is typed."""
    run = data_of(text)["runs"][0]
    sets = [w for k, w in zip(options, options[1:]) if k == "--set"]
    for item in run["schedules"]["items"]:
        done = subprocess.run(
            [binary, "run", str(EXAMPLES / example), "-q", "--stats", "json"] +
            [w for s in sets + item["set"] for w in ("--set", s)],
            capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            yield f"{item['set']} cannot be typed: {done.stderr}"
            continue
        said = json.loads(done.stdout)
        was = (item["step_s"], item["bubble"], item["peak"])
        now = (said["step_time_s"], said["bubble_fraction"], max(said["memory"]["peak_bytes"]))
        if any(abs(a - b) > 1e-9 * b for a, b in zip(was, now)):
            yield f"{item['set']}: {was} in the table, {now} when typed"


def layers_of(run):
    """Of the model, from those of each stage: "0-3, 28-31"."""
    spans = [span.split("-") for s in run["stages"] for span in s["layers"].split(", ")]
    return 1 + max(int(last) for _, last in spans)


def check_figures(binary, text, example, options):
    """The figures are those of `run`."""
    sets = [w for k, w in zip(options, options[1:]) if k == "--set"]
    done = subprocess.run([binary, "run", str(EXAMPLES / example), "-q", "--stats", "json"] +
                          [w for s in sets for w in ("--set", s)],
                          capture_output=True, text=True, check=False)
    said, page = json.loads(done.stdout), data_of(text)["runs"][0]
    for key, value in page["figures"].items():
        if key == "traffic":
            value = {g: {"nvlink_bytes": a, "network_bytes": b} for g, a, b in value}
        if said[key] != value:
            yield f"{key}: {value} is not {said[key]}"
    if said["config_digest"] != page["digest"]:
        yield "another configuration"
    if said["memory"]["peak_bytes"] != [s["total"] for s in page["stages"]]:
        yield "other peaks of memory"


def main():
    binary, failed, number = str(pathlib.Path(sys.argv[1]).resolve()), 0, 0
    pages = PAGES + (LARGE if WHOLE else [])
    for number, (example, options, status, n_rows) in enumerate(pages, 1):
        retyped, options, problems = options is RETYPED, shortened(example, options), []
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.html")
            done = subprocess.run([binary, "report", str(EXAMPLES / example), "-q", "-o", str(path)]
                                  + options, capture_output=True, text=True, check=False)
            if done.returncode != status:
                problems.append(f"exit status {done.returncode}: {done.stderr}")
            if list(pathlib.Path(folder).iterdir()) != ([] if status == 3 else [path]):
                problems.append("other files than the page")
            elif status != 3:
                text = path.read_text(encoding="utf-8")
                problems += list(check_page(text, n_rows))
                if status in (0, 1):
                    problems += list(check_figures(binary, text, example, options))
                if retyped:
                    problems += list(check_retyped(binary, text, example, options))
                if len(text.encode()) > LIMIT * (1 + ("--against-set" in options)):
                    problems.append(f"{len(text.encode())} bytes")
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {example} {' '.join(options)}")
        for problem in problems:
            print(f"# {problem}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
