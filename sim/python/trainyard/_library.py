"""The shared library by ctypes: its functions, its structures, its errors.

Mirrors sim/trainyard.h. Structures are read and written by the library, so a test compares where a
compiler has their members.
"""
import ctypes
import errno
import os
import pathlib
import re
import threading
from ctypes import (POINTER, Structure, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint8,
                    c_uint16, c_uint32, c_uint64, c_void_p)
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Union

VERSION = "1.0.0"  # of the header that these structures are like

PathLike = Union[str, "os.PathLike[str]"]
texts_t = POINTER(c_char_p)


class Options(Structure):
    """Whose whole numbers are what they were before: C would make 4,294,967,295 of -1."""

    def __init__(self, *values: Any, **named: Any) -> None:
        kinds = dict(self._fields_)
        for name, value in [*zip(kinds, values), *named.items()]:
            if kinds[name] is c_uint32 and not 0 <= value < 2**32:
                raise ValueError(f"{name}: {value} is out of range; write a whole number from 0")
        super().__init__(*values, **named)


class Source(Structure):
    _fields_ = [("path", c_char_p), ("text", c_char_p), ("with_", texts_t), ("n_with", c_size_t),
                ("sets", texts_t), ("n_sets", c_size_t), ("n_against", c_size_t)]


COLUMNS = [("start_ps", c_uint64), ("dur_ps", c_uint64), ("rank", c_uint32), ("kind", c_uint32),
           ("pass_", c_uint32), ("micro_batch", c_uint16), ("stage", c_uint16), ("step", c_uint16),
           ("layer", c_uint16), ("stream", c_uint8), ("phase", c_uint8), ("category", c_uint8)]
# Columns of numbers into names, and how the header calls how many there are.
NAMES = {"kind": "n_kinds", "stream": "n_streams", "phase": "n_phases", "category": "n_categories"}


class Tasks(Structure):
    _fields_ = ([("n", c_size_t)] + [(name, POINTER(kind)) for name, kind in COLUMNS]
                + [(name + "_names", texts_t) for name in NAMES]
                + [(count, c_uint32) for count in NAMES.values()])


class ExecuteOptions(Options):
    _fields_ = [("engine", c_char_p), ("figures", c_bool), ("threads", c_uint32),
                ("stop", POINTER(c_int)), ("progress", c_void_p), ("progress_arg", c_void_p),
                ("suggest_s", c_double)]


class FleetRequest(Options):
    _fields_ = [("days", c_double), ("runs", c_uint32), ("jobs", c_uint32), ("form", c_char_p),
                ("progress", c_void_p), ("progress_arg", c_void_p), ("stop", POINTER(c_int))]


class TraceOptions(Structure):
    _fields_ = [("ranks", c_char_p), ("detail", c_char_p), ("window", c_char_p),
                ("order", c_char_p), ("no_bubbles", c_bool), ("force", c_bool),
                ("stop", POINTER(c_int)), ("counters", c_char_p), ("steps", c_char_p),
                ("args", c_char_p), ("flows", c_char_p), ("critical", c_char_p),
                ("progress", c_void_p), ("progress_arg", c_void_p), ("width", c_char_p),
                ("palette", c_char_p), ("bubbles", c_char_p)]


class ShownRun(Structure):
    _fields_ = [("run", c_void_p), ("recording", c_void_p), ("name", c_char_p),
                ("trouble", c_char_p)]


class SweepSummary(Structure):
    _fields_ = [("n_rows", c_uint32), ("n_kept", c_uint32), ("n_fit", c_uint32),
                ("n_not", c_uint32), ("n_invalid", c_uint32), ("fastest", c_uint32),
                ("fastest_s", c_double), ("best", c_void_p), ("left_out", ctypes.c_char * 1024),
                ("remark", ctypes.c_char * 512)]


