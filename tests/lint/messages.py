#!/usr/bin/env python3
"""Lists every message of the tree side by side, and fails on one that breaks the rules.

    messages.py ROOT            the rules
    messages.py ROOT --list     the messages, one a line: FILE:LINE FUNCTION "text"

A message is a string literal in a call of one of the functions that print or collect them, or of a
function that hands a parameter of its own to one of those: found by reading the sources, so that a
new wrapper is not forgotten. The rules are those of docs/internals/style.md that a machine can see.
"""
import collections
import pathlib
import re
import sys

FOLDERS = ["sim", "topology", "model", "traces"]
SINKS = {"ty_fail", "ty_fail_at", "ty_hint", "cli_say"}
WRITERS = {"ty_text_add", "ty_out_printf", "ty_arena_printf"}  # reports and traces are no messages
REMARKS = {"config/remarks.c", "diff/remarks.c"}  # texts for standard error that are no errors
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|'
                   r"[A-Za-z_]\w*|[0-9][\w.]*|\s+|.", re.S)
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "else", "do"}
MACROS = {"PRIu64": "u", "PRIu32": "u", "PRIi64": "i", "PRId64": "d", "PRIx64": "x"}

Message = collections.namedtuple("Message", "file line call text whole")


def tokens(text):
    """(token, line) without comments, spaces and preprocessor lines."""
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.M)
    line = 1
    for match in TOKEN.finditer(text):
        token = match.group()
        if not token.isspace() and not token.startswith(("//", "/*")):
            yield token, line
        line += token.count("\n")


def closing(toks, start):
    """Index of the bracket that closes toks[start]."""
    depth = 0
    for i in range(start, len(toks)):
        depth += toks[i][0] in "([{"
        depth -= toks[i][0] in ")]}"
        if depth == 0:
            return i
    return len(toks) - 1


def functions(toks):
    """(name, parameters, first, last) of every definition; indices are those of its body."""
    i = 0
    while i < len(toks):
        if toks[i][0] == "(" and i > 0 and re.match(r"[A-Za-z_]\w*$", toks[i - 1][0]):
            end = closing(toks, i)
            if end + 1 < len(toks) and toks[end + 1][0] == "{" \
                    and toks[i - 1][0] not in KEYWORDS:
                last = closing(toks, end + 1)
                yield toks[i - 1][0], parameters(toks[i + 1:end]), end + 1, last
                i = last
        elif toks[i][0] == "{":
            i = closing(toks, i)
        i += 1


def parameters(toks):
    """Names of the parameters that are texts."""
    found, words = [], []
    for token, _ in toks + [(",", 0)]:
        if token == ",":
            if "char" in words and "const" in words and words.count("*") == 1:
                found.append(words[-1])
            words = []
        else:
            words.append(token)
    return found


def calls(toks, names):
    """(name, line, tokens between the brackets) of every call of one of the names."""
    for i in range(len(toks) - 1):
        if toks[i][0] in names and toks[i + 1][0] == "(":
            yield toks[i][0], toks[i][1], toks[i + 2:closing(toks, i + 1)]


def is_message_call(name, args):
    if name in ("fprintf", "fputs", "vfprintf"):
        return any(token == "stderr" for token, _ in args)
    if name == "snprintf":
        return bool(args) and args[0][0] in ("why", "what", "reason", "problem")
    return True


def literals(args):
    """(text, line) of literals, neighbours joined, nested calls included."""
    text, line = None, 0
    for token, at in args + [(",", 0)]:
        if token.startswith('"'):
            text, line = (text or "") + token[1:-1], line if text else at
        elif token in MACROS and text is not None:
            text += MACROS[token]
        elif text is not None:
            yield text, line
            text = None


def read(root):
    files = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.c")):
            toks = list(tokens(path.read_text(encoding="utf-8")))
            files[path.relative_to(root)] = (toks, list(functions(toks)))
    return files


