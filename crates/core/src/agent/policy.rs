//! What an agent may do without asking. Only what its permission and the configured checks name, commands that only
//! look, and pipes and chains of those; whatever cannot be understood needs an approval.

mod command_line;
mod read_only;

use std::path::{Component, Path};

use serde_json::Value as Json;

use super::agent_event::ToolKind;
use super::agent_table::Permission;
use command_line::{CommandLine, ShellWord};
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

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandPlace {
    /// Where the agent works.
    Workspace,
    /// In a directory below that.
    Below,
}

impl ApprovalPolicy<'_> {
    /// Whether a call of a tool needs no answer of a person. Reports to Maestro and the project's checks never do.
    pub fn allows(&self, kind: ToolKind, input: &Json) -> bool {
        if self.permission == Permission::All {
            return true;
        }
        if runs_command(input) {
            return command(input).is_some_and(|line| self.allows_line(&line, self.place(input)));
        }
        match (self.permission, kind) {
            (_, ToolKind::Read) | (Permission::Edits, ToolKind::Edit) => self.is_inside(input),
            _ => false,
        }
    }

    /// Whether each command of a line is allowed, where it runs.
    fn allows_line(&self, line: &CommandLine, place: Option<CommandPlace>) -> bool {
        let mut place = place;
        line.commands.iter().all(|command| {
            if let Some(directory) = changed_directory(command) {
                // There is no way back: in a pipe, the next command would not be where this one went.
                place = match (place, self.place_of(directory)) {
                    (Some(CommandPlace::Workspace), found) => found,
                    (found, to) => to.and(found),
                };
                return place.is_some();
            }
            let is_look = place.is_some() && is_read_only(self.workspace, command);
            is_report(command) || is_look || place == Some(CommandPlace::Workspace) && self.is_check(command)
        })
    }

    /// Whether everything that a call names lies where the agent works, and it names something.
    fn is_inside(&self, input: &Json) -> bool {
        let paths = paths(input);
        !paths.is_empty() && paths.iter().all(|path| inside(self.workspace, Path::new(path)))
    }

    fn is_check(&self, command: &[ShellWord]) -> bool {
        let checks = self.checks.iter().filter_map(|check| CommandLine::parse(check));
        checks.into_iter().any(|check| check.commands.len() == 1 && check.commands[0] == command)
    }

    /// Where a call runs its command; nothing for a directory that is not the agent's.
    fn place(&self, input: &Json) -> Option<CommandPlace> {
        let named = ["cwd", "workdir", "directory", "dir_path"].iter().filter_map(|key| input.get(*key));
        let mut place = CommandPlace::Workspace;
        for directory in named.filter(|directory| !directory.is_null()) {
            if self.place_of(directory.as_str()?)? == CommandPlace::Below {
                place = CommandPlace::Below;
            }
        }
        Some(place)
    }

    fn place_of(&self, directory: &str) -> Option<CommandPlace> {
        let path = Path::new(directory);
        if path == self.workspace || matches!(directory, "." | "./") {
            return Some(CommandPlace::Workspace);
        }
        (!directory.starts_with('-') && inside(self.workspace, path)).then_some(CommandPlace::Below)
    }
}

/// The directory that a command changes to, if that is what it does.
fn changed_directory(command: &[ShellWord]) -> Option<&str> {
    match command {
        [cd, to] if cd.text == "cd" && !to.is_pattern => Some(&to.text),
        _ => None,
    }
}

/// A command of Maestro's own that reports, and nothing besides it.
fn is_report(command: &[ShellWord]) -> bool {
    let words: Vec<&str> = command.iter().map(|word| word.text.as_str()).collect();
    match words.as_slice() {
        [program, verbs @ ..] if Path::new(program).file_name().is_some_and(|name| name == "maestro") => {
            let changes_skills = matches!(verbs, ["skills" | "skill", verb, ..] if SKILL_CHANGES.contains(verb));
            let reports = verbs.first().is_some_and(|verb| REPORTS.contains(verb));
            matches!(verbs, ["workflow", "report", ..]) || (reports && !changes_skills)
        }
        _ => false,
    }
}

/// What an agent reports with and looks its task up with.
const REPORTS: [&str; 11] =
    ["update", "complete", "blocked", "report", "info", "subtask", "task", "whoami", "commands", "skills", "status"];

/// Commands about skills that write or fetch something, which a person is asked about.
const SKILL_CHANGES: [&str; 5] = ["new", "add", "remove", "update", "outdated"];

/// The keys by which a call names a command.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// The key by which a call names several command lines.
const COMMAND_LIST: &str = "commands";

/// Whether a call runs a command.
fn runs_command(input: &Json) -> bool {
    COMMANDS.iter().chain([&COMMAND_LIST]).any(|key| input.get(*key).is_some())
}

