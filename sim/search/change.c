/* change.c - makes each kind of change, and writes what differs as settings. */
#include "sim/search/change.h"

#include <stdio.h>
#include <string.h>

#include "model/check.h"
#include "model/offload.h"
#include "model/parallel/kinds.h"

/* ---- what changes ---- */

static bool set_recompute(struct ty_config *c, int to)
{
    struct ty_layout *l = &c->layout;
    const bool other = l->recompute != (uint32_t)to || l->recompute_layers.n > 0;
    l->recompute = (uint32_t)to;
    l->recompute_layers = (struct ty_counts_list){0}; /* in all layers */
    return other;
}

static bool set_recompute_more(struct ty_config *c, int to)
{
    return set_recompute(c, (int)c->layout.recompute | to);
}

static bool set_zero(struct ty_config *c, int to)
{
    const bool other = c->layout.zero != (uint32_t)to && to >= 0 && to <= 3 && c->layout.data > 1;
    c->layout.zero = other ? (uint32_t)to : c->layout.zero;
    return other;
}

/* Shards more of the states: less takes more memory. */
static bool set_more_zero(struct ty_config *c, int to)
{
    return c->layout.zero < (uint32_t)to && set_zero(c, to);
}

static bool set_offload(struct ty_config *c, int to)
{
    const struct ty_layout *l = &c->layout;
    const bool asked = /* for more than what a system offloads */
        l->offload_optimizer != TY_HOME_AUTO || l->offload_parameters != TY_HOME_AUTO;
    const bool other = l->offload != to && !(asked && l->home.optimizer != TY_HOME_GPU);
    if (other) {
        c->layout.offload = to;
        c->layout.zero =
            ty_offload_zero(to) > c->layout.zero ? ty_offload_zero(to) : c->layout.zero;
    }
    return other;
}

static bool set_offload_activations(struct ty_config *c, int to)
{
    const bool other = c->layout.offload_activations == TY_HOME_GPU && to != TY_HOME_GPU;
    c->layout.offload_activations = other ? to : c->layout.offload_activations;
    return other;
}

static bool set_offload_share(struct ty_config *c, int to)
{
    const bool other = c->layout.offload_share > to / 100.0;
    c->layout.offload_share = other ? to / 100.0 : c->layout.offload_share;
    return other;
}

static bool set_shard(struct ty_config *c, int to)
{
    const uint32_t ranks = to > 0 ? (uint32_t)to : c->layout.data;
    const bool other = c->layout.zero > 0 && ranks > 1 && c->layout.shard != ranks;
    c->layout.shard = other ? ranks : c->layout.shard;
    return other;
}

static bool set_sequence_parallel(struct ty_config *c, int to)
{
    const bool other = c->layout.tensor > 1 && c->layout.sequence_parallel != (to != 0);
    c->layout.sequence_parallel = other ? to != 0 : c->layout.sequence_parallel;
    return other;
}

static bool set_attention(struct ty_config *c, int to)
{
    const bool faster = c->arch.attention < to;
    c->arch.attention = faster ? to : c->arch.attention;
    return faster;
}

/* From kernels that write the scores, which are the large ones. */
static bool set_flash_attention(struct ty_config *c, int to)
{
    return c->arch.attention < TY_ATTENTION_FLASH1 && set_attention(c, to);
}

static bool set_norm(struct ty_config *c, int to)
{
    const bool other = c->arch.norm != to;
    c->arch.norm = to;
    return other;
}

/* Multiplies or divides by a factor. Returns false where it does not divide. */
static bool scale(uint32_t *x, int factor)
{
    const uint32_t by = (uint32_t)(factor < 0 ? -factor : factor);
    if (factor < 0 && *x % by != 0) {
        return false;
    }
    *x = factor < 0 ? *x / by : *x * by;
    return true;
}

/* Drops lists of layers by stage that are for another number of stages. Stages are even then, and
 * all of their layers are recomputed or none. */
static void drop_lists(struct ty_config *c)
{
    const uint64_t stages = (uint64_t)c->layout.pipeline * ty_sched_chunks(&c->schedule);
    if (c->layout.stage_layers.n != stages) {
        c->layout.stage_layers = (struct ty_uint_list){0};
    }
    if (c->layout.recompute_layers.n > 1 && c->layout.recompute_layers.n != stages) {
        c->layout.recompute_layers = (struct ty_counts_list){0};
    }
}

/* Returns whether a file fixes the micro-batches of each rank. */
static bool is_fixed(const struct ty_config *c)
{
    return c->schedule.custom != NULL || c->layout.unlike;
}

