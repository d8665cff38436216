#!/bin/sh
# written for the tests of trainyard
export TENSOR_MODEL_PARALLEL=8
export PIPELINE_MODEL_PARALLEL=8
export INTERLEAVED_PIPELINE=7
export CONTEXT_PARALLEL=2
export SEQ_PARALLEL=True
export MICRO_BATCH_SIZE=1
export MINIBS=64
export FP8=False
export DGXNNODES=64
export DGXNGPU=8
