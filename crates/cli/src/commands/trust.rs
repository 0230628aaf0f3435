//! `maestro trust`: what this project would execute, shown in full, and allowed by a person.

mod display;

use std::fmt::Write as _;
use std::path::PathBuf;

use maestro_core::settings::{ConfigText, Setting};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_core::{Problem, Settings};
use maestro_engine::step_sessions;
use maestro_engine::trust::{
    self, CommandsSetting, Consent, ConsentKind, ConsentPlace, ConsentSubject, ConsentTexts, CoverageError,
    CoveredCommands, FolderCache, TrustError, TrustStore, WorkflowTexts,
};
use maestro_engine::workflows::WorkflowIndex;
use serde_json::{Value as Json, json};

use crate::args::TrustArgs;
use crate::host::consent_questions::{consent_of, project_name};
use crate::host::world::World;
use crate::host::{agents, catalogue, config};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::confirm::{EmptyAnswer, confirm};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, clean_path};
use crate::output::time;

/// How much of a hash is shown.
const SHORT: usize = 12;

/// Something that can be allowed.
struct ConsentRequest {
    consent: Consent,
    /// What it would execute, in full.
    shown: String,
    /// Whether it needs consent.
    needed: bool,
    /// The texts that it covers.
    texts: CoveredTexts,
}

/// The texts that a consent covers.
enum CoveredTexts {
    /// These.
    Read(ConsentTexts),
    /// Those of a workflow, which are read when it is allowed.
    Workflow(PinnedDefinition),
}

/// A workflow that a person may want to allow.
enum TrustCandidate {
    /// It can be allowed.
    Known(ConsentRequest),
    /// It cannot, because its content is unknown.
    Uncovered { name: String, path: PathBuf, why: CoverageError },
}

impl ConsentRequest {
    /// A text of the project, word for word.
    fn of_text(consent: Consent, shown: String, name: &str, text: &str) -> Self {
        Self { consent, shown, needed: true, texts: CoveredTexts::Read(ConsentTexts::of_text(name, text)) }
    }
}

pub(crate) fn run(args: &TrustArgs, world: &World) -> CommandResult {
    let mut trust = TrustStore::load(&world.maestro_home).map_err(|error| trust_error(&error))?;
    if !args.revoke.is_empty() {
        return revoke(&args.revoke, &mut trust, world);
    }
    let settings = config::settings(world)?;
    let catalogue = catalogue::load(world, &[], &settings)?;
    let workflows = WorkflowIndex::of(&catalogue, &world.places.working_dir);
    if args.names.is_empty() && !args.config {
        return list(&workflows, &settings, &trust, world);
    }
    let mut asked = Vec::new();
    let mut folders = FolderCache::default();
    for name in &args.names {
        match workflow(name, &workflows, &mut folders, world)? {
            TrustCandidate::Known(known) => asked.push(known),
            TrustCandidate::Uncovered { name, why, .. } => return Err(coverage_error(&name, &why)),
        }
    }
    if args.config {
        let (named, mut problems) = (asked.len(), Vec::new());
        asked.extend(of_config(&settings, world, &mut problems));
        if !problems.is_empty() {
            return Err(CommandError::invalid("cannot read the project's agents").because_of(&problems));
        }
        if asked.len() == named {
            return Err(CommandError::not_found("this project's config executes nothing")
                .hint("run `maestro config show verify --origin` to see the checks"));
        }
    }
    allow(asked, args, &mut trust, world)
}

fn workflow(
    name: &str,
    workflows: &WorkflowIndex<'_>,
    folders: &mut FolderCache,
    world: &World,
) -> CommandResult<TrustCandidate> {
    let pinned = workflows.pinned(name)?;
    let path = workflows.all().iter().find(|source| source.name == pinned.main).map(|source| source.path.clone());
    let path = path.unwrap_or_else(|| PathBuf::from(&pinned.definitions[&pinned.main].folder));
    let place = ConsentPlace::project(&world.places.project);
    let ConsentSubject { hash, folders, files } = match folders.subject(place, &pinned.definitions) {
        Ok(subject) => subject,
        Err(why) => return Ok(TrustCandidate::Uncovered { name: pinned.main, path, why }),
    };
    let shown = display::workflow(&pinned, &path, &folders, &files, world);
    let needed = trust::needs_consent(&pinned.definitions);
    let consent = consent_of(ConsentKind::Workflow, pinned.main.clone(), hash, path, world);
    let consent = Consent { files: trust::file_hashes(&files), ..consent };
    Ok(TrustCandidate::Known(ConsentRequest { consent, shown, needed, texts: CoveredTexts::Workflow(pinned) }))
}

