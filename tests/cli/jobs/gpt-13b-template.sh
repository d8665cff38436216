#!/bin/bash
# A JSON by sed from a template beside it; the world by asking the machines.
model_size=1.3
num_layers=24
hidden_size=2048
num_attn_heads=16
# model_size=13
num_layers=40
hidden_size=5120
num_attn_heads=40
global_batch_size=1024
seq_len=2048
mp_size=4
pp_size=8
no_pp="false"
zero_stage=1
num_gpus=$(($(ds_ssh nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)-2))
num_gpus_pernode=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
num_node=$(( ${num_gpus} / ${num_gpus_pernode} ))
dp_size=$(( ${num_gpus} / ${pp_size} / ${mp_size} ))
batch_size=2
activation_checkpoint="true"
log_interval=10
megatron_options=" \
    --override-opt_param-scheduler \
    --tensor-model-parallel-size ${mp_size} \
    --init-method-std 0.008 \
    --lr-decay-tokens 300000000000 \
    --micro-batch-size ${batch_size} \
    --global-batch-size ${global_batch_size} \
    --num-layers ${num_layers} \
    --hidden-size ${hidden_size} \
    --num-attention-heads ${num_attn_heads} \
    --seq-length ${seq_len} \
    --max-position-embeddings ${seq_len} \
    --vocab-file gpt2-vocab.json \
    --merge-file gpt2-merges.txt \
    --fp16"
if [ "${activation_checkpoint}" = "true" ]; then
megatron_options="${megatron_options} \
    --checkpoint-activations"
fi
config_json="ds_config_gbs${global_batch_size}.json"
template_json="ds_config_gpt_TEMPLATE.json"
prescale_grad="true"
if [[ $zero_stage -gt 0 ]]; then
prescale_grad="false"
fi
sed "s/GBSIZE/${global_batch_size}/" ${template_json} \
    | sed "s/MBSIZE/${batch_size}/" \
    | sed "s/LOG_INTERVAL/${log_interval}/" \
    | sed "s/ZERO_STAGE/${zero_stage}/" \
    | sed "s/PRESCALE_GRAD/${prescale_grad}/" \
      > ${config_json}
deepspeed_options=" --deepspeed --deepspeed_config ${config_json} --zero-stage ${zero_stage} --pipeline-model-parallel-size ${pp_size}"
if [[ "${no_pp}" = "true" ]]; then
deepspeed_options="${deepspeed_options} --no-pipeline-parallel"
fi
if [ "${activation_checkpoint}" = "true" ]; then
deepspeed_options="${deepspeed_options} --deepspeed-activation-checkpointing"
fi
iteration_file="out/latest_checkpointed_iteration.txt"
if [[ $iteration -gt 0 ]]; then
    ds_ssh "echo $iteration > $iteration_file"
fi
deepspeed pretrain_gpt.py ${megatron_options} ${deepspeed_options} &>> log.txt
