"""Simulate the training of large language models on GPU clusters.

    import trainyard
    result = trainyard.run("run.yaml", {"layout.tensor": 4})
    print(result)                       # the report, as on the command line
    result.mfu, result.breakdown        # figures: seconds, bytes, ratios 0..1
    result.tasks().frame()              # what every rank did, as a table
    trainyard.sweep("run.yaml", {"schedule.name": ["1f1b", "zb-v"]})
    trainyard.plan("run.yaml", gpus=64).rows

A run file is a path, a text or a dictionary. Errors are trainyard.Error, with places and what would
be right. `trainyard.plot` draws with matplotlib. Functions may be called on several threads at
once; the library does not hold the interpreter's lock.
"""
from ._library import Error, Place
from ._run import Plan, Result, Tasks, check, run
from ._source import run_file_text
from ._tables import (Layouts, compare, init, keys, listed, plan, preset, schedule, sweep, version)

__all__ = ["Error", "Layouts", "Place", "Plan", "Result", "Tasks", "check", "compare", "init",
           "keys", "listed", "plan", "preset", "run", "run_file_text", "schedule", "sweep",
           "version"]
__version__ = "0.1.0"
