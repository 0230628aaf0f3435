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


def check(browser, server, project, pictures, step):
    with Agent(server, project, "Rate-limit the upload endpoint per client", skills=("rest-api", "tdd")) as agent:
        grows(browser, server, agent, step)
        answers(browser, server, agent, step)
        looks(browser, server, agent, pictures, step)
        without_script(browser, server, agent, step)
        agent.ends("failed", outcome={"kind": "failed", "reasons": ["the check `npm test` failed: 1 of 12", "it changed 1 file, but never said that it is done"]}, changedFiles=["src/upload/limit.ts"])
        browser.open(f"{server.url}/sessions/{agent.session}")
        assert "Outcome: ✗ failed the check `npm test` failed: 1 of 12" in browser.text("#about"), browser.text("#about")
        browser.until("live", lambda: browser.text("#live") == "live ●", 3)
        pictures.take(browser, "session-ended-1280")
    step("the end of an agent, and why")


def grows(browser, server, agent, step):
    browser.open(server.url)
    browser.until("its row", lambda: browser.texts(f"#run-{agent.session}"), 2)
    browser.click(f"#run-{agent.session} summary")
    browser.click(f"#run-{agent.session} a.open")
    browser.until("live", lambda: browser.text("#live") == "live ●", 3)
    assert "Nothing yet." in browser.text("#main")
    browser.run("window.same = true")
    work(agent)
    took = browser.until("what it did", lambda: "npm test" in browser.text("#transcript"), 2)
    assert "I'll look at how uploads are handled before I change anything." in browser.texts(".speech")[0], "pieces are one text"
    open_one = ".did-tool details:not([data-bare]) summary"
    browser.click(open_one)
    agent.did(("tool_ended", {"id": "npm test", "status": "ok", "output": "12 passed"}))
    browser.until("the call ended", lambda: "npm test ✓ ok" in browser.texts(".did-tool")[-1], 1)
    assert browser.run("return document.querySelector('.did-tool details').open"), "what is open stays open"
    for number in range(1, 31):
        agent.said(f"{number} ")
    browser.until("words flow", lambda: "29 30" in browser.texts(".entry")[-1], 2)
    count = len(browser.texts(".entry"))
    # Who reads above is not carried off, and told of what comes.
    browser.size(1280, 400)
    browser.run("scrollTo(0, document.documentElement.scrollHeight)")
    browser.until("at the end", lambda: browser.text("#newer") == "", 1)
    browser.run("scrollTo(0, 60)")
    agent.did(*tool("Read", "src/app.ts", "read", {}, "ok", "…"))
    browser.until("told of it", lambda: browser.text("#newer") == "1 new ↓", 1)
    assert browser.run("return scrollY") == 60
    browser.run("scrollTo(0, document.documentElement.scrollHeight)")
    browser.until("read", lambda: browser.text("#newer") == "", 1)
    agent.did(*tool("Read", "src/server.ts", "read", {}, "ok", "…"))
    browser.until("it follows", lambda: browser.run("return innerHeight + scrollY >= document.documentElement.scrollHeight - 2") and len(browser.texts(".entry")) == count + 2, 1)
    browser.size(1280, 860)
    assert browser.run("return window.same"), "the page was not loaded anew"
    step(f"a session's screen grows live ({took * 1000:.0f} ms), in place and in order")


