//! Commands that a workflow would execute, to be shown before a user consents.

use std::fmt::{self, Write as _};

use super::definition::{
    AgentStep, CommandAction, CommandArgument, ProgramSetting, QuestionOptions, SessionSpec, StepWork, Workflow,
    WorkflowStep,
};
use super::name::{Name, StepId};
use super::name_uses::{self, NameUse, PREDECLARED};
use super::template::ValueReference;

/// The names that mean something in every command, so that nothing else can have them.
pub const ALWAYS_DECLARED: [&str; 5] = PREDECLARED;
/// How the skill's folder is written.
const SKILL_DIR: &str = "{skill_dir}";

/// Something that a workflow would execute and that needs consent.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsentExecution<'w> {
    /// What for.
    pub cause: ExecutionCause<'w>,
    /// What.
    pub action: &'w CommandAction,
    /// What it is executed with, where that is said.
    pub setting: Option<&'w ProgramSetting>,
}

impl ConsentExecution<'_> {
    /// The command as it is written, with the directory, the variables and the secrets that it gets.
    pub fn written(&self) -> String {
        let mut text = self.action.command_line();
        let Some(setting) = self.setting else { return text };
        if let Some(cwd) = &setting.cwd {
            let _ = write!(text, "\nin {}", quote_word(&cwd.text));
        }
        for (name, value) in &setting.env {
            let _ = write!(text, "\nwith {name}={}", quote_word(&value.text));
        }
        if !setting.secrets.is_empty() {
            let _ = write!(text, "\nwith your secrets {}", setting.secrets.join(", "));
        }
        text
    }

    /// The directory it works in, as far as it is written out.
    pub fn literal_cwd(&self) -> Option<&str> {
        let cwd = self.setting?.cwd.as_ref()?;
        cwd.value.is_literal().then_some(cwd.text.as_str())
    }
}

/// What something is executed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionCause<'w> {
    /// It is the work of a step.
    Step(&'w StepId),
    /// It says what there is to choose from at a step.
    Options(&'w StepId),
    /// It checks answers.
    Validator(&'w Name),
}

impl fmt::Display for ExecutionCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => write!(f, "step {step}"),
            Self::Options(step) => write!(f, "options of step {step}"),
            Self::Validator(name) => write!(f, "validator {name}"),
        }
    }
}

/// Everything that a workflow itself would execute and that needs consent. What only reads, and is our own, needs none,
/// so a workflow without any of these needs no consent.
pub fn list_executions(workflow: &Workflow) -> Vec<ConsentExecution<'_>> {
    let steps = workflow.steps.iter().filter_map(|step| match &step.work {
        StepWork::Command { action, setting, .. } => {
            Some(ConsentExecution { cause: ExecutionCause::Step(&step.id), action, setting: Some(setting) })
        }
        StepWork::Question(question) => match &question.options {
            QuestionOptions::Command(action) => {
                Some(ConsentExecution { cause: ExecutionCause::Options(&step.id), action, setting: None })
            }
            QuestionOptions::Free | QuestionOptions::Listed(_) | QuestionOptions::Variable(..) => None,
        },
        _ => None,
    });
    let validators = workflow.validators.iter();
    let validators = validators.map(|(name, validator)| ConsentExecution {
        cause: ExecutionCause::Validator(name),
        action: &validator.action,
        setting: None,
    });
    steps.chain(validators).filter(|execution| needs_consent(execution.action)).collect()
}

/// An agent that a workflow would start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConsentSession<'w> {
    /// At which step.
    pub step: &'w StepId,
    agent: &'w AgentStep,
    session: &'w SessionSpec,
    description: Option<&'w str>,
}

impl<'w> ConsentSession<'w> {
    /// What decides about its rights, as written.
    pub fn settings(&self) -> Vec<(&'static str, &'w str)> {
        let written = [
            ("agent", &self.session.agent),
            ("model", &self.session.model),
            ("permission", &self.session.permission),
            ("worktree", &self.session.worktree),
        ];
        let given = written.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?.text.as_str())));
        given.collect()
    }

    /// What it receives, as written.
    pub fn instructions(&self) -> Vec<&'w str> {
        let actions = self.agent.actions.iter().map(|action| action.text.as_str());
        self.description.into_iter().chain(actions).collect()
    }
}

