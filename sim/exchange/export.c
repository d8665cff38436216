/* export.c - what the ranks of an executed run do, for simulators of others.
 *
 * The program is written: operations with what they wait for, not only when they ran. Ranks are
 * made and written one after the other, so that memory does not grow with them; files get their
 * names when they are whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/exchange/internal.h"
#include "sim/run/select.h"

#ifndef TY_WITH_PROTOBUF
const struct ty_export_format ty_export_chakra = {.name = "chakra"};
#endif
static const struct ty_export_format *const formats[] = {&ty_export_chakra, &ty_export_goal};

enum ty_coll ty_export_coll(const struct ty_kind *kind)
{
    enum ty_coll coll = TY_COLL_ALL_REDUCE;
    while (strcmp(ty_coll_name(coll), kind->collective) != 0) {
        coll++;
        assert(coll < TY_N_COLLECTIVES);
    }
    return coll;
}

static void find_network(struct ty_export *x)
{
    const struct ty_cluster *c = &x->run->config->cluster;
    const struct ty_layout *layout = &x->run->config->layout;
    x->node = (struct ty_flat){.Bps = c->nvlink.bandwidth * c->nvlink.efficiency,
                               .latency_s = c->nvlink.step};
    x->flat = (struct ty_flat){.Bps = c->net.nic_bandwidth * c->net.nic_efficiency * c->net.nics /
                                      c->gpus_per_node,
                               .latency_s = c->net.step};
    if (c->nodes == 1) {
        x->flat = x->node;
    }
    const bool whole =
        x->run->timeline.program->n_ranks == c->nodes * c->gpus_per_node && layout->gpu_of == NULL;
    x->per_node = whole && c->nodes > 1 ? c->gpus_per_node : 1;
}

int ty_export_open(const struct ty_export *x, struct ty_out *out, const char *name)
{
    char *path = ty_arena_printf((struct ty_arena *)(uintptr_t)&x->arena, "%s/%s", x->folder, name);
    if (path == NULL) {
        return ty_fail_memory(x->err);
    }
    const int rc = ty_out_open(out, path, x->err);
    if (rc == 0) {
        out->stop = x->options->stop;
    }
    return rc;
}

int ty_export_close(struct ty_export *x, struct ty_out *out, int rc)
{
    if (rc < 0) {
        ty_out_discard(out);
        return rc;
    }
    rc = ty_out_commit(out, x->err);
    x->written_B += rc == 0 ? out->total : 0;
    return rc;
}

static int find_format(const char *name, const struct ty_export_format **out, struct ty_err *err)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            *out = formats[i];
            return 0;
        }
    }
    return ty_fail(err, TY_EUSAGE, "unknown format (%.60s); write chakra or goal", name);
}

int ty_run_export_check(const struct ty_export_options *options, struct ty_err *err)
{
    const struct ty_export_format *f = NULL;
    const int rc = find_format(options->format, &f, err);
    if (rc == 0 && f->all_ranks && options->ranks != NULL) {
        return ty_fail(err, TY_EUSAGE,
                       "--ranks %.60s: %s has the messages of all ranks in one file; leave it out",
                       options->ranks, f->name);
    }
    if (rc == 0 && options->unit != NULL && (!f->has_unit || strcmp(options->unit, "ns") != 0)) {
        return ty_fail(err, TY_EUSAGE, "--unit %.60s: %s", options->unit,
                       f->has_unit ? "write ns, or leave it out"
                                   : "only goal has a unit of time; leave it out");
    }
    if (rc == 0 && f->write == NULL) {
        return ty_fail(err, TY_EINPUT,
                       "%s: this trainyard was built without protobuf-c; install "
                       "libprotobuf-c-dev and protobuf-c-compiler and build it again",
                       f->name);
    }
    return rc;
}

/* Those asked for; all without a word. */
static int choose_ranks(struct ty_export *x)
{
    struct ty_selection selection;
    const char *text = x->options->ranks != NULL ? x->options->ranks : "all";
    const int rc = ty_select_ranks(x->run, text, "rank", &x->arena, &selection, x->err);
    if (rc == 0) {
        x->ranks = selection.ranks;
        x->n_ranks = selection.n;
    }
    return rc;
}

