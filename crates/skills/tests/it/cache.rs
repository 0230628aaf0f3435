//! When does a long-lived process see a change on disk?

use maestro_core::settings::SkillValidation;
use maestro_skills::CatalogueCache;

use crate::world::{World, good_skill, ids};

#[test]
fn a_change_is_seen_after_a_reload_and_not_before() {
    let world = World::new();
    good_skill(world.skills("one"));
    let cache = CatalogueCache::load(world.roots(), world.places.clone(), SkillValidation::Lenient);
    let before = cache.current();
    good_skill(world.skills("two"));
    assert_eq!(ids(&cache.current()), ["one"]);
    assert_eq!(ids(&cache.reload()), ["one", "two"]);
    assert_eq!(ids(&cache.current()), ["one", "two"]);
    assert_eq!(ids(&before), ["one"], "who holds a catalogue keeps it");
}

#[test]
fn a_skill_that_is_gone_leaves_with_the_next_reload() {
    let world = World::new();
    good_skill(world.skills("one"));
    let cache = CatalogueCache::load(world.roots(), world.places.clone(), SkillValidation::Lenient);
    std::fs::remove_dir_all(world.skills("one")).unwrap();
    assert_eq!(ids(&cache.reload()), <[&str; 0]>::default());
}

#[test]
fn a_reload_judges_as_strictly_as_the_first_load() {
    let world = World::new();
    let cache = CatalogueCache::load(world.roots(), world.places.clone(), SkillValidation::Strict);
    crate::world::write(world.skills("x/SKILL.md"), crate::world::skill_md("Not Valid", "Breaks the grammar."));
    assert_eq!(cache.reload().not_loaded(), 1);
}
