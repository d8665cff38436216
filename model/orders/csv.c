/* csv.c - rows of "0F0,0F1,,(0F2;3B0)OVERLAP_F_B": one rank in, one rank out.
 *
 * PyTorch skips what it does not know behind an action; here every cell must be understood whole.
 * Source: pytorch/pytorch, torch/distributed/pipelining/schedules.py, class _Action. */
#include "model/orders/csv.h"

#include <string.h>

#include "model/orders/internal.h"

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
        return ty_slots_number_remedy(*at, end, like);
    }
    const char *const word = *at;
    while (*at < end && ((**at >= 'A' && **at <= 'Z') || **at == '_')) {
        (*at)++;
    }
    const size_t n = (size_t)(*at - word);
    const bool numbered = ty_scan_number(at, end, TY_SLOTS_MAX_MB, &mb);
    if (!is_communication(word, n) &&
        (n != 1 || !numbered || !ty_slots_phase(*word, &slot->phase))) {
        return ty_slots_number_remedy(*at, end, like);
    }
    slot->mb = (uint16_t)mb;
    slot->stage = (uint16_t)stage;
    return NULL;
}

static char *write_action(char *p, const struct ty_slot *slot)
{
    p = ty_slots_write_number(p, slot->stage);
    *p++ = ty_phase_letter((enum ty_phase)slot->phase);
    return ty_slots_write_number(p, slot->mb);
}

static const struct ty_slots_form form = {
    .read = read_action,
    .write = write_action,
    .between = ';',
    .end = ")OVERLAP_F_B",
    .pair = "an overlapped slot is a forward and a backward, such as (0F3;7B1)OVERLAP_F_B",
    .single = "nothing may follow the micro-batch; commas separate cells",
};

/* ---- rows ---- */

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
        const char *remedy = from < to ? ty_slots_read_slot(reader, &word, &form) : NULL;
        if (remedy != NULL) {
            ty_slots_wrong(reader, &word, remedy);
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

int ty_slots_write_csv(const struct ty_slots *slots, struct ty_text *text, struct ty_err *err)
{
    const int rc = check_writable(slots, err);
    for (uint32_t r = 0; rc == 0 && r < slots->p; r++) {
        ty_slots_write_rank(&slots->rank[r], &form, ',', text);
    }
    return rc;
}
