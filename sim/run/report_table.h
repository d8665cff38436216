/* report_table.h - the pieces of the report for people; `check` shows some of them. */
#ifndef TY_RUN_REPORT_TABLE_H
#define TY_RUN_REPORT_TABLE_H

#include "sim/base/text.h"
#include "sim/run/run.h"

void ty_report_head(const struct ty_run *run, struct ty_text *text);    /* model, cluster, layout */
void ty_report_memory(const struct ty_run *run, struct ty_text *text);  /* a line per stage */
void ty_report_largest(const struct ty_run *run, struct ty_text *text); /* what fills the fullest */

#endif
