//! Do tasks and plans keep to what they may use up, and does the loop say so when it is gone?

use serde_json::json;

use super::{Repository, goes_on_until, is_over, run_of, sessions, simple, simple_ones};
use crate::served::Server;
use crate::waiting::wait_until;

/// Each session uses 120 tokens and 30 cents, does what it is told, and reports.
const SPENDS: &str = "{\"do\":\"tokens\",\"input\":100,\"output\":20,\"cost_usd\":0.3}\n{\"do\":\"prompt\"}\n\
                      {\"do\":\"report\",\"words\":[\"complete\",\"done\"]}\n";

/// What waits until it may end.
const GATE: &str = "touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f2.txt\n";

/// An agent that spends, and then waits for the mark `goN` before it works, N being how many files there are: one that
/// is done cannot be asked any more.
fn spending(repository: Repository) -> Repository {
    let go = repository.mark("go").display().to_string();
    let command = format!("n=$(ls | grep -c '^f'); until [ -e {go}$n ]; do sleep 0.02; done");
    let wait = json!({ "do": "run", "command": command });
    let acts = SPENDS.replacen("{\"do\":\"prompt\"}", &format!("{wait}\n{{\"do\":\"prompt\"}}"), 1);
    repository.acting(&acts)
}

/// Waits until an agent that reached a limit asks, and answers.
fn answer(repository: &Repository, server: &Server, answer: &str) -> String {
    wait_until("it asks", || server.get("/api/permissions") != json!([]));
    let question = server.get("/api/permissions")[0].clone();
    let session = question["sessionId"].as_str().unwrap();
    let answered = repository.sandbox.maestro_with(&["session", "answer", session, answer]);
    assert_eq!(answered.code, 0, "{answered}");
    question["title"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_that_reaches_a_limit_is_paused_and_a_person_is_asked() {
    let repository = Repository::with(&simple_ones(2)).acting(SPENDS);
    let server = repository.sandbox.serve();
    let run = repository.begin("--task-tokens 120");
    let asked = answer(&repository, &server, "once");
    assert_eq!(asked, "the limit of 120 tokens is reached; continue with as much again?");
    // What was allowed for the first task is not allowed for the second.
    answer(&repository, &server, "deny");
    let ended = goes_on_until(&server, &run, is_over);
    let message = ended["next"]["message"].as_str().unwrap();
    // Who looks at the second one has nothing left, and did nothing.
    let why = "Stopped at: Add a file f2.txt that says number 2\nThe budget of the task is used up: 120 tokens were used, \
               and 120 are allowed. What passed is committed.";
    assert!(message.starts_with(why), "{message}");
    let status = repository.sandbox.maestro("loop status");
    assert!(status.stdout().contains("The budget of the task is used up: "), "{status}");
    assert_eq!(repository.commits(&Repository::branch(&run)).len(), 1, "what passed is committed");
}

#[test]
fn a_task_and_a_day_have_a_limit_that_nobody_set() {
    let repository = Repository::with(&simple_ones(1));
    let shown = repository.sandbox.maestro("config show --json").json();
    assert_eq!(shown["settings"]["task_cost"]["value"], json!(5.0));
    assert_eq!(shown["settings"]["max_cost_day"]["value"], json!(50.0));
    repository.sandbox.write(".maestro/config.toml", "skills_enabled = true\nmax_cost_day = 1\n");
    let refused = repository.sandbox.maestro("config show");
    assert!(refused.to_string().contains("a project may not set `max_cost_day`"), "{refused}");
}

#[test]
fn all_runs_of_a_day_share_its_limit() {
    let repository = spending(Repository::with(&simple_ones(2)));
    repository.sandbox.write("~/.config/maestro/config.toml", "max_cost_day = 0.5\n");
    repository.set("go0");
    let first = repository.work("--no-review --once");
    assert_eq!(first.code, 0, "{first}");
    // The second run begins where the first one did, and its agent must still be at work when it is asked.
    std::fs::remove_file(repository.mark("go0")).unwrap();
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review --once --yes");
    assert!(answer(&repository, &server, "once").contains("$0.5 is reached"));
    repository.set("go0");
    repository.set("go1");
    assert_eq!(goes_on_until(&server, &run, is_over)["status"], "completed");
}

#[test]
fn the_sessions_of_a_task_share_its_budget_and_the_next_task_has_one_of_its_own() {
    let repository = Repository::with(&simple_ones(3)).acting(SPENDS);
    repository.sandbox.write(".maestro/config.toml", "skills_enabled = true\ntask_cost = 0.65\n");
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "two sessions for each of three tasks, 30 cents each: {worked}");
    let server = repository.sandbox.serve();
    let run = repository.begin("--task-cost 0.3 --yes");
    answer(&repository, &server, "deny");
    let message = goes_on_until(&server, &run, is_over)["next"]["message"].to_string();
    assert!(message.contains("$0.3 is allowed"), "what is said with the command counts: {message}");
}

#[test]
fn a_plan_keeps_to_its_budget_over_all_its_tasks_and_over_servers() {
    let repository = Repository::with(&[]);
    let gate = repository.script("gate", GATE);
    repository.write_plan("PLAN.md", &[simple(1), gate.clone(), simple(3)]);
    repository.commit_all();
    let repository = spending(repository);
    repository.set("go0");
    repository.set("go1");
    let mut server = repository.sandbox.serve();
    let run = repository.begin("--no-review --plan-cost 0.6 --plan-tokens 1000");
    wait_until("the second task is at work", || repository.mark("begun").exists());
    let session = sessions(&server, &run).iter().find(|session| session["metadata"]["task"] == gate).unwrap().clone();
    let path = format!("/api/sessions/{}/transcript?limit=500", session["id"].as_str().unwrap());
    wait_until("what it spends is kept", || server.get(&path).to_string().contains("agent:usage"));
    server.kill();
    repository.set("go");
    let server = repository.sandbox.serve();
    answer(&repository, &server, "deny");
    let ended = goes_on_until(&server, &run, is_over);
    let message = ended["next"]["message"].as_str().unwrap();
    assert!(message.contains("The budget of the plan is used up: "), "{message}");
    assert!(message.contains("`--plan-cost`, or `plan_cost`"), "{message}");
    assert_eq!(ended["next"]["finished"]["outcome"], "blocked");
    let commits = repository.commits(&Repository::branch(&run));
    let said: Vec<&str> = commits.iter().skip(1).map(|commit| commit.subject.as_str()).collect();
    assert_eq!(said, [simple(1).as_str(), gate.as_str()]);
    assert_eq!(sessions(&server, &run).len(), 3, "the third asked and did nothing");
}

#[test]
fn an_agent_is_ended_when_what_is_left_is_gone() {
    // It would wait for ever.
    let repository = Repository::with(&[]);
    let gate = repository.script("gate", GATE);
    repository.write_plan("PLAN.md", &[simple(1), gate]);
    repository.commit_all();
    let repository = spending(repository);
    repository.set("go0");
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review --plan-cost 0.5");
    answer(&repository, &server, "deny");
    let message = goes_on_until(&server, &run, is_over)["next"]["message"].to_string();
    assert!(message.contains("of the plan is used up: $0.60 was spent, and $0.5 is allowed."), "{message}");
    assert_eq!(repository.commits(&Repository::branch(&run)).len(), 2, "the plan, and the first task");
    drop(server);
    // The same command goes on with what it says now.
    let late = repository.work("--no-review --task-minutes 0.05 --yes");
    assert_eq!(late.code, 1, "{late}");
    let told = late.stdout();
    assert!(
        told.contains("of the task is used up: agents worked 0.") && told.contains("and 0.05 are allowed."),
        "{late}"
    );
    repository.nothing_left(None);
}

#[test]
fn a_budget_is_more_than_nothing_and_a_project_does_not_raise_it() {
    let repository = Repository::with(&simple_ones(1));
    for wrong in ["--task-cost 0", "--plan-minutes -1", "--plan-cost much", "--task-tokens 0"] {
        let refused = repository.work(wrong);
        assert_eq!(refused.code, 1, "{refused}");
        assert!(repository.prompts().is_empty());
    }
    repository.sandbox.write("~/.config/maestro/config.toml", "plan_cost = 1\n");
    repository.sandbox.write(".maestro/config.toml", "skills_enabled = true\nplan_cost = 100.0\n");
    let shown = repository.sandbox.maestro("config show");
    assert!(shown.to_string().contains("a project may not set `plan_cost` to more than you allow"), "{shown}");
}

#[test]
fn another_agent_takes_over_at_a_limit() {
    let repository = Repository::with(&simple_ones(1));
    let acts = "{\"do\":\"tokens\",\"input\":1,\"output\":1,\"cost_usd\":0.3}\nSay it goes on\n{\"do\":\"hang\"}\n";
    repository.sandbox.write("~/first", acts);
    // The demo agent by another name, with a script of its own.
    let table = format!(
        "[first]\nprefer = [\"json\"]\nenv = {{ MAESTRO_DEMO_SCRIPT = \"{}\" }}\nwrites = [\"{{state}}/maestro-demo\"]\n\
         [first.json]\nprograms = [\"maestro\"]\nargs = [\"demo-agent\"]\nprompt = \"stdin\"\nformat = \"events\"\n",
        repository.sandbox.path("~/first").display()
    );
    repository.sandbox.write("~/.config/maestro/agents.toml", table);
    let words = "loop PLAN.md --agent first --fallback demo --no-review --permission all --task-cost 0.2";
    let worked = repository.sandbox.maestro(words);
    assert_eq!(worked.code, 0, "{worked}");
    let all = repository.sandbox.maestro("session list --all --json").json();
    assert_eq!(all[0]["agentId"], json!("demo"), "{all:#}");
    let told = repository.sandbox.maestro("events --json").stdout();
    assert!(told.contains("`demo` takes over"), "{told}");
    assert_eq!(repository.commits(&Repository::branch(&run_of(&worked))).len(), 1);
}
