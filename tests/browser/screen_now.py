"""Now, from the first start on: what waits, runs and ended."""

from site_under_test import fits, live, step
from webdriver import CONTROL, ENTER, ESCAPE


def check(browser, server, pictures):
    first_start(browser, server, pictures)
    project = server.call("GET", "/api/projects")[0]["id"]
    sessions = words_live(browser, server, project)
    questions(browser, server, sessions[0], pictures)
    steering(browser, server, sessions[1])
    keys(browser)
    nothing_lost(browser, server, sessions[1])
    foreign_text(browser, server, project)
    many_states(browser, server, project)
    looks(browser, server, pictures)
    without_script(browser, server, project)


def first_start(browser, server, pictures):
    browser.open(server.url)
    live(browser)
    assert "maestro init" in browser.text("#steps"), browser.text("#steps")
    assert "RUNNING" not in browser.text("main"), "there is nothing else to see yet"
    assert browser.title() == "Maestro"
    pictures.take(browser, "first-start")
    project = server.project("my-repo")
    browser.until("the first step is done", lambda: browser.texts("#steps .done code") == ["maestro init"], 1.5)
    task = server.task(project, "Rate-limit the upload endpoint")
    browser.until("the second step is done", lambda: len(browser.texts("#steps .done")) == 2, 1.5)
    server.command("update", "Reading src/limit.ts", MAESTRO_TASK_ID=task)
    took = browser.until("a session is seen", lambda: "Reading src/limit.ts" in browser.text("#running"), 1.5)
    browser.until("the steps are gone", lambda: browser.text("#steps") == "", 1.5)
    step(f"first start: three steps turn green by themselves; a session is seen {took * 1000:.0f} ms after its command ended")


def words_live(browser, server, project):
    browser.run("window.same = true")
    task = server.task(project, "Export CSV")
    sessions = [server.call("GET", "/api/sessions")[0]["id"], server.session(project, task, "codex")]
    server.report(sessions[1], "progress", "checking the window maths")
    took = browser.until("another row, below", lambda: browser.texts("#running .row .title")[1:] == ["Export CSV"], 1)
    server.report(sessions[1], "progress", "window maths is right")
    later = browser.until("new words", lambda: "“window maths is right”" in browser.text(f"#run-{sessions[1]}"), 1)
    assert browser.texts("#running .row .title")[0] == "Rate-limit the upload endpoint", "rows keep their place"
    assert browser.run("return window.same"), "the page was not loaded anew"
    before = browser.text(f"#run-{sessions[1]} .span")
    browser.until("time passes", lambda: browser.text(f"#run-{sessions[1]} .span") != before, 2.5)
    step(f"a session appears live ({took * 1000:.0f} ms), its last words change ({later * 1000:.0f} ms), time ticks, nothing moves")
    return sessions


def questions(browser, server, session, pictures):
    server.report(session, "needs-input", "Per process or per client?\nPer client needs Redis.")
    browser.until("a question", lambda: "Per process or per client?" in browser.text("#waits"), 1)
    browser.until("the title counts", lambda: browser.title() == "(1) Maestro", 1)
    assert browser.run("return document.getElementById('icon').href").find("icon-waits") > 0
    assert "? waiting for you" in browser.text(f"#run-{session}")
    field = f"#wait-{session} textarea"
    browser.click(field)
    browser.type(field, "per client, ")
    # While somebody types, the world goes on around them.
    other = server.call("GET", "/api/sessions")[1]["id"]
    server.report(other, "progress", "something else")
    browser.until("the other's words", lambda: "something else" in browser.text(f"#run-{other}"), 1)
    server.report(session, "needs-input", "Per process or per client? Really?")
    browser.until("the question changes", lambda: "Really?" in browser.text("#waits"), 1)
    assert browser.run("return document.activeElement === document.querySelector(arguments[0])", field), "focus is kept"
    browser.type(field, "<b>with Redis</b>")
    browser.press(CONTROL, ENTER)
    browser.until("the card becomes a line", lambda: "answered" in browser.text(f"#wait-{session}"), 1)
    assert "queued until its next call" in browser.text("#waits"), "nothing is said to be delivered that was not"
    pictures.take(browser, "answered")
    browser.until("the title is calm", lambda: browser.title() == "Maestro", 1)
    heard = server.command("update", "going on", MAESTRO_SESSION_ID=session)
    assert "the user says: per client, <b>with Redis</b>" in heard, heard
    browser.until("nothing waits", lambda: browser.text("#waits-note") == "Nothing waits for you.", 1)
    step("a question waits amber, is answered in the page while all else changes, and reaches the agent's next call")


