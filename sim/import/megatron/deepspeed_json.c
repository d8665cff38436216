/* deepspeed_json.c - see deepspeed.h. JSON is read as YAML, which takes the bare words of templates
 * (GBSIZE, ZERO_STAGE) for texts: where a number belongs they are not known. */
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/import/flag_rows.h"
#include "sim/import/megatron/deepspeed.h"

/* A value that is there and known; else why it is not. */
struct value {
    const struct ty_node *node; /* NULL: it is not there */
    struct ty_draft_from from;
    const char *doubt; /* NULL: it is known */
};

/* The mark of the byte at a place of the text that a script wrote; NULL: it is a file. */
static const struct ty_shell_mark *mark_at(const struct ty_deepspeed *j, uint32_t line,
                                           uint32_t col)
{
    uint32_t at = 0;
    for (uint32_t l = 1; j->text != NULL && at < j->text->len; at++) {
        if (l == line) {
            at += col - 1;
            break;
        }
        l += j->text->bytes[at] == '\n';
    }
    return j->text != NULL && at < j->text->len ? &j->text->marks[at] : NULL;
}

static struct ty_place place_of(const struct ty_deepspeed *j, const struct ty_node *node)
{
    const struct ty_shell_mark *mark = mark_at(j, node->line, node->col);
    return mark != NULL && mark->line > 0 ? ty_shell_place(j->shell, *mark)
                                          : ty_node_place(&j->doc, node);
}

static struct ty_draft_from from_of(const struct ty_deepspeed *j, const struct ty_node *node,
                                    const char *word)
{
    struct ty_draft_from from = {.word = word, .at = place_of(j, node)};
    if (j->text != NULL && from.at.source == j->doc.source) {
        from.at.source = NULL;
    }
    return from;
}

/* "zero_optimization.stage": the value behind up to two keys. */
static struct value find(const struct ty_deepspeed *j, const char *section, const char *key)
{
    const struct ty_node *map = j->doc.root;
    if (section != NULL) {
        map = ty_node_child(map, section);
    }
    struct value v = {.node = map != NULL ? ty_node_child(map, key) : NULL};
    if (v.node == NULL || v.node->kind == TY_NODE_LIST) {
        v.node = NULL;
        return v;
    }
    v.from =
        from_of(j, v.node, section != NULL ? ty_draft_text(j->draft, "%s.%s", section, key) : key);
    if (v.node->kind == TY_NODE_MAP) {
        return v;
    }
    const struct ty_shell_mark *mark = mark_at(j, v.node->line, v.node->col);
    if (mark != NULL && mark->doubt != 0) {
        v.doubt = j->shell->doubts[mark->doubt].why;
    } else if (strcmp(v.node->text, "auto") == 0) {
        v.doubt = "auto is filled in by whoever trains";
    }
    return v;
}

/* A number; false: it is not there, or not known, which is remarked. */
static bool number_of(const struct ty_deepspeed *j, const char *section, const char *key,
                      double *number)
{
    const struct value v = find(j, section, key);
    char *end = NULL;
    if (v.node == NULL || v.node->kind != TY_NODE_SCALAR) {
        return false;
    }
    *number = ty_strtod(v.node->text, &end);
    if (v.doubt != NULL || end == v.node->text || *end != '\0') {
        ty_draft_remark(j->draft, &v.from, "%s: %s", v.node->text,
                        v.doubt != NULL ? v.doubt : "no number; a script may fill it in");
        return false;
    }
    return true;
}

static bool is_true(const struct ty_deepspeed *j, const char *section, const char *key)
{
    const struct value v = find(j, section, key);
    if (v.node != NULL && v.doubt != NULL) {
        ty_draft_remark(j->draft, &v.from, "%s: %s", v.node->text, v.doubt);
    }
    return v.node != NULL && v.doubt == NULL && v.node->kind == TY_NODE_SCALAR &&
           (strcmp(v.node->text, "true") == 0 || strcmp(v.node->text, "True") == 0);
}

