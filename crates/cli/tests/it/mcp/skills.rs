//! Are skills told of as the protocol's extension for them wants it?

use serde_json::{Value as Json, json};
use std::os::unix::fs::symlink;

use super::client::{Client, Era, Forms};
use super::project;

/// Every skill, page by page, and how many pages there were.
fn all(client: &mut Client) -> (Vec<Json>, usize) {
    let (mut skills, mut params, mut pages) = (Vec::new(), json!({}), 0);
    loop {
        let page = client.call("skills/list", params).unwrap();
        assert_eq!((&page["resultType"], &page["cacheScope"]), (&json!("complete"), &json!("private")), "{page:#}");
        assert!(page["ttlMs"].is_u64());
        skills.extend(page["skills"].as_array().unwrap().clone());
        pages += 1;
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return (skills, pages),
        }
    }
}

#[test]
fn every_file_of_a_skill_can_be_read_and_is_what_its_digest_says() {
    let sandbox = project();
    sandbox.write(".claude/skills/pdf/logo.png", b"\x89PNG\xff");
    for era in [Era::Earlier, Era::Today] {
        let mut client = Client::start(&sandbox, &[], era, Forms::Unknown);
        let (skills, _) = all(&mut client);
        let pdf = skills.iter().find(|skill| skill["uri"] == json!("skill://pdf/SKILL.md")).unwrap();
        assert_eq!(pdf["frontmatter"]["name"], json!("pdf"));
        let files = pdf["resources"].as_array().unwrap();
        let uris: Vec<&str> = files.iter().map(|file| file["uri"].as_str().unwrap()).collect();
        assert_eq!(uris, ["skill://pdf/SKILL.md", "skill://pdf/logo.png", "skill://pdf/references/forms.md"]);
        assert_eq!(files[2]["size"], json!(18));
        let digest = "sha256:3883b76f9abe526c69c1f761a819d387449b3cd2b9c10d64dc1245542ce536de";
        assert_eq!(files[2]["digest"], json!(digest));
        let read = client.call("resources/read", json!({ "uri": "skill://pdf/references/forms.md" })).unwrap();
        assert_eq!(read["contents"][0]["text"], json!("Fields have names."));
        let logo = client.call("resources/read", json!({ "uri": "skill://pdf/logo.png" })).unwrap();
        assert_eq!(logo["contents"][0]["blob"], json!("iVBOR/8="), "what is no text is sent as bytes");
        let one = client.call("skills/get", json!({ "uri": "skill://pdf/SKILL.md" })).unwrap();
        assert_eq!(one["skill"], *pdf);
    }
}

#[test]
fn a_directory_tells_what_lies_in_it_and_nothing_else_is_one() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let root = client.call("resources/directory/read", json!({ "uri": "skill://pdf" })).unwrap();
    let child =
        |uri: &str| root["resources"].as_array().unwrap().iter().find(|child| child["uri"] == json!(uri)).cloned();
    assert_eq!(child("skill://pdf/references").unwrap()["mimeType"], json!("inode/directory"));
    assert_eq!(child("skill://pdf/SKILL.md").unwrap()["name"], json!("pdf"));
    let below = client.call("resources/directory/read", json!({ "uri": "skill://pdf/references" })).unwrap();
    assert_eq!(below["resources"][0]["uri"], json!("skill://pdf/references/forms.md"));
    for none in ["skill://pdf/SKILL.md", "skill://nowhere", "skill://pdf/", "skill://pdf/../pdf"] {
        let error = client.call("resources/directory/read", json!({ "uri": none })).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{none}: {error}");
    }
}

#[test]
fn nothing_leads_out_of_a_skill() {
    let sandbox = project();
    sandbox.write("secret.md", "theirs");
    symlink(sandbox.path("secret.md"), sandbox.path(".claude/skills/pdf/link.md")).unwrap();
    for (era, code) in [(Era::Earlier, -32002), (Era::Today, -32602)] {
        let mut client = Client::start(&sandbox, &[], era, Forms::Unknown);
        let out = [
            "skill://pdf/link.md",
            "skill://pdf/../../../secret.md",
            "skill://pdf/%2e%2e/%2e%2e/%2e%2e/secret.md",
            "skill://pdf/..%2f..%2f..%2fsecret.md",
            "file:///etc/hostname",
        ];
        for out in out {
            let error = client.call("resources/read", json!({ "uri": out })).unwrap_err();
            assert_eq!(error["code"], json!(code), "{out}: {error}");
        }
        let unknown = client.call("skills/get", json!({ "uri": "skill://nowhere/SKILL.md" })).unwrap_err();
        assert_eq!(unknown["code"], json!(-32602));
    }
}

#[test]
fn many_skills_come_in_parts_and_each_once() {
    let sandbox = project();
    for number in 0..120 {
        sandbox.skill(".claude/skills", &format!("skill-{number:03}"), "One of many.");
    }
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let (skills, pages) = all(&mut client);
    let mut uris: Vec<&str> = skills.iter().map(|skill| skill["uri"].as_str().unwrap()).collect();
    assert!(pages > 1 && uris.len() > 120, "{pages} pages, {} skills", uris.len());
    assert!(uris.is_sorted(), "{uris:?}");
    uris.dedup();
    assert_eq!(uris.len(), skills.len());
    let error = client.call("skills/list", json!({ "cursor": "of somebody else" })).unwrap_err();
    assert_eq!(error["code"], json!(-32602));
}
