/* gpu_presets.c - the GPUs we know: what the data sheet promises and what kernels reach.
 *
 * Each text is the GPU part of a `cluster` section. Peaks are dense, without sparsity; fp32 is that
 * of the CUDA cores (frameworks leave TF32 off by default). Memory is what a framework sees, less
 * than the label. Kernel figures are fitted on public op timings:
 *
 *   vidur      microsoft/vidur data/profiling/compute: 25 000 GEMM, norm, activation and rotary
 *              timings on A100 and H100, least squares on the logarithm; 5 to 7 % per product
 *   FA charts  Dao-AILab/flash-attention assets: rate(s) = rate * s / (s + half) meets the causal
 *              forward + backward curves of head size 128 within 1.2 % (FA2), 4.2 % (FA1)
 *   SimuMax    MooreThreads/SimuMax configs/system: 514 GEMM shapes, 108 in groups, attention on
 *              B200; few of either on A100
 *   DeepGEMM   deepseek-ai/DeepGEMM README, first version: fp8 products on H800
 *   Hagemann   Hagemann et al. 2023, step times of 74 layouts of LLaMA 13B on 64 A100 (framework
 *              megatron-deepspeed): least squares on the logarithm, others at their priors
 *
 * "guess" marks what no measurement supports; most of these scale a known GPU by its peak. */
#include "topology/cluster.h"

#include <stddef.h>

static const char a100_80[] =
    "peak_bf16: 312 TFLOP/s           # NVIDIA A100 data sheet\n"
    "peak_fp16: 312 TFLOP/s           # NVIDIA A100 data sheet\n"
    "peak_fp32: 19.5 TFLOP/s          # NVIDIA A100 data sheet, CUDA cores\n"
    "peak_fp8: none                   # fp8 came with Hopper\n"
    "sms: 108                         # NVIDIA A100 data sheet\n"
    "l2: 40 MB                        # NVIDIA A100 data sheet\n"
    "l2_bandwidth: 3 TB/s             # vidur, 290 additions and norms of 256 to 4096 rows\n"
    "gemm_efficiency: 0.772           # vidur, 1160 GEMMs of 256 to 4096 rows: 6.1 %\n"
    "gemm_overhead: 6.3 us            # vidur, as above, all four at once\n"
    "gemm_ramp: 47                    # vidur, as above\n"
    "gemm_load: 9.7                   # vidur, as above\n"
    "gemm_wave: 0.5                   # vidur: of 0.36 to 1 the best on models left out\n"
    "wgrad_slowdown: 1.05             # SimuMax, A100-PCIe: 0.744 / 0.710\n"
    "wgrad_result: 0.4                # SimuMax, A100-PCIe, 4 grouped GEMMs: 2.0 %\n"
    "flash1_rate: 81 TFLOP/s          # FA charts\n"
    "flash1_half: 273                 # FA charts\n"
    "flash2_rate: 194 TFLOP/s         # FA charts\n"
    "flash2_half: 485                 # FA charts\n"
    "flash3_rate: 194 TFLOP/s         # guess: FlashAttention 3 needs Hopper, taken as 2\n"
    "flash3_half: 485                 # guess: as above\n"
    "activation_efficiency: 0.49      # vidur: SwiGLU 995 of 2039 GB/s\n"
    "rope_efficiency: 0.44            # vidur: 900 of 2039 GB/s\n"
    "add_efficiency: 0.88             # vidur, together with l2_bandwidth\n"
    "norm_passes: 3.15                # vidur, as above\n"
    "norm_passes_unfused: 18.1        # Hagemann; fused ones came out at 3.13\n"
    "kernel_overhead: 1.9 us          # vidur, as above\n"
    "derate: 1                        # vTrain; Hagemann et al. ask for 0.94 on one NIC a node\n"
    "memory: 79.15 GiB                # as PyTorch reports it\n"
    "memory_bandwidth: 2039 GB/s      # NVIDIA A100 80GB SXM data sheet\n"
    "tensor_power: 1.14 kW            # guess: H100 by board power\n"
    "memory_power: 343 W              # guess: H100 by board power\n"
    "active_power: 86 W               # guess: H100 by board power\n"
    "board_power: 353 W               # 400 W a board, as H100\n";

