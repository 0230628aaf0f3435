"""Nothing is done twice, whatever is repeated, breaks down, comes back late or is forged."""

from place import ANSWERS, LITRES, OUTPUTS, Place, answer_to, expect, filled_in
from raw import speak

ARGUMENTS = {"who": "Ada"}
FIRST = "Which colour, Ada?\nHow many coats?"
SECOND = "Where does the lid of blue go?"
INVALID_PARAMS = -32602


def asked(result, message, answer=answer_to):
    """What the same call is made with again: the state that came with a question, and the form filled in."""
    expect(result["resultType"] == "input_required", f"it asks nothing: {result}")
    [(name, request)] = result["inputRequests"].items()
    form = request["params"]
    expect(message in form["message"], f"it asks {form['message']!r}")
    accepted = {"action": "accept", "content": filled_in(form["requestedSchema"]["properties"], answer)}
    return {"requestState": result["requestState"], "inputResponses": {name: accepted}}


def to_do(result):
    run = result["structuredContent"]
    expect(run["status"] == "todo", f"nothing is to be done: {run}")
    return run


def report(client, run):
    """Reports the agent's step, with which the run is over."""
    arguments = {"run_id": run["run_id"], "ticket": run["ticket"], "outcome": "ok", "result": {"litres": LITRES}}
    return over(client.call("run_report", arguments))


def over(result):
    run = result["structuredContent"]
    expect(run["status"] == "completed" and run["outputs"] == OUTPUTS, f"the run is not over: {run}")
    return run


def finished(place, client, tool, arguments, again):
    """Answers both forms and reports."""
    again = asked(client.call(tool, arguments, **again), SECOND)
    run = report(client, to_do(client.call(tool, arguments, **again)))
    return place.transcript(run["run_id"], client.log(run["run_id"]))


def at_once(client, tool, arguments, **more):
    """What the same call results in that is made twice at the same time."""
    both = [client.begin("tools/call", {"name": tool, "arguments": arguments, **more}) for _ in range(2)]
    return [client.answer(number)["result"] for number in both]


def otherwise(again):
    """The same state with another answer."""
    [(name, accepted)] = again["inputResponses"].items()
    other = accepted | {"content": {field: "red" for field in accepted["content"]}}
    return again | {"inputResponses": {name: other}}


def retry(place):
    """Every call is repeated: at the same time, later, and with other answers, which come too late."""
    client = speak(place)
    again = asked(client.call("paint-shed", ARGUMENTS), FIRST)

    def repeated(again):
        results = at_once(client, "paint-shed", ARGUMENTS, **again)
        return [*results, *(client.call("paint-shed", ARGUMENTS, **late) for late in [again, otherwise(again)])]

    again = [asked(result, SECOND) for result in repeated(again)][-1]
    runs = [to_do(result) for result in repeated(again)]
    expect(all(run == runs[0] for run in runs), f"the repeated calls tell something else: {runs}")
    expect(report(client, runs[0]) == report(client, runs[0]), "the repeated report tells something else")
    return place.transcript(runs[0]["run_id"], client.log(runs[0]["run_id"]))


def crash(place):
    """The server is killed after each question. Another one refuses its states, which ended with it, and asks again."""
    client = speak(place)
    again = asked(client.call("paint-shed", ARGUMENTS), FIRST)
    place.crash()
    client = speak(place)
    refused(client, "paint-shed", ARGUMENTS, again)
    run = {"run_id": only_run(client)}
    again = asked(client.call("run_next", run), FIRST)
    again = asked(client.call("run_next", run, **again), SECOND)
    place.crash()
    client = speak(place)
    refused(client, "run_next", run, again)
    again = asked(client.call("run_next", run), SECOND)
    told = to_do(client.call("run_next", run, **again))
    place.crash()
    over = report(speak(place), told)
    return place.transcript(over["run_id"], speak(place).log(over["run_id"]))


def crash_while_asking(place):
    """The server is killed while it waits for a form; from another one the model hears the same question."""
    client = speak(place, "2025-11-25")
    client.hear(client.begin("tools/call", {"name": "paint-shed", "arguments": ARGUMENTS}), is_form)
    place.crash()
    client = speak(place, "2025-11-25", forms=False)
    return by_the_model(place, client, client.call("run_next", {"run_id": only_run(client)}))


def is_form(message):
    return message.get("method") == "elicitation/create"


def only_run(client):
    """The run that is not over."""
    runs = client.call("run_status", {})["structuredContent"]["runs"]
    expect(len(runs) == 1, f"these runs are open: {runs}")
    return runs[0]["run_id"]


