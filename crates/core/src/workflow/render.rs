//! Rendering of a run's reply. Each form is a pure function from the same data.

mod aider;
mod form;
mod json;
mod markdown;
mod marked_prose;
mod outline;
mod phrases;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod xml;

pub use form::RenderForm;
pub use phrases::{banner, field_meaning, field_type};

pub(super) use xml::unverified;

use std::borrow::Cow;

use outline::CallStyle;
use serde_json::Value as Json;

use super::directive::Directive;
use super::run_reply::{NextAction, RunReply, RunUpdate};
use super::tool::CodingTool;

/// Renders a reply in the tool's form. What the tool cannot do is replaced by something it can.
pub fn render_reply(told: &RunReply, tool: &CodingTool) -> String {
    let told = &told_once(told);
    match tool.form {
        RenderForm::Text => text::page(&outline::outline_page(told, tool, CallStyle::Commands)),
        RenderForm::Markdown => markdown::page(&outline::outline_page(told, tool, CallStyle::Commands)),
        RenderForm::Aider => aider::page(&outline::outline_page(told, tool, CallStyle::Commands)),
        RenderForm::Xml => xml::page(told, tool),
        RenderForm::Json => json::page(told),
    }
}

/// Renders what a step gives beside its words, its values and its result, as Markdown: texts to work by, what is expected,
/// and how to look at work. Empty where it gives nothing.
pub fn render_guidance(directive: &Directive) -> String {
    markdown::page(&outline::outline_guidance(directive, &CodingTool::unknown()))
}

/// Renders a reply as Markdown for a client of the MCP server: tools are called where others type commands.
pub fn render_tool_calls(told: &RunReply) -> String {
    markdown::page(&outline::outline_page(told, &CodingTool::unknown(), CallStyle::Tools))
}

/// The reply without what its directive says as well: the output of a failed command is printed once, where it is worked on.
fn told_once(told: &RunReply) -> Cow<'_, RunReply> {
    let NextAction::Directive { directive } = &told.next else { return Cow::Borrowed(told) };
    let repeats = |update: &RunUpdate| match update {
        RunUpdate::Failed { reason, .. } => {
            !reason.is_empty() && directive.data.values().any(|value| holds(value, reason))
        }
        _ => false,
    };
    if !told.updates.iter().any(repeats) {
        return Cow::Borrowed(told);
    }
    let mut once = told.clone();
    for update in &mut once.updates {
        let repeated = repeats(update);
        if let RunUpdate::Failed { reason, .. } = update
            && repeated
        {
            "its output is among the data below".clone_into(reason);
        }
    }
    Cow::Owned(once)
}

/// Whether a value is this text, or holds it somewhere.
fn holds(value: &Json, text: &str) -> bool {
    match value {
        Json::String(said) => said == text,
        Json::Array(items) => items.iter().any(|item| holds(item, text)),
        Json::Object(fields) => fields.values().any(|field| holds(field, text)),
        _ => false,
    }
}