def steering(browser, server, session):
    browser.click(f"#run-{session} summary")
    browser.click(f"#run-{session} button.pause")
    browser.until("paused", lambda: "○ paused" in browser.text(f"#run-{session}"), 1)
    assert browser.run("return document.getElementById(arguments[0]).open", f"run-{session}"), "it stays open"
    assert "paused" in server.command("update", "hello", MAESTRO_SESSION_ID=session)
    browser.click(f"#run-{session} button.pause")
    browser.until("resumed", lambda: "● working" in browser.text(f"#run-{session}"), 1)
    browser.click(f"#run-{session} summary")
    step("pause and resume show at once, and the agent is told")


def keys(browser):
    browser.run("document.activeElement.blur()")
    browser.press("j")
    browser.press("j")
    assert browser.run("return document.activeElement.closest('.row').id") == browser.run("return document.querySelectorAll('#running .row')[1].id")
    browser.press("k")
    browser.press(ENTER)
    assert browser.run("return document.querySelector('#running .row').open"), "Enter opens"
    browser.press("s")
    assert browser.run("return document.activeElement.nodeName") == "TEXTAREA", "s is for saying something"
    browser.press(ESCAPE)
    browser.run("document.querySelector('#running .row').open = false")
    browser.press("?")
    assert browser.run("return document.getElementById('keys').open"), "? shows the keys"
    browser.run("document.getElementById('keys').close()")
    step("keys: j, k, Enter, s, ?")


def nothing_lost(browser, server, session):
    server.stop()
    browser.until("reconnecting", lambda: "reconnecting" in browser.text("#live"), 3)
    # Said while the page hears nothing: the command works on the database itself.
    server.command("update", "said in the dark", MAESTRO_SESSION_ID=session)
    server.start()
    browser.until("live again", lambda: browser.run("return document.getElementById('live').dataset.state") == "live", 8)
    browser.until("what was missed", lambda: "said in the dark" in browser.text(f"#run-{session}"), 2)
    assert browser.run("return window.same"), "the page was not loaded anew"
    step("the server is ended and started again: reconnecting, live, nothing missed, no reload")


def foreign_text(browser, server, project):
    evil = "<script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"
    task = server.task(project, evil)
    session = server.session(project, task, evil[:60], name=evil)
    server.report(session, "needs-input", evil)
    browser.until("the text as it is", lambda: "<script>window.evil" in browser.text(f"#wait-{session}"), 1)
    browser.open(server.url)
    assert "<script>window.evil" in browser.text(f"#wait-{session}")
    assert browser.run("return window.evil === undefined"), "foreign text ran"
    server.call("POST", f"/api/sessions/{session}/cancel")
    server.call("DELETE", f"/api/sessions/{session}")
    server.call("DELETE", f"/api/tasks/{task}")
    browser.until("it is gone", lambda: not browser.texts(f"#wait-{session}"), 1)
    step("text of others stays text")


