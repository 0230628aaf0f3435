//! The pages of `docs/reference`, made from the program itself. `UPDATE_DOCS=1` rewrites them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use maestro_core::ProblemCode;
use maestro_core::settings::SettingKey;
use maestro_core::workflow::FindingCode;

use crate::sandbox::Sandbox;

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");

/// Compares a page with what it should say, or rewrites it when asked to.
fn check(page: &str, expected: &str) {
    let path = Path::new(PAGES).join(page);
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        fs::create_dir_all(PAGES).unwrap();
        fs::write(&path, expected).unwrap();
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let differs = written.lines().zip(expected.lines()).position(|(written, expected)| written != expected);
    let line = differs.unwrap_or_else(|| written.lines().count().min(expected.lines().count())) + 1;
    assert!(
        written == expected,
        "docs/reference/{page} is out of date from line {line} on. Rewrite it, and look at the difference:\n\
         \n    UPDATE_DOCS=1 cargo test -p maestro reference\n    git diff docs/reference\n"
    );
}

/// The words at the beginning of the lines that list commands.
fn subcommands(help: &str, is_overview: bool) -> Vec<String> {
    let lines = help.lines();
    let listed: Vec<&str> = if is_overview {
        lines.take_while(|line| *line != "Options").filter(|line| line.starts_with("  ")).collect()
    } else {
        lines.skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty()).collect()
    };
    listed.iter().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Adds a command's help and that of every command below it.
fn explain(sandbox: &Sandbox, command: &[String], page: &mut String) {
    let words: Vec<&str> = std::iter::once("help").chain(command.iter().map(String::as_str)).collect();
    let help = sandbox.maestro_with(&words);
    assert_eq!((help.code, help.stderr().as_str()), (0, ""), "{help}");
    let help = help.stdout();
    let title = ["maestro"].into_iter().chain(command.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let _ = write!(page, "\n## `{title}`\n\n```text\n{}\n```\n", help.trim_end());
    for word in subcommands(&help, command.is_empty()) {
        explain(sandbox, &[command, &[word]].concat(), page);
    }
}

#[test]
fn the_command_reference_is_the_whole_help_tree() {
    let sandbox = Sandbox::new();
    let mut page = String::from("# Commands\n\nWhat `maestro help` says about each command.\n");
    explain(&sandbox, &[], &mut page);
    let agent = sandbox.maestro("help agent").stdout();
    for line in agent.lines() {
        let Some(command) = line.strip_prefix("  maestro ").and_then(|rest| rest.split_whitespace().next()) else {
            continue;
        };
        if !page.contains(&format!("\n## `maestro {command}`\n")) {
            explain(&sandbox, &[command.to_owned()], &mut page);
        }
    }
    let _ = write!(page, "\n## `maestro help agent`\n\n```text\n{}\n```\n", agent.trim_end());
    check("cli.md", &page);
}

#[test]
fn the_settings_reference_lists_every_key() {
    let sandbox = Sandbox::new();
    let shown = sandbox.maestro("config show --json").json();
    let mut page = String::from(
        "# Settings

Each layer wins over the one before:

1. the defaults
2. your own `~/.config/maestro/config.toml` (in `$XDG_CONFIG_HOME` where that is set)
3. the project's `.loop/config`, in `key=value` lines; lists are separated by blanks
4. the project's `.maestro/config.toml`, the nearest one from the working directory up to the repository's root
5. variables: `MAESTRO_` and the key in capitals; lists are separated by colons
6. `--set KEY=VALUE` for one command

`maestro config show --origin` prints what is in force and where it comes from. A leading `~` is your home directory.
Relative entries of `skills_dirs` and `skills_extra_dirs` are looked up from the working directory to the repository's
root. Any other relative path starts from the directory of your own file, from the project in a project's file, and from
the working directory in a variable or flag.

An unknown key or a value of the wrong kind is an error. In `.loop/config`, where another program's keys stand too, an
unknown key is a warning.
",
    );
    for key in SettingKey::ALL {
        let default = &shown["settings"][key.as_str()]["value"];
        let default = default.to_string().replace(sandbox.home().to_str().unwrap(), "~");
        let default = default.replace(&format!("{}/", sandbox.project().display()), "");
        let _ = write!(
            page,
            "\n## `{key}`\n\n{}\n\n- default: `{default}`\n- variable: `{}`\n",
            key.meaning(),
            key.variable(),
            key = key.as_str(),
        );
    }
    check("config.md", &page);
}

#[test]
fn the_reference_of_findings_lists_every_code() {
    let mut page = String::from(
        "# Findings

What `maestro workflow check` finds in a definition. With an error (`E`) it cannot be started; a warning (`W`) is
allowed and probably not meant.

| code | meaning |
|---|---|
",
    );
    for code in FindingCode::ALL {
        let _ = writeln!(page, "| `{code}` | {} |", code.meaning().replace('|', "\\|"));
    }
    check("findings.md", &page);
}

#[test]
fn the_problem_reference_lists_every_code() {
    let mut page = String::from(
        "# Problems

What `maestro doctor` and `problems` in the JSON of other commands name by these codes. Each comes with a severity
(`error`: something could not be used; `warning`: a rule is broken, what was meant could still be used; `info`), a file,
a line, a column, and help.

| code | meaning |
|---|---|
",
    );
    for code in ProblemCode::ALL {
        let _ = writeln!(page, "| `{code}` | {} |", code.meaning().replace('|', "\\|"));
    }
    check("problems.md", &page);
}

#[test]
fn the_schema_of_workflows_is_published() {
    check("workflow.schema.json", &Sandbox::new().maestro("workflow schema").stdout());
}
