/* offload.c - where states live, and what of a layout that rules out. See model/offload.h. */
#include "model/offload.h"

#include "model/check.h"

const struct ty_word ty_offload_words[] = {
    {"none", TY_OFFLOAD_NONE, "everything stays on the GPU"},
    {"zero-offload", TY_OFFLOAD_ZERO_OFFLOAD,
     "optimizer and gradients on the host, ZeRO-2 (Ren et al. 2021)"},
    {"zero3-offload", TY_OFFLOAD_ZERO3_OFFLOAD, "parameters, too, ZeRO-3 (DeepSpeed)"},
    {"zero-infinity", TY_OFFLOAD_ZERO_INFINITY, "both on NVMe, ZeRO-3 (Rajbhandari et al. 2021)"},
    {"gemini", TY_OFFLOAD_GEMINI,
     "on the GPU what fits there, then on the host, then on NVMe, ZeRO-3 (Colossal-AI)"},
    {NULL, 0, NULL},
};

/* By enum ty_home. */
const struct ty_word ty_home_words[] = {
    {"gpu", TY_HOME_GPU, "memory of the GPU"},
    {"cpu", TY_HOME_CPU, "memory of the node, pinned"},
    {"nvme", TY_HOME_NVME, "NVMe of the node"},
    {"auto", TY_HOME_AUTO, "as layout.offload says"},
    {NULL, 0, NULL},
};

const struct ty_word ty_stash_words[] = {
    {"gpu", TY_HOME_GPU, "memory of the GPU"},
    {"cpu", TY_HOME_CPU, "memory of the node, pinned"},
    {"nvme", TY_HOME_NVME, "NVMe of the node"},
    {NULL, 0, NULL},
};

/* What each system is. */
static const struct system {
    int optimizer, parameters;
    uint32_t zero;
    const char *framework; /* that shards parameters */
} systems[] = {
    [TY_OFFLOAD_NONE] = {TY_HOME_GPU, TY_HOME_GPU, 0, "fsdp"},
    [TY_OFFLOAD_ZERO_OFFLOAD] = {TY_HOME_CPU, TY_HOME_GPU, 2, "fsdp"},
    [TY_OFFLOAD_ZERO3_OFFLOAD] = {TY_HOME_CPU, TY_HOME_CPU, 3, "deepspeed-zero3"},
    [TY_OFFLOAD_ZERO_INFINITY] = {TY_HOME_NVME, TY_HOME_NVME, 3, "deepspeed-zero3"},
    [TY_OFFLOAD_GEMINI] = {TY_HOME_CPU, TY_HOME_CPU, 3, "fsdp"},
};

const char *ty_offload_framework(int system, uint32_t zero)
{
    return zero < 3 ? "megatron-lm" : systems[system].framework;
}

uint32_t ty_offload_zero(int system)
{
    return systems[system].zero;
}

static int home(int given, int system)
{
    return given == TY_HOME_AUTO ? system : given;
}

static const char *word(int value)
{
    return ty_home_words[value].name;
}

/* A preset brings its ZeRO stage, unless another one was asked for. */
static int check_zero(struct ty_layout *l, const struct ty_section *section, struct ty_err *err)
{
    const uint32_t needed = systems[l->offload].zero, most = l->framework.zero_in_pipeline;
    if (needed > most && l->pipeline > 1) {
        return ty_check_fail(section, "offload", err,
                             "%s implies ZeRO-%u, and with a pipeline (layout.pipeline is %u) "
                             "framework %s goes up to %u (framework.zero_in_pipeline); write a "
                             "layout.pipeline of 1, or none",
                             ty_offload_words[l->offload].name, (unsigned)needed,
                             (unsigned)l->pipeline, l->framework.preset, (unsigned)most);
    }
    if (l->zero >= needed) {
        return 0;
    }
    if (section == NULL || !ty_check_given(section, "zero")) {
        l->zero = needed;
        return 0;
    }
    return ty_check_fail(section, "zero", err,
                         "%u, and layout.offload %s implies ZeRO-%u; write %u, or leave the key "
                         "out",
                         (unsigned)l->zero, ty_offload_words[l->offload].name, (unsigned)needed,
                         (unsigned)needed);
}

static int check_parameters(const struct ty_layout *l, const struct ty_section *section,
                            struct ty_err *err)
{
    const struct ty_homes *h = &l->home;
    if (h->parameters == TY_HOME_GPU) {
        return 0;
    }
    if (l->zero < 3) {
        return ty_check_fail(section, "offload_parameters", err,
                             "%s: parameters come back unit by unit, which is ZeRO-3, and "
                             "layout.zero is %u; write layout.zero 3, or gpu",
                             word(h->parameters), (unsigned)l->zero);
    }
    if (h->optimizer == TY_HOME_GPU) {
        return ty_check_fail(section, "offload_parameters", err,
                             "%s, and the optimizer that updates them is on the GPU; write "
                             "layout.offload_optimizer cpu or nvme, or gpu",
                             word(h->parameters));
    }
    if (l->offload_share < 1) {
        return ty_check_fail(section, "offload_share", err,
                             "%g: a share of the optimizer on the GPU needs parameters there, and "
                             "layout.offload_parameters is %s; write 1, or %s",
                             l->offload_share, word(h->parameters),
                             l->offload == TY_OFFLOAD_GEMINI ? "layout.offload zero-offload"
                                                             : "parameters on gpu");
    }
    return 0;
}

