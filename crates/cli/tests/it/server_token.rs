//! Tokens, the user's socket and the page's sign-in: who is let in, and how.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::served::{Prepared, Server, TOKEN, request_with, text_with};

fn without_token(server: &Server, path: &str) -> u16 {
    request_with(server.url(), "GET", path, "", None).unwrap().0
}

#[test]
fn over_the_network_everything_but_health_needs_a_token() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(without_token(&server, "/api/projects"), 401);
    assert_eq!(server.ask("GET", "/api/projects", Some("mat_guess"), None).0, 401);
    assert_eq!(without_token(&server, "/health"), 200);
    assert_eq!(server.ask("GET", "/api/projects", None, None).0, 200, "the server's own token");
    assert!(!sandbox.path("~/.maestro/run/token").exists(), "no token lies around");
}

#[test]
fn commands_of_the_same_user_need_no_token() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(sandbox.maestro("events --json").code, 0);
    // The address of this home's own server is its socket, under each of its names.
    let port = server.url().rsplit(':').next().unwrap();
    for address in [server.url().to_owned(), format!("http://localhost:{port}")] {
        let output = sandbox.command().args(["events", "--json", "--server", &address]).output().unwrap();
        assert!(output.status.success(), "{address}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let socket = sandbox.path("~/.maestro/run/maestro.sock");
    assert_eq!(server.file["socket"], socket.to_str().unwrap());
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(socket.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn another_home_needs_a_token() {
    let (sandbox, elsewhere) = (Sandbox::new(), Sandbox::new());
    let server = Server::start(&sandbox, &[]);
    let ask = |token: Option<&str>| {
        let mut command = elsewhere.command();
        command.args(["project", "list", "--server", server.url()]);
        command.envs(token.map(|token| ("MAESTRO_AUTH_TOKEN", token)));
        command.output().unwrap()
    };
    let refused = ask(None);
    assert_eq!(refused.status.code(), Some(4));
    assert_snapshot!(String::from_utf8_lossy(&refused.stderr), @"
    error: missing token: send `Authorization: Bearer …`
    hint: set MAESTRO_AUTH_TOKEN to a token from `maestro token create`, or MAESTRO_SESSION_TOKEN to this session's
    ");
    let token = sandbox.maestro("token create elsewhere").stdout();
    assert!(ask(Some(token.trim())).status.success());
}

#[test]
fn tokens_are_created_listed_and_revoked() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.maestro("init --yes").code, 0);
    let server = Server::start(&sandbox, &[]);
    let all = sandbox.maestro("token create ci --json").json();
    let reader = sandbox.maestro("token create reader --read").stdout();
    let status = |method: &str, token: &str| {
        let body = json!({ "name": "x" });
        let body = (method == "POST").then_some(&body);
        server.ask(method, "/api/projects", Some(token), body).0
    };
    let secret = all["token"].as_str().unwrap();
    assert_eq!((status("GET", secret), status("POST", secret)), (200, 201));
    assert_eq!((status("GET", reader.trim()), status("POST", reader.trim())), (200, 403));
    let listed = sandbox.maestro("token list --json").json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|token| token["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ci", "reader"]);
    assert!(!listed.to_string().contains(secret), "a secret is seen once");
    assert_eq!(sandbox.maestro_with(&["token", "revoke", all["id"].as_str().unwrap()]).code, 0);
    assert_eq!(status("GET", secret), 401);
}

#[test]
fn a_token_makes_no_tokens_and_no_links() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let project = server.make("/api/projects", &json!({ "name": "own", "workingDir": "/srv/own" }));
    let session = server.make("/api/sessions", &json!({ "projectId": project["id"], "taskIds": [] }));
    let token = sandbox.maestro("token create ci").stdout();
    let of_session = format!("/api/sessions/{}/token", session["id"].as_str().unwrap());
    for path in ["/api/tokens", "/api/sign-in-links", &of_session] {
        let (status, answer) = server.ask("POST", path, Some(token.trim()), Some(&json!({ "name": "more" })));
        assert_eq!(status, 403, "{path}: {answer}");
    }
}

#[test]
fn a_token_for_one_project_sees_no_other() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let make =
        |name: &str| server.make("/api/projects", &json!({ "name": name, "workingDir": format!("/srv/{name}") }));
    let (own, other) = (make("own"), make("other"));
    let id = |project: &serde_json::Value| project["id"].as_str().unwrap().to_owned();
    let task = server.make("/api/tasks", &json!({ "projectId": other["id"], "title": "theirs" }));
    let token = sandbox.maestro_with(&["token", "create", "one", "--project", &id(&own)]).stdout();
    let ask =
        |method: &str, path: &str, body: Option<&serde_json::Value>| server.ask(method, path, Some(token.trim()), body);
    let seen = ask("GET", "/api/projects", None).1;
    assert_eq!(seen.as_array().unwrap().iter().map(id).collect::<Vec<_>>(), [id(&own)]);
    assert_eq!(ask("GET", "/api/tasks", None).1, json!([]));
    assert_eq!(ask("GET", &format!("/api/tasks/{}", id(&task)), None).0, 403);
    assert_eq!(ask("GET", &format!("/api/tasks?projectId={}", id(&other)), None).0, 403);
    assert_eq!(ask("POST", "/api/tasks", Some(&json!({ "projectId": other["id"], "title": "mine" }))).0, 403);
    assert_eq!(ask("POST", "/api/tasks", Some(&json!({ "parentId": task["id"], "title": "mine" }))).0, 403);
    assert_eq!(ask("POST", "/api/tasks", Some(&json!({ "projectId": own["id"], "title": "mine" }))).0, 201);
    assert_eq!(ask("POST", "/api/projects", Some(&json!({ "name": "third" }))).0, 403);
    assert_eq!(ask("GET", "/api/tokens", None).0, 403);
}

