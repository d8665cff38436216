#!/bin/bash
DIR=`pwd`
SEQ_LEN=2048
NUM_LAYERS=24
HIDDEN_SIZE=2048
NUM_ATTN_HEADS=16
GLOBAL_BATCH_SIZE=512
BATCH_SIZE=8
MP_SIZE=1
PP_SIZE=1
NUM_GPUS=64
EP_SIZE=128
if [[ $EP_SIZE -gt $NUM_GPUS ]]; then
    EP_PARALLEL_SIZE=$NUM_GPUS
else
    EP_PARALLEL_SIZE=$EP_SIZE
fi
MOE_TRAIN_CAP_FACTOR=1.0
MOE_DROP_TOKEN="true"
template_json="ds_config_moe_TEMPLATE.json"
config_json="ds_config_moe.json"
sed "s/CONFIG_BATCH_SIZE/${GLOBAL_BATCH_SIZE}/" ${template_json} \
    | sed "s/CONFIG_MBSIZE/${BATCH_SIZE}/" \
    | sed "s/ZERO_STAGE/0/" \
    | sed "s/CONFIG_FP16_ENABLED/true/" \
    | sed "s/CONFIG_BF16_ENABLED/false/" \
	  > ${config_json}
megatron_options=" \
        --tensor-model-parallel-size ${MP_SIZE} \
        --moe-expert-parallel-size ${EP_PARALLEL_SIZE} \
        --num-experts ${EP_SIZE} \
        --moe-loss-coeff 0.01 \
        --moe-train-capacity-factor ${MOE_TRAIN_CAP_FACTOR} \
        --moe-min-capacity 4 \
        --micro-batch-size ${BATCH_SIZE} \
        --global-batch-size ${GLOBAL_BATCH_SIZE} \
        --num-layers ${NUM_LAYERS} \
        --hidden-size ${HIDDEN_SIZE} \
        --num-attention-heads ${NUM_ATTN_HEADS} \
        --seq-length ${SEQ_LEN} \
        --max-position-embeddings ${SEQ_LEN} \
        --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
        --checkpoint-activations \
        --fp16"
if [[ $EP_SIZE -gt 1 ]]; then
megatron_options="${megatron_options} --create-moe-param-group"
fi
if [ "${MOE_DROP_TOKEN}" = "false" ]; then
megatron_options="${megatron_options} --disable-moe-token-dropping"
fi
deepspeed_options=" --deepspeed --deepspeed_config ${config_json} --pipeline-model-parallel-size ${PP_SIZE} --no-pipeline-parallel --deepspeed-activation-checkpointing"
run_cmd="deepspeed ${DIR}/../../pretrain_gpt.py ${megatron_options} ${deepspeed_options} &> log"
eval ${run_cmd}
