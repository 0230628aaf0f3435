//! `maestro skills list`: every skill on this machine, in one list.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

/// A skill of each format.
fn collection() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog. Use it before a release.");
    sandbox.skill("~/.claude/skills", "sql", "Writes SQL. Use it for queries.");
    sandbox.write(
        ".maestro/skills/deploy/manifest.json",
        r#"{"name": "Deploy", "version": "2.1.0", "description": "Brings a build to a server.", "type": "custom"}"#,
    );
    sandbox.write(".maestro/skills/deploy/skill.md", "# Deploy\n");
    sandbox.write(
        ".skills/tickets/skill.json",
        r#"{"name": "tickets", "description": "Reads and closes tickets.", "commands": [{"name": "close", "description": "Closes one."}]}"#,
    );
    sandbox
        .write(".maestro/skills/triage/workflow.yaml", "name: triage\ndescription: Sorts what came in.\nsteps: []\n");
    sandbox
}

#[test]
fn skills_of_every_format_are_in_one_list() {
    assert_snapshot!(collection().maestro("skills list"), @"
    $ maestro skills list
    changelog             project    Writes the changelog. Use it before a release.
    deploy                project    Brings a build to a server.
    maestro-cli           builtin    Core CLI commands and capabilities for all Maestro sessions
    maestro-orchestrator  builtin    Orchestrator-specific capabilities for task delegation
    maestro-worker        builtin    Worker-specific capabilities for task execution
    sql                   user       Writes SQL. Use it for queries.
    tickets               project    Reads and closes tickets.
    triage                project    Sorts what came in.

    8 skills
    ");
}

#[test]
fn the_list_for_programs_has_skills_problems_and_shadowed() {
    let sandbox = collection();
    sandbox.skill("~/.claude/skills", "changelog", "My own way of writing changelogs.");
    sandbox.write(".claude/skills/broken/SKILL.md", "---\nname: broken\n---\n");
    let listed = sandbox.maestro("skills list --json --set skills_builtin=false");
    listed.json();
    assert_snapshot!(listed, @r#"
    $ maestro skills list --json --set skills_builtin=false
    {
      "skills": [
        {
          "name": "changelog",
          "description": "Writes the changelog. Use it before a release.",
          "path": "[PROJECT]/.claude/skills/changelog",
          "location": "project",
          "format": "SKILL.md",
          "source": "project",
          "display_name": "changelog",
          "type": "custom",
          "version": "1.0.0"
        },
        {
          "name": "deploy",
          "description": "Brings a build to a server.",
          "path": "[PROJECT]/.maestro/skills/deploy",
          "location": "project",
          "format": "manifest.json",
          "source": "project",
          "display_name": "Deploy",
          "type": "custom",
          "version": "2.1.0"
        },
        {
          "name": "sql",
          "description": "Writes SQL. Use it for queries.",
          "path": "[HOME]/.claude/skills/sql",
          "location": "global",
          "format": "SKILL.md",
          "source": "user",
          "display_name": "sql",
          "type": "custom",
          "version": "1.0.0"
        },
        {
          "name": "tickets",
          "description": "Reads and closes tickets.",
          "path": "[PROJECT]/.skills/tickets",
          "location": "project",
          "format": "skill.json",
          "source": "project",
          "display_name": "tickets",
          "type": "custom",
          "version": "1.0.0"
        },
        {
          "name": "triage",
          "description": "Sorts what came in.",
          "path": "[PROJECT]/.maestro/skills/triage",
          "location": "project",
          "format": "workflow",
          "source": "project",
          "display_name": "triage",
          "type": "custom",
          "version": "1.0.0"
        }
      ],
      "problems": [
        {
          "code": "description-missing",
          "severity": "error",
          "path": "[PROJECT]/.claude/skills/broken/SKILL.md",
          "line": 2,
          "column": 1,
          "message": "there is no description",
          "help": "add `description:` with what the skill does and when to use it"
        }
      ],
      "shadowed": [
        {
          "name": "changelog",
          "description": "My own way of writing changelogs.",
          "path": "[HOME]/.claude/skills/changelog",
          "location": "global",
          "format": "SKILL.md",
          "source": "user",
          "shadowed_by": "[PROJECT]/.claude/skills/changelog",
          "same_files": false
        }
      ]
    }
    "#);
}

#[test]
fn a_broken_skill_hides_no_good_one_and_says_where_it_is_broken() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog. Use it before a release.");
    sandbox.write(".claude/skills/half/SKILL.md", "---\nname: half\ndescription: [a, b\n---\n");
    sandbox.write(".claude/skills/plain/SKILL.md", "# Plain\n\nNobody wrote frontmatter.\n");
    sandbox.write(".claude/skills/latin/SKILL.md", b"---\nname: latin\ndescription: caf\xe9\n---\n");
    sandbox.write(".claude/skills/Old_Name/SKILL.md", "---\nname: Old_Name\ndescription: Still loads.\n---\n");
    assert_snapshot!(sandbox.maestro("skills list --set skills_builtin=false"), @"
    $ maestro skills list --set skills_builtin=false
    Old_Name   project    Still loads.
    changelog  project    Writes the changelog. Use it before a release.
    half       project    [a, b

    3 skills, 2 not loaded, 2 warnings (maestro doctor)
    --- stderr
    error[file-not-utf8]: the file is not UTF-8 text
      --> [PROJECT]/.claude/skills/latin/SKILL.md:3:17
      help: save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD > NEW
    error[frontmatter-missing]: the file does not begin with frontmatter
      --> [PROJECT]/.claude/skills/plain/SKILL.md:1:1
      help: begin the file with a line `---`, then `name:` and `description:`, then a line `---`
    ");
}

#[test]
fn many_broken_skills_are_counted_after_the_first_ten() {
    let sandbox = Sandbox::new();
    for number in 0..12 {
        sandbox.write(&format!(".claude/skills/s{number:02}/SKILL.md"), "no frontmatter\n");
    }
    let listed = sandbox.maestro("skills list --set skills_builtin=false");
    assert_eq!(listed.stderr().matches("error[frontmatter-missing]").count(), 10);
    assert!(listed.stderr().ends_with("… and 2 more errors: maestro doctor\n"), "{listed}");
}

#[test]
fn strict_validation_skips_what_breaks_the_rules() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog. Use it before a release.");
    sandbox.write(".claude/skills/Old_Name/SKILL.md", "---\nname: Old_Name\ndescription: Still loads.\n---\n");
    assert_snapshot!(sandbox.maestro("skills list --set skills_builtin=false --set skills_validation=strict"), @"
    $ maestro skills list --set skills_builtin=false --set skills_validation=strict
    changelog  project    Writes the changelog. Use it before a release.

    1 skill, 1 not loaded
    --- stderr
    error[name-invalid]: the name `Old_Name` breaks the rules: 'O' is none of a-z, 0-9 and -
      --> [PROJECT]/.claude/skills/Old_Name/SKILL.md:2:7
      help: rename it, for example to `old-name`
    ");
}

#[test]
fn the_first_of_two_skills_with_one_name_counts() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "The project's way.");
    sandbox.skill("~/.agent/skills", "changelog", "The user's way, found earlier in the search order.");
    assert_snapshot!(sandbox.maestro("skills list --set skills_builtin=false"), @"
    $ maestro skills list --set skills_builtin=false
    changelog  user       The user's way, found earlier in the search order.

    .claude/skills/changelog is shadowed by ~/.agent/skills/changelog

    1 skill, 1 shadowed
    ");
}

#[test]
fn in_a_subdirectory_the_nearest_skill_counts() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.skill(".claude/skills", "style", "The repository's.");
    sandbox.skill("web/.claude/skills", "style", "The web part's.");
    let listed = sandbox.maestro_in("web", &["skills", "list", "--set", "skills_builtin=false"]);
    assert_snapshot!(listed, @"
    $ maestro skills list --set skills_builtin=false
    style  project    The web part's.

    ../.claude/skills/style is shadowed by .claude/skills/style

    1 skill, 1 shadowed
    ");
}

#[test]
fn without_any_skill_the_list_says_where_to_look() {
    assert_snapshot!(Sandbox::new().maestro("skills list --set skills_builtin=false"), @"
    $ maestro skills list --set skills_builtin=false
    No skills were found. `maestro doctor` shows where was looked.

    0 skills
    ");
}

#[test]
fn the_built_in_skills_can_be_left_out_by_every_layer() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "off");
    assert_eq!(sandbox.maestro("skills list --json").json()["skills"], serde_json::json!([]));
    let listed = sandbox.maestro("skills list --json --set skills_builtin=on").json();
    assert_eq!(listed["skills"].as_array().map(Vec::len), Some(3), "a flag wins over the environment");
}

#[test]
fn dir_replaces_the_search_order_and_may_be_repeated() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "unwanted", "In the search order, but not asked for.");
    sandbox.skill("kit", "pdf", "Fills PDF forms.");
    sandbox.skill("~/shared", "sql", "Writes SQL.");
    let shared = sandbox.path("~/shared");
    let args = ["skills", "list", "--dir", "kit", "--dir", shared.to_str().unwrap()];
    assert_snapshot!(sandbox.maestro_with(&args), @"
    $ maestro skills list --dir kit --dir [HOME]/shared
    pdf  given      Fills PDF forms.
    sql  given      Writes SQL.

    2 skills
    ");
}

