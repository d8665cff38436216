/* sweep_space.c - removes combinations of --over that the run file refuses.
 *
 * Every combination is read as its row would read it, without planning it, on several threads. What
 * says no is known by the key that its message blames; these are counted. */
#include "sim/sweep/sweep_space.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/pool.h"
#include "sim/base/words.h"

#define MAX_REASONS 64u /* keys that are told apart; what is beyond counts as the last */
#define SHOWN       3u

enum {
    ACCEPTED,
    FIRST_REASON, /* and so on: refused */
};

struct reason {
    char key[64];
    uint32_t n, row; /* left out for it, and the first of them */
};

struct space {
    const struct ty_row_source *rows;
    const struct ty_sweep_table *table;
    uint8_t *state;  /* [n_rows] */
    uint32_t *first; /* [n_columns]: of its values in `alive` */
    bool *alive;     /* by column and value: accepted in some combination */
    pthread_mutex_t lock;
    struct reason reason[MAX_REASONS];
    uint32_t n_reasons;
    int failure; /* of the machine, which says nothing about a combination; 0: none */
    char message[TY_ROW_MESSAGE];
};

/* Reads the run file of a row; message: why it is refused. */
static int read_row(const struct space *s, uint32_t row, char message[TY_ROW_MESSAGE],
                    struct ty_err *err)
{
    struct ty_config *config = NULL;
    struct ty_worker *worker = ty_worker_acquire(s->rows->workers);
    const int rc = worker == NULL ? ty_fail_memory(err)
                                  : ty_row_read(s->rows, worker, row, NULL, 0, &config, err);
    if (rc < 0) {
        ty_row_message(err, message);
    }
    ty_config_free(config);
    if (worker != NULL) {
        ty_worker_release(s->rows->workers, worker);
    }
    return rc;
}

/* The key that a message blames, "schedule.chunks", behind the place if there is one; *n: its
 * length, 0: none. */
static const char *blamed(const char *message, size_t *n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    for (const char *at = message; at != NULL; at = strstr(at, ": "), at += at != NULL ? 2 : 0) {
        const char *dot = strchr(at, '.');
        *n = strspn(at, letters);
        if (at[*n] == ':' && at[*n + 1] == ' ' && dot != NULL && dot < at + *n) {
            return at;
        }
    }
    *n = 0;
    return message;
}

/* Under the lock. */
static uint8_t reason_of(struct space *s, const char *message)
{
    size_t n;
    char key[sizeof(s->reason[0].key)];
    const char *at = blamed(message, &n);
    (void)snprintf(key, sizeof(key), "%.*s", (int)n, at);
    uint32_t i = 0;
    while (i < s->n_reasons && strcmp(s->reason[i].key, key) != 0) {
        i++;
    }
    if (i == s->n_reasons && i < MAX_REASONS) {
        memcpy(s->reason[s->n_reasons++].key, key, sizeof(key));
    }
    return (uint8_t)(FIRST_REASON + (i < MAX_REASONS ? i : MAX_REASONS - 1));
}

static bool look(void *arg, uint32_t row)
{
    struct space *s = arg;
    char message[TY_ROW_MESSAGE] = "memory is exhausted";
    struct ty_err *err = ty_err_new();
    const int rc = err != NULL ? read_row(s, row, message, err) : TY_ENOMEM;
    const bool failed = rc < 0 && ty_err_is_transient(rc);
    ty_err_free(err);
    pthread_mutex_lock(&s->lock);
    if (failed) {
        s->failure = rc;
        memcpy(s->message, message, sizeof(message));
    } else if (rc < 0) {
        s->state[row] = reason_of(s, message);
    }
    pthread_mutex_unlock(&s->lock);
    return !failed;
}

/* The number of a row's value in its list. */
static uint32_t value_of(const struct ty_sweep_table *table, uint32_t row, uint32_t column)
{
    uint32_t stride = 1;
    for (uint32_t k = column + 1; k < table->csv.n_columns; k++) {
        stride *= table->n_values[k];
    }
    return row / stride % table->n_values[column];
}

static bool is_left_out(const struct space *s, uint32_t row)
{
    bool all = s->state[row] >= FIRST_REASON;
    for (uint32_t k = 0; all && k < s->table->csv.n_columns; k++) {
        all = s->alive[s->first[k] + value_of(s->table, row, k)];
    }
    return all;
}

