//! Rights of new runs and sessions: what the caller gives, and at most what the caller has.

use std::path::PathBuf;

use maestro_api::runs::NewRun;
use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::agent::{DEMO_AGENT, DemoAgentUse, Permission, RunRights};
use maestro_core::id::SessionId;
use maestro_core::workflow::rights_params;
use maestro_core::workflow::run::RunDefinition;
use maestro_engine::Freshness;
use maestro_store::{RunById, SpawnBySession};
use serde_json::{Map, Value as Json};

use super::skills;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;

/// The most that a caller may give: a person everything, a session what it has itself, a step what its run has.
pub(super) async fn limit_of(app: &AppState, caller: &Caller) -> Result<RunRights, ApiError> {
    let limit = match caller.session_id() {
        Some(session) => limit_of_session(app, session).await?,
        None => RunRights::UNLIMITED,
    };
    match caller {
        Caller::Run { id, .. } => Ok(app.store.read(RunById(*id)).await?.about.rights.within(limit)),
        _ => Ok(limit),
    }
}

async fn limit_of_session(app: &AppState, session: &SessionId) -> Result<RunRights, ApiError> {
    let spawn = app.store.read(SpawnBySession(session.clone())).await?;
    let spec = spawn.map(|spawn| serde_json::from_value::<SpawnSpec>(spawn.spec));
    match spec {
        // A session that a person started in a tool of their own.
        None => Ok(RunRights::default()),
        Some(Ok(spec)) => Ok(spec.rights()),
        Some(Err(error)) => Err(ApiError::internal(format!("the session's rights cannot be read: {error}"))),
    }
}

/// The rights of a new run.
pub(super) async fn of_run(app: &AppState, caller: &Caller, run: &NewRun) -> Result<RunRights, ApiError> {
    let param = |name: &str| run.params.as_ref().and_then(|params| params.get(name)).and_then(Json::as_str);
    let demo = |is_named: bool| if is_named { DemoAgentUse::Named } else { DemoAgentUse::BySetting };
    let named = demo([run.agent.as_deref(), param("agent"), param("reviewer")].contains(&Some(DEMO_AGENT)));
    // A word that is none is the definition's to refuse.
    let asked = param("permission").and_then(|word| word.parse::<Permission>().ok());
    let given = match run.permission.as_deref() {
        Some(word) => Some(word.parse().map_err(|_| ApiError::field("permission", "must be ask, edits or all"))?),
        None => None,
    };
    // A person who leaves it to the settings may have them name it.
    let asked_demo = if run.by_model == Some(true) { named } else { DemoAgentUse::BySetting };
    let wanted = RunRights { permission: asked.unwrap_or(Permission::Ask), demo: asked_demo };
    let stated =
        RunRights { permission: given.unwrap_or(Permission::All), demo: run.demo.map_or(DemoAgentUse::Named, demo) };
    if let Some(excess) = wanted.excess(stated) {
        return Err(ApiError::forbidden(format!("this run may not have {excess}: a person gives rights")));
    }
    let rights = RunRights {
        permission: given.or(asked).unwrap_or(RunRights::default().permission),
        demo: run.demo.map_or(named, demo),
    };
    within_limit(app, caller, rights, given.is_some() || asked.is_some()).await
}

/// Checks the parameters by which a model starts a run, and fills in the agents of the user's settings.
pub(super) async fn check_model(
    app: &AppState,
    workspace: &str,
    definition: &RunDefinition,
    params: &mut Map<String, Json>,
    rights: RunRights,
) -> Result<(), ApiError> {
    rights_params::check_model_params(definition, params, rights.permission)
        .map_err(|asked| ApiError::forbidden(asked.to_string()))?;
    if !rights_params::starts_agents(definition) {
        return Ok(());
    }
    let shelf = skills::read_skills(app, Some(PathBuf::from(workspace)), Freshness::Kept).await?;
    let agent = &shelf.settings.agent.value;
    let declared = |name: &str| definition.main.params.iter().any(|param| param.name.as_str() == name);
    for name in ["agent", "reviewer"].into_iter().filter(|name| !agent.is_empty() && declared(name)) {
        params.entry(name).or_insert_with(|| Json::String(agent.clone()));
    }
    Ok(())
}

/// Rights that a caller may give. What was not asked for is capped; what was asked for is refused.
pub(super) async fn within_limit(
    app: &AppState,
    caller: &Caller,
    rights: RunRights,
    is_asked: bool,
) -> Result<RunRights, ApiError> {
    let limit = limit_of(app, caller).await?;
    let asked = RunRights { permission: if is_asked { rights.permission } else { Permission::Ask }, ..rights };
    let Some(excess) = asked.excess(limit) else { return Ok(rights.within(limit)) };
    let giver = caller.session_id().map_or_else(|| "this run".to_owned(), |session| format!("session '{session}'"));
    Err(ApiError::forbidden(format!("{giver} may not give {excess}: a person gives rights")))
}
