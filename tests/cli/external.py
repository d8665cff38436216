#!/usr/bin/env python3
"""Commands that are programs of their own: `trainyard NAME` runs trainyard-NAME.

usage: external.py TRAINYARD LIBRARY
"""
import os
import pathlib
import shutil
import signal
import sys
import tempfile

from tap import Test

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("TRAINYARD")}


def script(path, *lines, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    path.chmod(mode)


class External(Test):
    """Calls with two folders on PATH, `first` and `second`, beside those of the system."""

    def __init__(self, binary, root):
        super().__init__(binary)
        self.first, self.second, self.own = root / "first", root / "second", root / "own"

    def ask(self, *words, **more):
        env = {**ENVIRONMENT, "PATH": f"{self.first}:{self.second}:{ENVIRONMENT['PATH']}", **more}
        return self.call(None, *words, env=env)


def precedence(test):
    for folder in test.first, test.second, test.own:
        script(folder / "trainyard-greet", "#!/bin/sh", f'echo {folder.name} "$#" "$@"')
    script(test.first / "trainyard-run", "#!/bin/sh", "echo never")
    script(test.first / "trainyard-dull", "#!/bin/sh", mode=0o644)
    script(test.second / "trainyard-dull", "#!/bin/sh", "echo second")
    done = test.ask("greet", "a b", "--help", "-x=1")
    test.check("the first on PATH runs, with all words as they were",
               done.stdout == "first 3 a b --help -x=1\n" and not done.stderr, done)
    done = test.ask("greet", TRAINYARD_EXEC_PATH=str(test.own))
    test.check("TRAINYARD_EXEC_PATH goes before PATH", done.stdout == "own 0\n", done)
    test.check("a file that cannot be executed is none", test.ask("dull").stdout == "second\n",
               test.ask("dull"))
    done = test.ask("run")
    test.check("built-in commands go before all", done.returncode == 2 and not done.stdout, done)


def places(test, root):
    """Of an installed tree and of a build folder, each with a copy of the program."""
    for program, place in (("usr/bin/trainyard", "usr/libexec/trainyard"),
                           ("build/trainyard", "build/sim/python")):
        copy, other = root / program, External(str(root / program), root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(test.binary, copy)
        script(root / place / "trainyard-greet", "#!/bin/sh", f"echo {place}")
        done = other.ask("greet")
        test.check(f"{place} goes before PATH", done.stdout == f"{place}\n", done)
        done = other.ask("greet", TRAINYARD_EXEC_PATH=str(test.own))
        test.check(f"TRAINYARD_EXEC_PATH takes the place of {place}", done.stdout == "own 0\n", done)


def environment(test, root, library):
    script(test.first / "trainyard-where", "#!/bin/sh", 'echo "$TRAINYARD|$TRAINYARD_LIBRARY"')
    done = test.ask("where")
    program, found = done.stdout.strip().split("|")
    test.check("the program is told which program and library it belongs to",
               program == test.binary and os.path.realpath(found) == library, done)
    done = test.ask("where", TRAINYARD_LIBRARY="/mine.so", TRAINYARD="/other")
    test.check("a library that the user has named stays", done.stdout == f"{test.binary}|/mine.so\n",
               done)


def ends(test):
    script(test.first / "trainyard-end", "#!/bin/sh", 'exit "$1"')
    script(test.first / "trainyard-die", "#!/bin/sh", 'kill -s "$1" $$')
    script(test.first / "trainyard-ignored", "#!/bin/sh", "grep SigIgn /proc/$$/status")
    for status in 0, 1, 7, 130:
        done = test.ask("end", status)
        test.check(f"exit status {status} passes through", done.returncode == status, done)
    for name in "TERM", "INT", "KILL", "XFSZ":
        done = test.ask("die", name)
        test.check(f"so does SIG{name}", done.returncode == -getattr(signal, f"SIG{name}"), done)
    ignored = int(test.ask("ignored").stdout.split()[1], 16)
    test.check("SIGXFSZ is not ignored", not ignored >> (signal.SIGXFSZ - 1) & 1, hex(ignored))


def refused(test):
    script(test.first / "sub/trainyard-x", "#!/bin/sh", "echo never")
    for name in "sub/x", "../first/trainyard-greet", "/bin/true", "-greet", "", "x" * 300:
        done = test.ask(name)
        test.check(f"{name[:40]!r} is refused", done.returncode == 2 and not done.stdout
                   and "trainyard: unknown" in done.stderr, done)
    done = test.ask("gret")
    test.check("a misspelt name is told the nearest", done.returncode == 2
               and done.stderr == "trainyard: unknown command gret; did you mean greet?\n"
               "try trainyard --help\n", done)
    done = test.ask("rnu")
    test.check("also of the built-in ones", "did you mean run?" in done.stderr, done)


def broken(test):
    for name, line, missing in (("bare", "#!/no/such/python", "/no/such/python"),
                                ("words", "#! /no/such/python -E", "/no/such/python"),
                                ("env", "#!/usr/bin/env no-such-python", "no-such-python")):
        path = test.first / f"trainyard-{name}"
        script(path, line, "print('never')")
        done = test.ask(name)
        test.check(f"{line}: the interpreter is named", done.returncode == 3 and done.stderr ==
                   f"trainyard: {path}: {missing}, which runs it, is not installed\n", done)
        path.unlink()
    path = test.first / "trainyard-text"
    script(path, "words")
    done = test.ask("text")
    test.check("what is no program is told", done.returncode == 3 and done.stderr ==
               f"trainyard: {path}: cannot be run (Exec format error)\n", done)
    path.unlink()
    script(test.first / "trainyard-split", "#!/usr/bin/env -S sh -e", "echo split")
    test.check("options of env are left to it", test.ask("split").stdout == "split\n",
               test.ask("split"))


def known(test):
    done = test.ask("help")
    names = [line for line in done.stdout.splitlines() if line.startswith("Also installed: ")]
    listed = names[0][len("Also installed: "):].split(", ") if names else []
    test.check("help lists them once, without built-in ones", {"greet", "where"} <= set(listed)
               and "run" not in listed and listed == sorted(set(listed)), done)
    done = test.ask("help", "greet")
    test.check("help NAME asks it", done.stdout == "first 1 --help\n", done)
    done = test.ask("--complete", "gr")
    test.check("completion offers them", "greet\tan installed program" in done.stdout, done)
    test.check("and files behind one on PATH", test.ask("--complete", "greet", "x").stdout
               == "files 0 \n", test.ask("--complete", "greet", "x"))
    done = test.ask("--complete", "greet", "a", "x", TRAINYARD_EXEC_PATH=str(test.own))
    test.check("one of trainyard's own answers for itself", done.stdout == "own 3 --complete a x\n",
               done)


def main():
    library = os.path.realpath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        test = External(str(pathlib.Path(sys.argv[1]).resolve()), root)
        precedence(test)
        places(test, root)
        environment(test, root, library)
        ends(test)
        refused(test)
        broken(test)
        known(test)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
