/* report.c - what a profile says, for people. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/base/words.h"
#include "sim/profile/import.h"

#define COLUMN     40
#define LEFT_SHOWN 6u /* of each reason */

/* A number in words, for the time of the line that it is put into. */
#define WORDS(what, x)  ty_words_##what(x, (char[64]){""}, 64)
#define COUNT(x)        WORDS(count, x)
#define BYTES(x)        WORDS(bytes, x)
#define SECONDS(ns)     WORDS(seconds, (double)(ns)*1e-9)
#define SHARE(part, of) WORDS(share, share((double)(part), (double)(of)))

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void put_head(const struct ty_import *im, struct ty_text *t)
{
    const struct ty_profile *p = im->profile;
    ty_text_add(t, "measured: %u rank%s", (unsigned)p->n_ranks, p->n_ranks == 1 ? "" : "s");
    if (p->world > p->n_ranks) {
        ty_text_add(t, " of %u", (unsigned)p->world);
    }
    ty_text_add(t, "%s%s, %s kernels, %s", p->ranks[0].gpu[0] != '\0' ? ", " : "", p->ranks[0].gpu,
                COUNT((double)im->n_kernels), ty_path_name(p->ranks[0].file));
    if (p->n_ranks > 1) {
        ty_text_add(t, " and %u more", (unsigned)p->n_ranks - 1);
    }
    ty_text_add(t, "%s\nranks are taken to be on nodes of %u GPUs (--gpus-per-node)\n",
                p->own ? " (of trainyard)" : "", (unsigned)im->gpus_per_node);
}

/* ---- steps ---- */

static void put_steps(const struct ty_import *im, struct ty_text *t)
{
    const struct ty_profile *p = im->profile;
    const struct ty_profile_rank *first = &p->ranks[0];
    if (first->n_steps > 0) {
        ty_text_add(t, "\nsteps%s%s\n", im->steps != NULL ? ", of which are used: " : "",
                    im->steps != NULL ? im->steps : "");
    }
    for (uint32_t i = 0; i < first->n_steps; i++) {
        int64_t least = INT64_MAX, most = 0;
        for (uint32_t r = 0; r < p->n_ranks; r++) {
            for (uint32_t k = 0; k < p->ranks[r].n_steps; k++) {
                const struct ty_profile_step *step = &p->ranks[r].steps[k];
                if (step->number == first->steps[i].number) {
                    const int64_t ns = step->end_ns - step->start_ns;
                    least = ns < least ? ns : least;
                    most = ns > most ? ns : most;
                }
            }
        }
        ty_text_add(t, "  ProfilerStep#%u", (unsigned)first->steps[i].number);
        ty_text_pad(t, COLUMN);
        ty_text_add(t, "%s", SECONDS(least));
        if (most > least) {
            ty_text_add(t, " to %s", SECONDS(most));
        }
        ty_text_add(t, "\n");
    }
}

/* The host issues a step and goes on: its marks are earlier than what they mark. */
static void put_lag(const struct ty_import *im, struct ty_text *t)
{
    double host_ns = 0, gpu_ns = 0, begin_ns = 0, end_ns = 0, n = 0;
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        const struct ty_profile_rank *rank = &im->profile->ranks[r];
        int64_t from = INT64_MAX, to = INT64_MIN, first = INT64_MAX, last = INT64_MIN;
        for (uint32_t i = 0; i < rank->n_kernels; i++) {
            const struct ty_profile_kernel *k = &rank->kernels[i];
            if (k->step != TY_PROFILE_NONE && ty_import_kernel_chosen(im, r, k)) {
                const struct ty_profile_step *step = &rank->steps[k->step];
                const int64_t end = k->start_ns + k->dur_ns;
                from = step->start_ns < from ? step->start_ns : from;
                to = step->end_ns > to ? step->end_ns : to;
                first = k->start_ns < first ? k->start_ns : first;
                last = end > last ? end : last;
            }
        }
        if (first < last) {
            host_ns += (double)(to - from);
            gpu_ns += (double)(last - first);
            begin_ns += (double)(first - from);
            end_ns += (double)(last - to);
            n++;
        }
    }
    if (n > 0 && !im->profile->own) {
        ty_text_add(
            t,
            "  the host issued them in %s; GPUs took %s, began %s after it and ended %s %s:\n  a "
            "mark spans the time of the host; the GPU runs its kernels later\n",
            SECONDS(host_ns / n), SECONDS(gpu_ns / n), SECONDS(begin_ns / n),
            SECONDS((end_ns < 0 ? -end_ns : end_ns) / n), end_ns < 0 ? "before" : "after");
    }
}

