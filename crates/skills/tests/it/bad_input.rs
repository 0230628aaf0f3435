//! Does anything that lies about in a skills directory stop or hide a good skill?

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use maestro_skills::{Catalogue, NameLookup, instructions};
use proptest::prelude::*;

use crate::world::{World, found, good_skill, ids, is_broken, link, pipe, skill_md, write};

/// Loads what `make` puts beside a good skill, and checks that the good one is there.
fn beside_a_good_skill(make: impl Fn(&Path)) -> Catalogue {
    let world = World::new();
    good_skill(world.skills("good"));
    make(&world.skills("bad"));
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "good").path, world.skills("good"));
    catalogue
}

/// The one error about a folder that is not loaded.
fn only_error(catalogue: &Catalogue) -> &Problem {
    assert_eq!(ids(catalogue), ["good"]);
    assert!(is_broken(catalogue, "bad"), "what is there but broken is not missing");
    let [problem] = catalogue.problems.as_slice() else { panic!("{:?}", catalogue.problems) };
    assert_eq!(problem.severity, ProblemSeverity::Error);
    problem
}

fn error_of(file: &str, bytes: impl AsRef<[u8]>) -> Problem {
    let catalogue = beside_a_good_skill(|dir| write(dir.join(file), &bytes));
    let problem = only_error(&catalogue).clone();
    assert!(problem.path.ends_with(Path::new("bad").join(file)), "{problem:?}");
    problem
}

#[test]
fn frontmatter_that_is_no_utf8_is_reported_with_its_place() {
    let problem = error_of("SKILL.md", b"---\nname: bad\ndescription: caf\xe9 au lait\n---\n");
    assert_eq!(problem.code, ProblemCode::FileNotUtf8);
    assert_eq!((problem.line, problem.column), (3, 17));
    assert!(problem.help.contains("iconv"), "{}", problem.help);
}

#[test]
fn a_body_that_is_no_utf8_does_not_keep_a_skill_from_loading() {
    let world = World::new();
    let mut bytes = skill_md("latin", "Has an old body.").into_bytes();
    bytes.extend_from_slice(b"caf\xe9\n");
    write(world.skills("latin/SKILL.md"), &bytes);
    let catalogue = world.load();
    assert_eq!(instructions(found(&catalogue, "latin")).unwrap().bytes, bytes);
}

