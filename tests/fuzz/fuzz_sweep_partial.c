/* fuzz_sweep_partial.c - any bytes as PATH.partial, which a crash may have cut or filled with
 * zeros: `sweep --resume` either refuses it, and loses nothing, or makes a table in which every row
 * is what the sweep simulates or, byte for byte, what the file said.
 *
 * No search finds a checksum: so the bytes are tried as they are, and once more with a right length
 * and check in front of each of their lines. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/trainyard.h"
#include "tests/fuzz/fuzz.h"

#define N_ROWS 3

static const char run_file[] =
    "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
    "model: {layers: 2, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}\n"
    "layout: {global_batch: 8}\n";
/* One whose cell has a line break, one that cannot be run, one like any other. */
static const char *const inputs[] = {"name,layout.tensor", "\"on\ntwo\",1", "b,3", "c,2"};

enum name {
    RUN,
    ROWS,
    TABLE,
    PARTIAL,
    N_NAMES
};

static char folder[64], path[N_NAMES][128];
static char *right; /* the table of a sweep that nothing disturbed */
static char *whole; /* its PATH.partial */
static size_t n_whole;

static void write_file(enum name name, const void *data, size_t size)
{
    FILE *file = fopen(path[name], "wb");
    FUZZ_DEMAND(file != NULL);
    const int written = fwrite(data, 1, size, file) == size;
    FUZZ_DEMAND(fclose(file) == 0 && written);
}

/* With a zero behind it; NULL: there is no such file. The caller frees. */
static char *read_file(enum name name, size_t *size)
{
    FILE *file = fopen(path[name], "rb");
    if (file == NULL) {
        return NULL;
    }
    FUZZ_DEMAND(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*size + 1);
    FUZZ_DEMAND(data != NULL && fread(data, 1, *size, file) == *size);
    data[*size] = '\0';
    fclose(file);
    return data;
}

/* Length of the line of a table, its newline included; a quoted one does not end it. */
static size_t line_length(const char *line)
{
    bool quoted = false;
    size_t n = 0;
    for (; line[n] != '\0' && (line[n] != '\n' || quoted); n++) {
        quoted = quoted != (line[n] == '"');
    }
    return line[n] == '\n' ? n + 1 : 0;
}

static int sweep(bool resume, struct ty_sweep_summary *summary, struct ty_err *err)
{
    return ty_sweep_rows(&(struct ty_sweep_options){.path = path[RUN],
                                                    .rows = path[ROWS],
                                                    .output = path[TABLE],
                                                    .jobs = 1,
                                                    .resume = resume,
                                                    .summary = summary},
                         err);
}

static void clean_up(void)
{
    for (int i = 0; i < N_NAMES; i++) {
        unlink(path[i]);
    }
    rmdir(folder);
    free(right);
    free(whole);
}

/* CRC-32 as in RFC 1952, continued from `crc`. */
static uint32_t crc32_of(uint32_t crc, const char *bytes, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1u) != 0 ? UINT32_C(0xedb88320) : 0);
        }
    }
    return ~crc;
}

/* "row,LINE" and "3,LINE" as PATH.partial has them; other lines as they are. The caller frees. */
static char *records(const char *text, size_t *size)
{
    const size_t room = strlen(text) * 32 + 1;
    char *out = malloc(room), *rest;
    size_t at = 0;
    FUZZ_DEMAND(out != NULL);
    for (size_t n; *text != '\0'; text += n) {
        n = line_length(text);
        n = n > 0 ? n : strlen(text);
        const unsigned long row = strtoul(text, &rest, 10);
        if (strncmp(text, "row,", 4) == 0) {
            at +=
                (size_t)snprintf(out + at, room - at, "row,bytes,crc32,%.*s", (int)n - 4, text + 4);
        } else if (row > 0 && *rest == ',' && rest < text + n) {
            const size_t len = (size_t)(text + n - rest) - 1;
            at += (size_t)snprintf(out + at, room - at, "%lu,%zu,%08x,%.*s", row, len,
                                   (unsigned)crc32_of((uint32_t)row, rest + 1, len), (int)len,
                                   rest + 1);
        } else {
            at += (size_t)snprintf(out + at, room - at, "%.*s", (int)n, text);
        }
    }
    *size = at;
    return out;
}

