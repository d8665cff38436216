#!/usr/bin/env python3
"""trainyard-mpi: with any number of ranks the table that one process writes, and the plan that it
finds, also after a kill; what goes wrong on one rank is said once.

ranks.py TRAINYARD TRAINYARD_MPI LIBRARY...
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from tap import Test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # pylint: disable=wrong-import-position

# A message box of Open MPI about the exit status comes behind ours.
BOX = re.compile(r"-{60,}\n.*?-{60,}\n", re.S)
RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}
layout: {global_batch: 8, pipeline: 2}
"""
PLAN = """\
cluster: {preset: dgx-a100-80g, nodes: 2, gpus_per_node: 4, memory: 6 GiB}
model: {layers: 8, hidden: 2048, heads: 8, vocabulary: 32000, sequence: 1024}
layout: {global_batch: 16, order: [tensor, context, data, pipeline]}
"""


class Ranks:
    """A folder with a run file, and what one process says of it."""

    def __init__(self, test, program, folder, n_rows):
        self.test, self.program, self.folder = test, program, folder
        values = [f"n{i},{1 + i % 4},{256 * (1 + i % 3)}\n" for i in range(n_rows)]
        (folder / "run.yaml").write_text(RUN)
        (folder / "rows.csv").write_text("name,layout.tensor,model.hidden\n" + "".join(values))
        self.one = test.call(folder, *self.words("one.csv"))
        self.right = (folder / "one.csv").read_bytes()

    def words(self, output, *options):
        return ["sweep", "run.yaml", "--rows", "rows.csv", "-o", output, *options]

    def mpirun(self, n, *words):
        """The words that start n ranks; a container has one user, and fewer cores than ranks."""
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(n), self.program,
                *words]

    def call(self, n, *words):
        done = subprocess.run(self.mpirun(n, *words), cwd=self.folder, capture_output=True,
                              text=True, check=False)
        done.stderr = BOX.sub("", done.stderr)
        return done

    def left(self, output):
        return sorted(p.name for p in self.folder.iterdir() if p.name.startswith(output))

    def same(self, output):
        """Whether the table is right, and alone."""
        return self.left(output) == [output] and (self.folder / output).read_bytes() == self.right


def two_machines(ranks):
    """What reaches the other machine is started here, under another name: to MPI that is one, with
    no memory in common."""
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode:
        print(f"ok {ranks.test.n + 1} - two machines # SKIP no name of its own can be had")
        ranks.test.n += 1
        return
    agent = ranks.folder / "reach"
    agent.write_text('#!/bin/sh\nname=$1\nshift\n'
                     'exec unshare --uts sh -c "hostname $name; exec sh -c \\"\\$0\\"" "$*"\n')
    agent.chmod(0o755)
    os.environ.update(OMPI_MCA_plm_rsh_agent=str(agent), OMPI_MCA_btl="self,tcp",
                      OMPI_MCA_orte_default_hostfile=str(ranks.folder / "hosts"))
    (ranks.folder / "hosts").write_text(f"{os.uname().nodename} slots=1\nother slots=2\n")
    done = ranks.call(3, *ranks.words("n.csv"))
    for name in "plm_rsh_agent", "btl", "orte_default_hostfile":
        del os.environ[f"OMPI_MCA_{name}"]
    ranks.test.check("ranks on two machines write the same table", done.returncode == 0
                     and ranks.same("n.csv") and done.stderr == ranks.one.stderr, done)


def any_number(ranks):
    for n, options in (1, ()), (2, ()), (3, ("--jobs", "2")):
        done = ranks.call(n, *ranks.words(f"t{n}.csv", *options))
        ranks.test.check(f"{n} ranks write the table of one process, and say what it says",
                         done.returncode == 0 and ranks.same(f"t{n}.csv")
                         and done.stderr == ranks.one.stderr and done.stdout == "", done)
    done = ranks.call(3, *ranks.words("u.csv", "--uncertain"))
    one = ranks.test.call(ranks.folder, *ranks.words("v.csv", "--uncertain"))
    ranks.test.check("with bands, too", done.returncode == 0 and done.stderr == one.stderr and
                     (ranks.folder / "u.csv").read_bytes() == (ranks.folder / "v.csv").read_bytes(),
                     done)
    done = ranks.call(3, "--version")
    ranks.test.check("one of them answers", done.stdout.count("trainyard ") == 1, done)


