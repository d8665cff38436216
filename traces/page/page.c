/* page.c - the slices of the shown ranks, see page.h. */
#include "traces/page/page.h"

#include <stdlib.h>

#include "sim/core/analyse/crit.h"
#include "sim/core/analyse/gaps.h"
#include "traces/view/view.h"

/* ---- causes ---- */

static const struct ty_op *op_of(const struct ty_page *page, const struct ty_crit_task *t)
{
    const struct ty_pass *pass =
        &ty_gang_passes(page->program, &page->program->gangs[t->gang])[t->pass];
    return &ty_pass_ops(page->program, pass)[t->op];
}

static uint32_t rank_of(const struct ty_page *page, const struct ty_crit_task *t)
{
    return page->program->gangs[t->gang].rank_of[t->member];
}

/* The slice that shows a task, or TY_PAGE_NONE. */
static uint32_t shown(const struct ty_page *page, const struct ty_crit_task *t)
{
    const struct ty_gang *gang = &page->program->gangs[t->gang];
    const uint32_t row = page->row_of[gang->rank_of[t->member]];
    return row == TY_PAGE_NONE
               ? TY_PAGE_NONE
               : page->slice_of[row][ty_gang_passes(page->program, gang)[t->pass].first_op + t->op];
}

static enum ty_page_how how(const struct ty_page *page, const struct ty_crit_task *t,
                            const struct ty_crit_task *cause)
{
    const struct ty_op *op = op_of(page, t), *before = op_of(page, cause);
    if (t->gang != cause->gang || t->member != cause->member) {
        return before->sync == TY_SYNC_SEND ? TY_PAGE_HOW_MESSAGE : TY_PAGE_HOW_PARTNER;
    }
    return op->stream == before->stream ? TY_PAGE_HOW_STREAM : TY_PAGE_HOW_EVENT;
}

/* What slice number i waited for; false: nothing. */
static bool first_cause(const struct ty_page *page, uint32_t i, struct ty_crit_task *cause,
                        enum ty_page_how *why)
{
    const struct ty_page_slice *s = &page->slice[i];
    const struct ty_crit_task at = {.gang = page->seat[s->row].gang,
                                    .member = page->seat[s->row].member,
                                    .pass = s->pass,
                                    .op = s->op};
    if (s->open) {
        return false;
    }
    const bool found = s->event != TY_NO_EVENT
                           ? ty_critical_recorder(page->timeline, &at, s->event, cause)
                           : ty_critical_cause(page->timeline, &at, cause);
    *why = found ? how(page, &at, cause) : TY_PAGE_HOW_START;
    return found;
}

/* ---- by way of ranks that are not shown ---- */

/* Which slice a task leads back to, for tasks that were asked for: chains of different slices soon
 * run together. Open addressing; a task is its number in the timeline plus one. */
struct memo {
    uint64_t *task; /* [size], 0: free */
    uint32_t *slice;
    size_t size, n; /* size is a power of two, at most half full */
};

static size_t memo_at(const struct memo *m, uint64_t task)
{
    size_t at = (size_t)(task * 0x9e3779b97f4a7c15u >> 20) & (m->size - 1); /* Fibonacci hashing */
    while (m->task[at] != 0 && m->task[at] != task) {
        at = (at + 1) & (m->size - 1);
    }
    return at;
}

static int memo_grow(struct memo *m)
{
    struct memo more = {.size = m->size == 0 ? 1024 : 2 * m->size, .n = m->n};
    more.task = calloc(more.size, sizeof(*more.task));
    more.slice = calloc(more.size, sizeof(*more.slice));
    if (more.task == NULL || more.slice == NULL) {
        free(more.task);
        free(more.slice);
        return TY_ENOMEM;
    }
    for (size_t i = 0; i < m->size; i++) {
        if (m->task[i] != 0) {
            const size_t at = memo_at(&more, m->task[i]);
            more.task[at] = m->task[i];
            more.slice[at] = m->slice[i];
        }
    }
    free(m->task);
    free(m->slice);
    *m = more;
    return 0;
}

static uint64_t task_number(const struct ty_page *page, const struct ty_crit_task *t)
{
    const struct ty_gang *gang = &page->program->gangs[t->gang];
    const uint64_t ordinal = ty_gang_passes(page->program, gang)[t->pass].first_op + t->op;
    return gang->first_task + ordinal * gang->n_ranks + t->member + 1;
}

