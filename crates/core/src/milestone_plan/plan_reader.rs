//! Reading of a milestone plan from its Markdown.

use super::{AcceptanceCriterion, ChangeKind, FileDiff, MilestonePlan, PlanMilestone};

/// What a text says as a plan. What it leaves out is empty.
pub fn read_milestone_plan(text: &str) -> MilestonePlan {
    let mut reader = PlanReader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line(index + 1, line);
    }
    reader.plan
}

#[derive(Default)]
struct PlanReader {
    plan: MilestonePlan,
    fence: Option<OpenFence>,
    part: PlanPart,
}

/// Where in the plan the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PlanPart {
    #[default]
    Head,
    Task,
    /// A part that nothing is read from.
    Other,
    Milestones,
    /// Directly below the heading of a milestone.
    Milestone,
    /// Below `Acceptance:` of a milestone.
    Acceptance,
    Files,
    Changes,
}

/// A block of code that is open.
struct OpenFence {
    mark: char,
    length: usize,
    diff: Option<FileDiff>,
}

impl PlanReader {
    fn line(&mut self, number: usize, line: &str) {
        if let Some(fence) = &mut self.fence {
            if closes(line, fence) {
                if let (Some(diff), Some(milestone)) = (fence.diff.take(), self.plan.milestones.last_mut()) {
                    milestone.diffs.extend(by_file(&diff));
                }
                self.fence = None;
            } else if let Some(diff) = &mut fence.diff {
                diff.text.push_str(line);
                diff.text.push('\n');
            }
            return;
        }
        if let Some((mark, length, word)) = opens(line) {
            let diff = (self.part == PlanPart::Changes && word == "diff").then(|| FileDiff {
                path: String::new(),
                line: number,
                text: String::new(),
            });
            self.fence = Some(OpenFence { mark, length, diff });
            return;
        }
        let level = line.chars().take_while(|c| *c == '#').count();
        match level {
            1..=6 if line[level..].starts_with(' ') => self.heading(number, level, line[level..].trim()),
            _ => self.text(number, line),
        }
    }

    fn heading(&mut self, number: usize, level: usize, title: &str) {
        let in_milestones = !matches!(self.part, PlanPart::Head | PlanPart::Task | PlanPart::Other);
        self.part = match (level, title.to_lowercase().as_str()) {
            (1, _) if self.plan.title.is_empty() => {
                title.clone_into(&mut self.plan.title);
                PlanPart::Head
            }
            (2, "task") => PlanPart::Task,
            (2, "milestones") => PlanPart::Milestones,
            (3, _) if in_milestones => {
                let (id, title) = title.split_once(' ').unwrap_or((title, ""));
                let id = id.trim_end_matches([':', '.']).to_owned();
                let title = title.trim_start_matches(['-', '–', ':', ' ']).to_owned();
                self.plan.milestones.push(PlanMilestone { id, title, line: number, ..PlanMilestone::default() });
                PlanPart::Milestone
            }
            (4, "files") if in_milestones => PlanPart::Files,
            (4, "changes") if in_milestones => PlanPart::Changes,
            (4.., _) if in_milestones => PlanPart::Milestone,
            _ => PlanPart::Other,
        };
    }

    fn text(&mut self, number: usize, line: &str) {
        let bullet = line.trim_start().strip_prefix(['-', '*']).map(str::trim);
        let field = bullet.and_then(|text| text.split_once(':'));
        let field =
            field.map(|(name, value)| (name.trim().trim_matches('*').to_lowercase(), value.trim().trim_matches('*')));
        let nested = line.starts_with([' ', '\t']);
        match self.part {
            PlanPart::Head => match field {
                Some((name, value)) if name == "base" => plain(value).clone_into(&mut self.plan.base),
                Some((name, value)) if name == "kind" => self.plan.kind = kind(value),
                _ => {}
            },
            PlanPart::Task => self
                .plan
                .requirements
                .extend(ids(line, 'R').filter(|id| !self.plan.requirements.contains(id)).collect::<Vec<_>>()),
            PlanPart::Milestone | PlanPart::Acceptance => {
                let in_acceptance = self.part == PlanPart::Acceptance;
                let Some(milestone) = self.plan.milestones.last_mut() else { return };
                match (field, bullet) {
                    (Some((name, value)), _) if !nested && name == "depends on" => {
                        milestone.depends_on = ids(value, 'M').collect();
                        self.part = PlanPart::Milestone;
                    }
                    (Some((name, value)), _) if !nested && name == "requirements" => {
                        milestone.requirements = ids(value, 'R').collect();
                        self.part = PlanPart::Milestone;
                    }
                    (Some((name, value)), _) if !nested && name == "kind" => {
                        milestone.kind = kind(value);
                        self.part = PlanPart::Milestone;
                    }
                    (Some((name, value)), _) if !nested && name == "acceptance" => {
                        milestone.acceptance.extend((!value.is_empty()).then(|| criterion(number, value)));
                        self.part = PlanPart::Acceptance;
                    }
                    (_, Some(text)) if nested && in_acceptance => milestone.acceptance.push(criterion(number, text)),
                    (_, Some(_)) if !nested => self.part = PlanPart::Milestone,
                    _ => {}
                }
            }
            PlanPart::Files => {
                let Some(milestone) = self.plan.milestones.last_mut() else { return };
                milestone.files.extend(listed_file(line));
            }
            PlanPart::Changes => {
                let Some(milestone) = self.plan.milestones.last_mut() else { return };
                if line.to_lowercase().contains("intent only") {
                    milestone.intent_only.extend(quoted(line).map(str::to_owned));
                }
            }
            PlanPart::Milestones | PlanPart::Other => {}
        }
    }
}

