//! The table of what happened: who, about what, and in words of people.

use super::*;

/// Who did what, about what, the newest first.
fn lines(page: &str) -> Vec<(String, String, String)> {
    let field = |part: &str, class: &str| {
        let rest = part.split_once(&format!("class=\"{class}\"")).map_or("", |(_, rest)| rest);
        rest.split_once('>').map_or("", |(_, rest)| rest).split('<').next().unwrap_or_default().to_owned()
    };
    let parts = page.split(r#"<div class="event""#).skip(1);
    parts.map(|part| (field(part, "event-who cut"), field(part, "event-about"), field(part, "event-what"))).collect()
}

#[tokio::test]
async fn what_happened_is_told_without_ids_and_without_the_words_of_the_store() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "s1", "Export CSV", Some(("complete", "the columns are named"))).await;
    site.wait(1);
    let task = id(&site.api("GET", "/api/tasks", Json::Null).await[0]);
    site.task(&project, "Exports").await;
    site.api("PATCH", &format!("/api/tasks/{task}"), json!({ "initialPrompt": "Name them" })).await;
    let told = lines(&site.page("/activity").await);
    let line = |who: &str, about: &str, what: &str| (who.to_owned(), about.to_owned(), what.to_owned());
    for wanted in [
        line("claude", "Export CSV", "the columns are named"),
        line("claude", "Export CSV", "reported done"),
        line("you", "Export CSV", "changed: initial prompt"),
        line("you", "Exports", "created"),
    ] {
        assert!(told.contains(&wanted), "{wanted:?} is missing in {told:#?}");
    }
    for (who, about, what) in &told {
        let all = format!("{who} {about} {what}");
        for id in ["task_", "sess_", "sessionStatus", "completed", "Worker for", "session added"] {
            assert!(!all.contains(id), "{id} in {told:#?}");
        }
    }
    assert!(told.iter().all(|line| line.2 != "is done" || line.0 == "claude"), "its report moved the task: {told:#?}");
    let every = lines(&site.page("/activity?kind=%25").await);
    assert!(every.len() > told.len(), "whoever asks for every event gets every event");
    let run = site.post("/api/runs", a_run(&project)).await;
    let told = lines(&site.page("/activity").await);
    assert!(told.contains(&line("Maestro", "greet", "started greet")), "{told:#?}");
    let of_run = lines(&site.page(&format!("/activity?run={}", id(&run))).await);
    assert!(of_run.iter().all(|line| line.1 == "greet"), "{of_run:#?}");
}

fn a_run(project: &str) -> Json {
    let text = "name: greet\nsteps:\n- {id: ask, type: question, title: Greet?, prompt: 'Greet?', options: [yes, no], next: {ok: end, declined: end}}\n";
    let definition = json!({ "text": text, "folder": "/skills/greet", "resources": {} });
    let pinned = json!({ "main": "greet", "definitions": { "greet": definition } });
    json!({ "pinned": pinned, "params": {}, "projectId": project, "workspace": "/work/shop", "driver": "caller" })
}
