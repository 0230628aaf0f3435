//! Lines of a loop's log: what of its events is shown, and how.

use std::fmt::Write as _;
use std::time::Duration;

use maestro_core::Event;
use maestro_core::event::SkillSelection;
use maestro_core::workflow::StepPhase;
use maestro_core::workflow::run::RunEvent;
use serde_json::Value as Json;

use super::progress_bar::LoopParams;
use crate::host::world::World;
use crate::output::screen::clean;

/// What is shown of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgressNote {
    Task,
    Working,
    Checking,
    Reviewing,
    Committing,
    Skills,
    Failed,
    Judged,
    ReviewPassed,
    ReviewFailed,
    Asked,
    Checked,
    Found,
    Restarted,
    Warned,
    Word,
}

/// What something means, for those who see it for the first time.
pub(crate) type NoteMeaning = (ProgressNote, &'static str);

/// How many lines of the end of a red check are shown.
const LAST_LINES: usize = 6;
/// How many findings are shown.
const FINDINGS: usize = 20;

/// A line, and what it is about.
pub(super) type NotedLine = (ProgressNote, String);

/// What is worth a line outside the runs.
pub(super) fn line(event: &Event, session: Option<&str>, world: &World) -> Option<NotedLine> {
    Some(match event {
        Event::TimelineAdded(said) => match said.kind.as_str() {
            "progress" | "task_completed" | "error" => (ProgressNote::Word, format!("    {}", clean(&said.message))),
            "task_blocked" | "needs_input" => {
                let how = format!("maestro session answer {} \"TEXT\"", clean(session.unwrap_or_default()));
                let asked = format!("    waiting for you: {}\n      answer with `{how}`", clean(&said.message));
                (ProgressNote::Asked, world.paint.strong(&asked))
            }
            "agent_ended" if is_told(&said.message) => {
                (ProgressNote::Restarted, world.paint.dim(&format!("    {}", clean(&said.message))))
            }
            _ => return None,
        },
        Event::PermissionAsked(asked) => {
            let how = format!("maestro session answer {} once|always|deny", clean(session.unwrap_or_default()));
            let asked = format!("    asks: {}\n      answer with `{how}`", clean(&asked.title));
            (ProgressNote::Asked, world.paint.strong(&asked))
        }
        Event::SkillsSelected(selection) => {
            let lines: Vec<String> = chosen(selection, world).into_iter().chain(warnings(event, world)).collect();
            (ProgressNote::Skills, Some(lines.join("\n")).filter(|lines| !lines.is_empty())?)
        }
        Event::SkillsLoadFailed(_) | Event::SkillsTruncated(_) => {
            (ProgressNote::Warned, warnings(event, world).join("\n"))
        }
        _ => return None,
    })
}

/// Whether an event asks a person, who answers with the id of its session.
pub(super) fn asks(event: &Event) -> bool {
    match event {
        Event::PermissionAsked(_) => true,
        Event::TimelineAdded(said) => matches!(said.kind.as_str(), "task_blocked" | "needs_input"),
        _ => false,
    }
}

/// Whether the end of an agent's process says more than that it is done, or that it waits, which was said before.
fn is_told(message: &str) -> bool {
    let waits = ["it continues when you answer", "it continues when you say how"];
    message != "The agent is done" && !waits.iter().any(|end| message.ends_with(end))
}

/// What of a run's events is worth a line.
pub(super) fn run_line(event: &RunEvent, took: Option<Duration>, world: &World) -> Option<NotedLine> {
    Some(match event {
        RunEvent::Called { params, .. } => {
            let task = LoopParams::of(params).task;
            (ProgressNote::Task, world.paint.strong(&clean(&task)))
        }
        RunEvent::Executed { step, outcome, reason, .. } if outcome.as_str() != "ok" => {
            let took = took.map(|took| format!(" after {}", duration(took))).unwrap_or_default();
            let reason = excerpt(reason.as_deref().unwrap_or_default());
            let text = format!("  {} failed{took}: {}", clean(step.as_str()), reason.join("\n    "));
            (ProgressNote::Failed, world.paint.error(&text))
        }
        RunEvent::Set { name, value } if name.as_str() == "checked" => {
            let told = value.get("told").and_then(Json::as_str).filter(|told| !told.is_empty())?;
            (ProgressNote::Checked, world.paint.dim(&format!("    {}", clean(told))))
        }
        RunEvent::Set { name, value } if name.as_str() == "findings" => {
            (ProgressNote::Found, findings(value.as_str()?)?)
        }
        RunEvent::Judged { outcome, .. } => (ProgressNote::Judged, format!("  check: {}", clean(outcome.as_str()))),
        RunEvent::Left { outcome, phase: Some(StepPhase::Review), .. } if outcome.as_str() != "skip" => {
            match outcome.as_str() {
                "pass" => (ProgressNote::ReviewPassed, "  review: pass".to_owned()),
                "again" => (ProgressNote::Restarted, "  review: no usable verdict, another session reviews".to_owned()),
                other => (ProgressNote::ReviewFailed, format!("  review: {}", clean(other))),
            }
        }
        _ => return None,
    })
}

/// The findings of a review or about what an agent left behind, a line each.
fn findings(text: &str) -> Option<String> {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("    - {}", clean(line.trim())))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let more = lines.len().saturating_sub(FINDINGS);
    lines.truncate(FINDINGS);
    lines.extend((more > 0).then(|| format!("    … {more} more")));
    Some(lines.join("\n"))
}