#[test]
fn dir_may_stand_before_the_verb_and_lead_upwards() {
    let sandbox = Sandbox::new();
    sandbox.skill("kit", "pdf", "Fills PDF forms.");
    sandbox.write("web/index.html", "");
    let listed = sandbox.maestro_in("web", &["skills", "--dir", "../kit", "list", "--json"]);
    let path = sandbox.path("kit/pdf");
    assert_eq!(listed.json()["skills"][0]["path"], path.to_str().unwrap(), "{listed}");
}

#[test]
fn a_dir_that_is_missing_or_a_file_is_not_found() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "");
    assert_snapshot!(sandbox.maestro("skills list --dir nowhere"), @"
    $ maestro skills list --dir nowhere
    --- stderr
    error: there is no directory `nowhere`
    hint: --dir takes a directory that holds skill folders
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("skills list --dir notes.txt"), @"
    $ maestro skills list --dir notes.txt
    --- stderr
    error: `notes.txt` is not a directory
    hint: --dir takes a directory that holds skill folders
    --- exit 2
    ");
}

#[test]
fn the_singular_is_the_same_command() {
    let sandbox = collection();
    assert_eq!(sandbox.maestro("skill list").stdout(), sandbox.maestro("skills list").stdout());
}

#[test]
fn the_list_is_the_same_every_time() {
    let sandbox = collection();
    for number in 0..40 {
        sandbox.skill(".agents/skills", &format!("skill-{number}"), "One of many.");
    }
    let first = sandbox.maestro("skills list --json").stdout();
    for _ in 0..5 {
        assert_eq!(sandbox.maestro("skills list --json").stdout(), first);
    }
}

