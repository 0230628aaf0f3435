"""The screen of a run, and of a session, which is a run with one step."""

import json
import pathlib
import re

import real_run
from agents import ALWAYS, NO, YES, Agent, tool, work
from screen_workflows import RELEASE, workflow
from site_under_test import accessible, live, step, still, watch_shifts
from webdriver import CONTROL, ENTER

HOSTILE = "<img src=x onerror=window.stolen=1>{{7*7}}</script><script>window.stolen=1</script>"


def session(browser, server, pictures):
    project = server.project("my-repo")
    with Agent(server, project, "Rate-limit the upload endpoint per client", skills=("rest-api", "tdd")) as agent:
        grows(browser, server, agent)
        answers(browser, server, agent)
        looks(browser, server, agent, pictures)
        without_script(browser, server, agent)
        agent.ends("failed", outcome={"kind": "failed", "reasons": ["the check `npm test` failed: 1 of 12", "it changed 1 file, but never said that it is done"]}, changedFiles=["src/upload/limit.ts"])
        browser.open(f"{server.url}/sessions/{agent.session}")
        assert "✗ stopped" in browser.text("#about") and "the check npm test failed: 1 of 12" in browser.text("#about"), browser.text("#about")
        live(browser)
        pictures.take(browser, "session-ended-1280")
    step("the end of an agent, and why")


def views(browser, server, pictures):
    project = server.project("my-repo")
    tabs(browser, server, project)
    hostile(browser, server, project)


def much(browser, server, pictures):
    project = server.project("my-repo")
    floods(browser, server, project)
    long_past(browser, server, project)


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
    assert browser.text(".did-said ol") == "register the limit first answer 429 with Retry-After", "Markdown is rendered"
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
    browser.until("at the end", lambda: at_end(browser))
    browser.run("scrollTo(0, 60)")
    browser.wait_for("requestAnimationFrame(() => requestAnimationFrame(done))")
    agent.did(*tool("Read", "src/app.ts", "read", {}, "ok", "…"))
    browser.until("told of it", lambda: browser.text("#newer") == "1 new ↓", 1)
    assert browser.run("return scrollY") == 60
    browser.run("scrollTo(0, document.documentElement.scrollHeight)")
    browser.until("read", lambda: browser.text("#newer") == "", 1)
    browser.wait_for("requestAnimationFrame(() => requestAnimationFrame(done))")
    agent.did(*tool("Grep", "limit", "search", {}, "ok", "…"))
    browser.until("it follows", lambda: at_end(browser) and len(browser.texts(".entry")) == count + 2, 1)
    browser.size(1280, 860)
    assert browser.run("return window.same"), "the page was not loaded anew"
    step(f"a session's screen grows live ({took * 1000:.0f} ms), in place and in order")


def at_end(browser):
    return browser.run("return innerHeight + scrollY >= document.documentElement.scrollHeight - 2")


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
    # The line of the card before still shrinks, so the button may move under a pointer.
    browser.run("document.querySelector(arguments[0]).click()", f"{card} button[value=allow_once]")
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


def tabs(browser, server, project):
    """Every view has an address, and the keys lead there."""
    with Agent(server, project, "Name every view") as agent:
        agent.did(("said", {"text": "needle in **hay**"}), *tool("Read", "a.ts", "read", {}, "ok", "1"), *tool("Read", "b.ts", "read", {}, "ok", "2"), *tool("Edit", "c.ts", "edit", {"file_path": "c.ts", "old_string": "one", "new_string": "two"}, "ok"))
        base = f"{server.url}/sessions/{agent.session}"
        browser.open(base)
        live(browser)
        assert browser.text("#transcript .did-said strong") == "hay"
        assert "2 files" in browser.text("#transcript .did-read"), browser.text("#transcript")
        browser.run("document.querySelector('.did-tool details').open = true")
        assert browser.texts("#transcript .did-tool .diff span") == ["-one", "+two"], "an edit is a diff, not JSON"
        browser.press("l")
        browser.until("the log", lambda: browser.texts("#log .log-line"), 3)
        browser.type(".log-head input[name=find]", "NEEDLE")
        browser.click(".log-head button")
        browser.until("found", lambda: browser.text(".log-head .aside") == "1 line with “NEEDLE”", 3)
        for name in ("prompt", "diff"):
            browser.open(f"{base}?tab={name}")
            live(browser)
            accessible(browser, name)
            assert browser.run("return document.querySelector('.tabs [aria-current]').innerText.toLowerCase()") .startswith(name)
        browser.press("t")
        browser.until("back", lambda: browser.texts("#transcript .entry"), 3)
    step("timeline, diff, prompt and log, each with an address; reads merged, edits as diffs")


