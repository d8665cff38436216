/* kinds.c - what a kernel is called and whom it connects.
 *
 * Names are those of the operator that launched it ("mm" of aten::mm), else of the kernel, in lower
 * case letters alone: viewers colour by name, and digits are micro-batches. Groups go by what their
 * names say, in the spellings of Megatron-LM (parallel_state.py), PyTorch's device meshes
 * (torchtitan) and this program. */
#include "sim/profile/replay.h"

#include <ctype.h>
#include <string.h>

/* ---- groups ---- */

static const struct {
    const char *part; /* of the name, in lower case; the first that is found decides */
    const char *group;
    enum ty_category category;
} group_words[] = {
    {"expert_data", "edp", TY_CAT_COMM_DATA},
    {"edp", "edp", TY_CAT_COMM_DATA},
    {"dp_shard_mod_ep", "edp", TY_CAT_COMM_DATA},
    {"efsdp", "edp", TY_CAT_COMM_DATA},
    {"expert_tensor_parallel", "etp", TY_CAT_COMM_EXPERT},
    {"etp", "etp", TY_CAT_COMM_EXPERT},
    {"expert", "ep", TY_CAT_COMM_EXPERT},
    {"context", "cp", TY_CAT_COMM_CONTEXT},
    {"tensor", "tp", TY_CAT_COMM_TENSOR},
    {"pipeline", "pp", TY_CAT_COMM_PIPELINE},
    {"model", "mp", TY_CAT_COMM_DATA},
    {"mp", "mp", TY_CAT_COMM_DATA},
    {"world", "world", TY_CAT_COMM_DATA},
    {"data_parallel", "dp", TY_CAT_COMM_DATA},
    {"ep", "ep", TY_CAT_COMM_EXPERT},
    {"cp", "cp", TY_CAT_COMM_CONTEXT},
    {"tp", "tp", TY_CAT_COMM_TENSOR},
    {"pp", "pp", TY_CAT_COMM_PIPELINE},
    {"fsdp", "dp", TY_CAT_COMM_DATA},
    {"dp", "dp", TY_CAT_COMM_DATA},
    {"ddp", "dp", TY_CAT_COMM_DATA},
};

/* Whether a word stands in a name with no letter around it. */
static bool has_word(const char *name, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(name, word); at != NULL; at = strstr(at + 1, word)) {
        const bool left = at == name || !isalpha((unsigned char)at[-1]);
        if (left && !isalpha((unsigned char)at[n])) {
            return true;
        }
    }
    return false;
}

struct ty_replay_group ty_replay_group_of(const struct ty_profile *profile,
                                          const struct ty_profile_rank *rank,
                                          const struct ty_profile_kernel *kernel)
{
    const uint32_t number =
        kernel->comm != TY_PROFILE_NONE ? rank->comms[kernel->comm].group : TY_PROFILE_NONE;
    char name[128] = "";
    if (number != TY_PROFILE_NONE) {
        const struct ty_profile_group *g = &profile->groups[number];
        const char *desc = ty_profile_text(profile, g->desc);
        const char *text = desc[0] != '\0' ? desc : ty_profile_text(profile, g->name);
        for (size_t i = 0; text[i] != '\0' && i + 1 < sizeof(name); i++) {
            name[i] = (char)tolower((unsigned char)text[i]);
        }
    }
    for (size_t i = 0; i < TY_COUNT(group_words); i++) {
        if (has_word(name, group_words[i].part)) {
            return (struct ty_replay_group){group_words[i].group, group_words[i].category, true};
        }
    }
    if (kernel->coll == TY_PROFILE_COLL_SEND || kernel->coll == TY_PROFILE_COLL_RECV ||
        kernel->coll == TY_PROFILE_COLL_SEND_RECV) {
        return (struct ty_replay_group){"pp", TY_CAT_COMM_PIPELINE, true};
    }
    return (struct ty_replay_group){"dp", TY_CAT_COMM_DATA, false};
}

/* ---- names ---- */

/* Of a demangled kernel: "void at::native::f<float>(int)" is f; other texts stay as they are. */
static void bare(const char *text, const char **from, size_t *n)
{
    const char *end = text + strcspn(text, "<(");
    const char *start = text;
    const bool demangled = *end != '\0' || strstr(text, "::") != NULL;
    for (const char *p = text; demangled && p < end; p++) {
        start = *p == ' ' || *p == ':' ? p + 1 : start;
    }
    *from = start < end ? start : text;
    *n = start < end ? (size_t)(end - start) : strlen(text);
}

/* Letters in lower case; whatever else lies between them is one blank. */
static size_t plain(const char *text, size_t n, char *out, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < n && len + 2 < size; i++) {
        if (isalpha((unsigned char)text[i])) {
            out[len++] = (char)tolower((unsigned char)text[i]);
        } else if (len > 0 && out[len - 1] != ' ') {
            out[len++] = ' ';
        }
    }
    len -= len > 0 && out[len - 1] == ' ';
    out[len] = '\0';
    return len;
}

uint32_t ty_replay_name_text(const struct ty_profile_rank *rank,
                             const struct ty_profile_kernel *kernel)
{
    const bool op = kernel->op != TY_PROFILE_NONE && kernel->class == TY_PROFILE_COMPUTE &&
                    !rank->ops[kernel->op].annotation;
    return op ? rank->ops[kernel->op].name : kernel->name;
}

const char *ty_replay_name(const struct ty_profile *profile, const struct ty_profile_rank *rank,
                           const struct ty_profile_kernel *kernel, struct ty_arena *arena)
{
    const char *text = ty_profile_text(profile, ty_replay_name_text(rank, kernel));
    char name[96];
    size_t n = strlen(text);
    if (kernel->class == TY_PROFILE_COMMUNICATION) {
        text = ty_profile_coll_words[kernel->coll];
        return ty_arena_strndup(arena, text, strlen(text));
    }
    if (strncmp(text, "aten::", 6) == 0) {
        text += 6;
        n -= 6;
    } else {
        bare(text, &text, &n);
    }
    if (plain(text, n, name, sizeof(name)) == 0) {
        return "kernel";
    }
    return ty_arena_strndup(arena, name, strlen(name));
}
