/* table.c - a comparison for people: who, what differs, where the difference comes from.
 *
 * All times of the report are in one unit, so that columns can be added up by eye. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/diff/diff.h"

#define NAMES       24 /* columns of names */
#define KIND_COLUMN 46 /* of the figures of kinds */
#define KEYS_MAX    20u
#define DERIVED_MAX 6u
#define KINDS_MAX   24u
#define NEGLIGIBLE  5e-5 /* of the step: kinds that differ by less are not worth a line */

struct unit {
    double s;
    const char *name;
};

/* The one in which the shorter step has at least two digits. */
static struct unit choose_unit(const struct ty_diff *d)
{
    static const struct unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
    double least = d->side[0].step_s;
    size_t u = 0;
    for (uint32_t i = 1; i < d->n; i++) {
        least = d->side[i].step_s < least ? d->side[i].step_s : least;
    }
    while (u + 1 < TY_COUNT(units) && least < 10 * units[u].s) {
        u++;
    }
    return units[u];
}

static void put_name(struct ty_text *t, const char *name, size_t column)
{
    ty_text_add(t, "  %s", name);
    ty_text_pad(t, column);
}

/* " -12.345", never "-0.000". */
static void put_signed(struct ty_text *t, int width, double x)
{
    char digits[48];
    ty_snprintf(digits, sizeof(digits), "%+.3f", x);
    ty_text_add(t, "%*s", width, fabs(x) < 0.0005 ? "0.000" : digits);
}

/* Nothing where there is no difference worth sharing out: below a millionth of the step. */
static void put_share(struct ty_text *t, double part, double whole, double step)
{
    if (fabs(whole) > 1e-6 * step) {
        const double share = 100 * part / whole;
        ty_text_add(t, "%10.1f %%", fabs(share) < 0.05 ? 0 : share);
    }
}

/* ---- who ---- */

/* Idle and the bytes of memory, as shares and words. */
static void put_side(struct ty_text *t, const struct ty_diff *d, uint32_t i, struct unit unit)
{
    const struct ty_diff_side *side = &d->side[i];
    char tokens[64], memory[64], mfu[32], idle[32];
    ty_text_add(t, "%c %12.3f %s", side->letter, side->step_s / unit.s, unit.name);
    if (i > 0) {
        const double change = side->step_s - d->side[0].step_s;
        put_signed(t, 12, change / unit.s);
        ty_text_add(t, " %s", unit.name);
        put_share(t, change, d->side[0].step_s, 0);
    }
    ty_text_pad(t, 46);
    ty_text_add(t, "%12s %8s %8s %11s  %s\n",
                isnan(side->tokens_per_s)
                    ? "-"
                    : ty_words_count(side->tokens_per_s, tokens, sizeof(tokens)),
                isnan(side->mfu) ? "-" : ty_words_share(side->mfu, mfu, sizeof(mfu)),
                ty_words_share(side->idle, idle, sizeof(idle)),
                isnan(side->peak_B) ? "-" : ty_words_bytes(side->peak_B, memory, sizeof(memory)),
                side->stack != NULL ? side->stack : "-");
}

static void put_sides(struct ty_text *t, const struct ty_diff *d, struct unit unit)
{
    for (uint32_t i = 0; i < d->n; i++) {
        ty_text_add(t, "%c  %s%s\n", d->side[i].letter, d->side[i].from->name,
                    d->side[i].from->run == NULL ? " (measured)" : "");
    }
    ty_text_add(t, "\n     step time         against A");
    ty_text_pad(t, 46);
    ty_text_add(t, "%12s %8s %8s %11s  %s\n", "tokens/s", "MFU", "idle", "memory", "framework");
    for (uint32_t i = 0; i < d->n; i++) {
        put_side(t, d, i, unit);
    }
}

