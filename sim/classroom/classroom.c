/* classroom.c - the page of `trainyard classroom`: HTML, style, scripts and lessons (page_data.c is
 * made of them), around the library for pages (sim/wasm/core.h) (classroom.h). */
#include "sim/classroom/classroom.h"

#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/document/json.h"
#include "sim/cli_api.h"
#include "sim/wasm/core.h"

int ty_classroom(const char *state, char **page, struct ty_err *err)
{
    size_t n = 0;
    const char *core = ty_wasm_core(&n);
    *page = NULL;
    if (core == NULL) {
        return ty_fail(err, TY_ELIMIT,
                       "this build has no classroom page; each release has it ready to open: "
                       "trainyard-%s-classroom.html. To build it, install emscripten and zopfli: "
                       "meson configure build -Dwasm=enabled (docs/guides/install.md)",
                       ty_version());
    }
    struct ty_text t = {.data = NULL};
    ty_text_bytes(&t, (const char *)ty_classroom_head, ty_classroom_head_len);
    struct ty_json j = ty_json_to_text(&t);
    ty_json_object(&j, NULL);
    ty_json_text(&j, "version", ty_version());
    ty_json_text(&j, "state", state != NULL ? state : "");
    ty_json_text(&j, "core", core);
    ty_json_end(&j);
    ty_text_bytes(&t, (const char *)ty_classroom_tail, ty_classroom_tail_len);
    *page = ty_text_take(&t);
    return *page != NULL ? 0 : ty_fail_memory(err);
}
