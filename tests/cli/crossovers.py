#!/usr/bin/env python3
"""Where tensor schemes cross over: products are free, links are all. On a flat network simulated
crossings lie within one step of the grid (a factor of 1.41) of those of the closed forms; on nodes
with NVLink one dimension comes first. The two pictures of docs/guides/tensor.md are what is drawn now;
`crossovers.py BINARY --update` draws them."""
import json
import math
import pathlib
import sys
import tempfile

from tap import Test

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/guides"
SEQUENCES = 16                      # of a micro-batch: q x d and q x q of all grids here divide it
FREE = ("memory: 100 TB, memory_bandwidth: 1 PB/s, peak_bf16: 1 EFLOP/s, peak_fp16: 1 EFLOP/s, "
        "peak_fp32: 1 EFLOP/s, flash2_rate: 1 EFLOP/s, gemm_overhead: 0 s, kernel_overhead: 0 s, "
        "derate: 0.1")
FLAT = ("nodes: %d, gpus_per_node: 1, nvlink_bandwidth: 300 GB/s, nic_bandwidth: 200 Gb/s, "
        "nic_efficiency: 1, net_step: 0 s, net_tree_step: 0 s, net_latency: 1 us, net_ll: false")
NODES = "preset: dgx-a100-80g, nodes: %d"
STYLE = """
svg{--paper:#fff;--ink:#1f2328;--soft:#59636e;--line:#e1e5ea;--c0:#59636e;--c1:#1f2328;
--c2:#c2700a;--c3:#1a7f37;--c4:#8250df}
@media (prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--line:#262c34;
--c0:#9198a1;--c1:#e6edf3;--c2:#f0a040;--c3:#4ac26b;--c4:#c8a1ff}}
text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:var(--ink)}
.soft{fill:var(--soft)}.title{font-size:16px;font-weight:600}.end{text-anchor:end}
.mid{text-anchor:middle}.line{stroke:var(--line);fill:none}.curve{fill:none;stroke-width:2}
"""


class Scheme:
    """A scheme for p ranks, and elements over h that its closed form moves at T = x h tokens."""

    def __init__(self, name, side=0, depth=1, sequence=False, summa="broadcast"):
        self.name, self.side, self.depth, self.sequence = name, side, depth, sequence
        self.summa = summa

    @property
    def keys(self):
        return (f"tensor_scheme: {self.name}, tensor_depth: {self.depth if self.name == '2.5d' else 1}"
                f", summa: {self.summa}, sequence_parallel: {str(self.sequence).lower()}")

    def elements(self, p, x):
        """Section "In bytes" of docs/guides/tensor.md. A chain of q takes as long as its block through one
        link, though a rank is the root, and receives nothing, in one of q."""
        q, d = self.side, self.depth
        chain = q / (q - 1) if self.name in ("2d", "2.5d") and self.summa == "broadcast" else 1
        if self.name == "1d":
            return 8 * (p - 1) / p * x
        if self.name == "3d":
            return 2 * (q - 1) / q**3 * (16 * x + 12)
        return chain * 3 * (q - 1) / q**2 * (7 * x / d + 12) + 24 * (d - 1) / d / q**2


class Layer:
    """Seconds that ranks wait for tensor communication in a layer: of four less that of two."""

    def __init__(self, test, folder):
        self.test, self.path = test, pathlib.Path(folder) / "run.yaml"

    def waited(self, cluster, p, scheme, hidden, tokens, layers):
        self.path.write_text(
            f"cluster: {{{cluster}, {FREE}}}\n"
            f"model: {{layers: {layers}, hidden: {hidden}, heads: 64, bias: false, dropout: 0, "
            f"dtype: bf16, sequence: {tokens // SEQUENCES}, vocabulary: 65536}}\n"
            f"layout: {{tensor: {p}, {scheme.keys}, micro_batch: {SEQUENCES}, data: 1,"
            f" pipeline: 1, global_batch: {SEQUENCES}}}\n"
            "framework: {preset: ideal}\n", encoding="utf-8")
        run = self.test.call(None, "run", self.path, "--quiet", "--stats", "json")
        if run.returncode != 0:
            sys.exit(run.stderr)
        return json.loads(run.stdout)["breakdown"]["exposed_tensor"]

    def seconds(self, cluster, p, scheme, hidden, tokens):
        return (self.waited(cluster, p, scheme, hidden, tokens, 4)
                - self.waited(cluster, p, scheme, hidden, tokens, 2)) / 2


