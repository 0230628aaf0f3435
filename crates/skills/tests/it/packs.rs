//! What must be written to bring a skill pack up to date?

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use maestro_core::settings::SkillValidation;
use maestro_skills::{PackError, SkillPack, SkillRoot, SyncPlan};

use crate::world::{World, good_skill, ids, link, pipe, write};

/// Does what a plan says, as plainly as can be.
pub(crate) fn apply(plan: &SyncPlan) {
    for file in &plan.files {
        write(plan.sync_dir.join(&plan.target).join(&file.path), &file.bytes);
    }
    let _ = fs::remove_file(plan.sync_dir.join(&plan.link));
    symlink(&plan.target, plan.sync_dir.join(&plan.link)).unwrap();
}

fn workspace(dir: &Path) -> SkillPack {
    SkillPack::workspace(dir, dir.parent().unwrap()).unwrap().unwrap()
}

fn plan(pack: SkillPack, sync_dir: &Path) -> SyncPlan {
    pack.plan(sync_dir).unwrap().unwrap()
}

fn file_names(plan: &SyncPlan) -> Vec<&str> {
    plan.files.iter().map(|file| file.path.to_str().unwrap()).collect()
}

#[test]
fn the_builtin_pack_is_planned_whole_and_once() {
    let world = World::new();
    let sync_dir = world.home("packs");
    let first = plan(SkillPack::builtin(), &sync_dir);
    assert_eq!(first.link, "builtin");
    assert_eq!(first.stale, <[&str; 0]>::default());
    assert!(file_names(&first).contains(&"maestro-cli/manifest.json"));
    apply(&first);
    assert_eq!(SkillPack::builtin().plan(&sync_dir).unwrap(), None, "it is up to date");
    assert_eq!(SkillPack::builtin().directory(&sync_dir), sync_dir.join("builtin"));
}

#[test]
fn the_builtin_pack_is_without_fault_and_counts_its_skills() {
    let world = World::new();
    let sync_dir = world.home("packs");
    apply(&plan(SkillPack::builtin(), &sync_dir));
    let root = SkillRoot::builtin(sync_dir.join("builtin"));
    let catalogue = world.load_from(&[root], SkillValidation::Strict);
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
    assert_eq!(catalogue.skills.len(), SkillPack::builtin().skill_names().len());
    for id in ["maestro-cli", "maestro-orchestrator", "maestro-worker"] {
        assert!(ids(&catalogue).contains(&id), "{id}");
    }
}

#[test]
fn a_copy_that_was_removed_is_planned_again() {
    let world = World::new();
    let sync_dir = world.home("packs");
    let first = plan(SkillPack::builtin(), &sync_dir);
    apply(&first);
    fs::remove_dir_all(sync_dir.join(&first.target)).unwrap();
    assert_eq!(SkillPack::builtin().plan(&sync_dir).unwrap(), Some(first), "a link alone is no copy");
}

#[test]
fn what_earlier_versions_left_behind_is_named_as_stale() {
    let world = World::new();
    let sync_dir = world.home("packs");
    for old in [".builtin-0000000000000000", ".builtin-1111111111111111", ".workspace-aaaaaaaaaaaa-0000", "mine"] {
        good_skill(sync_dir.join(old).join("old"));
    }
    link(".builtin-0000000000000000", sync_dir.join("builtin"));
    let mut stale = plan(SkillPack::builtin(), &sync_dir).stale;
    stale.sort();
    assert_eq!(stale, [".builtin-0000000000000000", ".builtin-1111111111111111"]);
}

#[test]
fn something_else_in_the_place_of_the_link_is_left_alone() {
    let world = World::new();
    let sync_dir = world.home("packs");
    good_skill(sync_dir.join("builtin/of-the-user"));
    let error = SkillPack::builtin().plan(&sync_dir).unwrap_err();
    assert!(matches!(&error, PackError::Occupied { path } if *path == sync_dir.join("builtin")), "{error:?}");
    assert_eq!(error.to_string(), format!("{} exists and was not made by Maestro", sync_dir.join("builtin").display()));
}

#[test]
fn a_workspace_without_a_pack_has_nothing_to_copy() {
    let world = World::new();
    assert!(SkillPack::workspace(&world.project("skills"), &world.places.project).unwrap().is_none());
    write(world.project("file"), "");
    assert!(SkillPack::workspace(&world.project("file"), &world.places.project).unwrap().is_none());
}

