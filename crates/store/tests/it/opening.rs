//! What happens when the database cannot be opened, or not be written to?

use std::path::Path;
use std::time::Duration;

use maestro_store::*;
use rusqlite::Connection;

use crate::cast::assert_refused;
use crate::world::{World, still};

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(DatabaseLocation::File(path.to_owned()), &still())
}

/// A complete database that nobody has open.
async fn closed_copy(directory: &Path) -> std::path::PathBuf {
    let world = World::sqlite();
    world.task("Fix the login").await;
    let copy = directory.join("copy.db");
    backup(&world.store, &copy).unwrap();
    copy
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    Connection::open(&path).unwrap().execute("INSERT INTO maestro_schema VALUES (999, 0)", []).unwrap();
    let before = std::fs::read(&path).unwrap();

    let refused = open(&path).map(|_| ());
    assert_refused!(refused, StoreError::NewerSchema { found: 999, .. });
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_not_ours_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "these are my notes, and not a database at all\n".repeat(50)).unwrap();
    let foreign = directory.path().join("places.sqlite");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE places (url TEXT)").unwrap();
    for path in [text, foreign] {
        let before = std::fs::read(&path).unwrap();
        let place = path.display().to_string();
        let refused = open(&path).map(|_| ());
        assert_refused!(refused, StoreError::Open { place: named, .. } if named == place);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_place_that_cannot_be_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().join("missing/maestro.db"), directory.path().to_owned()] {
        let place = path.display().to_string();
        let refused = open(&path).map(|_| ());
        assert_refused!(refused, StoreError::Open { place: named, .. } if named == place);
    }
    let nobody = DatabaseLocation::Postgres("postgres://nobody@127.0.0.1:1/nothing".to_owned());
    let refused = Store::open(nobody, &still()).map(|_| ());
    assert_refused!(refused, StoreError::Open { .. });
}

#[tokio::test]
async fn whoever_waits_too_long_is_told_and_nothing_is_lost() {
    let world = World::sqlite();
    let task = world.task("Fix the login").await;
    let hasty = world.again(StoreOptions { busy_timeout: Duration::from_millis(50) }).await;
    let other = Connection::open(world.store.file().unwrap()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let rename = |title: &str| crate::cast::rename(&task, title, Actor::Person);
    assert_refused!(hasty.write(rename("too early")).await, StoreError::Busy);
    assert_eq!(hasty.read(TaskById(task.id.clone())).await.unwrap(), task, "who reads waits for nobody");

    // Whoever has the patience is served as soon as the other one is done.
    let (patient, change) = (world.store.clone(), rename("in time"));
    let waiting = tokio::spawn(async move { patient.write(change).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().title, "in time");
    assert_eq!(hasty.write(rename("at last")).await.unwrap().title, "at last");
    world.assert_in_order().await;
}

/// A file system of a megabyte, where the system lets us have one.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
        let mounted = std::process::Command::new("mount").args(mount).arg(directory.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(directory))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[tokio::test]
async fn a_full_disk_is_told_and_nothing_that_was_confirmed_is_lost() {
    let Some(tiny) = Tiny::mount() else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let ballast = tiny.0.path().join("ballast");
    std::fs::write(&ballast, vec![0; 300_000]).unwrap();
    let store = open(&tiny.0.path().join("maestro.db")).unwrap();
    let project = CreateProject { name: "shop".into(), working_dir: "/work/shop".into(), description: String::new() };
    let project = store.write(project).await.unwrap().id;
    let create = |number: usize| CreateTask {
        project: Some(project.clone()),
        title: format!("task {number}"),
        description: "words ".repeat(2000),
        ..CreateTask::default()
    };

    let mut confirmed = Vec::new();
    let refusal = loop {
        // Several at once, so that the disk fills up in the middle of a commit of many.
        let (left, right) =
            tokio::join!(store.write(create(confirmed.len())), store.write(create(confirmed.len() + 1)));
        for outcome in [&left, &right].into_iter().flatten() {
            confirmed.push(outcome.id.clone());
        }
        if let Err(refusal) = left.and(right) {
            break refusal;
        }
        assert!(confirmed.len() < 1000, "a megabyte holds no thousand of these");
    };
    assert_refused!(Err::<(), _>(refusal), StoreError::Full);

    std::fs::remove_file(&ballast).unwrap();
    confirmed.push(store.write(create(confirmed.len())).await.unwrap().id);
    let listed = store.read(TaskList::default()).await.unwrap();
    let stored: Vec<_> = listed.items.into_iter().map(|task| task.id).collect();
    assert_eq!(stored, confirmed, "what was confirmed is there, and nothing else");
    assert_eq!(store.read(CheckIntegrity).await.unwrap(), []);
}
