"""What the sources claim, one row each: the source's value, trainyard's, and the command.

Every row runs the commands that it shows. `verdict` is "yes" where all parts of a claim come out,
"no" where none does, "partly" in between."""
import csv
import json
import pathlib
import shlex

import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = []
SC21 = "Narayanan et al. 2021"
PTDP = "trainyard run docs/examples/gpt3-175b-sc21.yaml"
SCHEDULE = "trainyard schedule {} -p 8 -m 32 --times F=1,B=2,I=1,W=1 --format json"


def claim(source, text, published, *commands):
    """Enters the function below it: (answers of the commands) -> (what comes out, [parts that hold])."""
    def enter(judge):
        ROWS.append((source, text, published, commands, judge))
        return judge
    return enter


def play(*names):
    return [SCHEDULE.format(name) for name in names]


def with_keys(command, **keys):
    return command + "".join(f" --set {key.replace('__', '.')}={value}" for key, value in keys.items())


def near(value, published, percent):
    return abs(value / published - 1) <= percent / 100


def peaks(answer, kind="peak_rel_W"):
    return [rank[kind] for rank in answer["ranks"]]


def state(answer, name):
    return dict(answer["memory"]["largest"]["what"])[name]


# ---- pipelines: exact, in whole units of time ----


@claim("GPipe", "the bubble is (p - 1)/(m + p - 1) of the time; a stage keeps m micro-batches",
       "17.95 %, 32", *play("gpipe"))
def gpipe(a):
    return (f"{100 * a['bubble_fraction']:.2f} %, {peaks(a)[0]}",
            [abs(a["bubble_fraction"] - 7 / 39) < 1e-12, peaks(a) == [32] * 8])


@claim("PipeDream", "1F1B takes as long as GPipe; stage r keeps p - r micro-batches", "117, 8 to 1",
       *play("1f1b", "gpipe"))
def flush(a, b):
    return (f"{a['makespan']}, {peaks(a)[0]} to {peaks(a)[-1]}",
            [a["makespan"] == b["makespan"] == 117, peaks(a) == list(range(8, 0, -1))])


ASYNC = "trainyard run docs/examples/first.yaml --set run.steps=8 --set schedule.name="


@claim("PipeDream, PipeDream-2BW", "without a flush the pipeline stays full; stage r keeps p - r versions "
       "of weights, or two", "no bubble, 4 versions, 2 versions",
       *[ASYNC + name for name in ("pipedream", "pipedream-2bw", "1f1b")])
def no_flush(a, b, c):
    copies = [state(x, "weights") / state(c, "weights") for x in (a, b)]
    return (f"bubble {100 * a['bubble_fraction']:.1f} % (1F1B {100 * c['bubble_fraction']:.1f} %), "
            f"{copies[0]:.0f} versions, {copies[1]:.0f} versions",
            [a["bubble_fraction"] < c["bubble_fraction"] / 2, copies == [4, 2]])


@claim(SC21, "v chunks divide the bubble by v", "(p - 1)/(v m) = 5.47 %",
       "trainyard schedule interleaved -p 8 -m 32 -v 4 --format json")
def chunks(a):
    return f"{100 * a['bubble_over_ideal']:.2f} %", [abs(a["bubble_over_ideal"] - 7 / 128) < 1e-12]


@claim("Zero bubble", "ZB-H1: bubble (p - 1)(tF + tB - tW), memory of 1F1B", "7, 8 micro-batches",
       *play("zb-1p"))
def zb_h1(a):
    idle = a["makespan"] - 96
    return f"{idle}, {max(peaks(a))}", [idle == 7 * (1 + 1 - 1), max(peaks(a)) == 8]


@claim("Zero bubble", "ZB-H2: no bubble within a rank's work, at twice the memory", "0, 16",
       *play("zb-2p"))
def zb_h2(a):
    idle = a["max_rank_span"] - 96
    return f"{idle}, {max(peaks(a))}", [idle == 0, max(peaks(a)) == 16]


@claim("Zero bubble", "ZB-V: no bubble within a rank's work, at the memory of 1F1B", "0, 8",
       *play("zb-v"))
