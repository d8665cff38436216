"""A small part of bash as a tree, for bash.py to evaluate: lists of statements, words, ${...}.

Every piece of a word keeps the place where it was written. What bash would not read, or what is not
known here, is Wrong, with its place.
"""
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .facts import File, Place
from .bash_text import Text, Wrong

ENDS = " \t\r\n;|&()<>"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*?$!#-]")
ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?(\+?)=")
FUNCTION = re.compile(r"(function[ \t]+)?([A-Za-z0-9_-]+)[ \t]*(\([ \t]*\))?")
REDIRECTION = re.compile(r"&>>?|[0-9]*(?:<<<|<<-?|<&|<\(|<|>>|>\||>&|>\(|>)")
PLAIN = re.compile(r"[^\\\"'$` \t\r\n;|&()<>]+")
PLAIN_QUOTED = re.compile(r"[^\\$`\"]+")
CLOSERS = ("then", "do", "done", "fi", "else", "elif", "esac", "}")
DECLARES = ("export", "declare", "local", "readonly", "typeset")
DEPTH = 40


class Quoted(NamedTuple):
    """Between double quotes: what it becomes is not split."""
    parts: "Parts"


class Variable(NamedTuple):
    name: str  # of $name, or one of @*#0-9?$!-
    at: Place


class Braces(NamedTuple):
    """${...}; `sign` is "#" of a length, "!" of a name of a name."""
    sign: str
    name: str
    key: "Optional[Parts]"
    operator: str
    arguments: "List[Parts]"
    at: Place


class Arithmetic(NamedTuple):
    parts: "Parts"
    raw: str
    at: Place


class Substitution(NamedTuple):
    body: "Statements"
    raw: str
    at: Place


Part = Union[Text, Quoted, Variable, Braces, Arithmetic, Substitution]
Parts = List[Part]


class Assignment(NamedTuple):
    name: str
    key: Optional[Parts]
    append: bool
    value: Parts
    words: Optional[List[Parts]]  # of NAME=( ... )


class Redirection(NamedTuple):
    operator: str
    errors: bool  # of the standard error alone
    word: Parts
    at: Place


class Simple(NamedTuple):
    items: List[Union[Assignment, Redirection, Parts]]
    at: Place


class Compound(NamedTuple):
    """if, for, while, until, case, [[, ((, {, (, function; what `parts` are follows from that."""
    kind: str
    parts: Tuple[Any, ...]
    at: Place
    redirections: List[Redirection]


class Pipeline(NamedTuple):
    commands: "List[Union[Simple, Compound]]"
    negated: bool


class Statement(NamedTuple):
    """Pipelines with what joins each to those before: "", "&&", "||"."""
    pipelines: List[Tuple[str, Pipeline]]


Statements = Sequence[Statement]


