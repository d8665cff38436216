/* counters.c - memory of ranks and load of links as counters, moments as instants.
 *
 * Counters belong to a process: they have no thread and no category. Every event of the memory
 * carries all four series: Catapult reads the list from the first one.
 * A process for every node that has a shown rank has a counter for each class of its links, and one
 * more is for the links between switches. */
#include "traces/chrome/chrome.h"

/* Ends the arguments of an event of a rank, and it: whose it is, and when. */
static void put_end(struct ty_chrome *c, char *p, const struct ty_chrome_piece *piece, uint64_t ns)
{
    *p++ = '}';
    p = ty_put_blocks(p, piece->text, piece->len);
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

/* ---- memory ---- */

struct memory {
    struct ty_chrome *c;
    const struct ty_view_shown *shown; /* that `fixed` is of */
    const struct ty_chrome_piece *pieces;
    char fixed[512]; /* the series that do not change, up to the value of activations */
    size_t fixed_len;
};

static void put_fixed(struct memory *k)
{
    char *p = ty_put_str(k->fixed, ",\n{\"name\":\"memory\",\"ph\":\"C\",\"args\":{");
    const struct ty_vocabulary *words = k->c->view.program->words;
    for (uint32_t m = 0; m < words->n_memory; m++) {
        if (m != words->held) {
            *p++ = '"';
            p = ty_put_str(p, words->memory[m]);
            p = ty_put_str(p, "_GB\":");
            p = ty_view_put_GB(p, ty_view_fixed_kB(k->shown->gang, m));
            *p++ = ',';
        }
    }
    *p++ = '"';
    p = ty_put_str(p, words->memory[words->held]);
    k->fixed_len = (size_t)(ty_put_str(p, "_GB\":") - k->fixed);
}

static void put_memory(void *arg, const struct ty_view_shown *shown, uint32_t i, uint64_t ns,
                       uint64_t kB)
{
    struct memory *k = arg;
    if (k->shown != shown) {
        k->shown = shown;
        k->pieces = ty_chrome_pieces(k->c, shown, 0); /* made before the walk */
        put_fixed(k);
    }
    char *p = ty_out_room(k->c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, k->fixed, k->fixed_len);
    p = ty_view_put_GB(p, kB);
    put_end(k->c, p, &k->pieces[i], ns);
}

static void put_layer(void *arg, const struct ty_view_shown *shown, uint32_t i, uint64_t ns,
                      uint64_t thousandths)
{
    struct ty_chrome *c = arg;
    const struct ty_trace_layers *layers = c->view.trace->layers;
    const struct ty_chrome_piece *piece = ty_chrome_pieces(c, shown, 0) + i;
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_put_str(p, layers->name);
    p = ty_put_str(p, "\",\"ph\":\"C\",\"args\":{\"");
    p = ty_put_str(p, layers->series);
    p = ty_put_str(p, "\":");
    p = ty_put_ns_as_us(p, thousandths);
    put_end(c, p, piece, ns);
}

/* Pieces of all members, so that nothing can fail later. */
static int make_pieces(struct ty_chrome *c)
{
    for (uint32_t g = 0; g < c->view.program->n_gangs; g++) {
        const struct ty_view_shown *shown = &c->view.shown[g];
        if (shown->n > 0 && ty_chrome_pieces(c, shown, 0) == NULL) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

int ty_chrome_counters(struct ty_chrome *c)
{
    struct memory k = {.c = c};
    const int rc = make_pieces(c) == 0 ? ty_view_memory(&c->view, put_memory, &k) : TY_ENOMEM;
    return rc == 0 ? ty_view_layers(&c->view, put_layer, c) : rc;
}

/* ---- links ---- */

/* Before the ranks' processes, as long as there is room. */
static uint64_t pid_of(const struct ty_chrome *c, const struct ty_view_link *link)
{
    if (link->node == link->n_nodes) {
        return TY_CHROME_CLUSTER;
    }
    return link->n_nodes <= TY_CHROME_PID0 - TY_CHROME_NODE0
               ? TY_CHROME_NODE0 + (uint64_t)link->node
               : TY_CHROME_PID0 + (uint64_t)c->view.program->n_ranks + link->node;
}

static void put_node(void *arg, const struct ty_view_link *link)
{
    struct ty_chrome *c = arg;
    const uint64_t pid = pid_of(c, link);
    const unsigned tid = TY_FIRST_TID;
    if (!link->first) {
        return;
    }
    ty_chrome_put_naming(c, "process_name", pid, tid, "name");
    if (link->node == link->n_nodes) {
        ty_out_str(c->out, "\"switches\"}}");
    } else {
        ty_out_printf(c->out, "\"node %u\"}}", (unsigned)link->node);
    }
    ty_chrome_put_naming(c, "process_sort_index", pid, tid, "sort_index");
    ty_out_u64(c->out, (uint64_t)c->view.trace->n_ranks + link->position);
    ty_out_str(c->out, "}}");
    ty_chrome_put_naming(c, "process_labels", pid, tid, "labels");
    ty_out_str(c->out, "\"links in and out\"}}");
}

static void put_load(void *arg, const struct ty_view_link *link, uint64_t ns, uint64_t kBps)
{
    struct ty_chrome *c = arg;
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_put_str(p, link->title);
    p = ty_put_str(p, "\",\"ph\":\"C\",\"args\":{\"GB/s\":");
    p = ty_view_put_GB(p, kBps);
    p = ty_put_str(p, "},\"pid\":");
    p = ty_put_u64(p, pid_of(c, link));
    p = ty_put_str(p, ",\"ts\":");
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

int ty_chrome_links(struct ty_chrome *c)
{
    const struct ty_view_links_sink sink = {.start = put_node, .value = put_load, .arg = c};
    return ty_view_links(&c->view, &sink);
}

/* ---- moments ---- */

static char *put_value(char *p, const struct ty_view_mark *mark)
{
    if (mark->text != NULL) {
        *p++ = '"';
        p = ty_put_str(p, mark->text);
        *p++ = '"';
        return p;
    }
    if (!mark->thousandths) {
        return ty_put_u64(p, mark->number);
    }
    return ty_put_ns_as_us(p, mark->number);
}

static void put_mark(void *arg, const struct ty_view_shown *shown, uint32_t i,
                     const struct ty_view_mark *mark, uint64_t ns)
{
    struct ty_chrome *c = arg;
    const struct ty_chrome_piece *piece = ty_chrome_pieces(c, shown, 0) + i;
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_put_str(p, mark->name);
    p = ty_put_str(p, "\",\"cat\":\"phase\",\"ph\":\"i\",\"s\":\"p\",\"tid\":");
    p = ty_put_u64(p, TY_FIRST_TID);
    p = ty_put_str(p, ",\"args\":{\"");
    p = ty_put_str(p, mark->key);
    p = ty_put_str(p, "\":");
    p = put_value(p, mark);
    put_end(c, p, piece, ns);
}

int ty_chrome_marks(struct ty_chrome *c)
{
    return make_pieces(c) == 0 ? ty_view_marks(&c->view, put_mark, c) : TY_ENOMEM;
}
