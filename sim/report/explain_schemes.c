/* explain_schemes.c - a part of `trainyard explain`: which way to cut matrix products over the
 * tensor ranks would be fastest for this job, and what decides it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/report/table.h"
#include "sim/search/schemes.h"

#define LITTLE 0.002 /* of a step: nobody asks */

/* Columns: step, change, memory, verdict, computing, exposed communication, bytes, product. */
static const size_t column[] = {26, 38, 49, 60, 74, 85, 96, 107};

static void put_head(struct ty_text *t)
{
    static const char *const head[] = {"step",    "",       "memory", "",
                                       "compute", "tensor", "bytes",  "largest product"};
    ty_text_add(t, "  scheme");
    for (size_t i = 0; i < TY_COUNT(column); i++) {
        ty_text_pad(t, column[i]);
        ty_text_add(t, "%s", head[i]);
    }
    ty_text_add(t, "\n");
}

static void put_product(struct ty_text *t, const struct ty_scheme *s)
{
    ty_text_add(t, "%.10g x %.10g x %.10g%s, %.4g TFLOP/s", s->rows, s->in, s->out,
                s->pieces > 1 ? " a step of it" : "", s->product_FLOPs * 1e-12);
}

static void put_scheme(struct ty_text *t, const struct ty_schemes *all, uint32_t i)
{
    const struct ty_scheme *s = &all->item[i];
    char value[64];
    ty_text_add(t, "  %s", s->name);
    ty_text_pad(t, column[0]);
    ty_text_add(t, "%s", ty_words_seconds(s->trial.step_s, value, sizeof(value)));
    ty_text_pad(t, column[1]);
    if (i != all->own) {
        ty_text_add(t, "%+.2f %%", 100 * (s->trial.step_s / all->item[all->own].trial.step_s - 1));
    } else {
        ty_text_add(t, "as it is");
    }
    ty_text_pad(t, column[2]);
    ty_text_add(t, "%s", ty_words_bytes(s->trial.peak_B, value, sizeof(value)));
    ty_text_pad(t, column[3]);
    ty_text_add(t, "%s", ty_verdict_word(s->trial.verdict));
    ty_text_pad(t, column[4]);
    ty_text_add(t, "%s", ty_words_seconds(s->trial.compute_s, value, sizeof(value)));
    ty_text_pad(t, column[5]);
    ty_text_add(t, "%s", ty_words_seconds(s->trial.tensor_s, value, sizeof(value)));
    ty_text_pad(t, column[6]);
    ty_text_add(t, "%s", ty_words_bytes(s->received_B, value, sizeof(value)));
    ty_text_pad(t, column[7]);
    put_product(t, s);
    ty_text_add(t, "\n");
    if (s->change.n > 0) {
        ty_text_pad(t, column[0]);
        ty_report_sets(t, &s->change);
    }
}

/* Of what nothing hides; a rate says what links give, not what they are. */
static double received_Bps(const struct ty_scheme *s)
{
    return s->trial.tensor_s > 0 ? s->received_B / s->trial.tensor_s : (double)INFINITY;
}

static const char *put_difference(double s, char *buf, size_t size)
{
    char value[64];
    ty_snprintf(buf, size, "%s %s", ty_words_seconds(fabs(s), value, sizeof(value)),
                s >= 0 ? "more" : "less");
    return buf;
}

/* What most of the time is due to by which b is slower. */
static const char *deciding(const struct ty_scheme *a, const struct ty_scheme *b, double compute,
                            double tensor, double rest)
{
    const double bytes = log(b->received_B / a->received_B);
    const double rates = log(received_Bps(a) / received_Bps(b));
    if (rest > compute && rest > tensor) {
        return b->trial.config.layout.micro_batches < a->trial.config.layout.micro_batches
                   ? "fewer micro-batches"
                   : "what follows from it elsewhere";
    }
    return compute > tensor ? "the shapes of its products" : bytes > rates ? "bytes" : "links";
}

/* Between the fastest and the fastest of the other kind, in one dimension or in more. */
static void put_reason(struct ty_text *t, const struct ty_scheme *a, const struct ty_scheme *b)
{
    const double compute = b->trial.compute_s - a->trial.compute_s;
    const double tensor = b->trial.tensor_s - a->trial.tensor_s;
    const double rest = b->trial.step_s - a->trial.step_s - compute - tensor;
    char text[64];
    ty_text_add(t, "  %s before %s: the latter computes %s,", a->name, b->name,
                put_difference(compute, text, sizeof(text)));
    ty_text_add(t, " waits %s for tensor ranks with %.2f times the bytes",
                put_difference(tensor, text, sizeof(text)), b->received_B / a->received_B);
    if (fabs(rest) > LITTLE * b->trial.step_s) {
        ty_text_add(t, ", and %s for all else", put_difference(rest, text, sizeof(text)));
    }
    ty_text_add(t, "; what decides: %s\n", deciding(a, b, compute, tensor, rest));
}

static bool is_line(const struct ty_scheme *s)
{
    return s->trial.config.layout.tensor_scheme == TY_TENSOR_1D;
}

static void put_schemes(struct ty_text *t, const struct ty_schemes *all)
{
    ty_text_add(t,
                "tensor schemes for %u ranks, fastest first; bytes that a rank receives for the "
                "products of a step, by the closed form\n",
                (unsigned)all->item[0].trial.config.layout.tensor);
    if (all->no_noise) {
        ty_text_add(t, "  all without run.jitter, run.gpu_spread and run.routing, for the sake of "
                       "time\n");
    }
    put_head(t);
    for (uint32_t i = 0; i < all->n; i++) {
        put_scheme(t, all, i);
    }
    for (uint32_t i = 1; i < all->n; i++) {
        if (is_line(&all->item[i]) != is_line(&all->item[0])) {
            put_reason(t, &all->item[0], &all->item[i]);
            break;
        }
    }
    if (all->refused != NULL) {
        ty_text_add(t, "  not all schemes can be here: %s\n", all->refused);
    }
    ty_text_add(t, "\n");
}

int ty_report_schemes(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_schemes *all = ty_arena_array(&arena, struct ty_schemes, 1);
    const int rc = all == NULL ? ty_fail_memory(err) : ty_run_schemes(run, all, &arena, err);
    if (rc == 0 && all->n > 0) {
        put_schemes(t, all);
    }
    ty_arena_release(&arena);
    return rc;
}
