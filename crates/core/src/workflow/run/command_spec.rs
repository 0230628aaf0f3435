//! Commands with their values filled in, each value inside one argument.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::ValueScope;
use crate::workflow::definition::{BuiltinCommand, CommandAction, CommandArgument, ProgramSetting, Workflow};
use crate::workflow::template::{Template, ValueReference};
use crate::workflow::value_type::value_text;

/// Something to be executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CommandSpec {
    /// A program with its arguments.
    Program {
        /// What is started; it may begin with the skill's folder.
        program: String,
        /// What it is given.
        arguments: Vec<GivenArgument>,
    },
    /// Something the program can do itself.
    Builtin {
        /// Which.
        builtin: BuiltinCommand,
        /// With what.
        arguments: BTreeMap<String, String>,
    },
    /// A fixed script with its environment.
    Shell {
        /// The script.
        script: String,
        /// Its environment.
        env: BTreeMap<String, String>,
    },
}

/// What a program is executed with beside its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramContext {
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// The directory it works in, below the workspace.
    pub cwd: Option<String>,
    /// The names of the secrets that it gets. Their values are known to its executor only.
    pub secrets: Vec<String>,
}

/// One argument that is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenArgument {
    /// This text.
    Text(String),
    /// The files in the workspace that match this pattern.
    Glob(String),
}

/// The order for an action, or why it cannot be given.
pub(super) fn build_command(
    action: &CommandAction,
    scope: &ValueScope<'_>,
    workflow: &Workflow,
) -> Result<CommandSpec, String> {
    match action {
        CommandAction::Program { program, arguments } => {
            let program = match program.strip_prefix("{skill_dir}") {
                Some(rest) => format!("{}{rest}", scope.folder()),
                None => program.clone(),
            };
            let mut given = Vec::new();
            for argument in arguments {
                add(&mut given, argument, scope, workflow)?;
            }
            Ok(CommandSpec::Program { program, arguments: given })
        }
        CommandAction::BuiltinCommand { builtin, arguments } => {
            let fill = |template: &Template| check_text(template.fill(&|reference| scope.get(reference)));
            let filled = arguments.iter().map(|(name, template)| Ok((name.to_string(), fill(&template.value)?)));
            Ok(CommandSpec::Builtin { builtin: *builtin, arguments: filled.collect::<Result<_, String>>()? })
        }
        CommandAction::Shell { script, env } => {
            let fill = |template: &Template| check_text(template.fill(&|reference| scope.get(reference)));
            let filled = env.iter().map(|(name, template)| Ok((name.clone(), fill(&template.value)?)));
            Ok(CommandSpec::Shell { script: script.clone(), env: filled.collect::<Result<_, String>>()? })
        }
    }
}

/// What a program is executed with, or why that cannot be filled in.
pub(super) fn build_context(setting: &ProgramSetting, scope: &ValueScope<'_>) -> Result<ProgramContext, String> {
    let fill = |template: &Template| check_text(template.fill(&|reference| scope.get(reference)));
    let env = setting.env.iter().map(|(name, template)| Ok((name.clone(), fill(&template.value)?)));
    let cwd = setting.cwd.as_ref().map(|template| fill(&template.value)).transpose()?;
    let cwd = cwd.map(|cwd| cwd.trim().to_owned()).filter(|cwd| !cwd.is_empty());
    Ok(ProgramContext { env: env.collect::<Result<_, String>>()?, cwd, secrets: setting.secrets.clone() })
}

fn add(
    given: &mut Vec<GivenArgument>,
    argument: &CommandArgument,
    scope: &ValueScope<'_>,
    workflow: &Workflow,
) -> Result<(), String> {
    let free = given.iter().any(|before| *before == GivenArgument::Text("--".to_owned()));
    match argument {
        CommandArgument::Text(template) => {
            let text = check_text(template.value.fill(&|reference| scope.get(reference)))?;
            if let Some(reference) = leading(&template.value, scope).filter(|_| !free) {
                no_option(&text, reference, workflow)?;
            }
            given.push(GivenArgument::Text(text));
        }
        CommandArgument::Glob(template) => {
            // A value is never a pattern, whatever it holds.
            let text = template
                .value
                .fill(&|reference| std::borrow::Cow::Owned(Json::String(escape(&value_text(&scope.get(reference))))));
            given.push(GivenArgument::Glob(check_text(text)?));
        }
        CommandArgument::Spread(reference, _) => {
            let Json::Array(items) = scope.get(reference).into_owned() else {
                return Err(format!("`{reference}` is not a list"));
            };
            for item in items {
                let text = check_text(value_text(&item))?;
                if !free {
                    no_option(&text, reference, workflow)?;
                }
                given.push(GivenArgument::Text(text));
            }
        }
    }
    Ok(())
}

/// The value that a text begins with, if it begins with one. One that is empty leaves the beginning to the next.
fn leading<'t>(template: &'t Template, scope: &ValueScope<'_>) -> Option<&'t ValueReference> {
    let references =
        || template.references().map(|(reference, _)| reference).filter(|_| template.leading_text().is_empty());
    references().find(|reference| !value_text(&scope.get(reference)).is_empty()).or_else(|| references().next())
}

/// What begins with a value and looks like an option would be one; only the value's declaration or a `--` before it says
/// that it is not.
fn no_option(text: &str, reference: &ValueReference, workflow: &Workflow) -> Result<(), String> {
    let declared = match reference {
        ValueReference::Named(name, _) => workflow.variable(name).or_else(|| workflow.param(name)),
        ValueReference::Param(name) => workflow.param(name),
        ValueReference::Result(..) => None,
    };
    if !text.starts_with('-') || declared.is_some_and(|variable| variable.allow_leading_dash) {
        return Ok(());
    }
    Err(format!("the value of `{reference}` begins with `-` and would be taken for an option"))
}

fn check_text(text: String) -> Result<String, String> {
    if text.contains('\0') { Err("a value contains a NUL byte".to_owned()) } else { Ok(text) }
}

fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        match c {
            '*' | '?' | '[' => escaped.extend(['[', c, ']']),
            c => escaped.push(c),
        }
        escaped
    })
}