/// The agents that a workflow itself would start.
pub fn list_sessions(workflow: &Workflow) -> Vec<ConsentSession<'_>> {
    workflow.steps.iter().filter_map(session_of).collect()
}

fn session_of(step: &WorkflowStep) -> Option<ConsentSession<'_>> {
    let StepWork::Agent(agent) = &step.work else { return None };
    let description = step.description.as_ref().map(|text| text.text.as_str());
    Some(ConsentSession { step: &step.id, agent, session: agent.session.as_ref()?, description })
}

fn needs_consent(action: &CommandAction) -> bool {
    match action {
        CommandAction::Program { .. } | CommandAction::Shell { .. } => true,
        CommandAction::BuiltinCommand { builtin, .. } => !builtin.only_reads(),
    }
}

impl CommandAction {
    /// The words that are written out in it; of a script, everything that could be one.
    pub fn literal_words(&self) -> Vec<String> {
        match self {
            Self::Program { program, arguments } => {
                let literal = arguments.iter().filter_map(|argument| match argument {
                    CommandArgument::Text(text) if text.value.is_literal() => Some(text.text.clone()),
                    _ => None,
                });
                std::iter::once(program.clone()).chain(literal).collect()
            }
            Self::Shell { script, .. } => {
                let ends = |c: char| c.is_whitespace() || ";&|()<>`\"'$".contains(c);
                script.split(ends).filter(|word| !word.is_empty()).map(str::to_owned).collect()
            }
            Self::BuiltinCommand { .. } => Vec::new(),
        }
    }

    /// The command as it is written, on one line; a script in full.
    pub fn command_line(&self) -> String {
        match self {
            Self::Program { program, arguments } => {
                let arguments = arguments.iter().map(|argument| match argument {
                    CommandArgument::Text(template) => quote_word(&template.text),
                    CommandArgument::Glob(template) => template.text.clone(),
                    CommandArgument::Spread(reference, _) => format!("{{spread: {reference}}}"),
                });
                std::iter::once(quote_word(program)).chain(arguments).collect::<Vec<_>>().join(" ")
            }
            Self::BuiltinCommand { builtin, arguments } => {
                let arguments = arguments.iter().map(|(name, value)| format!("{name}={}", quote_word(&value.text)));
                let words = std::iter::once(format!("builtin {}", builtin.word())).chain(arguments);
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Shell { script, env } => {
                let values = env.iter().map(|(name, value)| format!("{name}={} ", quote_word(&value.text)));
                format!("{}sh -c\n{}", values.collect::<String>(), script.trim_end())
            }
        }
    }
}

/// What `{skill_dir}` has to do with what is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillDirUse<'w> {
    /// Nothing.
    Unused,
    /// Files of the skill's folder may be executed, or handed to what is. Which they are, and which others those need,
    /// is unknown before they run.
    Used,
    /// A path that begins in the folder may lead elsewhere, or to what git keeps there; so it is written.
    Left(&'w str),
}

/// Whether a workflow executes files of its skill's folder, or hands the folder on to what does: by a variable, to a
/// workflow that it calls, to one that calls it. What is only shown to an agent or a user does not count.
pub fn skill_dir_use(workflow: &Workflow) -> SkillDirUse<'_> {
    let programs = list_executions(workflow).into_iter().filter_map(|order| match order.action {
        CommandAction::Program { program, .. } => program.strip_prefix(SKILL_DIR).map(|rest| (program.as_str(), rest)),
        CommandAction::BuiltinCommand { .. } | CommandAction::Shell { .. } => None,
    });
    let is_folder =
        |used: &NameUse<'_>| matches!(used.reference, ValueReference::Named(name, _) if name.as_str() == "skill_dir");
    let uses =
        name_uses::name_uses(workflow).into_iter().filter(|used| is_folder(used) && reaches_a_command(workflow, used));
    let uses = uses.map(|used| (used.text, used.text.get(used.at.0 + SKILL_DIR.len()..).unwrap_or_default()));
    let mut found = SkillDirUse::Unused;
    for (written, rest) in programs.chain(uses) {
        if leads_elsewhere(rest) {
            return SkillDirUse::Left(written);
        }
        found = SkillDirUse::Used;
    }
    found
}

