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
    assert_snapshot!(sandbox.maestro_with(&["skills", "try", "Merge the signed PDF forms into one"]), @r#"
    $ maestro skills try Merge the signed PDF forms into one
    Merge the signed PDF forms into one

    Chosen
      pdf-forms                    fit 0.93, reaches the bar of 0.30
                                   words: pdf, merge, forms
                                   meaning: "and merge PDF files into one", "Fill in and flatten PDF forms"

    Not chosen
      handoff-workflow             fit 0.15, below the bar of 0.30
                                   meaning: "Passes work from one role to another as a hand-off that can be taken", "worked off and closed"
      session-end                  fit 0.11, below the bar of 0.30
                                   words: signed
                                   meaning: "sign off", "Invoke it at once"

    23 skills considered

    Without Maestro
      Claude Code  pdf-forms: sees it
      Codex        pdf-forms: misses it: it does not look there
    "#);
    assert_snapshot!(sandbox.maestro_with(&["skills", "try", "Write a deployment note"]), @r#"
    $ maestro skills try Write a deployment note
    Write a deployment note

    Chosen: none. No skill fits; closest: kubernetes

    Not chosen
      kubernetes                   fit 0.29, below the bar of 0.30
                                   words: deployment, write
                                   meaning: "Write Kubernetes manifests for deployments and services"
      writing-style                fit 0.16, below the bar of 0.30
                                   words: write
                                   meaning: "write this in my style", "write a blog post"
      handoff-workflow             fit 0.14, below the bar of 0.30
                                   words: write, note
      codebase-analysis            fit 0.11, below the bar of 0.30
                                   words: write

    23 skills considered
    "#);
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
    assert_snapshot!(sandbox.maestro_with(&["skills", "why", "pdf-forms", "Merge the PDF forms"]), @r#"
    $ maestro skills why pdf-forms Merge the PDF forms
    pdf-forms is selected
    fit 1.03, reaches the bar of 0.30

    meaning 0.76: "Fill in and flatten PDF forms", "and merge PDF files into one"
    words   18.0
        7.8  pdf
        5.9  merge
        4.3  forms
    "#);
    assert_snapshot!(sandbox.maestro_with(&["skills", "why", "kubernetes", "Merge the PDF forms"]), @r#"
    $ maestro skills why kubernetes Merge the PDF forms
    kubernetes is not selected
    fit -0.02, below the bar of 0.30

    meaning -0.02: "Write Kubernetes manifests for deployments and services"
    words   0.0: none in common
    "#);
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
    assert_snapshot!(sandbox.maestro_with(&["skills", "test"]), @"
    $ maestro skills test
    2 of 2 lines as expected
    ");
    sandbox.maestro_with(&["skills", "try", "Bump the version", "--save=kubernetes"]);
    assert_snapshot!(sandbox.maestro_with(&["skills", "test"]), @"
    $ maestro skills test
    Bump the version
      expected kubernetes, selected none
    1 of 2 lines as expected
    --- exit 1
    ");
}

#[test]
fn an_author_sees_the_typical_tasks_of_a_skill() {
    let sandbox = toolbox();
    let wins = sandbox.maestro_with(&["skills", "show", "pdf-forms", "--wins", "--json"]).json();
    assert_eq!(wins["tasks"], 300);
    assert!(wins["won"].as_array().unwrap().len() < 30);
}

#[test]
fn corrected_tries_are_counted_for_the_project_unless_learning_is_off() {
    let sandbox = Sandbox::new();
    for name in ["alpha", "beta"] {
        sandbox.skill(".claude/skills", name, "Merge PDF files into one.");
    }
    let chosen = |more: &str| {
        let tried = sandbox
            .maestro_with(&["skills", "select", "Merge the PDF files of May into one", "--json", "--set", more])
            .json();
        tried["skills"][0]["name"].as_str().unwrap().to_owned()
    };
    let before = chosen("skills_learn=true");
    let other = if before == "alpha" { "beta" } else { "alpha" };
    let save = format!("--save={other}");
    sandbox.maestro_with(&["skills", "try", "Merge the PDF files of June", &save, "--set", "skills_learn=false"]);
    assert_eq!(chosen("skills_learn=true"), before);
    sandbox.maestro_with(&["skills", "try", "Merge the PDF files of May", &save]);
    assert_eq!(chosen("skills_learn=true"), other);
    assert_eq!(chosen("skills_learn=false"), before);
}
