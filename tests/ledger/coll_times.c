/* coll_times.c - seconds of single collectives on an idle fabric, for the ledger.
 *
 * A question is `COLLECTIVE RANKS PER_NODE BYTES`, with sizes as nccl-tests counts them; the answer
 * is seconds and the algorithm chosen. A message is asked for as send-recv N N, all of
 * a node, or 2 1. */
#include "topology/collectives/coll.h"

#include "tests/ledger/ask.h"

static bool answer(struct ty_config *config, const char *line)
{
    char name[32];
    struct ty_reach reach = {.sharing = 1};
    struct ty_coll_cost cost;
    double bytes;
    if (sscanf(line, "%31s %u %u %lf", name, &reach.ranks, &reach.per_node, &bytes) != 4 ||
        reach.per_node == 0 || reach.ranks % reach.per_node != 0) {
        return false;
    }
    reach.nodes = reach.ranks / reach.per_node;
    for (int coll = 0; coll < TY_N_COLLECTIVES; coll++) {
        if (strcmp(name, ty_coll_name((enum ty_coll)coll)) != 0) {
            continue;
        }
        if (coll == TY_COLL_SEND_RECV && reach.nodes > 1) {
            ty_p2p_cost(&config->cluster, false, bytes, &cost);
        } else {
            ty_coll_cost(&config->cluster, NULL, (enum ty_coll)coll, bytes, &reach, &cost);
        }
        printf("%.9g %s\n", ty_coll_seconds(&cost),
               cost.algorithm != NULL ? cost.algorithm->name : "message");
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    return ask_main(argc, argv, answer);
}
