//! Does a branch move only if the checks pass on the merged tree, and can an agent make them pass?

use std::fs;

use serde_json::json;

use super::Shop;

/// A shop with a check that fails where both files are.
fn shop() -> Shop {
    let shop = Shop::new();
    shop.sandbox.write("~/check.sh", "if test -e made.txt && test -e mine.txt; then echo both are there; exit 1; fi\n");
    let check = shop.sandbox.path("~/check.sh").display().to_string();
    shop.sandbox.write("~/.config/maestro/config.toml", format!("verify = [\"sh {check}\"]\n"));
    shop
}

/// Commits a file on the checked-out branch.
fn commit(shop: &Shop, file: &str, text: &str) {
    shop.sandbox.write(file, text);
    shop.git(&["add", file]);
    shop.git(&["commit", "--quiet", "-m", "mine"]);
}

#[test]
fn two_green_sides_that_are_red_together_are_not_merged() {
    let shop = shop();
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    commit(&shop, "mine.txt", "mine\n");
    let state =
        || (shop.git(&["for-each-ref"]), shop.git(&["rev-parse", "HEAD"]), shop.git(&["status", "--porcelain"]));
    let before = state();
    let refused = shop.sandbox.maestro(&format!("merge {run}"));
    assert_eq!(refused.code, 1, "{refused}");
    let said = refused.stderr();
    assert!(
        said.contains("the checks fail on the merge of `maestro/loop-") && said.contains("both are there"),
        "{said}"
    );
    assert!(said.contains(&format!("`maestro merge {run} --fix`")), "{said}");
    assert_eq!(state(), before);
    assert_eq!(fs::read_dir(shop.sandbox.path(".maestro/worktrees")).unwrap().count(), 1, "only the run's is left");

    let merged = shop.sandbox.maestro(&format!("merge {run} --no-check"));
    assert_eq!(merged.code, 0, "{merged}");
    assert!(shop.sandbox.path("made.txt").exists() && shop.sandbox.path("mine.txt").exists());
}

