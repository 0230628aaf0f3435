#!/usr/bin/env python3
"""Attacks a running server with crowds, kills, a full disk and a cut database, and prints a table of figures.

    cargo build --release -p maestro
    tests/postgres python3 bench/guard.py [flood] [catch_up] [kill] [disk] [cut]

MAESTRO_BIN names another program than target/release/maestro; figures of a debug build say so. PostgreSQL is used where
MAESTRO_TEST_POSTGRES names one (tests/postgres starts it). Nothing leaves the loopback interface, and no part needs root.
GUARD_KILLS (10), GUARD_REPORTERS (32) and GUARD_SECONDS (5) say how much.
"""

import base64
import concurrent.futures
import http.client
import json
import os
import random
import resource
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from figures import keep

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAESTRO = os.path.abspath(os.environ.get("MAESTRO_BIN") or os.path.join(ROOT, "target", "release", "maestro"))
TOKEN = "a-token-for-measurements-0123456789abcdef"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
KILLS = int(os.environ.get("GUARD_KILLS", "10"))
REPORTERS = int(os.environ.get("GUARD_REPORTERS", "32"))
SECONDS = float(os.environ.get("GUARD_SECONDS", "5"))
POSTGRES = os.environ.get("MAESTRO_TEST_POSTGRES")
MIB = 1024 * 1024

rows = []


def note(part, what, figure, good=None):
    """A line of the table; `good` says whether it is what SECURITY.md promises."""
    mark = {None: "", True: "ok", False: "FAILED"}[good]
    rows.append((part, what, str(figure), mark))
    keep(f"{part}: {what}", str(figure), met=good)
    print(f"  {what}: {figure} {mark}", flush=True)


class Server:
    """A server on a home of its own, which outlives its process: `start` and `kill` as often as you like."""

    def __init__(self, database=None, home=None):
        self.place = home or tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR"))
        self.own_place = home is None
        self.database = database
        self.env = {"HOME": self.place, "MAESTRO_HOME": os.path.join(self.place, ".maestro"), "PATH": os.environ["PATH"]}
        self.process = None
        self.port = 0
        self.start()

    def start(self):
        command = [MAESTRO, "up", "--port", str(self.port), "--json"]
        command += ["--database", self.database] if self.database else []
        self.process = subprocess.Popen(
            command, env={**self.env, "MAESTRO_AUTH_TOKEN": TOKEN}, cwd=self.place, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the server did not start")
        self.port = int(json.loads(line)["url"].rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
        if self.own_place:
            shutil.rmtree(self.place, ignore_errors=True)

    def peak_mib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def reset_peak(self):
        try:
            with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
                refs.write("5")
        except OSError:
            pass

    def connection(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=HEADERS, timeout=30):
        connection = self.connection(timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text[:1] in (b"{", b"[") else None

    def make(self, path, body):
        status, answer = self.ask("POST", path, body)
        if status not in (200, 201):
            raise SystemExit(f"POST {path}: {status} {answer}")
        return answer

    def project(self, name="bench"):
        return self.make("/api/projects", {"name": name, "workingDir": self.place})["id"]

    def session(self, project):
        return self.make("/api/sessions", {"projectId": project, "taskIds": []})["id"]

    def socket(self, headers=()):
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return stream


def timed_health(server, moments):
    """Milliseconds of `/health` and of a call with a token, every tenth of a second until `moments` are over."""
    health, calls, refused = [], [], 0
    end = time.monotonic() + moments
    while time.monotonic() < end:
        for path, headers, kept in (("/health", {}, health), ("/api/projects", HEADERS, calls)):
            begin = time.monotonic()
            try:
                status, _ = server.ask("GET", path, headers=headers, timeout=10)
            except OSError:
                status = 0
            refused += status != 200
            kept.append((time.monotonic() - begin) * 1000)
        time.sleep(0.1)
    return max(health), max(calls), refused, len(health) + len(calls)


def open_many(server, count, head):
    """Opens connections, each with the same unfinished beginning; those that had to make room are counted, too."""
    streams = []
    for _ in range(count):
        try:
            stream = server.socket()
            if head:
                stream.sendall(head)
            streams.append(stream)
        except OSError:
            pass
    return streams


def states(streams):
    """What became of connections: held in silence, answered with a status, or closed without a word."""
    counts = {}
    for stream in streams:
        stream.setblocking(False)
        try:
            head = stream.recv(64)
            state = head.split()[1].decode() if head.startswith(b"HTTP/") else "closed"
        except BlockingIOError:
            state = "held"
        except OSError:
            state = "closed"
        counts[state] = counts.get(state, 0) + 1
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))


def flood_with(server, name, count, head):
    server.reset_peak()
    streams = open_many(server, count, head)
    health, calls, refused, asked = timed_health(server, SECONDS)
    note("flood", f"{name}: {len(streams)} connections", states(streams))
    note("flood", f"{name}: slowest /health, slowest call", f"{health:.0f} ms, {calls:.0f} ms")
    note("flood", f"{name}: refused of {asked} calls", refused, refused == 0)
    note("flood", f"{name}: peak memory of the server", f"{server.peak_mib():.0f} MiB")
    for stream in streams:
        stream.close()


def flood():
    server = Server()
    head = (
        "POST /page/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        "Content-Length: 4000\r\n\r\ntoken="
    )
    flood_with(server, "slow bodies to /page/sign-in", 600, head.encode())
    flood_with(server, "silent connections", 2000, b"")
    project = server.project()
    token = server.make(f"/api/sessions/{server.session(project)}/token", {})["token"]
    events = (
        f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Accept: text/event-stream\r\n\r\n"
    )
    flood_with(server, "event streams of one session", 2000, events.encode())
    server.close()


class WebSocket:
    """As much of a WebSocket client as is needed to subscribe and read."""

    def __init__(self, server):
        self.stream = server.socket()
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            (
                f"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
            ).encode()
        )
        self.file = self.stream.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def say(self, message):
        data, mask = json.dumps(message).encode(), os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
        self.stream.sendall(bytes([0x81, 0x80 | len(data)]) + mask + masked)

    def frame(self):
        """The length of the next frame, whose contents are not kept."""
        head = self.file.read(2)
        if len(head) < 2 or head[0] & 15 == 8:
            return None
        length = head[1] & 127
        if length == 126:
            length = int.from_bytes(self.file.read(2), "big")
        elif length == 127:
            length = int.from_bytes(self.file.read(8), "big")
        left = length
        while left:
            part = self.file.read(min(left, MIB))
            if not part:
                return None
            left -= len(part)
        return length

    def close(self):
        self.file.close()
        self.stream.close()


