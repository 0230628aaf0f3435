use serde_json::{Value as Json, json};

use super::*;

const PLAN: &str = r"# Totals are printed

- Base: 0123abc
- Kind: code

## Task
Print totals.
R1 a total for each month. R2 no total for an empty month.

## Milestones
### M1 Totals are summed
- Depends on: –
- Kind: code
- Requirements: R1
- Acceptance:
  - A1 `cargo test sums` passes
  - A2 an empty list sums to 0
- Tests: sums

#### Files
| File | Intent |
|---|---|
| `src/sum.rs` | sums |
| `Cargo.lock` | follows |

#### Changes
> **Intent only**: `Cargo.lock` follows from the manifest.

```diff
--- a/src/sum.rs
+++ b/src/sum.rs
@@ -1,2 +1,3 @@
 # not a heading
+fn sum() {}
 fn end() {}
```

### M2 Totals are shown
- Depends on: M1
- Kind: code
- Requirements: R2
- Acceptance:
  - A3 the page shows them

#### Files
| File | Intent |
|---|---|
| `src/new.rs` | shows |

#### Changes
```diff
--- /dev/null
+++ b/src/new.rs
@@ -0,0 +1 @@
+fn show() {}
```
";

fn mistakes(text: &str) -> Vec<String> {
    plan_mistakes(&read_milestone_plan(text), MilestonePlanStage::Diffs)
}

fn gaps(text: &str) -> Vec<String> {
    plan_gaps(&read_milestone_plan(text), MilestonePlanStage::Diffs)
}

