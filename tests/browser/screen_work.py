"""All work as columns of cards, and the drawer of a task."""

from agents import Agent
from site_under_test import live, step
from webdriver import ENTER, ESCAPE

HOSTILE = '<script>window.stolen=1</script><img src=x onerror=window.stolen=1>"\'{{7*7}}'


def work(browser, server, pictures):
    empty(browser, server)
    project = server.project("my-repo")
    by_mouse(browser, server, project)
    by_keys(browser, server, project)
    refused(browser, server, project)
    changed_underneath(browser, server, project)
    hostile(browser, server, project)
    without_script(browser, server, project)
    looks(browser, server, project, pictures)


def column(browser, word):
    return browser.texts(f"#col-{word} .card-title")


def empty(browser, server):
    browser.open(f"{server.url}/work")
    live(browser)
    assert [browser.text(f"#col-{word}-head") for word in ("queued", "waiting", "done")] == ["○ queued 0", "? waiting for you 0", "– done 0"]
    step("an empty board has its columns")


def by_mouse(browser, server, project):
    browser.open(f"{server.url}/work")
    live(browser)
    browser.type("#new-title", "Rate-limit the upload endpoint")
    browser.type("#new-title", ENTER)
    browser.until("a new card", lambda: column(browser, "queued") == ["Rate-limit the upload endpoint"], 2)
    # A drag, as the browser reports one.
    browser.run(
        """const card = document.querySelector('#col-queued .task-card'), to = document.querySelector('[data-column=working]');
        const carried = new DataTransfer();
        const tell = (target, name) => target.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer: carried }));
        tell(card, 'dragstart'); tell(to, 'dragover'); tell(to, 'drop'); tell(card, 'dragend');"""
    )
    browser.until("moved", lambda: column(browser, "working") == ["Rate-limit the upload endpoint"] and not column(browser, "queued"), 2)
    browser.click("#col-working .card-title")
    browser.until("its drawer", lambda: "Rate-limit the upload endpoint" in browser.text("#drawer .drawer-title"), 3)
    live(browser)
    browser.type("#drawer .add-sub input[name=title]", "Count requests per client")
    browser.click("#drawer .add-sub button")
    browser.until("a subtask", lambda: browser.texts("#drawer .links a") == ["Count requests per client"], 2)
    browser.until("counted on the card", lambda: "0/1" in browser.text("#col-queued, #col-working .card-foot") or "0/1" in browser.text("#main .columns"), 2)
    browser.click("#drawer .moves button[value=ready]")
    browser.until("ready", lambda: column(browser, "ready") == ["Rate-limit the upload endpoint"], 2)
    browser.click("#drawer a[href$='edit=yes']")
    browser.until("the form", lambda: browser.texts("#drawer .edit textarea"), 3)
    browser.type("#drawer .edit textarea[name=acceptance]", "a burst of 30 gets `429`")
    browser.type("#drawer .edit input[name=plan]", "docs/PLAN.md")
    browser.click("#drawer .edit form .acts button")
    browser.until("saved", lambda: "a burst of 30" in browser.text("#drawer .drawer-text"), 3)
    assert browser.texts("#drawer .drawer-text code") == ["429"], "Markdown is shown as it reads"
    assert browser.run("return document.querySelector('#drawer a[href$=\"/plan/docs/PLAN.md\"]')?.innerText") == "docs/PLAN.md"
    parent = server.task(project, "Limits everywhere")
    browser.click("#drawer a[href$='edit=yes']")
    browser.until("the form again", lambda: browser.texts("#drawer .edit select[name=parent]"))
    browser.run("document.querySelector('#drawer .edit select[name=parent]').value = arguments[0]", parent)
    browser.click("#drawer .edit form .acts button")
    browser.until("its parent", lambda: "Limits everywhere" in browser.text("#drawer .drawer-parent"))
    browser.click("#drawer .close")
    browser.until("closed", lambda: not browser.run("return document.querySelector('.drawer:not([hidden])')"), 3)
    step("by mouse: a card is made, dragged, opened, split and edited")


def by_keys(browser, server, project):
    browser.open(f"{server.url}/work")
    live(browser)
    browser.press("n")
    browser.type("#new-title", "Document the limits" + ENTER)
    browser.until("a new card", lambda: "Document the limits" in column(browser, "queued"), 2)
    browser.press(ESCAPE)
    browser.press("h")
    browser.until("on the card", lambda: browser.run("return document.activeElement.matches('#col-queued .task-card')"), 2)
    browser.press("m")
    assert "q queued" in browser.text("#word")
    browser.press("d")
    browser.until("done", lambda: "Document the limits" in column(browser, "done"), 2)
    browser.until("the focus follows", lambda: browser.run("return document.activeElement.closest('#col-done') !== null"), 2)
    browser.press("m")
    browser.press("q")
    browser.until("queued again", lambda: "Document the limits" in column(browser, "queued"), 2)
    browser.until("the focus follows", lambda: browser.run("return document.activeElement.closest('#col-queued') !== null"), 2)
    browser.press(ENTER)
    browser.until("its drawer", lambda: "Document the limits" in browser.text("#drawer .drawer-title"), 3)
    live(browser)
    browser.press(ESCAPE)
    browser.until("closed", lambda: not browser.run("return document.querySelector('.drawer:not([hidden])')"), 3)
    step("by keys: n, h l j k, m with a letter, Enter, Esc")


