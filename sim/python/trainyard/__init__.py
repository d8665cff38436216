"""Simulate the training of large language models on GPU clusters.

    import trainyard
    result = trainyard.run("run.yaml", {"layout.tensor": 4})
    print(result)                       # the report, as on the command line
    result.mfu, result.breakdown        # figures: seconds, bytes, ratios 0..1
    result.tasks().dur_ps               # what every rank did, as numpy arrays
    trainyard.sweep("run.yaml", {"schedule.name": ["1f1b", "zb-v"]})
    trainyard.plan("run.yaml", gpus=64).rows
    trainyard.plot.timeline(result)     # matplotlib

A run file is a path, a text or a dictionary. Errors are trainyard.Error, with places and what would
be right. Tables are pandas DataFrames where pandas is installed, else lists of dictionaries.
Functions may be called on several threads at once: the library runs without the interpreter's lock.
"""
import importlib
from typing import TYPE_CHECKING, Any

from ._catalogues import Job, import_job, init, keys, listed, preset, version
from ._compare import compare
from ._library import VERSION as __version__
from ._library import Error, Place
from ._many import Layouts, plan, sweep
from ._run import Planned, Result, Tasks, Weeks, check, diff, diff_text, fleet, run
from ._schedules import Comparison, Schedule, schedule
from ._source import run_file_text

if TYPE_CHECKING:
    from . import plot

list = listed
# It is not among these: a star import would hide Python's.
__all__ = ["Comparison", "Error", "Job", "Layouts", "Place", "Planned", "Result", "Schedule",
           "Tasks", "Weeks", "__version__", "check", "compare", "diff", "diff_text", "fleet",
           "import_job", "init", "keys", "plan", "plot", "preset", "run", "run_file_text",
           "schedule", "sweep", "version"]


def __getattr__(name: str) -> Any:
    """trainyard.plot is loaded when it is asked for: matplotlib takes its time."""
    if name == "plot":
        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module 'trainyard' has no attribute {name!r}")
