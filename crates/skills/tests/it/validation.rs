//! Which broken rules skip a skill, and which are only told?

use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use maestro_skills::Catalogue;

use crate::world::{World, found, ids, is_broken, skill_md, write};

const DIRECTORY: &str = "pdf-forms";

/// A skill folder with this header, loaded leniently and strictly.
fn load_both(header: &str) -> (Catalogue, Catalogue) {
    let world = World::new();
    write(world.skills(DIRECTORY).join("SKILL.md"), format!("---\n{header}---\nBody.\n"));
    (world.load(), world.load_strictly())
}

fn the_problem(catalogue: &Catalogue, code: ProblemCode) -> &Problem {
    let mut of_code = catalogue.problems.iter().filter(|problem| problem.code == code);
    let problem = of_code.next().unwrap_or_else(|| panic!("no {code} in {:?}", catalogue.problems));
    assert!(of_code.next().is_none(), "{code} is told twice");
    assert!(problem.path.ends_with("SKILL.md"));
    problem
}

/// A rule of the standard that a header breaks, and what the user is told.
struct Rule<'a> {
    header: &'a str,
    code: ProblemCode,
    at: (usize, usize),
    message: &'a str,
    help: &'a str,
}

impl Rule<'_> {
    fn warns_when_lenient_and_skips_when_strict(&self) {
        let (lenient, strict) = load_both(self.header);
        assert_eq!(lenient.skills.len(), 1, "{}", self.header);
        assert!(strict.skills.is_empty() && is_broken(&strict, DIRECTORY), "{}", self.header);
        for (catalogue, severity) in [(&lenient, ProblemSeverity::Warning), (&strict, ProblemSeverity::Error)] {
            let problem = the_problem(catalogue, self.code);
            assert_eq!(problem.severity, severity, "{}", self.header);
            assert_eq!((problem.line, problem.column), self.at, "{}", self.header);
            assert_eq!(problem.message, self.message);
            assert_eq!(problem.help, self.help);
        }
    }
}

#[test]
fn names_outside_the_grammar_are_skipped_only_when_strict() {
    let too_long = "x".repeat(65);
    let cases = [
        ("PDF Forms", "'P' is none of a-z, 0-9 and -", "rename it, for example to `pdf-forms`"),
        ("-edge", "it begins or ends with a hyphen", "rename it, for example to `edge`"),
        ("edge-", "it begins or ends with a hyphen", "rename it, for example to `edge`"),
        ("a--b", "it has two hyphens in a row", "rename it, for example to `a-b`"),
        ("<script>", "'<' is none of a-z, 0-9 and -", "rename it, for example to `script`"),
        ("../../etc", "'.' is none of a-z, 0-9 and -", "rename it, for example to `etc`"),
        ("表", "'表' is none of a-z, 0-9 and -", "use lower-case letters, digits and single hyphens"),
        (&too_long, "it has 65 characters, 64 are allowed", &format!("rename it, for example to `{}`", "x".repeat(64))),
    ];
    for (name, fault, help) in cases {
        Rule {
            header: &format!("name: {name}\ndescription: Fills in forms.\n"),
            code: ProblemCode::NameInvalid,
            at: (2, 7),
            message: &format!("the name `{name}` breaks the rules: {fault}"),
            help,
        }
        .warns_when_lenient_and_skips_when_strict();
    }
}

#[test]
fn a_missing_name_is_taken_from_the_directory_only_when_lenient() {
    for header in ["description: Fills in forms.\n", "name:\ndescription: Fills in forms.\n"] {
        let (lenient, _) = load_both(header);
        assert_eq!(ids(&lenient), [DIRECTORY]);
    }
    Rule {
        header: "description: Fills in forms.\n",
        code: ProblemCode::NameMissing,
        at: (2, 1),
        message: "there is no name; the directory's is used",
        help: "add `name: pdf-forms`",
    }
    .warns_when_lenient_and_skips_when_strict();
}

#[test]
fn a_description_of_more_than_1024_characters_is_skipped_only_when_strict() {
    Rule {
        header: &format!("name: pdf-forms\ndescription: {}\n", "表".repeat(1025)),
        code: ProblemCode::DescriptionTooLong,
        at: (3, 14),
        message: "the description has 1025 characters, 1024 are allowed",
        help: "say what it does and when to use it; the rest belongs into the body",
    }
    .warns_when_lenient_and_skips_when_strict();
}

