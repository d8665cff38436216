"""trainyard from Python: the shared library through ctypes, nothing to compile.

    run = Run("run.yaml", "schedule.name=gpipe")
    run.figure("mfu"), run.stats()["breakdown"]
    tasks = run.tasks("one-per-stage")
    tasks.start_ps, tasks.kind_names[tasks.kind[0]]

Columns are buffers of the library, not copies: ctypes arrays here, and numpy.frombuffer(column) or
numpy.asarray(column) uses the same memory. They live as long as their Tasks.
"""
import ctypes
import ctypes.util
import json
import os

_COLUMNS = [("start_ps", ctypes.c_uint64), ("dur_ps", ctypes.c_uint64), ("rank", ctypes.c_uint32),
            ("kind", ctypes.c_uint32), ("pass_", ctypes.c_uint32),
            ("micro_batch", ctypes.c_uint16), ("stage", ctypes.c_uint16),
            ("step", ctypes.c_uint16), ("layer", ctypes.c_uint16), ("stream", ctypes.c_uint8),
            ("phase", ctypes.c_uint8), ("category", ctypes.c_uint8)]
_NAMES = ["kind", "stream", "phase", "category"]


class _Tasks(ctypes.Structure):  # struct ty_tasks of trainyard.h
    _fields_ = ([("n", ctypes.c_size_t)]
                + [(name, ctypes.POINTER(kind)) for name, kind in _COLUMNS]
                + [(name + "_names", ctypes.POINTER(ctypes.c_char_p)) for name in _NAMES]
                + [("n_" + name, ctypes.c_uint32) for name in _NAMES])


def _load():
    """The library: the file that TRAINYARD_LIBRARY names, else the one that is installed."""
    path = os.environ.get("TRAINYARD_LIBRARY") or ctypes.util.find_library("trainyard")
    if path is None:
        raise OSError("libtrainyard.so is not installed (meson install -C build); from the folder "
                      "of a build: meson devenv -C build, or TRAINYARD_LIBRARY names it")
    library = ctypes.CDLL(path)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    for name, result, arguments in [
            ("ty_version", text, []),
            ("ty_err_new", pointer, []), ("ty_err_free", None, [pointer]),
            ("ty_err_text", text, [pointer]), ("ty_text_free", None, [pointer]),
            ("ty_config_load", ctypes.c_int,
             [ctypes.POINTER(pointer), text, ctypes.POINTER(text), ctypes.c_size_t, pointer]),
            ("ty_config_free", None, [pointer]),
            ("ty_run_new", ctypes.c_int, [ctypes.POINTER(pointer), pointer, pointer]),
            ("ty_run_free", None, [pointer]),
            ("ty_run_execute", ctypes.c_int, [pointer, text, pointer]),
            ("ty_run_figure", ctypes.c_int,
             [pointer, text, ctypes.POINTER(ctypes.c_double), pointer]),
            ("ty_run_report", ctypes.c_int,
             [pointer, text, ctypes.POINTER(pointer), pointer]),
            ("ty_run_tasks", ctypes.c_int,
             [pointer, text, ctypes.POINTER(ctypes.POINTER(_Tasks)), pointer]),
            ("ty_tasks_free", None, [ctypes.POINTER(_Tasks)])]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


class Error(Exception):
    """What trainyard says is wrong: file, line, column, key, and what would be right."""


def _call(function, *arguments):
    err = _library.ty_err_new()
    try:
        if function(*arguments, err) < 0:
            raise Error(_library.ty_err_text(err).decode())
    finally:
        _library.ty_err_free(err)


class _Memory:
    """The columns of C, freed when neither tasks nor arrays look at them."""

    def __init__(self, tasks):
        self._tasks = tasks

    def __del__(self):
        _library.ty_tasks_free(self._tasks)


class Tasks:
    """Columns of the tasks of some ranks; `n` rows. The member `pass` of C is `pass_` here."""

    def __init__(self, run, ranks):
        pointer = ctypes.POINTER(_Tasks)()
        _call(_library.ty_run_tasks, run.handle, ranks.encode() if ranks else None,
              ctypes.byref(pointer))
        memory, tasks = _Memory(pointer), pointer.contents
        self.n = tasks.n
        for name, kind in _COLUMNS:
            address = ctypes.cast(getattr(tasks, name), ctypes.c_void_p).value
            array = (kind * self.n).from_address(address)
            array.owner = memory  # which stays while somebody looks at it
            setattr(self, name, array)
        for name in _NAMES:
            words = getattr(tasks, name + "_names")
            setattr(self, name + "_names",
                    [words[i].decode() for i in range(getattr(tasks, "n_" + name))])


class Run:
    """A run file, with settings over it ("layout.tensor=4"), executed."""

    def __init__(self, path, *sets):
        self._config, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        given = (ctypes.c_char_p * len(sets))(*[s.encode() for s in sets])
        _call(_library.ty_config_load, ctypes.byref(self._config), os.fsencode(path), given,
              len(sets))
        _call(_library.ty_run_new, ctypes.byref(self.handle), self._config)
        _call(_library.ty_run_execute, self.handle, None)

    def figure(self, name):
        """One figure of --stats json by its name."""
        value = ctypes.c_double()
        _call(_library.ty_run_figure, self.handle, name.encode(), ctypes.byref(value))
        return value.value

    def stats(self):
        """All of --stats json."""
        text = ctypes.c_void_p()
        _call(_library.ty_run_report, self.handle, b"json", ctypes.byref(text))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            _library.ty_text_free(text)

    def tasks(self, ranks=None):
        """Columns of the ranks "all", "0-15", "dp=0", "one-per-stage", "slowest:8"."""
        return Tasks(self, ranks)

    def __del__(self):
        _library.ty_run_free(self.handle)
        _library.ty_config_free(self._config)


def version():
    """Of the library."""
    return _library.ty_version().decode()
