/* book.c - memory for lists of units that layouts use one after the other. */
#include "model/price/book.h"

#include <assert.h>
#include <stdlib.h>

#define UNITS_MAX 2u

struct ty_price_book {
    struct ty_arena arena;
    struct ty_units *units; /* [UNITS_MAX]; NULL: nobody asked yet */
};

struct ty_price_book *ty_price_book_new(void)
{
    return calloc(1, sizeof(struct ty_price_book));
}

void ty_price_book_free(struct ty_price_book *book)
{
    if (book != NULL) {
        ty_arena_release(&book->arena);
        free(book);
    }
}

struct ty_units *ty_price_book_units(struct ty_price_book *book, uint32_t n, struct ty_arena *arena)
{
    assert(n <= UNITS_MAX);
    if (book == NULL) {
        return ty_arena_array(arena, struct ty_units, n);
    }
    if (book->units == NULL) {
        book->units = ty_arena_array(&book->arena, struct ty_units, UNITS_MAX);
    }
    return book->units;
}
