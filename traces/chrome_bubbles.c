/* chrome_bubbles.c - idle stretches between passes, as grey slices that say why.
 *
 * Passes and bubbles tile the compute row from 0 to the end of the run. Waiting inside a pass stays
 * a hole in it: a slice there could overlap the parts. */
#include "sim/core/gaps.h"
#include "traces/chrome.h"

#define NEAR 8u /* members skipped at most before a second replay is cheaper than visiting them */

struct bubbles {
    struct ty_chrome *c;
    const struct ty_chrome_cast *cast;
    int rc;
    uint64_t n; /* counted */
    /* the gap for which `head` was made: members in step ask again and again */
    const struct ty_pass *before;
    const struct ty_op *op;
    uint8_t bucket, event;
    bool inside; /* of a pass: no slice */
    size_t head_len;
    char head[TY_CHROME_LINE];
};

static const char *kind_word(uint8_t bucket)
{
    static const char *const words[TY_N_BUCKETS] = {
        [TY_BUCKET_BUBBLE_FILL] = "fill",
        [TY_BUCKET_BUBBLE_STALL] = "stall",
        [TY_BUCKET_BUBBLE_DRAIN] = "drain",
        [TY_BUCKET_EXPOSED_TENSOR] = "exposed tensor",
        [TY_BUCKET_EXPOSED_PIPELINE] = "exposed p2p",
        [TY_BUCKET_EXPOSED_DATA] = "exposed data",
        [TY_BUCKET_EXPOSED_CONTEXT] = "exposed context",
        [TY_BUCKET_EXPOSED_EXPERT] = "exposed expert",
    };
    return words[bucket] != NULL ? words[bucket] : "idle";
}

/* The operation that last recorded `event` before `op` of `pass` in issue order, and its pass. */
static const struct ty_op *recorder(const struct ty_program *p, const struct ty_gang *gang,
                                    const struct ty_pass **pass, const struct ty_op *op,
                                    uint8_t event)
{
    const struct ty_pass *at = *pass;
    const struct ty_op *ops = ty_pass_ops(p, at), *k = op;
    for (;;) {
        while (k > ops) {
            if ((--k)->record == event) {
                *pass = at;
                return k;
            }
        }
        if (at == ty_gang_passes(p, gang)) {
            return NULL;
        }
        at--;
        ops = ty_pass_ops(p, at);
        k = ops + p->blocks[at->block].n_ops;
    }
}

/* What a gap waited for, in words: "recv act 3", "all-gather", "other stages", "end of step". */
static char *put_why(char *q, const struct bubbles *b, const struct ty_gap *gap)
{
    const struct ty_program *p = b->c->program;
    const uint32_t gang = (uint32_t)(b->cast - b->c->casts);
    const struct ty_pass *stuck;
    if (gap->before == NULL && ty_timeline_stuck(b->c->timeline, gang, &stuck) != NULL) {
        return ty_put_str(q, "deadlock");
    }
    if (gap->before == NULL) {
        return ty_put_str(q, gap->bucket == TY_BUCKET_EXPOSED_DATA ? "data communication"
                                                                   : "end of step");
    }
    const struct ty_pass *pass = gap->before;
    const struct ty_op *op = gap->op; /* itself, unless an event says otherwise */
    if (gap->event != TY_NO_EVENT) {
        op = recorder(p, b->cast->gang, &pass, gap->op, gap->event);
    }
    if (gap->bucket == TY_BUCKET_BUBBLE_FILL) {
        q = ty_put_str(q, "first micro-batch: ");
    }
    if (op == NULL) {
        return ty_put_str(q, "nothing");
    }
    if (op->sync == TY_SYNC_MEET && gap->bucket == TY_BUCKET_BUBBLE_DRAIN) {
        return ty_put_str(q, "other stages");
    }
    if (op->sync != TY_SYNC_SEND && op->sync != TY_SYNC_RECV) {
        return ty_chrome_put_name(q, p->kinds[op->kind].name, TY_CHROME_NAME);
    }
    q = ty_put_str(q, op->sync == TY_SYNC_SEND ? "send " : "recv ");
    q = ty_chrome_put_name(q, p->channels[op->link].name, TY_CHROME_NAME);
    *q++ = ' ';
    return ty_put_u64(q, ty_op_mb(pass, op));
}