def crossing(faster, low, high, step):
    """The first point of a grid of factors of which `faster` holds; None: of none."""
    for k in range(math.floor(math.log(low, step)), math.ceil(math.log(high, step)) + 1):
        if faster(step**k):
            return step**k
    return None


def by_formula(a, b, p):
    """x at which b overtakes a: both are lines in x."""
    at = [s.elements(p, 0) for s in (a, b)]
    slope = [s.elements(p, 1) - s.elements(p, 0) for s in (a, b)]
    return (at[1] - at[0]) / (slope[0] - slope[1])


def check_flat(test, layer):
    """Every grid against one dimension. Side 2 with broadcasts never wins: half of the links of a
    chain of two are idle, and rows meet columns on the others."""
    hidden, step, line = 24576, 2**0.5, Scheme("1d")
    cases = [(4, Scheme("2d", 2, summa="gather")), (8, Scheme("3d", 2)),
             (8, Scheme("2.5d", 2, 2, summa="gather")), (16, Scheme("2.5d", 2, 4, summa="gather")),
             (16, Scheme("2d", 4)), (16, Scheme("2d", 4, summa="gather")), (64, Scheme("3d", 4)),
             (64, Scheme("2.5d", 4, 4)), (64, Scheme("2.5d", 4, 4, summa="gather")),
             (64, Scheme("2d", 8)), (64, Scheme("2d", 8, summa="gather"))]
    for p, grid in cases:
        due = by_formula(line, grid, p)

        def faster(x, p=p, grid=grid):
            tokens = round(x * hidden / 1024) * 1024
            return (layer.seconds(FLAT % p, p, grid, hidden, tokens)
                    < layer.seconds(FLAT % p, p, line, hidden, tokens))

        got = crossing(faster, due / 2, due * 2.9, step)
        depth = grid.side if grid.name == "3d" else grid.depth
        test.check(f"{grid.name}, {grid.side} x {grid.side} x {depth}, {grid.summa}: before 1d from "
                   f"{due:.3g} h tokens on", got is not None and due / step <= got <= due * step**2,
                   f"from {got} h on")
    pair = [layer.seconds(FLAT % 4, 4, s, 4096, 65536 * 4) for s in (line, Scheme("2d", 2))]
    test.check("2d, 2 x 2 x 1, broadcast: not before 1d at 64 h tokens either", pair[0] < pair[1],
               pair)
    times = {s.name: layer.seconds(FLAT % 64, 64, s, 12288, 16384)
             for s in (line, Scheme("2d", 8, summa="gather"),
                       Scheme("2.5d", 4, 4, summa="gather"), Scheme("3d", 4))}
    test.check("64 ranks, 16,384 tokens of 12,288: 3d before 2d before 2.5d before 1d",
               times["3d"] < times["2d"] < times["2.5d"] < times["1d"], times)


