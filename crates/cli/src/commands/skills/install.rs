//! `maestro skills add`, `remove`, `update` and `outdated`: skills from elsewhere, one copy each in `.agents/skills`.

mod archive;
mod incoming;
mod lock;
mod origin;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use maestro_skills::name_fault;
use serde_json::json;

use self::incoming::IncomingSkill;
use self::lock::{LockedSkill, SkillLock};
use self::origin::{FetchedSkills, SkillOrigin};
use crate::args::SkillAddArgs;
use crate::commands::branches::require_person;
use crate::host::world::World;
use crate::host::{agents, files};
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::confirm::{self, EmptyAnswer};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, clean_path, count, pad};

/// The project's folder for skills that most agents read.
const FOLDER: &str = ".agents/skills";

/// Whether the user is asked before something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteConsent {
    Given,
    Asked,
}

impl WriteConsent {
    pub(super) fn of(yes: bool) -> Self {
        if yes { Self::Given } else { Self::Asked }
    }

    /// Whether to write, after what will be written was shown.
    fn obtain(self, shown: &str, question: &str, command: &str, world: &World) -> CommandResult<bool> {
        if self == Self::Given {
            return Ok(true);
        }
        if !world.terminals.stdin || !world.terminals.stderr {
            if !world.json {
                command_output::show(shown)?;
            }
            let hint = format!("run `maestro skills {command} --yes`");
            return Err(CommandError::invalid("confirmation required; nothing was written").hint(hint));
        }
        confirm::confirm(&format!("{shown}{question}"), EmptyAnswer::Refuses)
    }
}

pub(super) fn add(args: &SkillAddArgs, world: &World) -> CommandResult {
    require_person(world)?;
    let origin = SkillOrigin::parse(&args.source, world)?;
    let fetched = origin.fetch(args.reference.as_deref(), world)?;
    let incoming = fetched.chosen(&args.skills, args.all)?;
    for skill in &incoming {
        require_free(skill, world)?;
    }
    let shown: String = incoming.iter().map(|skill| skill.describe(&origin.place_of(skill, &fetched), world)).collect();
    if args.dry_run {
        return reply(world, &incoming, &shown, false);
    }
    let question = format!("Add {} to {FOLDER}?", count(incoming.len(), "skill", "skills"));
    if !WriteConsent::of(args.yes).obtain(&shown, &question, &command_words(args), world)? {
        return Ok(CommandOutput::text("Nothing was written.\n"));
    }
    let mut lock = SkillLock::read(&world.places.project)?;
    let mut text = if args.yes { shown } else { String::new() };
    for skill in &incoming {
        let path = folder(&skill.name, world);
        files::create_directory(&path, &skill.files)
            .map_err(|error| CommandError::io(format!("cannot write {}", path.display()), &error))?;
        let _ = writeln!(text, "Added {} to {}", clean(&skill.name), clean_path(&world.display_path(&path)));
        for link in link_for_agents(&skill.name, world) {
            let _ = writeln!(text, "  linked as {}", clean_path(&world.display_path(&link)));
        }
        lock.skills.insert(skill.name.clone(), origin.locked(skill, &fetched, args.reference.as_deref()));
    }
    lock.write(&world.places.project)?;
    let _ = writeln!(
        text,
        "Run `maestro skills try \"TASK\"` to see which tasks get {}.",
        if incoming.len() == 1 { "it" } else { "them" }
    );
    reply(world, &incoming, &text, true)
}

/// The command that was typed, without `--yes`.
fn command_words(args: &SkillAddArgs) -> String {
    let mut words = vec!["add".to_owned(), quoted(&args.source)];
    words.extend(args.skills.iter().map(|name| format!("--skill {}", quoted(name))));
    words.extend(args.all.then(|| "--all".to_owned()));
    words.extend(args.reference.iter().map(|name| format!("--ref {}", quoted(name))));
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@~+".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn reply(world: &World, incoming: &[IncomingSkill], text: &str, written: bool) -> CommandResult {
    if world.json {
        let skills: Vec<_> = incoming.iter().map(IncomingSkill::to_json).collect();
        return CommandOutput::json(&json!({ "skills": skills, "written": written }));
    }
    Ok(CommandOutput::text(text.to_owned()))
}

fn folder(name: &str, world: &World) -> PathBuf {
    world.places.project.join(FOLDER).join(name)
}

/// Makes sure that a skill can be written: its name is a plain one, and nothing is in its place.
fn require_free(skill: &IncomingSkill, world: &World) -> CommandResult<()> {
    let path = folder(&skill.name, world);
    if let Some(fault) = name_fault(&skill.name) {
        return Err(CommandError::invalid(format!("`{}` cannot be added: {fault}", skill.name))
            .hint("its folder's name must be a valid skill name; ask its author"));
    }
    if !files::stays_inside(&path, &world.places.project) {
        return Err(
            CommandError::refused(format!("{FOLDER} leads out of the project")).hint("replace the link by a folder")
        );
    }
    if path.symlink_metadata().is_ok() {
        let name = &skill.name;
        return Err(CommandError::refused(format!("{FOLDER}/{name} already exists"))
            .hint(format!("run `maestro skills update {name}`, or `maestro skills remove {name}` first")));
    }
    Ok(())
}

