#!/usr/bin/env python3
"""What happens when output cannot be written: a message that names the path and the reason, the
exit status, nothing under the final name or beside it, an earlier file as it was.

usage: failures.py TRAINYARD
"""
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

from tap import Test

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
RUN = EXAMPLES / "slow-gpu.yaml"
LONG = EXAMPLES / "llama-65b-256xa100.yaml"
FORMATS = ["chrome", "perfetto", "csv", "svg", "gantt", "digest"]


def quiet(path):
    return ["run", str(RUN), "-q", "-o", "/dev/null", "--ranks", "0-15", "--trace", path]


def listing(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def full_disk(test, folder):
    """A limit on the size of files is a disk that is full in the middle."""
    def limit(n):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))
    for name in FORMATS:
        for end in ("", ".gz"):
            path = folder / f"t.{name}{end}"
            path.write_text("earlier")
            done = test.call(folder, *quiet(f"{name}:{path}"), preexec_fn=limit(10))
            test.check(f"{name}{end} on a full disk keeps the earlier file",
                       done.returncode == 3 and listing(folder) == [path.name]
                       and path.read_text() == "earlier"
                       and done.stderr == f"{path}: cannot be written (File too large)\n",
                       (done, listing(folder)))
            path.unlink()
    for name in ("kin", "kin.gz"):
        done = test.call(folder, *quiet(f"kineto:{name}"), preexec_fn=limit(20000))
        test.check(f"folder {name} on a full disk is not left behind",
                   done.returncode == 3 and listing(folder) == []
                   and "rank-0.json" in done.stderr and "File too large" in done.stderr,
                   (done, listing(folder)))
    done = test.call(folder, *quiet("kineto:kin"))
    before = {p: p.read_bytes() for p in (folder / "kin").iterdir()}
    done = test.call(folder, *quiet("kineto:kin"), "--seed", "7", preexec_fn=limit(20000))
    test.check("files of an earlier folder stay", len(before) == 16 and done.returncode == 3
               and before == {p: p.read_bytes() for p in (folder / "kin").iterdir()}, done)
    for p in before:
        p.unlink()
    (folder / "kin").rmdir()
    done = test.call(folder, "sweep", RUN, "--over", "layout.zero=0,1", "-o", "t.csv",
                     preexec_fn=limit(10))
    test.check("a sweep of which nothing was written names no rows to go on from",
               done.returncode == 3 and listing(folder) == [] and "cannot be written" in done.stderr
               and "--resume" not in done.stderr, (done, listing(folder)))
    done = test.call(folder, "report", RUN, "-q", "-o", "page.html", preexec_fn=limit(5000))
    test.check("a page on a full disk", done.returncode == 3 and listing(folder) == []
               and "cannot be written" in done.stderr and "File too large" in done.stderr, done)


