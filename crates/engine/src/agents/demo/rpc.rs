//! Agent Client Protocol of the demo agent, written by hand so that our client is tested against another
//! implementation.

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use maestro_core::agent::{AgentEvent, PermissionChoiceKind, ToolKind, ToolStatus};
use serde_json::{Value as Json, json};

use super::memory::DemoMemory;
use super::perform::perform;
use super::{DemoAnswer, DemoOutput, DemoPermission, DemoTurnEnd, turn_actions};

/// How often a waiting turn checks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// Answers requests until the input ends.
pub(super) fn run() -> io::Result<ExitCode> {
    let mut agent = DemoAcpAgent { sessions: HashMap::new(), turn: None };
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Json>(&line?) else {
            send(&json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "no JSON" } }))?;
            continue;
        };
        agent.handle(&message)?;
    }
    Ok(ExitCode::SUCCESS)
}

struct DemoSession {
    memory: DemoMemory,
    cwd: PathBuf,
    permission: DemoPermission,
}

struct DemoAcpAgent {
    sessions: HashMap<String, DemoSession>,
    turn: Option<DemoTurn>,
}

/// A running turn.
struct DemoTurn {
    session: String,
    cancelled: Arc<AtomicBool>,
    answers: Sender<Json>,
}

/// Why a request is refused.
type RpcRefusal = (i64, String);

impl DemoAcpAgent {
    fn handle(&mut self, message: &Json) -> io::Result<()> {
        let parameters = &message["params"];
        let Some(method) = message["method"].as_str() else {
            if let Some(turn) = &self.turn {
                let _ = turn.answers.send(message.clone());
            }
            return Ok(());
        };
        let answer = match method {
            "initialize" => Ok(json!({
                "protocolVersion": 1,
                "agentCapabilities": { "loadSession": true },
                "agentInfo": { "name": "demo", "version": env!("CARGO_PKG_VERSION") },
                "authMethods": [],
            })),
            "session/new" => self.open(parameters, DemoMemory::new()),
            "session/load" => {
                let id = parameters["sessionId"].as_str().unwrap_or_default();
                let opened = self.open(parameters, DemoMemory::load(id));
                self.replay(id)?;
                opened
            }
            "session/set_mode" => self.set_mode(parameters),
            "session/cancel" => {
                if let Some(turn) = self.turn.as_ref().filter(|turn| parameters["sessionId"] == *turn.session) {
                    turn.cancelled.store(true, Ordering::Relaxed);
                }
                return Ok(());
            }
            "session/prompt" => match self.begin_turn(&message["id"], parameters) {
                Ok(()) => return Ok(()),
                Err(refused) => Err(refused),
            },
            other => Err((-32601, format!("unknown method `{other}`"))),
        };
        if message["id"].is_null() { Ok(()) } else { answer_to(&message["id"], answer) }
    }

    fn open(&mut self, parameters: &Json, memory: io::Result<DemoMemory>) -> Result<Json, RpcRefusal> {
        let memory = memory.map_err(|error| (-32002, error.to_string()))?;
        let cwd = parameters["cwd"].as_str().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
        let cwd = cwd.ok_or_else(|| (-32602, "`cwd` is not an absolute path".to_owned()))?;
        let id = memory.id.clone();
        self.sessions.insert(id.clone(), DemoSession { memory, cwd, permission: DemoPermission::Edits });
        let modes = ["ask", "edits", "all"].map(|mode| json!({ "id": mode, "name": mode }));
        Ok(json!({ "sessionId": id, "modes": { "currentModeId": "edits", "availableModes": modes } }))
    }

    /// Replays the messages of a resumed session.
    fn replay(&self, id: &str) -> io::Result<()> {
        for prompt in self.sessions.get(id).iter().flat_map(|session| &session.memory.prompts) {
            let content = json!({ "type": "text", "text": prompt });
            update(id, &json!({ "sessionUpdate": "user_message_chunk", "content": content }))?;
        }
        Ok(())
    }

    fn session(&mut self, parameters: &Json) -> Result<&mut DemoSession, RpcRefusal> {
        let id = parameters["sessionId"].as_str().unwrap_or_default();
        self.sessions.get_mut(id).ok_or_else(|| (-32602, format!("there is no session `{id}`")))
    }

    fn set_mode(&mut self, parameters: &Json) -> Result<Json, RpcRefusal> {
        let session = self.session(parameters)?;
        let mode = parameters["modeId"].as_str().unwrap_or_default();
        session.permission = DemoPermission::of(mode).ok_or_else(|| (-32602, format!("unknown mode `{mode}`")))?;
        Ok(json!({}))
    }

