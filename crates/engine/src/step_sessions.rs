//! Sessions for the steps of runs that ask for one of their own.
//!
//! A session is started for each such step, and its result is reported to the run. Nothing is kept here: the store says
//! which session works at which step, so that the next reconciliation continues where this one stopped.

mod artifacts;
mod budget;
mod earlier_sessions;
mod permitted;
mod previous;
mod prompt;
mod reminder;
mod report_check;
mod result;
mod run_log;
mod skip;
mod stall;
mod verdict;
mod waits;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::agent::PROMPT_MAX_CHARS;
use maestro_core::agent::spawn::{AgentEndpoints, SessionLimits, SpawnSpec};
use maestro_core::event::{Event, RunId};
use maestro_core::plan::{self, PlanItem};
use maestro_core::session::{Approach, SessionControl, SessionStatus};
use maestro_core::step_session::{StepSessionEnd, StepSessionMetadata};
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::{self, InvalidSession, PendingEffect, RunInput, Ticket, pending_effects};
use maestro_core::workflow::run_reply::NextAction;
use maestro_core::{SessionRole, StepKind};
use maestro_skills::read_bounded;
use maestro_store::{
    Actor, ClaimPolicy, Clock, ControlSession, CreateSession, EndedStepSessions, EventScope, OrphanStepSessions,
    RecordEvents, RequestSpawn, RunStepSessions, RunsAwaitingAgents, SessionById, StartStepSession, StepSessionEnds,
    Store, StoreError,
};
use serde_json::{Map, Value as Json};

use crate::blocking;
use crate::briefing::compose_environment;
use crate::consent_refusals::ConsentRefusals;
use crate::daemon_health::{DaemonHealth, DaemonPart, DaemonTask};
use crate::execute;
use crate::host::{self, Freshness, Host};
use crate::runs::{ExecutionClaim, RunEngine, RunError, RunView};

use budget::{RemainingBudget, invocation_id};
use earlier_sessions::EarlierSessions;
use prompt::PromptBuilder;
pub use prompt::StepPrompt;
pub use report_check::{check_step_report, keep_agent_outcomes};
use skip::{SkipReason, StartResult};
use stall::feedback_hash;

/// The role of an agent that reviews the work of another.
const REVIEWER: &str = "reviewer";
/// What a project says to its agents, in place of our words.
pub const OWN_WORDS: &str = ".loop/prompt.txt";
/// How long that may be; a longer one is not taken.
const OWN_WORDS_MAX: u64 = 256 * 1024;

/// What is needed to start sessions for runs.
#[derive(Clone)]
pub struct StepSessions {
    /// Where everything is kept.
    pub store: Store,
    /// The runs.
    pub runs: RunEngine,
    /// The clock.
    pub clock: Clock,
    /// Where agents' programs find Maestro.
    pub endpoints: AgentEndpoints,
    /// The skills of a directory.
    pub host: Arc<dyn Host>,
    /// The name of this machine.
    pub hostname: String,
    /// Receives what happens to skills.
    pub observer: Arc<dyn Fn(&Event) + Send + Sync>,
    /// The runs whose agents are not started because their definitions have no consent.
    pub refused: ConsentRefusals,
}

impl StepSessions {
    /// Starts sessions where runs wait for one, ends those whose runs are over, and reports the results of those that
    /// ended. Returns the runs that continue. What fails is recorded and tried again later.
    pub async fn reconcile(&self, health: &DaemonHealth) -> Vec<RunId> {
        let mut continued = Vec::new();
        let task = |what: &str| DaemonTask::new(DaemonPart::StepSessions, what);
        for stray in health
            .record(&task("sessions of ended runs"), self.store.read(OrphanStepSessions).await)
            .unwrap_or_default()
        {
            let task = DaemonTask::new(DaemonPart::StepSessions, &stray.session);
            let cancel = ControlSession { id: stray.session, control: SessionControl::Cancel, actor: Actor::Step };
            if health.is_due(&task) {
                health.record(&task, self.store.write(cancel).await);
            }
        }
        self.end_unanswered(health).await;
        let Some(host) = self.runs.host().cloned() else { return continued };
        let waiting = self.store.read(RunsAwaitingAgents { host: host.clone() }).await;
        for id in health.record(&task("waiting runs"), waiting).unwrap_or_default() {
            let task = DaemonTask::new(DaemonPart::StepSessions, id);
            if health.is_due(&task)
                && health.record(&task, accepted(self.start(id).await)) == Some(StartResult::Skipped)
            {
                continued.push(id);
            }
        }
        for ended in health
            .record(&task("ended sessions"), self.store.read(EndedStepSessions { host }).await)
            .unwrap_or_default()
        {
            let task = DaemonTask::new(DaemonPart::StepSessions, &ended.session);
            if health.is_due(&task) && health.record(&task, self.settle(&ended).await).is_some() {
                continued.push(ended.run);
            }
        }
        continued
    }

