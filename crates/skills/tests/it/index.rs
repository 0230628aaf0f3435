//! Is a catalogue that was partly remembered the same as one that was read afresh?

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, SystemTime};

use maestro_core::settings::SkillValidation;
use maestro_skills::{Catalogue, FileWrite, IndexStore, SkillRoot};

use crate::world::{World, good_skill, link, pipe, skill_md, write};

/// A clock that is ahead, so that nothing counts as changed just now.
fn ahead() -> SystemTime {
    SystemTime::now() + Duration::from_hours(1)
}

/// A world and what is remembered of it.
pub(crate) struct Remembered {
    pub(crate) world: World,
    memory: IndexStore,
}

impl Remembered {
    pub(crate) fn new() -> Self {
        Self { world: World::new(), memory: IndexStore::in_process().with_clock(ahead) }
    }

    /// Loads both ways and compares; returns what was learned anew.
    pub(crate) fn check(&mut self, after: &str) -> Vec<FileWrite> {
        self.check_as(SkillValidation::Lenient, &self.world.roots(), after)
    }

    fn check_as(&mut self, validation: SkillValidation, roots: &[SkillRoot], after: &str) -> Vec<FileWrite> {
        let fresh = self.world.load_from(roots, validation);
        let progress = AtomicUsize::new(0);
        let (found, edits) = Catalogue::load_with(&self.memory, roots, &self.world.places, validation, &progress);
        assert_same(&found, &fresh, after);
        self.memory.save(edits.clone());
        self.tick();
        edits
    }

    /// Waits until the file system's clock has moved, so that the next change bears another time than the last.
    fn tick(&self) {
        let probe = self.world.elsewhere("probe");
        let changed = || {
            fs::write(&probe, "").unwrap();
            let metadata = probe.metadata().unwrap();
            (metadata.ctime(), metadata.ctime_nsec())
        };
        let now = changed();
        while changed() == now {}
    }
}

pub(crate) fn assert_same(found: &Catalogue, fresh: &Catalogue, after: &str) {
    assert_eq!(found.skills, fresh.skills, "{after}");
    assert_eq!(found.problems, fresh.problems, "{after}");
    assert_eq!(found.broken, fresh.broken, "{after}");
    assert_eq!(format!("{:#?}", found.shadowed), format!("{:#?}", fresh.shadowed), "{after}");
    assert_eq!(format!("{:#?}", found.roots), format!("{:#?}", fresh.roots), "{after}");
    for skill in &fresh.skills {
        assert_eq!(found.get(skill.id.as_str()), Some(skill.skill()), "{after}");
    }
    let headings = |catalogue: &Catalogue| {
        catalogue
            .skills
            .iter()
            .map(|skill| format!("{:?} {}", skill.heading(), skill.path().display()))
            .collect::<Vec<_>>()
    };
    assert_eq!(headings(found), headings(fresh), "{after}");
}

/// Every form, a group, a nested one, a broken one, one with problems.
fn furnish(world: &World) {
    for name in ["one", "two", "group/three", "group/deeper/four", "two/skills/five"] {
        good_skill(world.skills(name));
    }
    for fixture in fs::read_dir(crate::world::fixtures().join("formats")).unwrap() {
        let fixture = fixture.unwrap().path();
        for file in fs::read_dir(&fixture).unwrap().map(|file| file.unwrap().path()) {
            let to = world.home(".claude/skills").join(fixture.file_name().unwrap()).join(file.file_name().unwrap());
            write(to, fs::read(&file).unwrap());
        }
    }
    write(world.skills("broken/SKILL.md"), "no header");
    write(world.skills("Odd Name/Skill.md"), skill_md("Odd Name", "Breaks the grammar."));
    good_skill(world.home(".agent/skills/one"));
}