/* The slice a task that is not shown leads back to, or TY_PAGE_NONE, into *slice. */
static int lead_back(const struct ty_page *page, struct memo *m, struct ty_crit_task at,
                     uint32_t *slice)
{
    const struct ty_crit_task first = at;
    struct ty_crit_task next;
    uint64_t n = 0;
    *slice = TY_PAGE_NONE;
    for (;; n++) {
        const size_t known = m->size > 0 ? memo_at(m, task_number(page, &at)) : 0;
        if (m->size > 0 && m->task[known] != 0) {
            *slice = m->slice[known];
            break;
        }
        if ((*slice = shown(page, &at)) != TY_PAGE_NONE ||
            !ty_critical_cause(page->timeline, &at, &next)) {
            break;
        }
        at = next;
    }
    for (at = first; n > 0; n--) { /* the way again, for those who come later */
        if (2 * (m->n + 1) > m->size && memo_grow(m) < 0) {
            return TY_ENOMEM;
        }
        const size_t place = memo_at(m, task_number(page, &at));
        m->n += m->task[place] == 0;
        m->task[place] = task_number(page, &at);
        m->slice[place] = *slice;
        if (n > 1 && ty_critical_cause(page->timeline, &at, &next)) {
            at = next;
        }
    }
    return 0;
}

/* ---- causes ---- */

static int find_cause(struct ty_page *page, uint32_t i, struct memo *m)
{
    struct ty_page_slice *s = &page->slice[i];
    struct ty_crit_task at, next;
    enum ty_page_how why = TY_PAGE_HOW_START;
    bool found = first_cause(page, i, &at, &why);
    s->how = (uint8_t)why;
    s->delay = found ? at.delay : 0;
    while (found && (s->before = shown(page, &at)) == TY_PAGE_NONE) {
        const uint32_t rank = rank_of(page, &at);
        if (page->row_of[rank] == TY_PAGE_NONE) {
            s->via = rank;
            return lead_back(page, m, at, &s->before);
        }
        found = ty_critical_cause(page->timeline, &at, &next); /* on a stream that is not shown */
        if (found && how(page, &at, &next) == TY_PAGE_HOW_MESSAGE) {
            s->how = TY_PAGE_HOW_MESSAGE;
            s->delay = next.delay;
        }
        at = next;
    }
    return 0;
}

static int page_find_causes(struct ty_page *page)
{
    struct memo m = {.size = 0};
    int rc = 0;
    for (uint32_t i = 0; i < page->n_slices && rc == 0; i++) {
        rc = find_cause(page, i, &m);
    }
    free(m.task);
    free(m.slice);
    return rc;
}

/* ---- the critical path ---- */

struct path {
    struct ty_page *page;
    int rc;
};

/* Room for one more row of a growing array; TY_ENOMEM. */
static int page_room(void **rows, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap) {
        return 0;
    }
    const uint32_t more = *cap == 0 ? 256 : *cap * 2;
    void *moved = realloc(*rows, more * size);
    if (moved == NULL) {
        return TY_ENOMEM;
    }
    *rows = moved;
    *cap = more;
    return 0;
}

static void add_step(void *arg, const struct ty_crit_task *task)
{
    struct path *path = arg;
    struct ty_page *page = path->page;
    const struct ty_page_step step = {
        .slice = shown(page, task), .rank = rank_of(page, task), .dur = task->dur + task->delay};
    struct ty_page_step *last = page->n_path > 0 ? &page->path[page->n_path - 1] : NULL;
    if (last != NULL && last->slice == step.slice && last->rank == step.rank) {
        last->dur += step.dur;
        return;
    }
    if (path->rc != 0) {
        return;
    }
    path->rc = page_room((void **)&page->path, page->n_path, &page->cap_path, sizeof(step));
    if (path->rc == 0) {
        page->path[page->n_path++] = step;
    }
}

/* Fills before, how, via and delay of every slice; the path. */
static int page_find_path(struct ty_page *page, const struct ty_timeline *own, struct ty_err *err)
{
    struct path path = {.page = page};
    if (own->halt != NULL) { /* it would never end */
        return 0;
    }
    const int rc = ty_critical_path(own, add_step, &path, err);
    return rc < 0 ? rc : path.rc;
}

/* ---- collecting ---- */

void ty_page_release(struct ty_page *page)
{
    free(page->slice);
    free(page->kind);
    free(page->mix);
    free(page->path);
    ty_arena_release(&page->arena);
    *page = (struct ty_page){.n_slices = 0};
}

/* ---- one row ---- */

