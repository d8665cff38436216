/* schedule.c - the table of schedules and what they share. */
#include "model/schedule/schedule.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/check.h"
#include "model/schedule/steady.h"

#define X(id, name) extern const struct ty_sched ty_sched_##id;
TY_SCHEDULES(X)
#undef X

const struct ty_sched *const ty_schedules[] = {
#define X(id, name) &ty_sched_##id,
    TY_SCHEDULES(X)
#undef X
        NULL,
};

enum sched_index {
#define X(id, name) SCHED_##id,
    TY_SCHEDULES(X)
#undef X
};

const struct ty_word ty_sched_words[] = {
#define X(id, name) {name, SCHED_##id, NULL},
    TY_SCHEDULES(X)
#undef X
        {NULL, 0, NULL},
};

#define AUTO(key_, max_, doc_)                                                                     \
    ROW(key_, UINT, .min = 1, .max = (max_), .blank = "auto", .fallback = "auto", .doc = (doc_))

#define ROW(key_, type_, ...) TY_FIELD(struct ty_sched_options, #key_, key_, type_, __VA_ARGS__)

const struct ty_field ty_sched_fields[] = {
    ROW(name, WORD, .words = ty_sched_words, .any_case = true, .fallback = "1f1b", .searched = true,
        .doc = "pipeline schedule: in which order a stage runs its forward and backward passes"),
    ROW(file, STRING, .blank = "none", .fallback = "none",
        .doc =
            "a schedule of your own, as slots text or PyTorch CSV, in place of a name: the path of "
            "a file, or its text after a \"|\"; none: the schedule of schedule.name"),
    AUTO(chunks, 64,
         "virtual stages (model chunks) per pipeline rank; auto: what the schedule needs, 2 where "
         "it takes any number"),
    AUTO(group, 65535,
         "interleaved: micro-batches that go through a chunk together; zb-1p: most of a rank that "
         "wait for weight gradients; auto: pipeline ranks"),
    AUTO(slices, 255,
         "slices of each sequence, for schedules that pipeline within a sequence; auto: what the "
         "schedule needs"),
    ROW(barrier, BOOL, .fallback = "true",
        .doc = "all ranks wait for the global gradient norm before they update their weights"),
    ROW(overlap_cost, QUANTITY, .dim = TY_DIM_RATIO, .min = 0.01, .max = 10, .fallback = "100 %",
        .doc =
            "time of layers in a slot where a forward and a backward pass overlap, as a share of "
            "their time alone"),
    ROW(times, STRING, .aside = true, .late = true, .blank = "none", .fallback = "none",
        .doc = "times of passes and messages in \"trainyard schedule\" of this file, in units: "
               "F=1,B=2,I=1,W=1,C=0; a step takes those of the model"),
    ROW(stages, STRING, .aside = true, .late = true, .blank = "none", .fallback = "none",
        .doc = "factor on the time of each virtual stage in that drawing: 1,1,1.5,1; a step takes "
               "the times of the model"),
};
const uint32_t ty_n_sched_fields = TY_COUNT(ty_sched_fields);

const struct ty_sched *ty_sched_find(const char *name)
{
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        if (strcasecmp(ty_schedules[i]->name, name) == 0) {
            return ty_schedules[i];
        }
    }
    return NULL;
}

const struct ty_sched *ty_sched_of(const struct ty_sched_options *options)
{
    return options->custom != NULL ? &options->custom->sched : ty_schedules[options->name];
}

static uint32_t first_given(uint32_t given, uint32_t needed, uint32_t usual)
{
    const uint32_t numbers[] = {given, needed, usual};
    for (size_t i = 0; i < TY_COUNT(numbers); i++) {
        if (numbers[i] > 0) {
            return numbers[i];
        }
    }
    return 1;
}

uint32_t ty_sched_chunks_of(const struct ty_sched *sched, uint32_t n)
{
    return first_given(n, sched->chunks, sched->auto_chunks);
}

uint32_t ty_sched_slices_of(const struct ty_sched *sched, uint32_t n)
{
    return first_given(n, 0, sched->auto_slices);
}

uint32_t ty_sched_chunks(const struct ty_sched_options *options)
{
    return options->custom != NULL ? options->custom->shape.v
                                   : ty_sched_chunks_of(ty_sched_of(options), options->chunks);
}

