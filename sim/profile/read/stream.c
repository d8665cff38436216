/* stream.c - a Kineto file from its bytes: unpacked, fed to yajl, with lines and columns
 * counted for messages. What bounds time and memory against a hostile file is here but for its
 * depth and the bytes of an event: the bytes without a value, since yajl gathers a string before it
 * hands it over, and how well it is packed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/base/file.h"
#include "sim/base/number_text.h"
#include "sim/profile/read/read.h"

#define CHUNK       (256u << 10)
#define MAX_SILENCE (32u << 20) /* bytes without a value */
#define RATIO_FROM  ((uint64_t)256 << 20)
#define MAX_RATIO   200u /* profiles compress 10 to 30 times, made-up ones up to 1030 */

/* ---- places and errors ---- */

/* Counts lines and characters up to byte `to` of the chunk. */
static void count_to(struct ty_profile_reader *r, size_t to)
{
    const unsigned char *p = r->chunk;
    for (size_t i = r->counted; i < to;) {
        const unsigned char *end = memchr(p + i, '\n', to - i);
        const size_t stop = end != NULL ? (size_t)(end - p) : to;
        uint32_t characters = 0;
        for (size_t k = i; k < stop; k++) {
            characters += (p[k] & 0xC0u) != 0x80u;
        }
        r->col += characters;
        i = stop;
        if (end != NULL) {
            r->line++;
            r->col = 1;
            i++;
        }
    }
    r->counted = to > r->counted ? to : r->counted;
}

void ty_profile_count(struct ty_profile_reader *r)
{
    const size_t to = yajl_get_bytes_consumed(r->yajl);
    count_to(r, to < r->chunk_len ? to : r->chunk_len);
}

int ty_profile_fail_here(struct ty_profile_reader *r, const char *format, ...)
{
    char message[400];
    va_list args;
    ty_profile_count(r);
    const struct ty_place at = {.file = r->path, .line = r->line, .col = r->col};
    va_start(args, format);
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    r->code = ty_fail_at(r->err, TY_EINPUT, &at, "%s", message);
    return 0;
}

int ty_profile_no_memory(struct ty_profile_reader *r)
{
    r->code = ty_fail_memory(r->err);
    return 0;
}

/* ---- memory for yajl ---- */

/* yajl does not look whether it got any: a failure leaves the parser by longjmp, before it can
 * write through what it did not get. It is not to be used or freed after that; what it holds is
 * known, and freed by the reader. */
static void **block_of(struct ty_profile_reader *r, const void *piece)
{
    uint32_t i = 0;
    while (i < TY_YAJL_BLOCKS && r->block[i] != piece) {
        i++;
    }
    return i < TY_YAJL_BLOCKS ? &r->block[i] : NULL;
}

/* A piece of the size, in place of an old one; NULL: of none. */
static void *resize(void *ctx, void *old, size_t size)
{
    struct ty_profile_reader *r = ctx;
    void **block = block_of(r, old);
    void *piece = block != NULL ? realloc(old, size) : NULL;
    if (piece == NULL) {
        longjmp(r->no_memory, 1);
    }
    *block = piece;
    return piece;
}

static void *make(void *ctx, size_t size)
{
    return resize(ctx, NULL, size);
}

static void drop(void *ctx, void *piece)
{
    if (piece != NULL) {
        *block_of(ctx, piece) = NULL;
        free(piece);
    }
}

/* ---- the file ---- */

/* yajl's sentence for what is wrong, where it tells more than the place does; and what people meet
 * most often. */
static int syntax_error(struct ty_profile_reader *r)
{
    const size_t at = yajl_get_bytes_consumed(r->yajl);
    unsigned char *said = yajl_get_error(r->yajl, 0, r->chunk, r->chunk_len);
    char message[200] = "";
    const char *parse = said != NULL ? strstr((const char *)said, "parse error: ") : NULL;
    if (parse != NULL) {
        parse += strlen("parse error: ");
        snprintf(message, sizeof(message), " (%.*s)", (int)strcspn(parse, "\n"), parse);
    } else if (said != NULL && strstr((const char *)said, "UTF8") != NULL) {
        snprintf(message, sizeof(message), " (bytes that are not UTF-8)");
    }
    yajl_free_error(r->yajl, said);
    const char *near = (const char *)r->chunk + (at > 0 && at <= r->chunk_len ? at - 1 : 0);
    const bool not_finite = r->chunk_len > 0 && (*near == 'N' || *near == 'I');
    r->chunk_len = at > 0 && at <= r->chunk_len ? at - 1 : r->counted; /* yajl is behind it */
    (void)ty_profile_fail_here(r, "not JSON from here on%s; a PyTorch profile is needed", message);
    if (not_finite) {
        ty_hint(r->err, "JSON has no NaN and no Infinity; a script wrote this file, not PyTorch");
    }
    return r->code;
}