#[test]
fn a_compatibility_note_outside_1_to_500_characters_is_skipped_only_when_strict() {
    for (note, chars) in [("é".repeat(501), 501), ("\"\"".to_owned(), 0), ("\"  \"".to_owned(), 0)] {
        Rule {
            header: &format!("name: pdf-forms\ndescription: Fills in forms.\ncompatibility: {note}\n"),
            code: ProblemCode::CompatibilityInvalid,
            at: (4, 16),
            message: &format!("`compatibility` has {chars} characters, 1 to 500 are allowed"),
            help: "shorten it, or leave it out",
        }
        .warns_when_lenient_and_skips_when_strict();
    }
}

#[test]
fn limits_count_characters_and_not_bytes() {
    let name = "x".repeat(64);
    let world = World::new();
    let header = format!("name: {name}\ndescription: {}\ncompatibility: {}\n", "表".repeat(1024), "é".repeat(500));
    write(world.skills(&name).join("SKILL.md"), format!("---\n{header}---\n"));
    let catalogue = world.load_strictly();
    assert_eq!(found(&catalogue, &name).description.chars().count(), 1024);
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
}

#[test]
fn the_shortest_values_that_the_rules_allow_are_fine() {
    let world = World::new();
    write(world.skills("a/SKILL.md"), "---\nname: a\ndescription: b\ncompatibility: c\n---\n");
    let catalogue = world.load_strictly();
    assert_eq!(ids(&catalogue), ["a"]);
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
}

#[test]
fn unknown_fields_never_skip_a_skill() {
    let (lenient, strict) =
        load_both("name: pdf-forms\ndescription: Fills in forms.\ninputs: [file]\nallowed-tool: Read\n");
    for catalogue in [lenient, strict] {
        let skill = found(&catalogue, DIRECTORY);
        assert_eq!(skill.extra.keys().collect::<Vec<_>>(), ["inputs", "allowed-tool"]);
        let [typo] = catalogue.problems.as_slice() else { panic!("{:?}", catalogue.problems) };
        assert_eq!((typo.code, typo.severity), (ProblemCode::FieldTypo, ProblemSeverity::Warning));
        assert_eq!((typo.line, typo.column), (5, 1));
        assert_eq!(typo.message, "unknown field `allowed-tool`");
        assert_eq!(typo.help, "did you mean `allowed-tools`?");
    }
}

#[test]
fn a_field_in_another_language_is_no_slip() {
    let header = "name: pdf-forms\ndescription: Fills in forms.\ndescription-cn: 填表\ndescription_zh-TW: 填表\n\
                  name.ja: 書式\n";
    let (lenient, strict) = load_both(header);
    for catalogue in [lenient, strict] {
        assert_eq!(catalogue.problems, [], "nothing to report");
        assert_eq!(found(&catalogue, DIRECTORY).extra.len(), 3);
    }
}

#[test]
fn the_hint_for_a_repaired_value_is_whole() {
    let value = format!("Fills in forms: {}all of them.", "and checks them, ".repeat(40));
    let (lenient, _) = load_both(&format!("name: pdf-forms\ndescription: {value}\n"));
    let problem = the_problem(&lenient, ProblemCode::FrontmatterRepaired);
    assert_eq!(problem.help, format!("write: description: '{value}'"));
}

/// What is told but skips nothing, even strictly.
#[test]
fn faults_outside_the_rules_are_told_and_never_skip_a_skill() {
    let rest = "description: Fills in forms.\n";
    let cases = [
        (format!("name: other\n{rest}"), ProblemCode::NameNotDirectory, (2, 7), "rename one of the two"),
        (format!("name: pdf-forms\n{rest}metadata: words\n"), ProblemCode::FieldType, (4, 11), "it must be a mapping"),
        (format!("name: pdf-forms\n{rest}compatibility: [a]\n"), ProblemCode::FieldType, (4, 16), "it must be text"),
        (
            format!("name: pdf-forms\n{rest}disable-model-invocation: perhaps\n"),
            ProblemCode::FieldType,
            (4, 27),
            "it must be true or false",
        ),
        (format!("name: pdf-forms\n{rest}name: twice\n"), ProblemCode::FieldDuplicate, (4, 1), "remove one of the two"),
        (
            format!("name: pdf-forms\n{rest}note: a: b\n"),
            ProblemCode::FrontmatterRepaired,
            (4, 8),
            "write: note: 'a: b'",
        ),
        (
            "name: pdf-forms\ndescription: Fills\u{200b}in\n".to_owned(),
            ProblemCode::HiddenUnicode,
            (3, 14),
            "remove it; if you did not put it there, do not trust this skill",
        ),
    ];
    for (header, code, at, help) in cases {
        let (lenient, strict) = load_both(&header);
        for catalogue in [lenient, strict] {
            assert_eq!(catalogue.skills.len(), 1, "{header}");
            let problem = the_problem(&catalogue, code);
            assert_eq!(problem.severity, ProblemSeverity::Warning, "{header}");
            assert_eq!((problem.line, problem.column), at, "{header}");
            assert!(problem.help.starts_with(help), "{}", problem.help);
        }
    }
}

