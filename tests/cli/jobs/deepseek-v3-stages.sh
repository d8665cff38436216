#!/bin/bash
#SBATCH --nodes=128
#SBATCH --ntasks-per-node=8
TP=${TP:-1}; PP=${PP:-16}; EP=${EP:-64}
run_cmd="python -u pretrain_gpt.py \
  --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} \
  --expert-model-parallel-size ${EP} --expert-tensor-parallel-size 1 \
  --use-distributed-optimizer --disable-bias-linear --micro-batch-size 1 --global-batch-size 8192 \
  --seq-length 4096 --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V3 \
  --make-vocab-size-divisible-by 3232 \
  --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 \
  --kv-channels 128 --position-embedding-type rope --normalization RMSNorm --swiglu \
  --untie-embeddings-and-output-weights --multi-latent-attention --qk-layernorm \
  --attention-dropout 0.0 --hidden-dropout 0.0 --bf16 \
  --num-experts 256 --moe-layer-freq ([0]*3+[1]*58) --moe-ffn-hidden-size 2048 \
  --moe-shared-expert-intermediate-size 2048 --moe-router-topk 8 --moe-router-group-topk 4 \
  --moe-router-num-groups 8 --moe-router-enable-expert-bias --moe-grouped-gemm \
  --moe-token-dispatcher-type flex --moe-permute-fusion \
  --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 \
  --v-head-dim 128 --mtp-num-layers 1 --pipeline-model-parallel-layout Et*3|(tt|)*29m|L \
  --recompute-granularity selective --recompute-modules mla_up_proj mlp moe_act"
srun --mpi=pmix -l --container-image a/b bash -x -c "${run_cmd}"
