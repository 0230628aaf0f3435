#!/usr/bin/env python3
"""Measures how long a prompt waits for `maestro hook`: with a database of its own, and with a server.

    cargo build --release -p maestro
    python3 bench/hooks.py [skills=200] [prompts=200]

The skills are made up. A prompt that fits one alternates with one that fits none; every one is reported.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from figures import keep

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAESTRO = os.environ.get("MAESTRO", os.path.join(ROOT, "target", "release", "maestro"))
TOPICS = ["pdf", "postgres", "kubernetes", "terraform", "react", "invoice", "audio", "photo", "calendar", "ledger"]
DEEDS = ["merge", "migrate", "deploy", "lint", "profile", "translate", "archive", "schedule", "encrypt", "compare"]


def numbers():
    given = dict(word.split("=") for word in sys.argv[1:])
    return int(given.get("skills", 200)), int(given.get("prompts", 200))


def make(project, skills):
    write(project, "receipt-stitching", "Stitch scanned receipts into one report. Use when receipts are to be stitched.")
    for number in range(skills - 1):
        topic, deed = TOPICS[number % 10], DEEDS[number // 10 % 10]
        write(project, f"{topic}-{deed}-{number}", f"How to {deed} {topic} files of kind {number}.")


def write(project, name, description):
    folder = os.path.join(project, ".claude", "skills", name)
    os.makedirs(folder)
    with open(os.path.join(folder, "SKILL.md"), "w") as file:
        file.write(f"---\nname: {name}\ndescription: {description}\n---\n\n" + "Step by step, with care.\n" * 100)


def hook(environment, project, title, number):
    words = "Stitch the scanned receipts of May into a report" if number % 2 == 0 else "What does this function return?"
    told = {"session_id": f"{title.replace(' ', '-')}-{number}", "cwd": project, "hook_event_name": "UserPromptSubmit",
            "prompt": words}
    begun = time.perf_counter()
    done = subprocess.run([MAESTRO, "hook", "claude-code"], input=json.dumps(told).encode(), env=environment,
                          cwd=project, capture_output=True)
    took = (time.perf_counter() - begun) * 1000
    assert done.returncode == 0 and not done.stderr, done
    return took, bool(done.stdout)


def measure(title, environment, project, prompts):
    for number in range(5):
        hook(environment, project, title, number)
    taken = [hook(environment, project, title, 5 + number) for number in range(prompts)]
    times = sorted(took for took, _ in taken)
    fits = sum(fits for _, fits in taken)
    keep(f"a prompt's hook, {title}, median", f"{statistics.median(times):.1f} ms", spread=f"p95 {times[int(len(times) * 0.95)]:.1f} ms")
    print(f"{title:22} median {statistics.median(times):6.1f} ms   p95 {times[int(len(times) * 0.95)]:6.1f} ms   "
          f"most {times[-1]:6.1f} ms   answered {fits} of {prompts}")


def main():
    skills, prompts = numbers()
    with tempfile.TemporaryDirectory() as root:
        home, project = os.path.join(root, "home"), os.path.join(root, "project")
        os.makedirs(home)
        os.makedirs(project)
        make(project, skills)
        environment = {"HOME": home, "PATH": os.environ["PATH"]}
        subprocess.run([MAESTRO, "init", "--yes"], env=environment, cwd=project, check=True, capture_output=True)
        measure("with its own database", environment, project, prompts)
        server = subprocess.Popen([MAESTRO, "up", "--agents", "0", "--port", "0"], env=environment, cwd=project,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            while not re.search(r"http://", server.stdout.readline()):
                pass
            measure("with a server", environment, project, prompts)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
        missed = os.path.join(home, ".maestro", "hooks", "missed.jsonl")
        left = sum(1 for _ in open(missed)) if os.path.exists(missed) else 0
        print(f"failures not yet told: {left}")


if __name__ == "__main__":
    main()
