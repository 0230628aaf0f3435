"""Screens in states that few people see often: empty, signed out, full of long texts, and with every kind of thing that waits."""

from screen_workflows import workflow
from site_under_test import PHONE, accessible, fits, live, step
from webdriver import CONTROL, ESCAPE

LONG = "Rate-limit every upload endpoint of the public API per client and per project, and document it for operators "
WORD = "src/components/uploads/administration/rate_limiting/TokenBucketRateLimiterConfigurationPanel.generated.tsx"
ASKS = """name: choose-window
description: Asks for a window. Use to ask.
steps:
- id: ask
  type: question
  title: Choose a window
  prompt: "Which window should the limit use? `docs/limits.md` names both, and the tests allow either."
  options: [sliding, fixed, later]
  next: {ok: done, fixed: done, later: done, declined: done, cancelled: done}
- {id: done, type: end}
"""
SHIP = """name: ship
description: Ships it. Use to ship.
steps:
- {id: check, type: command, title: Check it, command: 'sh {skill_dir}/check.sh', effect: read, next: {ok: done, fail: done}}
- {id: done, type: end}
"""


def empty(browser, server, pictures):
    """What is empty says what fills it."""
    for name, path, words in (
        ("work-empty", "/work", "queued"),
        ("activity-empty", "/activity?kind=run%3A", "Nothing"),
        ("numbers-empty", "/activity?numbers=7", "Numbers appear after 5 finished tasks."),
        ("search-empty", "/activity?q=nothing-has-these-words", "Nothing"),
    ):
        browser.open(server.url + path)
        assert words in browser.text("#main"), (path, browser.text("#main"))
        pictures.looks(browser, server.url + path, name, (700, 800), follows="?" not in path or "kind=" in path)
    step("empty screens say what fills them")


def signed_out(browser, server, pictures):
    browser.devtools("Network.clearBrowserCookies")
    for theme in ("light", "dark"):
        browser.theme(theme)
        browser.open(server.url)
        assert "maestro open" in browser.text("main")
        accessible(browser, "sign-in")
        pictures.take(browser, f"sign-in-1280-{theme}")
        browser.size(PHONE, 700)
        fits(browser, PHONE)
        pictures.take(browser, f"sign-in-390-{theme}")
        browser.size(1280, 860)
    step("who is not signed in is told how")


def waits(browser, server, pictures):
    """Every kind of thing that waits, on one screen; a question with options is answered by its number."""
    project = server.repository("shop")
    workflow(server, "choose-window", ASKS)
    workflow(server, "ship", SHIP, "echo checked\nnpm publish\n")
    asked = server.call("POST", "/api/runs", {"workflow": "choose-window", "projectId": project})["id"]
    server.call("POST", "/api/runs", {"workflow": "ship", "projectId": project})
    blocked = server.session(project, server.task(project, "Publish the 2.0 documentation"), "gemini")
    server.report(blocked, "blocked", "No access to the bucket: 403")
    browser.open(server.url)
    live(browser)
    browser.until("all of them", lambda: browser.text("#waits-head .number") == "3" and browser.texts("#waits .consent"))
    pictures.looks(browser, server.url, "now-waits", (1000, 1500))
    pictures.looks(browser, f"{server.url}/runs/{asked}", "run-question", (800, 1200))
    browser.open(server.url)
    live(browser)
    card = f"#wait-{asked}"
    browser.run("document.querySelector(arguments[0]).focus()", card)
    browser.press("2")
    browser.until("answered by its number", lambda: server.call("GET", f"/api/runs/{asked}")["status"] == "completed")
    browser.until("a line", lambda: "fixed" in browser.text("#waits") or not browser.texts(card))
    step("a question with options, consent and a blocker; answered by the number of an option")


def long_texts(browser, server, pictures):
    """Long titles and words stay within their place."""
    project = server.project("a-project-with-a-very-long-name-that-somebody-chose-once")
    server.project("b")
    task = server.task(project, LONG + WORD)
    session = server.session(project, task, "an-agent-with-a-long-name-indeed", name=LONG)
    server.report(session, "progress", LONG + WORD)
    other = server.session(project, server.task(project, LONG * 3), "claude")
    server.report(other, "needs-input", f"{LONG}\n\n`{WORD}`")
    failed = server.session(project, server.task(project, WORD), "codex")
    server.report(failed, "error", LONG + WORD)
    server.call("PATCH", f"/api/sessions/{failed}", {"status": "failed"})
    for name, path in (("long-now", "/"), ("long-work", f"/work?task={task}"), ("long-run", f"/sessions/{session}"), ("long-activity", "/activity")):
        pictures.looks(browser, server.url + path, name, (900, 1300))
    step("long titles, names and words stay within their place")


def dialogs(browser, server, pictures):
    """The palette, the keys and the task box on a phone and in the dark."""
    project = server.repository("shop")
    server.task(project, "Export CSV")
    server.install("claude")
    for width, theme in ((1280, "dark"), (PHONE, "light")):
        browser.size(width, 860)
        browser.theme(theme)
        browser.open(server.url)
        live(browser)
        browser.press(CONTROL, "k")
        browser.until("the palette", lambda: browser.run("return document.getElementById('palette').open"))
        listed = browser.texts("#palette-list .title")
        assert len(listed) == len(set(listed)), f"each screen stands there once: {listed}"
        browser.type("#palette-words", "csv")
        browser.until("found", lambda: "Export CSV" in browser.text("#palette-list"))
        accessible(browser, "palette")
        pictures.take(browser, f"palette-{width}-{theme}")
        browser.press(ESCAPE)
        browser.press("?")
        browser.until("the keys", lambda: browser.run("return document.getElementById('keys').open"))
        accessible(browser, "keys")
        pictures.take(browser, f"keys-{width}-{theme}")
        browser.press(ESCAPE)
        browser.click("#task-box input")
        browser.type("#task-box input", "Plan a change before it is made")
        browser.until("its skill", lambda: browser.texts("#task-line .skill"))
        fits(browser, width)
        pictures.take(browser, f"task-line-{width}-{theme}")
    browser.theme("light")
    browser.size(1280, 860)
    step("the palette, the keys and the task box on a phone and in the dark")


JOURNEYS = {"states-empty": empty, "states-waits": waits, "states-long": long_texts, "states-dialogs": dialogs, "states-signed-out": signed_out}