def answers(browser, server, agent, step):
    call = lambda: [asked["answer"] for asked in server.call("GET", f"/api/permissions?all=true&sessionId={agent.session}")]
    agent.asks("q1", "npm i rate-limiter-flexible", "npm i rate-limiter-flexible --save\n# in /work/my-repo")
    browser.until("a question", lambda: browser.texts("#asks button") == ["Once", "Always in this run", "Deny"], 1)
    assert browser.title().startswith("(1) "), browser.title()
    assert "? waiting for you" in browser.text("#about")
    assert "npm i rate-limiter-flexible --save" in browser.text("#asks pre")
    left = browser.text("#asks time")
    browser.until("time runs out", lambda: browser.text("#asks time") < left, 2.5)
    browser.click("#asks button[value=allow_once]")
    browser.until("answered", lambda: not browser.texts("#asks button"), 1)
    assert browser.text("#word") == "Allowed once." and call() == [YES]
    agent.did(("answered", {"id": "q1", "kind": YES}))
    browser.until("told", lambda: "✓ allowed once npm i rate-limiter-flexible" in browser.text("#transcript"), 1)
    # On the first screen, by key; and one that somebody else was faster with.
    agent.asks("q2", "git push --force", "git push --force origin main", kinds=(YES, NO))
    agent.asks("q3", "curl https://example.com", "curl https://example.com", kinds=(YES, NO))
    browser.open(server.url)
    browser.until("live", lambda: browser.text("#live") == "live ●", 3)
    card = "#waits .card:has(button[name=answer])"
    browser.until("two questions", lambda: len(browser.texts(card)) == 2, 1)
    browser.run("document.querySelector(arguments[0]).focus()", card)
    browser.press("d")
    browser.until("denied", lambda: call() == [YES, NO, None], 2)
    browser.until("one left", lambda: len(browser.texts(card)) == 1, 1)
    # Offline for a moment: the page still shows the question that was answered meanwhile.
    browser.run("window.fetched = fetch; window.fetch = async (a, b) => { await new Promise((go) => (window.go = go)); return window.fetched(a, b); }")
    browser.click(f"{card} button[value=allow_once]")
    server.call("POST", f"/api/sessions/{agent.session}/permissions/q3", {"answer": NO})
    browser.run("window.go()")
    browser.until("too late", lambda: "it was answered already" in browser.text("#word"), 2)
    assert call() == [YES, NO, NO]
    agent.did(*(("answered", {"id": request, "kind": NO}) for request in ("q2", "q3")))
    step("questions are answered by button and by key; who comes late is told so")


def looks(browser, server, agent, pictures, step):
    agent.asks("q4", "rm -rf node_modules && npm ci", "rm -rf node_modules && npm ci\n\ncwd: /work/my-repo")
    for width, height in ((1280, 1250), (390, 1900)):
        browser.size(width, height)
        for theme in ("light", "dark"):
            browser.theme(theme)
            browser.open(f"{server.url}/sessions/{agent.session}")
            browser.until("live", lambda: browser.run("return document.getElementById('live').dataset.state") == "live", 3)
            browser.run("document.querySelectorAll('.did-changed details, .did-tool:has(.state.bad) details, .did-folded details').forEach((one) => (one.open = true))")
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, f"at {width} px the page is {wide} px wide"
            pictures.take(browser, f"session-{width}-{theme}")
            browser.open(server.url)
            pictures.take(browser, f"now-asked-{width}-{theme}")
    browser.open(f"{server.url}/sessions/{agent.session}")
    small = browser.run("return [...document.querySelectorAll('button, select, textarea')].filter((e) => e.offsetParent && e.offsetHeight < 44).map((e) => e.outerHTML)")
    assert not small, f"too small to tap: {small}"
    browser.theme("light")
    browser.size(1280, 860)
    step("a session's screen in dark and light, at 1280 and 390 px")


def without_script(browser, server, agent, step):
    browser.scripts(False)
    browser.open(f"{server.url}/sessions/{agent.session}")
    browser.click(".did-changed summary")
    assert "const LIMIT = 30;" in browser.text(".did-changed .diff")
    browser.click("#asks button[value=allow_always]")
    browser.until("back on the screen", lambda: not browser.texts("#asks button") and browser.text("#about"), 3)
    assert browser.run("return location.pathname") == f"/sessions/{agent.session}"
    assert server.call("GET", f"/api/permissions?all=true&sessionId={agent.session}")[-1]["answer"] == ALWAYS
    browser.scripts(True)
    step("without script: unfolded, and a question answered")