class SweepOptions(Options):
    _fields_ = [("path", c_char_p), ("text", c_char_p), ("rows", c_char_p), ("over", texts_t),
                ("n_over", c_size_t), ("with_", texts_t), ("n_with", c_size_t), ("sets", texts_t),
                ("n_sets", c_size_t), ("output", c_char_p), ("jobs", c_uint32), ("resume", c_bool),
                ("shard", c_uint32), ("n_shards", c_uint32), ("merge", texts_t),
                ("n_merge", c_size_t), ("uncertain", c_bool), ("stop", POINTER(c_int)),
                ("summary", POINTER(SweepSummary)), ("progress", c_void_p),
                ("progress_arg", c_void_p), ("crew", c_void_p)]


class PlanOptions(Options):
    _fields_ = [("source", Source), ("gpus", c_char_p), ("over", texts_t), ("n_over", c_size_t),
                ("objective", c_char_p), ("top", c_uint32), ("uneven", c_uint32),
                ("meshes", c_uint32), ("jobs", c_uint32), ("shard", c_uint32), ("n_shards", c_uint32),
                ("merge", texts_t), ("n_merge", c_size_t), ("folder", c_char_p),
                ("resume", c_bool), ("stats", c_char_p), ("emit", c_char_p),
                ("stop", POINTER(c_int)), ("stopped", POINTER(c_bool)), ("progress", c_void_p),
                ("progress_arg", c_void_p), ("crew", c_void_p), ("within_s", c_double),
                ("margin", c_char_p), ("uncertain", c_bool)]


class ScheduleOptions(Options):
    _fields_ = [("name", c_char_p), ("text", c_char_p), ("pipeline", c_uint32),
                ("micro_batches", c_uint32), ("chunks", c_uint32), ("group", c_uint32),
                ("slices", c_uint32), ("times", c_char_p), ("stages", c_char_p),
                ("format", c_char_p), ("width", c_uint32), ("svg_width", c_char_p),
                ("palette", c_char_p), ("bubbles", c_char_p)]


class ExportOptions(Structure):
    _fields_ = [("format", c_char_p), ("folder", c_char_p), ("ranks", c_char_p),
                ("stop", POINTER(c_int)), ("unit", c_char_p)]


class PageOptions(Structure):
    _fields_ = [("command", c_char_p), ("ranks", c_char_p), ("detail", c_char_p),
                ("order", c_char_p), ("stop", POINTER(c_int))]


class InitOptions(Options):
    _fields_ = [("model", c_char_p), ("cluster", c_char_p), ("gpus", c_uint32),
                ("path", c_char_p), ("lora", c_uint32), ("qlora", c_bool)]


class KeyWord(Structure):
    _fields_ = [("name", c_char_p), ("doc", c_char_p)]


class Key(Structure):
    _fields_ = [("name", c_char_p), ("accepts", c_char_p), ("fallback", c_char_p),
                ("doc", c_char_p), ("words", POINTER(KeyWord)), ("n_words", c_size_t),
                ("required", c_bool)]


class Keys(Structure):
    _fields_ = [("n", c_size_t), ("n_sections", c_size_t), ("key", POINTER(Key)),
                ("section", POINTER(KeyWord))]


# Structures by their names in C, for the test of their members.
STRUCTURES = {"ty_source": Source, "ty_tasks": Tasks, "ty_fleet_request": FleetRequest,
              "ty_execute_options": ExecuteOptions, "ty_trace_options": TraceOptions,
              "ty_sweep_summary": SweepSummary, "ty_sweep_options": SweepOptions,
              "ty_plan_options": PlanOptions, "ty_schedule_options": ScheduleOptions,
              "ty_init_options": InitOptions, "ty_export_options": ExportOptions,
              "ty_shown_run": ShownRun,
              "ty_page_options": PageOptions, "ty_key_word": KeyWord, "ty_key": Key,
              "ty_keys": Keys}