/* ---- lanes ---- */

static void put_lane(struct ty_text *t, const char *what, double ns, double whole)
{
    ty_text_add(t, "  %s", what);
    ty_text_pad(t, COLUMN);
    ty_text_add(t, "%10s %9s\n", SECONDS(ns), SHARE(ns, whole));
}

static void put_lanes(const struct ty_import *im, struct ty_text *t)
{
    struct ty_import_lanes sum = {.span = 0};
    const double n = im->profile->n_ranks;
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
#define X(name) sum.name += im->lanes[r].name;
        TY_IMPORT_LANES(X)
#undef X
    }
    ty_text_add(t, "\na GPU from its first kernel to its last, mean over ranks: %s\n",
                SECONDS((double)sum.span / n));
    put_lane(t, "computing", (double)sum.compute / n, (double)sum.span / n);
    put_lane(t, "exposed communication", (double)sum.exposed / n, (double)sum.span / n);
    put_lane(t, "copies and fills alone", (double)sum.memory_only / n, (double)sum.span / n);
    put_lane(t, "idle", (double)sum.idle / n, (double)sum.span / n);
    if (sum.communication > 0) {
        ty_text_add(t, "  of communication, beside computation");
        ty_text_pad(t, COLUMN);
        ty_text_add(t, "%10s %9s\n", "", SHARE(sum.overlap, sum.communication));
    }
}

/* ---- what it was ---- */

static void put_kinds(const struct ty_import *im, struct ty_text *t)
{
    const double n = im->profile->n_ranks, computed = (double)im->class_ns[TY_PROFILE_COMPUTE];
    ty_text_add(t, "\ncomputation of a rank: %s\n", SECONDS(computed / n));
    for (int k = 0; k < TY_IMPORT_N_KINDS; k++) {
        if (im->kind_ns[k] > 0) {
            put_lane(t, ty_import_kind_words[k], (double)im->kind_ns[k] / n, computed / n);
        }
    }
}

static void put_traffic(const struct ty_import *im, struct ty_text *t)
{
    const double n = im->profile->n_ranks;
    const double communicated = (double)im->class_ns[TY_PROFILE_COMMUNICATION];
    if (im->n_traffic == 0) {
        return;
    }
    ty_text_add(t, "\ncommunication of a rank: %s, waiting for other members included\n",
                SECONDS(communicated / n));
    for (uint32_t i = 0; i < im->n_traffic; i++) {
        const struct ty_import_traffic *f = &im->traffic[i];
        const char *desc = ty_profile_text(im->profile, f->desc);
        ty_text_add(t, "  %s%s%s", ty_profile_coll_words[f->coll], desc[0] != '\0' ? " " : "",
                    desc);
        ty_text_pad(t, 28);
        ty_text_add(t, "%u rank%s", (unsigned)f->ranks, f->ranks == 1 ? "" : "s");
        if (f->nodes > 0) {
            ty_text_add(t, " on %u node%s", (unsigned)f->nodes, f->nodes == 1 ? "" : "s");
        }
        ty_text_pad(t, 50);
        ty_text_add(t, "%8s x %-10s %9s", COUNT(f->count / n),
                    f->bytes > 0 ? BYTES(f->bytes / f->count) : "?",
                    SHARE(f->gpu_ns, communicated));
        if (ty_import_bus_Bps(f) > 0) {
            ty_text_add(t, "   %.4g GB/s", ty_import_bus_Bps(f) * 1e-9);
        }
        ty_text_add(t, "\n");
    }
    ty_text_add(t, "  sizes are means, GB/s bus bandwidth as nccl-tests mean them\n");
}

/* ---- the table ---- */

static int by_share(const void *a, const void *b)
{
    const struct ty_import_left *x = a, *y = b;
    return 2 * TY_ORDER(y->gpu_ns, x->gpu_ns) + TY_ORDER(x->name, y->name);
}

