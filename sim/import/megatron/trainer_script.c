/* trainer_script.c - see trainer_script.h. Source: memory of TrainingArguments of transformers and
 * of its example scripts. */
#include "sim/import/megatron/trainer_script.h"

#include <string.h>
#include <strings.h>

#include "sim/import/flag_rows.h"
#include "sim/import/megatron/carriers.h"
#include "sim/import/megatron/megatron.h"
#include "sim/import/words.h"

static const char *const lengths[] = {"--block-size",  "--max-seq-length", "--max-seq-len",
                                      "--max-length",  "--cutoff-len",     "--model-max-length",
                                      "--sequence-len"};

static const struct ty_flag_row rows[] = {
    TAKEN("--per-device-train-batch-size"),
    TAKEN("--gradient-accumulation-steps"),
    TAKEN("--gradient-checkpointing"),
    TAKEN("--block-size"),
    TAKEN("--max-seq-length"),
    TAKEN("--max-seq-len"),
    TAKEN("--max-length"),
    TAKEN("--cutoff-len"),
    TAKEN("--model-max-length"),
    TAKEN("--sequence-len"),
    TAKEN("--bf16"),
    TAKEN("--fp16"),
    TAKEN("--mixed-precision"),
    TAKEN("--deepspeed"),
    TAKEN("--deepspeed-config-file"),
    TAKEN("--fsdp"),
    IDLE("--fsdp-config"),
    IDLE("--use-deepspeed"),
    IDLE("--config-file"),
    TAKEN("--num-processes"),
    TAKEN("--num-machines"),
    TAKEN("--nproc-per-node"),
    TAKEN("--nnodes"),
    TAKEN("--num-gpus"),
    TAKEN("--num-nodes"),
    NO_KEY("--use-peft", "adapters are not known: all weights are trained here"),
    NO_KEY("--use-lora", "adapters are not known: all weights are trained here"),
    NO_KEY("--lora-*", "adapters are not known: all weights are trained here"),
    NO_KEY("--load-in-*", "weights in 4 or 8 bits are not known"),
    NO_KEY("--optim", "states and update are those of Adam, in 32 bits"),
    NO_KEY("--packing", "documents in a sequence do not shorten attention here"),
    NO_KEY("--torch-compile", "the compiler fuses kernels of its choice"),
    NO_KEY("--attn-implementation", "say the kernel by model.attention"),
    IDLE("--model-name-or-path"),
    IDLE("--config-name"),
    IDLE("--tokenizer-name"),
    IDLE("--dataset-*"),
    IDLE("--train-file"),
    IDLE("--validation-*"),
    IDLE("--output-dir"),
    IDLE("--overwrite-*"),
    IDLE("--do-*"),
    IDLE("--num-train-epochs"),
    IDLE("--max-steps"),
    IDLE("--learning-rate"),
    IDLE("--warmup-*"),
    IDLE("--adam-*"),
    IDLE("--max-grad-norm"),
    IDLE("--logging-*"),
    IDLE("--evaluation-*"),
    IDLE("--eval-*"),
    IDLE("--per-device-eval-batch-size"),
    IDLE("--report-to"),
    IDLE("--run-name"),
    IDLE("--preprocessing-*"),
    IDLE("--dataloader-*"),
    IDLE("--torch-dtype"),
    IDLE("--trust-remote-code"),
    IDLE("--use-fast-tokenizer"),
    IDLE("--low-cpu-mem-usage"),
    IDLE("--remove-unused-columns"),
    IDLE("--group-by-length"),
    IDLE("--ddp-timeout"),
    IDLE("--push-to-hub"),
    IDLE("--hub-*"),
    IDLE("--tf32"),
    LAST,
};

/* Whether a flag is there, and not as "--bf16 False". */
static bool is_on(struct ty_flags *flags, const char *name)
{
    const struct ty_flag *flag = ty_flags_get(flags, name);
    return flag != NULL && (flag->n_values == 0 || ty_words_truth(flag->values[0].text) != 0);
}

