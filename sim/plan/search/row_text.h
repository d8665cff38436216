/* row_text.h - a layout in words and numbers: its keys as the run file has them, its line of
 * rows.csv. */
#ifndef TY_PLAN_ROW_TEXT_H
#define TY_PLAN_ROW_TEXT_H

#include "sim/base/text.h"
#include "sim/plan/search/answer.h"

#define TY_PLAN_VALUE 128u

/* Keys of a point: the axes but data, which follows, then the stack. */
#define TY_PLAN_N_KEYS (TY_PLAN_N_AXES + 1)

/* "layout.tensor" of key i. */
const char *ty_plan_key_name(uint32_t i, char buf[TY_PLAN_VALUE]);

/* The same as a column's head: "tensor", "schedule", "framework". */
const char *ty_plan_key_short(uint32_t i, char buf[TY_PLAN_VALUE]);

/* Its value as a run file has it: "4", "selective", "[tensor, data, pipeline, context]". */
char *ty_plan_key_value(const struct ty_plan_space *space, const struct ty_plan_point *point,
                        uint32_t i, char buf[TY_PLAN_VALUE]);

/* Whether answers have it: tensor schemes where they were asked for, all others always. */
bool ty_plan_key_is_told(const struct ty_plan_space *space, uint32_t i);

/* The same as a number by which points differ. */
uint32_t ty_plan_key_number(const struct ty_plan_point *point, uint32_t i);

/* Whether a search has several values of it. */
bool ty_plan_key_varies(const struct ty_plan_space *space, uint32_t i);

/* Appends its values among all layouts of an answer in their order, "1, 2, 4", of many numbers
 * the first and the last. How many there are. */
uint32_t ty_plan_key_values(struct ty_text *t, const struct ty_plan_answer *answer, uint32_t i);

/* Whether a value is a number or a truth value, which JSON has no quotes for. */
bool ty_plan_key_is_plain(uint32_t i);

/* The first line of rows.csv, and that of a row; both with their end. */
void ty_plan_csv_head(struct ty_text *t, const struct ty_plan_space *space);
void ty_plan_csv_row(struct ty_text *t, const struct ty_plan_result *result,
                     const struct ty_plan_row *row);

/* Reads such a line of row `number`, one of this result; false: it is not. */
bool ty_plan_csv_read(const char *line, const struct ty_plan_result *result, uint32_t number,
                      struct ty_plan_row *row);

#endif
