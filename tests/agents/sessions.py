"""Sessions in which both sides talk, written down a line each: `{"from": "client" | "agent", "message": …}`.

Gemini CLI, OpenCode and Goose speak the Agent Client Protocol, Claude Code and Codex protocols of their own. In each
session the agent works (every tool is allowed once), is denied a tool, and is cancelled while a command runs; then a new
process takes the session up.
"""

import json
import os
import queue
import subprocess
import threading
import time

import recipes

LIMIT = 90
PROMPT = "Please do TASK-7."


class Session:
    """A running agent; what it says is kept in `lines`."""

    def __init__(self, run, program, place):
        self.process = subprocess.Popen(
            [program, *run.args], cwd=place.work, env=place.environment(run), start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.place, self.lines, self.incoming, self.number, self.allow = place, [], queue.Queue(), 0, True
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.incoming.put(line)
        self.incoming.put(None)

    def send(self, message):
        self.lines.append({"from": "client", "message": message})
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def take(self, until):
        """Takes what comes, answering what is asked, until a message is what was waited for."""
        end = time.monotonic() + LIMIT
        while True:
            line = self.incoming.get(timeout=max(0.1, end - time.monotonic()))
            if line is None:
                raise EOFError("the agent is gone")
            message = json.loads(line)
            self.lines.append({"from": "agent", "message": message})
            self.answer(message)
            if until(message):
                return message

    def rest(self, seconds):
        """Takes what comes without being waited for."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                line = self.incoming.get(timeout=left)
            except queue.Empty:
                return
            if line is None:
                return
            message = json.loads(line)
            self.lines.append({"from": "agent", "message": message})
            self.answer(message)

    def close(self):
        self.process.stdin.close()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            return None

    def text(self):
        return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in self.lines)


class Acp(Session):
    """The Agent Client Protocol."""

    name = "acp"

    @staticmethod
    def run(name, url, home):
        return recipes.acp(name, url, home)

    def ask(self, method, params):
        self.number += 1
        number = self.number
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.take(lambda message: message.get("id") == number and "method" not in message)

    def answer(self, message):
        if "method" not in message or "id" not in message:
            return
        if message["method"] == "session/request_permission":
            kind = "allow_once" if self.allow else "reject_once"
            option = next(option for option in message["params"]["options"] if option["kind"] == kind)
            result = {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            error = {"code": -32601, "message": "Method not found"}
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def open(self, session=None):
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        info = {"name": "maestro", "version": "0.1.0"}
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info})
        place = {"cwd": self.place.work, "mcpServers": []}
        if session:
            self.ask("session/load", {"sessionId": session, **place})
            self.rest(1)
        else:
            session = self.ask("session/new", place)["result"]["sessionId"]
        self.session = session
        return session

    def prompt(self):
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": PROMPT}]}
        message = self.ask("session/prompt", params)
        return message.get("result") or {"error": message["error"]}

    def cancelled(self):
        self.number += 1
        number = self.number
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": PROMPT}]}
        self.send({"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params})
        self.take(lambda message: message.get("method") == "session/request_permission")
        self.rest(2)
        self.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.session}})
        return self.take(lambda message: message.get("id") == number and "method" not in message)["result"]


class Claude(Session):
    """Claude Code's stream of JSON in both directions."""

    name = "session"

    @staticmethod
    def run(name, url, home, session=None):
        return recipes.claude_session(url, home, session)

    def answer(self, message):
        if message["type"] != "control_request":
            return
        request = message["request"]
        response = {"behavior": "deny", "message": "The user does not want this."}
        if self.allow:
            response = {"behavior": "allow", "updatedInput": request["input"]}
        response = {"subtype": "success", "request_id": message["request_id"], "response": response}
        self.send({"type": "control_response", "response": response})

    def open(self, session=None):
        # It says nothing before it was asked something.
        return session

    def say(self):
        content = [{"type": "text", "text": PROMPT}]
        self.send({"type": "user", "message": {"role": "user", "content": content}})

    def prompt(self):
        self.say()
        result = self.take(lambda message: message["type"] == "result")
        self.session = result["session_id"]
        return short(result, "subtype", "is_error", "terminal_reason", "api_error_status", "permission_denials", "usage")

    def cancelled(self):
        self.say()
        self.take(lambda message: message["type"] == "control_request")
        self.rest(2)
        self.send({"type": "control_request", "request_id": "1", "request": {"subtype": "interrupt"}})
        return short(self.take(lambda message: message["type"] == "result"), "subtype", "is_error", "terminal_reason")


class Codex(Session):
    """Codex' app server."""

    name = "session"

    @staticmethod
    def run(name, url, home):
        return recipes.codex_session(url, home)

    def ask(self, method, params):
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        return self.take(lambda message: message.get("id") == number and "method" not in message)

    def answer(self, message):
        if "method" in message and "id" in message:
            self.send({"id": message["id"], "result": {"decision": "accept" if self.allow else "decline"}})

    def open(self, session=None):
        self.ask("initialize", {"clientInfo": {"name": "maestro", "title": "Maestro", "version": "0.1.0"}})
        self.send({"method": "initialized"})
        policy = {"cwd": self.place.work, "approvalPolicy": "untrusted", "sandbox": "danger-full-access"}
        if session:
            opened = self.ask("thread/resume", {"threadId": session, **policy})
        else:
            opened = self.ask("thread/start", policy)
        self.session = opened["result"]["thread"]["id"]
        return self.session

    def start(self):
        content = [{"type": "text", "text": PROMPT}]
        return self.ask("turn/start", {"threadId": self.session, "input": content})["result"]["turn"]["id"]

    def ended(self):
        turn = self.take(lambda message: message.get("method") == "turn/completed")["params"]["turn"]
        return short(turn, "status", "error")

    def prompt(self):
        self.start()
        return self.ended()

    def cancelled(self):
        turn = self.start()
        self.take(lambda message: message.get("method", "").endswith("requestApproval"))
        self.rest(2)
        self.ask("turn/interrupt", {"threadId": self.session, "turnId": turn})
        return self.ended()


KINDS = {"gemini": Acp, "opencode": Acp, "goose": Acp, "claude": Claude, "codex": Codex}


def record(name, program, place, model, end):
    """All that is said in a session that works, in one that fails, and in one that is taken up again."""
    kind, texts, begun = KINDS[name], {}, time.monotonic()
    run = kind.run(name, model.url, place.home)
    session = kind(run, program, place)
    try:
        session.open()
        opened = time.monotonic() - begun
        model.say([
            {"text": "I look around first.", **recipes.shell(name, "echo here; exit 3"), "usage": [1000, 50]},
            {**recipes.write(name, place.work, "made.txt", "hi"), "usage": [2000, 60]},
            {"text": "The file is there.", "usage": [3000, 70]},
        ])
        tell(name, "work", session.prompt(), f"open after {opened:.1f} s, file {place.file('made.txt')!r}")

        session.allow = False
        model.say([recipes.shell(name, "touch denied.txt"), {"text": "I was not let."}])
        tell(name, "denied", session.prompt(), f"file {place.file('denied.txt')!r}")

        session.allow = True
        model.say([recipes.shell(name, "sleep 31.7; touch late.txt"), {"text": "Too late."}])
        result = session.cancelled()
        session.rest(1)
        left, code = sleeping(), session.close()
        tell(name, "cancelled", result, f"its command {runs(left)}; exit {code}, its command {runs(sleeping())}")
    finally:
        end(session.process)
    texts[kind.name] = session.text()

    for fault in ["401", "429", "500"]:
        failing = kind(run, program, place)
        model.say([{"status": int(fault), "error": "As scripted", "retry_after": 1}])
        begun = time.monotonic()
        try:
            failing.open()
            result = failing.prompt()
        except queue.Empty:
            result = "no answer"
        finally:
            end(failing.process)
        texts[f"{kind.name}-{fault}"] = failing.text()
        tell(name, fault, result, f"after {time.monotonic() - begun:.1f} s, {len(model.since())} requests")

    if kind is Claude:
        run = kind.run(name, model.url, place.home, session.session)
    again = kind(run, program, place)
    model.say([{"text": "Here I am again.", "usage": [4000, 80]}])
    try:
        again.open(session.session)
        result = again.prompt()
        remembered = any("The file is there." in request["text"] for request in model.since())
        tell(name, "taken up", result, f"what was said before {'was' if remembered else 'was NOT'} told to the model")
    finally:
        end(again.process)
    texts[f"{kind.name}-load"] = again.text()
    return texts


def tell(name, what, result, more):
    print(f"{name}, {what}: {json.dumps(result)[:400]}; {more}", flush=True)


def runs(still):
    return "still runs" if still else "is gone"


def short(message, *fields):
    return {field: message[field] for field in fields if message.get(field) is not None}


def sleeping():
    """Whether the command that was cancelled still runs."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().split(b"\0")[:2] == [b"sleep", b"31.7"]:
                    return True
        except OSError:
            pass
    return False