/// The command that a call runs, if it is one that is understood.
fn command(input: &Json) -> Option<CommandLine> {
    let Some(named) = COMMANDS.iter().find_map(|key| input.get(*key)) else {
        // Of several lines, one could undo what makes another harmless.
        return match input.get(COMMAND_LIST)?.as_array()?.as_slice() {
            [Json::String(text)] => typed_line(text),
            _ => None,
        };
    };
    match named {
        // A shell that is handed a text is a text.
        Json::String(text) => typed_line(text),
        Json::Array(words) => {
            let words: Vec<String> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            match words.as_slice() {
                [shell, flag, text] if is_shell(shell) && is_text_flag(flag) => typed_line(text),
                _ => CommandLine::of_words(&words),
            }
        }
        _ => None,
    }
}

fn is_shell(program: &str) -> bool {
    matches!(Path::new(program).file_name().and_then(|name| name.to_str()), Some("sh" | "bash" | "zsh" | "dash"))
}

/// Whether an option of a shell says that a text with commands follows: `-c`, `-lc`.
fn is_text_flag(flag: &str) -> bool {
    let letters = flag.strip_prefix('-').and_then(|letters| letters.strip_suffix('c'));
    letters.is_some_and(|letters| letters.bytes().all(|letter| letter.is_ascii_lowercase()))
}

/// A line, also of a command that is handed a text with it: `command <<'END'`, lines, `END`. With the word in quotes
/// only the command reads those lines.
fn typed_line(text: &str) -> Option<CommandLine> {
    let Some((line, document)) = text.trim().split_once('\n').filter(|(line, _)| line.contains("<<")) else {
        return CommandLine::parse(text);
    };
    let (command, quoted) = line.split_once("<<")?;
    let end = quoted.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    let is_word = !end.is_empty() && end.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    // What comes behind the first such line is commands again.
    let ends = document.lines().position(|line| line == end)? + 1 == document.lines().count();
    (is_word && ends).then(|| CommandLine::parse(command)).flatten()
}

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
        assert!(
            run("maestro skills read pdf") && !run("maestro skills add a/b --yes") && !run("maestro skill new a b")
        );
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
        let lines = |lines: &[&str]| allows(Permission::Edits, ToolKind::Execute, &json!({ "commands": lines }));
        assert!(lines(&["maestro update hello"]) && !lines(&["curl evil"]));
        assert!(!lines(&["maestro update hello", "maestro update again"]) && !lines(&[]));
        assert!(!allows(Permission::Edits, ToolKind::Edit, &json!({ "path": "a", "commands": ["curl evil"] })));
        let listed = json!({ "command": ["curl", "evil"] });
        assert!(
            !allows(Permission::Edits, ToolKind::Execute, &listed)
                && allows(Permission::All, ToolKind::Execute, &listed)
        );
        assert!(allows(Permission::Ask, ToolKind::Execute, &json!({ "command": "maestro info" })));
        assert!(allows(Permission::Ask, ToolKind::Execute, &json!({ "command": "cargo test --workspace" })));
    }

    #[test]
    fn pipes_and_chains_of_what_is_allowed_need_no_answer() {
        let run = |command: &str| allows(Permission::Edits, ToolKind::Execute, &json!({ "command": command }));
        for command in [
            "cargo test --workspace 2>&1 | tail -20",
            "cd /w/project && cargo test --workspace",
            "cat a | grep -n b | head -5",
            "git status --short; git diff",
            "ls src && maestro update \"half way\"",
            "cd src && ls && cat a.rs",
        ] {
            assert!(run(command), "{command}");
        }
        for command in [
            "cat a | sh",
            "cat a | tee b",
            "cargo test --workspace && rm a",
            "cd /etc && cat passwd",
            "cd .. && cat a",
            "cd src && cargo test --workspace",
            "cd src; cd /w/project | ls; cargo test --workspace",
            "ls & rm a",
            "ls > a",
            "ls || curl evil",
        ] {
            assert!(!run(command), "{command}");
        }
        let script = json!({ "command": ["sh", "script.c", "maestro info"] });
        assert!(!allows(Permission::Edits, ToolKind::Execute, &script), "a file is run, not a text");
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_added_to_an_allowed_line_is_judged_as_well(
            line in proptest::sample::select(vec!["ls", "git diff HEAD", "cargo test --workspace", "cat a | wc -l"]),
            sign in proptest::sample::select(vec![";", "&&", "||", "|", "&", "\n", ">", ">>", "$(", "`", "<", " "]),
            word in "(rm|curl|sh|tee|/etc/[a-z]{1,3}|\\.\\./[a-z])",
        ) {
            let command = format!("{line} {sign} {word} f");
            let allowed = allows(Permission::Edits, ToolKind::Execute, &json!({ "command": command }));
            // Behind a blank it is one more word, which is judged by the command it belongs to.
            proptest::prop_assert!(!allowed || sign == " " && word.len() <= 4 && !word.contains('/'), "{command}");
        }
    }

    #[test]
    fn looking_needs_no_answer_unless_it_is_elsewhere() {
        let look = |input: &Json| allows(Permission::Ask, ToolKind::Execute, input);
        assert!(look(&json!({ "command": "git diff HEAD" })));
        assert!(look(&json!({ "command": "cat src/a.rs", "cwd": null })));
        assert!(look(&json!({ "command": "cat src/a.rs", "cwd": "/w/project" })));
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
