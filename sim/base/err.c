/* err.c - messages with a place, an excerpt and a caret.
 *
 *     run.yaml:4:3: cluster.node: unknown key; hint: did you mean "nodes"?
 *           node: 32
 *           ^
 *
 * A message is written whole or counted as dropped; after the first one that is dropped so are all
 * others, and their number is kept up to date in a last line behind `len`. */
#include "sim/base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "sim/base/number_text.h"
#include "sim/base/utf8.h"

#ifdef __clang_analyzer__
#undef ty_fail
#undef ty_fail_at
#undef ty_fail_memory
#undef ty_fail_write
#endif

#define INDENT        "    "
#define MESSAGE_BYTES 8192u /* of one message with its excerpt; longer ones are cut */
#define NOTE_BYTES    64u   /* kept free for the line that counts dropped messages */
#define EXCERPT_COLS  96u   /* widest excerpt of a source line, in characters */
#define WORD_MAX      64u   /* longest word ty_nearest looks at */
#define EDIT_COST     128u  /* of a letter inserted, deleted, replaced, or swapped with the next */
#define DIGIT_COST    118u /* of a digit replaced by another, and what they differ by: 119 to 127 */
#define CASE_COST     1u   /* of a letter in the other case: less than an edit in any word */

int ty_code_of_errno(int error)
{
    return error == ENOMEM ? TY_ENOMEM : TY_EIO;
}

bool ty_err_is_transient(int code)
{
    return code == TY_ENOMEM || code == TY_EIO;
}

int ty_exit_status(int code)
{
    static const int statuses[] = {
#define X(name, status, text) status,
        TY_ERRORS(X)
#undef X
    };
    if (code == 0) {
        return 0;
    }
    const int index = -1 - code;
    return index >= 0 && (size_t)index < TY_COUNT(statuses) ? statuses[index] : 4;
}

const char *ty_code_name(int code)
{
    static const char *const names[] = {
#define X(name, status, text) "E" #name,
        TY_ERRORS(X)
#undef X
    };
    const int index = -1 - code;
    return code < 0 && (size_t)index < TY_COUNT(names) ? names[index] : "E?";
}

/* A piece of text under construction; what does not fit is cut. */
struct scratch {
    size_t len;
    char text[MESSAGE_BYTES];
};

static void TY_PRINTF(2, 0) scratch_vadd(struct scratch *s, const char *format, va_list args)
{
    const size_t room = sizeof(s->text) - s->len;
    const int n = ty_vsnprintf(s->text + s->len, room, format, args);
    if (n > 0) {
        s->len += (size_t)n < room ? (size_t)n : room - 1;
    }
}

static void TY_PRINTF(2, 3) scratch_add(struct scratch *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    scratch_vadd(s, format, args);
    va_end(args);
}

/* Steps over n characters of UTF-8, not beyond `end`. */
static const char *skip_chars(const char *p, const char *end, uint32_t n)
{
    while (n > 0 && p < end) {
        p++;
        while (p < end && !ty_utf8_begins(*p)) {
            p++;
        }
        n--;
    }
    return p;
}

/* The line of the place and a caret below its column; a long line is cut around the column. */
static void scratch_excerpt(struct scratch *s, const struct ty_place *at)
{
    const char *line = at->source;
    for (uint32_t i = 1; i < at->line; i++) {
        line += strcspn(line, "\r\n");
        line += strspn(line, "\r") > 0 && line[1] == '\n' ? 2 : *line != '\0';
    }
    const char *end = line + strcspn(line, "\r\n");
    if (end == line) {
        return;
    }
    uint32_t col = at->col > 0 ? at->col - 1 : 0;
    const char *from = line;
    const bool cut_front = col > EXCERPT_COLS * 3 / 4;
    if (cut_front) {
        from = skip_chars(line, end, col - EXCERPT_COLS / 2);
        col = EXCERPT_COLS / 2;
    }
    const char *to = skip_chars(from, end, EXCERPT_COLS);
    scratch_add(s, "\n" INDENT "%s%.*s%s", cut_front ? "..." : "", (int)(to - from), from,
                to < end ? "..." : "");
    scratch_add(s, "\n" INDENT "%*s^", (int)col + (cut_front ? 3 : 0), "");
}

/* Takes a finished message over, or counts it. */
static int err_take(struct ty_err *err, int code, struct scratch *s)
{
    s->len = ty_utf8_sanitize_line(s->text, s->len);
    if (err->code == 0) {
        err->code = code;
    }
    const size_t room = sizeof(err->text) - NOTE_BYTES - err->len;
    if (err->n >= TY_ERR_MAX || err->n_dropped > 0 || s->len + 2 > room) {
        err->n_dropped++;
        (void)snprintf(err->text + err->len, NOTE_BYTES, "\n%u more error%s, not shown",
                       (unsigned)err->n_dropped, err->n_dropped == 1 ? "" : "s");
        return code;
    }
    if (err->len > 0) {
        err->text[err->len++] = '\n';
    }
    memcpy(err->text + err->len, s->text, s->len);
    err->len += s->len;
    err->text[err->len] = '\0';
    err->n++;
    return code;
}

int ty_fail(struct ty_err *err, int code, const char *format, ...)
{
    if (!err) {
        return code;
    }
    struct scratch s;
    s.len = 0;
    va_list args;
    va_start(args, format);
    scratch_vadd(&s, format, args);
    va_end(args);
    return err_take(err, code, &s);
}

/* An option is one line that the user has just typed. */
static bool is_option(const struct ty_place *at)
{
    return at->file && strncmp(at->file, "--", 2) == 0;
}

