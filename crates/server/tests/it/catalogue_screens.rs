//! Screens of skills and workflows, as a person opens them.

use std::fs;

use tempfile::TempDir;

use crate::runs::JOURNEY;
use crate::world::Api;

const HOSTILE: &str = "<script>stolen()</script>";

fn site() -> (TempDir, Api) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "rest-api/SKILL.md",
        "---\nname: rest-api\ndescription: Rate limits, uploads and status codes of REST endpoints.\n---\n\n# REST\n\nUse **429**.\n",
    );
    write("hostile/SKILL.md", &format!("---\nname: hostile\ndescription: \"{HOSTILE}\"\n---\n\n{HOSTILE}\n"));
    write("broken/SKILL.md", "---\nname: broken\n---\n");
    write("journey/SKILL.md", "---\nname: journey\ndescription: Goes somewhere. Use for journeys.\n---\n\nGo.\n");
    write("journey/workflow.yaml", JOURNEY);
    let api = Api::with_skills(folder.path());
    (folder, api)
}

async fn page(api: &Api, path: &str) -> String {
    let answer = api.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    assert!(!answer.text.contains(HOSTILE), "{path}: {}", answer.text);
    answer.text
}

#[tokio::test]
async fn skills_are_listed_searched_and_shown() {
    let (_folder, api) = site();
    let all = page(&api, "/skills").await;
    assert!(all.find("not loaded").unwrap() < all.find("rest-api").unwrap(), "what is broken comes first");
    let found = page(&api, "/skills?q=status%20codes").await;
    assert!(found.contains("href=\"/skills/rest-api?q=status%20codes\"") && !found.contains("/skills/hostile"));
    assert!(page(&api, "/skills?q=nowhere").await.contains("No skill has these words."));
    assert_eq!(api.get("/skills?source=moon").await.status, 400);
    let one = page(&api, "/skills/rest-api").await;
    assert!(one.contains("Use <strong>429</strong>."), "{one}");
    assert!(page(&api, "/skills/hostile").await.contains("&lt;script&gt;"));
    assert!(page(&api, "/skills/broken").await.contains("Fix: "));
    assert!(page(&api, "/skills/none").await.contains("There is no skill “none” here."));
}

#[tokio::test]
async fn a_task_is_tried_without_script() {
    let (_folder, api) = site();
    let fits = page(&api, "/skills?task=Rate-limit%20the%20uploads%20of%20the%20REST%20endpoint").await;
    let chosen = fits.split("Chosen").nth(1).unwrap();
    assert!(chosen.contains("rest-api") && chosen.contains("word-chip"), "{chosen}");
    let none = page(&api, "/skills?task=Water%20the%20garden").await;
    assert!(none.contains("No skill fits.") && none.contains("Write one"), "{none}");
}

#[tokio::test]
async fn a_workflow_shows_its_graph_its_steps_as_tools_see_them_and_its_start() {
    let (_folder, api) = site();
    assert!(page(&api, "/workflows").await.contains("href=\"/workflows/journey\""));
    let one = page(&api, "/workflows/journey").await;
    assert!(one.contains("<svg") && one.contains("No runs of this workflow yet.") && !one.contains("<style"));
    let step = one.split("/workflows/journey?step=").nth(1).unwrap().split('#').next().unwrap().to_owned();
    for form in ["text", "xml", "markdown", "mcp"] {
        let shown = page(&api, &format!("/workflows/journey?step={step}&as={form}")).await;
        assert!(shown.contains("told-text"), "{form}: {shown}");
    }
    assert_eq!(api.get(&format!("/workflows/journey?step={step}&as=morse")).await.status, 400);
    api.project().await;
    assert!(page(&api, "/workflows/journey?start=yes").await.contains("name=\"permission\""));
    assert!(page(&api, "/workflows/nowhere").await.contains("There is no workflow “nowhere” here."));
}
