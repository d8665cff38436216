/* deflate.h - one block of bytes as deflate (RFC 1951): by ISA-L where the build has it
 * (deflate_isal.c), which is four times as fast as zlib at level 1, else by zlib
 * (deflate_zlib.c); not at all in the module for pages (deflate_none.c). */
#ifndef TY_TRACES_OUT_DEFLATE_H
#define TY_TRACES_OUT_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ty_deflater;

/* Of one thread. NULL: no memory. */
struct ty_deflater *ty_deflater_new(void);
void ty_deflater_free(struct ty_deflater *deflater);

/* Compresses n bytes, which may refer to the `dict` bytes before them, into out[room]. They end
 * on a byte boundary, and the stream with them if they are the last. Depends on nothing else that
 * was compressed. How many bytes it takes; 0: it failed. *crc: their check sum, of gzip. */
size_t ty_deflate(struct ty_deflater *deflater, unsigned char *bytes, size_t n, size_t dict,
                  bool last, unsigned char *out, size_t room, uint32_t *crc);

#endif
