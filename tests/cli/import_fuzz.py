#!/usr/bin/env python3
"""`trainyard import` of hostile files: what people wrote for tests, and mutations of it. Nothing of a
file is ever executed or opened for writing; what is refused has words, what is accepted loads.

usage: import_fuzz.py PACKAGE LIBRARY [ROUNDS [SEED]]   PACKAGE: the folder sim/python/trainyard
"""
import os
import pathlib
import random
import sys
import tempfile
import traceback
import types

TESTS = pathlib.Path(__file__).resolve().parents[1]
FORMS = {".sh": ["megatron", "deepspeed", "accelerate"], ".slurm": ["megatron", "deepspeed"],
         ".yaml": ["megatron", "nemo", "nanotron", "neox", "accelerate", "axolotl",
                   "llamafactory", "torchtune"], ".py": ["nemo"],
         ".toml": ["torchtitan"], ".json": ["huggingface", "deepspeed"]}
# What may not happen while a file is read: no program, no code, no network, no file written.
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "exec",
             "subprocess.Popen", "socket.connect", "ctypes.dlopen", "import")
WORDS = ("--num-layers 4", "$(", ")", "`", "${", "}", "[[ -f x ]]", "<<E\n", "if ", "fi", "done", ";;",
         "\\", "'", '"', "*2**9", "$((1/0))", "- ", ": ", "&a", "*a", "[", "]", "==", "def f(x=", "9" * 20)


def package(folder, library):
    """The package without what it loads by itself, all of its modules loaded."""
    os.environ["TRAINYARD_LIBRARY"] = library
    stub = types.ModuleType("trainyard")
    stub.__path__ = [folder]
    sys.modules["trainyard"] = stub
    import importlib
    importing = importlib.import_module("trainyard.importing")
    for module in ("settle", "write", *(module for module, _ in importing.FORMATS.values())):
        importlib.import_module("trainyard.importing." + module)
    for module in ("tomllib", "unicodedata"):  # which are loaded when they are needed
        importlib.import_module(module)
    return importing


def corpus():
    """(name, text) of files that people wrote."""
    for path in sorted((TESTS / "cli/jobs").iterdir()):
        yield path.name, path.read_text()
    for path in sorted((TESTS / "fuzz/corpus/import_job").iterdir()):
        if path.suffix != ".tar":
            yield path.name + ".sh", path.read_bytes().decode("latin-1")
    for path in sorted((TESTS / "fuzz/corpus/import_recipe").iterdir()):
        if path.suffix == ".tar":
            continue
        _, *files = path.read_bytes().decode("latin-1").split("=== ")
        for file in files:
            name, _, text = file.partition("\n")
            yield f"{path.name}-{name}", text


def mutated(draw, text, other):
    for _ in range(draw.randint(1, 6)):
        at, n = draw.randint(0, len(text)), draw.randint(0, 40)
        text = draw.choice((
            text[:at] + text[at + n:], text[:at] + draw.choice(WORDS) + text[at:],
            text[:at] + other[at:at + n] + text[at:], text[:at] + text[at:at + n] * 3 + text[at:],
            text[:at] + chr(draw.randint(0, 255)) + text[at + 1:]))
    return text


class Watch:
    """Notes what may not happen while it is on."""

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self.hook)

    def hook(self, event, arguments):
        if not self.on:
            return
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if event in FORBIDDEN or writes:
            self.seen.append((event, str(arguments)[:200]))


def main():
    importing = package(sys.argv[1], sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    draw, files = random.Random(sys.argv[4] if len(sys.argv) > 4 else "7"), list(corpus())
    watch, wrong, accepted = Watch(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(len(files) + rounds):
            name, text = files[number] if number < len(files) else draw.choice(files)
            if number >= len(files):
                text = mutated(draw, text, draw.choice(files)[1])
            path = pathlib.Path(folder, name)
            path.write_bytes(text.encode("utf-8", "replace"))
            form = draw.choice(FORMS.get(path.suffix, ["megatron"]))
            watch.on = True
            try:
                importing.import_job(form, [str(path)], draw.choice((0, 8, 64)))
                accepted += 1
            except importing.Refused as why:
                if not str(why).strip() or why.status not in (2, 3):
                    wrong.append((form, name, number, f"status {why.status}: {why}"))
            except Exception:  # none may escape
                wrong.append((form, name, number, traceback.format_exc()[-600:]))
            watch.on = False
            path.unlink()
    for ok, what, why in ((not wrong, "no exception escapes, and every refusal has words", wrong[:3]),
                          (not watch.seen, "nothing is executed or written", watch.seen[:3]),
                          (accepted > 10, "some files are accepted", accepted)):
        print("ok" if ok else "not ok", "-", what)
        if not ok:
            print("# " + str(why).replace("\\n", "\n# "))
    print("1..3")
    return bool(wrong or watch.seen or accepted <= 10)


if __name__ == "__main__":
    sys.exit(main())
