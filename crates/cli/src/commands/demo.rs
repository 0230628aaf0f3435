//! `maestro demo`: agents without a model work through a small plan in a repository of its own, with explanations.

use std::fs;
use std::io;
use std::path::PathBuf;

use maestro_engine::user_program::{ProgramError, ProgramOutput, UserProgram};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::DemoArgs;
use crate::commands::loops::{NoteMeaning, ProgressNote};
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::clean_path;

const PLAN: &str = "\
# A small shop

- [ ] Add a file welcome.txt that says Welcome to the shop
- [ ] Add a file prices.txt that says apples 3, pears 4 (@price-lists; fails its first review)
- [ ] Add a file goodbye.txt that says Come again
";

/// What is said before all.
const FIRST: &str =
    "The plan is a Markdown checklist. Maestro does its tasks in order, in a worktree beside your files.";

const CONFIG: &str = "skills_enabled = true\n";

const SKILL: &str = "\
---
name: price-lists
description: How this shop writes price lists. Use when a file with prices is added or changed.
---

One product per line, then its price in whole coins.
";

/// What is said when something of the loop is seen for the first time.
pub(crate) const MEANINGS: [NoteMeaning; 5] = [
    (ProgressNote::Working, "Each task gets a new session, here with `demo`, an agent without a model."),
    (ProgressNote::Skills, "This task names a skill. Other tasks get the skills that fit; Maestro records why."),
    (ProgressNote::Reviewing, "A second session reviews the changes and edits nothing."),
    (ProgressNote::Committing, "Passed: Maestro ticks the box and commits it together with the work."),
    (
        ProgressNote::ReviewFailed,
        "The review found a problem. It goes back to an agent; the task passes only once it is fixed.",
    ),
];

pub(crate) fn run(args: &DemoArgs, world: &World) -> CommandResult {
    let unable = |error: io::Error| CommandError::io("cannot set up the demo", &error);
    let place = tempfile::Builder::new().prefix("maestro-demo-").tempdir().map_err(unable)?;
    let root = place.path().canonicalize().map_err(unable)?;
    let stage = DemoWorkspace { repository: root.join("shop"), home: root.join("home") };
    stage.set_up()?;
    let ended = stage.run_plan(world)?;
    let log = stage.git(&["log", "--reverse", "--format=  %h %s", "--branches=maestro/*", "--not", "HEAD"])?;
    let shown = clean_path(&stage.repository.to_string_lossy()).into_owned();
    if args.clean {
        place.close().map_err(unable)?;
    } else {
        // It stays for the user to look at.
        let _ = place.keep();
    }
    if world.json {
        let repository = (!args.clean).then_some(&stage.repository);
        return Ok(CommandOutput::json(&json!({ "repository": repository, "success": ended == ExitKind::Ok }))?
            .with_exit(ended));
    }
    let left = if args.clean {
        "Removed the demo repository.\n".to_owned()
    } else {
        format!(
            "See the changes with `git -C {shown} log -p --branches`; remove them with `rm -r {}`.\n",
            stage.display_root()
        )
    };
    let text = format!(
        "\nCommits on the run's branch:\n{log}{left}\nNext, in your own repository:\n  \
         maestro agents                         list installed agents\n  \
         maestro do \"Fix the typo in README\"    run one task with your agent\n  \
         maestro loop PLAN.md                   run a whole plan; `--dry-run` prints the prompt\n  \
         maestro up                             start the server and its page\n"
    );
    let notes = if ended == ExitKind::Ok {
        String::new()
    } else {
        format!(
            "{} the demo stopped before its end\n{} run `maestro doctor`; without `--clean` the repository stays, and its log is \
             `home/.maestro/maestro.log` beside it\n",
            world.note_paint.error("error:"),
            world.note_paint.help("hint:")
        )
    };
    Ok(CommandOutput::text(text).with_notes(notes).with_exit(ended))
}

/// Environment of the demo: its own repository and home, so that the user's files stay untouched.
struct DemoWorkspace {
    repository: PathBuf,
    home: PathBuf,
}

impl DemoWorkspace {
    fn set_up(&self) -> CommandResult<()> {
        let write = |file: &str, text: &str| -> io::Result<()> {
            let path = self.repository.join(file);
            fs::create_dir_all(path.parent().unwrap_or(&self.repository))?;
            fs::write(path, text)
        };
        let files = || -> io::Result<()> {
            fs::create_dir_all(&self.home)?;
            write("PLAN.md", PLAN)?;
            write(".maestro/config.toml", CONFIG)?;
            write(".claude/skills/price-lists/SKILL.md", SKILL)
        };
        files().map_err(|error| CommandError::io("cannot set up the demo", &error))?;
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Maestro demo"],
            &["config", "user.email", "demo@localhost"],
            &["add", "--all"],
            &["commit", "--quiet", "--message", "A plan"],
        ] {
            self.git(arguments)?;
        }
        Ok(())
    }

    /// Runs the plan, and explains the output.
    fn run_plan(&self, world: &World) -> CommandResult<ExitKind> {
        let unable = |error: io::Error| CommandError::io("cannot start the demo", &error);
        let failed = |error: ProgramError| CommandError::io("cannot start the demo", &error);
        let plain = if world.paint.is_on() { &[][..] } else { &["--color", "never"] };
        let maestro = self.in_its_home(UserProgram::own().map_err(failed)?);
        let maestro =
            maestro.args(["loop", "PLAN.md", "--agent", "demo", "--permission", "all", "--explain"]).args(plain);
        if !world.json {
            let shown = clean_path(&self.repository.to_string_lossy()).into_owned();
            command_output::show(&format!("The plan in {shown}:\n\n{PLAN}\n$ maestro loop PLAN.md --agent demo\n"))?;
            command_output::show(&format!("{}\n", world.paint.help(&format!("      # {FIRST}"))))?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unable)?;
        let ended = runtime::wait(&runtime, async {
            // Ctrl-C is for the loop, which cleans up after itself; then so do we.
            let _ignored = signal(SignalKind::interrupt());
            maestro.run_unattended(if world.json { ProgramOutput::Discarded } else { ProgramOutput::Inherited }).await
        });
        Ok(if ended.map_err(failed)?.success() { ExitKind::Ok } else { ExitKind::Failed })
    }

    fn git(&self, arguments: &[&str]) -> CommandResult<String> {
        self.in_its_home(UserProgram::new("git")).args(arguments).output().map_err(|error| match error {
            ProgramError::NotStarted { error, .. } => {
                CommandError::io("cannot start git", &error).hint("install git; the demo needs a repository")
            }
            ProgramError::Failed { stderr, .. } => {
                CommandError::internal(format!("git {} failed: {stderr}", arguments.join(" ")))
            }
        })
    }

    /// A program that sees none of the user's settings and stores nothing in their directories.
    fn in_its_home(&self, program: UserProgram) -> UserProgram {
        let is_users = |name: &str| {
            ["MAESTRO_", "XDG_", "GIT_"].iter().any(|prefix| name.starts_with(prefix))
                || ["SKILLS_DIR", "DATA_DIR", "SESSION_DIR"].contains(&name)
        };
        program
            .without_env(is_users)
            .env("HOME", &self.home)
            .env("MAESTRO_HOME", self.home.join(".maestro"))
            .current_dir(&self.repository)
    }

    fn display_root(&self) -> String {
        let root = self.repository.parent().unwrap_or(&self.repository);
        clean_path(&root.to_string_lossy()).into_owned()
    }
}
