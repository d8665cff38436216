"""Lines of a log that somebody asked for, out of files of any size.

A file is read in pieces of a few MiB, gzip or not. Nothing is decoded but lines that hold one of the
words that handlers wait for, and lines of a block that a handler captures. Memory is bounded by a
piece, by the longest line that is kept, and by the longest block.
"""
import gzip
import re
from typing import (BinaryIO, Callable, Container, Dict, Iterator, List, NamedTuple, Optional,
                    Tuple)

from ..facts import Refused, note_read

PIECE = 4 << 20          # bytes that are read at once
LONGEST_LINE = 64 << 10  # bytes of a line; the rest is left out
LONGEST_BLOCK = 20000    # lines
OFTEN = 50000            # lines with one word, behind which some are passed over

# What launchers and torchrun put before a line, such as "[rank0]:", "[default7]:", "[1,0]<stdout>:",
# "0: " of srun, and "node-3: " of pdsh.
_LABEL = re.compile(r"\s*((?:\[(?:rank|default)?\d+\]:?|\[\d+,\d+\]<std\w+>:|\d{1,6}:|"
                    r"[a-z][\w.-]*\d[\w.-]*:(?= ))\s?)")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Line(NamedTuple):
    """A line without escapes and control characters; `label` is what a launcher put before it."""
    file: str
    number: int
    text: str
    label: str = ""


class Block:
    """Lines behind `first` that a handler captures. It ends before a line that `ends` matches, or, with
    `brackets`, such as "{}", behind the line that closes what `first` opens. Lines that another rank
    wrote between them, by their label, are left out."""

    def __init__(self, first: Line, done: "Callable[[Block], None]", start: str = "",
                 ends: str = "", brackets: str = "", lead: bool = False) -> None:
        self.first, self.done, self.brackets = first, done, brackets
        self._lead = lead  # whether lines that `ends` matches are skipped before the first other one
        self.ends = re.compile(ends) if ends else None
        self.lines: List[str] = []
        self.numbers: List[int] = []
        self._depth = 0
        if start:
            self._add(start, first.number)

    def _add(self, text: str, number: int) -> bool:
        self.lines.append(text)
        self.numbers.append(number)
        if self.brackets:
            self._depth += text.count(self.brackets[0]) - text.count(self.brackets[1])
        return len(self.lines) < LONGEST_BLOCK and not (self.brackets and self._depth <= 0)

    @property
    def closed(self) -> bool:
        return bool(self.brackets and self.lines and self._depth <= 0)

    def take(self, line: Line) -> Tuple[bool, bool]:
        """Whether the line belongs to the block, and whether the block goes on behind it."""
        text = line.text
        if self.first.label:
            if not text.startswith(self.first.label.rstrip()):
                return True, True
            text = text[len(self.first.label):]
        if self.ends and self.ends.search(text):
            return (True, True) if self._lead else (False, False)
        self._lead = self._lead and not text.strip()
        return True, self._add(text, line.number)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def clean(data: bytes) -> str:
    """Text that is safe to print: no escapes, no control characters, no bytes that are not UTF-8."""
    text = data.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return _CONTROL.sub("", text)


def label_of(text: str) -> str:
    found = _LABEL.match(text)
    return found[0] if found else ""


def open_log(path: str) -> BinaryIO:
    try:
        file = open(0 if path == "-" else path, "rb", closefd=path != "-")
        note_read(path)
        if path != "-" and file.read(2) == b"\x1f\x8b":
            file.close()
            return gzip.open(path, "rb")  # type: ignore[return-value]
        if path != "-":
            file.seek(0)
        return file
    except IsADirectoryError:
        raise Refused(f"{path}: a folder, not a file; name a log in it") from None
    except OSError as why:
        raise Refused(f"{path}: cannot be opened ({why.strerror})") from None


def pieces(path: str) -> Iterator[Tuple[bytes, int]]:
    """Whole lines of a file, a piece at a time, and the number of the first of them. A piece that has
    no end of a line is a line of its own."""
    number, rest = 1, b""
    with open_log(path) as file:
        while True:
            try:
                data = file.read(PIECE)
            except (OSError, EOFError) as why:
                raise Refused(f"{path}: cannot be read to its end ({clean(str(why).encode())}); "
                              "unpack it, or give the part that can be read") from None
            data = rest + data if rest else data
            if len(data) == len(rest):
                break
            end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 or len(data)
            rest = data[end:]
            yield data[:end], number
            number += data.count(b"\n", 0, end)
    if rest:
        yield rest, number


Handler = Callable[[Line], Optional[Block]]


class Scanner:
    """Calls handlers for the lines of files that hold their words, in the order of the file."""

    def __init__(self, handlers: Dict[str, Handler]) -> None:
        self.handlers = handlers
        self.met = dict.fromkeys(handlers, 0)  # lines with each word
        self.block: Optional[Block] = None
        self._at = self._number = 0  # an offset of the piece, and the number of the line there

    def keep(self, words: Container[str]) -> None:
        """From now on only these words count."""
        self.handlers = {word: self.handlers[word] for word in self.handlers if word in words}

    def _found(self, text: bytes, start: int) -> List[int]:
        """Where lines with a word begin behind `start`, each once, in order. Of a word in more than
        OFTEN lines ever fewer are taken, so that millions of steps cost no more than some."""
        found = set()
        for word in self.handlers:
            word_bytes, met = word.encode(), self.met[word]
            at = text.find(word_bytes, start)
            while at >= 0:
                met += 1
                if met < OFTEN or met % (2 * met // OFTEN) == 0:
                    found.add(text.rfind(b"\n", start, at) + 1 or start)
                end = text.find(b"\n", at)
                at = text.find(word_bytes, end) if end >= 0 else -1
            self.met[word] = met
        return sorted(found)

    def _line(self, path: str, data: bytes, text: bytes, begin: int) -> Tuple[Line, int]:
        """The line that begins there, and where the next one does."""
        end = text.find(b"\n", begin)
        end = len(text) if end < 0 else end
        self._number += data.count(b"\n", self._at, begin)
        self._at = begin
        line = clean(text[begin:min(end, begin + LONGEST_LINE)])
        return Line(path, self._number, line), end + 1

    def scan(self, path: str, data: bytes, number: int) -> None:
        """A piece of a file, whose first line has this number."""
        # Progress bars end their lines with a carriage return; offsets stay what they are.
        text = data.replace(b"\r", b"\n") if b"\r" in data else data
        self._at, self._number = 0, number
        start = self._capture(path, data, text, 0)
        for begin in self._found(text, start):
            if begin >= start:
                line, start = self._line(path, data, text, begin)
                self._handle(line)
                if self.block is not None and self.block.closed:
                    self.finish()
                start = self._capture(path, data, text, start)

    def _handle(self, line: Line) -> None:
        for word, handler in self.handlers.items():
            if word in line.text:
                self.block = handler(line._replace(label=label_of(line.text))) or self.block
                return

    def _capture(self, path: str, data: bytes, text: bytes, start: int) -> int:
        """Gives lines to the block, where there is one; returns where the next line begins."""
        while self.block is not None and start < len(text):
            line, behind = self._line(path, data, text, start)
            belongs, goes_on = self.block.take(line)
            start = behind if belongs else start
            if not goes_on:
                self.finish()
        return start

    def finish(self) -> None:
        """Ends a block, also one that the end of a file cut."""
        if self.block is not None:
            block, self.block = self.block, None
            block.done(block)
