#!/usr/bin/env python3
"""Measures workflows: the pure engine, one report through the command line, and what must hold under load and crashes.

    cargo build --release -p maestro
    cargo build --release -p maestro-core --example transitions
    python3 bench/workflows.py [engine] [report] [crash] [crowd]

`crash` and `crowd` run the tests of the same names with their full counts; `crowd` needs `tests/postgres`.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from figures import keep, span

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RELEASE = os.path.join(ROOT, "target", "release")
MAESTRO = os.path.join(RELEASE, "maestro")

WORKFLOW = """name: bench
steps:
{steps}
"""
STEP = "  - {{id: s{0}, type: agent, actions: [Do it.], result: {{summary: {{type: string}}}}, next: {{ok: {1}, fail: end}}}}"


def engine():
    example = os.path.join(RELEASE, "examples", "transitions")
    times = [int(subprocess.run([example], check=True, capture_output=True).stdout) for _ in range(5)]
    keep("10,000 transitions of a workflow", f"{statistics.median(times)} ms", spread=span(times, "{}"), wanted="< 1000 ms",
         met=statistics.median(times) < 1000)
    print(f"engine: 10,000 transitions of a workflow of 25 steps: {statistics.median(times)} ms (wanted < 1000)")


def report():
    """One `workflow report` through the command line and SQLite, without a server and with one."""
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "MAESTRO_HOME": os.path.join(home, ".maestro"), "PATH": os.environ["PATH"]}
        folder = os.path.join(home, ".maestro", "skills", "bench")
        os.makedirs(folder)
        steps = [STEP.format(number, f"s{number + 1}" if number < 59 else "end") for number in range(60)]
        with open(os.path.join(folder, "workflow.yaml"), "w") as file:
            file.write(WORKFLOW.format(steps="\n".join(steps)))

        def maestro(*args, text=None):
            began = time.perf_counter()
            done = subprocess.run([MAESTRO, *args], env=env, cwd=home, input=text, capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr + done.stdout)
            return done.stdout, (time.perf_counter() - began) * 1000

        for kind in ["without a server", "with a server"]:
            server = None
            if kind == "with a server":
                command = [MAESTRO, "up", "--port", "0", "--json"]
                server = subprocess.Popen(command, env=env, cwd=home, stdout=subprocess.PIPE)
                server.stdout.readline()
            out, _ = maestro("workflow", "start", "bench", "--format", "json")
            times = []
            for _ in range(50):
                told = json.loads(out)
                args = ["workflow", "report", told["run"], "--ticket", told["ticket"], "--outcome", "ok"]
                out, took = maestro(*args, "--result-file", "-", "--format", "json", text='{"summary": "done"}')
                times.append(took)
            if server:
                server.terminate()
                server.wait()
            times.sort()
            keep(f"one workflow report, {kind}", f"{statistics.median(times):.1f} ms", spread=f"p95 {times[47]:.1f} ms", wanted="< 20 ms",
                 met=statistics.median(times) < 20)
            print(f"report, {kind}: median {statistics.median(times):.1f} ms, p95 {times[47]:.1f} ms (wanted < 20)")


def tests(package, name, **counts):
    env = {**os.environ, **counts}
    # The whole workspace is built, as by `tests/run`: a package alone has other features and would be built again.
    wanted = f"package({package}) & test({name})"
    command = ["tests/postgres", "cargo", "nextest", "run", "--workspace", "--no-capture", "-E", wanted]
    subprocess.run(command, cwd=ROOT, env=env, check=True)


def crash():
    tests("maestro", "workflow_crash")


def crowd():
    tests("maestro-server", "runs_at_once", MAESTRO_ROUNDS="50")


PARTS = {"engine": engine, "report": report, "crash": crash, "crowd": crowd}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
