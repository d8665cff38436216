/* experts.c - which expert ranks the others wait for, as JSON (experts.h). */
#include "sim/report/experts.h"

int ty_report_experts_json(const struct ty_run *run, struct ty_json *j, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    uint32_t n = 0;
    const struct ty_expert_layer *layer = ty_run_expert_layers(run, &n, &arena);
    if (n > 0) {
        ty_json_array(j, "experts");
        ty_json_rows(j);
    }
    for (uint32_t i = 0; i < n; i++) {
        ty_json_object(j, NULL);
        ty_json_whole(j, "layer", layer[i].layer);
        ty_json_whole(j, "rank", layer[i].rank);
        ty_json_whole(j, "ep", layer[i].expert);
        ty_json_real(j, "load", layer[i].load);
        ty_json_real(j, "dropped", layer[i].dropped);
        ty_json_real(j, "waited_s", layer[i].waited_s);
        ty_json_end(j);
    }
    if (n > 0) {
        ty_json_end(j);
    }
    ty_arena_release(&arena);
    return layer == NULL ? ty_fail_memory(err) : 0;
}