/// Links a skill into the folders of installed agents that do not read `.agents/skills`.
fn link_for_agents(name: &str, world: &World) -> Vec<PathBuf> {
    let folders = agents_folders(world);
    let link = |folder: PathBuf| {
        let path = folder.join(name);
        let target = Path::new("../..").join(FOLDER).join(name);
        fs::create_dir_all(&folder).ok()?;
        std::os::unix::fs::symlink(target, &path).ok()?;
        Some(path)
    };
    folders.into_iter().filter_map(link).collect()
}

/// The folders that installed agents read instead of `.agents/skills`, each two levels below the project.
fn agents_folders(world: &World) -> Vec<PathBuf> {
    let table = agents::table(world);
    let installed = table.agents.all().iter().filter(|agent| agents::choose_driver(agent, world).is_some());
    let elsewhere = installed.filter(|agent| !agent.skills.is_empty() && agent.skills.iter().all(|own| own != FOLDER));
    let mut folders: Vec<PathBuf> = elsewhere
        .filter_map(|agent| agent.skills.first())
        .filter(|folder| Path::new(folder).components().count() == 2)
        .map(|folder| world.places.project.join(folder))
        .collect();
    folders.dedup();
    folders.retain(|folder| files::stays_inside(&folder.join("x"), &world.places.project));
    folders
}

pub(super) fn remove(names: &[String], consent: WriteConsent, world: &World) -> CommandResult {
    require_person(world)?;
    let mut lock = SkillLock::read(&world.places.project)?;
    for name in names {
        if !lock.skills.contains_key(name) {
            return Err(CommandError::not_found(format!("`{name}` was not added with `maestro skills add`"))
                .hint("run `maestro skills outdated` for those that were; delete any other folder by hand"));
        }
    }
    let mut shown = String::new();
    for name in names {
        let _ = writeln!(shown, "{}", clean_path(&world.display_path(&folder(name, world))));
    }
    if !consent.obtain(&shown, "Delete?", &format!("remove {}", names.join(" ")), world)? {
        return Ok(CommandOutput::text("Nothing was deleted.\n"));
    }
    let mut text = String::new();
    for name in names {
        delete_folder(&folder(name, world), world)?;
        for link in agents_folders(world).into_iter().map(|folder| folder.join(name)) {
            if link.symlink_metadata().is_ok_and(|link| link.is_symlink()) {
                // A link that stays leads nowhere, and `doctor` says so.
                let _ = fs::remove_file(link);
            }
        }
        lock.skills.remove(name);
        let _ = writeln!(text, "Removed {}", clean(name));
    }
    lock.write(&world.places.project)?;
    if world.json { CommandOutput::json(&json!({ "removed": names })) } else { Ok(CommandOutput::text(text)) }
}

fn delete_folder(path: &Path, world: &World) -> CommandResult<()> {
    if path.is_symlink() || !files::stays_inside(path, &world.places.project) {
        return Err(CommandError::refused(format!(
            "{} leads out of the project",
            clean_path(&world.display_path(path))
        ))
        .hint("nothing was deleted or written there; look where the link leads"));
    }
    if !path.is_dir() {
        return Ok(());
    }
    fs::remove_dir_all(path).map_err(|error| CommandError::io(format!("cannot delete {}", path.display()), &error))
}

/// What became of an added skill, here and at its source.
enum SkillDrift {
    Same,
    ChangedHere,
    MissingHere,
    Newer(Box<(IncomingSkill, FetchedSkills)>),
    Unreachable(String),
}

impl SkillDrift {
    fn of(name: &str, locked: &LockedSkill, world: &World) -> Self {
        let here = folder(name, world);
        match incoming::read_folder(&here) {
            Err(_) => return Self::MissingHere,
            Ok(files) if lock::content_hash(&files) != locked.computed_hash => return Self::ChangedHere,
            Ok(_) => {}
        }
        match at_source(name, locked, world) {
            Err(error) => Self::Unreachable(error.message().to_owned()),
            Ok((skill, _)) if lock::content_hash(&skill.files) == locked.computed_hash => Self::Same,
            Ok(newer) => Self::Newer(Box::new(newer)),
        }
    }

    fn word(&self) -> String {
        match self {
            Self::Same => "up to date".to_owned(),
            Self::ChangedHere => {
                "changed here, so not updated; `maestro skills remove` drops your changes, `add` brings it again"
                    .to_owned()
            }
            Self::MissingHere => {
                "not here; `maestro skills update` brings it again, `maestro skills remove` forgets it".to_owned()
            }
            Self::Newer(newer) => match newer.1.short_commit() {
                Some(commit) => format!("newer at its source ({commit})"),
                None => "newer at its source".to_owned(),
            },
            Self::Unreachable(why) => format!("unknown: {why}"),
        }
    }
}

