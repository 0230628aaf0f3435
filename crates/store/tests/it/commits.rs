//! How many commits do many changes need?

use maestro_core::report::ReportKind;

use crate::cast::says;
use crate::world::World;

#[tokio::test]
async fn many_reports_at_once_share_their_commits() {
    let world = World::sqlite();
    let mut sessions = Vec::new();
    for number in 0..20 {
        let task = world.task(&format!("task {number}")).await;
        sessions.push(world.session(&[&task]).await);
    }
    let (commits, changes) = world.store.commits();

    let mut reports = tokio::task::JoinSet::new();
    for number in 0..200 {
        let (store, session) = (world.store.clone(), sessions[number % sessions.len()].id.clone());
        reports.spawn(async move { store.write(says(&session, ReportKind::Progress, "a step")).await.unwrap() });
    }
    assert_eq!(reports.join_all().await.len(), 200);

    let (after, held) = world.store.commits();
    assert_eq!(held - changes, 200);
    assert!(after - commits <= 40, "{} commits for 200 reports", after - commits);
    world.assert_in_order().await;
}
