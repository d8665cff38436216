#!/usr/bin/env python3
"""Manual pages and completions of shells: they have what there is, and they work.

manual.py TRAINYARD SOURCE. What needs a program that is not here is skipped
(tests/common/needs.py).
"""
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # noqa: E402

BINARY = os.path.abspath(sys.argv[1])
SOURCE = pathlib.Path(sys.argv[2]).resolve()
SHELLS = SOURCE / "sim/manual"
MANUAL = SHELLS / "manual.py"
FOUND = {**os.environ, "PATH": f"{os.path.dirname(BINARY)}:{os.environ['PATH']}"}
BREAKS = "=:"  # bash splits words there, among others
COMMANDS = ["init", "run", "check", "report", "diff", "explain", "sweep", "plan", "fleet",
            "calibrate", "import", "export", "schedule", "classroom", "list"]


def call(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False, **more)


def said(*words):
    done = call(*words)
    assert done.returncode == 0, done
    return done.stdout


@functools.lru_cache
def form(name, **environment):
    env = {**os.environ, **environment}
    done = call(sys.executable, MANUAL, BINARY, name, "/usr/share/doc/trainyard", env=env)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def options(command):
    """Long options of a command, as its help tells them."""
    found = re.findall(r"^  (?:-\w,|   ) --([\w-]+)", said(BINARY, command, "--help"), re.M)
    assert {"help", "quiet"} <= set(found), found
    return found


def keys():
    return [line.split()[0] for line in said(BINARY, "list", "keys").splitlines()]


def words_of(line):
    """A line as bash splits it for a completion function: breaks are words of their own."""
    parts = re.findall(f"[{BREAKS}]+|[^\\s{BREAKS}]+", line)
    return parts + [""] if line[-1] == " " else parts


def offers(shell, script, line, folder):
    done = call(*shell, script, cwd=folder, env=FOUND)
    assert done.returncode == 0 and not done.stderr, (line, done.stderr)
    return done.stdout.splitlines()


def bash(line, folder=None):
    """What bash would offer; as readline puts it in place of the word after the last break."""
    words = " ".join(map(shlex.quote, words_of(line)))
    return offers(["bash", "--norc", "-c"], f"""
        . {shlex.quote(str(SHELLS / "trainyard.bash"))}
        COMP_LINE={shlex.quote(line)} COMP_POINT=${{#COMP_LINE}} COMP_WORDS=({words})
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
        _trainyard
        ((${{#COMPREPLY[@]}} == 0)) || printf '%s\\n' "${{COMPREPLY[@]}}" """, line, folder)


def fish(line, folder=None):
    script = shlex.quote(str(SHELLS / "trainyard.fish"))
    return [offer.split("\t")[0]
            for offer in offers(["fish", "--no-config", "-c"],
                                f"source {script}; complete -C {shlex.quote(line)}", line, folder)]


def zsh(line, folder=None):
    """What the script hands to the functions of zsh that would show it: words that begin with what
    is typed, and where names of files are looked for."""
    shown = offers(["zsh", "-fc"], f"""
        _describe() {{ print -rl -- "${{(@M)whole:#$PREFIX*}}" "${{(@M)begun:#$PREFIX*}}" }}
        _files() {{ print -r -- files "$@" }}
        compset() {{ PREFIX=${{PREFIX:$2}} }}
        complete_it() {{ . {shlex.quote(str(SHELLS / "_trainyard"))} }}
        words=({" ".join(map(shlex.quote, line.split(" ")))}) CURRENT=$#words PREFIX=$words[-1]
        complete_it""", line, folder)
    return [offer.replace("\\:", ":") for offer in shown if offer]


def the_page_has_every_command_and_option(folder):
    page = form("trainyard.1").replace("\\-", "-")
    for command in COMMANDS:
        assert f'.SS "{command} ' in page, command
        for name in options(command):
            entries = [e for e in page.split(".TP\n") if f"\\fB--{name}\\fR" in e]
            owners = [set(re.split(r",\s+", e[e.rindex("(") + 1:e.rindex(")")])) for e in entries]
            assert any(o & {"all", command} for o in owners), (command, name, owners)
    assert "can be shortened" in page and call(BINARY, "list", "--qui", "keys").returncode == 0
    assert re.findall(r"^\.B (\d+)$", page, re.M) == \
        ["0", "1", "2", "3", "4", "129", "130", "141", "143"], page
    for part in "NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "FILES", "EXAMPLES":
        assert f'.SH "{part}"' in page, part


def the_page_of_the_run_file_has_every_key(folder):
    page = form("trainyard.5")
    found = re.findall(r"^\.TP\n\.B (\S+)$", page, re.M)
    assert found == keys() and len(found) > 150


def the_pages_are_right_for_mandoc(folder):
    needs.program("mandoc")
    for name in "trainyard.1", "trainyard.5":
        (folder / name).write_text(form(name, SOURCE_DATE_EPOCH="1600000000"))
        done = call("mandoc", "-T", "lint", str(folder / name))
        assert done.returncode == 0 and not done.stdout, done.stdout


