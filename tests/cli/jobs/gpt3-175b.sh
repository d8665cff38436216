#!/bin/bash
# GPT-3 of 175B parameters
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
# for several nodes
MASTER_ADDR=localhost
NUM_NODES=1
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CKPT=$1 #<path>
VOCAB_FILE=$3/gpt2-vocab.json
MERGE_FILE=$4
DIST=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr $MASTER_ADDR
)
MODEL=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto # fused or flash
)
TRAIN=(
    --micro-batch-size 1
    --global-batch-size 1536
    --step-batch-size-schedule "0:16 1B:1536"
    --train-iters 500000
    --fp16
    --lr 6.0e-5
)
PAR=(
	--tensor-model-parallel-size 8
	--pipeline-model-parallel-size 16
)
DATA=( --data-path $2 --vocab-file $VOCAB_FILE --merge-file $MERGE_FILE --split 949,50,1 )
torchrun ${DIST[@]} pretrain_gpt.py \
    ${MODEL[@]} \
    ${TRAIN[@]} \
    ${PAR[@]} \
    ${DATA[@]}