def refused(browser, server, project):
    task = server.task(project, "Archive old uploads")
    for status in ("completed", "archived"):
        server.call("PATCH", f"/api/tasks/{task}", {"status": status})
    browser.open(f"{server.url}/work?task={task}")
    live(browser)
    browser.press("m")
    browser.press("r")
    browser.until("why not", lambda: "a task that is skipped cannot become ready" in browser.text("#word"), 2)
    server.call("DELETE", f"/api/tasks/{task}")
    step("a refused move says why")


def changed_underneath(browser, server, project):
    task = server.task(project, "Export CSV")
    browser.open(f"{server.url}/work?task={task}&edit=yes")
    live(browser)
    server.call("PATCH", f"/api/tasks/{task}", {"description": "Changed by an agent."})
    browser.type("#drawer .edit textarea", "Mine.")
    browser.click("#drawer .edit form .acts button")
    browser.until("not overwritten", lambda: "the task changed meanwhile" in browser.text("#word"), 2)
    assert server.call("GET", f"/api/tasks/{task}")["description"] == "Changed by an agent."
    assert browser.run("return document.querySelector('#drawer .edit textarea').value") == "Mine."
    step("a change underneath is shown, not overwritten")


def hostile(browser, server, project):
    task = server.call("POST", "/api/tasks", {"projectId": project, "title": HOSTILE, "description": HOSTILE})["id"]
    session = server.session(project, task, HOSTILE)
    server.report(session, "progress", HOSTILE)
    browser.open(f"{server.url}/work?task={task}")
    live(browser)
    assert HOSTILE in browser.text("#drawer .drawer-title") and "49" not in browser.text("#drawer .drawer-title")
    assert not browser.run("return window.stolen"), "a text was executed"
    server.call("DELETE", f"/api/sessions/{session}")
    server.call("DELETE", f"/api/tasks/{task}")
    step("hostile texts are texts")


def without_script(browser, server, project):
    task = server.task(project, "Rotate the logs")
    browser.scripts(False)
    browser.open(f"{server.url}/work")
    assert "Rotate the logs" in column(browser, "queued")
    browser.open(f"{server.url}/work?task={task}")
    browser.click("#drawer .moves button[value=working]")
    browser.until("moved", lambda: "Rotate the logs" in column(browser, "working"), 3)
    assert "task=" in browser.run("return location.search"), "back on the task"
    browser.scripts(True)
    step("without script: read, and moved by a button")


def looks(browser, server, project, pictures):
    other = server.project("billing")
    def task(title, status=None, priority="medium", of=project):
        made = server.call("POST", "/api/tasks", {"projectId": of, "title": title, "priority": priority})["id"]
        if status:
            server.call("PATCH", f"/api/tasks/{made}", {"status": status})
        return made
    task("Invoices round half a cent up", priority="critical", of=other)
    task("Rename the retry setting everywhere it is documented", priority="high")
    task("Cache the project list", priority="low")
    parent = task("Move uploads to the new bucket without downtime", of=other)
    for number, title in enumerate(("Copy what exists", "Write to both", "Read from the new one", "Stop writing to the old one")):
        made = server.call("POST", "/api/tasks", {"parentId": parent, "title": title})["id"]
        if number < 2:
            server.call("PATCH", f"/api/tasks/{made}", {"status": "completed"})
    for title in ("Fix flaky login test", "Upgrade to Node 26", "Drop the legacy endpoint"):
        task(title, "completed")
    waits = task("Which window should the limit use?", of=project)
    asker = server.session(project, waits, "codex")
    server.report(asker, "needs_input", "Sliding or fixed window? The spec names both, and the tests allow either.")
    with Agent(server, project, "Rate-limit uploads per client, not per process") as agent:
        agent.said("The counter lives in one process; I'll move it to Redis.")
        server.report(agent.session, "progress", "token bucket done, tests green")
        shown = server.call("GET", f"/api/sessions/{agent.session}")["taskIds"][0]
        server.call("POST", "/api/tasks", {"parentId": shown, "title": "Log the client id"})
        pictures.looks(browser, f"{server.url}/work", "work", height=(900, 1000))
        pictures.looks(browser, f"{server.url}/work?task={shown}", "work-drawer", height=(1000, 1500))
        pictures.looks(browser, f"{server.url}/work?task={shown}&edit=yes", "work-edit", height=(1100, 1700))
        pictures.looks(browser, f"{server.url}/work?task={shown}&start=yes", "work-start", height=(1100, 1700))
    step("the board and the drawer in dark and light, at 1280 and 390 px")


def many(browser, server, pictures):
    project = server.project("large")
    for number in range(1000):
        made = server.task(project, f"Task {number}")
        if number % 5 == 0:
            server.call("PATCH", f"/api/tasks/{made}", {"status": "completed"})
    browser.open(f"{server.url}/work?project={project}")
    live(browser)
    assert browser.text("#queued-more") == "and 750 more" and len(column(browser, "queued")) == 50
    browser.click("#queued-more a")
    browser.until("all of them", lambda: len(column(browser, "queued")) == 800, 5)
    server.task(project, "One more")
    live(browser)
    browser.until("it is live", lambda: "One more" in column(browser, "queued"), 3)
    step("1,000 tasks: 50 of a column and a link to the rest")


JOURNEYS = {"work": work, "work-many": many}