uint32_t ty_sched_slices(const struct ty_sched_options *options)
{
    const uint32_t in_file = options->custom != NULL ? options->custom->shape.slices : 0;
    return ty_sched_slices_of(ty_sched_of(options),
                              options->slices > 0 ? options->slices : in_file);
}

struct ty_sched_shape ty_sched_shape_of(const struct ty_sched_options *options, uint32_t pipeline,
                                        uint32_t micro_batches)
{
    return (struct ty_sched_shape){.p = pipeline,
                                   .m = micro_batches,
                                   .v = ty_sched_chunks(options),
                                   .group = options->group,
                                   .slices = ty_sched_slices(options)};
}

/* Micro-batches are numbered in 16 bits, virtual stages and slices too. */
static int check_sizes(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                       struct ty_err *err)
{
    if (shape->p == 0 || shape->m == 0 || shape->v == 0 || shape->slices == 0 ||
        shape->m > UINT16_MAX || ty_sched_stages(shape) > UINT16_MAX || shape->slices > 255) {
        return ty_fail(err, TY_EUSAGE,
                       "%s: %u ranks, %u micro-batches, %u virtual stages per rank, %u "
                       "slices; each is at least 1, with at most 65535 micro-batches and stages",
                       sched->name, (unsigned)shape->p, (unsigned)shape->m, (unsigned)shape->v,
                       (unsigned)shape->slices);
    }
    if (shape->slices > 1 && !sched->sliced) {
        return ty_fail(err, TY_EUSAGE, "%s: %u slices; it works on whole sequences, 1 slice",
                       sched->name, (unsigned)shape->slices);
    }
    if (sched->chunks != 0 && sched->chunks != shape->v) {
        return ty_fail(err, TY_EUSAGE, "%s: %u virtual stage%s per rank; it has exactly %u",
                       sched->name, (unsigned)shape->v, shape->v == 1 ? "" : "s",
                       (unsigned)sched->chunks);
    }
    return 0;
}

/* Those that can overlap a forward and a backward, for messages. */
static void list_paired(char *buf, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        if (ty_schedules[i]->pairs != TY_PAIRS_NONE && n < size) {
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n == 0 ? "" : ", ",
                                  ty_schedules[i]->name);
        }
    }
}

/* Some schedules leave a forward next to each backward; without a pipeline all of the frame of 1F1B
 * that work on whole sequences do. */
static int check_pairs(const struct ty_sched_options *options, const struct ty_section *section,
                       const struct ty_sched_shape *shape, struct ty_err *err)
{
    const struct ty_sched *sched = ty_sched_of(options);
    const bool custom = options->custom != NULL;
    const bool frame =
        shape->p == 1 && sched->warm_up != NULL && !sched->sliced && !sched->asynchronous;
    char names[256] = "";
    if (!options->overlaps || sched->pairs != TY_PAIRS_NONE || frame ||
        (custom && ty_slots_paired(&options->custom->slots))) {
        return 0;
    }
    const struct ty_place at = ty_section_place(section, custom ? "file" : "name");
    if (custom) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "schedule.file: no overlapped slots, which framework.expert_overlap asks "
                          "for; write some, such as (F1.0|B0.0)");
    }
    list_paired(names, sizeof(names));
    return ty_fail_at(err, TY_EINPUT, &at,
                      "schedule.name: %s runs no forward beside a backward, which "
                      "framework.expert_overlap asks for; these do: %s",
                      sched->name, names);
}

/* The key to blame: that of a number the user gave and this schedule cannot have, else its name. */
static const char *check_key(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                             const struct ty_section *section)
{
    if (shape->slices > 1 && !sched->sliced) {
        return "slices";
    }
    const bool chunks = sched->chunks != 0 && sched->chunks != shape->v;
    return chunks && ty_check_given(section, "chunks") ? "chunks" : "name";
}

