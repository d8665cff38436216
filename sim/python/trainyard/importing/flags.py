"""A command line of a training script, as flags with places, whatever carried it: a shell script, a
mapping of flags in YAML. Settings of YAML, TOML, JSON and Python are flags in all but name: words
with their path, "training.seq_len". A table says what becomes of each."""
import math
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .facts import UINT_MAX, Facts, From

OFF = ("false", "no", "none", "0")
YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def truth_of(text: str) -> Optional[bool]:
    """Whether a text is true, in any spelling of YAML 1.1; None: it is neither."""
    low = text.lower()
    return True if low in YES else False if low in NO else None


class Value(NamedTuple):
    text: str
    doubt: str = ""  # why the value is not known, "$N is not set (train.sh:3)"; "": it is


class Flag:
    """One as it came; `doubt`: why it is not known whether it is there at all."""

    def __init__(self, name: str, source: From, doubt: str = "",
                 values: Sequence[Value] = ()) -> None:
        self.name, self.source, self.doubt = name, source, doubt
        self.values: List[Value] = list(values)

    def said(self) -> str:
        """The values as they stood."""
        return " ".join(value.text for value in self.values)

    @property
    def first(self) -> str:
        return self.values[0].text if self.values else ""


class Table:
    """What becomes of flags. The first of these that has a name counts, and a name before "x*", which
    stands for all that begin so.

    taken    code looks them up by their names
    keys     name: key of the run file, of the flag's own value; or (key, value)
    no_key   name: it matters, and this says what trainyard does not know
    idle     they have no part in a step
    """

    def __init__(self, taken: str = "", keys: Mapping[str, Union[str, Tuple[str, str]]] = {},
                 no_key: Mapping[str, str] = {}, idle: str = "") -> None:
        rows: List[Tuple[str, Tuple[str, str, Optional[str]]]] = []
        rows += [(name, ("taken", "", None)) for name in taken.split()]
        rows += [(name, ("key", key, None) if isinstance(key, str) else ("key", *key))
                 for name, key in keys.items()]
        rows += [(name, ("no key", note, None)) for name, note in no_key.items()]
        rows += [(name, ("idle", "", None)) for name in idle.split()]
        self.rows: Dict[str, Tuple[str, str, Optional[str]]] = {}
        self.begin: List[Tuple[str, Tuple[str, str, Optional[str]]]] = []
        for name, row in rows:
            if name.endswith("*"):
                self.begin.append((name[:-1], row))
            else:
                self.rows.setdefault(name, row)

    def find(self, name: str) -> Optional[Tuple[str, str, Optional[str]]]:
        if name in self.rows:
            return self.rows[name]
        return next((row for begin, row in self.begin if name.startswith(begin)), None)


