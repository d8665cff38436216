/* oracle_report.c - where streams stand when nothing can start any more, and whether a timeline and
 * a report agree with that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/program/say.h"
#include "tests/common/oracle.h"

/* ---- where it halts ---- */

static uint32_t count_there(const struct oracle *o, const struct oracle_op *x)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n_ops; i++) {
        n += oracle_is_meeting(x, &o->ops[i]) && o->ops[i].arrived;
    }
    return n;
}

/* The member of a meeting, all of whose members issue it, that comes first of those not there. */
static const struct oracle_op *late(const struct oracle *o, const struct oracle_op *x)
{
    for (uint32_t i = 0; i < o->n_ops; i++) {
        if (oracle_is_meeting(x, &o->ops[i]) && !o->ops[i].arrived) {
            return &o->ops[i];
        }
    }
    return NULL;
}

static char *add(char *at, const char *text)
{
    const size_t n = strlen(text);
    memcpy(at, text, n + 1);
    return at + n;
}

/* What a meeting waits for. */
static void say_meeting(const struct oracle *o, const struct oracle_op *x, char *to)
{
    const struct ty_meet *meet = &o->p->meets[x->op->link];
    const struct oracle_op *y = late(o, x);
    char where[TY_SAY], number[64];
    uint32_t comes = 0;
    for (uint32_t i = 0; i < o->n_ops; i++) {
        comes += oracle_is_meeting(x, &o->ops[i]);
    }
    if (comes == meet->n_gangs && y != NULL) {
        to = add(add(to, ", for "), o->p->gangs[y->gang].name);
        (void)add(add(to, ", which comes in "), ty_say_pass(o->p, y->pass, where));
    } else if (meet->n_gangs - comes == 1 && meet->gangs != NULL) {
        for (uint32_t k = 0; k < meet->n_gangs; k++) {
            bool issues = false;
            for (uint32_t i = o->first[meet->gangs[k]]; i < o->first[meet->gangs[k] + 1]; i++) {
                issues = issues || oracle_is_meeting(x, &o->ops[i]);
            }
            if (!issues) {
                (void)add(add(add(to, ", and "), o->p->gangs[meet->gangs[k]].name), " never comes");
            }
        }
    } else {
        snprintf(number, sizeof(number), ", and %u never come%s", (unsigned)(meet->n_gangs - comes),
                 meet->n_gangs - comes == 1 ? "s" : "");
        (void)add(to, number);
    }
}

/* "  stage 0 (rank 0) stands at backward 0, pipeline recv stream: waits for ..." */
static void say(const struct oracle *o, const struct oracle_op *x, bool refused, char *to)
{
    char a[TY_SAY], number[64];
    const bool meets = x->op->sync == TY_SYNC_MEET, sends = x->op->sync == TY_SYNC_SEND;
    to = add(add(add(to, "  "), ty_say_gang(o->p, x->gang, a)), " stands at ");
    to = add(add(to, ty_say_pass(o->p, x->pass, a)), ", ");
    to = add(add(to, ty_stream_name(o->p, x->op->stream)), " stream: ");
    to = add(to, refused ? (meets   ? "issues "
                            : sends ? "sends "
                                    : "receives ")
                         : (meets ? "waits in " : "waits for "));
    const struct ty_meet *meet = meets ? &o->p->meets[x->op->link] : NULL;
    if (meets && !oracle_same(oracle_kind(o, x)->group, meet->name)) {
        to = add(add(to, meet->name), ": ");
    }
    to = add(to, ty_say_op(o->p, x->pass, x->op, a));
    if (meets) {
        snprintf(number, sizeof(number), ", %u of %u have come to it", (unsigned)count_there(o, x),
                 (unsigned)meet->n_gangs);
        to = add(to, number);
    }
    if (refused) {
        return;
    }
    if (meets) {
        say_meeting(o, x, to);
        return;
    }
    const struct ty_channel *c = &o->p->channels[x->op->link];
    to = add(add(add(to, " from "), o->p->gangs[c->from].name), ", which ");
    if (x->sender == ORACLE_NONE) {
        (void)add(to, "never sends it");
    } else {
        (void)add(add(to, "sends it in "), ty_say_pass(o->p, o->ops[x->sender].pass, a));
    }
}

