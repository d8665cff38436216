/* read.c - a schedule file from its bytes to checked orders.
 *
 * Lines go one by one to the reader of the format, which fills flat columns of atoms and of places;
 * the rows then become ranks without another copy. Rows may come in any order. Only a file whose
 * syntax is right is looked at as a whole: first its shape, then its rules. */
#include "model/orders/internal.h"

#include <string.h>

#include "sim/base/utf8.h"

#define QUOTE_BYTES 32  /* longest quotation of a wrong word */
#define ATOM_BYTES  4u  /* shortest atom with what separates it: "0F0," of CSV */
#define COLL_BYTES  16u /* shortest collective: "broadcast:0,1:1B" */

bool ty_err_is_full(struct ty_err *err)
{
    if (err != NULL && err->n < TY_ERR_MAX && err->n_dropped == 0) {
        return false;
    }
    (void)ty_fail(err, TY_EINPUT, "schedule");
    return true;
}

struct ty_slots_word ty_slots_take(struct ty_slots_reader *reader, const char *end)
{
    const uint32_t col = (uint32_t)(reader->at - reader->start) - reader->wide + 1;
    const struct ty_slots_word word = {reader->at, end, {reader->line, col}};
    for (; reader->at < end; reader->at++) {
        reader->wide += !ty_utf8_begins(*reader->at);
    }
    return word;
}

int ty_slots_quote(const struct ty_slots_word *word)
{
    ptrdiff_t n = word->end - word->at;
    if (n > QUOTE_BYTES) {
        n = QUOTE_BYTES;
        while (n > 0 && !ty_utf8_begins(word->at[n])) {
            n--;
        }
    }
    return (int)n;
}

static struct ty_place place_in(const struct ty_slots_reader *reader, struct ty_slot_mark mark)
{
    return (struct ty_place){reader->file, reader->source, mark.line, mark.col};
}

void ty_slots_wrong(struct ty_slots_reader *reader, const struct ty_slots_word *word,
                    const char *remedy)
{
    ty_slots_reader_fails(reader, TY_EINPUT);
    if (!ty_err_is_full(reader->err)) {
        const struct ty_place at = place_in(reader, word->mark);
        (void)ty_fail_at(reader->err, TY_EINPUT, &at, "wrong slot (%.*s); %s", ty_slots_quote(word),
                         word->at, remedy);
    }
}

const char *ty_slots_number_remedy(const char *at, const char *end, const char *form)
{
    return at < end && *at >= '0' && *at <= '9' ? "micro-batches and stages go from 0 to 65534"
                                                : form;
}

bool ty_slots_phase(char letter, uint8_t *phase)
{
    for (int i = TY_PHASE_FORWARD; i <= TY_PHASE_WGRAD; i++) {
        if (ty_phase_letter((enum ty_phase)i) == letter) {
            *phase = (uint8_t)i;
            return true;
        }
    }
    return false;
}

bool ty_slots_begin_row(struct ty_slots_reader *reader, uint32_t rank, struct ty_slot_mark at)
{
    if (reader->n_rows == reader->cap_rows) {
        const struct ty_place place = place_in(reader, at);
        reader->stopped = true;
        ty_slots_reader_fails(reader, TY_ELIMIT);
        (void)ty_fail_at(reader->err, TY_ELIMIT, &place, "too many ranks; at most %u",
                         (unsigned)reader->cap_rows);
        return false;
    }
    reader->row[reader->n_rows++] = (struct ty_slots_row){
        .rank = rank, .first = reader->n, .first_coll = reader->n_colls, .at = at};
    return true;
}

/* Adds an atom to the last row. */
static void put(struct ty_slots_reader *reader, const struct ty_slot *slot,
                const struct ty_slots_word *word, const char *at)
{
    if (reader->n == reader->cap) {
        if (!reader->stopped) {
            (void)ty_fail(reader->err, TY_ELIMIT, "%s: more than %u passes", reader->file,
                          (unsigned)reader->cap);
        }
        reader->stopped = true;
        ty_slots_reader_fails(reader, TY_ELIMIT);
        return;
    }
    reader->slot[reader->n] = *slot;
    reader->mark[reader->n] = word->mark;
    reader->mark[reader->n++].col += (uint32_t)(at - word->at);
    reader->row[reader->n_rows - 1].n++;
}