/// Whether what is said there may become part of a command.
fn reaches_a_command(workflow: &Workflow, used: &NameUse<'_>) -> bool {
    match used.step.map(|step| &workflow.steps[step].work) {
        Some(
            StepWork::Agent(_)
            | StepWork::Output { .. }
            | StepWork::Conditional { .. }
            | StepWork::Gate(_)
            | StepWork::End { .. },
        ) => false,
        Some(
            StepWork::Command { .. }
            | StepWork::Question(_)
            | StepWork::Set(_)
            | StepWork::Call(_)
            | StepWork::Dispatch(_),
        )
        | None => true,
    }
}

/// Whether a path is more than the folder and what lies in it. What git keeps there changes by itself.
fn leads_elsewhere(after_folder: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    after_folder.starts_with(goes_on) || after_folder.split('/').any(|part| part == ".." || part == ".git")
}

/// A word in quotes, where it would not be one word without.
pub fn quote_word(word: &str) -> String {
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
    use crate::workflow::{CalleeSignature, LoadEnvironment, load_workflow};

    fn workflow(text: &str) -> Workflow {
        let anything = LoadEnvironment {
            file_exists: &|_| true,
            convention_exists: &|_| true,
            callee: &|_| Some(CalleeSignature::anything()),
            tool: None,
        };
        let (workflow, findings) = load_workflow(text, &anything);
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
        let told: Vec<String> = list_executions(&workflow)
            .iter()
            .map(|order| format!("{}: {}", order.cause, order.action.command_line()))
            .collect();
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
        assert_eq!(list_executions(&workflow(text)), []);
    }

    /// A workflow of one command, given as YAML, after other steps.
    fn with(steps: &str) -> Workflow {
        let head = "name: a\ndescription: Does.\nparams: {what: {type: string, default: x}}\nvariables: {dir: {type: string, default: x}}";
        workflow(&format!("{head}\nsteps:\n{steps}\n"))
    }

    #[test]
    fn every_way_to_reach_a_command_makes_the_folder_part_of_it() {
        for command in [
            "command: '{skill_dir}/x.sh'",
            "command: 'sh {skill_dir}//x.sh'",
            "command: [sh, '{skill_dir}/a{{.sh']",
            "command: 'make -C {skill_dir}'",
            "command: 'bash --rcfile={skill_dir}/rc'",
            "command: 'sh {skill_dir}/{what}'",
            "command: 'cat {skill_dir}/*.txt'",
            "shell: {script: 'sh $AT/x.sh', env: {AT: '{skill_dir}'}}",
        ] {
            assert_eq!(
                skill_dir_use(&with(&format!("- {{id: a, type: command, {command}}}"))),
                SkillDirUse::Used,
                "{command}"
            );
        }
        let kept =
            with("- {id: s, type: set, values: {dir: '{skill_dir}'}}\n- {id: a, type: command, command: 'sh {dir}/x'}");
        assert_eq!(skill_dir_use(&kept), SkillDirUse::Used);
        let handed = with("- {id: a, type: call, workflow: b, with: {at: '{skill_dir}'}, next: {ok: end, fail: end}}");
        assert_eq!(skill_dir_use(&handed), SkillDirUse::Used);
    }

    #[test]
    fn what_is_only_told_has_nothing_to_do_with_the_folder() {
        let told = "- {id: t, type: agent, actions: ['Read {skill_dir}/x'], next: {ok: a, fail: end}}";
        assert_eq!(
            skill_dir_use(&with(&format!("{told}\n- {{id: a, type: command, command: 'ls {{what}}'}}"))),
            SkillDirUse::Unused
        );
    }

    #[test]
    fn a_path_that_may_lead_out_of_the_folder_is_told() {
        for path in
            ["{skill_dir}/../x.sh", "{skill_dir}/a/../x.sh", "{skill_dir}-other/x.sh", "{skill_dir}/.git/hooks/x"]
        {
            let workflow = with(&format!("- {{id: a, type: command, command: 'sh {path}'}}"));
            assert_eq!(skill_dir_use(&workflow), SkillDirUse::Left(path));
        }
        let workflow = with("- {id: a, type: command, command: '{skill_dir}/../x.sh'}");
        assert_eq!(skill_dir_use(&workflow), SkillDirUse::Left("{skill_dir}/../x.sh"));
    }
}
