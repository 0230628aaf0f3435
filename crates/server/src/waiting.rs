//! What waits for a person, collected in one place for the API and the page.

use std::collections::BTreeMap;

use maestro_api::waiting::WaitingBody;
use maestro_core::excerpt::ellipsize;
use maestro_core::id::ProjectId;
use maestro_core::session::Session;
use maestro_core::waiting::WaitingKind;
use maestro_core::workflow::run::{
    AwaitedParty, PendingEffect, RecoveryChoice, StepWait, awaited_party, pending_effects,
};
use maestro_engine::runs::RunView;
use maestro_store::{
    AbandonedTasks, AskingSession, ListPage, OpenQuestions, PendingPermissions, PermissionRequest, RunList, RunRecord,
    RunState, SessionById,
};

use crate::app::AppState;
use crate::error::ApiError;

/// How many items of a kind are collected.
const MOST: i64 = 200;
/// How long a question may be.
const TEXT: usize = 2000;
/// How long it may be where a line has to do.
const LINE: usize = 200;

/// What waits for a person, in a project or everywhere, oldest first.
pub(crate) async fn waiting_items(app: &AppState, project: Option<ProjectId>) -> Result<Vec<WaitingBody>, ApiError> {
    let at = (app.clock)();
    let mut items = Vec::new();
    let open = PendingPermissions { project: project.clone(), session: None, at, limit: MOST };
    for asked in app.store.read(open).await?.items {
        let session = app.store.read(SessionById(asked.session.clone())).await?;
        items.push(permission(&asked, &session));
    }
    let questions = OpenQuestions { project: project.clone(), limit: MOST };
    items.extend(app.store.read(questions).await?.iter().map(question));
    for task in app.store.read(AbandonedTasks { project: project.clone(), limit: MOST }).await? {
        items.push(WaitingBody {
            kind: WaitingKind::Question,
            id: task.id.to_string(),
            project_id: Some(task.project.to_string()),
            session_id: None,
            run_id: None,
            task_id: Some(task.id.to_string()),
            name: ellipsize(&task.title, TEXT),
            text: "blocked; no session works on it".to_owned(),
            options: Vec::new(),
            titles: BTreeMap::new(),
            request: None,
            ticket: None,
            since: task.updated_at,
        });
    }
    let page = ListPage { limit: MOST, after: 0 };
    let running = RunList { project, workflow: None, status: Some(RunState::Running), page };
    for record in app.store.read(running).await?.items {
        items.extend(run_question(app, record, at).await?);
    }
    items.sort_by_key(|item| item.since);
    Ok(items)
}

/// The run that a session works for.
fn run_of(session: &Session) -> Option<String> {
    session.metadata.get("run").and_then(serde_json::Value::as_str).map(str::to_owned)
}

fn asker(session: &Session) -> String {
    let agent = session.agent.as_deref().filter(|agent| !agent.is_empty());
    agent.unwrap_or(&session.name).to_owned()
}

fn permission(asked: &PermissionRequest, session: &Session) -> WaitingBody {
    WaitingBody {
        options: ["once", "always", "deny"].map(str::to_owned).to_vec(),
        titles: BTreeMap::new(),
        request: Some(asked.request.clone()),
        ..of_session(session, WaitingKind::Permission, &asked.title, asked.created_at)
    }
}

fn question(asking: &AskingSession) -> WaitingBody {
    let AskingSession { session, since } = asking;
    of_session(session, WaitingKind::Question, session.needs_input.as_deref().unwrap_or_default(), *since)
}

fn of_session(session: &Session, kind: WaitingKind, text: &str, since: i64) -> WaitingBody {
    WaitingBody {
        kind,
        id: session.id.to_string(),
        project_id: Some(session.project.to_string()),
        session_id: Some(session.id.to_string()),
        run_id: run_of(session),
        task_id: session.tasks.first().map(ToString::to_string),
        name: asker(session),
        text: ellipsize(text, TEXT),
        options: Vec::new(),
        titles: BTreeMap::new(),
        request: None,
        ticket: None,
        since,
    }
}

/// What a run itself asks: a question of its workflow, a decision at a gate, what became of a command, or consent.
async fn run_question(app: &AppState, record: RunRecord, at: i64) -> Result<Option<WaitingBody>, ApiError> {
    let asks = matches!(awaited_party(&record.run), Some(AwaitedParty::User | AwaitedParty::Consent));
    let refused = app.drivers.not_allowed(record.id);
    if !asks {
        return Ok(refused.map(|why| {
            let hint = format!("{why}; allow it with `maestro trust {}`", record.about.workflow);
            of_run(&record, WaitingKind::Consent, &hint, Vec::new(), None)
        }));
    }
    // A run that cannot be read is reported elsewhere, and does not hide the others.
    let Ok(view) = app.runs.get(record.id, at).await else { return Ok(None) };
    Ok(effect_question(&view))
}

/// What a run itself asks, in a line.
pub(crate) fn question_line(view: &RunView) -> Option<String> {
    let asked = effect_question(view)?.text;
    asked.lines().find(|line| !line.trim().is_empty()).map(|line| ellipsize(line.trim(), LINE))
}

fn effect_question(view: &RunView) -> Option<WaitingBody> {
    let record = &view.record;
    match pending_effects(&view.definition, &record.run).into_iter().next()? {
        PendingEffect::Ask { ticket, prompt, asked, .. } => {
            let decides = matches!(record.run.position().map(|position| &position.wait), Some(StepWait::Decision));
            let kind = if decides { WaitingKind::Gate } else { WaitingKind::Question };
            let waits = of_run(record, kind, &prompt, asked.options.unwrap_or_default(), Some(ticket.to_string()));
            Some(WaitingBody { titles: asked.titles, ..waits })
        }
        PendingEffect::Consent { ticket, step } => {
            let text = format!("the result of `{step}` is unknown: say whether it is done");
            let options = RecoveryChoice::ALL.map(|choice| choice.as_str().to_owned()).to_vec();
            Some(of_run(record, WaitingKind::Consent, &text, options, Some(ticket.to_string())))
        }
        _ => None,
    }
}

fn of_run(
    record: &RunRecord,
    kind: WaitingKind,
    text: &str,
    options: Vec<String>,
    ticket: Option<String>,
) -> WaitingBody {
    WaitingBody {
        kind,
        id: record.id.to_string(),
        project_id: record.about.project.as_ref().map(ToString::to_string),
        session_id: None,
        run_id: Some(record.id.to_string()),
        task_id: record.about.task.as_ref().map(ToString::to_string),
        name: record.about.workflow.clone(),
        text: ellipsize(text, TEXT),
        options,
        titles: BTreeMap::new(),
        request: None,
        ticket,
        since: record.updated_at,
    }
}