/* The first operation of a gang's stream that is not done; NULL: all are. */
static const struct oracle_op *head(const struct oracle *o, uint32_t gang, uint32_t stream)
{
    for (uint32_t i = o->first[gang]; i < o->first[gang + 1]; i++) {
        if (o->ops[i].op->stream == stream && !o->ops[i].done) {
            return &o->ops[i];
        }
    }
    return NULL;
}

/* Whether a refused operation is why its stream stands: of a meeting, all have come to it. */
static bool is_reached(const struct oracle *o, const struct oracle_op *x)
{
    return x->refused &&
           (x->op->sync != TY_SYNC_MEET || count_there(o, x) == o->p->meets[x->op->link].n_gangs);
}

/* Whether a member of a meeting stands at another one. */
static bool stands_elsewhere(const struct oracle *o, const struct oracle_op *x)
{
    for (uint32_t g = 0; g < o->p->n_gangs && x->op->sync == TY_SYNC_MEET; g++) {
        for (uint32_t s = 0; s < o->p->words->n_streams; s++) {
            const struct oracle_op *y = head(o, g, s);
            if (y != NULL && y->arrived && y->op->sync == TY_SYNC_MEET &&
                !oracle_is_meeting(x, y)) {
                return true;
            }
        }
    }
    return false;
}

void oracle_find_stands(struct oracle *o, struct ty_arena *arena)
{
    o->stand =
        ty_arena_array(arena, struct oracle_stand, (size_t)o->p->n_gangs * TY_MAX_STREAMS + 1);
    for (uint32_t g = 0; g < o->p->n_gangs; g++) {
        bool stuck = false;
        for (uint32_t s = 0; s < o->p->words->n_streams; s++) {
            const struct oracle_op *x = head(o, g, s);
            stuck = stuck || x != NULL;
            if (x != NULL && oracle_needs_done(o, x)) {
                struct oracle_stand *stand = &o->stand[o->n_stands++];
                stand->op = (uint32_t)(x - o->ops);
                stand->may_be_refused = stands_elsewhere(o, x);
                say(o, x, is_reached(o, x), stand->line);
                o->refused = o->refused || is_reached(o, x);
            }
        }
        o->n_stuck += stuck;
        for (uint32_t i = o->first[g]; stuck && i < o->first[g + 1]; i++) {
            for (uint32_t m = 0; o->ops[i].done && m < o->p->gangs[g].n_ranks; m++) {
                o->last = oracle_later(o->last, o->ops[i].end[m]);
            }
        }
    }
}

/* ---- what others say ---- */

const char *oracle_check_timeline(const struct oracle *o, const struct ty_timeline *t)
{
    ty_ps end = 0;
    for (uint32_t g = 0; g < o->p->n_gangs; g++) {
        for (uint32_t m = 0; m < o->p->gangs[g].n_ranks; m++) {
            struct ty_span_cursor cursor = ty_spans_of(t, o->p->gangs[g].rank_of[m]);
            struct ty_span span;
            for (uint32_t i = o->first[g]; i < o->first[g + 1]; i++) {
                const struct oracle_op *x = &o->ops[i];
                if (!x->done) {
                    continue;
                }
                if (!ty_span_next(&cursor, &span)) {
                    return "a task that ran is not in the timeline";
                }
                if (memcmp(span.op, x->op, sizeof(*x->op)) != 0 || span.pass->mb != x->pass->mb) {
                    return "a task is not what ran";
                }
                if (span.start != x->start[m] || span.start + span.dur != x->end[m]) {
                    return "a task has other times";
                }
                end = oracle_later(end, x->end[m]);
            }
            if (ty_span_next(&cursor, &span)) {
                return "the timeline has a task that never ran";
            }
        }
    }
    return t->makespan == end ? NULL : "another makespan";
}

