"""Programs that are known: what they print, and what they change. Any other one is noted, as it may be
the job."""
import os
import re
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Tuple, Union

from .bash_text import Doubt, Text, joined
from .facts import File, From, Place

if TYPE_CHECKING:
    from .bash import Shell

PROGRAM = "program"  # of which nothing is known
Outcome = Union[bool, str, Doubt]
Words = List[Text]
FORMAT_ROUNDS = 1000


def echo(sh: "Shell", words: Words, at: Place) -> Outcome:
    while len(words) > 1 and words[1].s in ("-e", "-n"):
        words = words[1:]
    sh.print(joined(words[1:]) + Text.of("\n"))
    return True


def cat(sh: "Shell", words: Words, at: Place) -> Outcome:
    """Files, or what a pipe brings; a file that nobody knows is in doubt."""
    if len(words) == 1 and sh.input is not None:
        sh.print(sh.input.text)
    for word in words[1:]:
        text = sh.file_text(word.s, at)
        why = f"{word.s[:60]} ({sh.short(at)}) is no file that was given"
        sh.print(Text.of("?", at, Doubt(why)) if text is None else text)
    return True


def substitute(expression: Text, text: Text) -> Optional[Text]:
    """s/A/B/ with words that stand for themselves; None: it is another one."""
    found = re.fullmatch(r"s(.)(.+?)\1(.*?)\1(.*)", expression.s, re.S)
    if not found:
        return None
    by, out = expression[found.start(3):found.end(3)], Text()
    for line in re.finditer(r"[^\n]*\n?", text.s):
        at, start = line.start(), line.start()
        while (at := text.s.find(found[2], start, line.end())) >= 0:
            out += text[start:at] + by
            start = at + len(found[2])
            if "g" not in found[4]:
                break
        out += text[start:line.end()]
    return out


def sed(sh: "Shell", words: Words, at: Place) -> Outcome:
    text, path, inside = sh.input.text if sh.input else Text(), "", False
    expressions: Words = []
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        if word.s == "-e" and rest:
            expressions.append(rest.pop(0))
        elif word.s.startswith("-"):
            inside = inside or word.s.startswith("-i")
        elif not expressions:
            expressions.append(word)
        else:
            path = word.s
            text = sh.file_text(path, at) or text
    for expression in expressions:
        why = f"sed {expression.s[:60]} ({sh.short(at)}) is not known here"
        changed = substitute(expression, text)
        text = Text.of("?", at, Doubt(why)) if changed is None else changed
        sh.spend(len(text))
    if inside and path:
        sh.write(path, text, False)
    else:
        sh.print(text)
    return True


def dirname(sh: "Shell", words: Words, at: Place) -> Outcome:
    if len(words) > 1:
        folder = len(os.path.dirname(words[1].s))
        sh.print(words[1][:folder] if "/" in words[1].s else Text.of("."))
    return True


def basename(sh: "Shell", words: Words, at: Place) -> Outcome:
    if len(words) > 1:
        sh.print(words[1][words[1].s.rfind("/") + 1:])
    return True


def _file(sh: "Shell", words: Words, at: Place) -> Optional[File]:
    return sh.facts.named(at.file, words[1].s) if len(words) > 1 else None


def source(sh: "Shell", words: Words, at: Place) -> Outcome:
    file = _file(sh, words, at)
    if file is None:
        sh.facts.remark(From(words[1].s if len(words) > 1 else "", at),
                        "no such file was given: what it sets is not known; name it, too")
        return PROGRAM
    sh.source(file, words[2:] or None)
    return True


def start(sh: "Shell", words: Words, at: Place) -> Outcome:
    """bash FILE, sh FILE."""
    file = _file(sh, words, at) if len(words) > 1 and words[1].s[:1] != "-" else None
    if file is None:
        sh.note(words, at)
    else:
        sh.source(file, words[2:])
    return PROGRAM


def declare(sh: "Shell", words: Words, at: Place) -> Outcome:
    """A=B was assigned when the statement was read; what expansion made of it comes here."""
    for word in words[1:]:
        name, equals, _ = word.s.partition("=")
        if equals and name[:1] != "-":
            sh.assign(name, word[len(name) + 1:])
    return True


def shift(sh: "Shell", words: Words, at: Place) -> Outcome:
    by = sh.arithmetic(words[1])[0] if len(words) > 1 else 1
    sh.args = sh.args[max(by, 0):]
    return True


def set_(sh: "Shell", words: Words, at: Place) -> Outcome:
    """-e, -x, ... change nothing that is read here."""
    for i, word in enumerate(words):
        if i and word.s == "--":
            sh.args = words[i + 1:]
            break
    return True


def let(sh: "Shell", words: Words, at: Place) -> Outcome:
    for word in words[1:]:
        name, equals, _ = word.s.partition("=")
        if equals:
            value, doubt = sh.arithmetic(word[len(name) + 1:])
            sh.assign(name, Text.of(str(value), word.at, doubt))
    return True


def unset(sh: "Shell", words: Words, at: Place) -> Outcome:
    for word in words[1:]:
        sh.vars.pop(word.s, None)
    return True


def exec_(sh: "Shell", words: Words, at: Place) -> Outcome:
    return sh.call(words[1:], at)


def exit_(sh: "Shell", words: Words, at: Place) -> Outcome:
    from .bash import Ended
    if sh.doubt is None and not sh.answers:  # else nobody knows
        sh.ended = at
        raise Ended
    return True


def return_(sh: "Shell", words: Words, at: Place) -> Outcome:
    from .bash import Returned
    if sh.doubt is None:
        raise Returned
    return True


def break_(sh: "Shell", words: Words, at: Place) -> Outcome:
    from .bash import Broke
    if sh.doubt is None:
        raise Broke
    return True


