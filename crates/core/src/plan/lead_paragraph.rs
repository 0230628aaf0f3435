//! The text of a task. Gathers the first paragraph of an item that opens with a box; it never
//! looks past that paragraph.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::PlanTaskStatus;
use super::plan_source::PlanSource;
use super::skill_hints::TaskProse;

/// Gathers the first paragraph of an item that opens with a box.
pub(super) struct LeadParagraph<'a> {
    source: &'a PlanSource<'a>,
    pub(super) status: PlanTaskStatus,
    pub(super) box_at: usize,
    text_at: usize,
    end: usize,
    /// What the label leaves out: comments and the marks of hard line breaks.
    cuts: Vec<Range<usize>>,
    prose: TaskProse,
    in_autolink: bool,
}

impl<'a> LeadParagraph<'a> {
    pub(super) fn new(source: &'a PlanSource<'a>, status: PlanTaskStatus, box_at: usize, text_at: usize) -> Self {
        Self {
            source,
            status,
            box_at,
            text_at,
            end: text_at,
            cuts: Vec::new(),
            prose: TaskProse::default(),
            in_autolink: false,
        }
    }

    /// Takes in the next piece of the paragraph.
    pub(super) fn visit(&mut self, event: &Event<'_>, range: Range<usize>) {
        self.end = self.end.max(range.end);
        match event {
            Event::Text(_) if self.in_autolink => self.prose.push_gap(),
            // The box itself may share its piece of text with what follows.
            Event::Text(_) if range.start < self.text_at => {
                let text = self.source.slice(self.text_at..range.end);
                self.prose.push_text(text, false);
            }
            Event::Text(text) => {
                let escaped = self.source.follows_backslash(range.start);
                let entity = self.source.slice(range) != text.as_ref();
                if entity {
                    self.prose.push_literal(text);
                } else {
                    self.prose.push_text(text, escaped);
                }
            }
            Event::Code(code) => self.prose.push_literal(code),
            Event::SoftBreak => self.prose.push_text(" ", false),
            Event::HardBreak => {
                self.prose.push_text(" ", false);
                self.cuts.push(range);
            }
            Event::InlineHtml(html) => {
                self.prose.push_gap();
                if html.starts_with("<!--") {
                    self.cuts.push(range);
                }
            }
            Event::Start(Tag::Link { link_type, .. }) => {
                self.in_autolink = matches!(link_type, LinkType::Autolink | LinkType::Email);
                self.prose.push_gap();
            }
            Event::End(TagEnd::Link) => {
                self.in_autolink = false;
                self.prose.push_gap();
            }
            _ => self.prose.push_gap(),
        }
    }

    /// The skills that the paragraph asks for.
    pub(super) fn hints(&self) -> Vec<String> {
        self.prose.hints()
    }

    /// The paragraph as written, on one line, without the box, comments and a last line that only introduces what follows.
    pub(super) fn label(&self) -> String {
        let mut label = String::new();
        let mut at = self.text_at;
        let end = self.label_end();
        for cut in self.cuts.iter().filter(|cut| cut.end <= end) {
            push_lines(&mut label, self.source.slice(at..cut.start));
            // A break joins two lines, and so does a comment that takes one in.
            if self.source.slice(cut.clone()).contains(['\n', '\r']) {
                push_blank(&mut label);
            }
            at = cut.end;
        }
        push_lines(&mut label, self.source.slice(at..end));
        label.truncate(label.trim_end().len());
        label
    }

    /// Where the label ends: where its author began a line of its own for a description, and before a last line such as
    /// `Acceptance:`, which belongs to the list below it.
    fn label_end(&self) -> usize {
        let text = self.source.slice(self.text_at..self.end);
        let first_line = text.find(['\n', '\r']).unwrap_or(text.len());
        let line_end = self.text_at.saturating_add(first_line);
        let cut = self.cuts.iter().find(|cut| cut.contains(&line_end));
        let is_comment = cut.is_some_and(|cut| self.source.slice(cut.clone()).starts_with('<'));
        let (title, rest) = text.split_at_checked(first_line).unwrap_or((text, ""));
        if !is_comment && !title.trim().is_empty() && describes(title, rest.trim_start()) {
            return cut.map_or(line_end, |hard_break| hard_break.start);
        }
        match text.trim_end().rsplit_once(['\n', '\r']) {
            Some((title, last)) if !title.trim().is_empty() && introduces(last.trim()) => {
                self.text_at.saturating_add(title.len())
            }
            _ => self.end,
        }
    }
}

/// Columns that every line has room for, however narrow its author wraps lines.
const NARROWEST: usize = 60;

/// Whether the line below a title begins something new: words that introduce what follows them, such as `Done when:`, or a
/// sentence whose first word would have fit behind the title.
fn describes(title: &str, below: &str) -> bool {
    let line = below.lines().next().unwrap_or_default();
    let is_introduced = line.split_once(':').is_some_and(|(words, rest)| {
        introduces(&format!("{words}:")) && rest.trim_start_matches('*').starts_with(char::is_whitespace)
    });
    if is_introduced {
        return true;
    }
    let word = below.split_whitespace().next().unwrap_or_default();
    let needed = [title, word].iter().map(|text| text.chars().count()).fold(1, usize::saturating_add);
    word.starts_with(char::is_uppercase) && needed <= NARROWEST
}

/// Whether a line is nothing but the heading of what follows it.
fn introduces(line: &str) -> bool {
    let words = line.trim_matches('*').trim_end_matches(':').trim_end_matches('*');
    line.trim_end_matches('*').ends_with(':')
        && words.starts_with(char::is_uppercase)
        && words.split_whitespace().count() <= 3
}

/// Appends text, joining its lines with one blank and letting no blanks meet at the seam.
fn push_lines(label: &mut String, text: &str) {
    for (index, line) in text.split(['\n', '\r']).enumerate() {
        if index > 0 {
            label.truncate(label.trim_end().len());
            push_blank(label);
        }
        let at_seam = label.is_empty() || label.ends_with(char::is_whitespace);
        label.push_str(if at_seam { line.trim_start() } else { line });
    }
}

fn push_blank(label: &mut String) {
    if !label.is_empty() && !label.ends_with(char::is_whitespace) {
        label.push(' ');
    }
}
