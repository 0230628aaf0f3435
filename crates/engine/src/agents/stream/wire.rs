//! Control messages of Claude Code's JSON streams.

use maestro_core::agent::{OutputLine, PermissionChoice, PermissionChoiceKind};
use serde_json::{Value as Json, json};

/// The result of a denied call.
const NO: &str = "The user does not want this.";

/// Within how many bytes of a line its name is searched.
const LONGEST_NAME: usize = 512;

/// The answers that it accepts.
const ONCE: &str = "allow";
const ALWAYS: &str = "allow_always";
const DENY: &str = "deny";

/// A message that is not an event of its work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ControlMessage {
    /// It asks for permission to call a tool.
    Asks(ControlRequest),
    /// Another request.
    Wants { id: String, what: String },
    /// It withdraws a request.
    TakesBack { id: String },
    /// It answers our request.
    Answers,
}

/// A permission request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ControlRequest {
    /// Its id.
    pub(super) id: String,
    /// The tool.
    pub(super) tool: String,
    /// The input of the tool.
    pub(super) input: Json,
    /// The call.
    pub(super) call: String,
    /// The rules that would allow this from now on.
    always: Vec<Json>,
}

impl ControlMessage {
    /// Parses a line; nothing if it is an event of its work, or not JSON.
    pub(super) fn read(line: &OutputLine) -> Option<Self> {
        let line = match line {
            OutputLine::Whole(line) => line,
            OutputLine::Cut { head, .. } => return oversized_request(head),
        };
        // Most lines are long events: they need not be parsed twice.
        let named = b"\"control_";
        if !line.windows(named.len()).any(|part| part == named) {
            return None;
        }
        let message: Json = serde_json::from_slice(line).ok()?;
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let id = text(&message["request_id"]);
        match message["type"].as_str()? {
            "control_request" => {
                let request = &message["request"];
                Some(match request["subtype"].as_str().unwrap_or_default() {
                    "can_use_tool" => Self::Asks(ControlRequest {
                        id,
                        tool: text(&request["tool_name"]),
                        input: request["input"].clone(),
                        call: text(&request["tool_use_id"]),
                        always: session_permissions(&request["permission_suggestions"]),
                    }),
                    other => Self::Wants { id, what: format!("`{other}`") },
                })
            }
            "control_cancel_request" => Some(Self::TakesBack { id }),
            "control_response" => Some(Self::Answers),
            _ => None,
        }
    }
}

/// A request that is too long to parse still needs an answer: otherwise the agent waits for ever.
fn oversized_request(head: &[u8]) -> Option<ControlMessage> {
    let head = String::from_utf8_lossy(&head[..head.len().min(LONGEST_NAME)]);
    let (_, rest) = head.strip_prefix("{\"type\":\"control_request\",")?.split_once("\"request_id\":\"")?;
    let (id, _) = rest.split_once('"')?;
    Some(ControlMessage::Wants { id: id.to_owned(), what: "a question of this length".to_owned() })
}

/// Of the suggested rules, the ones that allow this and as little else as possible, for this session only. A mode
/// allows much more than the request, so it counts only where nothing else is suggested, and only if it is that of
/// edits.
fn session_permissions(suggestions: &Json) -> Vec<Json> {
    let all = suggestions.as_array().map(Vec::as_slice).unwrap_or_default();
    let narrow = |one: &&Json| match one["type"].as_str() {
        Some("addRules") => one["behavior"] == "allow",
        Some("addDirectories") => true,
        _ => false,
    };
    let wide = |one: &&Json| one["type"] == "setMode" && one["mode"] == "acceptEdits";
    let mut chosen: Vec<Json> = all.iter().filter(narrow).cloned().collect();
    if chosen.is_empty() {
        chosen = all.iter().filter(wide).cloned().collect();
    }
    for one in &mut chosen {
        one["destination"] = json!("session");
    }
    chosen
}

impl ControlRequest {
    /// The possible answers.
    pub(super) fn choices(&self) -> Vec<PermissionChoice> {
        let choice = |id: &str, name: String, kind| PermissionChoice { id: id.to_owned(), name, kind };
        let once = choice(ONCE, "Allow".to_owned(), PermissionChoiceKind::AllowOnce);
        let always = (!self.always.is_empty()).then(|| {
            choice(ALWAYS, format!("Allow {} in this session", self.scope()), PermissionChoiceKind::AllowAlways)
        });
        let deny = choice(DENY, "Deny".to_owned(), PermissionChoiceKind::RejectOnce);
        [Some(once), always, Some(deny)].into_iter().flatten().collect()
    }

    /// What would be allowed from now on.
    fn scope(&self) -> String {
        let rules = self.always.iter().filter_map(|one| one["rules"].as_array()).flatten();
        let named: Vec<String> = rules
            .filter_map(|rule| {
                let tool = rule["toolName"].as_str()?;
                Some(rule["ruleContent"].as_str().map_or_else(|| tool.to_owned(), |what| format!("{tool}({what})")))
            })
            .collect();
        let is_mode = self.always.iter().any(|one| one["type"] == "setMode");
        match named.is_empty() {
            false => named.join(", "),
            true if is_mode => "all edits".to_owned(),
            true => "this".to_owned(),
        }
    }

