//! Milestone plans: the document that `planner` writes and `planner/execute` carries out.
//!
//! Unlike a checklist, it has milestones with files, acceptance criteria and diffs. Reading one finds every mistake at once,
//! so that the author can fix them together.

mod item_coverage;
mod plan_gaps;
mod plan_mistakes;
mod plan_reader;
#[cfg(test)]
mod tests;
mod waves;

use serde::Serialize;

pub use item_coverage::{CoverageRule, missing_coverage, scope_gap};
pub use plan_gaps::plan_gaps;
pub use plan_mistakes::{MilestonePlanStage, plan_mistakes};
pub use plan_reader::read_milestone_plan;
pub use waves::{MAX_WAVE, MilestoneJob, next_wave};

/// At most so many files make a plan small, if one milestone changes them.
pub const SMALL_FILES: usize = 3;

/// A plan as it is written, sound or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MilestonePlan {
    /// Its title.
    pub title: String,
    /// The commit it was made for, as it is written.
    pub base: String,
    /// What it changes.
    pub kind: Option<ChangeKind>,
    /// The requirements of its task, by their ids.
    pub requirements: Vec<String>,
    /// Its milestones, in the order of the file.
    pub milestones: Vec<PlanMilestone>,
}

impl MilestonePlan {
    /// Whether its base is written as a commit.
    pub fn names_commit(&self) -> bool {
        (7..=64).contains(&self.base.len()) && self.base.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Every file that a milestone names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.milestones.iter().flat_map(|milestone| milestone.files.iter().map(String::as_str))
    }

    /// Every criterion of every milestone.
    pub fn criteria(&self) -> impl Iterator<Item = &AcceptanceCriterion> {
        self.milestones.iter().flat_map(|milestone| &milestone.acceptance)
    }

    /// Whether it is small enough for the short way.
    pub fn size(&self) -> PlanSize {
        let small = self.milestones.len() == 1 && self.files().count() <= SMALL_FILES;
        if small { PlanSize::Small } else { PlanSize::Large }
    }

    /// Its diffs as one patch, in the order of the file.
    pub fn patch(&self) -> String {
        self.milestones.iter().flat_map(|milestone| &milestone.diffs).map(FileDiff::patch).collect()
    }
}

/// One milestone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanMilestone {
    /// Its id, such as `M1`.
    pub id: String,
    /// What works afterwards.
    pub title: String,
    /// The line it begins at, from 1.
    pub line: usize,
    /// What it changes.
    pub kind: Option<ChangeKind>,
    /// The requirements that it serves, by their ids.
    pub requirements: Vec<String>,
    /// The milestones that come before it.
    pub depends_on: Vec<String>,
    /// What someone else can observe afterwards.
    pub acceptance: Vec<AcceptanceCriterion>,
    /// The files it changes.
    pub files: Vec<String>,
    /// Files whose exact text cannot be known yet.
    pub intent_only: Vec<String>,
    /// How it changes them.
    pub diffs: Vec<FileDiff>,
}

/// What can be observed once a milestone is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptanceCriterion {
    /// Its id, such as `A1`; empty where it has none.
    pub id: String,
    /// What can be observed.
    pub text: String,
    /// The line it stands at, from 1.
    #[serde(skip)]
    pub line: usize,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file, from the root of the repository; empty where the diff does not say.
    pub path: String,
    /// The line its block begins at, from 1.
    pub line: usize,
    /// Its lines.
    pub text: String,
}

impl FileDiff {
    /// It as git reads it, with a header by which git knows where it begins.
    fn patch(&self) -> String {
        let path = &self.path;
        let side = |mark: &str| self.text.lines().any(|line| line.trim_end() == mark);
        let header = if self.text.starts_with("diff --git") {
            String::new()
        } else if side("--- /dev/null") {
            format!("diff --git a/{path} b/{path}\nnew file mode 100644\n")
        } else if side("+++ /dev/null") {
            format!("diff --git a/{path} b/{path}\ndeleted file mode 100644\n")
        } else {
            format!("diff --git a/{path} b/{path}\n")
        };
        format!("{header}{}\n", self.text.trim_end_matches('\n'))
    }
}

crate::word_enum! {
    /// What a plan or a milestone changes.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ChangeKind {
        /// Code, configuration or tests.
        Code = "code",
        /// Documents only.
        Documentation = "documentation",
    }
}

crate::word_enum! {
    /// How much a plan changes.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PlanSize {
        /// One milestone with a few files.
        Small = "small",
        /// More.
        Large = "large",
    }
}
