"""Arithmetic of bash, in 64 bits. Division by zero and numbers that are none are in doubt like what is
not set."""
import re
from typing import Callable, Dict, List, Optional, Tuple

from .bash_text import Doubt

TOKEN = re.compile(r"[ \t\r\n\"]*(\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[0-9.]+|[A-Za-z_][A-Za-z0-9_]*|\S)")
BINARY: List[Dict[str, Callable[[int, int], int]]] = [  # rows bind tighter downwards
    {"||": lambda x, y: int(bool(x or y))},
    {"&&": lambda x, y: int(bool(x and y))},
    {"==": lambda x, y: int(x == y), "!=": lambda x, y: int(x != y)},
    {"<": lambda x, y: int(x < y), ">": lambda x, y: int(x > y), "<=": lambda x, y: int(x <= y),
     ">=": lambda x, y: int(x >= y)},
    {"<<": lambda x, y: x << y if 0 <= y < 32 and 0 <= x < 1 << 31 else 0,
     ">>": lambda x, y: x >> y if 0 <= y < 32 and 0 <= x < 1 << 31 else 0},
    {"+": lambda x, y: x + y, "-": lambda x, y: x - y},
    {"*": lambda x, y: x * y, "/": lambda x, y: abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1),
     "%": lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1)},
    {"**": lambda x, y: x ** min(max(y, 0), 64)},
]
LEVEL = {op: level for level, row in enumerate(BINARY) for op in row}
NEST = 64
Value = Tuple[int, Optional[Doubt]]


class _Doubtful(Exception):
    pass


class _Reader:
    def __init__(self, text: str, variable: Callable[[str], Value]) -> None:
        self.tokens = [found[1] for found in TOKEN.finditer(text)]
        self.i, self.depth, self.variable = 0, 0, variable
        self.doubt: Optional[Doubt] = None

    def peek(self) -> str:
        return self.tokens[self.i] if self.i < len(self.tokens) else ""

    def take(self) -> str:
        self.i += 1
        return self.tokens[self.i - 1] if self.i <= len(self.tokens) else ""

    def choice(self) -> int:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take()
        yes = self.choice()
        no = self.choice() if self.take() == ":" else 0
        return yes if condition else no

    def binary(self, level: int) -> int:
        x = self.primary()
        while LEVEL.get(self.peek(), -1) >= level:
            op = self.take()
            y = self.binary(LEVEL[op] + 1)
            if op in "/%" and y == 0:
                raise _Doubtful("divides by zero")
            x = BINARY[LEVEL[op]][op](x, y)
            if not -1 << 63 <= x < 1 << 63:
                raise _Doubtful("is too large")
        return x

    def primary(self) -> int:
        self.depth += 1
        if self.depth > NEST:
            raise _Doubtful("is too deep")
        found = self._primary(self.take())
        self.depth -= 1
        return found

    def _primary(self, token: str) -> int:
        if token == "(":
            value = self.choice()
            if self.take() != ")":
                raise _Doubtful("is not closed")
            return value
        if token in ("-", "+", "!"):
            value = self.primary()
            return int(not value) if token == "!" else -value if token == "-" else value
        if token[:1].isdigit():
            if "." in token or int(token) >= 1 << 63:
                raise _Doubtful("has a number that bash does not")
            return int(token)
        if re.match("[A-Za-z_]", token):
            value, doubt = self.variable(token)
            self.doubt = self.doubt or doubt
            return value
        raise _Doubtful("is no arithmetic")


def evaluate(text: str, place: str, variable: Callable[[str], Value]) -> Value:
    """The value of an expression, or its doubt; nothing is 0."""
    reader = _Reader(text, variable)
    try:
        value = reader.choice() if reader.tokens else 0
        if reader.i < len(reader.tokens):
            raise _Doubtful("is no arithmetic")
    except _Doubtful as why:
        return 0, reader.doubt or Doubt(f"{text[:60]} ({place}) {why}")
    return value, reader.doubt
