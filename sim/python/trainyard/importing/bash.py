"""A small part of bash, read and never run: what a script would hand to its programs.

Assignments, arrays, strings, ${NAME:-x} and its kin, $(( )), tests, if, case, for, while, functions,
here-documents, a few programs that print texts (bash_builtins.py) and files that are sourced are
evaluated. No program is started and no file opened but those of the job. What only running could
tell becomes a doubt: a stretch of text that says what it hangs on. A doubt costs nothing until
somebody needs the value; then it is refused, by name and with its place.

    NODES=${SLURM_NNODES}          "$SLURM_NNODES", in doubt: SLURM_NNODES is not set
    GPUS=$((8 * NODES))            "$((..))", the same
    if [ -f x ]; then              nobody knows: what is set below hangs on that
"""
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from .bash_arith import Value, evaluate
from .bash_builtins import BUILTINS, Outcome, PROGRAM
from .bash_parse import (Arithmetic, Assignment, Braces, Compound, Parser, Part, Parts, Pipeline,
                         Quoted, Redirection, Simple, Statement, Statements, Substitution, Variable)
from .bash_test import Test, matches
from .bash_text import NOWHERE, Doubt, Input, Text, Wrong, joined
from .facts import Facts, File, From, Place

ROUNDS, DEPTH, SPENT, STATEMENT = 1000, 40, 4 << 20, 64
QUOTE = 60  # characters of source that a message quotes
STEP = re.compile(r"\s*([A-Za-z_]\w*) *(?:(=)(?!=)|(\+\+|--)|([-+*/%])=)", re.A)


class Broke(Exception):
    """Out of a round of a loop, by break or continue."""


class Returned(Exception):
    """Out of a function or file."""


class Ended(Exception):
    """By exit."""


class Command(NamedTuple):
    """A program that would be started, and whether it is at all."""
    words: List[Text]
    at: Place
    doubt: Optional[Doubt]


class Array(Dict[str, Text]):
    """Items by their keys: "0", or a word of an associative array."""


