"""A browser, driven over the WebDriver protocol with nothing but the standard library."""

import base64
import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

# A busy machine is no fault of the page: what is waited for may take this long. Times are measured in `bench/page.py`.
PATIENCE = 60.0

CONTROL, ENTER, ESCAPE, TAB = "\ue009", "\ue007", "\ue00c", "\ue004"


class Browser:
    """One window of Chromium; ends with its `with` block."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.root = "http://127.0.0.1:" + line.rstrip(".\n").split()[-1]
                break
        options = {"args": [*FLAGS, f"--user-data-dir={self.profile.name}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.root += f"/session/{made['sessionId']}"
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", "")
        except OSError:
            pass
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].splitlines()[0]) from None

    def devtools(self, command, **params):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, url):
        self._call("POST", "/url", {"url": url})

    def tab(self):
        """Opens another tab and goes there. Returns the one before."""
        before = self._call("GET", "/window")
        self.switch(self._call("POST", "/window/new", {"type": "tab"})["handle"])
        return before

    def switch(self, tab):
        """Goes to a tab. Returns the one before."""
        before = self._call("GET", "/window")
        self._call("POST", "/window", {"handle": tab})
        return before

    def close_tab(self, left):
        """Closes the tab and goes to another one."""
        self._call("DELETE", "/window")
        self._call("POST", "/window", {"handle": left})

    def title(self):
        return self._call("GET", "/title")

    def run(self, script, *args):
        return self._call("POST", "/execute/sync", {"script": script, "args": args})

    def wait_for(self, script):
        """What a script hands to `done`."""
        return self._call("POST", "/execute/async", {"script": f"const done = arguments[arguments.length - 1]; {script}", "args": []})

    def text(self, selector):
        """What is to be read in the first element, or nothing."""
        return self.run("return document.querySelector(arguments[0])?.innerText.replace(/\\s+/g, ' ').trim() ?? ''", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText.replace(/\\s+/g, ' ').trim())", selector)

    def _find(self, selector):
        return self._call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._call("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector, text):
        self._call("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def press(self, *keys):
        """Presses keys together where the focus is."""
        downs = [{"type": "keyDown", "value": key} for key in keys]
        actions = downs + [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def until(self, what, check, seconds=5.0):
        """Waits for something to become true, and says how long that took."""
        seconds = max(seconds, PATIENCE)
        begun = time.monotonic()
        while True:
            if check():
                return time.monotonic() - begun
            if time.monotonic() - begun > seconds:
                raise AssertionError(f"not within {seconds} s: {what}; the page says: {self.text('body')[:1500]}")
            time.sleep(0.02)

    def size(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700)

    def theme(self, name):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def scripts(self, on):
        self.devtools("Emulation.setScriptExecutionDisabled", value=not on)

    def complaints(self):
        """What the browser complained about since this was last asked."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"}) if entry["level"] != "INFO"]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("GET", "/screenshot")))
