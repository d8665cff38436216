"""The program trainyard-import, which `trainyard import` and `trainyard plan --emit` run."""
import os
import re
import signal
import sys
from typing import Dict, List, Optional, Tuple

from . import import_job
from .facts import Refused, was_read

USAGE = """usage: trainyard-import FORMAT FILE... [--gpus N] [--cluster PRESET] [--env NAME=VALUE]...
                        [--run N] [-o PATH] [--quiet]
       trainyard-import --emit FRAMEWORK NAME < RUN_FILE
"""
OPTIONS = {"--gpus": "gpus", "--cluster": "cluster", "--env": "env", "--run": "run", "-o": "output",
           "--output": "output", "--emit": "emit", "-q": "quiet", "--quiet": "quiet"}


def say(text: str) -> None:
    """To standard error, without what would move a terminal's cursor."""
    sys.stderr.write(re.sub("[\0-\x08\x0b-\x1f\x7f-\x9f]", "?", text))


def write(text: str, path: Optional[str]) -> None:
    """A file gets its name when it is whole."""
    data = text.encode("utf-8", "surrogateescape")
    if path in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    elif was_read(path):
        raise Refused(f"{path} is an input and would be overwritten; name another file", 2)
    elif path != "null:":
        regular = os.path.isfile(path) or not os.path.exists(path)
        target = os.path.realpath(path)
        partial = f"{target}.{os.getpid()}.part" if regular else target
        try:
            with open(partial, "wb") as file:
                file.write(data)
            if regular:
                os.replace(partial, target)
        except OSError as why:
            if regular and os.path.exists(partial):
                os.remove(partial)
            raise Refused(f"{path}: cannot be written ({why.strerror})") from None


def parse(words: List[str]) -> Tuple[Dict[str, List[str]], List[str]]:
    """Options with their values, as getopt_long reads them, and the other words."""
    options: Dict[str, List[str]] = {name: [] for name in OPTIONS.values()}
    operands: List[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=") if word[:2] == "--" else (word[:2], "", word[2:])
        found = {OPTIONS[option] for option in OPTIONS if option.startswith(name)}
        if word == "--":
            operands += rest
        elif word[:1] != "-" or word == "-":
            operands.append(word)
        elif len(found) != 1:
            raise Refused(f"unknown option {word}\n{USAGE}", 2)
        elif found == {"quiet"}:
            options["quiet"].append("yes")
        else:
            options[found.pop()].append(value if equals or value else next(rest, ""))
    return options, operands


def run(words: List[str]) -> None:
    """Does what the words ask for; notes are said, a file is written where one is named."""
    options, operands = parse(words)
    last = {name: values[-1] for name, values in options.items() if values}
    numbers = [last.get(name, "0") for name in ("gpus", "run")]
    if not all(map(str.isdigit, numbers)) or len(operands) < 2 - ("emit" in last):
        raise Refused(USAGE, 2)
    if "emit" in last:
        from ..emitting import emit
        write(emit(last["emit"], sys.stdin.read(), operands[0]), last.get("output"))
        return
    job = import_job(operands[0], operands[1:], int(numbers[0]), last.get("cluster"),
                     options["env"], int(numbers[1]))
    if "quiet" not in last:
        say(job.notes)
    write(job.run_file, last.get("output"))


def main() -> int:
    """The exit status: 2 for a wrong argument, 3 for files that cannot be imported."""
    words = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if words in (["--help"], ["-h"]):
        print(USAGE, end="")
        return 0
    try:
        run(words)
        return 0
    except Refused as why:
        say(f"{'trainyard import: ' * (why.status == 2)}{why}\n")
        return why.status
    except MemoryError:
        say("memory is exhausted\n")
        return 4
    except OSError as why:
        say(f"trainyard: cannot write standard output: {why.strerror}\n")
        os._exit(3)
