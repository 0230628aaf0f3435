//! The prompt of a session that starts or continues.
//!
//! Texts of other people are put in once and never read for placeholders; each part has a heading of its own.

use std::fmt::Write as _;

use crate::SessionRole;
use crate::excerpt::{first_chars, split_chars};
use crate::hidden_chars::remove_hidden;
use crate::id::{EntityId as _, SessionId, TaskId};

/// The default limit of a prompt, in characters.
pub const PROMPT_MAX_CHARS: usize = 200_000;

/// What the parts share of the room that is left once the words of ours are in, in parts of this.
const PARTS: usize = 8;

/// Less of a text than this is not worth a mark.
const LEAST: usize = 80;

/// All that a prompt is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInput<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The part it plays.
    pub role: SessionRole,
    /// Its tasks, the main one first.
    pub tasks: Vec<TaskBrief<'a>>,
    /// The user's initial prompt; may be empty.
    pub words: &'a str,
    /// The skills, each as finished text, what others depend on first; those without text it can read itself.
    pub skills: Vec<SkillText<'a>>,
    /// The table of further skills; may be empty.
    pub table: &'a str,
    /// How it says how far it is.
    pub protocol: ReportProtocol,
    /// What was done so far, if another process began this work.
    pub so_far: Option<&'a str>,
}

/// A task as a prompt shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskBrief<'a> {
    /// Its id.
    pub id: &'a TaskId,
    /// What is to be done, in a line.
    pub title: &'a str,
    /// What is to be done, in full.
    pub description: &'a str,
    /// By what it is known that it is done.
    pub acceptance: Vec<&'a str>,
    /// What it is split into, parents before their parts.
    pub subtasks: Vec<SubtaskBrief<'a>>,
}

/// A subtask as a prompt shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubtaskBrief<'a> {
    /// Its id.
    pub id: &'a TaskId,
    /// How deep it is below the task, from 0 on.
    pub depth: usize,
    /// What is to be done, in a line.
    pub title: &'a str,
    /// What is to be done, in full.
    pub description: &'a str,
    /// Whether it is done or dropped.
    pub is_closed: bool,
}

impl SubtaskBrief<'_> {
    fn write(&self, text: &mut String) {
        let (indent, mark) = ("  ".repeat(self.depth), if self.is_closed { "x" } else { " " });
        let _ = writeln!(text, "{indent}- [{mark}] {} (`{}`)", self.title.trim(), self.id.as_str());
        for line in self.description.trim().lines() {
            let _ = writeln!(text, "{}", format!("{indent}  {line}").trim_end());
        }
    }
}

/// A skill as a prompt shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillText<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its finished text.
    pub text: &'a str,
}

/// How an agent says how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportProtocol {
    /// By commands in its shell.
    Commands,
    /// Not at all: it has no shell.
    Silent,
}

/// A prompt, and what was cut from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPrompt {
    /// The words.
    pub text: String,
    /// What was cut.
    pub cuts: Vec<PromptCut>,
}

/// Something that was longer than there was room for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptCut {
    /// What: a skill's name, or the part.
    pub what: String,
    /// How many characters are missing.
    pub chars: usize,
}