def the_pages_are_right_for_groff(folder):
    needs.program("groff")
    for name in "trainyard.1", "trainyard.5":
        done = call("groff", "-ww", "-man", "-Tutf8", input=form(name))
        assert done.returncode == 0 and not done.stderr, done.stderr
        plain = re.sub(".\b", "", done.stdout)  # letters are struck twice
        assert "layout.tensor" in plain and "SEE ALSO" in plain, plain


def the_date_is_that_of_the_build(folder):
    assert '"2020-09-13"' in form("trainyard.1", SOURCE_DATE_EPOCH="1600000000")
    without = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    assert '.TH TRAINYARD 1 ""' in call(sys.executable, MANUAL, BINARY, "trainyard.1", "doc",
                                       env=without).stdout


def the_examples_of_the_page_do_what_they_say(folder):
    shutil.copytree(SOURCE / "docs/examples", folder, dirs_exist_ok=True)
    rows = folder / "calibration/measured.csv"  # a dozen fit in no time
    rows.write_text("".join(rows.read_text().splitlines(True)[:13]))
    (folder / "train.sh").write_text("torchrun pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
                                     "--num-attention-heads 8 --seq-length 1024 "
                                     "--micro-batch-size 1 --vocab-size 32000\n")
    page = form("trainyard.1")
    lines = re.findall(r"^\.TP\n\\fB(trainyard .*)\\fR$", page.split(".SH EXAMPLES")[-1], re.M)
    lines = [line.replace("\\-", "-") for line in lines]
    assert {line.split()[1] for line in lines} == set(COMMANDS), lines
    for line in lines:
        done = call(BINARY, *shlex.split(line)[1:], cwd=folder)
        unbuilt = done.returncode == 3 and "-Dwasm=enabled" in done.stderr  # and it says so
        assert done.returncode == 0 or line.split()[1] == "classroom" and unbuilt, (line, done.stderr)
    for name in ("run.yaml", "step.json", "page.html", "table.csv", "ours.yaml", "first.goal/trace.bin"):
        assert (folder / name).stat().st_size > 0, name


def bash_offers_every_command_and_option(folder):
    needs.program("bash")
    assert set(COMMANDS) <= set(bash("trainyard "))
    assert bash("trainyard che") == ["check"]
    for command in COMMANDS:
        assert bash(f"trainyard {command} --") == [f"--{name}" for name in options(command)]
    assert bash("trainyard run --st") == ["--stats", "--steps"]
    assert bash("trainyard run -q --seed 3 --eng") == ["--engine"]


def bash_offers_values(folder):
    needs.program("bash")
    assert bash("trainyard run --stats ") == ["table", "json"]
    assert bash("trainyard run --stats=j") == ["json"]
    assert bash("trainyard run x --detail l") == ["layer"]
    assert bash("trainyard diff a b --order r") == ["rank", "run"]
    assert bash("trainyard run --trace ch") == ["chrome:"]
    assert bash("trainyard schedule zb-2") == ["zb-2p"]
    assert bash("trainyard schedule --compare 1f1b,zb-2") == ["1f1b,zb-2p"]
    assert bash("trainyard calibrate --fit cluster.derate,cluster.nic_e") == \
        ["cluster.derate,cluster.nic_efficiency"]
    assert bash("trainyard list sch") == ["schedules", "schema"]
    assert bash("trainyard list keys layout.z") == ["layout.zero"]
    assert bash("trainyard help sw") == ["sweep"]
    assert bash("trainyard run --window ") == []


def bash_offers_the_values_that_help_tells_of(folder):
    needs.program("bash")
    checked = 0
    for command in COMMANDS:
        for name, argument, meaning in re.findall(r"^  (?:-\w,|   ) --([\w-]+) (\S+) +(.*)$",
                                                  said(BINARY, command, "--help"), re.M):
            offered = bash(f"trainyard {command} --{name} ")
            if re.fullmatch(r"[a-z0-9|]+", argument):
                assert offered == argument.split("|"), (command, name, offered)
                checked += 1
            elif argument in ("LEVEL", "ORDER", "WHICH", "HOW"):
                assert offered and all(word in meaning for word in offered), (command, name)
                checked += 1
    assert checked > 20, checked


def bash_offers_every_key_and_its_words(folder):
    needs.program("bash")
    assert bash("trainyard run --set ") == [f"{key}=" for key in keys()]
    assert bash("trainyard run --set=layout.ze") == ["layout.zero="]
    assert bash("trainyard run --set model.attention=flash") == ["flash1", "flash2", "flash3"]
    assert bash("trainyard run --set=model.attention=flash3") == ["flash3"]
    assert bash("trainyard run --set model.preset=llama3-7") == ["llama3-70b"]
    assert bash("trainyard diff f --set B:layout.zer") == ["layout.zero="]
    assert bash("trainyard sweep f --over schedule.name=gpipe,zb-2") == ["gpipe,zb-2p"]
    assert bash("trainyard run --set layout.zero=") == ["auto"]