def check_nodes(test, layer):
    line = [Scheme("1d"), Scheme("1d", sequence=True)]
    times = [(x, layer.seconds(NODES % 8, 64, line[1], 8192, round(x * 8192)),
              layer.seconds(NODES % 8, 64, Scheme("2d", 8), 8192, round(x * 8192)))
             for x in (0.25, 0.5, 1, 2, 4)]
    test.check("8 nodes of 8: 1d with sequence parallelism before 2d below 4.5 h tokens",
               all(one < two for _, one, two in times), times)
    for p, grids in ((4, [Scheme("2d", 2)]), (8, [Scheme("2.5d", 2, 2), Scheme("3d", 2)])):
        node = NODES % 1 + f", gpus_per_node: {p}"
        best = layer.seconds(node, p, line[0], 8192, 4096)
        others = [layer.seconds(node, p, s, 8192, 4096) for s in grids]
        test.check(f"{p} ranks of a node: 1d first at half h tokens", best < min(others),
                   (best, others))


# ---- published ----

FRONTERA = ("nodes: 16, gpus_per_node: 4, peak_fp16: 89.2 TFLOP/s, peak_fp32: 11.2 TFLOP/s, "
            "memory: 16 GB, memory_bandwidth: 448 GB/s, sms: 48, nvlink_bandwidth: 10 GB/s, "
            "nics_per_node: 1, nic_bandwidth: 56 Gb/s")
V100 = "preset: dgx1-v100, nodes: 8"


def rate(layer, cluster, model, layout, framework="megatron-lm"):
    """Tokens a second; 0: it does not fit."""
    layer.path.write_text(f"cluster: {{{cluster}}}\nmodel: {{{model}}}\nlayout: {{{layout}}}\n"
                          f"framework: {{preset: {framework}}}\n", encoding="utf-8")
    run = layer.test.call(None, "run", layer.path, "--quiet", "--stats", "json")
    if run.returncode not in (0, 1):
        sys.exit(run.stderr)
    return json.loads(run.stdout)["tokens_per_s"] if run.returncode == 0 else 0


def grids(layer, cluster, batch):
    """Sequences of 512 a second of 64 ranks that share a GPT of 24 layers, h = 4096, by scheme."""
    schemes = [Scheme("1d"), Scheme("2d", 8), Scheme("2.5d", 4, 4), Scheme("3d", 4)]
    model = "layers: 24, hidden: 4096, heads: 64, sequence: 512, vocabulary: 51200, dtype: fp16"
    return [rate(layer, cluster, model, f"tensor: 64, {s.keys}, micro_batch: {batch}, data: 1, "
                 f"global_batch: {batch}, recompute: full") / 512 for s in schemes]


def rows(layer):
    """The tables of docs/guides/tensor.md, line by line."""
    for name, cluster in (("16 nodes of 4, PCIe", FRONTERA), ("8 nodes of 8 V100", V100)):
        for batch in (16, 64, 128, 512):
            cells = [f"{s:.1f}" if s > 0 else "does not fit" for s in grids(layer, cluster, batch)]
            yield f"| {name} | {batch} | " + " | ".join(cells) + " |"
    for tensor, batch, was in ((8, 12, "10,903"), (16, 16, "6,246"), (32, 20, "2,146")):
        got = rate(layer, f"preset: dgx-h100, nodes: {max(1, tensor // 8)}",
                   "layers: 28, hidden: 3072, heads: 32, sequence: 4096, vocabulary: 49152, "
                   "mlp: swiglu, ffn: 8192",
                   f"tensor: {tensor}, sequence_parallel: true, micro_batch: {batch}, data: 1, "
                   f"global_batch: {batch}", "nanotron") / tensor
        yield f"| {tensor} | {batch} | {was} | {got:,.0f} |"


def check_published(test, layer):
    text = (DOCS / "tensor.md").read_text(encoding="utf-8")
    for row in rows(layer):
        test.check("docs/guides/tensor.md has what comes out: " + row.replace("|", " ").strip(),
                   row in text, row)


# ---- pictures ----

SHOWN = [Scheme("1d"), Scheme("1d", sequence=True), Scheme("2d", 8), Scheme("2.5d", 4, 4),
         Scheme("3d", 4)]
