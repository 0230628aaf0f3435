//! Log lines of a server about skills, on its standard error.

use std::io::Write as _;

use maestro_core::event::Event;

use crate::output::screen::clean;

/// Logs an event if it is about skills.
pub(crate) fn write(event: &Event) {
    let text: String = lines(event).into_iter().map(|line| line + "\n").collect();
    // A server keeps working if standard error is closed.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

fn lines(event: &Event) -> Vec<String> {
    match event {
        Event::SkillsDiscovered(found) => vec![format!("info: {} skills found", found.count)],
        Event::SkillsSelected(selection) => {
            let task = clean(&selection.task_label);
            let chosen = selection.skills.iter();
            let chosen = chosen.map(|skill| format!("{} ({})", clean(&skill.name), clean(&skill.reason)));
            let failed = selection.errors.iter().map(|error| format!("warn: {}", clean(error)));
            chosen.map(|skill| format!("info: skill {skill} selected for: {task}")).chain(failed).collect()
        }
        Event::SkillsLoadFailed(failed) => {
            vec![format!("warn: cannot load skill {}: {}", clean(&failed.name), clean(&failed.error))]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failure_is_told_with_its_place_and_moves_no_cursor() {
        let run = "01a1e1bb-e5bc-77bb-a17e-e33833ded22c";
        let payload = json!({ "run_id": run, "name": "/s/a\u{1b}[2J", "error": "no name" });
        let failed = json!({ "type": "SKILLS_LOAD_FAILED", "payload": payload });
        let event: Event = serde_json::from_value(failed).unwrap();
        assert_eq!(lines(&event), ["warn: cannot load skill /s/a\\u{1b}[2J: no name"]);
    }
}