_handle, _text_out = POINTER(c_void_p), POINTER(c_void_p)
# Result and arguments of each function; those that end with an error object fail below 0.
_FUNCTIONS = {
    "ty_version": (c_char_p, []),
    "ty_err_new": (c_void_p, []),
    "ty_err_free": (None, [c_void_p]),
    "ty_err_text": (c_char_p, [c_void_p]),
    "ty_err_exit_status": (c_int, [c_void_p]),
    "ty_text_free": (None, [c_void_p]),
    "ty_config_read": (c_int, [_handle, POINTER(Source), c_void_p]),
    "ty_config_show": (c_int, [c_void_p, _text_out, c_void_p]),
    "ty_config_free": (None, [c_void_p]),
    "ty_run_new": (c_int, [_handle, c_void_p, c_void_p]),
    "ty_run_outline": (c_int, [_handle, c_void_p, c_void_p]),
    "ty_run_free": (None, [c_void_p]),
    "ty_run_execute": (c_int, [c_void_p, POINTER(ExecuteOptions), c_void_p]),
    "ty_run_report": (c_int, [c_void_p, c_char_p, _text_out, c_void_p]),
    "ty_run_figure": (c_int, [c_void_p, c_char_p, POINTER(c_double), c_void_p]),
    "ty_run_stage_memory": (c_uint32, [c_void_p, POINTER(c_double), c_uint32]),
    "ty_run_fits": (c_bool, [c_void_p]),
    "ty_run_tasks": (c_int, [c_void_p, c_char_p, POINTER(POINTER(Tasks)), c_void_p]),
    "ty_tasks_free": (None, [POINTER(Tasks)]),
    "ty_run_fleet": (c_int, [c_void_p, POINTER(FleetRequest), _text_out, c_void_p]),
    "ty_run_trace": (c_int, [c_void_p, c_char_p, POINTER(TraceOptions), _text_out, c_void_p]),
    "ty_run_uncertain": (c_int, [c_void_p, POINTER(Source), c_void_p]),
    "ty_run_page": (c_int, [POINTER(ShownRun), c_size_t, c_char_p, POINTER(PageOptions), _text_out,
                            c_void_p]),
    "ty_run_export": (c_int, [c_void_p, POINTER(ExportOptions), _text_out, c_void_p]),
    "ty_diff_report": (c_int, [POINTER(ShownRun), c_size_t, c_char_p, _text_out, c_void_p]),
    "ty_foreign_tree": (c_int, [c_char_p, c_char_p, _text_out, c_void_p]),
    "ty_foreign_model": (c_int, [c_char_p, _text_out, _text_out, c_void_p]),
    "ty_foreign_values": (c_int, [c_char_p, c_char_p, _text_out, c_void_p]),
    "ty_foreign_overlay": (c_int, [c_char_p, c_char_p, c_void_p]),
    "ty_sweep_rows": (c_int, [POINTER(SweepOptions), c_void_p]),
    "ty_plan": (c_int, [POINTER(PlanOptions), _text_out, c_void_p]),
    "ty_schedule_show": (c_int, [POINTER(ScheduleOptions), _text_out, c_void_p]),
    "ty_schedule_compare": (c_int, [POINTER(ScheduleOptions), _text_out, c_void_p]),
    "ty_init": (c_int, [POINTER(InitOptions), _text_out, c_void_p]),
    "ty_list": (c_int, [c_char_p, c_char_p, _text_out, c_void_p]),
    "ty_keys_new": (c_int, [POINTER(POINTER(Keys)), c_void_p]),
    "ty_keys_free": (None, [POINTER(Keys)]),
}


class Place(NamedTuple):
    """Where a message points.

    file is a path, "<dict>", "<text>" or the setting ("--set layout.tensor=3"); line and column
    count from 1, and are 0 of a setting and of what is missing; key is "" where no key is meant; message is what is wrong
    and what would be right.
    """
    file: str
    line: int
    column: int
    key: str
    message: str


# "run.yaml:8:11: layout.tensor: 3 does not ...", "--set layout.tensor=3: layout.tensor: 3 does ...",
# "run.yaml: layout.global_batch: missing ..."
_PLACE = re.compile(r"^(?:(\S[^\n]*?):(\d+):(\d+)|"
                    r"(--\S+ [^\n]*?|[^\s:][^\n:]*(?=: [a-z]+\.[a-z0-9_.]+: ))): "
                    r"(?:([a-z]+(?:\.[a-z0-9_]+)+): )?(.*)$", re.M)