static bool set_micro_batch(struct ty_config *c, int to)
{
    return !is_fixed(c) && scale(&c->layout.micro_batch, to);
}

/* Lets tensor ranks share the tokens that they send to experts. */
static void share_tokens(struct ty_config *c)
{
    c->layout.sequence_parallel =
        c->layout.sequence_parallel || (c->layout.tensor > 1 && ty_arch_is_moe(&c->arch));
}

static bool set_tensor(struct ty_config *c, int to)
{
    const bool can = !is_fixed(c) && scale(&c->layout.data, -to) && scale(&c->layout.tensor, to);
    share_tokens(c);
    return can;
}

static bool set_expert(struct ty_config *c, int to)
{
    return ty_arch_is_moe(&c->arch) && scale(&c->layout.expert, to);
}

static bool set_expert_tensor(struct ty_config *c, int to)
{
    return ty_arch_is_moe(&c->arch) && scale(&c->layout.expert_tensor, to);
}

/* The fewest tokens of a sequence that a context rank has. With fewer, rounds would be shorter than
 * their messages (a guess; the bounds of docs/internals/model.md are 1,100 to 17,800). */
#define CONTEXT_TOKENS 8192u

static bool set_context(struct ty_config *c, int to)
{
    const bool can = !is_fixed(c) && scale(&c->layout.data, -to) && scale(&c->layout.context, to);
    c->layout.context_inner = c->layout.context_method == TY_CONTEXT_HYBRID ? 0 : 1;
    return can && (to < 0 || c->arch.sequence / c->layout.context >= CONTEXT_TOKENS);
}

static bool set_context_method(struct ty_config *c, int to)
{
    const bool other = c->layout.context > 1 && c->layout.context_method != to;
    c->layout.context_method = to;
    c->layout.context_inner = 0;
    return other;
}

static bool set_pipeline(struct ty_config *c, int to)
{
    const bool can = !is_fixed(c) && scale(&c->layout.data, -to) && scale(&c->layout.pipeline, to);
    drop_lists(c);
    return can;
}

static bool set_trade(struct ty_config *c, int to)
{
    const bool can =
        !is_fixed(c) && scale(&c->layout.pipeline, -to) && scale(&c->layout.tensor, to);
    share_tokens(c);
    drop_lists(c);
    return can;
}

/* Keeps the numbers given for the schedule before that this schedule has, too. */
static void keep_numbers(struct ty_sched_options *options)
{
    const struct ty_sched *sched = ty_schedules[options->name];
    const uint32_t given = options->chunks;
    if (given > 0 && (sched->chunks > 0 ? given != sched->chunks : given == 1)) {
        options->chunks = 0;
    }
    options->group = sched->grouped ? options->group : 0;
    options->slices = sched->sliced && options->slices > 1 ? options->slices : 0;
}

static bool set_schedule(struct ty_config *c, int to)
{
    if (c->layout.pipeline == 1 || (c->schedule.custom == NULL && c->schedule.name == to)) {
        return false;
    }
    c->schedule.name = to;
    c->schedule.file = NULL;
    c->schedule.custom = NULL;
    keep_numbers(&c->schedule);
    drop_lists(c);
    return true;
}

/* The schedule that holds least without splitting the backward. */
static bool set_1f1b(struct ty_config *c, int to)
{
    int index = 0;
    (void)to;
    return c->schedule.custom == NULL && ty_word_value(ty_sched_words, "1f1b", &index) &&
           set_schedule(c, index);
}

/* Folds two pipelines, each with a replica of the model, into a V of one. */
static bool set_v_for_two_way(struct ty_config *c, int to)
{
    const struct ty_sched *now = ty_sched_of(&c->schedule);
    (void)to;
    for (int i = 0; ty_schedules[i] != NULL && now->placement == TY_PLACE_TWO_WAY; i++) {
        if (ty_schedules[i]->placement == TY_PLACE_V && ty_schedules[i]->pairs == now->pairs) {
            return set_schedule(c, i);
        }
    }
    return false;
}

static bool set_chunks(struct ty_config *c, int to)
{
    uint32_t chunks = ty_sched_chunks(&c->schedule);
    if (is_fixed(c) || ty_sched_of(&c->schedule)->chunks > 0 || !scale(&chunks, to)) {
        return false;
    }
    c->schedule.chunks = chunks;
    drop_lists(c);
    return true;
}

/* ---- framework defaults ---- */

