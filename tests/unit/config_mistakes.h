/* config_mistakes.h - wrong run files and settings, and what is said about each: a row a
 * mistake. */
#ifndef TY_TESTS_CONFIG_MISTAKES_H
#define TY_TESTS_CONFIG_MISTAKES_H

#include "sim/base/err.h"

/* Correct sections, to build files of. */
#define CLUSTER "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
#define MODEL   "model: {preset: llama-30b}\n"
#define LAYOUT  "layout: {tensor: 4, global_batch: 64}\n"

/* A file, one --set or NULL, the code, and all that is said. */
static const struct {
    const char *text, *set;
    int code;
    const char *message;
} wrong[] = {
    {"", NULL, TY_EINPUT,
     "run.yaml: an empty file; write at least the sections cluster, model and layout"},
    {"- cluster\n", NULL, TY_EINPUT,
     "run.yaml:1:1: a list where sections are due; write \"cluster:\", \"model:\", \"layout:\" and "
     "keys below each\n    - cluster\n    ^"},
    {"cluster\n", NULL, TY_EINPUT,
     "run.yaml:1:1: one value where sections are due; write \"cluster:\", \"model:\", \"layout:\" "
     "and keys below each\n    cluster\n    ^"},
    {CLUSTER "modell: {preset: llama-30b}\n" LAYOUT, NULL, TY_EINPUT,
     "run.yaml:2:1: modell: unknown section; write one of cluster, fabric, model, layout, "
     "framework, "
     "schedule, workload, run, fleet, uncertainty, measured, output, jobs; hint: did you mean "
     "\"model\"?\n   "
     " modell: "
     "{preset: "
     "llama-30b}\n    "
     "^"},
    {CLUSTER LAYOUT, NULL, TY_EINPUT,
     "run.yaml: model: layers, hidden, heads and vocabulary are missing; write them, or a preset "
     "(\"trainyard list models\" shows all)"},
    {"traceEvents: []\n", NULL, TY_EINPUT,
     "run.yaml: a trace, not a run file; \"trainyard import kineto\" and \"trainyard diff\" read "
     "those of PyTorch"},
    {CLUSTER MODEL LAYOUT "output: {trace: [csv:a, chrom:b]}\n", NULL, TY_EINPUT,
     "run.yaml:4:25: output.trace: chrom:b: unknown format (chrom); write one of chrome, perfetto, "
     "kineto, csv, gantt, svg, digest\nhint: did you mean \"chrome\"?\n"
     "    output: {trace: [csv:a, chrom:b]}\n                            ^"},
    {CLUSTER MODEL LAYOUT "schedule: {name: 1f1b, chunks: 2}\n", NULL, TY_EINPUT,
     "run.yaml:4:32: schedule.chunks: 1f1b: 2 virtual stages per rank; it has exactly 1\n"
     "    schedule: {name: 1f1b, chunks: 2}\n                                   ^"},
    {CLUSTER
     "model: {preset: llama-30b, experts: 8, experts_per_token: 2, block: parallel}\n" LAYOUT,
     NULL, TY_EINPUT,
     "run.yaml:2:69: model.block: parallel: supported only for attention beside a dense "
     "MLP, and these layers have experts; write serial\n    model: {preset: llama-30b, experts: 8, "
     "experts_per_token: 2, "
     "block: parallel}\n"
     "                                                                        ^"},
    {CLUSTER MODEL LAYOUT "x: 1\n", NULL, TY_EINPUT,
     "run.yaml:4:1: x: unknown section; write one of cluster, fabric, model, layout, framework, "
     "schedule, workload, run, fleet, uncertainty, measured, output, jobs\n    x: 1\n    ^"},
    {CLUSTER MODEL LAYOUT "run: 7\n", NULL, TY_EINPUT,
     "run.yaml:4:6: run: one value where a mapping is due; write \"key: value\" lines below it\n"
     "    run: 7\n         ^"},
    {"cluster: {preset: dgx-a100, nodes: 2}\n" MODEL LAYOUT, NULL, TY_EINPUT,
     "run.yaml:1:19: cluster.preset: unknown preset (dgx-a100); \"trainyard list clusters\" shows "
     "all; hint: did you mean \"dgx-a100-40g\"?\n"
     "    cluster: {preset: dgx-a100, nodes: 2}\n"
     "                      ^"},
    {"cluster: {gpu: a100-sxm-80, preset: dgx-a100-80g}\n" MODEL LAYOUT, NULL, TY_EINPUT,
     "run.yaml:1:16: cluster.gpu: unknown preset (a100-sxm-80); \"trainyard list gpus\" shows all; "
     "hint: did you mean \"a100-sxm-80g\"?\n"
     "    cluster: {gpu: a100-sxm-80, preset: dgx-a100-80g}\n"
     "                   ^"},
    {CLUSTER "model: {preset: my-own}\n" LAYOUT, NULL, TY_EINPUT,
     "run.yaml:2:17: model.preset: unknown preset (my-own); \"trainyard list models\" shows all\n"
     "    model: {preset: my-own}\n                    ^"},
    {CLUSTER "model: {preset: llama-30b, huggingface: x.json}\n" LAYOUT, NULL, TY_EINPUT,
     "run.yaml:2:41: model.huggingface: a second source of the model (x.json); keep this or "
     "model.preset, not both\n"
     "    model: {preset: llama-30b, huggingface: x.json}\n"
     "                                            ^"},
    {CLUSTER MODEL LAYOUT "run: {jitter: 3}\noutput: {trace: step.json}\n", NULL, TY_EINPUT,
     "run.yaml:4:15: run.jitter: too large (3); write one from 0 % to 100 %, or none\n"
     "    run: {jitter: 3}\n                  ^\n"
     "run.yaml:5:17: output.trace: step.json: not FORMAT:PATH; write it like chrome:step.json\n    "
     "output: {trace: step.json}\n                    ^"},
    {CLUSTER MODEL LAYOUT, "run.steps=3.5", TY_EINPUT,
     "--set run.steps=3.5: run.steps: not a whole number (3.5); write one from 1 to 1000, such as "
     "8"},
    {CLUSTER MODEL LAYOUT, "layout.tensro=8", TY_EINPUT,
     "--set layout.tensro=8: layout.tensro: unknown key; hint: did you mean \"tensor\"?"},
    {CLUSTER MODEL LAYOUT, "lay.tensor=8", TY_EINPUT,
     "--set lay.tensor=8: lay: unknown section; write one of cluster, fabric, model, layout, "
     "framework, schedule, workload, run, fleet, uncertainty, measured, output, jobs; hint: did "
     "you mean "
     "\"layout\"?"},
    {CLUSTER MODEL LAYOUT, "tensor=8", TY_EINPUT,
     "--set tensor=8: tensor: a key without its section; hint: did you mean "
     "\"layout.tensor\"?"},
    {CLUSTER MODEL LAYOUT, "nothing=8", TY_EINPUT,
     "--set nothing=8: nothing: unknown key; write section.key=value, such as "
     "layout.tensor=8"},
    {CLUSTER MODEL LAYOUT, "layout=8", TY_EINPUT,
     "--set layout=8: layout: a section, not a key; write section.key=value, such as "
     "layout.tensor=8"},
    {CLUSTER MODEL LAYOUT, "jobs=none", TY_EINPUT,
     "--set jobs=none: jobs: a list of the run file; write it there, or in an overlay (--with)"},
    {CLUSTER MODEL LAYOUT, "layout.tensor", TY_EUSAGE,
     "--set layout.tensor: not KEY=VALUE; write it like --set layout.tensor=8"},
    {CLUSTER MODEL LAYOUT, "=8", TY_EUSAGE,
     "--set =8: not KEY=VALUE; write it like --set layout.tensor=8"},
    {CLUSTER MODEL LAYOUT, "run.steps=", TY_EINPUT,
     "--set run.steps=: run.steps: no value; write a whole number from 1 to 1000, such as 8"},
    {CLUSTER MODEL LAYOUT, "layout.order=[tensor", TY_EINPUT,
     "--set layout.order=[tensor: a [ is not closed; write a comma between items and ] at the end"},
    {CLUSTER MODEL LAYOUT, "model.preset=lama-30b", TY_EINPUT,
     "--set model.preset=lama-30b: model.preset: unknown preset (lama-30b); \"trainyard "
     "list models\" shows all; hint: did you mean \"llama-30b\"?"},
};

#endif