static void set(const struct ty_deepspeed *j, const char *key, const char *section,
                const char *name, const char *value)
{
    const struct value v = find(j, section, name);
    const struct ty_draft_from rule = {.word = "default of DeepSpeed"};
    ty_draft_set(j->draft, key, v.node != NULL ? &v.from : &rule, "%s", value);
}

void ty_deepspeed_open(struct ty_deepspeed *j)
{
    const char *text = j->text != NULL ? ty_shell_string(j->text) : j->plain;
    if (j->file == NULL || text == NULL) {
        return;
    }
    const int rc =
        ty_doc_parse(&j->doc, j->draft->arena, j->file, text, strlen(text), j->draft->err);
    if (rc < 0) {
        j->draft->code = j->draft->code < 0 ? j->draft->code : rc;
        j->doc.root = NULL;
    } else if (j->doc.root == NULL || j->doc.root->kind != TY_NODE_MAP) {
        const struct ty_draft_from from = {.word = j->file};
        ty_draft_refuse(j->draft, &from,
                        "no mapping; DeepSpeed's JSON has keys such as "
                        "train_batch_size");
        j->doc.root = NULL;
    }
}

/* ---- the batch ---- */

static void put_flag(struct ty_deepspeed *j, const char *flag, const char *key, double value)
{
    const struct ty_flag *given = ty_flags_find(j->flags, flag);
    const struct value v = find(j, NULL, key);
    if (given == NULL) {
        const struct ty_draft_from from = v.from;
        ty_flags_add(j->flags, flag, &from.at, NULL);
        j->flags->item[j->flags->n - 1].from.word = key;
        ty_flags_value(j->flags, ty_draft_text(j->draft, "%.0f", value), NULL);
        return;
    }
    char *end = NULL;
    if (given->n_values > 0 && given->values[0].doubt == NULL && v.node != NULL &&
        ty_strtod(given->values[0].text, &end) != value && *end == '\0') {
        ty_draft_refuse(j->draft, &v.from, "%.0f contradicts %s %s", value, flag,
                        given->values[0].text);
    }
}

void ty_deepspeed_batch(struct ty_deepspeed *j)
{
    double batch = 0, micro = 0, steps = 0;
    if (j->doc.root == NULL || j->draft->code < 0) {
        return;
    }
    const bool has_batch = number_of(j, NULL, "train_batch_size", &batch);
    const bool has_micro = number_of(j, NULL, "train_micro_batch_size_per_gpu", &micro);
    const bool has_steps = number_of(j, NULL, "gradient_accumulation_steps", &steps);
    if (has_batch) {
        put_flag(j, "--global-batch-size", "train_batch_size", batch);
    }
    if (has_micro) {
        put_flag(j, "--micro-batch-size", "train_micro_batch_size_per_gpu", micro);
    }
    if (has_steps) {
        put_flag(j, TY_DEEPSPEED_STEPS, "gradient_accumulation_steps", steps);
    }
}

/* ---- zero_optimization ---- */

static void import_offload(const struct ty_deepspeed *j, const char *section, const char *key)
{
    const struct ty_node *zero = ty_node_child(j->doc.root, "zero_optimization");
    const struct ty_node *map = ty_node_child(zero, section);
    const struct ty_node *device = ty_node_child(map, "device");
    const struct ty_node *ratio = ty_node_child(map, "ratio");
    if (device == NULL || device->kind != TY_NODE_SCALAR || strcmp(device->text, "none") == 0) {
        return;
    }
    const struct ty_draft_from from =
        from_of(j, device, ty_draft_text(j->draft, "%s.device", section));
    ty_draft_set(j->draft, key, &from, "%s", device->text);
    if (ratio != NULL && ratio->kind == TY_NODE_SCALAR) {
        const struct ty_draft_from share = from_of(j, ratio, "offload_optimizer.ratio");
        ty_draft_set(j->draft, "layout.offload_share", &share, "%s", ratio->text);
    }
}

