#!/usr/bin/env python3
"""Measures the page in Chromium: how soon it is there, how soon a report is seen, and whether a flood stalls it.

    cargo build --release -p maestro && cargo build --release -p maestro-store --example agent
    python3 bench/page.py [paint] [pixel] [flood] [million]

paint    the first paint and the bytes of every screen, compressed; the browser's cache is empty
pixel    from the answer to a report until it is drawn on Now, while 20 sessions report
flood    10,000 entries into an open run: the longest task of the page, and what it holds in memory
million  pixel and flood again with a million events in the database

Chromium and chromedriver are needed (`tests/browser/run` installs them). Nothing leaves the loopback interface.
Exits with 1 if a target is missed.
"""

import os
import pathlib
import sqlite3
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"
os.environ.setdefault("MAESTRO_BIN", str(RELEASE / "maestro"))
os.environ.setdefault("PLAYED_AGENT", str(RELEASE / "examples" / "agent"))
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from figures import keep  # noqa: E402
from agents import Agent  # noqa: E402
from site_under_test import Server, live  # noqa: E402
from webdriver import Browser  # noqa: E402

SESSIONS, REPORTS, ENTRIES, EVENTS = 20, 200, 10_000, 1_000_000
PAINT_MS, PAGE_KB, PIXEL_MS, TASK_MS, GROWTH_MB = 200, 80, 150, 100, 64
SCREENS = {"Now": "/", "Work": "/work", "Skills": "/skills", "Workflows": "/workflows", "Activity": "/activity", "Settings": "/settings"}
missed = []


def judge(what, value, unit, limit):
    met = value < limit
    if not met:
        missed.append(what)
    keep(what, f"{value:.1f} {unit}", wanted=f"< {limit} {unit}", met=met)
    print(f"  {what:<58} {value:8.1f} {unit:<3} < {limit} {'PASS' if met else 'FAIL'}", flush=True)


class Site:
    """A server with sessions at work, and a browser that is signed in."""

    def __init__(self, events=0):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.server = Server(self.folder.name)
        self.project = self.server.project("shop")
        self.sessions = [
            self.server.session(self.project, self.server.task(self.project, f"Task {number}"), "claude")
            for number in range(SESSIONS)
        ]
        if events:
            self.server.stop()
            fill(f"{self.folder.name}/.maestro/maestro.db", events)
            self.server.start()

    def __enter__(self):
        self.browser = Browser().__enter__()
        self.browser.size(1280, 860)
        self.browser.open(self.server.sign_in)
        return self

    def __exit__(self, *_):
        self.browser.__exit__()
        self.server.stop()
        self.folder.cleanup()


def fill(database, count):
    """Repeats the events that are there until they are so many."""
    with sqlite3.connect(database) as store:
        columns = "at, type, version, project, task, session, run, payload"
        have = store.execute("SELECT count(*) FROM events").fetchone()[0]
        while have < count:
            store.execute(f"INSERT INTO events ({columns}) SELECT {columns} FROM events ORDER BY seq LIMIT ?", (count - have,))
            have = store.execute("SELECT count(*) FROM events").fetchone()[0]
    store.close()


def paint():
    print("## The first paint")
    with Site() as site:
        browser = site.browser
        for name, path in SCREENS.items():
            times, sizes = [], []
            for _ in range(9):
                browser.devtools("Network.clearBrowserCache")
                browser.open(site.server.url + path)
                live(browser)
                painted = "performance.getEntriesByName('first-contentful-paint')[0]"
                browser.until("it is painted", lambda: browser.run(f"return {painted} !== undefined"))
                times.append(browser.run(f"return {painted}.startTime"))
                sizes.append(browser.run(
                    "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
                    ".filter((it) => !it.name.includes('/page/live') && !it.name.includes('/events')).reduce((sum, it) => sum + it.encodedBodySize, 0)"
                ))
            judge(f"{name}: first paint, median of 9", sorted(times)[4], "ms", PAINT_MS)
            judge(f"{name}: the whole page, compressed", max(sizes) / 1000, "KB", PAGE_KB)


