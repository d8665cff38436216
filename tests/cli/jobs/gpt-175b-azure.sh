#!/bin/bash
SIZE=175
NODES=1
GPN=8
[[ -z "$NODES" ]] && NODES=2
case $SIZE in
    "89") N_LAYER=24; HIDDEN=17408; N_HEAD=128 ;;
    "175") N_LAYER=96
           HIDDEN=12288
           N_HEAD=96 ;;
esac
MICRO_BATCH=4
GLOBAL_BATCH=$(( ${GPN} * ${MICRO_BATCH} * ${NODES} ))
ZERO_STAGE=3
CONFIG_JSON=ds_zero.json
cat << EOC > $CONFIG_JSON
{
    "train_batch_size": ${GLOBAL_BATCH},
    "train_micro_batch_size_per_gpu": ${MICRO_BATCH},
    "steps_per_print": 1,
    "zero_optimization": {
        "stage": ${ZERO_STAGE},
        "stage3_max_live_parameters": 3e9,
        "stage3_prefetch_bucket_size": 5e7,
        "offload_optimizer": {"device": "none", "buffer_count": 4},
        "contiguous_gradients": true,
        "overlap_comm": true,
        "reduce_bucket_size": 9e7
    },
    "fp16": {"enabled": true, "initial_scale_power": 15}
}
EOC
options=" \
    --tensor-model-parallel-size 1 \
    --num-layers ${N_LAYER} --hidden-size ${HIDDEN} --num-attention-heads ${N_HEAD} \
    --seq-length 1024 --max-position-embeddings 1024 \
    --micro-batch-size ${MICRO_BATCH} --global-batch-size ${GLOBAL_BATCH} \
    --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
    --fp16 --checkpoint-activations --deepspeed-activation-checkpointing \
    --zero-stage=${ZERO_STAGE} --deepspeed_config=${CONFIG_JSON} --no-pipeline-parallel --deepspeed --exit-interval 5000"
run_cmd="deepspeed --num_nodes ${NODES} --num_gpus ${GPN} pretrain_gpt.py $@ ${options}"
echo ${run_cmd}
eval ${run_cmd}
