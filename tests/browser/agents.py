"""An agent at work, as its screen shows it. What it does is played by `crates/store/examples/agent.rs`."""

import json
import os
import subprocess

YES, ALWAYS, NO = "allow_once", "allow_always", "reject_once"


class Agent:
    """An agent that does what a test says, when it says so; ends with its `with` block."""

    def __init__(self, server, project, title, agent="claude", skills=()):
        database = f"{server.environment['MAESTRO_HOME']}/maestro.db"
        self.process = subprocess.Popen([os.environ["PLAYED_AGENT"], database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        task = server.task(project, title)
        self.session = self._order("begin", {"project": project, "task": task, "agent": agent, "skills": list(skills)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)

    def _order(self, name, value):
        self.process.stdin.write(json.dumps({name: value}) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def did(self, *events):
        self._order("did", [{"type": f"agent:{kind}", "payload": payload} for kind, payload in events])

    def said(self, text):
        self.did(("said", {"text": text}))

    def asks(self, request, title, detail, kinds=(YES, ALWAYS, NO), seconds=1800):
        options = [{"id": kind, "name": kind, "kind": kind} for kind in kinds]
        self.did(("asked", {"id": request, "title": title, "detail": detail, "options": options}))
        self._order("asks", {"request": request, "title": title, "detail": detail, "options": options, "seconds": seconds})

    def receipts(self, *texts):
        self._order("receipts", texts)

    def ends(self, status, **outcome):
        self._order("settle", {"outcome": outcome, "status": status})


def tool(name, title, kind, given, status=None, output=""):
    """A call, and its answer if there is one."""
    call = ("tool_began", {"id": title, "name": name, "title": title, "kind": kind, "input": given})
    return [call, ("tool_ended", {"id": title, "status": status, "output": output})] if status else [call]


def work(agent):
    """A good part of a real session."""
    agent.receipts(("rest-api", "6f1b2c9d" + "0" * 56, "handed"), ("rest-api", "6f1b2c9d" + "0" * 56, "opened"), ("maestro-worker", "93ab01fe" + "0" * 56, "handed"))
    agent.did(
        ("began", {"agentSession": "c0ffee", "model": "claude-opus-4", "version": "2.1.0"}),
        ("thought", {"text": "The upload handler has no limit at all.\nA token bucket per client is the usual answer; where is the client known?"}),
        ("said", {"text": "I'll look at how uploads are handled "}), ("said", {"text": "before I change anything."}),
        ("planned", {"entries": [
            {"text": "Read the upload handler", "status": "completed"},
            {"text": "Add a token bucket per client", "status": "in_progress"},
            {"text": "Test the limit and its reset", "status": "pending"}]}),
        *tool("Read", "src/upload/handler.ts", "read", {"file_path": "src/upload/handler.ts"}, "ok", "export async function upload(request) {\n  return store(await request.blob());\n}"),
        *tool("Grep", "rateLimit|429", "search", {"pattern": "rateLimit|429", "path": "src"}, "ok", "no matches"),
        *tool("Edit", "src/upload/limit.ts", "edit", {"file_path": "src/upload/limit.ts"}, "ok"),
        ("changed", {"path": "src/upload/limit.ts", "added": 4, "removed": 1, "diff": "--- a/src/upload/limit.ts\n+++ b/src/upload/limit.ts\n@@ -1,3 +1,6 @@\n-const LIMIT = Infinity;\n+const LIMIT = 30;\n+\n+/** How many uploads a client may make in a minute. */\n+export const limit = () => LIMIT;\n export {};"}),
        *tool("Bash", "npm test -- upload", "execute", {"command": "npm test -- upload"}, "failed", "\u001b[31mFAIL\u001b[0m src/upload/limit.test.ts\n  expected 429, got 200\n\n1 failed, 11 passed"),
        ("trouble", {"kind": "overloaded", "status": 529, "message": "Overloaded"}),
        ("retrying", {"attempt": 2, "most": 10, "delayMs": 4000, "status": 529}),
        ("printed", {"stream": "err", "text": "(node:4711) ExperimentalWarning: stripping types\n"}),
        ("said", {"text": "The limit works, but the middleware is registered after the route, so it is never asked. I'll move it up:\n\n  1. register the limit first\n  2. answer 429 with Retry-After"}),
        ("usage", {"scope": "turn", "input": 48210, "output": 1930, "cached": 41000, "costUsd": 0.31}),
        ("context", {"used": 50140, "size": 200000}),
        *tool("Bash", "npm test", "execute", {"command": "npm test"}),
    )
