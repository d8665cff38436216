#!/usr/bin/env python3
"""Reads svg pictures as a person would, and compares them with what they are pictures of.

The legend tells which colour is what; the axis tells where a time is. Then: boxes and idle stretches
lie within the axis, those of a row add up to what `schedule --format json` says, numbers are those of
its micro-batches and lie within their boxes, no text overlaps another or leaves the paper.
The pictures of pages in docs/ must be what is drawn now; `svg.py BINARY --update` draws them."""
import gzip
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
NS = "{http://www.w3.org/2000/svg}"
DIGIT = 0.636  # of the font size: DejaVu Sans, the widest of the usual sans-serif fonts
ALLOWED = {"svg", "title", "desc", "g", "rect", "path", "text", "defs", "pattern"}


class Box:
    def __init__(self, x, y, width, height, fill):
        self.x, self.y, self.width, self.height, self.fill = x, y, width, height, fill


def path_boxes(data, thick, fill):
    """Rectangles (MhVhz) and, where `thick` is given, pieces of a broad horizontal line (M or m, h)."""
    if thick is None:
        for x, y, w, h in re.findall(r"M([\d.-]+) ([\d.-]+)h([\d.-]+)v([\d.-]+)h-[\d.]+z", data):
            yield Box(float(x), float(y), float(w), float(h), fill)
        return
    x = y = 0.0
    for letter, a, b, w in re.findall(r"([Mm])([\d.-]+) ([\d.-]+)h([\d.-]+)", data):
        x, y = (float(a), float(b)) if letter == "M" else (x + float(a), y)
        yield Box(x, y - thick / 2, float(w), thick, fill)
        x += float(w)


class Panel:
    """Boxes and numbers of a panel, moved to where it stands."""

    def __init__(self, group):
        self.boxes, self.numbers = [], []
        self.dy = float(re.fullmatch(r"translate\(0 ([\d.]+)\)", group.get("transform"))[1])
        self.walk(group, None, None)

    def walk(self, node, fill, font):
        fill, font = node.get("fill", fill), node.get("font-size", font)
        tag = node.tag[len(NS):]
        if tag == "rect":
            self.boxes.append(Box(*(float(node.get(k)) for k in ("x", "y", "width", "height")), fill))
        elif tag == "path" and fill == "none" and "h" in node.get("d"):
            self.boxes += path_boxes(node.get("d"), float(node.get("stroke-width")),
                                     node.get("stroke"))
        elif tag == "path" and fill != "none" and node.get("fill") != "#fff":  # no plate of a text
            self.boxes += path_boxes(node.get("d"), None, fill)
        elif tag == "text" and node.text.isdigit():
            self.numbers.append((float(node.get("x")), float(node.get("y")), float(font), node.text))
        for child in node:
            self.walk(child, fill, font)


class Picture:
    def __init__(self, data):
        root = tree.fromstring(data)
        tags = {node.tag[len(NS):] for node in root.iter()}
        assert tags <= ALLOWED, tags - ALLOWED
        for node in root.iter():
            assert not any(k.startswith("on") or "href" in k or k == "style" for k in node.attrib)
        assert root.get("width").endswith("mm")
        self.width, self.height = float(root.get("width")[:-2]), float(root.get("height")[:-2])
        assert [float(x) for x in root.get("viewBox").split()] == [0, 0, self.width, self.height]
        groups = {node.get("id"): node for node in root.findall(NS + "g")}
        self.panels = [Panel(g) for g in root.findall(NS + "g") if g.get("transform")]
        self.read_axis(groups["axis"])
        self.read_legend(groups["legend"])
        self.texts = list(self.find_texts(root, 0.0, None, "start"))
        self.patterns = {f"url(#{node.get('id')})" for node in root.iter(NS + "pattern")}

    def read_axis(self, group):
        x, _, length = re.match(r"M([\d.]+) ([\d.]+)h([\d.]+)", group.find(NS + "path").get("d")).groups()
        self.left, self.plot = float(x), float(length)

    def read_legend(self, group):
        """Fill of every entry by its word; what follows "idle:" are causes of idling."""
        self.passes, self.idle, fill, idle = {}, {}, None, False
        for node in group:
            if node.tag == NS + "rect":
                fill = node.get("fill")
            elif fill is None:
                idle = idle or node.text == "idle:"
            else:
                (self.idle if idle else self.passes)[fill] = node.text
                fill = None

    def find_texts(self, node, dy, font, anchor):
        font, anchor = node.get("font-size", font), node.get("text-anchor", anchor)
        move = re.fullmatch(r"translate\(0 ([\d.]+)\)", node.get("transform", ""))
        dy += float(move[1]) if move else 0
        if node.tag == NS + "text":
            size, x = float(font), float(node.get("x"))
            width = size * sum(0.3 if c in "ijl .,:;'" else DIGIT if c.isdigit() else 0.52
                               for c in node.text)
            x -= {"start": 0, "middle": width / 2, "end": width}[anchor]
            yield x, float(node.get("y")) + dy - 0.7 * size, width, 0.7 * size, node.text
        for child in node:
            yield from self.find_texts(child, dy, font, anchor)

    def rows(self, panel):
        """Boxes by row: those that overlap in height."""
        rows = []
        for box in sorted(panel.boxes, key=lambda b: (b.y + b.height / 2, b.x)):
            rows.append(box)
        height = max(b.height for b in panel.boxes)
        tops = sorted({round(b.y, 3) for b in panel.boxes if abs(b.height - height) < 1e-6})
        return [(top, [b for b in rows if top - 1e-6 <= b.y < top + height - 1e-6], height)
                for top in tops]


