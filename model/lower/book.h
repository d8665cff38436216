/* book.h - prices kept between layouts.
 *
 * Layouts that are lowered one after the other have most of their prices in common: kernels of one
 * shape, collectives over groups that lie alike, orders of one pipeline. A book keeps them by all
 * that they are worked out from, so that a program does not depend on what the book has seen;
 * a debug build works out anew what it finds, and compares. It is one thread's, and holds a bounded
 * number of rows: a table that is full begins anew. */
#ifndef TY_MODEL_LOWER_BOOK_H
#define TY_MODEL_LOWER_BOOK_H

struct ty_price_book;

/* An empty one; NULL: no memory. */
struct ty_price_book *ty_price_book_new(void);
void ty_price_book_free(struct ty_price_book *book);

#endif
