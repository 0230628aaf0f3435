//! `maestro skills validate`: the standard's rules, strictly.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

fn two_skills() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\n");
    sandbox.write(".claude/skills/Notes/SKILL.md", "---\nname: Notes\ndescription: Takes notes.\n---\n");
    sandbox
}

#[test]
fn validate_judges_every_skill_strictly_whatever_the_settings_say() {
    let sandbox = two_skills();
    assert_snapshot!(sandbox.maestro("skills validate --set skills_builtin=false"), @"
    $ maestro skills validate --set skills_builtin=false
    error[name-invalid]: the name `Notes` breaks the rules: 'N' is none of a-z, 0-9 and -
      --> [PROJECT]/.claude/skills/Notes/SKILL.md:2:7
      hint: rename it, for example to `notes`
    2 skills checked: 1 error, 0 warnings
    --- exit 1
    ");
}

#[test]
fn validate_can_be_asked_about_some_skills_only() {
    let sandbox = two_skills();
    assert_snapshot!(sandbox.maestro("skills validate pdf"), @"
    $ maestro skills validate pdf
    1 skill checked: 0 errors, 0 warnings
    ");
    let notes = sandbox.maestro("skills validate Notes --json");
    assert_eq!(notes.json()["valid"], false);
    assert_eq!(notes.json()["problems"][0]["code"], "name-invalid");
    assert_snapshot!(sandbox.maestro("skills validate pfd"), @"
    $ maestro skills validate pfd
    --- stderr
    error: unknown skill `pfd`
    hint: did you mean `pdf`?
    --- exit 2
    ");
}

#[test]
fn validate_looks_at_the_text_too() {
    let sandbox = Sandbox::new();
    let text = b"---\nname: pdf\ndescription: Reads PDF files.\n---\nA caf\xe9.\n";
    sandbox.write(".claude/skills/pdf/SKILL.md", text);
    assert_snapshot!(sandbox.maestro("skills validate pdf"), @"
    $ maestro skills validate pdf
    warning[file-not-utf8]: the file is not UTF-8 text
      --> [PROJECT]/.claude/skills/pdf/SKILL.md:5:6
      hint: save it as UTF-8, for example: iconv -f latin1 -t utf-8 [PROJECT]/.claude/skills/pdf/SKILL.md > [PROJECT]/.claude/skills/pdf/SKILL.md.new && mv [PROJECT]/.claude/skills/pdf/SKILL.md.new [PROJECT]/.claude/skills/pdf/SKILL.md
    1 skill checked: 0 errors, 1 warning
    ");
}