static const char a100_40[] =
    "memory: 39.4 GiB                 # as PyTorch reports it\n"
    "memory_bandwidth: 1555 GB/s      # NVIDIA A100 40GB SXM data sheet\n";

static const char h100[] =
    "peak_bf16: 989 TFLOP/s           # NVIDIA H100 data sheet, dense\n"
    "peak_fp16: 989 TFLOP/s           # NVIDIA H100 data sheet, dense\n"
    "peak_fp32: 67 TFLOP/s            # NVIDIA H100 data sheet, CUDA cores\n"
    "peak_fp8: 1979 TFLOP/s           # NVIDIA H100 data sheet, dense\n"
    "sms: 132                         # NVIDIA H100 data sheet\n"
    "l2: 50 MB                        # NVIDIA H100 data sheet\n"
    "l2_bandwidth: 5.4 TB/s           # vidur, 210 additions and norms of 256 to 4096 rows\n"
    "gemm_efficiency: 0.746           # vidur, together with gemm_wave\n"
    "gemm_overhead: 6.4 us            # vidur, together with gemm_wave\n"
    "gemm_wave: 0.19                  # vidur: 6.1 % per GEMM, 6.9 % without\n"
    "fp8_ramp: 700                    # DeepGEMM, 12 GEMMs of 1024 rows and more: 2.7 %\n"
    "wgrad_slowdown: 1.05             # guess 3 %: as A100\n"
    "wgrad_result: 1                  # guess 50 %: as B200\n"
    "flash1_rate: 137 TFLOP/s         # FA charts, largest value\n"
    "flash1_half: 273                 # guess: as A100\n"
    "flash2_rate: 333 TFLOP/s         # FA charts\n"
    "flash2_half: 532                 # FA charts\n"
    "flash3_rate: 584 TFLOP/s         # FA charts: forward 655; backward 560 is a guess\n"
    "flash3_half: 603                 # FA charts, forward\n"
    "activation_efficiency: 0.6       # vidur, together with kernel_overhead\n"
    "rope_efficiency: 0.5             # vidur, as above\n"
    "add_efficiency: 0.94             # vidur, together with l2_bandwidth\n"
    "norm_passes: 3.1                 # vidur, as above\n"
    "norm_passes_unfused: 17.4        # guess 15 %: as A100\n"
    "kernel_overhead: 1.5 us          # vidur, as above\n"
    "host_speed: 1.25                 # guess 20 %: newer hosts\n"
    "gemm_sustained: 0.89             # guess 4 %: step times say 0.84 to 0.92, vidur 0.93\n"
    "derate: 1                        # as A100; gemm_sustained is what was missing\n"
    "memory: 79.1 GiB                 # as PyTorch reports it, lower of 79.1 to 79.6\n"
    "memory_bandwidth: 3350 GB/s      # NVIDIA H100 SXM data sheet\n"
    "tensor_power: 2 kW               # guess: GEMMs reach the board's limit\n"
    "memory_power: 600 W              # fitted on LoRA and GPT-3, MLPerf v4.0\n"
    "active_power: 150 W              # fitted, as above\n"
    "board_power: 618 W               # 700 W at 0.95 of the outlet, less 117 W idle\n";

