#!/usr/bin/env python3
"""Puts style and scripts into the page and the page into C: what comes before the data, and after.

    embed.py OUTPUT.c HEADER.h NAME page.html page.css SCRIPT.js...

Comments and blanks that separate nothing stay behind. In page.html, %STYLE% and %SCRIPT% stand for the
other files, in their order, but %HOST% for host.js; %PACKED% is %SCRIPT%, compressed; %DATA% stands for what
the program writes. HEADER declares the arrays, NAME_head and NAME_tail."""
import gzip
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "sim" / "wasm"))
import letters  # noqa: E402

WIDTH = 20  # bytes a line


# What of a script is kept letter by letter: strings, templates without and with parts of code, and
# regular expressions, which stand where a value may begin. Then comments, words and numbers, the rest.
TOKEN = re.compile(r"""
    (?P<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")
  | (?P<comment>/\*.*?\*/)
  | (?P<regexp>(?<![\w)\]'"`\s])[ ]*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*)
  | (?P<space>\s+)
  | (?P<word>[\w$]+)
  | (?P<sign>.)""", re.S | re.X)


def template_end(text, at):
    """Where the template that begins at `at` ends."""
    at += 1
    while text[at] != "`":
        if text.startswith("${", at):
            depth, at = 1, at + 2
            while depth > 0:
                if text[at] == "`":
                    at = template_end(text, at) - 1
                elif text[at] in "'\"":
                    at = TOKEN.match(text, at).end() - 1
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
        else:
            at += 2 if text[at] == "\\" else 1
    return at + 1


def script_tokens(text):
    """Pairs of kind and text; blanks are one space or one line end."""
    at = 0
    while at < len(text):
        if text[at] == "`":
            end = template_end(text, at)
            yield "text", text[at:end]
        else:
            found = TOKEN.match(text, at)
            end = found.end()
            if found.lastgroup == "space":
                yield "space", "\n" if "\n" in found.group() else " "
            elif found.lastgroup != "comment":
                yield found.lastgroup, found.group()
        at = end


def squeeze_script(text):
    """Without comments and indentation, and without blanks that separate no words; lines stay."""
    out, blank = [""], ""
    for kind, token in script_tokens(text):
        if kind == "space":
            blank = "\n" if "\n" in (blank, token) else " "
            continue
        last = out[-1][-1:]
        joined = (last.isalnum() or last in "_$") and (token[0].isalnum() or token[0] in "_$")
        signs = last in "+-" and token[0] in "+-" or last == "/" or token.lstrip()[0] == "/"
        out.append((blank if blank == "\n" and last or blank and (joined or signs) else "") + token)
        blank = ""
    return "".join(out) + "\n"


def squeeze_style(text):
    """The same of a style sheet, in which only braces, colons before a blank, ";" and "," are signs."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"\s*([{};,])\s*|(:) ", lambda m: m.group(1) or m.group(2), text).strip() + "\n"


SQUEEZE = {".css": squeeze_style, ".js": squeeze_script}


def array(name, data):
    rows = [data[i:i + WIDTH] for i in range(0, len(data), WIDTH)]
    body = "\n".join("    " + ", ".join(str(b) for b in row) + "," for row in rows)
    return (f"const unsigned char {name}[] = {{\n{body}\n}};\n"
            f"const size_t {name}_len = sizeof({name});\n")


def main():
    output, header, name, page, *others = sys.argv[1:]
    text = {".css": "", ".js": "", "host.js": ""}
    for path in map(pathlib.Path, others):
        place = path.name if path.name in text else path.suffix
        text[place] += SQUEEZE[path.suffix](path.read_text(encoding="utf-8"))
    if "</script" in text[".js"] + text["host.js"] or "</style" in text[".css"]:
        raise SystemExit("embed.py: a file would end the element it is put into")
    html = pathlib.Path(page).read_text(encoding="utf-8")
    text["packed"] = letters.in_letters(gzip.compress(text[".js"].encode(), 9, mtime=0)).decode()
    for mark, place in (("%STYLE%", ".css"), ("%HOST%", "host.js"), ("%SCRIPT%", ".js"), ("%PACKED%", "packed")):
        html = html.replace(mark, text[place])
    head, tail = (part.encode() for part in html.split("%DATA%"))
    pathlib.Path(output).write_text(
        f'/* Made by traces/page/embed.py. */\n#include "{header}"\n\n' +
        array(name + "_head", head) + "\n" + array(name + "_tail", tail), encoding="ascii")


if __name__ == "__main__":
    main()
