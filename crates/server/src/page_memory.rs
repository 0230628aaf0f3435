//! What the page keeps between renderings because it is slow to find out: results of runs, agents and skills.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use maestro_core::RunId;
use maestro_core::agent::{CodingAgent, DEMO_AGENT};
use maestro_engine::branches::RunBranch;
use maestro_engine::{Freshness, Host};

/// How long an answer of the file system is believed, in milliseconds.
const BELIEVED: i64 = 10_000;
/// Of how many runs and directories something is kept.
const MOST: usize = 500;

/// What is kept; shared by all screens.
#[derive(Debug, Default)]
pub(crate) struct PageMemory {
    branches: Mutex<TimedAnswers<RunId, Option<BranchSize>>>,
    surroundings: Mutex<TimedAnswers<Option<PathBuf>, Arc<Surroundings>>>,
}

/// Answers, and when they were found.
type TimedAnswers<K, A> = HashMap<K, (i64, A)>;

/// What a run left on its branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BranchSize {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) files: usize,
}

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

fn branch_size(workspace: &Path, run: RunId) -> Option<BranchSize> {
    let branch = RunBranch::of_run(workspace, &run.to_string()).ok()?;
    if branch.head == branch.base || branch.is_merged() {
        return None;
    }
    let diff = branch.diff().ok()?;
    let mut size = BranchSize { added: 0, removed: 0, files: 0 };
    for line in diff.lines() {
        match line.as_bytes() {
            [b'd', b'i', b'f', b'f', b' ', ..] => size.files += 1,
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => {}
            [b'+', ..] => size.added += 1,
            [b'-', ..] => size.removed += 1,
            _ => {}
        }
    }
    Some(size)
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
