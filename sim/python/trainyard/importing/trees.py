"""Settings of a file as a tree whose nodes know their places: YAML and JSON as the library reads
them, TOML by Python, which has no places: those of its lines are found beside it."""
import re
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from . import engine
from .facts import Facts, File, From, Place, Refused, excerpt
from .flags import Flags, Value, truth_of


class Node(NamedTuple):
    at: Place
    value: "Union[None, str, List[Node], Dict[str, Entry]]"
    quoted: bool = False

    @property
    def map(self) -> "Dict[str, Entry]":
        return self.value if isinstance(self.value, dict) else {}

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    @property
    def scalar(self) -> bool:
        return self.value is None or isinstance(self.value, str)

    def child(self, key: str) -> "Optional[Node]":
        entry = self.map.get(key)
        return entry.node if entry else None

    def is_null(self) -> bool:
        """null, None, nothing."""
        return self.scalar and not self.quoted and self.value in (None, "null", "Null", "NULL", "~",
                                                                  "", "None")

    def truth(self) -> Optional[bool]:
        """Of the words for true and false, rather than 1 or 0, which are numbers."""
        plain = self.scalar and not self.quoted and self.text[:1] not in ("0", "1", "")
        return truth_of(self.text) if plain else None


class Entry(NamedTuple):
    """A value of a map, and where its key stands."""
    key: str
    at: Place
    node: Node

    @property
    def source(self) -> From:
        return From(self.key, self.at)


def _node(file: File, found: List[Any]) -> Node:
    line, column, value, quoted = found
    if isinstance(value, list):
        value = [_node(file, item) for item in value]
    elif isinstance(value, dict):
        value = {key: Entry(key, Place(file, *entry[:2]), _node(file, entry[2]))
                 for key, entry in value.items()}
    return Node(Place(file, line, column), value, quoted)


def parse_yaml(file: File) -> Tuple[Optional[Node], Optional[From]]:
    """The root of YAML or JSON, and a key that came twice. Raises Refused."""
    root, *again = engine.tree(file.path, file.text)
    twice = From(again[0][2], Place(file, *again[0][:2])) if again else None
    return _node(file, root) if root else None, twice


# ---- TOML ----

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*[\w-]+)*)\s*=")


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


def _lines_of(file: File) -> Iterator[Tuple[str, Place]]:
    """Names of sections and keys at the beginning of lines, with their places."""
    section, start = "", 0
    for number, line in enumerate(file.lines(), 1):
        if header := _HEADER.match(line):
            section = _plain(header[1]) + "."
            yield section[:-1], Place(file, number, header.start(1) + 1)
        elif key := _KEY.match(line):
            start = key.start(1) + 1
            yield section + _plain(key[1]), Place(file, number, start)


def parse_toml(file: File) -> Node:
    import tomllib
    try:
        found = tomllib.loads(file.text, parse_float=str)
    except tomllib.TOMLDecodeError as why:
        found = re.fullmatch(r"(.*?)(?: \(at line (\d+), column (\d+)\))?", str(why), re.S)
        what = found[1][:1].lower() + found[1][1:] if found else ""
        at = Place(file, int(found[2]), int(found[3])) if found and found[2] else Place()
        where = f":{at.line}:{at.column}" if at.line else ""
        raise Refused(f"{file.path}{where}: {what}{excerpt(at)}") from None
    except RecursionError:
        raise Refused(f"{file.path}: values are too deep inside each other") from None
    places = dict(_lines_of(file))

    def node(value: Any, name: str, at: Place) -> Node:
        if isinstance(value, dict):
            return Node(at, {key: Entry(key, (here := places.get(name + key, at)),
                                        node(item, f"{name}{key}.", here))
                             for key, item in value.items()})
        if isinstance(value, list):
            return Node(at, [node(item, name, at) for item in value])
        if isinstance(value, bool):
            return Node(at, "true" if value else "false")
        return Node(at, str(value), isinstance(value, str))
    return node(found, "", Place(file, 1, 1))


# ---- settings ----

def read_tree(facts: Facts, file: File) -> Optional[Node]:
    """The tree of a file: TOML by its name, else YAML or JSON; None: refused."""
    try:
        root, again = ((parse_toml(file), None) if file.path.endswith(".toml")
                       else parse_yaml(file))
    except Refused as why:
        facts.refuse_text(str(why))
        return None
    if root is None or not isinstance(root.value, dict):
        facts.refuse(From(file.path), "it holds no settings, no lines of key and value")
        return None
    if again is not None:
        facts.remark(again, "it is given more than once: the last counts")
    return root


def add_words(words: Flags, root: Node, prefix: str = "") -> None:
    """All words below a map. What is null is idle: the same as if it were not there. Items of lists
    are values, maps in lists words without a number."""
    for key, entry in root.map.items():
        name, node = prefix + key, entry.node
        source = From(name, entry.at)
        if isinstance(node.value, dict):
            add_words(words, node, name + ".")
        elif node.is_null():
            words.facts.tell_idle(source)
        elif isinstance(node.value, list):
            flag = words.put(name, source)
            _add_items(words, flag.values, node, name)
        else:
            words.put(name, source).values.append(Value(node.text))


def _add_items(words: Flags, values: List[Value], node: Node, name: str) -> None:
    items = node.value if isinstance(node.value, list) else []
    for item in items:
        if isinstance(item.value, list):
            _add_items(words, values, item, name)
        elif isinstance(item.value, str):
            values.append(Value(item.text))
    for item in items:
        if isinstance(item.value, dict):
            add_words(words, item, name + ".")


def read_words(words: Flags, file: File) -> Optional[Node]:
    root = read_tree(words.facts, file)
    if root is not None:
        add_words(words, root)
    return root


def settings_of(words: Flags, read_json: Callable[[Facts, File], None], what: str,
                example: str) -> Optional[File]:
    """The YAML among the files, its keys read into `words`; what the JSON files say is read, too."""
    f, settings = words.facts, None
    for file in f.files:
        if file.path.endswith(".json"):
            read_json(f, file)
        elif read_words(words, file) is not None:
            settings = file
    if settings is None and not f.refused:
        f.refuse(From(f.files[0].path), f"no YAML of {what}; write one, such as {example}")
    return None if f.refused else settings


# ---- how many GPUs ----


def _number_before(words: List[str]) -> int:
    """The number among the last words before "GPU": "64 A100 GPUs" is 64; 0: there is none."""
    for word in reversed(words[-3:]):
        found = re.match(r"(\d+)($|x)", word)
        if found and int(found[1]) <= 1 << 24:
            return int(found[1])
    return 0


def world_of(facts: Facts, env: str, file: File) -> None:
    """Where neither files nor options say how many GPUs there are: --env NAME=N, or a comment such as
    "a preset for 64 A100 GPUs"."""
    if facts.known_gpus():
        return
    facts.gpus = facts.env_count(env)
    if facts.gpus:
        facts.gpus_from = From(f"--env {env}")
        return
    for number, line in enumerate(file.lines(), 1):
        for found in re.finditer("GPU", line, re.I) if line.lstrip(" \t").startswith("#") else ():
            gpus = _number_before(re.split(r"[ \t-]+", line[:found.start()].strip(" \t-")))
            if gpus:
                facts.gpus, facts.gpus_from = gpus, From("a comment", Place(file, number, 1))
                facts.notice_gpu(line, facts.gpus_from)
                facts.remark(facts.gpus_from, f"{gpus} GPUs are said there alone; --gpus N counts")
                return
