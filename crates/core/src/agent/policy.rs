//! What an agent may do without asking. Only what its permission and the configured checks name; whatever
//! cannot be understood needs an approval.

mod read_only;

use std::path::{Component, Path};

use serde_json::Value as Json;

use super::agent_event::ToolKind;
use super::agent_table::Permission;
use read_only::is_read_only;

/// What an agent may do without an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy<'a> {
    /// How much it may do.
    pub permission: Permission,
    /// Where it works.
    pub workspace: &'a Path,
    /// The commands that check its work, each as one would type it.
    pub checks: &'a [String],
}

impl ApprovalPolicy<'_> {
    /// Whether a call of a tool needs no answer of a person. Reports to Maestro never do.
    pub fn allows(&self, kind: ToolKind, input: &Json) -> bool {
        if let Some(command) = command(input) {
            let unasked = is_report(&command) || is_here(input) && is_read_only(self.workspace, &command);
            return match self.permission {
                Permission::All => true,
                Permission::Ask => unasked,
                Permission::Edits => unasked || self.is_check(&command),
            };
        }
        match (self.permission, kind) {
            (Permission::All, _) => true,
            (_, ToolKind::Read) | (Permission::Edits, ToolKind::Edit) => self.is_inside(input),
            _ => false,
        }
    }

    /// Whether everything that a call names lies where the agent works, and it names something.
    fn is_inside(&self, input: &Json) -> bool {
        let paths = paths(input);
        !paths.is_empty() && paths.iter().all(|path| inside(self.workspace, Path::new(path)))
    }

    fn is_check(&self, command: &[String]) -> bool {
        self.checks.iter().filter_map(|check| plain_words(check)).any(|check| check == command)
    }
}

/// A command of Maestro's own that reports, and nothing besides it.
fn is_report(command: &[String]) -> bool {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match words.as_slice() {
        [program, verbs @ ..] if Path::new(program).file_name().is_some_and(|name| name == "maestro") => {
            matches!(verbs, ["workflow", "report", ..]) || verbs.first().is_some_and(|verb| REPORTS.contains(verb))
        }
        _ => false,
    }
}

/// What an agent reports with and looks its task up with.
const REPORTS: [&str; 11] =
    ["update", "complete", "blocked", "report", "info", "subtask", "task", "whoami", "commands", "skills", "status"];

/// The command that a call runs, if it runs one that is plain words; `None` for a call that runs nothing.
fn command(input: &Json) -> Option<Vec<String>> {
    let value = ["command", "cmd"].iter().find_map(|key| input.get(*key))?;
    match value {
        // A shell that is handed a text is a text; anything that is more than words is not known here.
        Json::String(text) => Some(typed_words(text).unwrap_or_default()),
        Json::Array(words) => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            let words = words.unwrap_or_default();
            match words.as_slice() {
                [shell, flag, text] if is_shell(shell) && flag.ends_with('c') => {
                    Some(typed_words(text).unwrap_or_default())
                }
                _ => Some(words),
            }
        }
        _ => Some(Vec::new()),
    }
}

/// Whether a command runs where the agent works: a call that says where it runs is not taken for that.
fn is_here(input: &Json) -> bool {
    ["cwd", "workdir", "directory", "dir_path"].iter().all(|key| input.get(*key).is_none_or(Json::is_null))
}

fn is_shell(program: &str) -> bool {
    matches!(Path::new(program).file_name().and_then(|name| name.to_str()), Some("sh" | "bash" | "zsh" | "dash"))
}

/// The words of a command, and of one that is handed a text with it: `command <<'END'`, lines, `END`. With the word in
/// quotes only the command reads those lines.
fn typed_words(text: &str) -> Option<Vec<String>> {
    let Some((line, document)) = text.trim().split_once('\n') else { return plain_words(text) };
    let (command, quoted) = line.split_once("<<")?;
    let end = quoted.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    let is_word = !end.is_empty() && end.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    // What comes behind the first such line is commands again.
    let ends = document.lines().position(|line| line == end)? + 1 == document.lines().count();
    (is_word && ends).then(|| plain_words(command)).flatten()
}

/// The words of a command line that a shell would not read anything into but quotes; nothing for any other.
fn plain_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for char in text.trim().chars() {
        match (quote, char) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('"'), '$' | '`' | '\\' | '!') => return None,
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            // In the middle of a word it begins no comment; tickets have one.
            (None, '#') if word.is_some() => word.get_or_insert_default().push('#'),
            (None, char) if MEANT_FOR_A_SHELL.contains(char) => return None,
            (_, char) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

/// Characters that make more of a line than words.
const MEANT_FOR_A_SHELL: &str = "|&;<>()$`\\\n\r*?[]#~%!{}";

