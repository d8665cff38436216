/* event.c - what is kept of an event of a Kineto file.
 *
 * Values arrive as text. PyTorch writes numbers as numbers, and some ids as texts in some versions;
 * both are taken where a number is due. What no version writes in an event that counts (no start, a
 * negative duration, a stream that is no number) is an error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/profile/read/read.h"
#include "sim/profile/read/words.h"

#define MAX_DUR_NS ((int64_t)1 << 56)
#define STEP_MARK  "ProfilerStep#"

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ty_profile_integer(const char *text, size_t n, int64_t *out)
{
    const bool negative = n > 0 && *text == '-';
    const size_t first = negative ? 1 : 0;
    int64_t x = 0;
    for (size_t i = first; i < n; i++) {
        if (!is_digit(text[i]) || x > (INT64_MAX - 9) / 10) {
            return false;
        }
        x = 10 * x + (text[i] - '0');
    }
    *out = negative ? -x : x;
    return n > first;
}

/* Microseconds with decimals, a number of JSON, as nanoseconds: 12346 of "12.3456"; -1: out of
 * range. */
static int64_t nanoseconds(const char *text)
{
    const char *p = text;
    int64_t ns = 0;
    for (; is_digit(*p); p++) {
        ns = 10 * ns + (*p - '0');
        if (ns >= TY_PROFILE_MAX_NS / 1000) {
            return -1;
        }
    }
    p += *p == '.';
    for (int decimals = 0; decimals < 3; decimals++) {
        ns = 10 * ns + (is_digit(*p) ? *p++ - '0' : 0);
    }
    ns += *p >= '5' && *p <= '9';
    p += strspn(p, "0123456789");
    if (*p != '\0') { /* a sign before it, or an exponent behind it */
        const double us = ty_strtod(text, NULL);
        return us >= 0 && us < 4e15 && *text != '-' ? llround(us * 1000) : -1;
    }
    return ns;
}

static const char *text_of(const struct ty_profile_reader *r, int key)
{
    const struct ty_profile_field *field = &r->field[key];
    const bool told = field->kind != TY_VALUE_NONE && field->kind != TY_VALUE_OTHER;
    return told ? r->scratch + field->from : "";
}

/* A whole number where there is one, else `otherwise`. */
static int64_t number_of(const struct ty_profile_reader *r, int key, int64_t otherwise)
{
    const char *text = text_of(r, key);
    int64_t x;
    return ty_profile_integer(text, strlen(text), &x) ? x : otherwise;
}

static int time_of(struct ty_profile_reader *r, int key, int64_t *out)
{
    if (r->field[key].kind == TY_VALUE_NONE) {
        return ty_profile_wrong_event(r, key, "missing; an event of this category has one");
    }
    *out = r->field[key].kind == TY_VALUE_NUMBER ? nanoseconds(text_of(r, key)) : -1;
    if (*out < 0) {
        return ty_profile_wrong_event(
            r, key, "not a time (%.40s); a number of microseconds, at least 0, is due",
            text_of(r, key));
    }
    if (key == TY_KEY_DUR && *out >= MAX_DUR_NS) {
        return ty_profile_wrong_event(r, key, "longer than two years (%.40s us)", text_of(r, key));
    }
    return 1;
}

/* The number of a text; 0: no memory. */
static int intern(struct ty_profile_reader *r, int key, uint32_t *out)
{
    const char *text = text_of(r, key);
    *out = ty_profile_intern(r->store, text, strlen(text));
    return *out != TY_PROFILE_NONE ? 1 : ty_profile_no_memory(r);
}

/* ---- categories ---- */