struct row {
    struct ty_page *page;
    const struct ty_gang *gang;
    const struct ty_pass *passes;
    uint32_t number, member;
    struct ty_page_mix *mix; /* [passes of the gang] */
    int rc;
};

static bool same_kind(const struct ty_page_kind *a, const struct ty_page_kind *b)
{
    return a->sort == b->sort && a->category == b->category && a->block == b->block &&
           a->bytes == b->bytes && a->group == b->group && a->algorithm == b->algorithm &&
           strcmp(a->name, b->name) == 0;
}

/* The number of a kind, new or known. */
static uint32_t kind_of(struct row *r, const struct ty_page_kind *kind)
{
    struct ty_page *page = r->page;
    for (uint32_t i = page->n_kinds; i > 0; i--) {
        if (same_kind(&page->kind[i - 1], kind)) {
            return i - 1;
        }
    }
    if (page_room((void **)&page->kind, page->n_kinds, &page->cap_kinds, sizeof(*kind)) < 0) {
        r->rc = TY_ENOMEM;
        return 0;
    }
    page->kind[page->n_kinds] = *kind;
    return page->n_kinds++;
}

#define MIXES_BACK 64u /* neighbours alike are found among so many; others are written twice */

static uint32_t mix_of(struct row *r, const struct ty_page_mix *mix)
{
    struct ty_page *page = r->page;
    for (uint32_t i = page->n_mixes; i > 0 && i + MIXES_BACK > page->n_mixes; i--) {
        if (memcmp(&page->mix[i - 1], mix, sizeof(*mix)) == 0) {
            return i - 1;
        }
    }
    if (page_room((void **)&page->mix, page->n_mixes, &page->cap_mixes, sizeof(*mix)) < 0) {
        r->rc = TY_ENOMEM;
        return 0;
    }
    page->mix[page->n_mixes] = *mix;
    return page->n_mixes++;
}

/* Keeps a slice that lasts. */
static void keep(struct row *r, const struct ty_page_slice *slice)
{
    struct ty_page *page = r->page;
    if (slice->dur == 0 || r->rc != 0) {
        return;
    }
    if (page->n_slices == TY_PAGE_SLICES_MAX) { /* the rest is counted, to say how many there are */
        page->n_beyond++;
        return;
    }
    r->rc = page_room((void **)&page->slice, page->n_slices, &page->cap_slices, sizeof(*slice));
    if (r->rc == 0) {
        page->slice[page->n_slices] = *slice;
        page->slice[page->n_slices].row = r->number;
        page->slice[page->n_slices++].before = TY_PAGE_NONE;
    }
}

static struct ty_page_slice slice_of_pass(const struct row *r, uint32_t pass)
{
    const struct ty_pass *p = &r->passes[pass];
    const bool numbered = p->phase != TY_PHASE_STEP;
    return (struct ty_page_slice){.pass = pass,
                                  .mix = TY_PAGE_NONE,
                                  .via = TY_PAGE_NONE,
                                  .mb = numbered ? p->mb : TY_NONE,
                                  .stage = numbered ? p->stage : TY_NONE,
                                  .layer = TY_NONE,
                                  .step = p->step,
                                  .event = TY_NO_EVENT};
}

/* Times from the start of operation `first` to the end of operation `last`. */
static void set_times(const struct row *r, struct ty_page_slice *s, uint32_t first, uint32_t last)
{
    const struct ty_timeline *t = r->page->timeline;
    const struct ty_pass *pass = &r->passes[s->pass];
    const uint64_t end = (uint64_t)pass->first_op + last;
    s->op = first;
    s->last = last;
    s->start = ty_timeline_starts(t, r->gang, (uint64_t)pass->first_op + first)[r->member];
    s->dur =
        ty_timeline_starts(t, r->gang, end)[r->member] +
        ty_timeline_dur(t, r->gang, &ty_pass_ops(r->page->program, pass)[last], end, r->member) -
        s->start;
}

/* ---- idle stretches ---- */

static bool computes_before(const struct ty_op *ops, const struct ty_op *op)
{
    for (; ops < op; ops++) {
        if (ops->stream == TY_STREAM_COMPUTE) {
            return true;
        }
    }
    return false;
}

