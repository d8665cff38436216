/* core.h - the library for pages, as data of the library. */
#ifndef TY_WASM_CORE_H
#define TY_WASM_CORE_H

#include <stddef.h>

/* The module core.wasm (web.c), compressed, as n letters that may stand in HTML as they are, and a
 * zero: what unpackCore of host.js takes; static. NULL where it was not built in: meson setup
 * -Dwasm=enabled. */
const char *ty_wasm_core(size_t *n);

#endif
