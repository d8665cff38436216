"""Run files as paths, texts and dictionaries."""
import ctypes
import json
import os
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _library as c

SourceLike = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Union[Mapping[str, Any], Iterable[str], None]

_PLAIN = re.compile(r"[A-Za-z0-9_./%+][A-Za-z0-9_./%+ -]*[A-Za-z0-9_./%+]|[A-Za-z0-9_./%+]")


def value_text(value: Any) -> str:
    """A value as one would write it in a run file: True is true, a list is [a, b]."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(x) for x in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {value_text(x)}" for k, x in value.items()) + "}"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if value is None:
        return "none"
    return repr(value.item() if hasattr(value, "item") else value)


def run_file_text(sections: Mapping[str, Any]) -> str:
    """A dictionary of sections as a run file, one key a line."""
    lines: List[str] = []
    for section, keys in sections.items():
        if isinstance(keys, Mapping):
            lines.append(f"{section}:")
            lines += [f"  {key}: {value_text(value)}" for key, value in keys.items()]
        else:
            lines.append(f"{section}: {value_text(keys)}")
    return "\n".join(lines) + "\n"


def settings(sets: Settings) -> List[str]:
    """ "section.key=value" of each; of {"layout": {"tensor": 2}} as of {"layout.tensor": 2}."""
    if sets is None:
        return []
    if isinstance(sets, str):
        return [sets]
    if not isinstance(sets, Mapping):
        return [str(s) for s in sets]
    flat: Dict[str, Any] = {}
    for key, value in sets.items():
        if isinstance(value, Mapping) and "." not in key:
            flat.update({f"{key}.{k}": v for k, v in value.items()})
        else:
            flat[key] = value
    return [f"{key}={value_text(value)}" for key, value in flat.items()]


def name_and_text(source: SourceLike) -> Tuple[str, Optional[str]]:
    """How messages call a source, and its text; None: the name is a path."""
    if isinstance(source, Mapping):
        return "<dict>", run_file_text(source)
    if isinstance(source, str) and "\n" in source:
        return "<text>", source
    return os.fspath(source), None


class Source:
    """struct ty_source and what it points to."""

    def __init__(self, source: SourceLike, sets: Settings = None,
                 overlays: Iterable[Union[str, "os.PathLike[str]"]] = ()) -> None:
        name, text = name_and_text(source)
        given = settings(sets)
        files = [os.fspath(path) for path in overlays]
        self.name = name
        self._sets, self._with = c.array(given), c.array(files)
        self.c = c.Source(c.encode(name), text.encode() if text is not None else None,
                          ctypes.cast(self._with, c.texts_t), len(files),
                          ctypes.cast(self._sets, c.texts_t), len(given), 0)
