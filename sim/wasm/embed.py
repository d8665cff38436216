#!/usr/bin/env python3
"""Puts the module into C, as pages carry it (core.h): embed.py ZOPFLI core.wasm OUTPUT.c

Compressed, and in the letters of letters.py."""
import pathlib
import subprocess
import sys

import letters

WIDTH = 20  # bytes a line

HEAD = '/* Made by sim/wasm/embed.py. */\n#include "sim/wasm/core.h"\n\nstatic const char core[] = {\n'
TAIL = """};

const char *ty_wasm_core(size_t *n)
{
    *n = sizeof(core) - 1;
    return core;
}
"""


def main():
    zopfli, module, output = sys.argv[1:]
    packed = subprocess.run([zopfli, "-c", module], stdout=subprocess.PIPE, check=True).stdout
    data = letters.in_letters(packed) + b"\0"
    rows = (data[i:i + WIDTH] for i in range(0, len(data), WIDTH))
    body = "".join("    " + ", ".join(map(str, row)) + ",\n" for row in rows)
    pathlib.Path(output).write_text(HEAD + body + TAIL, encoding="ascii")


if __name__ == "__main__":
    main()