def check_paper(picture):
    for panel in picture.panels:
        for b in panel.boxes:
            assert b.width > 0 and b.height > 0
            assert picture.left - 1e-6 <= b.x, "a box begins before the axis"
            assert b.x + b.width <= picture.left + picture.plot + 1e-6, "a box ends after the axis"
            assert 0 <= b.y + panel.dy and b.y + b.height + panel.dy <= picture.height
            assert not b.fill.startswith("url") or b.fill in picture.patterns
        for x, y, font, number in panel.numbers:
            room = [b for b in panel.boxes if b.x <= x <= b.x + b.width and b.y <= y <= b.y + b.height]
            assert room, f"number {number} is in no box"
            assert DIGIT * font * len(number) <= min(b.width for b in room), "wider than its box"
            assert font >= 1.2 and 0.7 * font <= min(b.height for b in room)
    for x, y, width, height, text in picture.texts:
        assert x >= -1e-6 and x + width <= picture.width + 1e-6, f"{text!r} leaves the paper"
        assert y >= -0.3 and y + height <= picture.height, f"{text!r} leaves the paper"
    texts = sorted(picture.texts, key=lambda t: t[1])
    for i, (x, y, width, height, text) in enumerate(texts):
        for other in itertools.takewhile(lambda t: t[1] < y + height, texts[i + 1:]):
            apart = x + width <= other[0] or other[0] + other[2] <= x
            assert apart, f"{text!r} overlaps {other[4]!r}"


def check_schedule(picture, panel, answer, longest):
    """A panel against the JSON of its schedule."""
    scale = picture.plot / longest
    rows = picture.rows(panel)
    assert len(rows) == answer["p"]
    whole = lambda boxes, idle, height: sum(
        b.width * b.height / height for b in boxes if (b.fill in picture.idle) == idle)
    for (top, boxes, height), rank in zip(rows, answer["ranks"]):
        # a micrometre for every edge, also for the upper edges of layers
        slack = 0.001 * (len(boxes) + 2) + sum(0.001 * b.width / height for b in boxes
                                               if b.height < height - 1e-6)
        busy, idle = whole(boxes, False, height), whole(boxes, True, height)
        assert abs(busy - rank["busy"] * scale) <= slack, (busy, rank["busy"] * scale)
        if picture.idle:
            assert abs(busy + idle - answer["makespan"] * scale) <= slack
        numbers = [n for x, y, _, n in sorted(panel.numbers) if top <= y <= top + height]
        atoms = re.findall(r"[FBIW](\d+)\.", " ".join(rank["actions"]))
        assert numbers in ([], atoms) or not picture.whole_numbers, (numbers, atoms)


def run(binary, words):
    done = subprocess.run([binary] + words, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 1, 4), done.stderr.decode()
    return done.stdout


