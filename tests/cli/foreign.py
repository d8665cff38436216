#!/usr/bin/env python3
"""Foreign text (names of files, words of the command line, names in profiles and tables) reaches no
terminal as control sequences, and every output is UTF-8 and what it says it is.

usage: foreign.py TRAINYARD
"""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata
import xml.dom.minidom

import pftrace
from tap import Test

# A title for the terminal, colours, C1 controls as UTF-8 and as bytes, what turns the direction of
# writing, line ends of some, then malformed: lone bytes, an overlong slash, a surrogate, beyond
# Unicode, cut short. "mark" is found again.
CONTROLS = "mark\x1b]0;owned\x07\x1b[31m\x9b2J\x85\x7f\u202e\u2066\u2028\u2029\ufffe".encode()
BROKEN = b"\xff\x9b\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82"
NASTY = CONTROLS + b"\r\t\b" + BROKEN
RUN = b"""\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b, layers: 4}
layout: {tensor: 2, pipeline: 2, global_batch: 8}
"""
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufffe\uffff")


def foul(data):
    """What is wrong with bytes that are shown to people, or None."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        return f"{e}: {data[max(0, e.start - 40):e.start + 40]!r}"
    for i, c in enumerate(text):
        if (unicodedata.category(c) == "Cc" and c not in "\n\t") or c in BIDI:
            return f"U+{ord(c):04X} in {text[max(0, i - 40):i + 40]!r}"
    return None


def profile(rank, name):
    """A small profile in which every name is `name` or has it in it; bytes that JSON may not have
    stand in it as they are."""
    def text(before=b""):
        raw = before + name
        return b'"' + re.sub(rb'[\x00-\x1f"\\]', lambda m: b"\\u%04x" % m.group()[0], raw) + b'"'
    def event(cat, called, ts, dur, args):
        return (b'{"ph":"X","cat":"%s","name":%s,"pid":%d,"tid":7,"ts":%d,"dur":%d,"args":{%s}}'
                % (cat, called, rank, ts, dur, args))
    coll = (b'"External id":9,"stream":20,"Collective name":"allreduce","In msg nelems":64,'
            b'"Out msg nelems":64,"Group size":2,"dtype":"Float","Process Group Name":%s,'
            b'"Process Group Description":%s,"Process Group Ranks":"[0, 1]","Seq":1' % (text(), text()))
    shapes = b'"External id":%d,"Input Dims":[[64,32],[32,16]],"Input type":[%s,"float"]'
    events = [
        event(b"user_annotation", b'"ProfilerStep#5"', 0, 900, b'"External id":0'),
        event(b"cpu_op", text(b"aten::"), 1, 9, shapes % (1, b'"float"')),
        event(b"cpu_op", b'"aten::mm"', 11, 9, shapes % (2, text())),
        event(b"cpu_op", b'"aten::mm"', 21, 9, shapes % (3, b'"float"')),
        event(b"kernel", text(b"gemm "), 100, 50, b'"External id":1,"stream":7'),
        event(b"kernel", text(b"gemm "), 160, 50, b'"External id":2,"stream":7'),
        event(b"kernel", text(), 220, 50, b'"External id":3,"stream":7'),
        event(b"kernel", text(b"ncclDevKernel_AllReduce_"), 300, 80, coll),
        event(b"gpu_memcpy", text(b"Memcpy "), 400, 10, b'"stream":7'),
    ]
    head = (b'{"deviceProperties":[{"id":0,"name":%s}],"distributedInfo":{"rank":%d,"world_size":2,'
            b'"pg_config":[{"pg_name":%s,"pg_desc":%s,"pg_size":2,"ranks":[0,1]}]},"traceName":%s,'
            b'"traceEvents":[\n' % (text(), rank, text(), text(), text()))
    return head + b",\n".join(events) + b"\n]}\n"


class Folder:
    def __init__(self, test, path):
        self.t, self.path = test, os.fsencode(path)

    def write(self, name, data):
        full = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(data)
        return name

    def read(self, name):
        with open(os.path.join(self.path, name), "rb") as f:
            return f.read()

    def call(self, about, *words, codes=(0,)):
        """Standard output of a command whose streams have to be clean."""
        words = [w if isinstance(w, bytes) else w.encode() for w in words]
        p = subprocess.run([self.t.binary.encode(), *words], capture_output=True, cwd=self.path,
                           check=False)
        wrong = foul(p.stdout) or foul(p.stderr)
        self.t.check(f"{about}: both streams are clean", wrong is None and p.returncode in codes,
                     f"exit {p.returncode}: {wrong}: {p.stderr[:300]!r}")
        return p.stdout


def is_json(data):
    try:
        return foul(data) is None and json.loads(data) is not None
    except ValueError:
        return False


def is_page(data):
    """UTF-8 that shows what it has, and the JSON within."""
    body = re.search(rb'<script[^>]*type="application/json"[^>]*>(.*?)</script>', data, re.S)
    return foul(data) is None and body is not None and is_json(body.group(1))


def is_picture(data):
    return foul(data) is None and xml.dom.minidom.parseString(data) is not None


def is_table(data):
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"))))
    return foul(data) is None and len({len(r) for r in rows}) == 1 and len(rows) > 1


def is_native(data):
    """Names are read as UTF-8."""
    native = pftrace.Native(data)
    said = [track[2:4] for track in native.tracks.values()] + [s[4:8] for s in native.slices]
    return foul(str(said).encode()) is None and "\\x" not in str(said) and said


TRACES = {"chrome": is_json, "kineto": is_json, "svg": is_picture, "csv": is_table,
          "perfetto": is_native, "gantt": lambda data: foul(data) is None}


def command_line(f):
    """Words that are wrong, and files that are not there."""
    for words in (
            [NASTY], [b"--" + NASTY], ["help", NASTY], ["--version", NASTY], ["help", "run", NASTY],
            ["run", NASTY], ["run", b"--" + NASTY], ["run", b"-" + NASTY], ["run", "a", "b", NASTY],
            ["run", "run.yaml", "--seed", NASTY], ["run", "run.yaml", "--set", NASTY],
            ["run", "run.yaml", "--set", b"model.preset=" + NASTY],
            ["run", "run.yaml", "--set", NASTY + b"=1"], ["run", "run.yaml", "--engine", NASTY],
            ["run", "run.yaml", "--stats", NASTY], ["run", "run.yaml", "--trace", NASTY],
            ["run", "run.yaml", "--trace", b"csv:/" + NASTY + b"/x"],
            ["run", "run.yaml", "--trace", b"csv:" + NASTY, "-o", NASTY],
            ["run", "run.yaml", "--ranks", NASTY], ["run", "run.yaml", "--window", NASTY],
            ["run", "run.yaml", "--with", NASTY], ["run", "run.yaml", "-q", "-o", "/" + "x/" * 3],
            ["check", NASTY], ["explain", NASTY], ["report", NASTY, "-o", "x.html"],
            ["schedule", NASTY], ["schedule", "1f1b", "-p", NASTY, "-m", "2"],
            ["schedule", "1f1b", "-p", "2", "-m", "4", "--times", NASTY],
            ["schedule", "1f1b", "-p", "2", "-m", "4", "--format", NASTY],
            ["schedule", "-p", "2", "-m", "4", "--compare", NASTY],
            ["sweep", "run.yaml", "--over", NASTY], ["sweep", "run.yaml", "--rows", NASTY],
            ["sweep", "run.yaml", "--over", "layout.tensor=1", "--jobs", NASTY],
            ["calibrate", "run.yaml", "--rows", NASTY, "--measured", NASTY],
            ["calibrate", "run.yaml", "--operators", NASTY], ["list", NASTY], ["list", "keys", NASTY],
            ["calibrate", "run.yaml", "--rows", "rows.csv", "--measured", "t", "--prior", NASTY],
            ["diff", "run.yaml", NASTY], ["diff", "run.yaml", "--against-set", NASTY],
            ["diff", "run.yaml", "run.yaml", "--set", b"Z:" + NASTY], ["import", NASTY],
            ["import", "kineto", NASTY], ["import", "kineto", "run.yaml", "--gpus-per-node", NASTY],
            ["import", "kineto", "run.yaml", "--steps", NASTY]):
        about = " ".join("NASTY" if w == NASTY else str(w) if isinstance(w, str) else "..NASTY.."
                         for w in words)
        f.call(about, *words, codes=(2, 3))


def run_files(f):
    """A run file whose name is hostile, and values."""
    name = f.write(NASTY.replace(b"/", b"") + b".yaml", RUN)
    quoted = "".join(f"\\U{ord(c):08x}" for c in CONTROLS.decode())
    f.write(b"named.yaml", RUN + f'jobs:\n  - {{name: "{quoted}", file: run.yaml}}\n'.encode())
    f.write(b"groups.csv", b"layout.tensor,t,kind\n1,0.5," + CONTROLS + b"\n2,0.6,b\n1,0.4,"
            + NASTY.replace(b"\r", b"") + b"x\n2,.5,d\n")
    for stats, good in (("json", is_json), ("table", lambda d: foul(d) is None)):
        for words in (["run", name], ["run", name, "--quiet"], ["diff", name, "run.yaml"],
                      ["run", "named.yaml"],
                      ["diff", "run.yaml", "--against-set", "layout.tensor=1", "--set",
                       b"A:schedule.name=gpipe"]):
            out = f.call(f"{words[0]} --stats {stats}", *words, "--stats", stats, codes=(0, 1, 3))
            f.t.check(f"{words[0]} --stats {stats} is {stats}", not out or good(out), out[:200])
    f.call("check", "check", name)
    f.call("check of jobs", "check", "named.yaml", codes=(0, 3))
    f.call("check --show-config", "check", name, "--show-config")
    f.call("check --show-config of an overlay", "check", "run.yaml", "--with", name, "--show-config")
    f.call("check --show-config of a setting", "check", "run.yaml", "--show-config", "--set",
           b"framework.preset=" + NASTY, codes=(3,))
    f.call("explain", "explain", name, codes=(0, 1))
    f.call("schedule of a run file", "schedule", name, codes=(0,))
    for trace, good in TRACES.items():
        path = trace.encode() + NASTY.replace(b"/", b"")
        f.call(f"run --trace {trace}", "run", name, "-q", "--trace",
               trace.encode() + b":" + path, codes=(0, 1))
        if trace == "kineto":  # a folder
            path += b"/" + os.listdir(os.path.join(f.path, path))[0]
        f.t.check(f"trace {trace} of such a run file is one", good(f.read(path)), path)
    for words in ([name], [name, "run.yaml"], [name, "--against-set", "layout.tensor=1"]):
        f.call("report", "report", *words, "-o", "page.html", codes=(0, 1))
        f.t.check("the page is UTF-8 with JSON in it", is_page(f.read(b"page.html")),
                  foul(f.read(b"page.html")))
    f.call("calibrate --group", "calibrate", "run.yaml", "--rows", "groups.csv", "--measured", "t",
           "--group", "kind", "--fit", "cluster.derate", "-o", "over.yaml", codes=(0, 1, 2, 3))
    f.call("calibrate of a hostile file", "calibrate", name, "--rows", "groups.csv", "--measured",
           "t", "--fit", "cluster.derate", "-o", "over.yaml")
    f.t.check("an overlay is UTF-8", foul(f.read(b"over.yaml")) is None, f.read(b"over.yaml")[:300])
    out = f.call("sweep", "sweep", name, "--over", "layout.tensor=1,2", "-o", "-", codes=(0, 1))
    f.t.check("its table is one", is_table(out), out)
    f.call("sweep --rows passes columns through", "sweep", "run.yaml", "--rows", "groups.csv", "-o",
           "out.csv", codes=(0, 1))
    f.t.check("with the bytes they came with", BROKEN in f.read(b"out.csv"), f.read(b"out.csv"))


def profiles(f):
    """Every name of a profile, in its reports, its table and the pictures of it."""
    for sort, name in (("controls", CONTROLS + b"\r\n\t\b"), ("bytes", NASTY)):
        folder = f"prof-{sort}"
        for rank in (0, 1):
            f.write(f"{folder}/{rank}.json".encode(), profile(rank, name))
        hostile = f.write(NASTY.replace(b"/", b"") + sort.encode() + b".json", profile(0, name))
        for path in (folder, hostile):
            codes = (0, 3) if sort == "bytes" else (0,)  # malformed text may be refused
            f.call(f"import of {sort}", "import", "kineto", path, "-o", "table.csv", codes=codes)
            out = f.call(f"import --stats json of {sort}", "import", "kineto", path, "--stats",
                         "json", codes=codes)
            f.t.check("its report is JSON", not out or is_json(out), out[:300])
            if not out:
                continue
            f.t.check("its table is one", is_table(f.read(b"table.csv")), f.read(b"table.csv"))
            out = f.call(f"diff with {sort}", "diff", path, "run.yaml", codes=(0, 1))
            f.t.check("tells the names", b"mark" in out, out)
            out = f.call("diff --stats json", "diff", "run.yaml", path, "--stats", "json",
                         codes=(0, 1))
            f.t.check("its JSON is JSON, and has the names", is_json(out) and b"mark" in out,
                      out[:300])
            for trace, good in TRACES.items():
                f.call(f"diff --trace {trace}", "diff", path, "run.yaml", "-q", "--trace",
                       f"{trace}:t", "--args", "full", codes=(0, 1, 2))
                if os.path.isfile(os.path.join(f.path, b"t")):
                    f.t.check(f"trace {trace} of {sort} is one", good(f.read(b"t")),
                              foul(f.read(b"t")) or f.read(b"t")[:200])
                    os.remove(os.path.join(f.path, b"t"))
            f.call("run with its table", "run", "run.yaml", "--set", "cluster.operators=table.csv",
                   codes=(0, 1, 3))


def tables(f):
    """Tables of measurements."""
    f.write(b"log.txt", b"# nccl-tests " + NASTY + b"\n")
    f.write(b"op.csv", b"op,m,n,k,time_us,gpu\nmatmul,1,2,3,4," + CONTROLS + b"\n")
    f.write(b"ranks.txt", NASTY)
    for words in (["run", "run.yaml", "--set", "cluster.operators=op.csv"],
                  ["run", "run.yaml", "--set", "cluster.collectives.measured=[log.txt]"],
                  ["run", "run.yaml", "--set", "layout.rank_file=ranks.txt"],
                  ["run", "run.yaml", "--set", "schedule.file=ranks.txt"],
                  ["schedule", "ranks.txt"], ["import", "kineto", "ranks.txt"],
                  ["calibrate", "run.yaml", "--operators", "op.csv"]):
        f.call(" ".join(map(str, words)), *words, codes=(0, 1, 2, 3))


def main():
    t = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as name:
        f = Folder(t, name)
        f.write(b"run.yaml", RUN)
        command_line(f)
        run_files(f)
        profiles(f)
        tables(f)
    print(f"1..{t.n}")
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
