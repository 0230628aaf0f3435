//! Phrases shared by all forms: commands as they are typed, banners, and who does the work.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::workflow::definition::ReviewStage;
use crate::workflow::directive::{Directive, DispatchInfo, QuestionInfo, RoundMode, StepRound};
use crate::workflow::name::{Name, StepOutcome};
use crate::workflow::run::RecoveryChoice;
use crate::workflow::run_reply::RunUpdate;
use crate::workflow::tool::{CodingTool, ToolCapability};
use crate::workflow::value_type::value_text;

use super::RenderForm;

pub(super) use crate::hidden_chars::escape_hidden;

/// The banner with the round of a review.
pub fn banner(round: &StepRound) -> Option<String> {
    let review = round.review.as_ref()?.as_str().replace(['-', '_'], " ").to_uppercase();
    let name = if review.ends_with("REVIEW") { review } else { format!("{review} REVIEW") };
    Some(match round.mode {
        RoundMode::Initial => format!("{name}: Review the work for issues."),
        RoundMode::FreshReview => {
            format!("{name} (Iteration {}, fresh review): Previous review found issues.", round.number)
        }
        RoundMode::ReVerify => {
            format!("{name} (Iteration {}, re-verify fixes): Previous review found issues.", round.number)
        }
    })
}

/// The type of a field of a result, with its values or its own fields, and whether it has to be there.
pub fn field_type(declared: &Json) -> String {
    let form = value_form(declared);
    if may_be_left_out(declared) { format!("{form}, may be left out") } else { form }
}

/// What a field of a result means, and what its own fields do.
pub fn field_meaning(declared: &Json) -> String {
    let said = |declared: &Json| declared.get("description").map(value_text).filter(|text| !text.is_empty());
    let own = declared.get("fields").and_then(Json::as_object).into_iter().flatten();
    let own = own.filter_map(|(name, field)| Some(format!("`{name}`: {}", said(field)?)));
    said(declared).into_iter().chain(own).collect::<Vec<_>>().join("; ")
}

fn may_be_left_out(declared: &Json) -> bool {
    declared.get("default").is_some()
}

fn value_form(declared: &Json) -> String {
    let said = |key: &str| declared.get(key).map(value_text).unwrap_or_default();
    let values = declared.get("values").map(|values| format!(" of {}", value_text(values))).unwrap_or_default();
    let fields = declared.get("fields").and_then(Json::as_object).map(|fields| {
        let one_of = |field: &Json| {
            let values = field.get("values").and_then(Json::as_array);
            values.map(|values| values.iter().map(value_text).collect::<Vec<_>>().join("|"))
        };
        let kind = |field: &Json| one_of(field).unwrap_or_else(|| value_form(field));
        let mark = |field: &Json| if may_be_left_out(field) { "?" } else { "" };
        let each = fields.iter().map(|(name, field)| match kind(field).as_str() {
            // A name alone is a text.
            "string" => format!("{name}{}", mark(field)),
            kind => format!("{name}{}: {kind}", mark(field)),
        });
        let each: Vec<String> = each.collect();
        format!(" of {{{}}}", each.join(", "))
    });
    let pattern = match declared.get("pattern").and_then(Json::as_str) {
        Some(".+") => " of strings".to_owned(),
        Some(pattern) => format!(" like {pattern}"),
        None => String::new(),
    };
    let unit = match declared.get("type").and_then(Json::as_str) {
        Some("string") => " characters",
        Some("list") => " items",
        _ => "",
    };
    // Of one there is no plural.
    let unit = |count: &Json| if count == 1 { unit.trim_end_matches('s') } else { unit };
    let limits = match (declared.get("min"), declared.get("max")) {
        (None, None) => String::new(),
        (Some(least), None) => format!(", at least {least}{}", unit(least)),
        (None, Some(most)) => format!(", at most {most}{}", unit(most)),
        (Some(least), Some(most)) => format!(", {least} to {most}{}", unit(most)),
    };
    format!("{}{values}{}{pattern}{limits}", said("type"), fields.unwrap_or_default())
}

/// What stands in a command for the outcome.
const OUTCOME: &str = "OUTCOME";
/// What stands in a command for what the user said.
const ANSWER: &str = "ANSWER";

/// A command as it can be typed.
pub(super) fn command(argv: &[String]) -> String {
    let mut text = String::new();
    for word in argv {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./#:=".contains(c);
        // A word that begins with `#` would be a comment, and the text of an answer is not known yet.
        let safe = !word.starts_with('#') && word != ANSWER;
        let quoted = if !word.is_empty() && word.chars().all(plain) && safe {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        };
        let _ = write!(text, "{}{quoted}", if text.is_empty() { "" } else { " " });
    }
    text
}

/// The command that reports this outcome.
pub(super) fn with_outcome(report: &[String], outcome: &str) -> Vec<String> {
    report.iter().map(|word| if word == OUTCOME { outcome } else { word }.to_owned()).collect()
}