/// The first line of a failure, and the end of what follows, where the error is.
fn excerpt(reason: &str) -> Vec<String> {
    let mut lines = reason.lines();
    let first = lines.next().map(|line| clean(line).into_owned());
    let rest: Vec<&str> = lines.collect();
    let left_out = rest.len().saturating_sub(LAST_LINES);
    let gap = (left_out > 0).then(|| "…".to_owned());
    let last = rest.into_iter().skip(left_out).map(|line| clean(line).into_owned());
    first.into_iter().chain(gap).chain(last).collect()
}

/// The chosen skills with the reasons, where there are any.
fn chosen(selection: &SkillSelection, world: &World) -> Option<String> {
    let mut text = String::new();
    for skill in &selection.skills {
        let between = if text.is_empty() { "  skills: " } else { ", " };
        let _ = write!(text, "{between}{} ({})", clean(&skill.name), clean(&skill.reason));
    }
    (!text.is_empty()).then(|| world.paint.dim(&text))
}

/// What is wrong with skills, a line each.
fn warnings(event: &Event, world: &World) -> Vec<String> {
    event.skill_warnings().iter().map(|text| world.paint.error(&format!("  warning: {}", clean(text)))).collect()
}

/// A phase that a run comes to, where it is one of those that every plan passes through.
pub(super) fn phase_line(phase: &StepPhase, world: &World) -> Option<NotedLine> {
    let what = match phase {
        StepPhase::Implement => ProgressNote::Working,
        StepPhase::Check => ProgressNote::Checking,
        StepPhase::Review => ProgressNote::Reviewing,
        StepPhase::Commit => ProgressNote::Committing,
        StepPhase::Label(_) => return None,
    };
    Some((what, world.paint.dim(&format!("  {phase}"))))
}

/// `0.4 s`, `12 s`, `3 min 5 s` or `2 h 10 min`.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0..10) => format!("{:.1} s", time.as_secs_f64()),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_red_check_its_end_is_shown() {
        let output: Vec<String> = (1..=9).map(|number| format!("line {number}")).collect();
        let shown = excerpt(&format!("`./check` exited with 1:\n{}\nerror: no", output.join("\n")));
        assert_eq!(shown[..3], ["`./check` exited with 1:", "…", "line 5"]);
        assert_eq!((shown.len(), shown.last().unwrap().as_str()), (8, "error: no"));
        assert_eq!(excerpt("a\nb"), ["a", "b"]);
        assert_eq!(excerpt(""), [""; 0]);
    }

    #[test]
    fn what_an_agents_end_means_is_told_unless_it_was_said_before() {
        assert!(is_told("The agent failed: HTTP 529; next try at 02:00:01 UTC"));
        assert!(!is_told("The agent is done"));
        assert!(!is_told("The agent cannot continue: Which port?; it continues when you say how"));
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let told = [400, 12_000, 185_000, 7_800_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(told, ["0.4 s", "12 s", "3 min 5 s", "2 h 10 min"]);
    }
}