#[test]
fn a_utf16_file_is_reported() {
    let text = skill_md("bad", "Was saved as UTF-16.");
    let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let big: Vec<u8> = [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
    for bytes in [little, big] {
        let problem = error_of("SKILL.md", bytes);
        assert_eq!((problem.code, problem.line, problem.column), (ProblemCode::FileNotUtf8, 1, 1));
    }
}

#[test]
fn a_character_that_a_read_cuts_in_two_is_no_fault_of_the_file() {
    for shift in 0..4 {
        let text = format!("{}{}", " ".repeat(shift), "# \u{1f600}".repeat(4000));
        assert_eq!(error_of("SKILL.md", &text).code, ProblemCode::FrontmatterMissing, "{shift}");
        let unclosed = format!("---\nname: {}{}", "a".repeat(shift), "\u{1f600}".repeat(40_000));
        assert_eq!(error_of("SKILL.md", &unclosed).code, ProblemCode::FrontmatterTooLarge, "{shift}");
    }
    let cut = b"# A title\n\xf0\x9f\x98";
    assert_eq!(error_of("SKILL.md", cut).code, ProblemCode::FileNotUtf8, "here the file itself ends in one");
}

#[test]
fn a_link_that_became_a_plain_file_is_called_that() {
    let problem = error_of("SKILL.md", "../../kit/my skills/../bad/SKILL.md");
    assert_eq!(problem.code, ProblemCode::FrontmatterMissing, "no path has a space that nobody would quote");
    let problem = error_of("SKILL.md", "../../kit/bad/SKILL.md");
    assert_eq!(problem.code, ProblemCode::LinkFlattened);
    assert!(problem.message.contains("`../../kit/bad/SKILL.md`"), "{}", problem.message);
    let command = format!("ln -sf ../../kit/bad/SKILL.md {}", problem.path.display());
    assert!(problem.help.ends_with(&command), "{}", problem.help);
}

#[test]
fn an_unfinished_merge_is_called_that() {
    let ours = "---\nname: bad\ndescription: Ours.\n---\n";
    let theirs = "---\nname: bad\ndescription: Theirs.\n---\n";
    let whole = format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> topic\n");
    let problem = error_of("SKILL.md", whole);
    assert_eq!((problem.code, problem.line), (ProblemCode::MergeConflict, 1));
    let within =
        "---\nname: bad\n<<<<<<< HEAD\ndescription: Ours.\n=======\ndescription: Theirs.\n>>>>>>> topic\n---\n";
    let problem = error_of("SKILL.md", within);
    assert_eq!((problem.code, problem.line), (ProblemCode::MergeConflict, 3));
}

#[test]
fn nul_bytes_are_reported_and_never_end_up_in_a_name() {
    assert_eq!(error_of("SKILL.md", [0; 5000]).code, ProblemCode::FrontmatterMissing);
    assert_eq!(error_of("manifest.json", b"{\"name\": \"a\0b\"}").code, ProblemCode::ManifestInvalid);
    let catalogue =
        beside_a_good_skill(|dir| write(dir.join("SKILL.md"), "---\nname: ba\0d\ndescription: x\0y\n---\n"));
    assert!(catalogue.problems.iter().any(|problem| problem.path.ends_with("bad/SKILL.md")));
    for skill in &catalogue.skills {
        assert!(!skill.id.as_str().contains('\0') && !skill.description.contains('\0'));
    }
}

/// A file of 100 MB that takes no room on disk.
fn huge(path: &Path, beginning: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = File::create(path).unwrap();
    file.write_all(beginning).unwrap();
    file.set_len(100_000_000).unwrap();
}

#[test]
fn a_skill_md_of_100_mb_is_loaded_with_a_warning_and_its_instructions_are_cut() {
    let world = World::new();
    huge(&world.skills("huge/SKILL.md"), skill_md("huge", "Has a very long body.").as_bytes());
    let catalogue = world.load();
    assert_eq!(world.problems(&catalogue), ["warning file-too-large work/app/.claude/skills/huge/SKILL.md:1:1"]);
    let read = instructions(found(&catalogue, "huge")).unwrap();
    assert!(read.cut);
    assert_eq!(read.bytes.len(), 1024 * 1024);
}

#[test]
fn a_header_without_end_in_a_file_of_100_mb_is_an_error() {
    let long_line = format!("---\nname: bad\ndescription: {}", "word ".repeat(50_000));
    for beginning in ["---\nname: bad\n", &long_line] {
        let catalogue = beside_a_good_skill(|dir| huge(&dir.join("SKILL.md"), beginning.as_bytes()));
        let problem = only_error(&catalogue);
        assert_eq!(problem.code, ProblemCode::FrontmatterTooLarge);
        assert_eq!(problem.message, "the frontmatter does not end within 64 KiB");
    }
}

#[test]
fn a_header_just_below_the_limit_is_read_whole() {
    let world = World::new();
    let text = format!("---\nname: long\nnote: {}\ndescription: Comes last.\n---\n", "表".repeat(21_000));
    assert!(text.len() > 60_000 && text.len() < 64 * 1024);
    write(world.skills("long/SKILL.md"), text);
    assert_eq!(found(&world.load(), "long").description, "Comes last.");
}

#[test]
fn other_forms_of_100_mb_are_an_error() {
    for file in ["manifest.json", "skill.json", "workflow.yaml", "skill.yaml"] {
        let catalogue = beside_a_good_skill(|dir| huge(&dir.join(file), b"{ "));
        assert_eq!(only_error(&catalogue).code, ProblemCode::FileTooLarge, "{file}");
    }
}

#[test]
fn a_yaml_bomb_is_refused() {
    let mut lines = vec!["name: bad\ndescription: Grows.\na0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
    for level in 1..12 {
        let alias = format!("*a{}", level - 1);
        lines.push(format!("a{level}: &a{level} [{}]", vec![alias; 9].join(", ")));
    }
    let bomb = lines.join("\n") + "\n";
    let problem = error_of("SKILL.md", format!("---\n{bomb}---\n"));
    assert_eq!((problem.code, problem.line), (ProblemCode::FrontmatterTooLarge, 5));
    assert_eq!(problem.help, "write plain `key: value` lines");
    assert_eq!(error_of("workflow.yaml", &bomb).code, ProblemCode::WorkflowInvalid);
}

#[test]
fn deep_nesting_is_refused() {
    let flow = format!("a: {}1{}\n", "[".repeat(60), "]".repeat(60));
    let block = (0..60).map(|level| " ".repeat(level) + "a:\n").collect::<String>();
    for deep in [flow, block] {
        let problem = error_of("SKILL.md", format!("---\nname: bad\ndescription: Nests.\n{deep}---\n"));
        assert_eq!(problem.code, ProblemCode::FrontmatterTooLarge);
    }
    let json = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(error_of("manifest.json", json).code, ProblemCode::ManifestInvalid);
}

#[test]
fn a_pipe_in_the_place_of_a_form_is_reported_and_not_waited_for() {
    for file in ["SKILL.md", "skill.md", "manifest.json", "skill.json", "workflow.yaml", "skill.yaml"] {
        let catalogue = beside_a_good_skill(|dir| pipe(dir.join(file)));
        let problem = only_error(&catalogue);
        assert_eq!(problem.code, ProblemCode::FileUnreadable);
        assert!(problem.path.ends_with(file));
    }
}

#[test]
fn a_link_to_a_pipe_is_reported_and_not_waited_for() {
    let catalogue = beside_a_good_skill(|dir| {
        pipe(dir.join("queue"));
        link("queue", dir.join("SKILL.md"));
    });
    assert_eq!(only_error(&catalogue).code, ProblemCode::FileUnreadable);
}

#[test]
fn the_instructions_of_a_manifest_are_not_waited_for_when_they_are_a_pipe() {
    let world = World::new();
    write(world.skills("mute/manifest.json"), r#"{"name": "P", "version": "1.0.0", "description": "d"}"#);
    pipe(world.skills("mute/skill.md"));
    let catalogue = world.load();
    assert_eq!(instructions(found(&catalogue, "mute")).unwrap().bytes, b"");
}

#[test]
fn a_skill_md_that_became_a_pipe_is_not_waited_for() {
    let world = World::new();
    good_skill(world.skills("changed"));
    let catalogue = world.load();
    let skill = found(&catalogue, "changed");
    fs::remove_file(skill.path.join("SKILL.md")).unwrap();
    pipe(skill.path.join("SKILL.md"));
    assert!(instructions(skill).is_err());
}

#[test]
fn a_directory_in_the_place_of_a_form_is_reported() {
    let catalogue = beside_a_good_skill(|dir| fs::create_dir_all(dir.join("SKILL.md")).unwrap());
    let problem = only_error(&catalogue);
    assert_eq!(problem.code, ProblemCode::FileUnreadable);
    assert!(problem.path.ends_with("bad/SKILL.md"));
}

#[test]
fn a_hostile_name_is_kept_as_text_and_reported() {
    for name in ["<script>", "../../etc/passwd", "a/b", "C:\\x", "$(id)"] {
        let catalogue =
            beside_a_good_skill(|dir| write(dir.join("SKILL.md"), skill_md(&format!("'{name}'"), "Tries.")));
        assert_eq!(found(&catalogue, name).id.as_str(), name);
        let codes: Vec<ProblemCode> = catalogue.problems.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, [ProblemCode::NameInvalid, ProblemCode::NameNotDirectory], "{name}");
    }
}

#[test]
fn an_empty_file_is_reported() {
    for (file, code) in [
        ("SKILL.md", ProblemCode::FrontmatterMissing),
        ("skill.md", ProblemCode::FrontmatterMissing),
        ("manifest.json", ProblemCode::ManifestInvalid),
        ("skill.json", ProblemCode::ManifestInvalid),
    ] {
        let problem = error_of(file, "");
        assert_eq!((problem.code, problem.line, problem.column), (code, 1, 1), "{file}");
    }
    assert_eq!(error_of("SKILL.md", "").message, "the file is empty");
    assert_eq!(error_of("SKILL.md", " \n\t\n".repeat(5000)).message, "the file is empty");
}

#[test]
fn json_that_is_no_object_or_no_json_is_reported() {
    for file in ["manifest.json", "skill.json"] {
        for (text, message, at) in [
            ("[]", "the file is not a JSON object", (1, 1)),
            ("null", "the file is not a JSON object", (1, 1)),
            ("\"text\"", "the file is not a JSON object", (1, 1)),
            ("{\n  \"name\": oops\n}", "the file is not valid JSON", (2, 11)),
            ("{\"name\": \"cut", "the file is not valid JSON", (1, 13)),
        ] {
            let problem = error_of(file, text);
            assert_eq!(problem.code, ProblemCode::ManifestInvalid);
            assert!(problem.message.starts_with(message), "{text}: {}", problem.message);
            assert_eq!((problem.line, problem.column), at, "{text}");
        }
    }
}

#[test]
fn a_skill_json_without_description_is_reported() {
    assert_eq!(error_of("skill.json", "{\"name\": \"bad\"}").code, ProblemCode::DescriptionMissing);
}

#[test]
fn a_workflow_that_is_no_mapping_or_no_yaml_is_reported() {
    for (text, line) in [("- a\n- b\n", 1), ("name: bad\nsteps: [a\n", 2), ("words\n", 1)] {
        let problem = error_of("workflow.yaml", text);
        assert_eq!((problem.code, problem.line), (ProblemCode::WorkflowInvalid, line), "{text}: {}", problem.message);
    }
}

/// What may stand in a file that should be a skill.
fn anything() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..600);
    let text = "(?s).{0,200}".prop_map(String::into_bytes);
    let header = ("(?s).{0,120}", any::<bool>()).prop_map(|(text, closed)| {
        let end = if closed { "\n---\n" } else { "" };
        format!("---\ndescription: {text}{end}").into_bytes()
    });
    prop_oneof![1 => Just(Vec::new()), 3 => bytes, 3 => text, 3 => header]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mix_of_files_hides_a_good_skill_or_drops_a_bad_one_in_silence(
        folders in prop::collection::vec(prop::option::of(anything()), 1..16)
    ) {
        let world = World::new();
        for (index, folder) in folders.iter().enumerate() {
            let dir = world.skills(&format!("skill-{index}"));
            match folder {
                None => good_skill(&dir),
                Some(bytes) => write(dir.join("SKILL.md"), bytes),
            }
        }
        let catalogue = world.load();
        for (index, folder) in folders.iter().enumerate() {
            let name = format!("skill-{index}");
            let path = world.skills(&name);
            match catalogue.find(&name) {
                NameLookup::Found(skill) => prop_assert_eq!(&skill.path, &path),
                NameLookup::Broken(broken) => {
                    prop_assert!(folder.is_some());
                    prop_assert_eq!(&broken.path, &path);
                    prop_assert!(catalogue.problems_of(&path).any(|problem| problem.severity == ProblemSeverity::Error));
                }
                other => prop_assert!(false, "{}: {:?}", name, other),
            }
        }
    }
}
