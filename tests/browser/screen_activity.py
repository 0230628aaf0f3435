"""What happened, the search, and numbers."""

from site_under_test import live, step
from webdriver import ENTER, ESCAPE, TAB

HOSTILE = '<img src=x onerror=window.stolen=1>{{7*7}}'


def activity(browser, server, pictures):
    project = server.project("my-repo")
    browser.open(f"{server.url}/activity")
    live(browser)
    task = server.task(project, "Rate-limit the upload endpoint")
    browser.until("the event", lambda: "Rate-limit the upload endpoint created" in browser.text("#events"), 2)
    session = server.session(project, task, "claude")
    server.report(session, "progress", "the token bucket is done")
    server.task(project, HOSTILE)
    browser.until("the report", lambda: "the token bucket is done" in browser.text("#events"), 2)
    assert not browser.run("return window.stolen")
    step("events appear live, and hostile texts are texts")
    browser.open(f"{server.url}/activity?kind=timeline%3A&actor=claude&text=bucket")
    assert browser.texts(".event-what") == ["the token bucket is done"], browser.texts(".event-what")
    browser.click(".event-at")
    browser.until("its facts", lambda: "timeline:added" in browser.text(".event-facts"), 3)
    exported = browser.run("const request = new XMLHttpRequest(); request.open('GET', '/page/activity.jsonl?kind=task%3Acreated', false); request.send(); return request.responseText")
    assert len(exported.splitlines()) == 2 and all(line.startswith("{") for line in exported.splitlines()), exported
    step("events are filtered, have an address each, and are exported")
    browser.open(f"{server.url}/activity")
    live(browser)
    browser.press("/")
    browser.type("#search", "upload LIMIT" + ENTER)
    browser.until("found", lambda: "Rate-limit the upload endpoint" in browser.text("#found-tasks"), 5)
    assert sorted(browser.texts("#found-tasks mark")) == ["limit", "upload"]
    pictures.take(browser, "activity-search-1280-light")
    step("the search shows results by kind, with the words")
    by_keys(browser, server)
    browser.open(f"{server.url}/activity?numbers=7")
    assert "Numbers appear after 5 finished tasks." in browser.text("#main")
    for number in range(8):
        made = server.task(project, f"Task {number}")
        for status in ("in_progress", "completed"):
            server.call("PATCH", f"/api/tasks/{made}", {"status": status})
    browser.open(f"{server.url}/activity?numbers=7")
    assert "8 in 7 days" in browser.text("#tasks-done")
    browser.click("#tasks-done summary")
    assert browser.texts("#tasks-done td")[-1] == "8"
    step("numbers after five tasks, with the table behind each")
    browser.scripts(False)
    browser.open(f"{server.url}/activity?text=bucket")
    assert "the token bucket is done" in browser.text("#events")
    browser.scripts(True)
    for name, query in (("activity", ""), ("activity-numbers", "?numbers=7")):
        for width in (1280, 390):
            browser.size(width, 1000)
            for theme in ("light", "dark"):
                browser.theme(theme)
                browser.open(f"{server.url}/activity{query}")
                browser.until("loaded", lambda: browser.texts("#main h1"), 3)
                pictures.take(browser, f"{name}-{width}-{theme}")
    browser.theme("light")
    browser.size(1280, 860)
    step("without script, in dark and light, at 1280 and 390 px")


def by_keys(browser, server):
    """Up and down the events, one of them opened, and the filter filled in."""
    browser.open(f"{server.url}/activity")
    live(browser)
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "search"
    browser.press(ESCAPE)
    browser.press("j")
    browser.press("j")
    second = browser.run("return document.querySelectorAll('#events .event')[1].id")
    assert browser.run("return document.activeElement.id") == second
    browser.press(ENTER)
    browser.until("its facts by key", lambda: browser.texts(".event-facts"), 3)
    browser.open(f"{server.url}/activity")
    live(browser)
    for _ in range(60):
        if browser.run("return document.activeElement.matches('.filters [name=text]')"):
            break
        browser.press(TAB)
    else:
        raise AssertionError("Tab does not reach the filter")
    for letter in "bucket":
        browser.press(letter)
    browser.press(ENTER)
    browser.until("filtered by key", lambda: browser.texts(".event-what") == ["the token bucket is done"], 3)
    step("events are walked through, opened and filtered by keys alone")


JOURNEYS = {"activity": activity}