/* A file fixes what the layout asks for. */
static int check_custom(const struct ty_sched_options *options, const struct ty_section *section,
                        uint32_t pipeline, uint32_t micro_batches, struct ty_err *err)
{
    const struct ty_sched_shape *custom = &options->custom->shape;
    const uint32_t m = custom->m;
    const struct ty_place at = ty_section_place(section, "file");
    if (custom->p != pipeline || m != micro_batches || custom->slices != ty_sched_slices(options)) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "schedule.file: p = %u ranks, m = %u micro-batches and q = %u slices in "
                          "the file; the run file has p = %u (layout.pipeline), m = %u and q = %u "
                          "(schedule.slices)",
                          (unsigned)custom->p, (unsigned)m, (unsigned)custom->slices,
                          (unsigned)pipeline, (unsigned)micro_batches,
                          (unsigned)ty_sched_slices(options));
    }
    return 0;
}

int ty_sched_check_updates(const struct ty_sched_options *options, const struct ty_section *section,
                           struct ty_err *err)
{
    const struct ty_sched *sched = ty_sched_of(options);
    const char *key = options->custom != NULL ? "file" : "name";
    if (!options->updates_away || (!sched->asynchronous && sched->placement != TY_PLACE_TWO_WAY)) {
        return 0;
    }
    const struct ty_place at = ty_section_place(section, key);
    return ty_fail_at(
        err, TY_EINPUT, &at,
        "schedule.%s: %s %s, and layout.offload_optimizer is not gpu: the host updates once a "
        "step, what one pipe has reduced; write 1f1b, or layout.offload none",
        key, sched->name,
        sched->asynchronous ? "does not flush" : "adds up gradients of two pipes");
}

/* What a drawing would say of them. */
static int check_units(const struct ty_sched_options *options, const struct ty_section *section,
                       const struct ty_sched_shape *shape, struct ty_err *err)
{
    struct ty_arena arena = {0};
    struct ty_sched_times times;
    double *factors;
    struct ty_err why;
    ty_err_init(&why);
    const char *key = "times";
    int rc = ty_sched_times_read("schedule.times:", options->times, &times, &why);
    if (rc == 0 && options->stages != NULL) {
        key = "stages";
        rc = ty_sched_factors_read("schedule.stages:", options->stages, ty_sched_stages(shape),
                                   false, &arena, &factors, &why);
    }
    ty_arena_release(&arena);
    if (rc == 0) {
        return 0;
    }
    const struct ty_place at = ty_section_place(section, key);
    return ty_fail_at(err, TY_EINPUT, &at, "%s", why.text);
}

int ty_sched_finish(const struct ty_sched_options *options, const struct ty_section *section,
                    uint32_t pipeline, uint32_t micro_batches, uint32_t sequence,
                    struct ty_err *err)
{
    const struct ty_sched *sched = ty_sched_of(options);
    const struct ty_sched_shape shape = ty_sched_shape_of(options, pipeline, micro_batches);
    struct ty_err why;
    int rc = ty_check_first(check_pairs(options, section, &shape, err),
                            ty_sched_check_updates(options, section, err));
    rc = ty_check_first(rc, check_units(options, section, &shape, err));
    if (rc < 0 || options->custom != NULL) {
        return rc < 0 ? rc : check_custom(options, section, pipeline, micro_batches, err);
    }
    ty_err_init(&why);
    rc = check_sizes(sched, &shape, &why);
    if (rc == 0 && sched->check != NULL) {
        rc = sched->check(&shape, &why);
    }
    if (rc < 0) {
        const char *key = check_key(sched, &shape, section);
        const struct ty_place at = ty_section_place(section, key);
        return ty_fail_at(err, TY_EINPUT, &at, "schedule.%s: %s", key, why.text);
    }
    if (sequence % shape.slices != 0) {
        const struct ty_place at = ty_section_place(section, "slices");
        return ty_fail_at(
            err, TY_EINPUT, &at,
            "schedule.slices: %u does not divide model.sequence (%u); write a divisor, such as 1",
            (unsigned)shape.slices, (unsigned)sequence);
    }
    return 0;
}

uint32_t ty_sched_owner(enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                        uint32_t direction, uint32_t stage)
{
    switch (placement) {
    case TY_PLACE_LOOPED:
        return stage % shape->p;
    case TY_PLACE_V:
        return stage < shape->p ? stage : 2 * shape->p - 1 - stage;
    case TY_PLACE_TWO_WAY:
        break;
    }
    return direction == 0 ? stage : shape->p - 1 - stage;
}

