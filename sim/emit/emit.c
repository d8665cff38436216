/* emit.c - see emit.h. */
#include "sim/emit/emit.h"

#include <stdio.h>
#include <string.h>

#include "sim/trainyard.h"

#define LINE 512u

const struct ty_emitter *const ty_emitters[] = {&ty_emit_megatron, &ty_emit_deepspeed,
                                                &ty_emit_torchtitan, NULL};

const char *ty_emit_value(const struct ty_emission *e, enum ty_section_index section,
                          const char *key, char buf[TY_EMIT_VALUE])
{
    const struct ty_section *s = &e->config->sections[section];
    return ty_field_format(s, ty_section_field(s, key), buf, TY_EMIT_VALUE);
}

void ty_emit_head(struct ty_emission *e, const char *launcher)
{
    const struct ty_config *c = e->config;
    const uint32_t ranks = c->layout.ranks, node = c->cluster.gpus_per_node;
    const uint32_t each = ranks < node ? ranks : node;
    char digest[TY_DIGEST_TEXT];
    ty_text_add(e->out, "# trainyard %s, configuration %s: %s on %u GPUs\n", ty_version(),
                ty_config_digest_text(c, digest), c->arch.name != NULL ? c->arch.name : "a model",
                (unsigned)ranks);
    ty_text_add(e->out, "# started by: %s --nnodes %u --nproc_per_node %u ...\n", launcher,
                (unsigned)((ranks + each - 1) / each), (unsigned)each);
}

bool ty_emit_overlaps_p2p(const struct ty_config *c)
{
    const int habit = c->layout.framework.overlap_p2p;
    return habit == TY_OVERLAP_P2P_TRUE ||
           (habit == TY_OVERLAP_P2P_AUTO && ty_sched_chunks(&c->schedule) > 1);
}

static const struct ty_emitter *find(const char *stack, struct ty_err *err)
{
    char names[LINE] = "";
    for (size_t i = 0; ty_emitters[i] != NULL; i++) {
        if (strcmp(ty_emitters[i]->name, stack) == 0) {
            return ty_emitters[i];
        }
        const size_t n = strlen(names);
        snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "", ty_emitters[i]->name);
    }
    ty_fail(err, TY_EUSAGE, "--emit: there is no stack '%s' here; write one of %s, yaml", stack,
            names);
    return NULL;
}

int ty_emit_check(const char *stack, struct ty_err *err)
{
    return strcmp(stack, "yaml") == 0 || find(stack, err) != NULL ? 0 : TY_EUSAGE;
}

/* Step times are those of the stack that was simulated, which may be another. */
static void tell_habits(struct ty_emission *e, const struct ty_emitter *emitter)
{
    const char *own = e->config->layout.framework.preset;
    for (size_t i = 0; own != NULL && emitter->habits[i] != NULL; i++) {
        if (strcmp(emitter->habits[i], own) == 0) {
            return;
        }
    }
    ty_text_add(e->out,
                "# simulated with the habits of %s; --set framework.preset=%s has those of %s\n",
                own != NULL ? own : "no stack", emitter->habits[0], emitter->title);
}

int ty_emit(struct ty_text *out, const char *stack, const struct ty_config *config,
            struct ty_err *err)
{
    struct ty_emission e = {.config = config, .out = out};
    const struct ty_emitter *emitter = find(stack, err);
    if (emitter == NULL) {
        return TY_EUSAGE;
    }
    emitter->emit(&e);
    tell_habits(&e, emitter);
    if (!emitter->offloads && ty_layout_is_offloaded(&config->layout)) {
        char home[TY_EMIT_VALUE];
        TY_EMIT_UNSAID(&e, "layout.offload %s: states beside the GPU\n",
                       ty_emit_value(&e, TY_SECTION_LAYOUT, "offload", home));
    }
    if (config->layout.unlike) {
        char tensor[TY_WIDTHS_TEXT], data[TY_WIDTHS_TEXT];
        TY_EMIT_UNSAID(&e, "stages of different shape: tensor %s, data %s\n",
                       ty_layout_tensor_text(&config->layout, tensor),
                       ty_layout_data_text(&config->layout, data));
    }
    if (e.unsaid.len > 0) {
        ty_text_add(out, "# %s has no word here for\n", emitter->title);
        ty_text_bytes(out, e.unsaid.data, e.unsaid.len);
    }
    const bool failed = out->failed || e.unsaid.failed;
    ty_text_release(&e.unsaid);
    return failed ? ty_fail_memory(err) : 0;
}
