/* deflate_isal.c - see deflate.h; by Intel's ISA-L (igzip), level 1. */
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#include "traces/out/deflate.h"

struct ty_deflater {
    struct isal_zstream z;
    uint8_t level[ISAL_DEF_LVL1_DEFAULT]; /* what it keeps for the level */
};

struct ty_deflater *ty_deflater_new(void)
{
    struct ty_deflater *d = malloc(sizeof(*d));
    if (d != NULL) {
        isal_deflate_init(&d->z);
        d->z.level = 1;
        d->z.level_buf = d->level;
        d->z.level_buf_size = sizeof(d->level);
    }
    return d;
}

void ty_deflater_free(struct ty_deflater *d)
{
    free(d);
}

size_t ty_deflate(struct ty_deflater *d, unsigned char *bytes, size_t n, size_t dict, bool last,
                  unsigned char *out, size_t room, uint32_t *crc)
{
    struct isal_zstream *z = &d->z;
    isal_deflate_reset(z); /* level and buffer stay */
    z->flush = last ? NO_FLUSH : SYNC_FLUSH;
    z->end_of_stream = last;
    bool ok = dict == 0 || isal_deflate_set_dict(z, bytes - dict, (uint32_t)dict) == COMP_OK;
    z->next_in = bytes;
    z->avail_in = (uint32_t)n;
    z->next_out = out;
    z->avail_out = (uint32_t)room;
    ok = ok && isal_deflate(z) == COMP_OK && z->avail_in == 0 && z->avail_out > 0;
    *crc = crc32_gzip_refl(0, bytes, n);
    return ok ? room - z->avail_out : 0;
}
