#!/usr/bin/env bash
# usage: ./run.sh <model> <nnodes>
MODEL_SIZE=${1:-"16B"}
NNODES=${2:-8}
shift $(( $# > 2 ? 2 : $# ))

function model_options {
  local size=$1
  case "$size" in
    16B)
      NUM_LAYERS=27; HIDDEN=2048; HEADS=16; FFN=10944; MOE_FFN=1408; EXPERTS=64; TOPK=6
      SHARED=$(( MOE_FFN * 2 )); KV_LORA=512; Q_LORA= ;;
    236B)
      NUM_LAYERS=60; HIDDEN=5120; HEADS=128; FFN=12288; MOE_FFN=1536; EXPERTS=160; TOPK=6
      SHARED=3072; KV_LORA=512; Q_LORA=1536 ;;
    *) echo "unknown size $size" >&2; exit 1 ;;
  esac
}
model_options "$MODEL_SIZE"

declare -A PAR=( [tp]=1 [pp]=4 [ep]=8 )

OPTS=" \
    --num-layers ${NUM_LAYERS} \
    --hidden-size ${HIDDEN} \
    --num-attention-heads ${HEADS} \
    --ffn-hidden-size ${FFN} \
    --multi-latent-attention \
    --kv-lora-rank ${KV_LORA} \
    --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 \
    --qk-layernorm \
    --num-experts ${EXPERTS} \
    --moe-router-topk ${TOPK} \
    --moe-ffn-hidden-size ${MOE_FFN} \
    --moe-shared-expert-intermediate-size ${SHARED} \
    --moe-layer-freq ([0]*1+[1]*$((NUM_LAYERS-1))) \
    --moe-grouped-gemm --moe-permute-fusion \
    --moe-token-dispatcher-type alltoall \
    --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-3 \
    --expert-model-parallel-size ${PAR[ep]} \
    --tensor-model-parallel-size ${PAR[tp]} \
    --pipeline-model-parallel-size ${PAR[pp]} \
    --decoder-first-pipeline-num-layers 6 \
    --swiglu --normalization RMSNorm --disable-bias-linear \
    --untie-embeddings-and-output-weights --position-embedding-type rope \
    --no-rope-fusion \
    --seq-length 4096 --max-position-embeddings 4096 \
    --micro-batch-size 2 --global-batch-size 1024 --bf16 \
    --attention-dropout 0 --hidden-dropout 0 \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --recompute-granularity selective --recompute-modules layernorm mla_up_proj moe_act \
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V2-Lite \
    --make-vocab-size-divisible-by 3200"
[ -n "$Q_LORA" ] && OPTS="$OPTS --q-lora-rank $Q_LORA"

mpirun -np $((NNODES*8)) --map-by ppr:8:node -x PATH -x LD_LIBRARY_PATH python -u /opt/Megatron-LM/pretrain_gpt.py $OPTS "$@"
