"""Maestro as a user has it: a home directory, a project with the fixtures' skills in it, and `maestro up`."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = "a-token-for-mcp-clients-0123456789abcdef"
ROOT = os.path.dirname(os.path.dirname(HERE))


def tools():
    """Where the protocol's own test tools are; those that are missing are installed."""
    output = subprocess.run([f"{HERE}/install", "node", "conformance", "inspector"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


def build():
    """The program that is tested: the one that MAESTRO names, else this repository's."""
    if os.environ.get("MAESTRO"):
        return os.environ["MAESTRO"]
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "maestro"], cwd=ROOT, check=True)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target"), "debug/maestro")


class Product:
    """One user with one project, and the server of it."""

    def __init__(self):
        self.maestro, self.server = build(), None
        self.home = tempfile.mkdtemp(prefix="maestro-mcp-")
        self.work = f"{self.home}/project"
        self.env = {"HOME": self.home, "MAESTRO_HOME": f"{self.home}/.maestro", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def __enter__(self):
        # Told to end, it ends what it started.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.terminate()
            try:
                self.server.wait(15)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        if os.environ.get("MAESTRO_KEEP"):
            print(f"left in {self.home}")
        else:
            shutil.rmtree(self.home)

    def cli(self, *args):
        done = subprocess.run([self.maestro, *args], cwd=self.work, env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"maestro {' '.join(args)}: {(done.stdout + done.stderr).strip()}")
        return done.stdout

    def prepare(self):
        """Makes the project, and allows what its workflows execute."""
        shutil.copytree(f"{HERE}/fixtures/skills", f"{self.work}/.agent/skills")
        subprocess.run(["git", "init", "--quiet", self.work], env=self.env, check=True)
        self.cli("workflow", "check")
        self.cli("init", "--yes")
        executed = [each["name"] for each in json.loads(self.cli("--json", "trust"))["here"]]
        self.cli("trust", "--yes", *executed)

    def up(self, *args):
        """Starts the server, and returns the address at which it speaks the protocol."""
        self.prepare()
        # An open server has no token, and refuses one that it does not know.
        self.headers = {} if "open" in args else {"Authorization": f"Bearer {TOKEN}"}
        with open(f"{self.home}/server.log", "w", encoding="utf-8") as log:
            self.server = subprocess.Popen(
                [self.maestro, "up", "--port", "0", "--json", *args], cwd=self.work,
                env=self.env | {"MAESTRO_AUTH_TOKEN": TOKEN}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True,
            )
        # One line when it listens, the end of its output when it cannot.
        line = self.server.stdout.readline()
        if not line:
            with open(f"{self.home}/server.log", encoding="utf-8") as log:
                raise RuntimeError(f"the server does not start: {log.read()}")
        self.url = json.loads(line)["url"]
        return f"{self.url}/mcp"

    def api(self, path):
        request = urllib.request.Request(self.url + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)


def write_docs(part, text):
    """Puts what was seen into its part of the README."""
    path = f"{HERE}/README.md"
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(f"<!-- {part} -->\n", 1)
    after = rest.split("<!-- end -->\n", 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}<!-- {part} -->\n{text}\n<!-- end -->\n{after}")