static bool set_flag(bool *flag, int to, bool matters)
{
    const bool other = matters && *flag != (to != 0);
    *flag = other ? to != 0 : *flag;
    return other;
}

/* The same for a default that depends on the pipeline. */
static bool set_habit(struct ty_config *c, int *habit, int to, bool matters)
{
    const bool other = matters && ty_layout_does(&c->layout, *habit) != (to != 0);
    *habit = !other ? *habit : to != 0 ? TY_HABIT_TRUE : TY_HABIT_FALSE;
    return other;
}

static bool shards_states(const struct ty_layout *l)
{
    return l->data > 1 && (l->zero == 1 || l->zero == 2);
}

static bool set_fused_loss(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.fused_loss, to, true);
}

static bool set_overlap_grad_reduce(struct ty_config *c, int to)
{
    return set_habit(c, &c->layout.framework.overlap_grad_reduce, to, c->layout.data > 1);
}

static bool set_overlap_param_gather(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.overlap_param_gather, to, shards_states(&c->layout));
}

static bool set_overlap_tensor_reduce(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.overlap_tensor_reduce, to, c->layout.tensor > 1);
}

static bool set_overlap_tensor_products(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.overlap_tensor_products, to,
                    c->layout.tensor > 1 && c->layout.sequence_parallel &&
                        !ty_layout_is_mesh(&c->layout));
}

static bool set_overlap_p2p(struct ty_config *c, int to)
{
    int *overlap = &c->layout.framework.overlap_p2p;
    const bool does = *overlap == TY_OVERLAP_P2P_AUTO ? ty_sched_chunks(&c->schedule) > 1
                                                      : *overlap == TY_OVERLAP_P2P_TRUE;
    if (c->layout.pipeline == 1 || does == (to != 0)) {
        return false;
    }
    *overlap = to != 0 ? TY_OVERLAP_P2P_TRUE : TY_OVERLAP_P2P_FALSE;
    return true;
}

static bool set_expert_overlap(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.expert_overlap, to, c->layout.expert > 1);
}

static bool set_dispatcher(struct ty_config *c, int to)
{
    int *dispatcher = &c->layout.framework.dispatcher;
    const bool other = c->layout.expert > 1 && *dispatcher != to;
    *dispatcher = other ? to : *dispatcher;
    return other;
}

static bool set_shared_overlap(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.shared_overlap, to,
                    c->layout.expert > 1 && c->arch.shared_ffn > 0);
}

static bool set_overlap_dispatch(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.overlap_dispatch, to, c->layout.expert > 1);
}

static bool set_reduce_scatter(struct ty_config *c, int to)
{
    return set_flag(&c->layout.framework.reduce_scatter, to, shards_states(&c->layout));
}

static bool set_reshard(struct ty_config *c, int to)
{
    return set_habit(c, &c->layout.framework.reshard_after_forward, to, c->layout.zero == 3);
}

static bool set_prefetch(struct ty_config *c, int to)
{
    uint32_t *prefetch = &c->layout.framework.prefetch;
    const bool other =
        c->layout.zero == 3 && to >= 0 && to <= TY_PREFETCH_MAX && *prefetch != (uint32_t)to;
    *prefetch = other ? (uint32_t)to : *prefetch;
    return other;
}

bool ty_change_make(struct ty_config *c, enum ty_change_kind kind, int to)
{
    static bool (*const make[])(struct ty_config * c, int to) = {
#define X(id, function) [TY_CHANGE_##id] = set_##function,
        TY_CHANGES(X)
#undef X
    };
    return make[kind](c, to);
}

/* ---- what to type ---- */

/* The sections that changes are in, and the struct that each fills. */
static const struct {
    enum ty_section_index section;
    size_t at;
} filled[] = {
    {TY_SECTION_MODEL, offsetof(struct ty_config, arch)},
    {TY_SECTION_LAYOUT, offsetof(struct ty_config, layout)},
    {TY_SECTION_FRAMEWORK, offsetof(struct ty_config, layout.framework)},
    {TY_SECTION_SCHEDULE, offsetof(struct ty_config, schedule)},
};

static int add(struct ty_change *change, const char *key, const char *to, const char *was,
               struct ty_arena *arena)
{
    if (change->n == TY_CHANGE_SETS) {
        return TY_EBUG;
    }
    change->set[change->n] = ty_arena_printf(arena, "%s=%s", key, to);
    change->was[change->n] = ty_arena_strndup(arena, was, strlen(was));
    const bool kept = change->set[change->n] != NULL && change->was[change->n] != NULL;
    change->n += kept;
    return kept ? 0 : TY_ENOMEM;
}

