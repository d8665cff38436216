/* trial.h - variants of a plan, executed beside each other for their figures. */
#ifndef TY_SEARCH_TRIAL_H
#define TY_SEARCH_TRIAL_H

#include "sim/run/bill.h"

struct ty_trial {
    struct ty_config config; /* complete; of ty_trial_config, then altered */
    int rc;                  /* 0; why it could not be planned or executed */
    double step_s, tokens_per_s, bubble;
    double compute_s, tensor_s; /* of a GPU and step, mean: computing, waiting for tensor ranks */
    double peak_B, capacity_B;  /* of the stage that needs most of its GPUs' memory */
    enum ty_verdict verdict;
    double held; /* most micro-batches' worth of activations that a GPU holds */
};

/* The configuration of an executed run for trials: with what it was executed with, where the
 * command line chose that. */
struct ty_config ty_trial_config(const struct ty_run *run);

/* Takes from a plan of so many tasks what makes members of a gang differ by chance, jitter, spread
 * of GPUs and uneven routing, where trials of all members would take too long. Whether it did. */
bool ty_trial_disable_noise(struct ty_config *config, double tasks);

/* Seconds of a step of a configuration, other jobs included. Negative where it cannot be planned or
 * executed. */
int ty_trial_step(const struct ty_config *config, double *step_s);

/* Executes *trial[n] on run->threads threads, one member of each gang where members cannot differ.
 * What cannot be planned or executed says so in its rc; TY_ENOMEM, or what stopped one of them that
 * is a mistake of ours (TY_EBUG, TY_EDEADLOCK). */
int ty_trials_execute(const struct ty_run *run, struct ty_trial *const *trial, uint32_t n,
                      struct ty_err *err);

#endif