static void visit_gap(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct row *r = arg;
    struct ty_page_slice s = {.pass = TY_PAGE_NONE,
                              .mix = TY_PAGE_NONE,
                              .via = TY_PAGE_NONE,
                              .mb = TY_NONE,
                              .stage = TY_NONE,
                              .layer = TY_NONE,
                              .open = true,
                              .event = TY_NO_EVENT};
    (void)member; /* one was asked for */
    if (gap->before != NULL) {
        const uint32_t pass = (uint32_t)(gap->before - r->passes);
        const struct ty_op *ops = ty_pass_ops(r->page->program, gap->before);
        if (computes_before(ops, gap->op)) {
            r->mix[pass].bucket[gap->bucket] += gap->dur;
            return;
        }
        s = slice_of_pass(r, pass);
        s.op = s.last = (uint32_t)(gap->op - ops);
        s.event = gap->event;
    }
    s.start = gap->start;
    s.dur = gap->dur;
    s.kind =
        kind_of(r, &(struct ty_page_kind){.sort = TY_PAGE_IDLE,
                                          .category = gap->bucket,
                                          .name = ty_bucket(r->page->program, gap->bucket)->name,
                                          .block = TY_PAGE_NONE});
    keep(r, &s);
}

/* ---- passes, and what is in them ---- */

static void add_pass(struct row *r, uint32_t pass)
{
    const struct ty_program *p = r->page->program;
    const struct ty_op *ops = ty_pass_ops(p, &r->passes[pass]);
    struct ty_page_slice s = slice_of_pass(r, pass);
    uint32_t first = TY_PAGE_NONE, last = 0;
    for (uint32_t k = 0; k < p->blocks[r->passes[pass].block].n_ops; k++) {
        if (ops[k].stream == TY_STREAM_COMPUTE) {
            first = first == TY_PAGE_NONE ? k : first;
            last = k;
            r->mix[pass].bucket[ty_kind_bucket(p, &p->kinds[ops[k].kind])] +=
                ty_timeline_dur(r->page->timeline, r->gang, &ops[k],
                                (uint64_t)r->passes[pass].first_op + k, r->member);
        }
    }
    if (first == TY_PAGE_NONE) {
        return;
    }
    const enum ty_phase phase = (enum ty_phase)r->passes[pass].phase;
    set_times(r, &s, first, last);
    s.mix = mix_of(r, &r->mix[pass]);
    s.kind = kind_of(r, &(struct ty_page_kind){.sort = TY_PAGE_PASS,
                                               .category = p->words->of_phase[phase],
                                               .name = ty_phase_word(phase),
                                               .block = r->passes[pass].block});
    keep(r, &s);
}

/* Consecutive compute operations of one part and layer, from operation `first` on. Returns the
 * last. */
static uint32_t add_part(struct row *r, uint32_t pass, uint32_t first)
{
    const struct ty_program *p = r->page->program;
    const struct ty_op *ops = ty_pass_ops(p, &r->passes[pass]), *op = &ops[first];
    struct ty_page_slice s = slice_of_pass(r, pass);
    uint32_t last = first;
    for (uint32_t k = first + 1; k < p->blocks[r->passes[pass].block].n_ops; k++) {
        if (ops[k].stream == TY_STREAM_COMPUTE) {
            if (ops[k].part != op->part || ops[k].layer != op->layer ||
                p->kinds[ops[k].kind].category != p->kinds[op->kind].category) {
                break;
            }
            last = k;
        }
    }
    if (op->part != 0) {
        set_times(r, &s, first, last);
        s.lane = TY_PAGE_LANE_PARTS;
        s.layer = op->layer;
        s.kind = kind_of(r, &(struct ty_page_kind){.sort = TY_PAGE_PART,
                                                   .category = p->kinds[op->kind].category,
                                                   .name = p->words->parts[op->part].name,
                                                   .block = TY_PAGE_NONE});
        keep(r, &s);
    }
    return last;
}

static void add_op(struct row *r, uint32_t pass, uint32_t k)
{
    static const char *const messages[] = {[TY_SYNC_SEND] = "send", [TY_SYNC_RECV] = "recv"};
    const struct ty_program *p = r->page->program;
    const struct ty_op *op = &ty_pass_ops(p, &r->passes[pass])[k];
    const struct ty_kind *kind = &p->kinds[op->kind];
    const bool compute = op->stream == TY_STREAM_COMPUTE;
    const bool message = op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
    struct ty_page_slice s = slice_of_pass(r, pass);
    set_times(r, &s, k, k);
    s.lane = compute ? TY_PAGE_LANE_OPS : TY_PAGE_LANE_STREAMS + op->lane - 1;
    s.layer = op->layer;
    s.mb = s.mb == TY_NONE ? TY_NONE : ty_op_mb(&r->passes[pass], op);
    s.kind = kind_of(
        r, &(struct ty_page_kind){.sort = compute ? TY_PAGE_OP : TY_PAGE_COMM,
                                  .category = kind->category,
                                  .name = message ? messages[op->sync] : kind->name,
                                  .group = message ? p->channels[op->link].name : kind->group,
                                  .algorithm = kind->algorithm,
                                  .bytes = compute ? 0 : kind->bytes,
                                  .block = TY_PAGE_NONE});
    keep(r, &s);
}

