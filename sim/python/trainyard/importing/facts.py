"""What is found in the files of a job: facts with their origin, notes, and refusals.

    files -- a reader: shell, flags, trees --> Facts
    Facts -- settle.py --> cluster and world; what contradicts is refused
    Facts -- write.py --> text of a run file, a comment at each value, which is read back

A reader says what a value is as a user writes it; whether the value can be is the run file's to
check. Whatever it reads ends as one of four: a fact, a remark (it matters, and trainyard has no key
for it), an idle word (learning rates and paths have no part in a step), or an unknown word; nothing
is dropped. What cannot be imported is refused; a reader goes on after that, so that all is told at
once.
"""
import os
import re
from bisect import bisect_right
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

MAX_BYTES = 4 << 20  # of a file
MOST_MESSAGES, EXCERPT = 20, 96
GPUS = ("gb300", "gb200", "b300", "b200", "h800", "h200", "h100", "a100", "v100")
UINT_MAX = 2**32 - 1
_FOREIGN = re.compile("[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f\\udc80-\\udcff]")


class Refused(Exception):
    """The job cannot be imported: what is to be said, and the exit status."""

    def __init__(self, text: str, status: int = 3) -> None:
        super().__init__(text)
        self.status = status


class File:
    """A file that is read, by its path as it was given. Of a part of a file `numbers` says which
    line of the file each of its lines is."""

    def __init__(self, path: str, text: str, numbers: Sequence[int] = ()) -> None:
        self.path, self.text, self.name = path, text, os.path.basename(path)
        self.numbers = numbers
        self._starts: List[int] = []

    def place(self, at: int) -> "Place":
        """Of a character by its number."""
        if not self._starts:
            self._starts = [0] + [found.end() for found in re.finditer("\n", self.text)]
        line = bisect_right(self._starts, at)
        return Place(self, line, at - self._starts[line - 1] + 1)

    def lines(self) -> Sequence[str]:
        return self.text.split("\n")


class Place(NamedTuple):
    """A place in a file; without a file it names a rule or an option. `shown`: its line is quoted."""
    file: Optional[File] = None
    line: int = 0
    column: int = 0
    shown: bool = True

    @property
    def number(self) -> int:
        """The line, as whoever opens the file counts."""
        numbers = self.file.numbers if self.file else ()
        return numbers[self.line - 1] if 0 < self.line <= len(numbers) else self.line

    def short(self) -> str:
        return f"{self.file.name}:{self.number}" if self.file and self.line else ""


class From(NamedTuple):
    """Where something was said: the word ("--num-layers", "training.seq_len") and its place."""
    word: str
    at: Place = Place()


class Fact(NamedTuple):
    value: str  # as a user writes it: "8", "[1, 2]", "dgx-h100"
    source: From
    note: str = ""  # behind word and place in the comment


class Note(NamedTuple):
    source: From
    text: str = ""


_READ: Set[Tuple[int, int]] = set()  # device and inode of each file that was read


def note_read(path: str) -> None:
    """Keeps a file that was opened from being overwritten by the answer."""
    if path != "-" and os.path.isfile(path):
        _READ.add((os.stat(path).st_dev, os.stat(path).st_ino))


def was_read(path: str) -> bool:
    return os.path.isfile(path) and (os.stat(path).st_dev, os.stat(path).st_ino) in _READ


def read_file(path: str) -> File:
    """A text of at most MAX_BYTES; "-" is standard input."""
    name = "<stdin>" if path == "-" else path
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(MAX_BYTES + 1)
        note_read(path)
    except IsADirectoryError:
        raise Refused(f"{name}: a folder, not a file; name a file in it") from None
    except OSError as why:
        raise Refused(f"{name}: cannot be opened ({why.strerror})") from None
    if len(data) > MAX_BYTES:
        raise Refused(f"{name}: too large; a file may have at most {MAX_BYTES >> 20} MiB")
    return File(path, decode(path, data[3:] if data[:3] == b"\xef\xbb\xbf" else data))


def decode(path: str, data: bytes) -> str:
    """UTF-8 without control characters, with the place of what is none."""
    text = data.decode("utf-8", "surrogateescape")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused(f"{path}: UTF-16 text; save the file as UTF-8")
    found = _FOREIGN.search(text)
    if found is None:
        return text
    if data.count(b"\0") > 1:
        raise Refused(f"{path}: binary data, no text; name another file")
    code, before = ord(found[0]), text[:found.start()]
    what = (f"a control character (byte 0x{code:02X}); remove it" if code < 0x80 else
            f"not UTF-8 text (byte 0x{code & 0xff:02X}); save the file as UTF-8")
    raise Refused(f"{path}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: {what}")


