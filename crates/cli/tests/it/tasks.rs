//! `maestro task`: lists and trees, changes, and what comes of titles that nobody expected.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::worker::Desk;

/// A tree of five tasks: two at the top, three below the first.
fn forest() -> (Desk, [String; 5]) {
    let desk = Desk::new();
    let make = |title: &str, more: &[&str]| desk.person(&[&["task", "create", title], more].concat()).id();
    let form = make("Form", &["--parent", &desk.task]);
    let field = make("Field", &["--parent", &form, "--priority", "low"]);
    let tests = make("Tests", &["--parent", &desk.task]);
    let docs = make("Docs", &["--priority", "high"]);
    desk.person(&["task", "complete", &tests]);
    let ids = [desk.task.clone(), form, field, tests, docs];
    (desk, ids)
}

#[test]
fn a_list_shows_what_is_open() {
    let (desk, [top, ..]) = forest();
    assert_snapshot!(desk.person(&["task", "list"]), @"
    $ maestro task list
    [ ] [TASK-1]  Build the login
    [ ] [TASK-2]  Form
    [ ] [TASK-3]  Field  (low)
    [ ] [TASK-5]  Docs  (high)
    4 tasks, 1 closed one not shown (--all)
    ");
    assert_snapshot!(desk.person(&["task", "list", "--all"]), @"
    $ maestro task list --all
    [ ] [TASK-1]  Build the login
    [ ] [TASK-2]  Form
    [ ] [TASK-3]  Field  (low)
    [x] [TASK-4]  Tests
    [ ] [TASK-5]  Docs  (high)
    5 tasks
    ");
    assert_snapshot!(desk.person(&["task", "list", "--status", "completed"]), @"
    $ maestro task list --status completed
    [x] [TASK-4]  Tests
    1 task
    ");
    assert_snapshot!(desk.person(&["task", "list", &top, "--priority", "low"]), @"
    $ maestro task list [TASK-1] --priority low
    [ ] [TASK-3]  Field  (low)
    1 task
    ");
}

#[test]
fn a_tree_shows_how_tasks_lie() {
    let (desk, [_, form, ..]) = forest();
    assert_snapshot!(desk.person(&["task", "tree"]), @"
    $ maestro task tree
    [ ] [TASK-1]  Build the login
      [ ] [TASK-2]  Form
        [ ] [TASK-3]  Field  (low)
      [x] [TASK-4]  Tests
    [ ] [TASK-5]  Docs  (high)
    ");
    assert_snapshot!(desk.person(&["task", "tree", "--depth", "1"]), @"
    $ maestro task tree --depth 1
    [ ] [TASK-1]  Build the login
    [ ] [TASK-5]  Docs  (high)
    ");
    assert_snapshot!(desk.person(&["task", "tree", "--root", &form]), @"
    $ maestro task tree --root [TASK-2]
    [ ] [TASK-2]  Form
      [ ] [TASK-3]  Field  (low)
    ");
    assert_snapshot!(desk.person(&["task", "tree", "--status", "completed"]), @"
    $ maestro task tree --status completed
    [ ] [TASK-1]  Build the login
      [x] [TASK-4]  Tests
    ");
    let tree = desk.person(&["task", "tree", "--json"]).json();
    assert_eq!(tree[0]["children"][0]["children"][0]["title"], "Field");
    assert_eq!(tree[0]["children"].as_array().unwrap().len(), 2);
    assert_eq!(tree[1]["children"], serde_json::json!([]));
}

#[test]
fn children_are_direct_or_all() {
    let (desk, [top, ..]) = forest();
    assert_snapshot!(desk.person(&["task", "children", &top]), @"
    $ maestro task children [TASK-1]
    [ ] [TASK-2]  Form
    [x] [TASK-4]  Tests
    ");
    assert_snapshot!(desk.person(&["task", "children", &top, "--recursive"]), @"
    $ maestro task children [TASK-1] --recursive
    [ ] [TASK-2]  Form
      [ ] [TASK-3]  Field  (low)
    [x] [TASK-4]  Tests
    ");
}

#[test]
fn a_task_is_changed_and_removed() {
    let (desk, [top, form, _, _, docs]) = forest();
    assert_snapshot!(desk.person(&["task", "update", &docs, "--title", "Guide", "--desc", "For users", "--status", "in-progress"]), @r#"
    $ maestro task update [TASK-5] --title Guide --desc "For users" --status in-progress
    [TASK-5]  in_progress  Guide
    "#);
    assert_snapshot!(desk.person(&["task", "get", &docs]), @"
    $ maestro task get [TASK-5]
    [TASK-5] Guide
      in_progress, high priority
      | For users
    ");
    assert_snapshot!(desk.person(&["task", "block", &docs, "--reason", "Nobody knows how"]), @r#"
    $ maestro task block [TASK-5] --reason "Nobody knows how"
    [TASK-5]  blocked  Guide
    "#);
    assert_snapshot!(desk.person(&["task", "get", &docs]), @"
    $ maestro task get [TASK-5]
    [TASK-5] Guide
      blocked, high priority
      | For users
      |
      | Blocked: Nobody knows how
    ");
    assert_snapshot!(desk.person(&["task", "start", &docs]), @"
    $ maestro task start [TASK-5]
    [TASK-5]  in_progress  Guide
    ");
    assert_snapshot!(desk.person(&["task", "delete", &form]), @"
    $ maestro task delete [TASK-2]
    Deleted.
    ");
    assert_snapshot!(desk.person(&["task", "tree"]), @"
    $ maestro task tree
    [ ] [TASK-1]  Build the login
      [ ] [TASK-3]  Field  (low)
      [x] [TASK-4]  Tests
    [~] [TASK-5]  Guide  (high)
    ");
    assert_snapshot!(desk.person(&["task", "delete", &top, "--cascade"]), @"
    $ maestro task delete [TASK-1] --cascade
    Deleted with its subtasks.
    ");
    assert_snapshot!(desk.person(&["task", "tree"]), @"
    $ maestro task tree
    [~] [TASK-5]  Guide  (high)
    ");
}

#[test]
fn a_change_that_is_none_or_not_allowed_says_what_is() {
    let desk = Desk::new();
    assert_snapshot!(desk.person(&["task", "update", &desk.task]), @"
    $ maestro task update [TASK-1]
    --- stderr
    error: no change given
    hint: pass --status, --priority, --title, --desc or --message
    --- exit 1
    ");
    desk.person(&["task", "complete", &desk.task]);
    assert_snapshot!(desk.person(&["task", "update", &desk.task, "--status", "blocked"]), @"
    $ maestro task update [TASK-1] --status blocked
    --- stderr
    error: a task that is completed cannot become blocked; possible: todo, in_progress, in_review, archived
    hint: nothing was changed
    --- exit 1
    ");
    assert_snapshot!(desk.person(&["task", "update", &desk.task, "--status", "banana"]), @"
    $ maestro task update [TASK-1] --status banana
    --- stderr
    error: invalid value `banana` for `--status <STATUS>`: must be one of todo, in_progress, in_review, blocked, completed, cancelled, archived
    hint: run `maestro task update --help` for its arguments and options
    --- exit 1
    ");
    assert_snapshot!(desk.person(&["task", "create"]), @r#"
    $ maestro task create
    --- stderr
    error: missing argument: TITLE
    hint: for example: `maestro task create "Fix the login"`
    --- exit 1
    "#);
    assert_snapshot!(desk.person(&["task", "create", "  "]), @r#"
    $ maestro task create "  "
    --- stderr
    error: Task title is required
    hint: nothing was changed
    --- exit 1
    "#);
}

#[test]
fn a_message_goes_on_the_timeline_with_the_status() {
    let desk = Desk::new();
    assert_snapshot!(desk.person(&["task", "update", &desk.task, "--status", "blocked", "--message", "No key"]), @r#"
    $ maestro task update [TASK-1] --status blocked --message "No key"
    --- stderr
    error: task `[TASK-1]` has no session, so there is no timeline for a message
    hint: omit --message, or use --desc; nothing was changed
    --- exit 1
    "#);
    assert_eq!(desk.person(&["task", "get", &desk.task, "--json"]).json()["status"], "todo", "nothing was changed");
    let session = desk.begin();
    let update = |args: &[&str]| desk.session(&session, &[&["task", "update", &desk.task], args].concat());
    assert_snapshot!(update(&["--status", "blocked", "--message", "No key"]), @r#"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro task update [TASK-1] --status blocked --message "No key"
    [TASK-1]  blocked  Build the login
    "#);
    assert_snapshot!(update(&["--message", "Looking for it"]), @r#"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro task update [TASK-1] --message "Looking for it"
    [TASK-1]  blocked  Build the login
    "#);
    assert_snapshot!(update(&["--status", "failed", "--message", "Lost"]), @"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro task update [TASK-1] --status failed --message Lost
    [TASK-1]  blocked  Build the login
    ");
    assert_snapshot!(desk.worker(&["task", "update", &desk.task, "--status", "in_progress", "--message", "Found"]), @"
    $ MAESTRO_TASK_ID=[TASK-1] maestro task update [TASK-1] --status in_progress --message Found
    [TASK-1]  in_progress  Build the login
    ");
    assert_snapshot!(desk.person(&["task", "update", &desk.task, "--message", "Well done"]), @r#"
    $ maestro task update [TASK-1] --message "Well done"
    [TASK-1]  in_progress  Build the login
    "#);
    assert_snapshot!(desk.person(&["session", "get", &session]), @"
    $ maestro session get [SESSION-1]
    [SESSION-1] Session for Build the login
      worker, working, in [PROJECT-1]
      asks: No key
      tasks: [TASK-1]
      session_started  Session created
      task_started     Started working on task
      progress         Hello
      task_blocked     No key
      progress         Looking for it
      error            Lost
      progress         Found
      progress         Well done
    ");
}

#[test]
fn no_title_steers_the_terminal_or_breaks_a_list() {
    let desk = Desk::new();
    let evil = "Wipe \u{1b}[2J it\u{7}\nnow \u{202e}txt.exe";
    let id = desk.person(&["task", "create", evil, "--parent", &desk.task]).id();
    let long = "é".repeat(10_000);
    desk.person(&["task", "create", &long, "--parent", &desk.task]).id();
    for args in [
        &["task", "list"][..],
        &["task", "tree"],
        &["task", "get", &id],
        &["task", "children", &desk.task],
        &["task", "update", &id, "--priority", "high"],
    ] {
        let output = desk.person(args);
        let shown = output.stdout() + &output.stderr();
        assert_eq!(output.code, 0, "{output}");
        assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
        assert!(shown.contains(r"Wipe \u{1b}[2J it\u{7} now \u{202e}txt.exe"), "{shown:?}");
    }
    for args in [&["info"][..], &["subtask", "list"], &["update"]] {
        let shown = desk.worker(args).stdout();
        assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
    }
    assert!(desk.person(&["task", "list"]).stdout().contains(&long), "nothing is cut where nobody looks");
    assert_eq!(desk.person(&["task", "get", &id, "--json"]).json()["title"], evil, "programs get it as it is");
}

#[test]
fn a_tree_is_one_question_however_many_tasks() {
    let desk = Desk::new();
    let server = desk.sandbox.serve();
    let counter = crate::network::Counter::before(server.url());
    for number in 0..5 {
        desk.person(&["task", "create", &format!("Part {number}"), "--parent", &desk.task]);
    }
    let tree = desk
        .sandbox
        .maestro_as(&[("MAESTRO_API_URL", &counter.url), ("MAESTRO_PROJECT_ID", &desk.project)], &["task", "tree"]);
    assert_eq!((tree.code, tree.stdout().lines().count()), (0, 6), "{tree}");
    assert_eq!(counter.requests(), 3, "the project, all its tasks, and the ids for short ones");
}

#[test]
fn unknown_tasks_and_projects_are_not_found() {
    let desk = Desk::new();
    for args in [
        "task get task_0_nothing00",
        "task children nothing",
        "task update nothing --title x",
        "task start nothing",
        "task complete nothing",
        "task block nothing --reason x",
        "task delete nothing",
        "task tree --root nothing",
        "task list nothing",
        "task list --project nothing",
        "task create x --parent nothing",
        "session get nothing",
        "session pause nothing",
        "session rename nothing x",
        "session list --task nothing",
        "say nothing hello",
        "project get nothing",
        "project delete nothing",
        "status --project nothing",
        "queue push nothing --session nothing",
    ] {
        let output = desk.sandbox.maestro(args);
        assert_eq!((output.code, output.stdout().as_str()), (2, ""), "{output}");
    }
    assert_snapshot!(desk.sandbox.maestro("task get nothing"), @"
    $ maestro task get nothing
    --- stderr
    error: Task with id 'nothing' not found
    hint: run `maestro task list --all` for the tasks of a project
    --- exit 2
    ");
    assert_snapshot!(desk.sandbox.maestro("task get nothing --json"), @r#"
    $ maestro task get nothing --json
    {
      "success": false,
      "error": "resource_not_found",
      "message": "Task with id 'nothing' not found",
      "details": {
        "causes": []
      },
      "suggestion": "run `maestro task list --all` for the tasks of a project"
    }
    --- exit 2
    "#);
    for args in [&["task", "get", "../x"][..], &["session", "get", ""], &["project", "get", "a b"]] {
        assert_eq!(desk.person(args).code, 1, "no id at all");
    }
    assert_snapshot!(desk.person(&["task", "get", "../x"]), @"
    $ maestro task get ../x
    --- stderr
    error: invalid value `../x` for `ID`: an id is 1 to 64 letters, digits, `_` or `-`
    hint: run `maestro task get --help` for its arguments and options
    --- exit 1
    ");
    let unknown = [("MAESTRO_TASK_ID", "task_gone")];
    for args in [&["info"][..], &["update", "x"], &["complete"], &["subtask", "list"], &["task", "list"]] {
        assert_eq!(desk.sandbox.maestro_as(&unknown, args).code, 2, "{args:?}");
    }
}

#[test]
fn a_directory_belongs_to_the_nearest_project_above_it() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("front/src")).unwrap();
    std::fs::create_dir_all(sandbox.path("frontier")).unwrap();
    sandbox.maestro("project create whole").id();
    let front = sandbox.maestro("project create front -d front").id();
    let project = |dir: &str| sandbox.maestro_in(dir, &["status", "--json"]).json()["project"].clone();
    assert_eq!(project("front/src")["id"], front.as_str());
    assert_eq!(project("front")["name"], "front");
    assert_eq!(project("frontier")["name"], "whole");
    assert_eq!(
        sandbox.maestro_in("frontier", &["status", "--json", "--project", &front]).json()["project"]["id"],
        front.as_str()
    );
    let env = [("MAESTRO_PROJECT_ID", front.as_str())];
    assert_eq!(sandbox.maestro_as(&env, &["status", "--json"]).json()["project"]["id"], front.as_str());
}
