/* book.h - what layouts that are lowered one after the other have in common.
 *
 * A book is one thread's. A program does not depend on what its book has seen before. */
#ifndef TY_PRICE_BOOK_H
#define TY_PRICE_BOOK_H

#include "model/block/block.h"

struct ty_price_book;

/* An empty one; NULL: no memory. */
struct ty_price_book *ty_price_book_new(void);
void ty_price_book_free(struct ty_price_book *book);

/* Room for n <= 2 lists of units, a megabyte each: the book's, until the next layout is lowered
 * with it, or without one the arena's. NULL: no memory. */
struct ty_units *ty_price_book_units(struct ty_price_book *book, uint32_t n,
                                     struct ty_arena *arena);

#endif
