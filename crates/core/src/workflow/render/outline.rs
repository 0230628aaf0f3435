//! Blocks of a page before it has a form. Text, Markdown and Aider print the same blocks.

mod directive_blocks;
mod update_blocks;

pub(super) use directive_blocks::AIDER_RESULT;
use serde_json::{Map, Value as Json, json};

use super::phrases::{
    NOTED, SubagentSupport, complete, instead_of_running, one_line, resume, show_command, subagent_support,
};
use crate::workflow::directive::{Directive, FinishedRun};
use crate::workflow::run_reply::{NextAction, RunReply, SubagentDone};
use crate::workflow::template::TextSpan;
use crate::workflow::tool::CodingTool;

/// A part of a page. What came from elsewhere stands in it as it came; a form sees to it that it stays inside.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PageBlock {
    /// What the page is about.
    Title(PageHeading),
    /// What the blocks below are about.
    Heading(PageHeading),
    /// A text.
    Text(MarkedText),
    /// One thing each.
    List(Vec<MarkedText>),
    /// A document, which is a whole of its own.
    Document(String),
    /// What there is to choose from.
    Options(Vec<String>),
    /// Values with their names.
    Values(Map<String, Json>),
    /// Fields with what is declared about them.
    Fields(Map<String, Json>),
    /// A list of objects or plain values.
    Items(Vec<Json>),
    /// Something to be typed.
    Command(Vec<String>),
    /// When something else is to be typed, and what.
    Instead(&'static str, Vec<String>),
    /// Calls of tools, of which one is to be made.
    Calls(Vec<ToolCall>),
}

/// A call of one of our tools.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Json,
}

impl ToolCall {
    fn new(tool: &'static str, arguments: Json) -> Self {
        Self { tool, arguments }
    }

    /// The call on one line.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.tool, self.arguments)
    }
}

/// How what is to be done is said: by commands that are typed, or by calls of our tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStyle {
    /// Commands.
    Commands,
    /// Calls.
    Tools,
}

/// A text, and the parts of it that the author of the workflow wrote. Without any, all of it came from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkedText {
    pub(super) text: String,
    pub(super) authored: Vec<TextSpan>,
}

impl<T: Into<String>> From<T> for MarkedText {
    fn from(text: T) -> Self {
        Self { text: text.into(), authored: Vec::new() }
    }
}

/// Marks what the author wrote in a text.
fn marked(text: &str, authored: &[TextSpan]) -> MarkedText {
    MarkedText { text: text.to_owned(), authored: authored.to_vec() }
}

/// A heading: our own word, and what follows it on the same line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PageHeading {
    pub(super) word: &'static str,
    pub(super) rest: String,
}

impl PageHeading {
    fn new(word: &'static str, rest: impl Into<String>) -> Self {
        Self { word, rest: rest.into() }
    }
}

/// The blocks of a reply: the updates, then what to do next.
pub(super) fn outline_page(told: &RunReply, tool: &CodingTool, style: CallStyle) -> Vec<PageBlock> {
    let mut outline = PageOutline { tool, style, blocks: Vec::new() };
    for update in &told.updates {
        outline.update(update);
    }
    match &told.next {
        NextAction::Directive { directive } => outline.directive(directive),
        NextAction::Finished { finished, message } => outline.finished(finished, message.as_deref()),
        NextAction::Busy { step, title, .. } => {
            outline.title("WAIT", format!(": {} is being executed ({step})", one_line(title)));
            outline.heading("NEXT", ": check again later");
            let again = ToolCall::new("run_next", json!({ "run_id": told.run }));
            outline.command(show_command(&told.run), again);
        }
        NextAction::Paused => {
            outline.title("PAUSED", format!(": run {} waits until it is resumed", told.run));
            outline.heading("NEXT", ": nothing; to resume, run");
            outline.add(PageBlock::Command(resume(&told.run)));
        }
        NextAction::Noted { step, title } => {
            outline.title("NOTED", format!(": what you reported of {} ({step})", one_line(title)));
            outline.text(NOTED);
            let verb = outline.verb();
            outline.heading("NEXT", format!(": if nothing is left to do, {verb}"));
            outline.command(complete(), ToolCall::new("signal_completion", json!({})));
        }
        NextAction::Handed(handed) => outline.subagent_done(&told.run, handed),
    }
    let typed = outline.blocks.iter().any(|block| matches!(block, PageBlock::Command(_)));
    if let Some(instead) = instead_of_running(tool).filter(|_| typed) {
        outline.text(instead);
    }
    outline.blocks
}

