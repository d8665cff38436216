/* rows.c - a row for every word of torchtitan's job configuration, as far as it is known here.
 *
 * Sources: notes on 238fa995 (February 2026), five of its files, and one of November 2024 with
 * [float8], [experimental] and degrees under [training]. From memory are words that these do not
 * have: pipeline_parallel_split_points, ..._schedule_csv and ..._microbatches,
 * module_fqns_per_model_part, expert_parallel_comm_backend, fp8_linear and simple ones such as
 * gc_freq. */
#include "sim/import/torchtitan/torchtitan.h"

#define TAKEN(name)                                                                                \
    {                                                                                              \
        name, TY_FLAG_TAKEN, NULL, NULL, NULL                                                      \
    }
#define NO_KEY(name, note)                                                                         \
    {                                                                                              \
        name, TY_FLAG_NO_KEY, NULL, NULL, note                                                     \
    }
#define IDLE(name)                                                                                 \
    {                                                                                              \
        name, TY_FLAG_IDLE, NULL, NULL, NULL                                                       \
    }

const struct ty_flag_row ty_titan_rows[] = {
    TAKEN("model.name"),
    TAKEN("model.flavor"),
    TAKEN("model.converters"),
    TAKEN("model.norm_type"),
    NO_KEY("model.use_flex_attn", "attention in blocks with a mask of one's own is not told apart"),
    NO_KEY("model.attn_mask_type", "documents in a sequence do not shorten attention here"),
    IDLE("model.*"),
    TAKEN("training.local_batch_size"),
    TAKEN("training.global_batch_size"),
    TAKEN("training.seq_len"),
    TAKEN("training.dtype"),
    TAKEN("training.mixed_precision_param"),
    TAKEN("training.mixed_precision_reduce"),
    TAKEN("training.enable_cpu_offload"),
    IDLE("training.data_parallel_type"),
    IDLE("training.dataset*"),
    IDLE("training.steps"),
    IDLE("training.warmup_steps"),
    IDLE("training.max_norm"),
    IDLE("training.gc_freq"),
    IDLE("training.gc_debug"),
    IDLE("training.seed"),
    IDLE("training.deterministic"),
    IDLE("training.debug*"),
    TAKEN("parallelism.data_parallel_replicate_degree"),
    TAKEN("parallelism.data_parallel_shard_degree"),
    TAKEN("parallelism.fsdp_reshard_after_forward"),
    TAKEN("parallelism.tensor_parallel_degree"),
    TAKEN("parallelism.disable_loss_parallel"),
    TAKEN("parallelism.enable_async_tensor_parallel"),
    TAKEN("parallelism.pipeline_parallel_degree"),
    TAKEN("parallelism.pipeline_parallel_schedule"),
    TAKEN("parallelism.pipeline_parallel_schedule_csv"),
    TAKEN("parallelism.pipeline_parallel_microbatch_size"),
    TAKEN("parallelism.pipeline_parallel_microbatches"),
    TAKEN("parallelism.pipeline_parallel_layers_per_stage"),
    TAKEN("parallelism.pipeline_parallel_first_stage_less_layers"),
    TAKEN("parallelism.pipeline_parallel_last_stage_less_layers"),
    TAKEN("parallelism.pipeline_parallel_split_points"),
    NO_KEY("parallelism.module_fqns_per_model_part",
           "stages by name; layers are dealt evenly, or say layout.stage_layers"),
    TAKEN("parallelism.context_parallel_degree"),
    TAKEN("parallelism.context_parallel_rotate_method"),
    TAKEN("parallelism.expert_parallel_degree"),
    TAKEN("parallelism.expert_tensor_parallel_degree"),
    TAKEN("parallelism.expert_parallel_comm_backend"),
    IDLE("parallelism.enable_compiled_autograd"),
    IDLE("parallelism.pipeline_parallel_expert_parallel_overlap"),
    TAKEN("activation_checkpoint.mode"),
    TAKEN("activation_checkpoint.selective_ac_option"),
    IDLE("activation_checkpoint.*"),
    TAKEN("training.fp8_linear"),
    TAKEN("float8.*"),
    TAKEN("mx.*"),
    TAKEN("quantize.*"),
    TAKEN("compile.enable"),
    TAKEN("compile.components"),
    IDLE("compile.*"),
    TAKEN("optimizer.name"),
    TAKEN("optimizer.implementation"),
    TAKEN("optimizer.fused"),
    NO_KEY("optimizer.early_step_in_backward", "the update comes after the backward here"),
    IDLE("optimizer.*"),
    IDLE("lr_scheduler.*"),
    NO_KEY("fault_tolerance.enable", "replicas that join and leave: see the section fleet"),
    IDLE("fault_tolerance.*"),
    IDLE("job.*"),
    IDLE("profiling.*"),
    IDLE("metrics.*"),
    IDLE("checkpoint.*"),
    IDLE("comm.*"),
    IDLE("memory_estimation.*"),
    IDLE("validation.*"),
    IDLE("debug.*"),
    IDLE("experimental.custom*"),
    {NULL, TY_FLAG_IDLE, NULL, NULL, NULL},
};
