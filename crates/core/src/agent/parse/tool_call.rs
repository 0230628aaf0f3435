//! The kind and the one-line title of a tool call.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::json_access;
use crate::agent::agent_event::{AgentEvent, FailureKind, ToolKind, ToolStatus};
use crate::excerpt::ellipsize;

/// How many characters a title has at most.
const TITLE: usize = 120;

/// What the six agents call their tools, in lower case and without `_`.
const KINDS: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Read,
        &[
            "read",
            "readfile",
            "readmanyfiles",
            "readimage",
            "view",
            "notebookread",
            "listdirectory",
            "ls",
            "list",
            "tree",
        ],
    ),
    (
        ToolKind::Edit,
        &[
            "write",
            "edit",
            "multiedit",
            "notebookedit",
            "writefile",
            "replace",
            "applypatch",
            "patch",
            "filechange",
            "texteditor",
            "strreplacebasededittool",
        ],
    ),
    (
        ToolKind::Execute,
        &["bash", "shell", "runshellcommand", "execcommand", "commandexecution", "bashoutput", "execute"],
    ),
    (ToolKind::Search, &["grep", "glob", "searchfilecontent", "grepsearch", "find", "codesearch", "toolsearch"]),
    (ToolKind::Fetch, &["webfetch", "websearch", "googlewebsearch", "fetch"]),
];

/// What of a tool's input says most, the first that is there.
const TELLING: [&str; 12] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
];

/// What the file is called that a tool changes.
const PATHS: [&str; 3] = ["file_path", "filePath", "path"];

/// How many edits are remembered at once, and how long id and path may be together.
const MOST_EDITS: usize = 32;
const LONGEST: usize = 1024;

/// A call of a tool, as it begins.
pub(super) fn tool_started(id: &str, name: &str, input: &Json) -> AgentEvent {
    let title = title(name, input);
    AgentEvent::ToolBegan { id: id.to_owned(), name: name.to_owned(), title, kind: kind(name), input: input.clone() }
}

/// A call of a tool, as it ends.
pub(super) fn tool_finished(id: &str, status: ToolStatus, output: String) -> AgentEvent {
    AgentEvent::ToolEnded { id: id.to_owned(), status, output }
}

/// Something was not allowed.
pub(super) fn denied_event(what: &str) -> AgentEvent {
    let message = format!("not allowed: {what}");
    AgentEvent::Trouble { kind: FailureKind::Denied, status: None, message, retry_after_ms: None }
}

/// The edits that are under way, of agents that do not say afterwards which file it was.
#[derive(Debug, Default)]
pub(super) struct PendingEdits {
    open: BTreeMap<String, String>,
}

impl PendingEdits {
    /// Takes note of a call.
    pub(super) fn note(&mut self, id: &str, name: &str, input: &Json) {
        let path = PATHS.iter().find_map(|key| json_access::text(input, key));
        let Some(path) = path.filter(|path| kind(name) == ToolKind::Edit && id.len() + path.len() <= LONGEST) else {
            return;
        };
        if self.open.len() < MOST_EDITS {
            self.open.insert(id.to_owned(), path.to_owned());
        }
    }

    /// What a call that ended so has changed.
    pub(super) fn finish_edit(&mut self, id: &str, status: ToolStatus) -> Option<AgentEvent> {
        let path = self.open.remove(id).filter(|_| status == ToolStatus::Ok)?;
        Some(AgentEvent::Changed { path, added: None, removed: None, diff: None })
    }
}

/// What kind of thing a tool of this name does.
pub(super) fn kind(name: &str) -> ToolKind {
    let plain = name.to_ascii_lowercase().replace('_', "");
    let known = KINDS.iter().find(|(_, names)| names.contains(&plain.as_str()));
    match known {
        Some((kind, _)) => *kind,
        None if name.starts_with("mcp_") || name.contains("__") => ToolKind::Mcp,
        None => ToolKind::Other,
    }
}

/// A call of a tool in a line, for people.
pub fn title(name: &str, input: &Json) -> String {
    let telling = TELLING.iter().find_map(|key| json_access::text(input, key));
    let Some(line) = telling.and_then(|text| text.lines().find(|line| !line.trim().is_empty())) else {
        return name.to_owned();
    };
    ellipsize(&format!("{name}: {}", line.trim()), TITLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_own_names_are_known() {
        let cases = [
            ("Bash", ToolKind::Execute),
            ("run_shell_command", ToolKind::Execute),
            ("NotebookEdit", ToolKind::Edit),
            ("write", ToolKind::Edit),
            ("read_file", ToolKind::Read),
            ("WebFetch", ToolKind::Fetch),
            ("mcp__maestro__report", ToolKind::Mcp),
            ("mcp_maestro_report", ToolKind::Mcp),
            ("maestro__report", ToolKind::Mcp),
            ("Task", ToolKind::Other),
        ];
        for (name, expected) in cases {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn a_title_is_one_line() {
        let input = serde_json::json!({ "description": "x", "command": "\n  cargo test \nsecond" });
        assert_eq!(title("Bash", &input), "Bash: cargo test");
        assert_eq!(title("Task", &Json::Null), "Task");
        let long = title("Bash", &serde_json::json!({ "command": "é".repeat(500) }));
        assert_eq!(long.chars().count(), TITLE + 1);
    }
}