/* A word of the YAML, unless that has it. */
static void put(struct ty_flags *words, const char *word, struct ty_flags *flags, const char *flag,
                const char *value)
{
    const struct ty_draft_from from = ty_flags_from(flags, flag, "the script");
    const uint32_t before = words->n;
    if (ty_flags_find(words, word) != NULL || value == NULL) {
        return;
    }
    ty_flags_put(words, word, &from, NULL);
    if (words->n > before) {
        ty_flags_value(words, value, NULL);
    }
}

/* --fsdp "full_shard auto_wrap offload". */
static void put_fsdp(struct ty_flags *flags, struct ty_flags *words)
{
    static const char *const ways[] = {"full_shard", "shard_grad_op", "no_shard",
                                       "hybrid_shard_zero2", "hybrid_shard"};
    const struct ty_flag *flag = ty_flags_get(flags, "--fsdp");
    const char *text = "";
    for (uint32_t i = 0; flag != NULL && i < flag->n_values; i++) {
        text = ty_draft_text(flags->draft, "%s %s", text, flag->values[i].text);
    }
    if (text[0] == '\0') {
        return;
    }
    put(words, "distributed_type", flags, "--fsdp", "FSDP");
    for (size_t i = 0; i < TY_COUNT(ways); i++) {
        if (strstr(text, ways[i]) != NULL) {
            put(words, "fsdp_config.fsdp_sharding_strategy", flags, "--fsdp", ways[i]);
            break;
        }
    }
    if (strstr(text, "offload") != NULL) {
        put(words, "fsdp_config.fsdp_offload_params", flags, "--fsdp", "true");
    }
}

void ty_trainer_script(struct ty_draft *d, const struct ty_draft_file *file, struct ty_flags *flags,
                       struct ty_flags *words)
{
    static const char *const json[] = {"--deepspeed", "--deepspeed-config-file"};
    struct ty_shell sh = {.draft = d};
    ty_carriers_script(d, file, rows, "the Trainer, such as --per_device_train_batch_size", &sh,
                       flags);
    if (d->code < 0) {
        return;
    }
    struct ty_megatron launched = {.draft = d, .flags = *flags};
    ty_megatron_world(&launched);
    ty_carriers_variables(d, &sh);
    for (size_t i = 0; i < TY_COUNT(json); i++) {
        const char *path = ty_flags_text(flags, json[i], NULL);
        if (path != NULL) {
            put(words, "distributed_type", flags, json[i], "DEEPSPEED");
            put(words, "deepspeed_config.deepspeed_config_file", flags, json[i], path);
        }
    }
    put_fsdp(flags, words);
    put(words, "distributed_type", flags, "--nproc-per-node", "MULTI_GPU");
    put(words, "mixed_precision", flags, "--mixed-precision",
        ty_flags_text(flags, "--mixed-precision", NULL));
    put(words, "mixed_precision", flags, "--bf16", is_on(flags, "--bf16") ? "bf16" : NULL);
    put(words, "mixed_precision", flags, "--fp16", is_on(flags, "--fp16") ? "fp16" : NULL);
    put(words, "gradient_accumulation_steps", flags, "--gradient-accumulation-steps",
        ty_flags_text(flags, "--gradient-accumulation-steps", NULL));
}

void ty_trainer_flags(struct ty_flags *flags)
{
    struct ty_draft *d = flags->draft;
    for (size_t i = 0; i < TY_COUNT(lengths); i++) {
        if (ty_flags_has(flags, lengths[i]) && ty_draft_env(d, "SEQ_LENGTH") == NULL) {
            ty_flags_set_count(flags, lengths[i], "model.sequence");
        }
    }
    if (is_on(flags, "--gradient-checkpointing")) {
        const struct ty_draft_from from = ty_flags_from(flags, "--gradient-checkpointing", "");
        ty_draft_set(d, "layout.recompute", &from, "full");
    }
    ty_flags_apply(flags, rows, ty_megatron_idle_rows);
}
