//! What would a workflow execute? So that somebody can be shown it before they consent.

use std::fmt;

use super::definition::{Action, Argument, Options, Work, Workflow};
use super::name::{Name, StepId};

/// Something that a workflow would execute and that needs consent.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution<'w> {
    /// What for.
    pub cause: Cause<'w>,
    /// What.
    pub action: &'w Action,
}

/// What something is executed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause<'w> {
    /// It is the work of a step.
    Step(&'w StepId),
    /// It says what there is to choose from at a step.
    Options(&'w StepId),
    /// It checks answers.
    Validator(&'w Name),
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => write!(f, "step {step}"),
            Self::Options(step) => write!(f, "options of step {step}"),
            Self::Validator(name) => write!(f, "validator {name}"),
        }
    }
}

/// Everything that a workflow itself would execute and that needs consent. What only reads, and is our own, needs none,
/// so a workflow without any of these may be run by anybody.
pub fn orders(workflow: &Workflow) -> Vec<Execution<'_>> {
    let steps = workflow.steps.iter().filter_map(|step| match &step.work {
        Work::Command { action, .. } => Some(Execution { cause: Cause::Step(&step.id), action }),
        Work::Question(question) => match &question.options {
            Options::Command(action) => Some(Execution { cause: Cause::Options(&step.id), action }),
            Options::Free | Options::Listed(_) | Options::Variable(..) => None,
        },
        _ => None,
    });
    let validators = workflow.validators.iter();
    let validators =
        validators.map(|(name, validator)| Execution { cause: Cause::Validator(name), action: &validator.action });
    steps.chain(validators).filter(|execution| needs_consent(execution.action)).collect()
}

fn needs_consent(action: &Action) -> bool {
    match action {
        Action::Program { .. } | Action::Shell { .. } => true,
        Action::Builtin { builtin, .. } => !builtin.only_reads(),
    }
}

impl Action {
    /// The command as it is written, on one line; a script in full.
    pub fn written(&self) -> String {
        match self {
            Self::Program { program, arguments } => {
                let arguments = arguments.iter().map(|argument| match argument {
                    Argument::Text(template) => quoted(&template.text),
                    Argument::Glob(template) => template.text.clone(),
                    Argument::Spread(reference, _) => format!("{{spread: {reference}}}"),
                });
                std::iter::once(quoted(program)).chain(arguments).collect::<Vec<_>>().join(" ")
            }
            Self::Builtin { builtin, arguments } => {
                let arguments = arguments.iter().map(|(name, value)| format!("{name}={}", quoted(&value.text)));
                let words = std::iter::once(format!("builtin {}", builtin.word())).chain(arguments);
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Shell { script, env } => {
                let values = env.iter().map(|(name, value)| format!("{name}={} ", quoted(&value.text)));
                format!("{}sh -c\n{}", values.collect::<String>(), script.trim_end())
            }
        }
    }

    /// The files of the skill's own folder that are executed, or handed to what is, as paths in that folder: what
    /// `python3 {skill_dir}/x.py` does is in that file.
    pub fn own_files(&self) -> Vec<&str> {
        let words: Vec<&str> = match self {
            Self::Program { program, arguments } => {
                let arguments = arguments.iter().filter_map(|argument| match argument {
                    Argument::Text(template) | Argument::Glob(template) => Some(template.text.as_str()),
                    Argument::Spread(..) => None,
                });
                std::iter::once(program.as_str()).chain(arguments).collect()
            }
            Self::Shell { env, .. } => env.values().map(|value| value.text.as_str()).collect(),
            Self::Builtin { .. } => Vec::new(),
        };
        let own = words.into_iter().filter_map(|word| word.strip_prefix("{skill_dir}/"));
        own.filter(|file| !file.contains('{')).collect()
    }
}

/// A word in quotes, where it would not be one word without.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,{}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Callee, Surroundings, load};

    fn workflow(text: &str) -> Workflow {
        let anything = Surroundings {
            file_exists: &|_| true,
            convention_exists: &|_| true,
            callee: &|_| Some(Callee::anything()),
            tool: None,
        };
        let (workflow, findings) = load(text, &anything);
        workflow.unwrap_or_else(|| panic!("{findings:?}"))
    }

    #[test]
    fn everything_that_needs_consent_is_told_as_it_is_written() {
        let workflow = workflow(
            r#"
name: a
description: Does things.
params: {what: {type: string}, files: {type: list}}
validators: {good: {command: [check, "{answer}"]}}
steps:
  - {id: one, type: command, command: "git add 'a b' {what} *.rs"}
  - {id: two, type: command, command: [prog, "x;y", {spread: files}]}
  - {id: three, type: command, shell: {script: "echo $WHAT\nls\n", env: {WHAT: "{what}"}}}
  - {id: four, type: command, command: {builtin: now, format: iso}, store: time}
  - {id: five, type: command, command: {builtin: git.commit, message: "{time} {what}"}}
  - {id: six, type: command, command: "{skill_dir}/scripts/x.sh {skill_dir}/y.txt {skill_dir}/{what}"}
  - {id: seven, type: question, prompt: Which?, options: {type: command, command: ls}, store: answer, validate: good}
"#,
        );
        let told: Vec<String> =
            orders(&workflow).iter().map(|order| format!("{}: {}", order.cause, order.action.written())).collect();
        let expected = [
            "step one: git add 'a b' {what} *.rs",
            "step two: prog 'x;y' {spread: files}",
            "step three: WHAT={what} sh -c\necho $WHAT\nls",
            "step five: builtin git.commit message='{time} {what}'",
            "step six: {skill_dir}/scripts/x.sh {skill_dir}/y.txt {skill_dir}/{what}",
            "options of step seven: ls",
            "validator good: check {answer}",
        ];
        assert_eq!(told, expected);
        assert_eq!(orders(&workflow)[4].action.own_files(), ["scripts/x.sh", "y.txt"]);
    }

    #[test]
    fn what_only_reads_or_tells_needs_no_consent() {
        let text = r#"
name: a
description: Reads.
steps:
  - {id: one, type: command, command: {builtin: read_file, path: a}, store: text}
  - {id: two, type: agent, actions: ["{text}"], next: {ok: end, fail: end}}
"#;
        assert_eq!(orders(&workflow(text)), []);
    }
}