static void import_sharing(struct ty_deepspeed *j, const char *zero)
{
    static const struct {
        const char *key, *note;
    } no_key[] = {
        {"zero_hpz_partition_size", "a second shard inside the node is not known"},
        {"zero_quantized_weights", "weights are gathered in 16 bits"},
        {"zero_quantized_gradients", "gradients are reduced in 16 or 32 bits"},
        {"stage3_param_persistence_threshold", "small tensors are shared like others"},
        {"stage3_prefetch_bucket_size", "units are gathered ahead as framework.prefetch says"},
        {"stage3_max_live_parameters", "units live as framework.prefetch says"},
        {"stage3_max_reuse_distance", "units live as framework.prefetch says"},
    };
    double number = 0;
    if (number_of(j, zero, "mics_shard_size", &number) && number > 0) {
        set(j, "layout.shard", zero, "mics_shard_size", ty_draft_text(j->draft, "%.0f", number));
    }
    for (size_t i = 0; i < TY_COUNT(no_key); i++) {
        const struct value v = find(j, zero, no_key[i].key);
        if (v.node != NULL && v.node->kind == TY_NODE_SCALAR &&
            strcmp(v.node->text, "false") != 0 && strcmp(v.node->text, "1") != 0) {
            ty_draft_remark(j->draft, &v.from, "%s: %s", v.node->text, no_key[i].note);
        }
    }
    if (is_true(j, zero, "cpu_offload")) {
        set(j, "layout.offload_optimizer", zero, "cpu_offload", "cpu");
    }
    import_offload(j, "offload_optimizer", "layout.offload_optimizer");
    import_offload(j, "offload_param", "layout.offload_parameters");
}

static void import_zero(struct ty_deepspeed *j)
{
    static const char zero[] = "zero_optimization";
    double stage = 0, bucket = 0;
    const bool known = number_of(j, zero, "stage", &stage);
    const struct value v = find(j, zero, "stage");
    if (known && (stage < 0 || stage > 3)) {
        ty_draft_refuse(j->draft, &v.from, "%g is no stage; write 0 to 3", stage);
        return;
    }
    if (known) {
        set(j, "layout.zero", zero, "stage", ty_draft_text(j->draft, "%.0f", stage));
    } else if (v.node == NULL && ty_draft_get(j->draft, "layout.zero") == NULL) {
        set(j, "layout.zero", zero, "stage", "0");
    }
    const bool asked = find(j, zero, "overlap_comm").node != NULL;
    if (ty_draft_is(j->draft, "layout.zero", "0")) {
        return; /* the rest is of stages from 1 */
    }
    set(j, "framework.overlap_grad_reduce", zero, "overlap_comm",
        (asked ? is_true(j, zero, "overlap_comm") : stage == 3) ? "true" : "false");
    if (number_of(j, zero, "reduce_bucket_size", &bucket) && bucket > 0) {
        set(j, "framework.bucket", zero, "reduce_bucket_size",
            ty_draft_text(j->draft, "%.0f B", 2 * bucket));
    }
    if (find(j, zero, "reduce_scatter").node != NULL) {
        set(j, "framework.reduce_scatter", zero, "reduce_scatter",
            is_true(j, zero, "reduce_scatter") ? "true" : "false");
    }
    import_sharing(j, zero);
}

/* ---- types ---- */

