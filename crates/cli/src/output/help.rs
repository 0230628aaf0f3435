//! Help of the program: commands in groups for people, and a list of its own for agents and programs.

use std::fmt::Write as _;

use crate::output::screen::wrap;

/// The groups of the overview. A test checks that every command is in one.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["demo", "init", "import", "connect", "disconnect", "agents", "up", "open", "worker", "mcp", "doctor"]),
    ("Skills", &["skills", "roles"]),
    ("Work", &["do", "loop", "project", "task", "plan", "prompt", "workflow"]),
    ("Keep or discard results", &["diff", "merge", "revise", "pr", "discard", "share"]),
    ("Watch and control", &["status", "session", "show", "say", "attach", "handoff", "events"]),
    ("More", &["trust", "token", "db", "config", "version", "upgrade", "uninstall", "completions", "help"]),
];

/// Commands that only agents call: shown by `maestro help agent`, not in the overview.
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

/// Help wrapped at words to a width; further lines begin where the description does.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let line = |line: &str| wrap(line, width, description_column(line));
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Where the description of a command or option begins: after the first gap.
fn description_column(line: &str) -> usize {
    let start = line.len() - line.trim_start().len();
    let gap = line[start..].find("  ").map(|gap| start + gap);
    let gap = gap.map(|gap| gap + line[gap..].len() - line[gap..].trim_start().len());
    // A description after a single blank stands in the column of a long name.
    gap.unwrap_or(start + 2)
}

/// The overview that `maestro --help` prints.
pub(crate) fn overview(grammar: &clap::Command) -> String {
    let about = |name: &str| {
        let command = grammar.get_subcommands().find(|command| command.get_name() == name)?;
        command.get_about().map(ToString::to_string)
    };
    let mut text = String::from("Give coding agents the right skills, run them, and record what they do.\n\n");
    text.push_str(
        "Usage: maestro [OPTIONS] [COMMAND]\n\nWithout a command, `maestro` shows what is here and what to do next.\n",
    );
    for (title, commands) in GROUPS.iter().filter(|(_, commands)| !commands.is_empty()) {
        let _ = writeln!(text, "\n{title}");
        for name in *commands {
            let _ = writeln!(text, "  {name:<12} {}", about(name).unwrap_or_default());
        }
    }
    text.push_str(
        "\nOptions
  --json             Print JSON for programs instead of text for people
  --color WHEN       Use color: auto, always, never
  --set KEY=VALUE    Override a setting for this command
  --server URL       Use the server at this address
  --project ID       Use this project instead of the one this directory belongs to
  --database PLACE   Use this database: a SQLite file or postgres://…
  -h, --help         Print help
  -V, --version      Print the version

Run `maestro help COMMAND` for details, `maestro help guide` for guides, `maestro help agent` for agents and programs.\n",
    );
    text
}

/// Commands of agents and programs, for `maestro help agent`.
pub(crate) const AGENT: &str = "\
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
    fn help_is_wrapped_at_words_below_its_descriptions() {
        let text = "Work\n  loop         Work through a Markdown plan, task by task\n";
        let narrow =
            "Work\n  loop         Work through a\n               Markdown plan, task by\n               task\n";
        assert_eq!(wrapped(text, 37), narrow);
        for width in [60, 80] {
            let help = wrapped(&overview(&Cli::grammar()), width);
            assert!(help.lines().all(|line| line.chars().count() <= width), "{help}");
        }
    }

    #[test]
    fn agents_are_told_of_all_that_is_for_them() {
        for command in FOR_AGENTS {
            assert!(AGENT.contains(&format!("  maestro {command}")), "{command} is missing");
        }
    }
}
