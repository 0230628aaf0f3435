"""What a client hears while something happens: progress, and the end of what it cancels."""

import asyncio

from place import expect
from walks import connect, told

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


CASES = {"progress": progress, "cancelled": cancel}
