"""What a client hears while something happens: progress, the end of what it cancels, and new skills."""

import asyncio
import contextlib
import time

import mcp_types as types

from libraries import connect, told
from place import PATIENCE, Wrong, expect

TEXT = "Count the geese before you open the gate."
GATE = """\
workflow: 1
name: open-gate
version: "1.0"
description: Open a gate.
steps:
  - {id: open, type: end, message: The gate is open.}
"""


async def progress(place, era):
    """A command that only ends once progress was heard."""
    heard = []

    async def hear(count, total, message):
        heard.append((count, message))
        place.write("dry.txt", "")

    async with connect(place, era) as client:
        result = await client.call_tool("dry-shed", {}, progress_callback=hear)
    run = result.structured_content
    expect(run["status"] == "completed", f"it ended as {run}")
    expect(heard[0] == (1, "Let it dry"), f"it was told {heard}")
    expect(heard == sorted(heard), f"progress goes backwards: {heard}")


async def handle(place, era):
    """A command that takes longer than a client waits; the call answers before that, and the run is waited for."""
    heard = []

    async def hear(count, total, message):
        heard.append(count)

    async with connect(place, era) as client:
        began = time.monotonic()
        result = await client.call_tool("dry-shed", {}, progress_callback=hear)
        seconds = time.monotonic() - began
        run = result.structured_content
        expect(run["status"] == "running" and seconds < 50, f"after {seconds:.0f} s: {run}")
        expect(len(heard) >= 5, f"signs of life: {heard}")
        place.write("dry.txt", "")
        run = await told(client, "run_status", {"run_id": run["run_id"], "wait_s": 45})
        expect(run["status"] == "completed", f"it ended as {run}")


async def cancel(place, era):
    """A call that is given up takes with it everything that the command started."""
    async with connect(place, era) as client:
        calling = asyncio.create_task(client.call_tool("dry-shed", {}))
        pids = await asyncio.to_thread(place.waiting_pids)
        runs = (await told(client, "run_status", {}))["runs"]
        expect([run["status"] for run in runs] == ["running"], f"these runs are open: {runs}")
        calling.cancel()
        await asyncio.wait([calling])
        await asyncio.to_thread(place.wait_for_the_end, pids)
        run = {"run_id": runs[0]["run_id"], "wait_s": 10}
        status = (await told(client, "run_status", run))["status"]
        expect(status == "cancelled", f"the run is {status}")


async def reload(place, era):
    """A new skill is used at once, and who listens is told of it."""
    news = asyncio.Queue()

    async def note(message):
        if isinstance(message, types.ServerNotification):
            news.put_nowait(message.method)

    async with connect(place, era) as deaf, connect(place, era, message_handler=note) as client:
        await told(deaf, "use_skill", {"name": "paint-shed"})
        before = {tool.name for tool in (await client.list_tools()).tools}
        async with listening(client, era):
            await used_at_once(place, deaf)
            await heard(news)
        after = {tool.name for tool in (await client.list_tools()).tools}
        expect(after - before == {"open-gate"}, f"the list has {after - before} more")


def listening(client, era):
    """A client of the earlier protocol is told without having asked."""
    if era == "2025-11-25":
        return contextlib.nullcontext()
    return client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True)


async def used_at_once(place, client):
    """Writes a skill, and uses it before anybody has said that it is there."""
    place.write_skill("open-gate", TEXT, GATE)
    read = await client.call_tool("use_skill", {"name": "open-gate"})
    expect(TEXT in read.content[0].text, f"the new skill is not read: {read.content}")
    run = await told(client, "run_start", {"workflow": "open-gate"})
    expect(run["status"] == "completed", f"the new workflow is not begun: {run}")


async def heard(news):
    """Waits until all three lists are said to have changed."""
    missing = {f"notifications/{kind}/list_changed" for kind in ["tools", "prompts", "resources"]}
    try:
        async with asyncio.timeout(PATIENCE):
            while missing:
                missing.discard(await news.get())
    except TimeoutError:
        raise Wrong(f"not in {PATIENCE} s: {', '.join(sorted(missing))}") from None


CASES = {"progress": progress, "cancelled": cancel, "new skills": reload}
# This takes most of a minute each.
LONG = {"a handle for what takes longer": handle}
