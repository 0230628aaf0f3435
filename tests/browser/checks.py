"""What a person sees of Maestro in a browser. `tests/browser/run` starts it."""

import os
import sys
import tempfile
import time

import screen_activity
import screen_now
import screen_plan
import screen_run
import screen_settings
import screen_shared
import screen_skills
import screen_trust
import screen_work
import screen_workflows
from site_under_test import Pictures, Server, step
from webdriver import Browser

SCREENS = {"now": screen_now, "run": screen_run, "work": screen_work, "plan": screen_plan, "skills": screen_skills, "workflows": screen_workflows, "trust": screen_trust, "activity": screen_activity, "settings": screen_settings, "shared": screen_shared}

# A server that was ended on purpose is not reached, another one in its place lets no one in, an answer that comes late is refused, and what does not exist is
# not found; that is all a browser may complain about.
EXPECTED = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION_RESET", "nobody", "/nowhere", "/page/phone", "the server responded with a status of 409", "status of 401 (Unauthorized)")


def clean(browser, where):
    complaints = [text for text in browser.complaints() if not any(words in text for words in EXPECTED)]
    assert not complaints, f"the browser complains at {where}: {complaints}"
    step("no complaint of the browser")


def check(name, screen, pictures):
    print(name, flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, Browser() as browser:
        server = Server(home)
        try:
            browser.size(1280, 860)
            browser.open(server.sign_in)
            screen.check(browser, server, pictures)
            clean(browser, name)
        finally:
            server.stop()


def main():
    pictures = Pictures(sys.argv[1] if len(sys.argv) > 1 else None)
    wanted = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(SCREENS)
    begun = time.monotonic()
    for name in wanted:
        check(name, SCREENS[name], pictures)
    print(f"The page is as it should be ({time.monotonic() - begun:.0f} s).")


main()
