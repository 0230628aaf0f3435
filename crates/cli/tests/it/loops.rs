//! Is a plan worked through as it says, whatever happens on the way?
//!
//! The numbers in the comments are those of the faults that another loop was found to have; each has a test here.

mod again;
mod budgets;
mod checks;
mod circles;
mod defects;
mod guards;
mod kills;
mod lanes;
mod merged;
mod models;
mod nights;
mod notices;
mod paths;
mod plans;
mod promises;
mod questions;
mod ready;
mod seen;
mod servers;
mod stalls;
mod steering;
mod truths;
mod twenty;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::sandbox::{Output, Sandbox};
use crate::served::Server;
use crate::waiting::wait_until;

/// How long nothing may happen in a loop before it counts as stuck.
const STUCK: Duration = Duration::from_mins(1);

/// Where the demo agent keeps what it was told: outside the repository, and it may write there.
const MARKS: &str = "~/.local/state/maestro-demo";

/// A repository with a plan.
struct Repository {
    sandbox: Sandbox,
}

/// A commit: what it says, for what it was made, and which files it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Commit {
    subject: String,
    ticket: String,
    files: Vec<String>,
}

impl Repository {
    /// A repository in which these tasks are to be done.
    fn with(tasks: &[String]) -> Self {
        let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
        sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.org\n");
        // A project without one is given one, which is another test's matter.
        sandbox.write(".maestro/config.toml", "skills_enabled = true\n");
        let repository = Self { sandbox };
        repository.write_plan("PLAN.md", tasks);
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.commit_all();
        repository
    }

    fn write_plan(&self, name: &str, tasks: &[String]) {
        let boxes: Vec<String> = tasks.iter().map(|task| format!("- [ ] {task}\n")).collect();
        self.sandbox.write(name, format!("# Plan\n\n{}", boxes.concat()));
    }

    fn commit_all(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=begin"]);
    }

    /// Says something to git, which must agree.
    fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.env("HOME", self.sandbox.home()).env_remove("XDG_CONFIG_HOME").current_dir(self.sandbox.project());
        let said = command.args(words).output().unwrap();
        assert!(said.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }

    /// A script of a task, and the task. It is a file of the home, so the work itself does not show it.
    fn script(&self, name: &str, text: &str) -> String {
        let place = self.sandbox.path(MARKS);
        fs::create_dir_all(&place).unwrap();
        self.sandbox.write(&format!("~/{name}"), text.replace("HOME", &place.display().to_string()));
        format!("Run sh {}", self.sandbox.path(&format!("~/{name}")).display())
    }

    /// The same repository with a demo agent that follows a script of its own, one act a line.
    fn acting(self, acts: &str) -> Self {
        self.sandbox.write("~/acts", acts);
        let script = self.sandbox.path("~/acts").display().to_string();
        Self { sandbox: self.sandbox.with_variable("MAESTRO_DEMO_SCRIPT", &script) }
    }

    /// A file by which a script and a test speak to each other; scripts say `HOME/NAME`.
    fn mark(&self, name: &str) -> PathBuf {
        self.sandbox.path(&format!("{MARKS}/{name}"))
    }

    /// Makes such a file.
    fn set(&self, name: &str) {
        self.sandbox.write(&format!("{MARKS}/{name}"), "");
    }

    /// Works through the plan to its end.
    fn work(&self, words: &str) -> Output {
        self.sandbox.maestro(&format!("loop PLAN.md --agent demo --permission all {words}"))
    }

    /// Begins it on a server, and returns the run.
    fn begin(&self, words: &str) -> String {
        self.work(&format!("--detach {words}")).id()
    }

    /// The commits of a branch since the beginning, oldest first.
    fn commits(&self, branch: &str) -> Vec<Commit> {
        let format = "--format=%x01%s%x00%(trailers:key=Maestro-Task,valueonly,separator=%x20)%x00";
        let first = self.git(&["rev-list", "--max-parents=0", branch]);
        let range = format!("{}..{branch}", first.trim());
        let log = self.git(&["log", "--reverse", "--name-only", format, &range]);
        let commit = |text: &str| {
            let mut parts = text.split('\0').map(str::trim);
            let mut next = || parts.next().unwrap_or_default().to_owned();
            let (subject, ticket, files) = (next(), next(), next());
            Commit { subject, ticket, files: files.lines().map(str::to_owned).collect() }
        };
        log.split('\u{1}').skip(1).map(commit).collect()
    }

