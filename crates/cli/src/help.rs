//! How is the program explained? Commands in groups for people; what agents and programs call, apart.

use std::fmt::Write as _;

/// The groups of the overview. A test sees to it that every command is in one.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["init", "up", "doctor"]),
    ("Skills", &["skills"]),
    ("Work", &["plan", "prompt", "workflow", "update"]),
    ("Watch and steer", &["events"]),
    ("More", &["config", "completions", "help"]),
];

/// The overview that `maestro --help` prints.
pub(crate) fn overview(grammar: &clap::Command) -> String {
    let about = |name: &str| {
        let command = grammar.get_subcommands().find(|command| command.get_name() == name)?;
        command.get_about().map(ToString::to_string)
    };
    let mut text = String::from("Gives coding agents the right skills, and finds the next task of a plan.\n\n");
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
  -h, --help         Print this
  -V, --version      Print the version

`maestro help COMMAND` explains a command; `maestro help agent` lists what agents and programs call.\n",
    );
    text
}

/// What agents and programs call, for `maestro help agent`.
pub(crate) const AGENT: &str = "\
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
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let grammar = Cli::grammar();
        let mut typed: Vec<&str> = grammar.get_subcommands().map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, commands)| *commands).copied().collect();
        typed.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(typed, grouped);
    }
}
