"""Workflows: the list, the graph of one, its steps as tools see them, and its start."""

import json
import pathlib

from site_under_test import live, step
from webdriver import ENTER

HOSTILE = '<script>window.stolen=1</script>"\'{{7*7}}'
RELEASE = """name: release-check
description: Checks a release before it goes out. Use before releasing.
params:
  version: {type: string, required: true, description: Which version}
  channel: {type: enum, values: [beta, stable], default: beta}
  dry_run: {type: bool, default: true}
  retries: {type: int, default: 2}
steps:
- {id: look, type: agent, title: Look it over, actions: ['Read the notes of {version}'], result: {fine: bool}, next: {ok: check, fail: stop}}
- {id: check, type: command, title: Run the checks, command: 'sh {skill_dir}/check.sh', effect: read, max_visits: 3, next: {ok: gate, fail: gate, exhausted: stop}}
- {id: gate, type: gate, title: Everything passed, checks: [check], max_rounds: 2, next: {pass: done, fail: check, exhausted: stop}}
- {id: done, type: end, title: Released}
- {id: stop, type: end, title: Given up, status: blocked}
"""


def workflows(browser, server, pictures):
    project = server.repository("shop")
    workflow(server, "release-check", RELEASE)
    workflow(server, "broken-flow", "name: broken-flow\nsteps:\n- {id: a, type: agent, next: {ok: nowhere}}\n")
    workflow(server, "hostile-flow", f"name: hostile-flow\ndescription: {json.dumps(HOSTILE)}\nsteps:\n- {{id: a, type: agent, title: {json.dumps(HOSTILE)}, actions: [{json.dumps(HOSTILE)}], next: {{ok: end, fail: end}}}}\n")
    by_mouse(browser, server, project)
    by_keys(browser, server, project)
    findings(browser, server, project)
    hostile(browser, server, project)
    without_script(browser, server, project)
    started(browser, server, project)
    looks(browser, server, project, pictures)


def workflow(server, name, text, script="echo checked\n"):
    path = pathlib.Path(server.home, "shop/.agents/skills", name)
    path.mkdir(parents=True, exist_ok=True)
    path.joinpath("SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}. Use when it is needed.\n---\n\nDo it.\n")
    path.joinpath("workflow.yaml").write_text(text)
    path.joinpath("check.sh").write_text(script)


def by_mouse(browser, server, project):
    browser.open(f"{server.url}/workflows?project={project}")
    live(browser)
    browser.click("#workflow-list a[href*='release-check']")
    browser.until("its graph", lambda: browser.run("return document.querySelectorAll('#graph a').length") == 5, 5)
    live(browser)
    assert browser.text("#workflow-runs") == "No runs of this workflow yet."
    assert browser.run("return document.querySelector('#graph .gate .shape').getAttribute('d').split('L').length") == 4, "a gate is a diamond"
    width = browser.run("return document.querySelector('#graph svg').getBoundingClientRect().width")
    browser.click("[data-zoom=in]")
    assert browser.run("return document.querySelector('#graph svg').getBoundingClientRect().width") > width
    browser.run("document.querySelector('#graph a[href*=look] .shape').dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, view: window }))")
    browser.until("its directive", lambda: "Read the notes of ‹version›" in browser.text("#step .told-text"), 5)
    for name, words in (("XML", "<"), ("Markdown", "#"), ("MCP", "run_report")):
        browser.run("[...document.querySelectorAll('#step .tabs a')].find((a) => a.innerText === arguments[0]).click()", name)
        browser.until(name, lambda: browser.text("#step .tabs [aria-current]") == name and words in browser.text("#step .told-text"), 5)
    assert "fine bool" in browser.text("#step .result") and "No run has been at this step yet." in browser.text("#visits")
    step("by mouse: the graph is zoomed, a step shows its directive as text, XML, Markdown and MCP")


def by_keys(browser, server, project):
    browser.open(f"{server.url}/workflows?project={project}")
    live(browser)
    browser.press("j")
    name = browser.run("return document.activeElement.querySelector('.flow-name')?.innerText")
    assert name, "a row has the focus"
    browser.press(ENTER)
    browser.until("opened", lambda: browser.text("h1") == name, 5)
    browser.open(f"{server.url}/workflows/release-check?project={project}")
    live(browser)
    before = browser.run("return document.querySelector('#graph svg').getBoundingClientRect().width")
    browser.press("+")
    assert browser.run("return document.querySelector('#graph svg').getBoundingClientRect().width") > before
    browser.press("0")
    browser.run("document.querySelector('#graph a').focus()")
    browser.press(ENTER)
    browser.until("the step", lambda: browser.text("#step .step-head").startswith("Look it over"), 5)
    step("by keys: j Enter, + 0, a step of the graph")


def findings(browser, server, project):
    browser.open(f"{server.url}/workflows/broken-flow?project={project}")
    live(browser)
    shown = browser.text(".findings")
    assert "error workflow.yaml:3:" in shown and "nowhere" in shown and "Fix:" in shown, shown
    assert not browser.run("return document.querySelector('#graph, .main-act')"), "what has errors cannot be started"
    step("what is wrong is shown with its place and its fix")


def hostile(browser, server, project):
    browser.open(f"{server.url}/workflows/hostile-flow?project={project}&step=a")
    live(browser)
    assert HOSTILE in browser.text(".flow-for") and HOSTILE in browser.text("#step")
    assert not browser.run("return window.stolen"), "a text was executed"
    step("hostile texts are texts")


def without_script(browser, server, project):
    browser.scripts(False)
    browser.open(f"{server.url}/workflows/release-check?project={project}")
    browser.click(".main-act")
    browser.until("the form", lambda: browser.texts("#start button") == ["Start"], 5)
    browser.scripts(True)
    step("without script: read, and the form to start it")


def started(browser, server, project):
    browser.open(f"{server.url}/workflows/release-check?project={project}&start=yes")
    live(browser)
    assert browser.run("return [...document.querySelectorAll('#start [name^=param-]')].map((it) => it.name + it.tagName)") == [
        "param-versionINPUT", "param-channelSELECT", "param-dry_runSELECT", "param-retriesINPUT"]
    browser.type("#start [name=param-version]", "1.2")
    browser.click("#start button")
    browser.until("its run", lambda: "start=yes" not in browser.run("return location.search"), 10)
    runs = server.call("GET", "/api/runs?workflow=release-check")
    assert len(runs) == 1 and runs[0]["projectId"] == project, runs
    state = server.call("GET", f"/api/runs/{runs[0]['id']}/state")
    assert state["run"]["frames"][0]["params"]["version"] == "1.2", state
    browser.open(f"{server.url}/workflows/release-check?project={project}&step=look")
    live(browser)
    assert "there now" in browser.text("#visits") and "1.2" not in browser.text("#workflow-runs .state")
    server.call("POST", f"/api/runs/{runs[0]['id']}/cancel", {})
    step("started by a form that is made of its parameters; its runs and visits are listed")


def looks(browser, server, project, pictures):
    pictures.looks(browser, f"{server.url}/workflows?project={project}", "workflows", height=(900, 1200))
    pictures.looks(browser, f"{server.url}/workflows/release-check?project={project}&step=look", "workflows-one", height=(1500, 2200))
    pictures.looks(browser, f"{server.url}/workflows/release-check?project={project}&start=yes", "workflows-start", height=(1200, 1800))
    pictures.looks(browser, f"{server.url}/workflows/planner?project={project}", "workflows-planner", height=(1200, 1500))
    step("workflows in dark and light, at 1280 and 390 px")


JOURNEYS = {"workflows": workflows}