/// Builds the prompt in at most this many characters. Tasks go first and skills last: without its skills an agent
/// works worse, without its task not at all.
pub fn build_prompt(briefing: &PromptInput<'_>, most: usize) -> SessionPrompt {
    let opening = opening(briefing);
    let protocol = protocol_text(briefing.protocol);
    let fixed = opening.chars().count() + protocol.chars().count() + RESUMED.chars().count() + 8;
    let mut room = PromptSpace { left: most.saturating_sub(fixed), cuts: Vec::new() };
    // So that no part takes everything, each may take so much of what is left; the next one has the rest of it as well.
    let tasks = room.tasks(&briefing.tasks);
    let words = room.part("## Instructions", "words", briefing.words, 4);
    let so_far = room.part("## Progress so far", "what was done so far", briefing.so_far.unwrap_or_default(), 4);
    let note = if so_far.is_empty() { "" } else { RESUMED };
    let skills = room.skills(&briefing.skills);
    let table = room.take_whole("the table of skills", briefing.table.trim());
    let mut text = String::new();
    for part in [opening.as_str(), &tasks, &words, &so_far, note, &protocol, &skills, &table] {
        if !part.is_empty() {
            let _ = writeln!(text, "{}\n", part.trim_end());
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let mut cuts = room.cuts;
    let (head, rest) = split_chars(&text, most);
    if !rest.is_empty() {
        let (end, chars) = (head.len(), rest.chars().count());
        text.truncate(end);
        cuts.push(PromptCut { what: "the end".to_owned(), chars });
    }
    SessionPrompt { text: remove_hidden(&text).into_owned(), cuts }
}

/// The note for a session that continues earlier work.
const RESUMED: &str = "Look at the files first: they count, not this summary. Continue from there; do not start over.";

fn opening(briefing: &PromptInput<'_>) -> String {
    let part = match briefing.role {
        SessionRole::Worker => {
            "You are a worker: you carry out the tasks below yourself, in the current directory, from beginning to end."
        }
        SessionRole::Orchestrator => {
            "You are an orchestrator: you plan the tasks below, hand them to workers with `maestro session spawn`, watch \
             how they go, and check what comes back. You do not do the work yourself."
        }
    };
    format!("{part}\nYour session is `{}`.", briefing.session)
}

/// Instructions for reporting.
pub fn protocol_text(protocol: ReportProtocol) -> String {
    match protocol {
        ReportProtocol::Commands => COMMANDS.to_owned(),
        ReportProtocol::Silent => SILENT.to_owned(),
    }
}

/// How an agent with a shell says how far it is.
const COMMANDS: &str = "\
## Reporting

What you print is not read; people and other agents see only what you report. Run these commands in your shell. They \
know your session and your task from variables such as `MAESTRO_SESSION_ID`, so leave those as they are.

- `maestro update \"…\"` before and after each step: what you do, what you found.
- `maestro complete \"…\"` once everything is done and verified. Without it your work does not count as done.
- `maestro blocked \"…\"` if you cannot continue: say what blocks you.
- `maestro report needs-input \"…\"` if a person must decide something.
- `maestro info` shows your task as it is now.

A line of a reply that begins with `!` is a message to you: a change of the task, a message of a person, `paused` or \
`cancelled`. Follow it before anything else.";

/// How it is with an agent without a shell.
const SILENT: &str = "\
## How your work is judged

You cannot run commands. What counts is what the files are when you end: make the changes, all of them, and say at the \
end in a few sentences what you changed and what is missing.";

/// The way to further skills.
pub const FIND_SKILLS: &str = "`maestro skills select \"…\"` finds a skill for what you are about to do.";

/// The room that is left, and what was cut so far.
struct PromptSpace {
    left: usize,
    cuts: Vec<PromptCut>,
}

impl PromptSpace {
    fn tasks(&mut self, tasks: &[TaskBrief<'_>]) -> String {
        let mut text = String::new();
        for (at, task) in tasks.iter().enumerate() {
            let heading = if tasks.len() == 1 { "## Your task".to_owned() } else { format!("## Task {}", at + 1) };
            let mut body = format!("**{}** (`{}`)\n", task.title.trim(), task.id.as_str());
            if !task.description.trim().is_empty() {
                let _ = write!(body, "\n{}\n", task.description.trim());
            }
            if !task.acceptance.is_empty() {
                body.push_str("\nIt is done when:\n");
                for line in &task.acceptance {
                    let _ = writeln!(body, "- {}", line.trim());
                }
            }
            if !task.subtasks.is_empty() {
                body.push_str(
                    "\nIts subtasks; run `maestro subtask complete ID` for each as soon as it is done and checked:\n",
                );
                task.subtasks.iter().for_each(|subtask| subtask.write(&mut body));
            }
            let share = PARTS.saturating_sub(2).max(1);
            let part = self.part(&heading, &format!("task {}", task.id), &body, share);
            let _ = write!(text, "{}{part}", if text.is_empty() { "" } else { "\n\n" });
        }
        text
    }

    fn skills(&mut self, skills: &[SkillText<'_>]) -> String {
        let (named, skills): (Vec<SkillText<'_>>, Vec<SkillText<'_>>) =
            skills.iter().partition(|skill| skill.text.trim().is_empty());
        let mut text = String::new();
        if !named.is_empty() {
            let commands: Vec<String> =
                named.iter().map(|skill| format!("`maestro skills read {}`", skill.name)).collect();
            let _ = write!(text, "More about your session: {}. {FIND_SKILLS}", commands.join(", "));
        }
        if !skills.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            let _ = write!(text, "{gap}These skills describe how work is done here. Use those that fit your task.");
        }
        if text.is_empty() {
            return text;
        }
        text.insert_str(0, "## Skills\n\n");
        self.left = self.left.saturating_sub(text.chars().count() + 2);
        for (at, skill) in skills.iter().enumerate() {
            // What one leaves, the next ones have.
            let body = self.take_within(skill.name, skill.text.trim(), self.left / (skills.len() - at));
            if !body.is_empty() {
                let _ = write!(text, "\n\n{body}");
            }
        }
        text
    }

    /// A text, if there is room for all of it.
    fn take_whole(&mut self, what: &str, text: &str) -> String {
        let count = text.chars().count();
        if text.is_empty() {
            return String::new();
        }
        if count + 2 <= self.left {
            self.left -= count + 2;
            return text.to_owned();
        }
        self.cuts.push(PromptCut { what: what.to_owned(), chars: count });
        String::new()
    }

    /// A part with its heading, within so many eighths of the room that is left.
    fn part(&mut self, heading: &str, what: &str, body: &str, share: usize) -> String {
        let body = body.trim();
        if body.is_empty() {
            return String::new();
        }
        self.left = self.left.saturating_sub(heading.chars().count() + 4);
        let body = self.take_within(what, body, self.left / PARTS * share);
        if body.is_empty() { body } else { format!("{heading}\n\n{body}") }
    }

    /// As much of a text as there is room for, with a mark where it is cut; nothing, if hardly anything would be left.
    fn take_within(&mut self, what: &str, text: &str, most: usize) -> String {
        let count = text.chars().count();
        if count + 2 <= most {
            self.left = self.left.saturating_sub(count + 2);
            return text.to_owned();
        }
        let mark = |missing: usize| format!("\n[… {missing} characters of this are missing]");
        let kept = most.saturating_sub(mark(count).chars().count() + 2);
        if kept < LEAST {
            self.cuts.push(PromptCut { what: what.to_owned(), chars: count });
            return String::new();
        }
        self.cuts.push(PromptCut { what: what.to_owned(), chars: count - kept });
        let head = first_chars(text, kept);
        let cut = format!("{}{}", head.trim_end(), mark(count - kept));
        self.left = self.left.saturating_sub(cut.chars().count() + 2);
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionId {
        SessionId::make(1_738_713_600_000, 35)
    }

    fn briefing<'a>(session: &'a SessionId, task: &'a TaskId) -> PromptInput<'a> {
        let work = TaskBrief {
            id: task,
            title: "Compare dates as dates",
            description: "Tokens fail in October. See {session} and `src/auth.ts`.\n",
            acceptance: vec!["A test covers October", "All tests pass"],
            subtasks: vec![],
        };
        let cli = SkillText {
            name: "maestro-cli",
            text: "---\n# Maestro CLI (v1.0.0)\n\nHow to report.\n\nRun `maestro info`.",
        };
        let worker = SkillText { name: "maestro-worker", text: "---\n# Maestro Worker (v1.0.0)\n\nHow to work." };
        PromptInput {
            session,
            role: SessionRole::Worker,
            tasks: vec![work],
            words: "Keep the signature.",
            skills: vec![cli, worker],
            table: "",
            protocol: ReportProtocol::Commands,
            so_far: Some("The test is written and fails."),
        }
    }

    #[test]
    fn a_worker_that_goes_on_is_told_this() {
        let (session, task) = (session(), TaskId::make(1_738_713_600_000, 35));
        let told = build_prompt(&briefing(&session, &task), PROMPT_MAX_CHARS);
        assert_eq!(told.cuts, []);
        insta::assert_snapshot!(told.text);
    }

    #[test]
    fn an_orchestrator_without_a_shell_is_told_this() {
        let (session, task) = (session(), TaskId::make(1_738_713_600_000, 35));
        let one = briefing(&session, &task);
        let two = PromptInput {
            role: SessionRole::Orchestrator,
            tasks: vec![
                one.tasks[0].clone(),
                TaskBrief { description: "", acceptance: vec![], ..one.tasks[0].clone() },
            ],
            words: "",
            skills: vec![],
            protocol: ReportProtocol::Silent,
            so_far: None,
            ..one
        };
        insta::assert_snapshot!(build_prompt(&two, PROMPT_MAX_CHARS).text);
    }

    #[test]
    fn a_worker_sees_its_subtasks_and_where_to_read_more() {
        let (session, task) = (session(), TaskId::make(1_738_713_600_000, 35));
        let part =
            |depth, title, description, is_closed| SubtaskBrief { id: &task, depth, title, description, is_closed };
        let mut input = briefing(&session, &task);
        input.tasks[0].subtasks = vec![
            part(0, "Read the dates", "With a parser.\n\n- no new dependency", false),
            part(1, "Cover October", "", true),
        ];
        input.skills = vec![SkillText { name: "maestro-worker", text: "" }];
        input.table = "<skills_system>";
        let prompt = build_prompt(&input, PROMPT_MAX_CHARS).text;
        insta::assert_snapshot!(prompt);
        // The estimate of `maestro prompt`: four bytes are a token.
        assert!(prompt.len() / 4 < 900, "{} tokens", prompt.len() / 4);
    }

    #[test]
    fn skills_are_cut_before_the_task_and_every_cut_is_told() {
        let (session, task) = (session(), TaskId::make(1, 1));
        let long = "x ".repeat(50_000);
        let mut told = briefing(&session, &task);
        told.skills[0].text = &long;
        told.skills[1].text = &long;
        let SessionPrompt { text, cuts } = build_prompt(&told, 20_000);
        assert!(text.chars().count() <= 20_000);
        assert!(text.contains("Tokens fail in October") && text.contains("maestro complete"));
        let names: Vec<&str> = cuts.iter().map(|cut| cut.what.as_str()).collect();
        assert_eq!(names, ["maestro-cli", "maestro-worker"]);
        assert!(cuts.iter().all(|cut| cut.chars > 10_000), "{cuts:?}");
    }

    proptest::proptest! {
        #[test]
        fn a_prompt_is_never_longer_than_it_may_be(most in 0_usize..5_000, long in 0_usize..6_000, far in 0_usize..6_000) {
            let (session, task) = (session(), TaskId::make(1, 1));
            let (text, so_far) = ("é".repeat(long), "ß ".repeat(far));
            let mut told = briefing(&session, &task);
            told.tasks[0].description = &text;
            told.words = &text;
            told.so_far = Some(&so_far);
            told.skills[0].text = &text;
            let SessionPrompt { text, cuts } = build_prompt(&told, most);
            proptest::prop_assert!(text.chars().count() <= most);
            proptest::prop_assert!(most >= 5_000 || long < 5_000 || !cuts.is_empty());
        }
    }
}
