//! `maestro skills select`, `try` and `why`: the skills for a task, for programs and for people.

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

fn toolbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "pdf-forms", "Fill in and flatten PDF forms, and merge PDF files into one.");
    sandbox.skill(".agents/skills", "kubernetes", "Write Kubernetes manifests for deployments and services.");
    sandbox
}

#[test]
fn select_prints_the_names_and_why() {
    let sandbox = toolbox();
    assert_snapshot!(sandbox.maestro_with(&["skills", "select", "Merge the signed PDF forms @nope"]), @"
    $ maestro skills select Merge the signed PDF forms @nope
    pdf-forms  keyword: pdf, merge, forms
    --- stderr
    warning: hinted skill not found: @nope
    ");
    assert_snapshot!(sandbox.maestro_with(&["skills", "select", "Bump the version"]), @"
    $ maestro skills select Bump the version
    none
    ");
}

#[test]
fn select_gives_programs_the_payload_of_the_event() {
    let sandbox = toolbox();
    let args = ["skills", "select", "Look at the PDF forms that were merged", "--step", "review", "--json"];
    let answer = sandbox.maestro_with(&args).json();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["run_id", "step_kind", "task_label", "skills", "strategy", "errors", "detail"]);
    assert_eq!(answer["step_kind"], "review");
    assert_eq!(answer["skills"], json!([{ "name": "pdf-forms", "reason": "keyword: pdf, merged, forms" }]));
    assert_eq!(answer["errors"], json!([]));
    assert_eq!(answer["run_id"].as_str().map(str::len), Some(36));
}

#[test]
fn an_empty_task_is_refused() {
    assert_snapshot!(toolbox().maestro_with(&["skills", "select", " "]), @"
    $ maestro skills select
    --- stderr
    error: the task is empty
    hint: pass a task in quotes
    --- exit 1
    ");
}

#[test]
fn try_shows_what_was_chosen_what_nearly_and_what_agents_miss() {
    let sandbox = toolbox();
    sandbox.install("claude");
    sandbox.install("codex");
    assert_snapshot!(sandbox.maestro_with(&["skills", "try", "Merge the signed PDF forms into one"]), @"
    $ maestro skills try Merge the signed PDF forms into one
    Merge the signed PDF forms into one

    Chosen
      pdf-forms                     18.0  pdf 7.8, merge 5.9, forms 4.3

    Not chosen
      plan-loop                      4.1  merge 4.1  below 11.7
      session-end                    2.8  signed 2.8  below 11.7
      session-start                  2.8  signed 2.8  below 11.7
      maestro-orchestrator           2.6  merge 2.6  below 11.7
      decision-critic                2.6  forms 2.6  below 11.7

    23 skills considered

    Without Maestro
      Claude Code  pdf-forms: sees it
      Codex        pdf-forms: misses it: it does not look there
    ");
    assert_snapshot!(sandbox.maestro_with(&["skills", "try", "Write a deployment note"]), @"
    $ maestro skills try Write a deployment note
    Write a deployment note

    Chosen: none. No skill fits; closest: kubernetes

    Not chosen
      kubernetes                     8.6  deployment 4.5, write 4.0  below 11.7
      handoff-workflow               7.3  write 4.3, note 3.0  below 11.7
      writing-style                  5.3  write 5.3  below 11.7
      prompt-engineer                3.9  write 3.9  below 11.7
      planner                        3.6  write 3.6  below 11.7

    23 skills considered
    ");
}

#[test]
fn try_for_programs_holds_the_selection_and_what_agents_see() {
    let sandbox = toolbox();
    sandbox.install("codex");
    let answer = sandbox.maestro_with(&["skills", "try", "Merge the PDF forms", "--json"]).json();
    assert_eq!(answer["selection"]["skills"][0]["name"], "pdf-forms");
    let sight: &Json = &answer["agents"][0];
    assert_eq!(sight["agent"], "Codex");
    assert_eq!(sight["sight"], "misses it: it does not look there");
}

#[test]
fn why_explains_one_skill_word_by_word() {
    let sandbox = toolbox();
    assert_snapshot!(sandbox.maestro_with(&["skills", "why", "pdf-forms", "Merge the PDF forms"]), @"
    $ maestro skills why pdf-forms Merge the PDF forms
    pdf-forms scores 18.0; selected from 11.7

        7.8  pdf
        5.9  merge
        4.3  forms
    ");
    assert_snapshot!(sandbox.maestro_with(&["skills", "why", "kubernetes", "Merge the PDF forms"]), @"
    $ maestro skills why kubernetes Merge the PDF forms
    kubernetes scores 0.0: none of the task's words are in its name, description or text
    ");
    assert_snapshot!(sandbox.maestro_with(&["skills", "why", "kubernets", "Merge the PDF forms"]), @"
    $ maestro skills why kubernets Merge the PDF forms
    --- stderr
    error: unknown skill `kubernets`
    hint: did you mean `kubernetes`?
    --- exit 2
    ");
}

#[test]
fn index_prepares_every_skill_once() {
    let sandbox = toolbox();
    for number in 0..9 {
        sandbox.skill(".claude/skills", &format!("more-{number}"), &format!("Knows recipe number {number}."));
    }
    let problems = |sandbox: &Sandbox| {
        let doctor = sandbox.maestro_with(&["doctor", "--json"]).json();
        doctor["problems"].as_array().unwrap().iter().filter(|problem| problem["code"] == "vectors-missing").count()
    };
    assert_eq!(problems(&sandbox), 1);
    let words = sandbox.maestro_with(&["skills", "select", "Merge the PDF forms", "--json"]).json();
    assert_eq!(words["detail"]["ranking"][0]["meaning"], Json::Null, "too many are missing");
    let first = sandbox.maestro_with(&["skills", "index", "--json"]).json();
    assert_eq!((&first["computed"], &first["missing"]), (&json!(11), &json!(0)));
    let second = sandbox.maestro_with(&["skills", "index", "--json"]).json();
    assert_eq!(second["computed"], 0);
    assert_eq!(problems(&sandbox), 0);
    let meaning = sandbox.maestro_with(&["skills", "select", "Merge the PDF forms", "--json"]).json();
    assert!(meaning["detail"]["ranking"][0]["meaning"].is_f64());
    sandbox.write("~/.cache/maestro/vectors/skills.vectors", "damaged");
    let again = sandbox.maestro_with(&["skills", "index", "--json"]).json();
    assert_eq!(again["computed"], 11, "a damaged file is made anew");
}

#[test]
fn saved_tasks_are_tested() {
    let sandbox = toolbox();
    assert!(sandbox.maestro_with(&["skills", "test"]).stderr().contains("selection.tsv not found"));
    let saved = sandbox.maestro_with(&["skills", "try", "Merge the signed PDF forms", "--save"]);
    assert!(saved.stderr().contains("selection.tsv"), "{}", saved.stderr());
    sandbox.maestro_with(&["skills", "try", "Bump the version", "--save=none"]);
    assert_snapshot!(sandbox.maestro_with(&["skills", "test"]), @"");
    sandbox.maestro_with(&["skills", "try", "Bump the version", "--save=kubernetes"]);
    assert_snapshot!(sandbox.maestro_with(&["skills", "test"]), @"");
}

#[test]
fn an_author_sees_the_typical_tasks_of_a_skill() {
    let sandbox = toolbox();
    let wins = sandbox.maestro_with(&["skills", "show", "pdf-forms", "--wins", "--json"]).json();
    assert_eq!(wins["tasks"], 300);
    assert!(wins["won"].as_array().unwrap().len() < 30);
}