static void import_types(struct ty_deepspeed *j)
{
    static const struct {
        const char *section, *type;
    } types[] = {{"fp16", "fp16"}, {"bf16", "bf16"}, {"bfloat16", "bf16"}};
    for (size_t i = 0; i < TY_COUNT(types); i++) {
        if (!is_true(j, types[i].section, "enabled") ||
            ty_draft_is(j->draft, "model.dtype", "fp8")) {
            continue;
        }
        const struct ty_draft_fact *flag = ty_draft_get(j->draft, "model.dtype");
        if (flag != NULL && flag->from.at.line > 0 && strcmp(flag->value, types[i].type) != 0) {
            const struct value v = find(j, types[i].section, "enabled");
            ty_draft_refuse(j->draft, &v.from, "it contradicts %s", flag->from.word);
            continue;
        }
        set(j, "model.dtype", types[i].section, "enabled", types[i].type);
    }
    const struct value wire = find(j, NULL, "communication_data_type");
    if (wire.node != NULL && wire.doubt == NULL) {
        set(j, "framework.reduce_dtype", NULL, "communication_data_type",
            strcmp(wire.node->text, "fp32") == 0 ? "fp32" : "model");
    }
    const struct value kept = find(j, "data_types", "grad_accum_dtype");
    if (kept.node != NULL && kept.doubt == NULL) {
        set(j, "framework.grad_dtype", "data_types", "grad_accum_dtype",
            strcmp(kept.node->text, "fp32") == 0 ? "fp32" : "model");
    }
    /* its optimizer for bf16 keeps one 32-bit copy for all replicas, whatever the stage */
    if (ty_draft_is(j->draft, "model.dtype", "bf16") && ty_draft_is(j->draft, "layout.zero", "0")) {
        const struct ty_draft_fact *stage = ty_draft_get(j->draft, "layout.zero");
        ty_draft_remark(j->draft, &stage->from,
                        "with bf16 its optimizer shares its state all the same: memory and traffic "
                        "are those of layout.zero=1");
    }
}

/* ---- words ---- */

static void note_words(struct ty_deepspeed *j)
{
    static const struct ty_flag_row rows[] = {
        TAKEN("train_batch_size"),
        TAKEN("train_micro_batch_size_per_gpu"),
        TAKEN("gradient_accumulation_steps"),
        TAKEN("zero_optimization"),
        TAKEN("fp16"),
        TAKEN("bf16"),
        TAKEN("bfloat16"),
        TAKEN("communication_data_type"),
        TAKEN("data_types"),
        NO_KEY(
            "activation_checkpointing",
            "how checkpoints are kept is not told apart; whether there are any is a flag's to say"),
        NO_KEY("sparse_attention", "attention is over all tokens before"),
        NO_KEY("aio", "drives are as fast as cluster.nvme says"),
        IDLE("optimizer"),
        IDLE("scheduler"),
        IDLE("gradient_clipping"),
        IDLE("prescale_gradients"),
        IDLE("gradient_predivide_factor"),
        IDLE("steps_per_print"),
        IDLE("wall_clock_breakdown"),
        IDLE("dump_state"),
        IDLE("zero_allow_untested_optimizer"),
        IDLE("zero_force_ds_cpu_optimizer"),
        IDLE("flops_profiler"),
        IDLE("comms_logger"),
        IDLE("tensorboard"),
        IDLE("wandb"),
        IDLE("csv_monitor"),
        IDLE("monitor_config"),
        IDLE("curriculum_learning"),
        IDLE("data_efficiency"),
        IDLE("checkpoint"),
        IDLE("elasticity"),
        IDLE("seed"),
        LAST,
    };
    for (const struct ty_node *node = j->doc.root->first; node != NULL; node = node->next) {
        const struct ty_flag_row *row = ty_flags_row(rows, node->key);
        const struct ty_draft_from from = from_of(j, node, node->key);
        if (row == NULL) {
            ty_draft_unknown(j->draft, &from, node->kind == TY_NODE_SCALAR ? node->text : "");
        } else if (row->use == TY_FLAG_IDLE) {
            ty_draft_idle(j->draft, &from);
        } else if (row->use == TY_FLAG_NO_KEY) {
            ty_draft_remark(j->draft, &from, "%s", row->note);
        }
    }
}

void ty_deepspeed_import(struct ty_deepspeed *j)
{
    if (j->doc.root == NULL || j->draft->code < 0) {
        return;
    }
    import_zero(j);
    import_types(j);
    note_words(j);
    if (ty_draft_get(j->draft, "model.layers") == NULL) { /* half a job */
        ty_flags_set_count(j->flags, "--micro-batch-size", "layout.micro_batch");
        ty_flags_set_count(j->flags, "--global-batch-size", "layout.global_batch");
    }
}
