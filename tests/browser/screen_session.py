"""The screen of one session."""

from agents import ALWAYS, NO, YES, Agent, tool, work
from site_under_test import live, step


def check(browser, server, pictures):
    project = server.project("my-repo")
    with Agent(server, project, "Rate-limit the upload endpoint per client", skills=("rest-api", "tdd")) as agent:
        grows(browser, server, agent)
        answers(browser, server, agent)
        looks(browser, server, agent, pictures)
        without_script(browser, server, agent)
        agent.ends("failed", outcome={"kind": "failed", "reasons": ["the check `npm test` failed: 1 of 12", "it changed 1 file, but never said that it is done"]}, changedFiles=["src/upload/limit.ts"])
        browser.open(f"{server.url}/sessions/{agent.session}")
        assert "Outcome: ✗ failed the check `npm test` failed: 1 of 12" in browser.text("#about"), browser.text("#about")
        live(browser)
        pictures.take(browser, "session-ended-1280")
    step("the end of an agent, and why")


def grows(browser, server, agent):
    browser.open(server.url)
    browser.until("its row", lambda: browser.texts(f"#run-{agent.session}"), 2)
    browser.click(f"#run-{agent.session} a.title")
    live(browser)
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


def answers(browser, server, agent):
    call = lambda: [asked["answer"] for asked in server.call("GET", f"/api/permissions?all=true&sessionId={agent.session}")]
    agent.asks("q1", "npm i rate-limiter-flexible", "npm i rate-limiter-flexible --save\n# in /work/my-repo")
    browser.until("a question", lambda: browser.texts("#asks button") == ["Once a", "Always in this run A", "Deny d"], 1)
    assert browser.title().startswith("(1) "), browser.title()
    assert "? waiting for you" in browser.text("#about")
    assert "npm i rate-limiter-flexible --save" in browser.text("#asks pre")
    left = browser.text("#asks time")
    browser.until("time runs out", lambda: browser.text("#asks time") < left, 2.5)
    browser.click("#asks button[value=allow_once]")
    browser.until("answered", lambda: not browser.texts("#asks button"), 1)
    assert "Allowed once, " in browser.text("#asks .settled") and call() == [YES]
    agent.did(("answered", {"id": "q1", "kind": YES}))
    browser.until("told", lambda: "✓ allowed once npm i rate-limiter-flexible" in browser.text("#transcript"), 1)
    # On the first screen, by key; and one that somebody else was faster with.
    agent.asks("q2", "git push --force", "git push --force origin main", kinds=(YES, NO))
    agent.asks("q3", "curl https://example.com", "curl https://example.com", kinds=(YES, NO))
    browser.open(server.url)
    live(browser)
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
    browser.until("sent", lambda: browser.run("return typeof window.go === 'function'"), 2)
    browser.run("window.go()")
    browser.until("too late", lambda: "it was answered already" in browser.text("#word"), 2)
    assert call() == [YES, NO, NO]
    agent.did(*(("answered", {"id": request, "kind": NO}) for request in ("q2", "q3")))
    step("questions are answered by button and by key; who comes late is told so")


def looks(browser, server, agent, pictures):
    agent.asks("q4", "rm -rf node_modules && npm ci", "rm -rf node_modules && npm ci\n\ncwd: /work/my-repo")
    shown = ".did-changed details, .did-tool:has(.state.bad) details, .did-folded details"
    prepare = lambda: browser.run("document.querySelectorAll(arguments[0]).forEach((one) => (one.open = true))", shown)
    pictures.looks(browser, f"{server.url}/sessions/{agent.session}", "session", (1250, 1900), prepare)
    pictures.looks(browser, server.url, "now-asked")
    step("a session's screen in dark and light, at 1280 and 390 px")


def without_script(browser, server, agent):
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
