"""Run files as paths, texts and dictionaries."""
import json
import os
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from . import _library as c

SourceLike = Union[c.PathLike, Mapping[str, Any]]
Settings = Union[Mapping[str, Any], Iterable[str], None]
Overlays = Union[c.PathLike, Iterable[c.PathLike]]

# What YAML takes for a text as it stands; all else is quoted.
_PLAIN = re.compile(r"[A-Za-z0-9_./%+]([A-Za-z0-9_./%+ -]*[A-Za-z0-9_./%+])?")


def value_text(value: Any) -> str:
    """A value as one would write it in a run file: True is true, None is none, a list is [a, b]."""
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if value is None:
        return "none"
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
    return repr(value)


def run_file_text(sections: Mapping[str, Any]) -> str:
    """A dictionary of sections as a run file, a key a line.

    >>> print(run_file_text({"layout": {"tensor": 2, "recompute": ["norm", "mlp"]}}))
    layout:
      tensor: 2
      recompute: [norm, mlp]
    """
    lines: List[str] = []
    for section, keys in sections.items():
        if isinstance(keys, Mapping) and keys:
            lines.append(f"{section}:")
            lines += [f"  {key}: {value_text(value)}" for key, value in keys.items()]
        else:
            lines.append(f"{section}: {value_text(keys)}")
    return "\n".join(lines) + "\n"


def setting_text(value: Any) -> str:
    """As on the command line, where a text stands as it is."""
    return value if isinstance(value, str) else value_text(value)


def settings(sets: Settings) -> List[str]:
    """ "section.key=value" of each; {"layout": {"tensor": 2}} is {"layout.tensor": 2}."""
    if sets is None:
        return []
    if isinstance(sets, str):
        return [sets]
    if not isinstance(sets, Mapping):
        return list(sets)
    flat: Dict[str, Any] = {}
    for key, value in sets.items():
        if isinstance(value, Mapping) and "." not in key:
            flat.update({f"{key}.{k}": v for k, v in value.items()})
        else:
            flat[key] = value
    return [f"{key}={setting_text(value)}" for key, value in flat.items()]


def alternatives(over: Optional[Mapping[str, Any]]) -> List[str]:
    """ "KEY=V1,V2" of each."""
    return [f"{key}={setting_text(values)}" if isinstance(values, (str, int, float)) else
            f"{key}={','.join(setting_text(value) for value in values)}"
            for key, values in (over or {}).items()]


class Source:
    """struct ty_source, and what it points to."""

    def __init__(self, source: SourceLike, sets: Settings = None, overlays: Overlays = ()) -> None:
        self.text: Optional[str] = None
        self.made = (source, sets, overlays)  # what another Source of the same is made from
        if isinstance(source, Mapping):
            self.name, self.text = "<dict>", run_file_text(source)
        elif isinstance(source, str) and "\n" in source:
            self.name, self.text = "<text>", source
        else:
            self.name = os.fspath(source)
        files = [overlays] if isinstance(overlays, (str, os.PathLike)) else overlays
        self.with_, self.sets = c.Texts(files), c.Texts(settings(sets))
        self.c = c.Source(c.encode(self.name), c.encode(self.text), self.with_.pointer,
                          self.with_.n, self.sets.pointer, self.sets.n, 0)
