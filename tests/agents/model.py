"""The scripted model, as a process."""

import json
import os
import subprocess
import tempfile
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Agents ask for the title of a conversation, too.
TITLE = {"text": "A title"}


class Model:
    """The scripted model, as a process."""

    def __init__(self):
        subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "maestro-test-model"], cwd=ROOT, check=True)
        program = os.path.join(os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target"), "debug/maestro-test-model")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as script:
            script.write("{}")
            script.flush()
            self.process = subprocess.Popen([program, script.name], stdout=subprocess.PIPE, text=True)
            self.url = self.process.stdout.readline().strip()

    def say(self, steps):
        """Answers every request about the task with these steps."""
        self.play({"TASK-7": steps})

    def play(self, tags, taken=None):
        """Answers every request with the steps of the first of these tags that it holds.

        `taken` names what they say again of the prompt: what stands after one text, until another."""
        taken = {name: {"after": after, "until": until} for name, (after, until) in (taken or {}).items()}
        text = json.dumps({"tags": tags, "default": TITLE, "taken": taken}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/__script", text, method="PUT"))
        self.seen = len(self.requests())

    def requests(self):
        return json.load(urllib.request.urlopen(f"{self.url}/__requests"))

    def since(self):
        """What was asked since the steps were said."""
        return self.requests()[self.seen:]

    def sent(self, number):
        """The bytes of a request."""
        return urllib.request.urlopen(f"{self.url}/__requests/{number}").read()

    def stop(self):
        self.process.kill()
        self.process.wait()
