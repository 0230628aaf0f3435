//! Tasks that runs of one plan work on at once, and the labels of their lines.

use std::collections::HashMap;

use maestro_core::workflow::run::RunEvent;

/// The task of each run, by a number that says in which order they began.
#[derive(Debug, Default)]
pub(super) struct LaneTasks {
    runs: usize,
    began: usize,
    current: HashMap<String, usize>,
}

impl LaneTasks {
    /// For so many runs.
    pub(super) fn new(runs: usize) -> Self {
        Self { runs, ..Self::default() }
    }

    /// Takes note of an event of a run.
    pub(super) fn record(&mut self, run: &str, event: &RunEvent) {
        if let RunEvent::Called { .. } = event {
            self.began += 1;
            self.current.insert(run.to_owned(), self.began);
        }
    }

    /// The lines with the number of the task that they belong to. A single run needs no numbers.
    pub(super) fn label(&self, run: &str, lines: &str) -> String {
        let Some(number) = self.current.get(run).filter(|_| self.runs > 1) else { return lines.to_owned() };
        let labeled: Vec<String> = lines.lines().map(|line| format!("[{number}] {line}")).collect();
        labeled.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_of_several_runs_say_which_task_they_belong_to() {
        let called = json!({ "workflow": "w", "params": {}, "variables": {} });
        let called: RunEvent = serde_json::from_value(json!({ "type": "run:called", "payload": called })).unwrap();
        let mut tasks = LaneTasks::new(2);
        assert_eq!(tasks.label("a", "before"), "before");
        tasks.record("a", &called);
        tasks.record("b", &called);
        assert_eq!(tasks.label("a", "  check"), "[1]   check");
        tasks.record("a", &called);
        assert_eq!((tasks.label("b", "x\ny"), tasks.label("a", "z")), ("[2] x\n[2] y".to_owned(), "[3] z".to_owned()));
        let mut alone = LaneTasks::new(1);
        alone.record("a", &called);
        assert_eq!(alone.label("a", "x"), "x");
    }
}