/* A delayed update changes parameters that wait on the GPU, all of them at once. */
static int check_delay(const struct ty_layout *l, const struct ty_section *section,
                       struct ty_err *err)
{
    const struct ty_homes *h = &l->home;
    const char *why = h->optimizer == TY_HOME_GPU ? "the optimizer is on the GPU"
                      : l->zero == 3              ? "ZeRO-3 keeps no parameters for a step"
                      : l->offload_share < 1      ? "a part of the update runs on the GPU"
                                                  : NULL;
    return !l->offload_delay || why == NULL
               ? 0
               : ty_check_fail(section, "offload_delay", err,
                               "true, and %s; write false, or layout.offload zero-offload alone",
                               why);
}

/* What lives where is found by the room there is. */
static int check_gemini(const struct ty_layout *l, const struct ty_section *section, bool frozen,
                        struct ty_err *err)
{
    static const char *const key[] = {"offload_optimizer", "offload_parameters"};
    const int home[] = {l->offload_optimizer, l->offload_parameters};
    int rc = 0;
    if (frozen && l->offload == TY_OFFLOAD_GEMINI) {
        return ty_check_fail(section, "offload", err,
                             "gemini: chunks of frozen weights (model.frozen, model.lora) are not "
                             "simulated; write zero3-offload");
    }
    for (size_t i = 0; i < TY_COUNT(key) && l->offload == TY_OFFLOAD_GEMINI; i++) {
        if (home[i] != TY_HOME_AUTO) {
            rc = ty_check_first(
                rc, ty_check_fail(section, key[i], err,
                                  "%s, and layout.offload gemini decides this itself; write auto, "
                                  "or another system",
                                  word(home[i])));
        }
    }
    return rc;
}

/* Optimizers other than Adam need all states, Muon whole matrices. */
static int check_optimizer(const struct ty_layout *l, const struct ty_section *section,
                           struct ty_err *err)
{
    const int optimizer = l->framework.optimizer;
    if (optimizer != TY_ADAM && l->home.optimizer != TY_HOME_GPU) {
        return ty_check_fail(section, "offload_optimizer", err,
                             "%s, and only framework.optimizer adam has an update beside the GPU; "
                             "write gpu (layout.offload none), or that optimizer",
                             word(l->home.optimizer));
    }
    return optimizer == TY_MUON && l->tensor_scheme != TY_TENSOR_1D
               ? ty_check_fail(section, "tensor_scheme", err,
                               "framework.optimizer muon needs whole matrices, and this grid cuts "
                               "them both ways; write 1d")
               : 0;
}

int ty_offload_finish(struct ty_layout *l, const struct ty_section *section, bool frozen,
                      struct ty_err *err)
{
    const struct system *s = &systems[l->offload];
    struct ty_homes *h = &l->home;
    h->optimizer = home(l->offload_optimizer, s->optimizer);
    h->parameters = home(l->offload_parameters, s->parameters);
    h->activations = l->offload_activations;
    h->share = h->optimizer == TY_HOME_GPU ? 0 : l->offload_share;
    const bool busy = l->tensor_scheme != TY_TENSOR_1D || l->framework.expert_overlap;
    if (h->activations != TY_HOME_GPU && busy) {
        return ty_check_fail(section, "offload_activations", err,
                             "%s, and neither a tensor_scheme of more than one dimension nor "
                             "framework.expert_overlap leaves a layer's in one place; write gpu",
                             word(h->activations));
    }
    int rc = check_optimizer(l, section, err);
    rc = rc < 0 ? rc : check_zero(l, section, err);
    return rc < 0 ? rc
                  : ty_check_first(check_gemini(l, section, frozen, err),
                                   ty_check_first(check_parameters(l, section, err),
                                                  check_delay(l, section, err)));
}

int ty_offload_check(const struct ty_layout *l, const struct ty_section *section,
                     struct ty_err *err)
{
    if (l->home.optimizer == TY_HOME_GPU || l->zero > 0 || !ty_layout_has_copies(l)) {
        return 0;
    }
    return ty_check_fail(section, "zero", err,
                         "0: every replica would update all parameters on its host "
                         "(layout.offload_optimizer is %s); write 1, 2 or 3",
                         word(l->home.optimizer));
}
