//! What is left of a run for people to read?

use std::collections::BTreeMap;
use std::fs;

use insta::assert_snapshot;
use serde_json::Value as Json;

use super::repository;
use crate::sandbox::Sandbox;

/// The files that are left of the only run, by name.
fn artifacts(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let runs: Vec<_> = fs::read_dir(sandbox.path("~/.maestro/runs")).unwrap().collect();
    assert_eq!(runs.len(), 1);
    let files = fs::read_dir(runs[0].as_ref().unwrap().path()).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap())).collect()
}

#[test]
fn what_was_told_done_and_changed_is_left_for_people_to_read() {
    let config = "skills_enabled = true\nskills_budget_tokens = 1\n";
    let plan = "- [ ] Add a file letter.txt that says Dear customers (@letters)\n";
    let sandbox = repository(&[("PLAN.md", plan), (".maestro/config.toml", config)]);
    sandbox.skill(".claude/skills", "letters", "Writes letters. Use when a letter to customers is to be written.");
    let foreseen = sandbox.maestro("loop PLAN.md --agent demo --dry-run");
    let done = sandbox.maestro("loop PLAN.md --agent demo");
    assert_eq!(done.code, 0, "{done}");
    let left = artifacts(&sandbox);
    let names: Vec<&str> = left.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "01-implement-diff.txt",
            "01-implement-output.txt",
            "01-implement-prompt.txt",
            "02-look-output.txt",
            "02-look-prompt.txt",
            "summary.json",
        ]
    );
    assert_eq!(left["01-implement-prompt.txt"].trim_end(), foreseen.stdout().trim_end(), "a dry run tells the truth");
    assert!(left["01-implement-diff.txt"].contains("+Dear customers"), "{}", left["01-implement-diff.txt"]);
    assert!(left["01-implement-output.txt"].contains("Write letter.txt"), "{}", left["01-implement-output.txt"]);
    let summary: Json = serde_json::from_str(&left["summary.json"]).unwrap();
    assert_eq!(summary["status"]["ended"]["status"], "success", "{summary:#}");
    assert_eq!(summary["sessions"].as_array().unwrap().len(), 2);
    let log = summary["log"].as_array().unwrap();
    assert!(log.iter().any(|entry| entry["review"] == "pass"), "{summary:#}");
    let (work, review) = (&left["01-implement-prompt.txt"], &left["02-look-prompt.txt"]);
    let protocol = &work[work.find("## Reporting").unwrap()..];
    let review = review.replace(protocol.trim_end(), "[how it reports, as whoever did it]");
    assert_snapshot!(sandbox.normal(&review), @r#"
    # Review the task

    Another agent did one task of a plan. You review its changes with fresh eyes, and change nothing.
    - Read the changes since the last commit, and the code they affect. If `since` is given, read those since that commit.
    - Check every acceptance criterion that the task names. Say `pass` only if the task is done completely and correctly. Anything that must be fixed is a `fail`.
    - Each finding says where it is, what is wrong and what would be right, so that another agent can fix it without asking.
    - What the implementer says is `reported`; the files decide. If `found_before` is given, check that each of its findings is fixed, or that `reported` rightly says why it is wrong.
    - If `unchanged` is given, say `pass` only if the task needs no change, and say in `reason` why; otherwise it is a `fail`.
    - Never: Change, create or delete a file

    ## reported

    Wrote letter.txt

    ## Task Under Review

    The implementation is for this task:
    > Add a file letter.txt that says Dear customers (@letters)

    It is line 1 of `PLAN.md`.


    Reading: letters
    Base directory: [PROJECT]/.claude/skills/letters

    ---
    name: letters
    description: Writes letters. Use when a letter to customers is to be written.
    ---

    # How to

    Step by step.


    Skill read: letters

    `maestro skills select "…"` finds a skill for what you are about to do.

    [how it reports, as whoever did it]

    ## Your verdict

    Before you run `maestro complete`, run one of these; without it your work counts as failed:

    - `maestro workflow report [RUN-1] --ticket look#1.[NONCE] --outcome pass --result-file -`
    - `maestro workflow report [RUN-1] --ticket look#1.[NONCE] --outcome fail --result-file -`

    They read a JSON object on their standard input; give it to them like this:

    ```sh
    maestro workflow report [RUN-1] --ticket look#1.[NONCE] --outcome fail --result-file - <<'END'
    {"findings": "…", "reason": "…"}
    END
    ```

    - `findings` (string, may be left out): What must be fixed, one finding per line; empty with a pass
    - `reason` (string, may be left out): Why no file had to change, if none did
    "#);
}
