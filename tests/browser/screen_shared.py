"""Pages that are not alone: several tabs, answers from elsewhere, another server at the address, and many sessions."""

import tempfile

from agents import Agent
from site_under_test import Server, live, step

SESSIONS = 200
NO = "reject_once"


def check(browser, server, pictures):
    project = server.project("shop")
    several_tabs(browser, server, project)
    answered_elsewhere(browser, server, project)
    another_server(browser, server, project)
    many_sessions(browser, server, project, pictures)


def several_tabs(browser, server, project):
    session = server.session(project, server.task(project, "Seen twice"), "claude")
    browser.open(server.url)
    live(browser)
    first = browser.tab()
    browser.open(f"{server.url}/sessions/{session}")
    live(browser)
    server.report(session, "progress", "both tabs show this")
    second = browser.switch(first)
    browser.until("the first tab", lambda: "both tabs show this" in browser.text("#running"))
    browser.switch(second)
    browser.until("the second tab", lambda: browser.text("#live .words") == "live")
    browser.close_tab(first)
    server.report(session, "progress", "one tab is left")
    browser.until("the tab that is left", lambda: "one tab is left" in browser.text("#running"))
    step("several tabs follow the same work, and one goes on without the other")


def answered_elsewhere(browser, server, project):
    with Agent(server, project, "Ask twice") as agent:
        agent.asks("q1", "rm -rf dist", "rm -rf dist")
        card = "#waits .card:has(button[name=answer])"
        browser.until("a card", lambda: browser.texts(card))
        server.call("POST", f"/api/sessions/{agent.session}/permissions/q1", {"answer": NO})
        browser.until("who answered", lambda: browser.text("#waits .settled").startswith("Denied by "))
        agent.did(("answered", {"id": "q1", "kind": NO}))
        agent.asks("q2", "npm publish", "npm publish")
        browser.until("another card", lambda: browser.texts(card))
        browser.click(f"{card} button[value={NO}]")
        browser.until("by this page", lambda: any(line.startswith("Denied, ") for line in browser.texts("#waits .settled")))
        agent.did(("answered", {"id": "q2", "kind": NO}))
    step("an answer from elsewhere says who gave it; one's own does not")


def another_server(browser, server, project):
    server.task(project, "Stays here")
    browser.open(f"{server.url}/work")
    live(browser)
    browser.until("the board", lambda: "Stays here" in browser.text("#main"))
    browser.run("window.same = true")
    server.stop()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        other = Server(home, server.port)
        try:
            other.task(other.project("other"), "Is not shown here")
            browser.until("it knows", lambda: browser.run("return document.getElementById('live').dataset.state") != "live")
            browser.wait_for("setTimeout(done, 3000)")
            assert browser.run("return window.same && document.getElementById('live').dataset.state") != "live"
            assert "Stays here" in browser.text("#main") and "Is not shown here" not in browser.text("#main")
        finally:
            other.stop()
    server.start()
    browser.open(f"{server.url}/work")
    live(browser)
    assert "Stays here" in browser.text("#main")
    step("another server at the same address is never adopted")


def many_sessions(browser, server, project, pictures):
    for number in range(SESSIONS):
        session = server.session(project, server.task(project, f"Task {number}"), "claude")
    server.report(session, "progress", "one of many")
    browser.open(server.url)
    live(browser)
    assert str(SESSIONS) in browser.text("#running-head") or int(browser.text("#running-head").split()[-1]) >= SESSIONS, browser.text("#running-head")
    count = browser.run("return document.querySelectorAll('#main *').length")
    assert count < 3000, f"{count} elements"
    pictures.take(browser, "now-many-1280")
    step(f"{SESSIONS} sessions: rows, and a link to the rest ({count} elements)")
