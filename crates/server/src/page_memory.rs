//! What the page keeps between renderings because it is slow to find out: results of runs, agents and skills.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use maestro_core::RunId;
use maestro_core::agent::{CodingAgent, DEMO_AGENT};
use maestro_engine::branches::RunBranch;
use maestro_engine::trust::ConsentQuestion;
use maestro_engine::{Freshness, Host};

use crate::answer_notes::AnswerNotes;
use crate::change_notes::ChangeNotes;
use crate::work_changes::{BranchSize, ChangeOwner, WorkChanges};

/// How long an answer of the file system is believed, in milliseconds.
const BELIEVED: i64 = 10_000;
/// The same where a person looks at it and may answer.
const SHORTLY: i64 = 2000;
/// The same where nothing was found.
const EMPTY: i64 = 300;
/// Of how many runs and directories something is kept.
const MOST: usize = 500;
/// Of how many runs the patch is kept.
const MOST_PATCHES: usize = 30;

/// What is kept; shared by all screens.
#[derive(Debug, Default)]
pub(crate) struct PageMemory {
    branches: Mutex<TimedAnswers<RunId, Option<BranchSize>>>,
    surroundings: Mutex<TimedAnswers<Option<PathBuf>, Arc<Surroundings>>>,
    /// By run or session.
    changes: Mutex<TimedAnswers<String, KnownChanges>>,
    consents: Mutex<TimedAnswers<String, Arc<Vec<ConsentQuestion>>>>,
    /// How many things changed since they were allowed, when that was counted, and whether it is being counted.
    changed: Mutex<ChangedCount>,
    /// What was answered a moment ago.
    pub(crate) answers: AnswerNotes,
    /// What was changed a moment ago.
    pub(crate) changes_made: ChangeNotes,
}

/// How many things changed since they were allowed.
#[derive(Debug, Default)]
struct ChangedCount {
    known: usize,
    at: i64,
    counting: bool,
}

/// What a run or a session changed, as far as git knew when it had made these commits.
#[derive(Debug, Clone)]
struct KnownChanges {
    commits: Vec<String>,
    changes: Option<Arc<WorkChanges>>,
}

/// Answers, and when they were found.
type TimedAnswers<K, A> = HashMap<K, (i64, A)>;

/// The agents and skills of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Surroundings {
    /// The agents whose program is installed.
    pub(crate) agents: Vec<String>,
    /// The agents that were looked for.
    pub(crate) looked_for: Vec<String>,
    pub(crate) skills: usize,
    /// How many skills could not be loaded.
    pub(crate) broken_skills: usize,
}

impl PageMemory {
    /// The size of what a run left on its branch; nothing where nothing is left to merge.
    pub(crate) async fn branch(&self, run: RunId, workspace: &str, now: i64) -> Option<BranchSize> {
        let kept = self.branches.lock().unwrap_or_else(PoisonError::into_inner).get(&run).copied();
        if let Some((at, size)) = kept
            && now - at < BELIEVED
        {
            return size;
        }
        let directory = PathBuf::from(workspace);
        let looked = tokio::task::spawn_blocking(move || branch_size(&directory, run)).await;
        let size = looked.unwrap_or(None);
        let mut branches = self.branches.lock().unwrap_or_else(PoisonError::into_inner);
        if branches.len() >= MOST {
            branches.clear();
        }
        branches.insert(run, (now, size));
        size
    }

    /// How many skills could not be loaded where the server was started, as far as that is known.
    pub(crate) fn broken_skills(&self) -> usize {
        let surroundings = self.surroundings.lock().unwrap_or_else(PoisonError::into_inner);
        surroundings.get(&None).map_or(0, |(_, known)| known.broken_skills)
    }

    /// What a run or a session changed, at most so many milliseconds ago; nothing where git knows of nothing. A commit
    /// that is new makes what was kept wrong at once.
    pub(crate) async fn changes(&self, owner: ChangeOwner, now: i64, believed: i64) -> Option<Arc<WorkChanges>> {
        let kept = self.changes.lock().unwrap_or_else(PoisonError::into_inner).get(&owner.id).cloned();
        if let Some((at, known)) = kept
            && now - at < believed
            && known.commits == owner.commits
        {
            return known.changes;
        }
        let (id, commits) = (owner.id.clone(), owner.commits.clone());
        let looked = tokio::task::spawn_blocking(move || WorkChanges::read(&owner)).await;
        let changes = looked.unwrap_or(None).map(Arc::new);
        // That there is nothing may be true for a moment only.
        let is_empty = changes.as_ref().is_none_or(|changes| changes.diff.is_empty());
        let found = if is_empty { now - believed + believed.min(EMPTY) } else { now };
        let mut all = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_PATCHES {
            all.clear();
        }
        all.insert(id, (found, KnownChanges { commits, changes: changes.clone() }));
        changes
    }

