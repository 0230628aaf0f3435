//! ADR-004's own `skill.yaml`: understood as it is printed, and walked to its end once its missing names are supplied.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use crate::agent::{Agent, Says, Walked};
use crate::sandbox::Sandbox;

/// As it is printed in ADR-004, "Layer 1: Skill Definition (YAML)".
const SKILL: &str = include_str!("workflow_adr/skill.yaml");
const S9: &str = include_str!("workflow_adr/s9.sh");

/// What it uses and never says.
const NAMES: &str = "\
params:
  mythology: {type: string, default: Egyptian}
  mythology_text: {type: string, default: Ptah made the world by naming it.}
variables:
  dashboard-output: {type: object, fields: {active_agents: int, tasks_in_progress: int, tasks_completed: int}}
validators:
  role-exists: {command: [s9, agent, has, '{answer}']}
outputs: {role: '{role}', name: '{name}', agent: '{agent_id}', since: '{timestamp}'}
";

/// Where each step keeps what it finds out, as `workflow check` suggests.
fn supplied() -> String {
    let keeps = [
        ("    command: s9 dashboard\n", "    parse: json\n    store: dashboard-output\n"),
        ("    validate: role-exists\n", "    store: role\n"),
        ("    description: Get unused daemon name suggestions\n", "    store: suggested_name\n"),
        ("or choose a different one?\"\n", "    store: name\n"),
    ];
    let mut text = SKILL.to_owned();
    for (line, more) in keeps {
        assert_eq!(text.matches(line).count(), 1, "{line}");
        text = text.replace(line, &format!("{line}{more}"));
    }
    NAMES.to_owned() + &text
}

