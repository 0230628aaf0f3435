#!/usr/bin/env python3
"""Measures agents that are really started: many at once, the time until one hears its first word, and a flood.

    cargo build --release -p maestro
    python3 bench/agents.py [many] [begin] [flood]

The agents are the demo agent and a shell, so what is measured is Maestro. Nothing leaves the loopback interface.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAESTRO = os.environ.get("MAESTRO", os.path.join(ROOT, "target", "release", "maestro"))
TOKEN = "a-token-for-measurements-0123456789abcdef"
OVER = ("completed", "failed", "stopped")

# A shell that notes the time when it reads the first byte of its prompt.
TABLE = r"""
[clock]
title = "A clock"

[clock.text]
programs = ["sh"]
args = ["-c", "head -c 1 > /dev/null; date +%s%N > \"heard-$MAESTRO_SESSION_ID\"; cat > /dev/null; maestro complete heard"]
"""


class Server:
    """A server of its own with a worker, on a database of its own, until it is closed."""

    def __init__(self, agents):
        self.home = tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR"))
        self.work = os.path.join(self.home, "work")
        config = os.path.join(self.home, ".config", "maestro")
        os.makedirs(config)
        os.mkdir(self.work)
        self.script = os.path.join(self.home, "script")
        with open(os.path.join(config, "agents.toml"), "w") as file:
            file.write(TABLE)
        # All that comes of this server knows this word, so that whatever is left of it is found.
        self.mark = f"MAESTRO_DEMO_BENCH={self.home}"
        self.env = {
            "HOME": self.home,
            "MAESTRO_HOME": os.path.join(self.home, ".maestro"),
            "MAESTRO_DEMO_SCRIPT": self.script,
            "MAESTRO_DEMO_BENCH": self.home,
            "PATH": os.environ["PATH"],
        }
        command = [MAESTRO, "up", "--port", "0", "--json", "--agents", str(agents)]
        environment = {**self.env, "MAESTRO_AUTH_TOKEN": TOKEN}
        self.process = subprocess.Popen(command, env=environment, cwd=self.work, stdout=subprocess.PIPE)
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.project = self.post("/api/projects", {"name": "bench", "workingDir": self.work})["id"]

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def post(self, path, body):
        return self.ask(path, body)

    def spawn(self, agent, **more):
        task = self.post("/api/tasks", {"projectId": self.project, "title": "a task"})["id"]
        body = {"projectId": self.project, "taskIds": [task], "agent": agent, **more}
        return self.post("/api/sessions/spawn", body)["sessionId"]

    def wait(self, sessions, seconds=600):
        """Waits until nobody sees to any of them any more; returns how each ended."""
        end = time.time() + seconds
        while time.time() < end:
            found = {one["id"]: one["status"] for one in self.ask("/api/sessions?limit=500")}
            if all(found[one] in OVER for one in sessions):
                if all(self.ask(f"/api/sessions/{one}/spawn")["state"] == "done" for one in sessions):
                    return found
            time.sleep(0.05)
        raise SystemExit("the agents never came to an end")

    def peak(self):
        """The most memory the server ever had, in megabytes."""
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024

    def cpu(self):
        """How many seconds of processor time the server itself took."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def left(self):
        """How many processes there are that came of this server: below it, or with its word in their environment."""
        parents, marked = {}, set()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    parents[pid] = int(file.read().rsplit(") ", 1)[1].split()[1])
                with open(f"/proc/{pid}/environ") as file:
                    if self.mark in file.read().split("\0"):
                        marked.add(pid)
            except OSError:
                pass
        below = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in below} - below:
            below |= more
        return len((below | marked) - {self.process.pid})

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        shutil.rmtree(self.home)


def act(**what):
    return json.dumps(what) + "\n"