/// The blocks of what a step gives beside its words, its values and its result.
pub(super) fn outline_guidance(directive: &Directive, tool: &CodingTool) -> Vec<PageBlock> {
    let mut outline = PageOutline { tool, style: CallStyle::Commands, blocks: Vec::new() };
    outline.guidance(directive);
    outline.blocks
}

struct PageOutline<'o> {
    tool: &'o CodingTool,
    style: CallStyle,
    blocks: Vec<PageBlock>,
}

impl PageOutline<'_> {
    fn add(&mut self, block: PageBlock) {
        self.blocks.push(block);
    }

    fn title(&mut self, word: &'static str, rest: impl Into<String>) {
        self.add(PageBlock::Title(PageHeading::new(word, rest)));
    }

    fn heading(&mut self, word: &'static str, rest: impl Into<String>) {
        self.add(PageBlock::Heading(PageHeading::new(word, rest)));
    }

    fn text(&mut self, text: impl Into<MarkedText>) {
        self.add(PageBlock::Text(text.into()));
    }

    /// A command, or the call that does the same.
    fn command(&mut self, argv: Vec<String>, call: ToolCall) {
        match self.style {
            CallStyle::Commands => self.add(PageBlock::Command(argv)),
            CallStyle::Tools => self.add(PageBlock::Calls(vec![call])),
        }
    }

    /// What is done with a command, or with a call.
    fn verb(&self) -> &'static str {
        match self.style {
            CallStyle::Commands => "run",
            CallStyle::Tools => "call",
        }
    }

    /// A list with its heading, if there is anything in it.
    fn list(&mut self, word: &'static str, items: &[String]) {
        if !items.is_empty() {
            self.heading(word, ":");
            self.add(PageBlock::List(items.iter().map(MarkedText::from).collect()));
        }
    }

    /// Values with their heading, if there are any.
    fn values(&mut self, word: &'static str, rest: &str, values: &Map<String, Json>) {
        if !values.is_empty() {
            self.heading(word, rest);
            self.add(PageBlock::Values(values.clone()));
        }
    }

    fn finished(&mut self, finished: &FinishedRun, message: Option<&str>) {
        let word = finished.outcome.map_or("cancelled", |outcome| outcome.as_str());
        self.title("WORKFLOW COMPLETE", format!(": {word}"));
        if let Some(message) = message {
            self.text(message);
        }
        self.values("OUTPUTS", ":", &finished.outputs);
        let items = finished.accepted_risks.iter().flat_map(|risk| &risk.items);
        let risks: Vec<String> = items
            .map(|item| {
                let finding = item.finding.as_deref().unwrap_or("not checked");
                format!("{} {} ({}): {finding}", item.severity.word(), item.id, item.check)
            })
            .collect();
        self.list("ACCEPTED RISKS", &risks);
    }

    /// A sub-agent's last reply says what its parent does next: earlier text may be forgotten by then.
    fn subagent_done(&mut self, run: &str, handed: &SubagentDone) {
        let (child, outcome) = (one_line(&handed.child), one_line(handed.outcome.as_str()));
        self.title("REPORTED", format!(": {child} ended with {outcome}"));
        let alone = subagent_support(self.tool) == SubagentSupport::Alone;
        if !alone {
            self.text("The sub-agent is done. Its last message repeats the text below.");
        }
        self.list("STILL OPEN", &handed.open);
        let verb = self.verb();
        if alone {
            self.heading("NEXT", format!(": {verb}"));
        } else {
            self.heading("NEXT", format!(" for the parent: {verb}, once every sub-agent it started is done"));
        }
        self.command(handed.parent.clone(), ToolCall::new("run_next", json!({ "run_id": run })));
    }
}