/// Something that cannot be allowed, with a hint.
fn coverage_error(name: &str, why: &CoverageError) -> CommandError {
    let hint = match why {
        CoverageError::Left { .. } => "put what it needs into the skill's folder, and name it without `..` and `.git`",
        CoverageError::TooMany { .. } | CoverageError::TooLarge { .. } => {
            "consent covers the whole folder; keep large or installed files elsewhere"
        }
        CoverageError::Unreadable { .. } => "check that it exists, and its permissions",
        CoverageError::NoFile(_) => "remove it; all files in a skill's folder must be readable",
        CoverageError::LinkOut(_) => "replace it with a copy",
    };
    CommandError::invalid(format!("cannot allow `{name}`: {why}")).hint(hint)
}

/// What the project's own files would run: their checks, the setup of worktrees, and the agents they
/// define.
fn of_config(settings: &Settings, world: &World, problems: &mut Vec<Problem>) -> Vec<ConsentRequest> {
    let agents = agents::of_project(world, problems).map(|file| agents_request(file, world));
    let checks = commands("verify", &settings.verify, CommandsSetting::Checks, world);
    let setup = commands("worktree_setup", &settings.worktree_setup, CommandsSetting::Setup, world);
    let others = prompt_request(world).into_iter().chain(demo_request(settings, world));
    checks.into_iter().chain(setup).chain(agents).chain(others).collect()
}

/// The project's own words for its agents, if it has any.
fn prompt_request(world: &World) -> Option<ConsentRequest> {
    let project = &world.places.project;
    // One that cannot be read is not used, and `loop` says why.
    let words = step_sessions::prompt_file(project).ok().flatten()?;
    let (path, hash) = (project.join(step_sessions::OWN_WORDS), trust::prompt_hash(project, &words));
    let shown = display::text("prompt", &words, &path, world);
    let consent = consent_of(ConsentKind::Prompt, project_name(world), hash, path, world);
    Some(ConsentRequest::of_text(consent, shown, step_sessions::OWN_WORDS, &words))
}

/// The demo agent, if the project's file enables it.
fn demo_request(settings: &Settings, world: &World) -> Option<ConsentRequest> {
    let setting = &settings.demo_agent;
    (setting.value && setting.origin.comes_with_project()).then(|| {
        let (path, hash) = (config::project_file(world), trust::demo_hash(&world.places.project));
        let words = "demo_agent = true\nAgents may be the demo agent, which executes what its prompt says.";
        let shown = display::text("demo_agent", words, &path, world);
        let consent = consent_of(ConsentKind::Config, project_name(world), hash, path, world);
        ConsentRequest::of_text(consent, shown, "demo_agent", words)
    })
}

/// The commands of a setting of the project, if it has any.
fn commands(key: &str, setting: &Setting<Vec<String>>, of: CommandsSetting, world: &World) -> Option<ConsentRequest> {
    if !setting.origin.comes_with_project() || setting.value.is_empty() {
        return None;
    }
    let path = config::project_file(world);
    // One that cannot be read completely cannot be allowed, and is refused when it would run.
    let covered = CoveredCommands::read(of, ConsentPlace::project(&world.places.project), &setting.value).ok()?;
    let shown = display::commands(key, &covered, &path, world);
    let consent = consent_of(ConsentKind::Config, project_name(world), covered.hash.clone(), path, world);
    let consent = Consent { files: trust::file_hashes(&covered.files), ..consent };
    let texts = CoveredTexts::Read(ConsentTexts::of_commands(key, &covered));
    Some(ConsentRequest { consent, shown, needed: true, texts })
}

/// The agents that the project defines.
fn agents_request(ConfigText { path, text }: ConfigText, world: &World) -> ConsentRequest {
    let shown = display::text("agents", &text, &path, world);
    let hash = trust::agents_hash(&world.places.project, &text);
    let consent = consent_of(ConsentKind::Agents, project_name(world), hash, path, world);
    ConsentRequest::of_text(consent, shown, "agents.toml", &text)
}

