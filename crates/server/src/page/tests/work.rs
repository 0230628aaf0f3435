//! The columns of work, and the drawer of a task.

use super::*;

const FORM: &str = "http://localhost";

async fn column(site: &Site, word: &str) -> Vec<String> {
    let page = site.page("/work").await;
    let from = page.find(&format!("id=\"col-{word}\"")).unwrap();
    let column = page[from..].split("</section>").next().unwrap().to_owned();
    let titles = column.split("class=\"card-title\"").skip(1);
    titles.map(|part| part.split_once('>').unwrap().1.split('<').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn cards_are_made_and_moved() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let made = site.form("/page/tasks", &format!("project={project}&title=Export+%3CCSV%3E&back=/work"), FORM).await;
    assert_eq!(made.status(), StatusCode::SEE_OTHER);
    assert_eq!(column(&site, "queued").await, ["Export &lt;CSV&gt;"]);
    let task = id(&site.api("GET", "/api/tasks", Json::Null).await[0]);
    let moved = site.form(&format!("/page/tasks/{task}/move"), "to=working&back=/work", FORM).await;
    assert_eq!(moved.status(), StatusCode::SEE_OTHER);
    assert_eq!(column(&site, "working").await, ["Export &lt;CSV&gt;"]);
    site.form(&format!("/page/tasks/{task}/move"), "to=done&back=/work", FORM).await;
    site.api("PATCH", &format!("/api/tasks/{task}"), json!({ "status": "archived" })).await;
    let refused = site.form(&format!("/page/tasks/{task}/move"), "to=ready&back=/work", FORM).await;
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    assert!(text(refused).await.contains("a task that is skipped cannot become ready"));
    assert_eq!(
        site.form(&format!("/page/tasks/{task}/move"), "to=nowhere", FORM).await.status(),
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn a_drawer_shows_what_belongs_to_a_task() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "s1", "Rate-limit the upload", Some(("progress", "tests are green"))).await;
    let task = id(&site.api("GET", "/api/tasks", Json::Null).await[0]);
    let sub = site.form("/page/tasks", &format!("parent={task}&title=Log+it&back=/work?task={task}"), FORM).await;
    assert_eq!(sub.headers()[header::LOCATION], format!("/work?task={task}"));
    let page = site.page(&format!("/work?task={task}")).await;
    assert_page!("work_drawer", page);
    let edit = site.page(&format!("/work?task={task}&edit=yes")).await;
    let revision = edit.split("name=\"revision\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = |title: &str| format!("title={title}&description=&revision={revision}&back=/work?task={task}");
    assert_eq!(
        site.form(&format!("/page/tasks/{task}/edit"), &fields("One"), FORM).await.status(),
        StatusCode::SEE_OTHER
    );
    let stale = site.form(&format!("/page/tasks/{task}/edit"), &fields("Two"), FORM).await;
    assert_eq!(stale.status(), StatusCode::CONFLICT);
    assert!(site.page("/work").await.contains("One"));
}

#[tokio::test]
async fn what_asks_a_person_stands_in_its_column() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "asks", "Which window?", Some(("needs_input", "A or B?"))).await;
    site.session(&project, "works", "Count requests", Some(("progress", "on it"))).await;
    assert_eq!(column(&site, "waiting").await, ["Which window?"]);
    assert_eq!(column(&site, "working").await, ["Count requests"]);
    let missing = site.get("/work?task=task_1_nothere00").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_boxes_of_a_plan_are_queued_while_a_run_works_through_it() {
    let site = Site::new();
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("PLAN.md"), "# Plan\n\n- [x] Count\n- [ ] Limit `it`\n- [ ] Document\n").unwrap();
    let project = json!({ "name": "shop", "workingDir": place.path() });
    let project = id(&site.post("/api/projects", project).await);
    let address = format!("/work/{project}/plan/PLAN.md");
    assert!(site.page("/work").await.contains(&format!("href=\"{address}\"")), "a plan is found without a run");
    assert!(column(&site, "queued").await.is_empty(), "its boxes are work once somebody starts it");
    let text = "name: walk\nparams: {plan: {type: string}}\nsteps:\n- {id: ask, type: question, title: Go?, prompt: 'Go?', options: [yes, no], next: {ok: end, declined: end}}\n";
    let definition = json!({ "text": text, "folder": "/skills/walk", "resources": {} });
    let pinned = json!({ "main": "walk", "definitions": { "walk": definition } });
    let run = json!({ "pinned": pinned, "params": { "plan": "PLAN.md" }, "projectId": project, "workspace": place.path(), "driver": "caller" });
    site.post("/api/runs", run).await;
    assert_eq!(column(&site, "queued").await, ["Limit ", "Document"], "code in a title is marked up");
    assert!(site.page("/work").await.contains(&format!("href=\"{address}?task=4\"")), "a box leads to its task");
}