def catch_up():
    """Clients that ask for everything since the beginning, over WebSocket and as event streams."""
    server = Server()
    project = server.project()
    sessions = [server.session(project) for _ in range(100)]
    text = "x" * 100_000
    tasks, reports = 1000, 1000

    def fill(number):
        server.make("/api/tasks", {"projectId": project, "title": f"task {number}", "description": text})
        server.make(f"/api/sessions/{sessions[number % 100]}/reports", {"message": text})

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(fill, range(tasks)))
    status, _ = server.ask("GET", "/health", headers={})
    note("catch_up", "stored before", f"{tasks} tasks, {reports} lines, {(tasks + reports) * len(text) / MIB:.0f} MiB")
    server.reset_peak()
    note("catch_up", "memory before", f"{server.peak_mib():.0f} MiB")
    clients = [WebSocket(server) for _ in range(50)]
    for client in clients:
        client.say({"type": "subscribe", "since": 0})
    # All but one never read.
    received = frames = 0
    clients[0].stream.settimeout(30)
    begin = time.monotonic()
    while frames < tasks and time.monotonic() < begin + 60:
        try:
            length = clients[0].frame()
        except OSError:
            break
        if length is None:
            break
        received, frames = received + length, frames + 1
    note("catch_up", "the one WebSocket client that reads got", f"{frames} frames, {received / MIB:.0f} MiB in {time.monotonic() - begin:.1f} s")
    peak = server.peak_mib()
    note("catch_up", "50 WebSocket clients with `since: 0`, 49 of which do not read: peak memory", f"{peak:.0f} MiB", peak < 600)
    for client in clients:
        client.close()
    server.reset_peak()
    head = (
        f"GET /api/events?after=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Accept: text/event-stream\r\nLast-Event-ID: 0\r\n\r\n"
    )
    streams = open_many(server, 50, head.encode())
    time.sleep(SECONDS)
    peak = server.peak_mib()
    note("catch_up", "50 event streams from the beginning that are not read: peak memory", f"{peak:.0f} MiB", peak < 600)
    note("catch_up", "/health meanwhile", status, status == 200)
    for stream in streams:
        stream.close()
    server.close()


