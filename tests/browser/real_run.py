"""A run of the built-in loop with the demo agent, started as a person would."""

import json
import os
import pathlib
import signal
import subprocess
import time

PLAN = "# Greetings\n\n- [ ] Add a file hello.txt that says Hello\n"


class Worker:
    """A worker that starts queued agents; ends with its `with` block."""

    def __init__(self, server, **variables):
        self.server, self.environment = server, server.environment | variables

    def __enter__(self):
        command = [os.environ["MAESTRO_BIN"], "worker", "run"]
        self.process = subprocess.Popen(command, env=self.environment, cwd=self.server.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def start(server, name="demo-repo"):
    """A repository with a plan, worked through by the demo agent. Returns the run and the repository."""
    project = server.repository(name)
    path = pathlib.Path(server.home, name)
    path.joinpath("PLAN.md").write_text(PLAN)
    for words in (["config", "user.name", "me"], ["config", "user.email", "me@example.com"], ["add", "-A"], ["commit", "-qm", "Plan"]):
        subprocess.run(["git", *words], cwd=path, check=True, env=server.environment)
    params = {"plan": "PLAN.md", "agent": "demo", "reviewer": "demo", "permission": "all", "checks": False, "tracked": True}
    body = {"workflow": "plan-loop", "builtin": True, "projectId": project, "driver": "server", "demo": True, "params": params}
    return server.call("POST", "/api/runs", body)["id"], path


def wait_for(server, run, states, seconds=120):
    """Waits until a run is in one of these states."""
    until = time.monotonic() + seconds
    while True:
        body = server.call("GET", f"/api/runs/{run}")
        if body["state"] in states:
            return body
        assert time.monotonic() < until, json.dumps(body)[:1500]
        time.sleep(0.1)


def log(server, path):
    """The commits of the checked-out branch."""
    return subprocess.run(["git", "log", "--format=%s"], cwd=path, env=server.environment, capture_output=True, text=True, check=True).stdout
