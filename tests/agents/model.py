"""The scripted model, as a process."""

import http.server
import json
import os
import re
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Agents ask for the title of a conversation, too.
TITLE = {"text": "A title"}


def build():
    """Builds the model, and returns where it is."""
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "maestro-test-model"], cwd=ROOT, check=True)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target"), "debug/maestro-test-model")


class Model:
    """The scripted model, as a process."""

    def __init__(self):
        program = os.environ.get("MAESTRO_TEST_MODEL") or build()
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


class HearingModel(Model):
    """One that also says again what tools told it: `heard` names what a pattern finds last in a request's bytes."""

    def __init__(self, heard):
        super().__init__()
        self.heard, self.tags, self.behind = heard, {}, self.url
        self.relay = http.server.ThreadingHTTPServer(("127.0.0.1", 0), relay(self))
        self.url = f"http://127.0.0.1:{self.relay.server_port}"
        threading.Thread(target=self.relay.serve_forever, daemon=True).start()

    def play(self, tags, taken=None):
        self.tags = tags
        super().play(tags, taken)

    def hear(self, body):
        """Puts what a request tells into what is said to it."""
        found = {name: re.findall(pattern, body.decode(errors="replace")) for name, pattern in self.heard.items()}
        text = json.dumps({"tags": self.tags, "default": TITLE})
        for name, values in found.items():
            text = text.replace("{{%s}}" % name, values[-1]) if values else text
        self.pass_on("PUT", "/__script", text.encode(), {})

    def pass_on(self, method, path, body, headers):
        """Has the model itself answer."""
        return urllib.request.urlopen(urllib.request.Request(self.behind + path, body, headers, method=method))

    def stop(self):
        self.relay.shutdown()
        self.relay.server_close()
        super().stop()


def relay(model):
    """What stands between an agent and the model, and hands on what either says."""

    class Relay(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.command == "POST":
                model.hear(body)
            try:
                answer = model.pass_on(self.command, self.path, body or None, {"content-type": "application/json"})
            except urllib.error.HTTPError as error:
                answer = error
            text = answer.read()
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers.get("content-type") or "text/plain")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = handle_any

        def log_message(self, *_):
            pass

    return Relay
