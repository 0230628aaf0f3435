//! A home and a project that nobody else uses, and the program run in them.

mod marks;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::Value as Json;
use tempfile::TempDir;

use self::marks::{
    IDS, ids_in_bytes, is_id, is_run_id, without_digest, without_ids, without_nonces, without_sandbox, without_times,
};
use crate::served::{Server, TOKEN};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A home directory and a project, both empty, which vanish with this value.
pub(crate) struct Sandbox {
    root: TempDir,
    variables: BTreeMap<String, String>,
    /// Every id that was ever printed, in that order.
    ids: Mutex<Vec<String>>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        let sandbox = Self { root, variables: BTreeMap::new(), ids: Mutex::default() };
        for dir in [sandbox.home(), sandbox.project(), sandbox.temporary(), sandbox.home().join("bin")] {
            fs::create_dir(dir).unwrap();
        }
        sandbox
    }

    /// The same sandbox with a variable in the program's environment, which is otherwise bare.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn root(&self) -> PathBuf {
        // As the program sees it: the system's directory for temporary files may be a link.
        self.root.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    fn temporary(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// Where the copies of skill packs are.
    pub(crate) fn sync_dir(&self) -> PathBuf {
        self.home().join(".local/share/maestro/skills")
    }

    /// A path as tests write it: relative to the project, or below `~`.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home().join(rest),
            None => self.project().join(path),
        }
    }

    /// Writes a file, and the directories it is in.
    pub(crate) fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// Writes a flawless `SKILL.md` into a directory of the skill's name.
    pub(crate) fn skill(&self, dir: &str, name: &str, description: &str) {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n# How to\n\nStep by step.\n");
        self.write(&format!("{dir}/{name}/SKILL.md"), text);
    }

    /// Puts a program on the `PATH`. It leaves a file behind should anybody start it.
    #[cfg(unix)]
    pub(crate) fn install(&self, program: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = format!("~/bin/{program}");
        self.write(&path, "#!/bin/sh\n: > \"$0.was-started\"\n");
        fs::set_permissions(self.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs `maestro` in the project with arguments that hold no blanks.
    pub(crate) fn maestro(&self, args: &str) -> Output {
        self.maestro_with(&args.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `maestro` in the project.
    pub(crate) fn maestro_with(&self, args: &[&str]) -> Output {
        self.maestro_in("", args)
    }

    /// Runs `maestro` in a directory below the project.
    pub(crate) fn maestro_in(&self, dir: &str, args: &[&str]) -> Output {
        self.run(dir, &[], args, None, &args.join(" "))
    }

    /// Runs `maestro` in the project with further variables.
    pub(crate) fn maestro_as(&self, variables: &[(&str, &str)], args: &[&str]) -> Output {
        let words: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
        self.run("", variables, args, None, &words.join(" "))
    }

    /// Runs `maestro` in the project with further variables, and says something to it.
    pub(crate) fn maestro_told(&self, variables: &[(&str, &str)], args: &[&str], said: &str) -> Output {
        let words: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
        self.run("", variables, args, Some(said), &words.join(" "))
    }

    /// Runs `maestro` in the project with no room in a file beyond so many blocks, as on a full disk.
    pub(crate) fn maestro_cramped(&self, blocks: u64, args: &[&str]) -> std::process::Output {
        let mut command = self.command();
        let program = command.get_program().to_owned();
        // A write beyond the limit fails, instead of ending the program.
        let script = "trap '' XFSZ; ulimit -f \"$0\" && exec \"$@\"";
        let variables: Vec<_> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        command = Command::new("/bin/sh");
        command.env_clear().envs(variables).current_dir(self.project()).args(["-c", script, &blocks.to_string()]);
        command.arg(program).args(args).output().unwrap()
    }

    fn run(&self, dir: &str, variables: &[(&str, &str)], args: &[&str], said: Option<&str>, words: &str) -> Output {
        let mut command = self.command();
        // A server that is called by its address wants its token.
        if args.contains(&"--server") || variables.iter().any(|(name, _)| *name == "MAESTRO_API_URL") {
            command.env("MAESTRO_AUTH_TOKEN", TOKEN);
        }
        command.current_dir(self.path(dir)).envs(variables.iter().copied()).args(args);
        let output = match said {
            None => command.output().unwrap(),
            Some(said) => {
                let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut child = piped.spawn().unwrap();
                // Who does not listen to the end has its reasons.
                let _ = child.stdin.take().unwrap().write_all(said.as_bytes());
                child.wait_with_output().unwrap()
            }
        };
        let set: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        let set = set.concat();
        let mut output = Output {
            command: format!("{set}maestro {words}").trim_end().to_owned(),
            code: output.status.code().expect("ended by a signal"),
            stdout: output.stdout,
            stderr: output.stderr,
            places: self.places(),
            ids: Vec::new(),
        };
        let mut ids = self.ids.lock().unwrap();
        note_ids(&output.command, &mut ids);
        let stored = self.stored_ids(args);
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(bytes);
            note_ids(&text, &mut ids);
            note_short_ids(&text, &stored, &mut ids);
        }
        output.ids = numbered(&ids);
        output
    }

    /// The ids in the database, where a command may print short ones.
    fn stored_ids(&self, args: &[&str]) -> Vec<String> {
        const SHORT: [&str; 16] = [
            "task", "project", "loop", "do", "session", "events", "status", "workflow", "show", "diff", "merge",
            "discard", "pr", "up", "say", "attach",
        ];
        let mut ids: Vec<String> = Vec::new();
        if args.contains(&"--json") || !args.iter().any(|arg| SHORT.contains(arg)) {
            return ids;
        }
        for file in ["maestro.db", "maestro.db-wal"] {
            let bytes = fs::read(self.home().join(".maestro").join(file)).unwrap_or_default();
            ids.extend(ids_in_bytes(&bytes));
        }
        ids
    }

    /// A text with everything that differs from run to run replaced, as in outputs.
    pub(crate) fn normal(&self, text: &str) -> String {
        let mut ids = self.ids.lock().unwrap();
        note_ids(text, &mut ids);
        normal(text, &self.places(), &numbered(&ids))
    }

    fn places(&self) -> Vec<(PathBuf, &'static str)> {
        vec![
            (self.project(), "[PROJECT]"),
            (self.home(), "[HOME]"),
            (PathBuf::from(env!("CARGO_BIN_EXE_maestro")), "[MAESTRO]"),
        ]
    }

    /// Starts a server on this sandbox's database. Commands find it by themselves.
    pub(crate) fn serve(&self) -> Server {
        Server::start(self, &[])
    }

    /// The program, ready to be started in the project.
    pub(crate) fn command(&self) -> Command {
        let home = self.home();
        let mut command = Command::new(env!("CARGO_BIN_EXE_maestro"));
        command
            .env_clear()
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("MAESTRO_HOME", home.join(".maestro"))
            .env("TMPDIR", self.temporary())
            .env("PATH", home.join("bin"))
            .env("NO_COLOR", "1")
            .envs(&self.variables)
            .current_dir(self.project())
            .stdin(Stdio::null());
        command
    }

    /// Every file, directory and link of home and project, with what is in it.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut tree = BTreeMap::new();
        collect(&self.root(), &mut tree);
        tree
    }
}

/// An argument as it would be typed.
fn quoted(arg: &str) -> String {
    if arg.is_empty() || arg.contains(char::is_whitespace) { format!("{arg:?}") } else { arg.to_owned() }
}

/// Adds the ids of a text to those known.
fn note_ids(text: &str, known: &mut Vec<String>) {
    let words = |also: char| text.split(move |c: char| !c.is_ascii_alphanumeric() && c != also);
    let ids = words('_').filter(|word| is_id(word)).chain(words('-').filter(|word| is_run_id(word)));
    for id in ids {
        if !known.iter().any(|known| known == id) {
            known.push(id.to_owned());
        }
    }
}

/// Adds the ids that short ones in a text stand for.
fn note_short_ids(text: &str, stored: &[String], known: &mut Vec<String>) {
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let meant = stored.iter().find(|id| is_short_for(word, id));
        if let Some(id) = meant.filter(|id| !known.contains(id)) {
            known.push(id.clone());
        }
    }
}