/* How sure the differences are, of runs that have bands. */
static void put_sure(struct ty_text *t, const struct ty_diff *d)
{
    bool first = true;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct ty_run *run = d->side[i].from->run;
        struct ty_band_gap gap;
        if (run == NULL || run->band == NULL) {
            continue;
        }
        const struct ty_band_ends ends = ty_band_ends(run->band, d->side[i].step_s);
        const char name[] = {d->side[i].letter, ' ', ' ', '\0'};
        ty_text_add(t, first ? "\nuncertainty: 90 %% bands of the step, and of its difference "
                               "from A\n"
                             : "");
        ty_band_line(t, name, &ends,
                     i > 0 && ty_diff_gap(&d->side[0], &d->side[i], &gap) ? &gap : NULL);
        first = false;
    }
}

/* ---- what differs ---- */

/* A value; one that is longer than its column is cut. */
static void put_value(struct ty_text *t, const char *value, size_t width)
{
    if (strlen(value) > width) {
        size_t n = width - 3;
        while (n > 0 && ((unsigned char)value[n] & 0xC0u) == 0x80u) {
            n--; /* not in the middle of a character */
        }
        ty_text_add(t, "%.*s...", (int)n, value);
    } else {
        ty_text_add(t, "%s", value);
    }
}

static void put_key(struct ty_text *t, const struct ty_diff_key *key)
{
    put_name(t, key->key, 34);
    put_value(t, key->a, 30);
    ty_text_pad(t, 66);
    put_value(t, key->b, 40);
    ty_text_add(t, "\n");
}

static void put_keys(struct ty_text *t, const struct ty_diff_pair *p)
{
    const uint32_t derived = p->n_keys - p->n_given;
    uint32_t shown = p->n_given < KEYS_MAX ? p->n_given : KEYS_MAX;
    shown += p->n_given <= KEYS_MAX && derived <= DERIVED_MAX ? derived : 0;
    if (p->n_keys == 0) {
        return;
    }
    ty_text_add(t, "\nkeys that differ");
    ty_text_pad(t, 34);
    ty_text_add(t, "%c", p->a->letter);
    ty_text_pad(t, 66);
    ty_text_add(t, "%c\n", p->b->letter);
    for (uint32_t i = 0; i < shown; i++) {
        put_key(t, &p->key[i]);
    }
    if (shown < p->n_keys) {
        ty_text_add(t, "  and %u more%s; --stats json has all\n", (unsigned)(p->n_keys - shown),
                    shown == p->n_given ? " that follow from these" : "");
    }
}

static void put_remarks(struct ty_text *t, const struct ty_diff_pair *p)
{
    ty_text_add(t, p->n_remarks > 0 ? "\n" : "");
    for (uint32_t i = 0; i < p->n_remarks; i++) {
        ty_text_add(t, "note: %s\n", p->remark[i]);
    }
}

/* ---- where the difference comes from ---- */

static void put_part(struct ty_text *t, const struct ty_diff_part *part,
                     const struct ty_diff_part *sum, struct unit unit)
{
    put_name(t, part->name, NAMES);
    ty_text_add(t, "%12.3f%12.3f", part->a / unit.s, part->b / unit.s);
    put_signed(t, 12, (part->b - part->a) / unit.s);
    put_share(t, part->b - part->a, sum->b - sum->a, sum->a);
    ty_text_add(t, "\n");
}

static void put_parts(struct ty_text *t, const struct ty_diff_pair *p, struct unit unit)
{
    struct ty_diff_part sum = {.name = "step time"};
    char change[16];
    ty_text_add(t, "\nwhere it goes, %s", unit.name);
    ty_text_pad(t, NAMES);
    snprintf(change, sizeof(change), "%c - %c", p->b->letter, p->a->letter);
    ty_text_add(t, "%12c%12c%12s%12s\n", p->a->letter, p->b->letter, change, "of that");
    for (uint32_t i = 0; i < p->n_parts; i++) {
        sum.a += p->part[i].a;
        sum.b += p->part[i].b;
    }
    for (uint32_t i = 0; i < p->n_parts; i++) {
        put_part(t, &p->part[i], &sum, unit);
    }
    put_part(t, &sum, &sum, unit);
    ty_text_add(t, "  (the lines sum to the step time; means over GPUs)\n");
}

/* ---- operations ---- */

