//! Does a client of the Model Context Protocol get skills, workflows and a worker's tools, whichever protocol it speaks?

pub(crate) mod client;
mod commands;
mod content;
mod directories;
mod lists;
mod reading;
mod runs;
mod skills;
mod worker;

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;
use client::{Client, Era, Forms, raw};

/// What a tool's answer says to a model.
pub(crate) fn text(result: &Json) -> String {
    let blocks = result["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The programs of this machine, and a skill about PDFs.
pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    sandbox.skill(".claude/skills", "pdf", "Read and fill PDF forms. Use when a PDF file is involved.");
    sandbox.write(".claude/skills/pdf/references/forms.md", "Fields have names.");
    sandbox
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    let sandbox = project();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let said = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        } });
        let answered = sandbox.maestro_told(&[], &["mcp"], &format!("{said}\n"));
        assert_eq!(answered.code, 0, "a client that goes away is no failure: {answered}");
        let answer = answered.json();
        assert_eq!(answer["result"]["protocolVersion"], json!(version), "{answer:#}");
        assert_eq!(answer["result"]["serverInfo"]["name"], json!("maestro"));
        assert_eq!(answered.stderr(), "");
    }
    assert!(!sandbox.path("~/.maestro").exists(), "a greeting opens and writes nothing");
}

#[test]
fn todays_protocol_needs_no_handshake() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let found = client.call("server/discover", json!({})).unwrap();
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")), "{found:#}");
    let extension = &found["capabilities"]["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(*extension, json!({ "directoryRead": true }));
    let instructions = found["instructions"].as_str().unwrap();
    assert!(instructions.chars().take(512).collect::<String>().contains("find_skills"), "{instructions}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn what_is_no_message_is_refused_and_the_next_one_answered() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    client.say(&json!("no message"));
    client.say(&json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": 7 } }));
    assert_eq!(client.call("no/such/method", json!({})).unwrap_err()["code"], json!(-32601));
    let read = client.tool("use_skill", &json!({ "name": "pdf" }));
    assert!(text(&read).contains("Step by step."), "{read:#}");
}

#[test]
fn a_server_answers_at_mcp_behind_its_guard() {
    let sandbox = project();
    let server = crate::served::Server::start(&sandbox, &[]);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    } });
    assert_eq!(raw(server.url(), "", &hello).0, 401);
    let origin = format!("Authorization: Bearer {}\r\nOrigin: http://evil.example\r\n", crate::served::TOKEN);
    assert_eq!(raw(server.url(), &origin, &hello).0, 403, "a page of somebody else's");
    for era in [Era::Earlier, Era::Today] {
        let mut client = Client::connect(server.url(), era, Forms::Unknown);
        let read = client.tool("use_skill", &json!({ "name": "pdf" }));
        assert!(text(&read).contains("Step by step."), "{era:?}: {read:#}");
    }
}