/* Guesses by peak and by SMs; what the kernels reach of the peak is left as it is. */
static const char h100_pcie[] =
    "peak_bf16: 756 TFLOP/s           # NVIDIA H100 PCIe data sheet, dense\n"
    "peak_fp16: 756 TFLOP/s           # NVIDIA H100 PCIe data sheet, dense\n"
    "peak_fp32: 51 TFLOP/s            # NVIDIA H100 PCIe data sheet, CUDA cores\n"
    "peak_fp8: 1513 TFLOP/s           # NVIDIA H100 PCIe data sheet, dense\n"
    "sms: 114                         # NVIDIA H100 PCIe data sheet\n"
    "l2_bandwidth: 4.7 TB/s           # guess 15 %: H100 SXM by SMs\n"
    "flash1_rate: 105 TFLOP/s         # guess 15 %: H100 SXM by peak\n"
    "flash2_rate: 255 TFLOP/s         # guess 15 %: H100 SXM by peak\n"
    "flash3_rate: 446 TFLOP/s         # guess 15 %: H100 SXM by peak\n"
    "gemm_sustained: 0.75             # guess 15 %: 350 W a board, half of SXM's 700 W\n"
    "memory: 79.1 GiB                 # as H100 SXM\n"
    "memory_bandwidth: 2 TB/s         # NVIDIA H100 PCIe data sheet\n"
    "tensor_power: 1 kW               # guess: H100 by board power\n"
    "memory_power: 300 W              # guess: H100 by board power\n"
    "active_power: 75 W               # guess: H100 by board power\n"
    "board_power: 309 W               # 350 W a board, as H100\n";

static const char h200[] = "memory: 139.5 GiB                # as PyTorch reports it, 139 to 140\n"
                           "memory_bandwidth: 4800 GB/s      # NVIDIA H200 data sheet\n";

static const char h800[] =
    "memory: 79.1 GiB                 # as H100\n"
    "memory_bandwidth: 3350 GB/s      # as H100; what differs is NVLink (DeepSeek-AI 2024)\n";

/* Blackwell's kernel figures rest on one source. */
static const char b200[] =
    "l2: 126 MB                       # stas00/ml-engineering\n"
    "l2_bandwidth: 12 TB/s            # guess 15 %: A100's and H100's over theirs\n"
    "gemm_overhead: 5.6 us            # SimuMax, 514 shapes\n"
    "gemm_wave: 0                     # fitted without\n"
    "fp8_reads_both: true             # Transformer Engine, non_tn_fp8_gemm_supported: from sm100\n"
    "fp8_ramp: 0                      # guess: tensor memory holds two tiles, one is stored\n"
    "#                                  while the next is computed (CUTLASS, sm100 kernels)\n"
    "wgrad_slowdown: 1.05             # guess 3 %: as A100\n"
    "wgrad_result: 1                  # SimuMax, 36 grouped GEMMs: 7.0 %\n"
    "flash1_half: 273                 # guess: as A100\n"
    "flash2_half: 532                 # guess: as H100\n"
    "activation_efficiency: 0.6       # guess 15 %: as H100\n"
    "rope_efficiency: 0.5             # guess 15 %: as H100\n"
    "add_efficiency: 0.94             # guess: as H100\n"
    "norm_passes: 3.1                 # guess 15 %: as H100\n"
    "norm_passes_unfused: 17.4        # guess 15 %: as A100\n"
    "kernel_overhead: 1.5 us          # guess: as H100\n"
    "host_speed: 1.25                 # guess 20 %: as H100\n"
    "gemm_sustained: 0.88             # SimuMax, 31 runs of Llama 3 on 8 B200\n"
    "derate: 1                        # as A100; gemm_sustained is what was missing\n"
    "peak_bf16: 2250 TFLOP/s          # NVIDIA B200 data sheet, dense\n"
    "peak_fp16: 2250 TFLOP/s          # NVIDIA B200 data sheet, dense\n"
    "peak_fp32: 80 TFLOP/s            # NVIDIA B200 data sheet\n"
    "peak_fp8: 4500 TFLOP/s           # NVIDIA B200 data sheet, dense\n"
    "peak_fp4: 9000 TFLOP/s           # NVIDIA HGX B200 data sheet, 72 PFLOP/s of 8, dense\n"
    "memory: 178.3 GiB                # guess: of 180 GB (192 GB on the board)\n"
    "memory_bandwidth: 8 TB/s         # NVIDIA B200 data sheet\n"
    "sms: 148                         # stas00/ml-engineering\n"
    "gemm_efficiency: 0.489           # SimuMax, 514 shapes; what it takes for power, see fp8\n"
    "fp8_efficiency: 0.71             # guess 5 %: 0.93 of the best shape's 3432 TFLOP/s\n"
    "#                                  (ml-eng), as large bf16 GEMMs reach on H100; libraries of\n"
    "#                                  MLPerf v5.0, spring 2025: 0.62, fitted on 6 runs of LoRA\n"
    "mxfp8_speed: 0.87                # fitted on 6 runs of Llama 3 70B on GB200, Megatron-Bridge\n"
    "fp4_efficiency: 0.58             # fitted on 12 runs of Llama 3.1 8B, MLPerf v5.1, all four\n"
    "scan_efficiency: 0.034           # guess 30 %: Triton's kernels as fast as on H100\n"
    "flash1_rate: 312 TFLOP/s         # guess 15 %: H100 by peak\n"
    "flash2_rate: 758 TFLOP/s         # guess 15 %: H100 by peak\n"
    "flash3_rate: 986 TFLOP/s         # SimuMax, cuDNN at s = 4096: 980 forward,\n"
    "                                 # 820 backward\n"
    "flash3_half: 603                 # guess: as H100\n"
    "fp8_attention: 1.18              # cuDNN 9.13 (NVIDIA/cudnn-frontend, attention benchmark)\n"
    "tensor_power: 2.86 kW            # guess: H100 by board power\n"
    "memory_power: 857 W              # guess: H100 by board power\n"
    "active_power: 214 W              # guess: H100 by board power\n"
    "board_power: 883 W               # 1000 W a board, as H100\n";