#[test]
fn green_sides_are_checked_together_and_merged() {
    let shop = shop();
    let (run, _) = shop.worked("");
    commit(&shop, "other.txt", "other\n");
    let merged = shop.sandbox.maestro(&format!("merge {run} --json")).json();
    assert_eq!((&merged["merged"], &merged["checks"].as_array().map(Vec::len)), (&json!(true), &Some(1)), "{merged}");
    assert_eq!(shop.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn without_an_id_the_only_ready_run_is_merged() {
    let shop = Shop::new();
    let none = shop.sandbox.maestro("merge");
    assert!(none.code == 2 && none.stderr().contains("no run is ready to merge"), "{none}");
    shop.worked("");
    let shown = shop.sandbox.maestro("diff");
    assert!(shown.code == 0 && shown.stdout().contains("diff --git"), "{shown}");
    let merged = shop.sandbox.maestro("merge");
    assert!(merged.code == 0 && shop.sandbox.path("made.txt").exists(), "{merged}");
    for task in ["Add a file a.txt that says a", "Add a file b.txt that says b"] {
        assert_eq!(shop.sandbox.maestro_with(&["do", task, "--agent", "demo", "--no-review"]).code, 0);
    }
    let several = shop.sandbox.maestro("merge");
    assert!(several.code == 1 && several.stderr().contains("2 runs are ready to merge"), "{several}");
}

#[test]
fn an_agent_fixes_a_merge_that_fails_its_checks() {
    let shop = shop();
    let (run, _) = shop.worked("");
    commit(&shop, "mine.txt", "mine\n");
    shop.sandbox.write("~/acts", "{\"do\":\"run\",\"command\":\"rm -f mine.txt\"}\n{\"do\":\"prompt\"}\n{\"do\":\"report\",\"words\":[\"complete\",\"Fixed\"]}\n");
    let acts = shop.sandbox.path("~/acts").display().to_string();
    let fixed = shop.sandbox.maestro_as(&[("MAESTRO_DEMO_SCRIPT", &acts)], &["merge", &run, "--fix"]);
    assert_eq!(fixed.code, 0, "{fixed}");
    assert!(fixed.stdout().contains("Merged 2 commits of"), "{fixed}");
    assert!(shop.sandbox.path("made.txt").exists() && !shop.sandbox.path("mine.txt").exists());
    let parents = shop.git(&["log", "-1", "--format=%s %P"]);
    assert!(parents.starts_with("Merge main into maestro/loop-") && parents.split(' ').count() == 6, "{parents}");
    assert_eq!(shop.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn an_agent_resolves_a_merge_conflict() {
    let shop = Shop::new();
    let (run, _) = shop.worked("");
    commit(&shop, "made.txt", "mine\n");
    shop.sandbox.write("~/acts", "{\"do\":\"add\",\"file\":\"made.txt\",\"text\":\"both\"}\n{\"do\":\"prompt\"}\n{\"do\":\"report\",\"words\":[\"complete\",\"Fixed\"]}\n");
    let acts = shop.sandbox.path("~/acts").display().to_string();
    let fixed = shop.sandbox.maestro_as(&[("MAESTRO_DEMO_SCRIPT", &acts)], &["merge", &run, "--fix"]);
    assert_eq!(fixed.code, 0, "{fixed}");
    assert_eq!(fs::read_to_string(shop.sandbox.path("made.txt")).unwrap().trim(), "both");
    assert_eq!(shop.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn a_ready_run_is_revised_on_its_own_branch() {
    let shop = Shop::new();
    let (run, _) = shop.worked("");
    let words = "Add a file more.txt that says more";
    let revised = shop.sandbox.maestro_with(&["revise", &run[..30], words]);
    assert_eq!(revised.code, 0, "{revised}");
    assert!(revised.stdout().contains("merge with `maestro merge "), "{revised}");
    let branch = format!("maestro/loop-{run}");
    assert_eq!(
        shop.git(&["log", "--format=%s", &branch]),
        format!("{words}\nAdd a file made.txt that says made\nfirst")
    );
    assert_eq!(shop.git(&["show", &format!("{branch}:more.txt")]), "more");
    // The new run stands for the same branch.
    let runs = shop.sandbox.maestro("loop status --json").json();
    let newer = runs.as_array().unwrap().iter().find(|known| known["id"] != json!(run)).unwrap();
    assert_eq!(newer["lead"], json!(run));
    let shown = shop.sandbox.maestro(&format!("show {run}"));
    assert!(!shown.stdout().contains("sess_") && !shown.stdout().contains(&format!("diff {run}")), "{shown}");
    assert!(shown.stdout().contains("2 commits") && shown.stdout().contains("maestro revise"), "{shown}");
    assert!(shown.stdout().contains("2 of 2 tasks") && !shown.stdout().contains("at once"), "{shown}");
    let overview = shop.sandbox.maestro("");
    assert_eq!(overview.stdout().matches("ready: ").count(), 1, "one branch is one thing to look at: {overview}");
    let silent = shop.sandbox.maestro_with(&["say", &run, "hello"]);
    assert!(silent.code != 0 && silent.stderr().contains("`maestro revise"), "{silent}");
    let merged = shop.sandbox.maestro(&format!("merge {}", newer["id"].as_str().unwrap()));
    assert_eq!(merged.code, 0, "{merged}");
    assert!(shop.sandbox.path("more.txt").exists());
}

#[test]
fn a_stopped_run_goes_on_with_the_words_and_then_with_its_plan() {
    let shop = Shop::new();
    shop.sandbox.write("~/check.sh", "test ! -e made.txt || test -e allowed.txt || test -e second.txt\n");
    let check = shop.sandbox.path("~/check.sh").display().to_string();
    shop.sandbox.write("~/.config/maestro/config.toml", format!("verify = [\"sh {check}\"]\n"));
    let plan = "- [ ] Add a file made.txt that says made\n- [ ] Add a file second.txt that says second\n";
    shop.sandbox.write("PLAN.md", plan);
    shop.git(&["commit", "--quiet", "--all", "-m", "plan"]);
    let (run, stopped) = shop.worked("");
    assert_eq!(stopped.code, 1, "{stopped}");
    let acts = "{\"do\":\"run\",\"command\":\"touch allowed.txt\"}\n{\"do\":\"prompt\"}\n\
                {\"do\":\"report\",\"words\":[\"complete\",\"Done\"]}\n";
    shop.sandbox.write("~/acts", acts);
    let acts = shop.sandbox.path("~/acts").display().to_string();
    let revised = shop.sandbox.maestro_as(&[("MAESTRO_DEMO_SCRIPT", &acts)], &["revise", &run, "allow it"]);
    assert_eq!(revised.code, 0, "{revised}");
    let branch = format!("maestro/loop-{run}");
    assert_eq!(shop.git(&["log", "--format=%s", &branch]).lines().count(), 4, "{revised}");
    assert!(!shop.git(&["show", &format!("{branch}:PLAN.md")]).contains("[ ]"));
}
