"""Maestro as a user has it: a home, a project with skills that we wrote, and `maestro up` where it is wanted."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PATIENCE = 60

# A command before a question, two questions that fit into one form, one that depends on an answer, work for an agent,
# and a command again.
SHED = """\
workflow: 1
name: paint-shed
version: "1.0"
description: Paint a shed. Use when a shed needs paint.
params:
  who: {type: string, required: true}
variables:
  colour: {type: string}
  coats: {type: string}
  lid: {type: string}
  cleaned: {type: string}
steps:
  - {id: mix, type: command, title: Mix the paint, shell: {script: "echo mixed >> mixed.txt"}}
  - {id: colour, type: question, prompt: "Which colour, {who}?", options: [red, blue], store: colour}
  - {id: coats, type: question, prompt: How many coats?, store: coats}
  - {id: lid, type: question, prompt: "Where does the lid of {colour} go?", default: shelf, store: lid}
  - id: paint
    type: agent
    title: Paint
    description: "Paint the shed {colour}, {coats} times."
    result:
      litres: {type: string, max_length: 20, description: How much paint it took}
    next: {ok: clean, fail: end}
  - {id: clean, type: command, title: Clean the brush, shell: {script: "echo cleaned >> cleaned.txt; echo spotless"}, store: cleaned}
outputs:
  colour: "{colour}"
  coats: "{coats}"
  lid: "{lid}"
  litres: "{steps.paint.result.litres}"
  brush: "{cleaned}"
"""
ANSWERS = {"colour": "blue", "coats": "2", "lid": "hook"}
LITRES = "3"
OUTPUTS = ANSWERS | {"litres": LITRES, "brush": "spotless"}

# A command with a child, and with one in a session of its own, that waits until it may end.
DRY = """\
workflow: 1
name: dry-shed
version: "1.0"
description: Wait until a shed is dry.
steps:
  - id: dry
    type: command
    title: Let it dry
    shell:
      script: |
        echo begun >> begun.txt
        sleep 600 & echo $! > child.pid
        setsid sleep 600 & echo $! > apart.pid
        echo $$ > shell.pid
        until [ -e dry.txt ]; do sleep 0.05; done
        kill $(cat child.pid apart.pid)