    /// A file as a branch has it.
    fn file(&self, branch: &str, path: &str) -> String {
        self.git(&["show", &format!("{branch}:{path}")])
    }

    /// What agents were told, in the order in which they began.
    fn prompts(&self) -> Vec<String> {
        let Ok(found) = fs::read_dir(self.sandbox.path(MARKS)) else { return Vec::new() };
        // Their names begin with the time.
        let files: BTreeSet<_> = found.map(|entry| entry.unwrap().path()).collect();
        let files: Vec<_> =
            files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
        let lines = |path| fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
        files.iter().flat_map(lines).map(|line| serde_json::from_str(&line).unwrap()).collect()
    }

    /// Waits until nothing is left of all that was started here, a server apart.
    fn nothing_left(&self, but: Option<&Server>) {
        let mark = format!("MAESTRO_HOME={}", self.sandbox.home().join(".maestro").display());
        let server = but.and_then(|server| server.file["pid"].as_u64());
        let ours = |pid: u64| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let left = || -> Vec<u64> {
            let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
            all.filter(|pid| Some(*pid) != server && ours(*pid)).collect()
        };
        wait_until("nothing is left", || left().is_empty());
    }

    /// The branch on which a run works.
    fn branch(run: &str) -> String {
        format!("maestro/loop-{run}")
    }
}

/// The run of a loop that was worked through.
fn run_of(output: &Output) -> String {
    output.whole_id(output.stdout().split_whitespace().nth(1).unwrap())
}

fn state(server: &Server, run: &str) -> Json {
    server.get(&format!("/api/runs/{run}"))
}

/// How often a run went on.
fn revision(state: &Json) -> i64 {
    state["revision"].as_i64().unwrap_or_else(|| panic!("it has no revision: {state}"))
}

fn is_over(state: &Json) -> bool {
    matches!(state["status"].as_str(), Some("completed" | "failed" | "cancelled"))
}

/// Waits until something is so of a run, as long as it goes on.
fn goes_on_until(server: &Server, run: &str, mut is_so: impl FnMut(&Json) -> bool) -> Json {
    let (mut seen, mut since) = (-1, Instant::now());
    loop {
        let now = state(server, run);
        if is_so(&now) {
            return now;
        }
        if revision(&now) != seen {
            (seen, since) = (revision(&now), Instant::now());
        }
        assert!(since.elapsed() < STUCK, "it does not go on: {now:#}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn steer(server: &Server, run: &str, order: &str) -> Json {
    server.make(&format!("/api/runs/{run}/{order}"), &json!({}))
}

/// The sessions of a run.
fn sessions(server: &Server, run: &str) -> Vec<Json> {
    let all = server.get("/api/sessions?limit=500");
    all.as_array().unwrap().iter().filter(|session| session["metadata"]["run"] == run).cloned().collect()
}

/// Asserts that all tasks were done once, in order, each with its file and its tick in a commit of its own.
fn assert_done(repository: &Repository, run: &str, branch: &str, tasks: &[String]) {
    let commits = repository.commits(branch);
    let said: Vec<&str> = commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(said, tasks.iter().map(String::as_str).collect::<Vec<_>>());
    let tickets: BTreeSet<&str> = commits.iter().map(|commit| commit.ticket.as_str()).collect();
    assert_eq!(tickets.len(), tasks.len(), "each has a ticket of its own: {tickets:?}");
    for (number, commit) in commits.iter().enumerate() {
        let files = ["PLAN.md".to_owned(), format!("f{}.txt", number + 1)];
        assert_eq!(commit.files, files, "{commit:?}");
        assert!(commit.ticket.starts_with(&format!("{run}/")), "{commit:?}");
        let then = repository.file(&format!("{branch}~{}", tasks.len() - 1 - number), "PLAN.md");
        assert_eq!(then.matches("- [x]").count(), number + 1, "{then}");
    }
}

/// A task that adds a file.
fn simple(number: usize) -> String {
    format!("Add a file f{number}.txt that says number {number}")
}

fn simple_ones(count: usize) -> Vec<String> {
    (1..=count).map(simple).collect()
}

/// How many, as a variable says it.
fn count(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}
