/* read.c - reads and writes files of orders, as text or CSV.
 *
 * Lines go one by one to the reader of their format, which fills flat columns of atoms and of
 * places; the rows then become ranks without another copy. Rows may come in any order. Only a
 * file whose syntax is right is looked at as a whole: first its shape, then its rules. */
#include <stdio.h>
#include <string.h>

#include "model/orders/csv.h"
#include "model/orders/internal.h"
#include "model/orders/text.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"
#include "topology/collectives/coll.h"

/* Appends decimal digits, at most ten; returns the end. */
static char *slots_write_number(char *p, uint32_t value)
{
    char digits[10];
    uint32_t n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (n > 0) {
        *p++ = digits[--n];
    }
    return p;
}

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

/* The characters up to `end` as a word, and the cursor behind them. */
static struct ty_slots_word slots_take(struct ty_slots_reader *reader, const char *end)
{
    const uint32_t col = (uint32_t)(reader->at - reader->start) - reader->wide + 1;
    const struct ty_slots_word word = {reader->at, end, {reader->line, col}};
    for (; reader->at < end; reader->at++) {
        reader->wide += !ty_utf8_begins(*reader->at);
    }
    return word;
}

/* Bytes of a word that are worth quoting in a message. */
static int slots_quote(const struct ty_slots_word *word)
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

/* "wrong slot (WORD); REMEDY" at the word. */
static void slots_wrong(struct ty_slots_reader *reader, const struct ty_slots_word *word,
                        const char *remedy)
{
    ty_slots_reader_fails(reader, TY_EINPUT);
    if (!ty_err_is_full(reader->err)) {
        const struct ty_place at = place_in(reader, word->mark);
        (void)ty_fail_at(reader->err, TY_EINPUT, &at, "wrong slot (%.*s); %s", slots_quote(word),
                         word->at, remedy);
    }
}

/* What would be right where no number was taken: a smaller one if digits stand there, else `form`.
 */
static const char *slots_number_remedy(const char *at, const char *end, const char *form)
{
    return at < end && *at >= '0' && *at <= '9' ? "micro-batches and stages go from 0 to 65534"
                                                : form;
}

