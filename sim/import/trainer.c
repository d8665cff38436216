/* trainer.c - see trainer.h. */
#include "sim/import/trainer.h"

#include <string.h>

uint32_t ty_trainer_replicas(const struct ty_draft *d)
{
    const uint32_t gpus = ty_words_gpus(d);
    const uint64_t each = (uint64_t)ty_draft_count(d, "layout.tensor", 1) *
                          ty_draft_count(d, "layout.context", 1) *
                          ty_draft_count(d, "layout.pipeline", 1);
    return each > 0 && gpus % each == 0 ? (uint32_t)(gpus / each) : 0;
}

void ty_trainer_batch(struct ty_draft *d, uint32_t accumulation, struct ty_flags *script)
{
    static const char micro_name[] = "PER_DEVICE_TRAIN_BATCH_SIZE";
    static const char flag[] = "--per-device-train-batch-size";
    static const char steps_name[] = "GRADIENT_ACCUMULATION_STEPS";
    static const struct ty_draft_from guess = {.word = "guess"};
    const bool flagged = script != NULL && ty_flags_has(script, flag);
    const struct ty_draft_from said =
        ty_draft_env(d, micro_name) == NULL && flagged
            ? ty_flags_from(script, flag, "")
            : (struct ty_draft_from){.word = ty_draft_text(d, "--env %s", micro_name)};
    const uint32_t given =
        ty_words_env(d, micro_name, flagged ? ty_flags_count(script, flag, 0) : 0);
    const uint32_t micro = given > 0 ? given : 1;
    const uint32_t steps = ty_words_env(d, steps_name, accumulation > 0 ? accumulation : 1);
    const uint64_t batch = (uint64_t)micro * steps * ty_trainer_replicas(d);
    ty_draft_set(d, "layout.micro_batch", given > 0 ? &said : &guess, "%u", (unsigned)micro);
    if (batch > 0) {
        ty_draft_set(d, "layout.global_batch", given > 0 ? &said : &guess, "%llu",
                     (unsigned long long)batch);
        ty_draft_explain(d, "layout.global_batch", "%u times on each of %u replicas",
                         (unsigned)steps, (unsigned)ty_trainer_replicas(d));
    }
    if (given == 0) {
        ty_draft_remark(
            d, &guess, "no file says the batch: 1 sequence a GPU; --env %s=N and --env %s=N say it",
            micro_name, steps_name);
    }
    const struct ty_draft_fact *sequence = ty_draft_get(d, "model.sequence");
    if (sequence != NULL && strcmp(sequence->from.word, guess.word) == 0) {
        ty_draft_remark(d, &guess,
                        "no file says how long sequences are: %s tokens; --env SEQ_LENGTH=N says "
                        "it",
                        sequence->value);
    }
}