    /// The line that answers it. Everything but an approval is a denial.
    pub(super) fn answer(&self, choice: Option<&str>) -> String {
        let answer = match choice {
            Some(ONCE) => json!({ "behavior": "allow", "updatedInput": self.input }),
            Some(ALWAYS) => {
                json!({ "behavior": "allow", "updatedInput": self.input, "updatedPermissions": self.always })
            }
            _ => json!({ "behavior": "deny", "message": NO }),
        };
        let response = json!({ "subtype": "success", "request_id": self.id, "response": answer });
        line(&json!({ "type": "control_response", "response": response }))
    }
}

/// A prompt as a line. It is for the model: the leading blank keeps the text from being a command of the program
/// itself.
pub(super) fn prompt(text: &str) -> String {
    let blank = if text.starts_with('/') { " " } else { "" };
    let content = json!([{ "type": "text", "text": format!("{blank}{text}") }]);
    line(&json!({ "type": "user", "message": { "role": "user", "content": content } }))
}

/// An interrupt as a line.
pub(super) fn interrupt(id: u64) -> String {
    let request = json!({ "subtype": "interrupt" });
    line(&json!({ "type": "control_request", "request_id": format!("maestro-{id}"), "request": request }))
}

/// An error response to an unsupported request, as a line.
pub(super) fn refusal(id: &str, what: &str) -> String {
    let response = json!({ "subtype": "error", "request_id": id, "error": format!("{what} is not supported") });
    line(&json!({ "type": "control_response", "response": response }))
}

fn line(message: &Json) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded messages of the real program.
    const SESSION: &str = include_str!("../../../../../tests/agents/streams/claude-session.jsonl");

    fn read(message: &Json) -> Option<ControlMessage> {
        ControlMessage::read(&OutputLine::Whole(message.to_string().into_bytes()))
    }

    fn said(from: &str) -> Vec<Json> {
        let lines = SESSION.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        lines.filter(|line| line["from"] == from).map(|mut line| line["message"].take()).collect()
    }

    fn requests() -> Vec<ControlRequest> {
        let asked = |message: &Json| match read(message) {
            Some(ControlMessage::Asks(request)) => Some(request),
            _ => None,
        };
        said("agent").iter().filter_map(asked).collect()
    }

    #[test]
    fn what_we_say_is_what_was_taken_before() {
        let ours: Vec<String> = said("client").iter().map(Json::to_string).collect();
        let once = requests().into_iter().map(|request| request.answer(Some(ONCE)));
        let deny = requests().into_iter().map(|request| request.answer(None));
        let told: Vec<String> = once.chain(deny).chain([prompt("Please do TASK-7.")]).collect();
        for line in ours.iter().filter(|line| !line.contains("interrupt")) {
            assert!(told.contains(&format!("{line}\n")), "{line}");
        }
        assert!(ours.contains(&interrupt(1).trim_end().replace("maestro-1", "1")));
    }

    #[test]
    fn for_this_session_and_no_more_than_needed() {
        let names: Vec<String> = requests().iter().map(|request| request.choices()[1].name.clone()).collect();
        assert_eq!(
            names[1..],
            [
                "Allow all edits in this session",
                "Allow Bash(touch denied.txt) in this session",
                "Allow Bash(sleep 31.7; touch late.txt) in this session"
            ]
        );
        let request = &requests()[2];
        assert_eq!(
            request.always.iter().map(|one| one["type"].clone()).collect::<Vec<_>>(),
            ["addRules", "addDirectories"]
        );
        assert!(request.always.iter().all(|one| one["destination"] == "session"));
        let bypass = json!([{ "type": "setMode", "mode": "bypassPermissions", "destination": "session" }]);
        assert_eq!(session_permissions(&bypass), Vec::<Json>::new());
    }

    #[test]
    fn what_tells_of_its_work_is_for_others() {
        let controls = said("agent").iter().filter_map(read).count();
        assert_eq!(controls, 5, "four questions and an answer");
        let other =
            read(&json!({ "type": "control_request", "request_id": "7", "request": { "subtype": "of_the_future" } }));
        assert_eq!(other, Some(ControlMessage::Wants { id: "7".to_owned(), what: "`of_the_future`".to_owned() }));
        assert_eq!(read(&json!({ "type": "assistant", "text": "\"control_request\"" })), None);
        assert_eq!(ControlMessage::read(&OutputLine::Whole(b"{\"control_".to_vec())), None);
        let long = |text: &str| ControlMessage::read(&OutputLine::Cut { head: text.as_bytes().to_vec(), bytes: 1 });
        let asked = long(r#"{"type":"control_request","request_id":"8","request":{"subtype":"can_use_tool""#);
        assert!(matches!(&asked, Some(ControlMessage::Wants { id, .. }) if id == "8"), "{asked:?}");
        assert_eq!(long(r#"{"type":"user","message":{"type":"control_request","request_id":"8""#), None);
    }

    #[test]
    fn nothing_that_is_said_is_a_command() {
        assert!(prompt("/clear").contains(r#""text":" /clear""#));
        assert!(prompt("a /clear").contains(r#""text":"a /clear""#));
    }
}
