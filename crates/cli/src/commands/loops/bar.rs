//! Progress of a loop: one line below all output, redrawn in place, and removed at the end.

use std::time::{Duration, Instant};

use serde_json::Value as Json;
use unicode_width::UnicodeWidthStr as _;

use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply;
use crate::output::screen::{clean, count, fit};

/// Back to the beginning of the line, and nothing is left of it.
const ERASE: &str = "\r\u{1b}[K";
/// How many signs show how far it is.
const SIGNS: usize = 10;
/// Under so many columns a task's words say nothing any more.
const LEAST_WORDS: usize = 12;

/// How far a run is, as its events tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    done: usize,
    /// How many there are to do, once that is known.
    all: Option<usize>,
    /// After how many it ends, where that was said.
    most: Option<usize>,
    doing: &'static str,
    task: String,
}

impl Progress {
    /// Takes in something that happened to the run.
    pub(super) fn heard(&mut self, event: &Json) {
        let payload = &event["payload"];
        let number = |value: &Json| value.as_u64().and_then(|number| usize::try_from(number).ok());
        match event["type"].as_str().unwrap_or_default() {
            "run:began" => {
                self.most = number(&payload["params"]["most"]).filter(|most| *most > 0);
                let only = payload["params"]["only"].as_str().unwrap_or_default();
                self.all = (!only.is_empty()).then_some(1);
            }
            "run:set" if payload["name"] == "task" => {
                let open = number(&payload["value"]["open"]);
                self.all = open.map(|open| (self.done + open).min(self.most.unwrap_or(usize::MAX)));
            }
            "run:called" => payload["params"]["task"].as_str().unwrap_or_default().clone_into(&mut self.task),
            "run:returned" if payload["status"] == "success" => self.done += 1,
            "run:entered" => self.doing = doing(payload["step"].as_str().unwrap_or_default()).unwrap_or(self.doing),
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
        let Some(all) = self.all else { return fit(&format!("{} · {time}", self.doing), width).into_owned() };
        let tasks = format!("{}/{}", self.done, count(all, "task", "tasks"));
        let full = (self.done * SIGNS).checked_div(all).unwrap_or(0).min(SIGNS);
        let bar = format!("[{}{}]", "#".repeat(full), "-".repeat(SIGNS - full));
        let task = clean(&self.task);
        let around = format!("{bar} {tasks} · {} \"\" · {time}", self.doing).width();
        let line = match width.saturating_sub(around) {
            _ if task.is_empty() => format!("{bar} {tasks} · {time}"),
            room if room >= LEAST_WORDS.min(task.width()) => {
                format!("{bar} {tasks} · {} \"{}\" · {time}", self.doing, fit(&task, room))
            }
            _ if around <= width => format!("{bar} {tasks} · {} · {time}", self.doing),
            _ => format!("{tasks} · {time}"),
        };
        fit(&line, width).into_owned()
    }
}

/// What is being done at a step, where it takes its time.
fn doing(step: &str) -> Option<&'static str> {
    Some(match step {
        "open" | "open-lane" | "setup" => "preparing",
        "implement" | "choose" => "working on",
        "verify" | "verify-together" => "checking",
        "look" => "reviewing",
        "commit" | "land" => "committing",
        _ => return None,
    })
}

/// `1:32`, or `1:02:03`.
fn clock(took: Duration) -> String {
    let (hours, minutes, seconds) = (took.as_secs() / 3600, took.as_secs() / 60 % 60, took.as_secs() % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// The last line of the terminal. Where there is none, or one that wants no colours, nothing is drawn.
pub(super) struct Bar<'a> {
    world: &'a World,
    since: Instant,
    drawn: String,
}

impl<'a> Bar<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        Self { world, since: Instant::now(), drawn: String::new() }
    }

    /// Tells something, which stays; the line is below it again at once.
    pub(super) fn tell(&self, text: &str) -> Result<(), CommandError> {
        if self.drawn.is_empty() {
            return reply::show(text);
        }
        reply::show(&format!("{ERASE}{text}{}", self.drawn))
    }

    /// Draws the line, unless it is there just so.
    pub(super) fn draw(&mut self, progress: &Progress) -> Result<(), CommandError> {
        let Some(width) = self.world.width_now().filter(|_| self.world.paint.is_on() && !self.world.json) else {
            return Ok(());
        };
        // In the last column a terminal would begin another line.
        let line = progress.line(self.since.elapsed(), width.saturating_sub(1));
        if line != self.drawn {
            reply::show(&format!("{ERASE}{line}"))?;
            self.drawn = line;
        }
        Ok(())
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        if !self.drawn.is_empty() {
            // Standard error is the last place to report to, so a failure is ignored.
            let _ = reply::show(ERASE);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(events: &[Json]) -> Progress {
        events.iter().fold(Progress::default(), |mut progress, event| {
            progress.heard(event);
            progress
        })
    }

    fn event(kind: &str, payload: &Json) -> Json {
        json!({ "type": kind, "payload": payload })
    }

    /// A run that has done three of twenty tasks and reviews the fourth.
    fn reviewing(task: &str) -> Progress {
        let mut events = vec![event("run:began", &json!({ "params": { "most": 0, "only": "" } }))];
        for _ in 0..3 {
            events.push(event("run:returned", &json!({ "status": "success" })));
        }
        events.push(event("run:set", &json!({ "name": "task", "value": { "open": 17 } })));
        events.push(event("run:called", &json!({ "params": { "task": task } })));
        events.push(event("run:entered", &json!({ "step": "look" })));
        events.push(event("run:entered", &json!({ "step": "feed" })));
        after(&events)
    }

    const TOOK: Duration = Duration::from_secs(92);

    #[test]
    fn the_line_says_how_far_it_is_what_is_done_and_for_how_long() {
        let line = reviewing("Add a file f4.txt").line(TOOK, 80);
        assert_eq!(line, "[#---------] 3/20 tasks · reviewing \"Add a file f4.txt\" · 1:32");
        assert_eq!(after(&[event("run:entered", &json!({ "step": "setup" }))]).line(TOOK, 80), "preparing · 1:32");
        let alone = after(&[
            event("run:began", &json!({ "params": { "most": 0, "only": "Mend it" } })),
            event("run:called", &json!({ "params": { "task": "Mend it" } })),
            event("run:entered", &json!({ "step": "implement" })),
        ]);
        let hours = Duration::from_secs(3723);
        assert_eq!(alone.line(hours, 80), "[----------] 0/1 task · working on \"Mend it\" · 1:02:03");
    }

    #[test]
    fn what_is_asked_for_is_all_there_is_and_what_fails_is_not_done() {
        let progress = after(&[
            event("run:began", &json!({ "params": { "most": 2, "only": "" } })),
            event("run:set", &json!({ "name": "task", "value": { "open": 9 } })),
            event("run:returned", &json!({ "status": "success" })),
            event("run:returned", &json!({ "status": "blocked" })),
        ]);
        assert_eq!(progress.line(TOOK, 80), "[#####-----] 1/2 tasks · 1:32");
        let none = after(&[event("run:set", &json!({ "name": "task", "value": { "open": 0 } }))]);
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
    fn what_a_task_says_cannot_move_the_cursor() {
        let line = reviewing("a\u{1b}[2Jb\nc").line(TOOK, 100);
        assert!(line.contains("\"a\\u{1b}[2Jb c\"") && !line.contains(['\u{1b}', '\n']), "{line}");
    }
}
