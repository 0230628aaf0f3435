//! What protects a SQLite file: its lock, the check after an unclean end, and its backups.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use maestro_store::*;

use crate::cast::assert_refused;
use crate::world::World;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// A complete database that nobody has open.
async fn closed_copy(directory: &Path) -> std::path::PathBuf {
    let world = World::sqlite();
    for number in 0..40 {
        world.task(&format!("Fix the login, part {number}")).await;
    }
    let copy = directory.join("maestro.db");
    backup(&world.store, &copy).unwrap();
    copy
}

#[tokio::test]
async fn a_second_server_is_refused_by_any_name_of_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();

    let (lock, previous) = DatabaseLock::take(&path, "process 7").unwrap();
    assert_eq!(previous, PreviousEnd::Clean);
    for name in [&path, &link] {
        let refused = DatabaseLock::take(name, "process 8").map(|_| ());
        assert_refused!(refused, StoreError::InUse { holder, .. } if holder == "process 7");
    }
    lock.release().unwrap();
    let (lock, previous) = DatabaseLock::take(&link, "process 8").unwrap();
    assert_eq!(previous, PreviousEnd::Clean);
    // Nothing but the end of its process releases it.
    drop(lock);
    let (_lock, previous) = DatabaseLock::take(&path, "process 9").unwrap();
    assert_eq!(previous, PreviousEnd::Unclean);
}

#[tokio::test]
async fn damaged_pages_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    check_pages(&path).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let middle = file.metadata().unwrap().len() / 2 / 4096 * 4096;
    file.write_all_at(&[0xa5; 4096], middle).unwrap();
    assert_refused!(check_pages(&path), StoreError::Damaged { .. });
}

#[tokio::test]
async fn a_backup_is_made_once_a_day_and_the_newest_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    let backups = AutomaticBackups::beside(&path, 2);
    assert_eq!(backups.newest(0), None);
    // What a server that was killed had written of one.
    fs::create_dir(directory.path().join("backups")).unwrap();
    for left in ["", "-journal"] {
        fs::write(directory.path().join(format!("backups/.maestro-auto-partial{left}")), "half").unwrap();
    }
    for day in 0..4 {
        let made = backups.make_due(day * DAY).unwrap().unwrap();
        check_pages(&made).unwrap();
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(backups.make_due(day * DAY + 1).unwrap(), None, "one a day");
        assert_eq!(backups.newest(day * DAY), Some(made));
    }
    let mut names: Vec<_> =
        fs::read_dir(directory.path().join("backups")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["maestro-auto-1970-01-03.db", "maestro-auto-1970-01-04.db"]);
    assert_eq!(AutomaticBackups::beside(&path, 0).make_due(9 * DAY).unwrap(), None);
}

#[tokio::test]
async fn a_damaged_database_replaces_no_backup() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    let backups = AutomaticBackups::beside(&path, 1);
    let good = backups.make_due(0).unwrap().unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(backups.make_due(DAY).is_err());
    assert_eq!(backups.newest(DAY), Some(good));
    let left = fs::read_dir(directory.path().join("backups")).unwrap().count();
    assert_eq!(left, 1, "half a backup is removed, with all that SQLite kept beside it");
}

#[tokio::test]
async fn a_backup_that_fails_names_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    fs::write(directory.path().join("backups"), "a file where a directory belongs").unwrap();
    let refused = AutomaticBackups::beside(&path, 1).make_due(0);
    assert_refused!(refused, StoreError::File { path, .. } if path.ends_with("backups/maestro-auto-1970-01-01.db"));
}

#[tokio::test]
async fn only_what_is_named_as_a_backup_of_this_database_counts_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    let (backups, folder) = (AutomaticBackups::beside(&path, 1), directory.path().join("backups"));
    fs::create_dir(&folder).unwrap();
    let others = ["maestro-auto-mine.db", "maestro-auto-1969-13-01.db", "maestro-auto-1969-12-311.db", "notes.txt"];
    // A clock that was ahead made the last one.
    for name in others.into_iter().chain(["maestro-auto-1969-12-31.db", "maestro-auto-2999-01-01.db"]) {
        fs::write(folder.join(name), "whatever").unwrap();
    }
    assert_eq!(backups.newest(0), Some(folder.join("maestro-auto-1969-12-31.db")));
    let made = backups.make_due(0).unwrap().unwrap();
    assert_eq!(backups.newest(0), Some(made));
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == "maestro-auto-1969-12-31.db"), "the limit is one: {names:?}");
    assert_eq!(names.len(), others.len() + 2, "all others stay: {names:?}");
}

#[tokio::test]
async fn databases_with_one_stem_have_backups_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = closed_copy(directory.path()).await;
    let other = path.with_extension("sqlite");
    fs::copy(&path, &other).unwrap();
    let (one, two) = (AutomaticBackups::beside(&path, 1), AutomaticBackups::beside(&other, 1));
    let (first, second) = (one.make_due(0).unwrap(), two.make_due(0).unwrap());
    assert!(first.is_some() && second.is_some() && first != second, "{first:?} {second:?}");
    assert_eq!((one.newest(0), two.newest(0)), (first, second));
}
