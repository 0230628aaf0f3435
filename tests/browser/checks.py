"""What a person sees of Maestro in a browser, journey by journey. `tests/browser/run` starts it."""

import os
import sys
import tempfile
import time
import traceback

import screen_activity
import screen_now
import screen_plan
import screen_run
import screen_settings
import screen_shared
import screen_skills
import screen_states
import screen_trust
import screen_work
import screen_workflows
from site_under_test import Pictures, Server, step
from webdriver import Browser

SCREENS = [screen_now, screen_run, screen_work, screen_plan, screen_skills, screen_workflows, screen_trust, screen_activity, screen_settings, screen_states, screen_shared]
JOURNEYS = {name: journey for screen in SCREENS for name, journey in screen.JOURNEYS.items()}

# A server that was ended on purpose is not reached, another one in its place lets no one in, an answer that comes late is refused, and what does not exist is
# not found; that is all a browser may complain about.
EXPECTED = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION_RESET", "nobody", "/nowhere", "/page/phone", "the server responded with a status of 409", "status of 401 (Unauthorized)")


def clean(browser, where):
    complaints = [text for text in browser.complaints() if not any(words in text for words in EXPECTED)]
    assert not complaints, f"the browser complains at {where}: {complaints}"
    step("no complaint of the browser")


def walk(name, pictures):
    """One journey, with a server and a browser of its own."""
    print(name, flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, Browser() as browser:
        server = Server(home)
        try:
            browser.size(1280, 860)
            browser.open(server.sign_in)
            JOURNEYS[name](browser, server, pictures)
            clean(browser, name)
        except Exception:
            pictures.take(browser, f"failed-{name}")
            raise
        finally:
            server.stop()


def passes(name, pictures):
    """Whether a journey gets to its end; if not, why is printed."""
    try:
        walk(name, pictures)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)
        places = [frame for frame in at if os.path.basename(frame.filename).startswith("screen_")]
        print(f"  ✗ {type(error).__name__}: {error}", flush=True)
        for frame in places:
            print(f"      {os.path.basename(frame.filename)}:{frame.lineno} {frame.line}", flush=True)
        return False
    return True


def wanted():
    """The journeys that were asked for: by name, or all of a screen by its first word."""
    only = [name for name in os.environ.get("ONLY", "").split(",") if name]
    return [name for name in JOURNEYS if not only or name in only or name.split("-")[0] in only]


def main():
    pictures = Pictures(sys.argv[1] if len(sys.argv) > 1 else None)
    begun, names = time.monotonic(), wanted()
    failed = [name for name in names if not passes(name, pictures)]
    # What fails beside others and passes alone is unsteady, and named as such.
    again = [name for name in failed if passes(name, pictures)]
    failed = [name for name in failed if name not in again]
    print(f"\ntook {time.monotonic() - begun:.0f} s")
    for name in again:
        print(f"unsteady: {name} failed once and passed when it was repeated")
    for name in failed:
        print(f"failed: {name}")
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed or not names else 0)


main()
