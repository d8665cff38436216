/* csv.h - a schedule as PyTorch's pipeline-schedule CSV.
 *
 *     0F0,0F1,,0B0,0B1
 *     1F0,1B0,1F1,1B1
 *
 * One row per rank, from rank 0; a cell is <stage><action><micro-batch>, empty where the rank
 * idles. Actions F, B (full backward), I, W; (0F3;7B1)OVERLAP_F_B is an overlapped slot. Cells of
 * communication (SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD) are skipped when
 * read: trainyard derives them. Blank rows and rows that begin with "#" are skipped.
 * ty_slots_read (text.h) reads it. Source: pytorch/pytorch,
 * torch/distributed/pipelining/schedules.py, class _Action. */
#ifndef TY_MODEL_ORDERS_CSV_H
#define TY_MODEL_ORDERS_CSV_H

#include "model/schedule/schedule.h"
#include "sim/base/text.h"

/* Appends one row per rank, computation only. The format knows neither a second direction nor
 * slices: TY_EUSAGE, and nothing is appended. */
int ty_slots_write_csv(const struct ty_slots *slots, struct ty_text *text, struct ty_err *err);

#endif
