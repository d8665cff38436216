/* event.c - what is kept of an event of a Kineto file.
 *
 * Values arrive as text. PyTorch writes numbers as numbers, and some ids as texts in some versions;
 * both are taken where a number is due. What no version writes in an event that counts (no start, a
 * negative duration, a stream that is no number) is an error. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"

#include "traces/profile/json.h"

#define MAX_DUR_NS ((int64_t)1 << 56)

/* ---- numbers ---- */

bool ty_profile_integer(const char *text, int64_t *out)
{
    const bool negative = *text == '-';
    const char *p = text + (negative ? 1 : 0);
    int64_t x = 0;
    if (*p < '0' || *p > '9') {
        return false;
    }
    for (; *p >= '0' && *p <= '9'; p++) {
        if (x > (INT64_MAX - 9) / 10) {
            return false;
        }
        x = 10 * x + (*p - '0');
    }
    *out = negative ? -x : x;
    return *p == '\0';
}

/* Appends digits of a number up to a count of them and moves behind those; false: too large. */
static bool take_digits(const char **p, int count, int64_t *x)
{
    for (; **p >= '0' && **p <= '9' && count > 0; (*p)++, count--) {
        if (*x > TY_PROFILE_MAX_NS / 10) {
            return false;
        }
        *x = 10 * *x + (**p - '0');
    }
    return true;
}

/* Microseconds with decimals as nanoseconds, 12346 of "12.3456"; false: not one, or out of
 * range. */
static bool nanoseconds(const char *text, int64_t *out)
{
    const char *p = text;
    int64_t ns = 0;
    if (!take_digits(&p, INT_MAX, &ns)) {
        return false;
    }
    const bool point = *p == '.';
    bool digits = p > text;
    const char *fraction = p + point;
    p = fraction;
    if (point && !take_digits(&p, 3, &ns)) {
        return false;
    }
    const int decimals = (int)(p - fraction);
    digits = digits || decimals > 0;
    if (decimals == 3) { /* beyond nanoseconds: rounded, the rest does not matter */
        ns += *p >= '5' && *p <= '9';
        p += strspn(p, "0123456789");
    }
    if (*p == 'e' || *p == 'E') {
        const double us = ty_strtod(text, NULL);
        *out = us >= 0 && us < 4e15 ? llround(us * 1000) : -1;
        return *out >= 0;
    }
    const char *zeros = "000";
    const bool fits = take_digits(&zeros, 3 - decimals, &ns);
    *out = ns;
    return fits && *p == '\0' && digits && ns < TY_PROFILE_MAX_NS;
}

static const char *text_of(const struct ty_profile_reader *r, int key)
{
    const struct ty_profile_field *field = &r->field[key];
    return field->kind != TY_VALUE_NONE && field->kind != TY_VALUE_OTHER ? r->scratch + field->from
                                                                         : "";
}

/* A whole number where there is one, else `otherwise`. */
static int64_t number_of(const struct ty_profile_reader *r, int key, int64_t otherwise)
{
    int64_t x;
    return ty_profile_integer(text_of(r, key), &x) ? x : otherwise;
}