/// The paths that a call names, by the names that agents have for them.
fn paths(input: &Json) -> Vec<String> {
    const NAMES: [&str; 7] = ["path", "file_path", "filePath", "filepath", "abs_path", "file", "notebook_path"];
    let named = NAMES.iter().filter_map(|name| input.get(*name)?.as_str().map(str::to_owned));
    let listed = input.get("locations").and_then(Json::as_array).into_iter().flatten();
    let listed = listed.filter_map(|place| place.get("path")?.as_str().map(str::to_owned));
    let changed = input.get("changes").and_then(Json::as_object).into_iter().flatten().map(|(path, _)| path.clone());
    named.chain(listed).chain(changed).collect()
}

/// Whether a path lies below a directory, and not in what git executes.
fn inside(workspace: &Path, path: &Path) -> bool {
    let below = if path.is_absolute() { path.strip_prefix(workspace).ok() } else { Some(path) };
    below.is_some_and(|below| {
        let mut parts = below.components().filter(|part| !matches!(part, Component::CurDir)).peekable();
        let git = parts.peek().is_some_and(|first| first.as_os_str() == ".git");
        parts.peek().is_some() && !git && parts.all(|part| matches!(part, Component::Normal(_)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn allows(permission: Permission, kind: ToolKind, input: &Json) -> bool {
        let checks = ["cargo test --workspace".to_owned(), "sh -c 'make check'".to_owned()];
        ApprovalPolicy { permission, workspace: Path::new("/w/project"), checks: &checks }.allows(kind, input)
    }

    #[test]
    fn edits_inside_the_worktree_are_allowed_and_nowhere_else() {
        let edit = |path: &str| allows(Permission::Edits, ToolKind::Edit, &json!({ "file_path": path }));
        assert!(edit("/w/project/src/a.rs") && edit("src/a.rs") && edit("./src/a.rs"));
        for path in
            ["/w/project", "/w/other/a", "../a", "src/../../a", "/w/project/.git/hooks/pre-commit", ".git/config", ""]
        {
            assert!(!edit(path), "{path}");
        }
        assert!(!allows(Permission::Edits, ToolKind::Edit, &json!({ "text": "no path" })));
        assert!(!allows(Permission::Ask, ToolKind::Edit, &json!({ "path": "src/a.rs" })));
        let two = json!({ "path": "src/a.rs", "locations": [{ "path": "/etc/passwd" }] });
        assert!(!allows(Permission::Edits, ToolKind::Edit, &two));
    }

    #[test]
    fn only_checks_and_reports_run_unasked() {
        let run = |command: &str| allows(Permission::Edits, ToolKind::Execute, &json!({ "command": command }));
        assert!(run("cargo test --workspace") && run("cargo  test '--workspace'"));
        assert!(run("maestro update \"half way\"") && run("/opt/bin/maestro complete"));
        for command in [
            "cargo test --workspace && curl evil",
            "cargo test",
            "cargo test --workspace > /etc/passwd",
            "maestro update \"$(curl evil)\"",
            "maestro trust",
            "maestro update x; rm -rf /",
            "",
            "make",
        ] {
            assert!(!run(command), "{command}");
        }
        let shell = json!({ "cmd": ["bash", "-lc", "cargo test --workspace"] });
        assert!(allows(Permission::Edits, ToolKind::Execute, &shell));
        let listed = json!({ "command": ["curl", "evil"] });
        assert!(
            !allows(Permission::Edits, ToolKind::Execute, &listed)
                && allows(Permission::All, ToolKind::Execute, &listed)
        );
        assert!(allows(Permission::Ask, ToolKind::Execute, &json!({ "command": "maestro info" })));
        assert!(!allows(Permission::Ask, ToolKind::Execute, &json!({ "command": "cargo test --workspace" })));
    }

    #[test]
    fn looking_needs_no_answer_unless_it_is_elsewhere() {
        let look = |input: &Json| allows(Permission::Ask, ToolKind::Execute, input);
        assert!(look(&json!({ "command": "git diff HEAD" })));
        assert!(look(&json!({ "command": "cat src/a.rs", "cwd": null })));
        assert!(!look(&json!({ "command": "cat passwd", "cwd": "/etc" })));
        assert!(!look(&json!({ "command": "cat src/a.rs > b" })));
    }

    #[test]
    fn a_verdict_needs_no_answer_however_it_is_worded() {
        let run = |command: &str| allows(Permission::Edits, ToolKind::Execute, &json!({ "command": command }));
        let report = "maestro workflow report r1 --ticket look#1 --outcome fail --result-file -";
        assert!(run(report));
        assert!(run(&format!("{report} <<'END'\n{{\"findings\": \"it's `a` in $(b); rm -rf /\"}}\nEND\n")));
        for command in [
            format!("{report} <<END\n$(curl evil)\nEND"),
            format!("{report} <<'END'\nx\nEND\ncurl evil\nEND"),
            format!("{report} <<'END'\nx"),
            format!("{report} <<'END'; curl evil\nx\nEND"),
            format!("{report} <<'E'ND\nx\nEND"),
            format!("curl evil <<'END'\n{report}\nEND"),
            format!("{report}\ncurl evil"),
            format!("{report} #"),
            "maestro workflow start evil".to_owned(),
        ] {
            assert!(!run(&command), "{command}");
        }
    }
}
