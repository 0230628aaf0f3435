//! Servers that are not there, break off or fail: what is tried again, and that nothing happens twice.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::worker::Desk;

/// A proxy before a server that notes each request, and loses or spoils the answers to the first ones.
pub(crate) struct Counter {
    pub(crate) url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

/// What becomes of the first answers.
#[derive(Clone, Copy)]
enum Fault {
    /// The connection breaks before they arrive.
    Lost(usize),
    /// The server says that it failed.
    Failed(usize),
    /// It says so of every request whose target contains this.
    FailedAt(&'static str),
    /// The connection breaks before the answer to such a request arrives.
    LostAt(&'static str),
}

const FAILED: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";

impl Counter {
    pub(crate) fn before(server: &str) -> Self {
        Self::with(server, Fault::Lost(0))
    }

    fn losing(server: &str, answers: usize) -> Self {
        Self::with(server, Fault::Lost(answers))
    }

    fn with(server: &str, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (server, seen) = (server.strip_prefix("http://").unwrap().to_owned(), Arc::clone(&heads));
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming() {
                let (server, seen) = (TcpStream::connect(&server).unwrap(), Arc::clone(&seen));
                thread::spawn(move || pass_on(client.unwrap(), server, &seen, fault));
            }
        });
        Self { url, heads }
    }

    pub(crate) fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }

    fn requests_to(&self, part: &str) -> usize {
        let heads = self.heads.lock().unwrap();
        heads.iter().filter(|head| head.lines().next().is_some_and(|line| line.contains(part))).count()
    }

    /// The keys of the requests that carried one.
    fn keys(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let lines = heads.iter().flat_map(|head| head.lines());
        lines.filter_map(|line| line.strip_prefix("idempotency-key: ")).map(str::to_owned).collect()
    }
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, seen: &Mutex<Vec<String>>, fault: Fault) {
    while let Some((head, bytes)) = read_message(&mut client) {
        let target = head.lines().next().unwrap_or_default().to_owned();
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(head);
            seen.len()
        };
        server.write_all(&bytes).unwrap();
        let (_, answer) = read_message(&mut server).unwrap();
        let answer = match fault {
            Fault::Lost(lost) if number <= lost => return,
            Fault::LostAt(part) if target.contains(part) => return,
            Fault::Failed(failed) if number <= failed => FAILED,
            Fault::FailedAt(part) if target.contains(part) => FAILED,
            _ => &answer,
        };
        if client.write_all(answer).is_err() {
            return;
        }
    }
}

/// The head of a request or an answer, and all its bytes; nothing when the other side has gone.
fn read_message(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&bytes).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    bytes.append(&mut body);
    Some((head, bytes))
}

fn impatient() -> Sandbox {
    Sandbox::new().with_variable("MAESTRO_RETRY_DELAY", "1")
}

