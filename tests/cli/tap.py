"""Facts about a program, told one by one in the Test Anything Protocol."""
import subprocess


class Test:
    """Calls the binary and counts facts; `n` of them were told, `failed` do not hold."""

    def __init__(self, binary):
        self.binary, self.n, self.failed = binary, 0, 0

    def check(self, name, good, seen):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {' '.join(name.split())}"  # TAP: one line
              + ("" if good else f": {str(seen)[:800]}"), flush=True)

    def call(self, folder, *words, **more):
        """In a folder; None: in this one."""
        return subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True,
                              cwd=folder, check=False, **more)