    #[tracing::instrument(skip_all, fields(run = %id))]
    async fn start(&self, id: RunId) -> Result<StartResult, RunError> {
        let view = self.runs.get(id, (self.clock)()).await?;
        let due = pending_effects(&view.definition, &view.record.run).into_iter().filter_map(|effect| match effect {
            PendingEffect::Instruct { ticket, session: Some(session), .. } => Some((ticket, session)),
            _ => None,
        });
        let due: Vec<_> = due.collect();
        // Of several branches, some have their sessions already.
        let known = if due.len() > 1 { self.store.read(RunStepSessions(id)).await? } else { Vec::new() };
        let mut result = StartResult::Nothing;
        for (ticket, session) in due {
            if known.iter().any(|known| known.ticket == ticket.as_str()) {
                continue;
            }
            let started = self.start_at(&view.in_front(&ticket), ticket, session).await?;
            if started != StartResult::Nothing {
                result = started;
            }
        }
        Ok(result)
    }

    async fn start_at(
        &self,
        view: &RunView,
        ticket: Ticket,
        session: Result<run::SessionRequest, InvalidSession>,
    ) -> Result<StartResult, RunError> {
        let id = view.record.id;
        let NextAction::Directive { directive } = &view.reply.next else { return Ok(StartResult::Nothing) };
        if let Some(starter) = &view.record.about.session
            && self.store.read(SessionById(starter.clone())).await?.role == SessionRole::Worker
        {
            // Who may not start agents does not do so by a run either.
            self.runs.submit(id, RunInput::Cancel, ExecutionClaim::None).await?;
            return Ok(StartResult::Nothing);
        }
        let seat = match session {
            Ok(seat) => seat,
            Err(invalid) => return self.skip_step(id, ticket, directive, SkipReason::invalid(&invalid)).await,
        };
        if !self.has_consent(view, directive).await? {
            return Ok(StartResult::Nothing);
        }
        let (place, limit) = (root(view), view.record.about.rights.permission);
        let seat = match blocking::run(move || permitted::within_rights(seat, &place, limit)).await {
            Ok(seat) => seat,
            Err(outside) => return self.skip_step(id, ticket, directive, SkipReason::outside(&outside)).await,
        };
        let invocation = invocation_id(view);
        let ends = self.earlier_results(view).await?;
        let budget = RemainingBudget::of(&seat, &invocation, &ends);
        let spent = || match &budget {
            Ok(budget) => budget.out_of_time(),
            Err(wrong) => Some(wrong.to_string()),
        };
        let stuck = || {
            let rounds = stall::rounds(&ends, &invocation, directive.step.id.as_str());
            let stuck = stall::stalled_before(&rounds, &feedback_hash(&seat)?)?;
            Some(stall::reason(stuck, seat.feedback.as_deref().unwrap_or_default()))
        };
        if let Some(reason) = stuck().map(SkipReason::stalled).or_else(|| spent().map(SkipReason::out_of_budget)) {
            return self.skip_step(id, ticket, directive, reason).await;
        }
        let budget = budget.unwrap_or_default();
        let Some(request) = self.request(view, &seat, directive, &budget, &ends).await? else {
            return self.skip_step(id, ticket, directive, SkipReason::no_project(&directive.step.id)).await;
        };
        let session =
            self.store.write(StartStepSession { run: id, ticket: ticket.as_str().to_owned(), request }).await?;
        tracing::info!(session = %session.id, step = %directive.step.id, "session requested");
        Ok(StartResult::Session)
    }

    /// The ends of the earlier sessions that matter to this step.
    async fn earlier_results(&self, view: &RunView) -> Result<Vec<StepSessionEnd>, StoreError> {
        let whole = view.record.about.parent.as_ref().map_or(view.record.id, |(parent, _)| *parent);
        self.store.read(StepSessionEnds(whole)).await
    }

