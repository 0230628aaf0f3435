//! A task of a plan with all that its author wrote about it: the item itself, what encloses it, and the plan's preamble.

use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::plan_source::PlanSource;
use super::{PlanTask, parse_plan, skill_hints};
use crate::excerpt::{one_line, split_chars};

/// How much of an item is shown, in characters.
const ITEM_CHARS: usize = 16_000;
/// How much of what encloses it.
const ABOVE_CHARS: usize = 4_000;
/// How much of the preamble.
const PREAMBLE_CHARS: usize = 4_000;

/// A task of a plan, and what stands around it there, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanItem {
    /// See [`PlanTask::label`].
    pub label: String,
    /// See [`PlanTask::line_number`].
    pub line_number: usize,
    /// The whole item: paragraphs, code and what is nested in it.
    pub text: String,
    /// The sections and items that enclose it, outermost first, without the tasks in them.
    pub above: Vec<String>,
    /// What comes before the first task: title, goal, rules.
    pub preamble: String,
}

/// The task that stands at a line and says just this, or else the first that says it; nothing where none does.
#[must_use]
pub fn plan_item(text: &str, line_number: usize, label: &str) -> Option<PlanItem> {
    let plan = parse_plan(text);
    let wanted = one_line(label);
    let equal: Vec<&PlanTask> = plan.tasks.iter().filter(|task| one_line(&task.label) == wanted).collect();
    let task = *equal.iter().find(|task| task.line_number == line_number).or(equal.first())?;
    let source = PlanSource::new(text);
    let outline = PlanOutline::read(&source, &plan.tasks);
    let at = source.offset(task.line_number, task.column);
    Some(outline.item(&source, task, at))
}

impl PlanItem {
    /// The skills that the item asks for, and those that the tasks around it ask for.
    #[must_use]
    pub fn skill_hints(&self) -> Vec<String> {
        let mut hints = skill_hints(&self.text);
        for around in self.above.iter().rev() {
            hints.extend(parse_plan(around).tasks.into_iter().flat_map(|task| task.skill_hints));
        }
        hints
    }

    /// It in words, bounded; where something is cut, that is said.
    #[must_use]
    pub fn describe(&self, plan: &str) -> String {
        let line = self.line_number;
        // What the label says already is not said again.
        let mut text = match self.text.lines().count() {
            0 | 1 => format!("It is line {line} of `{plan}`.\n"),
            _ => format!("From line {line} of `{plan}`:\n\n{}\n", cut(&self.text, ITEM_CHARS, plan)),
        };
        if !self.above.is_empty() {
            let above = self.above.join("\n\n");
            let _ = write!(text, "\nIt is part of:\n\n{}\n", cut(&above, ABOVE_CHARS, plan));
        }
        if !self.preamble.is_empty() {
            let _ = write!(text, "\nThe plan begins:\n\n{}\n", cut(&self.preamble, PREAMBLE_CHARS, plan));
        }
        text
    }
}

/// A text as a quote, so that its headings are not taken for ours; of a long one the beginning, and what is missing.
fn cut(text: &str, most: usize, plan: &str) -> String {
    let (head, rest) = split_chars(text, most);
    let mut quote = String::new();
    for line in head.trim_end().lines() {
        let _ = writeln!(quote, "{}", format!("> {line}").trim_end());
    }
    if !rest.is_empty() {
        let _ = writeln!(quote, "\n[… {} more characters of this are in `{plan}`]", rest.chars().count());
    }
    quote.truncate(quote.trim_end().len());
    quote
}

/// A heading with what stands below it.
struct HeadingSpan {
    level: u8,
    /// From the heading to the next one.
    range: Range<usize>,
}

/// Where headings, items and lists with tasks are in a plan.
struct PlanOutline {
    headings: Vec<HeadingSpan>,
    items: Vec<Range<usize>>,
    /// Of tasks, the ranges of their items.
    tasks: Vec<Range<usize>>,
    body: Range<usize>,
}

