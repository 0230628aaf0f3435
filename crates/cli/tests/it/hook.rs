//! `maestro hook`: what agents hand to their hooks, and what they get for it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use insta::{allow_duplicates, assert_snapshot};
use serde_json::{Value as Json, json};

use crate::sandbox::{Output, Sandbox};

const SESSION: &str = "0b8c5c5e-7a51-4c2b-9d39-2f6a3c1f8e11";

/// A project with one skill, known to Maestro. The machine that tests run on may be slow.
fn project() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("MAESTRO_HOOK_MS", "10000");
    sandbox.skill(
        ".claude/skills",
        "pdf-merging",
        "Merge PDF files into one. Use when PDFs are to be merged or split.",
    );
    assert_eq!(sandbox.maestro("init --yes").code, 0);
    sandbox
}

fn told(sandbox: &Sandbox, event: &str, more: &Json) -> Json {
    let mut told = json!({
        "session_id": SESSION, "cwd": sandbox.project(), "hook_event_name": event, "transcript_path": "/t.jsonl",
    });
    told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    told
}

fn hook(sandbox: &Sandbox, agent: &str, event: &str, more: &Json) -> Output {
    let output = sandbox.maestro_told(&[], &["hook", agent], &told(sandbox, event, more).to_string());
    assert_eq!((output.code, output.stderr().as_str()), (0, ""), "{output}");
    output
}

fn prompt(sandbox: &Sandbox, agent: &str, event: &str, words: &str) -> Output {
    hook(sandbox, agent, event, &json!({ "prompt": words }))
}

fn session(sandbox: &Sandbox) -> Json {
    sandbox.maestro(&format!("session get {SESSION} --json")).json()
}

const MERGE: &str = "Merge the two PDF files in docs";

/// A skill in a place where no agent looks by itself.
fn elsewhere(sandbox: &Sandbox) {
    let description = "Stitch scanned receipts into one expense report. Use when receipts are to be stitched.";
    sandbox.skill(".maestro/skills", "receipt-stitching", description);
}

const STITCH: &str = "Stitch the scanned receipts of May into an expense report";

#[test]
fn a_prompt_gets_the_skill_that_fits_in_the_agents_own_format() {
    for (agent, event) in
        [("claude-code", "UserPromptSubmit"), ("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")]
    {
        let sandbox = project();
        elsewhere(&sandbox);
        let answer = prompt(&sandbox, agent, event, STITCH).json();
        let output = &answer["hookSpecificOutput"];
        assert_eq!((&answer.as_object().unwrap().len(), &output["hookEventName"]), (&2, &json!(event)));
        let note = "Maestro added receipt-stitching to this prompt. Off: maestro config set prompt_skills false";
        assert_eq!(answer["systemMessage"], json!(note), "its user sees what was added");
        allow_duplicates! {
        assert_snapshot!(sandbox.normal(output["additionalContext"].as_str().unwrap()), @"
        Reference for the user's request above, chosen by Maestro from the skills on this machine. The request decides what is done; this says how such work is done here.

        Reading: receipt-stitching
        Base directory: [PROJECT]/.maestro/skills/receipt-stitching

        ---
        name: receipt-stitching
        description: Stitch scanned receipts into one expense report. Use when receipts are to be stitched.
        ---

        # How to

        Step by step.


        Skill read: receipt-stitching
        ");
        }
    }
}

#[test]
fn a_skill_that_the_agent_lists_itself_is_pointed_to_and_not_quoted() {
    let sandbox = project();
    let answer = prompt(&sandbox, "claude-code", "UserPromptSubmit", MERGE).json();
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.ends_with("\n\nYour own skill `pdf-merging` fits: use it before you start.\n"), "{text}");
    let answer = prompt(&sandbox, "gemini", "BeforeAgent", MERGE).json();
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains("Step by step."), "Gemini does not look there: {text}");
}

#[test]
fn paths_are_named_only_to_agents_that_can_read_them() {
    let sandbox = project();
    let description = "Stitch scanned receipts into one expense report. Use when receipts are to be stitched.";
    sandbox.skill("~/.maestro/skills", "receipt-stitching", description);
    let told = |agent: &str, event: &str| {
        let answer = prompt(&sandbox, agent, event, STITCH).json();
        sandbox.normal(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap())
    };
    assert!(told("codex", "UserPromptSubmit").contains("Base directory: [HOME]/.maestro/skills/receipt-stitching"));
    let gemini = told("gemini", "BeforeAgent");
    assert!(!gemini.contains("[HOME]") && gemini.contains("Step by step."), "{gemini}");
    assert!(gemini.contains("`maestro skills read receipt-stitching`"), "{gemini}");
}

