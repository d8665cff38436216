#!/usr/bin/env python3
"""Manual pages and docs/reference/keys.md, from what `trainyard --tables` says of commands, options and keys.

manual.py TRAINYARD FORM DOC_DIR writes trainyard.1, trainyard.5 or keys.md to standard output;
DOC_DIR is where the guides are installed. SOURCE_DATE_EPOCH dates the pages.
"""
import collections
import os
import subprocess
import sys
import time

LINE = 72  # columns of a page's source
DESCRIPTION = [
    "A run file describes cluster, model, layout and schedule. trainyard simulates a training step "
    "on every GPU of the cluster, layer by layer, with its collectives. It reports step time, MFU, "
    "pipeline bubbles and the memory of every stage, and writes a timeline. It needs no GPU.",
    "FILE is a run file, in YAML; trainyard(5) has its keys. A single - reads standard input, or "
    "writes standard output. Results go to standard output, everything else to standard error."]
OPTIONS = (
    "Each option is listed with the commands that have it. A long option can be shortened to a "
    "prefix that no other option of the command shares, such as --eng for --engine. In scripts "
    "write options in full, since a later version may add another option with that prefix.")
STATUS = ("A command exits with 0 only if its output is complete. A file gets its name only when "
          "it is complete; no partial file is left behind.")
KEYS = [
    "A run file is YAML: sections with keys. cluster.nodes is the key nodes of the section cluster. "
    "Numbers with a unit are written with it: 200 Gb/s, 2 us, 80 GiB, 3 %. SI prefixes are powers "
    "of 1000, Ki, Mi and Gi of 1024; b is bits, B bytes.",
    "A value comes from the last of: the default, the preset, the file, files of --with, --set. "
    "trainyard check --show-config prints the origin of each value."]
MARKDOWN = """# Keys of the run file

Every section and key there is, as `trainyard list keys SECTION` prints them. sim/manual generates this \
page from the tables that read the file; a test fails when it is out of date.

Numbers with a unit are written with it: `200 Gb/s`, `2 us`, `80 GiB`, `3 %`. SI prefixes are \
powers of 1000, Ki, Mi and Gi of 1024; b is bits, B bytes. `true` and `false` may also be written \
`True`, `TRUE`, `False`, `FALSE`. A value comes from the last of: the default, the preset, the \
file, files of `--with`, `--set`. A required key may come from a preset. `auto` and `none` are \
words for what the meaning says."""

# The rows of --tables: a word, then these fields, with tabs between.
ROWS = {
    "version": "number",
    "command": "name arguments summary about example example_is",
    "option": "letter name argument help commands",
    "status": "code meaning",
    "catalogue": "name about",
    "section": "name doc",
    "key": "name accepts required fallback doc",
    "word": "key name doc",
}