/* The rows of the table in PATH.partial. */
static void number_rows(void)
{
    char numbered[2048] = "";
    const char *line = right;
    for (int row = 0; row <= N_ROWS; row++) {
        const size_t n = line_length(line), at = strlen(numbered);
        FUZZ_DEMAND(n > 0 && at + n + 8 < sizeof(numbered));
        const int front =
            row == 0 ? snprintf(numbered + at, 8, "row,") : snprintf(numbered + at, 8, "%d,", row);
        memcpy(numbered + at + front, line, n); /* what follows is zero */
        line += n;
    }
    whole = records(numbered, &n_whole);
}

static void set_up(struct ty_err *err)
{
    static const char *const names[] = {"run.yaml", "rows.csv", "table.csv", "table.csv.partial"};
    size_t size;
    snprintf(folder, sizeof(folder), "%s/trainyard-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    FUZZ_DEMAND(mkdtemp(folder) != NULL);
    for (int i = 0; i < N_NAMES; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s", folder, names[i]);
    }
    atexit(clean_up);
    write_file(RUN, run_file, strlen(run_file));
    char rows[256] = "";
    for (int row = 0; row <= N_ROWS; row++) {
        const size_t at = strlen(rows);
        snprintf(rows + at, sizeof(rows) - at, "%s\n", inputs[row]);
    }
    write_file(ROWS, rows, strlen(rows));
    FUZZ_DEMAND(sweep(false, NULL, err) == 0);
    right = read_file(TABLE, &size);
    FUZZ_DEMAND(right != NULL);
    number_rows();
}

/* A row that is not the right one has its inputs, and stood in the file; as long as one of those
 * that were kept is right, nothing tells. */
static void check_table(const char *table, const uint8_t *data, size_t size, uint32_t n_kept)
{
    const char *due = right;
    uint32_t n_other = 0;
    for (int row = 0; row <= N_ROWS; row++) {
        const size_t n = line_length(table), n_due = line_length(due);
        if (n != n_due || memcmp(table, due, n) != 0) {
            FUZZ_DEMAND(n > 0 && row > 0 && memmem(data, size, table, n) != NULL);
            FUZZ_DEMAND(strncmp(table, inputs[row], strlen(inputs[row])) == 0);
            n_other++;
        }
        table += n;
        due += n_due;
    }
    FUZZ_DEMAND(*table == '\0' && (n_other == 0 || n_other < n_kept));
}

static void resume(const uint8_t *data, size_t size, struct ty_err *err)
{
    unlink(path[TABLE]);
    write_file(PARTIAL, data, size);
    struct ty_sweep_summary summary = {.n_kept = 0};
    const int rc = sweep(true, &summary, err);
    ty_text_free(summary.best);
    fuzz_check(rc, err);
    FUZZ_DEMAND(rc == 0 || rc == TY_EINPUT);
    const bool is_cut = size <= n_whole && memcmp(data, whole, size) == 0;
    FUZZ_DEMAND(rc == 0 || !is_cut);
    size_t n_table = 0, n_left = 0;
    char *table = read_file(TABLE, &n_table), *left = read_file(PARTIAL, &n_left);
    FUZZ_DEMAND((rc == 0) == (table != NULL) && (rc == 0) == (left == NULL));
    if (rc == 0) {
        FUZZ_DEMAND(strlen(table) == n_table);
        check_table(table, data, size, summary.n_kept);
    } else { /* at most what comes behind the last whole row is gone */
        FUZZ_DEMAND(n_left <= size && memcmp(left, data, n_left) == 0);
    }
    free(table);
    free(left);
    ty_err_clear(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_err *err = ty_err_new();
    size_t n_checked = 0;
    if (right == NULL) {
        set_up(err);
    }
    char *text = fuzz_text(data, size), *checked = records(text, &n_checked);
    resume(data, size, err);
    resume((const uint8_t *)checked, n_checked, err);
    free(text);
    free(checked);
    ty_err_free(err);
    return 0;
}
