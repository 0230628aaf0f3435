"""Skills: the list, everything about one, and the trial of a task."""

import json
import pathlib

from agents import Agent
from site_under_test import live, step
from webdriver import ENTER, ESCAPE

HOSTILE = '<script>window.stolen=1</script><img src=x onerror=window.stolen=1>"\'{{7*7}}'
REST = """---
name: rest-api
description: 'Design and change REST endpoints: status codes, pagination, rate limits, uploads.'
license: MIT
---

# REST endpoints

Answer **429** with `Retry-After` when a client uploads too much. See [the standard](https://www.rfc-editor.org/rfc/rfc9110).

1. Count requests per client, not per process
2. Say in the body *when* it may try again

```sh
npm test -- limits
```

| code | when |
|---|---|
| 429 | too many requests |
| 413 | too large |
"""


def skills(browser, server, pictures):
    skill(server, ".claude/skills/rest-api", REST, {"examples/limit.ts": "export const LIMIT = 30;\n"})
    skill(server, ".agents/skills/pdf-forms", "---\nname: pdf-forms\ndescription: Fill and read PDF forms. Use for forms in PDF files.\n---\n\nFill them.\n")
    skill(server, ".agents/skills/rest-api", "---\nname: rest-api\ndescription: Another one.\n---\n\nOther.\n")
    skill(server, ".agents/skills/broken", "---\nname: [\n---\n\nNothing.\n")
    skill(server, ".agents/skills/hostile", f"---\nname: hostile\ndescription: {json.dumps(HOSTILE)}\n---\n\n{HOSTILE}\n\n[x](javascript:window.stolen=1) ![p](https://spy.invalid/p.png)\n")
    by_mouse(browser, server)
    by_keys(browser, server)
    hostile(browser, server)
    without_script(browser, server)
    saved(browser, server)
    delivered(browser, server)
    looks(browser, server, pictures)


def skill(server, folder, text, files=()):
    path = pathlib.Path(server.home, folder)
    path.mkdir(parents=True, exist_ok=True)
    path.joinpath("SKILL.md").write_text(text)
    for name, content in dict(files).items():
        path.joinpath(name).parent.mkdir(exist_ok=True)
        path.joinpath(name).write_text(content)


def names(browser):
    return browser.texts("#skill-list .skill")


def by_mouse(browser, server):
    def found():
        browser.open(f"{server.url}/skills")
        return "rest-api" in names(browser)

    browser.until("skills that were just written", found, 20)
    live(browser)
    shown = names(browser)
    assert shown[0] == "broken", shown
    assert "not loaded" in browser.text("#skill-list .row")
    browser.click("#skill-list a[href*='rest-api']")
    browser.until("the skill", lambda: browser.text("#skill .skill-name") == "rest-api", 5)
    page = browser.text("#skill")
    for words in ("Answer 429 with Retry-After", "shadows", "claude ✓ sees it", "codex – misses it", "No session got it yet."):
        assert words in page, (words, page)
    assert browser.texts("#skill .md strong") == ["429"] and browser.texts("#skill .md th") == ["code", "when"]
    browser.run("[...document.querySelectorAll('#skill details summary')].find((it) => it.innerText.startsWith('FRONTMATTER')).click()")
    assert "MIT" in browser.text("#skill details[open]"), browser.texts("#skill details")
    browser.type("#skill-search", "pdf" + ENTER)
    browser.until("found", lambda: names(browser) == ["pdf-forms"], 5)
    step("by mouse: listed with problems first, opened, searched")


