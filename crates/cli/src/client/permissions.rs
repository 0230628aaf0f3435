//! Permissions of roles: the table that `whoami` and `commands` show; the server enforces it.

use maestro_core::SessionRole;

/// Whether a command may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandRight {
    /// On everything.
    Yes,
    /// On the session's own tasks and those below them.
    OwnTasks,
    /// On the own session.
    OwnSession,
    /// Not at all.
    No,
}

impl CommandRight {
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
pub(crate) struct CommandRule {
    pub(crate) command: &'static str,
    worker: CommandRight,
    orchestrator: CommandRight,
    /// Whether it is of use only to a session with a queue.
    queue: bool,
}

const fn rule(command: &'static str, worker: CommandRight, orchestrator: CommandRight) -> CommandRule {
    CommandRule { command, worker, orchestrator, queue: false }
}

const fn for_all(command: &'static str) -> CommandRule {
    rule(command, CommandRight::Yes, CommandRight::Yes)
}

const fn queue(command: &'static str, worker: CommandRight) -> CommandRule {
    CommandRule { command, worker, orchestrator: CommandRight::Yes, queue: true }
}

/// Every command about stored work. A command that is not here is about files, and anybody may use it.
pub(crate) const RULES: &[CommandRule] = &[
    for_all("info"),
    for_all("update"),
    for_all("complete"),
    for_all("blocked"),
    rule("report", CommandRight::OwnTasks, CommandRight::Yes),
    for_all("subtask list"),
    rule("subtask complete", CommandRight::OwnTasks, CommandRight::Yes),
    rule("subtask fail", CommandRight::OwnTasks, CommandRight::Yes),
    rule("subtask create", CommandRight::OwnTasks, CommandRight::Yes),
    for_all("task list"),
    for_all("task get"),
    rule("task create", CommandRight::OwnTasks, CommandRight::Yes),
    for_all("task children"),
    rule("task update", CommandRight::OwnTasks, CommandRight::Yes),
    rule("task start", CommandRight::OwnTasks, CommandRight::Yes),
    rule("task complete", CommandRight::OwnTasks, CommandRight::Yes),
    rule("task block", CommandRight::OwnTasks, CommandRight::Yes),
    rule("task delete", CommandRight::OwnTasks, CommandRight::Yes),
    for_all("task tree"),
    rule("session spawn", CommandRight::No, CommandRight::Yes),
    rule("session answer", CommandRight::No, CommandRight::Yes),
    for_all("session info"),
    for_all("session get"),
    for_all("session list"),
    for_all("session register"),
    for_all("session complete"),
    for_all("session needs-input"),
    for_all("session resume-working"),
    rule("session pause", CommandRight::OwnSession, CommandRight::Yes),
    rule("session resume", CommandRight::No, CommandRight::Yes),
    rule("session cancel", CommandRight::OwnSession, CommandRight::Yes),
    rule("session rename", CommandRight::OwnSession, CommandRight::Yes),
    for_all("session suggest-name"),
    for_all("say"),
    for_all("show"),
    rule("attach", CommandRight::No, CommandRight::No),
    rule("worker run", CommandRight::No, CommandRight::No),
    for_all("worker init"),
    for_all("orchestrator init"),
    for_all("handoff create"),
    for_all("handoff list"),
    for_all("handoff accept"),
    for_all("handoff complete"),
    rule("token create", CommandRight::No, CommandRight::No),
    rule("token list", CommandRight::No, CommandRight::No),
    rule("token revoke", CommandRight::No, CommandRight::No),
    rule("open", CommandRight::No, CommandRight::No),
    rule("diff", CommandRight::No, CommandRight::No),
    rule("merge", CommandRight::No, CommandRight::No),
    rule("revise", CommandRight::No, CommandRight::No),
    rule("pr", CommandRight::No, CommandRight::No),
    rule("discard", CommandRight::No, CommandRight::No),
    rule("share", CommandRight::No, CommandRight::No),
    for_all("project list"),
    for_all("project get"),
    rule("project create", CommandRight::No, CommandRight::No),
    rule("project delete", CommandRight::No, CommandRight::No),
    queue("queue top", CommandRight::Yes),
    queue("queue start", CommandRight::Yes),
    queue("queue complete", CommandRight::Yes),
    queue("queue fail", CommandRight::Yes),
    queue("queue skip", CommandRight::Yes),
    queue("queue list", CommandRight::Yes),
    queue("queue status", CommandRight::Yes),
    rule("queue push", CommandRight::No, CommandRight::Yes),
    for_all("manifest generate"),
    for_all("track-file"),
    rule("db backup", CommandRight::No, CommandRight::No),
    rule("db restore", CommandRight::No, CommandRight::No),
    rule("db check", CommandRight::No, CommandRight::No),
    rule("db prune", CommandRight::No, CommandRight::No),
    for_all("status"),
    for_all("events"),
    for_all("whoami"),
    for_all("commands"),
];

impl CommandRule {
    /// What a role may do with it; without a role a person asks, who may do everything.
    pub(crate) fn right(&self, role: Option<SessionRole>, has_queue: bool) -> CommandRight {
        match role {
            Some(_) if self.queue && !has_queue => CommandRight::No,
            Some(SessionRole::Worker) => self.worker,
            Some(SessionRole::Orchestrator) => self.orchestrator,
            None => CommandRight::Yes,
        }
    }
}

/// The rule for a command, written `task update`, `task:update` or with `maestro` before it.
pub(crate) fn find(command: &str) -> Option<&'static CommandRule> {
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