static void add_inside(struct row *r, uint32_t pass)
{
    const enum ty_detail detail = r->page->trace->detail;
    const struct ty_program *p = r->page->program;
    const struct ty_op *ops = ty_pass_ops(p, &r->passes[pass]);
    uint32_t part_end = 0; /* 1 + the last operation of the part we are in */
    for (uint32_t k = 0; k < p->blocks[r->passes[pass].block].n_ops; k++) {
        if (detail >= TY_DETAIL_LAYER && ops[k].stream == TY_STREAM_COMPUTE && k >= part_end) {
            part_end = add_part(r, pass, k) + 1;
        }
        if (ty_view_shows(p, detail, &ops[k])) {
            add_op(r, pass, k);
        }
    }
}

static int add_row(struct ty_page *page, uint32_t number, struct ty_gaps *gaps)
{
    const struct ty_seat seat = page->seat[number];
    const struct ty_gang *gang = &page->program->gangs[seat.gang];
    struct row r = {.page = page,
                    .gang = gang,
                    .passes = ty_gang_passes(page->program, gang),
                    .number = number,
                    .member = seat.member};
    r.mix = calloc((size_t)gang->n_passes + 1, sizeof(*r.mix));
    if (r.mix == NULL) {
        return TY_ENOMEM;
    }
    ty_gaps_walk(gaps, seat.gang, seat.member, 1, visit_gap, &r);
    for (uint32_t i = 0; i < gang->n_passes && r.rc == 0; i++) {
        add_pass(&r, i);
        add_inside(&r, i);
    }
    free(r.mix);
    return r.rc;
}

/* ---- all rows ---- */

static int by_place(const void *a, const void *b)
{
    const struct ty_page_slice *x = a, *y = b;
    if (x->lane != y->lane) {
        return x->lane < y->lane ? -1 : 1;
    }
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return x->start < y->start ? -1 : x->start > y->start;
}

static int find_seats(struct ty_page *page)
{
    const struct ty_trace *trace = page->trace;
    page->seat = ty_arena_array(&page->arena, struct ty_seat, trace->n_ranks);
    page->row_of = ty_arena_array(&page->arena, uint32_t, page->program->n_ranks);
    page->slice_of = ty_arena_array(&page->arena, uint32_t *, trace->n_ranks);
    if (page->seat == NULL || page->row_of == NULL || page->slice_of == NULL) {
        return TY_ENOMEM;
    }
    memset(page->row_of, 0xff, page->program->n_ranks * sizeof(*page->row_of));
    for (uint32_t i = 0; i < trace->n_ranks; i++) {
        page->seat[i] = ty_program_seat(page->program, trace->ranks[i]);
        page->row_of[trace->ranks[i]] = i;
        const uint32_t n = page->program->gangs[page->seat[i].gang].n_ops;
        page->slice_of[i] = ty_arena_array(&page->arena, uint32_t, (size_t)n + 1);
        if (page->slice_of[i] == NULL) {
            return TY_ENOMEM;
        }
        memset(page->slice_of[i], 0xff, ((size_t)n + 1) * sizeof(uint32_t));
    }
    return 0;
}

/* Which slice shows an operation: lanes come from the outermost to the innermost. A pass shows what
 * happens in it, also on streams that are not shown. */
static void index_slices(struct ty_page *page)
{
    for (uint32_t i = 0; i < page->n_slices; i++) {
        const struct ty_page_slice *s = &page->slice[i];
        if (page->kind[s->kind].sort == TY_PAGE_IDLE) {
            continue;
        }
        const struct ty_gang *gang = &page->program->gangs[page->seat[s->row].gang];
        const struct ty_pass *pass = &ty_gang_passes(page->program, gang)[s->pass];
        const struct ty_op *ops = ty_pass_ops(page->program, pass);
        for (uint32_t k = s->op; k <= s->last; k++) {
            if (page->kind[s->kind].sort == TY_PAGE_PASS || ops[k].stream == ops[s->op].stream) {
                page->slice_of[s->row][pass->first_op + k] = i;
            }
        }
    }
}

