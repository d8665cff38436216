"""[ ], [[ ]] and patterns. A variable that is not set is empty here, as it is in bash: scripts ask that
way whether it is."""
import re
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Union

from .bash_text import NOWHERE, Doubt, Text

if TYPE_CHECKING:
    from .bash import Shell

# How a condition ended; a Doubt: nobody knows.
Status = Union[bool, Doubt]
NUMERIC: Dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda x, y: x == y, "-ne": lambda x, y: x != y, "-lt": lambda x, y: x < y,
    "-le": lambda x, y: x <= y, "-gt": lambda x, y: x > y, "-ge": lambda x, y: x >= y}
TEXTUAL = ("=", "==", "!=", "=~", "<", ">")
NEST = 32


def pattern(glob: str) -> str:
    """A pattern of bash as a regular expression."""
    found, i = "", 0
    while i < len(glob):
        group = re.compile(r"\[([!^]?)(\]?[^\]]*)\]").match(glob, i)
        if glob[i] == "*":
            found += "" if found.endswith(".*") else ".*"
        elif glob[i] == "?":
            found += "."
        elif group and group[2]:
            inside = re.sub(r"([\\\[\]^&|~])", r"\\\1", group[2])
            found += f"[{'^' * bool(group[1])}{inside}]"
            i = group.end() - 1
        else:
            found += re.escape(glob[i])
        i += 1
    return found


def matches(glob: str, text: str) -> bool:
    try:
        return re.fullmatch(pattern(glob), text, re.S) is not None
    except re.error:  # a range that goes backwards
        return False


class Test:
    def __init__(self, shell: "Shell", words: List[Text], brackets: bool) -> None:
        self.shell, self.words, self.brackets = shell, words, brackets
        self.i = self.depth = 0

    def peek(self, n: int = 0) -> Optional[str]:
        return self.words[self.i + n].s if self.i + n < len(self.words) else None

    def either(self) -> Status:
        found = self.both()
        while self.peek() in ("-o", "||"):
            self.i += 1
            other = self.both()
            found = (True if found is True or other is True else found if isinstance(found, Doubt)
                     else other)
        return found

    def both(self) -> Status:
        found = self.term()
        while self.peek() in ("-a", "&&"):
            self.i += 1
            other = self.term()
            found = (False if found is False or other is False else found
                     if isinstance(found, Doubt) else other)
        return found

    def term(self) -> Status:
        self.depth += 1
        if self.depth > NEST or self.peek() is None:
            return False  # [ ] of nothing
        found = self._term()
        self.depth -= 1
        return found

    def _term(self) -> Status:
        first, second = self.peek() or "", self.peek(1)
        if second is not None and self.peek(2) is not None and (second in NUMERIC
                                                                or second in TEXTUAL):
            self.i += 3
            return self.compare(self.words[self.i - 3], second, self.words[self.i - 1])
        if first == "!":
            self.i += 1
            found = self.term()
            return found if isinstance(found, Doubt) else not found
        if first == "(":
            self.i += 1
            found = self.either()
            self.i += self.peek() == ")"
            return found
        if re.fullmatch("-.", first) and second is not None:
            self.i += 2
            return self.unary(first[1], self.words[self.i - 2], self.words[self.i - 1])
        self.i += 1
        return len(self.words[self.i - 1].settled()) > 0

    def unary(self, what: str, operator: Text, word: Text) -> Status:
        value = word.settled()
        if what == "v":
            return self.shell.value(word.s) is not None
        if what in "zn":
            # what hangs on something is not empty, but for what may not have been said
            if value.doubt and len(value) and value.at == NOWHERE:
                return value.doubt
            return (len(value) == 0) == (what == "z")
        place = self.shell.short(operator.at)
        return Doubt(f"whether -{what} {word.s[:60]} ({place}) holds is known only when it runs")

    def compare(self, left: Text, operator: str, right: Text) -> Status:
        a, b = left.settled(), right.settled()
        doubt = a.doubt or b.doubt
        if operator in NUMERIC:
            x, why = (0, doubt) if doubt else self.shell.arithmetic(a)
            y, why = (0, why) if why else self.shell.arithmetic(b)
            return why or NUMERIC[operator](x, y)
        if doubt:
            return doubt
        if operator == "=~":
            return Doubt(f"=~ {b.s[:60]} is a regular expression")
        if operator in "<>":
            return a.s < b.s if operator == "<" else a.s > b.s
        equal = matches(b.s, a.s) if self.brackets else a.s == b.s
        return equal == (operator != "!=")
