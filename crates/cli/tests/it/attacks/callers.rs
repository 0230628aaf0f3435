//! Attacks by callers that want to be someone else: agents without their token, sessions with more rights, other users.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;
use crate::served::{Server, TOKEN, request_with};
use crate::waiting::wait_until;

/// What an agent does to be the user: it forgets who it is.
const FORGET: &str = "unset MAESTRO_SESSION_TOKEN MAESTRO_SESSION_ID MAESTRO_TASK_ID MAESTRO_TASK_IDS";

/// A server whose demo agents run one command.
pub(super) struct Stage {
    pub(super) sandbox: Sandbox,
    pub(super) server: Server,
    pub(super) project: String,
}

impl Stage {
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
        let script = sandbox.path("~/script").display().to_string();
        let sandbox = sandbox.with_variable("MAESTRO_DEMO_SCRIPT", &script);
        let server = Server::start(&sandbox, &[]);
        let body = json!({ "name": "shop", "workingDir": sandbox.project() });
        let project = id(&server.make("/api/projects", &body));
        Self { sandbox, server, project }
    }

    /// Has an agent run a command to its end; what it printed is in `out`.
    fn agent_runs(&self, command: &str) -> String {
        let command = format!("({command}) > out 2>&1; echo done >> out");
        self.sandbox.write("~/script", format!("{}\n", json!({ "do": "run", "command": command })));
        let task = id(&self.server.make("/api/tasks", &json!({ "projectId": self.project, "title": "Attack" })));
        let session = self.sandbox.maestro(&format!("session spawn --task {task} --agent demo --permission all")).id();
        let spawn = format!("/api/sessions/{session}/spawn");
        wait_until("the agent has ended", || self.server.get(&spawn)["state"] == "done");
        let out = String::from_utf8_lossy(&fs::read(self.sandbox.path("out")).unwrap()).into_owned();
        assert!(out.ends_with("done\n"), "{out}");
        out
    }

    fn project_names(&self) -> Vec<String> {
        let projects = self.server.get("/api/projects");
        projects.as_array().unwrap().iter().map(|project| project["name"].as_str().unwrap().to_owned()).collect()
    }
}

pub(super) fn id(made: &Json) -> String {
    made["id"].as_str().unwrap_or_else(|| panic!("it has no id: {made}")).to_owned()
}

#[test]
fn an_agent_without_its_token_is_not_the_user() {
    let stage = Stage::new();
    let url = stage.server.url();
    let home = "$HOME/.ssh";
    // By its own socket, by the user's, by the network, and with no address at all.
    let ways = [
        FORGET.to_owned(),
        format!("{FORGET} MAESTRO_SOCKET"),
        format!("{FORGET} MAESTRO_SOCKET MAESTRO_API_URL MAESTRO_SERVER_URL"),
        format!("{FORGET}; export MAESTRO_SOCKET=$MAESTRO_HOME/run/maestro.sock"),
    ];
    for way in ways {
        let out = stage.agent_runs(&format!(
            "{way}; maestro project create evil -d {home}; maestro project create evil --server {url} -d {home}"
        ));
        assert_eq!(stage.project_names(), ["shop"], "{way}: {out}");
    }
}

#[test]
fn an_agent_finds_no_secret_in_the_servers_files() {
    let stage = Stage::new();
    let out = stage.agent_runs("cat $MAESTRO_HOME/run/* $MAESTRO_HOME/maestro.db* 2>&1");
    assert!(!out.contains(TOKEN) && !out.contains("mat_"), "{out}");
    let kept: Vec<_> = fs::read_dir(stage.sandbox.path("~/.maestro/run")).unwrap().collect();
    for file in kept.into_iter().map(Result::unwrap).filter(|file| file.file_type().unwrap().is_file()) {
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(TOKEN), "{}", file.path().display());
    }
}