def zb_v(a):
    idle, held = a["max_rank_span"] - 192, max(peaks(a)) / 2  # chunks are half a stage
    return f"{idle}, {held:g}", [idle == 0, held == 8]


@claim("Controllable memory", "V-half and V-min keep a half and a third of 1F1B's activations",
       "1/2, 1/3 (and a constant)", *play("v-half", "v-min"))
def v_half(a, b):
    half, least = max(peaks(a)) / 16, max(peaks(b)) / 16
    return f"{half:.2f}, {least:.2f}", [half == (8 + 2) / 16, least <= (8 + 4) / 3 / 8]


@claim("DualPipe", "bubble (p/2 - 1)(tFB + tB - 3 tW), p + 1 micro-batches, weights twice",
       "6, 9, 2", *play("dualpipe"))
def dualpipe(a):
    idle = a["makespan"] - 96
    return (f"{idle}, {max(peaks(a))}, {a['weight_copies']}",
            [idle == 3 * (3 + 2 - 3), max(peaks(a)) == 9, a["weight_copies"] == 2])


INTERLEAVED = with_keys(PTDP, cluster__nodes=12, layout__global_batch=12)
IN_CHUNKS = " --set schedule.name=interleaved --set schedule.chunks=4"  # run_figure_12.sh


@claim(SC21, "figure 12: interleaving gains more than 10 % at small batches, less at larger ones",
       "> 10 %", INTERLEAVED, INTERLEAVED + IN_CHUNKS,
       with_keys(PTDP, cluster__nodes=12, layout__global_batch=60),
       with_keys(PTDP, cluster__nodes=12, layout__global_batch=60) + IN_CHUNKS)
def interleaving(a, b, c, d):
    small, large = a["step_time_s"] / b["step_time_s"] - 1, c["step_time_s"] / d["step_time_s"] - 1
    return f"{100 * small:.1f} % at 12, {100 * large:.1f} % at 60", [small > 0.1, 0 < large < small]


# ---- sharded data parallelism and offload ----

FSDP = ("trainyard run docs/examples/llama3-8b-fsdp-8xh100.yaml --set cluster.nodes=8 "
        "--set layout.global_batch=64")


def bytes_of(answer, group):
    return sum(answer["traffic"].get(group, {}).values())


@claim("ZeRO", "figure 1: 7.5 billion parameters on 64 GPUs take 120, 31.4, 16.6 and 1.9 GB",
       "120, 31.4, 16.6, 1.9 GB", "papers.py --only zero")
def zero_states(rows):
    got = [float(row[3].split()[0]) for row in rows]
    return (", ".join(f"{x:g}" for x in got) + " GB",
            [near(x, y, 2) for x, y in zip(got, (120, 31.4, 16.6, 1.9))])


@claim("ZeRO", "stages 1 and 2 send what data parallelism sends, stage 3 half as much again",
       "1, 1, 1.5 times", *[with_keys(FSDP, framework__preset="megatron-lm", layout__zero=z,
                                      framework__reduce_dtype="model", cluster__collectives="ring",
                                      framework__bucket="10GB") for z in range(4)])
def zero_bytes(*answers):
    ratio = [bytes_of(a, "dp") / bytes_of(answers[0], "dp") for a in answers[1:]]
    return (", ".join(f"{r:.2f}" for r in ratio) + " times",
            [near(r, p, 5) for r, p in zip(ratio, (1, 1, 1.5))])


ONE_NODE = with_keys(FSDP, cluster__nodes=1, framework__preset="ddp", layout__zero=0, cluster__collectives="ring",
                     model__preset="gpt3-1.3b", layout__global_batch=8)


@claim("PyTorch DDP", "a ring sends 2 (N - 1)/N bytes of each gradient byte, beside the backward pass",
       "3.5 B a parameter, little exposed", ONE_NODE,
       ONE_NODE + " --set framework.overlap_grad_reduce=false")
def ddp(a, b):
    sent = bytes_of(a, "dp") / 8 / a["parameters"]
    share = a["breakdown"]["exposed_data"] / b["breakdown"]["exposed_data"]
    return (f"{sent:.4g} B a parameter, {100 * share:.1f} % exposed",
            [near(sent, 3.5, 0.1), share < 0.1])


