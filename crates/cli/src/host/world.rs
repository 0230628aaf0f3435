//! Environment of this process, read once at the start and passed on.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use maestro_core::settings::SettingsDirs;
use maestro_core::workflow::executions::quote_word;
use maestro_core::workflow::run::AnswerAuthor;
use maestro_core::workflow::tool::{CodingTool, ToolTable};
use maestro_skills::project_of;

use crate::args::GlobalArgs;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{OutputReader, TerminalStreams, TextStyle};

/// The environment a command runs in.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) places: SettingsDirs,
    pub(crate) user_config: PathBuf,
    /// Where Maestro keeps its state.
    pub(crate) maestro_home: PathBuf,
    /// Where Maestro keeps what it can recompute.
    pub(crate) cache: PathBuf,
    /// Build of this Maestro.
    pub(crate) program: String,
    /// Where skill packs go if the usual place is not writable.
    pub(crate) spare_dir: PathBuf,
    /// Relevant variables: Maestro's own, and those with directories of other tools.
    pub(crate) variables: BTreeMap<String, String>,
    /// Directories that are searched for programs.
    pub(crate) program_dirs: Vec<PathBuf>,
    pub(crate) flags: Vec<String>,
    /// Server, project and database from the command line.
    pub(crate) aim: CommandTarget,
    pub(crate) json: bool,
    /// Colors of standard output.
    pub(crate) paint: TextStyle,
    /// Colors of notes on standard error.
    pub(crate) note_paint: TextStyle,
    /// Width of the terminal; `None` if there is none.
    pub(crate) width: Option<usize>,
    pub(crate) terminals: TerminalStreams,
    /// Whether standard output can be read by anyone.
    pub(crate) reader: OutputReader,
}

/// Server, project and database from the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandTarget {
    pub(crate) server: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) database: Option<String>,
}

impl World {
    pub(crate) fn of_this_process(globals: &GlobalArgs) -> CommandResult<Self> {
        let working_dir = std::env::current_dir().map_err(|error| {
            CommandError::io("cannot find the current directory", &error).hint("change to one that exists")
        })?;
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
            CommandError::invalid("cannot find your home directory").hint("set HOME to an absolute path")
        })?;
        let data = xdg("XDG_DATA_HOME", &home, ".local/share").join("maestro");
        let cache = xdg("XDG_CACHE_HOME", &home, ".cache").join("maestro");
        let maestro_home = absolute("MAESTRO_HOME").unwrap_or_else(|| home.join(".maestro"));
        let user_config = xdg("XDG_CONFIG_HOME", &home, ".config").join("maestro/config.toml");
        let of_others = ["SKILLS_DIR", "DATA_DIR", "SESSION_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME"];
        let of_interest = |name: &str| name.starts_with("MAESTRO_") || of_others.contains(&name);
        // Settings are text; other values are ignored.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| of_interest(name))
            .collect();
        let program_dirs =
            std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        let terminals = TerminalStreams {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        };
        Ok(Self {
            places: SettingsDirs { project: project_of(&working_dir), home, data, working_dir },
            user_config,
            maestro_home,
            spare_dir: spare_dir(),
            cache,
            program: program(),
            variables,
            program_dirs,
            flags: globals.set.clone(),
            aim: CommandTarget {
                server: globals.server.clone(),
                project: globals.project.clone(),
                database: globals.database.clone(),
            },
            json: globals.json,
            paint: TextStyle::for_stdout(globals.color),
            note_paint: TextStyle::for_stderr(globals.color),
            width: terminals.stdout.then(terminal_width),
            terminals,
            reader: OutputReader::of_stdout(),
        })
    }

    /// The same world seen from another directory.
    pub(crate) fn at(&self, directory: &Path) -> Self {
        let mut world = self.clone();
        world.places.project = project_of(directory);
        directory.clone_into(&mut world.places.working_dir);
        world
    }

    /// The same for a process that starts a session's agent: it is not that session, whose id alone is not enough once
    /// the session has a token.
    pub(crate) fn outside_session(&self) -> Self {
        let mut world = self.clone();
        if self.variable("MAESTRO_SESSION_TOKEN").is_none() {
            world.variables.remove("MAESTRO_SESSION_ID");
        }
        world
    }

    /// A variable that is not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The coding tool whose shell this is.
    pub(crate) fn coding_tool() -> Option<CodingTool> {
        let env = |name: &str| std::env::var(name).ok();
        ToolTable::builtin().detect(None, &env).ok().filter(CodingTool::is_known)
    }

    /// Who answers by a command that runs here.
    pub(crate) fn answer_author(&self) -> AnswerAuthor {
        match Self::coding_tool() {
            Some(_) => AnswerAuthor::Agent,
            None if self.terminals.stdin => AnswerAuthor::User,
            None => AnswerAuthor::Script,
        }
    }

    /// Current width of the terminal; `None` if there is none.
    pub(crate) fn width_now(&self) -> Option<usize> {
        self.width.map(|_| terminal_width())
    }

    /// The same as a word of a command line.
    pub(crate) fn path_word(&self, path: &Path) -> String {
        let shown = self.display_path(path);
        // In quotes, a shell would not see a home directory in it.
        match shown.strip_prefix("~/") {
            Some(rest) => format!("~/{}", quote_word(rest)),
            None => quote_word(&shown),
        }
    }

    /// A path as a person would write it: relative to the working directory, or with `~`.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        let up_to_project = self.places.working_dir.ancestors().take_while(|dir| dir.starts_with(&self.places.project));
        for (levels, dir) in up_to_project.enumerate() {
            match path.strip_prefix(dir) {
                Ok(rest) if !rest.as_os_str().is_empty() => {
                    return format!("{}{}", "../".repeat(levels), rest.display());
                }
                _ => {}
            }
        }
        match path.strip_prefix(&self.places.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// A text that is unique to this build: the version, and identity of the program file.
fn program() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let file = std::env::current_exe().and_then(|path| path.metadata());
    file.map_or_else(
        |_| version.to_owned(),
        |file| {
            let changed = (file.ctime(), file.ctime_nsec());
            format!("{version} {} {} {} {changed:?}", file.dev(), file.ino(), file.len())
        },
    )
}

/// The width of the terminal that standard output is, if it is one.
pub(crate) fn stdout_width() -> Option<usize> {
    io::stdout().is_terminal().then(terminal_width)
}

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

/// An absolute path in a variable; the XDG rules say to ignore a relative one.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The user's runtime directory, or one in the temporary directory with the user's name.
fn spare_dir() -> PathBuf {
    let user = std::env::var("USER").unwrap_or_default();
    let name: String = user.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    let runtime = absolute("XDG_RUNTIME_DIR").filter(|directory| directory.is_dir());
    runtime.map_or_else(|| std::env::temp_dir().join(format!("maestro-{name}")), |dir| dir.join("maestro"))
}

fn xdg(variable: &str, home: &Path, default: &str) -> PathBuf {
    absolute(variable).unwrap_or_else(|| home.join(default))
}