/* True when a gap lies between passes: the waiting operation is the first to compute in its own. */
static bool between_passes(struct ty_chrome *c, const struct ty_gap *gap, int *rc)
{
    if (gap->before == NULL) {
        return true;
    }
    const struct ty_chrome_plan *plan = ty_chrome_plan(c, gap->before);
    if (plan == NULL) {
        *rc = TY_ENOMEM;
        return false;
    }
    return gap->op == &ty_pass_ops(c->program, gap->before)[plan->first_compute];
}

static void make_head(struct bubbles *b, const struct ty_gap *gap)
{
    b->before = gap->before;
    b->op = gap->op;
    b->bucket = gap->bucket;
    b->event = gap->event;
    b->inside = !between_passes(b->c, gap, &b->rc);
    if (b->inside) {
        return;
    }
    char *q = ty_put_str(b->head, ",\n{\"name\":\"bubble\",\"cat\":\"bubble\",\"cname\":\"grey\","
                                  "\"ph\":\"X\",\"tid\":");
    q = ty_put_u64(q, ty_chrome_tid(TY_STREAM_COMPUTE));
    q = ty_put_str(q, ",\"args\":{\"why\":\"");
    q = put_why(q, b, gap);
    q = ty_put_str(q, "\",\"kind\":\"");
    q = ty_put_str(q, kind_word(gap->bucket));
    b->head_len = (size_t)(ty_put_str(q, "\"}") - b->head);
}

static void visit(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct bubbles *b = arg;
    uint64_t s, e;
    if (b->cast->slot[member] == TY_CHROME_NONE || b->rc != 0) {
        return;
    }
    if (b->before != gap->before || b->op != gap->op || b->bucket != gap->bucket ||
        b->event != gap->event || b->head_len == 0) {
        make_head(b, gap);
    }
    if (b->inside || b->rc != 0 ||
        !ty_chrome_clip(b->c, gap->start, gap->start + gap->dur, &s, &e)) {
        return;
    }
    const struct ty_chrome_piece *piece =
        &b->cast->pieces[0][b->cast->slot[member]]; /* made before the walk */
    char *p = ty_out_room(b->c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, b->head, b->head_len);
    p = ty_put_blocks(p, piece->text, piece->len);
    p = ty_put_ns_as_us(p, s);
    p = ty_put_str(p, ",\"dur\":");
    p = ty_put_ns_as_us(p, e - s);
    *p++ = '}';
    ty_out_advance(b->c->out, p);
}

/* Replays the gang for stretches of members that lie close together. */
static int put_gang(struct ty_chrome *c, struct ty_chrome_cast *cast, struct ty_gaps *gaps)
{
    struct bubbles b = {.c = c, .cast = cast};
    if (ty_chrome_pieces(c, cast, 0) == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < cast->n && b.rc == 0;) {
        const uint32_t first = cast->member[i];
        while (i + 1 < cast->n && cast->member[i + 1] - cast->member[i] <= NEAR) {
            i++;
        }
        ty_gaps_walk(gaps, (uint32_t)(cast - c->casts), first, cast->member[i] - first + 1, visit,
                     &b);
        i++;
    }
    return b.rc;
}

int ty_chrome_bubbles(struct ty_chrome *c)
{
    struct ty_gaps gaps;
    int rc = ty_gaps_init(&gaps, c->timeline, &c->arena);
    for (uint32_t g = 0; g < c->program->n_gangs && rc == 0; g++) {
        if (c->casts[g].n > 0) {
            rc = put_gang(c, &c->casts[g], &gaps);
        }
    }
    return rc;
}

/* ---- size ---- */

static void count(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct bubbles *b = arg;
    (void)member;
    b->n += between_passes(b->c, gap, &b->rc);
}

double ty_chrome_count_bubbles(struct ty_chrome *c)
{
    struct ty_gaps gaps;
    double n = 0;
    int rc = ty_gaps_init(&gaps, c->timeline, &c->arena);
    for (uint32_t g = 0; g < c->program->n_gangs && rc == 0; g++) {
        struct bubbles b = {.c = c};
        if (c->casts[g].n > 0) {
            ty_gaps_walk(&gaps, g, c->casts[g].member[0], 1, count, &b);
            n += (double)b.n * c->casts[g].n;
        }
    }
    return n;
}