int ty_slots_init(struct ty_slots *slots, const struct ty_sched_shape *shape,
                  struct ty_arena *arena, struct ty_err *err)
{
    const size_t cap = (size_t)3 * shape->m * shape->v * shape->slices;
    *slots = (struct ty_slots){.p = shape->p};
    slots->rank = ty_arena_array(arena, struct ty_rank_slots, shape->p);
    for (uint32_t r = 0; slots->rank != NULL && r < shape->p; r++) {
        slots->rank[r].cap = (uint32_t)cap;
        slots->rank[r].slot = ty_arena_array(arena, struct ty_slot, cap);
        if (slots->rank[r].slot == NULL) {
            return ty_fail_memory(err);
        }
    }
    return slots->rank != NULL ? 0 : ty_fail_memory(err);
}

int ty_sched_slots(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                   const struct ty_sched_times *times, struct ty_slots *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    int rc = check_sizes(sched, shape, err);
    if (rc == 0 && sched->check != NULL) {
        rc = sched->check(shape, err);
    }
    if (rc == 0) {
        rc = ty_slots_init(out, shape, arena, err);
    }
    if (rc == 0 && sched->generate != NULL) {
        return sched->generate(shape, times, out, arena, err);
    }
    if (rc == 0) {
        ty_sched_steady(sched, shape, out);
    }
    return rc;
}

bool ty_sched_pairs(const struct ty_sched_options *options)
{
    return options->overlaps && options->custom == NULL &&
           ty_sched_of(options)->pairs != TY_PAIRS_ALWAYS;
}

bool ty_sched_in_domain(const struct ty_sched_options *options, const struct ty_sched_shape *shape,
                        const struct ty_sched_times *times)
{
    const struct ty_sched *sched = ty_sched_of(options);
    return !ty_sched_pairs(options) && (sched->in_domain == NULL || sched->in_domain(shape, times));
}

uint32_t ty_sched_in_flight(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                            uint32_t rank)
{
    if (sched->in_flight != NULL) {
        return sched->in_flight(shape, rank);
    }
    if (sched->warm_up == NULL) {
        return 0;
    }
    const uint32_t window = sched->warm_up(shape, rank) + 1, all = ty_sched_pieces(shape);
    return window < all ? window : all;
}

void ty_slots_pair(struct ty_slots *slots)
{
    for (uint32_t r = 0; r < slots->p; r++) {
        const struct ty_rank_slots *order = &slots->rank[r];
        for (uint32_t i = 0; i + 1 < order->n; i++) {
            const struct ty_slot back = order->slot[i];
            if (back.phase == TY_PHASE_BACKWARD && order->slot[i + 1].phase == TY_PHASE_FORWARD) {
                order->slot[i] = order->slot[i + 1];
                order->slot[i].paired = true;
                order->slot[++i] = back;
            }
        }
    }
}

bool ty_slots_paired(const struct ty_slots *slots)
{
    for (uint32_t r = 0; r < slots->p; r++) {
        for (uint32_t i = 0; i < slots->rank[r].n; i++) {
            if (slots->rank[r].slot[i].paired) {
                return true;
            }
        }
    }
    return false;
}

uint32_t ty_slots_peak(const struct ty_rank_slots *rank, enum ty_phase until)
{
    uint32_t held = 0, peak = 0;
    for (uint32_t i = 0; i < rank->n; i++) {
        const uint8_t phase = rank->slot[i].phase;
        if (phase == TY_PHASE_FORWARD) {
            held++;
            peak = held > peak ? held : peak;
        } else if (phase == TY_PHASE_BACKWARD || phase == until) {
            held--;
        }
    }
    return peak;
}

char *ty_slot_text(const struct ty_slot *slot, char *buf, size_t size)
{
    const int n =
        snprintf(buf, size, "%c%u.%u%s", ty_phase_letter((enum ty_phase)slot->phase),
                 (unsigned)slot->mb, (unsigned)slot->stage, slot->direction != 0 ? "^" : "");
    if (slot->slice != 0 && n > 0 && (size_t)n < size) {
        snprintf(buf + n, size - (size_t)n, "#%u", (unsigned)slot->slice);
    }
    return buf;
}
