/* carriers_world.c - how many GPUs a script says there are, beside what its launcher is told:
 * #SBATCH lines, and variables by the names that people give them. */
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/import/megatron/carriers.h"

/* ---- #SBATCH ---- */

struct sbatch {
    uint32_t nodes, gpus_per_node, tasks_per_node, gpus;
    struct ty_draft_from nodes_from, gpus_from;
};

/* The last number of a value: 8 of gpu:a100:8; 0: there is none. */
static uint32_t last_number(const char *value)
{
    const char *at = strrchr(value, ':');
    uint32_t n = 0;
    at = at != NULL ? at + 1 : value;
    return ty_scan_number(&at, NULL, 1u << 24, &n) ? n : 0;
}

static void note_option(struct ty_draft *d, struct sbatch *s, const char *name, const char *value,
                        const struct ty_draft_from *from)
{
    if (strcmp(name, "--nodes") == 0 || strcmp(name, "-N") == 0) {
        const char *dash = strchr(value, '-');
        s->nodes = last_number(dash != NULL ? dash + 1 : value);
        s->nodes_from = *from;
    } else if (strcmp(name, "--gres") == 0 || strcmp(name, "--gpus-per-node") == 0) {
        s->gpus_per_node = last_number(value);
        s->gpus_from = *from;
        ty_draft_notice_gpu(d, value, from);
    } else if (strcmp(name, "--gpus") == 0 || strcmp(name, "-G") == 0) {
        s->gpus = last_number(value);
        s->gpus_from = *from;
    } else if (strcmp(name, "--ntasks-per-node") == 0) {
        s->tasks_per_node = last_number(value);
    } else if (strcmp(name, "--constraint") == 0 || strcmp(name, "-C") == 0 ||
               strcmp(name, "--partition") == 0 || strcmp(name, "-p") == 0) {
        ty_draft_notice_gpu(d, value, from);
    }
}

/* The word behind `at`, which moves behind it; "" at the end of the line. */
static const char *next_word(struct ty_draft *d, const char **at)
{
    *at += strspn(*at, " \t");
    const size_t n = strcspn(*at, " \t\r\n#");
    const char *word = ty_draft_text(d, "%.*s", (int)n, *at);
    *at += n;
    return word;
}

/* One line behind #SBATCH: --name=value, --name value, -N value, -N24, --exclusive. */
static void read_line(struct ty_draft *d, struct sbatch *s, const char *line,
                      const struct ty_place *at)
{
    for (const char *word = next_word(d, &line); word[0] != '\0'; word = next_word(d, &line)) {
        const struct ty_draft_from from = {.word = ty_draft_text(d, "#SBATCH %s", word), .at = *at};
        const char *equals = strchr(word, '='), *next = line;
        const bool packed = word[0] == '-' && word[1] != '-' && word[1] != '\0' && word[2] != '\0';
        if (equals != NULL) {
            note_option(d, s, ty_draft_text(d, "%.*s", (int)(equals - word), word), equals + 1,
                        &from);
        } else if (packed) {
            note_option(d, s, ty_draft_text(d, "%.2s", word), word + 2, &from);
        } else if (next_word(d, &next)[0] != '-') {
            note_option(d, s, word, next_word(d, &line), &from);
        }
    }
}

/* What Slurm will say to the script, unless --env does. */
static void announce(struct ty_shell *sh, const char *name, uint32_t value,
                     const struct ty_draft_from *from)
{
    if (value == 0 || ty_shell_value(sh, name) != NULL) {
        return;
    }
    struct ty_shell_text text = {.len = 0};
    const struct ty_shell_mark mark = {.line = from->at.line & 0xffffff,
                                       .file = (uint8_t)sh->n_files,
                                       .col = (uint16_t)from->at.col};
    const char *digits = ty_draft_text(sh->draft, "%u", (unsigned)value);
    ty_shell_puts(sh, &text, digits, strlen(digits), mark);
    ty_shell_assign(sh, name, &text, false);
}

