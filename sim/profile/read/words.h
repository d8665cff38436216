/* words.h - words in names, and what they mean. */
#ifndef TY_PROFILE_READ_WORDS_H
#define TY_PROFILE_READ_WORDS_H

#include <stddef.h>

/* Words of one meaning. */
struct ty_profile_words {
    int meaning;
    const char *word[14]; /* up to NULL */
};

enum ty_profile_match {
    TY_MATCH_WHOLE, /* the name is the word ... */
    TY_MATCH_BEGIN, /* ... begins with it ... */
    TY_MATCH_PART   /* ... or has it somewhere */
};

/* The meaning of the first row with a word that matches a name; `otherwise`: none does. */
int ty_profile_meaning(const struct ty_profile_words *rows, size_t n, enum ty_profile_match match,
                       const char *name, int otherwise);

#endif