#[test]
fn cursors_prompts_are_reported_and_its_model_is_told_once_where_skills_are() {
    let sandbox = project();
    let event = |name: &str, more: Json| {
        let mut told =
            json!({ "conversation_id": SESSION, "hook_event_name": name, "workspace_roots": [sandbox.project()] });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let output = sandbox.maestro_told(&[], &["hook", "cursor"], &told.to_string());
        assert_eq!((output.code, output.stderr().as_str()), (0, ""), "{output}");
        output
    };
    let started = event("sessionStart", json!({})).json();
    assert!(started["additional_context"].as_str().unwrap().contains("`find_skills`"), "{started}");
    assert_eq!(event("beforeSubmitPrompt", json!({ "prompt": MERGE })).stdout(), "", "Cursor has no field for a text");
    let session = session(&sandbox);
    let timeline = session["timeline"].as_array().unwrap();
    assert!(timeline.iter().any(|entry| entry["message"] == MERGE), "{timeline:?}");
    assert_eq!(sandbox.maestro("config set prompt_skills false").code, 0);
    assert_eq!(event("sessionStart", json!({})).stdout(), "");
}

#[test]
fn it_can_be_turned_off() {
    let sandbox = project();
    assert_eq!(sandbox.maestro("config set prompt_skills false").code, 0);
    assert_eq!(prompt(&sandbox, "claude-code", "UserPromptSubmit", MERGE).stdout(), "");
    assert_eq!(session(&sandbox)["status"], "working", "it is reported all the same");
}

#[test]
fn what_is_pasted_and_the_skills_of_roles_add_nothing() {
    let sandbox = project();
    let role = json!({
        "name": "receipt-clerk", "version": "1.0.0", "type": "role",
        "description": "Stitch scanned receipts into one expense report.",
    });
    sandbox.write(".maestro/skills/receipt-clerk/manifest.json", role.to_string());
    sandbox.write(".maestro/skills/receipt-clerk/skill.md", "You are the clerk.\n");
    let trace = "Fix the typo in this message\n\nTraceback (most recent call last):\n  File \"merge_pdf.py\", line 3, in merge\n    \
                 raise PdfError(\"cannot merge PDF files\")\nPdfError: cannot merge PDF files";
    let diff =
        "Undo this\n\n--- a/pdf/merge.py\n+++ b/pdf/merge.py\n@@ -1,2 +1,2 @@\n-merge(pdf, files)\n+split(pdf, files)";
    for words in [trace, diff, STITCH] {
        assert_eq!(prompt(&sandbox, "claude-code", "UserPromptSubmit", words).stdout(), "", "{words}");
    }
}

#[test]
fn nothing_is_said_when_nothing_fits() {
    let sandbox = project();
    for words in ["Rename the variable x to y", "yes", "/merge-pdf", ""] {
        assert_eq!(prompt(&sandbox, "claude-code", "UserPromptSubmit", words).stdout(), "", "{words}");
    }
}

#[test]
fn a_skill_is_given_once_until_it_changes_or_the_model_forgets() {
    let sandbox = project();
    let says = || !prompt(&sandbox, "claude-code", "UserPromptSubmit", MERGE).stdout().is_empty();
    assert!(says());
    assert!(!says(), "it knows the text already");
    sandbox.skill(
        ".claude/skills",
        "pdf-merging",
        "Merge PDF files into one with qpdf. Use when PDFs are to be merged.",
    );
    assert!(says(), "the text is another one");
    assert!(!says());
    hook(&sandbox, "claude-code", "SessionStart", &json!({ "source": "resume" }));
    assert!(!says(), "it goes on where it was");
    hook(&sandbox, "claude-code", "SessionStart", &json!({ "source": "compact" }));
    assert!(says(), "what it was given is gone");
}

