#!/usr/bin/env python3
"""Puts style and scripts into the page and the page into C: what comes before the data, and after.

    embed.py OUTPUT.c page.html page.css SCRIPT.js...

Comments and indentation stay behind. In page.html, %STYLE% and %SCRIPT% stand for the other files, in their order; %DATA% for what the
program writes."""
import pathlib
import re
import sys

WIDTH = 20  # bytes a line


def squeeze(text):
    """Without comments that begin a line, without indentation: a page is read by browsers."""
    text = re.sub(r"^[ \t]*/\*.*?\*/[ \t]*$\n?", "", text, flags=re.S | re.M)
    return "".join(line.strip() + "\n" for line in text.splitlines() if line.strip())


def array(name, data):
    rows = [data[i:i + WIDTH] for i in range(0, len(data), WIDTH)]
    body = "\n".join("    " + ", ".join(str(b) for b in row) + "," for row in rows)
    return (f"const unsigned char ty_page_{name}[] = {{\n{body}\n}};\n"
            f"const size_t ty_page_{name}_len = sizeof(ty_page_{name});\n")


def main():
    output, page, *others = (pathlib.Path(word) for word in sys.argv[1:])
    text = {".css": "", ".js": ""}
    for path in others:
        text[path.suffix] += squeeze(path.read_text(encoding="utf-8"))
    if "</script" in text[".js"] or "</style" in text[".css"]:
        raise SystemExit("embed.py: a file would end the element it is put into")
    html = page.read_text(encoding="utf-8")
    html = html.replace("%STYLE%", text[".css"]).replace("%SCRIPT%", text[".js"])
    head, tail = (part.encode() for part in html.split("%DATA%"))
    output.write_text('/* Made by traces/page/embed.py. */\n#include "traces/page.h"\n\n' +
                      array("head", head) + "\n" + array("tail", tail), encoding="ascii")


if __name__ == "__main__":
    main()
