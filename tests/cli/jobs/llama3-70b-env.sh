#!/bin/bash
# cluster settings shared by all runs
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NCCL_DEBUG=WARN
export GPUS_PER_NODE=${GPUS_PER_NODE:-8}
export DATA_ROOT=${DATA_ROOT:-/lustre/data}
TP=${TP:-4}
PP=${PP:-4}
CP=${CP:-2}
VPP=5
MBS=1
GBS=512