/// Allows checks that a person has just agreed to.
pub(crate) fn allow_checks(checks: &[String], world: &World) -> CommandResult<()> {
    require_person(world)?;
    let mut trust = TrustStore::load(&world.maestro_home).map_err(|error| trust_error(&error))?;
    let place = ConsentPlace::project(&world.places.project);
    let covered = CoveredCommands::read(CommandsSetting::Checks, place, checks)
        .map_err(|error| CommandError::invalid(error.to_string()))?;
    let path = config::project_file(world);
    let consent = consent_of(ConsentKind::Config, project_name(world), covered.hash.clone(), path, world);
    let consent = Consent { files: trust::file_hashes(&covered.files), ..consent };
    trust.keep_texts(&consent.hash, &ConsentTexts::of_commands("verify", &covered));
    trust.add(consent).map_err(|error| trust_error(&error))
}

fn allow(asked: Vec<ConsentRequest>, args: &TrustArgs, trust: &mut TrustStore, world: &World) -> CommandResult {
    let (mut open, mut text) = (Vec::new(), String::new());
    let mut json = Vec::new();
    for one in asked {
        let allowed = !one.needed || trust.allows(&one.consent.hash);
        json.push(json!({ "consent": &one.consent, "needed": one.needed, "executes": one.shown }));
        text.push_str(&one.shown);
        if allowed {
            let why = if one.needed { "is already allowed" } else { "needs no consent" };
            let _ = writeln!(text, "{} {why}.", clean(&one.consent.name));
        } else {
            open.push((one.consent, one.texts));
        }
    }
    if !open.is_empty() && !args.yes && (!world.terminals.stdin || !world.terminals.stderr) {
        let what = if args.config { "--config".to_owned() } else { clean(&args.names.join(" ")).into_owned() };
        let notes = format!(
            "{} confirmation required; nothing was allowed\n{} run `maestro trust {what} --yes`\n",
            world.note_paint.error("error:"),
            world.note_paint.help("hint:")
        );
        return Ok(CommandOutput::text(text).with_notes(notes).with_exit(ExitKind::Failed));
    }
    if !open.is_empty() {
        require_person(world)?;
        if !args.yes && !confirm(&format!("{text}Allow this?"), EmptyAnswer::Refuses)? {
            return Ok(CommandOutput::text("Nothing allowed.\n"));
        }
    }
    // A person who was asked has seen it.
    let mut said = if args.yes || open.is_empty() { text } else { String::new() };
    for (consent, texts) in open {
        keep_texts(&consent, texts, trust, world)?;
        let _ = writeln!(said, "Allowed {} ({}).", clean(&consent.name), &consent.hash[..SHORT]);
        trust.add(consent).map_err(|error| trust_error(&error))?;
    }
    if world.json { CommandOutput::json(&json!({ "allowed": json })) } else { Ok(CommandOutput::text(said)) }
}

/// Keeps what a consent covers, so that a later question can show what changed.
fn keep_texts(consent: &Consent, texts: CoveredTexts, trust: &TrustStore, world: &World) -> CommandResult<()> {
    let texts = match texts {
        CoveredTexts::Read(texts) => texts,
        CoveredTexts::Workflow(pinned) => {
            let place = ConsentPlace::project(&world.places.project);
            let read = WorkflowTexts::read(&world.maestro_home, place, &pinned.definitions);
            let read = read.map_err(|why| coverage_error(&consent.name, &why))?;
            if read.hash != consent.hash {
                let why = format!("`{}` changed while you looked at it", consent.name);
                return Err(CommandError::invalid(why).hint("run the command again"));
            }
            read.texts
        }
    };
    trust.keep_texts(&consent.hash, &texts);
    Ok(())
}

/// Agents and their programs cannot allow anything.
fn require_person(world: &World) -> CommandResult<()> {
    let is_agent = ["MAESTRO_RUN_ID", "MAESTRO_SESSION_ID", "MAESTRO_SESSION_TOKEN", "MAESTRO_TASK_ID"];
    let refused = |why: String| {
        Err(CommandError::forbidden(format!("only a person can allow this; {why}"))
            .hint("ask the user to run it in their own terminal"))
    };
    if let Some(name) = is_agent.iter().find(|name| world.variable(name).is_some()) {
        return refused(format!("{name} is set"));
    }
    // Whatever runs below an agent can make itself a terminal.
    match World::coding_tool() {
        Some(tool) => refused(format!("this is a shell of {}", tool.name)),
        None => Ok(()),
    }
}

