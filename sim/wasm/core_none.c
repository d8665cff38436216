/* core_none.c - see core.h; of a library that was built without the module. */
#include "sim/wasm/core.h"

const char *ty_wasm_core(size_t *n)
{
    *n = 0;
    return NULL;
}
