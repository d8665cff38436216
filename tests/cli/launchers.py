#!/usr/bin/env python3
"""The recipes of docs/guides/clusters.md, word for word: shards by hand, by a Slurm array with a task that
is queued again, by GNU parallel with shards that are killed; each gives the table of one process.

launchers.py TRAINYARD TOP

Slurm is one node whose daemons this program starts in a folder of its own, with a key of its own.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tap import Test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # pylint: disable=wrong-import-position

RUN = """\
cluster: {preset: dgx-a100-80g, nodes: 32}
model: {preset: llama-65b}
layout: {pipeline: 4, global_batch: 2048}
"""
ROWS = "layout.tensor,layout.pipeline,layout.micro_batch,schedule.name\n" + "".join(
    f"{t},{p},{b},{name}\n" for t in (2, 4, 8) for p in (2, 4, 8) for b in (1, 2, 3, 4, 6, 8)
    for name in ("gpipe", "1f1b", "zb-1p", "eager-1f1b"))
SECONDS = 300  # limits only end a test that hangs
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
KillWait=1
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def recipes(top):
    """Shell blocks of the guide, by the first word that tells them apart."""
    text = (top / "docs/guides/clusters.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    return {name: next(block for block in blocks if name in block)
            for name in ("shard-1.csv", "#SBATCH", "parallel --joblog")}


def wait_for(found):
    until = time.monotonic() + SECONDS
    while not found() and time.monotonic() < until:
        time.sleep(0.005)
    return found()


class Folder:
    """A run file, rows, and the table that one process makes of them."""

    def __init__(self, test, path):
        self.test, self.path = test, path
        (path / "run.yaml").write_text(RUN)
        (path / "rows.csv").write_text(ROWS)
        self.env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        (path / "trainyard").symlink_to(test.binary)
        done = self.shell("trainyard sweep run.yaml --rows rows.csv -o one.csv")
        assert done.returncode == 0, done
        self.right = (path / "one.csv").read_bytes()

    def shell(self, text):
        return subprocess.run(["bash", "-c", text], cwd=self.path, env=self.env, check=False,
                              capture_output=True, text=True, timeout=SECONDS)

    def merge(self):
        """Merges what there is; whether the table is right."""
        done = self.shell("trainyard sweep run.yaml --rows rows.csv -o table.csv --merge "
                          "shard-*.csv")
        table = self.path / "table.csv"
        return done.returncode == 0 and table.read_bytes() == self.right, done

    def clear(self):
        for path in [*self.path.glob("shard-*"), *self.path.glob("table.csv*")]:
            path.unlink()

    def kept(self, shard):
        """Rows that a shard which is not finished has."""
        partial = self.path / f"shard-{shard}.csv.partial"
        try:
            return max(partial.read_bytes().count(b"\n") - 1, 0)
        except FileNotFoundError:
            return 0


def by_hand(folder, recipe):
    done = folder.shell(recipe)
    folder.test.check("two machines and a merge", done.returncode == 0
                      and (folder.path / "table.csv").read_bytes() == folder.right, done)
    folder.clear()


def by_parallel(folder, recipe):
    """One of its shards cannot write at first: parallel tries thrice, and --resume-failed again."""
    needs.program("parallel")
    (folder.path / "shard-7.csv.partial").mkdir()
    done = folder.shell(recipe)
    n = len((folder.path / "sweep.log").read_text().splitlines()) - 1
    folder.test.check("parallel says that a shard failed", done.returncode == 1 and n == 16, done)
    (folder.path / "shard-7.csv.partial").rmdir()
    again = folder.shell(recipe.replace("--joblog", "--resume-failed --joblog"))
    same, merged = folder.merge()
    folder.test.check("and --resume-failed starts it again, alone", again.returncode == 0 and same
                      and len((folder.path / "sweep.log").read_text().splitlines()) == n + 2,
                      (again, merged))
    folder.clear()


class Slurm:
    """One node: munged, slurmctld and slurmd, all of them ours."""

    def __init__(self, path):
        for name in "munged", "slurmctld", "slurmd", "sbatch":
            needs.program(name)
        if os.geteuid() != 0:
            raise needs.Unmounted("the user root", "a container")
        self.path, self.daemons = path, []
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            ports = one.getsockname()[1], two.getsockname()[1]
        host = socket.gethostname().split(".")[0]
        for name in "state", "spool":
            (path / name).mkdir()
        (path / "munge.key").write_bytes(os.urandom(128))
        (path / "munge.key").chmod(0o400)
        (path / "slurm.conf").write_text(CONF.format(host=host, ports=ports, folder=path))
        self.env = {**os.environ, "SLURM_CONF": str(path / "slurm.conf")}
        self.start("munged", "--foreground", "--force", *(
            f"--{what}={path}/munge.{end}" for what, end in (
                ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"),
                ("log-file", "log"), ("seed-file", "seed"))))
        wait_for((path / "munge.socket").exists)
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", host)
        assert wait_for(lambda: "idle" in self.call("sinfo", "-h", "-o", "%t").stdout), self.logs()

    def start(self, *words):
        self.daemons.append(subprocess.Popen(  # pylint: disable=consider-using-with
            words, env=self.env, cwd=self.path, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def call(self, *words, **more):
        return subprocess.run(words, env=self.env, capture_output=True, text=True, check=False,
                              timeout=SECONDS, **more)

    def logs(self):
        return {log.name: log.read_text()[-600:] for log in self.path.glob("*.log")}

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(SECONDS)


def by_slurm(folder, recipe):
    """An array of four; a task that has begun is queued again, and goes on from its rows."""
    short = recipe.replace("0-63", "0-3").replace("/64", "/4")
    folder.test.check("the recipe is of an array", short.count("0-3") == 1 and "/4\"" in short,
                      recipe)
    (folder.path / "sweep.sh").write_text(short)
    with tempfile.TemporaryDirectory() as name:
        slurm = Slurm(pathlib.Path(name).resolve())
        slurm.env["PATH"] = folder.env["PATH"]
        try:
            job = slurm.call("sbatch", "--parsable", "sweep.sh", cwd=folder.path).stdout.strip()
            wait_for(lambda: folder.kept(0) >= 2)
            again = slurm.call("scontrol", "requeue", f"{job}_0")
            kept = folder.kept(0)
            wait_for(lambda: "PENDING" in slurm.call("squeue", "-h", "-o", "%T", "-j",
                                                     f"{job}_0").stdout)
            slurm.call("scontrol", "update", f"JobId={job}_0", "StartTime=now")
            ended = wait_for(lambda: slurm.call("squeue", "-h").stdout == "")
            shown = slurm.call("scontrol", "show", "job", f"{job}_0").stdout
            log = slurm.logs()
        finally:
            slurm.stop()
    same, merged = folder.merge()
    folder.test.check("a task of the array is queued again, and all give one table",
                      again.returncode == 0 and 2 <= kept < 54 and ended and same
                      and "Restarts=1" in shown and "JobState=COMPLETED" in shown,
                      (again, kept, ended, merged, shown, log))
    folder.clear()


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    told = recipes(pathlib.Path(sys.argv[2]))
    fails = False
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(test, pathlib.Path(name).resolve())
        for play, recipe in ((by_hand, told["shard-1.csv"]), (by_slurm, told["#SBATCH"]),
                             (by_parallel, told["parallel --joblog"])):
            try:
                play(folder, recipe)
            except needs.Missing as why:
                test.n += 1
                fails = needs.told(test.n, play.__name__, why) or fails
    print(f"1..{test.n}")
    return 1 if test.failed or fails else 0


if __name__ == "__main__":
    sys.exit(main())