/// Whether its sub-agents start runs of their own, which instruct them and report by themselves.
pub(super) fn begins_runs(directive: &Directive) -> bool {
    directive.dispatches.iter().any(|child| child.workflow.is_some())
}

/// What the outcomes of a directive mean, where that is not for its step to say.
pub(super) fn explain_outcomes(directive: &Directive) -> Option<[(&'static str, &'static str); 2]> {
    let part = directive.part();
    let judges = part == Some(ReviewStage::Verify) && directive.outcomes == [StepOutcome::OK, StepOutcome::FAIL];
    let unsaid = if directive.dispatches.is_empty() { judges } else { !begins_runs(directive) };
    unsaid.then(|| outcomes(part))
}

/// The outcomes of a given task, and their meanings.
pub(super) fn outcomes(part: Option<ReviewStage>) -> [(&'static str, &'static str); 2] {
    let done = match part {
        Some(ReviewStage::Verify) => {
            "the task is done as instructed, and the report says what was found, faults included; an item that does not hold is \
             reported with the status fail, and the outcome is still ok"
        }
        _ => "the task is done as instructed, and the report says what was found, faults included",
    };
    [("ok", done), ("fail", "the task could not be done")]
}

/// The command that reports a sub-agent which cannot begin its own run.
pub(super) fn unstarted_command(run: &str, child: &DispatchInfo) -> Vec<String> {
    let program = child.report.first().map_or("maestro", String::as_str);
    let words = [program, "workflow", "report", run, "--ticket", child.ticket.as_str(), "--outcome", "fail"];
    words.map(str::to_owned).to_vec()
}

/// What is run where the user does not answer.
pub(super) struct UnansweredCommand {
    pub(super) outcome: &'static str,
    pub(super) when: &'static str,
    pub(super) argv: Vec<String>,
}

/// What can be run where the user does not answer. Where it is unknown whether something was executed, only an answer
/// helps.
pub(super) fn unanswered_commands(report: &[String], question: &QuestionInfo) -> Vec<UnansweredCommand> {
    let options = question.options.iter().flatten().map(String::as_str);
    if options.eq(RecoveryChoice::ALL.map(RecoveryChoice::as_str)) {
        return Vec::new();
    }
    let with = |flag: &str| report.iter().filter(|word| *word != ANSWER).cloned().chain([flag.to_owned()]).collect();
    let declined = "If the user does not want to answer, run instead";
    let cancelled = "If the user wants to stop here, run instead";
    vec![
        UnansweredCommand { outcome: "declined", when: declined, argv: with("--declined") },
        UnansweredCommand { outcome: "cancelled", when: cancelled, argv: with("--cancelled") },
    ]
}

/// How an answer is put into its command.
pub(super) fn answer_hint(question: &QuestionInfo) -> String {
    let quoted =
        "ANSWER is what the user said, as one argument: put it between the quotes, and write ' in it as '\"'\"'.";
    let mut told = quoted.to_owned();
    if question.options.as_ref().is_some_and(|options| !options.is_empty()) {
        told.push_str(" An option can be given by its number or by its words.");
    }
    if question.multiple {
        told.push_str(" Several answers are several arguments, each in quotes of its own.");
    }
    told
}

/// The command that prints the current directive again.
pub(super) fn show_command(run: &str) -> Vec<String> {
    ["maestro", "workflow", "next", run].map(str::to_owned).to_vec()
}

/// What a session learns that reported of the step it was started for.
pub(super) const NOTED: &str = "It counts once your session has ended; another report of the step replaces it.";

/// The command with which a session says that it is done.
pub(super) fn complete() -> Vec<String> {
    ["maestro", "complete"].map(str::to_owned).to_vec()
}

/// The command that resumes a paused run.
pub(super) fn resume(run: &str) -> Vec<String> {
    ["maestro", "workflow", "resume", run].map(str::to_owned).to_vec()
}

/// A text on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The lines of a text, whatever ends them, without the empty ones at its end.
pub(super) fn lines(text: &str) -> Vec<String> {
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let text = text.replace("\r\n", "\n");
    text.trim_end().split(breaks).map(|line| line.trim_end().to_owned()).collect()
}

/// How a tool gets the work of sub-agents done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubagentSupport {
    /// It starts them all at once.
    AtOnce,
    /// It starts one, and the next when that one is done.
    OneAtATime,
    /// It has none, and does the work itself.
    Alone,
}

/// How this tool gets the work of sub-agents done.
pub(super) fn subagent_support(tool: &CodingTool) -> SubagentSupport {
    if tool.form == RenderForm::Aider || !tool.can(ToolCapability::Subagents) {
        SubagentSupport::Alone
    } else if tool.can(ToolCapability::Parallel) {
        SubagentSupport::AtOnce
    } else {
        SubagentSupport::OneAtATime
    }
}

