//! `maestro help`: the overview, each command, and what agents call. The whole tree is the page
//! `docs/reference/cli.md`, which `reference` compares.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

#[test]
fn the_overview_groups_the_commands() {
    let sandbox = Sandbox::new();
    let overview = sandbox.maestro("--help");
    assert_snapshot!(overview, @"
    $ maestro --help
    Give coding agents the right skills, run them, and record what they do.

    Usage: maestro [OPTIONS] [COMMAND]

    Without a command, `maestro` shows what is here and what to do next.

    Start
      demo         Watch agents work through a small plan in a demo repository; needs no model
      init         Look at a project, propose what fits it, and set it up after one yes
      import       Bring along what earlier systems left: tasks, settings, skills, workflows
      connect      Add Maestro to your coding tools' settings
      disconnect   Remove Maestro from your coding tools' settings
      agents       List coding agents, whether they are installed, and their commands
      up           Start the server
      open         Open the page in a browser, signed in
      worker       Run a worker that starts queued agents
      mcp          Run the MCP server over stdio (your editor starts it)
      doctor       Check the setup and show problems with file, line and hint

    Skills
      skills       List, read, add and explain skills
      roles        List roles and check that their skills exist

    Work
      do           Run one task: worktree, checks, review, commit
      loop         Work through a Markdown plan, task by task, until it is done
      project      List, create and delete projects
      task         List, create and change tasks
      plan         Write a Markdown plan, and show the tasks of one
      prompt       Print the exact prompt an agent would receive for a task
      workflow     List, check, draw, simulate and run workflows

    Keep or discard results
      diff         Show what a run changed on its branch
      merge        Merge a run's branch into the checked-out one and remove it
      revise       Have an agent change the work of a run that is ready or stopped
      pr           Open a pull request for a run's branch, with `gh` if it is installed
      discard      Delete a run's worktree and branch
      share        Write a copy of a run for others: one HTML file, secrets masked

    Watch and control
      status       Show the numbers of the project
      session      Show, start and control sessions
      show         Show a session (agent, result, skills, transcript) or a run
      say          Send a message to an agent; it arrives with its next command
      attach       Open a session in the agent's own interface; Maestro continues when you leave
      handoff      Hand work from one role to another
      events       Show past events, or follow them live

    More
      trust        Show what this project would execute, and allow it
      token        Create, list and revoke tokens for programs that call the server
      db           Back up, restore and check the database
      config       Show and change settings
      version      Print the version
      upgrade      Show how to get a newer version
      uninstall    Remove Maestro's data, settings entries, branches and worktrees, after showing them
      completions  Print a completion script for your shell
      help         Show help for a command or topic

    Options
      --json             Print JSON for programs instead of text for people
      --color WHEN       Use color: auto, always, never
      --set KEY=VALUE    Override a setting for this command
      --server URL       Use the server at this address
      --project ID       Use this project instead of the one this directory belongs to
      --database PLACE   Use this database: a SQLite file or postgres://…
      -h, --help         Print help
      -V, --version      Print the version

    Run `maestro help COMMAND` for details, `maestro help guide` for guides, `maestro help agent` for agents and programs.
    ");
    assert_eq!(sandbox.maestro("help").stdout(), overview.stdout());
    assert_eq!(sandbox.maestro("-h").stdout(), overview.stdout());
}

#[test]
fn what_agents_and_programs_call_is_a_topic_of_its_own() {
    assert_snapshot!(Sandbox::new().maestro("help agent"), @"
    $ maestro help agent
    Commands for agents and programs. Each prints data to standard output and accepts --json.

    Your work. MAESTRO_SESSION_ID or MAESTRO_TASK_ID identifies you. Lines starting with `!` show what changed meanwhile.

      maestro info                     {session, tasks, notices, changes}: your tasks with their subtasks
      maestro update [MESSAGE]         report progress; without a message, confirm you are alive
      maestro subtask list             the subtasks of your task
      maestro subtask complete ID      mark a subtask as done; `fail ID REASON` if it failed
      maestro subtask create TITLE     add a subtask; -d adds a full description
      maestro complete [MESSAGE]       report that all your work is done
      maestro blocked REASON           report that you cannot continue
      maestro report KIND MESSAGE      progress, complete, blocked, error, needs-input; --task ID,ID for some tasks only
                                       {success, sessionId, sessionStatus, sessionCompleted, taskIds, notices, changes}
      maestro queue start              start the next task in your queue; then `complete`, `fail` or `skip` it
      maestro whoami                   {role, sessionId, projectId, taskIds, strategy, server, database, commands}
      maestro commands --check COMMAND check whether you may use it; exit code 4 if not

    All work. --json prints the server's response.

      maestro task list|get|create|children|update|start|complete|block|delete|tree
      maestro session info|get|list|register|complete|needs-input|resume-working|pause|resume|cancel|rename
      maestro project list|get|create|delete
      maestro session spawn --task ID  {sessionId, session, skillProblems, …}: start an agent; --agent, --skill, --follow
      maestro session answer --json    open questions of agents; `answer ID once|always|deny` answers
      maestro show ID --json           {session, spawn, questions, skills}: a session; --transcript adds its transcript
      maestro worker init              start the agent of your own session and show what it does
      maestro orchestrator init        the same for an orchestrator's session
      maestro say ID TEXT              {id, state, how}: send a message to an agent
      maestro status                   {project, tasks, activeSessions}: the numbers of a project
      maestro events --follow          new events, one per line

    Skills, plans and settings.

      maestro skills list --json       {skills, problems, shadowed}: every skill on this machine
      maestro skills read NAME[,NAME]  a skill's full text, between `Reading:` and `Skill read:`
      maestro skills show NAME --json  everything known about one skill
      maestro skills select TASK --json {run_id, step_kind, task_label, skills, strategy, errors, detail}
      maestro skills validate --json   {valid, problems}: strict check against the Agent Skills rules
      maestro skills prompt --json     {text, cut, left_out, problems}: the table of skills, within a budget
      maestro skills prompt NAME       a skill's text for a prompt; --format sets the format
      maestro skills sync --check      check that AGENTS.md lists the installed skills
      maestro skills roles ROLE --json the skills of a role, dependencies first
      maestro plan next PLAN.md --json {label, line_number, section, skill_hints}, or null
      maestro prompt PLAN.md|TASK      the prompt for a task: {text, tokens, events, cut, left_out}
      maestro plan list PLAN.md --json {tasks, problems, done, total}
      maestro workflow list --json     [{name, description, steps, path, sound}]
      maestro workflow show NAME --json {name, params, steps, start, …}: parameters, steps and transitions
      maestro workflow check --json    [{name, path, sound, findings}]: every problem in the definitions
      maestro workflow start NAME      start a run; prints the first directive and how to report it
      maestro workflow next RUN        print the current directive again, also after a crash or on another machine
      maestro workflow report RUN …    report a result and print the next directive (--format json for data)
      maestro workflow answer RUN …    answer a question with what the user said
      maestro workflow runs --json     [{id, workflow, status, waiting, step, …}]
      maestro workflow simulate NAME --json {ends, never_reached, never_taken, red_successes, states, complete}
      maestro trust --json             {consents, here}: what may be executed here; only a person can allow more
      maestro config show --json       every setting with its origin
      maestro roles check --json       {ok, roles}: check that each role has the skills it needs
      maestro handoff list --json      handoffs between roles; create, accept and complete print the record
      maestro session suggest-name ROLE --json [{name, person, background}]
      maestro manifest generate …      write a session's manifest; --json {success, manifestPath, manifest}
      maestro track-file PATH          for hooks: record that a file changed; prints nothing, never fails
      maestro hook AGENT               for hooks of sessions people start: record events, suggest a skill
      maestro db check --json          {ok, database, findings}
      maestro agents --json            {agents, problems}: known and installed agents; --check starts them
      maestro doctor --json            {ok, problems, roots, agents, connections, settings}

    With --json an error is one object on standard output: {success, error, message, details, suggestion}.
    Exit codes: 0 ok, 1 failure or wrong usage, 2 not found, 3 no server reachable, 4 not allowed, 5 agent not started.
    ");
}

#[test]
fn a_command_is_explained_the_same_by_every_way_of_asking() {
    let sandbox = Sandbox::new();
    let asked = sandbox.maestro("help skills list");
    assert_snapshot!(asked, @"
    $ maestro help skills list
    List every skill, with problems and shadowed ones

    Usage: maestro skills list [OPTIONS]

    Options:
          --dir <PATH>        Search for skills only here (may be repeated)
          --json              Print JSON for programs instead of text for people
          --color <WHEN>      Use color: auto, always, never
          --set <KEY=VALUE>   Override a setting for this command, for example
                              `skills_validation=strict`
          --server <URL>      Use the server at this address
          --project <ID>      Use this project instead of the one this directory belongs to
          --database <PLACE>  Use this database: a SQLite file or postgres://…
      -h, --help              Print help
    ");
    assert_eq!(sandbox.maestro("skills list --help").stdout(), asked.stdout());
    assert_eq!(sandbox.maestro("skills list -h").stdout(), asked.stdout());
    assert_eq!(sandbox.maestro("help skill list").stdout(), asked.stdout());
}

#[test]
fn a_group_without_a_verb_shows_its_help_and_fails() {
    assert_snapshot!(Sandbox::new().maestro("skills"), @"
    $ maestro skills
    --- stderr
    List, read, add and explain skills

    Usage: maestro skills [OPTIONS] <COMMAND>

    Commands:
      list      List every skill, with problems and shadowed ones
      read      Print a skill's full text as agents read it
      show      Show everything known about a skill [alias: info]
      validate  Check skills strictly against the Agent Skills rules
      new       Write a new skill to start from, and show which typical tasks would get it
      add       Add skills from git, a folder or an archive, after showing what they contain
      remove    Delete skills that were added
      update    Replace added skills by what their sources have now
      outdated  List added skills and whether they differ from their sources
      index     Prepare all skills for selection by meaning
      select    Select the skills for a task, for programs
      try       Show which skills a task would get, which come close, and why
      test      Check the tasks in .maestro/selection.tsv: do they get the skills they should?
      why       Explain how one skill scores for a task
      prompt    Print skills as they appear in a prompt: a table of all, or the full text of some
      sync      Write the table of skills into AGENTS.md, where agents read it
      roles     List the skills that sessions of each role get

    Options:
          --dir <PATH>        Search for skills only here (may be repeated)
          --json              Print JSON for programs instead of text for people
          --color <WHEN>      Use color: auto, always, never
          --set <KEY=VALUE>   Override a setting for this command, for example
                              `skills_validation=strict`
          --server <URL>      Use the server at this address
          --project <ID>      Use this project instead of the one this directory belongs to
          --database <PLACE>  Use this database: a SQLite file or postgres://…
      -h, --help              Print help
    --- exit 1
    ");
}

#[test]
fn help_on_an_unknown_command_is_not_found() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("help nonsense"), @"
    $ maestro help nonsense
    --- stderr
    error: unknown command `nonsense`
    hint: run `maestro --help` for the commands, `maestro help guide` for the guides
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("help skills lst"), @"
    $ maestro help skills lst
    --- stderr
    error: unknown command `lst`
    hint: did you mean `list`?
    --- exit 2
    ");
}

#[test]
fn the_version_is_one_line() {
    assert_snapshot!(Sandbox::new().maestro("--version"), @"
    $ maestro --version
    maestro [VERSION]
    ");
}

#[test]
fn guides_are_shown_without_the_marks_of_tests() {
    let sandbox = Sandbox::new();
    let list = sandbox.maestro("help guide").stdout();
    for name in ["tutorial", "how-do-i", "skills", "moving"] {
        assert!(list.contains(name), "{list}");
        let guide = sandbox.maestro(&format!("help guide {name}")).stdout();
        assert!(guide.starts_with("# ") && !guide.contains("<!-- "), "{guide}");
    }
    assert_eq!(
        sandbox.maestro("help tutorial").stdout().lines().next(),
        Some("# Tutorial: from an empty folder to a merged change")
    );
    assert_eq!(sandbox.maestro("help topics").stdout(), list);
    assert!(sandbox.maestro("help skills").stdout().ends_with("Guide: `maestro help guide skills`\n"));
    let unknown = sandbox.maestro("help guide nothing");
    assert!(unknown.code == 2 && unknown.stderr().contains("hint: guides: tutorial"), "{unknown}");
}
