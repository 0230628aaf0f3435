"""A plan: its text, how each task stands, the loop through it, and edits of the file."""

import pathlib
import subprocess

from site_under_test import live, step
from webdriver import ESCAPE

PLAN = """# Rate limiting

Every client gets a fair share, whichever process answers.

## Counting

- [x] Count requests per client
- [ ] Rate-limit the upload endpoint
      in one place for all processes
- [ ] Export the counts as CSV
  - [ ] Name the columns

## Later

- [ ]? Draw a chart
- [~] Move to another store

## Manual QA

- [ ] Try it with a slow client
"""
HOSTILE = '<img src=x onerror=window.stolen=1>{{7*7}}'


def plan(browser, server, pictures):
    folder = pathlib.Path(server.home) / "my-repo"
    (folder / "docs").mkdir(parents=True)
    plan = folder / "docs" / "PLAN.md"
    plan.write_text(PLAN)
    git = lambda *words: subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words], cwd=folder, check=True, capture_output=True)
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "Plan")
    project = server.call("POST", "/api/projects", {"name": "my-repo", "workingDir": str(folder)})["id"]
    url = f"{server.url}/work/{project}/plan/docs/PLAN.md"
    reads(browser, url)
    edits(browser, url, plan)
    underneath(browser, url, plan)
    bounded(browser, server, project, folder)
    hostile(browser, url, plan)
    plan.write_text(PLAN)
    more = lambda: browser.click("#plan-panel .panel-more summary")
    pictures.looks(browser, f"{url}?form=start", "plan-start", height=(1000, 1900), prepare=more)
    started(browser, server, url)
    played(server, project, folder)
    pictures.looks(browser, f"{url}?task=8", "plan", height=(900, 1900))
    without_script(browser, url)
    step("the plan in dark and light, at 1280 and 390 px")


def labels(browser):
    return browser.texts("#plan .plan-label")


def reads(browser, url):
    browser.open(url)
    live(browser)
    assert labels(browser)[:3] == ["Count requests per client", "Rate-limit the upload endpoint in one place for all processes", "Export the counts as CSV"], labels(browser)
    assert "Every client gets a fair share" in browser.text("#plan")
    assert "in one place" not in " ".join(browser.texts("#plan .plan-prose")), "a label is shown once"
    assert browser.text("#plan-head .plan-counts") == "✓ 1 done ○ 3 open", browser.text("#plan-head .plan-counts")
    assert "not the agent's" in browser.text("#line-20"), browser.text("#plan")
    step("a plan is shown as it reads, with how each task stands")


def edits(browser, url, plan):
    # By mouse.
    browser.click("#line-8 .plan-label")
    browser.until("its panel", lambda: browser.text("#plan-panel h2").startswith("Rate-limit"), 3)
    browser.click("#plan-panel a[data-edit]")
    browser.until("the form", lambda: browser.texts("#plan-panel textarea"), 3)
    browser.run("document.querySelector('#plan-panel textarea').value = ''")
    browser.type("#plan-panel textarea", "Limit uploads")
    browser.click("#plan-panel button.primary")
    browser.until("saved", lambda: "Limit uploads" in labels(browser), 3)
    assert plan.read_text() == PLAN.replace("Rate-limit the upload endpoint\n      in one place for all processes", "Limit uploads")
    browser.until("the form is gone", lambda: "form=" not in browser.run("return location.search"), 3)
    live(browser)
    browser.press(ESCAPE)
    browser.until("closed", lambda: "task=" not in browser.run("return location.search"), 3)
    live(browser)
    # By keys.
    for _ in range(3):
        browser.press("j")
    browser.press("n")
    browser.until("the form", lambda: browser.texts("#plan-panel textarea"), 3)
    browser.until("ready to type", lambda: browser.run("return document.activeElement.matches('#plan-panel textarea')"), 3)
    browser.type("#plan-panel textarea", "Document the limits")
    browser.click("#plan-panel button.primary")
    browser.until("added", lambda: "Document the limits" in labels(browser) and "form=" not in browser.run("return location.search"), 3)
    assert "  - [ ] Name the columns\n- [ ] Document the limits\n" in plan.read_text(), plan.read_text()
    # Skipped, and taken up again.
    line = browser.run("return [...document.querySelectorAll('.plan-task')].find((row) => row.innerText.includes('Document')).dataset.line")
    browser.click(f"#line-{line} .plan-label")
    browser.until("its panel", lambda: browser.texts("#plan-panel button[value=defer]"), 3)
    browser.click("#plan-panel button[value=defer]")
    browser.until("put off", lambda: "- [~] Document the limits" in plan.read_text(), 3)
    browser.until("it shows", lambda: browser.texts("#plan-panel button[value=reopen]"), 3)
    step("tasks are edited, added and put off in the file, by mouse and by keys")