static int time_of(struct ty_profile_reader *r, int key, int64_t *out)
{
    if (r->field[key].kind == TY_VALUE_NONE) {
        return ty_profile_wrong_event(r, key, "missing; an event of this category has one");
    }
    if (r->field[key].kind != TY_VALUE_NUMBER || !nanoseconds(text_of(r, key), out)) {
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
enum ty_profile_event_cat ty_profile_cat_of(const char *text, size_t len)
{
    static const struct {
        const char *name;
        enum ty_profile_event_cat cat;
    } cats[] = {
        {"cpu_op", TY_EVENT_OP},        {"cuda_runtime", TY_EVENT_CALL},
        {"kernel", TY_EVENT_KERNEL},    {"user_annotation", TY_EVENT_ANNOTATION},
        {"cuda_driver", TY_EVENT_CALL}, {"gpu_memcpy", TY_EVENT_COPY},
        {"gpu_memset", TY_EVENT_COPY},  {"Kernel", TY_EVENT_KERNEL},
        {"Operator", TY_EVENT_OP},      {"Runtime", TY_EVENT_CALL},
        {"Memcpy", TY_EVENT_COPY},      {"Memset", TY_EVENT_COPY},
    };
    for (size_t i = 0; i < TY_COUNT(cats); i++) {
        if (strlen(cats[i].name) == len && memcmp(cats[i].name, text, len) == 0) {
            return cats[i].cat;
        }
    }
    return TY_EVENT_NOTHING;
}

static int thread_of(struct ty_profile_reader *r, uint32_t *out)
{
    const char *tid = text_of(r, TY_KEY_TID);
    struct ty_profile_thread thread = {.text = ""};
    strncat(thread.text, tid, sizeof(thread.text) - 1);
    if (r->n_threads > 0 && strcmp(r->threads[r->last_thread].text, thread.text) == 0) {
        *out = r->last_thread;
        return 1;
    }
    uint32_t i = 0;
    while (i < r->n_threads && strcmp(r->threads[i].text, thread.text) != 0) {
        i++;
    }
    if (i == r->n_threads) {
        if (r->n_threads == 4096) {
            return ty_profile_wrong_event(r, TY_KEY_TID, "more than 4096 threads");
        }
        if (!ty_profile_grow(&r->threads, i, &r->cap_threads, sizeof(*r->threads))) {
            return ty_profile_no_memory(r);
        }
        r->threads[r->n_threads++] = thread;
    }
    *out = r->last_thread = i;
    return 1;
}

/* ---- what is kept ---- */

static int keep_step(struct ty_profile_reader *r, const struct ty_profile_op *op)
{
    struct ty_profile_file *file = r->file;
    int64_t number;
    if (!ty_profile_integer(text_of(r, TY_KEY_NAME) + strlen("ProfilerStep#"), &number) ||
        number < 0 || number > UINT32_MAX) {
        return 1; /* somebody's own mark */
    }
    if (!ty_profile_grow(&file->rank.steps, file->rank.n_steps, &file->cap_steps,
                         sizeof(*file->rank.steps))) {
        return ty_profile_no_memory(r);
    }
    file->rank.steps[file->rank.n_steps++] = (struct ty_profile_step){
        .start_ns = op->start_ns, .end_ns = op->start_ns + op->dur_ns, .number = (uint32_t)number};
    return 1;
}

static int keep_op(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    struct ty_profile_op op = {.sequence = number_of(r, TY_KEY_SEQUENCE, -1),
                               .parent = TY_PROFILE_NONE,
                               .forward = TY_PROFILE_NONE,
                               .annotation = r->cat == TY_EVENT_ANNOTATION};
    op.has_fwd_thread = number_of(r, TY_KEY_FWD_THREAD, 0) > 0;
    if (!time_of(r, TY_KEY_TS, &op.start_ns) || !time_of(r, TY_KEY_DUR, &op.dur_ns) ||
        !intern(r, TY_KEY_NAME, &op.name) || !thread_of(r, &op.thread) ||
        !intern(r, TY_KEY_DIMS, &op.dims) || !intern(r, TY_KEY_TYPES, &op.types) ||
        !intern(r, TY_KEY_VALUES, &op.values) || !intern(r, TY_KEY_STRIDES, &op.strides)) {
        return 0;
    }
    if (strncmp(text_of(r, TY_KEY_NAME), "ProfilerStep#", strlen("ProfilerStep#")) == 0) {
        return keep_step(r, &op);
    }
    if (file->rank.n_ops == TY_PROFILE_NONE - 1 ||
        !ty_profile_grow(&file->rank.ops, file->rank.n_ops, &file->cap_ops,
                         sizeof(*file->rank.ops)) ||
        !ty_profile_grow(&file->externals, file->rank.n_ops, &file->cap_externals,
                         sizeof(*file->externals))) {
        return ty_profile_no_memory(r);
    }
    file->externals[file->rank.n_ops] = number_of(r, TY_KEY_EXTERNAL, 0);
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
    if (!time_of(r, TY_KEY_TS, &call.start_ns) || !thread_of(r, &call.thread)) {
        return 0;
    }
    if (!ty_profile_grow(&file->calls, file->n_calls, &file->cap_calls, sizeof(*file->calls))) {
        return ty_profile_no_memory(r);
    }
    file->calls[file->n_calls++] = call;
    return 1;
}

static bool has_size(const struct ty_profile_reader *r)
{
    return number_of(r, TY_KEY_IN_NELEMS, -1) >= 0 && number_of(r, TY_KEY_OUT_NELEMS, -1) >= 0;
}

/* A number that fits below a limit, or what stands for none. */
static uint32_t below(int64_t number, int64_t limit, uint32_t none)
{
    return number >= 0 && number < limit ? (uint32_t)number : none;
}

/* Room for one more communication in all columns. */
static bool grow_comms(struct ty_profile_file *file, uint32_t n)
{
    return ty_profile_grow(&file->rank.comms, n, &file->cap_comms, sizeof(*file->rank.comms)) &&
           ty_profile_grow(&file->pg_names, n, &file->cap_names, sizeof(uint32_t)) &&
           ty_profile_grow(&file->pg_descs, n, &file->cap_descs, sizeof(uint32_t)) &&
           ty_profile_grow(&file->pg_ranks, n, &file->cap_ranks, sizeof(uint32_t));
}

static int keep_comm(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    const uint32_t n = file->rank.n_comms;
    const int64_t seq = number_of(r, TY_KEY_SEQ, -1);
    struct ty_profile_comm comm = {
        .seq = seq >= 0 ? (uint64_t)seq : 0,
        .has_seq = seq >= 0,
        .has_size = has_size(r),
        .group = TY_PROFILE_NONE,
        .group_size = below(number_of(r, TY_KEY_GROUP_SIZE, 0), INT32_MAX, 0),
        .src = below(number_of(r, TY_KEY_SRC, -1), INT32_MAX, TY_PROFILE_NONE),
        .dst = below(number_of(r, TY_KEY_DST, -1), INT32_MAX, TY_PROFILE_NONE),
        .element_B = ty_profile_element_bytes(text_of(r, TY_KEY_DTYPE)),
    };
    if (comm.has_size) {
        comm.in_nelems = (uint64_t)number_of(r, TY_KEY_IN_NELEMS, 0);
        comm.out_nelems = (uint64_t)number_of(r, TY_KEY_OUT_NELEMS, 0);
    }
    if (comm.in_nelems > UINT64_MAX / 2 / 16 || comm.out_nelems > UINT64_MAX / 2 / 16) {
        return ty_profile_wrong_event(r, TY_KEY_IN_NELEMS, "more elements than there is memory");
    }
    if (!grow_comms(file, n)) {
        return ty_profile_no_memory(r);
    }
    file->rank.comms[n] = comm;
    if (!intern(r, TY_KEY_COLL, &file->rank.comms[n].name) ||
        !intern(r, TY_KEY_PG_NAME, &file->pg_names[n]) ||
        !intern(r, TY_KEY_PG_DESC, &file->pg_descs[n]) ||
        !intern(r, TY_KEY_PG_RANKS, &file->pg_ranks[n])) {
        return 0;
    }
    file->rank.n_comms++;
    return 1;
}

static int keep_kernel(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    struct ty_profile_rank *rank = &file->rank;
    const char *name = text_of(r, TY_KEY_NAME);
    const int64_t stream = number_of(r, TY_KEY_STREAM, -1);
    struct ty_profile_kernel k = {
        .op = TY_PROFILE_NONE, .comm = TY_PROFILE_NONE, .step = TY_PROFILE_NONE};
    if (stream < 0 || stream > UINT32_MAX) {
        return r->field[TY_KEY_STREAM].kind == TY_VALUE_NONE
                   ? ty_profile_wrong_event(r, TY_KEY_STREAM,
                                            "missing; the number of a CUDA stream is due")
                   : ty_profile_wrong_event(
                         r, TY_KEY_STREAM,
                         "not a stream (%.40s); the number of a CUDA stream is due",
                         text_of(r, TY_KEY_STREAM));
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
        !ty_profile_grow(&rank->kernels, rank->n_kernels, &file->cap_kernels, sizeof(k)) ||
        !ty_profile_grow(&file->launches, rank->n_kernels, &file->cap_launches,
                         sizeof(*file->launches))) {
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
