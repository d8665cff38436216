/* vocabulary.c - the words of phases. */
#include "sim/core/program/vocabulary.h"

const char *ty_phase_word(enum ty_phase phase)
{
    static const char *const words[] = {
#define X(id, letter, word) word,
        TY_PHASES(X)
#undef X
    };
    return words[phase];
}

char ty_phase_letter(enum ty_phase phase)
{
    static const char letters[] = {
#define X(id, letter, word) letter,
        TY_PHASES(X)
#undef X
    };
    return letters[phase];
}
