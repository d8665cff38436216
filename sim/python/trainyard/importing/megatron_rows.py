"""A row for every flag of Megatron-LM and its forks that is known here, without its dashes.

Sources: notes on arguments.py and the dataclasses behind it (August 2026, commit d98e8a64), on
Megatron-DeepSpeed (4efb479d) and BigScience's fork (8387ae17), and published jobs. A third of the
flags is in none of these and from memory: window-size, exp-avg-dtype, mlp-type,
fine-grained-activation-offloading, optimizer-offload-fraction, other kinds of models, ... Of the
flags of no part in a step two thirds are from memory; they are listed because a word that is nowhere
is told as not understood.
"""
from .flags import Table


def dashed(words: str) -> str:
    return " ".join("--" + word for word in words.split())


TAKEN = """
    num-layers hidden-size num-attention-heads ffn-hidden-size kv-channels group-query-attention
    num-query-groups num-key-value-heads seq-length encoder-seq-length max-position-embeddings
    position-embedding-type use-rotary-position-embeddings rotary-percent no-position-embedding
    add-position-embedding untie-embeddings-and-output-weights swiglu glu-activation
    squared-relu quick-geglu openai-gelu onnx-safe normalization apply-layernorm-1p
    embed-layernorm disable-bias-linear add-qkv-bias qk-layernorm qk-l2-norm hidden-dropout
    attention-dropout window-size window-attn-skip-freq multi-latent-attention q-lora-rank
    kv-lora-rank qk-head-dim qk-pos-emb-head-dim v-head-dim attention-backend use-flash-attn
    use-flash-attn-v1 use-flash-attn-v2 use-flash-attn-triton use-flash-attn-builder
    no-masked-softmax-fusion transformer-impl fp16 bf16 fp8-format fp8-hybrid fp8-e4m3
    fp8-recipe make-vocab-size-divisible-by vocab-size padded-vocab-size pad-vocab-size-to
    tokenizer-type tokenizer-model tokenizer-name-or-path vocab-file patch-tokenizer-type
    num-experts moe-num-experts moe-router-topk moe-top-k topk moe-ffn-hidden-size
    moe-shared-expert-intermediate-size moe-layer-freq expert-interval moe-router-num-groups
    moe-router-group-topk moe-router-enable-expert-bias moe-token-dispatcher-type
    moe-flex-dispatcher-backend moe-enable-deepep moe-expert-capacity-factor
    moe-train-capacity-factor moe-capacity-factor moe-pad-expert-input-to-capacity
    moe-grouped-gemm moe-permute-fusion disable-moe-token-dropping mlp-type
    tensor-model-parallel-size model-parallel-size pipeline-model-parallel-size
    context-parallel-size ds-sequence-parallel-size cp-comm-type
    hierarchical-context-parallel-sizes expert-model-parallel-size expert-tensor-parallel-size
    moe-expert-parallel-size moe-expert-model-parallelism sequence-parallel use-tp-pp-dp-mapping
    micro-batch-size batch-size global-batch-size rampup-batch-size step-batch-size-schedule
    use-distributed-optimizer num-distributed-optimizer-instances use-torch-fsdp2
    use-megatron-fsdp use-custom-fsdp data-parallel-sharding-strategy zero-stage deepspeed
    deepspeed-config deepspeed-mpi no-pipeline-parallel recompute-granularity recompute-method
    recompute-num-layers recompute-modules recompute-activations checkpoint-activations
    activations-checkpoint-method activations-checkpoint-num-layers checkpoint-num-layers
    deepspeed-activation-checkpointing num-layers-per-virtual-pipeline-stage
    num-virtual-stages-per-pipeline-rank account-for-embedding-in-pipeline-split
    account-for-loss-in-pipeline-split decoder-first-pipeline-num-layers
    decoder-last-pipeline-num-layers pipeline-model-parallel-layout
    microbatch-group-size-per-vp-stage microbatch-group-size-per-virtual-pipeline-stage
    pp-partition-method overlap-p2p-communication grad-reduce-in-bf16
    accumulate-allreduce-grads-in-fp32 main-grads-dtype main-params-dtype exp-avg-dtype
    exp-avg-sq-dtype overlap-grad-reduce overlap-param-gather ddp-bucket-size optimizer
    cpu-optimizer optimizer-cpu-offload optimizer-offload-fraction encoder-num-layers
    decoder-num-layers decoder-seq-length hybrid-override-pattern hybrid-layer-pattern
    hybrid-attention-ratio is-hybrid-model spec heterogeneous-layers-config-path
    experimental-attention-variant nproc-per-node nnodes num-gpus num-nodes num-processes
    num-machines world-size yaml-cfg"""
