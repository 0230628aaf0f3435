//! `maestro project`: the directories in which work is done.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

#[test]
fn projects_are_made_listed_and_removed() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("project list"), @"
    $ maestro project list
    No projects; run `maestro project create NAME` to create one for this directory
    ");
    assert_snapshot!(sandbox.maestro_as(&[], &["project", "create", "Web shop", "--desc", "Sells\nthings"]), @r#"
    $ maestro project create "Web shop" --desc "Sells\nthings"
    [PROJECT-1]  Web shop
      in [PROJECT]
      Sells
      things
    "#);
    let other = sandbox.maestro("project create other -d sub").id();
    assert_snapshot!(sandbox.maestro("project list"), @"
    $ maestro project list
    [PROJECT-1]  Web shop  [PROJECT]
    [PROJECT-2]  other  sub
    2 projects
    ");
    assert_snapshot!(sandbox.maestro("project list --json"), @r#"
    $ maestro project list --json
    [
      {
        "id": "[PROJECT-1]",
        "name": "Web shop",
        "workingDir": "[PROJECT]",
        "description": "Sells\nthings",
        "createdAt": "[TIME]",
        "updatedAt": "[TIME]",
        "revision": 1
      },
      {
        "id": "[PROJECT-2]",
        "name": "other",
        "workingDir": "[PROJECT]/sub",
        "description": "",
        "createdAt": "[TIME]",
        "updatedAt": "[TIME]",
        "revision": 1
      }
    ]
    "#);
    assert_snapshot!(sandbox.maestro_as(&[], &["project", "delete", &other]), @"
    $ maestro project delete [PROJECT-2]
    Deleted.
    ");
    sandbox.maestro("task create work");
    let id = sandbox.maestro("status --json").json()["project"]["id"].as_str().unwrap().to_owned();
    assert_snapshot!(sandbox.maestro_as(&[], &["project", "delete", &id]), @"
    $ maestro project delete [PROJECT-1]
    --- stderr
    error: Cannot delete project with existing tasks
    hint: nothing was changed
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro_as(&[], &["project", "create", " "]), @r#"
    $ maestro project create " "
    --- stderr
    error: Project name is required
    hint: nothing was changed
    --- exit 1
    "#);
}

#[test]
fn a_directory_without_a_project_says_how_to_make_one() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("task list"), @"
    $ maestro task list
    --- stderr
    error: no project for [PROJECT]
    hint: run `maestro init` to set this directory up, or pass --project (see `maestro project list`)
    --- exit 1
    ");
    for args in ["task create x", "task tree", "session list", "status"] {
        let output = sandbox.maestro(&format!("{args} --json"));
        assert_eq!((output.code, output.json()["error"].as_str()), (1, Some("no_context")), "{output}");
    }
    assert_snapshot!(sandbox.maestro("whoami"), @"
    $ maestro whoami
    role      person
    project   none here
    tasks     none
    database  [HOME]/.maestro/maestro.db (no server)
    commands  info, update, complete, blocked, report, subtask list, subtask complete, subtask fail, subtask create, task list, task get, task create, task children, task update, task start, task complete, task block, task delete, task tree, session spawn, session answer, session info, session get, session list, session register, session complete, session needs-input, session resume-working, session pause, session resume, session cancel, session rename, session suggest-name, say, show, attach, worker run, worker init, orchestrator init, handoff create, handoff list, handoff accept, handoff complete, token create, token list, token revoke, open, diff, merge, revise, pr, discard, share, project list, project get, project create, project delete, queue top, queue start, queue complete, queue fail, queue skip, queue list, queue status, queue push, manifest generate, track-file, db backup, db restore, db check, db prune, status, events, whoami, commands
    ");
}
