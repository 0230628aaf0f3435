#!/usr/bin/env python3
"""Measures plans that are worked through: what a loop takes beside its agents, whether kills cost a task, and what is left of
a long plan with two failed reviews and a crash; and how long the prompts are that agents get.

    cargo build --release -p maestro
    python3 bench/loop.py [overhead] [kills] [plan] [prompts]

TASKS says of how many tasks the plan is (20), KILLS how often the server or a worker of its own is killed (100). The agents are
the demo agent, so what is measured is Maestro. Nothing leaves the loopback interface.
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
TOKEN = "a-token-for-measurements-0123456789abcdef"
OVER = ("completed", "failed", "cancelled")


class Stage:
    """A repository with a plan, and a server that is started and killed at will; its agents' worker is apart, if wanted."""

    def __init__(self, tasks, failing=(), apart=False):
        self.apart = apart
        self.home = tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR"))
        self.work = os.path.join(self.home, "work")
        os.mkdir(self.work)
        self.env = {
            "HOME": self.home,
            "MAESTRO_HOME": os.path.join(self.home, ".maestro"),
            "PATH": os.environ["PATH"],
        }
        says = {number: "it fails its first review" for number in failing}
        self.tasks = [
            f"Add a file f{number}.txt that says {says.get(number, f'number {number}')}" for number in range(1, tasks + 1)
        ]
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
        environment = {**self.env, "MAESTRO_AUTH_TOKEN": TOKEN}
        self.process = subprocess.Popen(command, env=environment, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def work_on(self):
        command = [MAESTRO, "worker", "run"]
        self.worker = subprocess.Popen(command, env=self.env, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.worker.stdout.readline()

    def kill(self, which):
        process = self.worker if which == "worker" else self.process
        process.kill()
        process.wait()
        self.work_on() if which == "worker" else self.up()

    def begin(self):
        command = [MAESTRO, "--json", "loop", "PLAN.md", "--agent", "demo", "--detach"]
        return json.loads(subprocess.check_output(command, env=self.env, cwd=self.work, text=True))["id"]

    def ask(self, path):
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def until(self, run, is_so, pause=0.005):
        seen, since = -1, time.time()
        while not is_so(state := self.ask(f"/api/runs/{run}")):
            if state["revision"] != seen:
                seen, since = state["revision"], time.time()
            if time.time() - since > 60:
                raise SystemExit(f"it does not go on: {state}")
            time.sleep(pause)
        return state

    def wrong(self, run):
        """How many tasks were not done exactly once, in their place."""
        said = self.git("log", "--reverse", "--format=%s", f"main..maestro/loop-{run}").splitlines()
        plan = self.git("show", f"maestro/loop-{run}:PLAN.md")
        pairs = sum(one != two for one, two in zip(said, self.tasks))
        return pairs + abs(len(said) - len(self.tasks)) + plan.count("- [ ]")

    def mixed(self, run):
        """How many commits hold anything but the file of their task and the plan with one tick more."""
        commits = self.git("rev-list", "--reverse", f"main..maestro/loop-{run}").split()
        return sum(
            self.git("show", "--format=", "--name-only", commit).split() != ["PLAN.md", f"f{number}.txt"]
            or self.git("show", f"{commit}:PLAN.md").count("- [x]") != number
            for number, commit in enumerate(commits, 1)
        )

    def tickets(self, run):
        trailer = "--format=%(trailers:key=Maestro-Task,valueonly,separator=)"
        return len(set(self.git("log", trailer, f"main..maestro/loop-{run}").split()))

    def worktrees(self):
        return self.git("worktree", "list", "--porcelain").count("worktree ")

    def locks(self):
        return sum(name.endswith(".lock") for _, _, names in os.walk(f"{self.work}/.git") for name in names)

    def left(self):
        """How many processes there are whose home this is."""
        mark, found = f"MAESTRO_HOME={self.env['MAESTRO_HOME']}".encode(), 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    found += mark in file.read().split(b"\0")
            except OSError:
                pass
        return found

    def told(self):
        """What agents were told, in the order in which they began."""
        place = os.path.join(self.home, ".local", "state", "maestro-demo")
        names = sorted(name for name in os.listdir(place) if name.endswith(".jsonl")) if os.path.isdir(place) else []
        return [json.loads(line) for name in names for line in open(os.path.join(place, name), encoding="utf-8")]

    def end(self):
        if self.apart:
            self.worker.send_signal(signal.SIGTERM)
            self.worker.wait(20)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def close(self):
        self.end()
        shutil.rmtree(self.home)


def overhead():
    stage = Stage(int(os.environ.get("TASKS", "20")))
    count = len(stage.tasks)
    print(f"## A plan of {count} tasks, each done and reviewed by the demo agent")
    run = stage.begin()
    # Times come from the run itself: asking often would cost what is measured.
    ended = stage.until(run, lambda state: state["status"] in OVER, pause=0.5)
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


def plan():
    count = int(os.environ.get("TASKS", "20"))
    print(f"## A plan of {count} tasks, two failed reviews and one crash among them")
    stage = Stage(count, failing=[2, count - 1])
    begun, run = time.time(), stage.begin()
    trailer = f"Maestro-Task: {run}/"
    half = lambda: stage.git("log", "--all", "--format=%B").count(trailer) >= count // 2
    stage.until(run, lambda state: half() or state["status"] in OVER)
    stage.kill("server")
    ended = stage.until(run, lambda state: state["status"] in OVER)
    sessions = [one for one in stage.ask("/api/sessions?limit=500") if one["metadata"].get("run") == run]
    took = time.time() - begun
    print(f"{ended['status']} in {took:.1f} s, tasks done wrongly: {stage.wrong(run)}, sessions: {len(sessions)}")
    print(f"commits with other files than their task's and the plan: {stage.mixed(run)}, tickets: {stage.tickets(run)}")
    stage.end()
    print(f"processes left: {stage.left()}, worktrees: {stage.worktrees()} (the user's, the loop's), locks: {stage.locks()}")
    subprocess.run([MAESTRO, "merge", run], env=stage.env, cwd=stage.work, check=True, stdout=subprocess.DEVNULL)
    print(f"worktrees when it is merged: {stage.worktrees()}")
    shutil.rmtree(stage.home)


def prompts():
    """What the agents of a plan and of a session are told, in bytes and in tokens of four bytes."""
    print("## Prompts of a task of one line")
    print("| prompt | skills | bytes | tokens |\n|---|---|---|---|")
    for skills in (True, False):
        stage = Stage(1)
        os.makedirs(os.path.join(stage.work, ".maestro"), exist_ok=True)
        with open(os.path.join(stage.work, ".maestro", "config.toml"), "w") as file:
            file.write(f"skills_enabled = {str(skills).lower()}\n")
        stage.until(stage.begin(), lambda state: state["status"] in OVER)
        told = list(zip(["loop, implementation", "loop, review"], stage.told()))
        maestro = lambda *words: json.loads(
            subprocess.check_output([MAESTRO, "--json", *words], env=stage.env, cwd=stage.work, text=True)
        )
        task = maestro("task", "create", "Add a file g1.txt that says number 1")["id"]
        before = len(stage.told())
        maestro("session", "spawn", "--task", task, "--agent", "demo")
        since = time.time()
        while len(stage.told()) == before:
            if time.time() - since > 60:
                raise SystemExit("the session was not started")
            time.sleep(0.05)
        told.append(("session spawn", stage.told()[before]))
        for name, text in told:
            size = len(text.encode())
            print(f"| {name} | {'on' if skills else 'off'} | {size:,} | {-(-size // 4):,} |")
        stage.close()


if __name__ == "__main__":
    every = {"overhead": overhead, "kills": kills, "plan": plan, "prompts": prompts}
    for name in sys.argv[1:] or every:
        every[name]()