def bash_offers_files_where_files_are_meant(folder):
    needs.program("bash")
    for name in "one.yaml", "one.csv", "own.slots", "a b.yaml":
        (folder / name).write_text("")
    (folder / "ones").mkdir()
    assert set(bash("trainyard run on", folder)) == {"one.yaml", "ones"}
    assert bash("trainyard run a", folder) == ["a b.yaml"]
    assert set(bash("trainyard sweep f --rows on", folder)) == {"one.csv", "ones"}
    assert set(bash("trainyard run --output on", folder)) == {"one.yaml", "one.csv", "ones"}
    assert bash("trainyard run --trace chrome:one.y", folder) == ["one.yaml"]
    assert bash("trainyard schedule ow", folder) == ["own.slots"]
    assert bash("trainyard run --set cluster.operators=one.c", folder) == ["one.csv"]


def shellcheck_has_nothing_to_say(folder):
    needs.program("shellcheck")
    done = call("shellcheck", "-s", "bash", str(SHELLS / "trainyard.bash"))
    assert done.returncode == 0, done.stdout


def zsh_offers_the_same(folder):
    needs.program("zsh")
    said_of = [offer.split(":")[0] for offer in zsh("trainyard ")]
    assert set(COMMANDS) <= set(said_of), said_of
    for command in COMMANDS:
        assert [offer.split(":")[0] for offer in zsh(f"trainyard {command} --")] == \
            [f"--{name}" for name in options(command)]
    assert zsh("trainyard run --stats=j") == ["--stats=json:for programs"]
    assert [offer.split(":")[0] for offer in zsh("trainyard list keys layout.z")] == ["layout.zero"]
    assert zsh("trainyard run --trace chr")[0].startswith("chrome::")
    assert zsh("trainyard run on") == ["files -g (*.yaml|*.yml)"]
    assert zsh("trainyard diff on") == ["files"]
    assert zsh("trainyard run --trace chrome:on") == ["files"]


def fish_offers_the_same(folder):
    needs.program("fish")
    assert set(COMMANDS) <= set(fish("trainyard "))
    for command in COMMANDS:
        offered = {offer.rstrip("=") for offer in fish(f"trainyard {command} --")}
        assert {f"--{name}" for name in options(command)} <= offered, (command, offered)
    assert fish("trainyard run --stats=j") == ["--stats=json"]
    assert fish("trainyard run --set model.attention=flash3") == ["model.attention=flash3"]
    assert fish("trainyard diff f --set B:layout.zer") == ["B:layout.zero="]
    assert fish("trainyard sweep f --over schedule.name=gpipe,zb-2") == \
        ["schedule.name=gpipe,zb-2p"]
    assert fish("trainyard list keys layout.z") == ["layout.zero"]
    assert fish("trainyard run --trace ch") == ["chrome:"]
    (folder / "one.yaml").write_text("")
    assert fish("trainyard run on", folder) == ["one.yaml"]
    assert fish("trainyard run --trace chrome:on", folder) == ["chrome:one.yaml"]


def docs_keys_is_what_the_tables_say(folder):
    shown = (SOURCE / "docs/reference/keys.md").read_text(encoding="utf-8")
    assert shown == form("keys.md"), \
        "docs/reference/keys.md is out of date: sim/manual/manual.py BUILD/trainyard keys.md . > docs/reference/keys.md"
    assert all(f"`{key}`" in shown for key in keys())


def a_section_reads_in_80_columns(folder):
    for section in sorted({key.split(".", maxsplit=1)[0] for key in keys()}):
        text = said(BINARY, "list", "keys", section)
        assert text.startswith(f"{section}: "), text
        assert max(map(len, text.splitlines())) <= 80, text
    for key in "layout.zero", "output.svg":
        assert said(BINARY, "list", "keys", key).startswith(f"{key}\n")
    assert said(BINARY, "list", "keys", "layout").count("\nlayout.") == \
        sum(key.startswith("layout.") for key in keys())


def main():
    tests = [the_page_has_every_command_and_option, the_page_of_the_run_file_has_every_key,
             the_pages_are_right_for_mandoc, the_pages_are_right_for_groff,
             the_date_is_that_of_the_build, the_examples_of_the_page_do_what_they_say,
             bash_offers_every_command_and_option, bash_offers_values,
             bash_offers_the_values_that_help_tells_of, bash_offers_every_key_and_its_words,
             bash_offers_files_where_files_are_meant, shellcheck_has_nothing_to_say,
             zsh_offers_the_same, fish_offers_the_same, docs_keys_is_what_the_tables_say,
             a_section_reads_in_80_columns]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
                print(f"ok {number} - {name}", flush=True)
            except needs.Missing as why:
                failed += needs.told(number, name, why)
            except (AssertionError, OSError, subprocess.SubprocessError) as why:
                failed += 1
                print(f"not ok {number} - {name}\n# {str(why)[:1000]!r}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
