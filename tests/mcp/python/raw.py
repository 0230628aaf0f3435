"""A client without any help: it says and hears every message, so that it can repeat, keep and forge what others hide."""

import http.client
import itertools
import json
import queue
import threading
import urllib.parse

from place import PATIENCE, Wrong, expect

INFO = {"name": "raw", "version": "1"}
PREFIX = "io.modelcontextprotocol/"


class Raw:
    """What is the same over a pipe and over HTTP."""

    def __init__(self, era, forms):
        self.era, self.can = era, {"elicitation": {"form": {}}} if forms else {}
        self.ids = itertools.count(1)

    def greet(self):
        if self.era == "2025-11-25":
            hello = {"protocolVersion": self.era, "capabilities": self.can, "clientInfo": INFO}
            expect(self.ask("initialize", hello)["result"]["protocolVersion"] == self.era, "it speaks something else")
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def begin(self, method, params):
        """Sends a request, and returns its id."""
        number = next(self.ids)
        if self.era == "2026-07-28":
            meta = {f"{PREFIX}protocolVersion": self.era, f"{PREFIX}clientCapabilities": self.can, f"{PREFIX}clientInfo": INFO}
            params = params | {"_meta": meta}
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def ask(self, method, params):
        """The answer to a request, whatever it is."""
        return self.answer(self.begin(method, params))

    def answer(self, number):
        return self.hear(number, lambda message: "method" not in message)

    def call(self, tool, arguments, **more):
        """What a tool results in."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments, **more})
        expect("result" in answer, f"{tool}: {answer}")
        expect(not answer["result"].get("isError"), f"{tool}: {answer}")
        return answer["result"]

    def log(self, run):
        return self.ask("resources/read", {"uri": f"maestro://runs/{run}/log"})["result"]["contents"][0]["text"]


class Pipe(Raw):
    """Speaks to `maestro mcp`."""

    def __init__(self, place, era, forms):
        super().__init__(era, forms)
        self.process = place.pipe()
        self.lines = queue.Queue()
        self.kept = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def hear(self, number, wanted):
        """The first message that is wanted, and if it is an answer, to this request."""
        def fits(message):
            return wanted(message) and ("method" in message or message.get("id") == number)
        while not any(map(fits, self.kept)):
            self.kept.append(self.next_line())
        found = next(filter(fits, self.kept))
        self.kept.remove(found)
        return found

    def next_line(self):
        try:
            message = self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise Wrong(f"no answer in {PATIENCE} s") from None
        expect(message, "`maestro mcp` ended")
        return message


class Http(Raw):
    """Speaks to a server."""

    def __init__(self, place, era, forms):
        super().__init__(era, forms)
        self.address = urllib.parse.urlsplit(place.url)
        self.session = {}
        self.open = {}

    def send(self, message):
        connection = http.client.HTTPConnection(self.address.netloc, timeout=PATIENCE)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | self.session
        if self.era == "2026-07-28":
            headers |= {"MCP-Protocol-Version": self.era, "Mcp-Method": message["method"]}
            name = message["params"].get("name") or message["params"].get("uri")
            headers |= {"Mcp-Name": name} if name else {}
        connection.request("POST", self.address.path, json.dumps(message), headers)
        if "id" in message:
            self.open[message["id"]] = connection
        else:
            connection.getresponse().read()
            connection.close()

    def hear(self, number, wanted):
        """The first message of this request's stream that is wanted."""
        answer = self.open[number].getresponse()
        if session := answer.getheader("Mcp-Session-Id"):
            self.session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": self.era}
        if not answer.getheader("Content-Type", "").startswith("text/event-stream"):
            return json.load(answer)
        for line in answer:
            data = line.decode().removeprefix("data:").strip()
            message = line.startswith(b"data:") and data and json.loads(data)
            if message and wanted(message):
                return message
        raise Wrong("the stream ended without an answer")


def speak(place, era="2026-07-28", forms=True):
    return (Http if place.transport == "http" else Pipe)(place, era, forms).greet()