/// Sends a request over a socket with these headers, each with the end of its line.
fn over_socket(socket: &Path, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = UnixStream::connect(socket).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[test]
fn a_caller_on_a_sessions_socket_is_that_session_whatever_it_sends() {
    let stage = Stage::new();
    stage.sandbox.write(
        "~/script",
        format!("{}\n", json!({ "do": "run", "command": "touch begun; while [ ! -e go ]; do sleep 0.02; done" })),
    );
    let task = id(&stage.server.make("/api/tasks", &json!({ "projectId": stage.project, "title": "Wait" })));
    let session = stage.sandbox.maestro(&format!("session spawn --task {task} --agent demo --permission all")).id();
    wait_until("the agent is there", || stage.sandbox.path("begun").exists());
    let socket = stage.sandbox.path(&format!("~/.maestro/sessions/{session}/maestro.sock"));
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let user = format!("Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(over_socket(&socket, "GET", "/api/tokens", &user, "").0, 403);
    assert_eq!(over_socket(&socket, "POST", "/api/projects", &user, r#"{"name":"evil"}"#).0, 403);
    let report = format!("/api/sessions/{session}/reports");
    assert_eq!(over_socket(&socket, "POST", &report, "", r#"{"message":"it is me"}"#).0, 200);
    stage.sandbox.write("go", "");
    wait_until("the socket goes with the agent", || !socket.exists());
}

#[test]
fn a_session_reaches_no_other_project_and_no_other_directory() {
    let stage = Stage::new();
    let server = &stage.server;
    let ssh = stage.sandbox.home().join(".ssh");
    fs::create_dir_all(&ssh).unwrap();
    let other = id(&server.make("/api/projects", &json!({ "name": "other", "workingDir": ssh })));
    let theirs = id(&server.make("/api/tasks", &json!({ "projectId": other, "title": "theirs" })));
    let body = json!({ "projectId": stage.project, "taskIds": [], "role": "orchestrator" });
    let session = id(&server.make("/api/sessions", &body));
    let token = server.make(&format!("/api/sessions/{session}/token"), &json!({}))["token"].clone();
    let ask = |method: &str, path: &str, body: Option<&Json>| server.ask(method, path, token.as_str(), body);
    for path in [
        format!("/api/projects/{other}"),
        format!("/api/tasks/{theirs}"),
        format!("/api/tasks?projectId={other}"),
        format!("/api/tasks?projectId={}", other.replace('_', "%5F")),
        format!("/api/sessions?project%49d={other}"),
        format!("/api/tasks?projectId={}&projectId={other}", stage.project),
        format!("/api/events?projectId={other}"),
        "/api/tokens".to_owned(),
        "/".to_owned(),
    ] {
        assert_eq!(ask("GET", &path, None).0, 403, "{path}");
    }
    let seen = ask("GET", "/api/events?since=0", None).1;
    assert!(seen.as_array().unwrap().iter().all(|event| event["project"] == stage.project.as_str()), "{seen}");
    let refused = [
        ("/api/projects", json!({ "name": "evil", "workingDir": ssh })),
        ("/api/tasks", json!({ "projectId": other, "title": "mine" })),
        ("/api/sessions", json!({ "projectId": other, "taskIds": [theirs] })),
        (
            "/api/sessions/spawn",
            json!({ "projectId": other, "taskIds": [theirs], "agent": "demo", "permission": "all" }),
        ),
        ("/api/runs", json!({ "projectId": other, "workflow": "session-start" })),
        ("/api/runs", json!({ "workflow": "session-start", "workspace": ssh })),
        ("/api/handoffs", json!({ "projectId": other, "from": "a", "to": "b", "title": "t" })),
        ("/api/tokens", json!({ "name": "mine" })),
        ("/api/sign-in-links", json!({})),
    ];
    for (path, body) in refused {
        let (status, answer) = ask("POST", path, Some(&body));
        assert_eq!(status, 403, "{path} {body}: {answer}");
    }
}

/// Lets a workflow's only step call Maestro; each call leaves its exit code in `codes`.
pub(super) fn calling_workflow(stage: &Stage, calls: &[&str]) -> Json {
    let calls: Vec<String> = calls.iter().map(|call| format!("      {call} >> out 2>&1; echo $? >> codes\n")).collect();
    let calls = calls.concat();
    let text = format!("name: asks\nsteps:\n- id: ask\n  type: command\n  shell:\n    script: |\n{calls}");
    stage.sandbox.skill(".claude/skills", "asks", "Ask the server. Use when something is to be asked.");
    stage.sandbox.write(".claude/skills/asks/workflow.yaml", text);
    let trusted = stage.sandbox.maestro("trust asks --yes");
    assert_eq!(trusted.code, 0, "{trusted}");
    json!({ "workflow": "asks", "workspace": stage.sandbox.project(), "projectId": stage.project })
}

/// The exit codes of the calls that ended since the last time.
pub(super) fn take_codes(stage: &Stage, count: usize) -> Vec<String> {
    let path = stage.sandbox.path("codes");
    let read = || fs::read_to_string(&path).unwrap_or_default();
    wait_until("the calls have ended", || read().lines().count() >= count);
    let codes = read().lines().map(str::to_owned).collect();
    fs::remove_file(path).unwrap();
    codes
}

#[test]
fn a_step_is_no_person_whoever_started_its_run() {
    let stage = Stage::new();
    let other = id(&stage.server.make("/api/projects", &json!({ "name": "other", "workingDir": "/srv/other" })));
    let made = format!("maestro task create evil --project {other}");
    let run =
        calling_workflow(&stage, &["maestro project create more -d /srv/more", "maestro token create mine", &made]);
    let body = json!({ "projectId": stage.project, "taskIds": [], "role": "orchestrator" });
    let session = id(&stage.server.make("/api/sessions", &body));
    let token = stage.server.make(&format!("/api/sessions/{session}/token"), &json!({}))["token"].clone();
    let (status, begun) = stage.server.ask("POST", "/api/runs", token.as_str(), Some(&run));
    assert_eq!(status, 201, "{begun}");
    assert_eq!(take_codes(&stage, 3), ["4", "4", "4"], "a session's run is no person");
    assert_eq!(stage.project_names(), ["shop", "other"]);
    stage.server.make("/api/runs", &run);
    assert_eq!(
        take_codes(&stage, 3),
        ["4", "4", "4"],
        "an agent may have written what a step of a person's run executes"
    );
    assert_eq!(stage.project_names(), ["shop", "other"]);
    assert_eq!(stage.server.get("/api/tasks"), json!([]));
}

#[test]
fn a_step_gives_no_more_rights_than_its_run_has() {
    let stage = Stage::new();
    let task = id(&stage.server.make("/api/tasks", &json!({ "projectId": stage.project, "title": "Attack" })));
    stage.sandbox.write("~/script", format!("{}\n", json!({ "do": "run", "command": "true" })));
    let spawn = format!("maestro session spawn --task {task} --agent demo --permission");
    let mut run =
        calling_workflow(&stage, &[&format!("{spawn} all"), &format!("{spawn} edits"), &format!("{spawn} ask")]);
    run["permission"] = json!("ask");
    run["demo"] = json!(true);
    stage.server.make("/api/runs", &run);
    assert_eq!(take_codes(&stage, 3), ["4", "4", "0"], "{}", fs::read_to_string(stage.sandbox.path("out")).unwrap());
}

#[test]
fn the_calls_of_a_run_that_a_command_executes_are_passed_on_as_the_runs() {
    let stage = Stage::new();
    let task = id(&stage.server.make("/api/tasks", &json!({ "projectId": stage.project, "title": "Attack" })));
    let spawn = format!("maestro session spawn --task {task} --agent claude --permission all");
    let calls = ["maestro project create more -d /srv/more", "maestro token create mine", &spawn];
    calling_workflow(&stage, &[&calls[..], &["printenv MAESTRO_SOCKET | tee socket"]].concat());
    let ran = stage.sandbox.maestro("workflow run asks --yes");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(take_codes(&stage, 4), ["4", "4", "4", "0"], "with the rights of the run, not of the command");
    assert_eq!(stage.project_names(), ["shop"]);
    let socket = fs::read_to_string(stage.sandbox.path("socket")).unwrap();
    assert!(socket.contains("/sessions/run_") && !Path::new(socket.trim()).exists(), "it goes with the run: {socket}");
}

#[test]
fn a_token_ends_with_its_session() {
    let stage = Stage::new();
    let out = stage.agent_runs("echo $MAESTRO_SESSION_TOKEN");
    let token = out.lines().next().unwrap();
    assert!(token.starts_with("mst_"), "{out}");
    let (status, answer) = stage.server.ask("GET", "/api/tasks", Some(token), None);
    assert_eq!(status, 401, "{answer}");
    assert_eq!(stage.server.get("/api/tokens"), json!([]), "none is left");
}

#[test]
fn a_live_sessions_token_is_listed_and_can_be_revoked() {
    let stage = Stage::new();
    let session = id(&stage.server.make("/api/sessions", &json!({ "projectId": stage.project, "taskIds": [] })));
    let token = stage.server.make(&format!("/api/sessions/{session}/token"), &json!({}))["token"].clone();
    let status = || stage.server.ask("GET", "/api/tasks", token.as_str(), None).0;
    assert_eq!(status(), 200);
    assert_eq!(stage.sandbox.maestro("token list --json").json()[0]["id"], session.as_str());
    assert_eq!(stage.sandbox.maestro(&format!("token revoke {session}")).code, 0);
    assert_eq!(status(), 401);
    let named = format!("X-Session-Id: {session}\r\nAuthorization: Bearer {TOKEN}\r\n");
    let answer = request_with(stage.server.url(), "GET", "/api/tasks", &named, None).unwrap();
    assert_eq!(answer.0, 401, "its name alone is not enough again");
}

#[test]
fn another_user_of_this_machine_gets_nothing() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(request_with(server.url(), "GET", "/api/projects", "", None).unwrap().0, 401, "not over the network");
    // Even if the user opened all directories by mistake.
    let socket = sandbox.path("~/.maestro/run/maestro.sock");
    for directory in socket.ancestors().skip(1).take_while(|path| path.starts_with(sandbox.home().parent().unwrap())) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    let mut command = sandbox.command();
    command.env("MAESTRO_SOCKET", &socket).env("MAESTRO_RETRIES", "0").args(["project", "list"]);
    let Ok(output) = command.uid(65534).gid(65534).output() else {
        eprintln!("skipped: this user cannot become another one, or the other one cannot run the program");
        return;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("belongs to another user"), "{error}");
}
