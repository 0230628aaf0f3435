#!/usr/bin/env python3
"""Measures whether a server stays fast when its database is full: what each operation costs at 1k, 100k and 1M events.

    python3 bench/growth.py [sqlite] [postgres]        EVENTS=1000,100000,1000000  TIMES=40  BUILD=0 takes what is built

There is a session and a task for every ten events, over 400 days; ten sessions are at work. The cost is processor time of
the server, and of PostgreSQL where that is used, in milliseconds per operation; the ratio is to the smallest database. All
sizes are there at once and take turns.
PostgreSQL is found in MAESTRO_TEST_POSTGRES (`tests/postgres python3 bench/growth.py postgres` starts one). Nothing leaves
the loopback interface. Exits with 1 if a target is missed.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

from figures import keep

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / os.environ.get("PROFILE", "release")
MAESTRO, CLAIMS = str(RELEASE / "maestro"), str(RELEASE / "examples" / "claims")
TOKEN = "a-token-for-measurements-0123456789abcdef"
SIZES = [int(size) for size in os.environ.get("EVENTS", "1000,100000,1000000").split(",")]
TIMES = int(os.environ.get("TIMES", "40"))
# How often the sizes take turns.
ROUNDS = 7
ALIVE, DAYS, RATIO, RESIDENT_MB = 10, 400, 1.5, 80
# On SQLite the newest lines of timelines wait until an event's number is a multiple of this.
TAIL = 512
DAY = 24 * 60 * 60 * 1000


def rows(events, project, now):
    """The rows of a database in which so much happened; ends are newer the later they come."""
    sessions = events // 10
    # Every size ends right after such an event.
    shift = -events % TAIL
    begin = now - DAYS * DAY
    tables = {"tasks": [], "sessions": [], "task_sessions": [], "timeline": [], "events": [], "spawns": [], "task_words": [],
              "session_words": []}
    outcome = json.dumps({"kind": "done", "attempt": 1, "turns": 5, "workedMs": 60_000, "changedFiles": ["src/main.rs"], "tree": None})
    for number in range(sessions):
        at = begin + (now - begin) * number // sessions
        task, session, alive = f"task_{at}_g{number:07}", f"sess_{at}_g{number:07}", number >= sessions - ALIVE
        done = None if alive else at + 60_000
        status, task_status = ("working", "in_progress") if alive else ("completed", "completed")
        tables["tasks"].append((number + 1, task, project, f"Task {number}", "What is to be done.", task_status, "medium", "", "[]",
                                "[]", "[]", at, done or at, at, done, 0, 1))
        tables["sessions"].append((number + 1, session, project, f"session {number}", "worker", "demo", "{}", "simple", status, at,
                                   now if alive else done, done, "host", "linux", "{}", 1))
        tables["task_sessions"].append((task, session, 0, "working" if alive else "completed", at, at))
        if not alive:
            tables["spawns"].append((number + 1, session, "{}", "done", 1, at, outcome, 0, 0, at, done))
        tables["task_words"] += [(word, number + 1) for word in ("task", str(number), "what", "is", "to", "be", "done")]
        tables["session_words"] += [(word, number + 1) for word in ("session", str(number), "demo")]
        for line in range(5):
            tables["timeline"].append((session, shift + number * 10 + line + 1, task, "progress", at + line, f"Line {line} of session {number}"))
        for line in range(10):
            payload = json.dumps({"type": "progress", "message": f"Line {line} of session {number}"})
            tables["events"].append((shift + number * 10 + line + 1, at + line, "timeline:added", 1, project, task, session, payload))
    return tables


COLUMNS = {
    "tasks": "ord, id, project_id, title, description, status, priority, initial_prompt, skills, agents, dependencies, created_at, updated_at, started_at, completed_at, manual_status, revision",
    "sessions": "ord, id, project_id, name, role, agent, env, strategy, status, started_at, last_activity, completed_at, hostname, platform, metadata, revision",
    "task_sessions": "task_id, session_id, position, status, bound_at, updated_at",
    "timeline": "session_id, ord, task_id, kind, at, message",
    "timeline_tail": "session_id, ord, task_id, kind, at, message",
    "events": "seq, at, type, version, project, task, session, payload",
    "spawns": "ord, session_id, spec, state, attempt, not_before, outcome, cost_micros, counted_micros, created_at, updated_at",
    "task_words": "word, ord",
    "session_words": "word, ord",
}
COUNTS = """DELETE FROM task_counts; INSERT INTO task_counts (project_id, status, priority, level, tasks)
 SELECT project_id, status, priority, 'task', count(*) FROM tasks GROUP BY project_id, status, priority;"""


class Sqlite:
    name = "SQLite"

    def __init__(self, home):
        self.place = str(pathlib.Path(home) / "growth.db")

    def fill(self, tables):
        with sqlite3.connect(self.place) as store:
            store.execute("DELETE FROM events")
            lines = tables["timeline"]
            for table, values in {**tables, "timeline": lines[: 1 - TAIL], "timeline_tail": lines[1 - TAIL :]}.items():
                marks = ", ".join("?" * (COLUMNS[table].count(",") + 1))
                store.executemany(f"INSERT INTO {table} ({COLUMNS[table]}) VALUES ({marks})", values)
            store.executescript(COUNTS)
        store.close()

    def cpu(self):
        return 0.0

    def size(self):
        return sum(os.path.getsize(self.place + end) for end in ("", "-wal") if os.path.exists(self.place + end))

    def close(self):
        pass


class Postgres:
    name = "PostgreSQL"

    def __init__(self, home):
        self.server = os.environ["MAESTRO_TEST_POSTGRES"]
        self.schema = f"growth_{os.getpid()}_{int(time.time())}"
        self.psql(f"CREATE SCHEMA {self.schema}")
        self.parent = parent(self.psql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'").strip())
        mark = "&" if "?" in self.server else "?"
        self.place = f"{self.server}{mark}options=-c%20search_path%3D{self.schema}"

    def psql(self, sql, stdin=None):
        command = ["psql", "-X", "-q", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.server, "-c", sql]
        return subprocess.run(command, input=stdin, check=True, capture_output=True, text=True).stdout

    def fill(self, tables):
        self.psql(f"DELETE FROM {self.schema}.events")
        text = lambda value: "\\N" if value is None else str(value).replace("\\", "\\\\")
        for table, values in tables.items():
            lines = "".join("\t".join(map(text, row)) + "\n" for row in values)
            self.psql(f"COPY {self.schema}.{table} ({COLUMNS[table]}) FROM STDIN", lines)
            key = COLUMNS[table].split(",")[0]
            if key in ("ord", "seq"):
                name = f"pg_get_serial_sequence('{self.schema}.{table}', '{key}')"
                self.psql(f"SELECT setval({name}, (SELECT max({key}) FROM {self.schema}.{table}))")
        self.psql(f"SET search_path TO {self.schema}; {COUNTS}")
        # Else it does so by itself while it is measured.
        self.psql("VACUUM ANALYZE")
        self.psql("CHECKPOINT")

    def cpu(self):
        """Of all connections to this server, closed ones too; what it does in the background is not of one operation."""
        return closed(self.parent) + sum(cpu(int(pid)) for pid in os.listdir("/proc") if pid.isdigit() and parent(pid) == self.parent and is_connection(pid))

    def size(self):
        sql = f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = '{self.schema}'::regnamespace"
        return int(self.psql(sql).strip())

    def close(self):
        self.psql(f"DROP SCHEMA {self.schema} CASCADE")


def parent(pid):
    """The parent of a process; nothing where it is gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[1])
    except OSError:
        return None