def report_until_gone(server, session, writer, stored, over):
    """Reports until the server is gone; what it acknowledged is noted."""
    connection = server.connection()
    number = 0
    while not over.is_set():
        message = f"{writer}-{number}-{random.getrandbits(48):x}"
        try:
            connection.request("POST", f"/api/sessions/{session}/reports", json.dumps({"message": message}), HEADERS)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            if over.is_set():
                return
            connection = server.connection()
            time.sleep(0.02)
            continue
        if answer.status == 200:
            stored.append(message)
        elif answer.status in (503, 507):
            time.sleep(0.05)
        number += 1


def lost(server, sessions, stored):
    """How many acknowledged reports are not there exactly once."""
    missing = 0
    for session, messages in zip(sessions, stored):
        status, lines = server.ask("GET", f"/api/sessions/{session}/timeline", timeout=120)
        if status != 200:
            raise SystemExit(f"the timeline of {session}: {status}")
        found = {}
        for line in lines:
            found[line["message"]] = found.get(line["message"], 0) + 1
        missing += sum(found.get(message) != 1 for message in messages)
    return missing


class Reporters:
    """Reporters, each with a session of its own, until `end`."""

    def __init__(self, server, sessions):
        self.over, self.stored = threading.Event(), [[] for _ in sessions]
        work = [
            threading.Thread(target=report_until_gone, args=(server, session, number, self.stored[number], self.over))
            for number, session in enumerate(sessions)
        ]
        self.threads = work
        for thread in work:
            thread.start()

    def count(self):
        return sum(map(len, self.stored))

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        return self.stored


def databases():
    yield "SQLite", None
    if POSTGRES:
        yield "PostgreSQL", POSTGRES
    else:
        note("kill", "PostgreSQL", "skipped: MAESTRO_TEST_POSTGRES is not set (run with tests/postgres)")


def kill():
    for name, database in databases():
        server = Server(database)
        project = server.project()
        acknowledged = missing = 0
        for _ in range(KILLS):
            sessions = [server.session(project) for _ in range(REPORTERS)]
            reporters = Reporters(server, sessions)
            time.sleep(random.uniform(0.1, 1.0))
            server.kill()
            stored = reporters.end()
            server.start()
            acknowledged += sum(map(len, stored))
            missing += lost(server, sessions, stored)
        server.close()
        note("kill", f"{name}: {KILLS} kills under {REPORTERS} reporters, acknowledged", acknowledged)
        note("kill", f"{name}: lost", missing, missing == 0)


def disk():
    """A disk that fills up: a small file system in memory, in namespaces of our own where we are not root."""
    if os.environ.get("GUARD_DISK") is None:
        inside = {**os.environ, "GUARD_DISK": "1"}
        place = tempfile.mkdtemp()
        script = 'mount -t tmpfs -o size=24m tmpfs "$1" && shift && exec "$@"'
        command = ["unshare", "-rm", "sh", "-c", script, "sh", place, sys.executable, os.path.abspath(__file__), "disk"]
        inside["GUARD_DISK"] = place
        ended = subprocess.run(command, env=inside, stdout=subprocess.PIPE, text=True)
        os.rmdir(place)
        if ended.returncode == 0:
            rows.extend(tuple(row) for row in json.loads(ended.stdout.strip().splitlines()[-1]))
        else:
            note("disk", "skipped: cannot mount a small file system here", ended.returncode)
        return
    place = os.environ["GUARD_DISK"]
    server = Server(home=place)
    project = server.project()
    sessions = [server.session(project) for _ in range(4)]
    ballast = os.path.join(place, "ballast")
    reporters = Reporters(server, sessions)
    time.sleep(1)
    before = reporters.count()
    with open(ballast, "wb") as file:
        try:
            while True:
                file.write(b"\0" * 65536)
                file.flush()
        except OSError:
            pass
    # Until nothing more is taken.
    known, end = -1, time.monotonic() + 30
    while known != reporters.count() and time.monotonic() < end:
        known = reporters.count()
        time.sleep(1)
    status, answer = server.ask("POST", f"/api/sessions/{sessions[0]}/reports", {"message": "one more"})
    health, _ = server.ask("GET", "/health", headers={})
    note("disk", "acknowledged before and on the full disk", f"{before}, {reporters.count() - before}")
    note("disk", "a report on the full disk is answered", f"{status} {(answer or {}).get('code', '')}", status >= 500)
    note("disk", "/health on the full disk", health)
    os.remove(ballast)
    full = reporters.count()
    end = time.monotonic() + 30
    while reporters.count() < full + 10 and time.monotonic() < end:
        time.sleep(0.1)
    note("disk", "goes on by itself with room again", reporters.count() > full, reporters.count() > full)
    server.kill()
    stored = reporters.end()
    server.start()
    missing = lost(server, sessions, stored)
    note("disk", "acknowledged in all", sum(map(len, stored)))
    note("disk", "lost, after a kill", missing, missing == 0)
    server.close()
    print(json.dumps(rows))


