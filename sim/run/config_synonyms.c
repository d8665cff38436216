/* config_synonyms.c - what papers and other programs call the keys of a run file, for messages about
 * keys that there are not: options of Megatron-LM, DeepSpeed, torchrun and PyTorch FSDP, entries of
 * Hugging Face's config.json, and the abbreviations of the field. */
#include "sim/run/config_load.h"

const struct ty_synonym ty_config_synonyms[] = {
    {"cluster", "nodes", "gpus num_gpus n_gpus ngpus world_size accelerators",
     "a node has cluster.gpus_per_node GPUs"},
    {"cluster", "nodes", "num_nodes n_nodes nnodes servers hosts", NULL},
    {"cluster", "preset", "name type", NULL},
    {"cluster", "gpus_per_node", "nproc_per_node num_gpus_per_node gpus_per_host", NULL},
    {"cluster", "memory", "hbm vram gpu_memory memory_capacity", NULL},
    {"cluster", "memory_bandwidth", "hbm_bandwidth", NULL},
    {"cluster", "nic_bandwidth", "network_bandwidth ib_bandwidth infiniband_bandwidth infiniband",
     NULL},
    {"cluster", "nics_per_node", "nics num_nics hcas", NULL},
    {"cluster", "peak_bf16", "flops peak_flops tflops peak bf16_flops", NULL},

    {"model", "preset", "name type", NULL},
    {"model", "layers", "num_layers num_hidden_layers n_layer depth", NULL},
    {"model", "hidden", "hidden_size d_model n_embd dim h", NULL},
    {"model", "heads", "num_attention_heads num_heads n_head attention_heads", NULL},
    {"model", "kv_heads", "num_key_value_heads num_query_groups n_kv_head num_kv_heads gqa", NULL},
    {"model", "ffn", "ffn_hidden_size intermediate_size d_ff ffn_dim ffn_size", NULL},
    {"model", "vocabulary", "vocab_size padded_vocab_size n_vocab", NULL},
    {"model", "sequence",
     "seq_len seqlen seq_length seq max_seq_len sequence_length max_position_embeddings s "
     "context_length block_size",
     NULL},
    {"model", "tied", "tie_word_embeddings tie_embeddings", NULL},
    {"model", "mlp", "activation hidden_act activation_function", NULL},
    {"model", "norm_kind", "normalization norm_type", NULL},
    {"model", "attention", "flash flash_attn use_flash_attn attention_backend", NULL},
    {"model", "dtype", "precision torch_dtype mixed_precision", NULL},

    {"layout", "tensor",
     "tp tp_size tensor_parallel tensor_parallel_size tensor_model_parallel_size model_parallel mp",
     NULL},
    {"layout", "pipeline",
     "pp pp_size pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size stages",
     NULL},
    {"layout", "data", "dp dp_size data_parallel data_parallel_size replicas", NULL},
    {"layout", "context", "cp context_parallel context_parallel_size", NULL},
    {"layout", "expert", "ep expert_parallel expert_model_parallel_size", NULL},
    {"layout", "micro_batch",
     "mbs microbatch train_micro_batch_size_per_gpu per_device_train_batch_size batch_per_gpu b",
     NULL},
    {"layout", "global_batch", "gbs batch batch_size train_batch_size global_bs", NULL},
    {"layout", "sequence_parallel", "sp sequence_parallelism", NULL},
    {"layout", "zero",
     "zero_stage zero_optimization stage sharding_strategy use_distributed_optimizer "
     "distributed_optimizer fsdp",
     NULL},
    {"layout", "recompute",
     "recomputation checkpointing activation_checkpointing gradient_checkpointing "
     "recompute_granularity checkpoint_activations ac",
     NULL},
    {"layout", "order", "rank_order rank_placement", NULL},
    {"layout", "shard", "hybrid_shard hsdp shard_size", NULL},

    {"framework", "preset", "name type", NULL},
    {"schedule", "name", "type preset schedule pipeline_schedule", NULL},
    {"schedule", "chunks",
     "virtual_stages vpp v virtual_pipeline virtual_pipeline_model_parallel_size model_chunks",
     NULL},
    {"schedule", "group", "microbatch_group_size_per_virtual_pipeline_stage", NULL},
    {"run", "steps", "iterations iters train_iters num_steps", NULL},
    {NULL, NULL, NULL, NULL},
};