static const char v100[] =
    "peak_bf16: none                  # bf16 came with Ampere\n"
    "peak_fp16: 125 TFLOP/s           # NVIDIA V100 data sheet\n"
    "peak_fp32: 15.7 TFLOP/s          # NVIDIA V100 data sheet\n"
    "peak_fp8: none                   # fp8 came with Hopper\n"
    "memory: 31.7 GiB                 # as PyTorch reports it\n"
    "memory_bandwidth: 900 GB/s       # NVIDIA V100 data sheet\n"
    "sms: 80                          # NVIDIA V100 data sheet\n"
    "l2: 6 MB                         # NVIDIA V100 data sheet\n"
    "l2_bandwidth: 1.4 TB/s           # guess 15 %: A100's by memory is 1.3\n"
    "gemm_efficiency: 0.72            # guess 10 %: a line without tiles, below A100's 0.772\n"
    "gemm_overhead: 10 us             # guess: above A100's 6.3 us\n"
    "gemm_wave: 0                     # guess: no tiles\n"
    "wgrad_slowdown: 1.05             # guess 3 %: as A100\n"
    "flash1_rate: 32 TFLOP/s          # guess 15 %: A100 by peak\n"
    "flash1_half: 273                 # guess: as A100\n"
    "flash2_rate: 78 TFLOP/s          # guess 15 %: A100 by peak; FlashAttention 2 needs Ampere\n"
    "flash2_half: 485                 # guess: as A100\n"
    "flash3_rate: 78 TFLOP/s          # guess: FlashAttention 3 needs Hopper, taken as 2\n"
    "flash3_half: 485                 # guess: as above\n"
    "activation_efficiency: 0.49      # guess 15 %: as A100\n"
    "rope_efficiency: 0.44            # guess 15 %: as A100\n"
    "add_efficiency: 0.88             # guess: as A100\n"
    "norm_passes: 3.15                # guess 15 %: as A100\n"
    "norm_passes_unfused: 17.4        # guess 15 %: as A100\n"
    "kernel_overhead: 1.9 us          # guess: as A100\n"
    "derate: 1                        # guess 10 %: no training runs to compare with\n"
    "tensor_power: 857 W              # guess: H100 by board power\n"
    "memory_power: 257 W              # guess: H100 by board power\n"
    "active_power: 64 W               # guess: H100 by board power\n"
    "board_power: 265 W               # 300 W a board, as H100\n";

