//! Commands with their values filled in, each value inside one argument.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Scope;
use crate::workflow::definition::{Action, Argument, Builtin, Workflow};
use crate::workflow::template::{Reference, Template};
use crate::workflow::value::in_text;

/// Something to be executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Order {
    /// A program with its arguments.
    Program {
        /// What is started; it may begin with the skill's folder.
        program: String,
        /// What it is given.
        arguments: Vec<Given>,
    },
    /// Something the program can do itself.
    Builtin {
        /// Which.
        builtin: Builtin,
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

/// One argument that is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    /// This text.
    Text(String),
    /// The files in the workspace that match this pattern.
    Glob(String),
}

/// The order for an action, or why it cannot be given.
pub(super) fn order(action: &Action, scope: &Scope<'_>, workflow: &Workflow) -> Result<Order, String> {
    match action {
        Action::Program { program, arguments } => {
            let program = match program.strip_prefix("{skill_dir}") {
                Some(rest) => format!("{}{rest}", scope.folder()),
                None => program.clone(),
            };
            let mut given = Vec::new();
            for argument in arguments {
                add(&mut given, argument, scope, workflow)?;
            }
            Ok(Order::Program { program, arguments: given })
        }
        Action::Builtin { builtin, arguments } => {
            let fill = |template: &Template| whole(template.fill(&|reference| scope.get(reference)));
            let filled = arguments.iter().map(|(name, template)| Ok((name.to_string(), fill(&template.value)?)));
            Ok(Order::Builtin { builtin: *builtin, arguments: filled.collect::<Result<_, String>>()? })
        }
        Action::Shell { script, env } => {
            let fill = |template: &Template| whole(template.fill(&|reference| scope.get(reference)));
            let filled = env.iter().map(|(name, template)| Ok((name.clone(), fill(&template.value)?)));
            Ok(Order::Shell { script: script.clone(), env: filled.collect::<Result<_, String>>()? })
        }
    }
}

fn add(given: &mut Vec<Given>, argument: &Argument, scope: &Scope<'_>, workflow: &Workflow) -> Result<(), String> {
    let free = given.iter().any(|before| *before == Given::Text("--".to_owned()));
    match argument {
        Argument::Text(template) => {
            let text = whole(template.value.fill(&|reference| scope.get(reference)))?;
            if let Some(reference) = leading(&template.value, scope).filter(|_| !free) {
                no_option(&text, reference, workflow)?;
            }
            given.push(Given::Text(text));
        }
        Argument::Glob(template) => {
            // A value is never a pattern, whatever it holds.
            let text = template
                .value
                .fill(&|reference| std::borrow::Cow::Owned(Json::String(escape(&in_text(&scope.get(reference))))));
            given.push(Given::Glob(whole(text)?));
        }
        Argument::Spread(reference, _) => {
            let Json::Array(items) = scope.get(reference).into_owned() else {
                return Err(format!("`{reference}` is not a list"));
            };
            for item in items {
                let text = whole(in_text(&item))?;
                if !free {
                    no_option(&text, reference, workflow)?;
                }
                given.push(Given::Text(text));
            }
        }
    }
    Ok(())
}

/// The value that a text begins with, if it begins with one. One that is empty leaves the beginning to the next.
fn leading<'t>(template: &'t Template, scope: &Scope<'_>) -> Option<&'t Reference> {
    let references = || template.references().map(|(reference, _)| reference).filter(|_| template.lead().is_empty());
    references().find(|reference| !in_text(&scope.get(reference)).is_empty()).or_else(|| references().next())
}

/// What begins with a value and looks like an option would be one; only the value's declaration or a `--` before it says
/// that it is not.
fn no_option(text: &str, reference: &Reference, workflow: &Workflow) -> Result<(), String> {
    let declared = match reference {
        Reference::Named(name, _) => workflow.variable(name).or_else(|| workflow.param(name)),
        Reference::Param(name) => workflow.param(name),
        Reference::Result(..) => None,
    };
    if !text.starts_with('-') || declared.is_some_and(|variable| variable.allow_leading_dash) {
        return Ok(());
    }
    Err(format!("the value of `{reference}` begins with `-` and would be taken for an option"))
}

fn whole(text: String) -> Result<String, String> {
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