class Flags:
    """Flags in the order in which they came; the last of a name counts, as in argparse."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.all: List[Flag] = []
        self._last: Dict[str, Flag] = {}

    # ---- as they come ----

    def put(self, name: str, source: From, *values: str, doubt: str = "") -> Flag:
        flag = Flag(name, source, doubt, [Value(bare(value)) for value in values])
        self.all.append(flag)
        self._last[name] = flag
        return flag

    def add(self, word: str, source: From, doubt: str = "") -> None:
        """ "--num_layers" is "--num-layers"; of "--name=value" with its value."""
        written, equals, value = word.partition("=")
        name = written[:2] + written[2:].replace("_", "-")
        flag = self.put(name, source._replace(word=written), doubt="" if equals else doubt)
        if equals:
            flag.values.append(Value(bare(value), doubt))

    def value(self, text: str, doubt: str = "") -> None:
        """A value of the flag that came last."""
        self.all[-1].values.append(Value(bare(text), doubt))

    def rename(self, to: Callable[[str], str]) -> None:
        """Names as they are today; where a word stands keeps what it was called there."""
        for flag in self.all:
            flag.name = to(flag.name)
        self._last = {flag.name: flag for flag in self.all}

    # ---- looked up ----

    def find(self, name: str) -> Optional[Flag]:
        """Whether or not it is known to be there."""
        return self._last.get(name)

    def first_of(self, *names: str) -> str:
        """The first name that is there, else the first of all."""
        return next((name for name in names if name in self._last), names[0])

    def get(self, name: str) -> Optional[Flag]:
        """A flag in doubt is refused, and None."""
        flag = self._last.get(name)
        if flag is not None and flag.doubt:
            self.facts.refuse(flag.source, f"whether it is given is not known: {flag.doubt}")
            return None
        return flag

    def has(self, name: str) -> bool:
        return self.get(name) is not None

    def opt(self, name: str) -> Optional[str]:
        """Its value, or None where it is absent; in doubt or missing it is refused."""
        flag = self.get(name)
        if flag is None:
            return None
        if not flag.values:
            self.facts.refuse(flag.source, "it has no value; write one behind it")
        elif flag.values[0].doubt:
            self.facts.refuse(flag.source, f"its value is not known: {flag.values[0].doubt}")
        else:
            return flag.values[0].text
        return None

    def text(self, name: str, otherwise: str = "") -> str:
        found = self.opt(name)
        return otherwise if found is None else found

    def real(self, name: str, otherwise: float = 0) -> float:
        """A number as Python reads it, 9_765_625; one that is none is refused."""
        text = self.opt(name)
        if text is None:
            return otherwise
        found = number_of(text)
        if found is None:
            self.facts.refuse(self.source(name), f"'{text}' is no number; write one")
            return otherwise
        return found

    def count(self, name: str, otherwise: int = 0) -> int:
        value = self.real(name, otherwise)
        if 0 <= value <= UINT_MAX and math.floor(value) == value:
            return int(value)
        self.facts.refuse(self.source(name), f"{self._last[name].first} is no whole number; write "
                                             "one")
        return otherwise

    def true(self, name: str, otherwise: bool = False) -> bool:
        text = self.opt(name)
        is_true = truth_of(text) if text is not None else otherwise
        if is_true is None:
            self.facts.refuse(self.source(name), f"'{text}' is neither true nor false")
            return otherwise
        return is_true

    def lists(self, name: str, item: str) -> bool:
        """Whether one of its values begins like this."""
        flag = self.get(name)
        return flag is not None and any(value.text.startswith(item) for value in flag.values)

    def source(self, name: str, rule: str = "") -> From:
        """Where it stands, or a rule for what its absence means."""
        flag = self._last.get(name)
        return flag.source if flag is not None else From(rule)

    # ---- keys of them ----

    def set_count(self, key: str, name: str) -> None:
        """The key of a count; nothing where the flag is absent."""
        flag = self.get(name)
        if flag is not None:
            self.facts.set(key, flag.source, self.count(name))

    def set_count_or(self, key: str, name: str, otherwise: int, rule: str) -> int:
        found = self.count(name, otherwise)
        self.facts.set(key, self.source(name, rule), found)
        return found

    def set_true(self, key: str, name: str) -> None:
        flag = self.get(name)
        if flag is not None:
            self.facts.set(key, flag.source, "true" if self.true(name) else "false")

    def require(self, name: str) -> bool:
        """Without it there is no model."""
        if self.find(name) is None:
            self.facts.refuse(From(name), "no file says it; without it there is no model")
        return self.find(name) is not None

    # ---- tables ----

    def apply(self, *tables: Table) -> None:
        """Does with every flag what its row says; what no row knows is unknown."""
        for flag in self.all:
            row = next(filter(None, (table.find(flag.name) for table in tables)), None)
            if row is None:
                self.facts.tell_unknown(flag.source, flag.said())
            else:
                self._apply(flag, *row)

    def _apply(self, flag: Flag, use: str, text: str, value: Optional[str]) -> None:
        off = len(flag.values) == 1 and flag.first.lower() in OFF
        if use == "idle" or (use == "no key" and off):
            self.facts.tell_idle(flag.source)
        elif use == "no key":
            self.facts.remark(flag.source, f"{flag.said()}{': ' * bool(flag.values)}{text}")
        elif use == "key" and flag is self._last[flag.name]:
            found = self.opt(flag.name) if value is None else value * self.has(flag.name)
            if found or (value is None and found is not None):
                self.facts.set(text, flag.source, found)


def bare(text: str) -> str:
    """Without quotes around it."""
    return text[1:-1] if len(text) >= 2 and text[0] in "\"'" and text[-1] == text[0] else text


def number_of(text: str) -> Optional[float]:
    try:
        found = float(text.replace("_", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def short(number: float) -> str:
    """A number as C's %g writes it."""
    return f"{number:g}"