@claim("PyTorch FSDP", "keeping parameters after the forward saves one gather of three, for memory",
       "2/3 of the bytes", FSDP + " --set framework.reduce_dtype=model",
       FSDP + " --set framework.reduce_dtype=model --set framework.reshard_after_forward=false")
def reshard(a, b):
    ratio = bytes_of(b, "dp") / bytes_of(a, "dp")
    more = (b["memory"]["peak_bytes"][0] - a["memory"]["peak_bytes"][0]) / 2**30
    return f"{ratio:.2f} of the bytes, {more:+.1f} GiB", [near(ratio, 2 / 3, 3), more > 0]


DGX2 = "trainyard run docs/examples/offload-dgx2.yaml"
V100 = with_keys(DGX2, cluster__gpus_per_node=1, layout__global_batch=1, model__layers=65)


@claim("ZeRO-Offload", "13 billion parameters train on one V100 of 32 GB; 1.4 billion without",
       "13B fits, 1.4B fits, 2.2B does not", V100,
       with_keys(DGX2, layout__offload="none", model__hidden=2048, model__heads=16, model__layers=24),
       with_keys(DGX2, layout__offload="none", model__hidden=2048, model__heads=16, model__layers=40))
def offload_fits(a, b, c):
    said = [("fits" if x["fits"] else "does not") for x in (a, b, c)]
    return "13B {}, 1.4B {}, 2.2B {}".format(*said), [a["fits"], b["fits"], not c["fits"]]


# Batch, buckets, checkpoints and attention of microsoft/DeepSpeedExamples Megatron-LM:
# scripts/ds_zero-offload_10B_config.json, mpu/transformer.py.
@claim("ZeRO-Offload", "40 TFLOP/s on one V100 with 10 billion parameters", "40 TFLOP/s",
       with_keys(DGX2, cluster__gpus_per_node=1, layout__global_batch=30, layout__micro_batch=10,
                 layout__offload_activations="cpu", framework__bucket="100MB",
                 model__attention="unfused", model__softmax_in_fp32="false"))
def offload_speed(a):
    tflops = a["model_tflops_per_gpu"] * a["hfu"] / a["mfu"]
    return f"{tflops:.1f} TFLOP/s with recomputation", [near(tflops, 40, 15)]


@claim("ZeRO-Infinity", "a trillion parameters fit one DGX-2 with NVMe", "fits",
       with_keys(DGX2, layout__offload="zero-infinity", layout__tensor=4, layout__sequence_parallel="true",
                 layout__global_batch=4, model__layers=128, model__hidden=25600, model__heads=200))
def infinity_fits(a):
    return "fits" if a["fits"] else "does not fit", [a["fits"]]


INFINITY = with_keys(DGX2, cluster__nodes=32, layout__offload="zero-infinity", layout__tensor=4,
                     layout__sequence_parallel="true", layout__offload_activations="cpu")


@claim("ZeRO-Infinity", "1T on 512 V100 runs at 48.9 TFLOP/s, as fast as 0.5T at 46.4",
       "48.9, 46.4 TFLOP/s",
       with_keys(INFINITY, model__layers=128, model__hidden=25600, model__heads=200,
                 layout__micro_batch=20, layout__global_batch=2560),
       with_keys(INFINITY, model__layers=124, model__hidden=18432, model__heads=144,
                 layout__micro_batch=28, layout__global_batch=3584))
def infinity_speed(a, b):
    got = [x["model_tflops_per_gpu"] * x["hfu"] / x["mfu"] for x in (a, b)]
    return ("{:.1f}, {:.1f} TFLOP/s".format(*got),
            [near(got[0], 48.9, 15), near(got[1], 46.4, 15), near(got[0] / got[1], 48.9 / 46.4, 15)])


def table_2(text, published, scheme, model):
    """A claim about some rows of table 2."""
    def judge(rows):
        own = [row for row in rows if row[0].startswith(scheme) and (not model or row[1] == model)]
        errors = [float(row[-1].split()[0]) for row in own]
        return ", ".join(str(row[5]) for row in own) + " TFLOP/s", [abs(e) < 15 for e in errors]
    claim(SC21, text, published, "papers.py --only \"table 2\"")(judge)