fn sandbox(skill: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let path = format!("{}:/usr/bin:/bin", sandbox.path("~/bin").display());
    let sandbox = sandbox.with_variable("PATH", &path);
    sandbox.write(".opencode/skills/session-start/skill.yaml", skill);
    sandbox.write("~/bin/s9", S9);
    fs::set_permissions(sandbox.path("~/bin/s9"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox
}

fn walk(sandbox: &Sandbox, roles: &[&str]) -> Walked {
    let mut roles = roles.iter();
    let mut script = |directive: &Json| match directive["step"]["id"].as_str().unwrap() {
        "get-role-selection" => Says::Answer((*roles.next().unwrap()).to_owned()),
        "confirm-name" => Says::Answer("Ptah; rm -rf $HOME".to_owned()),
        step => panic!("asked for {step}"),
    };
    Agent::of(sandbox).walk(&["session-start", "--tool", "opencode"], &mut script)
}

#[test]
fn what_it_never_defines_is_told_one_by_one_with_a_way_to_mend_it() {
    let checked = sandbox(SKILL).maestro("workflow check .opencode/skills/session-start --json");
    assert_eq!(checked.code, 1);
    let findings = checked.json()[0]["findings"].as_array().unwrap().clone();
    let errors: Vec<String> = findings
        .iter()
        .filter(|finding| finding["severity"] == "error")
        .map(|finding| format!("{}: {}", finding["message"].as_str().unwrap(), finding["help"].as_str().unwrap()))
        .collect();
    assert_snapshot!(errors.join("\n"), @"
    `dashboard-output` is never declared: add `store: dashboard-output` to step `show-dashboard`, or declare it under `params`
    there is no validator `role-exists`: declare it under `validators`
    `role` is never declared (used 5 times): add `store: role` to step `get-role-selection`, or declare it under `params`
    `suggested_name` is never declared: add `store: suggested_name` to step `suggest-daemon-name`, or declare it under `params`
    `name` is never declared (used 3 times): add `store: name` to step `confirm-name`, or declare it under `params`
    `mythology` is never declared: declare `mythology` under `params` or `variables`, or `store` it at the step that finds it out
    `active_agents` is never declared: declare `active_agents` under `params` or `variables`, or `store` it at the step that finds it out
    `tasks_in_progress` is never declared: declare `tasks_in_progress` under `params` or `variables`, or `store` it at the step that finds it out
    `tasks_completed` is never declared: declare `tasks_completed` under `params` or `variables`, or `store` it at the step that finds it out
    `mythology_text` is never declared: declare `mythology_text` under `params` or `variables`, or `store` it at the step that finds it out
    ");
}

#[test]
fn with_its_names_supplied_it_runs_to_its_end() {
    let sandbox = sandbox(&supplied());
    let handoff = ".opencode/work/sessions/handoffs/2026-02-03.Architect.pending.md";
    sandbox.write(handoff, "Mind the gap.\n");
    let refused = sandbox.maestro("workflow start session-start --tool opencode");
    assert_eq!(refused.code, 4, "{refused}");
    assert!(!sandbox.path("calls").exists(), "nothing is executed unasked");
    assert_eq!(sandbox.maestro("trust session-start --yes").code, 0);

    // What was shown before the options of the question were listed is told with the question.
    let begun = sandbox.maestro("workflow start session-start --tool opencode");
    assert!(begun.stdout().contains("| Active agents    | 2 |") && begun.stdout().contains("Architect"), "{begun}");
    fs::remove_file(sandbox.path("calls")).unwrap();

    let walked = walk(&sandbox, &["Pharaoh", "Architect"]);
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    let outputs = &walked.finished["outputs"];
    assert_eq!((&outputs["role"], &outputs["agent"]), (&json!("Architect"), &json!("agent-42")));
    assert_eq!(outputs["name"], "Ptah; rm -rf $HOME");
    let since = outputs["since"].as_str().unwrap();
    assert!(since.len() == 19 && since.as_bytes()[10] == b'.' && since.starts_with("20"), "{since}");
    let question = &walked.told[0]["question"];
    assert_eq!(question["options"], json!(["Architect", "Engineer"]));
    assert!(walked.told[1]["question"]["refused"].is_string(), "{:#}", walked.told[1]);
    let confirm = walked.told[2]["question"]["prompt"].as_str().unwrap();
    assert_eq!(confirm, "Would you like to use Ptah, or choose a different one?");
    assert_snapshot!(fs::read_to_string(sandbox.path("calls")).unwrap(), @"
    1 [dashboard]
    2 [agent] [roles]
    3 [agent] [has] [Architect]
    5 [name] [suggest] [Architect] [--count] [3]
    7 [agent] [start] [Ptah; rm -rf $HOME] [--role] [Architect] [--task] [session-start]
    4 [agent] [rename-tui] [Ptah; rm -rf $HOME] [Architect]
    3 [dashboard] [--role] [Architect]
    ");
    let last = walked.last.replace(since, "[SINCE]");
    assert_snapshot!(last, @"
    SHOW THE USER:
      📖 **A bit about me...**

      Ptah made the world by naming it.

    TOLERATED: rename-tui-session ended with fail, and the run continued
      it exited with 1: there is no terminal

    WORKFLOW COMPLETE: success

    OUTPUTS:
      role: Architect
      name: Ptah; rm -rf $HOME
      agent: agent-42
      since: [SINCE]
    ");
}

#[test]
fn in_the_terminal_its_texts_are_shown_and_what_is_optional_may_be_missing() {
    let sandbox = sandbox(&supplied());
    sandbox.maestro("trust session-start --yes");
    let args = ["workflow", "run", "session-start", "--yes"];
    // Nobody answers, so no role is chosen: what came before is shown, and the run ends without one.
    let run = sandbox.maestro_with(&args);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stdout().contains("| Active agents    | 2 |\n| Tasks in progress| 5 |"), "{run}");
    let walked = walk(&sandbox, &["Engineer"]);
    assert_eq!(walked.finished["outcome"], "success");
    assert!(walked.last.contains("TOLERATED: check-handoffs ended with fail"), "{}", walked.last);
}
