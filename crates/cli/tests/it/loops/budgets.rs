//! Do tasks and plans keep to what they may use up, and does the loop say so when it is gone?

use super::{Repository, goes_on_until, is_over, run_of, sessions, simple, simple_ones};
use crate::waiting::wait_until;

/// Each session uses 120 tokens and 30 cents, does what it is told, and reports.
const SPENDS: &str = "{\"do\":\"tokens\",\"input\":100,\"output\":20,\"cost_usd\":0.3}\n{\"do\":\"prompt\"}\n\
                      {\"do\":\"report\",\"words\":[\"complete\",\"done\"]}\n";

/// What waits until it may end.
const GATE: &str = "touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f2.txt\n";

#[test]
fn a_task_that_used_up_its_budget_is_not_even_reviewed_and_everybody_is_told_why() {
    let repository = Repository::with(&simple_ones(2)).acting(SPENDS);
    let stopped = repository.work("--task-tokens 120");
    assert_eq!(stopped.code, 1, "{stopped}");
    let why = "Stopped at: Add a file f1.txt that says number 1\n  The budget of the task is used up: 120 tokens were used, \
               and 120 are allowed. What passed is committed. To go on, begin again with a larger `--task-tokens`, or \
               `task_tokens` in the config.";
    assert!(stopped.stdout().contains(&why.replacen("Stopped", "stopped", 1)), "{stopped}");
    let status = repository.sandbox.maestro("loop status");
    let reason = why.split_once('\n').unwrap().1;
    assert!(status.stdout().contains(reason), "{status}");
    assert_eq!(repository.prompts().len(), 1, "nobody looked at it");
    assert_eq!(repository.commits(&Repository::branch(&run_of(&stopped))).len(), 0);
}

#[test]
fn the_sessions_of_a_task_share_its_budget_and_the_next_task_has_one_of_its_own() {
    let repository = Repository::with(&simple_ones(3)).acting(SPENDS);
    repository.sandbox.write(".maestro/config.toml", "skills_enabled = true\ntask_cost = 0.65\n");
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "two sessions for each of three tasks, 30 cents each: {worked}");
    let less = repository.work("--task-cost 0.3");
    assert_eq!(less.code, 1, "what is said with the command counts: {less}");
    assert!(less.stdout().contains("of the task is used up: $0.30 was spent, and $0.3 is allowed"), "{less}");
}

#[test]
fn a_plan_keeps_to_its_budget_over_all_its_tasks_and_over_servers() {
    let repository = Repository::with(&[]);
    let gate = repository.script("gate", GATE);
    repository.write_plan("PLAN.md", &[simple(1), gate.clone(), simple(3)]);
    repository.commit_all();
    let repository = repository.acting(SPENDS);
    let mut server = repository.sandbox.serve();
    let run = repository.begin("--no-review --plan-cost 0.6 --plan-tokens 1000");
    wait_until("the second task is at work", || repository.mark("begun").exists());
    let session = sessions(&server, &run).iter().find(|session| session["metadata"]["task"] == gate).unwrap().clone();
    let path = format!("/api/sessions/{}/transcript?limit=500", session["id"].as_str().unwrap());
    wait_until("what it spends is kept", || server.get(&path).to_string().contains("agent:usage"));
    server.kill();
    repository.set("go");
    let server = repository.sandbox.serve();
    let ended = goes_on_until(&server, &run, is_over);
    let message = ended["next"]["message"].as_str().unwrap();
    assert!(message.contains("The budget of the plan is used up: $0.60 was spent, and $0.6 is allowed."), "{message}");
    assert!(message.contains("`--plan-cost`, or `plan_cost`"), "{message}");
    assert_eq!(ended["next"]["finished"]["outcome"], "blocked");
    let commits = repository.commits(&Repository::branch(&run));
    let said: Vec<&str> = commits.iter().skip(1).map(|commit| commit.subject.as_str()).collect();
    assert_eq!(said, [simple(1).as_str(), gate.as_str()]);
    assert_eq!(sessions(&server, &run).len(), 2);
}

#[test]
fn an_agent_is_ended_when_what_is_left_is_gone() {
    // It would wait for ever.
    let repository = Repository::with(&[]);
    let gate = repository.script("gate", GATE);
    repository.write_plan("PLAN.md", &[simple(1), gate]);
    repository.commit_all();
    let repository = repository.acting(SPENDS);
    let spent = repository.work("--no-review --plan-cost 0.5");
    assert_eq!(spent.code, 1, "{spent}");
    assert!(spent.stdout().contains("of the plan is used up: $0.60 was spent, and $0.5 is allowed."), "{spent}");
    assert_eq!(repository.commits(&Repository::branch(&run_of(&spent))).len(), 2, "the plan, and the first task");
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
