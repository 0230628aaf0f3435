//! Does an agent only read where our sandbox takes the place of its own?

use std::fs;

use maestro_core::agent::{AgentEvent, Driver, Permission};
use maestro_engine::agents::AgentLaunch;

use super::{run, shell};
use crate::execute::{Place, runtime};

/// Reads a file, and tries to write one beside it, one in the repository and a temporary one.
const SCRIPT: &str =
    "cat given; for file in made .git/made $TMPDIR/made; do (echo x > $file) 2>&- && echo wrote; done; exit 0";

/// An agent that runs the script, with these words in place of a sandbox of its own.
fn agent(place: &Place, permission: Permission, sandboxed: &str) -> AgentLaunch {
    fs::create_dir_all(place.workspace().join(".git")).unwrap();
    fs::write(place.workspace().join("given"), "It is given.\n").unwrap();
    let table = format!(
        "[reader]\nprefer = [\"text\"]\n[reader.text]\nprograms = [\"sh\"]\nargs = [\"-c\", '''{SCRIPT}''']\n{sandboxed}\n"
    );
    AgentLaunch { permission, ..shell(place, &table, Driver::Text, "Read.") }
}

fn written(permission: Permission, sandboxed: &str) -> (usize, Place) {
    let place = Place::new();
    let printed = |event: &AgentEvent| match event {
        AgentEvent::Printed { text, .. } => Some(format!("{text}\n")),
        _ => None,
    };
    let events = runtime().block_on(run(agent(&place, permission, sandboxed)));
    let text: String = events.iter().filter_map(printed).collect();
    assert!(text.starts_with("It is given."), "{text}");
    (text.matches("wrote").count(), place)
}

#[test]
fn an_agent_that_only_reads_in_its_own_sandbox_only_reads_in_ours() {
    let own = "[reader.text.sandboxed]\nask = []\nedits = []";
    let (files, place) = written(Permission::Ask, own);
    assert_eq!(files, 1, "a temporary file");
    assert!(!place.workspace().join("made").exists() && !place.workspace().join(".git/made").exists());
    assert!(written(Permission::Edits, own).1.workspace().join("made").exists());
}

#[test]
fn an_agent_that_asks_by_itself_writes_what_it_was_allowed() {
    let (_, place) = written(Permission::Ask, "");
    assert!(place.workspace().join("made").exists());
}
