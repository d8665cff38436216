/* row_text.h - the keys of a layout and their values, as a run file has them. */
#ifndef TY_PLAN_ROW_TEXT_H
#define TY_PLAN_ROW_TEXT_H

#include "sim/base/text.h"
#include "sim/plan/search/answer.h"

#define TY_PLAN_VALUE 128u

/* Keys of a point: the axes, then the preset of the framework. */
#define TY_PLAN_N_KEYS (TY_PLAN_N_AXES + 1)

/* Returns the name of key i: "layout.tensor". */
const char *ty_plan_key_name(uint32_t i, char buf[TY_PLAN_VALUE]);

/* Returns the name as the head of a column: "tensor", "schedule", "framework". */
const char *ty_plan_key_short(uint32_t i, char buf[TY_PLAN_VALUE]);

/* Returns the value of key i: "4", "selective", "[tensor, data, pipeline, context]". */
char *ty_plan_key_value(const struct ty_plan_space *space, const struct ty_plan_point *point,
                        uint32_t i, char buf[TY_PLAN_VALUE]);

/* Returns whether answers show key i: rare axes only where they are searched, all others always. */
bool ty_plan_key_is_told(const struct ty_plan_space *space, uint32_t i);

/* Returns whether models of the space have what key i is about: experts, of their two keys. */
bool ty_plan_key_applies(const struct ty_plan_space *space, uint32_t i);

/* Returns whether values of key i are numbers or truth values, which JSON writes without quotes. */
bool ty_plan_key_is_plain(uint32_t i);

/* Returns a number by which points with different values of key i differ. */
uint32_t ty_plan_key_number(const struct ty_plan_point *point, uint32_t i);

#endif