#[test]
fn a_tree_of_cyclic_links_is_searched_once() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog.");
    std::os::unix::fs::symlink("..", sandbox.path(".claude/skills/loop")).unwrap();
    std::os::unix::fs::symlink("self", sandbox.path(".claude/skills/self")).unwrap();
    assert_snapshot!(sandbox.maestro("doctor --json --set skills_builtin=false --dir .claude/skills"), @r#"
    $ maestro doctor --json --set skills_builtin=false --dir .claude/skills
    {
      "ok": true,
      "problems": [
        {
          "code": "link-broken",
          "severity": "warning",
          "path": "[PROJECT]/.claude/skills/loop",
          "line": 1,
          "column": 1,
          "message": "the link leads back to a directory it is in",
          "help": "remove it"
        },
        {
          "code": "link-broken",
          "severity": "warning",
          "path": "[PROJECT]/.claude/skills/self",
          "line": 1,
          "column": 1,
          "message": "the link leads nowhere: Too many levels of symbolic links (os error 40)",
          "help": "remove it, or point it at something that exists"
        }
      ],
      "roots": [
        {
          "path": "[PROJECT]/.claude/skills",
          "source": "given",
          "exists": true,
          "folders": 1
        }
      ],
      "agents": [],
      "settings": [
        {
          "path": "[HOME]/.config/maestro/config.toml",
          "exists": false
        },
        {
          "path": "[PROJECT]/.loop/config",
          "exists": false
        },
        {
          "path": "[PROJECT]/.maestro/config.toml",
          "exists": false
        }
      ]
    }
    "#);
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.skill("~/secrets", "leak", "Lies outside the project.");
    sandbox.write(".claude/skills/README.md", "");
    std::os::unix::fs::symlink(sandbox.path("~/secrets/leak"), sandbox.path(".claude/skills/leak")).unwrap();
    let listed = sandbox.maestro("skills list --json --set skills_builtin=false");
    assert_snapshot!(listed, @r#"
    $ maestro skills list --json --set skills_builtin=false
    {
      "skills": [],
      "problems": [
        {
          "code": "link-outside",
          "severity": "warning",
          "path": "[PROJECT]/.claude/skills/leak",
          "line": 1,
          "column": 1,
          "message": "the link leads to [HOME]/secrets/leak, outside the places skills may come from",
          "help": "copy the files here, or add the directory they are in to skills_extra_dirs"
        }
      ],
      "shadowed": []
    }
    "#);
}
