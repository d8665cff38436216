#!/usr/bin/env python3
"""The classroom in Firefox, which is told by Marionette, its own protocol: it opens from disk, simulates,
follows its address, checks an answer. Chromium does the rest (classroom.py).

usage: firefox.py TRAINYARD [SCREENSHOT.png]

Skips where there is no Firefox, or the program was built without the page's simulator.
"""
import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import Test  # noqa: E402

PATIENCE_S = 60


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Firefox:
    """One, with a profile of its own in a folder."""

    def __init__(self, program, folder):
        port = free_port()
        (folder / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        self.process = subprocess.Popen(
            [program, "--headless", "--marionette", "--no-remote", "--profile", str(folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(folder)})
        self.socket, self.number = self.reach(port), 0
        self.receive()  # a greeting
        self.call("WebDriver:NewSession", {})

    @staticmethod
    def reach(port):
        for _ in range(10 * PATIENCE_S):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
            except OSError:
                time.sleep(0.1)
        raise SystemExit("Firefox does not answer")

    def receive(self):
        """A message is LENGTH:JSON."""
        head = b""
        while not head.endswith(b":"):
            head += self.socket.recv(1)
        body = b""
        while len(body) < int(head[:-1]):
            body += self.socket.recv(65536)
        return json.loads(body)

    def call(self, name, arguments):
        self.number += 1
        text = json.dumps([0, self.number, name, arguments]).encode()
        self.socket.sendall(str(len(text)).encode() + b":" + text)
        _, _, error, value = self.receive()
        if error:
            raise RuntimeError(error)
        return value

    def eval(self, script):
        return self.call("WebDriver:ExecuteScript", {"script": f"return {script}", "args": []})["value"]

    def wait(self, script):
        """Until it is true; what it is then."""
        for _ in range(10 * PATIENCE_S):
            value = self.eval(script)
            if value:
                return value
            time.sleep(0.1)
        return None

    def end(self):
        try:
            self.call("Marionette:Quit", {"flags": ["eForceQuit"]})
        except (OSError, RuntimeError):
            self.process.terminate()
        self.process.wait(PATIENCE_S)


def facts(test, firefox, page, picture):
    text = "document.body.innerText"
    firefox.call("WebDriver:Navigate", {"url": f"{page.as_uri()}#schedule=1f1b&p=4&m=8"})
    test.check("it opens from disk and simulates", firefox.wait(
        f"{text}.includes('27.3 %') && {text}.includes('(m + p - 1)(tF + tB)')"), firefox.eval(text))
    if picture:
        shot = firefox.call("WebDriver:TakeScreenshot", {"full": True})["value"]
        pathlib.Path(picture).write_bytes(base64.b64decode(shot))
    firefox.eval("location.hash = 'schedule=zb-v&p=4&m=8'")
    test.check("its address chooses another schedule", firefox.wait(f"{text}.includes('5.88 %') || "
                                                                    f"{text}.includes('5.9 %')"), firefox.eval(text))
    firefox.eval("location.hash = 'model.preset=llama-13b&cluster.preset=dgx-a100-80g&cluster.nodes=2"
                 "&layout.pipeline=4&layout.global_batch=64&layout.zero=0'")
    test.check("a whole model in a Worker", firefox.wait(f"{text}.includes('3.884 s')"),
               firefox.eval(text))
    # the address that a change is about to get, and another one that is typed meanwhile
    firefox.eval("location.hash = 'schedule=1f1b&p=4&m=8'")
    firefox.wait(f"{text}.includes('27.3 %')")
    firefox.eval("""(() => { const m = document.getElementById('s-m'); m.value = Number(m.value) + 1;
                 m.dispatchEvent(new Event('input', {bubbles: true})); })()""")
    firefox.wait(f"{text}.includes('25.0 %')")
    firefox.eval("""(() => { const end = performance.now() + 500; while (performance.now() < end) {}
                 location.hash = 'schedule=gpipe&p=2&m=2'; })()""")
    test.check("an address that is typed stays", firefox.wait(f"{text}.includes('33.3 %')")
               and firefox.eval("location.hash").startswith("#schedule=gpipe"), firefox.eval("location.hash"))
    firefox.eval("location.hash = 'lesson=1'")
    test.check("a lesson", firefox.wait(f"{text}.includes('Each rank then has 3 m units of work')"),
               firefox.eval(text))


def main():
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        print("1..0 # SKIP no Firefox")
        return 0
    with tempfile.TemporaryDirectory() as name:
        page = pathlib.Path(name, "classroom.html").resolve()
        made = subprocess.run([sys.argv[1], "classroom", "-o", str(page)], capture_output=True,
                              text=True, check=False)
        if made.returncode == 3 and "-Dwasm=enabled" in made.stderr:
            print("1..0 # SKIP built without the simulator for pages")
            return 0
        profile = pathlib.Path(name, "profile")
        profile.mkdir()
        test, firefox = Test(sys.argv[1]), Firefox(program, profile)
        try:
            facts(test, firefox, page, sys.argv[2] if len(sys.argv) > 2 else None)
        finally:
            firefox.end()
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
