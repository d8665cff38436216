/* carriers_script.c - flags that a script gives to its program.
 *
 * Of all programs that it starts the job is the one with the most flags that are known. Quotes
 * around several words (bash -c "...") are opened. A file that only sets arrays, as `plan --emit`
 * writes them, has no program: then its variables are looked at. */
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "sim/import/megatron/carriers.h"
#include "sim/import/megatron/megatron.h"

#define FEWEST 3u /* flags that are known, of what is taken for a job */

/* ---- words to flags ---- */

static const char *doubt_text(const struct ty_shell *sh, const struct ty_shell_text *word)
{
    const uint16_t doubt = ty_shell_doubt_of(word);
    return doubt != 0 ? sh->doubts[doubt].why : NULL;
}

/* Whether a word holds a command line of its own. */
static bool holds_flags(const struct ty_shell_text *word)
{
    const char *text = ty_shell_string(word);
    return strstr(text, " --") != NULL ||
           (text[0] == '-' && text[1] == '-' && text[strcspn(text, " \n")] != '\0') ||
           strstr(text, "\n--") != NULL;
}

static void open_words(struct ty_shell *sh, const struct ty_shell_words *words,
                       struct ty_shell_words *all)
{
    for (uint32_t i = 0; i < words->n; i++) {
        if (holds_flags(&words->item[i])) {
            ty_shell_split(sh, &words->item[i], all);
        } else {
            ty_shell_add_word(sh, all, &words->item[i]);
        }
    }
}

static bool is_flag(const struct ty_shell_text *word)
{
    const char *text = ty_shell_string(word);
    return text[0] == '-' && text[1] == '-' &&
           ((text[2] >= 'a' && text[2] <= 'z') || (text[2] >= 'A' && text[2] <= 'Z'));
}

/* A word that is nothing but a variable nobody has set. */
static bool is_unset(const struct ty_shell *sh, const struct ty_shell_text *word)
{
    const uint16_t doubt = word->len > 0 ? word->marks[0].doubt : 0;
    for (uint32_t i = 0; i < word->len; i++) {
        if (word->marks[i].doubt != doubt) {
            return false;
        }
    }
    return doubt != 0 && sh->doubts[doubt].unset;
}

/* The word that is the program in Python; n: it is started otherwise. */
static uint32_t program_at(const struct ty_shell_words *words)
{
    uint32_t i = 0;
    while (i < words->n && (ty_shell_string(&words->item[i])[0] == '-' ||
                            !ty_path_ends(ty_shell_string(&words->item[i]), ".py"))) {
        i++;
    }
    return i;
}

/* "--num_layers=4" is "--num-layers". */
static const char *flag_name(const struct ty_shell_text *word, char *name, size_t size)
{
    const char *text = ty_shell_string(word);
    size_t k = 0;
    for (; k + 1 < size && text[k] != '\0' && text[k] != '='; k++) {
        name[k] = text[k] == '_' ? '-' : text[k];
    }
    name[k] = '\0';
    return name;
}

/* Whether a process that MPI starts is a GPU's: not one that starts others. */
static bool counts_processes(const struct ty_shell_words *words, uint32_t end)
{
    bool mpi = false, again = false;
    for (uint32_t i = 0; i < end; i++) {
        const char *text = ty_path_name(ty_shell_string(&words->item[i]));
        mpi = mpi || strcmp(text, "mpirun") == 0 || strcmp(text, "mpiexec") == 0;
        again = again || strcmp(text, "torchrun") == 0 || strcmp(text, "accelerate") == 0 ||
                ty_text_begins(text, "torch.distributed.");
    }
    return mpi && !again;
}

/* Launchers before the program: what is known of their options is kept, and how many processes MPI
 * starts; the rest has no part in a step. */
