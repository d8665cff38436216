"""Where tables of measurements come from, and how rows are run.

A table is NAME.csv in tests/ledger/data, which the repository carries, or else in a folder of the
user's own copies (some may not be passed on). Columns are found by name."""
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

    def read(self, name):
        """(rows, whether the repository carries them)"""
        for folder in [CARRIED, self.own]:
            path = folder / f"{name}.csv" if folder else None
            if path is not None and path.exists():
                with open(path, newline="", encoding="utf-8") as file:
                    return list(csv.DictReader(file)), folder is CARRIED
        self.missing.add(name)
        raise Missing(name)


def sweep(binary, base, rows):
    """Runs a list of {key: value} over the text of a run file; a list of the sweep's columns."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "base.yaml").write_text(base, encoding="utf-8")
        with open(folder / "rows.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        done = subprocess.run(
            [str(binary), "sweep", "base.yaml", "--rows", "rows.csv", "-o", "out.csv"],
            cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"trainyard sweep: {done.stderr.strip()}")
        with open(folder / "out.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def play(program, args, lines):
    """Feeds lines to a test program and returns the lines it prints, one for each."""
    done = subprocess.run([str(program), *args], input="".join(line + "\n" for line in lines),
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{pathlib.Path(program).name}: {done.stderr.strip()}")
    out = done.stdout.splitlines()
    if len(out) != len(lines):
        raise RuntimeError(f"{pathlib.Path(program).name}: {len(out)} lines for {len(lines)}")
    return out
