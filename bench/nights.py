#!/usr/bin/env python3
"""Runs plans for a night each, with agents that forget reports, block, crash, edit the plan, commit themselves, leave conflicts
and meet outages, while the user edits and the server is killed. Prints a table.

    cargo build --release -p maestro
    python3 bench/nights.py [--nights 10] [--tasks 12] [--seed 1] [--maestro PATH]
    tests/postgres python3 bench/nights.py --postgres

With `--postgres` the data is in PostgreSQL, and now and then all connections to it are cut.

A night is right if each task that can be done is committed once and ticked, each other task is named with its reason at the end,
and nothing hangs. The exit code is 1 if one is not. Nothing leaves the loopback interface, and no model is asked.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OVER = ("completed", "failed", "cancelled")
# Nothing may happen for so long, in seconds, while nobody is waited for.
HANG = 120
OUTAGE = "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"

# What an agent does wrong, and whether its task gets done all the same.
FAULTS = {
    "none": True, "forget": True, "mute": True, "crash": True, "exit": True, "tick": True, "damage": True, "commit": True,
    "conflict": True, "outage": True, "red once": True, "block": False, "red": False, "error": False,
}
REVIEWS = ["pass", "pass", "pass", "fail once", "no verdict", "no findings", "dies", "no end"]


def agent(state):
    """One start of an agent: what it does follows from its task, its role and how often it was started for it."""
    prompt = sys.stdin.read()
    task = re.search(r"## (?:Selected Task|Task Under Review)\b.*?^> (.*?)$", prompt, re.S | re.M).group(1).strip()
    reviews = "## Your verdict" in prompt
    with open(os.path.join(state, "faults.json"), encoding="utf-8") as file:
        fault, review = json.load(file)[task]
    number = count(state, f"{'review' if reviews else 'work'} {task}")
    if reviews:
        return look(prompt, review, number)
    return work(prompt, task, fault, number)


def count(state, what):
    """Counts a start of an agent and returns the number of starts."""
    with open(os.path.join(state, re.sub(r"\W+", "-", what)), "a+", encoding="utf-8") as file:
        file.write("x\n")
        file.seek(0)
        return len(file.readlines())


def maestro(*words, text=None):
    subprocess.run(["maestro", *words], input=text, text=True, check=False, stdout=subprocess.DEVNULL)


def work(prompt, task, fault, number):
    name = re.search(r"(\w+\.txt)", task).group(1)
    write(name, f"{task}\n")
    first = number == 1
    if fault == "crash" and first:
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "exit" and first:
        return 3
    if fault == "outage" and number <= 3:
        print(OUTAGE, file=sys.stderr)
        return 1
    if fault == "block":
        maestro("blocked", f"Which color for {name}?")
        return 0
    if fault == "error":
        maestro("report", "error", f"{name} cannot be made")
        return 0
    if fault in ("tick", "damage"):
        if "PLAN.md was changed" in prompt or "leave PLAN.md" in prompt:
            subprocess.run(["git", "checkout", "--", "PLAN.md"], check=False)
        elif first:
            with open("PLAN.md", encoding="utf-8") as file:
                plan = file.read()
            write("PLAN.md", plan.replace("[ ]", "[x]") if fault == "tick" else "nothing\n")
    if fault == "commit":
        subprocess.run(["git", "add", "--all"], check=False)
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "mine"], check=False)
    if fault == "conflict":
        both = f"<<<<<<< mine\n{task}\n=======\nother\n>>>>>>> theirs\n"
        write(f"c-{name}", "one\n" if "conflict markers" in prompt else both)
    if fault == "red" or (fault == "red once" and "## failed_check" not in prompt):
        write(f"r-{name}", f"RED {number}\n" if fault == "red once" else "RED\n")
    elif fault == "red once":
        write(f"r-{name}", "green\n")
    if "## findings" in prompt and "needs a second line" in prompt:
        write(name, f"{task}\nsecond\n")
    silent = fault == "mute" or (fault == "forget" and "ended without a report" not in prompt)
    if not silent:
        maestro("complete", f"wrote {name}")
    return 0


def look(prompt, review, number):
    if review == "dies" and number <= 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if review == "no verdict" and number == 1:
        maestro("complete", "looked")
        return 0
    fails = (review == "fail once" and "## found_before" not in prompt) or (review == "no findings" and number == 1)
    outcome = "fail" if fails else "pass"
    words = re.search(rf"`(maestro workflow report [^`]*--outcome {outcome}[^`]*)`", prompt).group(1).split()
    found = "it needs a second line" if fails and review == "fail once" else ""
    maestro(*words[1:], text=json.dumps({"findings": found}))
    if review != "no end":
        maestro("complete", "looked")
    return 0


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Night:
    """A plan of tasks, each with its fault, in a repository of its own."""

    def __init__(self, program, tasks, seed, postgres=None):
        self.program, self.chance = program, random.Random(seed)
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="night-", dir=os.environ.get("BENCH_DIR")))
        self.work, self.state = os.path.join(self.home, "work"), os.path.join(self.home, "state")
        for place in (self.work, self.state, os.path.join(self.home, ".config", "maestro")):
            os.makedirs(place)
        self.env = {
            "HOME": self.home, "MAESTRO_HOME": os.path.join(self.home, ".maestro"), "PATH": os.environ["PATH"],
            "MAESTRO_OUTAGE_PAUSE": "0.05", "LANG": "C.UTF-8",
        }
        self.server = None
        self.kills = self.edits = self.cuts = 0
        self.postgres, self.database = postgres, f"night_{os.getpid()}_{seed}"
        if postgres:
            self.sql(f"CREATE DATABASE {self.database}")
            self.env["MAESTRO_DATABASE"] = postgres.rsplit("/", 1)[0] + "/" + self.database
        self.jobs = 2 if seed % 3 == 0 else 1
        self.make_plan(tasks)
        self.set_up()

    def make_plan(self, count):
        """Tasks in a flat list, with a parent and its child and a numbered pair among them."""
        names = [f"Write t{number:02}.txt" for number in range(1, count + 1)]
        faults = list(FAULTS)
        self.chance.shuffle(faults)
        picked = [faults[at % len(faults)] for at in range(count)]
        self.faults = {name: (fault, self.chance.choice(REVIEWS)) for name, fault in zip(names, picked)}
        self.names, self.after = names, {}
        lines = []
        for at, name in enumerate(names):
            if at == 3:
                lines.append(f"- [ ] {name}")
            elif at == 4:
                lines.append(f"  - [ ] {name}")
                self.after[names[3]] = [name]
            elif at in (count - 2, count - 1):
                lines.append(f"{at - count + 3}. [ ] {name}")
            else:
                lines.append(f"- [ ] {name}")
        self.after[names[-1]] = [names[-2]]
        head, tail = "\n".join(lines[:-2]), "\n".join(lines[-2:])
        write(os.path.join(self.work, "PLAN.md"), f"# Plan\n\n{head}\n\n{tail}\n")

    def set_up(self):
        script = os.path.join(self.home, "agent.py")
        shutil.copy(os.path.abspath(__file__), script)
        write(os.path.join(self.state, "faults.json"), json.dumps(self.faults))
        entry = (
            f"[night]\ntitle = \"Night\"\nwrites = [{json.dumps(self.state)}]\n\n[night.text]\nprograms = [\"python3\"]\n"
            f"args = {json.dumps([script, 'agent', self.state])}\n"
        )
        config = os.path.join(self.home, ".config", "maestro")
        write(os.path.join(config, "agents.toml"), entry)
        check = "sh -c '! grep -rqs --include=*.txt RED .'"
        write(os.path.join(config, "config.toml"), f"verify = [{json.dumps(check)}]\n")
        write(os.path.join(self.home, ".gitconfig"), "[user]\nname = Ada\nemail = ada@example.org\n")
        os.makedirs(os.path.join(self.work, ".maestro"))
        write(os.path.join(self.work, ".maestro", "config.toml"), "skills_enabled = false\n")
        self.git("init", "-q", "--initial-branch=main")
        self.git("add", "--all")
        self.git("commit", "-qm", "begin")

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.work, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"git {words}: {done.stderr}")
        return done.stdout

    def sql(self, command):
        subprocess.run(["psql", self.postgres, "-qc", command], check=True, stdout=subprocess.DEVNULL)

    def maestro(self, *words):
        words = [self.program, *words]
        return subprocess.run(words, cwd=self.work, env=self.env, capture_output=True, text=True, check=False)

    def serve(self):
        log = open(os.path.join(self.home, "server.log"), "a", encoding="utf-8")
        self.server = subprocess.Popen(
            [self.program, "up", "--port", "0"], cwd=self.work, env=self.env, stdout=subprocess.PIPE, stderr=log, text=True
        )
        self.server.stdout.readline()

    def runs(self):
        """The runs of the loop, or nothing while no server answers."""
        said = self.maestro("loop", "status", "--json")
        return json.loads(said.stdout) if said.returncode == 0 else []

    def trouble_the_user(self):
        """The user edits and commits something else, or the server dies; with PostgreSQL its connections are cut as well."""
        if self.postgres:
            self.cuts += 1
            self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.database}'")
        if self.chance.random() < 0.5:
            self.edits += 1
            with open(os.path.join(self.work, "notes.md"), "a", encoding="utf-8") as file:
                file.write(f"note {self.edits}\n")
            self.git("add", "notes.md")
            self.git("commit", "-qm", f"note {self.edits}")
        else:
            self.kills += 1
            self.server.kill()
            self.server.wait()
            self.serve()

    def run(self):
        self.serve()
        words = ["--json", "loop", "PLAN.md", "--agent", "night", "--permission", "all", "--keep-going", "--wait", "0.05", "--detach"]
        began = self.maestro(*words, *(["-j", str(self.jobs)] if self.jobs > 1 else []))
        if began.returncode:
            return [f"it did not begin: {began.stderr}"]
        self.id = json.loads(began.stdout)["id"]
        since, seen = time.monotonic(), None
        trouble = sorted(self.chance.uniform(3, 30) for _ in range(3))
        began = time.monotonic()
        while True:
            time.sleep(0.25)
            runs = self.runs()
            if runs and all(run["status"] in OVER for run in runs):
                return self.wrong(runs)
            now = [run.get("updatedAt", 0) for run in runs], len(os.listdir(self.state))
            if now != seen:
                seen, since = now, time.monotonic()
            if time.monotonic() - since > HANG:
                return [f"it hangs: {json.dumps(runs)[:2000]}"]
            if trouble and time.monotonic() - began > trouble[0]:
                trouble.pop(0)
                self.trouble_the_user()

    def doable(self, name):
        return FAULTS[self.faults[name][0]] and all(self.doable(before) for before in self.after.get(name, []))

    def wrong(self, runs):
        """What is not as it should be."""
        branch = f"maestro/loop-{self.id}"
        subjects = self.git("log", "--format=%s", f"main..{branch}").splitlines()
        plan = self.git("show", f"{branch}:PLAN.md")
        said = "\n".join(run.get("message") or "" for run in runs)
        wrong = []
        for name in self.names:
            times, ticked = subjects.count(name), f"[x] {name}" in plan
            label = f"{name} ({', '.join(self.faults[name])})"
            if self.doable(name) and (times, ticked) != (1, True):
                wrong.append(f"{label} is committed {times} times, ticked: {ticked}")
            if not self.doable(name) and (times, ticked) != (0, False):
                wrong.append(f"{label} cannot be done and is committed {times} times, ticked: {ticked}")
            if not self.doable(name) and name not in said:
                wrong.append(f"{label} is not explained: {said}")
        self.done = len([name for name in self.names if self.doable(name)])
        return wrong

    def end(self, keep):
        self.server.terminate()
        self.server.wait()
        if self.postgres:
            self.sql(f"DROP DATABASE {self.database} WITH (FORCE)")
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--maestro", default=os.environ.get("MAESTRO", os.path.join(ROOT, "target", "release", "maestro")))
    parser.add_argument("--keep", action="store_true", help="keep the directories of nights that went wrong")
    parser.add_argument("--postgres", action="store_true", help="use the PostgreSQL of MAESTRO_TEST_POSTGRES, and cut it")
    options = parser.parse_args()
    postgres = os.environ.get("MAESTRO_TEST_POSTGRES") if options.postgres else None
    if options.postgres and not postgres:
        parser.error("MAESTRO_TEST_POSTGRES is not set; run it with tests/postgres")
    print("| night | at once | tasks | done | explained | server killed | database cut | user's commits | seconds | result |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    bad = 0
    for at in range(options.nights):
        night = Night(os.path.abspath(options.maestro), options.tasks, options.seed + at, postgres)
        began = time.monotonic()
        try:
            wrong = night.run()
        finally:
            night.end(options.keep)
        took = time.monotonic() - began
        done = getattr(night, "done", 0)
        result = "right" if not wrong else "wrong"
        row = [at + 1, night.jobs, options.tasks, done, options.tasks - done, night.kills, night.cuts, night.edits]
        row += [f"{took:.0f}", result]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        for line in wrong:
            print(f"    {line}", file=sys.stderr)
        if wrong and options.keep:
            print(f"    kept: {night.home}", file=sys.stderr)
        bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(agent(sys.argv[2]) if sys.argv[1:2] == ["agent"] else main())
