/* carriers.c - see carriers.h. */
#include "sim/import/megatron/carriers.h"

#include <string.h>

#include "sim/base/path.h"

static bool is_yaml(const char *path)
{
    return ty_path_ends(path, ".yaml") || ty_path_ends(path, ".yml");
}

void ty_carriers_read(struct ty_draft *d, struct ty_flags *flags)
{
    for (uint32_t i = 0; i < d->n_files; i++) {
        if (is_yaml(d->files[i].path)) {
            ty_carriers_yaml(d, &d->files[i], flags);
        }
    }
}