SEEN = """
window.seen = {};
new MutationObserver(() => requestAnimationFrame(() => {
  const now = Date.now();
  for (const found of document.getElementById('main').innerText.matchAll(/report-\\d+/g)) window.seen[found[0]] ??= now;
})).observe(document.getElementById('main'), { subtree: true, childList: true, characterData: true });
"""


def pixel(events=0):
    print("## From the answer to a report until it is drawn, 20 sessions reporting")
    with Site(events) as site:
        browser, answered, lock = site.browser, {}, threading.Lock()
        for session in site.sessions:
            site.server.report(session, "progress", "begins")
        # Of a selected project all rows are shown.
        project = site.server.call("GET", "/api/projects")[0]["id"]
        browser.open(f"{site.server.url}/?project={project}")
        live(browser)
        browser.run(SEEN)

        def reports(number):
            for turn in range(REPORTS // SESSIONS):
                name = f"report-{turn * SESSIONS + number}"
                site.server.report(site.sessions[number], "progress", name)
                with lock:
                    answered[name] = time.time() * 1000
                time.sleep(0.4)

        threads = [threading.Thread(target=reports, args=(number,)) for number in range(SESSIONS)]
        for number, thread in enumerate(threads):
            time.sleep(0.4 / SESSIONS)
            thread.start()
        for thread in threads:
            thread.join()
        shown = lambda: browser.run("return window.seen")
        last = [f"report-{REPORTS - SESSIONS + number}" for number in range(SESSIONS)]
        browser.until("the last reports are drawn", lambda: all(name in shown() for name in last))
        waits = sorted(max(0.0, at - answered[name]) for name, at in shown().items() if name in answered)
        judge(f"p95 of {len(waits)} drawn", waits[int(len(waits) * 0.95)], "ms", PIXEL_MS)


LONG = """
window.longest = 0;
new PerformanceObserver((list) => { for (const it of list.getEntries()) window.longest = Math.max(window.longest, it.duration); })
  .observe({ type: 'longtask' });
"""


def memory(browser):
    browser.devtools("HeapProfiler.collectGarbage")
    metrics = {it["name"]: it["value"] for it in browser.devtools("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapUsedSize"] / 1e6, int(metrics["Nodes"])


def flood(events=0):
    print(f"## {ENTRIES:,} entries into an open run")
    with Site(events) as site, Agent(site.server, site.project, "Talk much") as agent:
        browser = site.browser
        agent.did(("began", {"agentSession": "c0ffee", "model": "claude-opus-4", "version": "2.1.0"}))
        browser.open(f"{site.server.url}/sessions/{agent.session}")
        live(browser)
        browser.devtools("Performance.enable")
        before, _ = memory(browser)
        browser.run(LONG)
        for start in range(0, ENTRIES, 100):
            agent.did(*(("printed", {"stream": "out", "text": f"line {number} of many, as long as lines of a log are\n"}) for number in range(start, start + 98)),
                      ("said", {"text": f"Part {start // 100} is done."}), ("thought", {"text": "On with it."}))
        agent.said("entry-last")
        browser.until("the last entry is drawn", lambda: "entry-last" in browser.text("#main"), 30)
        after, nodes = memory(browser)
        judge("longest task of the page", browser.run("return window.longest"), "ms", TASK_MS)
        judge(f"growth of its memory ({nodes} nodes)", max(0.0, after - before), "MB", GROWTH_MB)


def million():
    print(f"# With {EVENTS:,} events in the database")
    pixel(EVENTS)
    flood(EVENTS)


if __name__ == "__main__":
    parts = {"paint": paint, "pixel": pixel, "flood": flood, "million": million}
    for name in sys.argv[1:] or parts:
        parts[name]()
    sys.exit(1 if missed else 0)