    /// The session for a step, with its prompt.
    async fn request(
        &self,
        view: &RunView,
        seat: &run::SessionRequest,
        directive: &Directive,
        budget: &RemainingBudget,
        ends: &[StepSessionEnd],
    ) -> Result<Option<RequestSpawn>, StoreError> {
        let Some(project) = view.record.about.project.clone() else { return Ok(None) };
        let root = root(view);
        let workspace = permitted::workspace(&root, seat);
        let earlier = self.earlier_sessions(seat, directive, ends).await?;
        let composed = build_prompt(&self.host, view, seat, directive, earlier).await;
        composed.events.iter().for_each(|event| (self.observer)(event));
        let scope = EventScope::project(&project);
        let skill_warnings = composed.events.iter().flat_map(Event::skill_warnings).collect();
        self.store.write(RecordEvents { scope, events: composed.events }).await?;
        let workspace = workspace.display().to_string();
        let previous = self.conversation(seat, &invocation_id(view), ends, &workspace).await?;
        let agent = seat.agent.clone().or_else(|| previous.as_ref()?.agent.clone());
        let spec = SpawnSpec {
            agent: agent.clone(),
            fallback: fallback_agent(view),
            driver: None,
            model: seat.model.clone(),
            workspace,
            worktree: None,
            skills: composed.skills.clone(),
            table: String::new(),
            plan_task: composed.task,
            prompt: None,
            whole: Some(composed.text),
            continues: previous.map(|previous| previous.id),
            prompt_max_chars: PROMPT_MAX_CHARS,
            permission: seat.permission,
            demo: view.record.about.rights.demo,
            reminder: Some(reminder::text(directive)),
            budget: budget.session_limits(self.usual_limits(&root, seat).await),
        };
        let metadata = StepSessionMetadata {
            run: Some(view.record.id),
            step: Some(directive.step.id.to_string()),
            task: seat.task.clone(),
            loaded_skills: composed.skills.iter().map(|skill| skill.id.clone()).collect(),
            spawn_source: "run".to_owned(),
            role: Some(SessionRole::Worker),
            invocation_id: Some(invocation_id(view)),
            feedback: feedback_hash(seat),
            skill_warnings,
            step_role: seat.role.clone(),
            verdicts: prompt::verdicts(directive).map(ToString::to_string).collect(),
            owes_result: prompt::decides_by_result(directive),
        };
        let invalid = |error: serde_json::Error| StoreError::Invalid(error.to_string());
        let metadata = serde_json::to_value(metadata).map_err(invalid)?;
        let session = CreateSession {
            id: None,
            project,
            tasks: view.record.about.task.clone().into_iter().collect(),
            name: Some(prompt::name(seat, directive)),
            role: SessionRole::Worker,
            agent,
            strategy: Approach::Simple,
            status: SessionStatus::Spawning,
            env: Map::new(),
            metadata: metadata.as_object().cloned().unwrap_or_default(),
            parent: None,
            hostname: self.hostname.clone(),
            platform: std::env::consts::OS.to_owned(),
        };
        let spec = serde_json::to_value(spec).map_err(invalid)?;
        let session = compose_environment(session, self.store.make_id()?, &self.endpoints);
        Ok(Some(RequestSpawn { session, spec, claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() }))
    }

    /// The limits of a session, as the settings and the step say.
    async fn usual_limits(&self, root: &Path, seat: &run::SessionRequest) -> SessionLimits {
        let place = root.to_owned();
        let limits = host::ask(&self.host, move |host| host.session_limits(&place)).await.unwrap_or_else(|error| {
            tracing::warn!("the limits of sessions are not known: {error}");
            SessionLimits::default()
        });
        SessionLimits { question_minutes: seat.wait.unwrap_or(limits.question_minutes), ..limits }
    }
}

/// A refusal means that another process was faster: the next look finds where the run is now.
fn accepted(result: Result<StartResult, RunError>) -> Result<StartResult, RunError> {
    match result {
        Err(RunError::Refused { .. }) => Ok(StartResult::Nothing),
        result => result,
    }
}

/// The prompt of the agent that a run waits for; nothing where it waits for none that is started for it.
pub async fn waiting_prompt(host: &Arc<dyn Host>, view: &RunView) -> Option<StepPrompt> {
    let effect = pending_effects(&view.definition, &view.record.run).into_iter().next();
    match (effect, &view.reply.next) {
        (Some(PendingEffect::Instruct { session: Some(Ok(seat)), .. }), NextAction::Directive { directive }) => {
            Some(build_prompt(host, view, &seat, directive, EarlierSessions::default()).await)
        }
        _ => None,
    }
}

