/* book.c - see book.h. */
#include "model/lower/book.h"

#include <stdlib.h>

#include "sim/base/arena.h"

struct ty_price_book {
    struct ty_arena arena;
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