/// What a gate said.
pub(super) struct GateReport<'n> {
    pub(super) gate: &'n str,
    pub(super) title: &'n str,
    pub(super) round: u32,
    pub(super) limit: u32,
    pub(super) passed: bool,
    pub(super) reasons: &'n [String],
    pub(super) fix_target: Option<&'n Name>,
    pub(super) self_fix: bool,
}

impl<'n> GateReport<'n> {
    /// What a gate said, if the update is of a gate.
    pub(super) fn of(update: &'n RunUpdate) -> Option<Self> {
        match update {
            RunUpdate::Judged { gate, title, round, limit, outcome, reasons, fix_target, self_fix, .. } => Some(Self {
                gate: gate.as_str(),
                title,
                round: *round,
                limit: *limit,
                passed: *outcome == StepOutcome::PASS,
                reasons,
                fix_target: fix_target.as_ref(),
                self_fix: *self_fix,
            }),
            _ => None,
        }
    }

    /// The words of the seed.
    pub(super) fn word(&self) -> &'static str {
        if self.passed { "GATE PASSED" } else { "GATE FAILED" }
    }

    /// Which round it was, if that matters any more.
    pub(super) fn iteration(&self) -> Option<String> {
        (!self.passed).then(|| format!("iteration {} of {}", self.round, self.limit))
    }

    /// Whether only the user can decide how to continue.
    pub(super) fn is_exhausted(&self) -> bool {
        self.round >= self.limit
    }

    /// Who fixes what was found.
    pub(super) fn fixer(&self, tool: &CodingTool) -> String {
        match self.fix_target {
            _ if self.is_exhausted() => "No rounds are left: the user decides.".to_owned(),
            Some(role) if subagent_support(tool) == SubagentSupport::Alone => {
                format!("Fix it yourself, in the role {role}.")
            }
            Some(role) => format!("Have a sub-agent in the role {role} fix it, as the step below says."),
            None if self.self_fix => "Fix it yourself, as the step below says.".to_owned(),
            None => "The step below says what to fix, and how.".to_owned(),
        }
    }

    /// What must not be done about it.
    pub(super) fn forbidden(&self, tool: &CodingTool) -> Vec<String> {
        let mut forbidden = vec![
            "Judge the gate yourself, or continue as if it had passed".to_owned(),
            "Weaken a check, an item or a test so that it passes".to_owned(),
            "Ask the user whether to continue, or offer alternatives".to_owned(),
        ];
        if self.is_exhausted() {
            forbidden.truncate(2);
            forbidden.push("Decide for the user".to_owned());
        } else if self.fix_target.is_some() && subagent_support(tool) != SubagentSupport::Alone {
            forbidden.push("Fix it yourself".to_owned());
        } else if self.self_fix {
            forbidden.push("Leave the fix to someone else".to_owned());
        }
        forbidden
    }
}

/// How the sub-agents of a dispatch are started.
pub(super) fn started(tool: &CodingTool) -> String {
    let told = match subagent_support(tool) {
        SubagentSupport::OneAtATime => "start one sub-agent at a time, the next when the one before is done",
        SubagentSupport::AtOnce | SubagentSupport::Alone => "start all sub-agents at once and wait for them",
    };
    let otherwise = if tool.is_known() { "" } else { ", or do their work yourself if you can start none" };
    format!("{told}{otherwise}")
}

/// Principles of a review, for the steps that list items and the steps that check them.
pub(super) fn principles(part: ReviewStage) -> Vec<String> {
    let texts: &[&str] = match part {
        ReviewStage::Decompose => &[
            "Say what must hold before you look at the work, so that the work does not tell you what to look for.",
            "Ask open questions: WRONG \"Is the error handled?\", RIGHT \"What happens when the file is missing?\"",
        ],
        ReviewStage::Verify => &[
            "Read each item first and say what you expect to find; only then look at the work.",
            "Ask open questions: WRONG \"Is the error handled?\", RIGHT \"What happens when the file is missing?\"",
            "Judge each item by itself, and give what you saw as evidence, with file and line.",
        ],
        ReviewStage::Fix => &[],
    };
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// How many tasks come after the one that is shown.
pub(super) fn more_count(count: usize) -> String {
    if count == 1 { "1 more follows".to_owned() } else { format!("{count} more follow") }
}

/// What a tool does with a command that it cannot run.
pub(super) fn instead_of_running(tool: &CodingTool) -> Option<&'static str> {
    if tool.can(ToolCapability::Shell) {
        None
    } else if tool.can(ToolCapability::Mcp) {
        Some("You cannot run commands: give the same words to the tools of the MCP server `maestro`.")
    } else {
        Some("You cannot run commands: ask the user to run it and to tell you what it printed.")
    }
}
