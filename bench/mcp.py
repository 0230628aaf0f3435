#!/usr/bin/env python3
"""Measures `maestro mcp` with five hundred skills: how soon it first answers, how long and how large its list of tools is, and how
soon a model hears that a workflow is not trusted yet.

    cargo build --release -p maestro
    python3 bench/mcp.py [skills=500] [calls=1000] [starts=50]

The skills are made up; every fifth has a workflow, or none has. A start counts from before the program is started to its first answer, for
a client of each era, and for one that asks for the tools at once, so that all skills are looked at.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import keep

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAESTRO = os.environ.get("MAESTRO", os.path.join(ROOT, "target", "release", "maestro"))
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def numbers():
    given = dict(word.split("=") for word in sys.argv[1:])
    return int(given.get("skills", 500)), int(given.get("calls", 1000)), int(given.get("starts", 50))


def make(project, skills, flows):
    """So many skills; of each five so many have a workflow."""
    for number in range(skills):
        name = f"skill-{number:03}"
        folder = os.path.join(project, ".claude", "skills", name)
        os.makedirs(folder)
        with open(os.path.join(folder, "SKILL.md"), "w") as file:
            file.write(f"---\nname: {name}\ndescription: How to do number {number} of many. Use when asked.\n---\n\nDo it.\n")
        if number % 5 < flows:
            with open(os.path.join(folder, "workflow.yaml"), "w") as file:
                file.write(f"name: {name}\ndescription: Walks through {name}.\nparams: {{what: {{type: string}}}}\nsteps:\n"
                           "  - {id: work, type: agent, description: Work., next: {ok: end, fail: end}}\n")


class Client:
    def __init__(self, project, environment):
        self.process = subprocess.Popen([MAESTRO, "mcp"], cwd=project, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.count = 0

    def call(self, method, params):
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert b'"result"' in answer, answer
        return answer

    def leave(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def start(project, environment, method, params):
    begun = time.perf_counter()
    client = Client(project, environment)
    client.call(method, params)
    took = (time.perf_counter() - begun) * 1000
    client.leave()
    return took


def listing(project, environment, calls):
    client = Client(project, environment)
    first = client.call("tools/list", {"_meta": META})
    taken, bodies = [], set()
    for _ in range(calls):
        begun = time.perf_counter()
        answer = client.call("tools/list", {"_meta": META})
        taken.append((time.perf_counter() - begun) * 1000)
        bodies.add(json.dumps(json.loads(answer)["result"]))
    client.leave()
    assert bodies == {json.dumps(json.loads(first)["result"])}, "the list is not the same from call to call"
    return taken, len(first)


def refused(project, environment, starts):
    """A workflow with a command that nobody allowed: its start is answered as soon as that is known."""
    with open(os.path.join(project, ".claude", "skills", "skill-000", "workflow.yaml"), "w") as file:
        file.write("name: skill-000\nsteps:\n  - {id: look, type: command, command: [git, status]}\n")
    client = Client(project, environment)
    client.call("tools/list", {"_meta": META})
    taken = []
    for _ in range(starts):
        begun = time.perf_counter()
        answer = client.call("tools/call", {"name": "run_start", "arguments": {"workflow": "skill-000"}, "_meta": META})
        taken.append((time.perf_counter() - begun) * 1000)
        assert b"not_allowed" in answer, answer
    client.leave()
    return taken


def told(title, taken, flows):
    ordered = sorted(taken)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    keep(f"maestro mcp, {title.strip()}, {'some' if flows else 'no'} workflows", f"{statistics.median(taken):.1f} ms", spread=f"p99 {p99:.1f} ms")
    print(f"{title:<44} median {statistics.median(taken):6.1f} ms   p99 {p99:6.1f} ms   of {len(taken)}")


def measure(place, flows):
    skills, calls, starts = numbers()
    project = os.path.join(place, f"project-{flows}")
    environment = {"HOME": place, "MAESTRO_HOME": os.path.join(place, "maestro"), "PATH": os.environ["PATH"]}
    make(project, skills, flows)
    print(f"{skills} skills, {skills * flows // 5} of them with workflows")
    for method, params in [("initialize", HELLO), ("server/discover", {"_meta": META}), ("tools/list", {"_meta": META})]:
        told(f"  first answer, {method}", [start(project, environment, method, params) for _ in range(starts)], flows)
    taken, size = listing(project, environment, calls)
    told("  tools/list", taken, flows)
    print(f"  {'its size':<42} {size} bytes, the same from call to call")
    if flows:
        told("  start of a workflow that is not trusted", refused(project, environment, starts), flows)


def main():
    place = tempfile.mkdtemp()
    try:
        measure(place, 0)
        measure(place, 1)
    finally:
        shutil.rmtree(place)


main()