def hostile(browser, server, project):
    with Agent(server, project, HOSTILE, skills=(HOSTILE[:60],)) as agent:
        agent.did(("said", {"text": HOSTILE + "\n\n[x](javascript:window.stolen=1)"}), ("thought", {"text": HOSTILE}), ("printed", {"stream": "err", "text": "\u001b[31m" + HOSTILE}), *tool("Bash", HOSTILE, "execute", {"command": HOSTILE}, "ok", HOSTILE), ("changed", {"path": HOSTILE, "diff": "+" + HOSTILE}))
        for tab in ("timeline", "log", "prompt", "diff"):
            browser.open(f"{server.url}/sessions/{agent.session}?tab={tab}")
            live(browser)
            assert not browser.run("return window.stolen || document.querySelector('main img, main script') !== null"), tab
    step("hostile texts are texts in every view")


def newest(browser):
    """The newest entry; what is far above is not laid out, and has no inner text."""
    return browser.run("return document.getElementById('transcript').lastElementChild?.textContent ?? ''")


def floods(browser, server, project):
    """Ten thousand events into an open run: all of them arrive, nothing jumps, and the page stays bounded."""
    with Agent(server, project, "Say very much") as agent:
        browser.open(f"{server.url}/sessions/{agent.session}")
        live(browser)
        agent.did(*(("said", {"text": f"line {number}\n\n"}) if number % 2 else ("cut", {"bytes": number}) for number in range(200)))
        browser.until("it follows", lambda: "line 199" in newest(browser), 5)
        watch_shifts(browser)
        for part in range(100):
            agent.did(*(("said", {"text": f"part {part} line {number} "}) if number % 2 else ("cut", {"bytes": number}) for number in range(100)))
        browser.until("all of it", lambda: "part 99 line 99" in newest(browser), 60)
        count = browser.run("return document.querySelectorAll('.entry').length")
        still(browser)
        assert count <= 800, count
    step(f"10,000 events: all arrive, nothing jumps, {count} entries in the page")


def long_past(browser, server, project):
    """A transcript of 100,000 entries opens at its end, and its past is a click away."""
    with Agent(server, project, "A long story") as agent:
        for part in range(100):
            agent.did(*(("cut", {"bytes": part * 1000 + number}) for number in range(1000)))
        browser.open(f"{server.url}/sessions/{agent.session}")
        live(browser)
        assert "99999 bytes" in newest(browser)
        for window in (2, 3):
            browser.run("document.querySelector('#older a').click()")
            browser.until("older ones", lambda: browser.run("return document.querySelectorAll('.entry').length") == window * 200, 5)
        texts = browser.run("return [...document.querySelectorAll('.entry')].map((e) => Number(e.textContent.match(/(\\d+) bytes/)[1]))")
        assert texts == list(range(99400, 100000)), "nothing is left out and nothing comes twice"
    step("100,000 entries: open at their end, older ones loaded above")


def real(browser, server, pictures):
    """A plan worked through by the demo agent: steps, evidence, diff, a copy to share, and the merge."""
    with real_run.Worker(server):
        run, path = real_run.start(server)
        browser.open(f"{server.url}/runs/{run}")
        live(browser)
        real_run.wait_for(server, run, ["ready"])
    project = server.call("GET", "/api/projects")[0]["id"]
    browser.open(f"{server.url}/runs/{run}")
    live(browser)
    assert browser.run("return location.search") == "" and browser.text(".tabs [aria-current]").startswith("Diff"), "what ended opens on its diff"
    assert "✓ ready" in browser.text("#about") and browser.texts(".patch"), browser.text("#about")
    assert "Greetings (PLAN.md)" == browser.text("h1"), "a plan is known by its heading"
    bar = browser.run("return [...document.querySelectorAll('.time-bar text')].map((it) => it.textContent)")
    assert "✓ review" in bar, f"the time bar says what took long, in words: {bar}"
    steps = browser.texts("#spine .step-title")
    assert any("Review" in step for step in steps) and any("Do the task" in step for step in steps), steps
    pictures.looks(browser, f"{server.url}/runs/{run}", "run-diff", (1000, 1500))
    pictures.looks(browser, f"{server.url}/runs/{run}?tab=timeline", "run", (1000, 1900))
    pictures.looks(browser, f"{server.url}/runs/{run}?tab=prompt", "run-prompt", (1000, 1500))
    browser.open(f"{server.url}/runs/{run}?tab=timeline")
    live(browser)
    told = browser.text("#transcript")
    assert "Write hello.txt" in told and "maestro update" not in told, f"what an agent reports is words, not a command: {told}"
    browser.run("const slider = document.querySelector('.moment input[type=range]'); slider.value = slider.min; slider.dispatchEvent(new Event('change', { bubbles: true }))")
    browser.until("the first moment", lambda: browser.texts(".entry.here"))
    for name in ("log", "graph"):
        browser.open(f"{server.url}/runs/{run}?tab={name}")
        live(browser)
        accessible(browser, name)
    browser.open(f"{server.url}/runs/{run}")
    live(browser)
    copy = server.command("share", run, "--out", f"{server.home}/copy.html")
    assert "copy.html" in copy and "<script" not in open(f"{server.home}/copy.html").read()
    browser.click("button.merge")
    browser.until("merged", lambda: "✓ merged" in browser.text("#about"), 20)
    assert browser.text("h1") == "Greetings (PLAN.md)", "its worktree is gone, and its name is the same"
    assert path.joinpath("hello.txt").exists() or "Merge" in real_run.log(server, path), "the work is in the checked-out branch"
    browser.open(f"{server.url}/work/{project}/plan/PLAN.md")
    live(browser)
    row = browser.text(".plan-task .plan-side")
    assert re.fullmatch(r"merged [0-9a-f]{7} \+2 −1 [0-9.]+ s", row), f"its commit, its size and its time: {row}"
    step("a real run: its steps, its diff, a copy to share, its merge, and its commit in the plan")