def whole_number(text: str) -> Optional[int]:
    """A whole number as a run file has it, or None."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def join(parts: Sequence[object]) -> str:
    return ", ".join(str(part) for part in parts)


def truth(yes: object) -> str:
    return "true" if yes else "false"


class Facts:
    """Facts and notes of one job, each key once, and what its files say of the world."""

    def __init__(self, files: Sequence[File], gpus: int = 0, cluster: Optional[str] = None,
                 env: Mapping[str, str] = {}) -> None:
        self.files, self.env = list(files), env
        self.asked_gpus, self.asked_cluster = gpus, cluster
        self.facts: Dict[str, Fact] = {}
        self.remarks: List[Note] = []
        self.unknown: List[Note] = []
        self.idle: List[Note] = []
        self.refusals: List[str] = []
        self.dropped = 0
        # The world, as far as the files say it; 0: they do not, and `no_world` is why.
        self.gpus = self.per_node = 0
        self.gpus_from = From(files[0].path if files else "")
        self.no_world = ""
        self.gpu: Optional[Tuple[str, From]] = None  # what the files call the GPU
        self.half = False  # no model: what comes out is an overlay for --with

    # ---- facts ----

    def set(self, key: str, source: From, value: object, note: str = "") -> None:
        """The value of a key, instead of any before it."""
        self.facts[key] = Fact(str(value), source, note)

    def explain(self, key: str, note: str) -> None:
        if key in self.facts:
            self.facts[key] = self.facts[key]._replace(note=note)

    def get(self, key: str) -> str:
        """The value of a key, "" where there is none."""
        return self.facts[key].value if key in self.facts else ""

    def count(self, key: str, otherwise: int = 1) -> int:
        """A value as a whole number, or `otherwise` where it is none."""
        found = whole_number(self.get(key))
        return found if found is not None and found <= UINT_MAX else otherwise

    def product(self, *keys: str) -> int:
        found = 1
        for key in keys:
            found *= self.count("layout." + key)
        return found

    def set_lines(self, section: str, source: From, lines: str) -> None:
        """ "section.key" of every line "key: value"."""
        for line in lines.splitlines():
            key, colon, value = line.partition(":")
            if colon:
                value = value.strip()
                self.set(f"{section}.{key}", source, value[1:-1] if value[:1] == "'" else value)

    # ---- notes ----

    def remark(self, source: From, text: str) -> None:
        """It matters to a step, and this is what became of it: no key, a guess, a contradiction."""
        self.remarks.append(Note(source, text))

    def tell_unknown(self, source: From, value: str = "") -> None:
        """A word that no row of the reader knows."""
        self.unknown.append(Note(source, value))

    def tell_idle(self, source: From) -> None:
        """A word that has no part in a step."""
        self.idle.append(Note(source))

    # ---- refusals ----

    def refuse(self, source: From, text: str) -> None:
        """The job cannot be imported as it stands: "PLACE: word: message", and the line."""
        word, at = source
        message = f"{word}: {text}" if word else text
        if at.file and at.line:
            message = f"{at.file.path}:{at.number}:{at.column}: {message}{excerpt(at)}"
        self.refuse_text(message)

    def refuse_text(self, message: str) -> None:
        if len(self.refusals) < MOST_MESSAGES:
            self.refusals.append(message)
        else:
            self.dropped += 1

    @property
    def refused(self) -> bool:
        return bool(self.refusals)

    def stop_if_refused(self) -> None:
        if self.refusals:
            more = [f"{self.dropped} more error{'s' * (self.dropped > 1)}, not shown"]
            raise Refused("\n".join(self.refusals + more * (self.dropped > 0)))

    # ---- what the command line and other files say ----

    def env_count(self, name: str, otherwise: int = 0) -> int:
        """A whole number that --env says."""
        given = self.env.get(name)
        if given is None:
            return otherwise
        found = whole_number(given)
        if not found or found > 1 << 24:
            self.refuse(From(f"--env {name}"), f"'{given}' is no whole number above 0; write one")
            return otherwise
        return found

    def named(self, beside: Optional[File], path: str) -> Optional[File]:
        """A file that a file names: one of those given with the same name, else the file of that
        name beside `beside`. Nothing else is ever opened."""
        name = os.path.basename(path)
        for file in self.files:
            if file.name == name:
                return file
        if not name or beside is None or beside.path == "-":
            return None
        try:
            return read_file(os.path.join(os.path.dirname(beside.path), name))
        except Refused:  # it may well not be there
            return None

    def notice_gpu(self, text: str, source: From) -> None:
        """The GPU that a text names as a word of its own, "gpu:h100:8" or "train_h100.sh"; the first
        one counts."""
        for gpu in GPUS if self.gpu is None else ():
            if re.search(rf"(?<![a-z0-9]){gpu}(?=s|[^a-z0-9]|$)", text, re.I | re.A):
                self.gpu = gpu, source
                return

    def known_gpus(self) -> int:
        """As far as they are known before the job is settled; 0."""
        return self.asked_gpus or self.gpus

    def replicas(self) -> int:
        """What tensor, context and pipeline ranks leave of the world; 0: it is not known, or not a
        multiple of them."""
        each = self.product("tensor", "context", "pipeline")
        return self.known_gpus() // each if each and self.known_gpus() % each == 0 else 0


def excerpt(at: Place) -> str:
    """The line of a place, and a caret below its column; a long line is cut around that."""
    lines = at.file.lines() if at.file and at.shown else []
    line = lines[at.line - 1].rstrip("\r") if 0 < at.line <= len(lines) else ""
    if not line:
        return ""
    column, front = max(at.column - 1, 0), ""
    if column > EXCERPT * 3 // 4:
        line, column, front = line[column - EXCERPT // 2:], EXCERPT // 2, "..."
    behind = "..." if len(line) > EXCERPT else ""
    caret = " " * (column + len(front)) + "^"
    return f"\n    {front}{line[:EXCERPT]}{behind}\n    {caret}"
