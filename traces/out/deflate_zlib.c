/* deflate_zlib.c - see deflate.h; where there is no ISA-L. */
#include <stdlib.h>
#include <zlib.h>

#include "traces/out/deflate.h"

#define LEVEL  1
#define WINDOW (-MAX_WBITS) /* negative: no wrapper (zlib manual, deflateInit2) */
#define MEMORY 8            /* zlib's default */

struct ty_deflater {
    z_stream z;
};

struct ty_deflater *ty_deflater_new(void)
{
    struct ty_deflater *d = calloc(1, sizeof(*d));
    if (d != NULL && deflateInit2(&d->z, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY)) {
        free(d);
        return NULL;
    }
    return d;
}

void ty_deflater_free(struct ty_deflater *d)
{
    if (d != NULL) {
        deflateEnd(&d->z);
        free(d);
    }
}

size_t ty_deflate(struct ty_deflater *d, unsigned char *bytes, size_t n, size_t dict, bool last,
                  unsigned char *out, size_t room, uint32_t *crc)
{
    z_stream *z = &d->z;
    deflateReset(z);
    if (dict > 0) {
        deflateSetDictionary(z, bytes - dict, (uInt)dict);
    }
    z->next_in = bytes;
    z->avail_in = (uInt)n;
    z->next_out = out;
    z->avail_out = (uInt)room;
    const int rc = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
    *crc = (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)n);
    return rc == (last ? Z_STREAM_END : Z_OK) && z->avail_out > 0 ? room - z->avail_out : 0;
}
