/* test_sched_pictures.c - the picture in the head comment of every schedule is what its code emits.
 *
 *     p = 2, m = 4, v = 2
 *     rank 0 |F0 F1 f0 f1 ..|
 *     rank 1 |.. F0 F1 f0 f1|
 *
 * One cell per unit of time: letter of the pass and micro-batch, lower case on a rank's second
 * stage, in the second direction and for the second slice; `==` while a pass goes on; `..` idle;
 * `F3|B1 ==` an overlapped slot. tF = tI = tW = 1 and tB = tI + tW unless the text beside the
 * picture says otherwise. TRAINYARD_SOURCE is the top of the source tree. */
#include <ctype.h>

#include "tests/unit/sched_play.h"

enum {
    MAX_RANKS = 8,
    MAX_CELLS = 40,
    ROW = 3 * MAX_CELLS + 1,
    LINE = 256
};

static const struct {
    const char *name, *file;
} sources[] = {
#define X(id, name) {name, "model/schedule/" #id ".c"},
    TY_SCHEDULES(X)
#undef X
};

/* A drawn picture: its rows without the frame, and all text beside and around them. */
struct picture {
    uint32_t n;
    char row[MAX_RANKS][ROW];
    char words[LINE * 3];
};

/* The number after "key = " in the words, or the fallback. */
static uint32_t number(const struct picture *picture, const char *key, uint32_t fallback)
{
    const size_t len = strlen(key);
    for (const char *at = picture->words; (at = strstr(at, key)) != NULL; at += len) {
        const bool whole = at == picture->words || !isalnum((unsigned char)at[-1]);
        unsigned value;
        if (whole && sscanf(at + len, " = %u", &value) == 1) {
            return value;
        }
    }
    return fallback;
}

static char *cell_of(char *row, uint64_t unit)
{
    ck_assert_uint_lt(unit, MAX_CELLS);
    return row + 3 * unit;
}

/* One slot: its first cell, the bar of an overlapped one, and the cells while it goes on. */
static void draw_slot(const struct play *p, const struct ty_slot *s, uint64_t start, char *row)
{
    const uint64_t own = play_duration(p, s), all = own + (s->paired ? play_duration(p, s + 1) : 0);
    for (uint32_t k = 0; k < (s->paired ? 2 : 1); k++) {
        const bool looped = p->sched->placement == TY_PLACE_LOOPED;
        const bool lower = s[k].direction + s[k].slice + (!looped && s[k].stage >= p->shape.p) +
                               (looped && s[k].stage / p->shape.p) >
                           0;
        const int letter = (unsigned char)ty_phase_letter((enum ty_phase)s[k].phase);
        char *cell = cell_of(row, start + k * own);
        cell[0] = (char)(lower ? tolower(letter) : letter);
        cell[1] = (char)('0' + s[k].mb);
    }
    for (uint64_t unit = 1; unit < all; unit++) {
        if (!s->paired || unit != own) {
            memcpy(cell_of(row, start + unit), "==", 2);
        }
    }
    if (s->paired) {
        cell_of(row, start + own)[-1] = '|';
    }
}

static void draw(const struct play *p, struct picture *picture)
{
    *picture = (struct picture){.n = p->shape.p};
    ck_assert_uint_le(p->makespan, MAX_CELLS);
    for (uint32_t r = 0; r < p->shape.p; r++) {
        char *row = picture->row[r];
        for (uint64_t unit = 0; unit < p->makespan; unit++) {
            memcpy(cell_of(row, unit), ".. ", 3);
        }
        for (uint32_t i = 0; i < p->slots.rank[r].n; i++) {
            draw_slot(p, &p->slots.rank[r].slot[i], p->start[r][i], row);
            i += p->slots.rank[r].slot[i].paired ? 1 : 0;
        }
        row[3 * p->makespan - 1] = '\0';
    }
}

static void compare(const struct picture *drawn, const char *name, const char *file)
{
    static struct ty_err err;
    const struct ty_sched_shape shape = {.p = number(drawn, "p", 0),
                                         .m = number(drawn, "m", 0),
                                         .v = number(drawn, "v", 1),
                                         .group = number(drawn, "g", 0),
                                         .slices = number(drawn, "q", 1)};
    struct play_times times = play_even(number(drawn, "tF", 1), number(drawn, "tI", 1),
                                        number(drawn, "tW", 1), number(drawn, "c", 0));
    const uint32_t backward = number(drawn, "tB", (uint32_t)times.b[0]);
    struct picture right;
    struct play p;
    for (size_t s = 0; s < PLAY_STAGES; s++) {
        times.b[s] = backward;
    }
    ck_assert_msg(shape.p == drawn->n && shape.m > 0 && shape.m < 10,
                  "%s: %u rows drawn for p = %u, m = %u", file, (unsigned)drawn->n,
                  (unsigned)shape.p, (unsigned)shape.m);
    ck_assert_msg(play_begin(&p, name, &shape, &times, &err) == 0, "%s", err.text);
    ck_assert(p.done);
    draw(&p, &right);
    for (uint32_t r = 0; r < shape.p; r++) {
        ck_assert_msg(strcmp(drawn->row[r], right.row[r]) == 0,
                      "%s draws rank %u as\n|%s|, the code emits\n|%s|", file, (unsigned)r,
                      drawn->row[r], right.row[r]);
    }
    play_end(&p);
}

/* Reads "rank R |...|" into the picture, and what stands behind it into its words. */
static bool read_row(const char *line, struct picture *picture)
{
    const char *rank = strstr(line, "rank "), *open = strchr(line, '|'), *shut = strrchr(line, '|');
    if (rank == NULL || open == NULL || shut == open || rank > open) {
        return false;
    }
    ck_assert_uint_lt(picture->n, MAX_RANKS);
    ck_assert_uint_eq(strtoul(rank + 5, NULL, 10), picture->n);
    ck_assert_int_lt(shut - open, ROW);
    memcpy(picture->row[picture->n], open + 1, (size_t)(shut - open - 1));
    picture->row[picture->n++][shut - open - 1] = '\0';
    strncat(picture->words, shut + 1, sizeof(picture->words) - strlen(picture->words) - 1);
    return true;
}

/* Pictures of a head comment: each run of rows, with the line before it. Returns their number. */
static uint32_t read_pictures(const char *name, const char *path, FILE *file)
{
    static char line[LINE], before[LINE];
    struct picture picture = {.n = 0};
    uint32_t found = 0;
    for (bool inside = true; inside;) {
        inside = fgets(line, sizeof(line), file) != NULL && strstr(line, "*/") == NULL;
        if (inside && picture.n == 0) {
            snprintf(picture.words, sizeof(picture.words), "%s", before);
        }
        if (!(inside && read_row(line, &picture)) && picture.n > 0) {
            compare(&picture, name, path);
            picture = (struct picture){.n = 0};
            found++;
        }
        memcpy(before, line, sizeof(before));
    }
    return found;
}

TEST(every_schedule_draws_what_its_code_emits)
{
    const char *top = getenv("TRAINYARD_SOURCE");
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/%s", top != NULL ? top : ".", sources[i].file);
        FILE *file = fopen(path, "r");
        ck_assert_msg(file != NULL, "%s cannot be read; TRAINYARD_SOURCE names the top", path);
        ck_assert_msg(read_pictures(sources[i].name, sources[i].file, file) > 0,
                      "%s draws no picture", sources[i].file);
        fclose(file);
    }
}

TY_SUITE("sched_pictures")