/* Of Kineto; capitals: up to PyTorch 1.11. libkineto/src/ActivityType.cpp */
enum ty_profile_event_cat ty_profile_cat_of(const char *text)
{
    static const struct ty_profile_words cats[] = {
        {TY_EVENT_OP, {"cpu_op", "Operator"}},
        {TY_EVENT_CALL, {"cuda_runtime", "cuda_driver", "Runtime"}},
        {TY_EVENT_KERNEL, {"kernel", "Kernel"}},
        {TY_EVENT_ANNOTATION, {"user_annotation"}},
        {TY_EVENT_COPY, {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"}},
    };
    return (enum ty_profile_event_cat)ty_profile_meaning(cats, TY_COUNT(cats), TY_MATCH_WHOLE, text,
                                                         TY_EVENT_NOTHING);
}

/* ---- what is kept ---- */

/* `number`: the text behind "ProfilerStep#". */
static int keep_step(struct ty_profile_reader *r, const struct ty_profile_op *op,
                     const char *number)
{
    struct ty_profile_file *file = r->file;
    int64_t n;
    if (!ty_profile_integer(number, strlen(number), &n) || n < 0 || n > UINT32_MAX) {
        return 1; /* somebody's own mark */
    }
    if (!TY_PROFILE_GROW(file->rank.steps, file->rank.n_steps, file->cap_steps)) {
        return ty_profile_no_memory(r);
    }
    file->rank.steps[file->rank.n_steps++] = (struct ty_profile_step){
        .start_ns = op->start_ns, .end_ns = op->start_ns + op->dur_ns, .number = (uint32_t)n};
    return 1;
}

static int keep_op(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    struct ty_profile_op op = {
        .sequence = number_of(r, TY_KEY_SEQUENCE, -1),
        .external = number_of(r, TY_KEY_EXTERNAL, 0),
        .parent = r->file->rank.n_ops, /* until they are in order: as in the file */
        .forward = TY_PROFILE_NONE,
        .annotation = r->cat == TY_EVENT_ANNOTATION,
        .has_fwd_thread = number_of(r, TY_KEY_FWD_THREAD, 0) > 0};
    const char *name = text_of(r, TY_KEY_NAME);
    uint32_t thread;
    if (!time_of(r, TY_KEY_TS, &op.start_ns) || !time_of(r, TY_KEY_DUR, &op.dur_ns) ||
        !intern(r, TY_KEY_NAME, &op.name) || !intern(r, TY_KEY_TID, &thread) ||
        !intern(r, TY_KEY_DIMS, &op.dims) || !intern(r, TY_KEY_TYPES, &op.types) ||
        !intern(r, TY_KEY_VALUES, &op.values) || !intern(r, TY_KEY_STRIDES, &op.strides)) {
        return 0;
    }
    op.thread = thread & TY_PROFILE_THREADS;
    if (ty_text_begins(name, STEP_MARK)) {
        return keep_step(r, &op, name + strlen(STEP_MARK));
    }
    if (file->rank.n_ops == TY_PROFILE_NONE - 1 ||
        !TY_PROFILE_GROW(file->rank.ops, file->rank.n_ops, file->cap_ops)) {
        return ty_profile_no_memory(r);
    }
    file->rank.ops[file->rank.n_ops++] = op;
    return 1;
}

static int keep_call(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    struct ty_profile_call call = {.correlation = number_of(r, TY_KEY_CORRELATION, 0),
                                   .external = number_of(r, TY_KEY_EXTERNAL, 0)};
    if (call.correlation == 0) {
        return 1; /* launches nothing */
    }
    if (!time_of(r, TY_KEY_TS, &call.start_ns) || !intern(r, TY_KEY_TID, &call.thread)) {
        return 0;
    }
    call.thread &= TY_PROFILE_THREADS;
    if (!TY_PROFILE_GROW(file->calls, file->n_calls, file->cap_calls)) {
        return ty_profile_no_memory(r);
    }
    file->calls[file->n_calls++] = call;
    return 1;
}

/* A number that fits below a limit, or what stands for none. */
static uint32_t below(int64_t number, int64_t limit, uint32_t none)
{
    return number >= 0 && number < limit ? (uint32_t)number : none;
}

static int keep_comm(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    const uint32_t n = file->rank.n_comms;
    const int64_t seq = number_of(r, TY_KEY_SEQ, -1);
    const int64_t in = number_of(r, TY_KEY_IN_NELEMS, -1),
                  out = number_of(r, TY_KEY_OUT_NELEMS, -1);
    struct ty_profile_named named;
    struct ty_profile_comm comm = {
        .seq = seq >= 0 ? (uint64_t)seq : 0,
        .has_seq = seq >= 0,
        .has_size = in >= 0 && out >= 0,
        .group = TY_PROFILE_NONE,
        .group_size = below(number_of(r, TY_KEY_GROUP_SIZE, 0), INT32_MAX, 0),
        .src = below(number_of(r, TY_KEY_SRC, -1), INT32_MAX, TY_PROFILE_NONE),
        .dst = below(number_of(r, TY_KEY_DST, -1), INT32_MAX, TY_PROFILE_NONE),
        .element_B = ty_profile_element_bytes(text_of(r, TY_KEY_DTYPE)),
    };
    if (comm.has_size) {
        comm.in_nelems = (uint64_t)in;
        comm.out_nelems = (uint64_t)out;
    }
    if (comm.in_nelems > UINT64_MAX / 2 / 16 || comm.out_nelems > UINT64_MAX / 2 / 16) {
        return ty_profile_wrong_event(r, TY_KEY_IN_NELEMS, "more elements than there is memory");
    }
    if (!intern(r, TY_KEY_COLL, &comm.name) || !intern(r, TY_KEY_PG_NAME, &named.name) ||
        !intern(r, TY_KEY_PG_DESC, &named.desc) || !intern(r, TY_KEY_PG_RANKS, &named.ranks)) {
        return 0;
    }
    if (!TY_PROFILE_GROW(file->rank.comms, n, file->cap_comms) ||
        !TY_PROFILE_GROW(file->named, n, file->cap_named)) {
        return ty_profile_no_memory(r);
    }
    file->rank.comms[n] = comm;
    file->named[n] = named;
    file->rank.n_comms++;
    return 1;
}

static int keep_kernel(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    struct ty_profile_rank *rank = &file->rank;
    const char *name = text_of(r, TY_KEY_NAME);
    /* some profilers leave the stream out, and name it in the row of the viewer alone */
    const int64_t stream = number_of(r, TY_KEY_STREAM, number_of(r, TY_KEY_TID, -1));
    struct ty_profile_kernel k = {
        .op = TY_PROFILE_NONE, .comm = TY_PROFILE_NONE, .step = TY_PROFILE_NONE};
    if (stream < 0 || stream > UINT32_MAX) {
        const bool missing = r->field[TY_KEY_STREAM].kind == TY_VALUE_NONE;
        return ty_profile_wrong_event(
            r, TY_KEY_STREAM, "%s%.40s%s; the number of a CUDA stream is due",
            missing ? "missing" : "not a stream (", text_of(r, TY_KEY_STREAM), missing ? "" : ")");
    }
    if (!time_of(r, TY_KEY_TS, &k.start_ns) || !time_of(r, TY_KEY_DUR, &k.dur_ns) ||
        !intern(r, TY_KEY_NAME, &k.name)) {
        return 0;
    }
    k.stream = (uint32_t)stream;
    k.device = (uint8_t)below(number_of(r, TY_KEY_DEVICE, 0), UINT8_MAX, UINT8_MAX);
    k.phase = (uint8_t)ty_profile_phase_of(text_of(r, TY_KEY_PHASE));
    k.step = below(number_of(r, TY_KEY_STEP, -1), TY_PROFILE_STEPS, TY_PROFILE_NONE);
    k.class = (uint8_t)(r->cat == TY_EVENT_COPY ? TY_PROFILE_MEMORY : ty_profile_class_of(name));
    if (k.class == TY_PROFILE_COMMUNICATION) {
        k.comm = rank->n_comms;
        k.coll = (uint8_t)ty_profile_coll_of(text_of(r, TY_KEY_COLL), name, "");
        if (!keep_comm(r)) {
            return 0;
        }
    }
    if (rank->n_kernels == TY_PROFILE_NONE - 1 ||
        !TY_PROFILE_GROW(rank->kernels, rank->n_kernels, file->cap_kernels) ||
        !TY_PROFILE_GROW(file->launches, rank->n_kernels, file->cap_launches)) {
        return ty_profile_no_memory(r);
    }
    file->launches[rank->n_kernels] =
        (struct ty_profile_launch){.external = number_of(r, TY_KEY_EXTERNAL, 0),
                                   .correlation = number_of(r, TY_KEY_CORRELATION, 0)};
    rank->kernels[rank->n_kernels++] = k;
    return 1;
}

int ty_profile_event_end(struct ty_profile_reader *r)
{
    const bool wanted = r->cat != TY_EVENT_NOTHING && r->cat != TY_EVENT_UNKNOWN;
    if (!wanted || !r->complete) {
        return 1;
    }
    if (r->field[TY_KEY_NAME].kind != TY_VALUE_STRING) {
        return ty_profile_wrong_event(r, TY_KEY_NAME, "%s; a text is due",
                                      r->field[TY_KEY_NAME].kind == TY_VALUE_NONE ? "missing"
                                                                                  : "not a text");
    }
    switch ((enum ty_profile_event_cat)r->cat) {
    case TY_EVENT_KERNEL:
    case TY_EVENT_COPY:
        return keep_kernel(r);
    case TY_EVENT_OP:
    case TY_EVENT_ANNOTATION:
        return keep_op(r);
    case TY_EVENT_CALL:
        return keep_call(r);
    default:
        return 1;
    }
}