def closed(pid):
    """Milliseconds of processor time of the children of a process that have ended."""
    ticks = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[13:15]
    return sum(map(int, ticks)) * 1000 / os.sysconf("SC_CLK_TCK")


def is_connection(pid):
    """Whether a process of PostgreSQL serves a client, by its title."""
    try:
        return re.match(rb"postgres: \S+ \S+ (\[local\]|\S+\(\d+\))", pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()) is not None
    except OSError:
        return False


def cpu(pid):
    """Milliseconds of processor time of all threads of a process."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            total += int(pathlib.Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    except OSError:
        pass
    return total / 1e6


class Server:
    def __init__(self, database, home):
        self.database, self.home = database, home
        self.env = {"HOME": home, "MAESTRO_HOME": f"{home}/.maestro", "PATH": os.environ["PATH"], "MAESTRO_AUTH_TOKEN": TOKEN,
                    "MAESTRO_DATABASE": database.place}
        self.start()

    def start(self):
        # Nothing is pruned or backed up while it is measured.
        settings = ["--set", "event_retention_days=3650", "--set", "backups_kept=0"]
        command = [MAESTRO, "up", "--port", "0", "--json", "--database", self.database.place, *settings]
        self.process = subprocess.Popen(command, env=self.env, cwd=self.home, stdout=subprocess.PIPE)
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.connection = http.client.HTTPConnection(self.url.removeprefix("http://"))

    def call(self, method, path, body=None, accept="application/json"):
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": accept}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status < 300, (path, answer.status, data[:300])
        return data

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def resident(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text()).group(1)) / 1024


def operations(server, project, session, last):
    """What is measured: its name, and what does it once."""
    quoted = urllib.parse.quote("session 7")
    get = lambda path, accept="application/json": lambda: server.call("GET", path, accept=accept)
    return [
        ("report", lambda: server.call("POST", f"/api/sessions/{session}/reports", {"message": "reading the file"})),
        ("page: Now", get("/", "text/html")),
        ("page: Work", get("/work", "text/html")),
        ("page: Activity", get("/activity", "text/html")),
        ("page: a session", get(f"/sessions/{session}", "text/html")),
        ("task counts", get(f"/api/tasks/counts?projectId={project}")),
        ("list 100 tasks", get("/api/tasks?limit=100&fields=summary")),
        ("list 100 sessions", get("/api/sessions?limit=100&fields=summary")),
        ("list living sessions", get(f"/api/sessions?active=alive&projectId={project}")),
        ("what waits", get("/api/waiting")),
        ("events since N", get(f"/api/events?since={last - 100}")),
        ("events of a session", get(f"/api/events?since={last - 100}&sessionId={session}")),
        ("search", get(f"/activity?q={quoted}", "text/html")),
    ]


class Filled:
    """A server on a database in which so much happened, and what `operations` asks of it."""

    def __init__(self, kind, events):
        self.home = tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR"))
        self.database, self.server = kind(self.home), None
        try:
            self.server = Server(self.database, self.home)
            self.project = json.loads(self.server.call("POST", "/api/projects", {"name": "growth", "workingDir": self.home}))["id"]
            self.server.stop()
            tables = rows(events, self.project, int(time.time() * 1000))
            session, last = tables["sessions"][-1][1], tables["events"][-1][0]
            self.database.fill(tables)
            del tables
            self.server.start()
            self.operations = operations(self.server, self.project, session, last)
        except BaseException:
            self.close()
            raise

    def cpu(self):
        return cpu(self.server.process.pid) + self.database.cpu()

    def call_cost(self, number):
        """What one of the operations costs."""
        what, times = self.operations[number][1], max(1, TIMES // ROUNDS)
        before = self.cpu()
        for _ in range(times):
            what()
        # What follows a commit is part of its cost.
        time.sleep(0.05)
        return (self.cpu() - before) / times

    def command_cost(self, *args):
        """What a command costs itself and its server; the processes of PostgreSQL come and go with it, and are left out."""
        before, used = cpu(self.server.process.pid), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([MAESTRO, *args], env=self.server.env, cwd=self.home, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = (after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime) * 1000
        return own + cpu(self.server.process.pid) - before

    def claim_cost(self):
        """What it costs to look for work, on the database itself."""
        before = self.database.cpu()
        claimed = json.loads(subprocess.run([CLAIMS, self.database.place, self.project], capture_output=True, text=True, check=True).stdout)
        return claimed["cpu_ms"] + (self.database.cpu() - before) / claimed["times"]

    def close(self):
        if self.server and self.server.process.poll() is None:
            self.server.stop()
        self.database.close()
        shutil.rmtree(self.home, ignore_errors=True)


def in_turns(filled, cost):
    """The median cost at each size. The sizes take turns, so that what else the machine does meets all of them alike."""
    for size in SIZES:
        cost(filled[size])
    costs = {size: [] for size in SIZES}
    for turn in range(ROUNDS):
        for size in SIZES if turn % 2 else reversed(SIZES):
            costs[size].append(cost(filled[size]))
    return {size: statistics.median(costs[size]) for size in SIZES}


def measured(kind):
    """Of each thing that is measured, its figure at each size."""
    with contextlib.ExitStack() as open_ones:
        filled = {}
        for size in SIZES:
            filled[size] = Filled(kind, size)
            open_ones.callback(filled[size].close)
        figures = {}
        for number, (name, _) in enumerate(filled[SIZES[0]].operations):
            figures[name] = in_turns(filled, lambda one: one.call_cost(number))
        figures["status (command)"] = in_turns(filled, lambda one: one.command_cost("status"))
        figures["resident MB"] = {size: filled[size].server.resident() for size in SIZES}
        for size in SIZES:
            filled[size].server.stop()
        figures["claim"] = in_turns(filled, Filled.claim_cost)
        figures["size MB"] = {size: filled[size].database.size() / 1e6 for size in SIZES}
    return figures


def build():
    if os.environ.get("BUILD") == "0":
        return
    for args in (["-p", "maestro", "-p", "maestro-store", "--example", "claims"], ["-p", "maestro"]):
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", *args], cwd=ROOT, check=True)


def main():
    build()
    kinds = [kind for kind in (Sqlite, Postgres) if not sys.argv[1:] or kind.name.lower().startswith(tuple(sys.argv[1:]))]
    missed = []
    for kind in kinds:
        if kind is Postgres and "MAESTRO_TEST_POSTGRES" not in os.environ:
            print("PostgreSQL: skipped, MAESTRO_TEST_POSTGRES is not set")
            continue
        figures = measured(kind)
        print(f"## {kind.name}: processor milliseconds per operation")
        print(f"{'':<24}" + "".join(f"{size:>12,}" for size in SIZES) + f"{'ratio':>9}")
        for name, found in figures.items():
            values = [found[size] for size in SIZES]
            line = f"{name:<24}" + "".join(f"{value:12.2f}" for value in values)
            if name == "resident MB":
                verdict = "PASS" if values[-1] < RESIDENT_MB else "FAIL"
                line += f"{'':>9}  < {RESIDENT_MB} {verdict}"
            elif name == "size MB":
                verdict = ""
            else:
                ratio = values[-1] / max(values[0], 0.001)
                verdict = "PASS" if ratio <= RATIO else "FAIL"
                line += f"{ratio:9.2f}  <= {RATIO} {verdict}"
            keep(f"{kind.name}: {name}, {SIZES[-1]:,} events", f"{values[-1]:.2f}" + ("" if name.endswith("MB") else " ms CPU"),
                 beside=f"{SIZES[0]:,} events: {values[0]:.2f}", wanted=line.rsplit("  ", 1)[1].rsplit(" ", 1)[0] if verdict else "",
                 met=verdict == "PASS" if verdict else None)
            if verdict == "FAIL":
                missed.append(f"{kind.name}: {name}")
            print(line, flush=True)
    if missed:
        print("missed: " + "; ".join(missed))
        sys.exit(1)


if __name__ == "__main__":
    main()
