//! Where are skills found, which links are followed, and in which order do they come?

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use maestro_core::settings::{ConfigText, SettingsLayer, SkillValidation};
use maestro_core::{ProblemSeverity, Settings};
use maestro_skills::{Catalogue, SkillLocation, SkillRoot, SkillSource, instructions, project_of, search_order};

use crate::world::{World, found, good_skill, ids, is_broken, link, skill_md, write};

#[test]
fn skills_are_found_in_nested_groups() {
    let world = World::new();
    good_skill(world.skills("top"));
    good_skill(world.skills("office/pdf"));
    good_skill(world.skills("office/tables/csv"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["pdf", "csv", "top"], "by path");
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
}

#[test]
fn what_lies_in_a_skills_folder_belongs_to_it_unless_it_is_called_skills() {
    let world = World::new();
    good_skill(world.skills("outer"));
    write(world.skills("outer/assets/template/SKILL.md"), "no header");
    good_skill(world.skills("outer/references/example"));
    good_skill(world.skills("outer/skills/inner"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["outer", "inner"]);
    // An example among a skill's files is no mistake, but a skill that was put there would be missed in silence.
    assert_eq!(
        world.problems(&catalogue),
        [
            "info skill-inside work/app/.claude/skills/outer/assets/template:1:1",
            "info skill-inside work/app/.claude/skills/outer/references/example:1:1",
        ]
    );
    let command = format!("mv {0}/outer/references/example {0}/example", world.project(".claude/skills").display());
    assert!(catalogue.problems[1].help.ends_with(&command), "{}", catalogue.problems[1].help);
}

#[test]
fn every_skill_in_the_folder_of_another_is_reported_with_the_command_that_moves_it() {
    let world = World::new();
    good_skill(world.skills("group/outer"));
    good_skill(world.skills("group/outer/one"));
    good_skill(world.skills("group/outer/more/two"));
    good_skill(world.skills("group/outer/one/within"));
    for _ in 0..2 {
        let catalogue = world.load();
        assert_eq!(ids(&catalogue), ["outer"]);
        assert_eq!(
            world.problems(&catalogue),
            [
                "warning skill-inside work/app/.claude/skills/group/outer/one:1:1",
                "warning skill-inside work/app/.claude/skills/group/outer/more/two:1:1",
                "warning skill-inside work/app/.claude/skills/group/outer/one/within:1:1",
            ]
        );
        let root = world.skills("group");
        let command = format!("move it up: mv {0}/outer/more/two {0}/two", root.display());
        assert_eq!(catalogue.problems[1].help, command);
    }
}

#[test]
fn a_root_that_is_a_skill_itself_may_hold_others() {
    let world = World::new();
    good_skill(world.elsewhere("kit"));
    good_skill(world.elsewhere("kit/part"));
    let root = SkillRoot::given(world.elsewhere("kit"), &world.places);
    let catalogue = world.load_from(&[root], SkillValidation::Lenient);
    assert_eq!(ids(&catalogue), ["kit", "part"]);
}

#[test]
fn directories_of_tools_are_not_searched_even_through_a_link() {
    let world = World::new();
    for name in [".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "target"] {
        good_skill(world.skills(name).join(format!("in-{}", name.trim_matches(['.', '_']))));
    }
    good_skill(world.project("packages/hidden"));
    link(world.project("packages"), world.skills("group/node_modules"));
    good_skill(world.skills("seen"));
    assert_eq!(ids(&world.load()), ["seen"]);
}

#[test]
fn a_linked_skill_directory_inside_the_project_is_followed() {
    let world = World::new();
    good_skill(world.project("kit/pdf"));
    link("../../kit/pdf", world.skills("pdf"));
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "pdf").path, world.skills("pdf"), "known by the place it was found in");
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
}

#[test]
fn a_linked_skill_md_inside_the_project_is_followed() {
    let world = World::new();
    write(world.project("docs/pdf.md"), skill_md("pdf", "Is kept with the documentation."));
    link(world.project("docs/pdf.md"), world.skills("pdf/SKILL.md"));
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "pdf").description, "Is kept with the documentation.");
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
}

#[test]
fn a_link_into_another_root_is_followed() {
    let world = World::new();
    good_skill(world.home(".claude/skills/shared"));
    link(world.home(".claude/skills/shared"), world.project(".agent/skills/shared"));
    let catalogue = world.load();
    assert_eq!(world.paths(&catalogue), ["work/app/.agent/skills/shared"]);
    assert!(catalogue.shadowed[0].same_files, "the same skill by two ways");
}

