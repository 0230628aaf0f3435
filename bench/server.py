#!/usr/bin/env python3
"""Measures the server: one report end to end, many at once, many watchers, and doing nothing.

    python3 bench/server.py [update] [reports] [watchers] [idle]        BUILD=0 takes what is built

It builds what it needs: the program, the router without storage, and the load.
Ratios are of one run on one machine; each part prints what it compares. Nothing leaves the loopback interface.
"""

import atexit
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from figures import keep, span

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RELEASE = os.path.join(ROOT, "target", "release")
MAESTRO = os.path.join(RELEASE, "maestro")
LOAD = os.path.join(RELEASE, "examples", "load")
HOLLOW = os.path.join(RELEASE, "examples", "hollow")
TOKEN = "a-token-for-measurements-0123456789abcdef"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


class Server:
    """A server of its own, on a database of its own, until it is closed."""

    def __init__(self, *args):
        self.home = tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR"))
        self.env = {"HOME": self.home, "MAESTRO_HOME": os.path.join(self.home, ".maestro"), "PATH": os.environ["PATH"]}
        command = [MAESTRO, "up", "--port", "0", "--json", *args]
        self.process = subprocess.Popen(
            command, env={**self.env, "MAESTRO_AUTH_TOKEN": TOKEN}, cwd=self.home, stdout=subprocess.PIPE
        )
        # A part that fails leaves nothing running behind it.
        atexit.register(self.process.kill)
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.address = self.url.removeprefix("http://")
        self.project = self.post("/api/projects", {"name": "bench", "workingDir": self.home})["id"]

    def post(self, path, body):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json", **AUTHORIZED}
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def metric(self, name):
        with urllib.request.urlopen(urllib.request.Request(self.url + "/metrics", headers=AUTHORIZED)) as answer:
            found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.M)
        return float(found.group(1))

    def session(self):
        task = self.post("/api/tasks", {"projectId": self.project, "title": "a task"})["id"]
        body = {"projectId": self.project, "taskIds": [task], "status": "working"}
        return self.post("/api/sessions", body)["id"], task

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)
        shutil.rmtree(self.home)


NODE = """
import http from 'node:http';
const [url, session, message, token] = process.argv.slice(2);
const body = JSON.stringify({ message });
const authorization = `Bearer ${token}`;
const headers = { authorization, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
const request = http.request(`${url}/api/sessions/${session}/reports`, { method: 'POST', headers }, (answer) => {
  answer.resume();
  answer.on('end', () => { console.log('Reported.'); process.exit(answer.statusCode === 200 ? 0 : 1); });
});
request.end(body);
"""


def timed(command, env, times):
    """Milliseconds from start to end of a command, and of processor time."""
    walls = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        walls.append((time.perf_counter() - start) * 1000)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000 / times
    return statistics.median(walls), cpu


def update():
    print("## One report, from the start of the process to the synced answer")
    server = Server()
    session, _ = server.session()
    env = {**server.env, "MAESTRO_SESSION_ID": session}
    node = shutil.which("node")
    script = os.path.join(server.home, "client.mjs")
    with open(script, "w") as file:
        file.write(NODE)
    timed([MAESTRO, "update", "warm"], env, 5)
    ours, cpu = timed([MAESTRO, "update", "reading the file"], env, 200)
    print(f"maestro update: median {ours:.1f} ms, {cpu:.1f} ms of processor time (wanted: under 15 ms)")
    keep("one report, from process start to synced answer", f"{ours:.1f} ms", wanted="< 15 ms", met=ours < 15)
    if node:
        theirs, node_cpu = timed([node, script, server.url, session, "reading the file", TOKEN], env, 50)
        ratio = theirs / ours
        print(f"the same request from Node: median {theirs:.1f} ms, {node_cpu:.1f} ms of processor time")
        keep("one report, processor time", f"{cpu:.1f} ms", beside=f"the same from Node: {node_cpu:.1f} ms, {theirs:.1f} ms in all", wanted="10 times faster", met=ratio >= 10)
        print(f"ratio: {ratio:.1f} times less (wanted: 10), {node_cpu / cpu:.1f} times less processor time")
    server.close()
    alone = tempfile.mkdtemp()
    env = {"HOME": alone, "MAESTRO_HOME": os.path.join(alone, ".maestro"), "PATH": os.environ["PATH"]}
    run = lambda *args: json.loads(subprocess.check_output([MAESTRO, "--json", *args], env=env, cwd=alone))
    project = run("project", "create", "bench", "-d", alone)["id"]
    task = run("task", "create", "a task", "--project", project)["id"]
    median, _ = timed([MAESTRO, "update", "reading the file"], {**env, "MAESTRO_TASK_ID": task}, 100)
    print(f"without a server, on the database itself: median {median:.1f} ms")
    shutil.rmtree(alone)


