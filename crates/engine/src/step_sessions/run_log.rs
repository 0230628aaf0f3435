//! What happened to the tasks of a run, for its summary: checks, findings and verdicts.

use maestro_core::event::RunId;
use maestro_core::workflow::run::RunEvent;
use maestro_core::workflow::{StepOutcome, StepPhase};
use maestro_store::{EventFilter, EventRow, EventsAfter, Store, StoreError};
use serde_json::{Value as Json, json};

/// How many events are read at once.
const PART: i64 = 1_000;

/// The notable events of a run, oldest first.
pub(super) async fn read(store: &Store, run: RunId) -> Result<Vec<Json>, StoreError> {
    let mut log = Vec::new();
    let mut seq = 0;
    loop {
        let filter = EventFilter { run: Some(run), ..EventFilter::default() };
        let part = store.read(EventsAfter { seq, limit: PART, filter }).await?;
        let Some(last) = part.last() else { return Ok(log) };
        seq = last.seq;
        log.extend(part.iter().filter_map(entry));
    }
}

/// An event as the summary has it, if it is notable.
fn entry(row: &EventRow) -> Option<Json> {
    let kinds = ["run:called", "run:executed", "run:set", "run:left"];
    if !kinds.contains(&row.kind.as_str()) {
        return None;
    }
    let event = RunEvent::from_log(&row.kind, row.payload.get()).ok()??;
    let mut entry = notable(&event)?;
    entry["at"] = json!(row.at);
    Some(entry)
}

fn notable(event: &RunEvent) -> Option<Json> {
    Some(match event {
        RunEvent::Called { params, .. } => json!({ "task": params.get("task") }),
        RunEvent::Executed { step, outcome, reason, .. } if *outcome != StepOutcome::OK => {
            json!({ "failed": step, "reason": reason })
        }
        RunEvent::Set { name, value } if name.as_str() == "checked" => {
            json!({ "checks": value.get("told").filter(|told| !told.as_str().unwrap_or_default().is_empty())? })
        }
        RunEvent::Set { name, value } if name.as_str() == "findings" => {
            json!({ "findings": value.as_str().filter(|text| !text.trim().is_empty())? })
        }
        RunEvent::Left { outcome, phase: Some(StepPhase::Review), .. } => json!({ "review": outcome }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_findings_and_verdicts_are_notable_and_nothing_else() {
        let of = |kind: &str, payload: Json| {
            notable(&serde_json::from_value(json!({ "type": kind, "payload": payload })).unwrap())
        };
        assert_eq!(
            of("run:set", json!({ "name": "findings", "value": "line 3" })),
            Some(json!({ "findings": "line 3" }))
        );
        assert_eq!(of("run:set", json!({ "name": "findings", "value": " " })), None);
        assert_eq!(
            of("run:set", json!({ "name": "checked", "value": { "told": "`make` 1.0 s" } })),
            Some(json!({ "checks": "`make` 1.0 s" }))
        );
        assert_eq!(
            of("run:left", json!({ "step": "look", "outcome": "pass", "phase": "review" })),
            Some(json!({ "review": "pass" }))
        );
        assert_eq!(of("run:left", json!({ "step": "commit", "outcome": "ok", "phase": "commit" })), None);
        let failed = json!({ "step": "verify", "outcome": "fail", "code": null, "reason": "red" });
        assert_eq!(of("run:executed", failed), Some(json!({ "failed": "verify", "reason": "red" })));
    }
}
