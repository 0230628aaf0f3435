//! Does a client get pictures, sounds, files, numbers and log lines as what they are?

use serde_json::{Value as Json, json};

use super::client::{Client, Era, Forms};
use super::{project, text};
use crate::sandbox::Sandbox;

const PICTURE: [u8; 10] = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0xff];

/// A workflow that hands back what it names.
fn handing_back(outputs: &str) -> Sandbox {
    let sandbox = project();
    sandbox.write("pictures/sun.png", PICTURE);
    sandbox.write("beep.wav", [b'R', b'I', b'F', b'F', 0xff, 0xfe]);
    sandbox.write("notes.md", "# Notes\n");
    sandbox.write("~/secret.md", "Not for a model.\n");
    sandbox.skill(".claude/skills", "draw", "Draw something.");
    let flow = format!(
        "name: draw\ndescription: Draws something.\nsteps:\n  - {{id: done, type: end, message: Here it is.}}\noutputs: {outputs}\n"
    );
    sandbox.write(".claude/skills/draw/workflow.yaml", flow);
    sandbox
}

fn kinds(result: &Json) -> Vec<String> {
    let blocks = result["content"].as_array().unwrap();
    blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn files_that_a_run_hands_back_are_content() {
    let sandbox = handing_back("{picture: pictures/sun.png, sound: beep.wav, text: notes.md, other: nothing.png}");
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let drawn = client.tool("draw", &json!({}));
    let mut kinds = kinds(&drawn);
    kinds.sort();
    assert_eq!(kinds, ["audio", "image", "resource", "text"], "{drawn:#}");
    let image = drawn["content"].as_array().unwrap().iter().find(|block| block["type"] == json!("image")).unwrap();
    assert_eq!(image["mimeType"], json!("image/png"));
}

#[test]
fn no_file_outside_of_the_directory_is_content() {
    let sandbox = handing_back("{up: ../home/secret.md, absolute: /etc/hostname.txt, link: link.md}");
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.path("~/secret.md"), sandbox.path("link.md")).unwrap();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    assert_eq!(kinds(&client.tool("draw", &json!({}))), ["text"]);
}

#[test]
fn files_that_a_skill_links_to_come_with_its_prompt() {
    let sandbox = project();
    let text = "---\nname: seals\ndescription: About seals.\n---\nSee [the forms](forms.md) and ![one](one.png), not [this](https://example.com/x.md).\n";
    sandbox.write(".claude/skills/seals/SKILL.md", text);
    sandbox.write(".claude/skills/seals/forms.md", "Round ones.");
    sandbox.write(".claude/skills/seals/one.png", PICTURE);
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    let prompt = client.call("prompts/get", json!({ "name": "seals" })).unwrap();
    let kinds: Vec<&str> = prompt["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "resource", "image"], "{prompt:#}");
    assert_eq!(prompt["messages"][1]["content"]["resource"]["uri"], json!("skill://seals/forms.md"));
}

#[test]
fn the_files_of_a_skill_are_completed() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let typed = json!({
        "ref": { "type": "ref/resource", "uri": "skill://{skill}/{+path}" }, "argument": { "name": "path", "value": "ref" },
        "context": { "arguments": { "skill": "pdf" } },
    });
    let found = client.call("completion/complete", typed).unwrap();
    assert_eq!(found["completion"]["values"], json!(["references/forms.md"]), "{found:#}");
}

#[test]
fn a_client_that_asks_for_log_messages_hears_of_a_run() {
    let sandbox = handing_back("{text: notes.md}");
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    assert!(client.greeting["capabilities"]["logging"].is_object(), "{:#}", client.greeting);
    client.tool("draw", &json!({}));
    assert!(client.notes.iter().all(|note| note["method"] != json!("notifications/message")), "before it asked");
    client.call("logging/setLevel", json!({ "level": "info" })).unwrap();
    client.tool("draw", &json!({}));
    let line = client.wait_for("notifications/message");
    assert!(line["params"]["data"].as_str().unwrap().contains("of `draw` started"), "{line:#}");
}

#[test]
fn a_number_need_not_be_whole() {
    let sandbox = project();
    sandbox.skill(".claude/skills", "weigh", "Weigh something.");
    let flow = "name: weigh\ndescription: Weighs something.\nvariables: {weight: {type: number}}\nsteps:\n  - {id: ask, type: question, \
                prompt: How heavy?, default: \"2.5\", store: weight}\n  - {id: judge, type: conditional, cases: [{when: weight > 3, \
                next: heavy}], else: light}\n  - {id: heavy, type: end, message: Heavy.}\n  - {id: light, type: end, message: \
                Light.}\noutputs: {weight: \"{weight}\"}\n";
    sandbox.write(".claude/skills/weigh/workflow.yaml", flow);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown).answering(&[json!(3.25)]);
    let weighed = client.tool("weigh", &json!({}));
    assert_eq!(weighed["structuredContent"]["outputs"]["weight"], json!(3.25), "{weighed:#}");
    assert!(text(&weighed).contains("Heavy."), "{weighed:#}");
}