static int allocate(struct space *s, struct ty_arena *arena, struct ty_err *err)
{
    const uint32_t n = s->table->csv.n_columns;
    uint32_t values = 0;
    s->state = ty_arena_array(arena, uint8_t, (size_t)s->table->csv.n_rows + 1);
    s->first = ty_arena_array(arena, uint32_t, n);
    for (uint32_t k = 0; s->first != NULL && k < n; k++) {
        s->first[k] = values;
        values += s->table->n_values[k];
    }
    s->alive = ty_arena_array(arena, bool, values);
    return s->state != NULL && s->first != NULL && s->alive != NULL ? 0 : ty_fail_memory(err);
}

/* All combinations; which values are accepted in some of them. */
static int look_at_all(struct space *s, uint32_t jobs, struct ty_err *err)
{
    const struct ty_csv *csv = &s->table->csv;
    pthread_mutex_init(&s->lock, NULL);
    ty_pool_run(0, csv->n_rows, jobs, look, s);
    pthread_mutex_destroy(&s->lock);
    if (s->failure < 0) {
        return ty_fail(err, s->failure, "%s", s->message);
    }
    for (uint32_t row = 0; row < csv->n_rows; row++) {
        for (uint32_t k = 0; s->state[row] == ACCEPTED && k < csv->n_columns; k++) {
            s->alive[s->first[k] + value_of(s->table, row, k)] = true;
        }
    }
    return 0;
}

/* ---- what is left ---- */

static struct reason *most(struct space *s)
{
    struct reason *best = &s->reason[0];
    for (uint32_t i = 1; i < s->n_reasons; i++) {
        best = s->reason[i].n > best->n ? &s->reason[i] : best;
    }
    return best;
}

/* "690 of 1,440 combinations left out, ...: 600 for schedule.chunks (...), 90 for ..." */
static int tell(struct space *s, uint32_t n, char *why, size_t size, struct ty_err *err)
{
    char left[64], all[64];
    int len = snprintf(why, size, "%s of %s combinations left out, whose values cannot go together",
                       ty_words_count(n, left, sizeof(left)),
                       ty_words_count(s->table->csv.n_rows, all, sizeof(all)));
    for (uint32_t i = 0; i < SHOWN && len > 0 && (size_t)len < size; i++) {
        struct reason *r = most(s);
        char message[TY_ROW_MESSAGE] = "";
        struct ty_err refusal;
        size_t key;
        ty_err_init(&refusal);
        if (r->n == 0) {
            return 0;
        }
        const int rc = read_row(s, r->row, message, &refusal);
        if (rc < 0 && ty_err_is_transient(rc)) {
            return ty_fail(err, rc, "%s", message);
        }
        const char *at = blamed(message, &key);
        len += snprintf(why + len, size - (size_t)len, "%s %s for %s (%s%s)", i == 0 ? ":" : ",",
                        ty_words_count(r->n, left, sizeof(left)), r->key,
                        r->n > 1 ? "such as " : "", at + key + (key > 0 ? 2 : 0));
        r->n = 0;
    }
    return 0;
}

static int take_out(struct space *s, struct ty_sweep_table *table, uint32_t n,
                    struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_csv *csv = &s->table->csv;
    const size_t columns = csv->n_columns;
    const char **cell = ty_arena_array(arena, const char *, (csv->n_rows - n + 1) * columns);
    uint32_t kept = 0;
    if (cell == NULL) {
        return ty_fail_memory(err);
    }
    memcpy(cell, csv->cell, columns * sizeof(*cell));
    for (uint32_t row = 0; row < csv->n_rows; row++) {
        if (!is_left_out(s, row)) {
            kept++;
            memcpy(cell + kept * columns, csv->cell + (row + 1) * columns, columns * sizeof(*cell));
        }
    }
    table->csv.cell = cell;
    table->csv.n_rows = kept;
    return 0;
}

int ty_sweep_space(const struct ty_row_source *rows, struct ty_sweep_table *table, uint32_t jobs,
                   char *why, size_t size, struct ty_arena *arena, struct ty_err *err)
{
    struct space s = {.rows = rows, .table = table};
    uint32_t n = 0;
    why[0] = '\0';
    if (table->n_values == NULL || table->csv.n_columns < 2) {
        return 0;
    }
    int rc = allocate(&s, arena, err);
    if (rc == 0) {
        rc = look_at_all(&s, jobs, err);
    }
    for (uint32_t row = 0; rc == 0 && row < table->csv.n_rows; row++) {
        if (is_left_out(&s, row)) {
            struct reason *r = &s.reason[s.state[row] - FIRST_REASON];
            r->row = r->n++ == 0 ? row : r->row;
            n++;
        }
    }
    if (rc < 0 || n == 0) {
        return rc;
    }
    rc = tell(&s, n, why, size, err);
    return rc < 0 ? rc : take_out(&s, table, n, arena, err);
}