"""
PIDS = ["child.pid", "apart.pid", "shell.pid"]


def answer_to(prompt):
    """What the user says, by a word of the question."""
    return next(answer for word, answer in ANSWERS.items() if word in prompt)


def filled_in(fields, answer=answer_to):
    """A form with these fields when the user has filled it in."""
    return {name: answer(field["title"]) for name, field in fields.items()}


class Wrong(Exception):
    """Something is not as it must be."""


def expect(holds, what):
    if not holds:
        raise Wrong(what)


def until(what, happened, seconds=PATIENCE):
    """Waits for something to happen, and returns it."""
    deadline = time.monotonic() + seconds
    while not (found := happened()):
        expect(time.monotonic() < deadline, f"not in {seconds} s: {what}")
        time.sleep(0.02)
    return found


def build():
    """The program to try: the one that is named, else the one that is built here."""
    if named := os.environ.get("MAESTRO"):
        return os.path.abspath(named)
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "maestro"], cwd=ROOT, check=True)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target"), "debug/maestro")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Place:
    """One user with one project, who speaks to `maestro mcp` or to a server."""

    def __init__(self, maestro, transport):
        self.maestro, self.transport = maestro, transport
        self.root = tempfile.mkdtemp(prefix="maestro-mcp-")
        self.home, self.work = f"{self.root}/home", f"{self.root}/project"
        self.env = {
            "HOME": self.home, "MAESTRO_HOME": f"{self.home}/.maestro", "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
            # What a command writes down of its processes must mean the same out here: no numbers of a namespace.
            "MAESTRO_CONFINEMENT": "landlock",
        }
        self.server, self.url = None, None
        self.pipes = []

    def __enter__(self):
        try:
            self.furnish()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def furnish(self):
        os.makedirs(self.home)
        for name, workflow in [("paint-shed", SHED), ("dry-shed", DRY)]:
            self.write_skill(name, "Read the workflow.", workflow)
        self.project = json.loads(self.cli("--json", "project", "create", "Shed"))["id"]
        self.cli("trust", "paint-shed", "dry-shed", "--yes")
        if self.transport == "http":
            self.up()

    def close(self):
        for process in [*self.pipes, self.server]:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        for pid in filter(is_alive, filter(None, map(self.pid, PIDS))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, name, text):
        path = f"{self.work}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def write_skill(self, name, text, workflow=None):
        if workflow:
            self.write(f".skills/{name}/workflow.yaml", workflow)
        header = f"---\nname: {name}\ndescription: How to {name.replace('-', ' a ')}.\n---\n\n"
        self.write(f".skills/{name}/SKILL.md", header + text + "\n")

    def read(self, name):
        """What a file of the project says; nothing where there is none."""
        try:
            with open(f"{self.work}/{name}", encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def pid(self, name):
        """A process of the command that waits, once it is there."""
        text = self.read(name)
        return int(text) if text.endswith("\n") else None

    def waiting_pids(self):
        """All processes of the command that waits."""
        pids = [until(f"{name} is written", lambda: self.pid(name)) for name in PIDS]
        expect(all(map(is_alive, pids)), "the command that waits is not there")
        return pids

    def wait_for_the_end(self, pids):
        """Waits until these are gone, in less than the minute after which the command's own time would be over."""
        until("the command and all that it started are gone", lambda: not any(map(is_alive, pids)), 20)

    def cli(self, *args):
        done = subprocess.run([self.maestro, *args], cwd=self.work, env=self.env, capture_output=True, text=True)
        expect(done.returncode == 0, f"maestro {' '.join(args)}: {(done.stdout + done.stderr).strip()[-300:]}")
        return done.stdout

    def up(self):
        """Starts the server."""
        out = f"{self.root}/up.json"
        with open(out, "w", encoding="utf-8") as told, open(f"{self.root}/up.log", "a", encoding="utf-8") as log:
            # The client of the SDK takes an address and nothing else.
            self.server = subprocess.Popen(
                [self.maestro, "up", "--port", "0", "--json", "--auth", "open"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                stdout=told, stderr=log,
            )

        def address():
            expect(self.server.poll() is None, f"the server ended with {self.server.returncode}")
            with open(out, encoding="utf-8") as file:
                line = file.readline()
            return line.endswith("\n") and json.loads(line)["url"]

        self.url = until("the server says where it is", address) + "/mcp"

    def pipe(self):
        """Starts `maestro mcp`."""
        with open(f"{self.root}/mcp.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(
                [self.maestro, "mcp"], cwd=self.work, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True,
            )
        self.pipes.append(process)
        return process

    def crash(self):
        """Ends whatever serves without a word; a server begins anew elsewhere."""
        for process in self.pipes if self.transport == "stdio" else [self.server]:
            process.send_signal(signal.SIGKILL)
            process.wait()
        if self.transport == "http":
            self.up()

    def transcript(self, run, told):
        """What happened to a run, as a client is told it and as the command prints it, without what differs by nature."""
        printed = json.loads(self.cli("--json", "workflow", "log", run))
        expect(json.loads(told) == printed, "the command's log is another than the resource")
        expect(self.read("mixed.txt") == "mixed\n", f"the command before the question: {self.read('mixed.txt')!r}")
        expect(self.read("cleaned.txt") == "cleaned\n", f"the command at the end: {self.read('cleaned.txt')!r}")
        return plain(printed, {run: "RUN", self.work: "WORK", self.project: "PROJECT"})


def plain(log, names):
    """A log without times, seeds, what is made of them, and who answered: a form is the user's, a call the agent's."""
    text = json.dumps(log, indent=1, ensure_ascii=False)
    for value, name in names.items():
        text = text.replace(value, name)
    text = re.sub(r'"(at|now|seed)": \d+', r'"\1": 0', text)
    text = re.sub(r'"by": "(user|agent)"', '"by": "SOMEBODY"', text)
    return re.sub(r'("ticket": "\w+#\d+)\.\w+"', r'\1.TICKET"', text)