#define SLICE_B 2.0 /* packed: 0.8 of those measured, 5 where every duration differs */

/* How large it would be, and what makes it smaller. */
static int too_many(const struct ty_trace *trace, const char *least, double n, struct ty_err *err)
{
    static const char *const less[] = {[TY_DETAIL_STAGE] = "",
                                       [TY_DETAIL_MICROBATCH] = " or less detail (--detail stage)",
                                       [TY_DETAIL_LAYER] = " or less detail (--detail microbatch)",
                                       [TY_DETAIL_OP] = " or less detail (--detail layer)"};
    return ty_fail(
        err, TY_ELIMIT,
        "the page of %u ranks would have %s%.0f slices (about %.0f MB), more than a browser "
        "opens without delay (%u); show fewer ranks (--ranks one-per-stage)%s",
        (unsigned)trace->n_ranks, least, n, n * SLICE_B * 1e-6, TY_PAGE_SLICES_MAX,
        less[trace->detail]);
}

/* Slices of a pass of this block that surely last: those of operations that take time. */
static uint32_t slices_of_block(const struct ty_program *p, const struct ty_block *block,
                                enum ty_detail detail)
{
    uint32_t n = 0;
    bool computes = false;
    for (uint32_t k = 0; k < block->n_ops; k++) {
        const struct ty_op *op = &p->ops[block->first + k];
        const bool lasts = ty_kind_duration(&p->kinds[op->kind], 0) > 0;
        computes = computes || (lasts && op->stream == TY_STREAM_COMPUTE);
        n += lasts && ty_view_shows(p, detail, op);
    }
    return n + computes;
}

int ty_page_check(const struct ty_trace *trace, struct ty_err *err)
{
    const struct ty_program *p = trace->timeline->program;
    uint32_t *of_block = calloc(p->n_blocks, sizeof(*of_block));
    double *of_gang = calloc(p->n_gangs, sizeof(*of_gang)), n = 0;
    if (of_block == NULL || of_gang == NULL) {
        free(of_block);
        free(of_gang);
        return ty_fail_memory(err);
    }
    for (uint32_t b = 0; b < p->n_blocks; b++) {
        of_block[b] = slices_of_block(p, &p->blocks[b], trace->detail);
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_pass *pass = ty_gang_passes(p, &p->gangs[g]);
        for (uint32_t i = 0; i < p->gangs[g].n_passes; i++) {
            of_gang[g] += of_block[pass[i].block];
        }
    }
    for (uint32_t i = 0; i < trace->n_ranks; i++) {
        n += of_gang[ty_program_seat(p, trace->ranks[i]).gang];
    }
    free(of_block);
    free(of_gang);
    return n > TY_PAGE_SLICES_MAX ? too_many(trace, "at least ", n, err) : 0;
}

static bool stopped(const struct ty_page *page)
{
    return page->stop != NULL && *page->stop != 0;
}

static int collect(struct ty_page *page, const struct ty_timeline *own, struct ty_err *err)
{
    struct ty_gaps gaps;
    int rc = find_seats(page);
    if (rc == 0) {
        rc = ty_gaps_init(&gaps, page->timeline, &page->arena);
    }
    for (uint32_t i = 0; i < page->trace->n_ranks && rc == 0; i++) {
        rc = stopped(page) ? ty_progress_stopped(err) : add_row(page, i, &gaps);
    }
    if (rc < 0) {
        return rc;
    }
    if (page->n_beyond > 0) {
        return too_many(page->trace, "", (double)page->n_slices + (double)page->n_beyond, err);
    }
    qsort(page->slice, page->n_slices, sizeof(*page->slice), by_place);
    index_slices(page);
    rc = page_find_causes(page);
    if (rc == 0 && stopped(page)) {
        rc = ty_progress_stopped(err);
    }
    return rc < 0 ? rc : page_find_path(page, own, err);
}

int ty_page_collect(struct ty_page *page, const struct ty_trace *trace,
                    const struct ty_timeline *own, const volatile int *stop, struct ty_err *err)
{
    *page = (struct ty_page){.trace = trace,
                             .timeline = trace->timeline,
                             .program = trace->timeline->program,
                             .stop = stop};
    const int rc = collect(page, own, err);
    return rc == TY_ENOMEM ? ty_fail_memory(err) : rc;
}
