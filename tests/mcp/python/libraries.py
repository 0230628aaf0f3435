"""Four client libraries behind the few calls that a walk makes: two in Python, two in TypeScript."""

import asyncio
import contextlib
import json
import os
import subprocess

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

from place import HERE, PATIENCE, expect, filled_in

ERAS = {"2025-11-25": "legacy", "2026-07-28": "auto"}
# The earlier SDK speaks the earlier protocol only.
LIBRARIES = {
    "mcp": list(ERAS), "FastMCP": list(ERAS), "TypeScript 1": ["2025-11-25"], "TypeScript 2": list(ERAS),
}
# A line of a bridge may hold the log of a run.
LONGEST_LINE = 16 * 1024 * 1024


class User:
    """Fills in forms, and remembers what was asked."""

    def __init__(self):
        self.asked = []

    def answer(self, message, fields):
        self.asked.append(message)
        return filled_in(fields)

    async def fill_in(self, _, form):
        return ElicitResult(action="accept", content=self.answer(form.message, form.requested_schema["properties"]))

    async def fill_in_fast(self, message, _, form, __):
        return self.answer(message, form.requested_schema["properties"])


def connect(place, era, user=None, **more):
    """A client of the package `mcp`."""
    server = place.url or StdioServerParameters(command=place.maestro, args=["mcp"], env=place.env, cwd=place.work)
    fill_in = user.fill_in if user else None
    return Client(server, mode=ERAS[era], elicitation_callback=fill_in, read_timeout_seconds=PATIENCE, **more)


async def told(client, tool, arguments):
    """What a tool answers to programs."""
    result = await client.call_tool(tool, arguments)
    expect(not result.is_error, f"{tool}: {result.content}")
    return result.structured_content


class InPython:
    """A client of either Python package."""

    def __init__(self, client):
        self.client, self.revision = client, client.protocol_version

    async def told(self, tool, arguments):
        return await told(self.client, tool, arguments)

    async def read(self, uri):
        read = await self.client.read_resource(uri)
        return getattr(read, "contents", read)[0].text


class InTypeScript:
    """A client of a TypeScript SDK, in a process of its own."""

    def __init__(self, process, user):
        self.process, self.user = process, user
        self.waiting, self.heard, self.progress = {}, asyncio.Queue(), asyncio.Queue()

    async def listen(self):
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if "id" in message:
                self.waiting.pop(message["id"]).set_result(message)
            elif "form" in message:
                content = self.user.answer(message["message"], message["fields"])
                self.send({"form": message["form"], "content": content})
            else:
                (self.heard if "heard" in message else self.progress).put_nowait(message)
        for waiting in self.waiting.values():
            waiting.set_result({"error": "the bridge ended"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def ask(self, what, **params):
        """The answer to a request, with `result` or `error`."""
        number, answered = f"{what}-{id(params)}", asyncio.get_running_loop().create_future()
        self.waiting[number] = answered
        self.send({"id": number, "ask": what} | params)
        return await asyncio.wait_for(answered, PATIENCE)

    async def result(self, what, **params):
        answer = await self.ask(what, **params)
        expect("result" in answer, f"{what} {params}: {answer}")
        return answer["result"]

    async def next_heard(self):
        return await asyncio.wait_for(self.heard.get(), PATIENCE)

    async def told(self, tool, arguments):
        result = await self.result("call", tool=tool, arguments=arguments)
        expect(not result.get("isError"), f"{tool}: {result}")
        return result["structuredContent"]

    async def read(self, uri):
        return (await self.result("read", uri=uri))["contents"][0]["text"]


@contextlib.asynccontextmanager
async def opened(library, place, era, user=None):
    """A connected client of a library, which fills in forms where there is a user."""
    if library == "mcp":
        async with connect(place, era, user) as client:
            yield InPython(client)
    elif library == "FastMCP":
        server = place.url or StdioTransport(place.maestro, ["mcp"], env=place.env, cwd=place.work, keep_alive=False)
        fill_in = user.fill_in_fast if user else None
        async with FastClient(server, mode=ERAS[era], elicitation_handler=fill_in, timeout=PATIENCE) as client:
            yield InPython(client)
    else:
        async with bridge(library, place, era, user) as client:
            yield client


@contextlib.asynccontextmanager
async def bridge(library, place, era, user=None):
    """A client of a TypeScript SDK."""
    tools = typescript_tools()
    options = {"revision": era, "forms": user is not None, "url": place.url}
    options["server"] = {"command": place.maestro, "args": ["mcp"], "env": place.env, "cwd": place.work}
    with open(f"{place.root}/bridge.log", "a", encoding="utf-8") as log:
        process = await asyncio.create_subprocess_exec(
            tools["node"], f"{os.path.dirname(HERE)}/typescript/bridge.mjs", tools[library], json.dumps(options),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, limit=LONGEST_LINE,
        )
    try:
        client = InTypeScript(process, user)
        first = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        expect(first, f"the bridge does not start: {bridge_log(place)}")
        client.revision = json.loads(first)["revision"]
        listening = asyncio.create_task(client.listen())
        try:
            yield client
        finally:
            process.stdin.close()
            await asyncio.wait_for(process.wait(), PATIENCE)
            await listening
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def bridge_log(place):
    with open(f"{place.root}/bridge.log", encoding="utf-8") as file:
        return file.read()


def typescript_tools():
    """Node, and the folders of the two SDKs; what is missing is installed."""
    names = {"node": "node", "typescript-1": "TypeScript 1", "typescript-2": "TypeScript 2"}
    done = subprocess.run([f"{os.path.dirname(HERE)}/install", *names], check=True, stdout=subprocess.PIPE, text=True)
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    return {name: os.path.dirname(found[key]) if key != "node" else found[key] for key, name in names.items()}