async fn build_prompt(
    host: &Arc<dyn Host>,
    view: &RunView,
    seat: &run::SessionRequest,
    directive: &Directive,
    earlier: EarlierSessions,
) -> StepPrompt {
    let step = match seat.role.as_deref() {
        Some(REVIEWER) => StepKind::Review,
        _ => StepKind::Implementation,
    };
    // The project's skills and instructions, not those of a worktree: uncommitted ones count as well.
    let root = root(view);
    let plan = (step == StepKind::Implementation).then(|| plan_path(view));
    let is_checked = step == StepKind::Implementation && runs_checks(view);
    let wanted = seat.clone();
    let asked = host::ask(host, move |host| {
        let own = plan.and_then(|plan| project_instructions(host, &root, &plan));
        // Checks that cannot be read or are not trusted are reported by the step that runs them.
        let checks = if is_checked { host.checks(&root).unwrap_or_default().commands } else { Vec::new() };
        Ok((host.skills(Some(&root), Freshness::Kept), own, plan_item(&root, &wanted), checks))
    });
    let (skills, own, item, checks) = asked.await.unwrap_or_else(|error| (Err(error), None, None, Vec::new()));
    PromptBuilder { run: view.record.id, seat, directive, step, skills, own, item, checks, earlier }.build()
}

/// Whether the workflow at hand says that it runs the project's checks.
fn runs_checks(view: &RunView) -> bool {
    let frame = view.record.run.frames.last();
    frame.and_then(|frame| frame.params.get("checks")).and_then(Json::as_bool).unwrap_or_default()
}

/// The task of a session as its plan has it: in the worktree, or where git does not track it, in the project.
fn plan_item(root: &Path, seat: &run::SessionRequest) -> Option<PlanItem> {
    let (plan, label) = (seat.plan.as_deref()?, seat.task.as_deref()?);
    let find = |place: &Path| {
        let text =
            execute::plan_text(place, plan).inspect_err(|error| tracing::debug!("the plan is not read: {error}"));
        plan::plan_item(&text.ok()?, seat.line.unwrap_or_default(), label)
    };
    let workspace = permitted::workspace(root, seat);
    find(&workspace).or_else(|| find(root).filter(|_| workspace != root))
}

/// Where the project of a run is.
fn root(view: &RunView) -> PathBuf {
    PathBuf::from(view.record.run.context.get("workspace").and_then(Json::as_str).unwrap_or_default())
}

/// The plan that a run works through.
fn plan_path(view: &RunView) -> String {
    let plan = view.record.run.frames.first().and_then(|frame| frame.params.get("plan")).and_then(Json::as_str);
    plan.unwrap_or_default().to_owned()
}

/// The agent that takes over for the agents of a run.
fn fallback_agent(view: &RunView) -> Option<String> {
    let agent = view.record.run.frames.first().and_then(|frame| frame.params.get("fallback")).and_then(Json::as_str);
    agent.filter(|agent| !agent.is_empty()).map(str::to_owned)
}

/// How the project wants its agents to work, with the plan's place filled in; nothing without consent.
fn project_instructions(host: &dyn Host, root: &Path, plan: &str) -> Option<String> {
    let words = prompt_file(root).unwrap_or_else(|error| {
        tracing::warn!(path = %root.join(OWN_WORDS).display(), "the project's instructions cannot be read: {error}");
        None
    })?;
    if !host.allows_prompt(root, &words) {
        tracing::warn!("{OWN_WORDS} is not trusted yet and not used; run `maestro trust --config` to allow it");
        return None;
    }
    Some(words.replace("SPEC_PATH", plan).replace("PLAN_PATH", plan))
}

/// What a project says to its agents in place of our words; nothing where the file is absent or empty.
pub fn prompt_file(root: &Path) -> io::Result<Option<String>> {
    let words = match read_bounded(&root.join(OWN_WORDS), OWN_WORDS_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    if words.cut {
        return Err(io::Error::other(format!("it is larger than {OWN_WORDS_MAX} bytes")));
    }
    let words = String::from_utf8(words.bytes).map_err(io::Error::other)?;
    Ok(Some(words).filter(|words| !words.trim().is_empty()))
}
