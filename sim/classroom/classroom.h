/* classroom.h - the page of `trainyard classroom`: HTML, style, scripts and lessons (page_data.c is
 * made of them), around the library for pages (sim/wasm/core.h). */
#ifndef TY_CLASSROOM_CLASSROOM_H
#define TY_CLASSROOM_CLASSROOM_H

#include <stddef.h>

/* What comes before the data of a page, and after. */
extern const unsigned char ty_classroom_head[], ty_classroom_tail[];
extern const size_t ty_classroom_head_len, ty_classroom_tail_len;

#endif
