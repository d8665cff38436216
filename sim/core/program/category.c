/* category.c - the words of the closed lists in category.h. */
#include "sim/core/program/category.h"

#include <stddef.h>

const char *ty_stream_name(enum ty_stream stream)
{
    static const char *const names[] = {
#define X(id, name, tid) name,
        TY_STREAMS(X)
#undef X
    };
    return names[stream];
}

unsigned ty_stream_tid(enum ty_stream stream)
{
    static const unsigned tids[] = {
#define X(id, name, tid) tid,
        TY_STREAMS(X)
#undef X
    };
    return tids[stream];
}

const char *ty_category_name(enum ty_category category)
{
    static const char *const names[] = {
#define X(id, name, cname, bucket) name,
        TY_CATEGORIES(X)
#undef X
    };
    return names[category];
}

const char *ty_bucket_name(enum ty_bucket bucket)
{
    static const char *const names[] = {
#define X(id, name) name,
        TY_BUCKETS(X)
#undef X
    };
    return names[bucket];
}

const char *ty_phase_word(enum ty_phase phase)
{
    static const char *const words[] = {
#define X(id, letter, word, category) word,
        TY_PHASES(X)
#undef X
    };
    return words[phase];
}

char ty_phase_letter(enum ty_phase phase)
{
    static const char letters[] = {
#define X(id, letter, word, category) letter,
        TY_PHASES(X)
#undef X
    };
    return letters[phase];
}

const char *ty_memory_name(enum ty_memory_kind kind)
{
    static const char *const names[] = {
#define X(id, name) name,
        TY_MEMORY(X)
#undef X
    };
    return names[kind];
}

enum ty_category ty_phase_category(enum ty_phase phase)
{
    static const enum ty_category categories[] = {
#define X(id, letter, word, category) TY_CAT_##category,
        TY_PHASES(X)
#undef X
    };
    return categories[phase];
}

enum ty_bucket ty_category_bucket(enum ty_category category)
{
    static const enum ty_bucket buckets[] = {
#define X(id, name, cname, bucket) TY_BUCKET_##bucket,
        TY_CATEGORIES(X)
#undef X
    };
    return buckets[category];
}
