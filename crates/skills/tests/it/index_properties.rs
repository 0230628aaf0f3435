//! Whatever happens to the files, is what is remembered what is there?

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use crate::index::Remembered;
use crate::world::{World, link, write};

/// Something that happens in a skills directory. Numbers choose from the lists below.
#[derive(Debug, Clone)]
enum Change {
    Write { dir: usize, file: usize, text: usize },
    Overwrite { dir: usize, file: usize, text: usize },
    MakeDir { dir: usize },
    Remove { dir: usize, file: usize },
    RemoveDir { dir: usize },
    Rename { from: usize, to: usize },
    RenameFile { dir: usize, from: usize, to: usize },
    Link { dir: usize, to: usize },
    LinkFile { dir: usize, file: usize, to: usize },
    Rights { dir: usize, file: usize, mode: u32 },
    Age { dir: usize, file: usize },
}

const DIRS: &[&str] =
    &["", "a", "b", "a/skills", "a/skills/c", "group", "group/a", "group/d", "group/deep/e", "node_modules"];
const FILES: &[&str] =
    &["SKILL.md", "skill.md", "Skill.md", "manifest.json", "skill.json", "workflow.yaml", "notes.txt"];
const TEXTS: &[&str] = &[
    "---\nname: a\ndescription: One.\n---\n",
    "---\nname: a\ndescription: Two.\n---\n",
    "---\nname: b\ndescription: Two.\nmetadata:\n  version: 1.5\n  list: [1, {x: -2}]\ntags: x, y\n---\n",
    "---\nname: No Name\ndescription: a: b: c\nauthor: me\n---\n",
    "---\nname: broken\n",
    "{\"name\": \"A\", \"version\": \"1\", \"description\": \"D\", \"dependencies\": [\"b\"], \"config\": {\"k\": [null, 1.5]}}",
    "{\"name\": \"a\", \"description\": \"J\", \"commands\": [{\"name\": \"c\", \"parameters\": {\"p\": \"q\"}}]}",
    "name: a\ndescription: A workflow.\nversion: 3\n",
    "",
];

fn change() -> impl Strategy<Value = Change> {
    let (dir, file, text) = (0..DIRS.len(), 0..FILES.len(), 0..TEXTS.len());
    prop_oneof![
        6 => (dir.clone(), file.clone(), text.clone()).prop_map(|(dir, file, text)| Change::Write { dir, file, text }),
        4 => (dir.clone(), file.clone(), text).prop_map(|(dir, file, text)| Change::Overwrite { dir, file, text }),
        1 => dir.clone().prop_map(|dir| Change::MakeDir { dir }),
        2 => (dir.clone(), file.clone()).prop_map(|(dir, file)| Change::Remove { dir, file }),
        1 => dir.clone().prop_map(|dir| Change::RemoveDir { dir }),
        2 => (dir.clone(), dir.clone()).prop_map(|(from, to)| Change::Rename { from, to }),
        2 => (dir.clone(), file.clone(), file.clone()).prop_map(|(dir, from, to)| Change::RenameFile { dir, from, to }),
        1 => (dir.clone(), dir.clone()).prop_map(|(dir, to)| Change::Link { dir, to }),
        1 => (dir.clone(), file.clone(), dir.clone()).prop_map(|(dir, file, to)| Change::LinkFile { dir, file, to }),
        1 => (dir.clone(), file.clone(), prop_oneof![Just(0o000), Just(0o644), Just(0o755)])
            .prop_map(|(dir, file, mode)| Change::Rights { dir, file, mode }),
        1 => (dir, file).prop_map(|(dir, file)| Change::Age { dir, file }),
    ]
}

impl Change {
    /// Carries it out as far as that is possible; what is not there cannot be removed.
    fn happen(&self, world: &World) {
        let dir = |number: usize| world.skills(DIRS[number]);
        let file = |in_dir: usize, number: usize| dir(in_dir).join(FILES[number]);
        let _ = match *self {
            Self::Write { dir, file: name, text } => {
                let path = file(dir, name);
                fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(path, TEXTS[text]))
            }
            // In place, and with the old time: nothing but the time of the change gives it away.
            Self::Overwrite { dir, file: name, text } => overwrite(&file(dir, name), TEXTS[text]),
            Self::MakeDir { dir: number } => fs::create_dir_all(dir(number)),
            Self::Remove { dir, file: name } => fs::remove_file(file(dir, name)),
            Self::RemoveDir { dir: number } => remove(&dir(number)),
            Self::Rename { from, to } => fs::rename(dir(from), dir(to)),
            Self::RenameFile { dir, from, to } => fs::rename(file(dir, from), file(dir, to)),
            Self::Link { dir: at, to } => std::os::unix::fs::symlink(dir(to), dir(at)),
            Self::LinkFile { dir: at, file: name, to } => std::os::unix::fs::symlink(file(to, 0), file(at, name)),
            Self::Rights { dir, file: name, mode } => {
                fs::set_permissions(file(dir, name), fs::Permissions::from_mode(mode))
            }
            Self::Age { dir, file: name } => File::options()
                .append(true)
                .open(file(dir, name))
                .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))),
        };
    }
}

fn overwrite(path: &PathBuf, text: &str) -> std::io::Result<()> {
    let before = path.metadata()?.modified()?;
    fs::write(path, text)?;
    File::options().append(true).open(path)?.set_modified(before)
}

fn remove(path: &PathBuf) -> std::io::Result<()> {
    if path.is_symlink() { fs::remove_file(path) } else { fs::remove_dir_all(path) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_remembered_catalogue_is_a_fresh_one(changes in prop::collection::vec(change(), 1..25)) {
        let mut remembered = Remembered::new();
        write(remembered.world.skills("a/SKILL.md"), TEXTS[0]);
        write(remembered.world.home(".claude/skills/b/SKILL.md"), TEXTS[2]);
        link(remembered.world.skills(""), remembered.world.project(".agents/skills"));
        remembered.check("the first load");
        for (number, change) in changes.iter().enumerate() {
            change.happen(&remembered.world);
            remembered.check(&format!("{number}: {change:?}"));
        }
    }
}
