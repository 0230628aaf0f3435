//! `maestro track-file`: silent, and never in the way.

use crate::sandbox::Sandbox;
use crate::served::{Prepared, Server};

#[test]
fn a_changed_file_becomes_an_event_of_the_session() {
    for by_session in [true, false] {
        let sandbox = Sandbox::new();
        let prepared = Prepared::new(&sandbox);
        let (name, value) =
            if by_session { ("MAESTRO_SESSION_ID", &prepared.worker) } else { ("MAESTRO_TASK_ID", &prepared.task) };
        let sandbox = sandbox.with_variable(name, value);
        let tracked = sandbox.maestro("track-file src/auth.ts");
        assert_eq!((tracked.code, tracked.stdout(), tracked.stderr()), (0, String::new(), String::new()));
        let server = Server::start(&sandbox, &[]);
        let session = server.ask("GET", &format!("/api/sessions/{}", prepared.worker), None, None).1;
        let event = &session["events"][0];
        assert_eq!(event["type"], "file_modified", "{session}");
        assert_eq!(event["data"]["file"], "src/auth.ts");
        assert!(event["data"]["timestamp"].as_str().unwrap().ends_with('Z'));
    }
}

#[test]
fn nothing_that_goes_wrong_is_shown() {
    let silent = |sandbox: Sandbox| {
        let tracked = sandbox.maestro("track-file a.rs");
        assert_eq!((tracked.code, tracked.stdout(), tracked.stderr()), (0, String::new(), String::new()));
    };
    silent(Sandbox::new());
    silent(Sandbox::new().with_variable("MAESTRO_SESSION_ID", "sess_1_aaaaaaaaa"));
    let unreachable = Sandbox::new().with_variable("MAESTRO_SESSION_ID", "sess_1_aaaaaaaaa");
    silent(unreachable.with_variable("MAESTRO_API_URL", "http://127.0.0.1:9"));
}