void ty_carriers_sbatch(struct ty_draft *d, const struct ty_draft_file *file, struct ty_shell *sh)
{
    static const char word[] = "#SBATCH";
    struct sbatch s = {.nodes = 0};
    struct ty_place at = {.file = file->path, .source = file->text, .line = 1, .col = 1};
    for (const char *line = file->text; line != NULL && *line != '\0'; at.line++) {
        if (strncmp(line, word, strlen(word)) == 0) {
            read_line(d, &s, line + strlen(word), &at);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    announce(sh, "SLURM_NNODES", s.nodes, &s.nodes_from);
    announce(sh, "SLURM_JOB_NUM_NODES", s.nodes, &s.nodes_from);
    announce(sh, "SLURM_GPUS_PER_NODE", s.gpus_per_node, &s.gpus_from);
    announce(sh, "SLURM_GPUS_ON_NODE", s.gpus_per_node, &s.gpus_from);
    announce(sh, "SLURM_NTASKS_PER_NODE", s.tasks_per_node, &s.nodes_from);
    const uint64_t tasks = (uint64_t)s.nodes * (s.tasks_per_node > 0 ? s.tasks_per_node : 1);
    announce(sh, "SLURM_NTASKS", tasks < UINT32_MAX ? (uint32_t)tasks : 0, &s.nodes_from);
    announce(sh, "SLURM_NPROCS", tasks < UINT32_MAX ? (uint32_t)tasks : 0, &s.nodes_from);
    const uint32_t each = s.gpus_per_node > 0 ? s.gpus_per_node : s.tasks_per_node;
    const uint64_t gpus = s.gpus > 0 ? s.gpus : (uint64_t)s.nodes * each;
    if (gpus > 0 && gpus < UINT32_MAX && d->gpus == 0) {
        d->gpus = (uint32_t)gpus;
        d->per_node = s.gpus > 0 ? 0 : each;
        d->gpus_from = s.gpus > 0 ? s.gpus_from : s.nodes_from;
    }
}

/* ---- variables ---- */

/* A variable as a number above 0; else 0. */
static uint32_t number_of(struct ty_shell *sh, const char *name, struct ty_draft_from *from)
{
    const struct ty_shell_var *var = ty_shell_var(sh, name, false);
    int64_t value = 0;
    if (var == NULL || !var->set || var->array || var->value.len == 0 ||
        ty_shell_arith(sh, &var->value, &value) != 0 || value < 1 || value > 1 << 24) {
        return 0;
    }
    *from = (struct ty_draft_from){.word = name};
    if (var->value.marks[0].line > 0) {
        from->at = ty_shell_place(sh, var->value.marks[0]);
    }
    return (uint32_t)value;
}

static uint32_t first_of(struct ty_shell *sh, const char *const *names, struct ty_draft_from *from)
{
    for (; *names != NULL; names++) {
        const uint32_t n = number_of(sh, *names, from);
        if (n > 0) {
            return n;
        }
    }
    return 0;
}

void ty_carriers_variables(struct ty_draft *d, struct ty_shell *sh)
{
    static const char *const worlds[] = {"WORLD_SIZE", "NUM_GPUS",   "N_GPUS",
                                         "NGPUS",      "TOTAL_GPUS", NULL};
    static const char *const each[] = {
        "GPUS_PER_NODE", "NUM_GPUS_PER_NODE", "NPROC_PER_NODE", "NGPUS_PER_NODE", "GPN", NULL};
    static const char *const nodes[] = {"NNODES", "NUM_NODES",   "N_NODES",
                                        "NODES",  "NUM_WORKERS", NULL};
    struct ty_draft_from from = {.word = ""}, other = {.word = ""};
    if (d->gpus > 0 || d->options->gpus > 0) {
        return;
    }
    const uint32_t world = first_of(sh, worlds, &from);
    const uint32_t per_node = first_of(sh, each, &other);
    if (world > 0) {
        d->gpus = world;
    } else if (per_node > 0) {
        const uint64_t gpus = (uint64_t)per_node * first_of(sh, nodes, &from);
        d->gpus = gpus < UINT32_MAX ? (uint32_t)gpus : 0;
    }
    if (d->gpus > 0) {
        d->per_node = per_node;
        d->gpus_from = from;
        ty_draft_remark(d, &from, "%u GPUs by the name of a variable: no launcher is told how many",
                        (unsigned)d->gpus);
    }
}