type Change = (&'static str, fn(&World));

/// What may happen to skills, and what the next load must see.
const CHANGES: &[Change] = &[
    ("edited in place, same size", |world| overwrite(world.skills("one/SKILL.md"), "Does one thing bell.")),
    ("edited in place, times put back", |world| {
        let path = world.skills("one/SKILL.md");
        let before = path.metadata().unwrap().modified().unwrap();
        overwrite(&path, "Does one thing hell.");
        File::options().append(true).open(&path).unwrap().set_modified(before).unwrap();
    }),
    ("replaced by renaming", |world| {
        write(world.project("new"), skill_md("one", "Does another thing."));
        fs::rename(world.project("new"), world.skills("one/SKILL.md")).unwrap();
    }),
    ("a skill added", |world| good_skill(world.skills("six"))),
    ("a skill renamed", |world| fs::rename(world.skills("six"), world.skills("seven")).unwrap()),
    ("a skill removed", |world| fs::remove_dir_all(world.skills("seven")).unwrap()),
    ("a form added", |world| manifest(world, "nix")),
    ("a form edited", |world| manifest(world, "two")),
    ("a form removed", |world| fs::remove_file(world.skills("one/manifest.json")).unwrap()),
    ("a form renamed", |world| fs::rename(world.skills("one/SKILL.md"), world.skills("one/skill.md")).unwrap()),
    ("and back", |world| fs::rename(world.skills("one/skill.md"), world.skills("one/SKILL.md")).unwrap()),
    ("a file that means nothing", |world| write(world.skills("one/notes.txt"), "notes")),
    ("a skill in a group added", |world| good_skill(world.skills("group/deeper/six"))),
    ("a new group", |world| good_skill(world.skills("club/deep/seven"))),
    ("a group removed", |world| fs::remove_dir_all(world.skills("club")).unwrap()),
    ("broken", |world| write(world.skills("two/SKILL.md"), "---\nname: two\n")),
    ("mended", |world| good_skill(world.skills("two"))),
    ("rights taken", |world| allow(world.skills("two/SKILL.md"), 0o000)),
    ("rights given", |world| allow(world.skills("two/SKILL.md"), 0o644)),
    ("a directory closed", |world| allow(world.skills("group"), 0o000)),
    ("a directory opened", |world| allow(world.skills("group"), 0o755)),
    ("a directory named like a form", |world| fs::create_dir(world.skills("one/skill.json")).unwrap()),
    ("gone again", |world| fs::remove_dir(world.skills("one/skill.json")).unwrap()),
    ("a pipe named like a form", |world| pipe(world.skills("one/skill.yaml"))),
    ("no pipe", |world| fs::remove_file(world.skills("one/skill.yaml")).unwrap()),
    ("a link to a skill", |world| {
        write(world.project("inside/SKILL.md"), skill_md("linked", "By a link."));
        write(world.project("other/SKILL.md"), skill_md("linked", "By the link."));
        link(world.project("inside"), world.skills("linked"));
    }),
    ("the linked skill edited", |world| {
        write(world.project("inside/SKILL.md"), skill_md("linked", "In a link."));
    }),
    ("the link leads elsewhere", |world| relink(world, world.project("other"))),
    ("what it leads to is exchanged", |world| {
        fs::rename(world.project("inside"), world.project("third")).unwrap();
        fs::rename(world.project("other"), world.project("inside")).unwrap();
        fs::rename(world.project("third"), world.project("other")).unwrap();
    }),
    ("what it leads to is gone", |world| fs::remove_dir_all(world.project("other")).unwrap()),
    ("a link out", |world| {
        good_skill(world.elsewhere("kit"));
        relink(world, world.elsewhere("kit"));
    }),
    ("a link as a form", |world| link(world.skills("one/SKILL.md"), world.skills("by-form/SKILL.md"))),
    ("what the form leads to is edited", |world| overwrite(world.skills("one/SKILL.md"), "Seen by a link.")),
    ("a link to its own group", |world| link("..", world.skills("group/loop"))),
    ("another root", |world| {
        fs::rename(world.project(".claude/skills"), world.project("old")).unwrap();
        good_skill(world.skills("one"));
    }),
    ("the root is a link", |world| {
        fs::remove_dir_all(world.project(".claude/skills")).unwrap();
        link(world.project("old"), world.project(".claude/skills"));
    }),
    ("the root is a skill", |world| write(world.project("old/SKILL.md"), skill_md("skills", "A root."))),
    ("no root", |world| fs::remove_file(world.project(".claude/skills")).unwrap()),
];

#[test]
fn every_kind_of_change_is_seen() {
    let mut remembered = Remembered::new();
    furnish(&remembered.world);
    assert!(!remembered.check("the first load").is_empty());
    assert!(remembered.check("no change").is_empty(), "all is remembered");
    for (what, change) in CHANGES {
        change(&remembered.world);
        remembered.check(what);
        remembered.check(&format!("{what}, again"));
    }
}

fn overwrite(path: impl AsRef<Path>, description: &str) {
    fs::write(path, skill_md("one", description)).unwrap();
}

fn manifest(world: &World, needed: &str) {
    let text = format!(r#"{{"name": "One", "version": "2", "description": "D", "dependencies": ["{needed}"]}}"#);
    write(world.skills("one/manifest.json"), text);
}

fn relink(world: &World, target: PathBuf) {
    fs::remove_file(world.skills("linked")).unwrap();
    link(target, world.skills("linked"));
}

fn allow(path: PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn only_what_changed_is_learned_anew() {
    let mut remembered = Remembered::new();
    for number in 0..50 {
        good_skill(remembered.world.skills(&format!("skill-{number}")));
    }
    let first = remembered.check("the first load");
    let text = skill_md("skill-7", "Does one thing badly.");
    fs::write(remembered.world.skills("skill-7/SKILL.md"), text).unwrap();
    let second = remembered.check("an edit");
    assert_eq!(first.len(), 1);
    assert_eq!(second.len(), 1);
    assert!(second[0].bytes.len().abs_diff(first[0].bytes.len()) < 10, "all the others are still there");
}

#[test]
fn strict_and_lenient_do_not_learn_from_each_other() {
    let mut remembered = Remembered::new();
    furnish(&remembered.world);
    let roots = remembered.world.roots();
    for validation in
        [SkillValidation::Lenient, SkillValidation::Strict, SkillValidation::Lenient, SkillValidation::Strict]
    {
        remembered.check_as(validation, &roots, "turn by turn");
    }
    assert!(remembered.check_as(SkillValidation::Strict, &roots, "once more").is_empty());
}

#[test]
fn a_directory_named_on_the_command_line_keeps_its_kind() {
    let mut remembered = Remembered::new();
    furnish(&remembered.world);
    remembered.check("as a root of the project");
    let given = SkillRoot::given(remembered.world.skills(""), &remembered.world.places);
    remembered.check_as(SkillValidation::Lenient, &[given], "as a directory that was given");
}

#[test]
fn what_changed_just_now_is_not_kept() {
    let world = World::new();
    good_skill(world.skills("one"));
    let load = |clock| {
        let memory = IndexStore::in_process().with_clock(clock);
        let progress = AtomicUsize::new(0);
        Catalogue::load_with(&memory, &world.roots(), &world.places, SkillValidation::Lenient, &progress).1
    };
    assert!(load(SystemTime::now).is_empty(), "it may change again within the same tick of the clock");
    assert_eq!(load(ahead).len(), 1);
    assert!(load(|| SystemTime::UNIX_EPOCH).is_empty(), "a clock that is wrong");
}

/// A directory of indexes, as a program keeps it.
struct Disk {
    world: World,
    directory: PathBuf,
}

impl Disk {
    fn new() -> Self {
        let world = World::new();
        furnish(&world);
        let directory = world.home(".cache/index");
        fs::create_dir_all(&directory).unwrap();
        Self { world, directory }
    }

    /// Loads as `program`, compares, and returns what would be written.
    fn load(&self, program: &str, after: &str) -> Vec<FileWrite> {
        let memory = IndexStore::on_disk(self.directory.clone(), program.to_owned()).with_clock(ahead);
        let progress = AtomicUsize::new(0);
        let roots = self.world.roots();
        let (found, edits) =
            Catalogue::load_with(&memory, &roots, &self.world.places, SkillValidation::Lenient, &progress);
        assert_same(&found, &self.world.load(), after);
        edits
    }

    fn keep(&self, edits: &[FileWrite]) {
        for edit in edits {
            fs::write(self.directory.join(&edit.path), &edit.bytes).unwrap();
        }
    }
}

#[test]
fn an_index_on_disk_serves_the_program_that_wrote_it() {
    let disk = Disk::new();
    let edits = disk.load("maestro 1", "the first load");
    assert!(edits.len() > 1, "one for each root: {}", edits.len());
    disk.keep(&edits);
    assert!(disk.load("maestro 1", "from disk").is_empty());
    let other = disk.load("maestro 2", "another program");
    assert_eq!(other.len(), edits.len());
    let names = |edits: &[FileWrite]| edits.iter().map(|edit| edit.path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&other), names(&edits), "a new program takes the old one's place");
}

#[test]
fn a_damaged_index_is_no_index() {
    let disk = Disk::new();
    let edits = disk.load("maestro", "the first load");
    let edit = edits.iter().max_by_key(|edit| edit.bytes.len()).unwrap();
    let damaged = |bytes: &[u8], how: &str| {
        disk.keep(&edits);
        fs::write(disk.directory.join(&edit.path), bytes).unwrap();
        let renewed = disk.load("maestro", how);
        assert_eq!(renewed.iter().map(|edit| &edit.path).collect::<Vec<_>>(), [&edit.path], "{how}");
    };
    let whole = &edit.bytes;
    for length in (0..whole.len()).step_by(whole.len() / 20) {
        damaged(&whole[..length], &format!("cut to {length}"));
    }
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        damaged(&bytes, &format!("changed at {at}"));
        bytes.fill(0);
        bytes[..at].copy_from_slice(&whole[..at]);
        damaged(&bytes, &format!("nothing after {at}"));
    }
    damaged(&[whole.as_slice(), b"more"].concat(), "something after the end");
    damaged(&vec![0xff; 100_000], "something else");
    let another = edits.iter().find(|other| other.path != edit.path).unwrap();
    damaged(&another.bytes, "the index of another root");
}

#[test]
fn an_index_that_cannot_be_read_does_not_matter() {
    let disk = Disk::new();
    let edits = disk.load("maestro", "the first load");
    for edit in &edits {
        fs::create_dir(disk.directory.join(&edit.path)).unwrap();
    }
    assert_eq!(disk.load("maestro", "a directory in its place").len(), edits.len());
    fs::remove_dir_all(&disk.directory).unwrap();
    for edit in &edits {
        pipe(disk.directory.join(&edit.path));
    }
    assert_eq!(disk.load("maestro", "a pipe in its place").len(), edits.len());
}
