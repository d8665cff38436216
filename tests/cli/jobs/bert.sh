#!/bin/bash
BERT_ARGS=( --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 --fp16 )
torchrun --nproc_per_node 8 --nnodes 1 pretrain_bert.py ${BERT_ARGS[@]} --micro-batch-size 4
