/* trial.h - variants of a plan, executed concurrently for their figures. */
#ifndef TY_SEARCH_TRIAL_H
#define TY_SEARCH_TRIAL_H

#include "sim/run/bill.h"

struct ty_trial {
    struct ty_config config; /* complete: ty_trial_config, then changed */
    int rc;                  /* 0, or why it could not be planned or executed */
    double step_s, tokens_per_s, bubble;
    double compute_s, tensor_s; /* of a GPU and step, mean: computing, waiting for tensor ranks */
    double peak_B, capacity_B;  /* of the stage that needs most of its GPUs' memory */
    enum ty_verdict verdict;
    double held; /* most micro-batches' worth of activations that a GPU holds */
};

/* Returns the configuration of an executed run for trials, with the engine that executed it. */
struct ty_config ty_trial_config(const struct ty_run *run);

/* Disables what makes members of a gang differ by chance (jitter, spread of GPUs, slow hosts,
 * uneven routing) if trials of all members of a plan of so many tasks would take too long. Returns
 * whether it did. */
bool ty_trial_disable_noise(struct ty_config *config, double tasks);

/* Executes a configuration, other jobs included, for the seconds of a step. Returns a negative code
 * if it cannot be planned or executed. */
int ty_trial_step(const struct ty_config *config, double *step_s);

/* Executes *trial[n] on run->threads threads, one member of each gang where members cannot differ.
 * A trial that cannot be planned or executed notes that in its rc. Returns 0, TY_ENOMEM, or a
 * failure of a trial that is a bug of ours (TY_EBUG, TY_EDEADLOCK). */
int ty_trials_execute(const struct ty_run *run, struct ty_trial *const *trial, uint32_t n,
                      struct ty_err *err);

#endif
