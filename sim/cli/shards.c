/* shards.c - --shard and --merge: rows that are shared by several calls, and put together. */
#include <stdlib.h>

#include "sim/cli/cli.h"

int cli_shard(const struct cli_options *o, uint32_t *shard, uint32_t *n_shards)
{
    unsigned long i = 0, n = 0;
    char *end = NULL;
    *shard = *n_shards = 0;
    if (o->shard == NULL) {
        return 0;
    }
    if (o->shard[0] >= '0' && o->shard[0] <= '9') {
        i = strtoul(o->shard, &end, 10);
    }
    if (end != NULL && end[0] == '/' && end[1] >= '0' && end[1] <= '9') {
        n = strtoul(end + 1, &end, 10);
    }
    if (end == NULL || *end != '\0' || n == 0 || n > UINT32_MAX) {
        cli_say("trainyard %s: --shard %s: not I/N; write which of how many, such as 2/8\n",
                o->command, o->shard);
        return 2;
    }
    if (i == 0 || i > n) {
        cli_say("trainyard %s: --shard %s: there is no shard %lu; write one of 1/%lu .. %lu/%lu\n",
                o->command, o->shard, i, n, n, n);
        return 2;
    }
    *shard = (uint32_t)i;
    *n_shards = (uint32_t)n;
    return 0;
}

int cli_check_merge(const struct cli_options *o)
{
    if (o->merge && o->shard != NULL) {
        cli_say("trainyard %s: --shard and --merge are both given; write one of them\n",
                o->command);
        return 2;
    }
    if (o->merge && o->n_operands < 2) {
        cli_say("trainyard %s: --merge: no table of a shard is named; write all of them behind "
                "%s, such as %s shard-*.csv\n",
                o->command, o->operand, o->operand);
        return 2;
    }
    if (!o->merge && o->n_operands > 1) {
        cli_say("trainyard %s: %s is one word too many; tables of shards go with --merge\n",
                o->command, o->operands[1]);
        return 2;
    }
    for (size_t i = 1; i < o->n_operands && o->output != NULL; i++) {
        if (cli_overwrites(o->output, o->operands[i])) {
            return cli_fail_overwrites(o, o->output);
        }
    }
    return 0;
}