impl PlanOutline {
    fn read(source: &PlanSource<'_>, tasks: &[PlanTask]) -> Self {
        let (body, _) = source.body();
        let base = source.body_start();
        let end = base.saturating_add(body.len());
        let mut outline = Self { headings: Vec::new(), items: Vec::new(), tasks: Vec::new(), body: base..end };
        let mut depth = 0_usize;
        for (event, range) in Parser::new_ext(&body, Options::empty()).into_offset_iter() {
            let range = base.saturating_add(range.start)..base.saturating_add(range.end);
            match event {
                Event::Start(Tag::Item) => {
                    outline.items.push(range);
                    depth = depth.saturating_add(1);
                }
                Event::Start(Tag::BlockQuote(_)) => depth = depth.saturating_add(1),
                Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => depth = depth.saturating_sub(1),
                Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                    if let Some(last) = outline.headings.last_mut() {
                        last.range.end = range.start;
                    }
                    outline.headings.push(HeadingSpan { level: level as u8, range: range.start..end });
                }
                _ => {}
            }
        }
        let boxes = tasks.iter().map(|task| source.offset(task.line_number, task.column));
        let ranges: Vec<Range<usize>> = boxes.filter_map(|at| outline.innermost(at)).collect();
        outline.tasks = ranges;
        outline
    }

    /// The smallest item around a place.
    fn innermost(&self, at: usize) -> Option<Range<usize>> {
        self.items.iter().rev().find(|item| item.contains(&at)).cloned()
    }

    fn item(&self, source: &PlanSource<'_>, task: &PlanTask, at: usize) -> PlanItem {
        let own = self.innermost(at).unwrap_or(at..at);
        let first = self.tasks.iter().map(|task| task.start).min().unwrap_or(at);
        let preamble = source.slice(self.body.start..first).trim();
        let mut above: Vec<String> = self
            .sections(at)
            .filter(|section| section.start >= first)
            .map(|section| self.without_tasks(source, section, None))
            .collect();
        let around = self.items.iter().filter(|item| item.contains(&at) && **item != own);
        above.extend(around.map(|item| self.without_tasks(source, item, Some(item))));
        above.retain(|text| !text.is_empty());
        PlanItem {
            label: task.label.clone(),
            line_number: task.line_number,
            text: dedent(source.slice(own.clone()), source.position(own.start).1.saturating_sub(1)),
            above,
            preamble: preamble.to_owned(),
        }
    }

    /// The sections around a place, outermost first.
    fn sections(&self, at: usize) -> impl Iterator<Item = &Range<usize>> {
        let mut open: Vec<&HeadingSpan> = Vec::new();
        for heading in self.headings.iter().take_while(|heading| heading.range.start <= at) {
            open.retain(|outer| outer.level < heading.level);
            open.push(heading);
        }
        open.into_iter().map(|heading| &heading.range)
    }

    /// A part of the plan without the tasks in it; one that is a task itself stays.
    fn without_tasks(&self, source: &PlanSource<'_>, part: &Range<usize>, own: Option<&Range<usize>>) -> String {
        let mut text = String::new();
        let mut at = part.start;
        let inside = |task: &&Range<usize>| task.start >= part.start && task.end <= part.end && Some(*task) != own;
        for task in self.tasks.iter().filter(inside) {
            if task.start >= at {
                text.push_str(source.slice(at..task.start).trim_end_matches([' ', '\t']));
                at = task.end;
            }
        }
        text.push_str(source.slice(at..part.end));
        squeeze(&dedent(&text, source.position(part.start).1.saturating_sub(1)))
    }
}

/// An item's text without the indentation of its marker, and without empty lines around it.
fn dedent(text: &str, indent: usize) -> String {
    let blank = |line: &str| line.len().saturating_sub(line.trim_start_matches([' ', '\t']).len());
    let mut lines = text.lines();
    let mut own = lines.next().unwrap_or_default().trim_end().to_owned();
    for line in lines {
        let line = line.get(indent.min(blank(line))..).unwrap_or_default();
        let _ = write!(own, "\n{}", line.trim_end());
    }
    own.trim().to_owned()
}

/// A text in which no empty lines follow each other.
fn squeeze(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if !line.trim().is_empty() || lines.last().is_some_and(|last| !last.trim().is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}
