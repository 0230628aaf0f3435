//! The built-in workflows about sessions, tasks and hand-offs, walked to their ends: what they say they did is so.

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Says, Walked};
use crate::sandbox::Sandbox;

const SESSION: (&str, &str) = ("MAESTRO_SESSION_ID", "sess_mine");

/// A project with a task, and a session that works on it.
struct Office {
    sandbox: Sandbox,
    task: String,
}

impl Office {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        assert_eq!(sandbox.maestro("project create demo").code, 0);
        let task = sandbox.maestro_with(&["task", "create", "--title", "Count the bytes"]).id();
        Self { sandbox, task }
    }

    /// The same with a session that has begun the task.
    fn at_work() -> Self {
        let office = Self::new();
        let variables = [SESSION, ("MAESTRO_TASK_IDS", office.task.as_str())];
        for command in [&["session", "register"][..], &["task", "start", &office.task]] {
            let begun = office.sandbox.maestro_as(&variables, command);
            assert_eq!(begun.code, 0, "{begun}");
        }
        assert_eq!(office.status(), "in_progress");
        office
    }

    fn status(&self) -> String {
        let task = self.sandbox.maestro_with(&["task", "get", &self.task, "--json"]).json();
        task["status"].as_str().unwrap().to_owned()
    }

    /// Walks as the user does, with an answer or a report for each step.
    fn walk(&self, start: &[&str], script: impl FnMut(&str) -> Says) -> Walked {
        by_step(Agent::of(&self.sandbox), start, script)
    }

    /// Walks as the session does.
    fn walk_in_session(&self, start: &[&str], script: impl FnMut(&str) -> Says) -> Walked {
        by_step(Agent::of(&self.sandbox).with_variable(SESSION.0, SESSION.1), start, script)
    }
}

fn by_step(agent: Agent<'_>, start: &[&str], mut script: impl FnMut(&str) -> Says) -> Walked {
    agent.walk(start, &mut |directive: &Json| script(directive["step"]["id"].as_str().unwrap()))
}

fn answer(text: &str) -> Says {
    Says::Answer(text.to_owned())
}

#[test]
fn a_session_starts_in_the_terminal_with_what_was_given() {
    let office = Office::new();
    let args = ["workflow", "run", "session-start", "--yes", "--param", "role=worker", "--param", "name=Ada"];
    let started = office.sandbox.maestro_as(&[SESSION, ("MAESTRO_TASK_IDS", &office.task)], &args);
    assert_eq!(started.code, 0, "{started}");
    let printed = started.stdout();
    for said in ["I am **Ada**", "Count the bytes", "Ada works here as worker; the session is sess_mine."] {
        assert!(printed.contains(said), "{said}:\n{printed}");
    }
    let named = office.sandbox.maestro_as(&[SESSION], &["session", "info", "--json"]).json();
    assert_eq!(named["name"], "Ada (worker)");
}

#[test]
fn a_session_is_started_where_none_is_set() {
    let office = Office::new();
    let args = ["workflow", "run", "session-start", "--yes", "--param", "role=worker", "--param", "name=Ada"];
    let started = office.sandbox.maestro_with(&args);
    assert_eq!(started.code, 0, "{started}");
    let sessions = office.sandbox.maestro_with(&["session", "list", "--json"]).json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!((&sessions[0]["name"], &sessions[0]["status"]), (&json!("Ada (worker)"), &json!("working")));
    assert!(started.stdout().contains(sessions[0]["id"].as_str().unwrap()), "{started}");
}

#[test]
fn a_session_asks_for_role_and_name_until_they_fit() {
    let office = Office::new();
    let mut roles = ["wizard", "worker"].into_iter();
    let walked = office.walk_in_session(&["session-start"], |step| match step {
        "get-role-selection" => answer(roles.next().unwrap()),
        "confirm-name" => answer("Grace"),
        step => panic!("asked for {step}"),
    });
    assert_eq!(walked.finished["outcome"], "success");
    assert_eq!(walked.steps("session-start"), ["get-role-selection", "get-role-selection", "confirm-name"]);
    let refused = walked.told[1]["question"]["refused"].as_str().unwrap();
    assert!(refused.contains("wizard"), "{refused}");
    assert_eq!(walked.finished["outputs"]["name"], "Grace");
}

#[test]
fn a_session_without_a_role_does_not_begin() {
    let office = Office::new();
    let declined = office.sandbox.maestro("workflow run session-start --yes");
    assert_eq!(declined.code, 1, "{declined}");
    assert!(declined.stdout().contains("No session was started"), "{declined}");
}