def commented(browser, server, pictures):
    """A comment on a line of a run that ended reopens it."""
    with real_run.Worker(server):
        run, _ = real_run.start(server)
        real_run.wait_for(server, run, ["ready"])
        browser.open(f"{server.url}/runs/{run}")
        live(browser)
        browser.click("a[data-file='hello.txt'][data-comment='1']")
        browser.until("the form", lambda: browser.run("return document.activeElement.matches('#comment textarea')"))
        accessible(browser, "comment")
        browser.type("#comment textarea", "end the text with a period")
        pictures.take(browser, "run-comment-1280-light")
        browser.press(CONTROL, ENTER)
        browser.until("another run goes on", lambda: browser.run("return location.pathname") not in ("/", f"/runs/{run}"))
        browser.until("the comment is its task", lambda: "end the text with a period" in browser.text("#main"))
        revision = browser.run("return location.pathname").removeprefix("/runs/")
        began = server.call("GET", f"/api/runs/{revision}/state")["run"]["frames"][0]["params"]
        assert began["continues"] == run, began
    step("a comment on a line, written by keys, reopens a run that ended, on its branch")


def retried(browser, server, pictures):
    """A run whose agent fails says why, and is tried again with a note that the agent receives."""
    acts = pathlib.Path(server.home, "acts")
    acts.write_text(json.dumps({"do": "fail", "status": 401, "message": "the key was revoked"}) + "\n")
    with real_run.Worker(server, MAESTRO_DEMO_SCRIPT=str(acts)):
        run, _ = real_run.start(server)
        stopped = real_run.wait_for(server, run, ["stopped"])
        browser.open(f"{server.url}/runs/{run}")
        live(browser)
        assert "✗ stopped" in browser.text("#about") and browser.texts(".run-stop .state.bad"), (stopped, browser.text("#about"))
        pictures.looks(browser, f"{server.url}/runs/{run}?tab=timeline", "run-stopped", (900, 1500))
        browser.open(f"{server.url}/runs/{run}")
        live(browser)
        acts.write_text(json.dumps({"do": "prompt"}) + "\n")
        browser.type(".run-stop input[name=note]", "the key is valid again")
        browser.click(".run-stop form button")
        browser.until("it goes on", lambda: "✗ stopped" not in browser.text("#about"))
        real_run.wait_for(server, run, ["ready"])
        browser.until("it is ready", lambda: "✓ ready" in browser.text("#about"))
    sent = server.command("show", run, "--json") + browser.run("return document.body.innerText")
    browser.open(f"{server.url}/runs/{run}?tab=timeline")
    live(browser)
    assert "the key is valid again" in browser.text("#transcript") + sent, browser.text("#transcript")
    step("a run that stopped says why, and is retried with a note")


def compared(browser, server, pictures):
    """A run goes on with the definition that it was started with, and shows what its files say now."""
    project = server.repository("shop")
    workflow(server, "release-check", RELEASE)
    body = {"workflow": "release-check", "projectId": project, "driver": "server", "params": {"version": "1.2"}}
    run = server.call("POST", "/api/runs", body)["id"]
    browser.open(f"{server.url}/runs/{run}")
    live(browser)
    assert "Compare" not in browser.text(".tabs")
    server.command("say", run, "--after-step", "log the client id, too")
    browser.until("words from the command line", lambda: "log the client id, too" in browser.text("#talk") and "queued until the next step" in browser.text("#talk"))
    workflow(server, "release-check", RELEASE.replace("Look it over", "Look at it twice"))

    def noticed():
        browser.open(f"{server.url}/runs/{run}")
        return browser.texts(".run-notice a[href*='tab=definition']")

    browser.until("the change is noticed", noticed)
    live(browser)
    browser.click(".run-notice a[href*='tab=definition']")
    browser.until("both beside each other", lambda: "Look at it twice" in browser.text(".run-definition"))
    live(browser)
    changed = browser.texts(".run-definition .added"), browser.texts(".run-definition .removed")
    assert len(changed[0]) == 1 and len(changed[1]) == 1 and "Look it over" in changed[1][0], changed
    assert "Compare" in browser.text(".tabs [aria-current]"), browser.text(".tabs")
    accessible(browser, "compare")
    pictures.looks(browser, f"{server.url}/runs/{run}?tab=definition", "run-compare", (900, 1400))
    server.call("POST", f"/api/runs/{run}/cancel", {})
    step("what changed in a workflow since a run began is compared")


JOURNEYS = {"run-retry": retried, "run-compare": compared, "run-session": session, "run-views": views, "run-much": much, "run-real": real, "run-comment": commented}
