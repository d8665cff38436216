#!/usr/bin/env python3
"""Puts the module into C, as pages carry it (core.h): embed.py ZOPFLI core.wasm OUTPUT.c

Compressed, and each 13 bits as two of 91 letters that mean nothing to HTML: 23 % more than the bytes, where
base64 takes 33 %. host.js reads them again (unpackCore)."""
import pathlib
import subprocess
import sys

WIDTH = 20  # bytes a line

LETTERS = bytes(letter for letter in range(33, 127) if letter not in b"&<\\")

HEAD = '/* Made by sim/wasm/embed.py. */\n#include "sim/wasm/core.h"\n\nstatic const char core[] = {\n'
TAIL = """};

const char *ty_wasm_core(size_t *n)
{
    *n = sizeof(core) - 1;
    return core;
}
"""


def in_letters(data):
    """The lowest bits first. What is left at the end takes one letter up to 6 bits, so that fewer than 8 bits
    are added and no byte."""
    out, held, n = bytearray(), 0, 0
    for byte in data:
        held |= byte << n
        n += 8
        if n >= 13:
            out += bytes((LETTERS[(held & 8191) % 91], LETTERS[(held & 8191) // 91]))
            held >>= 13
            n -= 13
    if n > 0:
        out.append(LETTERS[held % 91])
    if n > 6:
        out.append(LETTERS[held // 91])
    return bytes(out)


def main():
    zopfli, module, output = sys.argv[1:]
    packed = subprocess.run([zopfli, "-c", module], stdout=subprocess.PIPE, check=True).stdout
    data = in_letters(packed) + b"\0"
    rows = (data[i:i + WIDTH] for i in range(0, len(data), WIDTH))
    body = "".join("    " + ", ".join(map(str, row)) + ",\n" for row in rows)
    pathlib.Path(output).write_text(HEAD + body + TAIL, encoding="ascii")


if __name__ == "__main__":
    main()
