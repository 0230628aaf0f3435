//! Progress of a loop: one line below all output, redrawn in place, and removed at the end.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use maestro_core::Event;
use maestro_core::workflow::StepPhase;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::run::RunEvent;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use unicode_width::UnicodeWidthStr as _;

use crate::host::world::World;
use crate::output::command_output;
use crate::output::command_output::CommandResult;
use crate::output::screen::{clean, count, fit};

/// Back to the beginning of the line, and nothing is left of it.
const ERASE: &str = "\r\u{1b}[K";
/// How many signs show how far it is.
const SIGNS: usize = 10;
/// Under so many columns a task's words say nothing any more.
const LEAST_WORDS: usize = 12;

/// How far a run is, as its events tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LoopProgress {
    done: usize,
    /// How many there are to do, once that is known.
    all: Option<usize>,
    /// After how many it ends, where that was said.
    most: Option<usize>,
    phase: Option<StepPhase>,
    task: String,
    /// What is waited for, while that is a person or the model.
    waiting: Option<String>,
}

impl LoopProgress {
    /// Takes in something that happened to a session of the run.
    pub(super) fn apply_session(&mut self, event: &Event) {
        self.waiting = match event {
            Event::PermissionAsked(_) => Some("waiting for you".to_owned()),
            Event::TimelineAdded(said) => match (said.kind.as_str(), said.message.rsplit_once("; next try at ")) {
                ("needs_input" | "task_blocked", _) => Some("waiting for you".to_owned()),
                ("agent_ended", Some((_, at))) => Some(format!("waiting for the model until {}", clean(at))),
                ("agent_ended", None) => self.waiting.take(),
                _ => None,
            },
            _ => self.waiting.take(),
        };
    }

    /// Takes in something that happened to the run.
    pub(super) fn apply(&mut self, event: &RunEvent) {
        if let RunEvent::Left { .. } = event {
            self.waiting = None;
        }
        match event {
            RunEvent::Began { params, .. } => {
                let params = LoopParams::of(params);
                self.most = Some(params.most).filter(|most| *most > 0);
                // A run that continues the branch of another adds its task.
                self.all = (!params.only.is_empty()).then(|| self.done + 1).or(self.all);
            }
            RunEvent::Set { name, value } if name.as_str() == "task" => {
                let open = PickedTask::deserialize(value).ok().map(|task| task.open);
                self.all = open.map(|open| (self.done + open).min(self.most.unwrap_or(usize::MAX)));
            }
            RunEvent::Called { params, .. } => self.task = LoopParams::of(params).task,
            RunEvent::Returned { status: EndStatus::Success, .. } => self.done += 1,
            RunEvent::Entered { phase: Some(phase), .. } => self.phase = Some(phase.clone()),
            _ => {}
        }
    }

    /// How many tasks are done, and of how many, once that is known.
    pub(super) fn tasks(&self) -> Option<(usize, usize)> {
        self.all.map(|all| (self.done, all))
    }

    /// The line, in so many columns at most.
    fn line(&self, took: Duration, width: usize) -> String {
        let time = clock(took);
        let doing = match &self.waiting {
            Some(waiting) => Cow::Borrowed(waiting.as_str()),
            None => self.phase.as_ref().map(phase_label).unwrap_or_default(),
        };
        let Some(all) = self.all else { return fit(&format!("{doing} · {time}"), width).into_owned() };
        let tasks = format!("{}/{}", self.done, count(all, "task", "tasks"));
        let full = (self.done * SIGNS).checked_div(all).unwrap_or(0).min(SIGNS);
        let bar = format!("[{}{}]", "#".repeat(full), "-".repeat(SIGNS - full));
        let task = clean(&self.task);
        let around = format!("{bar} {tasks} · {doing} \"\" · {time}").width();
        let is_about_task = self.phase.as_ref().is_some_and(StepPhase::is_known);
        let line = match width.saturating_sub(around) {
            _ if task.is_empty() => format!("{bar} {tasks} · {time}"),
            room if is_about_task && room >= LEAST_WORDS.min(task.width()) => {
                format!("{bar} {tasks} · {doing} \"{}\" · {time}", fit(&task, room))
            }
            _ if around <= width => format!("{bar} {tasks} · {doing} · {time}"),
            _ => format!("{tasks} · {time}"),
        };
        fit(&line, width).into_owned()
    }
}

