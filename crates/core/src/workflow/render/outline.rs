//! Blocks of a page before it has a form. Text, Markdown and Aider print the same blocks.

mod directive;
mod news;

pub(super) use directive::AIDER_RESULT;
use serde_json::{Map, Value as Json};

use super::words::{Crew, NOTED, complete, crew, instead_of_running, look_again, one_line, resume};
use crate::workflow::directive::Finished;
use crate::workflow::told::{Handed, Now, Told};
use crate::workflow::tool::Tool;

/// A part of a page. What came from elsewhere stands in it as it came; a form sees to it that it stays inside.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    /// What the page is about.
    Title(Head),
    /// What the blocks below are about.
    Heading(Head),
    /// A text.
    Text(String),
    /// One thing each.
    List(Vec<String>),
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
}

/// A heading: our own word, and what follows it on the same line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) word: &'static str,
    pub(super) rest: String,
}

impl Head {
    fn new(word: &'static str, rest: impl Into<String>) -> Self {
        Self { word, rest: rest.into() }
    }
}

/// The blocks of a reply: the updates, then what to do next.
pub(super) fn outline(told: &Told, tool: &Tool) -> Vec<Block> {
    let mut outline = Outline { tool, blocks: Vec::new() };
    for news in &told.news {
        outline.news(news);
    }
    match &told.now {
        Now::Directive { directive } => outline.directive(directive),
        Now::Finished { finished, message } => outline.finished(finished, message.as_deref()),
        Now::Busy { step, title, .. } => {
            outline.title("WAIT", format!(": {} is being executed ({step})", one_line(title)));
            outline.heading("NEXT", ": check again later");
            outline.add(Block::Command(look_again(&told.run)));
        }
        Now::Paused => {
            outline.title("PAUSED", format!(": run {} waits until it is resumed", told.run));
            outline.heading("NEXT", ": nothing; to resume, run");
            outline.add(Block::Command(resume(&told.run)));
        }
        Now::Noted { step, title } => {
            outline.title("NOTED", format!(": what you reported of {} ({step})", one_line(title)));
            outline.text(NOTED);
            outline.heading("NEXT", ": if nothing is left to do, run");
            outline.add(Block::Command(complete()));
        }
        Now::Handed(handed) => outline.handed(handed),
    }
    let typed = outline.blocks.iter().any(|block| matches!(block, Block::Command(_)));
    if let Some(instead) = instead_of_running(tool).filter(|_| typed) {
        outline.text(instead);
    }
    outline.blocks
}

struct Outline<'o> {
    tool: &'o Tool,
    blocks: Vec<Block>,
}

impl Outline<'_> {
    fn add(&mut self, block: Block) {
        self.blocks.push(block);
    }

    fn title(&mut self, word: &'static str, rest: impl Into<String>) {
        self.add(Block::Title(Head::new(word, rest)));
    }

    fn heading(&mut self, word: &'static str, rest: impl Into<String>) {
        self.add(Block::Heading(Head::new(word, rest)));
    }

    fn text(&mut self, text: impl Into<String>) {
        self.add(Block::Text(text.into()));
    }

    /// A list with its heading, if there is anything in it.
    fn list(&mut self, word: &'static str, items: &[String]) {
        if !items.is_empty() {
            self.heading(word, ":");
            self.add(Block::List(items.to_vec()));
        }
    }

    /// Values with their heading, if there are any.
    fn values(&mut self, word: &'static str, rest: &str, values: &Map<String, Json>) {
        if !values.is_empty() {
            self.heading(word, rest);
            self.add(Block::Values(values.clone()));
        }
    }

    fn finished(&mut self, finished: &Finished, message: Option<&str>) {
        let word = finished.outcome.map_or("cancelled", |outcome| outcome.word());
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
    fn handed(&mut self, handed: &Handed) {
        let (child, outcome) = (one_line(&handed.child), one_line(handed.outcome.as_str()));
        self.title("REPORTED", format!(": {child} ended with {outcome}"));
        let alone = crew(self.tool) == Crew::Alone;
        if !alone {
            self.text("The sub-agent is done. Its last message repeats the text below.");
        }
        self.list("STILL OPEN", &handed.open);
        if alone {
            self.heading("NEXT", ": run");
        } else {
            self.heading("NEXT", " for the parent: run, once every sub-agent it started is done");
        }
        self.add(Block::Command(handed.parent.clone()));
    }
}
