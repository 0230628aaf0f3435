//! Phases that runs pass through, each reported once per visit.

use std::collections::HashMap;

use maestro_core::workflow::StepPhase;
use maestro_core::workflow::run::RunEvent;

/// The phase in which each run is, by the id of the run.
#[derive(Debug, Default)]
pub(super) struct PhaseLog(HashMap<String, StepPhase>);

impl PhaseLog {
    /// Records an event of a run, and returns the phase that the run comes to with it. A step of the same phase, or of none,
    /// stays in the phase; another task starts over.
    pub(super) fn record(&mut self, run: &str, event: &RunEvent) -> Option<StepPhase> {
        match event {
            RunEvent::Called { .. } | RunEvent::Returned { .. } => {
                self.0.remove(run);
                None
            }
            RunEvent::Entered { phase: Some(phase), .. } if self.0.get(run) != Some(phase) => {
                self.0.insert(run.to_owned(), phase.clone());
                Some(phase.clone())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entered(phase: Option<&str>) -> RunEvent {
        let payload = json!({ "step": "any", "visit": 1, "now": 0, "phase": phase });
        serde_json::from_value(json!({ "type": "run:entered", "payload": payload })).unwrap()
    }

    fn called() -> RunEvent {
        let payload = json!({ "workflow": "w", "params": {}, "variables": {} });
        serde_json::from_value(json!({ "type": "run:called", "payload": payload })).unwrap()
    }

    /// The phases that are reported of one run.
    fn reported(events: &[RunEvent]) -> Vec<String> {
        let mut log = PhaseLog::default();
        events.iter().filter_map(|event| log.record("run", event)).map(String::from).collect()
    }

    #[test]
    fn steps_of_one_phase_are_one_visit() {
        let phases = [Some("check"), Some("check"), None, Some("commit"), None, Some("commit"), Some("check")];
        assert_eq!(reported(&phases.map(entered)), ["check", "commit", "check"]);
    }

    #[test]
    fn each_task_passes_through_its_own_phases() {
        let events = [called(), entered(Some("implement")), called(), entered(Some("implement"))];
        assert_eq!(reported(&events), ["implement", "implement"]);
    }

    #[test]
    fn runs_that_share_a_plan_have_phases_of_their_own() {
        let mut log = PhaseLog::default();
        let commit = entered(Some("commit"));
        assert!(log.record("one", &commit).is_some());
        assert!(log.record("two", &commit).is_some());
        assert!(log.record("one", &commit).is_none());
    }
}
