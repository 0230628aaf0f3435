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
    Gives coding agents the right skills, and shows and keeps what they do.

    Usage: maestro [OPTIONS] [COMMAND]

    `maestro` alone shows what is here and what to do next.

    Start
      demo         Watch agents work through a small plan in a repository of its own; needs no model
      init         Set a project up: write its config file, copy its skill pack
      connect      Tell your coding tools of Maestro, in their own settings
      disconnect   Take Maestro out of your coding tools' settings again
      agents       List coding agents: which are installed, and how each is started
      up           Start the server
      worker       Start the agents that are asked for
      mcp          Answer an editor or agent over the Model Context Protocol; it starts this itself
      doctor       Show what is wrong here, with file, line and help

    Skills
      skills       List, read and explain skills
      roles        List the roles, and see whether their skills are there

    Work
      do           Do one task as a plan's is done: in a worktree, checked, reviewed, committed
      loop         Work through a Markdown plan, task by task, until it is done
      project      List, make and remove projects
      task         List, make and change tasks
      plan         Find the next task of a Markdown plan
      prompt       Print exactly what an agent would be told about a task
      workflow     List, check, draw and simulate workflows

    Keep or drop what was done
      diff         Show what a run changed on its branch
      merge        Merge a run's branch into the one that is checked out here, and remove it
      pr           Propose a run's branch as a pull request, with `gh` if it is installed
      discard      Remove a run's worktree and branch, with all that is on it

    Watch and steer
      status       Show how the project stands, in numbers
      session      Show and steer the sessions of agents
      show         Show a session: its agent, what came of it, its skills, what it did
      say          Say something to an agent; it hears it with its next command
      attach       Speak with a session's agent in the agent's own interface; when you leave, Maestro goes on
      handoff      Pass work from one role to another
      events       Show what happened, or follow it live

    More
      trust        Show what would be executed here, and allow it
      db           Copy, bring back and check the database
      config       Show the settings in force and where they come from
      version      Print which Maestro this is
      completions  Print a completion script for your shell
      help         Explain a command or a topic

    Options
      --json             Print JSON for programs instead of text for people
      --color WHEN       Use colour: auto, always, never
      --set KEY=VALUE    Set a setting for this command
      --server URL       Speak to the server at this address
      --project ID       The project meant, instead of the one this directory belongs to
      --database PLACE   Where everything is stored: a SQLite file or postgres://…
      -h, --help         Print this
      -V, --version      Print the version

    `maestro help COMMAND` explains a command; `maestro help agent` lists what agents and programs call.
    ");
    assert_eq!(sandbox.maestro("help").stdout(), overview.stdout());
    assert_eq!(sandbox.maestro("-h").stdout(), overview.stdout());
}