static uint32_t put_launchers(struct ty_draft *d, struct ty_shell *sh,
                              const struct ty_shell_words *words, const char *doubt,
                              struct ty_flags *flags)
{
    const uint32_t end = program_at(words) < words->n ? program_at(words) : 0;
    const bool mpi = counts_processes(words, end);
    bool open = false;
    for (uint32_t i = 0; i < end; i++) {
        char name[128];
        const struct ty_shell_text *word = &words->item[i];
        const char *text = ty_shell_string(word);
        const struct ty_place at =
            ty_shell_place(sh, word->len > 0 ? word->marks[0] : sh->ended_at);
        const struct ty_draft_from from = {.word = text, .at = at};
        if (mpi && (strcmp(text, "-np") == 0 || strcmp(text, "-n") == 0)) {
            ty_flags_put(flags, "--num-processes", &from, NULL);
            open = true;
        } else if (is_flag(word)) {
            (void)flag_name(word, name, sizeof(name));
            open = ty_flags_row(ty_megatron_rows, name) != NULL ||
                   ty_flags_row(ty_megatron_idle_rows, name) != NULL;
            if (open) {
                ty_flags_add(flags, text, &at, doubt != NULL ? doubt : doubt_text(sh, word));
            } else {
                ty_draft_idle(d, &from);
            }
        } else if (open && flags->item[flags->n - 1].n_values == 0) {
            ty_flags_value(flags, text, doubt_text(sh, word));
        }
    }
    return end > 0 ? end + 1 : 0;
}

static void put_words(struct ty_draft *d, struct ty_shell *sh, const struct ty_shell_words *words,
                      const char *doubt, struct ty_flags *flags)
{
    for (uint32_t i = put_launchers(d, sh, words, doubt, flags); i < words->n; i++) {
        const struct ty_shell_text *word = &words->item[i];
        const char *text = ty_shell_string(word);
        const bool begun = flags->n > 0;
        if (is_flag(word)) {
            const struct ty_place at = ty_shell_place(sh, word->marks[0]);
            const char *why = doubt_text(sh, word);
            ty_flags_add(flags, text, &at, doubt != NULL ? doubt : why);
        } else if (begun && is_unset(sh, word) && flags->item[flags->n - 1].n_values > 0) {
            const struct ty_draft_from from = {.word = text,
                                               .at = ty_shell_place(sh, word->marks[0])};
            ty_draft_remark(d, &from, "taken as empty: %s",
                            sh->doubts[ty_shell_doubt_of(word)].why);
        } else if (begun && text[0] == '-' && text[1] >= 'a' && text[1] <= 'z') {
            continue; /* -m, -u of interpreters and launchers */
        } else if (begun) {
            ty_flags_value(flags, text, doubt_text(sh, word));
        }
    }
}

/* ---- which program is the job ---- */

static uint32_t known(const struct ty_flag_row *rows, const struct ty_shell_words *words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < words->n; i++) {
        if (is_flag(&words->item[i])) {
            char name[128];
            n += ty_flags_row(rows, flag_name(&words->item[i], name, sizeof(name))) != NULL;
        }
    }
    return n;
}

/* Flags that stand alone on lines without a program: one command line. */
static void join_lines(struct ty_shell *sh, struct ty_shell_words *all)
{
    for (uint32_t i = 0; i < sh->n_commands; i++) {
        const struct ty_shell_words *words = &sh->commands[i].words;
        if (is_flag(&words->item[0])) {
            open_words(sh, words, all);
        }
    }
}

/* The variables of a script without a program. */
static void join_variables(struct ty_shell *sh, const struct ty_flag_row *rows,
                           struct ty_shell_words *all)
{
    for (uint32_t i = 0; i < sh->n_vars; i++) {
        const struct ty_shell_var *var = &sh->vars[i];
        struct ty_shell_words own = {.n = 0}, opened = {.n = 0};
        for (uint32_t k = 0; var->array && k < var->n_items; k++) {
            ty_shell_add_word(sh, &own, &var->items[k].value);
        }
        if (!var->array && var->set) {
            ty_shell_split(sh, &var->value, &own);
        }
        open_words(sh, &own, &opened);
        for (uint32_t k = 0; k < opened.n && known(rows, &opened) > 0; k++) {
            ty_shell_add_word(sh, all, &opened.item[k]);
        }
    }
}

/* ---- what the program is ---- */

/* Programs that train no decoder of language. */
static const struct {
    const char *begin, *why; /* "pretrain_vision*" */
} programs[] = {
    {"pretrain_bert", "it trains an encoder"},
    {"pretrain_t5", "it trains an encoder and a decoder"},
    {"pretrain_ict", "it trains an encoder"},
    {"pretrain_biencoder", "it trains an encoder"},
    {"pretrain_realm", "it trains an encoder"},
    {"pretrain_vision", "it trains a model of pictures"},
    {"pretrain_vlm", "its decoder has an encoder of pictures before it"},
    {"pretrain_retro", "its layers attend to retrieved texts"},
    {"pretrain_mamba", "Mamba layers are not known; only transformers are"},
    {"pretrain_hybrid", "Mamba layers are not known; only transformers are"},
};

