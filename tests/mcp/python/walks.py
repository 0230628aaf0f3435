"""A client of any library walks through a workflow, whatever it can do."""

from libraries import User, bridge, opened
from place import LITRES, OUTPUTS, answer_to, expect


async def walk(place, library, era, forms):
    """Begins the workflow, goes on until it is over, and returns what happened."""
    user = User()
    statuses = []
    async with opened(library, place, era, user if forms else None) as client:
        expect(client.revision == era, f"it speaks {client.revision}")
        run = await client.told("paint-shed", {"who": "Ada"})
        while run["status"] in ("needs_input", "todo"):
            statuses.append(run["status"])
            report = {"run_id": run["run_id"], "ticket": run["ticket"]}
            if run["status"] == "todo":
                report |= {"outcome": "ok", "result": {"litres": LITRES}}
                run = await client.told("run_report", report)
            else:
                report["value"] = answer_to(run["question"]["prompt"])
                run = await client.told("run_answer", report)
        log = await client.read(f"maestro://runs/{run['run_id']}/log")
    expect(run["status"] == "completed", f"it ended as {run['status']}")
    expect(run["outputs"] == OUTPUTS, f"it hands back {run['outputs']}")
    asked = ["Which colour, Ada?\nHow many coats?", "Where does the lid of blue go?"]
    expect(user.asked == (asked if forms else []), f"the user was asked {user.asked}")
    expect(statuses == ([] if forms else ["needs_input"] * 3) + ["todo"], f"the model was told {statuses}")
    return place.transcript(run["run_id"], log)


async def offers(place, library, era):
    """What a server offers besides tools: a prompt, a completion, progress, news of a new skill, and every file of every skill."""
    async with bridge(library, place, era) as client:
        await offered(place, client, library)


async def offered(place, client, library):
    tools = {tool["name"] for tool in (await client.result("tools"))["tools"]}
    expect({"find_skills", "use_skill", "run_start", "paint-shed"} <= tools, f"it lists {tools}")
    prompt = await client.result("prompt", name="paint-shed", arguments={"who": "Ada"})
    expect("paint-shed" in str(prompt["messages"]), f"the prompt says {prompt}")
    templates = [template["uriTemplate"] for template in (await client.result("templates"))["resourceTemplates"]]
    [files] = [template for template in templates if template.startswith("skill://")]
    completion = {"ref": {"type": "ref/resource", "uri": files}, "argument": {"name": "skill", "value": "paint"}}
    values = (await client.result("complete", params=completion))["completion"]["values"]
    expect("paint-shed" in values, f"it completes {values}")
    place.write("dry.txt", "")
    run = await client.told("dry-shed", {})
    expect(run["status"] == "completed", f"it ended as {run}")
    progress = client.progress.get_nowait()["progress"]
    expect(progress["message"] == "Let it dry", f"the progress is {progress}")
    if library == "TypeScript 2":
        files = (await client.result("skills"))["files"]
        wrong = [file for file in files if not file["verified"]]
        expect(files and not wrong, f"of {len(files)} files these do not fit their entries: {wrong}")
    place.write_skill("open-gate", "Lift the latch.")
    missing = {f"notifications/{kind}/list_changed" for kind in ["tools", "prompts", "resources"]}
    while missing:
        missing.discard((await client.next_heard())["heard"])
