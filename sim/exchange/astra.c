/* astra.c - what ASTRA-sim wants next to a trace: system, network, memory. All ranks hang on one
 * switch, whose way there and back takes the latency of a message; those of several nodes on two,
 * of the GPUs of a node and of the nodes.
 *
 * Source: notes on astra-sim/astra-sim 518bd513: its analytical network (GB are 2^30 bytes,
 * npus_count above 1), its system and memory files. */
#include "sim/base/compiler.h"
#include "sim/exchange/chakra.h"
#include "sim/exchange/internal.h"

#define GIB 1073741824.0

static int write_file(struct ty_export *x, const char *name, const char *text)
{
    struct ty_out out;
    const int rc = ty_export_open(x, &out, name);
    if (rc < 0) {
        return rc;
    }
    ty_out_str(&out, text);
    return ty_export_close(x, &out, 0);
}

static int write_network(struct ty_export *x)
{
    struct ty_out out;
    const int rc = ty_export_open(x, &out, "network.yml");
    if (rc < 0) {
        return rc;
    }
    const struct ty_flat *net = &x->flat, *node = &x->node;
    const double half_ns = 1e9 / 2; /* of each of the two ways of a message */
    if (x->per_node > 1) {
        ty_out_printf(&out,
                      "topology: [ Switch, Switch ]  # GPUs of a node, nodes\n"
                      "npus_count: [ %u, %u ]\nbandwidth: [ %.9g, %.9g ]  # GiB/s\n"
                      "latency: [ %.9g, %.9g ]  # ns, half the way\n",
                      (unsigned)x->per_node, (unsigned)(x->members.program->n_ranks / x->per_node),
                      node->Bps / GIB, net->Bps / GIB, node->latency_s * half_ns,
                      net->latency_s * half_ns);
    } else {
        ty_out_printf(&out,
                      "topology: [ Switch ]\nnpus_count: [ %u ]\n"
                      "bandwidth: [ %.9g ]  # GiB/s: %.9g B/s\n"
                      "latency: [ %.9g ]  # ns, half the way\n",
                      (unsigned)x->members.program->n_ranks, net->Bps / GIB, net->Bps,
                      net->latency_s * half_ns);
    }
    return ty_export_close(x, &out, 0);
}

/* Peak and memory are the GPU's, for who turns the roofline on; here times are executed ones. */
static int write_system(struct ty_export *x)
{
    const struct ty_config *config = x->run->config;
    const struct ty_gpu *gpu = &config->cluster.gpu;
    static const char *const ways[][2] = {{"all-reduce", "ring"},
                                          {"all-gather", "ring"},
                                          {"reduce-scatter", "ring"},
                                          {"all-to-all", "direct1"}};
    struct ty_out out;
    const int rc = ty_export_open(x, &out, "system.json");
    if (rc < 0) {
        return rc;
    }
    /* With a delay of 0 ns ASTRA-sim aborts where a rank begins with a collective. */
    ty_out_str(&out, "{\"scheduling-policy\": \"LIFO\", \"endpoint-delay\": 1,\n"
                     " \"active-chunks-per-dimension\": 1, \"preferred-dataset-splits\": 1,\n");
    for (size_t i = 0; i < TY_COUNT(ways); i++) {
        ty_out_printf(&out,
                      x->per_node > 1 ? " \"%s-implementation\": [\"%s\", \"%s\"],\n"
                                      : " \"%s-implementation\": [\"%s\"],\n",
                      ways[i][0], ways[i][1], ways[i][1]);
    }
    ty_out_str(&out, " \"collective-optimization\": \"baseline\",\n");
    /* Reductions are in the durations of trainyard's kernels: memory so fast charges none again. */
    ty_out_printf(&out, " \"local-mem-bw\": 1e9, \"peak-perf\": %.9g,\n \"roofline-enabled\": 0}\n",
                  gpu->peak[config->arch.dtype] / 1e12);
    return ty_export_close(x, &out, 0);
}

int ty_astra_write(struct ty_export *x)
{
    int rc = write_system(x);
    rc = rc < 0 ? rc : write_file(x, "memory.json", "{\"memory-type\": \"NO_MEMORY_EXPANSION\"}\n");
    return rc < 0 ? rc : write_network(x);
}

void ty_astra_about(struct ty_export *x, struct ty_out *readme)
{
    ty_out_printf(readme,
                  "trace.N.et is the Chakra execution trace of rank N, comm.json has the groups. "
                  "For the analytical back end of ASTRA-sim without congestion:\n\n"
                  "    AstraSim_Analytical_Congestion_Unaware --workload-configuration=trace \\\n"
                  "        --comm-group-configuration=comm.json \\\n"
                  "        --system-configuration=system.json \\\n"
                  "        --network-configuration=network.yml \\\n"
                  "        --remote-memory-configuration=memory.json\n\n");
    if (x->n_ranks < x->members.program->n_ranks) {
        ty_out_printf(readme,
                      "These are %u of %u ranks: to be looked at; a simulator needs all.\n\n",
                      (unsigned)x->n_ranks, (unsigned)x->members.program->n_ranks);
    }
    if (x->per_node > 1) {
        ty_out_str(readme,
                   "network.yml has two dimensions, the GPUs of a node and the nodes. ASTRA-sim "
                   "runs a collective of all ranks one dimension after the other. A message to "
                   "another node uses only one of the two dimensions, so rings that span nodes may "
                   "take too little time.\n\n");
    }
    ty_out_str(
        readme,
        "The switch has no congestion: a message takes the latency plus the time of its bytes, "
        "whatever else is sent. direct1 sends one message of an all-to-all at a time; otherwise a "
        "rank would send all of them at once, each at full speed. ASTRA-sim runs rings for groups "
        "that do not hold all ranks, whatever system.json says, so all-to-alls of such groups are "
        "written as sends and receives.\n\nWhat the traces lose:\n- Times are whole microseconds, "
        "rounded so that the sum of a stream stays right (trainyard_ps has picoseconds). A "
        "computation of 0 us counts as 1 ns in ASTRA-sim.\n- A rank runs one communication at a "
        "time, in the order of this run; receives are free.\n- Collective algorithms other than "
        "rings and direct messages, the time of collectives beyond their messages, shared links, "
        "and the slowdown of computation by collectives (computation has its executed time) are "
        "not in the traces.\n- A broadcast is written as an all-gather of the same tensor, a "
        "reduce as a reduce-scatter.\n");
}
