/* shell.h - a small part of bash, read and never run: what a script would hand to its programs.
 *
 * Assignments, arrays, strings, ${NAME:-x} and its kin, $(( )), tests, if, case, for, while,
 * functions, here-documents, cat, echo, sed and files that are sourced are evaluated. No program is
 * started and no file opened but those of the draft. What only running could tell becomes a
 * *doubt*: a stretch of text that says what it hangs on. A doubt costs nothing until somebody needs
 * the value; then it is refused, by name and with its place.
 *
 *     NODES=${SLURM_NNODES}          "$SLURM_NNODES", doubt 1: SLURM_NNODES is not set
 *     GPUS=$((8 * NODES))            "$((..))", doubt 1
 *     if [ -f x ]; then              nobody knows: what is set below hangs on doubt 2
 *
 * Every byte knows where it was written, so that a flag that went through three variables still has
 * the place of its word. */
#ifndef TY_IMPORT_SHELL_SHELL_H
#define TY_IMPORT_SHELL_SHELL_H

#include "sim/import/draft.h"

/* Where a byte was written, and the doubt it is in; 0: none. */
struct ty_shell_mark {
    uint32_t line : 24, file : 8;
    uint16_t col, doubt;
};

/* A text with marks, zero-terminated when it has room; all in the draft's arena. */
struct ty_shell_text {
    char *bytes;
    struct ty_shell_mark *marks;
    uint32_t len, cap;
};

struct ty_shell_words {
    struct ty_shell_text *item; /* [n] */
    uint32_t n, cap;
    bool none; /* "${a[@]}" of nothing: no word at all, where "" is one */
};

struct ty_shell_item {
    const char *key; /* "0", or a word of an associative array */
    struct ty_shell_text value;
};

struct ty_shell_var {
    const char *name;
    bool set, array;
    struct ty_shell_text value;  /* of one that is no array */
    struct ty_shell_item *items; /* [n_items] of an array */
    uint32_t n_items, cap_items;
};

struct ty_shell_doubt {
    const char *why; /* "SLURM_NNODES is not set (train.sh:3); give it with --env ..." */
    bool unset;      /* a variable without a value: empty where that is asked */
};

/* A program that would be started. */
struct ty_shell_command {
    struct ty_shell_words words;
    struct ty_shell_mark at;
    uint16_t doubt; /* whether it is started at all */
};

/* Where reading is. A copy is a place to come back to. */
struct ty_shell_cursor {
    const char *at, *end;
    const char *here; /* behind here-documents of this line; NULL: there are none */
    uint32_t line, col, here_line;
    uint8_t file;
};

struct ty_shell_function {
    const char *name;
    struct ty_shell_cursor body;
};

/* How a statement ended. Programs are taken to succeed, but no `if` is decided by one. */
enum ty_shell_status {
    TY_SHELL_TRUE,
    TY_SHELL_FALSE,
    TY_SHELL_PROGRAM,
    TY_SHELL_UNKNOWN
};

/* Texts that statements print, where somebody reads it: a pipe, $( ), a file. */
struct ty_shell_file {
    const char *path;
    struct ty_shell_text text;
};

#define TY_SHELL_FILES 64u
struct ty_shell {
    struct ty_draft *draft;
    const struct ty_draft_file *files[TY_SHELL_FILES]; /* by number of a mark */
    uint32_t n_files;

    struct ty_shell_var *vars;
    uint32_t n_vars, cap_vars;
    struct ty_shell_words args; /* $1, $2, ... */
    struct ty_shell_function *functions;
    uint32_t n_functions, cap_functions;
    struct ty_shell_doubt *doubts; /* [n_doubts] from 1 */
    uint32_t n_doubts, cap_doubts;
    struct ty_shell_command *commands;
    uint32_t n_commands, cap_commands;
    struct ty_shell_file *written;
    uint32_t n_written, cap_written;

    bool skip;      /* statements are read over */
    uint16_t doubt; /* whether statements are executed at all */
    uint16_t why;   /* the doubt of the last status TY_SHELL_UNKNOWN */
    bool ended;     /* by exit, or a mistake */
    bool broke;     /* out of a loop, by break or continue */
    bool returned;  /* out of a function */
    bool answers;   /* inside $( ), whose exit ends nothing else */
    struct ty_shell_mark ended_at;
    struct ty_shell_text *out; /* where output goes; NULL: to the terminal */
    struct ty_shell_text *in;  /* what a pipe brings; NULL: nothing */
    uint32_t depth;
    uint64_t spent; /* bytes of text and statements so far */
};

/* Evaluates a script; may be called again. Mistakes of syntax are refused. */
void ty_shell_run(struct ty_shell *shell, const struct ty_draft_file *file);

/* Room for one more of an array of the arena; false: memory is exhausted, or the limit reached. */
bool ty_shell_grow(struct ty_shell *shell, void **items, uint32_t n, uint32_t *cap, size_t size);

/* ---- text.c ---- */

void ty_shell_put(struct ty_shell *shell, struct ty_shell_text *text, char c,
                  struct ty_shell_mark mark);
void ty_shell_puts(struct ty_shell *shell, struct ty_shell_text *text, const char *bytes, size_t n,
                   struct ty_shell_mark mark);
void ty_shell_append(struct ty_shell *shell, struct ty_shell_text *text,
                     const struct ty_shell_text *more);
struct ty_shell_text ty_shell_part(struct ty_shell *shell, const struct ty_shell_text *text,
                                   uint32_t from, uint32_t n);
