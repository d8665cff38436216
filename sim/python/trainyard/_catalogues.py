"""What a run file can name, and its keys; first run files; tables."""
import ctypes
import html
import os
import re
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from . import _library as c
from . import importing
from ._source import Settings, settings
from .importing import Job


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame where pandas is installed, else a list of dictionaries."""
    try:
        import pandas as pd
    except ImportError:
        return [dict(row) for row in rows]
    return pd.DataFrame(list(rows))


def table_html(rows: Any) -> str:
    """A table as a notebook shows it, also without pandas."""
    if hasattr(rows, "to_html"):
        return str(rows.to_html(index=False))
    cells = [[html.escape(str(name)) for name in (rows[0] if rows else ())]]
    cells += [[html.escape(str(value)) for value in row.values()] for row in rows]
    return "<table>" + "".join(f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in cells) + "</table>"


def catalogue(what: Optional[str]) -> List[Tuple[str, str]]:
    """(name, what it is) of each entry; what stands behind an empty line is no entry."""
    entries = c.call_text(c.lib.ty_list, c.encode(what), None).split("\n\n")[0].splitlines()
    words = [(line.split(None, 1) + [""])[:2] for line in entries]
    return [(name, about) for name, about in words]


def listed(what: Optional[str] = None) -> Any:
    """A catalogue as a table of name, about and source; left out: of the catalogues there are.

    Of "schedules", "models", "families", "gpus", "clusters", "fabrics", "frameworks",
    "collectives", "formats", "figures"; keys of run files are `trainyard.keys()`.
    """
    if what is None:
        return table([{"name": name, "about": about} for name, about in catalogue(None)])
    if what in ("keys", "schema", "layer", "ranks"):
        raise c.Error(f"list {what}: no table of names; trainyard.keys() is one", 2)
    found = [(name, re.fullmatch(r"(.*?)(?: \[([^\[]*)\])?", about))
             for name, about in catalogue(what)]
    return table([{"name": name, "about": words[1], "source": words[2] or ""}
                  for name, words in found if words])


def preset(what: str, name: str) -> str:
    """A preset of "models", "gpus", "clusters", "fabrics" or "frameworks" as a section of a run
    file, with the reason for each value."""
    return c.call_text(c.lib.ty_list, c.encode(what), c.encode(name))


def keys() -> Any:
    """All keys of run files as a table: name, accepts, default, doc, required."""
    pointer = ctypes.POINTER(c.Keys)()
    c.call(c.lib.ty_keys_new, ctypes.byref(pointer))
    owned = c.Owned(c.lib.ty_keys_free, pointer)
    found = [pointer.contents.key[i] for i in range(pointer.contents.n)]
    rows = [{"name": key.name.decode(), "accepts": key.accepts.decode(),
             "default": (key.fallback or b"").decode(), "doc": key.doc.decode(),
             "required": key.required} for key in found]
    del owned
    return table(rows)


def init(model: Optional[str] = None, cluster: Optional[str] = None, gpus: int = 0,
         lora: int = 0, qlora: bool = False) -> str:
    """A commented run file with a layout that fits, as text.

    model       a preset, or the path of a Hugging Face config.json
    cluster     a preset, or a GPU of a cluster that is then spelled out
    gpus        0: as few nodes as it fits into
    lora        rank of adapters that are trained alone; 0: all weights are trained
    qlora       the other weights are stored in 4 bits
    """
    options = c.InitOptions(c.encode(model), c.encode(cluster), gpus, None, lora, qlora)
    return c.call_text(c.lib.ty_init, ctypes.byref(options))


def import_job(form: str, *paths: c.PathLike, gpus: int = 0, cluster: Optional[str] = None,
               env: Settings = None) -> Job:
    """Reads scripts and configurations of a job of another framework, "megatron" or another that
    `trainyard help import` tells of, as a run file with the origin of each value beside it.

    Scripts are read, never run; `env` is what they find in their environment, {"NNODES": 4}.
    """
    if not 0 <= gpus < 2**32:
        raise ValueError(f"gpus: {gpus} is out of range; write a whole number from 0")
    if form == "kineto":
        raise c.Error("import kineto: a profile has no layout, so it makes no run file; "
                      "`trainyard import kineto FILE` prints what it says of the kernels", 2)
    try:
        return importing.import_job(form, map(os.fspath, paths), gpus, cluster, settings(env))
    except importing.Refused as why:
        raise c.error_of(str(why), why.status) from None


def version() -> str:
    """Of the library."""
    found: bytes = c.lib.ty_version()
    return found.decode()