#[test]
fn a_plan_is_read_with_its_milestones_files_criteria_and_diffs() {
    let plan = read_milestone_plan(PLAN);
    assert_eq!((mistakes(PLAN), gaps(PLAN)), (Vec::new(), Vec::new()));
    assert_eq!(
        (plan.title.as_str(), plan.base.as_str(), plan.kind),
        ("Totals are printed", "0123abc", Some(ChangeKind::Code))
    );
    assert_eq!(plan.requirements, ["R1", "R2"]);
    assert_eq!(plan.files().collect::<Vec<_>>(), ["src/sum.rs", "Cargo.lock", "src/new.rs"]);
    assert_eq!(plan.criteria().map(|criterion| criterion.id.as_str()).collect::<Vec<_>>(), ["A1", "A2", "A3"]);
    assert_eq!(plan.size(), PlanSize::Large);
    insta::assert_snapshot!(plan.patch(), @"
    diff --git a/src/sum.rs b/src/sum.rs
    --- a/src/sum.rs
    +++ b/src/sum.rs
    @@ -1,2 +1,3 @@
     # not a heading
    +fn sum() {}
     fn end() {}
    diff --git a/src/new.rs b/src/new.rs
    new file mode 100644
    --- /dev/null
    +++ b/src/new.rs
    @@ -0,0 +1 @@
    +fn show() {}
    ");
}

#[test]
fn every_mistake_is_told_at_once() {
    let wrong = PLAN
        .replace("# Totals are printed\n", "")
        .replace("0123abc", "<commit>")
        .replace("- Depends on: –", "- Depends on: M2")
        .replace("  - A3 the page", "  - the page")
        .replace(
            "| `src/new.rs` | shows |",
            "| `src/sum.rs` | shows |\n| `src/none.rs` | nothing |\n| `../x.rs` | out |",
        );
    insta::assert_snapshot!(mistakes(&wrong).join("\n"), @"
    there is no title; begin with `# …`
    `- Base: commit` names no commit; write the one it was made for
    M2: `../x.rs` leads out of the repository
    line 42: the criterion has no id; begin it with A1, A2, …
    `src/sum.rs` is in M1 and in M2; one file, one milestone
    line 52: `src/new.rs` is not among the files of M2
    M2: `src/sum.rs` has no diff below `#### Changes`
    M2: `src/none.rs` has no diff below `#### Changes`
    M2: `../x.rs` has no diff below `#### Changes`
    M1, M2 wait for each other
    ");
    assert!(!mistakes("Nothing at all").is_empty());
}

#[test]
fn waves_follow_the_dependencies_until_all_are_given_out() {
    let plan = read_milestone_plan(PLAN);
    let wave = |given: &[&str]| {
        let given: Vec<String> = given.iter().map(|id| (*id).to_owned()).collect();
        next_wave(&plan, &given, Some(ChangeKind::Code)).into_iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!(wave(&[]), ["M1"]);
    assert_eq!(wave(&["M1"]), ["M2"]);
    assert_eq!(wave(&["M1", "M2"]), [""; 0]);
}

#[test]
fn items_cover_each_criterion_that_no_check_shows_and_are_enough() {
    let plan = read_milestone_plan(PLAN);
    let item = |check: &str| json!({"id": "I", "scope": ["src/**"], "check": check, "severity": "MUST"});
    let items = [item("A2 holds, and not A30"), item("it is tested")];
    let missing = missing_coverage(&plan, CoverageRule::Implementation, &items, &["cargo test sums".to_owned()]);
    assert_eq!(
        missing,
        ["no item names the acceptance criterion A3", "2 items are too few for this change; write at least 4"]
    );
    let items = [item("A2"), item("A3"), item("A1"), item("tests")];
    assert_eq!(missing_coverage(&plan, CoverageRule::Implementation, &items, &[]), [""; 0]);
    assert_eq!(missing_coverage(&plan, CoverageRule::Completeness, &items, &[]).len(), 2);
}

#[test]
fn what_a_fix_changes_is_in_the_scope_of_an_item() {
    let plan = read_milestone_plan(PLAN);
    let item = |scope: &[&str]| json!({"id": "I", "scope": scope, "check": "It holds.", "severity": "MUST"});
    let gap = |rule, items: &[Json]| scope_gap(&plan, "plan.md", rule, items);
    let items = [item(&["src/**"]), item(&["nowhere"])];
    assert_eq!(gap(CoverageRule::Implementation, &items).unwrap(), "no item has `Cargo.lock` in its `scope`");
    assert_eq!(
        gap(CoverageRule::Small, &items).unwrap(),
        "the `scope` of I, I leaves out `plan.md`, where it is fixed"
    );
    // No scope at all is everything.
    for all in [item(&["**"]), item(&[]), item(&["./plan.md", "Cargo.lock", "src/*"])] {
        assert_eq!(gap(CoverageRule::Completeness, std::slice::from_ref(&all)), None);
        assert_eq!(gap(CoverageRule::Implementation, &[all]), None);
    }
    assert_eq!(gap(CoverageRule::Documentation, &items), None);
}

#[test]
fn one_block_may_change_several_files() {
    let second = "+fn sum() {}\n fn end() {}\ndiff --git a/src/more.rs b/src/more.rs\nindex 1..2 100644\n--- a/src/more.rs\n+++ b/src/more.rs\n@@ -1 +1 @@\n-fn one() {}\n+fn two() {}\n```\n\n### M2";
    let plan = PLAN.replace("+fn sum() {}\n fn end() {}\n```\n\n### M2", second);
    let plan = plan.replace("| `Cargo.lock` | follows |", "| `Cargo.lock` | follows |\n| `src/more.rs` | two |");
    assert_eq!(mistakes(&plan), [""; 0]);
    let diffs = &read_milestone_plan(&plan).milestones[0].diffs;
    assert_eq!(diffs.iter().map(|diff| diff.path.as_str()).collect::<Vec<_>>(), ["src/sum.rs", "src/more.rs"]);
    assert!(diffs[1].text.starts_with("diff --git") && !diffs[0].text.contains("more.rs"));
}

#[test]
fn what_is_called_documentation_changes_no_code() {
    let documents = |files: &str, kind: &str| {
        format!(
            "# T\n\n- Base: 0123abc\n- Kind: documentation\n\n## Task\nR1 it is said\n\n## Milestones\n### M1 It is said\n- Kind: {kind}\n\
             - Requirements: R1\n- Acceptance:\n  - A1 it stands there\n\n#### Files\n| File | Intent |\n|---|---|\n{files}"
        )
    };
    assert_eq!(gaps(&documents("| `README.md` | says |\n| `docs/a.svg` | shows |\n", "documentation")), [""; 0]);
    insta::assert_snapshot!(gaps(&documents("| `src/a.rs` | does |\n| `requirements.txt` | needs |\n", "documentation")).join("\n"), @"M1: `src/a.rs`, `requirements.txt` are no documents; write `Kind: code`, or leave them out");
    insta::assert_snapshot!(gaps(&documents("| `README.md` | says |\n", "code")).join("\n"), @"
    M1 changes code, and the plan's kind is `documentation`; write `- Kind: code` there
    M1 has no diff at all; write at least one below `#### Changes`, or say `- Kind: documentation` of it
    ");
}

#[test]
fn a_plan_of_code_has_a_diff_and_serves_its_requirements() {
    let intent =
        PLAN.split("```diff").next().unwrap().replace("`Cargo.lock` follows", "`Cargo.lock`, `src/sum.rs` follow");
    insta::assert_snapshot!(gaps(&intent.replace("- Requirements: R1", "- Requirements: R1, R7")).join("\n"), @"
    M1 serves R7, which `## Task` does not have
    M1 has no diff at all; write at least one below `#### Changes`
    no milestone serves R2; name it below `- Requirements:`
    ");
}
