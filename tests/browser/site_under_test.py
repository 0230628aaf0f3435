"""A server to look at, the steps that were checked, and screenshots of them."""

import json
import os
import pathlib
import signal
import subprocess
import urllib.request

MAESTRO = os.environ["MAESTRO_BIN"]
AXE = pathlib.Path(os.environ["AXE"]).read_text() if os.environ.get("AXE") else None
TOKEN = "a-token-for-the-browser-0123456789abcdef"
PHONE, DESKTOP = 390, 1280


def step(words):
    print(f"  ✓ {words}", flush=True)


def live(browser):
    """Waits until the page follows its server."""
    browser.until("live", lambda: browser.run("return document.getElementById('live')?.dataset.state") == "live", 5)


def fits(browser, width):
    """Nothing is wider than the window, and on a phone everything is large enough to tap."""
    scrolls = "const scrolls = (e) => { for (let at = e.parentElement; at && at !== document.body; at = at.parentElement) if (getComputedStyle(at).overflowX === 'auto') return true; return false; };"
    wide = browser.run(scrolls + "return [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('pre, dialog, .skip, .unseen, .scrolls') && !e.parentElement.closest('.cut, .title, .words') && !scrolls(e) && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120))")
    assert browser.run("return document.documentElement.scrollWidth") <= width and not wide, f"wider than {width} px: {wide}"
    if width < 700:
        small = browser.run("return [...document.querySelectorAll('button, select, textarea, input, .button')].filter((e) => e.offsetParent && e.offsetHeight < 44).map((e) => e.outerHTML)")
        assert not small, f"too small to tap: {small}"


def accessible(browser, where):
    """axe-core finds nothing serious."""
    if not AXE:
        return
    browser.run(AXE + "; window.axe = axe;")
    found = browser.wait_for("axe.run(document, { resultTypes: ['violations'] }).then(done)")
    serious = [f"{it['id']}: {it['help']}: {[node['html'][:160] for node in it['nodes'][:3]]}" for it in found["violations"] if it["impact"] in ("serious", "critical")]
    assert not serious, f"{where}: {serious}"


def watch_shifts(browser):
    """Counts from now on how far things move without anybody's doing."""
    browser.run("window.shifts = 0; new PerformanceObserver((list) => { for (const it of list.getEntries()) if (!it.hadRecentInput) window.shifts += it.value; }).observe({ type: 'layout-shift' })")


def still(browser, most=0.02):
    shifts = browser.run("return window.shifts")
    assert shifts <= most, f"the page moved by {shifts}"


class Server:
    """A server with a home of its own, which can be ended and started again at the same address."""

    def __init__(self, home, port="0"):
        self.environment = {"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": home, "MAESTRO_HOME": f"{home}/.maestro"}
        # A debug build then reads templates and assets from there.
        self.environment |= {name: os.environ[name] for name in ["MAESTRO_PAGE_FILES"] if name in os.environ}
        self.home, self.port = home, port
        self.start()

    def start(self):
        command = [MAESTRO, "up", "--agents", "0", "--port", self.port, "--json"]
        environment = self.environment | {"MAESTRO_AUTH_TOKEN": TOKEN}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=self.home)
        started = json.loads(self.process.stdout.readline())
        self.url, self.sign_in = started["url"], started["signIn"]
        self.port = self.url.rsplit(":", 1)[1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def command(self, *args, **variables):
        return subprocess.run([MAESTRO, *args], env=self.environment | variables, cwd=self.home, check=True, text=True, capture_output=True).stdout

    def install(self, program):
        """Puts a program on the path that does nothing."""
        path = pathlib.Path(self.home, "bin", program)
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\nexit 0\n")
        path.chmod(0o755)

    def repository(self, name):
        """A project with a git repository of its own."""
        path = pathlib.Path(self.home, name)
        path.mkdir()
        path.joinpath("README.md").write_text("A repository\n")
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "-qm", "Start"]):
            subprocess.run(["git", *words], cwd=path, check=True, env=self.environment)
        return self.call("POST", "/api/projects", {"name": name, "workingDir": str(path)})["id"]

    def project(self, name):
        return self.call("POST", "/api/projects", {"name": name, "workingDir": f"/{name}"})["id"]

    def task(self, project, title):
        return self.call("POST", "/api/tasks", {"projectId": project, "title": title})["id"]

    def session(self, project, task, agent, **more):
        return self.call("POST", "/api/sessions", {"projectId": project, "taskIds": [task], "agentId": agent, **more})["id"]

    def report(self, session, kind, message):
        return self.call("POST", f"/api/sessions/{session}/reports", {"kind": kind, "message": message})


class Pictures:
    """Screenshots, where somebody wants them."""

    def __init__(self, directory):
        self.directory = directory and pathlib.Path(directory)
        if self.directory:
            self.directory.mkdir(parents=True, exist_ok=True)

    def take(self, browser, name):
        if self.directory:
            browser.picture(self.directory / f"{name}.png")

    def looks(self, browser, url, name, height=(1180, 1700), prepare=None, follows=True):
        """A screen on a desktop and on a phone, light and dark. `prepare` opens what is to be seen; a screen that does not change while it is open `follows` nothing."""
        for width, tall in zip((DESKTOP, PHONE), height):
            browser.size(width, tall)
            for theme in ("light", "dark"):
                browser.theme(theme)
                browser.open(url)
                if follows:
                    live(browser)
                if prepare:
                    prepare()
                ground = browser.run("return getComputedStyle(document.body).backgroundColor")
                assert (ground == "rgb(250, 250, 249)") == (theme == "light"), ground
                fits(browser, width)
                accessible(browser, f"{name}-{width}-{theme}")
                self.take(browser, f"{name}-{width}-{theme}")
        browser.size(320, 640)
        fits(browser, 320)
        browser.theme("light")
        browser.size(1280, 860)