/// The parameters of a loop's workflow, and of those that it calls, as far as they say what it is for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct LoopParams {
    /// After how many tasks it ends; 0 for all.
    pub(super) most: usize,
    /// The plan that it works through.
    pub(super) plan: String,
    /// The task that it does, where that is all.
    pub(super) only: String,
    /// The task that a called workflow does.
    pub(super) task: String,
    /// The run that it joined.
    pub(super) lead: Option<String>,
    /// Whether it works in a worktree.
    pub(super) worktree: Option<bool>,
    /// The run whose branch it continues.
    pub(super) continues: Option<String>,
    /// Whether its work passes the project's checks before it is committed.
    pub(super) checks: bool,
    /// The agent that does the work.
    pub(super) agent: String,
    /// The agent that reviews it.
    pub(super) reviewer: String,
    /// The models that they use, where they were named.
    pub(super) model: String,
    pub(super) reviewer_model: String,
    /// What they may do without asking.
    pub(super) permission: String,
}

impl LoopParams {
    /// What parameters say; those of a workflow of the user's own may say nothing.
    pub(super) fn of(params: &Map<String, Json>) -> Self {
        Self::deserialize(Json::Object(params.clone())).unwrap_or_default()
    }
}

/// The task that was picked in a plan.
#[derive(Deserialize)]
struct PickedTask {
    /// How many tasks are open, this one included.
    open: usize,
}

/// What is being done in a phase; before the words of a task where the phase is a known one.
fn phase_label(phase: &StepPhase) -> Cow<'_, str> {
    match phase {
        StepPhase::Implement => "working on".into(),
        StepPhase::Check => "checking".into(),
        StepPhase::Review => "reviewing".into(),
        StepPhase::Commit => "committing".into(),
        StepPhase::Label(label) => clean(label),
    }
}

/// `1:32`, or `1:02:03`.
fn clock(took: Duration) -> String {
    let (hours, minutes, seconds) = (took.as_secs() / 3600, took.as_secs() / 60 % 60, took.as_secs() % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// The last line of the terminal. Where there is none, or one that wants no colours, nothing is drawn.
pub(super) struct ProgressLine<'a> {
    world: &'a World,
    since: Instant,
    drawn: String,
}

impl<'a> ProgressLine<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        Self { world, since: Instant::now(), drawn: String::new() }
    }

    /// Tells something, which stays; the line is below it again at once.
    pub(super) fn print(&self, text: &str) -> CommandResult<()> {
        if self.drawn.is_empty() {
            return command_output::show(text);
        }
        command_output::show(&format!("{ERASE}{text}{}", self.drawn))
    }

    /// Draws the line, unless it is there just so.
    pub(super) fn draw(&mut self, progress: &LoopProgress) -> CommandResult<()> {
        let Some(width) = self.world.width_now().filter(|_| self.world.paint.is_on() && !self.world.json) else {
            return Ok(());
        };
        // In the last column a terminal would begin another line.
        let line = progress.line(self.since.elapsed(), width.saturating_sub(1));
        if line != self.drawn {
            command_output::show(&format!("{ERASE}{line}"))?;
            self.drawn = line;
        }
        Ok(())
    }
}

