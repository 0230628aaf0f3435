"""A client of the Python package walks through a workflow, whatever it can do."""

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

from place import LITRES, OUTPUTS, PATIENCE, answer_to, expect, filled_in

ERAS = {"2025-11-25": "legacy", "2026-07-28": "auto"}


class User:
    """Fills in forms, and remembers what was asked."""

    def __init__(self):
        self.asked = []

    async def fill_in(self, _, form):
        self.asked.append(form.message)
        return ElicitResult(action="accept", content=filled_in(form.requested_schema["properties"]))


def connect(place, era, user=None, **more):
    server = place.url or StdioServerParameters(command=place.maestro, args=["mcp"], env=place.env, cwd=place.work)
    fill_in = user.fill_in if user else None
    return Client(server, mode=ERAS[era], elicitation_callback=fill_in, read_timeout_seconds=PATIENCE, **more)


async def told(client, tool, arguments):
    """What a tool answers to programs."""
    result = await client.call_tool(tool, arguments)
    expect(not result.is_error, f"{tool}: {result.content}")
    return result.structured_content


async def walk(place, era, forms):
    """Begins the workflow, goes on until it is over, and returns what happened."""
    user = User()
    statuses = []
    async with connect(place, era, user if forms else None) as client:
        expect(client.protocol_version == era, f"it speaks {client.protocol_version}")
        run = await told(client, "paint-shed", {"who": "Ada"})
        while run["status"] in ("needs_input", "todo"):
            statuses.append(run["status"])
            report = {"run_id": run["run_id"], "ticket": run["ticket"]}
            if run["status"] == "todo":
                report |= {"outcome": "ok", "result": {"litres": LITRES}}
                run = await told(client, "run_report", report)
            else:
                report["value"] = answer_to(run["question"]["prompt"])
                run = await told(client, "run_answer", report)
        read = await client.read_resource(f"maestro://runs/{run['run_id']}/log")
    expect(run["status"] == "completed", f"it ended as {run['status']}")
    expect(run["outputs"] == OUTPUTS, f"it hands back {run['outputs']}")
    asked = ["Which colour, Ada?\nHow many coats?", "Where does the lid of blue go?"]
    expect(user.asked == (asked if forms else []), f"the user was asked {user.asked}")
    expect(statuses == ([] if forms else ["needs_input"] * 3) + ["todo"], f"the model was told {statuses}")
    return place.transcript(run["run_id"], read.contents[0].text)