static const char gb200[] =
    "peak_bf16: 2500 TFLOP/s          # NVIDIA GB200 NVL72 data sheet, dense\n"
    "peak_fp16: 2500 TFLOP/s          # NVIDIA GB200 NVL72 data sheet, dense\n"
    "peak_fp32: 80 TFLOP/s            # NVIDIA GB200 NVL72 data sheet\n"
    "peak_fp8: 5000 TFLOP/s           # NVIDIA GB200 NVL72 data sheet, dense\n"
    "peak_fp4: 10 PFLOP/s             # NVIDIA GB200 NVL72 data sheet, dense\n"
    "memory: 184 GiB                  # guess: of 186 GB labelled\n"
    "memory_bandwidth: 8 TB/s         # NVIDIA GB200 NVL72 data sheet\n"
    "sms: 152                         # guess: published figures differ, 148 to 152\n"
    "gemm_efficiency: 0.54            # guess 15 %: B200's by the best of either, 0.729 and 0.655\n"
    "fp8_efficiency: 0.64             # guess 5 %: GB300's by the cube root of power, 1.2 of\n"
    "#                                  1.4 kW: f V^2 is f^3; 7 runs of Llama 3 70B agree\n"
    "flash1_rate: 347 TFLOP/s         # guess 15 %: H100 by peak\n"
    "flash2_rate: 842 TFLOP/s         # guess 15 %: H100 by peak\n"
    "flash3_rate: 1530 TFLOP/s        # cuDNN, heads of DeepSeek-V3 on Blackwell, within 6 %\n"
    "flash3_half: 1420                # (arXiv 2603.07685, table 9)\n"
    "fp8_attention: 1.26              # cuDNN 9.22 (NVIDIA/cudnn-frontend, attention benchmark)\n"
    "mxfp8_attention: 1.08            # the same\n"
    "tensor_power: 3.43 kW            # guess: H100 by board power\n"
    "memory_power: 1030 W              # guess: H100 by board power\n"
    "active_power: 257 W              # guess: H100 by board power\n"
    "board_power: 1059 W              # 1200 W a board, as H100\n";

static const char b300[] = "peak_bf16: 2250 TFLOP/s          # NVIDIA HGX B300 data sheet, dense\n"
                           "peak_fp16: 2250 TFLOP/s          # NVIDIA HGX B300 data sheet, dense\n"
                           "peak_fp32: 75 TFLOP/s            # NVIDIA HGX B300 data sheet\n"
                           "peak_fp8: 4500 TFLOP/s           # NVIDIA HGX B300 data sheet, dense\n"
                           "peak_fp4: 13.5 PFLOP/s           # NVIDIA HGX B300: 108 PFLOP/s of 8\n"
                           "memory: 267 GiB                  # guess: of 288 GB labelled\n"
                           "memory_bandwidth: 8 TB/s         # NVIDIA HGX B300 data sheet\n"
                           "sms: 148                         # guess: as B200\n"
                           "gemm_efficiency: 0.489           # guess 15 %: as B200\n"
                           "fp8_efficiency: 0.69             # guess 5 %: as B200, of 3353\n"
                           "flash1_rate: 312 TFLOP/s         # guess 15 %: as B200\n"
                           "flash2_rate: 758 TFLOP/s         # guess 15 %: as B200\n"
                           "flash3_rate: 986 TFLOP/s         # guess 15 %: as B200\n";

