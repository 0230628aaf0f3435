#!/usr/bin/env python3
"""Measures plans that are worked through: what a loop takes beside its agents, and whether kills cost a task.

    cargo build --release -p maestro
    python3 bench/loop.py [overhead] [kills]

TASKS says of how many tasks the plan is (20), KILLS how often the server or a worker of its own is killed (100). The agents are the demo agent, so
what is measured is Maestro. Nothing leaves the loopback interface.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAESTRO = os.environ.get("MAESTRO", os.path.join(ROOT, "target", "release", "maestro"))
OVER = ("completed", "failed", "cancelled")


class Stage:
    """A repository with a plan, and a server that is started and killed at will; its agents' worker is apart, if wanted."""

    def __init__(self, tasks, apart=False):
        self.apart = apart
        self.home = tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR"))
        self.work = os.path.join(self.home, "work")
        os.mkdir(self.work)
        self.env = {
            "HOME": self.home,
            "MAESTRO_HOME": os.path.join(self.home, ".maestro"),
            "PATH": os.environ["PATH"],
        }
        self.tasks = [f"Add a file f{number}.txt that says number {number}" for number in range(1, tasks + 1)]
        with open(os.path.join(self.home, ".gitconfig"), "w") as file:
            file.write("[user]\nname = Ada\nemail = ada@example.org\n")
        with open(os.path.join(self.work, "PLAN.md"), "w") as file:
            file.write("# Plan\n\n" + "".join(f"- [ ] {task}\n" for task in self.tasks))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=begin")
        self.up()
        if apart:
            self.work_on()

    def git(self, *words):
        return subprocess.check_output(["git", *words], env=self.env, cwd=self.work, text=True)

    def up(self):
        command = [MAESTRO, "up", "--port", "0", "--json"] + (["--agents", "0"] if self.apart else [])
        self.process = subprocess.Popen(command, env=self.env, cwd=self.work, stdout=subprocess.PIPE)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def work_on(self):
        command = [MAESTRO, "worker", "run"]
        self.worker = subprocess.Popen(command, env=self.env, cwd=self.work, stdout=subprocess.PIPE)
        self.worker.stdout.readline()

    def kill(self, which):
        process = self.worker if which == "worker" else self.process
        process.kill()
        process.wait()
        self.work_on() if which == "worker" else self.up()

    def begin(self):
        command = [MAESTRO, "loop", "PLAN.md", "--agent", "demo", "--detach"]
        return subprocess.check_output(command, env=self.env, cwd=self.work, text=True).split()[0]

    def ask(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    def until(self, run, is_so):
        seen, since = -1, time.time()
        while not is_so(state := self.ask(f"/api/runs/{run}")):
            if state["revision"] != seen:
                seen, since = state["revision"], time.time()
            if time.time() - since > 60:
                raise SystemExit(f"it does not go on: {state}")
            time.sleep(0.005)
        return state

    def wrong(self, run):
        """How many tasks were not done exactly once, in their place."""
        said = self.git("log", "--reverse", "--format=%s", f"main..maestro/loop-{run}").splitlines()
        plan = self.git("show", f"maestro/loop-{run}:PLAN.md")
        pairs = sum(one != two for one, two in zip(said, self.tasks))
        return pairs + abs(len(said) - len(self.tasks)) + plan.count("- [ ]")

    def close(self):
        if self.apart:
            self.worker.send_signal(signal.SIGTERM)
            self.worker.wait(20)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        shutil.rmtree(self.home)


def overhead():
    stage = Stage(int(os.environ.get("TASKS", "20")))
    count = len(stage.tasks)
    print(f"## A plan of {count} tasks, each done and reviewed by the demo agent")
    run = stage.begin()
    ended = stage.until(run, lambda state: state["status"] in OVER)
    took = ended["endedAt"] - ended["createdAt"]
    sessions = [one for one in stage.ask("/api/sessions?limit=500") if one["metadata"].get("run") == run]
    agents = 0
    for session in sessions:
        times = [entry["at"] for entry in stage.ask(f"/api/sessions/{session['id']}/transcript?limit=500")]
        agents += max(times) - min(times)
    print(f"{ended['status']}, tasks done wrongly: {stage.wrong(run)}, sessions: {len(sessions)}")
    print(f"whole: {took / 1000:.1f} s, the agents themselves: {agents / 1000:.1f} s")
    print(f"beside the agents: {(took - agents) / count:.0f} ms a task (wanted: less than 300)")
    stage.close()


def kills():
    wanted = int(os.environ.get("KILLS", "100"))
    dice = random.Random(int(os.environ.get("SEED", "7")))
    print(f"## {wanted} kills of server or worker at random moments")
    done, wrong, rounds = {"server": 0, "worker": 0}, 0, 0
    while sum(done.values()) < wanted:
        stage = Stage(12, apart=rounds % 2 == 1)
        run, rounds = stage.begin(), rounds + 1
        while sum(done.values()) < wanted:
            until = stage.ask(f"/api/runs/{run}")["revision"] + dice.randrange(14)
            state = stage.until(run, lambda state: state["revision"] >= until or state["status"] in OVER)
            if state["status"] in OVER:
                break
            time.sleep(dice.random() * 0.06)
            which = dice.choice(["server", "worker"]) if stage.apart else "server"
            stage.kill(which)
            done[which] += 1
        ended = stage.until(run, lambda state: state["status"] in OVER)
        wrong += stage.wrong(run) + (ended["status"] != "completed")
        stage.close()
    told = ", ".join(f"{count} of the {which}" for which, count in done.items())
    print(f"kills: {told}; {rounds} plans of 12 tasks, tasks done wrongly: {wrong}")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["overhead", "kills"]:
        {"overhead": overhead, "kills": kills}[name]()
