//! Handoff as a file, named after its time, roles and state, so that a listing of the directory
//! shows who has work to do.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maestro_api::handoffs::HandoffBody;
use maestro_core::handoff::HandoffState;

use crate::host::files;
use crate::output::screen::clean;
use crate::output::time;

/// How much of a file is read back.
const LARGEST: u64 = 1024 * 1024;

/// Where the files of a project are.
const DIRECTORY: &str = ".maestro/handoffs";

/// Writes the file for a hand-off as it is now, in place of the one for what it was before.
pub(super) fn write(handoff: &HandoffBody, project: Option<&Path>) -> Result<PathBuf, String> {
    let project = project.ok_or("the project has no directory on this machine")?;
    // A server of ours sees to this; who knows whose server it is.
    if ![&handoff.from, &handoff.to].into_iter().all(|role| is_name_part(role)) {
        return Err("its roles are not valid in a file name".to_owned());
    }
    let directory = project.join(DIRECTORY);
    let path = directory.join(name(handoff, handoff.state));
    if !files::stays_inside(&path, project) {
        return Err(format!("{} leads out of the project", directory.display()));
    }
    let before: Vec<PathBuf> = earlier_states(handoff).map(|state| directory.join(name(handoff, state))).collect();
    let kept = before.iter().find_map(|path| read_own(path, handoff));
    let text = kept.map_or_else(|| new_file(handoff), |text| with_state(&text, handoff));
    files::create(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    for path in before.iter().filter(|path| read_own(path, handoff).is_some()) {
        let removed = fs::remove_file(path);
        removed.map_err(|error: io::Error| format!("cannot remove {}: {error}", path.display()))?;
    }
    Ok(path)
}

fn is_name_part(role: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&role.len()) && role.bytes().all(is_plain)
}

fn name(handoff: &HandoffBody, state: HandoffState) -> String {
    let time = time::file_stamp(handoff.created_at);
    format!("{time}.{}.{}.{}.md", handoff.from, handoff.to, state.as_str())
}

/// What it may have been before, the latest first.
fn earlier_states(handoff: &HandoffBody) -> impl Iterator<Item = HandoffState> {
    let now = handoff.state;
    HandoffState::ALL.into_iter().rev().skip_while(move |state| *state != now).skip(1)
}

/// The text of a file, if it is this hand-off's: a plain file whose header has its id.
fn read_own(path: &Path, handoff: &HandoffBody) -> Option<String> {
    if !path.symlink_metadata().is_ok_and(|file| file.is_file()) {
        return None;
    }
    let contents = maestro_skills::read_bounded(path, LARGEST).ok().filter(|contents| !contents.cut)?;
    let text = String::from_utf8(contents.bytes).ok()?;
    let id = format!("id: {}", handoff.id);
    header(&text).is_some_and(|header| header.lines().any(|line| line == id)).then_some(text)
}

fn header(text: &str) -> Option<&str> {
    text.strip_prefix("---\n")?.split_once("\n---\n").map(|(header, _)| header)
}

/// The file of a hand-off that has none yet.
fn new_file(handoff: &HandoffBody) -> String {
    let task = handoff.task_id.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string);
    let mut text = format!(
        "---\nid: {}\nfrom: {}\nto: {}\ntask: {task}\nstate: {}\ncreated: {}\n---\n\n# {}\n",
        handoff.id,
        handoff.from,
        handoff.to,
        handoff.state.as_str(),
        time::iso(handoff.created_at),
        clean(&handoff.title),
    );
    let body = handoff.body.trim();
    if !body.is_empty() {
        let _ = write!(text, "\n{body}\n");
    }
    with_result(text, handoff)
}

/// The same file with its new state; additions to it stay.
fn with_state(text: &str, handoff: &HandoffBody) -> String {
    let old = header(text).unwrap_or_default();
    let state = |line: &str| {
        if line.starts_with("state: ") { format!("state: {}", handoff.state.as_str()) } else { line.to_owned() }
    };
    let new: Vec<String> = old.lines().map(state).collect();
    with_result(text.replacen(old, &new.join("\n"), 1), handoff)
}

fn with_result(mut text: String, handoff: &HandoffBody) -> String {
    if let Some(result) = handoff.result.as_deref().map(str::trim).filter(|result| !result.is_empty()) {
        let _ = write!(text, "\n## Result\n\n{result}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handoff(to: &str) -> HandoffBody {
        HandoffBody {
            id: "hand_1_1".into(),
            project_id: "proj_1_1".into(),
            task_id: None,
            from: "architect".into(),
            to: to.into(),
            title: "Title".into(),
            body: String::new(),
            state: HandoffState::Pending,
            accepted_by: None,
            result: None,
            created_at: 0,
            accepted_at: None,
            completed_at: None,
        }
    }

    #[test]
    fn no_role_leads_out_of_the_directory() {
        let project = tempfile::TempDir::new().unwrap();
        for role in ["../../up", "a/b", "", "a\nstate: completed", "."] {
            assert!(write(&handoff(role), Some(project.path())).is_err(), "{role}");
        }
        assert_eq!(fs::read_dir(project.path()).unwrap().count(), 0);
        let path = write(&handoff("implementer"), Some(project.path())).unwrap();
        assert!(path.ends_with(".maestro/handoffs/19700101T000000000Z.architect.implementer.pending.md"));
    }

    #[test]
    fn somebody_elses_file_is_left_alone() {
        let project = tempfile::TempDir::new().unwrap();
        let mut handoff = handoff("implementer");
        let path = write(&handoff, Some(project.path())).unwrap();
        fs::write(&path, "mine").unwrap();
        handoff.state = HandoffState::Accepted;
        write(&handoff, Some(project.path())).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
