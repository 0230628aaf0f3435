"""Settings: agents, limits, notifications, devices and health."""

from site_under_test import live, step
from webdriver import CONTROL, ENTER, TAB


def settings(browser, server, pictures):
    browser.open(server.url)
    live(browser)
    browser.click("nav.rail a[href='/settings']")
    browser.until("there", lambda: browser.text("h1") == "Settings", 3)
    live(browser)
    assert "Claude Code" in browser.text("#agents") and "not found" in browser.text("#agents"), browser.text("#agents")
    assert "max_cost_day" in browser.text("#limits")
    assert "maestro up --phone" in browser.text("#devices"), "off by default"
    step("agents, limits, devices and health on one screen")
    made = server.call("POST", "/api/tokens", {"name": "editor"})
    browser.open(server.url + "/settings")
    live(browser)
    assert "editor token" in browser.text("#devices"), browser.text("#devices")
    pictures.looks(browser, server.url + "/settings", "settings", (1100, 1700))
    browser.open(server.url + "/settings")
    live(browser)
    browser.click(f"button[form='revoke-{made['id']}']")
    browser.until("revoked", lambda: browser.text("#word") == "Revoked.", 2)
    assert all(token["name"] != "editor" for token in server.call("GET", "/api/tokens"))
    step("a token is listed and revoked")
    by_keys(browser, server)
    browser.open(server.url + "/page/phone")
    assert "maestro up --phone" in browser.text("#why")
    browser.open(server.url + "/nowhere")
    assert browser.text("h1") == "Not found" and "/nowhere" in browser.text("#why")
    pictures.take(browser, "not-found-1280")
    step("an unknown address is a page")


def by_keys(browser, server):
    """There by the palette, to the button by Tab, and it is pressed with Enter."""
    made = server.call("POST", "/api/tokens", {"name": "laptop"})
    browser.open(server.url)
    live(browser)
    browser.press(CONTROL, "k")
    browser.until("the palette", lambda: browser.run("return document.getElementById('palette').open"), 1)
    for letter in "settings":
        browser.press(letter)
    browser.until("found", lambda: "Settings" in browser.text("#palette"), 2)
    browser.press(ENTER)
    browser.until("there by key", lambda: browser.text("h1") == "Settings", 3)
    live(browser)
    for _ in range(100):
        if browser.run("return document.activeElement.getAttribute('form')") == f"revoke-{made['id']}":
            break
        browser.press(TAB)
    else:
        raise AssertionError("Tab does not reach the button that revokes a token")
    browser.press(ENTER)
    browser.until("revoked by key", lambda: browser.text("#word") == "Revoked.", 2)
    assert all(token["name"] != "laptop" for token in server.call("GET", "/api/tokens"))
    step("a token is found and revoked by keys alone")


JOURNEYS = {"settings": settings}