table_2("table 2: ZeRO-3 alone slows down from 384 to 1,536 A100 (175B)", "144, 88, 44 TFLOP/s", "ZeRO-3",
        "175B")
table_2("table 2: the same of 530B, 640 to 2,240 A100", "138, 98, 48 TFLOP/s", "ZeRO-3", "530B")
table_2("table 2: with tensor and pipeline parallelism it does not", "153, 149, 141, 171, 167, 159 TFLOP/s",
        "PTD-P", "")


# ---- tensor and 3D parallelism ----


@claim(SC21, "table 1: 137 to 163 TFLOP/s from 1.7 billion to a trillion parameters", "10 rows",
       "papers.py --only \"table 1\"")
def weak_scaling(rows):
    errors = [float(row[-1].split()[0]) for row in rows]
    mean = sum(map(abs, errors)) / len(errors)
    return f"{mean:.1f} % off, worst {max(errors, key=abs):+.1f} %", [mean < 5,
                                                                     max(map(abs, errors)) < 15]


# Shape and batches of the authors' run_figure_16.sh.
@claim(SC21, "micro-batches of 2 are best for 91 billion parameters, 8 x 8 (figure 16)",
       "2 at batch 128, 2 at 512", *[with_keys(
           PTDP, cluster__nodes=8, model__layers=32, model__hidden=15360, model__heads=128,
           layout__pipeline=8, layout__global_batch=g, layout__micro_batch=b)
           for g in (128, 512) for b in (1, 2, 4, 8)])
def micro_batch(*answers):
    times = [a["step_time_s"] for a in answers]
    best = [1 << part.index(min(part)) for part in (times[:4], times[4:])]
    return (f"{best[0]} at batch 128 (2: {100 * (times[1] / min(times[:4]) - 1):+.1f} %), "
            f"{best[1]} at 512", [b == 2 for b in best])


SCATTER = with_keys(PTDP, cluster__nodes=12, schedule__name="interleaved", schedule__chunks=4,
                    layout__global_batch=60)


@claim(SC21, "scatter/gather of pipeline messages gains up to 11 % (figure 18)", "up to 11 %",
       SCATTER + " --set framework.scatter_gather_p2p=true",
       SCATTER + " --set framework.scatter_gather_p2p=false")
def scatter_gather(a, b):
    gain = b["step_time_s"] / a["step_time_s"] - 1
    return f"{100 * gain:.1f} %", [gain > 0, 0.08 < gain < 0.14]


@claim(SC21, "tensor groups as large as a node are best (takeaway 1, figure 13)", "tensor 8, pipeline 8",
       *[with_keys(PTDP, cluster__nodes=8, model__layers=32, model__hidden=20480, model__heads=128,
                   layout__global_batch=128, layout__tensor=t, layout__pipeline=p)
         for t, p in ((2, 32), (4, 16), (8, 8), (16, 4), (32, 2))])
def node_sized(*answers):
    times = [a["step_time_s"] for a in answers]
    return f"tensor {2 << times.index(min(times))}", [min(times) == times[2]]


@claim("Megatron-LM", "a layer all-reduces its hidden state twice forward and twice backward",
       "4 b s h elements", "trainyard run docs/examples/first.yaml --set layout.pipeline=1 "
       "--set layout.tensor=8 --set layout.recompute=none --set cluster.nodes=1 "
       "--set layout.global_batch=1", "trainyard run docs/examples/first.yaml --set layout.pipeline=1 "
       "--set layout.tensor=8 --set layout.recompute=none --set cluster.nodes=1 "
       "--set layout.global_batch=1 --set model.layers=20")
def four_all_reduces(a, b):
    received = (bytes_of(a, "tp") - bytes_of(b, "tp")) / 20 / 8  # a layer, a rank
    count = received / (2 * 7 / 8 * 2 * 2048 * 5120)
    return f"{count:.3g} b s h elements", [near(count, 4, 0.1)]


