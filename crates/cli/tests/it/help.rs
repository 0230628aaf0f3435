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
    Gives coding agents the right skills, and finds the next task of a plan.

    Usage: maestro [OPTIONS] [COMMAND]

    `maestro` alone shows what is here and what to do next.

    Start
      init         Set a project up: write its config file, copy its skill pack
      up           Start the server
      doctor       Show what is wrong here, with file, line and help

    Skills
      skills       List, read and explain skills

    Work
      plan         Find the next task of a Markdown plan
      prompt       Print exactly what an agent would be told about a task
      workflow     List, check, draw and simulate workflows
      update       Tell how the work goes, and hear what changed

    Watch and steer
      events       Show what happened, or follow it live

    More
      config       Show the settings in force and where they come from
      completions  Print a completion script for your shell
      help         Explain a command or a topic

    Options
      --json             Print JSON for programs instead of text for people
      --color WHEN       Use colour: auto, always, never
      --set KEY=VALUE    Set a setting for this command
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
      maestro workflow simulate NAME --json {ends, never_reached, never_taken, states, complete}
      maestro config show --json       every setting with its origin
      maestro doctor --json            {ok, problems, roots, agents, settings}

    With --json an error is one object on standard output: {success, error, message, details, suggestion}.
    Exit codes: 0 ok, 1 failed or wrongly called, 2 not found.
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
