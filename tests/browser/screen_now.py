"""Now, from the first start on: what waits, runs and ended."""

from site_under_test import live, step, still, watch_shifts
from webdriver import CONTROL, ENTER, ESCAPE, TAB


def now(browser, server, pictures):
    first_start(browser, server, pictures)
    project = server.call("GET", "/api/projects")[0]["id"]
    sessions = words_live(browser, server, project)
    questions(browser, server, sessions[0], pictures)
    steering(browser, server, sessions[1])
    keys(browser, server)
    nothing_lost(browser, server, sessions[1])
    foreign_text(browser, server, project)
    task_box(browser, server, pictures)
    many_states(browser, server, project)
    looks(browser, server, pictures)
    without_script(browser, server, project)


def first_start(browser, server, pictures):
    browser.open(server.url)
    live(browser)
    assert browser.texts("#steps code")[-3:] == ["maestro demo", 'maestro do "Fix the flaky login test"', "maestro connect claude-code"], browser.texts("#steps code")
    assert "Nothing waits for you." in browser.text("main") and browser.title() == "Maestro"
    pictures.looks(browser, server.url, "first-start", (860, 1100))
    browser.open(server.url)
    live(browser)
    project = server.project("my-repo")
    own = {"id": "by-hand", "projectId": project, "taskIds": [], "agentId": "claude", "name": "claude, started by hand", "metadata": {"spawnSource": "hook"}}
    server.call("POST", "/api/sessions", own)
    browser.until("a step is done by itself", lambda: browser.texts("#steps .done code") == ["maestro connect claude-code"], 1.5)
    browser.until("a session of one's own", lambda: "claude" in browser.text("#own"), 1.5)
    server.call("POST", "/api/sessions/by-hand/cancel")
    task = server.task(project, "Rate-limit the upload endpoint")
    server.command("update", "Reading src/limit.ts", MAESTRO_TASK_ID=task)
    took = browser.until("a session is seen", lambda: "Reading src/limit.ts" in browser.text("#running"), 1.5)
    step(f"first start: three steps, each ticked when it happened; a session is seen {took * 1000:.0f} ms after its command ended")


def words_live(browser, server, project):
    browser.run("window.same = true")
    watch_shifts(browser)
    task = server.task(project, "Export CSV")
    sessions = [browser.run("return document.querySelector('#running .row').id").removeprefix("run-"), server.session(project, task, "codex")]
    server.report(sessions[1], "progress", "checking the window maths")
    took = browser.until("another row, below", lambda: browser.texts("#running .row .title")[1:] == ["Export CSV"], 1)
    server.report(sessions[1], "progress", "window maths is right")
    later = browser.until("new words", lambda: "“window maths is right”" in browser.text(f"#run-{sessions[1]}"), 1)
    assert browser.texts("#running .row .title")[0] == "Rate-limit the upload endpoint", "rows keep their place"
    assert browser.run("return window.same"), "the page was not loaded anew"
    before = browser.text(f"#run-{sessions[1]} time")
    browser.until("time passes", lambda: browser.text(f"#run-{sessions[1]} time") != before, 2.5)
    still(browser)
    step(f"a session appears live ({took * 1000:.0f} ms), its last words change ({later * 1000:.0f} ms), time ticks, nothing moves")
    return sessions


def questions(browser, server, session, pictures):
    server.report(session, "needs-input", "Per process or per client?\nPer client needs Redis.")
    browser.until("a question", lambda: "Per process or per client?" in browser.text("#waits"), 1)
    browser.until("the title counts", lambda: browser.title() == "(1) Maestro", 1)
    assert browser.run("return document.getElementById('icon').href").find("icon-waits") > 0
    assert "waiting for you" in browser.text(f"#run-{session}")
    field = f"#wait-{session} textarea"
    browser.click(field)
    browser.type(field, "per client, ")
    # While somebody types, the world goes on around them.
    other = browser.run("return document.querySelectorAll('#running .row')[1].id").removeprefix("run-")
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
    row = f"#run-{session}"
    browser.run("document.querySelector(arguments[0]).focus()", row)
    browser.click(f"{row} button.pause")
    browser.until("paused", lambda: "paused" in browser.text(row), 1)
    assert "paused" in server.command("update", "hello", MAESTRO_SESSION_ID=session)
    browser.click(f"{row} button.pause")
    browser.until("resumed", lambda: "working" in browser.text(row), 1)
    step("pause and resume show at once, and the agent is told")