class Shell:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.files: List[File] = []
        self.vars: Dict[str, Union[Text, Array]] = {}
        self.args: List[Text] = []
        self.functions: Dict[str, Compound] = {}
        self.commands: List[Command] = []
        self.written: Dict[str, Text] = {}
        self.doubt: Optional[Doubt] = None  # whether statements are executed at all
        self.answers = False  # inside $( ), whose exit ends nothing else
        self.ended: Optional[Place] = None
        self.out: Optional[Text] = None  # where output goes; None: to the terminal
        self.input: Optional[Input] = None  # what a pipe brings
        self.depth = self.spent = 0

    # ---- files ----

    def run(self, file: File) -> None:
        """Evaluates a script; --env 1=..., 2=... are its arguments."""
        number = 1
        while str(number) in self.facts.env:
            self.args.append(Text.of(self.facts.env[str(number)]))
            number += 1
        try:
            self.source(file, None)
        except Ended:
            pass
        except Wrong as why:
            self.facts.refuse(From("" if why.at.line else file.path, why.at), str(why))
            self.ended = why.at

    def source(self, file: File, args: Optional[List[Text]]) -> None:
        """A file, sourced or started with arguments (None: those there are)."""
        if self.depth > DEPTH or len(self.files) > 60:
            return
        self.files.append(file)
        body = Parser(file).whole()
        outer, self.args = self.args, self.args if args is None else args
        self.depth += 1
        try:
            self.statements(body)
        except Returned:
            pass
        finally:
            self.depth -= 1
            self.args = outer if args is not None else self.args

    def file_text(self, path: str, at: Place) -> Optional[Text]:
        """Of a file of the job, or one that the script wrote."""
        if path not in self.written:
            file = self.facts.named(at.file, path)
            if file is None:
                return None
            self.written[path] = Text.source(file, 0, len(file.text)).hanging(self.doubt)
        return self.written[path]

    def write(self, path: str, text: Text, append: bool) -> None:
        before = self.written.get(path, Text()) if append else Text()
        self.written[path] = (before + text).hanging(self.doubt)

    def short(self, at: Place) -> str:
        return at.short() or f"{self.files[0].name}:{at.line}"

    def spend(self, cost: int) -> None:
        self.spent += cost
        if self.spent > SPENT:
            raise Wrong(Place(self.files[0]), f"it expands to more than {SPENT >> 20} MiB of "
                                                 "text")

    # ---- variables ----

    def value(self, name: str) -> Optional[Text]:
        """Of a variable, --env before the script; None: it is not set."""
        found = self.vars.get(name)
        if found is None and name in self.facts.env:
            found = self.vars[name] = Text.of(self.facts.env[name])
        return found.get("0", Text()) if isinstance(found, Array) else found

    def assign(self, name: str, value: Text, append: bool = False) -> None:
        """What is assigned below a condition that nobody can decide hangs on it: the whole value, or
        of one that grew what was added."""
        old = self.vars.get(name)
        before = old if isinstance(old, Text) else None
        now = before + value if append and before else value
        self.spend(len(now))
        if self.doubt:
            if before is not None and before.s == now.s:
                now = before
            elif not now:  # emptied, or not
                now = Text.of("?", NOWHERE, self.doubt)
            else:
                grew = before is not None and now.s.startswith(before.s)
                now = now.hanging(self.doubt, len(before) if before is not None and grew else 0)
        self.vars[name] = now

    def assign_given(self, name: str, value: Text, append: bool = False) -> None:
        """A value of which only running could tell all is that of --env, or asks for it."""
        doubt = value.wholly()
        if doubt and "--env" not in doubt.why:
            if name in self.facts.env:
                value, append = Text.of(self.facts.env[name]), False
            else:
                asks = Doubt(f"{doubt.why}; give it with --env {name}=VALUE")
                value = Text(value.s, [(at, asks) for at, _ in value.marks])
        self.assign(name, value, append)

    def array(self, name: str, keep: bool) -> Array:
        """A variable as an array: a value becomes its first item."""
        old = self.vars.get(name)
        found = Array(old if keep and isinstance(old, Array) else
                      {"0": old} if keep and isinstance(old, Text) else {})
        self.vars[name] = found
        return found

    def assign_array(self, name: str, words: List[Text], append: bool) -> None:
        items = self.array(name, append)
        for word in words:
            self.spend(len(word) + 8)
            end = word.s.find("]=") if word.s.startswith("[") else -1
            if end >= 0:  # ["7B"]=4096 of an associative array
                items[word.s[1:end]] = word[end + 2:].hanging(self.doubt)
            else:
                items[str(len(items))] = word.hanging(self.doubt)

    def number(self, name: str) -> Value:
        """A variable in an expression; its value is an expression, too."""
        value = self.value(name)
        if value is None:
            return 0, self.unset(name, self.at)
        self.depth += 1
        found = self.arithmetic(value) if self.depth < DEPTH + 20 else (0, Doubt("it is too deep"))
        self.depth -= 1
        return found

    def arithmetic(self, text: Text) -> Value:
        if text.doubt:
            return 0, text.doubt
        before, self.at = getattr(self, "at", NOWHERE), text.at
        found = evaluate(text.s, self.short(text.at), self.number)
        self.at = before
        return found

    def unset(self, name: str, at: Place) -> Doubt:
        shown = "$" + name if name[0].isdigit() else name
        return Doubt(f"{shown} is not set ({self.short(at)}); give it with --env {name}=VALUE",
                     True)

    # ---- words ----

    def words(self, parts: Parts) -> List[Text]:
        """A word, expanded and split."""
        fields: List[Text] = []
        now: Optional[Text] = None
        for part in parts:
            if isinstance(part, Text):
                now = part if now is None else now + part
            elif isinstance(part, Quoted):
                items = self.items(part)
                if items is None:
                    text = self.text(part.parts)
                    now = text if now is None else now + text
                    continue
                for i, item in enumerate(items):  # words of their own: "${a[@]}"
                    fields += [now] if i and now is not None else []
                    now = item if i or now is None else now + item
            else:
                values = self.items(Quoted([part]))
                for i, value in enumerate(self.part(part) if values is None else values):
                    fields += [now] if i and now is not None else []
                    now = None if i else now
                    now = self.split(value, fields, now)
        return fields + ([now] if now is not None else [])

    @staticmethod
    def split(value: Text, fields: List[Text], now: Optional[Text]) -> Optional[Text]:
        """What an unquoted expansion brings: it is split at blanks."""
        start = 0
        for found in re.finditer(r"[ \t\n]", value.s):
            piece = value[start:found.start()]
            start = found.end()
            if now is not None or len(piece):
                fields.append((now or Text()) + piece)
            now = None
        rest = value[start:]
        return (now or Text()) + rest if len(rest) or now is not None else None

    def text(self, parts: Parts) -> Text:
        """A word that is not split: a value, an operand of [[ ]], what a redirection names."""
        found = Text()
        for part in parts:
            if isinstance(part, Text):
                found += part
            elif isinstance(part, Quoted):
                found += self.text(part.parts)
            else:
                found += joined(self.part(part))
            self.spend(8)
        return found

    def items(self, quoted: Quoted) -> Optional[List[Text]]:
        """Of "${a[@]}" and "$@" with what stands beside them; None: it is neither."""
        for i, part in enumerate(quoted.parts):
            every: Optional[List[Text]] = None
            if isinstance(part, Variable) and part.name == "@":
                every = list(self.args)
            elif isinstance(part, Braces) and not part.sign and not part.operator:
                key = self.text(part.key).s if part.key is not None else ""
                if part.name == "@":
                    every = list(self.args)
                elif key == "@":
                    every = self.all_of(part.name)
            if every is None:
                continue
            before, behind = self.text(quoted.parts[:i]), self.text(quoted.parts[i + 1:])
            if not every:
                return [before + behind] if len(before) + len(behind) else []
            every[0] = before + every[0]
            every[-1] = every[-1] + behind
            return every
        return None

    def part(self, part: Part) -> List[Text]:
        if isinstance(part, Variable):
            return self.variable(part.name, part.at)
        if isinstance(part, Braces):
            return [self.braces(part)]
        if isinstance(part, Arithmetic):
            value, doubt = self.arithmetic(self.text(part.parts))
            return [self.raw(part.raw, part.at, doubt) if doubt else Text.of(str(value), part.at)]
        assert isinstance(part, Substitution)
        return [self.substitution(part)]

    @staticmethod
    def raw(source: str, at: Place, doubt: Doubt) -> Text:
        """Source in doubt: its first word, so that it stays one."""
        first = re.split(r"[ \t\n]", source[:QUOTE])[0]
        return Text.of(first + ("...)" if len(first) < len(source) else ""), at, doubt)

    def variable(self, name: str, at: Place) -> List[Text]:
        if name in ("@", "*"):
            return list(self.args)
        if name == "#":
            return [Text.of(str(len(self.args)), at)]
        if name == "0":
            return [Text.of(at.file.path if at.file else "", at)]
        if name in "?$!-":
            why = f"${name} ({self.short(at)}) is known only to the person who runs it"
            return [Text.of("$" + name, at, Doubt(why))]
        value = self.argument(int(name)) if name.isdigit() else self.value(name)
        return [Text.of("$" + name, at, self.unset(name, at)) if value is None else value]

    def argument(self, number: int) -> Optional[Text]:
        return self.args[number - 1] if 1 <= number <= len(self.args) else None

    def substitution(self, part: Substitution) -> Text:
        """What is inside as far as it is known: cat, echo, sed. Else it is in doubt."""
        before, n = (self.out, self.input, self.answers), len(self.commands)
        self.out, self.input, self.answers = Text(), None, True
        try:
            if self.depth < DEPTH:
                self.depth += 1
                self.statements(part.body)
                self.depth -= 1
            found = self.out
        except (Returned, Broke):
            found = self.out or Text()
        finally:
            self.out, self.input, self.answers = before
        if len(self.commands) > n:  # a program that answers is not the job
            del self.commands[n:]
            why = f"{part.raw[:QUOTE]} ({self.short(part.at)}) would have to be run"
            return self.raw(part.raw, part.at, Doubt(why))
        return found.strip_lines()

    # ---- ${...} ----

    def all_of(self, name: str) -> List[Text]:
        found = self.vars.get(name)
        if found is None and name in ("@", "*"):
            return list(self.args)
        return (list(found.values()) if isinstance(found, Array) else
                [found] if found is not None else [])

    def key_of(self, name: str, subscript: Text) -> str:
        items = self.vars.get(name)
        if isinstance(items, Array) and subscript.s in items:
            return subscript.s
        number, doubt = self.arithmetic(subscript)  # a name, or 1 + 1
        if doubt:
            return subscript.s
        return str(number + len(items) if number < 0 and isinstance(items, Array) else number)

    def looked_up(self, part: Braces) -> Tuple[str, Optional[Text], Optional[List[Text]]]:
        """The name, its value (None: it is not set) and all items of [@] and [*]."""
        name = part.name
        key = self.text(part.key) if part.key is not None else None
        if part.sign == "!" and not (key and key.s in "@*"):
            pointed = self.value(name)
            name = pointed.s if pointed is not None and not pointed.doubt else name
        if (key is not None and key.s in ("@", "*")) or name in ("@", "*"):
            every = self.all_of(name)
            is_set = name in self.vars or name in ("@", "*")
            return name, joined(every) if is_set else None, every
        if key is not None:
            items, at = self.vars.get(name), self.key_of(name, key)
            if isinstance(items, Array):
                return name, items.get(at), None
            return name, items if at == "0" else None, None
        if re.fullmatch("[0-9]+", name) and name != "0":
            return name, self.argument(int(name)), None
        if not re.match("[A-Za-z_]", name):
            return name, self.variable(name, part.at)[0], None
        return name, self.value(name), None

    def braces(self, part: Braces) -> Text:
        name, value, every = self.looked_up(part)
        unset = Text.of("$" + name, part.at, self.unset(name, part.at))
        op = part.operator
        if part.sign == "#":
            length = len(every) if every is not None else len(value or Text())
            return Text.of(str(length), part.at, value.doubt if value is not None else None)
        if op.lstrip(":") in ("-", "=", "?", "+") and op:
            settled = value.settled() if value is not None else Text()
            there = value is not None and not (op[0] == ":" and not len(settled) and not every)
            if op[-1] == "?" and not there:
                return unset
            if op[-1] == "+" or not there:
                word = self.text(part.arguments[0]) if there == (op[-1] == "+") else Text()
                if op[-1] == "=":
                    self.assign(name, word)
                return word
            return value or Text()
        if value is None:
            return Text() if every is not None else unset
        return self.operate(op, value, part, name) if op else value

    def operate(self, op: str, value: Text, part: Braces, name: str) -> Text:
        arguments = [self.text(argument) for argument in part.arguments]
        if op[0] in "#%":
            return self.cut(op, value, arguments[0].s)
        if op[0] == "/":
            return self.replaced(value, *arguments, op == "//")
        if op[0] in "^,":
            change = str.upper if op[0] == "^" else str.lower
            n = len(value) if len(op) == 2 else 1
            return Text(change(value.s[:n]) + value.s[n:], value.marks)
        if op == ":":
            return self.sliced(value, arguments[0])
        why = f"what ${{{name}{op}...}} ({self.short(part.at)}) does is not known"
        return Text.of(name, part.at, Doubt(why))  # ${name@Q} and what is to come

    @staticmethod
    def cut(op: str, value: Text, glob: str) -> Text:
        """${name#pattern}, ${name%pattern}: the shortest, doubled the longest, is cut off."""
        lengths = range(len(value) + 1)
        for n in reversed(lengths) if len(op) == 2 else lengths:
            if op[0] == "#" and matches(glob, value.s[:n]):
                return value[n:]
            if op[0] == "%" and matches(glob, value.s[len(value) - n:]):
                return value[:len(value) - n]
        return value

    @staticmethod
    def replaced(value: Text, what: Text, by: Text, every: bool) -> Text:
        """Patterns stand for themselves."""
        found, start = Text(), 0
        at = value.s.find(what.s) if len(what) else -1
        while at >= 0:
            found += value[start:at] + by
            start = at + len(what)
            at = value.s.find(what.s, start) if every else -1
        return found + value[start:]

    def sliced(self, value: Text, numbers: Text) -> Text:
        """${name:from:length}"""
        colon = numbers.s.find(":")
        begin, doubt = self.arithmetic(numbers if colon < 0 else numbers[:colon])
        length, other = (len(value), None) if colon < 0 else self.arithmetic(numbers[colon + 1:])
        begin += len(value) if begin < 0 else 0
        if doubt or other or not 0 <= begin <= len(value):
            return Text()
        return value[begin:begin + length] if length >= 0 else value[begin:len(value) + length]

    # ---- statements ----

    def statements(self, body: Statements) -> Outcome:
        found: Outcome = True
        for statement in body:
            self.spend(STATEMENT)
            found = self.statement(statement)
        return found

    def statement(self, statement: Statement) -> Outcome:
        found: Outcome = True
        for joint, pipeline in statement.pipelines:
            if not joint:
                found = self.pipeline(pipeline)
                continue
            goes_on = self.holds(found, joint == "&&")
            if goes_on is False:
                continue
            outer = self.doubt
            self.doubt = goes_on if isinstance(goes_on, Doubt) else outer
            doubted = self.doubt != outer
            try:
                following = self.pipeline(pipeline)
            finally:
                self.doubt = outer
            found = goes_on if doubted else following
        return found

    @staticmethod
    def holds(found: Outcome, wanted: bool) -> Union[bool, Doubt]:
        """Whether a condition that ended so lets what is below it happen. Programs are taken to
        succeed."""
        return found if isinstance(found, Doubt) else (found is not False) == wanted

    def pipeline(self, pipeline: Pipeline) -> Outcome:
        outer, found = (self.out, self.input), True
        try:
            for i, command in enumerate(pipeline.commands):
                self.out = Text()
                found = (self.simple(command) if isinstance(command, Simple) else
                         self.compound(command))
                self.input = Input(self.out)
                if i + 1 == len(pipeline.commands) and outer[0] is not None:
                    outer = outer[0] + self.out, outer[1]
        finally:
            self.out, self.input = outer
        return not found if pipeline.negated and isinstance(found, bool) else found

    def print(self, text: Text) -> None:
        if self.out is not None:
            self.spend(len(text))
            self.out += text

    def simple(self, command: Simple) -> Outcome:
        words: List[Text] = []
        redirections = []
        for item in command.items:
            if isinstance(item, Assignment):
                self.assignment(item)
            elif isinstance(item, Redirection):
                redirections.append(item)
            else:
                words += self.words(item)
        at = words[0].at if words and words[0].at.file else command.at
        return self.redirected(redirections, self.call, words, command.at or at)

    def redirected(self, redirections: List[Redirection], function: Any, *arguments: Any) -> Outcome:
        outer = self.out, self.input
        to: Optional[Tuple[str, bool]] = None
        for redirection in redirections:
            if redirection.operator.startswith("<"):
                self.input = Input(self.read_input(redirection))
            elif redirection.operator not in (">&", ">("):
                path = self.text(redirection.word).s
                to = to if redirection.errors else (path, redirection.operator.endswith(">>"))
        self.out = Text() if to else self.out
        try:
            found: Outcome = function(*arguments)
        finally:
            out = self.out
            self.out, self.input = (outer[0] if to else self.out), outer[1]
        if to:
            self.write(to[0], out or Text(), to[1])
        return found

    def read_input(self, redirection: Redirection) -> Text:
        word, at = redirection.word, redirection.at
        if redirection.operator == "<<<":
            return self.text(word) + Text.of("\n", at)
        if redirection.operator in ("<<", "<<-"):
            return self.text(word)
        path = "<(...)" if redirection.operator == "<(" else self.text(word).s
        found = self.file_text(path, at) if redirection.operator == "<" else None
        why = "would have to be run" if redirection.operator == "<(" else "is no file that was given"
        return found if found is not None else Text.of(
            "?\n", at, Doubt(f"{path[:QUOTE]} ({self.short(at)}) {why}"))

    def assignment(self, item: Assignment) -> None:
        if item.words is not None:
            words = [word for parts in item.words for word in self.words(parts)]
            self.assign_array(item.name, words, item.append)
            return
        value = self.text(item.value)
        if item.key is not None:
            key = self.text(item.key).s
            self.array(item.name, True)[key] = value.hanging(self.doubt)
        elif item.append and isinstance(self.vars.get(item.name), Array):
            self.assign_array(item.name, [value], True)
        else:
            self.assign_given(item.name, value, item.append)

    def call(self, words: List[Text], at: Place) -> Outcome:
        if not words:
            return True
        name = words[0].s
        if name in BUILTINS:
            return BUILTINS[name](self, words, at)
        if name in self.functions:
            return self.call_function(self.functions[name], words)
        self.note(words, at)
        return PROGRAM

    def note(self, words: List[Text], at: Place) -> None:
        """A program that would be started."""
        self.commands.append(Command(words, at, self.doubt))

    def call_function(self, body: Compound, words: List[Text]) -> Outcome:
        if self.depth > DEPTH:
            return PROGRAM  # it calls itself
        outer, self.args = self.args, words[1:]
        self.depth += 1
        try:
            return self.compound(body)
        except Returned:
            return True
        finally:
            self.depth -= 1
            self.args = outer

    def test(self, words: List[Text], brackets: bool) -> Outcome:
        return Test(self, words, brackets).either()

    # ---- compounds ----

    def compound(self, compound: Compound) -> Outcome:
        method = getattr(self, _METHODS[compound.kind])
        return self.redirected(compound.redirections, method, compound.at, *compound.parts)

    def under(self, decided: Union[bool, Doubt], function: Any, *arguments: Any) -> Outcome:
        """What is below a condition, which may hold, not hold, or be in doubt."""
        if decided is False:
            return True
        outer = self.doubt
        self.doubt = decided if isinstance(decided, Doubt) else outer
        try:
            found: Outcome = function(*arguments)
            return found
        finally:
            self.doubt = outer

    def decided(self, found: Outcome, at: Place) -> Union[bool, Doubt]:
        """A status that an `if` asks for: what a program answers is not known."""
        if found == PROGRAM and not isinstance(found, (bool, Doubt)):
            return Doubt(f"whether a program succeeds ({self.short(at)}) is known only when it runs")
        return found if isinstance(found, (bool, Doubt)) else True

    def if_(self, at: Place, branches: List[Any], otherwise: Statements) -> Outcome:
        outer = self.doubt
        try:
            for condition, body, place in branches:
                decided = self.decided(self.statements(condition), place)
                self.under(decided, self.statements, body)
                if decided is True:
                    return True
                self.doubt = decided if isinstance(decided, Doubt) else self.doubt
            self.statements(otherwise)
        finally:
            self.doubt = outer
        return True

    def too_many(self, at: Place) -> Wrong:
        return Wrong(at, f"a loop of more than {ROUNDS} rounds is not followed")

    def round(self, body: Statements) -> bool:
        """Whether it was left by break or continue: one round is what counts here."""
        try:
            self.statements(body)
        except Broke:
            return True
        return False

    def for_(self, at: Place, name: str, words: Optional[List[Parts]], body: Statements) -> Outcome:
        if not name:
            return self.for_numbers(at, words or [], body)
        found = (self.args if words is None else
                 [word for parts in words for word in self.words(parts)])
        if len(found) > ROUNDS:
            raise self.too_many(at)
        for word in list(found):
            self.under(word.doubt or True, self.assign, name, word)
            self.under(word.doubt or True, self.round, body)
        return True

    def for_numbers(self, at: Place, parts: Any, body: Statements) -> Outcome:
        text = self.text(parts)
        steps, start = [], 0
        for end in [found.start() for found in re.finditer(";", text.s)][:2] + [len(text)]:
            steps.append(text[start:end])
            start = end + 1
        steps += [Text()] * (3 - len(steps))
        self.step(steps[0])
        for _ in range(ROUNDS):
            goes_on = self.step(steps[1])
            if goes_on is False:
                return True
            self.under(self.holds(goes_on, True), self.round, body)
            self.step(steps[2])
            if isinstance(goes_on, Doubt):
                return True
        raise self.too_many(at)

    def step(self, text: Text) -> Outcome:
        """A statement of for ((a; b; c)), or of (( )); what assigns nothing is a condition."""
        found = STEP.match(text.s)
        if not found:
            value, doubt = self.arithmetic(text)
            return doubt or value != 0
        right = Text.of("1", text.at) if found[3] else text[found.end():]
        if not found[2]:
            op = found[3][0] if found[3] else found[4]
            right = Text.of(f"{found[1]} {op} (", text.at) + right + Text.of(")", text.at)
        value, doubt = self.arithmetic(right)
        self.assign(found[1], Text.of(str(value), text.at, doubt))
        return True

    def brackets(self, at: Place, parts: Parts) -> Outcome:
        return self.step(self.text(parts))

    def while_(self, at: Place, condition: Statements, body: Statements) -> Outcome:
        return self.loop(at, condition, body, True)

    def until(self, at: Place, condition: Statements, body: Statements) -> Outcome:
        return self.loop(at, condition, body, False)

    def loop(self, at: Place, condition: Statements, body: Statements, wanted: bool) -> Outcome:
        for _ in range(ROUNDS + 1):
            goes_on = self.holds(self.decided(self.statements(condition), at), wanted)
            if goes_on is False:
                return True
            broke = self.under(goes_on, self.round, body)
            if isinstance(goes_on, Doubt) or broke is True:
                return True
        raise self.too_many(at)

    def case(self, at: Place, word: Parts, branches: List[Any]) -> Outcome:
        value = self.text(word).settled()
        found = False
        for patterns, body in branches:
            fits = any([matches(self.text(parts).s, value.s) for parts in patterns])
            if value.doubt or (fits and not found):
                self.under(value.doubt or True, self.statements, body)
            found = found or fits
        return True

    def double_test(self, at: Place, words: List[Parts]) -> Outcome:
        return self.test([self.text(parts) for parts in words], True)

    def group(self, at: Place, body: Statements) -> Outcome:
        return self.statements(body)

    def function(self, at: Place, name: str, body: Compound) -> Outcome:
        self.functions[name] = body
        return True


_METHODS = {"if": "if_", "for": "for_", "while": "while_", "until": "until", "case": "case",
            "[[": "double_test", "((": "brackets", "{": "group", "function": "function"}
