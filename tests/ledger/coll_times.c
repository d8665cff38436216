/* coll_times.c - seconds of single collectives on an idle fabric, for the ledger.
 *
 * A question is `COLLECTIVE RANKS PER_NODE BYTES`, with sizes as nccl-tests counts them; the answer
 * is seconds and the algorithm chosen. A message is asked for as send-recv N N, all of a node, or 2
 * 1. Of experts' tokens it is
 *
 *     dispatch|combine METHOD RANKS PER_NODE TOKENS ROW_BYTES EXPERTS TOP_K GROUPS LIMIT
 *
 * and the answer seconds, then nodes and ranks that a token goes to. */
#include "topology/collectives/exchange.h"

#include "tests/ledger/ask.h"

static bool exchange(const struct ty_config *config, const char *line)
{
    char name[32], method[32];
    struct ty_exchange x = {.tokens = 0};
    struct ty_reach reach = {.sharing = 1};
    struct ty_coll_cost cost;
    if (sscanf(line, "%31s %31s %u %u %lf %lf %u %u %u %u", name, method, &reach.ranks,
               &reach.per_node, &x.tokens, &x.row_B, &x.experts, &x.top_k, &x.groups,
               &x.group_limit) != 10 ||
        reach.per_node == 0 || reach.ranks % reach.per_node != 0) {
        return false;
    }
    x.method = strcmp(method, "all-to-all") == 0 ? TY_EXCHANGE_ALL_TO_ALL : TY_EXCHANGE_PER_NODE;
    reach.nodes = reach.ranks / reach.per_node;
    ty_exchange_cost(&config->cluster, &x, &reach, &cost);
    printf("%.9g %.9g %.9g\n", ty_coll_seconds(&cost), ty_exchange_copies(&x, reach.nodes),
           ty_exchange_copies(&x, reach.ranks));
    return true;
}

static bool answer(struct ty_config *config, const char *line)
{
    char name[32];
    struct ty_reach reach = {.sharing = 1};
    struct ty_coll_cost cost;
    double bytes;
    if (exchange(config, line)) {
        return true;
    }
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