SHAPES = [
    (["-p", "4", "-m", "8"], ["1f1b"], []),
    (["-p", "4", "-m", "8"], ["zb-v"], ["--palette", "safe"]),
    (["-p", "4", "-m", "8"], ["dualpipe"], ["--palette", "print"]),
    (["-p", "4", "-m", "16", "-v", "2"], ["interleaved"], ["--width", "90mm"]),
    (["-p", "4", "-m", "8"], ["gpipe", "1f1b", "zb-1p", "chimera"], ["--width", "254mm"]),
    (["-p", "4", "-m", "8", "--times", "F=1,B=2,C=0.5"], ["gpipe", "1f1b"], ["--palette", "print"]),
    (["-p", "3", "-m", "24"], ["zb-2p"], ["--bubbles", "named", "--width", "60mm"]),
    (["-p", "64", "-m", "128"], ["1f1b"], ["--bubbles", "none"]),
    (["-p", "8", "-m", "4000"], ["1f1b"], []),
    (["-p", "256", "-m", "64"], ["1f1b"], ["--palette", "safe"]),
    (["-p", "1", "-m", "1"], ["1f1b"], ["--width", "1m"]),
    (["-p", "4", "-m", "500", "--times", "F=1,B=2,C=0.1"], ["gpipe", "1f1b"],
     ["--width", "60mm", "--palette", "print"]),
]


def check_shape(binary, shape, names, options):
    common = ["schedule"] + shape
    if len(names) > 1:
        words = common + ["--compare", ",".join(names), "--format", "svg"] + options
    else:
        words = common + [names[0], "--format", "svg"] + options
    data = run(binary, words)
    assert data == run(binary, words), "two pictures of the same differ"
    picture = Picture(data)
    picture.whole_numbers = "90mm" not in options
    assert len(picture.panels) == len(names)
    check_paper(picture)
    answers = [json.loads(run(binary, common + [name, "--format", "json"])) for name in names]
    longest = max(answer["makespan"] for answer in answers)
    for panel, answer in zip(picture.panels, answers):
        check_schedule(picture, panel, answer, longest)
    if names == ["1f1b"] and shape[3] == "8":
        assert picture.width == 170 and set(picture.passes.values()) == {"forward", "backward"}
        assert list(picture.idle.values()) == ["fill", "stall", "drain"]
        assert len(picture.panels[0].numbers) == 64, "every box has its number"
    return f"{len(data)} bytes"


# The picture of a run: options, most bytes.
RUNS = [
    ("llama-30b-256xa100.yaml", [], 100e3),
    ("llama-30b-256xa100.yaml", ["--window", "1s:3s", "--palette", "print"], 50e3),
    ("llama-30b-256xa100.yaml", ["--set", "run.gpu_spread=1 %", "--ranks", "0-31"], 450e3),
    ("llama3-8b-fsdp-8xh100.yaml", ["--set", "output.svg=safe", "--set", "output.svg.width=90 mm"], 20e3),
    ("stragglers.yaml", ["--set", "run.steps=2", "--no-bubbles"], 300e3),
    ("deadlock/circle.yaml", [], 20e3),
    ("background-job.yaml", ["--ranks", "one-per-stage"], 300e3),
]
LARGE = [  # with --all
    ("llama-30b-256xa100.yaml", ["--set", "run.gpu_spread=1 %", "--ranks", "all"], 1.8e6),
]


def check_run(binary, example, options, most):
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = pathlib.Path(folder, "a.svg"), pathlib.Path(folder, "a.svg.gz")
        run(binary, ["run", str(EXAMPLES / example), "-q", "-o", "/dev/null", "--trace",
                     f"svg:{plain}", "--trace", f"svg:{packed}"] + options)
        data = plain.read_bytes()
        assert gzip.decompress(packed.read_bytes()) == data
    picture = Picture(data)
    check_paper(picture)
    if "output.svg=safe" in options:
        assert picture.width == 90 and picture.passes.get("#56b4e9") == "forward"
    for top, boxes, height in picture.rows(picture.panels[0]):
        area = sum(b.width * b.height / height for b in boxes)
        assert area <= picture.plot + 0.02, "boxes of a row overlap"
        if picture.idle and example != "background-job.yaml":
            assert area >= picture.plot * 0.97, f"a row has holes: {area} of {picture.plot} mm"
    assert len(data) <= most, f"{len(data)} bytes"
    return f"{len(data)} bytes"


