//! Settings: agents, limits, notifications, health, and who is signed in.

mod view;

use axum::http::Uri;
use maestro_core::Settings;
use maestro_core::agent::AgentCatalogue;
use maestro_engine::{Freshness, Host, host};
use maestro_store::{AccessToken, AccessTokenList};
use serde_json::{Value as Json, json};

use crate::api::health::failures;
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;

/// The only one there is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::page) struct SettingsAddress;

/// What this machine has.
struct MachineFacts {
    settings: Option<Settings>,
    agents: AgentCatalogue,
    /// The program of each agent, where one was found.
    programs: Vec<Option<String>>,
}

impl SettingsAddress {
    pub(super) const PATH: &str = "/settings";

    #[expect(clippy::unnecessary_wraps, reason = "every screen is read from an address that may be wrong")]
    pub(super) fn parse(_: &Uri) -> Result<Self, ApiError> {
        Ok(Self)
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let tokens = app.store.read(AccessTokenList { now: screen.now() }).await?;
        let machine = host::ask(&app.host, |host| Ok(look(host))).await;
        let machine = machine.map_err(|error| ApiError::internal(error.to_string()))?;
        let default = machine.settings.as_ref().map(|settings| settings.agent.value.clone()).unwrap_or_default();
        let agents = view::agents(&machine.agents, &machine.programs, &default);
        screen.part("agents", "settings/agents.html", json!({ "agents": agents }))?;
        let limits = machine.settings.as_ref().map(view::limits).unwrap_or_default();
        screen.part("limits", "settings/limits.html", json!({ "limits": limits }))?;
        let told = machine.settings.as_ref().map(view::notices).unwrap_or_default();
        screen.part("notices", "settings/notices.html", json!({ "told": told }))?;
        screen.part("server", "settings/server.html", server(app))?;
        let own: Vec<Json> = tokens.iter().map(device).collect();
        screen.part("devices", "settings/devices.html", json!({ "devices": own, "phone": app.facts.phone }))?;
        Ok(ScreenPage {
            template: "settings/settings.html",
            title: Some("Settings".to_owned()),
            rail: Some(RailEntry::Settings),
            styles: &["settings.css"],
            scripts: &["settings.js"],
            keys: &[],
            live: true,
            data: Json::Null,
        })
    }
}

fn look(host: &dyn Host) -> MachineFacts {
    let settings = host.skills(None, Freshness::Kept).ok().map(|found| (*found.settings).clone());
    let agents = host.agents(std::path::Path::new("."));
    let program = |agent: &maestro_core::agent::CodingAgent| {
        let mut programs = agent.drivers().flat_map(|(_, launch)| &launch.programs);
        programs.find_map(|program| host.find_program(program)).map(|path| path.to_string_lossy().into_owned())
    };
    let programs = agents.all().iter().map(program).collect();
    MachineFacts { settings, agents, programs }
}

fn server(app: &AppState) -> Json {
    let failing = failures(app);
    let failing: Vec<Json> = failing
        .iter()
        .map(|failure| json!({ "what": failure.what, "reason": failure.reason, "since": failure.since }))
        .collect();
    let facts = &app.facts;
    json!({ "failing": failing, "version": facts.version, "url": facts.url, "machine": facts.hostname })
}

fn device(token: &AccessToken) -> Json {
    let kind = if token.kind.as_str() == "browser" { "browser" } else { "token" };
    json!({
        "id": token.id, "name": token.name, "kind": kind, "access": token.access.as_str(),
        "created": token.created_at, "expires": token.expires_at, "limited": token.project.is_some(),
    })
}
