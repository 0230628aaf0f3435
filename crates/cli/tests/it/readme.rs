//! The commands of the README, executed as printed, in order, in a fresh home.
//!
//! A comment before each console block says what happens to it:
//!
//! - `<!-- run -->`: each command runs to its end and must succeed.
//! - `<!-- background -->`: each command is started, and ended with the test.
//! - `<!-- not run: reason -->`: the commands are only shown.
//!
//! `<!-- file PATH -->` before a block of another language writes it. In a command, `TASK`, `SESSION` and `RUN` stand for
//! the first id of that kind in the latest output that has one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::sandbox::Sandbox;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");

/// A fenced block and the comment before it.
#[derive(Debug, PartialEq)]
struct Block {
    line: usize,
    mark: Option<String>,
    language: String,
    text: String,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut mark = None;
    let mut lines = markdown.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let text = inside.flat_map(|line| [line, "\n"]).collect();
            found.push(Block { line: index + 1, mark: mark.take(), language: language.to_owned(), text });
        } else {
            mark = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).map(str::to_owned);
        }
    }
    found
}

/// The names of ids in commands.
const NAMES: [&str; 3] = ["TASK", "SESSION", "RUN"];

/// The name that commands use for an id, if the word is one.
fn name_of(word: &str) -> Option<&'static str> {
    let is_run = word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    match word {
        _ if word.starts_with("task_") => Some("TASK"),
        _ if word.starts_with("sess_") => Some("SESSION"),
        _ => is_run.then_some("RUN"),
    }
}

/// A reader who types every command.
struct Reader {
    sandbox: Sandbox,
    ids: BTreeMap<&'static str, String>,
    background: Vec<Child>,
}

impl Reader {
    fn new() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_maestro")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let sandbox = Sandbox::new().with_variable("PATH", &path);
        sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n");
        Self { sandbox, ids: BTreeMap::new(), background: Vec::new() }
    }

    /// A command line with the ids that earlier commands printed, in a shell.
    fn shell(&self, line: &str) -> Command {
        let mut line = line.to_owned();
        for (name, id) in &self.ids {
            line = line.replace(&format!("={name} "), &format!("={id} "));
            line = line.split(' ').map(|word| if word == *name { id } else { word }).collect::<Vec<_>>().join(" ");
        }
        let maestro = self.sandbox.command();
        let mut command = Command::new("sh");
        command.args(["-c", &line]).env_clear();
        command.envs(maestro.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.sandbox.project()).stdin(Stdio::null());
        command
    }

    fn run(&mut self, line: &str) {
        let output = self.shell(line).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "$ {line}\n{stdout}{}", String::from_utf8_lossy(&output.stderr));
        // A run is announced by its short id.
        if let Some(id) = stdout.lines().find_map(|line| line.strip_prefix("Run ")?.split(' ').next()) {
            self.ids.insert("RUN", id.to_owned());
        }
        let words: Vec<&str> = stdout.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').collect();
        for name in NAMES {
            if let Some(id) = words.iter().find(|word| name_of(word) == Some(name)) {
                self.ids.insert(name, (*id).to_owned());
            }
        }
    }

    /// Starts a command and waits for the first line it prints.
    fn start(&mut self, line: &str) {
        let mut child = self.shell(&format!("exec {line}")).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        assert_ne!(first, "", "$ {line}");
        self.background.push(child);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for child in &mut self.background {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The commands of a console block, without the comments behind them.
fn commands(block: &Block) -> Vec<&str> {
    block
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .map(|line| line.split("  #").next().unwrap_or(line).trim())
        .collect()
}

#[test]
fn every_command_of_the_readme_works() {
    let mut reader = Reader::new();
    for block in blocks(&fs::read_to_string(README).unwrap()) {
        let place = format!("README.md:{}", block.line);
        match (block.language.as_str(), block.mark.as_deref()) {
            ("console", Some("run")) => commands(&block).into_iter().for_each(|line| reader.run(line)),
            ("console", Some("background")) => commands(&block).into_iter().for_each(|line| reader.start(line)),
            ("console", Some(mark)) if mark.starts_with("not run: ") => {}
            ("console", mark) => panic!("{place}: say `run`, `background` or `not run: reason`, not {mark:?}"),
            (_, Some(mark)) => {
                let path = mark.strip_prefix("file ").unwrap_or_else(|| panic!("{place}: `{mark}` is unknown"));
                reader.sandbox.write(path, &block.text);
            }
            (_, None) => {}
        }
    }
    assert!(reader.ids.len() == NAMES.len() && !reader.background.is_empty(), "{:?}", reader.ids);
}

#[test]
fn every_path_that_the_readme_links_to_exists() {
    let text = fs::read_to_string(README).unwrap();
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once([')', '#'])).map(|(path, _)| path);
    for path in links.filter(|path| !path.is_empty() && !path.contains("://")) {
        assert!(Path::new(README).with_file_name(path).exists(), "{path}");
    }
}

#[test]
fn a_block_has_the_mark_right_before_it() {
    let found = blocks("<!-- run -->\n```console\n$ a  # b\n```\n\n<!-- run -->\n\n```\nc\n```\n");
    assert_eq!(commands(&found[0]), ["a"]);
    assert_eq!((found[0].mark.as_deref(), found[1].mark.as_deref()), (Some("run"), None));
}
