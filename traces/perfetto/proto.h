/* proto.h - protobuf wire format, written by hand: tags, varints, fixed64, length-delimited.
 *
 * "Encoding", protobuf.dev: a field is a tag (number * 8 + wire type) and its value; numbers are
 * little-endian groups of seven bits. Each function writes at p, which has room, and returns the
 * new end. */
#ifndef TY_TRACES_PERFETTO_PROTO_H
#define TY_TRACES_PERFETTO_PROTO_H

#include "traces/out/put.h"

#define TY_PROTO_VARINT  0u
#define TY_PROTO_FIXED64 1u
#define TY_PROTO_BYTES   2u
#define TY_PROTO_MAX     10u /* most bytes of a varint */

static inline char *ty_proto_varint(char *p, uint64_t x)
{
    while (x >= 0x80) {
        *p++ = (char)(unsigned char)(x | 0x80);
        x >>= 7;
    }
    *p++ = (char)(unsigned char)x;
    return p;
}

/* Bytes of a varint. */
static inline size_t ty_proto_size(uint64_t x)
{
    size_t n = 1;
    for (; x >= 0x80; x >>= 7) {
        n++;
    }
    return n;
}

static inline char *ty_proto_tag(char *p, uint32_t field, uint32_t type)
{
    return ty_proto_varint(p, (uint64_t)field << 3 | type);
}

static inline char *ty_proto_u64(char *p, uint32_t field, uint64_t x)
{
    return ty_proto_varint(ty_proto_tag(p, field, TY_PROTO_VARINT), x);
}

static inline char *ty_proto_fixed64(char *p, uint32_t field, uint64_t x)
{
    p = ty_proto_tag(p, field, TY_PROTO_FIXED64);
    for (unsigned i = 0; i < 8; i++) {
        p[i] = (char)(unsigned char)(x >> 8 * i);
    }
    return p + 8;
}

static inline char *ty_proto_double(char *p, uint32_t field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return ty_proto_fixed64(p, field, bits);
}

static inline char *ty_proto_bytes(char *p, uint32_t field, const char *s, size_t n)
{
    p = ty_proto_varint(ty_proto_tag(p, field, TY_PROTO_BYTES), n);
    memcpy(p, s, n);
    return p + n;
}

static inline char *ty_proto_str(char *p, uint32_t field, const char *s)
{
    return ty_proto_bytes(p, field, s, strlen(s));
}

#endif