def crash_of_the_models_question(place):
    """The server is killed after it told the model to ask, and another one is told the answer."""
    result = speak(place, "2025-11-25", forms=False).call("paint-shed", ARGUMENTS)
    place.crash()
    return by_the_model(place, speak(place, "2025-11-25", forms=False), result)


def by_the_model(place, client, result):
    """The model asks the three questions, and tells each answer twice."""
    for step, answer in ANSWERS.items():
        run = result["structuredContent"]
        expect((run["status"], run.get("step")) == ("needs_input", step), f"it does not ask for {step}: {run}")
        for _ in range(2):
            result = client.call("run_answer", {"run_id": run["run_id"], "ticket": run["ticket"], "value": answer})
    run = report(client, to_do(result))
    return place.transcript(run["run_id"], client.log(run["run_id"]))


def crash_of_a_command(place):
    """A command whose server is killed ends, and is not executed again by itself: the user says what became of it."""
    client = speak(place)
    client.begin("tools/call", {"name": "dry-shed", "arguments": {}})
    pids = place.waiting_pids()
    place.crash()
    place.wait_for_the_end(pids)
    client = speak(place)
    arguments = {"run_id": only_run(client)}
    again = asked(client.call("run_next", arguments), "it is unknown whether it was done", lambda _: "done")
    ended = client.call("run_next", arguments, **again)["structuredContent"]
    expect(ended["status"] == "completed", f"it ended as {ended}")
    expect(place.read("begun.txt") == "begun\n", f"the command was executed: {place.read('begun.txt')!r}")


def replay(place):
    """The states of a run that is over, with other answers too, tell how it ended; another server refuses them."""
    client = speak(place)
    first = asked(client.call("paint-shed", ARGUMENTS), FIRST)
    second = asked(client.call("paint-shed", ARGUMENTS, **first), SECOND)
    run = report(client, to_do(client.call("paint-shed", ARGUMENTS, **second)))
    before = client.log(run["run_id"])
    late = [first, otherwise(first), second, otherwise(second)]
    for again in late:
        expect(over(client.call("paint-shed", ARGUMENTS, **again)) == run, "the run ended otherwise")
    place.crash()
    client = speak(place)
    for again in late:
        refused(client, "paint-shed", ARGUMENTS, again)
    expect(client.log(run["run_id"]) == before, "something happened to a run that is over")
    return place.transcript(run["run_id"], before)


def key(place):
    """The same key begins the same run: at the same time, after a crash, and when it is over."""
    begin = {"workflow": "paint-shed", "params": ARGUMENTS, "key": "the-shed-of-ada"}
    for result in at_once(speak(place), "run_start", begin):
        asked(result, FIRST)
    place.crash()
    client = speak(place)
    done = finished(place, client, "run_start", begin, asked(client.call("run_start", begin), FIRST))
    over(client.call("run_start", begin))
    return done


def forged(place):
    """A state that was changed, of another tool, or of another user's is refused, and nothing happens."""
    client = speak(place)
    again = asked(client.call("paint-shed", ARGUMENTS), FIRST)
    refused(client, "run_start", {"workflow": "paint-shed", "params": ARGUMENTS}, again)
    refused(client, "dry-shed", {}, again)
    state = again["requestState"]
    for changed in ["", "nonsense", state[:-1], state + "A", *changes(state)]:
        refused(client, "paint-shed", ARGUMENTS, again | {"requestState": changed})
    with Place(place.maestro, place.transport) as other:
        refused(speak(other), "paint-shed", ARGUMENTS, again)
        expect(other.read("mixed.txt") == "", "another user's state began something")
    return finished(place, client, "paint-shed", ARGUMENTS, again)


def changes(state):
    """The state with one letter changed, at every place."""
    for place, letter in enumerate(state):
        yield state[:place] + ("B" if letter == "A" else "A") + state[place + 1:]


def refused(client, tool, arguments, again):
    """A state is refused, and the model reads how it goes on."""
    error = client.ask("tools/call", {"name": tool, "arguments": arguments, **again}).get("error", {})
    expect(error.get("code") == INVALID_PARAMS, f"{tool} takes the state {again['requestState']!r}: {error}")
    expect("`run_status`" in error["message"], f"it is not said how to go on: {error}")


CASES = {
    "calls repeated": retry,
    "killed after a question": crash,
    "killed while it asks": crash_while_asking,
    "killed after the model was told to ask": crash_of_the_models_question,
    "killed while it executes": crash_of_a_command,
    "states after the end": replay,
    "the same key": key,
    "forged states": forged,
}
# These are about the earlier protocol; the others need states, which only today's has.
EARLIER = [crash_while_asking, crash_of_the_models_question]