#[test]
fn a_missing_or_blank_description_always_skips() {
    let cases = [
        ("name: pdf-forms\n", (2, 1)),
        ("name: pdf-forms\ndescription:\n", (3, 1)),
        ("name: pdf-forms\ndescription: ~\n", (3, 1)),
        ("name: pdf-forms\ndescription: \"\"\n", (3, 1)),
        ("name: pdf-forms\ndescription: \" \\t \"\n", (3, 1)),
        ("name: pdf-forms\ndescription: >-\n\nlicense: MIT\n", (3, 1)),
        ("name: pdf-forms\ndescription: [a, b]\n", (3, 1)),
        ("", (2, 1)),
    ];
    for (header, at) in cases {
        let (lenient, strict) = load_both(header);
        for catalogue in [lenient, strict] {
            assert!(catalogue.skills.is_empty() && is_broken(&catalogue, DIRECTORY), "{header}");
            let problem = the_problem(&catalogue, ProblemCode::DescriptionMissing);
            assert_eq!(problem.severity, ProblemSeverity::Error);
            assert_eq!((problem.line, problem.column), at, "{header}");
            assert_eq!(problem.message, "there is no description");
            assert_eq!(problem.help, "add `description:` with what the skill does and when to use it");
        }
    }
}

#[test]
fn frontmatter_that_cannot_be_read_always_skips() {
    let good = skill_md(DIRECTORY, "Fills in forms.");
    let cases = [
        (String::new(), ProblemCode::FrontmatterMissing, (1, 1), "begin the file with a line `---`"),
        ("\n# Title\n".to_owned(), ProblemCode::FrontmatterMissing, (2, 1), "begin the file with a line `---`"),
        (format!("```yaml\n{good}```\n"), ProblemCode::FrontmatterMissing, (1, 1), "remove the ``` lines around it"),
        ("---\nname: pdf-forms\n".to_owned(), ProblemCode::FrontmatterUnclosed, (1, 1), "put a line `---` after"),
        ("---\n- name\n- description\n---\n".to_owned(), ProblemCode::FrontmatterInvalid, (2, 1), "write `name: …`"),
        ("---\njust words\n---\n".to_owned(), ProblemCode::FrontmatterInvalid, (2, 1), "write `name: …`"),
        (
            "---\n[never\nclosed\n---\n".to_owned(),
            ProblemCode::FrontmatterInvalid,
            (2, 1),
            "put quotes around the value",
        ),
    ];
    for (text, code, at, help) in cases {
        let world = World::new();
        write(world.skills(DIRECTORY).join("SKILL.md"), &text);
        for catalogue in [world.load(), world.load_strictly()] {
            assert!(catalogue.skills.is_empty() && is_broken(&catalogue, DIRECTORY), "{text}");
            let problem = the_problem(&catalogue, code);
            assert_eq!(problem.severity, ProblemSeverity::Error, "{text}");
            assert_eq!((problem.line, problem.column), at, "{text}: {}", problem.message);
            assert!(problem.help.starts_with(help), "{}", problem.help);
        }
    }
}

/// A line further left ends the YAML; what follows must not be lost without a word.
#[test]
fn fields_that_belong_to_no_document_are_not_dropped_in_silence() {
    for header in ["  description: Fills in forms.\nname: other\n", "{description: Fills in forms.}\nname: other\n"] {
        let (catalogue, _) = load_both(header);
        assert!(catalogue.skills.is_empty());
        let problem = the_problem(&catalogue, ProblemCode::FrontmatterInvalid);
        assert_eq!((problem.severity, problem.line, problem.column), (ProblemSeverity::Error, 3, 1));
    }
}