#[test]
fn a_link_that_leaves_the_project_is_refused_and_reported() {
    let world = World::new();
    good_skill(world.elsewhere("foreign"));
    good_skill(world.home("private/notes"));
    write(world.elsewhere("file.md"), skill_md("smuggled", "Comes from elsewhere."));
    link(world.elsewhere("foreign"), world.skills("by-directory"));
    link(world.home("private/notes"), world.skills("by-home"));
    link(world.elsewhere("file.md"), world.skills("by-file/SKILL.md"));
    good_skill(world.skills("good"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["good"]);
    let mut problems = world.problems(&catalogue);
    problems.sort();
    assert_eq!(
        problems,
        [
            "error link-outside work/app/.claude/skills/by-file/SKILL.md:1:1",
            "warning link-outside work/app/.claude/skills/by-directory:1:1",
            "warning link-outside work/app/.claude/skills/by-home:1:1",
        ]
    );
    assert!(is_broken(&catalogue, "by-file"), "a skill whose file is refused exists all the same");
}

#[test]
fn a_user_may_link_to_anything_at_home() {
    let world = World::new();
    good_skill(world.home("src/kit/pdf"));
    link(world.home("src/kit/pdf"), world.home(".claude/skills/pdf"));
    link(world.elsewhere(""), world.home(".claude/skills/others"));
    good_skill(world.elsewhere("foreign"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["pdf"]);
    assert_eq!(world.problems(&catalogue), ["warning link-outside home/.claude/skills/others:1:1"]);
}

#[test]
fn links_in_a_circle_end_and_are_reported() {
    let world = World::new();
    good_skill(world.skills("group/pdf"));
    link("..", world.skills("group/up"));
    link(".", world.skills("here"));
    link("loop-b", world.skills("loop-a"));
    link("loop-a", world.skills("loop-b"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["pdf"]);
    assert!(catalogue.shadowed.is_empty());
    assert_eq!(
        world.problems(&catalogue),
        [
            "warning link-broken work/app/.claude/skills/here:1:1",
            "warning link-broken work/app/.claude/skills/loop-a:1:1",
            "warning link-broken work/app/.claude/skills/loop-b:1:1",
            "warning link-broken work/app/.claude/skills/group/up:1:1",
        ]
    );
}

#[test]
fn directories_that_link_to_each_other_are_searched_once() {
    let world = World::new();
    good_skill(world.skills("a/one"));
    good_skill(world.skills("b/two"));
    link("../b", world.skills("a/to-b"));
    link("../a", world.skills("b/to-a"));
    let catalogue = world.load();
    let mut found = ids(&catalogue);
    found.sort_unstable();
    assert_eq!(found, ["one", "two"]);
    assert!(catalogue.shadowed.iter().all(|shadowed| shadowed.same_files));
    assert!(catalogue.shadowed.len() <= 2, "each by at most one more way");
}

#[test]
fn a_link_that_leads_nowhere_is_reported() {
    let world = World::new();
    link("gone", world.skills("lost"));
    link("gone.md", world.skills("torn/SKILL.md"));
    good_skill(world.skills("good"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["good"]);
    assert_eq!(
        world.problems(&catalogue),
        [
            "warning link-broken work/app/.claude/skills/lost:1:1",
            "error link-broken work/app/.claude/skills/torn/SKILL.md:1:1",
        ]
    );
    assert!(is_broken(&catalogue, "torn"));
}

#[test]
fn a_linked_folder_that_was_checked_out_as_a_file_is_reported_with_its_target() {
    let world = World::new();
    write(world.skills("pdf"), "../../.agents/skills/pdf");
    write(world.skills("LICENSE"), "All rights reserved.\n");
    let catalogue = world.load();
    assert_eq!(world.problems(&catalogue), ["error link-flattened work/app/.claude/skills/pdf:1:1"]);
    let help = &catalogue.problems[0].help;
    assert!(help.contains("ln -sfn ../../.agents/skills/pdf ") && help.ends_with("/.claude/skills/pdf"), "{help}");
    // The same file again means something else as soon as it says something else.
    write(world.skills("pdf"), "A note.");
    assert_eq!(world.problems(&world.load()), <[&str; 0]>::default());
}

#[test]
fn a_root_that_is_a_link_to_another_root_is_searched_once() {
    let world = World::new();
    good_skill(world.project(".agent/skills/pdf"));
    link("../.agent/skills", world.project(".claude/skills"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["pdf"]);
    assert!(catalogue.shadowed.is_empty());
    let report = catalogue.roots.iter().find(|report| report.path == world.project(".claude/skills")).unwrap();
    assert_eq!(report.same_as.as_deref(), Some(world.project(".agent/skills").as_path()));
    assert!(report.exists && report.folders == 0);
}

#[test]
fn a_projects_root_that_links_outside_the_project_is_refused() {
    for root in [".claude/skills", "skills"] {
        let world = World::new();
        good_skill(world.elsewhere("foreign"));
        link(world.elsewhere(""), world.project(root));
        let catalogue = world.load();
        assert_eq!(ids(&catalogue), <[&str; 0]>::default(), "{root}");
        assert_eq!(world.problems(&catalogue), [format!("error link-outside work/app/{root}:1:1")]);
    }
}

/// Else two links in a cloned project would reach what one of them may not.
#[test]
fn a_refused_root_does_not_open_the_way_for_links_in_other_roots() {
    let world = World::new();
    good_skill(world.home("private/notes"));
    link(world.home("private"), world.project(".agent/skills"));
    link(world.home("private/notes"), world.skills("notes"));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), <[&str; 0]>::default());
    assert_eq!(
        world.problems(&catalogue),
        ["error link-outside work/app/.agent/skills:1:1", "warning link-outside work/app/.claude/skills/notes:1:1",]
    );
}

#[test]
fn a_users_root_may_be_a_link_to_anywhere() {
    let world = World::new();
    good_skill(world.elsewhere("dotfiles/pdf"));
    link(world.elsewhere("dotfiles"), world.home(".claude/skills"));
    let catalogue = world.load();
    assert_eq!(world.paths(&catalogue), ["home/.claude/skills/pdf"]);
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
}

#[test]
fn a_root_that_links_nowhere_is_reported_and_one_that_is_absent_is_not() {
    let world = World::new();
    link(world.project("gone"), world.project(".claude/skills"));
    let catalogue = world.load();
    assert_eq!(world.problems(&catalogue), ["warning link-broken work/app/.claude/skills:1:1"]);
    assert!(catalogue.roots.iter().all(|report| !report.exists));
}

#[test]
fn a_root_that_is_a_file_is_reported() {
    let world = World::new();
    write(world.project(".claude/skills"), "not a directory");
    let catalogue = world.load();
    assert_eq!(world.problems(&catalogue), ["error file-unreadable work/app/.claude/skills:1:1"]);
}

#[test]
fn a_directory_that_may_not_be_read_is_reported_and_its_neighbours_are_found() {
    let world = World::new();
    good_skill(world.skills("closed/inner"));
    good_skill(world.skills("open"));
    let closed = world.skills("closed");
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let catalogue = world.load();
    fs::set_permissions(&closed, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ids(&catalogue), ["open"]);
    assert_eq!(world.problems(&catalogue), ["error file-unreadable work/app/.claude/skills/closed:1:1"]);
}

#[test]
fn skills_six_levels_down_are_found_and_deeper_ones_are_reported_one_by_one() {
    let world = World::new();
    good_skill(world.skills("1/2/3/4/5/sixth"));
    good_skill(world.skills("1/2/3/4/5/6/seventh"));
    good_skill(world.skills("1/2/3/4/5/6/7/8/ninth"));
    fs::create_dir_all(world.skills("a/b/c/d/e/f/g/nothing")).unwrap();
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["sixth"]);
    assert_eq!(
        world.problems(&catalogue),
        [
            "warning scan-limit work/app/.claude/skills/1/2/3/4/5/6/seventh:1:1",
            "warning scan-limit work/app/.claude/skills/1/2/3/4/5/6/7/8/ninth:1:1",
        ]
    );
}

/// Everything a catalogue says, without the place of its world.
fn all_of(world: &World, catalogue: &Catalogue) -> (Vec<String>, Vec<String>, Vec<String>, Vec<String>) {
    (
        catalogue.skills.iter().map(|skill| format!("{} {}", world.relative(&skill.path), skill.file)).collect(),
        catalogue.shadowed.iter().map(|shadowed| world.relative(&shadowed.skill.path)).collect(),
        catalogue.broken.iter().map(|broken| world.relative(&broken.path)).collect(),
        world.problems(catalogue),
    )
}

/// File systems list a directory in the order of its making, of its names' hashes, or in any other.
#[test]
fn the_catalogue_does_not_depend_on_the_order_in_which_files_were_made() {
    type Step = Box<dyn Fn(&World)>;
    let mut steps: Vec<Step> = Vec::new();
    for index in 0..20 {
        steps.push(Box::new(move |world| good_skill(world.skills(&format!("group-{}/skill-{index}", index % 3)))));
        steps.push(Box::new(move |world| link("gone", world.skills(&format!("lost-{index}")))));
        steps.push(Box::new(move |world| {
            write(world.skills(&format!("twin-{index}/SKILL.md")), skill_md("twin", "One of many."));
        }));
        steps.push(Box::new(move |world| write(world.skills(&format!("torn-{index}/SKILL.md")), "no header")));
    }
    for name in ["Skill.md", "SKILL.MD", "sKILL.md", "SkiLL.md"] {
        steps.push(Box::new(move |world| {
            write(world.skills("spelling").join(name), skill_md("spelling", "Has four spellings."));
        }));
    }
    let (forwards, backwards) = (World::new(), World::new());
    for (step, last_step) in steps.iter().zip(steps.iter().rev()) {
        step(&forwards);
        last_step(&backwards);
    }
    let expected = all_of(&forwards, &forwards.load());
    assert_eq!(expected.0.len(), 22);
    assert_eq!(expected, all_of(&backwards, &backwards.load()));
    let links: Vec<_> =
        expected.3.iter().filter_map(|line| line.strip_prefix("warning link-broken ")?.split(':').next()).collect();
    assert!(links.len() == 20 && links.is_sorted(), "{links:?}");
}

#[test]
fn project_roots_come_before_the_users_of_the_same_kind_and_each_skill_knows_its_place() {
    let world = World::new();
    good_skill(world.project(".agent/skills/first"));
    good_skill(world.home(".agent/skills/second"));
    good_skill(world.project(".claude/skills/third"));
    good_skill(world.home(".claude/skills/fourth"));
    good_skill(world.project(".maestro/skills/fifth"));
    good_skill(world.home(".agents-ui/maestro-skills/sixth"));
    good_skill(world.project("skills/seventh"));
    let catalogue = world.load();
    let places: Vec<_> =
        catalogue.skills.iter().map(|skill| (skill.id.as_str(), skill.location, skill.source)).collect();
    assert_eq!(
        places,
        [
            ("first", SkillLocation::Project, SkillSource::Project),
            ("second", SkillLocation::Global, SkillSource::User),
            ("third", SkillLocation::Project, SkillSource::Project),
            ("fourth", SkillLocation::Global, SkillSource::User),
            ("fifth", SkillLocation::Project, SkillSource::Project),
            ("sixth", SkillLocation::Global, SkillSource::User),
            ("seventh", SkillLocation::Global, SkillSource::Workspace),
        ]
    );
}

#[test]
fn the_directory_nearest_to_the_working_directory_wins() {
    let mut world = World::new();
    fs::create_dir_all(world.project(".git")).unwrap();
    for dir in ["web/src", "web", "."] {
        good_skill(world.project(dir).join(".claude/skills/same"));
    }
    world.places.working_dir = world.project("web/src");
    world.places.project = project_of(&world.places.working_dir);
    let catalogue = world.load();
    assert_eq!(world.paths(&catalogue), ["work/app/web/src/.claude/skills/same"]);
    assert_eq!(catalogue.shadowed.len(), 2);
}

#[test]
fn the_project_is_the_nearest_checkout_or_the_working_directory_itself() {
    let world = World::new();
    fs::create_dir_all(world.project("nested/deep")).unwrap();
    fs::create_dir_all(world.project(".git")).unwrap();
    assert_eq!(project_of(&world.project("nested/deep")), world.places.project);
    // In a worktree `.git` is a file.
    write(world.project("nested/.git"), "gitdir: elsewhere\n");
    assert_eq!(project_of(&world.project("nested/deep")), world.project("nested"));
    assert_eq!(project_of(&world.elsewhere("")), world.elsewhere(""));
}

#[test]
fn setting_skills_dirs_replaces_the_first_four_places_only() {
    let world = World::new();
    good_skill(world.project("kit/mine"));
    good_skill(world.skills("not-looked-for"));
    good_skill(world.project(".agents/skills/extra"));
    let mut settings = Settings::defaults(&world.places);
    settings.skills_dirs.value = vec!["kit".into()];
    let catalogue = world.load_from(&search_order(&settings, &world.places), SkillValidation::Lenient);
    assert_eq!(ids(&catalogue), ["mine", "extra"]);
}

#[test]
fn a_directory_named_on_the_command_line_may_be_anywhere() {
    let world = World::new();
    good_skill(world.elsewhere("kit/pdf"));
    link(world.elsewhere("kit"), world.project("kit"));
    for (root, location) in
        [(world.elsewhere("kit"), SkillLocation::Global), (world.project("kit"), SkillLocation::Project)]
    {
        let catalogue = world.load_from(&[SkillRoot::given(root, &world.places)], SkillValidation::Lenient);
        assert_eq!(found(&catalogue, "pdf").location, location);
        assert_eq!(found(&catalogue, "pdf").source, SkillSource::Given);
    }
}

#[test]
fn a_problem_belongs_to_the_skill_whose_files_it_is_about() {
    let world = World::new();
    write(world.skills("a/SKILL.md"), skill_md("A", "Breaks the grammar."));
    write(world.skills("ab/SKILL.md"), "no header");
    let catalogue = world.load();
    let of_a: Vec<_> = catalogue.problems_of(&world.skills("a")).map(|problem| problem.severity).collect();
    assert_eq!(of_a, [ProblemSeverity::Warning, ProblemSeverity::Warning]);
}

#[test]
fn a_project_cannot_open_places_outside_itself_for_its_links() {
    let world = World::new();
    write(world.home(".aws/credentials"), "secret");
    write(world.skills("m/manifest.json"), r#"{"name": "m", "version": "1", "description": "m"}"#);
    link(world.home(".aws/credentials"), world.skills("m/skill.md"));
    let config = ConfigText {
        path: world.project(".maestro/config.toml"),
        text: "skills_extra_dirs = [\"~/.aws\", \"~/.agents/skills\"]".into(),
    };
    let (settings, problems) = Settings::from_layers(&world.places, &[SettingsLayer::Project(config)]);
    assert_eq!(problems, []);
    let catalogue = world.load_from(&search_order(&settings, &world.places), SkillValidation::Lenient);
    let refused: Vec<String> = world.problems(&catalogue);
    assert!(refused.iter().any(|line| line.starts_with("error link-outside home/.aws")), "{refused:?}");
    assert!(refused.iter().any(|line| line.contains("link-outside") && line.contains("m/skill.md")), "{refused:?}");
    let texts = catalogue.skills.iter().filter_map(|skill| instructions(skill).ok());
    assert!(texts.map(|contents| contents.bytes).all(|bytes| !String::from_utf8_lossy(&bytes).contains("secret")));
}

#[test]
fn two_links_to_one_directory_are_read_once_and_told() {
    let world = World::new();
    good_skill(world.project("lib/shared"));
    link(world.project("lib/shared"), world.skills("one"));
    link(world.project("lib/shared"), world.skills("two"));
    let catalogue = world.load();
    assert_eq!(catalogue.skills.len(), 1);
    let told = world.problems(&catalogue);
    assert!(told.iter().any(|line| line.contains("info link-repeated") && line.contains("skills/two")), "{told:?}");
}

#[test]
fn plugins_of_claude_code_bring_their_skills_with_their_marketplace() {
    let world = World::new();
    let place = |name: &str| world.home(".claude/plugins/cache").join(name);
    good_skill(place("tools/skills/lint"));
    good_skill(place("tools/more/ship"));
    good_skill(place("off/skills/hidden"));
    good_skill(place("elsewhere/skills/foreign"));
    write(place("tools/.claude-plugin/plugin.json"), r#"{"name": "tools", "skills": ["./more", "../../escape"]}"#);
    let entry = |name: &str| format!(r#"[{{"scope": "user", "installPath": {:?}}}]"#, place(name));
    let list = format!(
        r#"{{"version": 2, "plugins": {{"tools@acme": {}, "off@acme": {}, "elsewhere@acme":
            [{{"scope": "project", "projectPath": "/other", "installPath": {:?}}}]}}}}"#,
        entry("tools"),
        entry("off"),
        place("elsewhere"),
    );
    write(world.home(".claude/plugins/installed_plugins.json"), list);
    write(world.home(".claude/settings.json"), r#"{"enabledPlugins": {"tools@acme": true, "off@acme": false}}"#);
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["lint", "ship"]);
    let owner = |entry: &maestro_skills::CatalogueEntry| entry.owner().map(|owner| owner.label().into_owned());
    assert_eq!(catalogue.skills.iter().map(owner).collect::<Vec<_>>(), vec![Some("tools@acme".to_owned()); 2]);
}

#[test]
fn a_list_of_plugins_that_cannot_be_read_brings_nothing_and_stops_nothing() {
    for list in ["", "[]", "{\"plugins\": 3}", "{\"plugins\": {\"a@b\": {\"installPath\": \"relative\"}, \"c\": []}}"] {
        let world = World::new();
        good_skill(world.skills("good"));
        write(world.home(".claude/plugins/installed_plugins.json"), list);
        assert_eq!(ids(&world.load()), ["good"], "{list}");
    }
}