def test(sh: "Shell", words: Words, at: Place) -> Outcome:
    closed = words[0].s == "[" and words[-1].s == "]"
    return sh.test(words[1:-1] if closed else words[1:], False)


# ---- read and mapfile ----

def unknown(sh: "Shell", name: str, at: Place) -> None:
    """A value that is known only when it runs, unless --env does."""
    why = f"{name} is read when the script runs ({sh.short(at)})"
    sh.assign_given(name, Text.of("?", at, Doubt(why)))


def _options(words: Words) -> Tuple[str, str, Words]:
    """-r, -a NAME, -rd '' and their kin: the array, what ends the input, names."""
    array, end, i = "", "\n", 1
    while i < len(words) and words[i].s[:1] == "-":
        found = re.match("-[^adinNptu]*([adinNptu])(.*)", words[i].s, re.S)
        if found:
            value = found[2]
            if not value:
                i += 1
                value = words[i].s if i < len(words) else ""
            array = value if found[1] == "a" else array
            end = (value[:1] or "\0") if found[1] == "d" else end
        i += 1
    return array, end, words[i:]


def _separators(sh: "Shell", at: Place) -> str:
    """IFS=, before the word `read` is of that line alone; a variable of the script stays."""
    ifs = sh.vars.get("IFS")
    if not isinstance(ifs, Text):
        return " \t\n"
    if not len(ifs) or ifs.at.line == at.line:
        del sh.vars["IFS"]
    return ifs.s


def _fields(line: Text, ifs: str, most: int) -> Words:
    """Fields of a line, the last of `most` with all that is left; 0: all there are."""
    blank = "[" + re.escape("".join(c for c in ifs if c in " \t\n")) + "]" if any(
        c in " \t\n" for c in ifs) else "(?!)"
    one = "[" + re.escape(ifs) + "]" if ifs else "(?!)"
    fields: Words = []
    at = 0
    while at < len(line) or len(fields) < most:
        at = re.compile(f"{blank}*").match(line.s, at).end()  # type: ignore[union-attr]
        if most and len(fields) + 1 == most:
            rest = re.sub(f"{blank}*\\Z", "", line.s[at:])
            fields.append(line[at:at + len(rest)])
            break
        found = re.compile(f"{blank}*{one}|{blank}+|\\Z").search(line.s, at)
        end = found.start() if found else len(line)
        if end > at or most or end < len(line):
            fields.append(line[at:end])
        at = found.end() if found else len(line)
    return fields


def read(sh: "Shell", words: Words, at: Place) -> Outcome:
    ifs = _separators(sh, at)
    array, end, names = _options(words)
    if sh.input is None:
        for name in [name.s for name in names] + [array] * bool(array):
            unknown(sh, name, at)
        return PROGRAM
    text = sh.input.text
    found = text.s.find(end)
    line = text if found < 0 else text[:found]
    sh.input.text = Text() if found < 0 else text[found + 1:]
    if array:
        sh.assign_array(array, _fields(line, ifs, 0), False)
    for name, field in zip(names, _fields(line, ifs, len(names)) if names else ()):
        sh.assign_given(name.s, field)
    if not names and not array:
        sh.assign("REPLY", line)
    return found >= 0


def mapfile(sh: "Shell", words: Words, at: Place) -> Outcome:
    name = words[-1].s if len(words) > 1 else "MAPFILE"
    if sh.input is None:
        unknown(sh, name, at)
        return PROGRAM
    text, sh.input.text = sh.input.text, Text()
    sh.assign_array(name, [text[found.start():found.end()]
                           for found in re.finditer(r"[^\n]+|(?<![^\n])(?=\n)", text.s)], False)
    return True


def printf(sh: "Shell", words: Words, at: Place) -> Outcome:
    into = words[2].s if len(words) > 3 and words[1].s == "-v" else ""
    rest = words[3:] if into else words[2:] if len(words) > 1 and words[1].s == "--" else words[1:]
    out, values = Text(), rest[1:]
    for _ in range(FORMAT_ROUNDS if rest else 0):
        before = len(values)
        for piece in re.finditer(r"%%|%[-+ #0-9.*]*(.)|\\(.)|[^%\\]+|.", rest[0].s, re.S):
            text = rest[0][piece.start():piece.end()]
            if piece[0] == "%%":
                out += text[:1]
            elif piece[1]:
                value = values.pop(0) if values else Text()
                if len(piece[0]) > 2 or piece[1] not in "sdiubq":  # widths, other bases
                    why = f"printf {rest[0].s[:60]} ({sh.short(at)}) is not known here"
                    value = Text.of("?", text.at, Doubt(why))
                out += value
            elif piece[2]:
                out += Text.of({"n": "\n", "t": "\t"}.get(piece[2], piece[2]), text.at)
            else:
                out += text
        sh.spend(len(out))
        if not values or len(values) == before:  # the format is used again for what is left
            break
    if into:
        sh.assign(into, out)
    else:
        sh.print(out)
    return True


BUILTINS: Dict[str, Callable[["Shell", Words, Place], Outcome]] = {
    "echo": echo, "cat": cat, "sed": sed, "dirname": dirname, "basename": basename,
    "source": source, ".": source, "bash": start, "sh": start, "export": declare,
    "declare": declare, "local": declare, "readonly": declare, "typeset": declare, "read": read,
    "mapfile": mapfile, "readarray": mapfile, "printf": printf, "shift": shift, "set": set_,
    "let": let, "unset": unset, "exec": exec_, "true": lambda *_: True, ":": lambda *_: True,
    "false": lambda *_: False, "exit": exit_, "return": return_, "break": break_,
    "continue": break_, "test": test, "[": test,
}
