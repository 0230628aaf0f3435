use super::*;
use crate::agent::{LineSplitter, MOST_TEXT};

/// What a file of an agent's output tells, one event a line.
fn told(format: Format, output: &str, exit: AgentExit) -> String {
    let (mut lines, mut parser) = (LineSplitter::default(), OutputParser::new(format));
    let mut events = Vec::new();
    // Pipes know no lines.
    for chunk in output.as_bytes().chunks(100) {
        events.extend(lines.push(chunk).iter().flat_map(|line| parser.feed_line(line)));
    }
    events.extend(lines.finish().iter().flat_map(|line| parser.feed_line(line)));
    events.extend(parser.finish(exit));
    let texts = events.iter().map(|event| {
        let text = serde_json::to_string(event).unwrap();
        assert_eq!(&serde_json::from_str::<AgentEvent>(&text).unwrap(), event, "an event can be read again");
        text
    });
    texts.collect::<Vec<_>>().join("\n")
}

macro_rules! golden {
    ($($name:ident: $format:ident, $file:literal, $exit:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(told(Format::$format, include_str!(concat!("fixtures/", $file)), $exit));
        }
    )*};
}

golden! {
    claude_uses_a_tool: Claude, "claude-tool.jsonl", AgentExit::Code(0);
    claude_edits: Claude, "claude-edit.jsonl", AgentExit::Code(0);
    claude_is_denied_and_ends_well: Claude, "claude-denied.jsonl", AgentExit::Code(0);
    claude_has_no_key: Claude, "claude-401.jsonl", AgentExit::Code(1);
    claude_has_no_model: Claude, "claude-404.jsonl", AgentExit::Code(1);
    claude_tells_more: Claude, "claude-more.jsonl", AgentExit::Signal(9);
    codex_uses_a_tool: Codex, "codex-tool.jsonl", AgentExit::Code(0);
    codex_edits: Codex, "codex-edit.jsonl", AgentExit::Code(0);
    codex_has_no_key: Codex, "codex-401.jsonl", AgentExit::Code(1);
    codex_tells_more: Codex, "codex-more.jsonl", AgentExit::Signal(15);
    opencode_uses_a_tool: Opencode, "opencode-tool.jsonl", AgentExit::Code(0);
    opencode_edits: Opencode, "opencode-edit.jsonl", AgentExit::Code(0);
    opencode_has_no_key: Opencode, "opencode-401.jsonl", AgentExit::Code(1);
    opencode_was_told_too_much: Opencode, "opencode-overflow.jsonl", AgentExit::Code(1);
    gemini_uses_tools: Gemini, "gemini-tool.jsonl", AgentExit::Code(0);
    gemini_has_no_key: Gemini, "gemini-401.jsonl", AgentExit::Code(145);
    goose_uses_a_tool_that_fails: Goose, "goose-tool.jsonl", AgentExit::Code(0);
    goose_edits: Goose, "goose-edit.jsonl", AgentExit::Code(0);
    goose_has_no_key: Goose, "goose-401.jsonl", AgentExit::Code(1);
    goose_is_rate_limited_and_ends_well: Goose, "goose-429.jsonl", AgentExit::Code(0);
    aider_edits: Aider, "aider-edit.txt", AgentExit::Code(0);
    aider_has_no_key_and_ends_well: Aider, "aider-401.txt", AgentExit::Code(0);
    aider_is_rate_limited: Aider, "aider-429.txt", AgentExit::Signal(15);
}