#[test]
fn a_token_comes_from_a_file_and_is_long_enough() {
    let sandbox = Sandbox::new();
    sandbox.write("token", "a-token-in-a-file-0123456789abcdef\n");
    let server = Server::start(&sandbox, &["--token-file", "token"]);
    assert_eq!(server.ask("GET", "/api/projects", Some("a-token-in-a-file-0123456789abcdef"), None).0, 200);
    drop(server);
    sandbox.write("token", "short\n");
    assert_snapshot!(sandbox.maestro("up --port 0 --token-file token"), @"
    $ maestro up --port 0 --token-file token
    --- stderr
    error: a token must have at least 32 characters
    hint: use a longer one, or run `maestro token create NAME` for one that Maestro makes
    --- exit 1
    ");
}

#[test]
fn an_open_server_answers_plain_requests_and_says_how_dangerous_that_is() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(["up", "--port", "0", "--json", "--auth", "open"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let file: serde_json::Value = serde_json::from_str(&line).unwrap();
    let answered = request_with(file["url"].as_str().unwrap(), "GET", "/api/projects", "", None).unwrap();
    child.kill().unwrap();
    let warned = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    child.wait().unwrap();
    assert_eq!(answered.0, 200);
    assert!(warned.starts_with("warning: anyone who can reach this address acts as you"), "{warned}");
}

#[test]
fn a_browser_signs_in_once_by_the_link_that_up_prints() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let follow = |link: &str| {
        let path = link.strip_prefix(server.url()).unwrap();
        text_with(server.url(), path, "")
    };
    let link = server.file["signIn"].as_str().unwrap();
    let admitted = follow(link);
    assert!(admitted.starts_with("HTTP/1.1 303"), "{admitted}");
    let cookie = admitted.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    assert!(cookie.starts_with("maestro_") && !cookie.contains(TOKEN), "{cookie}");
    let page = text_with(server.url(), "/", &format!("Cookie: {cookie}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(follow(link).starts_with("HTTP/1.1 401"), "a link works once");
    let another = sandbox.maestro("open").stdout();
    assert!(follow(another.trim()).starts_with("HTTP/1.1 303"));
}

#[test]
fn guesses_of_a_token_have_to_wait() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let guess = || {
        let address = server.url().strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let body = "token=guess";
        let head = format!(
            "POST /page/sign-in HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        std::io::read_to_string(stream).unwrap()
    };
    let answers: Vec<String> = (0..8).map(|_| guess()).collect();
    assert!(answers[0].starts_with("HTTP/1.1 401"), "{}", answers[0]);
    assert!(answers.iter().any(|answer| answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after")));
}

#[test]
fn a_session_is_still_known_by_its_name() {
    let sandbox = Sandbox::new();
    let prepared = Prepared::new(&sandbox);
    let _server = Server::start(&sandbox, &[]);
    let sandbox = sandbox.with_variable("MAESTRO_SESSION_ID", &prepared.worker);
    let accepted = sandbox.maestro_with(&["handoff", "accept", &prepared.handoff, "--json"]).json();
    assert_eq!(accepted["acceptedBy"], prepared.worker.as_str());
    assert_eq!(sandbox.maestro("update").code, 0);
}

#[test]
fn a_project_cannot_open_the_server() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "auth = \"open\"\n");
    assert_snapshot!(sandbox.maestro("up --port 0"), @"
    $ maestro up --port 0
    --- stderr
    error: the configuration has errors
      because [PROJECT]/.maestro/config.toml:1:8: a project may not set `auth` (set it in your own config.toml: it holds for everything that is stored, of all projects)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
}

#[test]
fn the_settings_decide_what_a_finished_task_becomes() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--set", "task_when_done=in_review"]);
    let project = server.make("/api/projects", &json!({ "name": "app", "workingDir": "/srv/app" }));
    let task = server.make("/api/tasks", &json!({ "projectId": project["id"], "title": "Do it" }));
    let session = server.make("/api/sessions", &json!({ "projectId": project["id"], "taskIds": [task["id"]] }));
    let reports = format!("/api/sessions/{}/reports", session["id"].as_str().unwrap());
    server.make(&reports, &json!({ "kind": "complete", "message": "done" }));
    let path = format!("/api/tasks/{}", task["id"].as_str().unwrap());
    assert_eq!(server.ask("GET", &path, None, None).1["status"], "in_review");
}