class Proxy:
    """A way to PostgreSQL that can be cut."""

    def __init__(self, host, port):
        self.target, self.pairs, self.is_cut = (host, port), [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                client.close()
                continue
            server = socket.create_connection(self.target)
            self.pairs.append((client, server))
            threading.Thread(target=self.pump, args=(client, server), daemon=True).start()

    @staticmethod
    def pump(client, server):
        try:
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    (server if source is client else client).sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            client.close()
            server.close()

    def cut(self):
        self.is_cut = True
        for pair in self.pairs:
            for side in pair:
                try:
                    side.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs.clear()

    def restore(self):
        self.is_cut = False


def cut():
    if not POSTGRES:
        note("cut", "skipped: MAESTRO_TEST_POSTGRES is not set (run with tests/postgres)", "")
        return
    url = urllib.parse.urlsplit(POSTGRES)
    proxy = Proxy(url.hostname, url.port or 5432)
    user = f"{url.username}@" if url.username else ""
    server = Server(urllib.parse.urlunsplit(url._replace(netloc=f"{user}127.0.0.1:{proxy.port}")))
    sessions = [server.session(server.project()) for _ in range(8)]
    reporters = Reporters(server, sessions)
    waits, refused = [], set()
    for _ in range(KILLS):
        time.sleep(random.uniform(0.2, 0.6))
        proxy.cut()
        time.sleep(random.uniform(0.2, 1.5))
        try:
            refused.add(server.ask("GET", "/api/projects", timeout=60)[0])
        except OSError:
            refused.add("no answer")
        proxy.restore()
        begin, known = time.monotonic(), reporters.count()
        while reporters.count() <= known and time.monotonic() < begin + 60:
            time.sleep(0.02)
        waits.append(time.monotonic() - begin)
    stored = reporters.end()
    missing = lost(server, sessions, stored)
    note("cut", f"{KILLS} cuts under 8 reporters, acknowledged", sum(map(len, stored)))
    note("cut", "a call during a cut is answered", ", ".join(map(str, sorted(refused, key=str))))
    note("cut", "longest wait for the next report after a cut", f"{max(waits):.1f} s", max(waits) < 60)
    note("cut", "lost", missing, missing == 0)
    server.close()


PARTS = {"flood": flood, "catch_up": catch_up, "kill": kill, "disk": disk, "cut": cut}


def main():
    wanted = sys.argv[1:] or list(PARTS)
    if any(part not in PARTS for part in wanted):
        raise SystemExit(f"usage: guard.py [{'] ['.join(PARTS)}]")
    if not os.access(MAESTRO, os.X_OK):
        raise SystemExit(f"no program {MAESTRO}; build it, or name another with MAESTRO_BIN")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 65536) if limit > 0 else 65536, limit))
    for part in wanted:
        print(part, flush=True)
        PARTS[part]()
    if os.environ.get("GUARD_DISK"):
        return
    build = "a debug build; a release build is faster" if "/debug/" in MAESTRO else "a release build"
    print(f"\n{build}, {os.cpu_count()} cores\n")
    width = max(len(row[1]) for row in rows)
    for part, what, figure, mark in rows:
        print(f"{part:9} {what:{width}}  {figure}  {mark}".rstrip())
    if any(row[3] == "FAILED" for row in rows):
        raise SystemExit(1)


main()