def keys(browser, server):
    browser.run("document.activeElement.blur()")
    browser.press("j")
    browser.press("j")
    assert browser.run("return document.activeElement.closest('.row').id") == browser.run("return document.querySelectorAll('#running .row')[1].id")
    browser.press("k")
    browser.press("s")
    assert browser.run("return document.activeElement.nodeName") == "TEXTAREA", "s is for saying something"
    browser.type("#running .row textarea", "by key")
    browser.press(CONTROL, ENTER)
    browser.until("sent", lambda: browser.text("#word") == "Sent.", 2)
    browser.run("document.activeElement.blur(); document.querySelector('#running .row').focus()")
    browser.press("p")
    browser.until("paused by key", lambda: "paused" in browser.text("#running .row"), 2)
    browser.press("p")
    browser.until("resumed by key", lambda: "working" in browser.text("#running .row"), 2)
    browser.press("?")
    assert browser.run("return document.getElementById('keys').open"), "? shows the keys"
    browser.press(ESCAPE)
    browser.press(CONTROL, "k")
    browser.until("the palette", lambda: browser.run("return document.getElementById('palette').open"), 1)
    browser.type("#palette-words", "session export")
    browser.until("found", lambda: "Export CSV" in browser.text("#palette-list"), 2)
    browser.press(ENTER)
    browser.until("gone there", lambda: "/sessions/" in browser.run("return location.pathname"), 3)
    browser.press("g")
    browser.press("n")
    browser.until("back on Now", lambda: browser.run("return location.pathname") == "/", 3)
    live(browser)
    browser.press("j")
    browser.press(ENTER)
    browser.until("Enter opens", lambda: "/sessions/" in browser.run("return location.pathname"), 3)
    browser.open(server.url)
    live(browser)
    browser.run("window.same = true")
    step("keys alone: j, k, Enter, s, p, ?, Ctrl-K and g n")


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


def task_box(browser, server, pictures):
    server.install("claude")
    server.install("codex")
    server.repository("shop")
    browser.open(server.url)
    live(browser)
    browser.press("n")
    browser.press("H")
    browser.type("#task-box input", "andle planner questions")
    browser.until("its skill", lambda: "planner" in browser.text("#task-line .skill"), 5)
    browser.press(ENTER)
    browser.until("which project", lambda: browser.texts("#task-line select"), 3)
    # The seconds to take it back stand still, however busy the machine is.
    browser.run("window.ticking = setInterval; window.setInterval = () => 0")
    browser.run("const s = document.querySelector('#task-line select'); s.value = [...s.options].find((o) => o.text === 'shop').value; s.dispatchEvent(new Event('change', { bubbles: true }))")
    browser.until("a moment to take it back", lambda: "starts in" in browser.text("#task-line"), 5)
    assert "claude · edits · limit $5" in browser.text("#task-line"), browser.text("#task-line")
    pictures.take(browser, "task-box-1280")
    browser.press(ENTER)
    browser.until("taken back", lambda: not browser.run("return document.getElementById('task-line').checkVisibility()"), 2)
    assert not server.call("GET", "/api/runs"), "nothing was started"
    browser.open(server.url + "/?project=" + [it["id"] for it in server.call("GET", "/api/projects") if it["name"] == "shop"][0])
    live(browser)
    browser.click("#task-box input")
    browser.type("#task-box input", "Handle planner questions")
    browser.until("skills and agent", lambda: browser.texts("#task-line .agent"), 5)
    first = browser.text("#task-line .agent")
    browser.press(TAB)
    browser.until("another agent", lambda: browser.text("#task-line .agent") != first, 2)
    browser.press(ENTER)
    browser.until("its row", lambda: "Handle planner questions" in browser.text("#running"), 15)
    run = server.call("GET", "/api/runs")[0]
    browser.until("its phases", lambda: "implement" in browser.text(f"#run-{run['id']} .strip"), 10)
    server.call("POST", f"/api/runs/{run['id']}/cancel")
    browser.until("it stopped", lambda: "Handle planner questions" in browser.text("#stopped"), 5)
    browser.open(server.url)
    live(browser)
    step("the task box: skills and agent while writing, five seconds to undo, then a run with its phases")


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
    for title in ("Cache the search index", "Drop Node 18"):
        server.task(project, title)
    browser.until("everything is there", lambda: len(browser.texts("#stopped .row")) == 2 and browser.text("#waits-head .number") == "3", 2)
    browser.until("in numbers", lambda: "2 done · 2 stopped" in browser.text("#visit"), 2)
    kinds = {browser.text(f"#{card} .title"): browser.text(f"#{card} .about .state") for card in browser.run("return [...document.querySelectorAll('#waits .card')].map((it) => it.id)")}
    assert kinds == {"Make the importer resume after a crash": "? question", "Publish the 2.0 documentation": "? blocker", "Export invoices as PDF": "? blocker"}, kinds
    assert "Export invoices" not in browser.text("#stopped"), "what stopped and holds up its task is one card"
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
    browser.run("document.querySelector('#running .row').focus()")
    browser.press("s")
    browser.press(CONTROL, "k")
    pictures.take(browser, "palette-1280")
    browser.press(ESCAPE)
    pictures.take(browser, "row-open-1280")
    browser.press("?")
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
    browser.run("document.getElementById(arguments[0]).focus()", f"run-{session}")
    browser.click(f"#run-{session} button.pause")
    browser.until("paused", lambda: "paused" in browser.text(f"#run-{session}"), 3)
    browser.run("document.querySelector('select').value = arguments[0]", project)
    browser.click(".choose button")
    browser.until("the filter", lambda: browser.run("return location.search") == f"?project={project}", 3)
    browser.open(server.url + "/?project=nobody")
    assert "not found" in browser.text("#why").lower() or "nobody" in browser.text("#why"), browser.text("body")
    browser.scripts(True)
    step("without script: read, answered, paused and filtered")


JOURNEYS = {"now": now}