/* The number that stands before a word in a text; 0: it is not there. */
static uint32_t number_before(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    while (at != NULL && at > text && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return at == NULL ? 0 : (uint32_t)strtoul(at, NULL, 10);
}

/* The stand that a line is about; NULL: none. */
static struct oracle_stand *stand_of(const struct oracle *o, const char *line)
{
    for (uint32_t i = 0; i < o->n_stands; i++) {
        char other[sizeof(o->stand[i].line)];
        if (strcmp(o->stand[i].line, line) == 0) {
            return &o->stand[i];
        }
        if (o->stand[i].may_be_refused) {
            say(o, &o->ops[o->stand[i].op], true, other);
            if (strcmp(other, line) == 0) {
                return &o->stand[i];
            }
        }
    }
    return NULL;
}

/* Whether an operation of a gang is held up by another one of it: one that it needs, or that holds
 * up what it needs. */
static bool is_behind(const struct oracle *o, const struct oracle_op *x, const struct oracle_op *y)
{
    if (x == y) {
        return true;
    }
    for (uint32_t i = 0; i < x->n_need; i++) {
        const struct oracle_op *need = &o->ops[o->first[x->gang] + x->need[i]];
        if (!need->done && is_behind(o, need, y)) {
            return true;
        }
    }
    return false;
}

/* Whether one stand waits for another one to go on. */
static bool waits_for(const struct oracle *o, const struct oracle_stand *a,
                      const struct oracle_stand *b)
{
    const struct oracle_op *x = &o->ops[a->op];
    const struct oracle_op *y = x->op->sync == TY_SYNC_MEET ? late(o, x)
                                : x->sender == ORACLE_NONE  ? NULL
                                                            : &o->ops[x->sender];
    return y != NULL && y->gang == o->ops[b->op].gang && is_behind(o, y, &o->ops[b->op]);
}

/* The lines of a circle, from `text` on: each waits for the next. */
static const char *check_circle(const struct oracle *o, const char *text, uint32_t n)
{
    const struct oracle_stand *first = NULL, *before = NULL;
    for (uint32_t i = 0; i < n; i++) {
        char line[sizeof(o->stand->line)];
        const size_t len = strcspn(text, "\n");
        if (strncmp(text, "  and so on", 11) == 0) {
            return NULL; /* the rest is not told */
        }
        snprintf(line, sizeof(line), "%.*s", (int)len, text);
        const struct oracle_stand *stand = stand_of(o, line);
        if (stand == NULL || (before != NULL && !waits_for(o, before, stand))) {
            return "a circle is not one";
        }
        first = first == NULL ? stand : first;
        before = stand;
        text += len + (text[len] == '\n');
    }
    return n > 0 && waits_for(o, before, first) ? NULL : "a circle does not close";
}

/* Lines from the second on: who stands where. */
static const char *check_lines(const struct oracle *o, const char *text)
{
    uint32_t told = number_before(text, " more wait behind") + number_before(text, " more to");
    for (const char *at = text; *at != '\0';) {
        char line[sizeof(o->stand->line)];
        const size_t len = strcspn(at, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)len, at);
        at += len + (at[len] == '\n');
        if (strstr(line, " stands at ") != NULL) {
            if (stand_of(o, line) == NULL) {
                return "somebody is said to stand where nobody does";
            }
            told++;
        }
        const bool circle = strstr(line, " wait in a circle") != NULL;
        if (circle || strcmp(line, "one waits for itself:") == 0) {
            const char *wrong = check_circle(o, at, circle ? number_before(line, " wait in") : 1);
            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return told == o->n_stands ? NULL : "somebody who stands is not told of, or twice";
}

static uint32_t stuck_ranks(const struct oracle *o)
{
    uint32_t ranks = 0;
    for (uint32_t g = 0; g < o->p->n_gangs; g++) {
        bool stuck = false;
        for (uint32_t s = 0; s < o->p->words->n_streams; s++) {
            stuck = stuck || head(o, g, s) != NULL;
        }
        ranks += stuck ? o->p->gangs[g].n_ranks : 0;
    }
    return ranks;
}

const char *oracle_check_report(const struct oracle *o, const char *text)
{
    char when[64] = "", head_line[256];
    const bool mismatch = strncmp(text, "mismatch: ", 10) == 0;
    bool maybe = o->refused;
    for (uint32_t i = 0; i < o->n_stands; i++) {
        maybe = maybe || o->stand[i].may_be_refused;
    }
    if ((mismatch && !maybe) || (!mismatch && o->refused)) {
        return mismatch ? "a mismatch that is none" : "a mismatch that is not told of";
    }
    text += mismatch ? strcspn(text, "\n") + 1 : 0;
    (void)ty_quantity_format(ty_s_from_ps(o->last), TY_DIM_SECONDS, when, sizeof(when));
    snprintf(head_line, sizeof(head_line), "deadlock: %u of %u ranks can never finish; %s%s\n",
             (unsigned)stuck_ranks(o), (unsigned)o->p->n_ranks,
             o->last > 0 ? "the last of them moved at " : "none of them ever moved",
             o->last > 0 ? when : "");
    if (strncmp(text, head_line, strlen(head_line)) != 0) {
        return "another number of ranks, or another last instant";
    }
    return check_lines(o, text);
}
