//! Is anybody asked before an agent does what its part of a loop needs, and is it seen when somebody is?

use serde_json::json;

use super::{Repository, goes_on_until, is_over, sessions, simple, state};
use crate::waiting::wait_until;

/// A repository in which the demo agent asks before it runs a command, as real agents do.
fn asking(tasks: &[String]) -> Repository {
    let repository = Repository::with(tasks);
    repository.sandbox.write("~/.config/maestro/agents.toml", "[demo]\nprefer = [\"acp\"]\n");
    repository
}

fn begin(repository: &Repository, words: &str) -> String {
    repository.sandbox.maestro(&format!("loop PLAN.md --agent demo --detach {words}")).id()
}

#[test]
fn with_the_usual_rights_nobody_is_asked_for_work_and_verdicts() {
    let tasks = [simple(1), "Add a file f2.txt that says it fails its first review".to_owned()];
    let repository = asking(&tasks);
    let server = repository.sandbox.serve();
    let run = begin(&repository, "");
    let ended = goes_on_until(&server, &run, |state| {
        assert_eq!(server.get("/api/permissions"), json!([]));
        is_over(state)
    });
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_eq!(repository.commits(&Repository::branch(&run)).len(), 2);
    let all = sessions(&server, &run);
    assert_eq!(all.len(), 6, "one review failed");
    let reviews = all.iter().filter(|session| session["metadata"]["step"] == "look");
    for review in reviews {
        let done = server.get(&format!("/api/sessions/{}/transcript", review["id"].as_str().unwrap())).to_string();
        assert!(done.contains("It counts once your session has ended"), "{done}");
        assert!(!done.contains("Anything that must be fixed"), "it is not told to look again: {done}");
    }
}

#[test]
fn who_watches_a_loop_sees_what_its_agent_asks() {
    let repository = asking(&["Run touch f1.txt".to_owned()]);
    let server = repository.sandbox.serve();
    let run = begin(&repository, "--no-review");
    wait_until("it asks", || server.get("/api/permissions") != json!([]));
    let session = sessions(&server, &run)[0]["id"].as_str().unwrap().to_owned();
    let log = repository.sandbox.maestro_with(&["loop", "log", &run]);
    let log_text = log.stdout();
    let short = log_text.split("asks: touch f1.txt\n      answer with `maestro session answer ").nth(1).unwrap();
    let (short, answers) = short.split('`').next().unwrap().split_once(' ').unwrap();
    assert!(crate::sandbox::is_short_for(short, &session) && answers == "once|always|deny", "{log}");
    let answered = repository.sandbox.maestro_with(&["session", "answer", &session, "once"]);
    assert_eq!(answered.code, 0, "{answered}");
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_eq!(repository.commits(&Repository::branch(&run))[0].files, ["PLAN.md", "f1.txt"]);
}

#[test]
fn a_verdict_that_the_step_does_not_know_is_refused_while_somebody_can_mend_it() {
    let repository = Repository::with(&[]);
    let task =
        repository.script("waits", "echo $MAESTRO_SESSION_TOKEN > HOME/token; touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f1.txt\n");
    repository.write_plan("PLAN.md", &[task]);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    wait_until("it works", || repository.mark("begun").exists());
    let token = std::fs::read_to_string(repository.mark("token")).unwrap();
    let ticket = state(&server, &run)["next"]["directive"]["ticket"].clone();
    let report = |outcome: &str| {
        let body = json!({ "ticket": ticket, "outcome": outcome });
        let path = format!("/api/runs/{run}/report");
        server.ask("POST", &path, Some(token.trim()), Some(&body))
    };
    let (status, answer) = report("perhaps");
    assert_eq!(status, 422, "{answer:#}");
    assert_eq!(report("ok").0, 200);
    repository.set("go");
    assert_eq!(goes_on_until(&server, &run, is_over)["status"], "completed");
}
