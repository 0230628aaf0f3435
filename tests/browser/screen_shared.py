"""Pages that are not alone: several tabs, answers from elsewhere, another server at the address, and many sessions."""

import json
import tempfile
import urllib.request

from agents import Agent
from site_under_test import Server, live, step

SESSIONS = 200
NO = "reject_once"


def several_tabs(browser, server, pictures):
    project = server.project("shop")
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


def answered_elsewhere(browser, server, pictures):
    project = server.project("shop")
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


def changed_elsewhere(browser, server, pictures):
    """Who changed what is said beside it: another tab, the command line, an agent; never one's own change."""
    project = server.project("shop")
    task, own = server.task(project, "Rate-limit uploads"), server.task(project, "Export CSV")
    session = server.session(project, task, "claude")
    browser.open(f"{server.url}/work")
    live(browser)
    said = lambda: browser.run("return [...document.querySelectorAll('[data-by]')].map((e) => e.dataset.by)")
    server.command("task", "update", task, "--priority", "high")
    browser.until("the command line", lambda: said() == ["changed by you, in a terminal"])
    pictures.take(browser, "work-changed-1280")
    server.command("session", "pause", session)
    first = browser.tab()
    browser.open(f"{server.url}/work?task={task}")
    live(browser)
    browser.click("#drawer .moves button[value=ready]")
    browser.until("moved", lambda: "Rate-limit uploads" in browser.texts("#col-ready .card-title"))
    assert not said(), "a page does not tell what it did itself"
    browser.click("#drawer a[href$='edit=yes']")
    browser.until("the form", lambda: browser.texts("#drawer .edit textarea"))
    live(browser)
    second = browser.switch(first)
    browser.until("another page", lambda: "moved by you, elsewhere" in said())
    token = server.call("POST", f"/api/sessions/{session}/token")["token"]
    request = urllib.request.Request(f"{server.url}/api/tasks/{task}", json.dumps({"priority": "low"}).encode(), {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}, method="PATCH")
    urllib.request.urlopen(request, timeout=20).close()
    browser.until("an agent", lambda: "changed by claude" in said())
    browser.switch(second)
    browser.until("beside an open form, too", lambda: "changed by claude" in said())
    server.call("DELETE", f"/api/tasks/{own}")
    browser.until("what is gone is named", lambda: "Export CSV: deleted by a program with a token." in browser.text("#word"))
    browser.close_tab(first)
    step("who changed something is said beside it: the command line, another page, an agent")


def another_server(browser, server, pictures):
    project = server.project("shop")
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
            browser.until("it asked the other one", lambda: any("401" in complaint for complaint in browser.complaints()))
            assert browser.run("return window.same && document.getElementById('live').dataset.state") != "live"
            assert "Stays here" in browser.text("#main") and "Is not shown here" not in browser.text("#main")
        finally:
            other.stop()
    server.start()
    browser.open(f"{server.url}/work")
    live(browser)
    assert "Stays here" in browser.text("#main")
    step("another server at the same address is never adopted")


def many_sessions(browser, server, pictures):
    project = server.project("shop")
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


JOURNEYS = {"shared-tabs": several_tabs, "shared-answers": answered_elsewhere, "shared-changes": changed_elsewhere, "shared-server": another_server, "shared-many": many_sessions}
