//! `maestro skills prompt`: skills as a prompt holds them.

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;

/// Two skills and nothing else.
fn two_skills() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    sandbox.skill(".claude/skills", "changelog", "Writes the <changelog> & tags. Use it before a release.");
    sandbox.skill("~/.claude/skills", "sql", "Writes SQL. Use it for queries.");
    sandbox
}

#[test]
fn the_table_of_all_skills_is_the_block_of_openskills_with_our_command() {
    assert_snapshot!(two_skills().maestro("skills prompt"), @r#"
    $ maestro skills prompt
    <skills_system priority="1">

    ## Available Skills

    <!-- SKILLS_TABLE_START -->
    <usage>
    When users ask you to perform tasks, check if any of the available skills below can help complete the task more effectively. Skills provide specialized capabilities and domain knowledge.

    How to use skills:
    - Invoke: `maestro skills read <skill-name>` (run in your shell)
      - For multiple: `maestro skills read skill-one,skill-two`
    - The skill content will load with detailed instructions on how to complete the task
    - Base directory provided in output for resolving bundled resources (references/, scripts/, assets/)

    Usage notes:
    - Only use skills listed in <available_skills> below
    - Do not invoke a skill that is already loaded in your context
    - Each skill invocation is stateless
    </usage>

    <available_skills>

    <skill>
    <name>changelog</name>
    <description>Writes the &lt;changelog&gt; &amp; tags. Use it before a release.</description>
    <location>project</location>
    </skill>

    <skill>
    <name>sql</name>
    <description>Writes SQL. Use it for queries.</description>
    <location>global</location>
    </skill>

    </available_skills>
    <!-- SKILLS_TABLE_END -->

    </skills_system>
    "#);
}

#[test]
fn the_table_can_be_told_in_other_words() {
    let sandbox = two_skills();
    assert_snapshot!(sandbox.maestro("skills prompt --format to-prompt"), @"
    $ maestro skills prompt --format to-prompt
    <available_skills>
    <skill>
    <name>
    changelog
    </name>
    <description>
    Writes the &lt;changelog&gt; &amp; tags. Use it before a release.
    </description>
    <location>
    [PROJECT]/.claude/skills/changelog/SKILL.md
    </location>
    </skill>
    <skill>
    <name>
    sql
    </name>
    <description>
    Writes SQL. Use it for queries.
    </description>
    <location>
    [HOME]/.claude/skills/sql/SKILL.md
    </location>
    </skill>
    </available_skills>
    ");
    assert_snapshot!(sandbox.maestro("skills prompt --format content"), @"
    $ maestro skills prompt --format content
    The following skills provide specialized instructions for specific tasks.
    When a task matches a skill's description, use your file-read tool to load
    the SKILL.md at the listed location before proceeding.
    When a skill references relative paths, resolve them against the skill's
    directory (the parent of SKILL.md) and use absolute paths in tool calls.

    <available_skills>
      <skill>
        <name>changelog</name>
        <description>Writes the &lt;changelog&gt; &amp; tags. Use it before a release.</description>
        <location>[PROJECT]/.claude/skills/changelog/SKILL.md</location>
      </skill>
      <skill>
        <name>sql</name>
        <description>Writes SQL. Use it for queries.</description>
        <location>[HOME]/.claude/skills/sql/SKILL.md</location>
      </skill>
    </available_skills>
    ");
    assert_snapshot!(sandbox.maestro("skills prompt --format manifest"), @"
    $ maestro skills prompt --format manifest
    ---
    # changelog (v1.0.0)

    Writes the <changelog> & tags. Use it before a release.

    ---
    # sql (v1.0.0)

    Writes SQL. Use it for queries.
    ");
}

#[test]
fn a_budget_shortens_descriptions_and_says_so() {
    let sandbox = two_skills();
    let long =
        "Draws diagrams of what talks to what, in as many boxes as it takes, and explains each of them at length.";
    sandbox.skill(".claude/skills", "diagrams", long);
    assert_snapshot!(sandbox.maestro("skills prompt --format manifest --budget 60"), @"
    $ maestro skills prompt --format manifest --budget 60
    ---
    # changelog (v1.0.0)

    Writes the <changelog> & tags. Use it before a release.

    ---
    # diagrams (v1.0.0)

    Draws diagrams of what talks to what, in as many boxes as it takes, and…

    ---
    # sql (v1.0.0)

    Writes SQL. Use it for queries.
    --- stderr
    1 description is cut to fit 60 tokens: diagrams (71 of 104 characters)
    hint: set `skills_budget_tokens` to change the budget
    ");
    let told = sandbox.maestro("skills prompt --format manifest --json --set skills_budget_tokens=60").json();
    assert_eq!(told["left_out"], json!([]));
    assert_eq!(told["cut"][0]["name"], "diagrams");
    assert!(told["text"].as_str().unwrap().len() <= 60 * 4, "{told}");
    let less = sandbox.maestro("skills prompt --format manifest --json --budget 45").json();
    assert_eq!(less["left_out"], json!(["diagrams", "sql"]), "a name without a word about it helps nobody");
}

#[test]
fn with_ten_thousand_skills_the_prompt_stays_within_its_budget_and_says_what_it_left_out() {
    let sandbox = Sandbox::new();
    for number in 0..10_000 {
        sandbox.skill(".claude/skills", &format!("skill-{number:04}"), "One of many. Use it when there is no other.");
    }
    let told = sandbox.maestro("skills prompt --json").json();
    let text = told["text"].as_str().unwrap();
    assert!(text.len() <= 4_000 * 4, "{}", text.len());
    let shown = text.matches("<skill>").count();
    assert!(shown > 100, "{shown}");
    let left_out = told["left_out"].as_array().unwrap().len();
    let built_in = Sandbox::new().maestro("skills list --json").json()["skills"].as_array().unwrap().len();
    assert_eq!(shown + left_out, 10_000 + built_in, "with the built-in ones");
    let rest = "more skills are not listed here; `maestro skills select \"TASK\"` finds those that fit.";
    assert!(text.contains(&format!("{left_out} {rest}")));
    let notes = sandbox.maestro("skills prompt").stderr();
    assert!(notes.contains(&format!("{left_out} skills are left out to fit 4000 tokens: ")), "{notes}");
    assert!(notes.lines().all(|line| line.len() < 1_000), "{notes}");
}

#[test]
fn a_skill_that_a_model_may_not_choose_is_only_told_when_named() {
    let sandbox = two_skills();
    let shy = "---\nname: shy\ndescription: Only by hand.\ndisable-model-invocation: true\n---\nBody.\n";
    sandbox.write(".claude/skills/shy/SKILL.md", shy);
    for format in ["openskills", "to-prompt", "content", "manifest"] {
        let table = sandbox.maestro(&format!("skills prompt --format {format}")).stdout();
        assert!(table.contains("sql") && !table.contains("shy"), "{table}");
        assert!(sandbox.maestro(&format!("skills prompt shy --format {format}")).stdout().contains("shy"));
    }
}

#[test]
fn without_skills_there_is_nothing_to_tell() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    assert_snapshot!(sandbox.maestro("skills prompt"), @"
    $ maestro skills prompt
    --- stderr
    No skills found. Run `maestro doctor` for the directories.
    ");
    assert_eq!(
        sandbox.maestro("skills prompt --format to-prompt").stdout(),
        "<available_skills>\n</available_skills>\n"
    );
}

#[test]
fn a_named_skill_is_told_in_full_in_the_words_that_were_asked_for() {
    let sandbox = two_skills();
    sandbox.write(".claude/skills/changelog/references/style.md", "Be brief.\n");
    let read = sandbox.maestro("skills read changelog,sql");
    assert_eq!(sandbox.maestro("skills prompt changelog sql").stdout(), read.stdout());
    assert_snapshot!(sandbox.maestro("skills prompt changelog --format content"), @r#"
    $ maestro skills prompt changelog --format content
    <skill_content name="changelog">
    # How to

    Step by step.

    Skill directory: [PROJECT]/.claude/skills/changelog
    Relative paths in this skill are relative to the skill directory.

    <skill_resources>
      <file>references/style.md</file>
    </skill_resources>
    </skill_content>
    "#);
    assert_snapshot!(sandbox.maestro("skills prompt sql --format to-prompt"), @"
    $ maestro skills prompt sql --format to-prompt
    <available_skills>
    <skill>
    <name>
    sql
    </name>
    <description>
    Writes SQL. Use it for queries.
    </description>
    <location>
    [HOME]/.claude/skills/sql/SKILL.md
    </location>
    </skill>
    </available_skills>
    ");
    assert_snapshot!(sandbox.maestro("skills prompt changelog --set skills_load_references=true"), @"
    $ maestro skills prompt changelog --set skills_load_references=true
    Reading: changelog
    Base directory: [PROJECT]/.claude/skills/changelog

    ---
    name: changelog
    description: Writes the <changelog> & tags. Use it before a release.
    ---

    # How to

    Step by step.


    ---

    ## References

    ### style.md

    Be brief.


    Skill read: changelog
    ");
}

#[test]
fn a_manifests_dependencies_are_told_before_it() {
    let sandbox = two_skills();
    let manifest = r#"{"name": "Release", "version": "2.0.0", "description": "Makes a release.", "dependencies": ["sql", "gone"]}"#;
    sandbox.write(".claude/skills/release/manifest.json", manifest);
    sandbox.write(".claude/skills/release/skill.md", "# Release\n\nTag it.\n");
    assert_snapshot!(sandbox.maestro("skills prompt release --format manifest"), @"
    $ maestro skills prompt release --format manifest
    ---
    # sql (v1.0.0)

    Writes SQL. Use it for queries.

    # How to

    Step by step.

    ---
    # Release (v2.0.0)

    Makes a release.

    # Release

    Tag it.
    --- stderr
    warning[dependency-missing]: Missing dependency: Release requires gone
      --> [PROJECT]/.claude/skills/release/manifest.json:1:1
      hint: install `gone`, or remove it from the dependencies
    ");
}

#[test]
fn a_long_text_is_cut_and_that_is_told() {
    let sandbox = two_skills();
    let section = "## Section\n\nSome words to fill it.\n\n";
    let text = format!("---\nname: long\ndescription: Long.\n---\n\n{}", section.repeat(20));
    sandbox.write(".claude/skills/long/SKILL.md", &text);
    let args = "skills prompt long --set skills_max_body_chars=100";
    assert_snapshot!(sandbox.maestro(args), @"
    $ maestro skills prompt long --set skills_max_body_chars=100
    Reading: long
    Base directory: [PROJECT]/.claude/skills/long

    ---
    name: long
    description: Long.
    ---

    ## Section

    Some words to fill it.

    [Content truncated...]
    The rest is in [PROJECT]/.claude/skills/long/SKILL.md

    Skill read: long
    --- stderr
    the text of `long` is cut to 73 of 759 characters (skills_max_body_chars is 100)
    ");
    let told = sandbox.maestro(&format!("{args} --json")).json();
    assert_eq!(told["cut"], json!([{ "name": "long", "kept": 73, "of": text.len() }]));
}

#[test]
fn what_cannot_be_told_is_an_error() {
    let sandbox = two_skills();
    assert_snapshot!(sandbox.maestro("skills prompt sqll"), @"
    $ maestro skills prompt sqll
    --- stderr
    error: unknown skill `sqll`
    hint: did you mean `sql`?
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("skills prompt ,"), @"
    $ maestro skills prompt ,
    --- stderr
    error: missing skill name
    hint: run `maestro skills list` for the list
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills prompt sql --budget 100"), @"
    $ maestro skills prompt sql --budget 100
    --- stderr
    error: --budget only applies to the table of skills
    hint: use `--set skills_max_body_chars=NUMBER` to limit the text of a skill
    --- exit 1
    ");
    assert_eq!(sandbox.maestro("skills prompt --format yaml").code, 1);
}
