#!/usr/bin/env python3
"""Times the kernels of a transformer layer on this machine's GPU and writes them as a table for
`cluster.operators` (docs/reference/formats.md describes the columns).

    measure_kernels.py --layers 32 --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --mlp swiglu \\
        --vocabulary 128256 --sequence 8192 --tensor 2 --micro-batch 1,2,4 -o kernels.csv

Needs PyTorch 2.5 or newer and a CUDA GPU. Each kernel is timed alone with CUDA events: a warm-up, then the
median of --repeats calls. `--dry-run` needs neither: it writes the rows without times, which is
the list of what a run of that model and layout will look up.

What is timed is what PyTorch runs. If your framework fuses more (Transformer Engine, Apex), time
its kernels instead: replace the functions below, keep the rows.
"""
import argparse
import csv
import datetime
import statistics
import sys

COLUMNS = ["op", "role", "kernel", "dtype", "m", "n", "k", "batch", "sequence", "heads", "kv_heads",
           "head_dim", "causal", "elements", "time_us", "gpu", "date", "software", "clock_mhz"]


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    whole = {"type": int, "required": True}
    p.add_argument("--layers", help="of the model; sizes the optimizer", **whole)
    p.add_argument("--hidden", **whole)
    p.add_argument("--heads", **whole)
    p.add_argument("--kv-heads", type=int, help="heads when left out")
    p.add_argument("--head-dim", type=int, help="hidden / heads when left out")
    p.add_argument("--ffn", **whole)
    p.add_argument("--vocabulary", **whole)
    p.add_argument("--sequence", **whole)
    p.add_argument("--tensor", type=int, default=1)
    p.add_argument("--micro-batch", default="1", help="one or several, such as 1,2,4")
    p.add_argument("--mlp", choices=["gelu", "swiglu"], default="swiglu")
    p.add_argument("--norm-kind", choices=["layernorm", "rmsnorm"], default="rmsnorm")
    p.add_argument("--positions", choices=["rotary", "learned"], default="rotary")
    p.add_argument("--dtype", choices=["bf16", "fp16", "fp32"], default="bf16")
    p.add_argument("--sequence-parallel", action="store_true")
    for key, default, meaning in [
            ("causal", True, "attention of each token to earlier ones; no: model.full_attention"),
            ("grad-fp32", True, "gradients of 32 bit: framework.grad_dtype"),
            ("fused-optimizer", True, "Adam in one kernel: framework.fused_optimizer"),
            ("fused-qkv", True, "one matrix for q, k and v: framework.fused_qkv"),
            ("fused-gate", True, "one matrix for gate and up: framework.fused_gate"),
            ("fused-accumulation", True,
             "weight-gradient products add to earlier gradients: framework.fused_accumulation")]:
        p.add_argument("--" + key, action=argparse.BooleanOptionalAction, default=default,
                       help=meaning)
    p.add_argument("--compile", action="store_true",
                   help="let torch.compile fuse norms, activations and rotary embeddings")
    p.add_argument("--repeats", type=int, default=50)
    p.add_argument("--dry-run", action="store_true", help="rows without times, without a GPU")
    p.add_argument("-o", "--output", default="-")
    a = p.parse_args()
    a.kv_heads = a.kv_heads or a.heads
    a.head_dim = a.head_dim or a.hidden // a.heads
    a.micro_batch = [int(b) for b in a.micro_batch.split(",")]
    return a


# ---- which kernels: no torch here ----

def products(a, tokens):
    """(m, n, k) of the weights of a layer, forward; a matrix that is there twice comes twice."""
    heads, kv = a.heads // a.tensor, max(a.kv_heads // a.tensor, 1)
    ffn, d = a.ffn // a.tensor, a.head_dim
    gates = 2 if a.mlp == "swiglu" else 1
    qkv = [(heads + 2 * kv) * d] if a.fused_qkv else [heads * d, kv * d, kv * d]
    for n in qkv + ([gates * ffn] if a.fused_gate else gates * [ffn]):
        yield tokens, n, a.hidden
    yield tokens, a.hidden, heads * d
    yield tokens, a.hidden, ffn


