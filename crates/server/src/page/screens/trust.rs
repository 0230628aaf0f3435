//! Screen of what waits for consent: each with what changed since it was last allowed.

use axum::http::Uri;
use maestro_core::RunId;
use maestro_core::id::ProjectId;
use serde::Deserialize;
use serde_json::json;

use crate::app::AppState;
use crate::error::ApiError;
use crate::page::consents::{ConsentAbout, ConsentView, recent_questions};
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;

/// What needs consent in a project, for a run, or everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::page) struct TrustAddress {
    pub(super) project: Option<ProjectId>,
    run: Option<RunId>,
}

#[derive(Deserialize)]
struct TrustAddressQuery {
    project: Option<String>,
    run: Option<String>,
}

impl TrustAddress {
    pub(super) const PATH: &str = "/trust";

    pub(super) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let query: TrustAddressQuery = super::query(uri)?;
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(Self {
            project: crate::extract::parse_word("project", filled(query.project).as_deref())?,
            run: crate::extract::parse_word("run", filled(query.run).as_deref())?,
        })
    }

    pub(super) fn address(&self) -> String {
        match (&self.run, &self.project) {
            (Some(run), _) => format!("{}?run={run}", Self::PATH),
            (None, Some(project)) => format!("{}?project={project}", Self::PATH),
            (None, None) => Self::PATH.to_owned(),
        }
    }

    fn about(&self) -> ConsentAbout {
        match (&self.run, &self.project) {
            (Some(run), _) => ConsentAbout::Run(*run),
            (None, Some(project)) => ConsentAbout::Project(project.clone()),
            (None, None) => ConsentAbout::All,
        }
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let about = self.about();
        let questions = recent_questions(app, &about, screen.now()).await?;
        let views: Vec<ConsentView> =
            questions.iter().filter_map(|question| ConsentView::of(question, &about)).collect();
        screen.list("consents", "cards/consent.html", views.iter().map(|view| (view.id.as_str(), view)))?;
        let note = views.is_empty().then_some("Nothing waits for your consent.");
        screen.part("consents-note", "shell/note.html", json!({ "note": note }))?;
        Ok(ScreenPage {
            template: "trust/trust.html",
            title: Some("Consent".to_owned()),
            rail: Some(RailEntry::Settings),
            styles: &["now.css"],
            scripts: &[],
            keys: &[],
            live: true,
            data: json!({}),
        })
    }
}