static int make_folder(const struct ty_export *x)
{
    return mkdir(x->folder, 0777) == 0 || errno == EEXIST ? 0
                                                          : ty_fail_write(x->err, x->folder, errno);
}

static void put_network(const struct ty_export *x, const struct ty_export_format *format,
                        struct ty_out *readme)
{
    const struct ty_cluster *c = &x->run->config->cluster;
    if (x->per_node > 1 && format->has_dimensions) {
        ty_out_printf(readme,
                      "The network here is a switch in each node, %.9g B/s, %.9g us, and one "
                      "between nodes, %.9g B/s, %.9g us.",
                      x->node.Bps, x->node.latency_s * 1e6, x->flat.Bps, x->flat.latency_s * 1e6);
        return;
    }
    ty_out_printf(readme, "The network here is one switch: %.9g B/s, %.9g us.%s", x->flat.Bps,
                  x->flat.latency_s * 1e6,
                  c->nodes == 1 || c->gpus_per_node == 1
                      ? ""
                      : " The cluster has faster links inside its nodes, which it does not know: "
                        "expect more time there.");
}

static int write_readme(struct ty_export *x, const struct ty_export_format *format)
{
    const struct ty_timeline *t = &x->run->timeline;
    struct ty_out out;
    const int rc = ty_export_open(x, &out, "README.txt");
    if (rc < 0) {
        return rc;
    }
    ty_out_printf(&out, "%s on %u GPUs, written by trainyard %s.\n\nIn trainyard it takes %.9f s",
                  x->run->config->arch.name, (unsigned)t->program->n_ranks, ty_version(),
                  1e-12 * (double)t->makespan);
    ty_out_printf(&out, " (%u step%s). ", (unsigned)t->program->n_steps,
                  t->program->n_steps == 1 ? "" : "s");
    put_network(x, format, &out);
    ty_out_str(&out, "\n\n");
    format->about(x, &out);
    return ty_export_close(x, &out, 0);
}

static char *make_note(const struct ty_export *x, const char *format)
{
    struct ty_text t = {.data = NULL};
    char size[64];
    ty_text_add(&t, "%s: %s (%u ranks, %llu nodes, %s)", format, x->folder, (unsigned)x->n_ranks,
                (unsigned long long)x->n_nodes,
                ty_words_bytes((double)x->written_B, size, sizeof(size)));
    return ty_text_take(&t);
}

static int write_all(struct ty_export *x, const struct ty_export_format *format)
{
    int rc = choose_ranks(x);
    rc = rc < 0 ? rc : ty_members_find(&x->members, x->run->timeline.program, &x->arena, x->err);
    if (rc == 0) {
        x->set.ranks = ty_arena_array(&x->arena, uint32_t, x->members.most);
        rc = x->set.ranks != NULL ? make_folder(x) : ty_fail_memory(x->err);
    }
    rc = rc < 0 ? rc : format->write(x);
    return rc < 0 ? rc : write_readme(x, format);
}

int ty_run_export(const struct ty_run *run, const struct ty_export_options *options, char **note,
                  struct ty_err *err)
{
    const struct ty_export_format *format = NULL;
    struct ty_export x = {.run = run, .folder = options->folder, .options = options, .err = err};
    *note = NULL;
    int rc = ty_run_export_check(options, err);
    rc = rc < 0 ? rc : find_format(options->format, &format, err);
    rc = rc < 0 ? rc : ty_run_check_ranks(run, "an export", false, err);
    if (rc == 0 && run->jobs != NULL) {
        rc = ty_fail(err, TY_EUSAGE, "an export is of one job; this run file has others beside it");
    }
    if (rc == 0 && run->config->layout.unlike) {
        rc = ty_fail(err, TY_EUSAGE,
                     "an export has messages from one rank to one; stages of "
                     "different shape (layout.stage_tensor, layout.stage_data) send slices to "
                     "several");
    }
    if (rc == 0) {
        find_network(&x);
        rc = write_all(&x, format);
    }
    if (rc == 0) {
        *note = make_note(&x, options->format);
        rc = *note != NULL ? 0 : ty_fail_memory(err);
    }
    ty_task_list_release(&x.tasks);
    ty_arena_release(&x.arena);
    return rc;
}