def ranks_of(pid):
    """Processes that mpirun has started."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in children.read_text().split()]


def kill(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def wait_for(found, process):
    """Polls until it is found, or the process has ended."""
    while process.poll() is None and not found():
        time.sleep(0.001)


def rows_in(*partials):
    """Of files that grow, or are not there yet."""
    return sum(max(p.read_bytes().count(b"\n") - 1, 0) for p in partials if p.exists())


def ended(ranks):
    """Killed with -9, and gone on with by another number of ranks, or by one process."""
    for n, again in ((3, 2), (2, 3), (3, None)):
        partials = [ranks.folder / f"k.csv.partial{end}" for end in ["", ".1", ".2"][:n]]
        words = ranks.mpirun(n, *ranks.words("k.csv"))
        with subprocess.Popen(words, cwd=ranks.folder, stderr=subprocess.DEVNULL) as process:
            wait_for(lambda partials=partials: rows_in(*partials) >= 10, process)
            kill(process.pid, *ranks_of(process.pid))
        kept = rows_in(*partials)
        refused = ranks.call(n, *ranks.words("k.csv"))
        options = ranks.words("k.csv", "--resume")
        done = ranks.call(again, *options) if again else ranks.test.call(ranks.folder, *options)
        who = f"{again} ranks" if again else "one process"
        ranks.test.check(f"{n} ranks are killed: {who} can go on from their rows",
                         kept >= 10 and done.returncode == 0 and f" {kept} kept" in done.stderr
                         and ranks.same("k.csv"), (kept, done))
        ranks.test.check("and nobody does without --resume", refused.returncode == 3 and
                         refused.stderr.count("rows that an earlier sweep finished") == 1, refused)
        (ranks.folder / "k.csv").unlink(missing_ok=True)


def a_rank_dies(ranks):
    """The job ends, and does not hang."""
    words = ranks.mpirun(2, *ranks.words("d.csv"))
    second = ranks.folder / "d.csv.partial.1"
    with subprocess.Popen(words, cwd=ranks.folder, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: rows_in(second) > 2, process)
        kill(ranks_of(process.pid)[1])
        status = process.wait()
    done = ranks.call(2, *ranks.words("d.csv", "--resume"))
    ranks.test.check("a rank that dies ends the job, and --resume goes on", status == 137
                     and done.returncode == 0 and ranks.same("d.csv"), (status, done))


def plans(ranks):
    """The answer of one process, files and counts included, also of rows that were kept."""
    (ranks.folder / "plan.yaml").write_text(PLAN)

    def words(folder, *options):
        return ["plan", "plan.yaml", "-o", folder, "--gpus", "4,8", *options]

    def written(folder):
        return {p.name: p.read_bytes() for p in (ranks.folder / folder).iterdir()}

    one = ranks.test.call(ranks.folder, *words("one"))
    for n in 1, 2, 3:
        done = ranks.call(n, *words(f"of{n}"))
        ranks.test.check(f"{n} ranks find the plan of one process", done.returncode == 0
                         and done.stdout == one.stdout
                         and written(f"of{n}") == written("one"), done)
    partials = [ranks.folder / f"cut/rows.csv.partial{end}" for end in ("", ".1", ".2")]
    with subprocess.Popen(ranks.mpirun(3, *words("cut")), cwd=ranks.folder,
                          stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: rows_in(*partials) >= 8, process)
        kill(process.pid, *ranks_of(process.pid))
    kept = rows_in(*partials)
    done = ranks.call(2, *words("cut", "--resume"))
    ranks.test.check("killed, other ranks go on with it", kept >= 8 and done.returncode == 0
                     and written("cut") == written("one"), (kept, done))
    for fact, options in (("a folder", ["plan", "plan.yaml"]),
                          ("no shard", words("bad", "--shard", "1/2")),
                          ("memory", words("lacks", "--set", "cluster.memory=2 GiB"))):
        one, all_ = ranks.test.call(ranks.folder, *options), ranks.call(3, *options)
        ranks.test.check(f"a plan needs {fact}", all_.returncode == (1 if fact == "memory" else 2)
                         and len(all_.stderr.splitlines()) < 9
                         and (fact != "memory" or all_.stderr == one.stderr), (one, all_))


def mistakes(ranks):
    """What is wrong on all ranks, or on one, is said once, with the status of one process."""
    for fact, words in (("a missing run file", ["sweep", "none.yaml", "--rows", "rows.csv", "-o",
                                                "m.csv"]),
                        ("a wrong option", ranks.words("m.csv", "--jobz", "2")),
                        ("a wrong shard", ranks.words("m.csv", "--shard", "0/4")),
                        ("a folder that is not there", ranks.words("none/m.csv"))):
        one, all_ = ranks.test.call(ranks.folder, *words), ranks.call(3, *words)
        ranks.test.check(f"{fact} is told as by one process", one.returncode != 0
                         and (all_.returncode, all_.stderr) == (one.returncode, one.stderr)
                         and ranks.left("m.csv") == [], (one, all_))
    done = ranks.call(2, *ranks.words("-"))
    ranks.test.check("rows that are shared need a file", done.returncode == 2
                     and done.stderr.count("name the table, such as -o table.csv") == 1, done)
    done = ranks.call(2, "run", "run.yaml")
    ranks.test.check("what one process does is told", (done.returncode, done.stderr) ==
                     (2, "trainyard-mpi: run is for one process; write trainyard run\n"), done)
    done = ranks.call(2, "--help")
    ranks.test.check("its help is of what ranks do, told once", done.returncode == 0
                     and done.stdout.count("usage: mpirun -n RANKS trainyard-mpi") == 1
                     and re.findall(r"^  (\w+) ", done.stdout, re.M) == ["sweep", "plan", "help"], done)
    for words in (ranks.words("p.csv", "--rows", "-"), ["plan", "-", "-o", "p"]):
        done = ranks.call(2, *words)
        ranks.test.check(f"standard input is none of ranks: {words[0]}", done.returncode == 2 and
                         done.stderr.count("have no standard input in common; write a file\n") == 1,
                         done)
    (ranks.folder / "e.csv.partial.1").mkdir()
    done = ranks.call(3, *ranks.words("e.csv"))
    ranks.test.check("a rank that cannot write ends all, with its message", done.returncode == 3
                     and done.stderr.count("e.csv.partial.1: ") == 1
                     and len(done.stderr.splitlines()) == 1, done)


def no_mpi(test, libraries):
    """The library does not know of MPI."""
    for path in libraries:
        said = subprocess.run(["nm", *(["-D"] if path.endswith(".so") or ".so." in path else []),
                               path], capture_output=True, text=True, check=True).stdout
        test.check(f"{pathlib.Path(path).name} has nothing of MPI", "ty_sweep_rows" in said
                   and not re.search(r"\b(MPI_|ompi_|opal_)", said), said[:300])


def main():
    program, mpi, *libraries = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:])
    try:
        needs.program("mpirun")
    except needs.Missing as why:
        return needs.told_of_all(why)
    test = Test(program)
    with tempfile.TemporaryDirectory() as name:
        ranks = Ranks(test, mpi, pathlib.Path(name).resolve(), 60)
        any_number(ranks)
        plans(ranks)
        two_machines(ranks)
        mistakes(ranks)
    with tempfile.TemporaryDirectory() as name:
        ranks = Ranks(test, mpi, pathlib.Path(name).resolve(), 900)
        ended(ranks)
        a_rank_dies(ranks)
    no_mpi(test, libraries)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