@claim("vTrain", "3.6 billion parameters: tensor 16 over two nodes takes 2.1 times as long as tensor 8",
       "5.02 s, 10.72 s", *[with_keys(
           PTDP, cluster__nodes=8, cluster__nics_per_node=4, framework__preset="megatron-deepspeed",
           model__layers=30, model__hidden=3072, model__heads=32, layout__tensor=t,
           layout__pipeline=1, layout__global_batch=512, layout__micro_batch=16) for t in (8, 16)])
def beyond_a_node(a, b):
    times = [a["step_time_s"], b["step_time_s"]]
    return "{:.2f} s, {:.2f} s".format(*times), [near(times[0], 5.02, 15), near(times[1], 10.72, 15),
                                                 near(times[1] / times[0], 2.136, 15)]


TENSOR = ("trainyard run docs/examples/first.yaml --set cluster.preset=dgx1-v100 --set cluster.nodes=8 "
          "--set model.preset=gpt3-175b --set model.layers=24 --set model.hidden=4096 --set model.heads=64 "
          "--set model.ffn=16384 --set model.sequence=512 --set model.dtype=fp16 "
          "--set model.attention=fused-softmax --set layout.pipeline=1 --set layout.tensor=64 "
          "--set layout.recompute=full --set layout.micro_batch=64 --set layout.global_batch=64 "
          "--set layout.tensor_scheme=")


@claim("3D tensor parallelism", "on 64 V100 3D is 2.32 times as fast as 1D, 1.57 times as 2D",
       "2.32, 1.57 times", TENSOR + "1d", TENSOR + "2d", TENSOR + "3d")
def tensor_3d(a, b, c):
    over = [x["step_time_s"] / c["step_time_s"] for x in (a, b)]
    return "{:.2f}, {:.2f} times".format(*over), [near(over[0], 2.32, 25), near(over[1], 1.57, 25)]


@claim("Tesseract", "2.5D is 1.38 times as fast as 1D, 1.53 times as 2D", "1.38, 1.53 times",
       TENSOR + "1d", TENSOR + "2d", TENSOR + "2.5d --set layout.tensor_depth=4")
def tensor_25d(a, b, c):
    over = [x["step_time_s"] / c["step_time_s"] for x in (a, b)]
    return "{:.2f}, {:.2f} times".format(*over), [near(over[0], 1.38, 25), near(over[1], 1.53, 25)]


# ---- memory and kernels ----

LAYER = ("trainyard run docs/examples/gpt3-175b-sc21.yaml --set model.layers=96 --set layout.pipeline=1 "
         "--set cluster.nodes=1 --set layout.global_batch=1")


@claim("Korthikanti et al. 2022", "a layer keeps s b h (34 + 5 a s/h) bytes; full recomputation 2 s b h",
       "114 s b h, 2 s b h", *[with_keys(LAYER, layout__recompute=r, layout__tensor=1, model__layers=n,
                                         model__dropout=0.1, cluster__gpus_per_node=1)
                               for r in ("none", "full") for n in (96, 48)])
def activations(*answers):
    kept = [state(a, "activations") for a in answers]
    unit = 2048 * 12288 * 48
    got = [(kept[0] - kept[1]) / unit, (kept[2] - kept[3]) / unit]
    return "{:.1f} s b h, {:.1f} s b h".format(*got), [near(got[0], 114, 2), near(got[1], 2, 2)]


@claim("Korthikanti et al. 2022", "selective recomputation with sequence parallelism: 29.0 to 32.1 % faster",
       "29.1, 31.9, 29.7, 32.1 %", "papers.py --only \"table 5\"")
def selective(rows):
    pairs = [(float(row[6].split()[0]), float(row[7].split()[0])) for row in rows if row[6]]
    return (", ".join(f"{got:.1f}" for _, got in pairs) + " %",
            [abs(got - published) < 4 for published, got in pairs])


@claim("FlashAttention", "memory of attention is linear in the sequence, not quadratic", "2, 4 times",
       *[with_keys("trainyard run docs/examples/first.yaml", model__sequence=s, model__attention=k,
                   layout__global_batch=8)
         for k in ("flash2", "unfused") for s in (8192, 16384)])