/// What is allowed, and what is here that is not.
fn list(workflows: &WorkflowIndex<'_>, settings: &Settings, trust: &TrustStore, world: &World) -> CommandResult {
    let (mut here, mut uncovered, mut folders) = (Vec::new(), Vec::new(), FolderCache::default());
    for source in workflows.all() {
        // A workflow with errors can be neither started nor allowed; `workflow check` shows them.
        match workflow(&source.name, workflows, &mut folders, world) {
            Ok(TrustCandidate::Known(asked)) => here.push(asked),
            Ok(TrustCandidate::Uncovered { name, path, why }) => uncovered.push((name, path, why)),
            Err(_) => {}
        }
    }
    // An unreadable file cannot be allowed; `doctor` shows it.
    here.extend(of_config(settings, world, &mut Vec::new()));
    here.retain(|asked| asked.needed);
    if world.json {
        let known = here.iter().map(|asked| {
            let Consent { kind, name, hash, path, .. } = &asked.consent;
            let allowed = trust.allows(hash);
            json!({ "kind": kind, "name": name, "hash": hash, "path": path.to_string_lossy(), "allowed": allowed })
        });
        let uncovered = uncovered.iter().map(|(name, path, why)| {
            let (kind, path, reason) = (ConsentKind::Workflow, path.to_string_lossy(), why.to_string());
            json!({ "kind": kind, "name": name, "hash": null, "path": path, "allowed": false, "reason": reason })
        });
        let here: Vec<Json> = known.chain(uncovered).collect();
        return CommandOutput::json(&json!({ "consents": trust.consents(), "here": here }));
    }
    let mut text = String::new();
    if let Some(note) = trust.outdated_note() {
        let _ = writeln!(text, "note: {note}.");
    }
    if trust.consents().is_empty() {
        text.push_str("Nothing is allowed yet.\n");
    }
    for Consent { kind, name, hash, path, at, .. } in trust.consents() {
        let (name, path, hash) = (clean(name), world.display_path(path), hash.get(..SHORT).unwrap_or(hash));
        let since = time::iso(*at);
        let _ = writeln!(text, "{}  {}  {}  {since}  {}", kind.as_str(), name, clean(hash), clean_path(&path));
    }
    here.retain(|asked| !trust.allows(&asked.consent.hash));
    if !here.is_empty() || !uncovered.is_empty() {
        text.push_str("\nHere and not allowed:\n");
    }
    for (_, path, why) in uncovered {
        let (path, why) = (world.display_path(&path), why.to_string());
        let _ = writeln!(text, "  {}  cannot be allowed: {}", clean_path(&path), clean(&why));
    }
    for ConsentRequest { consent, .. } in here {
        let command = match consent.kind {
            ConsentKind::Workflow => format!("maestro trust {}", clean(&consent.name)),
            ConsentKind::Config | ConsentKind::Agents | ConsentKind::Prompt => "maestro trust --config".to_owned(),
        };
        let _ = writeln!(
            text,
            "  {}  run `{command}` to review and allow it",
            clean_path(&world.display_path(&consent.path))
        );
    }
    Ok(CommandOutput::text(text))
}

fn revoke(what: &[String], trust: &mut TrustStore, world: &World) -> CommandResult {
    let mut revoked = Vec::new();
    for what in what {
        let gone = trust.revoke(what).map_err(|error| trust_error(&error))?;
        if gone.is_empty() {
            return Err(CommandError::not_found(format!("`{what}` is not allowed"))
                .hint("run `maestro trust` for the list; a hash needs at least its first eight characters"));
        }
        revoked.extend(gone);
    }
    if world.json {
        return CommandOutput::json(&json!({ "revoked": revoked }));
    }
    let line = |consent: &Consent| format!("No longer allowed: {}.\n", clean(&consent.name));
    Ok(CommandOutput::text(revoked.iter().map(line).collect::<String>()))
}

/// Consents that cannot be read or changed, with a hint.
pub(crate) fn trust_error(error: &TrustError) -> CommandError {
    let hint = match error {
        TrustError::Damaged { .. } => "remove the file, then allow everything again",
        TrustError::Unreadable { .. } | TrustError::Unwritable { .. } => "check the file's permissions",
    };
    CommandError::io(error.to_string(), error).hint(hint)
}
