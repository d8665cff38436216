#!/bin/bash
GPUS_PER_NODE=8
MASTER_ADDR=${MASTER_ADDR:-"localhost"}
NNODES=${SLURM_NNODES:-"1"}
NODE_RANK=${RANK:-"0"}
DISTRIBUTED_ARGS=(--nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK)
MODEL_ARGS=(
    --use-mcore-models
    --disable-bias-linear
    --seq-length 4096
    --max-position-embeddings 32768
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --init-method-std 0.01
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --normalization RMSNorm
    --position-embedding-type rope
    --swiglu
    --untie-embeddings-and-output-weights
    --group-query-attention
    --num-query-groups 8
    --no-masked-softmax-fusion
    --rotary-base 1000000
)
MOE=(--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss
 --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce)
T=(--micro-batch-size 1 --global-batch-size 256 --bf16 --lr 1e-4)
P=(--tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 --expert-model-parallel-size 8 --use-distributed-optimizer --sequence-parallel)
L=( --log-interval 1
    --save-interval 10000 )
if [ -n "${WANDB_API_KEY}" ]; then
    L+=(
        --wandb-project ${WANDB_PROJECT:-"Mixtral"}
    )
fi
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py ${MODEL_ARGS[@]} ${MOE[@]} --tokenizer-type Llama2Tokenizer --tokenizer-model ${TOK} ${T[@]} ${P[@]} ${L[@]}