#[test]
fn claude_converses_in_several_turns_of_one_process() {
    let session = include_str!("../../../../../tests/agents/streams/claude-session.jsonl");
    let (mut parser, mut events) = (OutputParser::new(Format::Claude), Vec::new());
    for line in session.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let message = &line["message"];
        if message["response"]["response"]["behavior"] == "deny" {
            // A denial is reported as a denial, and once.
            parser.deny("toolu_000000030");
        } else if line["from"] == "agent" && !message["type"].as_str().unwrap().starts_with("control_") {
            events.extend(parser.feed(message.to_string().as_bytes()));
        }
    }
    let began = events.iter().filter(|event| matches!(event, AgentEvent::Began { .. })).count();
    let mut told = vec![format!("began {began} time(s)")];
    for event in &events {
        match event {
            AgentEvent::ToolEnded { id, status, .. } => told.push(format!("{id} {status}")),
            AgentEvent::Usage { input, output, cost_usd, .. } => {
                told.push(format!("{input:?} {output:?} ${:.5}", cost_usd.unwrap()));
            }
            AgentEvent::Trouble { message, .. } => told.push(format!("trouble: {message}")),
            AgentEvent::Ended { stop, text } => told.push(format!("{stop:?} {text:?}")),
            _ => {}
        }
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn an_agent_may_speak_our_own_words() {
    let output = "{\"type\":\"agent:said\",\"payload\":{\"text\":\"hello\"}}\nplain\n{\"type\":\"agent:flew\"}\n";
    insta::assert_snapshot!(told(Format::Events, output, AgentExit::Code(0)));
}

#[test]
fn who_cannot_begin_says_why_on_standard_error() {
    let mut parser = OutputParser::new(Format::Claude);
    let why = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
    let printed = parser.feed_err(&OutputLine::Whole(why.as_bytes().to_vec()));
    assert_eq!(printed, [AgentEvent::Printed { stream: Stream::Err, text: why.to_owned() }]);
    let events = parser.finish(AgentExit::Code(1));
    assert_eq!(
        events,
        [failure_event(None, why), AgentEvent::Ended { stop: StopReason::Exited { code: 1 }, text: None }]
    );
    let mut parser = OutputParser::new(Format::Claude);
    parser.feed_err(&OutputLine::Whole(b"a warning".to_vec()));
    assert_eq!(parser.finish(AgentExit::Code(0)).len(), 1, "who ends well only warned");
}

#[test]
fn a_line_that_is_too_long_is_shown_in_part_and_told_as_cut() {
    for format in Format::ALL {
        let line = format!("{{\"type\":\"text\",\"text\":\"{}\"}}", "x".repeat(10 * 1024 * 1024));
        let events = OutputParser::new(format).feed(line.as_bytes());
        let [AgentEvent::Printed { text, .. }, AgentEvent::Cut { bytes }] = events.as_slice() else {
            panic!("{format}: {} events", events.len())
        };
        assert!(text.len() <= MOST_TEXT && text.starts_with("{\"type\""), "{format}");
        assert!(*bytes > 8 * 1024 * 1024, "{format}");
    }
}

#[test]
fn what_is_no_event_is_printed_and_what_is_broken_is_told() {
    let mut parser = OutputParser::new(Format::Codex);
    assert_eq!(
        parser.feed(b"Reading additional input from stdin..."),
        [output_event("Reading additional input from stdin...")]
    );
    assert_eq!(parser.feed(b"[1, 2]"), [output_event("[1, 2]")]);
    assert_eq!(parser.feed(b""), []);
    assert_eq!(parser.feed(b"\xff\xfe"), [output_event("\u{fffd}\u{fffd}")]);
    let broken = parser.feed(b"{\"type\":\"turn.comp");
    assert!(matches!(broken.as_slice(), [AgentEvent::Trouble { kind: FailureKind::Malformed, .. }]), "{broken:?}");
    let deep = "{\"a\":".repeat(10_000);
    assert_eq!(parser.feed(deep.as_bytes()).len(), 1);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        for format in Format::ALL {
            let mut parser = OutputParser::new(format);
            let _ = parser.feed(&bytes);
            let _ = parser.feed_err(&OutputLine::Cut { head: bytes.clone(), bytes: 3 });
            let _ = parser.finish(AgentExit::Code(1));
        }
    }

    /// Real lines with one value replaced by another kind of value, or by a very long one.
    #[test]
    fn real_lines_may_lie_about_everything(at in 0_usize..400, with in 0_usize..6) {
        const WITH: [&str; 5] = ["null", "-1", "[]", "\"\"", "{\"text\":1e99}"];
        let fixtures = [
            (Format::Claude, include_str!("fixtures/claude-denied.jsonl")),
            (Format::Codex, include_str!("fixtures/codex-more.jsonl")),
            (Format::Opencode, include_str!("fixtures/opencode-tool.jsonl")),
            (Format::Gemini, include_str!("fixtures/gemini-tool.jsonl")),
            (Format::Goose, include_str!("fixtures/goose-tool.jsonl")),
        ];
        for (format, fixture) in fixtures {
            let mut parser = OutputParser::new(format);
            for line in fixture.lines() {
                let mut json: Json = serde_json::from_str(line).unwrap();
                let long = Json::String("é".repeat(100_000));
                let value = WITH.get(with).map_or(long, |text| serde_json::from_str(text).unwrap());
                let mut left = at;
                replace(&mut json, &mut left, &value);
                for event in parser.feed(json.to_string().as_bytes()) {
                    proptest::prop_assert!(serde_json::to_string(&event).unwrap().len() < 4 * MOST_TEXT);
                }
            }
            let held = format!("{parser:?}").len();
            proptest::prop_assert!(held < 64 * 1024, "{format} holds {held}");
        }
    }
}

/// Replaces the value that comes after so many others.
fn replace(json: &mut Json, left: &mut usize, value: &Json) {
    if *left == 0 {
        *json = value.clone();
    }
    *left = left.wrapping_sub(1);
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, left, value)),
        Json::Object(fields) => fields.values_mut().for_each(|field| replace(field, left, value)),
        _ => {}
    }
}

#[test]
fn agents_that_never_say_that_they_began_begin_with_their_program() {
    for format in Format::ALL {
        let is_quiet = matches!(format, Format::Text | Format::Goose);
        assert_eq!(OutputParser::new(format).begin().is_some(), is_quiet, "{format}");
    }
}