LABELS = ["1d", "1d + sequence parallelism", "2d, 8 x 8", "2.5d, 4 x 4 x 4", "3d, 4 x 4 x 4"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 440, 70, 610, 60, 390
HIDDEN = 12288
TOKENS = [1024 * 2**k for k in range(8)]


def spread(ends, least=15):
    """Heights of labels, none nearer than `least` to another, in the order of the curves' ends."""
    out, last = {}, -math.inf
    for at, i in sorted((at, i) for i, at in enumerate(ends)):
        last = out[i] = max(at, last + least)
    return out


def draw(title, note, curves):
    flat = [s for curve in curves for s in curve]
    low, high = 10**math.floor(math.log10(min(flat))), 10**math.ceil(math.log10(max(flat)))

    def x(tokens):
        return LEFT + (RIGHT - LEFT) * math.log(tokens / TOKENS[0]) / math.log(TOKENS[-1] / TOKENS[0])

    def y(seconds):
        return BOTTOM - (BOTTOM - TOP) * math.log(seconds / low) / math.log(high / low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
           f' height="{HEIGHT}"><title>{title}</title><style>{STYLE}</style>',
           '<rect width="100%" height="100%" style="fill:var(--paper)"/>',
           f'<text class="title" x="20" y="28">{title}</text>',
           f'<text class="soft" x="20" y="46">{note}</text>']
    for k in range(round(math.log10(low)), round(math.log10(high)) + 1):
        at, ms = y(10.0**k), 10.0**(k + 3)
        out.append(f'<path class="line" d="M{LEFT} {at:.1f}H{RIGHT}"/>'
                   f'<text class="soft end" x="{LEFT - 8}" y="{at + 4:.1f}">{ms:g} ms</text>')
    for tokens in TOKENS:
        out.append(f'<path class="line" d="M{x(tokens):.1f} {TOP}V{BOTTOM}"/><text class="soft mid" '
                   f'x="{x(tokens):.1f}" y="{BOTTOM + 18}">{tokens // 1024}k</text>')
    out.append(f'<text class="soft mid" x="{(LEFT + RIGHT) / 2:g}" y="{BOTTOM + 38}">tokens of a '
               f'micro-batch; hidden width {HIDDEN:,}</text>')
    heights = spread([y(curve[-1]) for curve in curves])
    for i, curve in enumerate(curves):
        points = " ".join(f"{x(t):.1f},{y(s):.1f}" for t, s in zip(TOKENS, curve))
        dash = ' stroke-dasharray="5 4"' if i == 0 else ""
        out.append(f'<polyline class="curve" style="stroke:var(--c{i})"{dash} points="{points}"/>'
                   f'<text x="{RIGHT + 10}" y="{heights[i] + 4:.1f}" style="fill:var(--c{i})">'
                   f'{LABELS[i]}</text>')
    return "\n".join(out) + "\n</svg>\n"


def pictures(layer):
    for name, cluster, note in (
            ("tensor-flat.svg", FLAT % 64, "64 nodes of one GPU and one NIC of 200 Gb/s"),
            ("tensor-nodes.svg", NODES % 8, "8 nodes of 8 A100, NVLink inside, a NIC of 200 Gb/s a "
             "GPU between them")):
        curves = [[layer.seconds(cluster, 64, s, HIDDEN, t) for t in TOKENS] for s in SHOWN]
        yield DOCS / name, draw("Tensor communication of a layer, 64 ranks",
                                "forward and backward, products free; " + note, curves)


def main():
    test = Test(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(test, folder)
        for path, text in pictures(layer):
            if "--update" in sys.argv:
                path.write_text(text, encoding="utf-8")
            test.check(f"docs/{path.name} is what is drawn", path.read_text(encoding="utf-8") == text,
                       f"draw it with crossovers.py {sys.argv[1]} --update")
        check_flat(test, layer)
        check_nodes(test, layer)
        check_published(test, layer)
    print(f"1..{test.n}")
    sys.exit(test.failed > 0)


if __name__ == "__main__":
    main()