static int parse_chunk(struct ty_profile_reader *r, const unsigned char *chunk, size_t n)
{
    r->chunk = chunk;
    r->chunk_len = n;
    r->counted = 0;
    const yajl_status status = yajl_parse(r->yajl, chunk, n);
    if (status == yajl_status_client_canceled) {
        return r->code;
    }
    if (status != yajl_status_ok) {
        return syntax_error(r);
    }
    count_to(r, n);
    r->chunk_at += n;
    if (r->chunk_at - r->last_value_at > MAX_SILENCE) {
        (void)ty_profile_fail_here(
            r, "%u MiB up to here without a value; a PyTorch profile is needed", MAX_SILENCE >> 20);
    }
    return r->code;
}

/* After the last byte. */
static int finish(struct ty_profile_reader *r)
{
    if (r->chunk_at == 0) {
        return ty_fail(r->err, TY_EINPUT, "%s: empty; a PyTorch profile is needed", r->path);
    }
    if (yajl_complete_parse(r->yajl) != yajl_status_ok || r->where != TY_IN_END) {
        if (r->code == 0) {
            (void)ty_profile_fail_here(r, "the file ends here, in the middle; it was cut, or the "
                                          "profiler was stopped while it wrote");
        }
    } else if ((r->seen >> TY_IN_EVENTS & 1u) == 0) {
        (void)ty_profile_fail_here(r, "no traceEvents up to here; a PyTorch profile is needed");
    }
    return r->code;
}

static int unzip_error(struct ty_profile_reader *r, gzFile in)
{
    int code = Z_OK;
    const char *said = gzerror(in, &code);
    if (code == Z_MEM_ERROR) {
        return ty_fail_memory(r->err);
    }
    if (code == Z_ERRNO) {
        return ty_fail(r->err, TY_EIO, "%s: cannot be read (%s)", r->path, ty_errno_text(errno));
    }
    (void)ty_profile_fail_here(
        r, "the compressed file is damaged or cut behind what says this (%s)", said);
    return r->code;
}

static int read_all(struct ty_profile_reader *r, gzFile in, unsigned char *buf)
{
    int rc = 0, n = 0;
    while (rc == 0 && (n = gzread(in, buf, CHUNK)) > 0) {
        const bool mark = r->chunk_at == 0 && n >= 3 && memcmp(buf, "\xEF\xBB\xBF", 3) == 0;
        rc = parse_chunk(r, buf + (mark ? 3 : 0), (size_t)n - (mark ? 3 : 0));
        const z_off_t packed = gzoffset(in);
        if (rc == 0 && r->chunk_at > RATIO_FROM && packed > 0 &&
            r->chunk_at / (uint64_t)packed > MAX_RATIO) {
            rc = ty_fail(r->err, TY_EINPUT,
                         "%s: %u times smaller than its content; no profile compresses like this",
                         r->path, MAX_RATIO);
        }
    }
    int code = Z_OK;
    (void)gzerror(in, &code);
    if (rc == 0 && (n < 0 || code != Z_OK)) {
        rc = unzip_error(r, in);
    }
    return rc == 0 ? finish(r) : rc;
}

/* Makes the parser and reads; whatever it needs and does not get ends here. */
static int read_guarded(struct ty_profile_reader *r, gzFile in, unsigned char *buf)
{
    yajl_alloc_funcs memory = {.malloc = make, .realloc = resize, .free = drop, .ctx = r};
    if (setjmp(r->no_memory) != 0) {
        return ty_fail_memory(r->err);
    }
    r->yajl = yajl_alloc(&ty_profile_callbacks, &memory, r);
    (void)gzbuffer(in, CHUNK);
    return read_all(r, in, buf);
}

int ty_profile_parse(struct ty_profile_file *file, struct ty_profile_store *store, const char *path,
                     struct ty_err *err)
{
    struct ty_profile_reader r = {.file = file,
                                  .store = store,
                                  .path = path,
                                  .err = err,
                                  .line = 1,
                                  .col = 1,
                                  .key = TY_KEY_NONE,
                                  .scratch_cap = 1u << 16};
    errno = 0;
    gzFile in = strcmp(path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (in == NULL) {
        return ty_fail(err, errno != 0 ? ty_code_of_errno(errno) : TY_ENOMEM,
                       "%s: cannot be opened (%s)", path,
                       errno != 0 ? ty_errno_text(errno) : "memory is exhausted");
    }
    ty_inputs_add(path);
    unsigned char *buf = malloc(CHUNK);
    r.scratch = malloc(r.scratch_cap);
    file->rank.file = ty_arena_strndup(&store->arena, path, strlen(path));
    ty_profile_make_keys(&r);
    int rc = buf != NULL && r.scratch != NULL && file->rank.file != NULL ? read_guarded(&r, in, buf)
                                                                         : ty_fail_memory(err);
    file->rank.gpu = file->rank.gpu != NULL ? file->rank.gpu : "";
    file->rank.json_B = r.chunk_at;
    for (uint32_t i = 0; i < TY_YAJL_BLOCKS; i++) {
        free(r.block[i]);
    }
    free(buf);
    free(r.scratch);
    (void)gzclose(in);
    return rc;
}