def full_device(test, folder):
    for name in FORMATS:
        done = test.call(folder, *quiet(f"{name}:/dev/full"))
        test.check(f"{name} to a full device", done.returncode == 3 and done.stderr
                   == "/dev/full: cannot be written (No space left on device)\n"
                   and pathlib.Path("/dev/full").is_char_device(), done)
    for words in (["run", RUN, "-q"], ["run", RUN, "-q", "--trace", "chrome:-"],
                  ["run", RUN, "-q", "--trace", "perfetto:-"], ["explain", RUN], ["check", RUN],
                  ["report", RUN, "-o", "-"], ["schedule", "1f1b", "-p", "4", "-m", "8"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([test.binary, *map(str, words)], stdout=full, cwd=folder,
                                  stderr=subprocess.PIPE, text=True, check=False)
        test.check(f"{words[0]} {' '.join(words[2:])} to a full standard output",
                   done.returncode == 3 and listing(folder) == []
                   and "standard output" in done.stderr, done)


def closed_pipe(test, folder):
    """As other tools do: the signal ends the process without a word; where it is ignored there is
    an error like any other."""
    for words in (quiet("chrome:-"), quiet("perfetto:-"), ["report", str(RUN), "-o", "-"]):
        for ignored in (False, True):
            done = subprocess.Popen([test.binary, *words], stdout=subprocess.PIPE, cwd=folder,
                                    stderr=subprocess.PIPE, text=True, restore_signals=not ignored)
            done.stdout.close()
            said = done.stderr.read()
            status = done.wait()
            good = (status == 3 and "standard output: cannot be written (Broken pipe)" in said if ignored
                    else status == -signal.SIGPIPE and said == "")
            test.check(f"{words[0]} {words[-1]} to a closed pipe"
                       + (" with the signal ignored" if ignored else ""),
                       good and listing(folder) == [], (status, said))


def before_the_run(test, folder):
    """Told before time is spent: no report comes first."""
    (folder / "here").mkdir()
    (folder / "file").write_text("earlier")
    cases = [("chrome:no/such/t.json", "no/such/t.json: cannot be written (its folder does not exist)"),
             ("svg:here", "here: cannot be written (it is a folder)"),
             ("perfetto:file/t.pftrace", "file/t.pftrace: cannot be written (Not a directory)"),
             ("kineto:no/such", "no/such: cannot be written (its folder does not exist)"),
             ("kineto:file", "file: a file, not a folder; name a folder")]
    for trace, said in cases:
        done = test.call(folder, "run", RUN, "--trace", trace)
        test.check(f"--trace {trace}", done.returncode == 3 and done.stdout == ""
                   and done.stderr == said + "\n", done)
    for words in (["run", RUN], ["explain", RUN], ["report", RUN]):
        for path, reason in (("no/such", "its folder does not exist"), ("here", "it is a folder")):
            done = test.call(folder, *words, "-o", path)
            test.check(f"{words[0]} -o {path}", done.returncode == 3 and done.stdout == ""
                       and done.stderr == f"{path}: cannot be written ({reason})\n", done)
    test.check("nothing was made or changed", listing(folder) == ["file", "here"]
               and (folder / "file").read_text() == "earlier", listing(folder))
    (folder / "here").rmdir()
    (folder / "file").unlink()


def read_only(test, folder):
    """Root may write anywhere, until that right is taken from it. It stays the owner of what it
    built: another user may be unable to enter the folders of this tree."""
    shut = folder / "shut"
    shut.mkdir()
    (shut / "old.json").write_text("earlier")
    os.chmod(shut, 0o555)
    lesser = (["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
              if os.access(shut, os.W_OK) else [])
    for trace, said in (("chrome:shut/t.json", "shut/t.json: cannot be written (Permission denied)"),
                        ("chrome:shut/old.json",
                         "shut/old.json: cannot be written (Permission denied)"),
                        ("kineto:shut/kin",
                         "shut/kin: cannot be written (Permission denied)")):
        done = subprocess.run([*lesser, test.binary, "run", RUN, "--trace", trace], cwd=folder,
                              capture_output=True, text=True, check=False)
        test.check(f"--trace {trace} in a folder that may not be written",
                   done.returncode == 3 and done.stdout == "" and done.stderr == said + "\n"
                   and listing(shut) == ["old.json"], done)
    os.chmod(shut, 0o755)
    (shut / "old.json").unlink()
    shut.rmdir()


def files_now(folder):
    """The sizes of the files in a folder and those below; what goes away meanwhile is left out."""
    sizes = []
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                sizes.append(os.stat(os.path.join(path, name)).st_size)
    return sizes


def wait_for(found):
    """Polls, however long it takes: meson ends a test that hangs."""
    while not found():
        time.sleep(0.001)
    return True


SMALL = """cluster: {preset: dgx-a100-80g, nodes: 1}
model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}
layout: {global_batch: 8, pipeline: 2, tensor: 2}
"""


def inputs(test, folder):
    """Nothing that is read is overwritten: by its name, or as one of the files of a folder."""
    (folder / "run.yaml").write_text(SMALL + "jobs: none\n")
    (folder / "other.yaml").write_text(SMALL + "schedule: {file: own.slots}\n")
    (folder / "own.slots").write_text("rank 0: F0.0 F1.0 B0.0 B1.0\nrank 1: F0.1 B0.1 F1.1 B1.1\n")
    (folder / "kernels.csv").write_text("op,role,kernel,dtype,m,n,k,time_us\n"
                                        "matmul,forward,,bf16,128,256,256,5\n")
    test.call(folder, "run", "run.yaml", "-q", "-o", "/dev/null", "--ranks", "all", "--trace",
              "kineto:profile")
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": 256, "vocab_size": 1000, '
                                        '"num_hidden_layers": 4, "num_attention_heads": 4, '
                                        '"intermediate_size": 688, "max_position_embeddings": 128}')
    (folder / "hf.yaml").write_text(SMALL.replace(SMALL.splitlines()[1],
                                                  "model: {huggingface: config.json}"))
    for form, path in (("goal", "goal/trace.goal"), ("chakra", "chakra/trace")):
        test.call(folder, "export", form, "run.yaml", "-q", "-o", form)
        groups = ", groups: chakra/comm.json" * (form == "chakra")
        (folder / f"{form}.yaml").write_text(f"{SMALL.splitlines()[0]}\n"
                                             f"workload: {{{form}: {path}{groups}}}\n")
    chakra = (folder / "chakra").is_dir()  # a build without protobuf has none
    (folder / "launch.sh").write_text("source sizes.sh\npython pretrain_gpt.py $ARGS\n")
    (folder / "sizes.sh").write_text(
        'ARGS="--num-layers 4 --hidden-size 256 --num-attention-heads 4 --seq-length 128 '
        '--micro-batch-size 1 --global-batch-size 8 --max-position-embeddings 128"\n')
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    test.check("there are a profile and an export", len(before) > 16
               and (folder / "goal").is_dir(), sorted(before))
    operators = ["--set", "cluster.operators=kernels.csv"]
    for words in (["run", "run.yaml", *operators, "--trace", "csv:kernels.csv"],
                  ["run", "run.yaml", *operators, "-o", "./kernels.csv"],
                  ["run", "other.yaml", "--set", "layout.global_batch=4", "-o", "own.slots"],
                  ["report", "run.yaml", *operators, "-o", "kernels.csv"],
                  ["diff", "run.yaml", "other.yaml", "--set", "layout.global_batch=4", "--trace",
                   "svg:own.slots"],
                  ["diff", "profile", "run.yaml", "--trace", "chrome:profile/rank-0.json"],
                  ["diff", "profile", "run.yaml", "-o", "profile/rank-1.json"],
                  ["import", "kineto", "profile", "-o", "profile/rank-0.json"],
                  ["import", "kineto", "profile/rank-0.json", "-o", "profile/rank-0.json"],
                  ["sweep", "run.yaml", "--over", "layout.tensor=1,2", "--with", "other.yaml", "-o",
                   "other.yaml"],
                  ["run", "hf.yaml", "--trace", "chrome:config.json"],
                  ["report", "hf.yaml", "-o", "config.json"],
                  ["sweep", "hf.yaml", "--over", "layout.tensor=1,2", "-o", "config.json"],
                  ["import", "megatron", "launch.sh", "sizes.sh", "--gpus", "4", "-o", "sizes.sh"],
                  ["run", "goal.yaml", "--trace", "csv:goal/trace.goal"],
                  ["export", "goal", "goal.yaml", "-o", "goal"],
                  ["export", "chakra", "chakra.yaml", "-o", "chakra"])[:None if chakra else -1]:
        done = test.call(folder, *words)
        now = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        test.check(" ".join(words), done.returncode == 2 and now == before
                   and "overwrit" in done.stderr, done)
    for path in before:
        path.unlink()
    (folder / "profile").rmdir()
    for form in ("goal", "chakra")[:1 + chakra]:
        (folder / form).rmdir()


def interrupted(test, folder):
    """A signal in the middle of a file: it is not there, an earlier one is."""
    for name, number in (("t.json.gz", signal.SIGINT), ("t.json.gz", signal.SIGTERM)):
        path = folder / name
        path.write_text("earlier")
        earlier = path.stat().st_size
        done = subprocess.Popen([test.binary, "run", str(LONG), "-q", "-o", "/dev/null", "--ranks",
                                 "all", "--detail", "op", "--args", "full", "--force", "--trace",
                                 f"chrome:{name}"], cwd=folder, stderr=subprocess.PIPE, text=True)
        # paths are tried first, with an empty file
        begun = wait_for(lambda: sum(files_now(folder)) > earlier or done.poll() is not None)
        done.send_signal(number)
        said = done.stderr.read()
        status = done.wait()
        test.check(f"{number.name} while {name} is written", begun and status == 128 + number
                   and listing(folder) == [name] and path.read_text() == "earlier"
                   and f"{path}: cannot be written (Interrupted system call)" in said,
                   (status, said, listing(folder)))
        path.unlink()
    done = subprocess.Popen([test.binary, "run", str(LONG), "-q", "-o", "/dev/null", "--ranks",
                             "all", "--force", "--trace", "kineto:kin"], cwd=folder,
                            stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(files_now(folder)) > 1 or done.poll() is not None)
    done.send_signal(signal.SIGINT)
    said = done.stderr.read()
    test.check("SIGINT while a folder is written", done.wait() == 130 and listing(folder) == []
               and "Interrupted" in said, (done.returncode, said, listing(folder)))
    os.mkfifo(folder / "pipe")
    done = subprocess.Popen([test.binary, "run", str(LONG), "-q", "-o", "/dev/null", "--ranks",
                             "all", "--force", "--trace", "chrome:pipe"], cwd=folder,
                            stderr=subprocess.PIPE, text=True)
    with open(folder / "pipe", "rb") as reader:  # reads a little, then no more: writing waits
        reader.read(65536)
        done.send_signal(signal.SIGINT)
        ended = wait_for(lambda: done.poll() is not None)
        done.kill()
        said = done.stderr.read()
        test.check("SIGINT while a pipe takes no more", ended and done.wait() == 130
                   and listing(folder) == ["pipe"] and "Interrupted" in said,
                   (done.returncode, said))
    (folder / "pipe").unlink()


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    for part in (full_disk, full_device, closed_pipe, before_the_run, read_only, inputs,
                 interrupted):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            part(test, folder)
            test.check(f"{part.__name__} leaves nothing behind", listing(folder) == [],
                       listing(folder))
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
