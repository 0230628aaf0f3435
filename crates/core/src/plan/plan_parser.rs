//! The Markdown parser of plans. Walks the syntax tree once, in document order; it never fails
//! and never chooses between tasks.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::checkbox::{self, BoxMistake, ItemOpening};
use super::lead_paragraph::LeadParagraph;
use super::plan_source::PlanSource;
use super::sections::{self, HeadingText, PlanSection};
use super::{Plan, PlanFinding, PlanTask, PlanTaskStatus, SetAsideReason};

/// Reads a plan. Whatever the text, this returns what could be understood of it.
///
/// Code, HTML blocks, comments, block quotes and front matter hold no tasks, and headings within
/// lists or quotes start no section.
#[must_use]
pub fn parse_plan(text: &str) -> Plan {
    let source = PlanSource::new(text);
    let (body, too_deep) = source.body();
    let base = source.body_start();
    let mut walk = PlanParser::new(&source);
    for at in too_deep {
        walk.report(BoxMistake::TooDeep, base.saturating_add(at));
    }
    // The task-list extension stays off: it knows only `[ ]` and `[x]`.
    for (event, range) in Parser::new_ext(&body, Options::empty()).into_offset_iter() {
        let range = base.saturating_add(range.start)..base.saturating_add(range.end);
        walk.visit(&event, range);
    }
    walk.finish()
}

/// The state of the walk over the document's events.
struct PlanParser<'a> {
    source: &'a PlanSource<'a>,
    quotes: usize,
    /// For each open list item, the nearest task at or above it.
    items: Vec<Option<usize>>,
    /// For each open list, which numbered one it is, if it is one.
    lists: Vec<Option<usize>>,
    /// How many lists are open.
    lists_begun: usize,
    place: LeadState<'a>,
    heading: Option<HeadingText>,
    sections: Vec<PlanSection>,
    tasks: Vec<PlanTask>,
    findings: Vec<PlanFinding>,
}

/// Where the walk is within an item's first paragraph.
enum LeadState<'a> {
    /// Not in one.
    Outside,
    /// Inside an item, before its text.
    Expected,
    /// In one that opens with a box.
    Reading(LeadParagraph<'a>),
}