KEYS = {
    "mtp-num-layers": "model.mtp",
    "moe-router-fusion": ("framework.fused_router", "true"),
    "moe-shared-expert-overlap": ("framework.shared_overlap", "true"),
    "moe-shared-expert-gate": ("model.shared_gate", "true"),
    "overlap-moe-expert-parallel-comm": ("framework.expert_overlap", "true"),
    "delay-wgrad-compute": ("framework.overlap_dispatch", "true"),
    "moe-layer-recompute": ("layout.recompute", "moe"),
    "no-overlap-p2p-communication": ("framework.overlap_p2p", "false"),
    "fp8-param-gather": ("framework.fp8_weights", "true"),
    "fp8-param": ("framework.fp8_weights", "true"),
    "fp8-dot-product-attention": ("framework.fp8_attention", "true"),
    "fp8-output-proj": ("framework.fp8_head", "true"),
    "tp-comm-overlap": ("framework.overlap_tensor_products", "true"),
    "cross-entropy-loss-fusion": ("framework.fused_loss", "true"),
    "no-gradient-accumulation-fusion": ("framework.fused_accumulation", "false"),
    "no-rope-fusion": ("framework.fused_rotary", "false"),
    "no-bias-swiglu-fusion": ("framework.fused_activation", "false"),
    "no-scatter-gather-tensors-in-pipeline": ("framework.scatter_gather_p2p", "false"),
    "torch-fsdp2-no-reshard-after-forward": ("framework.reshard_after_forward", "false"),
}
NO_KEY = {
    "fp4-format": "there is no fp4: it is taken without",
    "vocab-extra-ids extra-vocab-size": "further words are not counted; see --env VOCAB_SIZE",
    "moe-apply-probs-on-input": "where the router's weights are applied makes no difference here",
    "moe-latent-size": "experts behind a narrower projection are not known",
    "moe-use-legacy-grouped-gemm": "the same as other grouped GEMMs",
    "create-moe-param-group": "parameter groups make no difference here",
    "distribute-saved-activations partition-activations":
        "saved inputs that tensor ranks share are not known: each keeps all",
    "overlap-p2p-communication-warmup-flush": "overlap in warm-up makes no difference here",
    "defer-embedding-wgrad-compute": "the embedding's gradient is not deferred",
    "cpu-offloading-num-layers":
        "activations of some layers on the host are not known: all stay on the GPU",
    "cpu-offloading": "activations of some layers on the host: all stay on the GPU",
    "no-async-tensor-model-parallel-allreduce": "see framework.overlap_tensor_reduce",
    "overlap-param-gather-with-optimizer-step":
        "parameters are gathered after the optimizer has ended",
    "fine-grained-activation-offloading offload-modules": "activations stay on the GPU",
    "use-precision-aware-optimizer": "see framework.moment_dtype and master_dtype",
    "use-cuda-graph enable-cuda-graph external-cuda-graph cuda-graph-impl cuda-graph-scope":
        "with graphs launches cost less: framework.layer_floor=0",
    "attention-output-gate":
        "a gate behind attention is not known: its weights are not counted",
    "softmax-type": "sinks of attention: see model.sinks",
    "cpu-offloading-weights": "weights stay on the GPU",
    "store-param-remainders": "master weights are as wide as framework.master_dtype says",
    "standalone-embedding-stage": "the embedding is on the first stage that has layers",
    "outer-dp-sharding-strategy": "copies of a sharding group are whole",
    "hybrid-context-parallel": "all sequences are cut alike",
    "relative-attention-*": "a table of distances is not counted",
    "kd mos": "a teacher's forward is not run",
    "random-ltd": "dropped tokens of layers are not known: all run",
    "sparse-attention": "attention is over all tokens before",
    "use-tutel": "tokens are exchanged as DeepSpeed's own layer does",
    "curriculum-learning-legacy": "the sequence is that of the end",
    "universal-checkpoint": "it has no part in a step",
    "memory-centric-tiled-linear": "GEMMs are not split into tiles",
    "synchronize-each-layer": "layers are not synchronised",
    "remote-device": "see layout.offload",
    "use-pin-memory": "pinned memory is taken for granted",
    "scattered-embeddings": "embeddings are cut as others are",
    "split-transformers": "layers are not split",
    "checkpoint-in-cpu": "checkpoints stay on the GPU; see layout.offload_activations",
    "contigious-checkpointing": "fragmentation is that of cluster.fragmentation",
    "use-ring-exchange-p2p": "messages are sent as others are",
}
IDLE = """
    node-rank machine-rank master-* main-process-* rdzv-* rdzv-endpoint hostfile launcher*
    force-multi no-local-rank include exclude max-restarts tee log-dir redirects role standalone
    monitor-interval local-ranks-filter no-python module ssh-port ft-* jobid label container-*
    mpi kill-on-bad-exit wait output error export unbuffered cpu-bind* cpus-per-task mem*
    no-container-* ntasks* gpus-per-* gres nodes nodelist partition job-name time account
    exclusive distribution overlap hint autotuning data-* train-data* valid-data* test-data*
    per-split-data-args-path train-weighted-split-paths* valid-weighted-split-paths* split
    mock-data num-workers no-mmap-bin-files mmap-bin-files dataloader-* dataset-*
    no-create-attention-mask-in-dataloader reset-position-ids reset-attention-mask eod-mask-loss
    abort-on-unmet-fused-kernel-constraints num-dataset-builder-threads object-storage-* s3-*
    skip-train skip-train-iteration-range merge-file vocab-path tiktoken-* tokenizer-*
    trust-remote-code retro-* short-seq-prob mask-* fim-* curriculum-learning*
    repeated-dataloader variable-seq-lengths return-data-index custom-token-counting train-*
    exit-* lr* min-lr warmup* decoupled-* override-* use-checkpoint-* weight-decay*
    start-weight-decay end-weight-decay adam-* sgd-momentum muon-* clip-grad loss-*
    initial-loss-scale min-loss-scale hysteresis init-method-* embedding-init-* seed
    data-parallel-random-init eval-* full-validation multiple-validation-sets finetune
    decrease-batch-size-if-needed calculate-per-token-loss log-* logging-level tensorboard-*
    wandb-* one-logger-* enable-one-logger no-one-logger timing-* no-barrier-with-level-1-timing
    barrier-with-L1-time profile* use-pytorch-profiler nvtx-ranges record-memory-history
    memory-snapshot-path manual-gc* no-manual-gc* check-* no-check-* rerun-mode
    error-injection-* result-rejected-tracker-filename codecarbon-dir kill-switch-path
    perform-initialization no-initialization inference-* compression-training
    create-all-gather-group straggler-* disable-straggler-* run-workload-inspector-server
    enable-experimental deterministic-mode bf16-* save* load* no-save-* no-load-* async-save
    use-persistent-ckpt-worker ckpt-* no-ckpt-* use-dist-ckpt* auto-detect-ckpt-format
    dist-ckpt-* pretrained-checkpoint checkpoint-path non-persistent-* replication*
    verify-checkpoint* distributed-backend distributed-timeout-* local-rank ddp-timeout DDP-impl
    lazy-mpu-init use-cpu-initialization empty-unused-memory-level use-mcore-models
    use-legacy-models use-local-* no-use-* nccl-communicator-config-path
    high-priority-stream-groups ddp-num-buckets ddp-average-in-collective ddp-pad-*
    no-align-param-gather align-* use-sharp* use-nccl-ub disable-symmetric-registration
    enable-gloo-process-groups disable-gloo-process-groups te-rng-tracker
    cuda-graph-warmup-steps inference-rng-tracker seq-alignment disable-mem-efficient-ln
    no-persist-layer-norm cross-entropy-fusion-impl attention-softmax-in-fp32
    no-query-key-layer-scaling apply-query-key-layer-scaling
    apply-residual-connection-post-layernorm fp32-residual-connection fp16-lm-cross-entropy
    norm-epsilon layernorm-epsilon rotary-* no-rotary-* use-rope-scaling rope-* rope-theta
    yarn-* mscale* beta-fast beta-slow original-max-position-embeddings fp8-margin fp8-interval
    fp8-amax-* no-fp8-wgrad first-last-layers-bf16 num-layers-at-* moe-router-*
    moe-aux-loss-coeff moe-z-loss-coeff moe-input-jitter-eps moe-per-layer-logging moe-loss-*
    moe-eval-capacity-factor moe-min-capacity moe-token-drop-policy moe-upcycling-granularity
    moe-deepep-num-sms moe-hybridep-num-sms moe-extended-tp moe-use-upcycling
    mtp-loss-scaling-factor use-flash-decode bert-* no-bias-gelu-fusion no-bias-dropout-fusion
    no-contiguous-buffers-in-local-ddp gradient-accumulation-steps sync-tp-duplicated-parameters
    shuffle-* help adlr-autoresume* config-logger-dir cuda-graph-num-warmup-steps
    deprecated-use-mcore-models enable-ft-package enable-msc disable-msc export-te-mcore-model
    init-model-with-meta-device inprocess-* keep-fp8-* mid-level-dataset-surplus
    mlp-chunks-for-prefill disable-chunked-prefill nccl-all-reduce-for-prefill nccl-ub
    no-weight-decay-cond-type no-rope-freq overlap-cpu-optimizer-* pin-cpu-* no-pin-cpu-*
    pretrained-checkpoint-format qk-clip* reuse-grad-buf-* sample-rate sft* sharp-enabled-group
    suggested-communication-unit-size symmetric-ar-type test-mode tp-comm-*
    no-fp8-weight-transpose-cache use-fused-weighted-squared-relu use-legacy-static-engine
    use-one-sent-docs use-te-activation-func use-torch-optimizer-for-cpu-offload
    use-tokenizer-model-from-checkpoint-args use-transformer-engine-op-fuser
    wgrad-deferral-limit batch-invariant-mode fallback-to-eager-attn
    dump-param-to-param-group-map fsdp-double-buffer high-precision-init-val
    disable-bf16-reduced-precision-matmul glu-linear-offset activation-func-clamp-value
    mrope-section moe-enable-routing-replay moe-pad-experts-for-cuda-graph-inference
    delay-param-gather mup* embedding-multiplier zero-contigious-gradients zero-reduce-scatter
    zero-reduce-bucket-size zero-allgather-bucket-size force-ds-sequence-parallel
    ds-pipeline-enabled deepscale* load-tag reset-iteration use-dataset-only
    aml-data-download-path profile-backward reweight-loss-based-on-position-frequency
    noise-density mean-noise-span-length data-efficiency-* random-ltd-*"""
ROWS = Table(dashed(TAKEN), {"--" + flag: row for flag, row in KEYS.items()},
             {flag: note for flags, note in NO_KEY.items() for flag in dashed(flags).split()})
IDLE_ROWS = Table(idle=dashed(IDLE))