def tables(program):
    kinds = {name: collections.namedtuple(name, fields) for name, fields in ROWS.items()}
    rows = {name: [] for name in ROWS}
    text = subprocess.run([program, "--tables"], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        name, *fields = line.split("\t")
        rows[name].append(kinds[name](*fields))
    return rows


# ---- pages, in the macros of groff_man(7) ----

def escaped(text):
    """A hyphen becomes a minus, which can be copied."""
    return text.replace("\\", "\\e").replace("-", "\\-")


def prose(text):
    """Lines of words; a sentence begins a line."""
    lines, column, words = [""], 0, text.split()
    for word, after in zip(words, words[1:] + [""]):
        if column > 0 and column + len(word) > LINE:
            lines, column = lines + [""], 0
        lead = " " if column > 0 else "\\&" if word[0] in ".'" else ""
        lines[-1] += lead + escaped(word)
        column += len(escaped(word)) + 1
        if word.endswith(".") and after[:1].isupper():
            lines, column = lines + [""], 0
    return "\n".join(line for line in lines if line)


def heading(text, name="SH"):
    return f'.{name} "{escaped(text)}"'


def entry(name, doc, font="B"):
    return f".TP\n.{font} {name}\n{prose(doc)}"


def page(rows, section, book, body):
    day = int(os.environ.get("SOURCE_DATE_EPOCH", 0))
    date = time.strftime("%Y-%m-%d", time.gmtime(day)) if day > 0 else ""
    return "\n".join([
        '.\\" Written while trainyard is built, from the tables of trainyard --help.',
        f'.TH TRAINYARD {section} "{date}" "trainyard {rows["version"][0].number}" "{book}"',
        ".nh\n.ad l", *body])  # options and keys are copied: they are not broken


def option(row, n_commands):
    short = f"\\fB\\-{row.letter}\\fR, " if row.letter else ""
    argument = f" \\fI{escaped(row.argument)}\\fR" if row.argument else ""
    commands = "all" if row.commands.count(",") + 1 == n_commands else row.commands
    return (f".TP\n{short}\\fB\\-\\-{escaped(row.name)}\\fR{argument}\n"
            + prose(f"{row.help} ({commands})"))


def command(row, catalogues):
    lines = [heading(f"{row.name} {row.arguments}", "SS"),
             prose(f"{row.summary[0].upper()}{row.summary[1:]}."), ".PP", prose(row.about)]
    return lines + [entry(c.name, c.about) for c in catalogues if row.name == "list"]


def user_commands(rows, program, docs):
    formats = subprocess.run([program, "list", "formats"], capture_output=True, text=True,
                             check=True).stdout.splitlines()
    commands = rows["command"]
    synopsis = [f"\\fBtrainyard {c.name}\\fR {escaped(c.arguments)} [\\fIOPTION\\fR]..."
                for c in commands]
    synopsis += ["\\fBtrainyard help\\fR [\\fICOMMAND\\fR]", "\\fBtrainyard \\-\\-version\\fR"]
    return page(rows, 1, "User Commands", [
        heading("NAME"), "trainyard \\- simulate GPU clusters that train large language models",
        heading("SYNOPSIS"), "\n.br\n".join(synopsis),
        heading("DESCRIPTION"), "\n.PP\n".join(map(prose, DESCRIPTION)),
        heading("COMMANDS"), *(x for c in commands for x in command(c, rows["catalogue"])),
        heading("OPTIONS"), prose(OPTIONS), *(option(o, len(commands)) for o in rows["option"]),
        heading("TRACE FORMATS"),
        prose("Of --trace FORMAT:PATH. A .gz at the end of the path compresses."),
        *(entry(*line.split(maxsplit=1)) for line in formats),
        heading("EXIT STATUS"), *(entry(s.code, s.meaning) for s in rows["status"]),
        ".PP", prose(STATUS), heading("FILES"),
        entry(f"{docs}/reference/formats.md", "every file that is read or written, field by field", "I"),
        entry(f"{docs}/examples", "run files to start from", "I"),
        heading("EXAMPLES"), prose(f"With the files of {docs}/examples in the current folder:"),
        *(f".TP\n\\fB{escaped(c.example)}\\fR\n{prose(c.example_is)}" for c in commands),
        '.SH "SEE ALSO"\n.BR trainyard (5)'])


def page_key(key, words):
    lines = [entry(key.name, key.doc), ".br\nValue:", prose(key.accepts)]
    if key.required:
        lines.append(".br\nRequired, here or by a preset.")
    elif key.fallback:
        lines += [".br\nDefault:", prose(key.fallback)]
    told = [f".TP\n\\fI{escaped(w.name)}\\fR\n{prose(w.doc)}" for w in words if w.doc]
    return lines + ([".RS", *told, ".RE"] if told else [])


def sections(rows):
    """(section, its keys with their words)"""
    words = collections.defaultdict(list)
    for word in rows["word"]:
        words[word.key].append(word)
    for section in rows["section"]:
        yield section, [(key, words[key.name]) for key in rows["key"]
                        if key.name.split(".")[0] == section.name]


def file_formats(rows, *_):
    body = [heading("NAME"), "trainyard \\- run file of trainyard(1)",
            heading("DESCRIPTION"), "\n.PP\n".join(map(prose, KEYS))]
    for section, keys in sections(rows):
        body += [heading(f"SECTION {section.name}".upper()), prose(section.doc)]
        body += [line for key, words in keys for line in page_key(key, words)]
    return page(rows, 5, "File Formats", body + ['.SH "SEE ALSO"\n.BR trainyard (1)'])


# ---- docs/reference/keys.md ----

def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")


def row_of(key, words):
    """Presets are listed with what they are by `trainyard list`; here their names."""
    if key.accepts == "text":
        told = "<br>" + ", ".join(f"`{w.name}`" for w in words) if words else ""
    else:
        told = "".join(f"<br>`{w.name}` {cell(w.doc)}" for w in words if w.doc)
    default = "required" if key.required else cell(key.fallback)
    return f"| `{key.name}` | {cell(key.accepts)} | {default} | {cell(key.doc)}{told} |"


def markdown(rows, *_):
    lines = [MARKDOWN]
    for section, keys in sections(rows):
        lines += [f"\n## {section.name}\n\n{section.doc[0].upper()}{section.doc[1:]}.\n",
                  "| key | value | default | meaning |\n|---|---|---|---|"]
        lines += [row_of(*key) for key in keys]
    return "\n".join(lines)


FORMS = {"trainyard.1": user_commands, "trainyard.5": file_formats, "keys.md": markdown}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in FORMS:
        sys.exit(f"usage: manual.py TRAINYARD FORM DOC_DIR, with FORM one of {' '.join(FORMS)}")
    print(FORMS[sys.argv[2]](tables(sys.argv[1]), sys.argv[1], sys.argv[3]))
