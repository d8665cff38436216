/* log_internal.h - shared by the two halves of the reader of nccl-tests logs; see
 * log.h. */
#ifndef TY_TOPOLOGY_COLLECTIVES_LOG_INTERNAL_H
#define TY_TOPOLOGY_COLLECTIVES_LOG_INTERNAL_H

#include "topology/collectives/log.h"

#define TY_LOG_WORDS 40u /* of a line; the rest is not looked at */

struct ty_log_word {
    const char *start;
    uint32_t len, col;
};

struct ty_log_rank {
    struct ty_log_word group, host; /* group.len 0: versions without groups */
};

/* Positions of columns, counted from the right; 0: not there. */
struct ty_log_columns {
    uint32_t n, blank; /* of them, redop and root, which rows may leave empty */
    uint32_t type, time, algbw, busbw, wrong;
};

struct ty_log_reader {
    const char *file, *text;
    struct ty_err *err;
    struct ty_coll_log *log;

    struct ty_log_word word[TY_LOG_WORDS]; /* of the present line */
    uint32_t n_words, line;

    bool stated; /* the head says which collective */
    bool ended;  /* the last line of a test was met */
    struct ty_log_columns columns;
    struct ty_log_rank *ranks; /* [n_ranks], room for one per line of the file */
    double *size_B, *time_s;   /* [n_rows], the same */
    uint32_t n_ranks, n_rows;
    struct ty_log_word type;
    double largest_B, algbw, busbw; /* the largest size, and what the log says of it */
};

static inline bool ty_log_is(const struct ty_log_word *w, const char *text)
{
    return w->len == strlen(text) && memcmp(w->start, text, w->len) == 0;
}

static inline bool ty_log_same(const struct ty_log_word *a, const struct ty_log_word *b)
{
    return a->len == b->len && memcmp(a->start, b->start, a->len) == 0;
}

static inline struct ty_place ty_log_place(const struct ty_log_reader *r, uint32_t col)
{
    return (struct ty_place){r->file, r->text, r->line > 0 ? r->line : 1, col};
}

/* log_head.c: a line that begins with '#'. */
int ty_log_comment(struct ty_log_reader *r);

/* What the head says when all is read: the collective (else by the file's name), the reach. */
int ty_log_head(struct ty_log_reader *r);

#endif