def many_states(browser, server, project):
    docs = server.project("docs-site")
    def begin(where, title, agent, kind="progress", words=None, **more):
        task = server.task(where, title)
        session = server.session(where, task, agent, **more)
        if words:
            server.report(session, kind, words)
        return session, task
    begin(project, "Make the importer resume after a crash", "claude", "needs-input", "The importer keeps its position in a file next to the data. After a crash that file can be older than the data.\n\nShall I move the position into the same transaction (a schema change), or re-read the last batch on start (slower by about 2 s)?")
    begin(docs, "Publish the 2.0 documentation", "gemini", "blocked", "No access to the docs bucket: 403 on s3://docs-site/2.0/index.html")
    begin(docs, "Translate the quick start to German, French and Portuguese, with screenshots for each of the three", "claude", words="Translating section 4 of 9: “Your first task”; keeping the command output in English as the style guide says")
    paused, _ = begin(project, "Upgrade to axum 0.8", "codex", words="13 of 21 handlers moved")
    server.call("POST", f"/api/sessions/{paused}/pause")
    begin(project, "Review the retry policy", "claude", name="Ada")
    failed, _ = begin(project, "Export invoices as PDF", "codex", "error", "401 from the API: key revoked")
    server.call("PATCH", f"/api/sessions/{failed}", {"status": "failed"})
    stopped, _ = begin(project, "Profile the cold start", "claude", words="collecting samples")
    server.call("POST", f"/api/sessions/{stopped}/cancel")
    for title in ("Fix flaky login test", "Remove the dead feature flag"):
        done, _ = begin(project, title, "claude", words="done")
        server.report(done, "complete", "token bucket done, tests green")
    server.call("POST", "/api/handoffs", {"projectId": project, "from": "architect", "to": "implementer", "title": "Split the importer into reader and writer", "body": "…"})
    for title in ("Cache the search index", "Drop Node 18"):
        server.task(project, title)
    browser.until("everything is there", lambda: browser.text("#ended-head .number") == "4" and browser.text("#waits-head .number") == "3", 2)
    assert browser.title() == "(3) Maestro"
    assert "green" not in browser.run("return [...document.querySelectorAll('main .state.good')].map(() => 'green').join()"), "a claim is never green"
    browser.open(server.url + f"/?project={docs}")
    browser.until("only one project", lambda: len(browser.texts("#running .row")) == 2, 2)
    browser.run("const s = document.querySelector('select'); s.value = ''; s.dispatchEvent(new Event('change', { bubbles: true }))")
    browser.until("all projects again", lambda: len(browser.texts("#running .row")) > 2, 3)
    step("every state in its place; the project filter")


def looks(browser, server, pictures):
    pictures.looks(browser, server.url, "now")
    browser.open(server.url)
    live(browser)
    browser.click("#running .row summary")
    browser.click("#running .row .sure summary")
    pictures.take(browser, "row-open-1280")
    browser.size(390, 844)
    browser.run("document.getElementById('running').scrollIntoView()")
    fits(browser, 390)
    pictures.take(browser, "row-open-390")
    browser.size(1280, 860)
    step("dark and light at 1280 and 390 px, nothing wider than the window, everything large enough to tap")


def without_script(browser, server, project):
    browser.scripts(False)
    browser.open(server.url)
    assert "reload to see changes" in browser.text("#live")
    assert browser.title() == "(3) Maestro"
    waiting = browser.run("return document.querySelector('#waits .card .say').closest('.card').id")
    browser.type(f"#{waiting} textarea", "the same transaction")
    browser.click(f"#{waiting} button")
    browser.until("back on the page", lambda: "answered" in browser.text(f"#{waiting}"), 3)
    assert browser.title() == "(2) Maestro"
    session = waiting.removeprefix("wait-")
    assert "the same transaction" in server.command("update", "on it", MAESTRO_SESSION_ID=session)
    browser.open(server.url)
    assert "“on it”" in browser.text(f"#run-{session}")
    browser.click(f"#run-{session} summary")
    browser.click(f"#run-{session} .sure summary")
    browser.click(f"#run-{session} button.cancel")
    browser.until("cancelled", lambda: "○ cancelled" in browser.text(f"#end-{session}"), 3)
    browser.run("document.querySelector('select').value = arguments[0]", project)
    browser.click(".choose button")
    browser.until("the filter", lambda: browser.run("return location.search") == f"?project={project}", 3)
    browser.open(server.url + "/?project=nobody")
    assert "not found" in browser.text("#why").lower() or "nobody" in browser.text("#why"), browser.text("body")
    browser.scripts(True)
    step("without script: read, answered, cancelled and filtered")
