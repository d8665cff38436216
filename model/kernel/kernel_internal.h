/* kernel_internal.h - the kinds of kernels; see kernel.h. */
#ifndef TY_MODEL_KERNEL_INTERNAL_H
#define TY_MODEL_KERNEL_INTERNAL_H

#include "model/kernel/kernel.h"

/* C[m,n] = A[m,k] B[k,n]. Seconds of one call on an idle GPU:
 *
 *     max(2 m n k / (peak gemm_efficiency), bytes / (0.8 memory_bandwidth)) + gemm_overhead
 *
 * times wgrad_slowdown for weight gradients. gemm_wave > 0 counts whole tiles and, in part, whole
 * waves of them. At `share` of gemm_efficiency; with a share of 1, as measured where it was. The
 * GPU must have a peak for `dtype`. */
struct ty_cost ty_gemm_cost(const struct ty_gpu *gpu, enum ty_dtype dtype,
                            enum ty_direction direction, double share, double m, double n,
                            double k);

/* scan.c: all kernels of a scan; bytes that its forward has to move at least. */
struct ty_cost ty_scan_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                            bool backward);
double ty_scan_bytes(const struct ty_kernel *kernel);

/* index.c: scores, the largest of them, and what they learn from; the least bytes of a forward. */
struct ty_cost ty_index_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                             bool backward);
double ty_index_bytes(const struct ty_kernel *kernel);

/* Pairs of a query and a key in a window of w of k keys, queries as they come; w 0: all before. */
double ty_causal_pairs(double queries, double k, double w);
/* Seconds that keys of which every query has its own take through the L2 cache: so many pairs,
 * `bytes` of a key, read once by a block of queries' heads. */
double ty_chosen_seconds(const struct ty_gpu *gpu, double pairs, double heads, double bytes);

#endif