impl<'a> PlanParser<'a> {
    fn new(source: &'a PlanSource<'a>) -> Self {
        Self {
            source,
            quotes: 0,
            items: Vec::new(),
            lists: Vec::new(),
            lists_begun: 0,
            place: LeadState::Outside,
            heading: None,
            sections: Vec::new(),
            tasks: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn visit(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::List(first)) => {
                self.end_lead();
                self.lists.push(first.map(|_| self.lists_begun));
                self.lists_begun = self.lists_begun.saturating_add(1);
            }
            Event::End(TagEnd::List(_)) => {
                self.end_lead();
                self.lists.pop();
            }
            Event::Start(Tag::Item) => {
                self.end_lead();
                self.items.push(self.items.last().copied().flatten());
                if self.quotes == 0 {
                    self.place = LeadState::Expected;
                }
            }
            Event::End(TagEnd::Item) => {
                self.end_lead();
                self.items.pop();
            }
            Event::Start(Tag::BlockQuote(_)) => {
                self.end_lead();
                self.quotes = self.quotes.saturating_add(1);
            }
            Event::End(TagEnd::BlockQuote(_)) => {
                self.end_lead();
                self.quotes = self.quotes.saturating_sub(1);
            }
            Event::Start(Tag::Heading { level, .. }) if self.items.is_empty() => {
                if self.quotes == 0 {
                    self.heading = Some(HeadingText::new(*level as u8));
                }
            }
            // An item's text over a line of dashes is a heading to Markdown, but still a task to
            // its author.
            Event::Start(Tag::Heading { .. })
                if matches!(self.place, LeadState::Expected) && self.source.from(range.start).starts_with('[') => {}
            Event::Start(Tag::Paragraph) if matches!(self.place, LeadState::Expected) => {}
            Event::End(TagEnd::Heading(_)) => {
                self.end_lead();
                self.sections.extend(self.heading.take().map(HeadingText::finish));
            }
            Event::Text(_)
            | Event::Code(_)
            | Event::InlineHtml(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. })
            | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Image) => {
                self.visit_inline(event, range);
            }
            _ => self.end_lead(),
        }
    }

    fn visit_inline(&mut self, event: &Event<'_>, range: Range<usize>) {
        if let Some(heading) = &mut self.heading {
            match event {
                Event::Text(text) | Event::Code(text) => heading.push(text),
                Event::SoftBreak | Event::HardBreak => heading.push(" "),
                _ => {}
            }
        }
        if matches!(self.place, LeadState::Expected) {
            self.place = self.start_lead(event, range.start);
        }
        if let LeadState::Reading(lead) = &mut self.place {
            lead.visit(event, range);
        }
    }

    fn start_lead(&mut self, event: &Event<'_>, at: usize) -> LeadState<'a> {
        if self.source.follows_backslash(at) {
            return LeadState::Outside;
        }
        let is_link = matches!(event, Event::Start(Tag::Link { .. }));
        match checkbox::read(self.source.from(at), is_link) {
            ItemOpening::Box(status, len) => {
                LeadState::Reading(LeadParagraph::new(self.source, status, at, at.saturating_add(len)))
            }
            ItemOpening::Mistake(mistake) => {
                self.report(mistake, at);
                LeadState::Outside
            }
            ItemOpening::Text => LeadState::Outside,
        }
    }

    /// Ends the current item's first paragraph, which makes it a task if it has a box.
    fn end_lead(&mut self) {
        let LeadState::Reading(lead) = std::mem::replace(&mut self.place, LeadState::Outside) else {
            return;
        };
        let label = lead.label();
        if label.is_empty() {
            if matches!(lead.status, PlanTaskStatus::Open | PlanTaskStatus::Optional | PlanTaskStatus::Done) {
                self.report(BoxMistake::NoText, lead.box_at);
            }
            return;
        }
        let Some(item) = self.items.last_mut() else {
            return;
        };
        let parent = item.replace(self.tasks.len());
        let depth = parent.and_then(|index| self.tasks.get(index)).map_or(0, |task| task.depth.saturating_add(1));
        let (line_number, column) = self.source.position(lead.box_at);
        self.tasks.push(PlanTask {
            label,
            line_number,
            column,
            section: self.sections.last().and_then(|section| section.text.clone()),
            status: lead.status,
            depth,
            parent,
            skill_hints: lead.hints(),
            set_aside: None,
            sections_above: self.sections.len(),
            numbered_list: self.lists.last().copied().flatten(),
        });
    }

    fn report(&mut self, mistake: BoxMistake, at: usize) {
        let (line_number, column) = self.source.position(at);
        self.findings.push(PlanFinding { line_number, column, message: mistake.message(), help: mistake.help() });
    }

    fn finish(mut self) -> Plan {
        self.end_lead();
        let reasons = sections::reasons(&self.sections);
        // For each task, why its children are set aside. Parents come first, so one pass will do.
        let mut below: Vec<Option<SetAsideReason>> = Vec::with_capacity(self.tasks.len());
        for task in &mut self.tasks {
            let section = task.sections_above.checked_sub(1).and_then(|index| reasons.get(index).copied().flatten());
            let above = task.parent.and_then(|index| below.get(index).copied().flatten());
            if task.status == PlanTaskStatus::Open {
                task.set_aside = section.or(above);
            }
            below.push(match task.status {
                PlanTaskStatus::Optional => Some(SetAsideReason::UnderOptionalParent),
                PlanTaskStatus::Deferred => Some(SetAsideReason::UnderDeferredParent),
                _ => above,
            });
        }
        self.findings.sort_by_key(|f| (f.line_number, f.column));
        Plan { tasks: self.tasks, findings: self.findings }
    }
}