int ty_fail_at(struct ty_err *err, int code, const struct ty_place *at, const char *format, ...)
{
    if (!err) {
        return code;
    }
    struct scratch s;
    s.len = 0;
    const bool shown = at->line > 0 && !is_option(at);
    if (shown) {
        scratch_add(&s, "%s:%u:%u: ", at->file, (unsigned)at->line, (unsigned)at->col);
    } else if (at->file) {
        scratch_add(&s, "%s: ", at->file);
    }
    va_list args;
    va_start(args, format);
    scratch_vadd(&s, format, args);
    va_end(args);
    /* finding a line takes as long as the text before it: not for messages that are only counted */
    if (shown && at->source && err->n < TY_ERR_MAX && err->n_dropped == 0) {
        scratch_excerpt(&s, at);
    }
    return err_take(err, code, &s);
}

int ty_fail_memory(struct ty_err *err)
{
    return ty_fail(err, TY_ENOMEM, "memory is exhausted");
}

const char *ty_errno_text(int error)
{
    return strerror(error); /* NOLINT(concurrency-mt-unsafe): in glibc it is safe since 2.32 */
}

/* Some file systems, such as /proc, refuse new names with the error of a folder that is missing. */
static bool has_folder(const char *path)
{
    struct stat st;
    char folder[4096];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof(folder), "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
                   slash == NULL ? "." : path);
    return stat(folder, &st) == 0;
}

int ty_fail_write(struct ty_err *err, const char *path, int error)
{
    const char *why = ty_errno_text(error);
    if (error == ENOENT) {
        why = has_folder(path) ? "no file can be made in its folder" : "its folder does not exist";
    } else if (error == EISDIR) {
        why = "it is a folder";
    }
    return ty_fail(err, ty_code_of_errno(error), "%s: cannot be written (%s)", path, why);
}

void ty_hint(struct ty_err *err, const char *format, ...)
{
    if (!err || err->n == 0 || err->n_dropped > 0) {
        return;
    }
    struct scratch s;
    s.len = 0;
    scratch_add(&s, "\nhint: ");
    va_list args;
    va_start(args, format);
    scratch_vadd(&s, format, args);
    va_end(args);
    s.len = ty_utf8_sanitize_line(s.text, s.len);
    if (err->len + s.len + 1 < sizeof(err->text) - NOTE_BYTES) {
        memcpy(err->text + err->len, s.text, s.len);
        err->len += s.len;
        err->text[err->len] = '\0';
    }
}

void ty_hint_named(struct ty_err *err, const char *key, const struct ty_place *at)
{
    if (is_option(at)) {
        ty_hint(err, "the file is named by %s", at->file);
    } else {
        ty_hint(err, "the file is named by %s at %s:%u", key, at->file, (unsigned)at->line);
    }
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whoever writes flash4 or h300 means the version or the size next to it. */
static size_t replace_cost(char a, char b)
{
    if (a == b) {
        return 0;
    }
    if (is_digit(a) && is_digit(b)) {
        return DIGIT_COST + (size_t)(a < b ? b - a : a - b);
    }
    return lower(a) == lower(b) ? CASE_COST : EDIT_COST;
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with swaps of neighbours (optimal string alignment), three rows at a time. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = j * EDIT_COST;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i * EDIT_COST;
        for (size_t j = 1; j <= m; j++) {
            size_t best = above[j - 1] + replace_cost(a[i - 1], b[j - 1]);
            best = least_of(best, above[j] + EDIT_COST);
            best = least_of(best, row[j - 1] + EDIT_COST);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = least_of(best, above2[j - 2] + EDIT_COST);
            }
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

/* Dots join the names of a key, dashes and underscores the words of a name. */
static bool is_letter(char c)
{
    return c == '.' || (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

/* Whether a[0..n) stands in b[0..m) as whole words: "h100" in "dgx-h100", not "zb" in "zbv". */
static bool stands_in(const char *a, size_t n, const char *b, size_t m)
{
    for (size_t at = 0; n > 2 && at + n <= m; at++) {
        size_t same = 0;
        while (same < n && (lower(a[same]) == lower(b[at + same]) ||
                            (!is_letter(a[same]) && !is_letter(b[at + same])))) {
            same++;
        }
        if (same == n && (at == 0 || !is_letter(b[at - 1])) &&
            (at + n == m || !is_letter(b[at + n]))) {
            return true;
        }
    }
    return false;
}

/* A name cut short is nearer than another one of its length, and next comes one that the word is a
 * part of, or that is a part of it: the more of it the nearer. */
static size_t distance_of(const char *word, size_t len, const char *name, size_t other)
{
    const size_t edits = edit_distance(word, len, name, other);
    if (len > 2 && other > len && strncasecmp(word, name, len) == 0) {
        return EDIT_COST / 2;
    }
    if (len < other ? stands_in(word, len, name, other) : stands_in(name, other, word, len)) {
        return least_of(edits, EDIT_COST - 1 + (len < other ? other - len : len - other));
    }
    return edits;
}

const char *ty_nearest(const char *word, const char *const *names, size_t n)
{
    const size_t len = strlen(word);
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const size_t other = names[i] ? strlen(names[i]) : SIZE_MAX;
        if (len > WORD_MAX || other > WORD_MAX) {
            continue;
        }
        const size_t longer = len > other ? len : other;
        const size_t allowed = longer > 3 ? longer / 3 : 1;
        const size_t distance = distance_of(word, len, names[i], other);
        if (distance <= allowed * EDIT_COST && distance < longer * EDIT_COST && distance < least) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *ty_suggestion(const char *word, const char *const *names, size_t n,
                          char buf[TY_SUGGESTION])
{
    const char *nearest = ty_nearest(word, names, n);
    buf[0] = '\0';
    if (nearest != NULL) {
        (void)snprintf(buf, TY_SUGGESTION, "; hint: did you mean \"%s\"?", nearest);
    }
    return buf;
}