def linear(a, b, c, d):
    got = [state(y, "activations") / state(x, "activations") for x, y in ((a, b), (c, d))]
    return "{:.2f}, {:.2f} times".format(*got), [near(got[0], 2, 1), 3.5 < got[1] <= 4]


@claim("PaLM", "46.2 % MFU at 238.3 thousand tokens/s on 6,144 chips", "46.2 %", "papers.py --only palm")
def palm(rows):
    mfu = float(rows[1][2].split()[0])
    return f"{mfu:.1f} %", [near(mfu, 46.2, 1.2)]


# ---- experts ----


@claim("DeepSeek-V2", "236 billion parameters, 21 billion active; 172.8 thousand H800-hours for a "
       "trillion tokens", "236B, 21B, 1,607 tokens/s a GPU",
       "trainyard run docs/examples/deepseek-v2-1024xh800.yaml")
def deepseek_v2(a):
    all_b, active_b, speed = a["parameters"] / 1e9, a["parameters_active"] / 1e9, a["tokens_per_s_per_gpu"]
    return (f"{all_b:.1f}B, {active_b:.1f}B, {speed:,.0f} tokens/s a GPU"
            + ("" if a["fits"] else ", does not fit"),
            [near(all_b, 236, 1), near(active_b, 21, 3), near(speed, 1607, 10), a["fits"]])


V3 = "trainyard run docs/examples/deepseek-v3-2048xh800.yaml"


@claim("DeepSeek-V3", "180 thousand H800-hours for a trillion tokens", "19.93 s a step", V3)
def v3_speed(a):
    return f"{a['step_time_s']:.2f} s a step", [near(a["step_time_s"], 19.93, 10), a["fits"]]


@claim("DeepSeek-V3", "a token goes to at most 4 nodes, which cuts traffic between nodes", "at most 4 of 8",
       V3, V3 + " --set model.group_limit=none")
def node_limit(a, b):
    ratio = a["traffic"]["ep"]["network_bytes"] / b["traffic"]["ep"]["network_bytes"]
    return f"{ratio:.2f} of the bytes", [0.5 < ratio < 0.9]


# ---- large runs ----

MEGASCALE = "trainyard run docs/examples/megascale-175b-256xa100.yaml"
WIDE = {"cluster__nodes": 1536, "layout__global_batch": 6144}


@claim("MegaScale", "55.2 % MFU on 12,288 GPUs", "55.2 %", with_keys(MEGASCALE, **WIDE))
def megascale(a):
    return f"{100 * a['mfu']:.1f} %", [near(a["mfu"], 0.552, 10)]


@claim("MegaScale", "1.34 times as fast as Megatron-LM on 12,288 GPUs", "1.34 times",
       with_keys(MEGASCALE, **WIDE),
       with_keys(MEGASCALE, framework__preset="megatron-lm", framework__overlap_grad_reduce="false",
                 framework__overlap_p2p="false", model__block="serial", model__window="none",
                 model__attention="fused-softmax", layout__recompute="selective", **WIDE))
def over_megatron(a, b):
    ratio = b["step_time_s"] / a["step_time_s"]
    return f"{ratio:.2f} times", [near(ratio, 1.34, 10)]


# Micro-batches of two: the three times are (m/2 + p - 1) 0.388 s with m sequences a replica and
# p = 35 stages, and the paper's smallest batch, 32 on 16 replicas of 4,480 GPUs, has as many.
@claim("Megatron-Turing NLG", "530B on 2,240, 2,800 and 3,360 A100; its micro-batch of 2 is inferred",
       "60.1, 50.2, 44.4 s", *[with_keys(
           PTDP, framework__preset="megatron-deepspeed", cluster__nodes=n, model__layers=105,
           model__hidden=20480, model__heads=128, layout__pipeline=35, layout__global_batch=1920,
           layout__micro_batch=2) for n in (280, 350, 420)])
def mt_nlg(*answers):
    got = [a["step_time_s"] for a in answers]
    return ", ".join(f"{x:.1f}" for x in got) + " s", [
        near(x, y, 10) for x, y in zip(got, (60.1, 50.2, 44.4))] + [a["fits"] for a in answers]


