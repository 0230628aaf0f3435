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
    assert_snapshot!(collection().maestro("skills list"), @r#"
    $ maestro skills list
    changelog             project    claude-code  Writes the changelog. Use it before a release.
    codebase-analysis     builtin    maestro      Explains how a codebase works: structure, patterns, flows, design decisions, with file and line for every statement. Use when the user wants to understand code they do not know ("explain this codebase", "how is this repository organised", "give me an architecture overview", "how does X work across the code", "onboard me"), or when a plan needs a picture of the code first. Invoke at once, without listing or reading files first: the workflow divides the reading among explorers.
    decision-critic       builtin    maestro      Stress-tests one decision and ends with a verdict: STAND, REVISE or ESCALATE. Use when the user wants a decision, design choice, plan or recommendation challenged ("is this the right call", "poke holes in this", "play devil's advocate", "criticise my decision", "should we really …", "sanity-check this choice"), or before something costly or hard to undo is done. Invoke at once, without forming an opinion or looking things up first: the workflow separates asking, verifying and judging.
    deepthink             builtin    maestro      Thinks an open question through in fourteen structured steps and answers it. Use when a question has no lookup answer and a first thought would be a guess ("think hard about this", "think deeply", "what is the best way to …", "how should we approach …", "what are the trade-offs", "which categories are there"): strategy, taxonomy, concept, comparison, forecast. Not for finding a bug's cause or criticising a made decision. Invoke at once, without answering, reading or searching first: the workflow begins by freeing the question from its framing.
    deploy                project    maestro      Brings a build to a server.
    doc-sync              builtin    maestro      Brings the documentation in a repository back in line with its files: index files list what lies in each directory and when to open it, READMEs explain why, and nothing is stale, missing or in the wrong place. Use when the user says "sync the docs", "update CLAUDE.md", "update AGENTS.md", "the docs are outdated", "index this directory", or after files were moved, added or removed. Invoke it at once, without reading files first: it lists and compares them.
    handoff-workflow      builtin    maestro      Passes work from one role to another as a hand-off that can be taken, worked off and closed: gathers the state from git and the tasks, drafts the text, asks what is unclear, has the user approve it and files it. Use when the user says "hand this over", "pass it to the reviewer", "let someone else finish", "write a handoff", or when an agent's part ends and another role must go on. Invoke it at once, without writing notes first: it gathers what it needs.
    incoherence           builtin    maestro      Finds where a repository contradicts itself (documentation against code, specification against behaviour, configuration against use, terms used in two senses), has every finding verified, lets the user decide in small batches, and applies the decisions. Use when the user says "find inconsistencies", "do the docs match the code?", "check for contradictions", "is the spec still true?", "audit for drift". Invoke it at once, without reading the repository first: surveying is its first step.
    maestro-cli           builtin    maestro      Core CLI commands and capabilities for all Maestro sessions
    maestro-orchestrator  builtin    maestro      Orchestrator-specific capabilities for task delegation
    maestro-worker        builtin    maestro      Worker-specific capabilities for task execution
    plan-loop             builtin    maestro      Works through a Markdown checklist task by task: picks the next open box, starts an agent with the skills it needs, runs the checks, has the work reviewed, commits and ticks the box, and continues until the plan is done. Use when the user says "work through the plan", "do all tasks of PLAN.md", "run the loop". Start it with `maestro loop PLAN.md`.
    plan-task             builtin    maestro      Does one task of a plan: an agent does it, the checks run, another session reviews it, and it is committed with its tick. Use when the user says "do this one task of the plan" or "do just the next task". `maestro loop PLAN.md --once` starts it.
    planner               builtin    maestro      Plan a change before it is made, and carry an approved plan out. Planning explores the code, asks which tests are wanted, compares approaches, cuts milestones, fills in diffs and passes three reviews; executing implements the milestones in waves with reviews and executed checks. Use when the user asks for a plan, an implementation plan, a design to be broken into steps or milestones ("plan this", "how would you implement", "break this down", "prepare the change"), or to carry out, implement or resume a plan file ("execute the plan", "implement plan.md"). For changes that touch more than one file or need a decision; not for a one-line fix. Invoke at once, without exploring first - the workflow explores.
    problem-analysis      builtin    maestro      Finds the root cause of a problem by stated hypotheses and cited evidence, before anyone proposes a fix. Use when the user asks why something happens, breaks, is slow, flaky or wrong ("why does this fail", "find the cause", "root cause", "debug this", "what is going on here", "it sometimes …"), when a fix did not hold, or when a symptom is known and its cause is not. Invoke at once, without reading code, reproducing or guessing first: the workflow says what to look at and when.
    prompt-engineer       builtin    maestro      Improves prompts, or writes new ones, by techniques that are justified one by one, and applies them only after the user agreed. Use when a prompt, system prompt, agent or skill instruction, tool description or a set of them shall be improved, written, shortened or repaired ("optimise this prompt", "the agent ignores …", "write a system prompt for …", "make these agents work together", "why does the model keep …"). Invoke at once, without reading or rewriting the prompt first: the workflow decides what is read and stops for approval.
    refactor              builtin    maestro      Find out what in a code base is worth refactoring - explorers each look for one category of smell, sightings are confirmed, grouped by root cause and weighed against what the user wants. Use when the user asks what to refactor, clean up or improve, for technical debt, code smells, code quality or maintainability ("where does it hurt", "this module is a mess", "what should we clean up first"). Gives recommendations only and edits nothing; for carrying a refactoring out, plan it afterwards. Invoke at once, without exploring first - the workflow explores.
    session-end           builtin    maestro      Ends a work session in order: sums up what was done from git and the tasks, settles every task and hand-off the session holds, leaves a summary on the timeline and closes the session. Use when the user says "end the session", "wrap up", "sign off", "that's it for today", "you are dismissed", or when an agent's work is done and others must be able to go on. Invoke it at once, without collecting anything first: it collects for itself.
    session-start         builtin    maestro      Begins a work session in a project that Maestro keeps: shows where the project stands, takes a role and a name, registers the session, and shows hand-offs and tasks that wait. Use when the user says "start a session", "begin work", "sign in as reviewer", "take the role of …", "what is there to do here?", or when an agent enters a project and has no role yet. Invoke it at once, before looking at files or tasks: it looks for itself.
    solution-design       builtin    maestro      Design a solution by having six perspectives work on the problem independently, challenging each proposal, and comparing them in a trade-off table from which the user chooses. Use when the user asks how to design, architect or approach something with more than one reasonable answer ("how should we build this", "what are our options", "compare approaches", "design a solution for", "which architecture"). Not for finding the cause of a bug, for judging a decision already made, or for writing an implementation plan. Invoke at once, without exploring or proposing first - the workflow does both.
    sql                   user       claude-code  Writes SQL. Use it for queries.
    task-management       builtin    maestro      Makes, finds, claims, changes and closes tasks that Maestro keeps, one action at a time, by executed commands. Use when the user says "create a task", "add a ticket", "which tasks are there?", "take that task", "claim it", "change its priority", "add a note", "mark it done", "it is blocked", "cancel that task". Invoke it at once, without listing tasks first: it lists them.
    tasks-report          builtin    maestro      Reports how the tasks of a project stand: numbers by status, what is at work, what is blocked, what to take next, which hand-offs wait; then shows or begins a task on request. Use when the user says "status report", "how do the tasks stand?", "what is open?", "what is blocked?", "what should I do next?", "give me an overview". Invoke it at once, without listing anything first: it asks Maestro for the facts.
    tickets               project    maestro      Reads and closes tickets.
    triage                project    maestro      Sorts what came in.
    writing-style         builtin    maestro      Writes or revises a text in the user's own style: settles kind and readers, drafts, hunts the marks of machine-made prose, aligns the voice with a style guide, and checks the result with fresh eyes. Use when the user says "write this in my style", "make it sound like me", "this reads like AI", "write a blog post", "polish this text", "draft the announcement", also as leon-writing-style. Invoke it at once, without drafting first: drafting is one of its steps.

    26 skills
    "#);
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
          "version": "1.0.0",
          "owner": "claude-code"
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
          "version": "2.1.0",
          "owner": "maestro"
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
          "version": "1.0.0",
          "owner": "claude-code"
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
          "version": "1.0.0",
          "owner": "maestro"
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
          "version": "1.0.0",
          "owner": "maestro"
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
          "owner": "claude-code",
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
    Old_Name   project    claude-code  Still loads.
    changelog  project    claude-code  Writes the changelog. Use it before a release.
    half       project    claude-code  [a, b

    3 skills, 2 not loaded, 2 warnings (maestro doctor)
    --- stderr
    error[file-not-utf8]: the file is not UTF-8 text
      --> [PROJECT]/.claude/skills/latin/SKILL.md:3:17
      hint: save it as UTF-8, for example: iconv -f latin1 -t utf-8 [PROJECT]/.claude/skills/latin/SKILL.md > [PROJECT]/.claude/skills/latin/SKILL.md.new && mv [PROJECT]/.claude/skills/latin/SKILL.md.new [PROJECT]/.claude/skills/latin/SKILL.md
    error[frontmatter-missing]: the file does not begin with frontmatter
      --> [PROJECT]/.claude/skills/plain/SKILL.md:1:1
      hint: begin the file with a line `---`, then `name:` and `description:`, then a line `---`
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
    changelog  project    claude-code  Writes the changelog. Use it before a release.

    1 skill, 1 not loaded
    --- stderr
    error[name-invalid]: the name `Old_Name` breaks the rules: 'O' is none of a-z, 0-9 and -
      --> [PROJECT]/.claude/skills/Old_Name/SKILL.md:2:7
      hint: rename it, for example to `old-name`
    ");
}

#[test]
fn the_first_of_two_skills_with_one_name_counts() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "The project's way.");
    sandbox.skill("~/.agent/skills", "changelog", "The user's way, found earlier in the search order.");
    assert_snapshot!(sandbox.maestro("skills list --set skills_builtin=false"), @"
    $ maestro skills list --set skills_builtin=false
    changelog  user       shared  The user's way, found earlier in the search order.

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
    style  project    claude-code  The web part's.

    ../.claude/skills/style is shadowed by .claude/skills/style

    1 skill, 1 shadowed
    ");
}

