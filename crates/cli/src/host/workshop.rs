//! Everything a run needs to execute its directives on this machine, for this user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::workflow::pinned::PinnedText;
use maestro_engine::drive::Workshop;
use maestro_engine::execute::Site;
use maestro_engine::identity::Identity;
use maestro_engine::trust::{self, Folders, Trust};
use maestro_engine::{Abilities, Furnishing, Skills, worktrees};
use maestro_server::mcp::Allowed;
use maestro_server::{Freshness, Shelves};
use maestro_skills::PromptLimits;
use maestro_skills::render::References;
use serde_json::{Value as Json, json};

use crate::host::world::World;
use crate::host::{agents, config, packs};
use crate::output::error::CommandError;

/// What tools of the trade download once for all projects. Without them most checks cannot work; nothing in them is
/// executed by anybody but those tools.
const CACHES: [&str; 12] = [
    ".cargo/registry",
    ".cargo/git",
    ".npm",
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cache/pnpm",
    ".cache/go-build",
    ".local/share/pnpm",
    ".gradle/caches",
    ".m2/repository",
    "go/pkg",
];

/// The workshop of this process, with the skills it knows of.
pub(crate) fn of(world: &World, shelves: &Shelves) -> Result<Workshop, CommandError> {
    let maestro =
        std::env::current_exe().map_err(|error| CommandError::io("cannot find the path of this program", &error))?;
    let site = Site {
        maestro,
        home: world.maestro_home.clone(),
        own: vec![world.cache.clone(), world.places.data.clone()],
        workspace: PathBuf::new(),
        folders: Vec::new(),
        extra: CACHES.iter().map(|cache| world.places.home.join(cache)).filter(|path| path.is_dir()).collect(),
        run: String::new(),
        variables: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        abilities: abilities(world, shelves),
    };
    let home = world.maestro_home.clone();
    let allowed = move |_: &str, definitions: &BTreeMap<String, PinnedText>| is_allowed(&home, definitions);
    Ok(Workshop { site, allowed: Arc::new(allowed), identity: Identity::of_this_process() })
}

/// What is done without a third-party program, in any workspace.
fn abilities(world: &World, shelves: &Shelves) -> Abilities {
    let shelves = Arc::clone(shelves);
    let skills = move |workspace: &Path| {
        let shelf = shelves(Some(workspace), Freshness::Kept)?;
        let settings = &shelf.settings;
        let references = if settings.skills_load_references.value { References::Include } else { References::Leave };
        let limits = PromptLimits {
            table_tokens: settings.skills_budget_tokens.value,
            body_chars: settings.skills_max_body_chars.value,
            references,
        };
        let (most, most_review) = (&settings.skills_max_selected_impl, &settings.skills_max_selected_review);
        Ok(Skills {
            enabled: settings.skills_enabled.value,
            most: most.value.into(),
            most_review: most_review.value.into(),
            limits,
            catalogue: shelf.catalogue,
        })
    };
    let (here, there, ours, theirs) = (world.clone(), world.clone(), world.clone(), world.clone());
    Abilities {
        skills: Arc::new(skills),
        sync: Arc::new(move |workspace| sync(&here.at(workspace))),
        checks: Arc::new(move |workspace| checks(&there, workspace)),
        furnishing: Arc::new(move |workspace| furnishing(&ours.at(workspace))),
        setup: Arc::new(move |workspace| setup(&theirs.at(home_of(workspace)))),
        ..Abilities::default()
    }
}

/// Copies the skill packs, unless the copies are up to date. A pack that was not copied is read where it is.
fn sync(world: &World) -> Result<Json, String> {
    let settings = config::settings(world).map_err(|error| error.message().to_owned())?;
    let mut problems = Vec::new();
    let builtin = packs::sync_builtin(&settings, &world.spare_dir, &mut problems);
    let workspace = packs::sync_workspace(&settings, &world.places.project, &mut problems);
    let copies = builtin.into_iter().chain(workspace.map(|pack| pack.directory));
    let copies: Vec<String> = copies.map(|path| path.to_string_lossy().into_owned()).collect();
    let problems: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
    if copies.is_empty() { Err(problems.join("; ")) } else { Ok(json!({ "packs": copies, "problems": problems })) }
}

/// The checks that may be run; those of a project only if the user trusts them. A worktree whose commit has no settings of
/// its own has those of the project it belongs to.
fn checks(world: &World, workspace: &Path) -> Result<Vec<String>, String> {
    let told = |error: CommandError| error.message().to_owned();
    let mut there = world.at(workspace);
    let mut verify = config::settings(&there).map_err(told)?.verify;
    if verify.value.is_empty() {
        there = world.at(home_of(workspace));
        verify = config::settings(&there).map_err(told)?.verify;
    }
    let trust = Trust::load(&world.maestro_home).map_err(|error| error.to_string())?;
    if trust.allows_checks(&verify) { Ok(verify.value) } else { Err(not_allowed("the checks", &there)) }
}

/// What a worktree of a project is furnished with.
fn furnishing(world: &World) -> Result<Furnishing, String> {
    let copy = config::settings(world).map_err(|error| error.message().to_owned())?.worktree_copy.value;
    let agents = agents::table(world).agents;
    let leaves = agents.all().iter().flat_map(|agent| agent.leaves.clone()).collect();
    Ok(Furnishing { copy, leaves })
}

/// Setup commands of a worktree; those of a project only if the user trusts them.
fn setup(world: &World) -> Result<Vec<String>, String> {
    let setup = config::settings(world).map_err(|error| error.message().to_owned())?.worktree_setup;
    let trust = Trust::load(&world.maestro_home).map_err(|error| error.to_string())?;
    if trust.allows_setup(&setup) {
        Ok(setup.value)
    } else {
        Err(not_allowed("the commands of `worktree_setup`", world))
    }
}

fn not_allowed(what: &str, world: &World) -> String {
    let project = world.places.project.display();
    format!("{what} of {project} are not trusted yet; run `maestro trust --config` there")
}

/// The project that a worktree of ours belongs to; any other directory belongs to itself.
fn home_of(workspace: &Path) -> &Path {
    worktrees::around(workspace).and_then(worktrees::project_of).unwrap_or(workspace)
}

/// Checks whether workflows may be executed.
pub(crate) fn allowed(world: &World) -> Allowed {
    let home = world.maestro_home.clone();
    Arc::new(move |all| {
        let mut folders = Folders::default();
        let Ok(trust) = Trust::load(&home) else {
            return all.iter().map(|pinned| !trust::needs_consent(&pinned.definitions)).collect();
        };
        all.iter().map(|pinned| may_be_executed(&trust, &mut folders, &pinned.definitions)).collect()
    })
}

/// Whether it needs no consent, or the user consented to its current content.
pub(crate) fn is_allowed(home: &Path, definitions: &BTreeMap<String, PinnedText>) -> bool {
    match Trust::load(home) {
        Ok(trust) => may_be_executed(&trust, &mut Folders::default(), definitions),
        Err(_) => !trust::needs_consent(definitions),
    }
}

fn may_be_executed(trust: &Trust, folders: &mut Folders, definitions: &BTreeMap<String, PinnedText>) -> bool {
    !trust::needs_consent(definitions) || folders.subject(definitions).is_ok_and(|subject| trust.allows(&subject.hash))
}