#[test]
fn a_session_ends_with_its_task_settled() {
    let office = Office::at_work();
    let mut settled = 0;
    let task = office.task.clone();
    let walked = office.walk_in_session(&["session-end"], |step| match step {
        "summarise" => Says::Fields(json!({"done": "The bytes are counted.", "open": "", "next_steps": "Rest."})),
        "confirm" => answer("end"),
        "settle-task" => {
            settled += 1;
            match settled {
                1 => {
                    Says::Ended("completed".to_owned(), json!({"task": task, "note": "Tests ran.", "settled": [task]}))
                }
                _ => Says::Ended("none".to_owned(), json!({"task": "", "note": "", "settled": []})),
            }
        }
        "settle-handoff" => Says::Ended("none".to_owned(), json!({"handoff": "", "outcome": "", "settled": []})),
        step => panic!("asked for {step}"),
    });
    assert_eq!(walked.finished["outcome"], "success");
    assert!(walked.last.contains("Session sess_mine has ended."), "{}", walked.last);
    assert_eq!(office.status(), "completed");
    let session = office.sandbox.maestro_as(&[SESSION], &["session", "info", "--json"]).json();
    assert_eq!(session["status"], "completed");
    let left = session.to_string();
    assert!(left.contains("Session ends. Done: The bytes are counted."), "{left}");
}

#[test]
fn work_is_passed_on_after_the_user_agreed() {
    let office = Office::at_work();
    let mut drafts = 0;
    let mut wishes = ["change", "pass-on"].into_iter();
    let task = format!("task={}", office.task);
    let start = ["handoff-workflow", "--param", "from=worker", "--param", "to=architect", "--param", &task];
    let walked = office.walk_in_session(&start, |step| match step {
        "draft" => {
            drafts += 1;
            let title = if drafts == 1 { "Cont the bites" } else { "Count the bytes" };
            Says::Ended(
                "ok".to_owned(),
                json!({"title": title, "body": "## State\n\n-- dashes; `ticks` $(stay)", "questions": ""}),
            )
        }
        "approve" => answer(wishes.next().unwrap()),
        "ask-wishes" => answer("Spell it right."),
        step => panic!("asked for {step}"),
    });
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    assert_eq!(walked.steps("handoff-workflow"), ["draft", "approve", "ask-wishes", "draft", "approve"]);
    assert_eq!(walked.told[3]["data"]["said_by_user"], "Spell it right.");
    assert!(walked.told[0]["data"]["task"].as_str().unwrap().contains("Count the bytes"));
    let filed = office.sandbox.maestro("handoff list --json").json();
    assert_eq!(filed.as_array().unwrap().len(), 1);
    assert_eq!((&filed[0]["id"], &filed[0]["to"]), (&walked.finished["outputs"]["handoff"], &json!("architect")));
    assert_eq!((&filed[0]["title"], &filed[0]["taskId"]), (&json!("Count the bytes"), &json!(office.task)));
    assert_eq!(filed[0]["body"], "## State\n\n-- dashes; `ticks` $(stay)");
}

#[test]
fn a_task_is_made_found_changed_and_closed() {
    let office = Office::new();
    let walked = office.walk(&["task-management"], |step| match step {
        "which-action" => answer("create"),
        "ask-title" => answer("--weigh the $(bytes); | rest"),
        "ask-details" => Says::Declined,
        "ask-priority" => answer("high"),
        step => panic!("asked for {step}"),
    });
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    let tasks = office.sandbox.maestro("task list --json").json();
    let made = tasks.as_array().unwrap().iter().find(|task| task["priority"] == "high").unwrap();
    assert_eq!(made["title"], "--weigh the $(bytes); | rest");

    let id = office.task.clone();
    let mut ids = ["task_that_is_none".to_owned(), id.clone()].into_iter();
    let walked = office.walk(&["task-management"], |step| match step {
        "which-action" => answer("update"),
        "ask-update-id" => Says::Answer(ids.next().unwrap()),
        "ask-field" => answer("title"),
        "ask-new-title" => answer("Count all bytes"),
        step => panic!("asked for {step}"),
    });
    assert!(walked.last.contains("Count all bytes"), "{}", walked.last);
    assert!(walked.told[2]["question"]["refused"].is_string());

    let walked = office.walk(&["task-management"], |step| match step {
        "which-action" => answer("close"),
        "ask-close-id" => Says::Answer(id.clone()),
        "ask-how" => answer("completed"),
        step => panic!("asked for {step}"),
    });
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    assert_eq!(office.status(), "completed");
    let walked = office.walk(&["task-management"], |step| match step {
        "which-action" => answer("find"),
        "ask-filter" => answer("completed"),
        step => panic!("asked for {step}"),
    });
    assert!(walked.last.contains("Count all bytes") && !walked.last.contains("weigh"), "{}", walked.last);
}

#[test]
fn the_tasks_are_reported_and_one_is_begun() {
    let office = Office::new();
    let (task, mut next) = (office.task.clone(), ["details", "begin"].into_iter());
    let walked = office.walk(&["tasks-report", "--param", "role=worker"], |step| match step {
        "judge" => Says::Fields(json!({"attention": "", "next_task": task, "why": "It is the only one."})),
        "what-next" => answer(next.next().unwrap()),
        "ask-details" | "ask-begin" => Says::Answer(task.clone()),
        step => panic!("asked for {step}"),
    });
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    assert_eq!(walked.finished["outputs"]["next_task"], json!(office.task));
    assert_eq!(walked.told[0]["data"]["tree"].as_str().map(|tree| tree.contains("Count the bytes")), Some(true));
    assert_eq!(office.status(), "in_progress");
}
