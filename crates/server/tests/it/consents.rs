//! Consent at the page: by a person who signed in, and for exactly what was shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::http::Method;
use maestro_core::workflow::run::AnswerAuthor;
use maestro_engine::trust::{Consent, ConsentKind, ConsentQuestion, ConsentStanding, ConsentTexts};
use maestro_engine::{Host, HostError};
use maestro_server::AccessPolicy;
use serde_json::json;

use crate::world::{Answer, Api};

/// A host with one thing that needs consent.
#[derive(Default)]
struct AskingHost {
    /// What it would execute now.
    now: Mutex<String>,
    allowed: Mutex<Vec<String>>,
}

impl AskingHost {
    fn hash(text: &str) -> String {
        format!("{:0>64}", text.len())
    }
}

impl Host for AskingHost {
    fn consent_questions(&self, directory: &Path) -> Result<Vec<ConsentQuestion>, HostError> {
        let text = self.now.lock().unwrap().clone();
        let hash = Self::hash(&text);
        let standing = match self.allowed.lock().unwrap().last() {
            Some(allowed) if *allowed == hash => ConsentStanding::Allowed,
            Some(_) => {
                ConsentStanding::Changed { at: 7, before: Some(ConsentTexts::of_text("check.sh", "echo checked\n")) }
            }
            None => ConsentStanding::New,
        };
        let consent = Consent {
            kind: ConsentKind::Workflow,
            name: "ship".to_owned(),
            hash,
            path: PathBuf::from("/ship"),
            project: directory.to_owned(),
            files: BTreeMap::new(),
            at: 8,
            by: AnswerAuthor::User,
        };
        Ok(vec![ConsentQuestion { consent, texts: ConsentTexts::of_text("check.sh", &text), standing }])
    }

    fn allow(&self, question: &ConsentQuestion) -> Result<(), HostError> {
        self.allowed.lock().unwrap().push(question.consent.hash.clone());
        Ok(())
    }
}

/// A server with a project, and its host.
async fn site(access: AccessPolicy) -> (Api, Arc<AskingHost>, String) {
    let host = Arc::new(AskingHost { now: Mutex::new("echo checked\n".to_owned()), ..AskingHost::default() });
    let api = Api::with_host(access.clone(), Arc::clone(&host) as Arc<dyn Host>);
    let asking = if access == AccessPolicy::Open { api.clone() } else { api.with("authorization", "Bearer sesame") };
    let directory = std::env::temp_dir().display().to_string();
    let project = asking.post("/api/projects", json!({ "name": "shop", "workingDir": directory })).await.id();
    (api, host, project)
}

async fn allow(caller: &Api, project: &str, text: &str) -> Answer {
    let form = caller.with("content-type", "application/x-www-form-urlencoded").with("origin", "http://localhost");
    let fields = format!("project={project}&hash={}&back=/trust", AskingHost::hash(text));
    form.send(Method::POST, "/page/consents", Some(fields)).await
}

async fn signed_in(api: &Api) -> Api {
    let form = api.with("content-type", "application/x-www-form-urlencoded").with("origin", "http://localhost");
    let entered = form.send(Method::POST, "/page/sign-in", Some("token=sesame".to_owned())).await;
    let cookie = entered.header("set-cookie").split_once(';').unwrap().0.to_owned();
    api.with("accept", "text/html").with("cookie", &cookie)
}

#[tokio::test]
async fn consent_is_given_for_exactly_what_was_shown() {
    let (api, host, project) = site(AccessPolicy::Token(Some("sesame".to_owned()))).await;
    let person = signed_in(&api).await;
    let address = format!("/trust?project={project}");
    let shown = person.get(&address).await.text;
    assert!(shown.contains("Not allowed yet.") && shown.contains("echo checked"), "{shown}");
    "echo checked\nrm -rf /\n".clone_into(&mut host.now.lock().unwrap());
    let stale = allow(&person, &project, "echo checked\n").await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    assert!(stale.text.contains("it changed since it was shown") && host.allowed.lock().unwrap().is_empty());
    "echo checked\n".clone_into(&mut host.now.lock().unwrap());
    assert_eq!(allow(&person, &project, "echo checked\n").await.status, 303);
    assert!(person.get(&address).await.text.contains("Nothing waits for your consent."));
    "echo checked\nrm -rf /\n".clone_into(&mut host.now.lock().unwrap());
    api.wait(5000);
    let changed = person.get(&address).await.text;
    assert!(
        changed.contains("Changed since you allowed it") && changed.contains("class=\"added\">+rm -rf /"),
        "{changed}"
    );
    assert_eq!(host.allowed.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn nobody_but_a_person_who_signed_in_gives_consent() {
    let (api, host, project) = site(AccessPolicy::Token(Some("sesame".to_owned()))).await;
    let owner = api.with("authorization", "Bearer sesame");
    assert_eq!(allow(&owner, &project, "echo checked\n").await.status, 403, "the server's own token is no person");
    let made = owner.post("/api/tokens", json!({ "name": "ci" })).await.body["token"].as_str().unwrap().to_owned();
    let program = api.with("authorization", &format!("Bearer {made}"));
    assert_eq!(allow(&program, &project, "echo checked\n").await.status, 403);
    assert_eq!(allow(&api, &project, "echo checked\n").await.status, 401, "a stranger");
    let (open, everyone, project) = site(AccessPolicy::Open).await;
    let refused = allow(&open, &project, "echo checked\n").await;
    assert_eq!(refused.status, 403, "where everyone is let in, a program may be the caller: {}", refused.text);
    let task = open.task(&project, "Ship").await;
    let session = open.session(&project, &[&task]).await;
    let session = open.with("x-session-id", &session);
    assert_eq!(allow(&session, &project, "echo checked\n").await.status, 403);
    assert!(host.allowed.lock().unwrap().is_empty() && everyone.allowed.lock().unwrap().is_empty());
}