def by_keys(browser, server):
    browser.open(f"{server.url}/skills")
    live(browser)
    browser.press("j")
    browser.press("j")
    here = browser.run("return document.activeElement.querySelector('.skill')?.innerText")
    assert here == names(browser)[1], here
    browser.press(ENTER)
    browser.until("opened", lambda: browser.text("#skill .skill-name") == here, 5)
    live(browser)
    browser.press("t")
    assert browser.run("return document.activeElement.id") == "try-task"
    browser.type("#try-task", "Rate-limit the upload endpoint")
    browser.until("tried while it is written", lambda: "rest-api" in browser.text("#try-result .got"), 10)
    assert {"upload", "endpoint"} <= set(browser.texts("#try-result .got .word-chip"))
    assert "task=Rate-limit" in browser.run("return location.href"), "its address can be shared"
    browser.press(ESCAPE)
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "skill-search"
    browser.press(ESCAPE)
    browser.press("g")
    browser.press("w")
    browser.until("workflows", lambda: "/workflows" in browser.run("return location.pathname"), 5)
    step("by keys: j k Enter, t with the words that decide while typing, /, g w")


def hostile(browser, server):
    browser.open(f"{server.url}/skills/hostile?task=%3Cscript%3Ewindow.stolen%3D1%3C%2Fscript%3E")
    live(browser)
    assert HOSTILE in browser.text("#skill .skill-for") and not browser.run("return window.stolen"), "a text was executed"
    assert not browser.run("return document.querySelector('#skill img, #skill [href^=javascript]')")
    step("hostile texts are texts")


def without_script(browser, server):
    browser.scripts(False)
    browser.open(f"{server.url}/skills")
    browser.type("#try-task", "Water the garden at noon")
    browser.click("#try-form button")
    browser.until("no skill", lambda: "No skill fits." in browser.text("#try-result"), 10)
    browser.click(".write-one summary")
    assert "maestro skills new water-the-garden" in browser.text(".write-one code")
    browser.scripts(True)
    step("without script: a task is tried, and what to do when no skill fits")


def saved(browser, server):
    project = server.repository("shop")
    browser.open(f"{server.url}/skills?project={project}&task=Rate-limit%20the%20upload%20endpoint")
    live(browser)
    browser.click("#try-result .tried button")
    lines = pathlib.Path(server.home, "shop/.maestro/selection.tsv")
    browser.until("saved", lambda: lines.exists() and lines.read_text() == "Rate-limit the upload endpoint\trest-api\n", 5)
    assert "Saved" in browser.text("#word")
    step("a try is saved as a line of the project's own test")


def delivered(browser, server):
    project = server.project("my-repo")
    with Agent(server, project, "Limit the uploads") as agent:
        agent.receipts(("rest-api", "6f1b2c9d" + "0" * 56, "handed"), ("rest-api", "6f1b2c9d" + "0" * 56, "opened"))
        browser.open(f"{server.url}/skills/rest-api")
        live(browser)
        shown = browser.text("#skill .receivers")
        assert "Limit the uploads" in shown and "handed ✓ opened ✓ model –" in shown, shown
        assert "used 1× this week" in browser.text("#skill-list")
    step("who got it, and how far it got")


def looks(browser, server, pictures):
    pictures.looks(browser, f"{server.url}/skills?task=Rate-limit%20the%20upload%20endpoint", "skills-try", height=(900, 1200))
    pictures.looks(browser, f"{server.url}/skills/rest-api", "skills-one", height=(1300, 2000))
    pictures.looks(browser, f"{server.url}/skills?task=Water%20the%20garden", "skills-none", height=(900, 1200))
    step("skills in dark and light, at 1280 and 390 px")


def many(browser, server, pictures):
    for number in range(300):
        skill(server, f".agents/skills/many-{number}", f"---\nname: many-{number}\ndescription: The skill of number {number}, for tasks about it.\n---\n\nDo it.\n")
    browser.open(f"{server.url}/skills")
    live(browser)

    def all_found():
        browser.open(f"{server.url}/skills")
        return "more: search for them" in browser.text("#skill-list")

    browser.until("found without a restart", all_found, 20)
    assert len(names(browser)) == 200
    step("300 more skills are found while the page is open; 200 are listed, the rest by searching")


JOURNEYS = {"skills": skills, "skills-many": many}