const char *ty_shell_string(const struct ty_shell_text *text);
void ty_shell_add_word(struct ty_shell *shell, struct ty_shell_words *words,
                       const struct ty_shell_text *word);

/* The first doubt of a text; 0: none. */
uint16_t ty_shell_doubt_of(const struct ty_shell_text *text);
/* Remembers one. */
uint16_t ty_shell_doubt(struct ty_shell *shell, bool unset, const char *format, ...)
    TY_PRINTF(3, 4);
/* A text without variables that are not set, as tests see it. */
struct ty_shell_text ty_shell_settled(struct ty_shell *shell, const struct ty_shell_text *text);
/* "train.sh:12" of a mark. */
const char *ty_shell_place_text(const struct ty_shell *shell, struct ty_shell_mark mark);
struct ty_place ty_shell_place(const struct ty_shell *shell, struct ty_shell_mark mark);

/* ---- vars.c ---- */

struct ty_shell_var *ty_shell_var(struct ty_shell *shell, const char *name, bool make);
void ty_shell_assign(struct ty_shell *shell, const char *name, const struct ty_shell_text *value,
                     bool append);
/* The same; a value of which only running could tell all is that of --env, or asks for it. */
void ty_shell_assign_given(struct ty_shell *shell, const char *name,
                           const struct ty_shell_text *value, bool append);
void ty_shell_assign_item(struct ty_shell *shell, const char *name, const char *key,
                          const struct ty_shell_text *value);
void ty_shell_assign_array(struct ty_shell *shell, const char *name,
                           const struct ty_shell_words *words, bool append);
/* The value of a variable, --env before it; NULL: it is not set. */
const struct ty_shell_text *ty_shell_value(struct ty_shell *shell, const char *name);
/* A known text of a file of the draft, or one that the script wrote; NULL: there is none. */
const struct ty_shell_text *ty_shell_file_text(struct ty_shell *shell, const char *path,
                                               struct ty_shell_mark mark);
void ty_shell_write(struct ty_shell *shell, const char *path, const struct ty_shell_text *text,
                    bool append);

/* ---- cursor.c ---- */

struct ty_shell_mark ty_shell_here(const struct ty_shell *shell, const struct ty_shell_cursor *c);
void ty_shell_next(struct ty_shell_cursor *c);
/* Over blanks, comments and lines that go on; with `lines` also over ends of lines. */
void ty_shell_blanks(struct ty_shell_cursor *c, bool lines);
/* Whether the unquoted word at the cursor is this one. */
bool ty_shell_at_word(const struct ty_shell_cursor *c, const char *word);
static inline char ty_shell_peek(const struct ty_shell_cursor *c, uint32_t i)
{
    return (size_t)(c->end - c->at) > i ? c->at[i] : '\0';
}
/* Behind the bracket that closes the one before the cursor, quotes and other brackets inside
 * observed; false: there is none. */
bool ty_shell_close(struct ty_shell_cursor *c, char open, char close);
int ty_shell_wrong(struct ty_shell *shell, const struct ty_shell_cursor *c, const char *what);

/* ---- expand.c, param.c ---- */

/* Reads a word, expanded, split, into words; false: there is none at the cursor. */
bool ty_shell_word(struct ty_shell *shell, struct ty_shell_cursor *c, struct ty_shell_words *words);
/* A word that is not split: a value, an operand of [[ ]], what a redirection names. */
bool ty_shell_value_word(struct ty_shell *shell, struct ty_shell_cursor *c,
                         struct ty_shell_text *text);
/* Text between quotes or in a here-document, to its end. */
void ty_shell_quoted(struct ty_shell *shell, struct ty_shell_cursor *c, struct ty_shell_text *text);
/* "$...": appends its value; of "${a[@]}" the items, each for itself, where `items` is not NULL. */
void ty_shell_dollar(struct ty_shell *shell, struct ty_shell_cursor *c, struct ty_shell_text *text,
                     struct ty_shell_words *items);
/* The words of a text by the shell's quotes, not expanded. */
void ty_shell_split(struct ty_shell *shell, const struct ty_shell_text *text,
                    struct ty_shell_words *words);

/* ---- arith.c: the value of an expression, or its doubt ---- */

uint16_t ty_shell_arith(struct ty_shell *shell, const struct ty_shell_text *expression,
                        int64_t *value);

/* ---- test.c ---- */

bool ty_shell_match(const char *pattern, const char *text);
enum ty_shell_status ty_shell_test(struct ty_shell *shell, const struct ty_shell_words *words,
                                   bool double_brackets);

/* ---- builtin.c: what is known of programs ---- */

enum ty_shell_status ty_shell_call(struct ty_shell *shell, struct ty_shell_words *words,
                                   struct ty_shell_mark at);

/* ---- read.c: read, mapfile, printf; *known false: another one ---- */

enum ty_shell_status ty_shell_call_text(struct ty_shell *shell, const struct ty_shell_words *words,
                                        struct ty_shell_mark at, bool *known);

/* ---- run.c ---- */

enum ty_shell_status ty_shell_list(struct ty_shell *shell, struct ty_shell_cursor *c);
/* A function, with arguments. */
enum ty_shell_status ty_shell_function_call(struct ty_shell *shell,
                                            const struct ty_shell_function *function,
                                            const struct ty_shell_words *words);
/* A file, sourced or started with arguments (NULL: those there are). */
void ty_shell_source(struct ty_shell *shell, const struct ty_draft_file *file,
                     const struct ty_shell_words *args);

#endif
