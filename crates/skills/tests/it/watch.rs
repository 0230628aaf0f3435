//! Does a long-lived process notice what happens to skills?

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use maestro_core::settings::SkillValidation;
use maestro_skills::{Catalogue, CatalogueCache, CatalogueWatcher, root_lists};

use crate::world::{World, good_skill, ids, link, skill_md, write};

/// How long a change may take to be noticed before the test fails.
const DEADLINE: Duration = Duration::from_secs(20);

struct Watched {
    world: World,
    cache: Arc<CatalogueCache>,
    reloads: Receiver<Arc<Catalogue>>,
    watcher: CatalogueWatcher,
}

impl Watched {
    fn new(furnish: impl Fn(&World)) -> Self {
        let world = World::new();
        furnish(&world);
        let cache = Arc::new(CatalogueCache::load(world.roots(), world.places.clone(), SkillValidation::Lenient));
        let (send, reloads) = mpsc::channel();
        let lists = root_lists(&world.places).to_vec();
        let watcher = CatalogueWatcher::start(Arc::clone(&cache), lists, move |catalogue| {
            let _ = send.send(Arc::clone(catalogue));
        });
        assert_eq!(watcher.problems(), []);
        Self { world, cache, reloads, watcher }
    }

    /// Waits for a catalogue that is as it should be.
    fn until(&self, what: &str, fits: impl Fn(&Catalogue) -> bool) {
        let end = Instant::now() + DEADLINE;
        loop {
            match self.reloads.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(catalogue) if fits(&catalogue) => break,
                Ok(_) => {}
                Err(error) => panic!("{what}: {error}: {:?}", ids(&self.cache.current())),
            }
        }
        assert!(fits(&self.cache.current()), "{what}: the current catalogue is the new one");
    }

    fn until_there_are(&self, expected: &[&str]) {
        self.until(&format!("{expected:?}"), |catalogue| ids(catalogue) == expected);
    }
}

#[test]
fn skills_are_noticed_when_they_come_change_and_go() {
    let watched = Watched::new(|world| good_skill(world.skills("one")));
    let at = |path: &str| watched.world.skills(path);
    good_skill(at("two"));
    watched.until_there_are(&["one", "two"]);
    write(at("two/SKILL.md"), skill_md("two", "Something else."));
    watched.until("an edit", |catalogue| catalogue.get("two").unwrap().description == "Something else.");
    good_skill(at("group/deep/three"));
    watched.until_there_are(&["three", "one", "two"]);
    write(at("group/deep/three/SKILL.md"), skill_md("three", "In a new directory."));
    watched.until("an edit", |catalogue| catalogue.get("three").unwrap().description == "In a new directory.");
    fs::rename(at("two"), at("four")).unwrap();
    watched.until("a rename", |catalogue| catalogue.get("two").unwrap().path == at("four"));
    fs::remove_dir_all(at("one")).unwrap();
    watched.until_there_are(&["two", "three"]);
}

#[test]
fn a_root_that_appears_is_noticed_and_watched() {
    let watched = Watched::new(|_| {});
    good_skill(watched.world.home(".claude/skills/mine"));
    watched.until_there_are(&["mine"]);
    good_skill(watched.world.skills("ours"));
    watched.until_there_are(&["ours", "mine"]);
    good_skill(watched.world.skills("second"));
    watched.until_there_are(&["ours", "second", "mine"]);
}

#[test]
fn a_root_that_is_exchanged_is_watched_where_it_is_now() {
    let watched = Watched::new(|world| good_skill(world.skills("one")));
    let root = watched.world.project(".claude/skills");
    fs::rename(&root, watched.world.project("old")).unwrap();
    good_skill(root.join("two"));
    watched.until_there_are(&["two"]);
    good_skill(root.join("three"));
    watched.until_there_are(&["three", "two"]);
    fs::remove_dir_all(&root).unwrap();
    watched.until_there_are(&[]);
    link(watched.world.project("old"), &root);
    watched.until_there_are(&["one"]);
    good_skill(watched.world.project("old/four"));
    watched.until_there_are(&["four", "one"]);
}

#[test]
fn a_plugin_that_is_installed_or_disabled_is_noticed() {
    let watched = Watched::new(|world| good_skill(world.skills("one")));
    write(watched.world.home(".claude/plugins/installed_plugins.json"), r#"{"version": 2, "plugins": {}}"#);
    watched.until("a list where none was", |_| true);
    write(watched.world.home(".claude/plugins/installed_plugins.json"), r#"{"version": 2, "plugins": {"a@b": []}}"#);
    watched.until("another plugin", |_| true);
    write(watched.world.home(".claude/settings.json"), r#"{"enabledPlugins": {"a@b": false}}"#);
    watched.until("a disabled plugin", |_| true);
}

#[test]
fn after_the_watcher_nothing_is_noticed() {
    let Watched { world, cache, reloads, watcher } = Watched::new(|world| good_skill(world.skills("one")));
    drop(watcher);
    good_skill(world.skills("two"));
    assert!(reloads.recv().is_err(), "its thread has ended");
    assert_eq!(ids(&cache.current()), ["one"]);
}
