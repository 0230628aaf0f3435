//! Plan files of a project, and their text.

use std::fs;
use std::path::{Path, PathBuf};

use maestro_core::plan::{self, Plan, PlanTask, PlanTaskStatus, TaskSelection};
use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use maestro_skills::read_bounded;

use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

/// The files and folders that usually hold plans.
const FILES: &[&str] = &["PLAN.md", "plan.md", "TODO.md", "docs/PLAN.md", "docs/plan.md"];
const FOLDERS: &[&str] = &["plans", "docs/plans", "specs/planning", ".maestro/plans"];
/// Maximum size of a plan.
const MAX_PLAN_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum size of a plan in an overview.
const MAX_GLANCE_BYTES: u64 = 128 * 1024;
/// Maximum number of plans in an overview.
const MOST: usize = 20;

/// What to say where no plan has this path: the one that was probably meant, or how to get one.
pub(crate) fn missing_plan_hint(path: &Path) -> String {
    let meant = path.file_name().and_then(|name| {
        let name = name.to_string_lossy().to_lowercase();
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let mut names = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let is_meant = |there: &String| [name.clone(), format!("{name}.md")].contains(&there.to_lowercase());
        names.find(is_meant).map(|name| path.with_file_name(name))
    });
    match meant {
        Some(path) => format!("did you mean `{}`?", clean_path(&path.to_string_lossy())),
        None => "pass a Markdown file with `- [ ]` lines; `maestro plan new \"GOAL\"` writes one".to_owned(),
    }
}

/// A plan file as it was read.
#[derive(Debug)]
pub(crate) struct PlanFile {
    pub(crate) path: PathBuf,
    pub(crate) plan: Plan,
    text: String,
}

impl PlanFile {
    /// Reads a plan by its path.
    pub(crate) fn read(path: &Path) -> CommandResult<Self> {
        let shown = path.display();
        let contents = read_bounded(path, MAX_PLAN_BYTES).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                CommandError::not_found(format!("plan `{shown}` not found")).hint(missing_plan_hint(path))
            }
            std::io::ErrorKind::IsADirectory => CommandError::invalid(format!("`{shown}` is a directory, not a plan"))
                .hint("pass a Markdown file with `- [ ]` lines"),
            _ => CommandError::io(format!("cannot read the plan `{shown}`"), &error)
                .hint("a plan is a Markdown file with `- [ ]` lines"),
        })?;
        if contents.cut {
            return Err(CommandError::invalid(format!("the plan `{shown}` is larger than 16 MiB"))
                .hint("split it into several plans"));
        }
        let text = String::from_utf8(contents.bytes).map_err(|error| {
            let line = error.as_bytes().iter().take(error.utf8_error().valid_up_to()).filter(|&&b| b == b'\n').count();
            CommandError::invalid(format!("the plan `{shown}` is not UTF-8 text (line {})", line + 1))
                .hint("save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD > NEW")
        })?;
        Ok(Self { path: path.to_owned(), plan: plan::parse_plan(&text), text })
    }

    /// A task with all that the plan says about it.
    pub(crate) fn describe_task(&self, task: &TaskSelection) -> Option<String> {
        let item = plan::plan_item(&self.text, task.line_number, &task.label)?;
        Some(item.describe(&self.path.to_string_lossy()))
    }

    /// Reads a plan for an overview, which skips a huge one.
    pub(crate) fn glance(path: &Path) -> CommandResult<Self> {
        if path.metadata().is_ok_and(|metadata| metadata.len() > MAX_GLANCE_BYTES) {
            return Err(CommandError::invalid("too large for the overview; run `maestro plan list`"));
        }
        Self::read(path)
    }

    /// Number of tasks that count as done.
    pub(crate) fn done(&self) -> usize {
        self.counted().filter(|task| matches!(task.status, PlanTaskStatus::Done | PlanTaskStatus::Reviewed)).count()
    }

    /// Number of tasks, without optional, deferred and dropped ones.
    pub(crate) fn total(&self) -> usize {
        self.counted().count()
    }

    fn counted(&self) -> impl Iterator<Item = &PlanTask> {
        let counts = |task: &&PlanTask| {
            task.set_aside.is_none()
                && matches!(task.status, PlanTaskStatus::Open | PlanTaskStatus::Done | PlanTaskStatus::Reviewed)
        };
        self.plan.tasks.iter().filter(counts)
    }

    /// Likely mistakes.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let findings = self.plan.findings.iter();
        findings
            .map(|finding| {
                let (message, help) = (finding.message, finding.help);
                Problem::new(ProblemCode::CheckboxMalformed, ProblemSeverity::Warning, &self.path, message, help)
                    .at(finding.line_number, finding.column)
            })
            .collect()
    }
}

/// The only plan of the project with an open task, as the overview finds it.
pub(crate) fn only_open(world: &World) -> CommandResult<PathBuf> {
    let is_open = |path: &PathBuf| PlanFile::glance(path).is_ok_and(|file| plan::select_task(&file.plan).is_some());
    let mut open: Vec<PathBuf> = candidates(&world.places.project).into_iter().filter(is_open).collect();
    let shown: Vec<String> = open.iter().map(|path| world.display_path(path)).collect();
    match (open.pop(), open.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(CommandError::invalid("missing argument: PLAN.md; no plan with an open task found here")
            .hint("run `maestro loop PLAN.md` with a Markdown file that has `- [ ]` lines; `maestro plan new \"GOAL\"` writes one")),
        _ => Err(CommandError::invalid(format!(
            "missing argument: PLAN.md; there are several plans: {}",
            shown.join(", ")
        ))
        .hint(format!("run `maestro loop {}`", shown.first().cloned().unwrap_or_default()))),
    }
}

/// The files of a project that may be plans, found in the usual places.
pub(crate) fn candidates(project: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = FILES.iter().map(|file| project.join(file)).filter(|path| path.is_file()).collect();
    for folder in FOLDERS {
        let Ok(entries) = project.join(folder).read_dir() else { continue };
        let mut inside: Vec<PathBuf> = entries
            .take(1_000)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "md") && path.is_file())
            .collect();
        inside.sort();
        paths.extend(inside);
    }
    // On file systems that ignore case, two names can be one file.
    paths.dedup_by(|a, b| a.canonicalize().ok() == b.canonicalize().ok());
    paths.truncate(MOST);
    paths
}