def many():
    count = int(os.environ.get("AGENTS", "50"))
    print(f"## {count} sessions at once, each with an agent that reports twenty times")
    server = Server(count)
    with open(server.script, "w") as file:
        # None of them ends before all of them are there.
        file.write(act(do="run", command="touch there-$MAESTRO_SESSION_ID; while [ ! -e go ]; do sleep 1; done"))
        for number in range(20):
            file.write(act(do="report", words=["update", f"step {number}"]))
            file.write(act(do="say", text=f"I did step {number}."))
        file.write(act(do="report", words=["complete", "all done"]))
    start = time.time()
    sessions = [server.spawn("demo") for _ in range(count)]
    there = lambda: sum(name.startswith("there-") for name in os.listdir(server.work))
    while there() < count and time.time() - start < 120:
        time.sleep(0.02)
    began, processes = time.time() - start, server.left()
    print(f"at work at once: {there()} of {count} after {began:.1f} s, {processes} processes")
    open(os.path.join(server.work, "go"), "w").close()
    found = server.wait(sessions)
    took = time.time() - start
    wanted = [f"step {number}" for number in range(20)] + ["all done"]
    mixed = 0
    for one in sessions:
        lines = [line["message"] for line in server.ask(f"/api/sessions/{one}/timeline?limit=500")]
        mixed += [line for line in lines if line in wanted] != wanted
    completed = sum(found[one] == "completed" for one in sessions)
    print(f"completed: {completed} of {count} after {took:.1f} s")
    print(f"sessions whose reports are missing or mixed up: {mixed} (wanted: 0)")
    print(f"peak memory of the server: {server.peak():.0f} MB (wanted: under 150), {server.cpu():.1f} s of its processor time")
    print(f"processes left: {server.left()} (wanted: 0)")
    server.close()


def begin():
    times = int(os.environ.get("TIMES", "20"))
    print(f"## From the request to the agent's first byte of its prompt, {times} times")
    server = Server(4)
    open(server.script, "w").close()
    delays = []
    for number in range(times + 2):
        task = server.post("/api/tasks", {"projectId": server.project, "title": "a task"})["id"]
        body = {"projectId": server.project, "taskIds": [task], "agent": "clock"}
        start = time.time_ns()
        session = server.post("/api/sessions/spawn", body)["sessionId"]
        server.wait([session])
        heard = int(open(os.path.join(server.work, f"heard-{session}")).read())
        if number >= 2:
            delays.append((heard - start) / 1e6)
    delays.sort()
    p95 = delays[min(len(delays) - 1, round(len(delays) * 0.95))]
    print(f"median {statistics.median(delays):.0f} ms, p95 {p95:.0f} ms (wanted: under 150), fastest {delays[0]:.0f} ms")
    server.close()


def flood():
    lines, megabytes = int(os.environ.get("LINES", "100000")), int(os.environ.get("MEGABYTES", "10"))
    print(f"## One agent that prints {lines} lines, and says {megabytes} MB in one line of JSON")
    server = Server(1)
    with open(server.script, "w") as file:
        file.write(act(do="flood", lines=lines))
        file.write(act(do="report", words=["update", "between"]))
        file.write(act(do="long_line", megabytes=megabytes))
        file.write(act(do="report", words=["complete", "after"]))
    start = time.time()
    session = server.spawn("demo")
    found = server.wait([session])
    took = time.time() - start
    entries, cursor = [], 0
    while part := server.ask(f"/api/sessions/{session}/transcript?limit=500&cursor={cursor}"):
        entries += part
        cursor = part[-1]["ord"]
    size = sum(len(json.dumps(entry["event"])) for entry in entries)
    cut = sum(entry["event"]["payload"].get("bytes", 0) for entry in entries if entry["event"]["type"] == "agent:cut")
    print(f"{found[session]} after {took:.1f} s; {server.cpu():.1f} s of the server's processor time")
    print(f"peak memory of the server: {server.peak():.0f} MB (wanted: under 150)")
    print(f"transcript: {len(entries)} entries, {size / 1024:.0f} kB; said to be left out: {cut / 1024 / 1024:.1f} MB")
    server.close()


PARTS = {"many": many, "begin": begin, "flood": flood}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
