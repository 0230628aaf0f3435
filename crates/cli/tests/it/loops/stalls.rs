//! Does a loop go on, or say why not, when an agent forgets, asks, breaks off or leaves something behind?

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Repository, goes_on_until, is_over, run_of, sessions, simple_ones};
use crate::sandbox::Output;
use crate::waiting::wait_until;

/// A repository with one task, whose agent follows a script.
fn acting(acts: &str) -> Repository {
    let repository = Repository::with(&simple_ones(1));
    // What the demo agent may write to must be there before it runs.
    fs::create_dir_all(repository.mark("x").parent().unwrap()).unwrap();
    let marks = repository.mark("x").parent().unwrap().display().to_string();
    repository.acting(&acts.replace("HOME", &marks))
}

/// A repository with a check that passes unless a file `bad.txt` is there.
fn checked(tasks: &[String]) -> Repository {
    let repository = Repository::with(tasks);
    repository.sandbox.write("check.sh", "#!/bin/sh\nif [ -e bad.txt ]; then echo bad.txt is there; exit 1; fi\n");
    fs::set_permissions(repository.sandbox.path("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    repository.sandbox.write(".maestro/config.toml", "verify = [\"./check.sh\"]\n");
    repository.commit_all();
    assert_eq!(repository.sandbox.maestro("trust --config --yes").code, 0);
    repository
}

/// Adds a reviewer that is a shell script. `verdict OUTCOME FINDINGS` gives a verdict, and `$n` is the number of the start.
fn reviewer(repository: &Repository, script: &str) {
    let marks = repository.mark("x").parent().unwrap().display().to_string();
    fs::create_dir_all(&marks).unwrap();
    let text = format!(
        "cat > {marks}/asked; echo once >> {marks}/reviews; n=$(wc -l < {marks}/reviews)\n\
         verdict() {{ words=$(grep -o 'maestro workflow report [^`]*--outcome '$1'[^`]*' {marks}/asked | head -1)\n\
         printf '{{\"findings\": \"%s\"}}' \"$2\" | $words; maestro complete looked; }}\n{script}\n"
    );
    repository.sandbox.write("~/reviewer.sh", text);
    let script = repository.sandbox.path("~/reviewer.sh").display().to_string();
    let writes = format!("writes = [\"{marks}\"]");
    let entry = format!(
        "[looker]\ntitle = \"Looker\"\n{writes}\n\n[looker.text]\nprograms = [\"sh\"]\nargs = [\"{script}\"]\n"
    );
    repository.sandbox.write("~/.config/maestro/agents.toml", entry);
}

fn reviews(repository: &Repository) -> usize {
    fs::read_to_string(repository.mark("reviews")).unwrap_or_default().lines().count()
}

fn assert_committed(repository: &Repository, worked: &Output) {
    assert_eq!(worked.code, 0, "{worked}");
    let commits = repository.commits(&Repository::branch(&run_of(worked)));
    assert_eq!(commits.iter().filter(|commit| commit.subject.starts_with("Add a file f1")).count(), 1, "{commits:?}");
}

#[test]
fn a_question_that_nobody_answers_stops_its_task_after_the_time_to_wait() {
    for word in ["blocked", "needs-input"] {
        let words =
            if word == "blocked" { vec!["blocked", "Which port?"] } else { vec!["report", word, "Which port?"] };
        let act = serde_json::json!({ "do": "report", "words": words }).to_string();
        let repository = acting(&act);
        let stopped = repository.work("--no-review --wait 0.01");
        assert_eq!(stopped.code, 1, "{stopped}");
        assert!(stopped.stdout().contains("The agent asked and got no answer: Which port?"), "{stopped}");
        assert!(
            stopped.stdout().contains("waiting for you: Which port?\n      answer with `maestro session answer "),
            "{stopped}"
        );
        repository.nothing_left(None);
    }
}

#[test]
fn an_answer_lets_a_blocked_agent_go_on_and_its_reviewer_knows_it() {
    let acts = "{\"do\":\"report\",\"words\":[\"blocked\",\"Which port?\"]}\n{\"do\":\"end_turn\"}\n\
                Add a file f1.txt that says number 1\n{\"do\":\"report\",\"words\":[\"complete\",\"done\"]}\n";
    let repository = acting(acts);
    reviewer(&repository, "verdict pass ''");
    let server = repository.sandbox.serve();
    let run = repository.begin("--reviewer looker");
    wait_until("it asks", || {
        sessions(&server, &run)
            .iter()
            .any(|session| session["needsInput"] != serde_json::Value::Null && session["status"] == "idle")
    });
    let session = sessions(&server, &run)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(repository.sandbox.maestro_with(&["say", &session, "Port 80"]).code, 0);
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    let review = fs::read_to_string(repository.mark("asked")).unwrap();
    assert!(review.contains("- Asked: Which port?\n  The user: Port 80\n"), "{review}");
}

#[test]
fn an_agent_that_forgets_to_report_is_reminded_once_in_the_same_session() {
    let acts = "Add a file f1.txt that says number 1\n{\"do\":\"end_turn\"}\n\
                {\"do\":\"report\",\"words\":[\"complete\",\"done\"]}\n";
    let repository = acting(acts);
    let worked = repository.work("--no-review");
    assert_committed(&repository, &worked);
    let prompts = repository.prompts();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(prompts[1].contains("You ended without a report") && !prompts[1].contains("# Do the task"), "{prompts:#?}");
}

#[test]
fn work_without_any_report_is_decided_by_the_checks() {
    // The reminder is the second prompt of the same conversation, and a third turn would follow the prompt itself.
    let acts = "Add a file f1.txt that says number 1\n{\"do\":\"end_turn\"}\nSay it is all there\n";
    let repository = checked(&simple_ones(1)).acting(acts);
    let worked = repository.work("--no-review");
    assert_committed(&repository, &worked);
    let repository = acting(acts);
    let stopped = repository.work("--no-review");
    assert_eq!(stopped.code, 1, "nothing could decide: {stopped}");
    assert!(stopped.stdout().contains("did not report completion"), "{stopped}");
}

#[test]
fn a_review_without_a_usable_verdict_is_done_again_by_another_and_is_no_round() {
    let ways = [
        ("without a verdict", "if [ $n -lt 3 ]; then maestro complete looked; else verdict pass ''; fi", 3),
        ("without findings", "if [ $n -lt 3 ]; then verdict fail ''; else verdict pass ''; fi", 3),
        ("dies", "if [ $n -lt 4 ]; then exit 7; else verdict pass ''; fi", 4),
    ];
    for (way, script, starts) in ways {
        let repository = Repository::with(&simple_ones(1));
        reviewer(&repository, script);
        let worked = repository.work("--reviewer looker");
        assert_committed(&repository, &worked);
        assert_eq!(reviews(&repository), starts, "{way}: {worked}");
        assert_eq!(repository.prompts().len(), 1, "{way}: the implementer did nothing wrong: {worked}");
    }
}

#[test]
fn a_verdict_with_a_wrong_word_is_refused_while_its_reviewer_can_fix_it() {
    let wrong = [
        ("pass", "{\"finding\": \"line 1\"}", "`finding` is not declared"),
        ("pass", "{\"findings\": [\"line 1\"]}", "`findings`: "),
        ("fail", "{\"findings\": \" \"}", "a `fail` names what must be fixed"),
        ("again", "{\"findings\": \"line 1\"}", "the step can end with pass, fail\n"),
    ];
    for (outcome, result, refusal) in wrong {
        let repository = Repository::with(&simple_ones(1));
        let marks = repository.mark("x").parent().unwrap().display().to_string();
        let script = format!(
            "pass=$(grep -o 'maestro workflow report [^`]*--outcome pass[^`]*' {marks}/asked | head -1)\n\
             echo '{result}' | $(echo $pass | sed 's/outcome pass/outcome {outcome}/') > {marks}/refused 2>&1\n\
             echo $? >> {marks}/refused; verdict pass ''"
        );
        reviewer(&repository, &script);
        let worked = repository.work("--reviewer looker");
        assert_committed(&repository, &worked);
        assert_eq!(reviews(&repository), 1, "{worked}");
        let answer = fs::read_to_string(repository.mark("refused")).unwrap();
        assert!(answer.contains(refusal) && answer.ends_with("\n1\n"), "{outcome} {result}: {answer}");
        assert!(!answer.contains("NOTED") && !answer.contains("stuck"), "{answer}");
    }
}

#[test]
fn a_verdict_counts_although_the_reviewer_forgets_to_end_its_session() {
    let repository = Repository::with(&simple_ones(1));
    reviewer(&repository, "maestro() { [ $1 = complete ] || command maestro \"$@\"; }; verdict pass ''");
    let worked = repository.work("--reviewer looker");
    assert_committed(&repository, &worked);
    assert_eq!(reviews(&repository), 1, "{worked}");
}

#[test]
fn a_plan_that_the_agent_damaged_is_a_finding_for_it() {
    for damage in ["sed -i 's/\\\\[ \\\\]/[x]/' PLAN.md", "echo gone > PLAN.md", "rm PLAN.md"] {
        let mend = "[ -e HOME/back ] || cp HOME/plan PLAN.md; touch HOME/back";
        let first = format!("if [ -e HOME/plan ]; then {mend}; else cp PLAN.md HOME/plan; {damage}; fi");
        let acts = format!(
            "{{\"do\":\"run\",\"command\":\"{first}\"}}\n{{\"do\":\"prompt\"}}\n\
             {{\"do\":\"report\",\"words\":[\"complete\",\"done\"]}}\n"
        );
        let repository = Repository::with(&simple_ones(3));
        fs::create_dir_all(repository.mark("x").parent().unwrap()).unwrap();
        let marks = repository.mark("x").parent().unwrap().display().to_string();
        let repository = repository.acting(&acts.replace("HOME", &marks));
        let worked = repository.work("--no-review");
        assert_eq!(worked.code, 0, "{damage}: {worked}");
        let commits = repository.commits(&Repository::branch(&run_of(&worked)));
        assert_eq!(commits.len(), 3, "{damage}: {commits:?}");
        assert!(repository.prompts()[1].contains("PLAN.md was changed: "), "{damage}: {}", repository.prompts()[1]);
    }
}

#[test]
fn conflicts_that_are_left_behind_are_a_finding_and_no_commit() {
    let mark = "printf '<<<<<<< a\\\\none\\\\n=======\\\\ntwo\\\\n>>>>>>> b\\\\n' > c.txt";
    let first = format!("if [ -e HOME/times ]; then echo one and two > c.txt; else {mark}; fi; echo x >> HOME/times");
    let repository = acting(&format!(
        "{{\"do\":\"run\",\"command\":\"{first}\"}}\n{{\"do\":\"prompt\"}}\n\
         {{\"do\":\"report\",\"words\":[\"complete\",\"done\"]}}\n"
    ));
    let worked = repository.work("--no-review");
    assert_committed(&repository, &worked);
    assert!(repository.prompts()[1].contains("conflict markers are left in c.txt"), "{:#?}", repository.prompts());
    assert_eq!(repository.file(&Repository::branch(&run_of(&worked)), "c.txt"), "one and two\n");
}

#[test]
fn an_outage_of_the_model_is_waited_out_and_the_next_try_is_shown() {
    let down = "{\"do\":\"fail\",\"status\":529,\"message\":\"Overloaded\"}\n{\"do\":\"end_turn\"}\n";
    let acts = format!("{}{{\"do\":\"prompt\"}}\n", down.repeat(5));
    let repository = acting(&acts);
    let done = "Add a file f1.txt that says number 1\n{\"do\":\"report\",\"words\":[\"complete\",\"done\"]}\n";
    repository.sandbox.write("~/acts", format!("{}{done}", down.repeat(5)));
    let Repository { sandbox } = repository;
    let repository = Repository { sandbox: sandbox.with_variable("MAESTRO_OUTAGE_PAUSE", "0.01") };
    let worked = repository.work("--no-review");
    assert_committed(&repository, &worked);
    assert_eq!(worked.stdout().matches("; next try at ").count(), 5, "{worked}");
    let log = repository.sandbox.maestro("loop log");
    assert!(log.stdout().contains("; next try at "), "{log}");
}

/// A repository with a plan of which the second task gets nowhere.
fn with_a_bad_task() -> Repository {
    let repository = checked(&[]);
    let [one, two, three] = [1, 2, 3].map(super::simple);
    let plan = format!(
        "# Plan\n\n- [ ] {one}\n- [ ] Say the parent\n  - [ ] Add a file bad.txt that says no\n- [ ] {two}\n- [~] Later\n- [ ] {three}\n"
    );
    repository.sandbox.write("PLAN.md", plan);
    repository.commit_all();
    repository
}

#[test]
fn a_stuck_task_is_set_aside_and_the_rest_goes_on() {
    let repository = with_a_bad_task();
    let worked = repository.work("--no-review --keep-going");
    assert_eq!(worked.code, 1, "{worked}");
    let run = run_of(&worked);
    let branch = Repository::branch(&run);
    let mut commits = repository.commits(&branch);
    commits.retain(|commit| commit.subject != "begin");
    let said: Vec<&str> = commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(said, [1, 2, 3].map(super::simple), "{worked}");
    assert!(commits.iter().all(|commit| !commit.files.contains(&"bad.txt".to_owned())), "{commits:?}");
    let told = worked.stdout();
    assert!(told.contains("Set aside:\n  - Add a file bad.txt that says no: No progress: "), "{told}");
    assert!(told.contains("because they come after these: Say the parent"), "{told}");
    assert!(told.contains("Left out, as PLAN.md says: Later\n") && told.contains(" sessions, "), "{told}");
    assert!(repository.file(&branch, "PLAN.md").contains("- [ ] Add a file bad.txt"), "it is still open");
    let aside = repository.git(&["branch", "--list", "--format=%(refname:short)", "maestro/*aside*"]);
    assert!(told.contains(&format!("Its work is on {}.", aside.trim())), "{told}");
    assert_eq!(repository.file(aside.trim(), "bad.txt"), "no\n");
    let discarded = repository.sandbox.maestro(&format!("discard {run} --yes"));
    assert_eq!(discarded.code, 0, "{discarded}");
    assert_eq!(repository.git(&["branch", "--list", "maestro/*"]), "");
}

#[test]
fn a_stuck_task_is_set_aside_among_several_runs_too() {
    let repository = with_a_bad_task();
    let worked = repository.work("--no-review --keep-going -j 2");
    assert_eq!(worked.code, 1, "{worked}");
    let commits = repository.commits(&Repository::branch(&run_of(&worked)));
    for number in [1, 2, 3] {
        let same = commits.iter().filter(|commit| commit.subject == super::simple(number)).count();
        assert_eq!(same, 1, "{number}: {worked}");
    }
    assert!(worked.stdout().contains("Add a file bad.txt that says no: No progress: "), "{worked}");
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1, "no run stopped there: {worked}");
}

#[test]
fn findings_checks_and_skill_warnings_are_shown_and_kept() {
    let repository = checked(&["Add a file f1.txt that says it fails its first review @missing".to_owned()]);
    let config = "verify = [\"./check.sh\"]\nskills_enabled = true\n";
    repository.sandbox.write(".maestro/config.toml", config);
    repository.commit_all();
    assert_eq!(repository.sandbox.maestro("trust --config --yes").code, 0);
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "{worked}");
    let log = repository.sandbox.maestro("loop log");
    for text in [worked.stdout(), log.stdout()] {
        assert!(text.contains("  review: fail\n    - f1.txt: end the text with a period\n"), "{text}");
        let checks = text.lines().filter(|line| line.trim_start().starts_with("`./check.sh` "));
        assert!(checks.filter(|line| line.ends_with(" s (.maestro/config.toml)")).count() == 2, "{text}");
        assert!(text.contains("  warning: hinted skill not found: @missing"), "{text}");
    }
    let summary = repository.sandbox.path(&format!("~/.maestro/runs/{}/summary.json", full_run(&repository)));
    let summary: serde_json::Value = serde_json::from_str(&fs::read_to_string(summary).unwrap()).unwrap();
    let log = summary["log"].as_array().unwrap();
    assert!(log.iter().any(|entry| entry["findings"] == "f1.txt: end the text with a period"), "{summary:#}");
    assert!(log.iter().any(|entry| entry["checks"].as_str().is_some_and(|told| told.starts_with("`./check.sh` "))));
    let warnings = &summary["sessions"][0]["skillWarnings"];
    assert_eq!(warnings, &serde_json::json!(["hinted skill not found: @missing"]), "{summary:#}");
}

/// The whole id of the only run.
fn full_run(repository: &Repository) -> String {
    let status = repository.sandbox.maestro("loop status --json").json();
    status[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn silence_is_what_the_settings_say_and_an_open_tool_call_is_none() {
    let silent = |acts: &str| {
        let Repository { sandbox } = acting(acts);
        Repository { sandbox: sandbox.with_variable("MAESTRO_SESSION_SILENCE", "0.05") }
    };
    let stopped = silent("{\"do\":\"hang\"}").work("--no-review");
    assert_eq!(stopped.code, 1, "{stopped}");
    assert!(stopped.stdout().contains("no output for 0.05 min"), "{stopped}");
    // It is silent for longer than that, in a call of a tool.
    let acts =
        "Run sleep 5\nAdd a file f1.txt that says number 1\n{\"do\":\"report\",\"words\":[\"complete\",\"done\"]}\n";
    let repository = silent(acts);
    let worked = repository.work("--no-review");
    assert_committed(&repository, &worked);
}
