//! Is anybody asked before an agent does what its part of a loop needs, and is it seen when somebody is?

use serde_json::json;

use super::{Repository, goes_on_until, is_over, sessions, simple};
use crate::execute::wait_until;

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
        assert!(!done.contains("Anything that must be mended"), "it is not told to look again: {done}");
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
    let line = format!("it asks: touch f1.txt; answer with `maestro session answer {session}`");
    assert!(log.stdout().contains(&line), "{log}");
    let answered = repository.sandbox.maestro_with(&["session", "answer", &session, "once"]);
    assert_eq!(answered.code, 0, "{answered}");
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_eq!(repository.commits(&Repository::branch(&run))[0].files, ["PLAN.md", "f1.txt"]);
}
