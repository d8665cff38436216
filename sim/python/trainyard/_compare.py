"""Two things under one name: schedules under one clock, and runs beside what was measured of them."""
from typing import Any, Sequence, Union, overload

from . import _library as c
from ._catalogues import table
from ._schedules import Comparison, Times, compare as compare_schedules
from ._source import Overlays, Settings


@overload
def compare(names: Union[Sequence[str], str], p: int, m: int, *, v: int = 0, group: int = 0,
            slices: int = 0, times: Times = None) -> Comparison: ...


@overload
def compare(*files: c.PathLike, sets: Settings = None, overlays: Overlays = (),
            tries: bool = True) -> Any: ...


def compare(*what: Any, **options: Any) -> Any:
    """Schedules under one clock: compare(["1f1b", "zb-v"], p=4, m=8), `times` of a whole stage.

    Or run files with a section `measured`, and logs: compare("run.yaml", "train.log"). A table of a
    row each, as `trainyard compare --json` has them (docs/guides/compare.md); without `tries` no change is
    tried out.
    """
    if "p" in options or "m" in options or (len(what) > 1 and isinstance(what[1], int)):
        return compare_schedules(*what, **options)
    from . import comparing
    return table(comparing.rows(list(map(str, what)), **options))
