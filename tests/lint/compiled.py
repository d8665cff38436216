"""The C files of a build and how each is compiled, out of its compile_commands.json."""
import json
import pathlib
import shlex

ALONE = {"-c", "-MD"}  # options that ask for a file
PAIRS = {"-o", "-MF", "-MQ"}  # the same, with the file or its name as the next word


def commands(root, build):
    """{path from the root: the words of its first command without compiler, optimization and
    files}, of the C files of the tree; those that the build makes are left out."""
    found = {}
    text = (pathlib.Path(build) / "compile_commands.json").read_text(encoding="utf-8")
    for entry in json.loads(text):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix != ".c" or not path.is_relative_to(root):
            continue
        if path.is_relative_to(pathlib.Path(build).resolve()):
            continue
        words, kept = shlex.split(entry["command"])[1:], []
        while words:
            word = words.pop(0)
            if word in PAIRS:
                words.pop(0)
            elif word not in ALONE and not word.startswith(("-O", "-Werror", "-f")) and \
                    not word.endswith(".c"):
                kept.append(word)
        found.setdefault(path.relative_to(root).as_posix(), kept)
    return found