def kernels(a):
    """Every kernel as a row without a time; no two are alike."""
    def row(op, role, **values):
        return {"op": op, "role": role, "dtype": a.dtype, **values}

    fused = "fused" if a.compile else "unfused"
    norm = "fused" if a.norm_kind == "layernorm" else fused
    swiglu = "swiglu" if a.compile else "swiglu-unfused"
    gradient = "fp32" if a.grad_fp32 else a.dtype
    heads, kv = a.heads // a.tensor, max(a.kv_heads // a.tensor, 1)
    output = a.vocabulary // a.tensor
    rows = []
    for batch in a.micro_batch:
        tokens = batch * a.sequence
        seen = tokens // a.tensor if a.sequence_parallel else tokens  # by norms and residuals
        for m, n, k in [*products(a, tokens), (tokens, output, a.hidden)]:
            rows.append(row("matmul", "forward", m=m, n=n, k=k))
            rows.append(row("matmul", "dgrad", m=m, n=k, k=n))
            rows.append(row("matmul", "wgrad", m=n, n=k, k=m))
            if not a.fused_accumulation:
                rows.append({**row("accumulation", "wgrad", elements=n * k), "dtype": gradient})
        for role in "forward", "backward":
            rows.append(row("attention", role, kernel="flash2", batch=batch, sequence=a.sequence,
                            heads=heads, kv_heads=kv, head_dim=a.head_dim, causal=str(a.causal).lower()))
            rows.append(row("norm", role, kernel=norm, elements=seen * a.hidden))
            rows.append(row("residual", role, elements=seen * a.hidden))
            rows.append(row("activation", role, kernel=swiglu if a.mlp == "swiglu" else "gelu",
                            elements=tokens * a.ffn // a.tensor))
            if a.positions == "rotary":
                rows.append(row("rotary", role, kernel=fused,
                                elements=tokens * (heads + kv) * a.head_dim))
            rows.append(row("embedding", role, elements=tokens * a.hidden))
            rows.append(row("cross-entropy", role, elements=tokens * output))
    weights = a.layers * sum(n * k for _, n, k in products(a, 1))
    step = row("optimizer", "step", kernel="fused" if a.fused_optimizer else "unfused",
               elements=min(weights, 200_000_000))
    rows.append({**step, "dtype": "fp32" if a.grad_fp32 else "bf16"})
    once = {}
    for r in rows:
        size = sorted((r["m"], r["n"])) + [r["k"]] if r["op"] == "matmul" and r["role"] == "wgrad" \
            else [r.get(c) for c in COLUMNS[4:14]]
        once.setdefault((r["op"], r["role"], *size), r)
    return list(once.values())


# ---- how they are timed ----

class Timer:
    """Makes the call of a row on the GPU and times it."""

    def __init__(self, a):
        import torch
        self.a, self.torch = a, torch
        if not torch.cuda.is_available():
            sys.exit("measure_kernels.py: no CUDA GPU here; --dry-run lists what would be timed")
        self.type = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[a.dtype]

    def random(self, *shape, grad=False):
        return self.torch.randn(*shape, device="cuda", dtype=self.type, requires_grad=grad)

    def microseconds(self, call):
        torch, times = self.torch, []
        for _ in range(10):
            call()
        for _ in range(self.a.repeats):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e3)
        return statistics.median(times)

    def directed(self, role, function, inputs):
        """The function itself, or its gradient for those inputs that have one."""
        if role == "forward":
            def forward():
                with self.torch.no_grad():
                    function(*inputs)
            return forward
        out = function(*inputs)
        out_grad = self.torch.ones_like(out)
        wanted = [x for x in inputs if x.requires_grad]
        return lambda: self.torch.autograd.grad(out, wanted, out_grad, retain_graph=True)

    def maybe_compiled(self, function):
        return self.torch.compile(function) if self.a.compile else function

    def matmul(self, r):
        m, n, k = r["m"], r["n"], r["k"]
        if r["role"] == "forward":  # activations times the transpose of the weights
            x, w = self.random(m, k), self.random(n, k)
            return lambda: self.torch.nn.functional.linear(x, w)
        if r["role"] == "dgrad":
            x, w = self.random(m, k), self.random(k, n)
            return lambda: x @ w
        x, w = self.random(k, m), self.random(k, n)
        return lambda: x.t() @ w

    def attention(self, r):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        heads, kv, shape = r["heads"], r["kv_heads"], (r["sequence"], r["head_dim"])
        q = self.random(r["batch"], heads, *shape, grad=True)
        k, v = (self.random(r["batch"], kv, *shape, grad=True) for _ in range(2))

        def core(q, k, v):
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return self.torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=self.a.causal, enable_gqa=kv < heads)
        return self.directed(r["role"], core, (q, k, v))

    def norm(self, r):
        h, functional = self.a.hidden, self.torch.nn.functional
        x, weight = self.random(r["elements"] // h, h, grad=True), self.random(h, grad=True)
        bias = self.random(h, grad=True)

        def layer(x, weight, bias):
            return functional.layer_norm(x, (h,), weight, bias)

        def rms(x, weight):
            y = x.float()
            y = y * self.torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
            return y.type_as(x) * weight
        if self.a.norm_kind == "layernorm":
            return self.directed(r["role"], self.maybe_compiled(layer), (x, weight, bias))
        return self.directed(r["role"], self.maybe_compiled(rms), (x, weight))

    def residual(self, r):  # forward and backward are a sum of two tensors
        x, y = self.random(r["elements"]), self.random(r["elements"])
        return lambda: x + y

    def activation(self, r):
        functional = self.torch.nn.functional
        inputs = [self.random(r["elements"], grad=True) for _ in range(2)]
        if r["kernel"] != "gelu":
            function = self.maybe_compiled(lambda gate, up: functional.silu(gate) * up)
            return self.directed(r["role"], function, inputs)
        function = self.maybe_compiled(lambda x: functional.gelu(x, approximate="tanh"))
        return self.directed(r["role"], function, inputs[:1])

    def rotary(self, r):
        d, torch = self.a.head_dim, self.torch
        x = self.random(r["elements"] // d, d, grad=True)
        cos, sin = self.random(r["elements"] // d, d), self.random(r["elements"] // d, d)

        def rotate(x):
            half = torch.cat((-x[..., d // 2:], x[..., :d // 2]), dim=-1)
            return x * cos + half * sin
        return self.directed(r["role"], self.maybe_compiled(rotate), (x,))

    def embedding(self, r):
        a = self.a
        rows = a.vocabulary // a.tensor
        table = self.random(rows, a.hidden, grad=True)
        tokens = self.torch.randint(rows, (r["elements"] // a.hidden,), device="cuda")
        return self.directed(r["role"], lambda w: self.torch.nn.functional.embedding(tokens, w),
                             (table,))

    def cross_entropy(self, r):
        columns = self.a.vocabulary // self.a.tensor
        logits = self.random(r["elements"] // columns, columns, grad=True)
        target = self.torch.randint(columns, (logits.shape[0],), device="cuda")
        return self.directed(
            r["role"], lambda x: self.torch.nn.functional.cross_entropy(x.float(), target),
            (logits,))

    def accumulation(self, r):  # of a 16-bit result to earlier gradients
        kept = {"fp32": self.torch.float32}.get(r["dtype"], self.type)
        sums = self.torch.zeros(r["elements"], device="cuda", dtype=kept)
        new = self.random(r["elements"])
        return lambda: sums.add_(new)

    def optimizer(self, r):
        torch = self.torch
        weight = torch.zeros(r["elements"], device="cuda", requires_grad=True)
        weight.grad = torch.ones_like(weight)
        fused = r["kernel"] == "fused"
        adam = torch.optim.AdamW([weight], fused=fused, foreach=not fused)
        if r["dtype"] == "fp32":
            return adam.step
        copy = torch.zeros_like(weight, dtype=torch.bfloat16)  # 16-bit gradient in, weight out

        def step():
            weight.grad.copy_(copy)
            adam.step()
            copy.copy_(weight.detach())
        return step

    def time(self, r):
        value = self.microseconds(getattr(self, r["op"].replace("-", "_"))(r))
        self.torch.cuda.empty_cache()
        return value

    def origin(self):
        """Where and when: the same in every row."""
        torch = self.torch
        try:
            clock = torch.cuda.clock_rate()
        except (ImportError, RuntimeError):  # without nvidia-ml-py
            clock = ""
        return {"gpu": torch.cuda.get_device_name(), "date": datetime.date.today().isoformat(),
                "software": f"torch {torch.__version__}, CUDA {torch.version.cuda}",
                "clock_mhz": clock}


def main():
    a = arguments()
    timer = None if a.dry_run else Timer(a)
    rows = kernels(a)
    for r in rows if timer else []:
        r["time_us"] = f"{timer.time(r):.3f}"
        r.update(timer.origin())
        print(r["op"], r["role"], r["time_us"], "us", file=sys.stderr)
    with sys.stdout if a.output == "-" else open(a.output, "w", encoding="utf-8") as out:
        table = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
