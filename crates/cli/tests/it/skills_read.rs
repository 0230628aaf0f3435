//! `maestro skills read`: a skill's text as agents read it.

use std::path::Path;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

fn two_skills() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog. Use it before a release.");
    sandbox.skill("~/.claude/skills", "sql", "Writes SQL. Use it for queries.");
    sandbox
}

#[test]
fn a_skill_is_read_in_the_openskills_envelope() {
    assert_snapshot!(two_skills().maestro("skills read changelog"), @"
    $ maestro skills read changelog
    Reading: changelog
    Base directory: [PROJECT]/.claude/skills/changelog

    ---
    name: changelog
    description: Writes the changelog. Use it before a release.
    ---

    # How to

    Step by step.


    Skill read: changelog
    ");
}

#[test]
fn the_envelope_and_the_text_are_kept_byte_for_byte() {
    let sandbox = Sandbox::new();
    let text =
        "\u{feff}---\r\nname: odd\r\ndescription: Odd line ends.\r\n---\r\n\r\ttab\u{1b}[0m no newline at the end";
    sandbox.write(".claude/skills/odd/SKILL.md", text);
    let base = sandbox.path(".claude/skills/odd");
    let expected = format!("Reading: odd\nBase directory: {}\n\n{text}\n\nSkill read: odd\n", base.display());
    assert_eq!(sandbox.maestro("skills read odd").bytes(), expected.as_bytes());
}

#[test]
fn text_that_is_not_utf8_is_passed_on_untouched() {
    let sandbox = Sandbox::new();
    let text = b"---\nname: latin\ndescription: Its body is Latin-1.\n---\ncaf\xe9\n";
    sandbox.write(".claude/skills/latin/SKILL.md", text);
    let read = sandbox.maestro("skills read latin");
    assert!(read.bytes().windows(text.len()).any(|window| window == text));
}

#[test]
fn several_skills_are_read_in_the_order_they_were_named() {
    let sandbox = two_skills();
    let read = sandbox.maestro("skills read sql,changelog");
    assert_snapshot!(read, @"
    $ maestro skills read sql,changelog
    Reading: sql
    Base directory: [HOME]/.claude/skills/sql

    ---
    name: sql
    description: Writes SQL. Use it for queries.
    ---

    # How to

    Step by step.


    Skill read: sql
    Reading: changelog
    Base directory: [PROJECT]/.claude/skills/changelog

    ---
    name: changelog
    description: Writes the changelog. Use it before a release.
    ---

    # How to

    Step by step.


    Skill read: changelog
    ");
    assert_eq!(sandbox.maestro("skills read sql changelog").stdout(), read.stdout());
    assert_eq!(sandbox.maestro_with(&["skills", "read", "sql, changelog,"]).stdout(), read.stdout());
}

#[test]
fn programs_get_the_text_as_json() {
    assert_snapshot!(two_skills().maestro("skills read changelog --json"), @r#"
    $ maestro skills read changelog --json
    [
      {
        "name": "changelog",
        "base_directory": "[PROJECT]/.claude/skills/changelog",
        "instructions": "---\nname: changelog\ndescription: Writes the changelog. Use it before a release.\n---\n\n# How to\n\nStep by step.\n",
        "cut": false
      }
    ]
    "#);
}

#[test]
fn a_skill_answers_to_its_directory_and_its_display_name_too() {
    let sandbox = Sandbox::new();
    let directory = sandbox.maestro("skills read maestro-worker");
    assert_eq!(sandbox.maestro_with(&["skills", "read", "Maestro Worker"]).stdout(), directory.stdout());
    sandbox.write(".claude/skills/folder/SKILL.md", "---\nname: named\ndescription: Two names.\n---\n");
    assert_eq!(sandbox.maestro("skills read folder").stdout(), sandbox.maestro("skills read named").stdout());
}

#[test]
fn a_display_name_that_two_skills_share_must_be_told_apart() {
    let sandbox = Sandbox::new();
    for id in ["ship-web", "ship-app"] {
        let manifest = r#"{"name": "Ship", "version": "1.0.0", "description": "Ships."}"#;
        sandbox.write(&format!(".maestro/skills/{id}/manifest.json"), manifest);
        sandbox.write(&format!(".maestro/skills/{id}/skill.md"), "# Ship\n");
    }
    assert_snapshot!(sandbox.maestro("skills read Ship"), @"
    $ maestro skills read Ship
    --- stderr
    error: several skills are named `Ship`
    hint: use an ID: ship-app, ship-web
    --- exit 1
    ");
}

#[test]
fn an_unknown_name_is_not_found_and_a_close_one_suggested() {
    assert_snapshot!(two_skills().maestro("skills read chnagelog"), @"
    $ maestro skills read chnagelog
    --- stderr
    error: unknown skill `chnagelog`
    hint: did you mean `changelog`?
    --- exit 2
    ");
    assert_snapshot!(two_skills().maestro("skills read banana"), @"
    $ maestro skills read banana
    --- stderr
    error: unknown skill `banana`
    hint: run `maestro skills list` for the list
    --- exit 2
    ");
}

#[test]
fn when_one_of_several_names_is_unknown_nothing_is_printed() {
    let read = two_skills().maestro("skills read sql,banana");
    assert_eq!((read.code, read.stdout().as_str()), (2, ""), "{read}");
}

#[test]
fn a_broken_skill_is_there_but_cannot_be_loaded() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/skills/half/SKILL.md", "---\nname: half\n---\n\n# Half\n");
    assert_snapshot!(sandbox.maestro("skills read half"), @"
    $ maestro skills read half
    --- stderr
    error: cannot load the skill `half`
      because [PROJECT]/.claude/skills/half/SKILL.md:2:1: there is no description (add `description:` with what the skill does and when to use it)
    hint: fix that; `maestro skills validate` checks it again
    --- exit 1
    ");
}

#[test]
fn a_name_is_never_a_path() {
    let sandbox = two_skills();
    sandbox.skill("elsewhere", "hidden", "Not in any search directory.");
    let absolute = sandbox.path("elsewhere/hidden");
    for name in ["../elsewhere/hidden", "../changelog", "./changelog", ".", "..", absolute.to_str().unwrap()] {
        let read = sandbox.maestro_with(&["skills", "read", name]);
        assert_eq!((read.code, read.stdout().as_str()), (2, ""), "{read}");
    }
    assert_snapshot!(sandbox.maestro("skills read ../elsewhere/hidden"), @"
    $ maestro skills read ../elsewhere/hidden
    --- stderr
    error: unknown skill `../elsewhere/hidden`
    hint: run `maestro skills list` for the list
    --- exit 2
    ");
}

#[test]
fn nothing_but_commas_names_no_skill() {
    assert_snapshot!(two_skills().maestro("skills read ,"), @"
    $ maestro skills read ,
    --- stderr
    error: missing skill name
    hint: run `maestro skills list` for the list
    --- exit 1
    ");
}

#[test]
fn a_built_in_skill_has_its_files_on_disk() {
    let sandbox = Sandbox::new();
    let read = sandbox.maestro("skills read maestro-cli");
    assert_eq!(read.code, 0, "{read}");
    let text = read.stdout();
    let base = text.lines().find_map(|line| line.strip_prefix("Base directory: ")).unwrap();
    assert!(Path::new(base).is_absolute(), "{base}");
    let on_disk = std::fs::read_to_string(Path::new(base).join("skill.md")).unwrap();
    assert_eq!(text, format!("Reading: maestro-cli\nBase directory: {base}\n\n{on_disk}\n\nSkill read: maestro-cli\n"));
}

#[test]
fn many_programs_at_once_on_a_fresh_machine_all_read_the_built_in_skills() {
    let sandbox = Sandbox::new();
    let start = || sandbox.command().args(["skills", "read", "maestro-worker"]).stdout(Stdio::piped()).spawn().unwrap();
    let running: Vec<_> = (0..16).map(|_| start()).collect();
    let texts: Vec<_> = running.into_iter().map(|child| child.wait_with_output().unwrap().stdout).collect();
    let expected = sandbox.maestro("skills read maestro-worker");
    assert_eq!(expected.code, 0, "{expected}");
    for text in texts {
        assert_eq!(String::from_utf8_lossy(&text), expected.stdout());
    }
    let left = std::fs::read_dir(sandbox.sync_dir()).unwrap().count();
    assert_eq!(left, 2, "the link and the directory it leads to");
}

#[test]
fn a_skill_without_instructions_of_its_own_is_put_into_words() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".skills/tickets/skill.json",
        r#"{"name": "tickets", "description": "Reads and closes tickets.", "commands": [
            {"name": "close", "description": "Closes one.", "parameters": {"id": "Which one"}}]}"#,
    );
    assert_snapshot!(sandbox.maestro("skills read tickets"), @"
    $ maestro skills read tickets
    Reading: tickets
    Base directory: [PROJECT]/.skills/tickets

    # tickets

    Reads and closes tickets.

    ## Commands

    - `close`: Closes one.
      - `id` (string, required): Which one


    Skill read: tickets
    ");
}

#[test]
fn a_huge_skill_is_cut_and_the_cut_is_told() {
    let sandbox = Sandbox::new();
    let body = "word ".repeat(300_000);
    sandbox.write(".claude/skills/huge/SKILL.md", format!("---\nname: huge\ndescription: Long.\n---\n{body}"));
    let read = sandbox.maestro("skills read huge");
    assert_eq!(read.code, 0);
    assert!(read.stdout().ends_with("\n\nSkill read: huge\n"));
    assert!(read.bytes().len() < 1_100_000, "{} bytes", read.bytes().len());
    let place = sandbox.path(".claude/skills/huge");
    assert_eq!(read.stderr(), format!("`huge` is larger than 1 MiB; the rest is in {}\n", place.display()));
}

#[test]
fn reading_needs_a_name() {
    assert_snapshot!(Sandbox::new().maestro("skills read"), @"
    $ maestro skills read
    --- stderr
    error: missing argument: NAME …
    hint: for example: `maestro skills read planner`; `maestro skills list` has the names
    --- exit 1
    ");
}

#[test]
fn where_the_data_directory_cannot_be_made_a_built_in_skill_is_still_read() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.local/share/maestro", "a file in the place of the directory");
    let read = sandbox.maestro("skills read maestro-cli");
    let base = read.stdout().lines().nth(1).unwrap().trim_start_matches("Base directory: ").to_owned();
    assert!(std::path::Path::new(&base).join("skill.md").is_file(), "{base}");
    let listed = sandbox.maestro("skills list --json").json();
    assert_eq!(listed["problems"][0]["code"], "pack-not-synced");
}
