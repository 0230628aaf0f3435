//! `maestro skills show`: everything known about one skill.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

fn release_skill() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/skills/release/SKILL.md",
        "---
name: release
description: Cuts a release. Use it when everything is merged.
license: MIT
compatibility: Needs git
allowed-tools: Bash(git:*), Read
when_to_use: The user says ship it
triggers: [ship it, cut a release]
tags: [git]
argument-hint: \"[version]\"
disable-model-invocation: true
metadata:
  version: 3.1.4
colour: green
---

# Release
",
    );
    sandbox.write(
        ".claude/skills/release/manifest.json",
        r#"{"name": "Release", "version": "3.1.4", "description": "Cuts a release. Use it when everything is merged.",
            "assignTo": ["orchestrator"], "capabilities": ["tagging"], "dependencies": ["changelog", "bell"]}"#,
    );
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog.");
    sandbox.skill("~/.claude/skills", "release", "An older way.");
    sandbox
}

#[test]
fn show_tells_where_a_skill_is_what_it_needs_and_what_is_wrong() {
    assert_snapshot!(release_skill().maestro("skills show release"), @"
    $ maestro skills show release
    release
    Cuts a release. Use it when everything is merged.

      called        Release
      in            .claude/skills/release
      from          project
      format        SKILL.md
      type          system, version 3.1.4
      when          The user says ship it
      triggers      ship it, cut a release
      tags          git
      roles         orchestrator
      can           tagging
      tools         Bash(git:*), Read
      invoked       only when a person requests it by name
      arguments     [version]
      compatible    Needs git
      licence       MIT
      needs         changelog
      shadows       ~/.claude/skills/release

    warning[dependency-missing]: Missing dependency: Release requires bell
      --> [PROJECT]/.claude/skills/release/SKILL.md:1:1
      hint: install `bell`, or remove it from the dependencies
    ");
}

#[test]
fn show_for_programs_has_every_field() {
    assert_snapshot!(release_skill().maestro("skills show release --json"), @r#"
    $ maestro skills show release --json
    {
      "skill": {
        "name": "release",
        "display_name": "Release",
        "description": "Cuts a release. Use it when everything is merged.",
        "path": "[PROJECT]/.claude/skills/release",
        "location": "project",
        "source": "project",
        "format": "SKILL.md",
        "file": "SKILL.md",
        "type": "system",
        "version": "3.1.4",
        "assign_to": [
          "orchestrator"
        ],
        "capabilities": [
          "tagging"
        ],
        "dependencies": [
          "changelog",
          "bell"
        ],
        "author": null,
        "license": "MIT",
        "compatibility": "Needs git",
        "when_to_use": "The user says ship it",
        "argument_hint": "[version]",
        "triggers": [
          "ship it",
          "cut a release"
        ],
        "tags": [
          "git"
        ],
        "allowed_tools": [
          "Bash(git:*)",
          "Read"
        ],
        "invocation": {
          "by_model": false,
          "by_user": true
        },
        "metadata": {
          "version": "3.1.4"
        },
        "config": {},
        "commands": [],
        "workflow": null,
        "extra": {
          "colour": "green"
        }
      },
      "problems": [
        {
          "code": "dependency-missing",
          "severity": "warning",
          "path": "[PROJECT]/.claude/skills/release/SKILL.md",
          "line": 1,
          "column": 1,
          "message": "Missing dependency: Release requires bell",
          "help": "install `bell`, or remove it from the dependencies"
        }
      ],
      "shadows": [
        "[HOME]/.claude/skills/release"
      ],
      "reads_first": [
        "changelog"
      ]
    }
    "#);
}

#[test]
fn show_of_a_plain_skill_is_short() {
    assert_snapshot!(release_skill().maestro("skills show changelog"), @"
    $ maestro skills show changelog
    changelog
    Writes the changelog.

      in            .claude/skills/changelog
      from          project
      format        SKILL.md
      type          custom, version 1.0.0
    ");
}

#[test]
fn show_of_an_unknown_skill_is_not_found() {
    assert_snapshot!(release_skill().maestro("skills show relaese"), @"
    $ maestro skills show relaese
    --- stderr
    error: unknown skill `relaese`
    hint: did you mean `release`?
    --- exit 2
    ");
}

#[test]
fn show_of_a_broken_skill_names_the_problem() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/skills/torn/manifest.json", "{\"name\": \"Torn\",\n");
    assert_snapshot!(sandbox.maestro("skills show torn"), @"
    $ maestro skills show torn
    --- stderr
    error: cannot load the skill `torn`
      because [PROJECT]/.maestro/skills/torn/manifest.json:2:1: the file is not valid JSON: EOF while parsing a value (fix the JSON here: a comma or a quote is often missing just before it)
    hint: fix that; `maestro skills validate` checks it again
    --- exit 1
    ");
}
