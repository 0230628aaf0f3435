//! Does every command that the built-in skills teach work? Each code block is run line by line on a prepared project.

use std::fs;

use crate::sandbox::Sandbox;
use crate::served::Prepared;

/// The blocks of shell commands in a Markdown text.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```bash") {
            blocks.push(lines.by_ref().take_while(|line| !line.starts_with("```")).collect());
        }
    }
    blocks
}

/// The words of a line, as a shell would part them; what follows a `#` is a remark.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut fresh) = (false, true);
    for c in line.chars() {
        match c {
            '"' => (quoted, fresh) = (!quoted, false),
            '#' if !quoted && fresh => break,
            ' ' if !quoted => {
                if !fresh {
                    words.push(String::new());
                }
                fresh = true;
            }
            c => {
                words.last_mut().unwrap().push(c);
                fresh = false;
            }
        }
    }
    if fresh {
        words.pop();
    }
    words
}

/// A prepared project, which can be put back to how it was.
struct Stage {
    sandbox: Sandbox,
    prepared: Prepared,
    database: Vec<u8>,
}

impl Stage {
    fn new(role: &str) -> Self {
        let sandbox = Sandbox::new();
        let prepared = Prepared::new(&sandbox);
        assert_eq!(sandbox.maestro("db backup ../kept.db").code, 0);
        let database = fs::read(sandbox.path("../kept.db")).unwrap();
        let session = if role == "orchestrator" { &prepared.orchestrator } else { &prepared.worker };
        let sandbox = sandbox.with_variable("MAESTRO_SESSION_ID", session);
        Self { sandbox, prepared, database }
    }

    fn reset(&self) {
        for part in ["-wal", "-shm"] {
            let _ = fs::remove_file(self.sandbox.path(&format!("~/.maestro/maestro.db{part}")));
        }
        fs::write(self.sandbox.path("~/.maestro/maestro.db"), &self.database).unwrap();
    }

    fn filled(&self, word: &str) -> String {
        word.replace("<task-id>", &self.prepared.task)
            .replace("<subtask-id>", &self.prepared.subtask)
            .replace("<session-id>", &self.prepared.worker)
            .replace("<handoff-id>", &self.prepared.handoff)
    }

    /// Runs the lines of a block one after the other; returns what failed.
    fn run(&self, block: &[&str]) -> Vec<String> {
        self.reset();
        let mut failed = Vec::new();
        for line in block.iter().filter(|line| !line.trim().is_empty()) {
            let words: Vec<String> = words(line).iter().map(|word| self.filled(word)).collect();
            let [program, args @ ..] = words.as_slice() else { continue };
            assert_eq!(program, "maestro", "{line}");
            assert!(!args.iter().any(|word| word.starts_with('<')), "nobody fills this in: {line}");
            let output = self.sandbox.maestro_with(&args.iter().map(String::as_str).collect::<Vec<_>>());
            // A block may leave subtasks open; then its last line is refused, as the skill says.
            if output.code != 0 && !output.stderr().contains("error: not complete: ") {
                failed.push(format!("{line}\n{output}"));
            }
        }
        failed
    }
}

fn check(skill: &str, role: &str) {
    let path = format!("{}/../../skills/{skill}/skill.md", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let blocks = blocks(&text);
    assert!(blocks.len() >= 5, "{skill} has hardly any commands");
    let stage = Stage::new(role);
    let failed: Vec<String> = blocks.iter().flat_map(|block| stage.run(block)).collect();
    assert!(failed.is_empty(), "{skill}: {} commands fail\n\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn every_command_of_the_cli_skill_works() {
    check("maestro-cli", "worker");
}

#[test]
fn every_command_of_the_worker_skill_works() {
    check("maestro-worker", "worker");
}

#[test]
fn every_command_of_the_orchestrator_skill_works() {
    check("maestro-orchestrator", "orchestrator");
}

#[test]
fn a_line_is_parted_as_a_shell_would() {
    assert_eq!(words("maestro update \"a # b\"   # remark"), ["maestro", "update", "a # b"]);
    assert_eq!(words("maestro update \"\""), ["maestro", "update", ""]);
    assert!(words("# only a remark").is_empty());
    assert_eq!(blocks("x\n```bash\na\nb\n```\n```text\nc\n```\n"), [["a", "b"]]);
}
