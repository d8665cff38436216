/* text.c - reads and writes an order as text, a line per rank:
 *
 *     rank 0: F0.0 F1.0^ (F2.0|B0.0) W0.0#1
 *
 * A wrong word is reported and stepped over, so that one reading finds all of them. */
#include "model/orders/text.h"

#include <string.h>

#include "model/orders/internal.h"

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
    if (*at == end || !ty_slots_phase(*(*at)++, &slot->phase)) {
        return like;
    }
    if (!ty_scan_number(at, end, TY_SLOTS_MAX_MB, &mb)) {
        return ty_slots_number_remedy(*at, end, like);
    }
    if (*at == end || *(*at)++ != '.') {
        return like;
    }
    if (!ty_scan_number(at, end, TY_SLOTS_MAX_STAGE, &stage)) {
        return ty_slots_number_remedy(*at, end, like);
    }
    slot->mb = (uint16_t)mb;
    slot->stage = (uint16_t)stage;
    return read_marks(at, end, slot);
}

char *ty_slots_write_number(char *p, uint32_t value)
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

void ty_slots_write_rank(const struct ty_rank_slots *rank, const struct ty_slots_form *form,
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
    p = ty_slots_write_number(p, slot->mb);
    *p++ = '.';
    p = ty_slots_write_number(p, slot->stage);
    if (slot->direction != 0) {
        *p++ = '^';
    }
    if (slot->slice != 0) {
        *p++ = '#';
        p = ty_slots_write_number(p, slot->slice);
    }
    return p;
}

static const struct ty_slots_form form = {
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
    const struct ty_slots_word word = ty_slots_take(reader, found ? p + 1 : end);
    if (found) {
        return ty_slots_begin_row(reader, rank, word.mark);
    }
    ty_slots_reader_fails(reader, TY_EINPUT);
    if (!ty_err_is_full(reader->err)) {
        const struct ty_place at = {reader->file, reader->source, word.mark.line, word.mark.col};
        (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                         "wrong line (%.*s); write \"rank R:\" and the slots of rank R, 0 to 65534",
                         ty_slots_quote(&word), word.at);
    }
    reader->stopped = reader->stopped || reader->n_rows == 0; /* another kind of file */
    return false;
}

void ty_slots_text_row(struct ty_slots_reader *reader)
{
    if (!read_head(reader)) {
        return;
    }
    for (;;) {
        reader->at = skip_blanks(reader->at, reader->stop);
        if (reader->at == reader->stop || reader->stopped) {
            return;
        }
        const struct ty_slots_word word = ty_slots_take(reader, word_end(reader->at, reader->stop));
        const char *remedy = ty_slots_is_coll(&word) ? ty_slots_put_coll(reader, &word)
                                                     : ty_slots_read_slot(reader, &word, &form);
        if (remedy != NULL) {
            ty_slots_wrong(reader, &word, remedy);
        }
    }
}

void ty_slots_write_text(const struct ty_slots *slots, struct ty_text *text)
{
    for (uint32_t r = 0; r < slots->p; r++) {
        ty_text_add(text, "rank %u: ", (unsigned)r);
        ty_slots_write_rank(&slots->rank[r], &form, ' ', text);
    }
}
