#!/bin/bash
# usage: gpt-read-options.sh [--tp N] [--pp=N] [--nodes N] [FLAG...]
TP=1; PP=1; NODES=1; EXTRA=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --tp) TP="$2"; shift 2 ;;
    --pp=*) PP="${1#*=}"; shift ;;
    --nodes) NODES=$2; shift; shift ;;
    *) EXTRA+=("$1"); shift ;;
  esac
done
IFS=, read -ra SIZES <<< "24,2048,16"
read -r HEADS SEQ REST <<< "  16 2048 and what is left "
printf -v GBS '%d' $(( 32 * NODES ))
printf '%s %s\n' starting "$REST" >&2
read -r -d '' TOKENS <<EOF || true
--tokenizer-type GPT2BPETokenizer
--vocab-file vocab.json --merge-file merges.txt
EOF
LAYERS=$(jq .layers model.json)
torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py $(printf -- '--%s %s ' seq-length $SEQ max-position-embeddings $SEQ) \
    --num-layers "${LAYERS}" --hidden-size ${SIZES[1]} --num-attention-heads $HEADS --micro-batch-size 2 --global-batch-size $GBS \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --bf16 $TOKENS "${EXTRA[@]}"