#[test]
fn what_agents_and_programs_call_is_a_topic_of_its_own() {
    assert_snapshot!(Sandbox::new().maestro("help agent"), @"
    $ maestro help agent
    What agents and programs call. Each prints data to standard output and takes --json.

    Your work. MAESTRO_SESSION_ID or MAESTRO_TASK_ID says who you are. Lines that begin with `!` say what changed meanwhile.

      maestro info                     {session, tasks, notices, changes}: your tasks with their subtasks
      maestro update [MESSAGE]         what you do or found out; without words, a sign of life
      maestro subtask list             the subtasks of your task
      maestro subtask complete ID      a subtask is done; `fail ID REASON` when it could not be
      maestro subtask create TITLE     one more subtask, with -d in full
      maestro complete [MESSAGE]       all your work is done
      maestro blocked REASON           you cannot go on
      maestro report KIND MESSAGE      progress, complete, blocked, error, needs-input; --task ID,ID about some tasks only
                                       {success, sessionId, sessionStatus, sessionCompleted, taskIds, notices, changes}
      maestro queue start              begin the next task of your queue; then `complete`, `fail` or `skip` it
      maestro whoami                   {role, sessionId, projectId, taskIds, strategy, server, database, commands}
      maestro commands --check COMMAND whether you may use it; exit code 4 if not

    Everybody's work. What is printed with --json is what the server answered.

      maestro task list|get|create|children|update|start|complete|block|delete|tree
      maestro session info|get|list|register|complete|needs-input|resume-working|pause|resume|cancel|rename
      maestro project list|get|create|delete
      maestro session spawn --task ID  {sessionId, session, skillProblems, …}: starts an agent; --agent, --skill, --follow
      maestro session answer --json    what agents ask before they do something; `answer ID once|always|deny` answers
      maestro show ID --json           {session, spawn, questions, skills}: a session's agent; --transcript adds what it did
      maestro worker init              starts the agent of your own session and shows what it does
      maestro orchestrator init        the same for an orchestrator's session
      maestro say ID TEXT              {id, state, how}: words for an agent
      maestro status                   {project, tasks, activeSessions}: a project in numbers
      maestro events --follow          what happens, a line each

    Skills, plans and settings.

      maestro skills list --json       {skills, problems, shadowed}: every skill on this machine
      maestro skills read NAME[,NAME]  a skill's full text, between `Reading:` and `Skill read:`
      maestro skills show NAME --json  everything known about one skill
      maestro skills select TASK --json {run_id, step_kind, task_label, skills, strategy, errors, detail}
      maestro skills validate --json   {valid, problems}: strictly by the Agent Skills rules
      maestro skills prompt --json     {text, cut, left_out, problems}: the table of skills, within a budget
      maestro skills prompt NAME       a skill's text for a prompt; --format says in whose words
      maestro skills sync --check      whether AGENTS.md lists the skills that are here
      maestro skills roles ROLE --json the skills of a role, dependencies first
      maestro plan next PLAN.md --json {label, line_number, section, skill_hints}, or null
      maestro prompt PLAN.md|TASK      what an agent is told: {text, tokens, events, cut, left_out}
      maestro plan list PLAN.md --json {tasks, problems, done, total}
      maestro workflow list --json     [{name, description, steps, path, sound}]
      maestro workflow show NAME --json {name, params, steps, start, …}: what a workflow consists of
      maestro workflow check --json    [{name, path, sound, findings}]: everything wrong with definitions
      maestro workflow start NAME      begin a run; prints what is to be done first and how to report it
      maestro workflow next RUN        what is to be done now, again; after a crash, in another tool, on another machine
      maestro workflow report RUN …    what came of it; prints what is to be done next (--format json: the directive)
      maestro workflow answer RUN …    what the user said to a question
      maestro workflow runs --json     [{id, workflow, status, waiting, step, …}]
      maestro workflow simulate NAME --json {ends, never_reached, never_taken, red_successes, states, complete}
      maestro trust --json             {consents, here}: what may be executed here; only a person can allow more
      maestro config show --json       every setting with its origin
      maestro roles check --json       {ok, roles}: whether each role has the skills it needs
      maestro handoff list --json      what was passed from role to role; create, accept and complete answer the record
      maestro session suggest-name ROLE --json [{name, person, background}]
      maestro manifest generate …      writes what a session starts with; --json {success, manifestPath, manifest}
      maestro track-file PATH          for hooks: notes that a file was changed, prints nothing, never fails
      maestro hook AGENT               for hooks of sessions that people start: hears what happens, answers with a skill
      maestro db check --json          {ok, database, findings}
      maestro agents --json            {agents, problems}: which agents are known, which are installed; --check starts them
      maestro doctor --json            {ok, problems, roots, agents, connections, settings}

    With --json an error is one object on standard output: {success, error, message, details, suggestion}.
    Exit codes: 0 ok, 1 failed or wrongly called, 2 not found, 3 no server answers, 4 not allowed, 5 no agent started.
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
          --dir <PATH>        Look for skills here, and nowhere else (may be repeated)
          --json              Print JSON for programs instead of text for people
          --color <WHEN>      Use colour: auto, always, never
          --set <KEY=VALUE>   Set a setting for this command, for example `skills_validation=strict`
          --server <URL>      Speak to the server at this address
          --project <ID>      The project meant, instead of the one this directory belongs to
          --database <PLACE>  Where everything is stored: a SQLite file or postgres://…
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
    List, read and explain skills

    Usage: maestro skills [OPTIONS] <COMMAND>

    Commands:
      list      List every skill, with problems and shadowed ones
      read      Print a skill's full text as agents read it
      show      Show everything known about a skill [alias: info]
      validate  Check skills against the Agent Skills rules, strictly
      select    Choose the skills for a task, for programs
      try       Show which skills a task would get, which nearly, and why
      why       Explain how one skill stands for a task
      prompt    Print skills as a prompt holds them: a table of all, or the full text of some
      sync      Write the table of skills into AGENTS.md, where agents read it
      roles     List the skills that each role's sessions get

    Options:
          --dir <PATH>        Look for skills here, and nowhere else (may be repeated)
          --json              Print JSON for programs instead of text for people
          --color <WHEN>      Use colour: auto, always, never
          --set <KEY=VALUE>   Set a setting for this command, for example `skills_validation=strict`
          --server <URL>      Speak to the server at this address
          --project <ID>      The project meant, instead of the one this directory belongs to
          --database <PLACE>  Where everything is stored: a SQLite file or postgres://…
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
    error: there is no command `nonsense`
    hint: `maestro --help` lists the commands
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("help skills lst"), @"
    $ maestro help skills lst
    --- stderr
    error: there is no command `lst`
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