/* Two halves that overlap, either first; the forward is kept first. */
static const char *read_pair(struct ty_slots_reader *reader, const struct ty_slots_word *word,
                             const struct ty_slots_form *form)
{
    struct ty_slot half[2];
    const char *at[2], *p = word->at;
    const size_t tail = strlen(form->end);
    for (size_t i = 0; i < 2; i++) {
        if (p == word->end || *p++ != (i == 0 ? '(' : form->between)) {
            return form->pair;
        }
        at[i] = p;
        const char *remedy = form->read(&p, word->end, &half[i]);
        if (remedy != NULL) {
            return remedy; /* cppcheck-suppress returnDanglingLifetime ; it is a literal */
        }
    }
    const size_t first = half[0].phase == TY_PHASE_FORWARD ? 0 : 1, second = 1 - first;
    if ((size_t)(word->end - p) != tail || memcmp(p, form->end, tail) != 0 ||
        half[first].phase != TY_PHASE_FORWARD || !ty_slot_is_backward(&half[second])) {
        return form->pair;
    }
    half[first].paired = true;
    put(reader, &half[first], word, at[first]);
    put(reader, &half[second], word, at[second]);
    return NULL;
}

const char *ty_slots_read_slot(struct ty_slots_reader *reader, const struct ty_slots_word *word,
                               const struct ty_slots_form *form)
{
    const char *p = word->at;
    struct ty_slot slot;
    if (*p == '(') {
        return read_pair(reader, word, form);
    }
    const char *remedy = form->read(&p, word->end, &slot);
    if (remedy == NULL && p < word->end) {
        remedy = form->single;
    }
    if (remedy == NULL && slot.phase != TY_PHASE_STEP) {
        put(reader, &slot, word, word->at);
    }
    return remedy; /* cppcheck-suppress returnDanglingLifetime ; it is a literal */
}

/* ---- lines ---- */