impl Drop for ProgressLine<'_> {
    fn drop(&mut self) {
        if !self.drawn.is_empty() {
            // Standard error is the last place to report to, so a failure is ignored.
            let _ = command_output::show(ERASE);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(events: &[RunEvent]) -> LoopProgress {
        events.iter().fold(LoopProgress::default(), |mut progress, event| {
            progress.apply(event);
            progress
        })
    }

    fn event(kind: &str, payload: &Json) -> RunEvent {
        serde_json::from_value(json!({ "type": kind, "payload": payload })).unwrap()
    }

    fn began(most: u32, only: &str) -> RunEvent {
        let params = json!({ "most": most, "only": only });
        let began = json!({ "workflow": "w", "params": params, "variables": {}, "context": {}, "seed": 1 });
        event("run:began", &began)
    }

    fn entered(phase: &str) -> RunEvent {
        event("run:entered", &json!({ "step": "any", "visit": 1, "now": 0, "phase": phase }))
    }

    /// A step without a phase of its own.
    fn entered_between() -> RunEvent {
        event("run:entered", &json!({ "step": "any", "visit": 1, "now": 0 }))
    }

    fn called(task: &str) -> RunEvent {
        event("run:called", &json!({ "workflow": "w", "params": { "task": task }, "variables": {} }))
    }

    fn returned(status: &str) -> RunEvent {
        event("run:returned", &json!({ "status": status, "message": null, "outputs": {} }))
    }

    fn picked(open: usize) -> RunEvent {
        event("run:set", &json!({ "name": "task", "value": { "open": open } }))
    }

    /// A run that has done three of twenty tasks and reviews the fourth.
    fn reviewing(task: &str) -> LoopProgress {
        let mut events = vec![began(0, "")];
        events.extend((0..3).map(|_| returned("success")));
        events.extend([picked(17), called(task), entered("review"), entered_between()]);
        after(&events)
    }

    const TOOK: Duration = Duration::from_secs(92);

    #[test]
    fn the_line_says_how_far_it_is_what_is_done_and_for_how_long() {
        let line = reviewing("Add a file f4.txt").line(TOOK, 80);
        assert_eq!(line, "[#---------] 3/20 tasks · reviewing \"Add a file f4.txt\" · 1:32");
        assert_eq!(after(&[entered("prepare")]).line(TOOK, 80), "prepare · 1:32");
        let alone = after(&[began(0, "Fix it"), called("Fix it"), entered("implement")]);
        let hours = Duration::from_secs(3723);
        assert_eq!(alone.line(hours, 80), "[----------] 0/1 task · working on \"Fix it\" · 1:02:03");
    }

    #[test]
    fn the_line_says_when_a_person_or_the_model_is_waited_for() {
        let said = |kind: &str, message: &str| {
            let fact = json!({ "kind": kind, "message": message });
            serde_json::from_value::<Event>(json!({ "type": "timeline:added", "payload": fact })).unwrap()
        };
        let mut progress = reviewing("Add a file");
        progress.apply_session(&said("task_blocked", "Which port?"));
        progress.apply_session(&said("agent_ended", "The agent cannot continue: Which port?"));
        assert_eq!(progress.line(TOOK, 80), "[#---------] 3/20 tasks · waiting for you \"Add a file\" · 1:32");
        progress.apply_session(&said("progress", "I go on"));
        assert_eq!(progress.line(TOOK, 80), "[#---------] 3/20 tasks · reviewing \"Add a file\" · 1:32");
        progress.apply_session(&said("agent_ended", "The agent failed: HTTP 529; next try at 02:00:01 UTC"));
        assert!(progress.line(TOOK, 90).contains("waiting for the model until 02:00:01 UTC"));
        progress.apply(&event("run:left", &json!({ "step": "look", "outcome": "pass" })));
        assert!(progress.line(TOOK, 90).contains("reviewing"));
    }

    #[test]
    fn what_is_asked_for_is_all_there_is_and_what_fails_is_not_done() {
        let progress = after(&[began(2, ""), picked(9), returned("success"), returned("blocked")]);
        assert_eq!(progress.line(TOOK, 80), "[#####-----] 1/2 tasks · 1:32");
        let none = after(&[picked(0)]);
        assert_eq!(none.line(TOOK, 80), "[----------] 0/0 tasks · 1:32");
    }

    #[test]
    fn no_line_is_wider_than_its_terminal() {
        let wide = reviewing("日本語のとても長いタスク、絵文字👩‍👩‍👧も");
        let long = reviewing("Add a file that says very much, and more than that, and more again");
        for progress in [&wide, &long] {
            for width in 0..120 {
                let line = progress.line(TOOK, width);
                assert!(line.width() <= width.max(1), "{width}: {line}");
            }
        }
        assert_eq!(long.line(TOOK, 60), "[#---------] 3/20 tasks · reviewing \"Add a file tha…\" · 1:32");
        assert_eq!(wide.line(TOOK, 60), "[#---------] 3/20 tasks · reviewing \"日本語のとても…\" · 1:32");
        assert_eq!(long.line(TOOK, 50), "[#---------] 3/20 tasks · reviewing · 1:32");
        assert_eq!(long.line(TOOK, 30), "3/20 tasks · 1:32");
        assert_eq!(long.line(TOOK, 12), "3/20 tasks…");
    }

    #[test]
    fn a_phase_with_a_name_of_its_own_is_shown_by_that_name() {
        let mut progress = reviewing("Add a file f4.txt");
        progress.apply(&entered("pick"));
        assert_eq!(progress.line(TOOK, 80), "[#---------] 3/20 tasks · pick · 1:32");
        progress.apply(&entered("a\u{1b}[2Jb"));
        assert!(!progress.line(TOOK, 80).contains('\u{1b}'));
    }

    #[test]
    fn what_a_task_says_cannot_move_the_cursor() {
        let line = reviewing("a\u{1b}[2Jb\nc").line(TOOK, 100);
        assert!(line.contains("\"a\\u{1b}[2Jb c\"") && !line.contains(['\u{1b}', '\n']), "{line}");
    }
}