#[test]
fn without_any_skill_the_list_says_where_to_look() {
    assert_snapshot!(Sandbox::new().maestro("skills list --set skills_builtin=false"), @"
    $ maestro skills list --set skills_builtin=false
    No skills found. Run `maestro doctor` for the directories.

    0 skills
    ");
}

#[test]
fn the_built_in_skills_can_be_left_out_by_every_layer() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "off");
    assert_eq!(sandbox.maestro("skills list --json").json()["skills"], serde_json::json!([]));
    let listed = sandbox.maestro("skills list --json --set skills_builtin=on").json();
    assert!(listed["skills"].as_array().unwrap().len() > 3, "a flag wins over the environment");
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
    pdf  given        Fills PDF forms.
    sql  given        Writes SQL.

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
    error: directory `nowhere` not found
    hint: pass a directory that contains skill folders
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("skills list --dir notes.txt"), @"
    $ maestro skills list --dir notes.txt
    --- stderr
    error: `notes.txt` is not a directory
    hint: pass a directory that contains skill folders
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
          "message": "the link points back to a directory that contains it",
          "help": "remove it"
        },
        {
          "code": "link-broken",
          "severity": "warning",
          "path": "[PROJECT]/.claude/skills/self",
          "line": 1,
          "column": 1,
          "message": "the link is broken: Too many levels of symbolic links (os error 40)",
          "help": "remove it, or point it at something that exists"
        },
        {
          "code": "agent-missing",
          "severity": "info",
          "path": "$PATH",
          "line": 1,
          "column": 1,
          "message": "no coding agent found",
          "help": "install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one"
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
      "connections": [],
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
      ],
      "sandbox": "[SANDBOX]",
      "inhibits_sleep": false
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
          "message": "the link points to [HOME]/secrets/leak, outside the permitted skill directories",
          "help": "copy the files here, or add the directory they are in to skills_extra_dirs"
        }
      ],
      "shadowed": []
    }
    "#);
}
