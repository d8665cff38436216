/* api.c - the parts of the public interface that belong to no noun: error objects and texts. */
#include "sim/cli_api.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/err.h"
#include "sim/base/utf8.h"
#include "traces/out/out.h"

const char *ty_version(void)
{
    return TRAINYARD_VERSION;
}

struct ty_err *ty_err_new(void)
{
    struct ty_err *err = malloc(sizeof(*err));
    if (err != NULL) {
        ty_err_init(err);
    }
    return err;
}

void ty_err_free(struct ty_err *err)
{
    free(err);
}

void ty_err_clear(struct ty_err *err)
{
    if (err != NULL) {
        ty_err_init(err);
    }
}

const char *ty_err_text(const struct ty_err *err)
{
    return err != NULL ? err->text : "memory is exhausted";
}

int ty_err_exit_status(const struct ty_err *err)
{
    return ty_exit_status(err != NULL ? err->code : TY_ENOMEM);
}

void ty_text_free(char *text)
{
    free(text);
}

char *ty_text_plain(char *text)
{
    text[ty_utf8_sanitize_line(text, strlen(text))] = '\0';
    return text;
}

int ty_text_write(const char *text, const char *path, struct ty_err *err)
{
    struct ty_out out;
    int rc = ty_out_open(&out, path, err);
    if (rc == 0) {
        ty_out_str(&out, text);
        rc = ty_out_commit(&out, err);
    }
    return rc;
}

int ty_path_check(const char *path, struct ty_err *err)
{
    return ty_out_check(path, err);
}

const char *ty_suggest(const char *word, const char *const *names, size_t n)
{
    return ty_nearest(word, names, n);
}