/* Moves to the next line that says something; `next` is where the one after it begins. */
static bool next_line(struct ty_slots_reader *reader, const char **next, const char *end)
{
    while (*next < end) {
        const char *p = reader->start = *next;
        while (p < end && *p != '\n' && *p != '\r') {
            p++;
        }
        reader->stop = p;
        *next = p + (end - p >= 2 && p[0] == '\r' && p[1] == '\n' ? 2 : p < end);
        reader->line++;
        reader->wide = 0;
        reader->at = reader->start;
        while (reader->at < reader->stop && (*reader->at == ' ' || *reader->at == '\t')) {
            reader->at++;
        }
        if (reader->at < reader->stop && *reader->at != '#') {
            return true;
        }
    }
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void read_rows(struct ty_slots_reader *reader, size_t len)
{
    const char *const end = reader->source + len;
    const char *next = reader->source;
    if (len >= 3 && memcmp(next, "\xEF\xBB\xBF", 3) == 0) { /* byte-order mark */
        next += 3;
    }
    bool more = next_line(reader, &next, end);
    const bool csv = more && !is_letter(*reader->at);
    while (more) {
        (csv ? ty_slots_csv_row : ty_slots_text_row)(reader);
        more = !reader->stopped && next_line(reader, &next, end);
    }
}

/* ---- rows to ranks ---- */

/* Counts an error of a row; true when its message is wanted, with the place of the row in `at`. */
static bool row_fails(struct ty_slots_reader *reader, const struct ty_slots_row *row,
                      struct ty_place *at)
{
    ty_slots_reader_fails(reader, TY_EINPUT);
    *at = place_in(reader, row->at);
    return !ty_err_is_full(reader->err);
}

static uint32_t lowest_missing(const uint32_t *row_of, uint32_t p)
{
    uint32_t rank = 0;
    while (rank < p && row_of[rank] != 0) {
        rank++;
    }
    return rank;
}

/* Fills row_of[rank] with 1 + its row; reports ranks that are missing or there twice. */
static void sort_rows(struct ty_slots_reader *reader, uint32_t *row_of)
{
    const uint32_t p = reader->n_rows;
    struct ty_place at;
    for (uint32_t i = 0; i < p; i++) {
        const struct ty_slots_row *row = &reader->row[i];
        if (row->rank < p && row_of[row->rank] == 0) {
            row_of[row->rank] = i + 1;
        } else if (row->rank < p && row_fails(reader, row, &at)) {
            (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                             "rank %u again; its first line is line %u", (unsigned)row->rank,
                             (unsigned)reader->row[row_of[row->rank] - 1].at.line);
        }
        if (row->n == 0 && row_fails(reader, row, &at)) {
            (void)ty_fail_at(reader->err, TY_EINPUT, &at, "rank %u runs nothing",
                             (unsigned)row->rank);
        }
    }
    const uint32_t missing = lowest_missing(row_of, p);
    for (uint32_t i = 0; i < p; i++) {
        const struct ty_slots_row *row = &reader->row[i];
        if (row->rank >= p && row_fails(reader, row, &at)) {
            (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                             "rank %u: ranks of %u line%s are numbered from 0 to %u; rank %u is "
                             "missing",
                             (unsigned)row->rank, (unsigned)p, p == 1 ? "" : "s", (unsigned)(p - 1),
                             (unsigned)missing);
        }
    }
}

static int make_ranks(struct ty_slots_reader *reader, struct ty_slots_file *file,
                      struct ty_arena *arena)
{
    const uint32_t p = reader->n_rows;
    uint32_t *row_of = ty_arena_array(arena, uint32_t, p);
    struct ty_rank_slots *rank = ty_arena_array(arena, struct ty_rank_slots, p);
    struct ty_rank_marks *marks = ty_arena_array(arena, struct ty_rank_marks, p);
    if (row_of == NULL || rank == NULL || marks == NULL) {
        return ty_fail_memory(reader->err);
    }
    sort_rows(reader, row_of);
    const bool sorted = reader->code == 0;
    for (uint32_t i = 0; i < p && sorted; i++) {
        ty_slots_check_colls(reader, &reader->row[i]);
    }
    if (reader->code != 0) {
        return reader->code;
    }
    for (uint32_t r = 0; r < p; r++) {
        const struct ty_slots_row *row = &reader->row[row_of[r] - 1];
        rank[r] = (struct ty_rank_slots){.slot = reader->slot + row->first,
                                         .n = row->n,
                                         .cap = row->n,
                                         .coll = reader->coll + row->first_coll,
                                         .n_colls = row->n_colls};
        marks[r] = (struct ty_rank_marks){row->at, reader->mark + row->first};
    }
    file->slots = (struct ty_slots){rank, p};
    file->marks = (struct ty_slots_marks){reader->file, reader->source, marks};
    return 0;
}

/* ---- the whole file ---- */

static int reader_init(struct ty_slots_reader *reader, size_t len, struct ty_arena *arena)
{
    const size_t atoms = len / ATOM_BYTES + 2;
    size_t lines = 1;
    for (size_t i = 0; i < len && lines <= TY_SLOTS_MAX_RANK; i++) {
        lines += reader->source[i] == '\n' || reader->source[i] == '\r';
    }
    reader->cap_rows = (uint32_t)lines;
    reader->cap = atoms < TY_SLOTS_MAX_ATOMS ? (uint32_t)atoms : TY_SLOTS_MAX_ATOMS;
    const size_t colls = len / COLL_BYTES + 1;
    reader->arena = arena;
    reader->cap_colls = colls < TY_SLOTS_MAX_COLLS ? (uint32_t)colls : TY_SLOTS_MAX_COLLS;
    reader->coll = ty_arena_array(arena, struct ty_slot_coll, reader->cap_colls);
    reader->coll_mark = ty_arena_array(arena, struct ty_slot_mark, reader->cap_colls);
    reader->slot = ty_arena_array(arena, struct ty_slot, reader->cap);
    reader->mark = ty_arena_array(arena, struct ty_slot_mark, reader->cap);
    reader->row = ty_arena_array(arena, struct ty_slots_row, reader->cap_rows);
    if (reader->slot == NULL || reader->mark == NULL || reader->row == NULL ||
        reader->coll == NULL || reader->coll_mark == NULL) {
        return ty_fail_memory(reader->err);
    }
    return 0;
}

/* The file with its shape, before any rule is looked at. */
static int read_file(struct ty_slots_file *file, const char *name, const char *text, size_t len,
                     struct ty_arena *arena, struct ty_err *err)
{
    struct ty_slots_reader reader = {.file = name, .source = text, .err = err};
    *file = (struct ty_slots_file){.placement = TY_PLACE_LOOPED};
    int rc = ty_utf8_kind(name, text, len, err);
    if (rc == 0) {
        rc = reader_init(&reader, len, arena);
    }
    if (rc < 0) {
        return rc;
    }
    read_rows(&reader, len);
    if (reader.code != 0) {
        return reader.code;
    }
    if (reader.n_rows == 0) {
        return ty_fail(err, TY_EINPUT,
                       "%s: no schedule; write one line per rank, such as \"rank 0: F0.0 B0.0\"",
                       name);
    }
    rc = make_ranks(&reader, file, arena);
    return rc == 0 ? ty_slots_infer(file, err) : rc;
}

int ty_slots_read(struct ty_slots_file *file, const char *name, const char *text, size_t len,
                  struct ty_arena *arena, struct ty_err *err)
{
    const int rc = read_file(file, name, text, len, arena, err);
    return rc == 0 ? ty_slots_check(file->placement, &file->shape, &file->slots, &file->marks, err)
                   : rc;
}
