//! What Maestro answers to mistakes: one table, in the order of the file beside this one, that reads as a manual.
//!
//! In `mistakes/cases.txt`, `# …` is a heading, `$ …` a command in a shell, and `> …` prepares the next one unseen.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

const CASES: &str = include_str!("mistakes/cases.txt");

/// A command line, what it printed and how it ended.
struct MistakeAnswer {
    text: String,
    code: i32,
}

fn answer(sandbox: &Sandbox, line: &str) -> MistakeAnswer {
    let maestro = sandbox.command();
    let program = maestro.get_program().to_owned();
    let mut shell = Command::new("/bin/sh");
    // `maestro` in a line is the program under test, whatever the line does to its PATH.
    shell.args(["-c", &format!("maestro() {{ \"$PROGRAM\" \"$@\"; }}\n{line}")]).env_clear();
    shell.envs(maestro.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PROGRAM", program).current_dir(sandbox.project()).stdin(Stdio::null());
    let output = shell.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    MistakeAnswer { text: sandbox.normal(&String::from_utf8_lossy(&printed)), code: output.status.code().unwrap() }
}

/// Puts the git of this machine on the sandbox's PATH, and no agent.
fn install_git(sandbox: &Sandbox) {
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).unwrap();
    std::os::unix::fs::symlink(git, sandbox.path("~/bin/git")).unwrap();
}

#[test]
fn every_mistake_is_answered_with_what_where_why_and_what_now() {
    let sandbox = Sandbox::new();
    install_git(&sandbox);
    sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n");
    let mut table = String::new();
    let mut count = 0;
    for line in CASES.lines().filter(|line| !line.is_empty()) {
        if let Some(heading) = line.strip_prefix("# ") {
            writeln!(table, "\n## {heading}").unwrap();
        } else if let Some(unseen) = line.strip_prefix("> ") {
            let prepared = answer(&sandbox, unseen);
            assert_eq!(prepared.code, 0, "{unseen}\n{}", prepared.text);
        } else {
            let typed = line.strip_prefix("$ ").unwrap();
            let given = answer(&sandbox, typed);
            count += 1;
            assert_ne!(given.code, 0, "{typed} is no mistake:\n{}", given.text);
            assert!(given.text.contains("error: "), "{typed} does not say what is wrong:\n{}", given.text);
            assert!(given.text.contains("hint: "), "{typed} does not say what to do:\n{}", given.text);
            write!(table, "\n$ {typed}\n{}[{}]\n", given.text, given.code).unwrap();
        }
    }
    assert!(count >= 60, "{count} mistakes");
    assert_snapshot!(table);
}