/// The mark, its length and the language of a block of code that begins.
fn opens(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| (mark, length, text[length..].trim()))
}

fn closes(line: &str, fence: &OpenFence) -> bool {
    opens(line).is_some_and(|(mark, length, word)| mark == fence.mark && length >= fence.length && word.is_empty())
}

/// How the lines begin that git writes above the names of a file.
const HEADERS: [&str; 6] = ["diff --git ", "index ", "new file mode ", "deleted file mode ", "old mode ", "new mode "];

/// The diffs of a block, which may change several files one after the other.
fn by_file(block: &FileDiff) -> Vec<FileDiff> {
    let lines: Vec<&str> = block.text.split_inclusive('\n').collect();
    let begins = |at: &usize| {
        let marks = ["--- ", "+++ ", "@@"];
        marks.iter().enumerate().all(|(below, mark)| lines.get(at + below).is_some_and(|line| line.starts_with(mark)))
    };
    // What git writes above the two names belongs to the file below it.
    let is_header = |line: &str| HEADERS.iter().any(|header| line.starts_with(header));
    let with_headers = |at: usize| at - lines[..at].iter().rev().take_while(|line| is_header(line)).count();
    let mut starts: Vec<usize> = (0..lines.len()).filter(begins).map(with_headers).collect();
    match starts.first_mut() {
        // What stands before the first file belongs to it.
        Some(first) => *first = 0,
        None => starts.push(0),
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let diffs = starts.iter().zip(ends).map(|(from, to)| {
        let text = lines[*from..to].concat();
        let line = if *from == 0 { block.line } else { block.line + from + 1 };
        FileDiff { path: changed_path(&text), line, text }
    });
    diffs.collect()
}

/// The file that a diff is about.
fn changed_path(diff: &str) -> String {
    let side = |mark: &str, prefix: &str| {
        let line = diff.lines().find_map(|line| line.strip_prefix(mark))?;
        let path = line.split('\t').next().unwrap_or_default().trim();
        (path != "/dev/null").then(|| path.strip_prefix(prefix).unwrap_or(path).to_owned())
    };
    side("+++ ", "b/").or_else(|| side("--- ", "a/")).unwrap_or_default()
}

fn kind(value: &str) -> Option<ChangeKind> {
    ChangeKind::from_word(&plain(value).to_lowercase())
}

/// A value without the marks around it.
fn plain(value: &str) -> &str {
    value.trim().trim_matches(['`', '<', '>', '*'])
}

fn criterion(line: usize, text: &str) -> AcceptanceCriterion {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let word = first.trim_matches(['*', '`', ':', '.', '(', ')']);
    if !is_id(word, 'A') {
        return AcceptanceCriterion { id: String::new(), text: text.to_owned(), line };
    }
    let text = rest.trim_start_matches(['–', '-', ':', ' ']).to_owned();
    AcceptanceCriterion { id: word.to_owned(), text, line }
}

/// The file in the first cell of a row, or of a list.
fn listed_file(line: &str) -> Option<String> {
    let line = line.trim();
    let cell = match line.strip_prefix('|') {
        Some(row) => row.split('|').next().unwrap_or_default().trim(),
        None => line.strip_prefix(['-', '*'])?.trim(),
    };
    let path = quoted(cell).next().unwrap_or(cell);
    let is_header =
        path.is_empty() || path.eq_ignore_ascii_case("file") || path.chars().all(|c| matches!(c, '-' | ':' | ' '));
    (!is_header).then(|| path.to_owned())
}

/// The parts of a line between backquotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|text| !text.is_empty())
}

/// Ids of one kind in a text, in order.
fn ids(text: &str, letter: char) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(move |word| is_id(word, letter)).map(str::to_owned)
}

fn is_id(word: &str, letter: char) -> bool {
    word.strip_prefix(letter)
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