def load(*args):
    return json.loads(subprocess.check_output([LOAD, *args], env={**os.environ, "MAESTRO_AUTH_TOKEN": TOKEN}))


def reports():
    clients, seconds = 64, os.environ.get("SECONDS", "5")
    print(f"## Reports from {clients} clients at once, each acknowledged when it is on the disk")
    server = Server()
    sessions = [server.session()[0] for _ in range(clients)]
    hollow = subprocess.Popen([HOLLOW], stdout=subprocess.PIPE, env={**os.environ, "MAESTRO_AUTH_TOKEN": TOKEN})
    atexit.register(hollow.kill)
    hollow_address = hollow.stdout.readline().decode().strip().removeprefix("http://")
    load("reports", server.address, "1", *sessions)
    rates, hollow_rates = [], []
    for _ in range(3):
        commits, changes = server.metric("maestro_commits_total"), server.metric("maestro_changes_total")
        result = load("reports", server.address, seconds, *sessions)
        commits, changes = server.metric("maestro_commits_total") - commits, server.metric("maestro_changes_total") - changes
        empty = load("reports", hollow_address, seconds, *sessions)
        rates.append(result["rate"])
        hollow_rates.append(empty["rate"])
        print(
            f"{result['rate']:.0f} a second, p50 {result['latency_ms']['p50']:.1f} ms, p99 {result['latency_ms']['p99']:.1f} ms; "
            f"{changes / commits:.1f} reports a sync; without storage {empty['rate']:.0f} a second"
        )
    hollow.kill()
    hollow.wait()
    share = statistics.median(rates) / statistics.median(hollow_rates)
    keep("durable reports, 64 clients", f"{statistics.median(rates):.0f} a second", spread=span(rates, "{:.0f}"),
         beside=f"the router without storage: {statistics.median(hollow_rates):.0f}", wanted="half of it, 5,000", met=share >= 0.5 and statistics.median(rates) >= 5000)
    print(f"median {statistics.median(rates):.0f} a second (wanted: 5,000), {share:.2f} of the router without storage (wanted: 0.5)")
    server.close()


def watchers():
    count = os.environ.get("WATCHERS", "1000")
    print(f"## {count} watchers, 200 reports a second")
    server = Server()
    session, _ = server.session()
    result = load("watch", server.address, os.environ.get("SECONDS", "10"), count, session)
    expected = result["watchers"] * result["reports"]
    print(f"received {result['received']} of {expected}; watchers that missed one or saw them mixed up: {result['watchers_that_missed_or_mixed']}")
    delay = result["delay_ms"]
    keep(f"{count} watchers, 200 reports a second, p99 until received", f"{delay['p99']:.0f} ms", wanted="< 250 ms",
         met=delay["p99"] < 250 and result["received"] == expected)
    print(f"from acknowledgement to receipt: p50 {delay['p50']:.0f} ms, p99 {delay['p99']:.0f} ms, max {delay['max']:.0f} ms (wanted: p99 under 250)")
    server.close()


def idle():
    print("## Doing nothing")
    server = Server()
    server.session()
    urllib.request.urlopen(urllib.request.Request(server.url + "/api/skills", headers=AUTHORIZED)).read()
    pid = server.process.pid
    ticks = lambda: sum(int(x) for x in open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()[11:13])
    start = ticks()
    time.sleep(10)
    cpu = (ticks() - start) / os.sysconf("SC_CLK_TCK") / 10 * 100
    status = open(f"/proc/{pid}/status").read()
    resident = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024
    keep("a server that does nothing", f"{resident:.1f} MB, {cpu:.2f} % of a core", wanted="< 40 MB", met=resident < 40)
    print(f"{resident:.1f} MB resident (wanted: under 40), {cpu:.2f} % of a core")
    server.close()


def build():
    """Builds the program and the examples. The examples have a feature of their own, so the program comes last."""
    if os.environ.get("BUILD") == "0":
        return
    for args in (["-p", "maestro", "-p", "maestro-server", "--features", "maestro-server/hollow", "--example", "hollow", "--example", "load"],
                 ["-p", "maestro"]):
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", *args], cwd=ROOT, check=True)


PARTS = {"update": update, "reports": reports, "watchers": watchers, "idle": idle}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    build()
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