/// Whether a word is the short form of an id.
pub(crate) fn is_short_for(word: &str, id: &str) -> bool {
    word.len() >= 4 && maestro_core::short_id::random_part(id).is_some_and(|random| random.starts_with(word))
}

/// The ids with their names: each kind is counted from 1.
fn numbered(ids: &[String]) -> Vec<(String, String)> {
    let mut counts = BTreeMap::new();
    let name = |id: &String| {
        let kind = IDS.iter().find(|(prefix, _)| id.starts_with(prefix)).map_or("RUN", |(_, name)| name);
        let count = counts.entry(kind).and_modify(|count| *count += 1).or_insert(1);
        (id.clone(), format!("[{kind}-{count}]"))
    };
    ids.iter().map(name).collect()
}

fn collect(dir: &Path, tree: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_symlink() {
            tree.insert(path.clone(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else if kind.is_dir() {
            collect(&path, tree);
            tree.insert(path, Vec::new());
        } else {
            tree.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

/// What the program did: what it printed where, and how it ended.
///
/// Shown as in a terminal. Standard error stands apart, an exit code is shown unless it is 0, and what
/// `--json` prints is spread over lines. What differs from run to run has a name in brackets.
pub(crate) struct Output {
    command: String,
    pub(crate) code: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    places: Vec<(PathBuf, &'static str)>,
    ids: Vec<(String, String)>,
}

impl Output {
    /// The first word of standard output: the id of what was made, whole.
    pub(crate) fn id(&self) -> String {
        assert_eq!(self.code, 0, "{self}");
        let text = self.stdout();
        let word = text.split_whitespace().next().expect("nothing was printed");
        self.ids.iter().map(|(id, _)| id).find(|id| is_short_for(word, id)).map_or(word, String::as_str).to_owned()
    }

    /// The whole id that a word of the output stands for.
    pub(crate) fn whole_id(&self, word: &str) -> String {
        let known = self.ids.iter().map(|(id, _)| id).find(|id| *id == word || is_short_for(word, id));
        known.unwrap_or_else(|| panic!("`{word}` is no id in {self}")).clone()
    }

    /// Standard output, byte for byte.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.stdout
    }

    /// Standard output as text.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// Standard error as text.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(self.stderr.clone()).unwrap()
    }

    /// Standard output as JSON, which must be one value on one line.
    pub(crate) fn json(&self) -> Json {
        let text = self.stdout();
        assert!(text.ends_with('\n') && text.lines().count() == 1, "not one line of JSON:\n{text}");
        serde_json::from_str(&text).unwrap()
    }

    fn normal(&self, text: &str) -> String {
        normal(text, &self.places, &self.ids)
    }
}

/// Text with everything that differs from run to run replaced.
fn normal(text: &str, places: &[(PathBuf, &str)], ids: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (path, name) in places {
        text = text.replace(path.to_str().unwrap(), name);
    }
    for (name, mark) in [("Maestro ", ""), ("maestro ", ""), ("{\"version\":\"", "\"")] {
        text = text.replace(&format!("{name}{VERSION}{mark}"), &format!("{name}[VERSION]{mark}"));
    }
    for (id, name) in ids {
        text = text.replace(id, name);
    }
    text = without_short_ids(&text, ids);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    text = text.replace(&format!("\"hostname\":\"{}\"", host.trim()), "\"hostname\":\"[HOST]\"");
    let text = without_sandbox(&text);
    without_times(&without_nonces(&without_ids(&without_digest(&text, "workspace-", 12))))
}

/// The text with short ids replaced by the names of the ids they stand for.
fn without_short_ids(text: &str, ids: &[(String, String)]) -> String {
    // Programs get whole ids, and a number is none.
    if text.starts_with(['{', '[']) && serde_json::from_str::<Json>(text).is_ok() {
        return text.to_owned();
    }
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let mut normal = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        let name = ids.iter().find(|(id, _)| is_short_for(word, id)).map_or(word, |(_, name)| name);
        normal.extend([before, name]);
        rest = after;
    }
    normal + rest
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}", self.normal(&self.command))?;
        let stdout = self.normal(&self.stdout());
        match self.command.contains("--json").then(|| serde_json::from_str::<Json>(&stdout)) {
            Some(Ok(value)) => writeln!(f, "{value:#}")?,
            _ => f.write_str(&stdout)?,
        }
        let stderr = self.normal(&self.stderr());
        if !stderr.is_empty() {
            write!(f, "--- stderr\n{stderr}")?;
        }
        if self.code != 0 {
            writeln!(f, "--- exit {}", self.code)?;
        }
        Ok(())
    }
}