    /// Forgets what a run or a session changed, because that is about to be something else.
    pub(crate) fn forget_changes(&self, id: &str) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.branches.lock().unwrap_or_else(PoisonError::into_inner).retain(|run, _| run.to_string() != id);
    }

    /// The agents and skills of a directory, or of where the server was started.
    pub(crate) async fn surroundings(
        &self,
        host: &Arc<dyn Host>,
        directory: Option<PathBuf>,
        now: i64,
    ) -> Arc<Surroundings> {
        let kept = self.surroundings.lock().unwrap_or_else(PoisonError::into_inner).get(&directory).cloned();
        if let Some((at, known)) = kept
            && now - at < BELIEVED
        {
            return known;
        }
        let (host, place) = (Arc::clone(host), directory.clone());
        let looked = tokio::task::spawn_blocking(move || look_around(&*host, place.as_deref())).await;
        let known = Arc::new(looked.unwrap_or_default());
        let mut surroundings = self.surroundings.lock().unwrap_or_else(PoisonError::into_inner);
        if surroundings.len() >= MOST {
            surroundings.clear();
        }
        surroundings.insert(directory, (now, Arc::clone(&known)));
        known
    }
}

impl PageMemory {
    /// What needed consent a moment ago. An answer is always checked against what it is then.
    pub(crate) fn kept_consents(&self, about: &str, now: i64) -> Option<Arc<Vec<ConsentQuestion>>> {
        let kept = self.consents.lock().unwrap_or_else(PoisonError::into_inner).get(about).cloned();
        kept.filter(|(at, _)| now - at < SHORTLY).map(|(_, known)| known)
    }

    /// Keeps what needs consent now.
    pub(crate) fn keep_consents(&self, about: String, found: &Arc<Vec<ConsentQuestion>>, now: i64) {
        let mut consents = self.consents.lock().unwrap_or_else(PoisonError::into_inner);
        if consents.len() >= MOST {
            consents.clear();
        }
        consents.insert(about, (now, Arc::clone(found)));
    }

    /// Reads everything about consent again.
    pub(crate) fn forget_consents(&self) {
        self.consents.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).at = 0;
    }

    /// How many things changed since they were allowed, as far as that was counted.
    pub(crate) fn changed_count(&self) -> usize {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).known
    }

    /// Whether they are to be counted again, which the caller then does.
    pub(crate) fn begin_count(&self, now: i64) -> bool {
        let mut count = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = now - count.at >= BELIEVED && !count.counting;
        count.counting |= is_due;
        is_due
    }

    /// Keeps what was counted; nothing where that failed.
    pub(crate) fn end_count(&self, found: Option<usize>, now: i64) {
        let mut count = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        *count = ChangedCount { known: found.unwrap_or(count.known), at: now, counting: false };
    }
}

fn branch_size(workspace: &Path, run: RunId) -> Option<BranchSize> {
    let branch = RunBranch::of_run(workspace, &run.to_string()).ok()?;
    if branch.head == branch.base || branch.is_merged() {
        return None;
    }
    Some(BranchSize::of_patch(&branch.diff().ok()?))
}

impl BranchSize {
    /// The size of a patch.
    pub(crate) fn of_patch(diff: &str) -> Self {
        let mut size = Self::default();
        for line in diff.lines() {
            match line.as_bytes() {
                [b'd', b'i', b'f', b'f', b' ', ..] => size.files += 1,
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => {}
                [b'+', ..] => size.added += 1,
                [b'-', ..] => size.removed += 1,
                _ => {}
            }
        }
        size
    }
}

fn look_around(host: &dyn Host, directory: Option<&Path>) -> Surroundings {
    let agents = host.agents(directory.unwrap_or(Path::new(".")));
    let is_installed = |agent: &&CodingAgent| {
        let mut programs = agent.drivers().flat_map(|(_, launch)| &launch.programs);
        programs.any(|program| host.find_program(program).is_some())
    };
    let named = |agent: &CodingAgent| agent.name.clone();
    let has_program = |agent: &CodingAgent| agent.drivers().any(|(_, launch)| !launch.programs.is_empty());
    let real = || agents.all().iter().filter(move |agent| agent.name != DEMO_AGENT && has_program(agent));
    let skills = host.skills(directory, Freshness::Kept).ok();
    Surroundings {
        agents: real().filter(is_installed).map(named).collect(),
        looked_for: real().map(named).collect(),
        skills: skills.as_ref().map_or(0, |found| found.catalogue.skills.len()),
        broken_skills: skills.as_ref().map_or(0, |found| found.catalogue.broken.len()),
    }
}