#[test]
fn a_server_that_is_not_there_is_a_network_error() {
    let sandbox = impatient();
    assert_snapshot!(sandbox.maestro("task list --server http://127.0.0.1:9"), @"
    $ maestro task list --server http://127.0.0.1:9
    --- stderr
    error: cannot connect to http://127.0.0.1:9
      because Connection refused (os error 111)
    hint: run `maestro up`, or unset MAESTRO_API_URL and --server to work without a server
    --- exit 3
    ");
    let output = sandbox.maestro("project list --server http://127.0.0.1:9 --json");
    assert_eq!((output.code, output.json()["error"].as_str()), (3, Some("network_error")), "{output}");
    assert!(!sandbox.home().join(".maestro/maestro.db").exists(), "who names a server means no other place");
}

#[test]
fn an_address_that_is_none_is_said_at_once() {
    let sandbox = impatient();
    assert_snapshot!(sandbox.maestro("project list --server ftp://x"), @"
    $ maestro project list --server ftp://x
    --- stderr
    error: `ftp://x` is not a server address: it must start with http://
    hint: use an address like http://127.0.0.1:3000
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro_as(&[("MAESTRO_RETRIES", "many")], &["project", "list"]), @"
    $ MAESTRO_RETRIES=many maestro project list
    --- stderr
    error: MAESTRO_RETRIES is not a number: `many`
    hint: unset MAESTRO_RETRIES
    --- exit 1
    ");
}

#[test]
fn a_lost_answer_is_asked_for_again_and_nothing_happens_twice() {
    let desk = Desk::new();
    let server = desk.sandbox.serve();
    let counter = Counter::losing(server.url(), 2);
    let variables = [
        ("MAESTRO_API_URL", counter.url.as_str()),
        ("MAESTRO_RETRY_DELAY", "1"),
        ("MAESTRO_TASK_ID", desk.task.as_str()),
    ];
    let output = desk.sandbox.maestro_as(&variables, &["task", "create", "Once", "--parent", &desk.task]);
    assert_eq!(output.code, 0, "{output}");
    let keys = counter.keys();
    assert_eq!(counter.requests(), 3);
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let children = desk.person(&["task", "children", &desk.task, "--json"]).json();
    assert_eq!(children.as_array().unwrap().len(), 1, "{children}");
    assert_eq!(children[0]["id"], output.id().as_str());
}

#[test]
fn a_server_that_failed_is_asked_again() {
    let desk = Desk::new();
    let server = desk.sandbox.serve();
    let counter = Counter::with(server.url(), Fault::Failed(1));
    let variables = [("MAESTRO_API_URL", counter.url.as_str()), ("MAESTRO_RETRY_DELAY", "1")];
    let output = desk.sandbox.maestro_as(&variables, &["project", "create", "once"]);
    // The request that failed, the same again, and a look at which projects are here.
    assert_eq!((output.code, counter.requests()), (0, 3), "{output}");
    assert_eq!(desk.person(&["project", "list", "--json"]).json().as_array().unwrap().len(), 2);
    let counter = Counter::with(server.url(), Fault::Failed(usize::MAX));
    let args = ["project", "list", "--server", &counter.url];
    assert_snapshot!(desk.sandbox.maestro_as(&[("MAESTRO_RETRY_DELAY", "1")], &args).stderr(), @"
    error: the server answered 500 Internal Server Error
    hint: run `maestro db check`
    ");
}

#[test]
fn a_step_that_may_have_been_taken_is_not_taken_again() {
    let desk = Desk::new();
    let server = desk.sandbox.serve();
    let variables = [("MAESTRO_SESSION_ID", "sess_q"), ("MAESTRO_STRATEGY", "queue"), ("MAESTRO_TASK_ID", &desk.task)];
    desk.sandbox.maestro_as(&variables, &["session", "register"]);
    let step = "post /api/sessions/sess_q/queue";
    let counter = Counter::with(server.url(), Fault::LostAt(step));
    let variables =
        [("MAESTRO_API_URL", counter.url.as_str()), ("MAESTRO_SESSION_ID", "sess_q"), ("MAESTRO_RETRY_DELAY", "1")];
    let output = desk.sandbox.maestro_as(&variables, &["queue", "start"]);
    assert_eq!((output.code, counter.requests_to(step)), (3, 1), "{output}");
}

#[test]
fn as_often_as_wanted_and_no_more() {
    let desk = Desk::new();
    let server = desk.sandbox.serve();
    for (retries, requests) in [("0", 1), ("2", 3)] {
        let counter = Counter::losing(server.url(), usize::MAX);
        let variables =
            [("MAESTRO_API_URL", counter.url.as_str()), ("MAESTRO_RETRIES", retries), ("MAESTRO_RETRY_DELAY", "1")];
        let output = desk.sandbox.maestro_as(&variables, &["project", "list"]);
        assert_eq!((output.code, counter.requests()), (3, requests), "{output}");
    }
}

#[test]
fn the_overview_says_that_it_does_not_know_what_waits() {
    let desk = Desk::new();
    let server = desk.sandbox.serve();
    let overview = |fault: Fault, args: &[&str]| {
        let counter = Counter::with(server.url(), fault);
        let variables = [("MAESTRO_API_URL", counter.url.as_str()), ("MAESTRO_RETRY_DELAY", "1")];
        desk.sandbox.maestro_as(&variables, args)
    };
    let quiet = overview(Fault::Lost(0), &[]);
    assert!(quiet.stdout().contains("  waits    nothing waits for you\n"), "{quiet}");
    assert_eq!(overview(Fault::Lost(0), &["--json"]).json()["waiting"], json!([]));
    let failed = overview(Fault::FailedAt("/api/waiting"), &[]);
    let line = "  waits    cannot say what waits: the server answered 500 Internal Server Error\n";
    assert!(failed.code == 0 && failed.stdout().contains(line), "{failed}");
    assert!(!failed.stdout().contains("nothing waits"), "{failed}");
    assert_eq!(overview(Fault::FailedAt("/api/waiting"), &["--json"]).json()["waiting"], json!(null));
}

#[test]
fn the_overview_names_an_address_that_is_none() {
    let overview = impatient().maestro_as(&[("MAESTRO_API_URL", "ftp://x")], &[]);
    assert!(overview.stdout().contains("  server   unknown\n"), "{overview}");
    assert!(
        overview.stdout().contains("  waits    cannot say what waits: `ftp://x` is not a server address"),
        "{overview}"
    );
}

#[test]
fn a_session_is_not_shown_without_what_the_server_failed_to_say() {
    let desk = Desk::new();
    let session = desk.begin();
    let server = desk.sandbox.serve();
    let show = |fault: Fault, more: &[&str]| {
        let counter = Counter::with(server.url(), fault);
        let variables = [("MAESTRO_API_URL", counter.url.as_str()), ("MAESTRO_RETRY_DELAY", "1")];
        desk.sandbox.maestro_as(&variables, &[["show", session.as_str()].as_slice(), more].concat())
    };
    assert_eq!(show(Fault::Lost(0), &["--json"]).json()["spawn"], json!(null), "it was not spawned");
    for path in ["/spawn ", "/receipts ", "/api/permissions"] {
        for more in [&[][..], &["--skills"]] {
            let failed = show(Fault::FailedAt(path), more);
            assert_eq!((failed.code, failed.stdout().as_str()), (1, ""), "{path}: {failed}");
            assert!(failed.stderr().starts_with("error: the server answered 500"), "{path}: {failed}");
        }
        let failed = show(Fault::FailedAt(path), &["--json"]);
        assert_eq!((failed.code, &failed.json()["error"]), (1, &json!("server_error")), "{path}: {failed}");
    }
}
