//! How is the program explained? Commands in groups for people; what agents and programs call, apart.

use std::fmt::Write as _;

/// The groups of the overview. A test sees to it that every command is in one.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["demo", "init", "connect", "disconnect", "agents", "up", "worker", "mcp", "doctor"]),
    ("Skills", &["skills", "roles"]),
    ("Work", &["do", "loop", "project", "task", "plan", "prompt", "workflow"]),
    ("Keep or drop what was done", &["diff", "merge", "pr", "discard"]),
    ("Watch and steer", &["status", "session", "show", "say", "attach", "handoff", "events"]),
    ("More", &["trust", "db", "config", "version", "completions", "help"]),
];

/// What only agents call; `maestro help agent` tells of it, the overview does not.
#[cfg(test)]
const FOR_AGENTS: &[&str] = &[
    "info",
    "update",
    "complete",
    "blocked",
    "subtask",
    "report",
    "queue",
    "whoami",
    "commands",
    "manifest",
    "track-file",
    "hook",
    "orchestrator",
];

/// The overview that `maestro --help` prints.
pub(crate) fn overview(grammar: &clap::Command) -> String {
    let about = |name: &str| {
        let command = grammar.get_subcommands().find(|command| command.get_name() == name)?;
        command.get_about().map(ToString::to_string)
    };
    let mut text = String::from("Gives coding agents the right skills, and shows and keeps what they do.\n\n");
    text.push_str("Usage: maestro [OPTIONS] [COMMAND]\n\n`maestro` alone shows what is here and what to do next.\n");
    for (title, commands) in GROUPS.iter().filter(|(_, commands)| !commands.is_empty()) {
        let _ = writeln!(text, "\n{title}");
        for name in *commands {
            let _ = writeln!(text, "  {name:<12} {}", about(name).unwrap_or_default());
        }
    }
    text.push_str(
        "\nOptions
  --json             Print JSON for programs instead of text for people
  --color WHEN       Use colour: auto, always, never
  --set KEY=VALUE    Set a setting for this command
  --server URL       Speak to the server at this address
  --project ID       The project meant, instead of the one this directory belongs to
  --database PLACE   Where everything is stored: a SQLite file or postgres://…
  -h, --help         Print this
  -V, --version      Print the version

`maestro help COMMAND` explains a command; `maestro help agent` lists what agents and programs call.\n",
    );
    text
}

/// What agents and programs call, for `maestro help agent`.
pub(crate) const AGENT: &str = "\
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
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let grammar = Cli::grammar();
        let shown = grammar.get_subcommands().filter(|command| !command.is_hide_set());
        let mut typed: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, commands)| *commands).copied().collect();
        grouped.extend(FOR_AGENTS);
        typed.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(typed, grouped);
    }

    #[test]
    fn agents_are_told_of_all_that_is_for_them() {
        for command in FOR_AGENTS {
            assert!(AGENT.contains(&format!("  maestro {command}")), "{command} is missing");
        }
    }
}
