"""Facts become the text of a run file, and what is not in it is told."""
import json
import re
from typing import List

from . import engine
from .facts import Facts, Note, Refused

COMMENT_COLUMN, LINE = 32, 96
PLAIN = re.compile(r"[A-Za-z0-9_./+][A-Za-z0-9_./%+ -]*(?<! )")
NAME = "the run file that was imported"


def _behind(note: Note) -> str:
    place = note.source.at.short()
    return f"{note.source.word}, {place}" if place else note.source.word


def _value(value: str) -> str:
    """Lists and mappings are written as YAML by whoever set them."""
    plain = value[:1] in ("[", "{") or PLAIN.fullmatch(value)
    return value if plain else json.dumps(value, ensure_ascii=False)


def _sections(f: Facts) -> List[str]:
    lines: List[str] = []
    before = ""
    for name in engine.key_names() if f.facts else ():
        section, _, key = name.partition(".")
        if name not in f.facts:
            continue
        if section != before:
            lines.append(section + ":")
            before = section
        fact = f.facts[name]
        comment = _behind(Note(fact.source)) + ("; " + fact.note if fact.note else "")
        head = f"  {key}: {_value(fact.value)}"
        lines.append(f"{head.ljust(COMMENT_COLUMN) if len(head) < COMMENT_COLUMN else head + ' '}"
                     f"# {comment}")
    return lines


def _words(notes: List[Note]) -> List[str]:
    """Words of one kind, as many on a line as fit, each once."""
    lines: List[str] = []
    for word in dict.fromkeys(note.source.word for note in notes):
        if not lines or len(lines[-1]) + len(word) + 1 >= LINE:
            lines.append("#  ")
        lines[-1] += " " + word
    return lines


def run_file(f: Facts, title: str) -> str:
    names = ", ".join(file.name for file in f.files)
    lines = [f"# {'Part of a job' if f.half else 'A job'} of {title}, imported by trainyard "
             f"{engine.version()} from {names}"]
    if f.half:
        lines.append("# It has no model: an overlay, for --with behind a run file that has.")
    lines += _sections(f)
    if f.remarks:
        lines += ["# Changed:"]
        lines += [f"#   {_behind(note)}: {note.text}" for note in f.remarks]
    if f.unknown:
        lines += ["# Not understood, and left out:"]
        lines += [f"#   {note.source.word}{' ' * bool(note.text)}{note.text}"
                  f"{', ' * bool(note.source.at.short())}{note.source.at.short()}"
                  for note in f.unknown]
    if f.idle:
        lines += ["# Without effect on a step:", *_words(f.idle)]
    return "\n".join(lines) + "\n"


def notes(f: Facts) -> str:
    """Lines for standard error about what is not in the run file as it stood there."""
    told = []
    for note in f.remarks:
        at = note.source.at
        place = f"{at.file.path}:{at.number}: " if at.file and at.line else ""
        told.append(f"{place}{note.source.word}: {note.text}\n")
    for note in f.unknown:
        at = note.source.at
        told.append(f"{at.file.path if at.file else ''}:{at.number}: {note.source.word}"
                    f"{' ' * bool(note.text)}{note.text}: not understood, and left out\n")
    return "".join(told)


def check(f: Facts, text: str) -> None:
    """Whether what was written loads; a key that no section has would be lost without a word."""
    for key in set(f.facts) - set(engine.key_names()):
        raise Refused(f"{key}: a reader sets this key, and there is none", 4)
    (engine.check_overlay if f.half else engine.check)(NAME, text)
