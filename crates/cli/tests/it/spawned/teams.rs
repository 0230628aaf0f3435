//! Workers of an orchestrator: who may have them, and how many.

use serde_json::{Value as Json, json};

use super::{GATE, Stage, report, run};
use crate::waiting::wait_until;

/// An orchestrator's skill in the project, which allows as many workers at once.
fn allow(stage: &Stage, workers: u32) {
    let skill = ".maestro/skills/maestro-orchestrator";
    let manifest = json!({
        "name": "Maestro Orchestrator", "version": "1.0.0", "description": "Delegates.", "type": "role",
        "assignTo": ["orchestrator"], "dependencies": ["maestro-cli"],
        "config": { "maxWorkers": workers, "parallelExecution": true },
    });
    stage.sandbox.write(&format!("{skill}/manifest.json"), manifest.to_string());
    stage.sandbox.write(&format!("{skill}/skill.md"), "Delegate.\n");
}

/// Writes a script by which orchestrators ask for a worker for each task, one after the other, and workers wait.
fn delegate(stage: &Stage, tasks: &[String]) {
    let ask = |task: &String| {
        format!("maestro session spawn --task {task} --agent demo >> asked 2>> refused; echo $? >> codes; ")
    };
    let asks: String = tasks.iter().map(ask).collect();
    let command = format!("if [ $MAESTRO_ROLE = orchestrator ]; then {asks} touch went-on; fi; {GATE}");
    stage.script(&format!("{}{}", run(&command), report(&["complete", "done"])));
}

#[test]
fn an_orchestrator_has_as_many_workers_as_its_skill_allows() {
    let stage = Stage::scripted("");
    allow(&stage, 2);
    let goal = stage.task("Everything");
    let parts = [stage.task("One"), stage.task("Two"), stage.task("Three")];
    delegate(&stage, &parts);
    let orchestrator = stage.spawn(&goal, "--skill maestro-orchestrator");
    wait_until("the orchestrator went on", || stage.sandbox.path("went-on").exists());
    assert_eq!(stage.session(&orchestrator)["role"], "orchestrator");
    assert_eq!(stage.lines("codes"), ["0", "0", "5"], "{:?}", stage.lines("refused"));
    let refused = stage.lines("refused").join("\n");
    assert!(refused.contains("maxWorkers"), "{refused}");
    let body = json!({ "projectId": stage.project, "taskIds": [parts[2]], "agent": "demo" });
    let asked = stage.lines("asked");
    let begun = asked.iter().filter(|line| line.starts_with("sess_"));
    let workers: Vec<String> = begun.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    for worker in &workers {
        let worker = stage.session(worker);
        assert_eq!(
            worker["parentSessionId"].as_str().or(worker["metadata"]["spawnedBy"].as_str()),
            Some(orchestrator.as_str())
        );
        assert_eq!((&worker["role"], &worker["metadata"]["spawnSource"]), (&json!("worker"), &json!("session")));
    }
    // A person is bound by no such limit.
    let third = stage.server.make("/api/sessions/spawn", &body)["sessionId"].as_str().unwrap().to_owned();
    stage.sandbox.write("go", "");
    for session in workers.iter().chain([&orchestrator, &third]) {
        stage.wait_for(session, "completed");
    }
    assert_eq!(stage.server.get(&format!("/api/tasks/{goal}"))["status"], "completed");
}

/// An orchestrator that works until the gate opens.
struct Orchestrator {
    session: String,
    key: String,
}

impl Orchestrator {
    fn start(stage: &Stage) -> Self {
        stage.script(&run(&format!("echo $MAESTRO_SESSION_TOKEN > key; {GATE}")));
        let session = stage.spawn(&stage.task("Everything"), "--skill maestro-orchestrator");
        wait_until("the orchestrator is there", || !stage.lines("begun").is_empty());
        Self { session, key: stage.lines("key").concat() }
    }

    /// Asks for a session on a task, in its name.
    fn spawn(&self, stage: &Stage, task: &str) -> (u16, Json) {
        let body = json!({
            "projectId": stage.project, "taskIds": [task], "agent": "demo", "spawnSource": "session", "sessionId": self.session,
        });
        stage.server.ask("POST", "/api/sessions/spawn", Some(&self.key), Some(&body))
    }
}

#[test]
fn a_projects_skill_does_not_raise_the_limit_of_the_built_in_one() {
    let stage = Stage::scripted("");
    allow(&stage, 100);
    let parts: Vec<String> = (0..6).map(|number| stage.task(&format!("Part {number}"))).collect();
    let orchestrator = Orchestrator::start(&stage);
    let ask = |task: &String| orchestrator.spawn(&stage, task).0;
    assert_eq!(parts.iter().map(ask).collect::<Vec<_>>(), [201, 201, 201, 201, 201, 409]);
}

#[test]
fn one_too_many_is_a_conflict_that_names_the_limit() {
    let stage = Stage::scripted("");
    allow(&stage, 1);
    let parts = [stage.task("One"), stage.task("Two")];
    let orchestrator = Orchestrator::start(&stage);
    let ask = |task: &String| orchestrator.spawn(&stage, task);
    assert_eq!(ask(&parts[0]).0, 201);
    let (status, answer) = ask(&parts[1]);
    assert_eq!((status, &answer["code"]), (409, &json!("LIMIT_REACHED")), "{answer:#}");
    assert_eq!(answer["details"], json!({ "limit": "maxWorkers", "most": 1, "living": 1 }));
}

#[test]
fn a_worker_starts_nobody() {
    let stage = Stage::scripted("");
    let other = stage.task("Somebody else's");
    stage.script(&format!(
        "{}{}",
        run(&format!("maestro session spawn --task {other} --agent demo 2> refused; echo $? > code")),
        report(&["complete", "tried"])
    ));
    let (_, followed) = stage.follow("");
    assert_eq!(followed.code, 0, "{followed}");
    assert_eq!(stage.lines("code"), ["4"], "{:?}", stage.lines("refused"));
    assert_eq!(stage.server.get("/api/sessions").as_array().unwrap().len(), 1);
}

#[test]
fn a_worker_does_not_start_agents_by_a_run_either() {
    let command = "maestro --json loop PLAN.md --agent demo --in-place --detach > run 2> why; echo $? >> codes";
    let stage = Stage::scripted(&format!("{}{}", run(command), report(&["complete", "done"])));
    stage.sandbox.write("PLAN.md", "- [ ] Add a file no.txt that says no\n");
    stage.sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.org\n");
    for words in [&["init", "--quiet"][..], &["add", "PLAN.md"], &["commit", "--quiet", "--message=begin"]] {
        let mut git = std::process::Command::new("git");
        git.args(words).current_dir(stage.sandbox.project()).env("HOME", stage.sandbox.home());
        assert!(git.status().unwrap().success());
    }
    // What the script leaves is nobody's work.
    stage.sandbox.write(".git/info/exclude", "*\n");
    let worker = stage.spawn(&stage.task("Do it"), "--in-place");
    stage.settled(&worker);
    assert_eq!(stage.lines("codes"), ["0"], "{:?}", stage.lines("why"));
    let begun: serde_json::Value = serde_json::from_str(&stage.lines("run").concat()).unwrap();
    let begun = begun["id"].as_str().unwrap();
    wait_until("the run is over", || stage.server.get(&format!("/api/runs/{begun}"))["status"] == "cancelled");
    let sessions = stage.server.get("/api/sessions");
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions:#}");
}