class Parser:
    def __init__(self, file: File) -> None:
        self.file, self.text = file, file.text
        self.i, self.end, self.depth = 0, len(file.text), 0
        self.here: Dict[int, int] = {}  # end of a line: behind its here-documents

    def wrong(self, what: str, at: Optional[int] = None) -> Wrong:
        return Wrong(self.file.place(self.i if at is None else at), what)

    def place(self) -> Place:
        return self.file.place(self.i)

    def peek(self, n: int = 0) -> str:
        return self.text[self.i + n] if self.i + n < self.end else ""

    def at(self, text: str) -> bool:
        return self.i + len(text) <= self.end and self.text.startswith(text, self.i)

    def at_word(self, word: str) -> bool:
        behind = self.peek(len(word))
        return self.at(word) and (behind == "" or behind in ENDS)

    def match(self, pattern: "re.Pattern[str]") -> "Optional[re.Match[str]]":
        return pattern.match(self.text, self.i, self.end)

    def newline(self) -> None:
        self.i = self.here.get(self.i, self.i + 1)

    def blanks(self, lines: bool = False) -> None:
        """Over blanks, comments and lines that go on; with `lines` also over ends of lines."""
        while self.i < self.end:
            now = self.text[self.i]
            if now in " \t\r":
                self.i += 1
            elif now == "\n" and lines:
                self.newline()
            elif self.at("\\\n"):
                self.i += 2
            elif self.at("\\\r\n"):
                self.i += 3
            elif now == "#":
                found = self.text.find("\n", self.i, self.end)
                self.i = self.end if found < 0 else found
            else:
                return

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.wrong("statements are too deep inside each other")

    def closed(self, start: int, opening: str, closing: str, what: str) -> int:
        """The place of the bracket that closes one before `start`, quotes and other brackets inside
        observed."""
        depth, i, quote = 1, start, ""
        while i < self.end:
            now = self.text[i]
            if now == "\\" and quote != "'":
                i += 1
            elif quote:
                quote = "" if now == quote else quote
            elif now in "'\"":
                quote = now
            elif now == closing:
                depth -= 1
                if depth == 0:
                    return i
            elif now == opening:
                depth += 1
            i += 1
        raise self.wrong(what, start)

    def within(self, start: int, end: int, read: Any, *arguments: Any) -> Any:
        """What a method reads of a stretch; afterwards reading goes on where it was."""
        before = self.i, self.end
        self.deeper()
        self.i, self.end = start, end
        found = read(*arguments)
        (self.i, self.end), self.depth = before, self.depth - 1
        return found

    # ---- words ----

    def word(self, ends: str = ENDS) -> Parts:
        """To a character of `ends`, quotes removed."""
        parts: Parts = []
        while self.i < self.end and self.text[self.i] not in ends:
            now = self.text[self.i]
            if now == '"':
                parts.append(self.double_quotes())
            elif now == "'" or self.at("$'"):
                parts.append(self.single_quotes(now == "$"))
            elif self.at('$"'):
                self.i += 1  # a text that would be translated
            elif now in "$`":
                parts.append(self.dollar())
            elif now == "\\" and self.i + 1 < self.end:
                self.i += 1
                if self.text[self.i] in "\r\n":
                    self.i += 1
                else:
                    self.literal(parts)
            else:
                self.literal(parts, PLAIN)
        return parts

    def literal(self, parts: Parts, pattern: "Optional[re.Pattern[str]]" = None) -> None:
        """One character, or as many as a pattern has."""
        found = self.match(pattern) if pattern else None
        start, self.i = self.i, found.end() if found else self.i + 1
        text = Text.source(self.file, start, self.i)
        if parts and isinstance(parts[-1], Text):
            parts[-1] += text
        else:
            parts.append(text)

    def single_quotes(self, escapes: bool) -> Part:
        self.i += 1 + escapes
        found = Text()
        while self.i < self.end and self.text[self.i] != "'":
            now, place = self.text[self.i], self.place()
            if escapes and now == "\\" and self.i + 1 < self.end:
                self.i += 1
                now = {"n": "\n", "t": "\t"}.get(self.text[self.i], self.text[self.i])
            found += Text.of(now, place)
            self.i += 1
        if self.i >= self.end:
            raise self.wrong("a single quote is not closed; write another one")
        self.i += 1
        return Quoted([found])

    def double_quotes(self) -> Part:
        self.i += 1
        parts = self.quoted('"')
        if self.i >= self.end:
            raise self.wrong("a double quote is not closed; write another one")
        self.i += 1
        return Quoted(parts)

    def quoted(self, closing: str = "") -> Parts:
        """Text between quotes or in a here-document, to `closing` or the end."""
        parts: Parts = []
        while self.i < self.end and self.text[self.i] != closing:
            now = self.text[self.i]
            if now == "\\" and self.peek(1) and self.peek(1) in '$`"\\\n':
                self.i += 1
                if self.text[self.i] == "\n":
                    self.i += 1
                else:
                    self.literal(parts)
            elif now in "$`":
                parts.append(self.dollar())
            else:
                self.literal(parts, PLAIN_QUOTED)
        return parts

    def dollar(self) -> Part:
        at, start = self.place(), self.i
        if self.at("$((") or self.at("$["):
            return self.arithmetic()
        if self.at("$("):
            self.i += 2
            self.deeper()
            body = self.statements()
            self.depth -= 1
            if self.peek() != ")":
                raise self.wrong("a command substitution is not closed; write ) behind it",
                                 start + 2)
            self.i += 1
            return Substitution(body, self.text[start:self.i], at)
        if self.at("`"):
            end = self.text.find("`", start + 1, self.end)
            if end < 0:
                raise self.wrong("a command substitution is not closed; write ) behind it",
                                 start + 1)
            body = self.within(start + 1, end, self.whole)
            self.i = end + 1
            return Substitution(body, self.text[start:self.i], at)
        if self.at("${"):
            return self.braces()
        self.i += 1
        found = self.match(NAME)
        if found:
            self.i = found.end()
            return Variable(found[0], at)
        if self.peek() and self.peek() in "@*#0123456789?$!-":
            self.i += 1
            return Variable(self.text[self.i - 1], at)
        return Text.of("$", at)

    def arithmetic(self) -> Part:
        at, start = self.place(), self.i
        double = self.text[start + 1] == "("
        begin = start + (3 if double else 2)
        what = "an expression is not closed; write )) behind it"
        end = self.closed(begin, *("()" if double else "[]"), what)
        if double and self.text[end + 1:end + 2] != ")":
            raise self.wrong(what, begin)
        parts = self.within(begin, end, self.quoted)
        self.i = end + (2 if double else 1)
        return Arithmetic(parts, self.text[start:self.i], at)

    def braces(self) -> Part:
        at, start = self.place(), self.i + 2
        end = self.closed(start, "{", "}", "a ${ is not closed; write } behind it")
        found: Part = self.within(start, end, self.parameter, at)
        self.i = end + 1
        return found

    def parameter(self, at: Place) -> Part:
        sign = self.peek() if self.peek() in ("#", "!") and self.end - self.i > 1 else ""
        self.i += len(sign)
        name = self.match(PARAMETER)
        if not name:
            raise self.wrong("no name behind ${; write one, such as ${NNODES}")
        self.i = name.end()
        key = None
        if self.peek() == "[":
            end = self.closed(self.i + 1, "[", "]", "a [ is not closed; write ] behind it")
            inside = self.text[self.i + 1:end]
            left = len(inside) - len(inside.lstrip("\"'"))
            right = len(inside) - len(inside.rstrip("\"'"))
            key = self.within(self.i + 1 + left, max(end - right, self.i + 1 + left), self.quoted)
            self.i = end + 1
        rest = self.text[self.i:self.end]
        operator = next((op for op in (":-", ":=", ":?", ":+", "-", "=", "?", "+", "##", "%%", "#",
                                       "%", "//", "/", "^^", "^", ",,", ",", ":")
                         if rest.startswith(op)), rest[:1])
        self.i += len(operator)
        arguments: List[Parts] = []
        if operator in ("/", "//"):
            middle = self.text.find("/", self.i, self.end)
            middle = self.end if middle < 0 else middle
            arguments = [self.within(self.i, middle, self.quoted),
                         self.within(min(middle + 1, self.end), self.end, self.quoted)]
        elif operator.lstrip(":") in ("-", "=", "?", "+") and operator:
            arguments = [self.word("")]
        elif operator:
            arguments = [self.quoted()]
        return Braces(sign, name[0], key, operator, arguments, at)

    # ---- redirections ----

    def redirection(self) -> Optional[Redirection]:
        found = self.match(REDIRECTION)
        if not found:
            return None
        at = self.file.place(found.end())
        number = found[0].rstrip("<>&|(-")
        operator = found[0][len(number):]
        self.i = found.end()
        word: Parts = []
        if operator.endswith("("):
            self.i = self.closed(self.i, "(", ")", "a ( is not closed; write ) behind it") + 1
        elif operator in ("<<", "<<-"):
            word = self.here_document(operator == "<<-")
        else:
            self.blanks()
            word = self.word()
        return Redirection(operator, number not in ("", "0", "1"), word, at)

    def here_document(self, tabs: bool) -> Parts:
        self.blanks()
        start = self.i
        while self.i < self.end and self.text[self.i] not in ENDS:
            self.i += 1
        raw = self.text[start:self.i]
        delimiter = re.sub(r"['\"\\]", "", raw)
        line_end = self.text.find("\n", self.i, self.end)
        if line_end < 0:
            line_end = self.end
        begin = line = self.here.get(line_end, min(line_end + 1, self.end))
        while True:
            end = self.text.find("\n", line, self.end)
            end = self.end if end < 0 else end
            found = self.text[line:end].removesuffix("\r")
            if (found.lstrip("\t") if tabs else found) == delimiter:
                break
            if end == self.end:
                raise self.wrong("a here-document has no end; write its delimiter alone on a line")
            line = end + 1
        self.here[line_end] = min(end + 1, self.end)
        if raw != delimiter:
            return [Text.source(self.file, begin, line)]
        found_parts: Parts = self.within(begin, line, self.quoted)
        return found_parts

    # ---- statements ----

    def whole(self) -> Statements:
        """All there is."""
        found = self.statements()
        if self.i < self.end:
            raise self.wrong("nothing is open here that this would end")
        return found

    def ends(self) -> bool:
        return (self.i >= self.end or self.text[self.i] == ")" or self.at(";;")
                or any(self.at_word(word) for word in CLOSERS))

    def statements(self) -> Statements:
        found: List[Statement] = []
        self.deeper()
        while True:
            self.blanks(True)
            while self.peek() in (";", "&") and self.i < self.end and not self.ends():
                self.i += 1
                self.blanks(True)
            if self.ends():
                break
            before = self.i
            found.append(self.statement())
            if self.i == before:
                raise self.wrong("this cannot be read as a statement")
        self.depth -= 1
        return found

    def statement(self) -> Statement:
        pipelines = [("", self.pipeline())]
        while True:
            self.blanks()
            joined = "&&" if self.at("&&") else "||" if self.at("||") else ""
            if not joined:
                return Statement(pipelines)
            self.i += 2
            self.blanks(True)
            pipelines.append((joined, self.pipeline()))

    def pipeline(self) -> Pipeline:
        negated, commands = False, []
        while self.at_word("!"):
            negated = not negated
            self.i += 1
            self.blanks()
        while True:
            commands.append(self.compound() or self.simple())
            self.blanks()
            if self.peek() != "|" or self.peek(1) == "|":
                return Pipeline(commands, negated)
            self.i += 2 if self.at("|&") else 1
            self.blanks(True)

    def simple(self) -> Simple:
        items: List[Union[Assignment, Redirection, Parts]] = []
        at: Optional[Place] = None
        assigns = True
        self.blanks()
        start = self.place()
        while self.i < self.end:
            found = self.match(ASSIGNED) if assigns else None
            redirection = None if found else self.redirection()
            if found:
                items.append(self.assignment(found))
            elif redirection:
                items.append(redirection)
            elif self.text[self.i] in "\n;|&()":
                break
            else:
                at = at or self.place()
                items.append(self.word())
                assigns = self.declares(items)
            self.blanks()
        return Simple(items, at or start)

    @staticmethod
    def declares(items: Sequence[Any]) -> bool:
        """Whether the first word of all is one behind which there are assignments."""
        first = next((item for item in items if isinstance(item, list)), None)
        return bool(first) and isinstance(first[0], Text) and first[0].s in DECLARES

    def assignment(self, found: "re.Match[str]") -> Assignment:
        key = None
        if found[2]:
            key = self.within(found.start(2) + 1, found.end(2) - 1, self.word, "")
        self.i = found.end()
        if self.peek() == "(" and key is None:
            return Assignment(found[1], None, bool(found[3]), [], self.array())
        return Assignment(found[1], key, bool(found[3]), self.word(), None)

    def array(self) -> List[Parts]:
        words: List[Parts] = []
        self.i += 1
        self.blanks(True)
        while self.i < self.end and self.text[self.i] != ")":
            if self.text[self.i] in ENDS:
                raise self.wrong("this cannot be in an array; quote it")
            words.append(self.word())
            self.blanks(True)
        if self.i >= self.end:
            raise self.wrong("an array is not closed; write ) behind it")
        self.i += 1
        return words

    # ---- compounds ----

    def take(self, word: str) -> None:
        self.blanks(True)
        while self.peek() == ";" and self.peek(1) != ";":
            self.i += 1
            self.blanks(True)
        if not self.at_word(word):
            raise self.wrong(f"{word} is missing here")
        self.i += len(word)

    def compound(self) -> Optional[Compound]:
        at = self.place()
        self.deeper()
        kind, parts = self.compound_parts()
        self.depth -= 1
        if not kind:
            return None
        redirections = []
        self.blanks()
        while kind != "function" and (found := self.redirection()):
            redirections.append(found)
            self.blanks()
        return Compound(kind, parts, at, redirections)

    def compound_parts(self) -> Tuple[str, Tuple[Any, ...]]:
        for kind, read in (("if", self.if_), ("for", self.for_), ("while", self.while_),
                           ("until", self.while_), ("case", self.case), ("[[", self.test)):
            if self.at_word(kind):
                return kind, read(kind)
        if self.at("(("):
            return "((", (self.double_brackets(),)
        if self.at("(") or self.at_word("{"):
            closing = ")" if self.at("(") else "}"
            self.i += 1
            body = self.statements()
            self.blanks(True)
            if self.peek() != closing:
                raise self.wrong(f"{closing} is missing here")
            self.i += 1
            return "{", (body,)
        return self.function()

    def if_(self, _: str) -> Tuple[Any, ...]:
        branches, word = [], "if"
        while True:
            place = self.place()
            self.take(word)
            condition = self.statements()
            self.take("then")
            branches.append((condition, self.statements(), place))
            self.blanks(True)
            word = "elif"
            if not self.at_word(word):
                break
        otherwise: Statements = []
        if self.at_word("else"):
            self.take("else")
            otherwise = self.statements()
        self.take("fi")
        return branches, otherwise

    def body(self) -> Statements:
        self.take("do")
        found = self.statements()
        self.take("done")
        return found

    def for_(self, _: str) -> Tuple[Any, ...]:
        self.take("for")
        self.blanks()
        if self.at("(("):
            parts = self.double_brackets()
            return "", parts, self.body()
        found = self.match(NAME)
        name = found[0] if found else ""
        self.i += len(name)
        self.blanks()
        words = None
        if self.at_word("in"):
            self.take("in")
            self.blanks()
            words = []
            while self.peek() not in ("", "\n", ";") and self.text[self.i] not in ENDS:
                words.append(self.word())
                self.blanks()
        return name, words, self.body()

    def while_(self, kind: str) -> Tuple[Any, ...]:
        self.take(kind)
        return self.statements(), self.body()

    def case(self, _: str) -> Tuple[Any, ...]:
        self.take("case")
        self.blanks(True)
        word = self.word()
        self.take("in")
        branches = []
        self.blanks(True)
        while self.i < self.end and not self.at_word("esac"):
            patterns = self.patterns()
            branches.append((patterns, self.statements()))
            while self.peek() in (";", "&") and self.i < self.end:
                self.i += 1
            self.blanks(True)
        self.take("esac")
        return word, branches

    def patterns(self) -> List[Parts]:
        found: List[Parts] = []
        self.i += self.peek() == "("
        self.blanks()
        while self.i < self.end and self.text[self.i] != ")":
            if self.text[self.i] == "|":
                self.i += 1
            elif self.text[self.i] in ENDS:
                raise self.wrong("this cannot be a pattern of case")
            else:
                found.append(self.word())
            self.blanks()
        self.i += 1
        return found

    def test(self, _: str) -> Tuple[Any, ...]:
        words: List[Parts] = []
        raw = False  # what comes is a regular expression
        self.take("[[")
        self.blanks(True)
        while self.i < self.end and not self.at_word("]]"):
            start, at = self.i, self.place()
            if raw:
                while self.i < self.end and self.text[self.i] not in " \t\n":
                    self.i += 1
            elif self.text[self.i] in "&|()<>;":
                self.i += 2 if self.text[self.i] in "&|" and self.peek(1) == self.peek() else 1
            if self.i > start:
                words.append([Text.of(self.text[start:self.i], at)])
            else:
                words.append(self.word())
            raw = self.text[start:self.i] == "=~"
            self.blanks(True)
        self.take("]]")
        return (words,)

    def double_brackets(self) -> Parts:
        start = self.i + 2
        what = "(( is not closed; write )) behind it"
        end = self.closed(start, "(", ")", what)
        if self.text[end + 1:end + 2] != ")":
            raise self.wrong(what, start)
        self.i = end + 2
        parts: Parts = self.within(start, end, self.quoted)
        return parts

    def function(self) -> Tuple[str, Tuple[Any, ...]]:
        found = self.match(FUNCTION)
        if not found or not (found[1] or found[3]):
            return "", ()
        self.i = found.end()
        self.blanks(True)
        body = self.compound()
        if body is None:
            raise self.wrong("a function has no body; write { behind its name")
        return "function", (found[2], body)
