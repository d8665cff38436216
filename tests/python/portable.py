#!/usr/bin/env python3
"""Whether a wheel of -Dstatic=true is what its name says: manylinux_2_28, by the rules of auditwheel.

usage: portable.py WHEEL

Shared libraries that it needs are those of every Linux, no function of them is younger than glibc
2.28, and the program needs none. The library and the program say the same as each other."""
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import Test  # noqa: E402

ALLOWED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
           "ld-linux-x86-64.so.2"}
RUN = "docs/examples/first.yaml"


def output(*command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True,
                          **more).stdout


def main():
    wheel = pathlib.Path(sys.argv[1]).resolve()
    test = Test(None)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        zipfile.ZipFile(wheel).extractall(folder)
        library = folder / "trainyard/libtrainyard.so"
        program, = folder.glob("*.data/scripts/trainyard")
        headers = output("objdump", "-p", library)
        needed = set(re.findall(r"NEEDED +(\S+)", headers))
        test.check("the library needs what every Linux has", needed <= ALLOWED, needed)
        young = {v for v in re.findall(r"GLIBC_2\.(\d+)", headers) if int(v) > 28}
        test.check("of glibc 2.28 or older, as its name says", not young
                   and "manylinux_2_28_x86_64" in wheel.name, (young, wheel.name))
        test.check("the program needs none", "NEEDED" not in output("objdump", "-p", program), program)
        program.chmod(0o755)
        of_program = output(program, "run", RUN, "--stats", "json")
        of_library = output(sys.executable, "-c", (
            "import sys, trainyard; print(repr(trainyard.run(sys.argv[1]).step_time_s))"), RUN,
                            env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"})
        test.check("both say the same", f'"step_time_s": {of_library.strip()},' in of_program,
                   (of_library, of_program[:200]))
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