/* `derived`: the user did not give the value before. */
static int note_field(struct ty_change *change, const struct ty_section *before,
                      const struct ty_section *after, const struct ty_field *field, bool derived,
                      struct ty_arena *arena)
{
    char was[TY_CONFIG_VALUE], is[TY_CONFIG_VALUE], key[96];
    ty_field_format(before, field, was, sizeof(was));
    ty_field_format(after, field, is, sizeof(is));
    (void)snprintf(key, sizeof(key), "%s.%s", before->name, field->key);
    const bool again = derived && ty_field_is_blank(after, field); /* it will be derived again */
    return again || strcmp(was, is) == 0 || strcmp(key, "layout.data") == 0
               ? 0
               : add(change, key, is, was, arena);
}

int ty_change_note(struct ty_change *change, struct ty_config *before, struct ty_config *after,
                   struct ty_arena *arena)
{
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(filled); i++) {
        struct ty_section a = before->sections[filled[i].section], b = a;
        a.base = (char *)before + filled[i].at;
        b.base = (char *)after + filled[i].at;
        for (uint32_t k = 0; k < a.n_fields && rc == 0; k++) {
            const bool derived = before->was_blank[filled[i].section][k];
            rc = note_field(change, &a, &b, &a.fields[k], derived, arena);
        }
    }
    return rc;
}

void ty_change_put(struct ty_text *text, const char *set)
{
    const char *const quote = strpbrk(set, " []'\"*?$&;()<>|\\~#") != NULL ? "'" : "";
    ty_text_add(text, "%s%s%s", quote, set, quote);
}

static bool was_auto(const struct ty_config *original, const char *key)
{
    const struct ty_section *layout = &original->sections[TY_SECTION_LAYOUT];
    return original->was_blank[TY_SECTION_LAYOUT][ty_section_field(layout, key) - layout->fields];
}

/* Keeps the framework: where none is named, another ZeRO stage may imply another one. */
static int note_framework(struct ty_change *change, const struct ty_config *original,
                          const struct ty_config *c, struct ty_arena *arena)
{
    const char *const stack = c->layout.framework.preset;
    const bool given = ty_check_given(&original->sections[TY_SECTION_FRAMEWORK], "preset");
    return given || strcmp(stack, ty_offload_framework(c->layout.offload, c->layout.zero)) == 0
               ? 0
               : add(change, "framework.preset", stack, stack, arena);
}

static int note_data(struct ty_change *change, const struct ty_config *original,
                     const struct ty_config *c, struct ty_arena *arena)
{
    char to[16], was[16];
    (void)snprintf(to, sizeof(to), "%u", (unsigned)c->layout.data);
    (void)snprintf(was, sizeof(was), "%u", (unsigned)original->layout.data);
    return c->layout.data == original->layout.data || was_auto(original, "data")
               ? 0
               : add(change, "layout.data", to, was, arena);
}

int ty_change_finish(struct ty_change *change, const struct ty_config *original,
                     struct ty_config *c, struct ty_arena *arena, struct ty_err *why)
{
    int rc = note_framework(change, original, c, arena);
    if (rc == 0) {
        rc = note_data(change, original, c, arena);
    }
    if (was_auto(original, "shard") && c->layout.shard == original->layout.shard) {
        c->layout.shard = 0; /* to be derived again */
    }
    c->schedule.slices = ty_sched_slices(&c->schedule);
    c->schedule.overlaps = c->layout.framework.expert_overlap;
    c->layout.ends_together = ty_sched_of(&c->schedule)->placement != TY_PLACE_LOOPED;
    const struct ty_section *section = &original->sections[TY_SECTION_LAYOUT];
    if (rc == 0) {
        rc = ty_layout_finish(&c->layout, section, &c->arch, &c->cluster,
                              ty_sched_chunks(&c->schedule), why);
    }
    if (rc == 0) {
        rc = ty_layout_check_slices(&c->layout, section, &c->arch, c->schedule.slices, why);
    }
    const struct ty_section *schedule = &original->sections[TY_SECTION_SCHEDULE];
    c->schedule.updates_away = c->layout.home.optimizer != TY_HOME_GPU;
    if (rc == 0 && c->schedule.custom != NULL) {
        return ty_sched_check_updates(&c->schedule, schedule, why);
    }
    return rc < 0 ? rc
                  : ty_sched_finish(&c->schedule, schedule, c->layout.pipeline,
                                    c->layout.micro_batches, c->arch.sequence, why);
}
