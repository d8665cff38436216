/* csv.c - rows of "0F0,0F1,,(0F2;3B0)OVERLAP_F_B": one rank in, one rank out.
 *
 * PyTorch skips what it does not know behind an action; here every cell must be understood whole.
 * Source: pytorch/pytorch, torch/distributed/pipelining/schedules.py, class _Action. */
#include "model/orders/csv.h"

#include <string.h>

#include "model/orders/internal.h"

#define PAIR_END    ")OVERLAP_F_B"
#define ACTION_ROOM 16 /* bytes of "65535F65535" and more */

/* Cells that move data: trainyard derives them from the order. */
static const char *const communication[] = {
    "SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD",
};

/* ---- reading ---- */

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

/* "1F3" at *at. `skip` is set for communication. NULL, or what would be right. */
static const char *read_action(const char **at, const char *end, struct ty_slot *slot, bool *skip)
{
    static const char form[] = "write the stage, F, B, I or W, and the micro-batch, such as 1F3";
    uint32_t stage, mb = 0;
    *slot = (struct ty_slot){.mb = 0};
    if (!ty_slots_number(at, end, TY_SLOTS_MAX_STAGE, &stage)) {
        return ty_slots_number_remedy(*at, end, form);
    }
    const char *const word = *at;
    while (*at < end && ((**at >= 'A' && **at <= 'Z') || **at == '_')) {
        (*at)++;
    }
    const size_t n = (size_t)(*at - word);
    const bool numbered = ty_slots_number(at, end, TY_SLOTS_MAX_MB, &mb);
    *skip = is_communication(word, n);
    if (!*skip && (n != 1 || !numbered || !ty_slots_phase(*word, &slot->phase))) {
        return ty_slots_number_remedy(*at, end, form);
    }
    slot->mb = (uint16_t)mb;
    slot->stage = (uint16_t)stage;
    return NULL;
}

/* "(0F3;7B1)OVERLAP_F_B", either half first. NULL, or what would be right. */
static const char *read_pair(struct ty_slots_reader *reader, const struct ty_slots_word *word)
{
    static const char form[] = "an overlapped slot is a forward and a backward, such as "
                               "(0F3;7B1)OVERLAP_F_B";
    struct ty_slot half[2];
    const char *at[2] = {word->at + 1, NULL};
    const char *p = at[0];
    bool skip[2] = {false, false};
    const char *remedy = read_action(&p, word->end, &half[0], &skip[0]);
    if (remedy == NULL && (p == word->end || *p++ != ';')) {
        remedy = form;
    }
    at[1] = p;
    remedy = remedy != NULL ? remedy : read_action(&p, word->end, &half[1], &skip[1]);
    const size_t tail = sizeof(PAIR_END) - 1;
    if (remedy == NULL &&
        (skip[0] || skip[1] || (size_t)(word->end - p) != tail || memcmp(p, PAIR_END, tail) != 0)) {
        remedy = form;
    }
    if (remedy == NULL && !ty_slots_put_pair(reader, half, word, at)) {
        remedy = form;
    }
    return remedy;
}

static void read_cell(struct ty_slots_reader *reader, const struct ty_slots_word *word)
{
    const char *remedy, *p = word->at;
    struct ty_slot slot;
    bool skip = false;
    if (*p == '(') {
        remedy = read_pair(reader, word);
    } else {
        remedy = read_action(&p, word->end, &slot, &skip);
        if (remedy == NULL && p < word->end) {
            remedy = "nothing may follow the micro-batch; commas separate cells";
        }
        if (remedy == NULL && !skip) {
            ty_slots_put(reader, &slot, word, word->at);
        }
    }
    if (remedy != NULL) {
        ty_slots_wrong(reader, word, remedy);
    }
}

void ty_slots_csv_row(struct ty_slots_reader *reader)
{
    const struct ty_slots_word head = ty_slots_take(reader, reader->at);
    if (!ty_slots_begin_row(reader, reader->n_rows, head.mark)) {
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
        (void)ty_slots_take(reader, from);
        const struct ty_slots_word word = ty_slots_take(reader, to);
        if (from < to) {
            read_cell(reader, &word);
        }
        (void)ty_slots_take(reader, comma != NULL ? comma + 1 : reader->stop);
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

static char *write_action(char *p, const struct ty_slot *slot)
{
    p = ty_slots_write_number(p, slot->stage);
    *p++ = ty_phase_letter((enum ty_phase)slot->phase);
    return ty_slots_write_number(p, slot->mb);
}

static void write_rank(const struct ty_rank_slots *rank, struct ty_text *text)
{
    char buf[2 * ACTION_ROOM + 4];
    for (uint32_t i = 0; i < rank->n; i++) {
        const bool paired = rank->slot[i].paired && i + 1 < rank->n;
        char *p = buf;
        if (i > 0) {
            *p++ = ',';
        }
        if (paired) {
            *p++ = '(';
        }
        p = write_action(p, &rank->slot[i]);
        if (paired) {
            *p++ = ';';
            p = write_action(p, &rank->slot[++i]);
        }
        ty_text_bytes(text, buf, (size_t)(p - buf));
        if (paired) {
            ty_text_bytes(text, PAIR_END, sizeof(PAIR_END) - 1);
        }
    }
    ty_text_bytes(text, "\n", 1);
}

int ty_slots_write_csv(const struct ty_slots *slots, struct ty_text *text, struct ty_err *err)
{
    const int rc = check_writable(slots, err);
    for (uint32_t r = 0; rc == 0 && r < slots->p; r++) {
        write_rank(&slots->rank[r], text);
    }
    return rc;
}
