#!/usr/bin/env python3
"""Puts the module into C, as pages carry it (core.h): embed.py core.wasm OUTPUT.c"""
import base64
import gzip
import pathlib
import sys

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
    module, output = (pathlib.Path(word) for word in sys.argv[1:])
    data = base64.b64encode(gzip.compress(module.read_bytes(), 9, mtime=0)) + b"\0"
    rows = (data[i:i + WIDTH] for i in range(0, len(data), WIDTH))
    body = "".join("    " + ", ".join(map(str, row)) + ",\n" for row in rows)
    output.write_text(HEAD + body + TAIL, encoding="ascii")


if __name__ == "__main__":
    main()