#[test]
fn a_workspaces_pack_holds_its_files_and_neither_links_nor_pipes() {
    let world = World::new();
    let skills = world.project("skills");
    good_skill(skills.join("b"));
    good_skill(skills.join("a"));
    write(skills.join("a/references/more.md"), "More.");
    write(world.home("secret.md"), "private");
    good_skill(world.home("private/notes"));
    link(world.home("secret.md"), skills.join("a/references/secret.md"));
    link(world.home("private"), skills.join("linked"));
    pipe(skills.join("a/queue"));
    let pack = workspace(&skills);
    assert_eq!(pack.skill_names(), ["a", "b"]);
    let left_out: Vec<PathBuf> =
        ["a/queue", "a/references/secret.md", "linked"].iter().map(|path| skills.join(path)).collect();
    assert_eq!(pack.left_out(), left_out);
    let plan = plan(pack, &world.home("packs"));
    assert_eq!(file_names(&plan), ["a/SKILL.md", "a/references/more.md", "b/SKILL.md"]);
}

#[test]
fn a_workspaces_pack_keeps_what_may_be_run() {
    let world = World::new();
    let skills = world.project("skills");
    good_skill(skills.join("a"));
    write(skills.join("a/scripts/run.sh"), "#!/bin/sh\n");
    fs::set_permissions(skills.join("a/scripts/run.sh"), Permissions::from_mode(0o755)).unwrap();
    let plan = plan(workspace(&skills), &world.home("packs"));
    let executable: Vec<_> = plan.files.iter().map(|file| (file.path.clone(), file.executable)).collect();
    assert_eq!(executable, [(PathBuf::from("a/SKILL.md"), false), (PathBuf::from("a/scripts/run.sh"), true)]);
}

#[test]
fn two_workspaces_with_the_same_skills_do_not_share_a_copy() {
    let world = World::new();
    good_skill(world.project("skills/a"));
    good_skill(world.elsewhere("skills/a"));
    let sync_dir = world.home("packs");
    let (one, two) =
        (plan(workspace(&world.project("skills")), &sync_dir), plan(workspace(&world.elsewhere("skills")), &sync_dir));
    assert_eq!(one.files, two.files);
    assert_ne!(one.link, two.link);
    apply(&one);
    apply(&two);
    assert_eq!(workspace(&world.project("skills")).plan(&sync_dir).unwrap(), None);
    assert_eq!(workspace(&world.elsewhere("skills")).plan(&sync_dir).unwrap(), None);
}

#[test]
fn any_change_to_a_workspaces_pack_is_a_new_copy() {
    let world = World::new();
    let skills = world.project("skills");
    let sync_dir = world.home("packs");
    good_skill(skills.join("a"));
    let target = || plan(workspace(&skills), &sync_dir).target;
    let mut seen = vec![target()];
    write(skills.join("a/notes.md"), "one");
    seen.push(target());
    write(skills.join("a/notes.md"), "two");
    seen.push(target());
    fs::set_permissions(skills.join("a/notes.md"), Permissions::from_mode(0o755)).unwrap();
    seen.push(target());
    fs::rename(skills.join("a/notes.md"), skills.join("a/other.md")).unwrap();
    seen.push(target());
    fs::remove_file(skills.join("a/other.md")).unwrap();
    assert_eq!(target(), seen[0], "the same contents are the same copy");
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "{seen:?}");
}

#[test]
fn a_pack_that_is_too_large_is_refused_before_it_is_read() {
    let world = World::new();
    let skills = world.project("skills");
    good_skill(skills.join("a"));
    File::create(skills.join("a/model.bin")).unwrap().set_len(1 << 40).unwrap();
    let error = SkillPack::workspace(&skills, &world.places.project).unwrap_err();
    assert!(matches!(&error, PackError::TooLarge { path } if *path == skills), "{error:?}");
}

#[test]
fn a_pack_that_is_only_a_link_out_of_the_project_is_not_copied() {
    let world = World::new();
    good_skill(world.home("private/a"));
    link(world.home("private"), world.project("skills"));
    let error = SkillPack::workspace(&world.project("skills"), &world.places.project).unwrap_err();
    assert!(matches!(&error, PackError::Outside { .. }), "{error:?}");
}

#[test]
fn a_link_of_the_users_own_is_not_taken_over() {
    let world = World::new();
    fs::create_dir_all(world.home("packs")).unwrap();
    link(world.home("mine"), world.home("packs/builtin"));
    let error = SkillPack::builtin().plan(&world.home("packs")).unwrap_err();
    assert!(matches!(&error, PackError::Occupied { .. }), "{error:?}");
}