def underneath(browser, url, plan):
    browser.open(f"{url}?form=add")
    live(browser)
    changed = plan.read_text() + "\nWritten elsewhere.\n"
    plan.write_text(changed)
    browser.type("#plan-panel textarea", "Too late")
    browser.click("#plan-panel button.primary")
    browser.until("not overwritten", lambda: "the plan changed meanwhile" in browser.text("#word"), 3)
    assert plan.read_text() == changed
    step("a change underneath is shown, not overwritten")


def bounded(browser, server, project, folder):
    (folder.parent / "secret.md").write_text("- [ ] secret")
    (folder / "link.md").symlink_to("../secret.md")
    (folder / "notes.txt").write_text("n")
    for path in ("link.md", "..%2Fsecret.md", "%2Fetc%2Fpasswd", "notes.txt", "docs/NONE.md"):
        browser.open(f"{server.url}/work/{project}/plan/{path}")
        assert "secret" not in browser.text("#main").replace("secret.md", ""), path
        assert not browser.texts("#plan"), path
    assert all("404" in complaint or "409" in complaint for complaint in browser.complaints())
    step("only Markdown of the project is shown, and through no link")


def hostile(browser, url, plan):
    plan.write_text(f"# {HOSTILE}\n\n{HOSTILE}\n\n- [ ] {HOSTILE}\n")
    browser.open(f"{url}?task=5")
    live(browser)
    assert HOSTILE in labels(browser)[0] and not browser.run("return window.stolen")
    step("hostile texts are texts")


def started(browser, server, url):
    """A loop with limits of its own; until a worker starts its agent, the plan's boxes are queued on the board."""
    browser.open(f"{url}?form=start")
    live(browser)
    browser.click("#plan-panel .panel-more summary")
    browser.type("#plan-panel input[name=most]", "1")
    browser.type("#plan-panel input[name=plan_cost]", "3")
    browser.click("#plan-panel input[name=no_review]")
    browser.click("#plan-panel button.primary")
    browser.until("a run", lambda: server.call("GET", "/api/runs"))
    run = server.call("GET", "/api/runs")[0]["id"]
    params = server.call("GET", f"/api/runs/{run}/state")["run"]["frames"][0]["params"]
    assert (params["most"], params["review"], params["plan_budget"]) == (1, False, "cost=3"), params
    browser.open(f"{server.url}/work")
    live(browser)
    browser.until("its boxes", lambda: "Export the counts as CSV" in browser.texts("#col-queued .card-title"))
    assert "docs/PLAN.md" in browser.text("#plan-links"), "the plan is the board's other view"
    server.call("POST", f"/api/runs/{run}/cancel", {})
    step("a loop is started with limits of its own, and its boxes are cards")


def played(server, project, folder):
    """A loop by the demo agent, up to its end or its first question."""
    run = server.call("POST", "/api/runs", {"workflow": "plan-loop", "builtin": True, "projectId": project, "driver": "server", "demo": True, "params": {"plan": "docs/PLAN.md", "agent": "demo", "reviewer": "demo", "checks": False, "tracked": True}})
    assert run["id"]


def without_script(browser, url):
    browser.scripts(False)
    browser.open(url)
    browser.click("#line-8 .plan-label")
    browser.until("its panel", lambda: browser.text("#plan-panel h2").startswith("Rate-limit"), 3)
    browser.scripts(True)
    step("without script: read and selected")


JOURNEYS = {"plan": plan}
