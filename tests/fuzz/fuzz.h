/* fuzz.h - a fuzz target is one file that defines LLVMFuzzerTestOneInput.
 *
 * Linked with libFuzzer (meson option fuzz, clang) it searches; linked with replay.c it is a test
 * that plays its corpus. A target demands more than not to crash: what is refused has words and is
 * the input's fault, what is accepted survives being written and read again. */
#ifndef TY_TESTS_FUZZ_FUZZ_H
#define TY_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the program, so that a fuzzer keeps the input, when `holds` is false. */
#define FUZZ_DEMAND(holds) ((holds) ? (void)0 : fuzz_stop(#holds, __FILE__, __LINE__))
_Noreturn void fuzz_stop(const char *what, const char *file, int line);

/* A path under which the bytes can be read as a file, until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* The bytes with a zero behind them, as files are in memory. The caller frees. */
char *fuzz_text(const uint8_t *data, size_t size);

/* A failure has a message and is the input's, not trainyard's. */
void fuzz_check(int rc, const struct ty_err *err);

#endif
