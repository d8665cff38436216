#!/bin/bash
#SBATCH -p long --nodes=4 -t 1:00:00 --exclusive --mem=0 --overcommit --ntasks-per-node=8 --gpus-per-node=8
set -euxo pipefail
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
NUM_NODES=${SLURM_NNODES:-${NUM_NODES:-1}}
TP=${TP:-4} PP=${PP:-2}; CP=${CP:-1}
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
MBS=1; GBS=$((WORLD_SIZE / (TP*PP*CP) * MBS * 16))
declare -A DEPTH=([8b]=32 [70b]=80)
SIZE=${1:-70b}

case $SIZE in
  8b) HIDDEN=4096; FFN=14336; HEADS=32;;
  70b|70B) HIDDEN=8192; FFN=28672; HEADS=64;;
  *) echo "no such size"; exit 1;;
esac
MODEL_ARGS=(
    --disable-bias-linear
    --seq-length 8192
    --max-position-embeddings 131072 # no table: it is rotary
    --num-layers ${DEPTH[$SIZE]}
    --hidden-size ${HIDDEN} --ffn-hidden-size ${FFN} --num-attention-heads $HEADS
    --attention-dropout 0.0 --hidden-dropout 0.0
    --normalization RMSNorm --position-embedding-type rope --swiglu
    --untie-embeddings-and-output-weights
    --group-query-attention --num-query-groups 8
)
TRAINING_ARGS=(
    --micro-batch-size $MBS --global-batch-size $GBS --bf16
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
)
PARALLEL=( --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --sequence-parallel )
if [ "$CP" -gt 1 ]; then
  PARALLEL+=( --context-parallel-size $CP )
fi
[[ -n "${WANDB_API_KEY:-}" ]] && TRAINING_ARGS+=( --wandb-project x )
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \
    ${MODEL_ARGS[@]} ${TRAINING_ARGS[@]} ${PARALLEL[@]} \
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-70B \
    --data-path "$@" 2>&1 | tee log.txt