static const char gb300[] =
    "peak_bf16: 2500 TFLOP/s          # NVIDIA GB300 NVL72 data sheet, dense\n"
    "peak_fp16: 2500 TFLOP/s          # NVIDIA GB300 NVL72 data sheet, dense\n"
    "peak_fp32: 80 TFLOP/s            # NVIDIA GB300 NVL72 data sheet\n"
    "peak_fp8: 5000 TFLOP/s           # NVIDIA GB300 NVL72 data sheet, dense\n"
    "peak_fp4: 15 PFLOP/s             # NVIDIA GB300 NVL72 data sheet, 1080 PFLOP/s of 72, dense\n"
    "memory: 276 GiB                  # guess: of 288 GB labelled\n"
    "memory_bandwidth: 8 TB/s         # NVIDIA GB300 NVL72 data sheet\n"
    "sms: 152                         # guess: as GB200\n"
    "gemm_efficiency: 0.54            # guess 15 %: as GB200\n"
    "fp8_efficiency: 0.672            # guess 5 %: as B200, of GB200's 3615 TFLOP/s (ml-eng)\n"
    "gemm_sustained: 0.93             # guess 5 %: GB200's by the cube root of power, 1.4 of\n"
    "#                                  1.2 kW (verda.com, a secondary source): f V^2 is f^3\n"
    "flash1_rate: 347 TFLOP/s         # guess 15 %: as GB200\n"
    "flash2_rate: 842 TFLOP/s         # guess 15 %: as GB200\n"
    "flash3_rate: 1680 TFLOP/s        # cuDNN 9.22, 1.1 of GB200's (NVIDIA/cudnn-frontend)\n"
    "flash3_half: 1420                # guess: as GB200\n"
    "fp8_attention: 1.4               # cuDNN 9.22, as above\n"
    "mxfp8_attention: 1.13            # as above\n"
    "tensor_power: 4 kW               # guess: H100 by board power\n"
    "memory_power: 1200 W              # guess: H100 by board power\n"
    "active_power: 300 W              # guess: H100 by board power\n"
    "board_power: 1236 W              # 1400 W a board, as H100\n";

const struct ty_preset ty_gpu_presets[] = {
    {.name = "v100-sxm2-32g",
     .summary = "NVIDIA V100 SXM2, 32 GB, Volta",
     .source = "NVIDIA V100 data sheet; kernel figures guessed from A100",
     .text = v100},
    {.name = "a100-sxm-40g",
     .summary = "NVIDIA A100 SXM4, 40 GB, Ampere",
     .source = "NVIDIA A100 data sheet; microsoft/vidur; Dao-AILab/flash-attention",
     .base = "a100-sxm-80g",
     .text = a100_40},
    {.name = "a100-sxm-80g",
     .summary = "NVIDIA A100 SXM4, 80 GB, Ampere",
     .source = "NVIDIA A100 data sheet; microsoft/vidur; Dao-AILab/flash-attention",
     .text = a100_80},
    {.name = "h100-sxm",
     .summary = "NVIDIA H100 SXM5, 80 GB, Hopper",
     .source = "NVIDIA H100 data sheet; microsoft/vidur; Dao-AILab/flash-attention",
     .text = h100},
    {.name = "h100-pcie",
     .summary = "NVIDIA H100 PCIe, 80 GB, Hopper",
     .source = "NVIDIA H100 PCIe data sheet; kernel figures of H100 SXM",
     .base = "h100-sxm",
     .text = h100_pcie},
    {.name = "h200-sxm",
     .summary = "NVIDIA H200 SXM5, 141 GB, Hopper",
     .source = "NVIDIA H200 data sheet; kernel figures of H100",
     .base = "h100-sxm",
     .text = h200},
    {.name = "h800-sxm",
     .summary = "NVIDIA H800 SXM5, 80 GB, Hopper with fewer NVLinks",
     .source = "kernel figures of H100",
     .base = "h100-sxm",
     .text = h800},
    {.name = "b200-sxm",
     .summary = "NVIDIA B200 SXM6, 180 GB, Blackwell",
     .source = "NVIDIA B200 data sheet; MooreThreads/SimuMax",
     .text = b200},
    {.name = "gb200",
     .summary = "NVIDIA GB200, one of its two GPUs, Blackwell",
     .source = "NVIDIA GB200 NVL72 data sheet; kernel figures of B200",
     .base = "b200-sxm",
     .text = gb200},
    {.name = "b300-sxm",
     .summary = "NVIDIA B300 SXM6, 288 GB, Blackwell Ultra",
     .source = "NVIDIA HGX B300 data sheet; kernel figures of B200",
     .base = "b200-sxm",
     .text = b300},
    {.name = "gb300",
     .summary = "NVIDIA GB300, one of its two GPUs, Blackwell Ultra",
     .source = "NVIDIA GB300 NVL72 data sheet; kernel figures of B200",
     .base = "gb200",
     .text = gb300},
    {.name = NULL},
};
