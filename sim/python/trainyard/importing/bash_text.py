"""Texts of a script whose every character knows where it was written and what it hangs on."""
from typing import List, NamedTuple, Optional, Tuple

from .facts import File, Place


class Wrong(Exception):
    """The script cannot be read, or goes on too long: where, and why."""

    def __init__(self, at: Place, what: str) -> None:
        super().__init__(what)
        self.at = at


class Doubt(NamedTuple):
    """What only running could tell: "SLURM_NNODES is not set (train.sh:3); give it with ..."."""
    why: str
    unset: bool = False  # a variable without a value: empty where that is asked


Mark = Tuple[Place, Optional[Doubt]]
NOWHERE = Place()


class Text:
    """Characters, with a mark each."""
    __slots__ = ("s", "marks")

    def __init__(self, s: str = "", marks: Optional[List[Mark]] = None) -> None:
        self.s, self.marks = s, marks if marks is not None else []

    @classmethod
    def of(cls, s: str, at: Place = NOWHERE, doubt: Optional[Doubt] = None) -> "Text":
        return cls(s, [(at, doubt)] * len(s))

    @classmethod
    def source(cls, file: File, begin: int, end: int) -> "Text":
        return cls(file.text[begin:end], [(file.place(i), None) for i in range(begin, end)])

    def __add__(self, more: "Text") -> "Text":
        return Text(self.s + more.s, self.marks + more.marks)

    def __iadd__(self, more: "Text") -> "Text":
        return self + more

    def __len__(self) -> int:
        return len(self.s)

    def __getitem__(self, part: slice) -> "Text":
        return Text(self.s[part], self.marks[part])

    @property
    def at(self) -> Place:
        return self.marks[0][0] if self.marks else NOWHERE

    @property
    def doubt(self) -> Optional[Doubt]:
        """The first there is."""
        return next((doubt for _, doubt in self.marks if doubt), None)

    def wholly(self) -> Optional[Doubt]:
        """The doubt that all of it is in."""
        doubts = {doubt for _, doubt in self.marks}
        return next(iter(doubts)) if len(doubts) == 1 else None

    def hanging(self, doubt: Optional[Doubt], begin: int = 0) -> "Text":
        """From a character on in doubt, where it was not."""
        if not doubt:
            return self
        return Text(self.s, self.marks[:begin] + [(at, had or doubt)
                                                  for at, had in self.marks[begin:]])

    def settled(self) -> "Text":
        """Without variables that are not set, as tests see it."""
        if not any(doubt and doubt.unset for _, doubt in self.marks):
            return self
        kept = [(c, mark) for c, mark in zip(self.s, self.marks) if not (mark[1] and mark[1].unset)]
        return Text("".join(c for c, _ in kept), [mark for _, mark in kept])

    def strip_lines(self) -> "Text":
        return self[:len(self.s.rstrip("\n"))]


class Input:
    """What a pipe brings; who reads of it takes it away."""

    def __init__(self, text: Text) -> None:
        self.text = text


def joined(texts: List[Text], between: str = " ") -> Text:
    found = Text()
    for i, text in enumerate(texts):
        found += (Text.of(between) + text) if i else text
    return found


def split_words(text: Text) -> List[Text]:
    """The words of a text by the shell's quotes, not expanded."""
    words: List[Text] = []
    now: Optional[Text] = None
    quote, i = "", 0
    s = text.s
    while i < len(s):
        c, following = s[i], s[i + 1:i + 2]
        if c == "\\" and quote != "'" and following and following in '\n"$':
            i += 1
            if following != "\n":
                now = (now or Text()) + text[i:i + 1]
        elif (not quote and c in "\"'") or c == quote:
            quote = "" if quote else c
            now = now or Text()
        elif not quote and c in " \t\r\n":
            words += [now] if now is not None else []
            now = None
        else:
            now = (now or Text()) + text[i:i + 1]
        i += 1
    return words + ([now] if now is not None else [])
