"""What is asked of the library: trees with places, presets, models, and whether a run file loads."""
import ctypes
import json
from typing import Any, Dict, List, Tuple

from .. import _library as c
from .facts import Refused, note_read


def _asked(function: Any, *arguments: Any) -> None:
    try:
        c.call(function, *arguments)
    except c.Error as why:
        raise Refused(str(why), why.status) from None


def _texts(function: Any, *arguments: Any, n: int = 1) -> List[str]:
    texts = [ctypes.c_void_p() for _ in range(n)]
    _asked(function, *arguments, *map(ctypes.byref, texts))
    return [c.take_text(text) for text in texts]


def tree(name: str, text: str) -> List[Any]:
    """[root], or [root, [line, column, key]] with a key that came twice; see ty_foreign_tree."""
    found: List[Any] = json.loads(_texts(c.lib.ty_foreign_tree, c.encode(name), c.encode(text))[0])
    return found


def huggingface(path: str) -> Tuple[str, str]:
    """The section `model` of a config.json, and lines about what is not understood."""
    note_read(path)
    lines, remarks = _texts(c.lib.ty_foreign_model, c.encode(path), n=2)
    return lines, remarks


def preset(what: str, name: str) -> str:
    """Of "clusters" or "models", as a section of a run file; "" where there is none."""
    try:
        return _texts(c.lib.ty_list, c.encode(what), c.encode(name))[0]
    except Refused:
        return ""


def key_names() -> List[str]:
    """All keys of a run file, in the order of its sections."""
    return [line.split(" ", 1)[0] for line in _texts(c.lib.ty_list, b"keys", None)[0].splitlines()]


def check_overlay(name: str, text: str) -> None:
    _asked(c.lib.ty_foreign_overlay, c.encode(name), c.encode(text))


def values(name: str, text: str) -> Tuple[Dict[str, str], Dict[str, Any]]:
    """A run file as it counts: every key, and figures that follow from keys; see ty_foreign_values."""
    keys, derived = json.loads(_texts(c.lib.ty_foreign_values, c.encode(name), c.encode(text))[0])
    return keys, derived


def check(name: str, text: str) -> None:
    """Whether a run file loads."""
    source, config = c.Source(c.encode(name), c.encode(text)), ctypes.c_void_p()
    _asked(c.lib.ty_config_read, ctypes.byref(config), ctypes.byref(source))
    c.lib.ty_config_free(config)


def version() -> str:
    found: bytes = c.lib.ty_version()
    return found.decode()