/// A skill as its source has it now, and the copy of that source.
fn at_source(name: &str, locked: &LockedSkill, world: &World) -> CommandResult<(IncomingSkill, FetchedSkills)> {
    let fetched = SkillOrigin::of(locked, world)?.fetch(locked.reference.as_deref(), world)?;
    let skill = fetched.chosen(&[name.to_owned()], false)?.remove(0);
    Ok((skill, fetched))
}

/// The added skills, or those of the names.
fn locked(names: &[String], lock: &SkillLock) -> CommandResult<Vec<(String, LockedSkill)>> {
    if let Some(unknown) = names.iter().find(|name| !lock.skills.contains_key(*name)) {
        return Err(CommandError::not_found(format!("`{unknown}` was not added with `maestro skills add`"))
            .hint("run `maestro skills outdated` for those that were"));
    }
    let wanted = lock.skills.iter().filter(|(name, _)| names.is_empty() || names.contains(name));
    Ok(wanted.map(|(name, skill)| (name.clone(), skill.clone())).collect())
}

pub(super) fn outdated(world: &World) -> CommandResult {
    // The addresses come with the project.
    require_person(world)?;
    let lock = SkillLock::read(&world.places.project)?;
    let mut rows = Vec::new();
    for (name, skill) in locked(&[], &lock)? {
        let drift = SkillDrift::of(&name, &skill, world);
        rows.push((name, skill, drift));
    }
    let differs = rows.iter().any(|(_, _, drift)| !matches!(drift, SkillDrift::Same));
    let exit = if differs { ExitKind::Failed } else { ExitKind::Ok };
    if world.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(name, skill, drift)| json!({ "name": name, "source": skill.source, "state": drift.word() }))
            .collect();
        return Ok(CommandOutput::json(&json!({ "skills": rows }))?.with_exit(exit));
    }
    if rows.is_empty() {
        return Ok(CommandOutput::text("No skills were added here; `maestro skills add SOURCE` adds one.\n"));
    }
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, skill, drift) in &rows {
        let _ = writeln!(text, "{}  {}  {}", pad(&clean(name), width), clean(&skill.source), clean(&drift.word()));
    }
    Ok(CommandOutput::text(text).with_exit(exit))
}

pub(super) fn update(names: &[String], consent: WriteConsent, world: &World) -> CommandResult {
    require_person(world)?;
    let mut lock = SkillLock::read(&world.places.project)?;
    let (mut text, mut updated) = (String::new(), Vec::new());
    for (name, skill) in locked(names, &lock)? {
        let drift = SkillDrift::of(&name, &skill, world);
        let mut state = drift.word();
        let is_missing = matches!(drift, SkillDrift::MissingHere);
        let found = match drift {
            SkillDrift::Newer(newer) => Some(*newer),
            // A clone may have the lock file alone.
            SkillDrift::MissingHere => at_source(&name, &skill, world)
                .map_err(|error| state = format!("not here, and its source gives no copy: {}", error.message()))
                .ok(),
            SkillDrift::Same | SkillDrift::ChangedHere | SkillDrift::Unreachable(_) => None,
        };
        let Some((incoming, fetched)) = found else {
            let _ = writeln!(text, "{}: {}", clean(&name), clean(&state));
            continue;
        };
        let origin = SkillOrigin::of(&skill, world)?;
        let mut shown = incoming.describe(&origin.place_of(&incoming, &fetched), world);
        if is_missing && lock::content_hash(&incoming.files) != skill.computed_hash {
            let _ =
                writeln!(shown, "  {} its contents are not those of skills-lock.json", world.paint.dim("differs  "));
        }
        if !consent.obtain(&shown, &format!("Write {name}?"), "update", world)? {
            continue;
        }
        if consent == WriteConsent::Given {
            text.push_str(&shown);
        }
        let path = folder(&name, world);
        delete_folder(&path, world)?;
        files::create_directory(&path, &incoming.files)
            .map_err(|error| CommandError::io(format!("cannot write {}", path.display()), &error))?;
        let _ = writeln!(text, "{} {}", if is_missing { "Added" } else { "Updated" }, clean(&name));
        for link in link_for_agents(&name, world) {
            let _ = writeln!(text, "  linked as {}", clean_path(&world.display_path(&link)));
        }
        lock.skills.insert(name.clone(), origin.locked(&incoming, &fetched, skill.reference.as_deref()));
        updated.push(name);
        lock.write(&world.places.project)?;
    }
    if world.json {
        return CommandOutput::json(&json!({ "updated": updated }));
    }
    if text.is_empty() {
        text.push_str("No skills were added here; `maestro skills add SOURCE` adds one.\n");
    }
    Ok(CommandOutput::text(text))
}
