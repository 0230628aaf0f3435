"""Maestro as a user has it: a home directory, a project in it, and `maestro up` where it is wanted."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import recipes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKILL = "marmot-watch"
TOKEN = "a-token-for-agents-0123456789abcdef"
# What must reach the model, letter by letter.
SKILL_TEXT = "Whistle twice before you dig, and count 4711 marmots."


class Late(Exception):
    """Something did not happen in time."""


def until(what, happened, seconds=60):
    """Waits for something to happen, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        found = happened()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Late(f"not in {seconds} s: {what}")
        time.sleep(0.1)


def build():
    """Builds Maestro, unless MAESTRO names one, and returns where it is."""
    if os.environ.get("MAESTRO"):
        return os.path.abspath(os.environ["MAESTRO"])
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "maestro"], cwd=ROOT, check=True)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target"), "debug/maestro")


class Home:
    """One user with some agents, and a project. It is not among temporary files: there an agent may write anyway."""

    def __init__(self, maestro, programs, model, files):
        self.maestro, self.model = maestro, model
        cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")) + "/maestro/agent-runs"
        os.makedirs(cache, exist_ok=True)
        self.home = tempfile.mkdtemp(prefix=f"{'-'.join(programs)}-", dir=cache)
        self.work = f"{self.home}/project"
        self.env = {"HOME": self.home, "LANG": "C.UTF-8", "TERM": "dumb"}
        # The key of the scripted model, as a user of a model of their own would name it.
        self.env["MAESTRO_AGENT_ENV"] = "TEST_KEY"
        self.env["PATH"] = os.pathsep.join([*map(os.path.dirname, programs.values()), os.environ["PATH"]])
        # The model each agent is to ask for, where it does not know that by itself.
        self.llms = {}
        for name in programs:
            variables, settings, self.llms[name] = recipes.at_home(name, model.url, self.home)
            self.env |= variables
            self.write(settings)
        self.write({f"{self.home}/.gitconfig": "[user]\n  name = A User\n  email = user@example.org\n"})
        self.write({f"{self.work}/{name}": text for name, text in files.items()})
        self.git("init", "-q", "--initial-branch=main")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "A meadow")

    def write(self, files):
        for path, text in files.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def git(self, *args):
        return subprocess.run(["git", *args], cwd=self.work, env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout

    def cli(self, *args):
        done = subprocess.run([self.maestro, *args], cwd=self.work, env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise Late(f"maestro {' '.join(args)}: {(done.stdout + done.stderr).strip()[-300:]}")
        return done.stdout

    def file(self, name):
        """What a file of the project says, if there is one; a path is a path."""
        try:
            with open(os.path.join(self.work, name), encoding="utf-8") as file:
                return file.read()
        except OSError:
            return None

    def close(self):
        if not os.environ.get("MAESTRO_KEEP"):
            shutil.rmtree(self.home, ignore_errors=True)


class Product(Home):
    """One user with one agent, and a server."""

    def __init__(self, maestro, name, program, model):
        skill = f"---\nname: {SKILL}\ndescription: How to work where marmots live.\n---\n\n# Marmots\n\n{SKILL_TEXT}\n"
        files = {f".skills/{SKILL}/SKILL.md": skill, "README.md": "# A meadow\n"}
        super().__init__(maestro, {name: program}, model, files)
        self.name, self.llm = name, self.llms[name]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = None
        self.up()
        self.cli("init", "--yes", "--no-tools")
        listed = json.loads(self.cli("--json", "project", "list"))
        known = [project for project in listed if project.get("workingDir") == self.work]
        self.project = (known[0] if known else json.loads(self.cli("--json", "project", "create", "Meadow")))["id"]

    def up(self):
        """Starts the server."""
        log = open(f"{self.home}/server.log", "a", encoding="utf-8")
        self.server = subprocess.Popen(
            [self.maestro, "up", "--port", str(self.port)], cwd=self.work, env=self.env | {"MAESTRO_AUTH_TOKEN": TOKEN},
            stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, start_new_session=True,
        )
        log.close()

        def healthy():
            if self.server.poll() is not None:
                raise Late(f"the server ended with {self.server.returncode}: see {self.home}/server.log")
            try:
                return urllib.request.urlopen(f"{self.url}/health", timeout=2).status == 200
            except OSError:
                return False

        until("the server answers", healthy, 30)

    def kill(self):
        """Ends the server without a word."""
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()

    def api(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            return json.load(urllib.request.urlopen(request, timeout=20))
        except urllib.error.HTTPError as error:
            raise Late(f"{path}: {error.read().decode()[:300]}") from error

    def task(self, title):
        return json.loads(self.cli("--json", "task", "create", title, "--desc", f"Do {title}."))["id"]

    def spawn(self, title, **more):
        """Starts the agent for a task of its own, and returns the session."""
        body = {"projectId": self.project, "taskIds": [self.task(title)], "agent": self.name, "permission": "all", "worktree": False}
        body |= {"model": self.llm} if self.llm else {}
        return self.api("/api/sessions/spawn", body | more)["sessionId"]

    def session(self, session):
        return self.api(f"/api/sessions/{session}")

    def outcome(self, session):
        return self.api(f"/api/sessions/{session}/spawn").get("outcome") or {}

    def reasons(self, session):
        """What came of it, in words."""
        outcome = self.outcome(session)
        return "; ".join(outcome.get("reasons") or [outcome.get("reason") or outcome.get("kind") or "nothing is known"])

    def ended(self, session, seconds=120):
        """Waits for its end, and returns how it stands then."""
        def over():
            done = self.api(f"/api/sessions/{session}/spawn")["state"] == "done"
            return done and self.session(session)
        try:
            return until("the session ends", over, seconds)
        except Late as late:
            raise Late(f"{late}; {self.last(session)}") from late

    def last(self, session):
        """What was heard of it last."""
        tail = [json.dumps(entry["event"])[:300] for entry in self.api(f"/api/sessions/{session}/transcript")[-3:]]
        return f"{self.session(session)['status']}: {' '.join(tail)}"

    def timeline(self, session):
        return [entry.get("message") or "" for entry in self.api(f"/api/sessions/{session}/timeline")]

    def close(self):
        """Ends what is left of it."""
        if self.server and self.server.poll() is None:
            self.server.terminate()
            try:
                self.server.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
        super().close()


def processes(marker):
    """Every process that has this in its environment or its command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        text = b""
        for name in ["cmdline", "environ"]:
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    text += file.read()
            except OSError:
                pass
        if marker.encode() in text and int(pid) != os.getpid():
            found.append((int(pid), text.split(b"\0")[0].decode(errors="replace")))
    return found
