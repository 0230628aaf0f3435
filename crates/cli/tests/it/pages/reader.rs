//! A reader of a page: does what it says, in a fresh home.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::sandbox::Sandbox;

/// A fenced block, or a comment on a line of its own that no block follows.
#[derive(Debug, PartialEq)]
pub(super) enum PagePart {
    Block { line: usize, mark: Option<String>, language: String, text: String },
    Comment { line: usize, text: String },
}

/// The parts of a page, in order.
pub(super) fn parts(markdown: &str) -> Vec<PagePart> {
    let mut found = Vec::new();
    let mut mark: Option<(usize, String)> = None;
    let mut lines = markdown.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let text = inside.flat_map(|line| [line, "\n"]).collect();
            let mark = mark.take().map(|(_, text)| text);
            found.push(PagePart::Block { line: index + 1, mark, language: language.to_owned(), text });
        } else {
            found.extend(mark.take().map(|(line, text)| PagePart::Comment { line, text }));
            let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
            mark = comment.map(|text| (index + 1, text.to_owned()));
        }
    }
    found.extend(mark.map(|(line, text)| PagePart::Comment { line, text }));
    found
}

/// The commands of a console block, without the comments behind them.
pub(super) fn commands(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .map(|line| line.split("  #").next().unwrap_or(line).trim())
        .collect()
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

/// Somebody who types every command of a page.
pub(super) struct PageReader {
    sandbox: Sandbox,
    ids: BTreeMap<&'static str, String>,
    background: Vec<Child>,
}

impl PageReader {
    pub(super) fn new() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_maestro")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let sandbox = Sandbox::new().with_variable("PATH", &path);
        sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n");
        Self { sandbox, ids: BTreeMap::new(), background: Vec::new() }
    }

    /// Does what a part of the page at `place` says.
    pub(super) fn follow(&mut self, place: &str, part: &PagePart) {
        match part {
            PagePart::Comment { line, text } => {
                if let Some(command) = text.strip_prefix("setup: ") {
                    self.run(&format!("{place}:{line}"), command);
                }
            }
            PagePart::Block { line, mark, language, text } => {
                self.follow_block(&format!("{place}:{line}"), mark.as_deref(), language, text);
            }
        }
    }

    fn follow_block(&mut self, place: &str, mark: Option<&str>, language: &str, text: &str) {
        match (language, mark) {
            ("console", Some("run")) => commands(text).into_iter().for_each(|line| self.run(place, line)),
            ("console", Some("background")) => commands(text).into_iter().for_each(|line| self.start(place, line)),
            ("console", Some(mark)) if mark.starts_with("not run: ") => {}
            ("console", mark) => panic!("{place}: say `run`, `background` or `not run: reason`, not {mark:?}"),
            (_, Some(mark)) => {
                let path = mark.strip_prefix("file ").unwrap_or_else(|| panic!("{place}: `{mark}` is unknown"));
                self.sandbox.write(path, text);
            }
            (_, None) => {}
        }
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

    fn run(&mut self, place: &str, line: &str) {
        let output = self.shell(line).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}\n$ {line}\n{stdout}{stderr}");
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
        let ticket = stdout.split_once("--ticket ").and_then(|(_, rest)| rest.split_whitespace().next());
        if let Some(ticket) = ticket {
            self.ids.insert("TICKET", ticket.to_owned());
        }
    }

    /// Starts a command and waits for the first line it prints.
    fn start(&mut self, place: &str, line: &str) {
        let mut child = self.shell(&format!("exec {line}")).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        assert_ne!(first, "", "{place}\n$ {line}");
        self.background.push(child);
    }
}

impl Drop for PageReader {
    fn drop(&mut self) {
        for child in &mut self.background {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
