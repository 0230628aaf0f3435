//! A model server that says what a script tells it to, for tests with real coding agents.
//!
//! It speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini, streaming or not, on loopback
//! only, and keeps every request as it came, so that a test can look for a text in the very bytes an agent sent.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use maestro_test_model::{Model, Script, Step};
//! use serde_json::json;
//!
//! let script = Script::new()
//!     .on("TASK-1", [Step::call("shell", json!({ "command": "echo hi > a.txt" })), Step::text("done")])
//!     .on("TASK-2", [Step::status(401, "no such key")]);
//! let model = Model::start(script).await?;
//! // … an agent works, its base URL is `model.url()` …
//! assert!(model.requests().iter().any(|request| request.text().contains("the text of a skill")));
//! # Ok(())
//! # }
//! ```

mod api;
mod model;
mod script;
mod serve;
mod taken;

pub use model::{Model, Request};
pub use script::{Call, Fault, Script, Step};
