//! Permissions of roles: the table that `whoami` and `commands` show; the server enforces it.

use maestro_core::Role;

/// Whether a command may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// On everything.
    Yes,
    /// On the session's own tasks and those below them.
    OwnTasks,
    /// On the own session.
    OwnSession,
    /// Not at all.
    No,
}

impl Right {
    /// What to add to the command's name.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Self::Yes => "",
            Self::OwnTasks => "your tasks, and those below them",
            Self::OwnSession => "your own session",
            Self::No => "not allowed",
        }
    }
}

/// A command, and who may use it.
pub(crate) struct Rule {
    pub(crate) command: &'static str,
    worker: Right,
    orchestrator: Right,
    /// Whether it is of use only to a session with a queue.
    queue: bool,
}

const fn rule(command: &'static str, worker: Right, orchestrator: Right) -> Rule {
    Rule { command, worker, orchestrator, queue: false }
}

const fn everybody(command: &'static str) -> Rule {
    rule(command, Right::Yes, Right::Yes)
}

const fn queue(command: &'static str, worker: Right) -> Rule {
    Rule { command, worker, orchestrator: Right::Yes, queue: true }
}

/// Every command about stored work. A command that is not here is about files, and anybody may use it.
pub(crate) const RULES: &[Rule] = &[
    everybody("info"),
    everybody("update"),
    everybody("complete"),
    everybody("blocked"),
    rule("report", Right::OwnTasks, Right::Yes),
    everybody("subtask list"),
    rule("subtask complete", Right::OwnTasks, Right::Yes),
    rule("subtask fail", Right::OwnTasks, Right::Yes),
    rule("subtask create", Right::OwnTasks, Right::Yes),
    everybody("task list"),
    everybody("task get"),
    rule("task create", Right::OwnTasks, Right::Yes),
    everybody("task children"),
    rule("task update", Right::OwnTasks, Right::Yes),
    rule("task start", Right::OwnTasks, Right::Yes),
    rule("task complete", Right::OwnTasks, Right::Yes),
    rule("task block", Right::OwnTasks, Right::Yes),
    rule("task delete", Right::OwnTasks, Right::Yes),
    everybody("task tree"),
    rule("session spawn", Right::No, Right::Yes),
    rule("session answer", Right::No, Right::Yes),
    everybody("session info"),
    everybody("session get"),
    everybody("session list"),
    everybody("session register"),
    everybody("session complete"),
    everybody("session needs-input"),
    everybody("session resume-working"),
    rule("session pause", Right::OwnSession, Right::Yes),
    rule("session resume", Right::No, Right::Yes),
    rule("session cancel", Right::OwnSession, Right::Yes),
    rule("session rename", Right::OwnSession, Right::Yes),
    everybody("session suggest-name"),
    everybody("say"),
    everybody("show"),
    rule("attach", Right::No, Right::No),
    rule("worker run", Right::No, Right::No),
    everybody("worker init"),
    everybody("orchestrator init"),
    everybody("handoff create"),
    everybody("handoff list"),
    everybody("handoff accept"),
    everybody("handoff complete"),
    rule("diff", Right::No, Right::No),
    rule("merge", Right::No, Right::No),
    rule("pr", Right::No, Right::No),
    rule("discard", Right::No, Right::No),
    everybody("project list"),
    everybody("project get"),
    rule("project create", Right::No, Right::No),
    rule("project delete", Right::No, Right::No),
    queue("queue top", Right::Yes),
    queue("queue start", Right::Yes),
    queue("queue complete", Right::Yes),
    queue("queue fail", Right::Yes),
    queue("queue skip", Right::Yes),
    queue("queue list", Right::Yes),
    queue("queue status", Right::Yes),
    rule("queue push", Right::No, Right::Yes),
    everybody("manifest generate"),
    everybody("track-file"),
    rule("db backup", Right::No, Right::No),
    rule("db restore", Right::No, Right::No),
    rule("db check", Right::No, Right::No),
    everybody("status"),
    everybody("events"),
    everybody("whoami"),
    everybody("commands"),
];

impl Rule {
    /// What a role may do with it; without a role a person asks, who may do everything.
    pub(crate) fn right(&self, role: Option<Role>, has_queue: bool) -> Right {
        match role {
            Some(_) if self.queue && !has_queue => Right::No,
            Some(Role::Worker) => self.worker,
            Some(Role::Orchestrator) => self.orchestrator,
            None => Right::Yes,
        }
    }
}

/// The rule for a command, written `task update`, `task:update` or with `maestro` before it.
pub(crate) fn find(command: &str) -> Option<&'static Rule> {
    let words = plain(command);
    RULES.iter().find(|rule| rule.command == words)
}

/// A command's words, one blank between them.
pub(crate) fn plain(command: &str) -> String {
    let command = command.replace(':', " ");
    let words: Vec<&str> = command.split_whitespace().collect();
    words.strip_prefix(&["maestro"]).unwrap_or(&words).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_rule_is_about_a_command_there_is() {
        let grammar = Cli::grammar();
        for rule in RULES {
            let mut command = &grammar;
            for word in rule.command.split(' ') {
                let next = command.get_subcommands().find(|known| known.get_name() == word);
                command = next.unwrap_or_else(|| panic!("there is no `{}`", rule.command));
            }
        }
    }

    #[test]
    fn every_verb_of_a_group_with_rules_has_one() {
        for group in Cli::grammar().get_subcommands() {
            let prefix = format!("{} ", group.get_name());
            if !RULES.iter().any(|rule| rule.command.starts_with(&prefix)) {
                continue;
            }
            for verb in group.get_subcommands() {
                let command = format!("{prefix}{}", verb.get_name());
                assert!(find(&command).is_some(), "say who may use `{command}`");
            }
        }
    }

    #[test]
    fn a_command_is_found_however_it_is_written() {
        for written in ["task update", "task:update", "maestro task  update"] {
            assert_eq!(find(written).map(|rule| rule.command), Some("task update"), "{written}");
        }
        assert!(find("banana").is_none());
    }
}