# What is seen without one kind of cone: Machado, Oliveira and Fernandes (2009), severity 1.
SIGHT = [
    [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    [(0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
     (-0.003882, -0.048116, 1.051998)],
    [(0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
     (-0.011820, 0.042940, 0.968881)],
    [(1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
     (0.004733, 0.691367, 0.303900)],
]


def linear(fill):
    parts = [int(fill[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def lab(rgb, sight):
    r, g, b = (min(1, max(0, sum(m * c for m, c in zip(row, rgb)))) for row in sight)
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def check_colours(binary):
    """Colours of passes of the safe palette are told apart by everybody, and bear dark numbers."""
    picture = Picture(run(binary, ["schedule", "-p", "4", "-m", "8", "--compare",
                                   "1f1b,interleaved,zb-v", "--format", "svg", "--palette", "safe"]))
    least = 1e9
    fills = [fill for fill, word in picture.passes.items() if word != "other chunk or direction"]
    assert len(fills) == 4
    for a, b in itertools.combinations(fills, 2):
        for sight in SIGHT:
            x, y = lab(linear(a), sight), lab(linear(b), sight)
            least = min(least, sum((p - q) ** 2 for p, q in zip(x, y)) ** 0.5)
    assert least >= 15, f"two colours are {least:.0f} apart"
    for fill in {b.fill for p in picture.panels for b in p.boxes} - set(picture.idle):
        r, g, b = linear(fill)
        light = 0.2126 * r + 0.7152 * g + 0.0722 * b
        assert (light + 0.05) / (0.0056 + 0.05) >= 4.5, f"#111 on {fill} is hard to read"
    return f"least difference {least:.0f}"


PAGE = EXAMPLES.parents[1] / "traces" / "page" / "colours.js"


def check_hatches(binary):
    """Idle stretches are hatched in every palette; by default with the lines of the page."""
    words = ["schedule", "1f1b", "-p", "4", "-m", "8", "--format", "svg", "--palette"]
    for palette in ("traces", "safe", "print"):
        picture = Picture(run(binary, words + [palette]))
        assert list(picture.idle) == ["url(#ty-fill)", "url(#ty-stall)", "url(#ty-drain)"], picture.idle
        assert set(picture.idle) <= {b.fill for p in picture.panels for b in p.boxes}
    drawn = run(binary, words + ["traces"]).decode()
    page = dict(re.findall(r"'bubble_(\w+)': \[.*?'(#\w+)'", PAGE.read_text(encoding="utf-8")))
    lines = dict(re.findall(r'<pattern id="ty-(\w+)".*?stroke="(#\w+)"', drawn))
    assert lines == page and len(page) == 3, (lines, page)
    return "as in the page"


LLAMA = ["run", str(EXAMPLES / "llama-30b-256xa100.yaml")]
QUIET = ["-q", "-o", "/dev/null", "--trace", "svg:-"]
KEPT = {
    "reference/schedule-1f1b.svg": ["schedule", "1f1b", "-p", "4", "-m", "8", "--format", "svg"],
    "course/before-you-start.svg": ["schedule", "1f1b", "-p", "2", "-m", "3", "--format", "svg"],
    "course/1-bubbles.svg": ["schedule", "--compare", "gpipe,1f1b,interleaved", "-p", "4", "-m", "8", "-v", "2",
                             "--format", "svg", "--width", "254mm"],
    "course/6-zero-bubble.svg": ["schedule", "--compare", "1f1b,zb-1p,zb-v", "-p", "4", "-m", "8",
                                 "--format", "svg", "--width", "254mm"],
    "guides/traces-start.svg": LLAMA + ["--window", "0s:2s"] + QUIET,
    "guides/traces-end.svg": LLAMA + ["--window", "20s:21.2s"] + QUIET,
    "guides/traces-deadlock.svg": ["run", str(EXAMPLES / "deadlock" / "group.yaml")] + QUIET,
}


def check_kept(binary, picture):
    kept = (EXAMPLES.parent / picture).read_bytes()
    assert run(binary, KEPT[picture]) == kept, f"{picture} is not what is drawn now"
    check_paper(Picture(kept))
    return "as drawn"


def said(data):
    """The remarks below a picture."""
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", data.decode()))


def check_narrow(binary):
    """Too narrow for numbers, a picture says how wide it has to be; so wide, all boxes have theirs."""
    words = ["schedule", "1f1b", "-p", "4", "-m", "64", "--format", "svg"]
    narrow = run(binary, words)
    told = re.search(r"from a width of (\d+) mm on they fit", said(narrow))
    assert told and not Picture(narrow).panels[0].numbers
    assert int(told[1]) % 10 == 0 and 170 < int(told[1]) < 600, told[1]
    wide = run(binary, words + ["--width", told[1] + "mm"])
    picture = Picture(wide)
    check_paper(picture)
    assert len(picture.panels[0].numbers) == 2 * 4 * 64 and "too narrow" not in said(wide)
    narrower = run(binary, words + ["--width", f"{int(told[1]) - 20}mm"])
    assert len(Picture(narrower).panels[0].numbers) < 2 * 4 * 64
    return told[0]


def check_told(binary):
    """Which part of a run there is, and which ranks are slow, as the statistics have it."""
    part = said(run(binary, LLAMA + ["--window", "1s:3s"] + QUIET))
    step = re.search(rb"step time +([\d.]+ s)", run(binary, LLAMA[:2]))[1].decode()
    assert f"a part of the run: 1 s to 3 s of {step}" in part and "longer than" not in part, part
    assert "a part of" not in said(run(binary, LLAMA + QUIET))
    job = ["run", str(EXAMPLES / "slow-gpu.yaml"), "--ranks"]
    for ranks, label, remark in (("0,16,17", "rank 17, +25 %", ""), ("0,16", "", "; it is not shown")):
        told = said(run(binary, job + [ranks] + QUIET))
        assert f"rank 17 computes 25 % longer than the median of its stage{remark}" in told, told
        assert label in told and told.count(" +") == bool(label), told
        assert ("not shown" in told) == bool(remark), told
    return "parts and slow ranks"


def check_ends(binary):
    """The end of a path says what is written, unless --format does; other ends are remarked on."""
    words = ["schedule", "1f1b", "-p", "2", "-m", "2"]
    forms = {"a.svg": "svg", "a.json": "json", "a.slots": "slots", "a.csv": "csv", "a.txt": "gantt",
             "a": "gantt", "a.png": "gantt", "a.svg.d/a": "gantt"}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "a.svg.d").mkdir()
        for name, form in forms.items():
            done = subprocess.run([binary] + words + ["-o", name], cwd=folder, check=True,
                                  capture_output=True, text=True)
            assert pathlib.Path(folder, name).read_bytes() == run(binary, words + ["--format", form])
            assert bool(done.stderr) == (name == "a.png") and not done.stdout, (name, done.stderr)
        assert done.returncode == 0
        subprocess.run([binary] + words + ["-o", "a.svg", "--format", "gantt"], cwd=folder, check=True)
        assert pathlib.Path(folder, "a.svg").read_bytes() == run(binary, words)
        wrong = subprocess.run([binary, "schedule", "--compare", "gpipe,1f1b", "-p", "2", "-m", "2",
                                "-o", "b.csv"], cwd=folder, check=False, capture_output=True)
        assert wrong.returncode == 2 and not pathlib.Path(folder, "b.csv").exists()
    return f"{len(forms)} ends"


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    if "--update" in sys.argv:
        for name, words in KEPT.items():
            (EXAMPLES.parent / name).write_bytes(run(binary, words))
    checks = [(" ".join(shape + names + options), check_shape, (binary, shape, names, options))
              for shape, names, options in SHAPES]
    checks += [(f"{example} {' '.join(options)}", check_run, (binary, example, options, most))
               for example, options, most in RUNS + (LARGE if "--all" in sys.argv else [])]
    checks += [("numbers that do not fit", check_narrow, (binary,)),
               ("remarks", check_told, (binary,)), ("ends of paths", check_ends, (binary,))]
    checks += [("colours", check_colours, (binary,))]
    checks += [(name, check_kept, (binary, name)) for name in KEPT]
    failed = 0
    for number, (name, check, arguments) in enumerate(checks, 1):
        try:
            said = check(*arguments)
            print(f"ok {number} - {name}: {said}")
        except AssertionError as wrong:
            failed += 1
            print(f"not ok {number} - {name}: {wrong}")
    print(f"1..{len(checks)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
