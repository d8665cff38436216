/* bench_profile.c - how fast a PyTorch profile is read, and how much memory a kernel takes.
 *
 * usage: bench_profile [KERNELS [FILE]]
 *
 * Writes a profile of so many kernels, each with its operator, its launch and its flow, unless FILE
 * is given; reads it, and reads it again with yajl alone, which does nothing with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "sim/profile/read/profile.h"

/* Of this process, so that other work beside it counts little. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void write_profile(FILE *f, unsigned kernels)
{
    fprintf(f, "{\n\"schemaVersion\": 1,\n\"distributedInfo\": {\"rank\": 0, \"world_size\": 1},\n"
               "\"baseTimeNanoseconds\": 1700000000000000000,\n\"traceEvents\": [\n");
    for (unsigned i = 0; i < kernels; i++) {
        const double us = 10.0 * i;
        fprintf(
            f,
            "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 41, "
            "\"tid\": 41,\n    \"ts\": %.3f, \"dur\": 8.123,\n    \"args\": {\n      \"External "
            "id\": %u,\"Sequence number\": %u, \"Fwd thread id\": 0, \"Concrete Inputs\": "
            "[\"\", \"\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], \"Input "
            "Dims\": [[4096, 4096], [4096, %u]], \"Ev Idx\": %u\n    }\n  },\n",
            us, i + 1, i, 1024 * (i % 7 + 1), i);
        fprintf(f,
                "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
                "\"cudaLaunchKernel\", \"pid\": 41, \"tid\": 41,\n    \"ts\": %.3f, \"dur\": "
                "4.2,\n    \"args\": {\n      \"External id\": %u, \"cbid\": 211, \"correlation\": "
                "%u\n    }\n  },\n  {\n    \"ph\": \"s\", \"id\": %u, \"pid\": 41, \"tid\": 41, "
                "\"ts\": %.3f,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n",
                us + 3, i + 1, i + 1, i + 1, us + 3);
        fprintf(
            f,
            "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
            "\"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn\", \"pid\": 0, "
            "\"tid\": 7,\n    \"ts\": %.3f, \"dur\": 9.5,\n    \"args\": {\n      \"External "
            "id\": %u, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, "
            "\"correlation\": %u, \"registers per thread\": 96, \"shared memory\": 0, \"blocks "
            "per SM\": 1.5, \"warps per SM\": 12, \"grid\": [64, 1, 1], \"block\": [128, 1, 1], "
            "\"est. achieved occupancy %%\": 30\n    }\n  }%s\n",
            us + 12, i + 1, i + 1, i + 1 < kernels ? "," : "");
    }
    fprintf(f, "],\n\"traceName\": \"bench\"\n}\n");
}

/* Seconds that yajl alone takes. */
static double parse_s(const char *path)
{
    static unsigned char buf[1u << 18];
    static const yajl_callbacks none = {.yajl_null = NULL};
    FILE *f = fopen(path, "rb");
    yajl_handle yajl = yajl_alloc(&none, NULL, NULL);
    const double from = now_s();
    for (size_t n; f != NULL && (n = fread(buf, 1, sizeof(buf), f)) > 0;) {
        yajl_parse(yajl, buf, n);
    }
    const double to = now_s();
    yajl_free(yajl);
    if (f != NULL) {
        fclose(f);
    }
    return to - from;
}

static long peak_kB(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
    const unsigned kernels = argc > 1 ? (unsigned)atoi(argv[1]) : 400000;
    char path[] = "/tmp/trainyard-bench-XXXXXX";
    const char *file = argc > 2 ? argv[2] : path;
    if (argc <= 2) {
        const int fd = mkstemp(path);
        FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
        if (f == NULL) {
            return 1;
        }
        write_profile(f, kernels);
        fclose(f);
    }
    struct ty_err err = TY_ERR_NONE;
    struct ty_profile *profile = NULL;
    const double yajl_s = parse_s(file);
    const long before_kB = peak_kB();
    const double from = now_s();
    const int rc = ty_profile_read(&profile, &file, 1, &err);
    const double read_s = now_s() - from;
    const long kB = peak_kB() - before_kB;
    if (argc <= 2) {
        unlink(path);
    }
    if (rc != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const struct ty_profile_rank *rank = &profile->ranks[0];
    const double MB = 1e-6 * (double)rank->json_B;
    printf(
        "%u kernels, %u operators, %.0f MB: %.0f MB/s; yajl alone %.0f MB/s (%.2f of its time)\n"
        "%.0f bytes at most while reading, %zu kept of a kernel and %zu of an operator, for each "
        "kernel; the text has %.0f\n",
        rank->n_kernels, rank->n_ops, MB, MB / read_s, MB / yajl_s, read_s / yajl_s,
        1024.0 * (double)kB / rank->n_kernels, sizeof(struct ty_profile_kernel),
        sizeof(struct ty_profile_op), 1e6 * MB / rank->n_kernels);
    ty_profile_free(profile);
    return 0;
}
