//! Rendering of a run's reply. Each form is a pure function from the same data.

mod aider;
mod form;
mod json;
mod markdown;
mod outline;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod words;
mod xml;

pub use form::Form;
pub use words::banner;

pub(super) use xml::unverified;

use super::told::Told;
use super::tool::Tool;

/// Renders a reply in the tool's form. What the tool cannot do is replaced by something it can.
pub fn told(told: &Told, tool: &Tool) -> String {
    match tool.form {
        Form::Text => text::page(&outline::outline(told, tool)),
        Form::Markdown => markdown::page(&outline::outline(told, tool)),
        Form::Aider => aider::page(&outline::outline(told, tool)),
        Form::Xml => xml::page(told, tool),
        Form::Json => json::page(told),
    }
}
