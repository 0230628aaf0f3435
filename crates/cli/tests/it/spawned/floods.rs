//! Does an agent that prints without end stay heard, and is what is kept of it bounded? `MAESTRO_FLOODS` says how much
//! more it prints: 10 is 100,000 lines and a line of ten megabytes.

use serde_json::{Value as Json, json};

use super::{Stage, report};

/// Everything that is kept of what an agent did.
fn whole(stage: &Stage, session: &str) -> Vec<Json> {
    let shown = stage.sandbox.maestro(&format!("show {session} --transcript --json")).json();
    shown["transcript"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
}

#[test]
fn a_flood_is_heard_to_its_end_and_what_was_cut_is_said() {
    is_heard("");
}

#[test]
fn so_is_one_of_an_agent_that_speaks_the_protocol() {
    is_heard("--driver acp --permission all");
}

fn is_heard(way: &str) {
    let times: u64 = std::env::var("MAESTRO_FLOODS").map_or(1, |text| text.parse().unwrap());
    let lines = times * 10_000;
    let script = [
        report(&["update", "before"]),
        format!("{}\n", json!({ "do": "flood", "lines": lines })),
        report(&["update", "between"]),
        format!("{}\n", json!({ "do": "long_line", "megabytes": times })),
        "{\"do\":\"bad_bytes\"}\n".to_owned(),
        report(&["complete", "after"]),
    ];
    let stage = Stage::scripted(&script.concat());
    let (session, followed) = stage.follow(way);
    assert_eq!(followed.code, 0, "it failed");
    let told: Vec<String> = stage.timeline(&session).into_iter().map(|(_, line)| line).collect();
    let order: Vec<&String> =
        told.iter().filter(|line| ["before", "between", "after"].contains(&line.as_str())).collect();
    assert_eq!(order, ["before", "between", "after"]);
    let transcript = whole(&stage, &session);
    assert!(transcript.len() < 1000, "{} entries are kept of {lines} lines", transcript.len());
    let size: usize = transcript.iter().map(|event| event.to_string().len()).sum();
    assert!(size < 2 * 1024 * 1024, "{size} bytes are kept");
    let printed: usize = transcript
        .iter()
        .filter_map(|event| event["payload"]["text"].as_str())
        .map(|text| text.lines().filter(|line| line.contains("of a flood")).count())
        .sum();
    let cut: u64 = transcript.iter().filter_map(|event| event["payload"]["bytes"].as_u64()).sum();
    assert!(printed as u64 == lines || cut > 0, "{printed} lines of {lines} are kept, and nobody says so");
    assert!(cut >= (times - 1) * 1024 * 1024, "of the long line is missing more than {cut} bytes");
    assert!(followed.stdout().contains("bytes omitted"));
    let text = transcript.iter().map(ToString::to_string).collect::<String>();
    assert!(text.contains(&format!("line {} of a flood", lines / 2)) || cut > 0);
    assert!(text.contains("no text"), "what is no text is kept as far as it is");
}
