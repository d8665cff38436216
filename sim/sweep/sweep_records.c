/* sweep_records.c - see sweep_records.h.
 *
 * Such a file is a table, too: its columns, then a record for each row, in any order:
 *
 *     row,bytes,crc32,layout.tensor,step_time_s,...
 *     2,118,9ae2f30c,4,1.263,...
 *
 * which is the number of the row, from 1, the length of its line of the table and a check of both.
 * Nothing but records is ever added, each by one write, so what a kill or a crash of the machine
 * can leave is a record that is cut, or blocks of zeros: all before the first broken one counts. */
#define _XOPEN_SOURCE 700 /* strndup */

#include "sim/sweep/sweep_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "sim/base/file.h"

#define MAX_BYTES ((size_t)1 << 30) /* of a file: a million rows have some 200 MB */

struct record {
    uint32_t row;
    const char *line; /* of the table */
    size_t n;         /* bytes of it */
};

/* A file while it is read. */
struct reading {
    struct ty_sweep_records *records;
    const char *path, *otherwise;
    ty_sweep_look *look;
    void *arg;
    struct ty_sweep_found *found;
    bool any_answer;
};

static uint32_t check_of(uint32_t row, const char *line, size_t n)
{
    return (uint32_t)crc32_z(row + 1, (const Bytef *)line, n);
}

const char *ty_sweep_records_head(const char *header, struct ty_arena *arena)
{
    return ty_arena_printf(arena, "row,bytes,crc32,%s", header);
}

void ty_sweep_records_put(struct ty_text *t, uint32_t row, const char *line)
{
    const size_t n = strlen(line);
    ty_text_add(t, "%" PRIu32 ",%zu,%08" PRIx32 ",", row + 1, n, check_of(row, line, n));
    ty_text_bytes(t, line, n);
}

/* The record that begins at `at`; false: what is there is none, or not whole. */
static bool read_record(const char *at, const char *end, struct record *r)
{
    char *p;
    const unsigned long row = strtoul(at, &p, 10);
    if (*p != ',' || row == 0 || row > UINT32_MAX) {
        return false;
    }
    r->row = (uint32_t)row - 1;
    r->n = strtoul(p + 1, &p, 10);
    if (*p != ',') {
        return false;
    }
    const unsigned long check = strtoul(p + 1, &p, 16);
    r->line = p + 1;
    return *p == ',' && r->n > 0 && r->n <= (size_t)(end - r->line) && r->line[r->n - 1] == '\n' &&
           memchr(r->line, '\0', r->n) == NULL && check == check_of(r->row, r->line, r->n);
}

static int fail_foreign(const struct reading *of, uint32_t row, struct ty_err *err)
{
    return ty_fail(err, TY_EINPUT, "%s: its row %" PRIu32 " is not that of this %s; %s", of->path,
                   row + 1, of->records->what, of->otherwise);
}

/* Takes the line of a record over, if it is one of this sweep. */
static int keep_record(struct reading *of, const struct record *r, struct ty_err *err)
{
    struct ty_sweep_records *records = of->records;
    const char *there = r->row < records->n_rows ? records->line[r->row] : NULL;
    if (there != NULL) {
        const bool same = strlen(there) == r->n && memcmp(there, r->line, r->n) == 0;
        return same ? 0
                    : ty_fail(err, TY_EINPUT, "%s: its row %" PRIu32 " differs from one before; %s",
                              of->path, r->row + 1, of->otherwise);
    }
    char *line = strndup(r->line, r->n);
    if (line == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = r->row < records->n_rows ? of->look(of->arg, r->row, line) : TY_EINPUT;
    if (rc < 0) {
        free(line);
        return rc == TY_ENOMEM ? ty_fail_memory(err) : fail_foreign(of, r->row, err);
    }
    records->line[r->row] = line;
    if (rc > 0 || !of->any_answer) { /* a row with times tells more than one that failed */
        of->found->sample = r->row;
        of->any_answer = rc > 0;
    }
    return 0;
}

/* Whether a first line could have been ours, before it was cut or overwritten with zeros. */
static bool began_right(const char *head, const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && head[i] != '\0' && (text[i] == head[i] || text[i] == '\0')) {
        i++;
    }
    return i == len || head[i] == '\0';
}

/* Keeps the records before the first broken one. Refuses a text that was not written for this
 * table: its figures would stand in wrong rows. */
static int keep(struct reading *of, const char *text, size_t len, struct ty_err *err)
{
    const char *head = of->records->head;
    const size_t n = strlen(head);
    struct record r;
    if (!began_right(head, text, len)) {
        return ty_fail(err, TY_EINPUT, "%s: its columns are not those of this %s; %s", of->path,
                       of->records->what, of->otherwise);
    }
    const char *at = text, *end = text + len;
    if (len >= n && memcmp(text, head, n) == 0) {
        at += n;
        while (read_record(at, end, &r)) {
            const int rc = keep_record(of, &r, err);
            if (rc < 0) {
                return rc;
            }
            at = r.line + r.n;
        }
    }
    of->found->size = len;
    of->found->whole = (size_t)(at - text);
    return 0;
}

int ty_sweep_records_read(struct ty_sweep_records *records, const char *path, ty_sweep_look *look,
                          void *arg, const char *otherwise, struct ty_sweep_found *found,
                          struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct reading of = {.records = records,
                         .path = path,
                         .otherwise = otherwise,
                         .look = look,
                         .arg = arg,
                         .found = found};
    const char *text = "";
    size_t len = 0;
    *found = (struct ty_sweep_found){.sample = UINT32_MAX};
    int rc = ty_file_read(&arena, path, MAX_BYTES, &text, &len, err);
    if (rc == 0) {
        rc = keep(&of, text, len, err);
    }
    ty_arena_release(&arena);
    return rc;
}

void ty_sweep_records_release(struct ty_sweep_records *records)
{
    for (uint32_t row = 0; records->line != NULL && row < records->n_rows; row++) {
        free(records->line[row]);
    }
}