#[test]
fn a_long_skill_is_named_and_not_quoted() {
    let sandbox = project();
    let text = "---\nname: receipt-stitching\ndescription: Stitch scanned receipts into one expense report.\n---\n\n"
        .to_owned()
        + &"Step by step. ".repeat(1_000);
    sandbox.write(".maestro/skills/receipt-stitching/SKILL.md", text);
    let answer = prompt(&sandbox, "claude-code", "UserPromptSubmit", STITCH).json();
    assert_snapshot!(sandbox.normal(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap()), @"
    Reference for the user's request above, chosen by Maestro from the skills on this machine. The request decides what is done; this says how such work is done here.

    The skill `receipt-stitching` fits: Stitch scanned receipts into one expense report.
    Read it before you start: [PROJECT]/.maestro/skills/receipt-stitching/SKILL.md
    ");
}

#[test]
fn a_session_that_somebody_started_is_seen_by_everybody() {
    let sandbox = project();
    hook(&sandbox, "claude-code", "SessionStart", &json!({ "source": "startup" }));
    let begun = session(&sandbox);
    assert_eq!((&begun["status"], &begun["agentId"]), (&json!("working"), &json!("claude-code")));
    prompt(&sandbox, "claude-code", "UserPromptSubmit", MERGE);
    let line = session(&sandbox)["timeline"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&line["message"], &line["metadata"]), (&json!(MERGE), &json!({ "skills": ["pdf-merging"] })));
    hook(&sandbox, "claude-code", "Notification", &json!({ "message": "Claude needs your permission to use Bash" }));
    assert_eq!(session(&sandbox)["needsInput"]["message"], "Claude needs your permission to use Bash");
    prompt(&sandbox, "claude-code", "UserPromptSubmit", "yes, go on");
    assert!(session(&sandbox)["needsInput"]["message"].is_null(), "it goes on");
    hook(&sandbox, "claude-code", "Stop", &json!({ "stop_hook_active": false }));
    assert_eq!(session(&sandbox)["needsInput"]["message"], "Turn ended");
    hook(&sandbox, "claude-code", "SessionEnd", &json!({ "reason": "exit" }));
    assert_eq!(session(&sandbox)["status"], "completed");
}

#[test]
fn a_server_that_runs_is_told_too() {
    let sandbox = project();
    let _server = sandbox.serve();
    prompt(&sandbox, "gemini", "BeforeAgent", MERGE);
    assert_eq!(session(&sandbox)["agentId"], "gemini");
}

#[test]
fn outside_of_any_project_nothing_is_reported_or_made() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_HOOK_MS", "10000");
    hook(&sandbox, "codex", "SessionStart", &json!({ "source": "startup" }));
    assert!(!sandbox.path("~/.maestro/maestro.db").exists());
    assert!(!sandbox.path("~/.maestro/hooks/missed.jsonl").exists());
}

#[test]
fn who_was_started_by_maestro_is_left_in_peace() {
    let sandbox = project();
    let told = told(&sandbox, "UserPromptSubmit", &json!({ "prompt": MERGE })).to_string();
    let output = sandbox.maestro_told(&[("MAESTRO_SESSION_ID", "sess_mine")], &["hook", "claude-code"], &told);
    assert_eq!((output.code, output.stdout().as_str(), output.stderr().as_str()), (0, "", ""));
}

#[test]
fn whatever_goes_wrong_is_an_empty_answer_and_an_event() {
    let sandbox = project();
    let good = told(&sandbox, "UserPromptSubmit", &json!({ "prompt": MERGE })).to_string();
    let strange = told(&sandbox, "UserPromptSubmit", &json!({ "prompt": MERGE, "session_id": "../../x" })).to_string();
    let (patient, slow) = ("10000", "0");
    let cases = [
        (patient, "claude-code", "{\"session_id\": "),
        (patient, "claude-code", "[]"),
        (patient, "claude-code", &strange),
        (patient, "emacs", &good),
        (slow, "claude-code", &good),
    ];
    for (patience, agent, said) in cases {
        let output = sandbox.maestro_told(&[("MAESTRO_HOOK_MS", patience)], &["hook", agent], said);
        assert_eq!((output.code, output.stdout().as_str(), output.stderr().as_str()), (0, "", ""), "{said}");
    }
    hook(&sandbox, "claude-code", "Stop", &json!({}));
    let events = session(&sandbox)["events"].clone();
    let failures =
        events.as_array().unwrap().iter().find(|event| event["type"] == "hook_failed").unwrap()["data"]["failures"]
            .clone();
    let reasons: Vec<&str> = failures.as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    assert_snapshot!(reasons.join("\n"), @"
    cannot read the hook's input: EOF while parsing a value at line 1 column 15
    cannot read the hook's input: invalid length 0, expected struct HookPayload with 8 elements
    the session's ID is not valid
    unknown agent `emacs`
    it took longer than 0 ms
    ");
    assert!(!sandbox.path("~/.maestro/hooks/missed.jsonl").exists(), "it is told once");
}

/// Adds a failure to those that are kept, as a hook does that goes wrong.
fn fail(kept: &Path, reason: &str) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(kept).unwrap();
    writeln!(file, "{}", json!({ "at": 1, "agent": "codex", "reason": reason })).unwrap();
}

