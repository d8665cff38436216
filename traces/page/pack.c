/* pack.c - bytes that a page can carry: raw deflate (RFC 1951), which traces/page/inflate.js
 * undoes, in base64 (RFC 4648). */
#include <stdlib.h>
#include <zlib.h>

#include "traces/page/page.h"

#define PACK_LEVEL  9            /* columns are a few MB at most */
#define PACK_WINDOW (-MAX_WBITS) /* negative: no wrapper (zlib manual, deflateInit2) */
#define PACK_MEMORY 9            /* zlib's most */

static void put_base64(struct ty_out *out, const unsigned char *s, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t x = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
                           (left > 2 ? s[i + 2] : 0);
        const char four[4] = {digits[x >> 18], digits[x >> 12 & 63],
                              left > 1 ? digits[x >> 6 & 63] : '=',
                              left > 2 ? digits[x & 63] : '='};
        ty_out_bytes(out, four, 4);
    }
}

int ty_page_put_packed(struct ty_out *out, const char *bytes, size_t n)
{
    z_stream z = {.next_in = Z_NULL};
    /* zlib takes a non-const pointer unless ZLIB_CONST is defined, and only reads through it */
    union {
        const char *in;
        unsigned char *z;
    } cast = {.in = bytes};
    if (deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, PACK_WINDOW, PACK_MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return TY_ENOMEM;
    }
    const uLong room = deflateBound(&z, (uLong)n);
    unsigned char *packed = malloc(room);
    if (packed != NULL) {
        z.next_in = cast.z;
        z.avail_in = (uInt)n; /* of at most a million slices: far below 4 GiB */
        z.next_out = packed;
        z.avail_out = (uInt)room;
        (void)deflate(&z, Z_FINISH); /* cannot run out of room */
        put_base64(out, packed, (size_t)z.total_out);
    }
    deflateEnd(&z);
    free(packed);
    return packed != NULL ? 0 : TY_ENOMEM;
}
