//! The same router over a store that stores nothing: what a report costs without its storage. Prints its address.
//!
//! It knows the same token as the server beside it (`MAESTRO_AUTH_TOKEN`), so that both recognize their callers alike.

#![allow(clippy::print_stdout, reason = "whoever started it wants to know where it is")]

use std::sync::Arc;

use maestro_server::{AccessPolicy, AppState, ServerListeners, ServerOptions, serve};
use maestro_store::Store;
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main(worker_threads = 2)]
async fn main() -> std::io::Result<()> {
    let answer = json!({
        "session": "sess_1_000000000", "project": "proj_1_000000000", "status": "working",
        "tasks": ["task_1_000000000"], "news": { "notices": [], "cursor": 0 },
    });
    let app = AppState::new(ServerOptions {
        store: Store::hollow(answer),
        access: std::env::var("MAESTRO_AUTH_TOKEN")
            .map_or(AccessPolicy::Open, |token| AccessPolicy::Token(Some(token))),
        hosts: Vec::new(),
        instance: String::new(),
        site: "site".to_owned(),
        url: "http://localhost:3000".to_owned(),
        phone: None,
        version: String::new(),
        hostname: String::new(),
        clock: Arc::new(|| 0),
        retention: maestro_engine::daemon::EventRetention::Keep,
        backups: None,
        host: Arc::new(maestro_engine::BareHost),
        endpoints: maestro_core::agent::spawn::AgentEndpoints::default(),
        hosting: None,
        execution: None,
        mcp: None,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let listeners = ServerListeners { network: vec![listener], ..ServerListeners::default() };
    serve(listeners, app, None, std::future::pending()).await;
    Ok(())
}
