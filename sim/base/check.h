/* check.h - invariants, in two tiers.
 *
 * assert() is for what costs a comparison where it stands. TY_DEBUG_CHECK is for what needs a look
 * at a whole structure, by a function that says what holds of it. Both are compiled in debug builds
 * only (meson setup --buildtype debug); what a user can do wrong is an error, never either. */
#ifndef TY_BASE_CHECK_H
#define TY_BASE_CHECK_H

#include <assert.h>

#ifdef NDEBUG
#define TY_DEBUG_CHECK(holds) ((void)(0 && (holds))) /* compiled, so that it stays right */
#else
#define TY_DEBUG_CHECK(holds) assert(holds)
#endif

/* Whether n is a power of two: checks that are too dear for every event of a run come at some of
 * its first and ever fewer later. */
#define TY_NOW_AND_THEN(n) (((n) & ((n)-1)) == 0)

#endif