static bool is_computation(const struct ty_diff_kind *kind)
{
    return kind->group == NULL;
}

/* Count, time and time each of both, and the difference. */
static void put_figures(struct ty_text *t, const struct ty_diff_kind *a,
                        const struct ty_diff_kind *b, struct unit unit)
{
    const struct ty_diff_kind *const sides[] = {a, b};
    ty_text_pad(t, KIND_COLUMN);
    for (size_t i = 0; i < TY_COUNT(sides); i++) {
        char each[32] = "-";
        if (sides[i]->count > 0) {
            ty_words_seconds(sides[i]->seconds / sides[i]->count, each, sizeof(each));
        }
        ty_text_add(t, "%8.6g%11.3f%10s", sides[i]->count, sides[i]->seconds / unit.s, each);
    }
    put_signed(t, 11, (b->seconds - a->seconds) / unit.s);
    ty_text_add(t, "\n");
}

static void put_kind(struct ty_text *t, const struct ty_diff_both *both, struct unit unit)
{
    const struct ty_diff_kind *a = &both->a;
    ty_text_add(t, "  %s%s%s", is_computation(a) ? "" : a->group, is_computation(a) ? "" : " ",
                a->name);
    ty_text_pad(t, 28);
    ty_text_add(t, "%s", ty_transformer_words.buckets[a->bucket].name);
    put_figures(t, a, &both->b, unit);
}

static void add_kind(struct ty_diff_kind *sum, const struct ty_diff_kind *kind)
{
    sum->count += kind->count;
    sum->seconds += kind->seconds;
}

/* Those of one sort that matter, and what the others come to. */
static void put_sort(struct ty_text *t, const struct ty_diff_pair *p, bool computation,
                     struct unit unit)
{
    uint32_t shown = 0, left = 0;
    struct ty_diff_both rest = {.a = {.count = 0}}, all = {.a = {.count = 0}};
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        const struct ty_diff_both *both = &p->kind[i];
        const double change = both->b.seconds - both->a.seconds;
        if (is_computation(&both->a) != computation) {
            continue;
        }
        add_kind(&all.a, &both->a);
        add_kind(&all.b, &both->b);
        if (shown < KINDS_MAX && fabs(change) > NEGLIGIBLE * p->a->step_s) {
            put_kind(t, both, unit);
            shown++;
        } else {
            add_kind(&rest.a, &both->a);
            add_kind(&rest.b, &both->b);
            left++;
        }
    }
    if (left > 0) {
        ty_text_add(t, "  %u %s%s", (unsigned)left, shown > 0 ? "other" : "kind",
                    left > 1 ? "s" : "");
        put_figures(t, &rest.a, &rest.b, unit);
    }
    if (shown > 0 && left > 0) {
        ty_text_add(t, "  all");
        put_figures(t, &all.a, &all.b, unit);
    }
}

static void put_kinds(struct ty_text *t, const struct ty_diff_pair *p, struct unit unit)
{
    static const char *const titles[] = {"computation", "communication, also where it is hidden"};
    for (int i = 0; i < 2; i++) {
        ty_text_add(t, "\n%s, %s", titles[i], unit.name);
        ty_text_pad(t, KIND_COLUMN);
        ty_text_add(t, "%8s%9s %c%10s%8s%9s %c%10s%7c - %c\n", "count", "time", p->a->letter,
                    "each", "count", "time", p->b->letter, "each", p->b->letter, p->a->letter);
        put_sort(t, p, i == 0, unit);
    }
}

void ty_diff_table(const struct ty_diff *d, struct ty_text *t)
{
    const struct unit unit = choose_unit(d);
    put_sides(t, d, unit);
    put_sure(t, d);
    for (uint32_t i = 1; i < d->n; i++) {
        const struct ty_diff_pair *p = &d->pair[i];
        if (d->n > 2) {
            ty_text_add(t, "\n---- %c against %c: %s ----\n", p->b->letter, p->a->letter,
                        p->b->from->name);
        }
        put_remarks(t, p);
        put_keys(t, p);
        put_parts(t, p, unit);
        put_kinds(t, p, unit);
    }
}