def wrappers(files):
    """Per file the functions that pass a text of their caller on to a message."""
    common, own = set(SINKS), {path: set() for path in files}
    changed = True
    while changed:
        changed = False
        for path, (toks, defined) in files.items():
            names = common | own[path] | {"fprintf", "vfprintf", "fputs", "snprintf", "vsnprintf"}
            for name, texts, first, last in defined:
                if name in common or name in own[path] or not texts:
                    continue
                for call, _, args in calls(toks[first:last], names):
                    words = {token for token, _ in args}
                    vague = call in ("snprintf", "vsnprintf") and not is_message_call(call, args)
                    if not vague and is_message_call(call, args) and words & set(texts):
                        own[path].add(name)
                        changed = True
                        break
    return common, own


def messages(root):
    files = read(root)
    common, own = wrappers(files)
    shared = {name for names in own.values() for name in names if name.startswith(("ty_", "cli_"))}
    shared -= WRITERS
    for path, (toks, _) in files.items():
        names = common | shared | own[path] | {"fprintf", "fputs", "snprintf"}
        names = names - WRITERS | (WRITERS if "/".join(path.parts[-2:]) in REMARKS else set())
        for call, _, args in calls(toks, names):
            if not is_message_call(call, args):
                continue
            for text, line in literals(args):
                if re.search(r"[a-z]{2}", re.sub(r"%[-#0 +.*\d]*(?:hh|h|ll|l|z|j)?[a-zA-Z]", "", text)):
                    yield Message(path, line, call, text, call in SINKS)


# What no message says, and what it says instead. The first column is searched in the text.
NEVER = [
    (r"[^.]\.(\\n)?$", "no full stop at the end"),
    (r"!(\\n)?$", "no exclamation mark"),
    (r"\b([Ii]nvalid|[Ii]llegal|[Bb]ad)\b", "what is wrong instead of that it is"),
    (r"\b[Ee]rror: ", "the message alone"),
    (r"\b([Pp]lease|[Ss]orry|[Oo]ops)\b", "the message alone"),
    (r"\b(ty_\w+|TY_\w+|NULL|errno|malloc|calloc|realloc|strdup)\b", "no names of C"),
    (r"out of memory|no memory", "memory is exhausted (ty_fail_memory): out of memory is a GPU"),
    (r"cannot write '|cannot write to", "PATH: cannot be written (ty_fail_write)"),
    (r"\bsee trainyard\b", '"trainyard list X" shows all'),
    (r"\(s\)", "singular or plural"),
    (r"\b(config(uration)? file|yaml file|input file)\b", "run file"),
    (r"\bmicrobatch(es)?\b|\bmicro batch", "micro-batch"),
    (r"\bvirtual-stage|\bvstage", "virtual stage"),
    (r"did you mean %s(?!\?$)", 'did you mean "%s"'),
    (r"\S  +\S", "one blank"),
    (r"(?<!;) hint: ", "; hint: "),
]
NAMES = ("JSON", "PyTorch", "GPU", "UTF-16", "DOES NOT FIT")  # may begin a message


def faults(m):
    """What is wrong with a message."""
    text = m.text.replace('\\"', '"')
    if m.whole and text[:1].isupper() and not text.startswith(NAMES):
        yield "no capital at the beginning"
    for pattern, instead in NEVER:
        if re.search(pattern, text):
            yield instead
    if m.call == "fprintf" and "%s" in text:
        yield "cli_say: a word may be foreign, and a terminal obeys it"


def main():
    found = sorted(set(messages(pathlib.Path(sys.argv[1]))))
    if "--list" in sys.argv:
        for m in found:
            print(f'{m.file}:{m.line} {m.call} "{m.text}"')
        return 0
    bad = [f'{m.file}:{m.line}: "{m.text}": {fault}' for m in found for fault in faults(m)]
    print("\n".join(bad) if bad else f"{len(found)} messages ok")
    return 1 if bad or len(found) < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