# ---- layouts ----

HEAD = ("trainyard run docs/examples/llama-30b-256xa100.yaml --set model.preset=llama-13b "
        "--set cluster.nodes=8 --set framework.preset=aleph-alpha-scaling --set layout.tensor=1 "
        # Keys of the ledger's set: fitted on its rows, and inferred (datasets.py, HAGEMANN_LATE).
        "--set cluster.derate=0.94 --set layout.global_batch=256 "
        "--set framework.overlap_grad_reduce=true --set framework.overlap_param_gather=true")
HAGEMANN = "Hagemann et al. 2023"


@claim(HAGEMANN, "LLaMA 13B on 64 A100 reaches 70.5 % MFU without tensor or pipeline parallelism",
       "70.5 %, pipeline 1", *[with_keys(HEAD, layout__pipeline=p, layout__micro_batch=b)
                               for p, b in ((1, 1), (2, 1), (2, 2))])
def headline(a, b, c):
    first = a["step_time_s"] <= min(b["step_time_s"], c["step_time_s"])
    return (f"{100 * a['mfu']:.1f} %, pipeline {1 if first else 2}", [near(a["mfu"], 0.705, 5), first])


@claim(HAGEMANN, "a fused RMSNorm gains 14 points of MFU at 13B: it needs one stage, not two",
       "+14 points", with_keys(HEAD, layout__pipeline=1),
       with_keys(HEAD, layout__pipeline=2, model__norm="unfused"))
def fused_norm(a, b):
    gain = 100 * (a["mfu"] - b["mfu"])
    return f"{gain:+.1f} points", [gain > 0, near(gain, 14, 25)]


@claim(HAGEMANN, "the best layouts recompute nothing and have micro-batches of 1", "13B, 65B",
       "papers.py --only conclusions")
def best_layouts(rows):
    rows = [row for row in rows if "sequence parallelism" not in row[0]]
    return ", ".join(row[1] for row in rows) + " without", [row[2] == "yes" for row in rows]


@claim("Alpa", "a search finds the best layout without trying all", "equals trying all",
       "trainyard plan docs/examples/first.yaml --over layout.tensor=1,2,4,8 --over layout.pipeline=1,2,4 "
       "--over layout.micro_batch=1,2,4 --over layout.zero=1 --over layout.recompute=none "
       "--over layout.sequence_parallel=false --over layout.order=[tensor,context,data,pipeline] --stats json",
       "trainyard sweep docs/examples/first.yaml --over layout.tensor=1,2,4,8 --over layout.pipeline=1,2,4 "
       "--over layout.micro_batch=1,2,4 --set layout.zero=1 -o -")
def search(plan, rows):
    best = min(float(r["step_time_s"]) for r in rows if r["fits"] == "1")
    found = plan["rows"][0]["step_time_s"]
    return f"{found:.3f} s, {best:.3f} s; {plan['simulated']} of {len(rows)} simulated", [found == best]


# ---- asking them ----


def answer(context, command):
    """JSON of a run, schedule or plan; rows of a sweep; rows of a table of the page."""
    words = shlex.split(command)
    if words[0] == "papers.py":
        return context.rows(words[-1])
    if words[1] == "sweep":
        out = tables.output(context.binary, *words[1:], "-q", answers=(0, 1), folder=ROOT)
        return list(csv.DictReader(out.splitlines()))
    more = ["--stats", "json", "-q"] if words[1] == "run" else []
    return json.loads(tables.output(context.binary, *words[1:], *more, answers=(0, 1),
                                    folder=ROOT))


def verdict(parts):
    return "yes" if all(parts) else "partly" if any(parts) else "no"


def ask(context):
    """Rows of the page's first table."""
    rows, known = [], {}
    for source, text, published, commands, judge in ROWS:
        for command in commands:
            if command not in known:
                known[command] = answer(context, command)
        got, parts = judge(*[known[command] for command in commands])
        rows.append([len(rows) + 1, source, text, published, got, verdict(parts), commands])
    return rows
