//! Old events: when a server removes them, and when it leaves them.

use std::fs;
use std::time::Duration;

use maestro_engine::daemon::{DaemonPart, DaemonTask, EventRetention, Maintenance, run_maintenance};
use maestro_store::{AutomaticBackups, EventFilter, EventsAfter};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::world::Api;

const DAY: i64 = 24 * 60 * 60 * 1000;
/// Long enough for a busy machine; only a failing test takes as long.
const PATIENCE: Duration = Duration::from_mins(1);

/// A project that was deleted ten days ago, and how many events there are.
async fn old_api(api: Api) -> (Api, usize) {
    let project = api.post("/api/projects", json!({ "name": "shop", "workingDir": "/srv/shop" })).await;
    api.delete(&format!("/api/projects/{}", project.body["id"].as_str().unwrap())).await;
    api.wait(10 * DAY);
    api.post("/api/projects", json!({ "name": "young", "workingDir": "/srv/young" })).await;
    let events = events(&api).await;
    (api, events)
}

async fn events(api: &Api) -> usize {
    let all = EventsAfter { seq: 0, limit: i64::MAX, filter: EventFilter::default() };
    api.store.read(all).await.unwrap().len()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let look = async {
        while !holds().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, look).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

#[tokio::test]
async fn events_stay_until_there_is_a_backup_and_one_that_failed_is_tried_again() {
    let (api, before) = old_api(Api::sqlite()).await;
    let database = api.store.file().unwrap().to_owned();
    let backups = database.with_file_name("backups");
    fs::write(&backups, "a file where a directory belongs").unwrap();
    let maintenance = Maintenance {
        retention: EventRetention::Forget { after: 5 * DAY },
        backups: Some(AutomaticBackups::beside(&database, 7)),
        ..api.app.maintenance()
    };
    let health = maintenance.drivers.health().clone();
    let running = tokio::spawn(run_maintenance(maintenance));
    let task = DaemonTask::new(DaemonPart::Maintenance, "automatic backup");
    until("the failure shows", async || health.is_failing(&task)).await;
    let failure = health.failures().remove(0);
    assert!(failure.reason.contains("backups/maestro-auto-"), "the file is named: {failure:?}");
    assert_eq!(events(&api).await, before);

    api.wait(4 * 60 * 1000);
    assert!(health.failures().iter().any(|failure| failure.task == task), "it shows until the next attempt");
    fs::remove_file(&backups).unwrap();
    api.wait(2 * 60 * 1000);
    until("old events are gone", async || events(&api).await < before).await;
    assert!(!health.is_failing(&task));
    assert_eq!(fs::read_dir(&backups).unwrap().count(), 1);
    running.abort();
}

#[tokio::test]
async fn a_command_leaves_old_events_to_the_server() {
    let api = Api::sqlite();
    let again = api.with("idempotency-key", "once");
    let make = async || again.post("/api/projects", json!({ "name": "once", "workingDir": "/srv/once" })).await;
    let first = make().await.body["id"].clone();
    let (api, before) = old_api(api).await;
    let maintenance = api.app.maintenance();
    assert_eq!(maintenance.retention, EventRetention::Keep);
    let running = tokio::spawn(run_maintenance(maintenance));
    // The same look that would remove events removes the answers that are too old to be repeated.
    until("an old answer is gone", async || make().await.body["id"] != first).await;
    assert_eq!(events(&api).await, before + 1);
    running.abort();
}
