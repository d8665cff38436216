"""Profiles as torch.profiler (2.2 to 2.6) writes them, of a small GPT under data parallelism.

Nothing was recorded: the host's operators, their nesting and arguments, launches, kernels and flows
are laid out as PyTorch lays them out, with durations that the caller knows. The
form is that of pytorch/kineto, libkineto/src/output_json.cpp; operators, their nesting and arguments
are from memory, not from a recording.
"""
import json

BF16 = "c10::BFloat16"


class Shape:
    batch, sequence, hidden, heads, ffn, vocabulary, layers = 2, 512, 768, 12, 3072, 32000, 3
    ranks, steps = 2, 3
    parameters = 70_789_632  # with biases, norms and 512 positions; the output matrix is its own

    @property
    def tokens(self):
        return self.batch * self.sequence


class Rank:
    """One file. `dur(kind, n)` is the duration of the n-th kernel of a kind, in nanoseconds."""

    def __init__(self, shape, rank, dur, skew_ns=0, shapes=True, strides=True):
        self.s, self.rank, self.dur = shape, rank, dur
        self.shapes, self.strides = shapes, strides
        self.base = 1_700_000_000_000_000_000
        self.now = 5_000_000 + skew_ns  # of the host
        self.free = {}                  # GPU streams
        self.events, self.ids, self.correlation, self.sequence = [], 0, 100, 10
        self.count = {}
        self.collectives = {}           # (name): Seq
        self.meta("process_name", "python", 4000 + rank, 0)
        self.meta("process_labels", "CPU", 4000 + rank, 0, "labels")
        self.meta("process_labels", f"GPU {rank}", rank, 0, "labels")
        self.thread = 4000 + rank

    def meta(self, name, value, pid, tid, key="name"):
        self.events.append({"name": name, "ph": "M", "ts": us(self.now), "pid": pid, "tid": tid,
                            "args": {key: value}})

    # ---- the host ----

    def op(self, name, dims=None, types=None, values=None, strides=None, seq=None, fwd=0,
           cat="cpu_op", inside=()):
        """An operator; `inside` are functions called while it runs. Returns its External id."""
        self.ids += 1
        me, start = self.ids, self.now
        self.now += 2_000
        args = {"External id": me, "Record function id": 0, "Ev Idx": me}
        if seq is not None:
            args["Sequence number"] = seq
            args["Fwd thread id"] = fwd
        if dims is not None and self.shapes:
            args["Concrete Inputs"] = values or [""] * len(dims)
            args["Input type"] = types or [BF16] * len(dims)
            if self.strides:
                args["Input Strides"] = strides or [row_major(d) for d in dims]
            args["Input Dims"] = dims
        event = {"ph": "X", "cat": cat, "name": name, "pid": 4000 + self.rank, "tid": self.thread,
                 "ts": us(start), "dur": None, "args": args}
        self.events.append(event)
        for f in inside:
            f(me)
        self.now += 1_000
        event["dur"] = us(self.now - start)
        return me

    def launch(self, kind, name, external, stream=7, more=None, cat="kernel", after=0):
        n = self.count.get(kind, 0)
        self.count[kind] = n + 1
        self.correlation += 1
        issue, dur = self.now, self.dur(self.rank, kind, n)
        start = max(issue + 4_000, self.free.get(stream, 0), after)
        self.free[stream] = start + dur
        self.now += 3_000
        pid, c = 4000 + self.rank, self.correlation
        self.events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                            "pid": pid, "tid": self.thread, "ts": us(issue), "dur": us(2_000),
                            "args": {"External id": external, "cbid": 211, "correlation": c}})
        flow = {"id": c, "cat": "ac2g", "name": "ac2g"}
        self.events.append({"ph": "s", **flow, "pid": pid, "tid": self.thread, "ts": us(issue)})
        self.events.append({"ph": "f", **flow, "pid": self.rank, "tid": stream, "ts": us(start),
                            "bp": "e"})
        self.events.append({
            "ph": "X", "cat": cat, "name": name, "pid": self.rank, "tid": stream,
            "ts": us(start), "dur": us(dur),
            "args": {"External id": external, "queued": 0, "device": self.rank, "context": 1,
                     "stream": stream, "correlation": c, "registers per thread": 96,
                     "shared memory": 0, "grid": [64, 1, 1], "block": [128, 1, 1],
                     "est. achieved occupancy %": 30, **(more or {})}})

    # ---- operators of the model; F returns what Backward needs ----

    def next_seq(self):
        self.sequence += 1
        return self.sequence

    def linear(self, label, tokens, inputs, outputs):
        seq = self.next_seq()
        dims = [[outputs], [tokens, inputs], [inputs, outputs], [], []]
        types = [BF16, BF16, BF16, "Scalar", "Scalar"]
        strides = [[1], [inputs, 1], [1, inputs], [], []]
        self.op("aten::linear", [[tokens, inputs], [outputs, inputs], [outputs]], seq=seq, inside=[
            lambda _: self.op("aten::addmm", dims, types, ["", "", "", "1", "1"], strides, seq=seq,
                              inside=[lambda e: self.launch(label, GEMM, e)])])
        return lambda: self.node("AddmmBackward0", seq, [
            lambda _: self.mm(label + " dgrad", [tokens, outputs], [outputs, inputs]),
            lambda _: self.mm(label + " wgrad", [outputs, tokens], [tokens, inputs], True)])

    def mm(self, label, a, b, turned=False, kernels=1):
        strides = [[1, a[0]] if turned else [a[1], 1], [b[1], 1]]
        self.op("aten::mm", [a, b], strides=strides,
                inside=[lambda e: self.launch(label, GEMM, e)] * kernels)

    def head(self, tokens, inputs, outputs):
        """Without bias: mm, whose backward issues the weight gradient first."""
        seq = self.next_seq()
        self.op("aten::mm", [[tokens, inputs], [inputs, outputs]], seq=seq,
                strides=[[inputs, 1], [1, inputs]],
                inside=[lambda e: self.launch("head", GEMM, e)] * 2)  # in pieces, and their sum
        return lambda: self.node("MmBackward0", seq, [
            lambda _: self.mm("head wgrad", [outputs, tokens], [tokens, inputs], True),
            lambda _: self.mm("head dgrad", [tokens, outputs], [outputs, inputs])])

    def simple(self, label, name, node, dims, back_dims, types=None, back_types=None, values=None,
               back_values=None, kernel="elementwise_kernel"):
        seq = self.next_seq()
        self.op(name, dims, types, values, seq=seq,
                inside=[lambda e: self.launch(label, kernel, e)])
        back = name + "_backward"
        return lambda: self.node(node, seq, [
            lambda _: self.op(back, back_dims, back_types, back_values,
                              inside=[lambda e: self.launch(label + " backward", kernel, e)])])

    def norm(self):
        t, h = self.s.tokens, self.s.hidden
        return self.simple(
            "norm", "aten::native_layer_norm", "NativeLayerNormBackward0",
            [[t, h], [], [h], [h], []], [[t, h], [t, h], [], [t, 1], [t, 1], [h], [h], []],
            [BF16, "ScalarList", BF16, BF16, "Scalar"],
            [BF16, BF16, "ScalarList", "float", "float", BF16, BF16, ""],
            ["", f"[{h}]", "", "", "1e-05"],
            kernel="void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<"
                   "c10::BFloat16, float>(int, float, c10::BFloat16 const*)")

    def attention(self):
        s = self.s
        q = [s.batch, s.heads, s.sequence, s.hidden // s.heads]
        lse = [s.batch, s.heads, s.sequence]
        return self.simple(
            "attention", "aten::_scaled_dot_product_flash_attention",
            "ScaledDotProductFlashAttentionBackward0",
            [q, q, q, [], [], [], []],
            [q, q, q, q, q, lse, [], [], [], [], [], [], [], [], []],
            [BF16] * 3 + ["Scalar"] * 4,
            [BF16] * 5 + ["float"] + [""] * 2 + ["Scalar"] * 4 + ["long int"] * 2 + ["Scalar"],
            ["", "", "", "0.", "True", "False", ""],
            [""] * 8 + [str(s.sequence)] * 2 + ["0.", "True", "", "", ""],
            kernel="void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128>>()")

    def gelu(self):
        x = [self.s.tokens, self.s.ffn]
        return self.simple("gelu", "aten::gelu", "GeluBackward0", [x, []], [x, x, []],
                           [BF16, ""], [BF16, BF16, ""], ["", "none"], ["", "", "none"],
                           kernel="void at::native::vectorized_elementwise_kernel<4, GeluCUDA>()")

    def residual(self):
        x = [self.s.tokens, self.s.hidden]
        self.op("aten::add", [x, x, []], [BF16, BF16, "Scalar"], ["", "", "1"],
                seq=self.next_seq(), inside=[lambda e: self.launch("residual", ADD, e)])

    def embedding(self):
        s, seq = self.s, self.next_seq()
        self.op("aten::embedding", [[s.vocabulary, s.hidden], [s.batch, s.sequence], [], [], []],
                [BF16, "long int", "Scalar", "Scalar", "Scalar"], ["", "", "-1", "False", "False"],
                seq=seq, inside=[lambda e: self.op(
                    "aten::index_select", [[s.vocabulary, s.hidden], [], [s.tokens]],
                    inside=[lambda e: self.launch("embedding", "indexSelectLargeIndex", e)])])
        return lambda: self.node("EmbeddingBackward0", seq, [lambda _: self.op(
            "aten::embedding_dense_backward",
            [[s.batch, s.sequence, s.hidden], [s.batch, s.sequence], [], [], []],
            [BF16, "long int", "Scalar", "Scalar", "Scalar"],
            inside=[lambda e: self.launch("embedding backward", "embedding_backward_kernel", e)])])

    def loss(self):
        s = self.s
        x, y = [s.tokens, s.vocabulary], [s.tokens]
        a, b = self.next_seq(), self.next_seq()
        self.op("aten::cross_entropy_loss", [x, y, [], [], [], []],
                [BF16, "long int", "", "Scalar", "Scalar", "Scalar"], seq=a, inside=[
                    lambda _: self.op("aten::log_softmax", [x, [], []], [BF16, "Scalar", ""], seq=a,
                                      inside=[lambda _: self.op(
                        "aten::_log_softmax", [x, [], []], [BF16, "Scalar", "Scalar"], seq=a,
                        inside=[lambda e: self.launch("softmax", SOFTMAX, e)])]),
                    lambda _: self.op("aten::nll_loss_forward", [x, y, [], [], []],
                                      [BF16, "long int", "", "Scalar", "Scalar"], seq=b,
                                      inside=[lambda e: self.launch("nll", "nll_loss_forward", e)])])

        def backward():
            self.node("NllLossBackward0", b, [lambda _: self.op(
                "aten::nll_loss_backward", [[], x, y, [], [], [], []],
                [BF16, BF16, "long int", "", "Scalar", "Scalar", BF16],
                inside=[lambda e: self.launch("nll backward", "nll_loss_backward", e)])])
            self.node("LogSoftmaxBackward0", a, [lambda _: self.op(
                "aten::_log_softmax_backward_data", [x, x, [], []], [BF16, BF16, "Scalar", ""],
                inside=[lambda e: self.launch("softmax backward", SOFTMAX, e)])])
        return backward

    # ---- autograd ----

    def node(self, name, seq, inside):
        self.op(f"autograd::engine::evaluate_function: {name}", seq=seq, fwd=1, inside=[
            lambda _: self.op(name, seq=seq, fwd=1, inside=inside)])

    # ---- communication ----

    def collective(self, name, kernel, elements, out_elements, dtype="BFloat16"):
        seq = self.collectives[name] = self.collectives.get(name, 0) + 1
        more = {"Collective name": name, "In msg nelems": elements,
                "Out msg nelems": out_elements, "Group size": self.s.ranks, "dtype": dtype,
                "In split size": "[]", "Out split size": "[]", "Process Group Name": "0",
                "Process Group Description": "default_pg", "Process Group Ranks":
                str(list(range(self.s.ranks))), "Seq": seq}
        self.op("record_param_comms", [[elements], []], inside=[
            lambda _: self.op(f"nccl:{name}", [[elements]], inside=[
                lambda e: self.launch(name, kernel, e, stream=20, more=more,
                                      after=self.free.get(7, 0))])])

    # ---- a step ----

    def step(self, number):
        s, back = self.s, []
        start = self.now
        event = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}",
                 "pid": 4000 + self.rank, "tid": self.thread, "ts": us(start), "dur": None,
                 "args": {"External id": 0}}
        self.events.append(event)
        back.append(self.embedding())
        for _ in range(s.layers):
            back.append(self.norm())
            back.append(self.linear("qkv", s.tokens, s.hidden, 3 * s.hidden))
            back.append(self.attention())
            back.append(self.linear("proj", s.tokens, s.hidden, s.hidden))
            self.residual()
            back.append(self.norm())
            back.append(self.linear("fc1", s.tokens, s.hidden, s.ffn))
            back.append(self.gelu())
            back.append(self.linear("fc2", s.tokens, s.ffn, s.hidden))
            self.residual()
        back.append(self.norm())
        back.append(self.head(s.tokens, s.hidden, s.vocabulary))
        back.append(self.loss())
        main, self.thread = self.thread, 5000 + self.rank  # autograd's
        for f in reversed(back):
            f()
        weights = s.parameters
        self.collective("allreduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL("
                        "ncclDevKernelArgsStorage<4096ul>)", weights, weights)
        self.thread = main
        self.free[7] = max(self.free[7], self.free[20])
        self.now = max(self.now, self.free[7])
        sizes = [[weights - 5000], [5000]]
        self.op("Optimizer.step#AdamW.step", cat="user_annotation", inside=[
            lambda _: self.op("aten::_fused_adamw_", [sizes] * 5 + [[]], ["TensorList"] * 5 + [""],
                              inside=[lambda e: self.launch("adam", ADAM, e)])])
        self.now = max(self.now, self.free[7]) + 10_000
        event["dur"] = us(self.now - start)

    def text(self):
        head = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB",
                                  "totalGlobalMem": 85097971712}],
            "cupti_version": 18,
            "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.s.ranks,
                                "pg_count": 1, "pg_config": [
                                    {"pg_name": "0", "pg_desc": "default_pg",
                                     "backend_config": "cuda:nccl", "pg_size": self.s.ranks,
                                     "ranks": list(range(self.s.ranks))}], "nccl_version": "2.21.5"},
            "with_stack": 0, "record_shapes": 1, "displayTimeUnit": "ms",
            "baseTimeNanoseconds": self.base,
            "traceEvents": [], "traceName": f"trace-{self.rank}.json"}
        self.events.append({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",
                            "ts": us(self.now)})
        lines = ",\n".join("  " + plain(json.dumps(e)) for e in self.events)
        return json.dumps(head, indent=1).replace('"traceEvents": []',
                                                  '"traceEvents": [\n' + lines + "\n ]")


GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
ADD = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<"
       "c10::BFloat16>, at::detail::Array<char*, 3>>(int)")
SOFTMAX = "void (anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>()"
ADAM = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"
        "FusedAdamMathFunctor<c10::BFloat16, 4, (at::native::ADAM_MODE)1, false>>()")


def us(ns):
    """A number that `plain` strips of its quotes."""
    return f"@{ns // 1000}.{ns % 1000:03d}@"


def plain(text):
    return text.replace('"@', "").replace('@"', "")


def row_major(dims):
    out, n = [], 1
    for d in reversed(dims):
        if isinstance(d, list):
            return []
        out.insert(0, n)
        n *= d
    return out


def write(folder, shape, dur, skews=None, files=None, **kw):
    for r in files if files is not None else range(shape.ranks):
        rank = Rank(shape, r, dur, (skews or {}).get(r, 0), **kw)
        for i in range(shape.steps):
            rank.step(5 + i)
        (folder / f"host-{r}.1700000000.pt.trace.json").write_text(rank.text(), encoding="utf-8")
