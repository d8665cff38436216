#!/usr/bin/env bash
# Arguments with defaults, tests on a type, words in quotes that are two: as one of NVIDIA's examples.
CHECKPOINTS=${1:-"checkpoints/llama3"}
TOKENIZER=${2:-"MOCK"}
DATA=${3:-"MOCK"}
DTYPE=fp8
TP=1; CP=1; PP=1
NODES=1
GPUS=8
HEADER=(--nproc_per_node $GPUS --nnodes $NODES)
ARGS=(
    --use-mcore-models
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --kv-channels 128
    --seq-length 8192
    --max-position-embeddings 8192
    --position-embedding-type rope
    --rotary-base 1000000
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --swiglu
    --init-method-std 0.0134
    --attention-backend fused
    --apply-layernorm-1p
    --normalization RMSNorm
    --untie-embeddings-and-output-weights
    --disable-bias-linear
)
BATCH=(
    --micro-batch-size 1
    --global-batch-size 128
    --cross-entropy-loss-fusion
    --calculate-per-token-loss
    --manual-gc
    --empty-unused-memory-level 1
)
TYPES=()
if [[ "$DTYPE" == "fp8" ]]; then
    TYPES+=(
        "--fp8-format hybrid"
        "--fp8-amax-history-len 1024"
        "--fp8-amax-compute-algo max"
        "--fp8-param-gather"
    )
fi
PARALLEL=(
    --tensor-model-parallel-size $TP
    --context-parallel-size $CP
    # --pipeline-model-parallel-size $PP
    --sequence-parallel
)
DDP=(
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)
TYPES+=(--bf16 --grad-reduce-in-bf16)
SOURCE=()
if [[ "$TOKENIZER" == "MOCK" ]] || [[ "$DATA" == "MOCK" ]] || [[ -z "$TOKENIZER" ]]; then
    SOURCE+=(
        "--mock-data"
        "--tokenizer-type NullTokenizer"
        "--vocab-size 128256"
        "--split '99,1,0'"
        "--no-mmap-bin-files"
        "--num-workers 1"
    )
else
    SOURCE+=("--data-path $DATA" "--tokenizer-type HuggingFaceTokenizer" "--tokenizer-model $TOKENIZER")
fi
if [ ! -f "pretrain_gpt.py" ]; then
    echo "pretrain_gpt.py is not here"
    exit 1
fi
torchrun "${HEADER[@]}" pretrain_gpt.py \
    "${ARGS[@]}" "${BATCH[@]}" ${TYPES[@]} "${PARALLEL[@]}" ${DDP[@]} ${SOURCE[@]} \
    --save "$CHECKPOINTS"