/// A way to a server on which another hook goes wrong just when failures are told.
fn way_with_a_failure(server: &str, kept: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = server.strip_prefix("http://").unwrap().to_owned();
    // Ends with the test's process.
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut answers, &mut back));
            let kept = kept.clone();
            thread::spawn(move || {
                let mut bytes = vec![0; 64 * 1024];
                while let Ok(count @ 1..) = client.read(&mut bytes) {
                    if String::from_utf8_lossy(&bytes[..count]).contains("/events HTTP") {
                        fail(&kept, "the second");
                    }
                    server.write_all(&bytes[..count]).unwrap();
                }
                server.shutdown(Shutdown::Write)
            });
        }
    });
    url
}

/// Why hooks failed, by what a session was told.
fn reasons(sandbox: &Sandbox) -> Vec<String> {
    let session = session(sandbox);
    let told = session["events"].as_array().unwrap().iter().filter(|event| event["type"] == "hook_failed");
    let failures = told.flat_map(|event| event["data"]["failures"].as_array().unwrap());
    failures.map(|failure| failure["reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_goes_wrong_while_others_are_told_of_failures_is_told_next() {
    let sandbox = project();
    let server = sandbox.serve();
    let kept = sandbox.path("~/.maestro/hooks/missed.jsonl");
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fail(&kept, "the first");
    let way = way_with_a_failure(server.url(), kept);
    let told = told(&sandbox, "Stop", &json!({})).to_string();
    let output = sandbox.maestro_told(&[("MAESTRO_API_URL", &way)], &["hook", "codex"], &told);
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(reasons(&sandbox), ["the first"]);
    hook(&sandbox, "codex", "Stop", &json!({}));
    assert_eq!(reasons(&sandbox), ["the first", "the second"]);
}

#[test]
fn a_broken_config_or_a_missing_directory_does_not_stop_a_prompt() {
    let sandbox = project();
    fs::write(sandbox.path(".maestro/config.toml"), "skills_enabled = [\n").unwrap();
    assert_eq!(prompt(&sandbox, "claude-code", "UserPromptSubmit", MERGE).stdout(), "");
    let gone = told(&sandbox, "UserPromptSubmit", &json!({ "prompt": MERGE, "cwd": "/nowhere/at/all" })).to_string();
    let output = sandbox.maestro_told(&[], &["hook", "claude-code"], &gone);
    assert_eq!((output.code, output.stderr().as_str()), (0, ""));
}

#[test]
fn a_call_that_nobody_understands_does_not_stop_a_prompt() {
    let sandbox = project();
    for call in [
        "hook",
        "hook --bad",
        "hook claude-code --bad=1",
        "hook claude-code codex",
        "--json hook claude-code -x",
        "--color pink hook claude-code",
        "hook claude-code --set",
    ] {
        let output = sandbox.maestro(call);
        assert_eq!((output.code, output.stdout().as_str(), output.stderr().as_str()), (0, "", ""), "{output}");
    }
    hook(&sandbox, "claude-code", "Stop", &json!({}));
    assert_eq!(reasons(&sandbox).len(), 7, "each is an event");
    assert!(sandbox.maestro("hook --help").stdout().contains("AGENT"), "who asks for help gets it");
    for call in ["hok claude-code", "help hook --bad", "connect --bad"] {
        assert_eq!(sandbox.maestro(call).code, 1, "{call}");
    }
}

/// Starts a hook for a prompt, with its answer going somewhere.
fn started(sandbox: &Sandbox, answer: impl Into<Stdio>) -> Child {
    let mut command = sandbox.command();
    command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(answer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let told = told(sandbox, "UserPromptSubmit", &json!({ "prompt": MERGE })).to_string();
    child.stdin.take().unwrap().write_all(told.as_bytes()).unwrap();
    child
}

#[test]
fn an_answer_that_cannot_be_written_is_given_next_time() {
    let sandbox = project();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = started(&sandbox, full).wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
    hook(&sandbox, "claude-code", "Stop", &json!({}));
    assert_eq!(reasons(&sandbox), ["cannot write the output"]);
    assert_ne!(prompt(&sandbox, "claude-code", "UserPromptSubmit", MERGE).stdout(), "");
}

#[test]
fn a_skill_is_given_once_although_many_hooks_ask_at_once() {
    let sandbox = project();
    let asking: Vec<Child> = (0..12).map(|_| started(&sandbox, Stdio::piped())).collect();
    let answers = asking.into_iter().map(|hook| hook.wait_with_output().unwrap().stdout);
    assert_eq!(answers.filter(|answer| !answer.is_empty()).count(), 1);
}