/* Names of one reason, the longest first; im->left is sorted. */
static void put_reason(const struct ty_import *im, struct ty_text *t, uint32_t reason)
{
    const int64_t whole = im->class_ns[TY_PROFILE_COMPUTE] + im->class_ns[TY_PROFILE_COMMUNICATION];
    int64_t sum = 0, rest = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < im->n_left; i++) {
        sum += im->left[i].reason == reason ? im->left[i].gpu_ns : 0;
    }
    if (sum == 0) {
        return;
    }
    ty_text_add(t, "  %9s  %s\n", SHARE(sum, whole), ty_import_reasons[reason]);
    for (uint32_t i = 0; i < im->n_left; i++) {
        const struct ty_import_left *left = &im->left[i];
        if (left->reason != reason) {
            continue;
        }
        if (n++ >= LEFT_SHOWN) {
            rest += left->gpu_ns;
            continue;
        }
        ty_text_add(t, "             %9s  %.70s, %s kernel%s\n", SHARE(left->gpu_ns, whole),
                    ty_profile_text(im->profile, left->name), COUNT(left->count),
                    left->count == 1 ? "" : "s");
    }
    if (n > LEFT_SHOWN) {
        ty_text_add(t, "             %9s  %u others\n", SHARE(rest, whole),
                    (unsigned)(n - LEFT_SHOWN));
    }
}

static void put_left(const struct ty_import *im, struct ty_text *t)
{
    if (im->n_left == 0) {
        return;
    }
    qsort(im->left, im->n_left, sizeof(*im->left), by_share);
    ty_text_add(t, "\nnot in the table, of computation and communication together\n");
    for (uint32_t reason = 0; reason < TY_IMPORT_N_REASONS; reason++) {
        put_reason(im, t, reason);
    }
}

static void put_coverage(const struct ty_import *im, struct ty_text *t)
{
    int64_t compute = 0, communication = 0;
    ty_import_coverage(im, &compute, &communication);
    ty_text_add(t, "\ntable: %u rows, for %s of computation and %s of communication\n",
                (unsigned)im->n_rows, SHARE(compute, im->class_ns[TY_PROFILE_COMPUTE]),
                SHARE(communication, im->class_ns[TY_PROFILE_COMMUNICATION]));
}

/* ---- remarks ---- */

static void put_remarks(const struct ty_import *im, struct ty_text *t)
{
    const struct ty_profile *p = im->profile;
    uint32_t alone = 0, colls = 0, cut, steps;
    uint64_t overlaps = 0, unlinked = 0;
    bool marks = true;
    for (uint32_t i = 0; i < im->n_rows; i++) {
        colls += im->rows[i].key.op >= TY_IMPORT_COLL;
        alone += im->rows[i].key.op >= TY_IMPORT_COLL && im->rows[i].members == 1;
    }
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        overlaps += p->ranks[r].n_overlaps;
        unlinked += p->ranks[r].n_unlinked;
        marks = marks && p->ranks[r].n_steps > 0;
    }
    ty_text_add(t, "\nremarks\n");
    if (colls > alone) {
        ty_text_add(t, "  a collective's time is the shortest among the members whose files are "
                       "given: the last to join\n  does not wait\n");
    }
    if (alone > 0) {
        ty_text_add(t,
                    "  %u of %u collectives have one member only, which may have waited in all of "
                    "them: the 10 %%\n  quantile of its times is used; give the files of all ranks "
                    "to improve it\n",
                    (unsigned)alone, (unsigned)colls);
    }
    ty_text_add(t,
                "  durations include the slowdown of kernels that run side by side; trainyard adds "
                "it again to the\n  times of a table, so kernels beside communication count it "
                "twice\n");
    if (!marks) {
        ty_text_add(t,
                    "  no ProfilerStep marks in %s: all that was recorded is taken as one "
                    "stretch\n",
                    p->n_ranks > 1 ? "some files" : "the file");
    }
    ty_import_count_steps(im, &cut, &steps);
    if (cut > 0) {
        ty_text_add(t,
                    "  %u of %u steps (over all ranks) are not whole: --window or --steps cut "
                    "them, or a deadlock;\n  figures are of what is there\n",
                    (unsigned)cut, (unsigned)steps);
    }
    if (overlaps > 0) {
        ty_text_add(t, "  %llu kernels begin before the one before them on their stream ends\n",
                    (unsigned long long)overlaps);
    }
    if (unlinked > 0 && !p->own) {
        ty_text_add(t, "  of %llu computing kernels the operator was not found\n",
                    (unsigned long long)unlinked);
    }
}

void ty_import_put_report(const struct ty_import *im, struct ty_text *t)
{
    put_head(im, t);
    put_steps(im, t);
    put_lag(im, t);
    put_lanes(im, t);
    put_kinds(im, t);
    put_traffic(im, t);
    put_coverage(im, t);
    put_left(im, t);
    put_remarks(im, t);
}