    fn begin_turn(&mut self, request: &Json, parameters: &Json) -> Result<(), RpcRefusal> {
        let session = self.session(parameters)?;
        let blocks = parameters["prompt"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        let prompt = texts.join("\n");
        let failed = |error: io::Error| (-32603, error.to_string());
        session.memory.add(&prompt).map_err(failed)?;
        let (acts, reports) = turn_actions(&session.memory.prompts).map_err(failed)?;
        let (cwd, permission, id) = (session.cwd.clone(), session.permission, session.memory.id.clone());
        let cancelled = Arc::new(AtomicBool::new(false));
        let (answers, received) = channel();
        let mut audience = DemoClient {
            session: id.clone(),
            cancelled: Arc::clone(&cancelled),
            answers: received,
            asked: 0,
            usage: None,
        };
        self.turn = Some(DemoTurn { session: id, cancelled, answers });
        let request = request.clone();
        thread::spawn(move || {
            let turn = perform(&acts, reports, &cwd, permission, &mut audience);
            let stopped = |reason: &str| {
                let mut result = json!({ "stopReason": reason });
                if let Some((input, output)) = audience.usage {
                    let total = input + output;
                    result["usage"] = json!({ "inputTokens": input, "outputTokens": output, "totalTokens": total });
                }
                Ok(result)
            };
            let answer = match turn {
                Ok(DemoTurnEnd::Done) => stopped("end_turn"),
                Ok(DemoTurnEnd::Cancelled) => stopped("cancelled"),
                Ok(DemoTurnEnd::Failed { status, message }) => Err((-32603, format!("API error {status}: {message}"))),
                Ok(DemoTurnEnd::Exit(code)) => std::process::exit(code.into()),
                Err(error) => Err((-32603, error.to_string())),
            };
            // A client that does not read is gone, and so are we in a moment.
            let _ = answer_to(&request, answer);
        });
        Ok(())
    }
}

/// The client that receives the events of a turn.
struct DemoClient {
    session: String,
    cancelled: Arc<AtomicBool>,
    answers: Receiver<Json>,
    asked: u64,
    usage: Option<(u64, u64)>,
}

impl DemoOutput for DemoClient {
    fn emit(&mut self, event: AgentEvent) -> io::Result<()> {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let told = match event {
            AgentEvent::Said { text: words } => {
                json!({ "sessionUpdate": "agent_message_chunk", "content": text(&words) })
            }
            AgentEvent::Thought { text: words } => {
                json!({ "sessionUpdate": "agent_thought_chunk", "content": text(&words) })
            }
            AgentEvent::ToolBegan { id, title, kind, input, .. } => {
                let kind = if kind == ToolKind::Mcp { "other" } else { kind.as_str() };
                json!({
                    "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind,
                    "status": "in_progress", "rawInput": input,
                })
            }
            AgentEvent::ToolEnded { id, status, output } => {
                let status = if status == ToolStatus::Ok { "completed" } else { "failed" };
                let content = json!([{ "type": "content", "content": text(&output) }]);
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "content": content })
            }
            AgentEvent::Usage { input, output, .. } => {
                let (before_in, before_out) = self.usage.unwrap_or_default();
                self.usage = Some((before_in + input.unwrap_or(0), before_out + output.unwrap_or(0)));
                return Ok(());
            }
            _ => return Ok(()),
        };
        update(&self.session, &told)
    }

    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        write(bytes)
    }

    fn ask(&mut self, call: &str, title: &str) -> io::Result<DemoAnswer> {
        self.asked += 1;
        let id = format!("ask-{}", self.asked);
        let options = [
            ("yes", "Allow once", "allow_once"),
            ("always", "Always allow", "allow_always"),
            ("no", "Reject", "reject_once"),
        ]
        .map(|(id, name, kind)| json!({ "optionId": id, "name": name, "kind": kind }));
        let tool = json!({ "toolCallId": call, "title": title });
        let parameters = json!({ "sessionId": self.session, "toolCall": tool, "options": options });
        let method = "session/request_permission";
        send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        while !self.is_cancelled() {
            let Ok(answer) = self.answers.recv_timeout(LOOK) else { continue };
            if answer["id"] != *id {
                continue;
            }
            return Ok(match answer["result"]["outcome"]["optionId"].as_str() {
                Some("yes") => DemoAnswer::Given(PermissionChoiceKind::AllowOnce),
                Some("always") => DemoAnswer::Given(PermissionChoiceKind::AllowAlways),
                Some(_) => DemoAnswer::Given(PermissionChoiceKind::RejectOnce),
                None => DemoAnswer::None,
            });
        }
        Ok(DemoAnswer::None)
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

fn update(session: &str, update: &Json) -> io::Result<()> {
    let parameters = json!({ "sessionId": session, "update": update });
    send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": parameters }))
}

fn answer_to(request: &Json, answer: Result<Json, RpcRefusal>) -> io::Result<()> {
    send(&match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": request, "result": result }),
        Err((code, message)) => {
            json!({ "jsonrpc": "2.0", "id": request, "error": { "code": code, "message": message } })
        }
    })
}

fn send(message: &Json) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    write(&line)
}

/// Writes whole lines only, so that two threads do not mix.
fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}