/* Phase of 'F', 'B', 'I', 'W'; false for others. */
static bool slots_phase(char letter, uint8_t *phase)
{
    for (int i = TY_PHASE_FORWARD; i <= TY_PHASE_WGRAD; i++) {
        if (ty_phase_letter((enum ty_phase)i) == letter) {
            *phase = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* Begins the row of a rank; false when there are too many: reading stops. */
static bool slots_begin_row(struct ty_slots_reader *reader, uint32_t rank, struct ty_slot_mark at)
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

/* Adds the slot that a word is to the last row. NULL, or what would be right. */
static const char *slots_read_slot(struct ty_slots_reader *reader, const struct ty_slots_word *word,
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

/* ---- collectives between pipeline ranks ---- */

/* As in
 *
 *     all-reduce:0-1:64MiB
 *
 * Name, group and size stand at every rank that issues it, as they do in a training script. Whether
 * all ranks say the same is not looked at here: like NCCL, the simulated ranks find out. */

#define SIZE_BYTES 64u /* longest text of a size, and more */

static const char coll_form[] =
    "write a collective as its name, pipeline ranks and size, such as "
    "all-reduce:0-1:64MiB or all-gather:0,2-3:1MB; names are all-reduce, "
    "all-gather, reduce-scatter, broadcast, reduce, all-to-all";
static const char ranks_form[] = "write the ranks of a collective in ascending order, at least "
                                 "two of them, such as 0-3 or 0,2";

/* Whether a word means one, not whether it is right. */
static bool slots_is_coll(const struct ty_slots_word *word)
{
    const size_t n = (size_t)(word->end - word->at);
    return *word->at >= 'a' && *word->at <= 'z' &&
           (memchr(word->at, ':', n) != NULL || memchr(word->at, '-', n) != NULL);
}

static bool read_name(const char *at, const char *end, uint8_t *coll)
{
    for (int i = 0; i < TY_N_COLLECTIVES; i++) {
        const char *name = ty_coll_name((enum ty_coll)i);
        if (i != TY_COLL_SEND_RECV && strlen(name) == (size_t)(end - at) &&
            memcmp(name, at, strlen(name)) == 0) {
            *coll = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* "0-1,3" into spans: ascending; neighbours become one. */
static bool read_ranks(const char *at, const char *end, struct ty_rank_span *spans,
                       struct ty_slot_coll *c)
{
    for (;;) {
        struct ty_rank_span span;
        if (!ty_scan_number(&at, end, TY_SLOTS_MAX_RANK, &span.first)) {
            return false;
        }
        span.last = span.first;
        if (at < end && *at == '-') {
            at++;
            if (!ty_scan_number(&at, end, TY_SLOTS_MAX_RANK, &span.last) ||
                span.last <= span.first) {
                return false;
            }
        }
        struct ty_rank_span *before = c->n_spans > 0 ? &spans[c->n_spans - 1] : NULL;
        if (before != NULL && span.first <= before->last) {
            return false;
        }
        c->n_ranks += span.last - span.first + 1;
        if (before != NULL && span.first == before->last + 1) {
            before->last = span.last;
        } else {
            spans[c->n_spans++] = span;
        }
        if (at == end) {
            return c->n_ranks >= 2;
        }
        if (*at++ != ',') {
            return false;
        }
    }
}

static char *write_ranks(const struct ty_slot_coll *c, struct ty_arena *arena)
{
    char *text = ty_arena_alloc(arena, (size_t)c->n_spans * 12 + 1, 1); /* "65535-65535," */
    char *p = text;
    for (uint32_t i = 0; text != NULL && i < c->n_spans; i++) {
        if (i > 0) {
            *p++ = ',';
        }
        p = slots_write_number(p, c->spans[i].first);
        if (c->spans[i].last > c->spans[i].first) {
            *p++ = '-';
            p = slots_write_number(p, c->spans[i].last);
        }
    }
    if (text != NULL) {
        *p = '\0';
    }
    return text;
}

static bool read_size(const char *at, const char *end, double *bytes)
{
    char text[SIZE_BYTES], why[160];
    const size_t n = (size_t)(end - at);
    if (n >= sizeof(text)) {
        return false;
    }
    memcpy(text, at, n);
    text[n] = '\0';
    return ty_quantity_parse(text, TY_DIM_BYTES, bytes, why, sizeof(why)) == 0 && *bytes > 0;
}

/* Name, group and size between the colons. NULL, or what would be right. */
static const char *read_coll(const struct ty_slots_word *word, struct ty_rank_span *spans,
                             struct ty_slot_coll *c)
{
    const char *first = memchr(word->at, ':', (size_t)(word->end - word->at));
    const char *second =
        first == NULL ? NULL : memchr(first + 1, ':', (size_t)(word->end - first - 1));
    if (second == NULL || !read_name(word->at, first, &c->coll)) {
        return coll_form;
    }
    if (!read_ranks(first + 1, second, spans, c)) {
        return ranks_form;
    }
    return read_size(second + 1, word->end, &c->bytes) ? NULL
                                                       : "write its size in bytes, such as 64MiB";
}

/* Adds one to the last row. NULL, or what would be right. */
static const char *slots_put_coll(struct ty_slots_reader *reader, const struct ty_slots_word *word)
{
    struct ty_slots_row *row = &reader->row[reader->n_rows - 1];
    if (row->n == 0) {
        return "a collective is issued at the end of a pass; write it behind one";
    }
    if (reader->n_colls == reader->cap_colls && reader->cap_colls == TY_SLOTS_MAX_COLLS) {
        reader->stopped = true;
        return "a file may have 16384 collectives";
    }
    /* a rank takes two bytes of text at least */
    struct ty_rank_span *spans =
        ty_arena_array(reader->arena, struct ty_rank_span, (size_t)(word->end - word->at) / 2 + 1);
    struct ty_slot_coll c = {.after = row->n, .spans = spans};
    const char *remedy = spans == NULL ? "memory is exhausted" : read_coll(word, spans, &c);
    if (remedy == NULL && (c.ranks = write_ranks(&c, reader->arena)) == NULL) {
        remedy = "memory is exhausted";
    }
    if (remedy == NULL && reader->n_colls < reader->cap_colls) {
        reader->coll[reader->n_colls] = c;
        reader->coll_mark[reader->n_colls++] = word->mark;
        row->n_colls++;
    }
    return remedy;
}

static bool has(const struct ty_slot_coll *c, uint32_t rank)
{
    for (uint32_t i = 0; i < c->n_spans; i++) {
        if (rank >= c->spans[i].first && rank <= c->spans[i].last) {
            return true;
        }
    }
    return false;
}

/* Checks the groups of one row, now that the number of ranks is known. */
static void slots_check_colls(struct ty_slots_reader *reader, const struct ty_slots_row *row)
{
    for (uint32_t i = row->first_coll; i < row->first_coll + row->n_colls; i++) {
        const struct ty_slot_coll *c = &reader->coll[i];
        const struct ty_slot_mark mark = reader->coll_mark[i];
        const struct ty_place at = {reader->file, reader->source, mark.line, mark.col};
        const uint32_t last = c->spans[c->n_spans - 1].last;
        const bool outside = last >= reader->n_rows;
        if (!outside && has(c, row->rank)) {
            continue;
        }
        ty_slots_reader_fails(reader, TY_EINPUT);
        if (ty_err_is_full(reader->err)) {
            return;
        }
        if (outside) {
            (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                             "%s over ranks %.60s: there is no rank %u; this schedule has ranks 0 "
                             "to %u",
                             ty_coll_name((enum ty_coll)c->coll), c->ranks, (unsigned)last,
                             (unsigned)(reader->n_rows - 1));
        } else {
            (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                             "%s over ranks %.60s: rank %u is not one of them; only they issue it",
                             ty_coll_name((enum ty_coll)c->coll), c->ranks, (unsigned)row->rank);
        }
    }
}

/* ---- text, a line per rank ---- */

/*
 *     rank 0: F0.0 F1.0^ (F2.0|B0.0) W0.0#1
 *
 * A wrong word is reported and stepped over, so that one reading finds all of them. */

/* ---- atoms ---- */

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p;
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && *p != ' ' && *p != '\t') {
        p++;
    }
    return p;
}

/* "^" and "#2" behind an atom, in either order. NULL, or what would be right. */
static const char *read_marks(const char **at, const char *end, struct ty_slot *slot)
{
    for (bool sliced = false; *at < end && (**at == '^' || **at == '#');) {
        uint32_t slice;
        if (*(*at)++ == '^') {
            if (slot->direction != 0) {
                return "one ^ marks the second direction";
            }
            slot->direction = 1;
            continue;
        }
        if (sliced || !ty_scan_number(at, end, TY_SLOTS_MAX_SLICE, &slice)) {
            return "write the slice of the sequence as #0 to #254";
        }
        slot->slice = (uint8_t)slice;
        sliced = true;
    }
    return NULL;
}

/* One atom at *at. NULL, or what would be right. */
static const char *read_atom(const char **at, const char *end, struct ty_slot *slot)
{
    static const char like[] = "write F, B, I or W, micro-batch, dot, stage, such as F3.1";
    uint32_t mb, stage;
    *slot = (struct ty_slot){.mb = 0};
    if (*at == end || !slots_phase(*(*at)++, &slot->phase)) {
        return like;
    }
    if (!ty_scan_number(at, end, TY_SLOTS_MAX_MB, &mb)) {
        return slots_number_remedy(*at, end, like);
    }
    if (*at == end || *(*at)++ != '.') {
        return like;
    }
    if (!ty_scan_number(at, end, TY_SLOTS_MAX_STAGE, &stage)) {
        return slots_number_remedy(*at, end, like);
    }
    slot->mb = (uint16_t)mb;
    slot->stage = (uint16_t)stage;
    return read_marks(at, end, slot);
}

/* Appends the slots of a rank with a separator between them. */
static void slots_write_rank(const struct ty_rank_slots *rank, const struct ty_slots_form *form,
                             char separator, struct ty_text *text)
{
    char buf[2 * TY_SLOTS_ATOM + 4];
    for (uint32_t i = 0; i < rank->n; i++) {
        const bool paired = rank->slot[i].paired && i + 1 < rank->n;
        char *p = buf;
        if (i > 0) {
            *p++ = separator;
        }
        if (paired) {
            *p++ = '(';
        }
        p = form->write(p, &rank->slot[i]);
        if (paired) {
            *p++ = form->between;
            p = form->write(p, &rank->slot[++i]);
        }
        ty_text_bytes(text, buf, (size_t)(p - buf));
        if (paired) {
            ty_text_bytes(text, form->end, strlen(form->end));
        }
    }
    ty_text_bytes(text, "\n", 1);
}

/* What ty_slot_text writes, several times faster: a long schedule is a million of them. */
static char *write_atom(char *p, const struct ty_slot *slot)
{
    *p++ = ty_phase_letter((enum ty_phase)slot->phase);
    p = slots_write_number(p, slot->mb);
    *p++ = '.';
    p = slots_write_number(p, slot->stage);
    if (slot->direction != 0) {
        *p++ = '^';
    }
    if (slot->slice != 0) {
        *p++ = '#';
        p = slots_write_number(p, slot->slice);
    }
    return p;
}

static const struct ty_slots_form text_form = {
    .read = read_atom,
    .write = write_atom,
    .between = '|',
    .end = ")",
    .pair = "an overlapped slot is a forward and a backward, such as (F5.0|B1.7)",
    .single = "slots end with a blank; behind the stage only ^ and # may follow",
};

/* ---- lines ---- */

/* "rank R:"; the cursor moves behind it. */
static bool read_head(struct ty_slots_reader *reader)
{
    const char *p = reader->at, *const end = reader->stop;
    uint32_t rank;
    bool found = end - p > 4 && memcmp(p, "rank", 4) == 0 && (p[4] == ' ' || p[4] == '\t');
    if (found) {
        p = skip_blanks(p + 4, end);
        found = ty_scan_number(&p, end, TY_SLOTS_MAX_RANK, &rank);
        p = skip_blanks(p, end);
        found = found && p < end && *p == ':';
    }
    const struct ty_slots_word word = slots_take(reader, found ? p + 1 : end);
    if (found) {
        return slots_begin_row(reader, rank, word.mark);
    }
    ty_slots_reader_fails(reader, TY_EINPUT);
    if (!ty_err_is_full(reader->err)) {
        const struct ty_place at = {reader->file, reader->source, word.mark.line, word.mark.col};
        (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                         "wrong line (%.*s); write \"rank R:\" and the slots of rank R, 0 to 65534",
                         slots_quote(&word), word.at);
    }
    reader->stopped = reader->stopped || reader->n_rows == 0; /* another kind of file */
    return false;
}

static void slots_text_row(struct ty_slots_reader *reader)
{
    if (!read_head(reader)) {
        return;
    }
    for (;;) {
        reader->at = skip_blanks(reader->at, reader->stop);
        if (reader->at == reader->stop || reader->stopped) {
            return;
        }
        const struct ty_slots_word word = slots_take(reader, word_end(reader->at, reader->stop));
        const char *remedy = slots_is_coll(&word) ? slots_put_coll(reader, &word)
                                                  : slots_read_slot(reader, &word, &text_form);
        if (remedy != NULL) {
            slots_wrong(reader, &word, remedy);
        }
    }
}

void ty_slots_write_text(const struct ty_slots *slots, struct ty_text *text)
{
    for (uint32_t r = 0; r < slots->p; r++) {
        ty_text_add(text, "rank %u: ", (unsigned)r);
        slots_write_rank(&slots->rank[r], &text_form, ' ', text);
    }
}

/* ---- CSV, a row per rank ---- */

/* As in
 *
 *     0F0,0F1,,(0F2;3B0)OVERLAP_F_B
 *
 * PyTorch skips what it does not know behind an action; here every cell must be understood whole.
 * Source: pytorch/pytorch, torch/distributed/pipelining/schedules.py, class _Action. */

/* Cells that move data: trainyard derives them from the order. */
static const char *const communication[] = {
    "SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD",
};

/* ---- actions ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_communication(const char *word, size_t n)
{
    for (size_t i = 0; i < TY_COUNT(communication); i++) {
        if (strlen(communication[i]) == n && memcmp(communication[i], word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* "1F3" at *at; communication has no phase of its own. NULL, or what would be right. */
static const char *read_action(const char **at, const char *end, struct ty_slot *slot)
{
    static const char like[] = "write the stage, F, B, I or W, and the micro-batch, such as 1F3";
    uint32_t stage, mb = 0;
    *slot = (struct ty_slot){.phase = TY_PHASE_STEP};
    if (!ty_scan_number(at, end, TY_SLOTS_MAX_STAGE, &stage)) {
        return slots_number_remedy(*at, end, like);
    }
    const char *const word = *at;
    while (*at < end && ((**at >= 'A' && **at <= 'Z') || **at == '_')) {
        (*at)++;
    }
    const size_t n = (size_t)(*at - word);
    const bool numbered = ty_scan_number(at, end, TY_SLOTS_MAX_MB, &mb);
    if (!is_communication(word, n) && (n != 1 || !numbered || !slots_phase(*word, &slot->phase))) {
        return slots_number_remedy(*at, end, like);
    }
    slot->mb = (uint16_t)mb;
    slot->stage = (uint16_t)stage;
    return NULL;
}

static char *write_action(char *p, const struct ty_slot *slot)
{
    p = slots_write_number(p, slot->stage);
    *p++ = ty_phase_letter((enum ty_phase)slot->phase);
    return slots_write_number(p, slot->mb);
}

static const struct ty_slots_form csv_form = {
    .read = read_action,
    .write = write_action,
    .between = ';',
    .end = ")OVERLAP_F_B",
    .pair = "an overlapped slot is a forward and a backward, such as (0F3;7B1)OVERLAP_F_B",
    .single = "nothing may follow the micro-batch; commas separate cells",
};

/* ---- rows ---- */

/* Reads the current line, which is neither blank nor a comment. */
static void slots_csv_row(struct ty_slots_reader *reader)
{
    const struct ty_slots_word head = slots_take(reader, reader->at);
    if (!slots_begin_row(reader, reader->n_rows, head.mark)) {
        return;
    }
    while (reader->at < reader->stop && !reader->stopped) {
        const char *comma = memchr(reader->at, ',', (size_t)(reader->stop - reader->at));
        const char *from = reader->at, *to = comma != NULL ? comma : reader->stop;
        while (from < to && is_blank(*from)) {
            from++;
        }
        while (to > from && is_blank(to[-1])) {
            to--;
        }
        if (to - from >= 2 && *from == '"' && to[-1] == '"') {
            from++, to--;
        }
        (void)slots_take(reader, from);
        const struct ty_slots_word word = slots_take(reader, to);
        const char *remedy = from < to ? slots_read_slot(reader, &word, &csv_form) : NULL;
        if (remedy != NULL) {
            slots_wrong(reader, &word, remedy);
        }
        (void)slots_take(reader, comma != NULL ? comma + 1 : reader->stop);
    }
}

/* ---- writing ---- */

static int check_writable(const struct ty_slots *slots, struct ty_err *err)
{
    char name[32];
    for (uint32_t r = 0; r < slots->p; r++) {
        for (uint32_t i = 0; i < slots->rank[r].n; i++) {
            const struct ty_slot *slot = &slots->rank[r].slot[i];
            if (slot->direction != 0 || slot->slice != 0) {
                return ty_fail(err, TY_EUSAGE,
                               "rank %u slot %u (%s): PyTorch's schedule CSV has no %s; use the "
                               "slots format",
                               (unsigned)r, (unsigned)ty_slots_slot_number(&slots->rank[r], i),
                               ty_slot_text(slot, name, sizeof(name)),
                               slot->direction != 0 ? "second direction" : "slices of sequences");
            }
        }
    }
    return 0;
}

int ty_slots_write_csv(const struct ty_slots *slots, struct ty_text *text, struct ty_err *err)
{
    const int rc = check_writable(slots, err);
    for (uint32_t r = 0; rc == 0 && r < slots->p; r++) {
        slots_write_rank(&slots->rank[r], &csv_form, ',', text);
    }
    return rc;
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
        (csv ? slots_csv_row : slots_text_row)(reader);
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
        slots_check_colls(reader, &reader->row[i]);
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
