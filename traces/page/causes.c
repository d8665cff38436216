/* causes.c - why slices started when they did: the task that ended then (sim/core/analyse/crit.c),
 * or the nearest before it that is shown. */
#include <stdlib.h>

#include "sim/core/analyse/crit.h"
#include "traces/page/page.h"

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

int ty_page_find_causes(struct ty_page *page)
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
    path->rc = ty_page_room((void **)&page->path, page->n_path, &page->cap_path, sizeof(step));
    if (path->rc == 0) {
        page->path[page->n_path++] = step;
    }
}

int ty_page_find_path(struct ty_page *page, const struct ty_timeline *own, struct ty_err *err)
{
    struct path path = {.page = page};
    if (own->halt != NULL) { /* it would never end */
        return 0;
    }
    const int rc = ty_critical_path(own, add_step, &path, err);
    return rc < 0 ? rc : path.rc;
}
