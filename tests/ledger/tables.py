"""Where tables of measurements come from, and how rows are run.

A table is NAME.csv in tests/ledger/data, which the repository carries, or else in a folder of the
user's own copies (some may not be passed on). Columns are found by name."""
import contextlib
import csv
import pathlib
import subprocess
import tempfile

CARRIED = pathlib.Path(__file__).resolve().parent / "data"


class Missing(Exception):
    """A table that is nowhere."""


class Tables:
    def __init__(self, own):
        self.own = pathlib.Path(own) if own else None
        self.missing = set()

    def folders(self):
        return [CARRIED, self.own] if self.own else [CARRIED]

    def find(self, name):
        """A file in the first folder that has it, or None."""
        return next((folder / name for folder in self.folders() if (folder / name).exists()), None)

    def read(self, name):
        """(rows, whether the repository carries them)"""
        path = self.find(f"{name}.csv")
        if path is None:
            self.missing.add(name)
            raise Missing(name)
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file)), path.parent == CARRIED

    def names(self):
        """All tables, in the order of their names."""
        return sorted({path.stem for folder in self.folders() for path in folder.glob("*.csv")})

    def columns(self, name):
        with open(self.find(f"{name}.csv"), newline="", encoding="utf-8") as file:
            return next(csv.reader(file), [])

    def run_file(self, name):
        """The text of a run file beside a table, or None."""
        path = self.find(f"{name}.yaml")
        return path.read_text(encoding="utf-8") if path else None


@contextlib.contextmanager
def run_file(text):
    """The path of a run file in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.yaml"
        path.write_text(text, encoding="utf-8")
        yield path


def output(*command, questions=None, answers=(0,), folder=None):
    """What a program prints; one that ends otherwise than with one of the answers is an error."""
    command = [str(word) for word in command]
    done = subprocess.run(command, input=questions, capture_output=True, text=True, check=False,
                          cwd=folder)
    if done.returncode not in answers:
        raise RuntimeError(f"{pathlib.Path(command[0]).name}: {done.stderr.strip()}")
    return done.stdout


def sweep(binary, base, rows, *options):
    """Runs a list of {key: value} over the text of a run file; a list of the sweep's columns."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with run_file(base) as path:
        table = path.with_name("rows.csv")
        with open(table, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        out = output(binary, "sweep", path, "--rows", table, *options)
    results = list(csv.DictReader(out.splitlines()))
    for number, result in enumerate(results, 1):
        if result["error"]:
            raise RuntimeError(f"row {number} of the sweep: {result['error']}")
    return results


def ask(program, run, questions):
    """Feeds lines to a test program, with a run file unless `run` is None; the lines it prints,
    one for each."""
    with run_file(run or "") as path:
        answers = output(program, *([path] if run else []),
                         questions="".join(line + "\n" for line in questions)).splitlines()
    if len(answers) != len(questions):
        raise RuntimeError(f"{program.name}: {len(answers)} answers to {len(questions)} questions")
    return answers