static void check_program(struct ty_draft *d, struct ty_shell *sh,
                          const struct ty_shell_words *words)
{
    const uint32_t which = program_at(words);
    const struct ty_shell_text *program = which < words->n ? &words->item[which] : NULL;
    const char *name = program != NULL ? ty_path_name(ty_shell_string(program)) : "";
    for (size_t i = 0; i < TY_COUNT(programs); i++) {
        if (ty_text_begins(name, programs[i].begin)) {
            const struct ty_draft_from from = {.word = name,
                                               .at = ty_shell_place(sh, program->marks[0])};
            ty_draft_refuse(d, &from, "%s; decoders are known", programs[i].why);
        }
    }
}

/* torchrun starts one process on each node where nobody says how many. */
static void default_processes(struct ty_draft *d, struct ty_shell *sh,
                              const struct ty_shell_words *words, struct ty_flags *flags)
{
    for (uint32_t i = 0; i < words->n && d->gpus == 0; i++) {
        const struct ty_shell_text *word = &words->item[i];
        const char *text = ty_shell_string(word);
        if (ty_shell_doubt_of(word) != 0 || ty_path_ends(text, ".py") ||
            ty_flags_find(flags, "--nproc-per-node") != NULL) {
            return;
        }
        if (strcmp(ty_path_name(text), "torchrun") == 0) {
            const struct ty_draft_from from = {.word = "torchrun",
                                               .at = ty_shell_place(sh, word->marks[0])};
            ty_flags_put(flags, "--nproc-per-node", &from, NULL);
            ty_flags_value(flags, "1", NULL);
        }
    }
}

static void refuse(struct ty_draft *d, const struct ty_shell *sh, const char *path,
                   const char *whose)
{
    struct ty_draft_from from = {.word = path};
    if (sh->ended_at.line > 0) {
        from = (struct ty_draft_from){.word = "exit", .at = ty_shell_place(sh, sh->ended_at)};
        ty_draft_refuse(d, &from,
                        "the script ends here before it starts a job; give its arguments with "
                        "--env 1=VALUE, and what it asks for with --env NAME=VALUE");
        return;
    }
    ty_draft_refuse(d, &from, "no program in it has flags of %s", whose);
}

/* The command with the most known flags; of equals the last one. */
static const struct ty_shell_command *choose(struct ty_draft *d, struct ty_shell *sh,
                                             const struct ty_flag_row *rows,
                                             struct ty_shell_words *all)
{
    const struct ty_shell_command *best = NULL;
    uint32_t most = FEWEST - 1, like_it = 0;
    for (uint32_t i = 0; i < sh->n_commands && !sh->ended; i++) {
        struct ty_shell_words opened = {.n = 0};
        open_words(sh, &sh->commands[i].words, &opened);
        const uint32_t n = known(rows, &opened);
        like_it += n >= FEWEST && n + 2 >= most;
        if (n >= most && n >= FEWEST) {
            most = n;
            best = &sh->commands[i];
            *all = opened;
        }
    }
    if (best != NULL && like_it > 1) {
        const struct ty_draft_from from = {.word = ty_shell_string(&best->words.item[0]),
                                           .at = ty_shell_place(sh, best->at)};
        ty_draft_remark(d, &from, "one of %u programs that look like the job; this one is taken",
                        (unsigned)like_it);
    }
    return best;
}

void ty_carriers_script(struct ty_draft *d, const struct ty_draft_file *file,
                        const struct ty_flag_row *rows, const char *whose, struct ty_shell *sh,
                        struct ty_flags *flags)
{
    struct ty_shell_words all = {.n = 0};
    ty_carriers_sbatch(d, file, sh);
    ty_shell_run(sh, file);
    if (d->code < 0) {
        return;
    }
    const bool exits = sh->ended;
    sh->ended = false;
    const struct ty_shell_command *job = choose(d, sh, rows, &all);
    if (job == NULL) {
        join_lines(sh, &all);
        if (known(rows, &all) < FEWEST) {
            all = (struct ty_shell_words){.n = 0};
            join_variables(sh, rows, &all);
        }
    }
    sh->ended = exits;
    if (known(rows, &all) >= FEWEST) {
        put_words(d, sh, &all, job != NULL && job->doubt != 0 ? sh->doubts[job->doubt].why : NULL,
                  flags);
        check_program(d, sh, &all);
        default_processes(d, sh, &all, flags);
    } else if (d->code == 0) {
        refuse(d, sh, file->path, whose);
    }
}
