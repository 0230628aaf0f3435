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
pub use phrases::banner;

pub(super) use xml::unverified;

use outline::CallStyle;

use super::run_reply::RunReply;
use super::tool::CodingTool;

/// Renders a reply in the tool's form. What the tool cannot do is replaced by something it can.
pub fn render_reply(told: &RunReply, tool: &CodingTool) -> String {
    match tool.form {
        RenderForm::Text => text::page(&outline::outline_page(told, tool, CallStyle::Commands)),
        RenderForm::Markdown => markdown::page(&outline::outline_page(told, tool, CallStyle::Commands)),
        RenderForm::Aider => aider::page(&outline::outline_page(told, tool, CallStyle::Commands)),
        RenderForm::Xml => xml::page(told, tool),
        RenderForm::Json => json::page(told),
    }
}

/// Renders a reply as Markdown for a client of the MCP server: tools are called where others type commands.
pub fn render_tool_calls(told: &RunReply) -> String {
    markdown::page(&outline::outline_page(told, &CodingTool::unknown(), CallStyle::Tools))
}