class Error(Exception):
    """What trainyard says is wrong, in the words of the command line.

    `status` is the exit status that the command would have: 1 the answer is no (nothing fits), 2 a
    wrong argument, 3 bad input, 4 a deadlock, exhausted memory or an internal error. `places` has
    a Place for each message that points somewhere.
    """

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text, status)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> Any:
        return error_of, self.args

    @property
    def places(self) -> List[Place]:
        return [Place(file or option, int(line or 0), int(column or 0), key, message)
                for file, line, column, option, key, message in _PLACE.findall(str(self))]


class Missing(Error, FileNotFoundError):
    """A file that is not there: an Error, and a FileNotFoundError as Python's own functions raise."""


def error_of(text: str, status: int) -> Error:
    """The Error of a text, of the kind that it has in Python."""
    gone = text.rstrip().endswith(f"({os.strerror(errno.ENOENT)})")
    return Missing(text, status) if gone else Error(text, status)


def _find() -> str:
    """TRAINYARD_LIBRARY, the one in this package, the one that is installed: the first of these."""
    named = os.environ.get("TRAINYARD_LIBRARY")
    here = pathlib.Path(__file__).with_name("libtrainyard.so")
    installed = "libtrainyard.so." + VERSION.split(".", maxsplit=1)[0]  # the loader's name
    return named or (str(here) if here.exists() else installed)


def _load() -> ctypes.CDLL:
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as why:  # it says which file, perhaps one that this one needs
        raise ImportError(f"{path} cannot be loaded: {why}; install it, or name one in "
                          "TRAINYARD_LIBRARY") from why
    library.ty_version.restype = c_char_p
    found = library.ty_version().decode()
    if found != VERSION:
        raise ImportError(f"{path} is trainyard {found}, and this package is of {VERSION}")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


class Owned:
    """An object of the library, freed with this one; whoever needs it keeps this one.

    `after` is what has to outlive it.
    """

    def __init__(self, free: Any, pointer: Any = None, after: "Optional[Owned]" = None) -> None:
        self._free, self._after = free, after
        self.pointer = c_void_p() if pointer is None else pointer

    def __del__(self) -> None:
        self._free(self.pointer)


def call(function: Any, *arguments: Any) -> None:
    """Calls a function whose last argument is an error object, which becomes an Error."""
    err = lib.ty_err_new()
    try:
        if function(*arguments, err) < 0:
            raise error_of(lib.ty_err_text(err).decode(), lib.ty_err_exit_status(err))
    finally:
        lib.ty_err_free(err)


def take_text(text: c_void_p) -> str:
    """Of a text that the library handed out, which is freed; "" of NULL."""
    try:
        return ctypes.string_at(text).decode() if text else ""
    finally:
        lib.ty_text_free(text)


def call_text(function: Any, *arguments: Any) -> str:
    """As `call`, of a function that fills a text, its last argument but one."""
    text = c_void_p()
    call(function, *arguments, byref(text))
    return take_text(text)


class Stop:
    """`pointer` is the member `stop` of options; what runs with it can be ended."""

    def __init__(self) -> None:
        self._word = c_int(0)
        self.pointer = ctypes.pointer(self._word)

    def set(self) -> None:
        self._word.value = 1

    def clear(self) -> None:
        self._word.value = 0

    def watch(self, function: Any, *arguments: Any) -> Any:
        """What function(*arguments) returns; Ctrl-C ends it at once.

        Python hears of a signal in its main thread, between two of its own steps: there the
        function gets a thread of its own, and the main thread waits.
        """
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments)
        import concurrent.futures  # which takes longer to load than many a call
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(function, *arguments)
            try:
                return answer.result()
            except BaseException:  # its own error, or KeyboardInterrupt while it goes on
                self.set()
                raise


def encode(text: Optional[PathLike]) -> Optional[bytes]:
    """Bytes of a text or path; None stays."""
    if text is None:
        return None
    found = os.fspath(text).encode("utf-8", "surrogateescape")
    if b"\0" in found:
        raise ValueError(f"a text with a zero in it: {text!r}")
    return found


class Texts:
    """(pointer, length) of char pointers for a structure's member, which this keeps alive."""

    def __init__(self, texts: Iterable[PathLike]) -> None:
        found: Sequence[Any] = [encode(text) for text in texts]
        self.n = len(found)
        self._array = (c_char_p * self.n)(*found)
        self.pointer = ctypes.cast(self._array, texts_t)
