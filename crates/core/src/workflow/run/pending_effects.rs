//! Effects that a run waits for, and who performs them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::branches::branch_locals;
use super::user_question::{ACCEPT, choices, meaning, validation};
use super::{
    AskedQuestion, CommandSpec, DispatchChild, ExecutionProgress, GateVerdict, ProgramContext, Run, RunDefinition,
    RunStatus, StepWait, Ticket, ValueScope, command_spec, judge_gate,
};
use crate::agent::Permission;
use crate::workflow::definition::{PlacedValue, QuestionOptions, ReviewStage, SessionSpec, StepWork, WorkflowStep};
use crate::workflow::load::{is_session_role, parse_wait};
use crate::workflow::name::StepId;
use crate::workflow::{Template, Workflow};

/// Something that must happen outside the engine before the run can continue.
#[derive(Debug, Clone, PartialEq)]
pub enum PendingEffect {
    /// An agent follows a directive.
    Instruct {
        /// Its ticket.
        ticket: Ticket,
        /// At which step.
        step: StepId,
        /// The session to start for it, if the caller does not do the work itself.
        session: Option<Result<SessionRequest, InvalidSession>>,
    },
    /// A sub-agent follows one.
    Delegate {
        /// Its ticket.
        ticket: Ticket,
        /// At which step.
        step: StepId,
        /// Which sub-agent.
        child: DispatchChild,
    },
    /// Something is executed.
    Execute {
        /// Its ticket.
        ticket: Ticket,
        /// What names it also when it is executed again, so that what was done before a crash is known.
        visit: Ticket,
        /// At which step.
        step: StepId,
        /// What.
        order: CommandSpec,
        /// What a program is executed with.
        context: ProgramContext,
        /// How many seconds it may take, if the definition says.
        timeout: Option<u32>,
        /// How many seconds to wait before.
        delay: u32,
    },
    /// Something is being executed, and its end is waited for.
    Await {
        /// Its ticket.
        ticket: Ticket,
    },
    /// The user is asked.
    Ask {
        /// The ticket.
        ticket: Ticket,
        /// At which step.
        step: StepId,
        /// What.
        prompt: String,
        /// What there is to choose from, and why the last answer was no good.
        asked: AskedQuestion,
    },
    /// The user says what became of a command.
    Consent {
        /// The ticket.
        ticket: Ticket,
        /// At which step.
        step: StepId,
    },
}

/// The session to start for an agent's step.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRequest {
    /// Which agent; none where nothing says.
    pub agent: Option<String>,
    /// Which model, if not the agent's own choice.
    pub model: Option<String>,
    /// In which role.
    pub role: Option<String>,
    /// In which directory below the workspace.
    pub worktree: Option<String>,
    /// What it may do without asking.
    pub permission: Permission,
    /// The task that it gets skills for.
    pub task: Option<String>,
    /// The section of the plan that the task is in.
    pub section: Option<String>,
    /// The plan that the task is in.
    pub plan: Option<String>,
    /// The line of the plan that the task is at.
    pub line: Option<usize>,
    /// Which skills it gets: `auto`, `none`, or names; what the settings say where nothing is said.
    pub skills: Option<String>,
    /// What all sessions of this walk through the workflow may use up together.
    pub budget: Option<String>,
    /// What all sessions of the run may use up together.
    pub run_budget: Option<String>,
    /// Findings about the work so far, which the session fixes first.
    pub feedback: Option<String>,
    /// For how many minutes a question of its waits for an answer; what the settings say where nothing is said.
    pub wait: Option<f64>,
    /// Whether the session continues the one before it in the same walk through the workflow.
    pub resume: bool,
}

impl Default for SessionRequest {
    /// The session of a step that says nothing about it.
    fn default() -> Self {
        Self {
            agent: None,
            model: None,
            role: None,
            worktree: None,
            permission: Permission::Edits,
            task: None,
            section: None,
            plan: None,
            line: None,
            skills: None,
            budget: None,
            run_budget: None,
            feedback: None,
            wait: None,
            resume: false,
        }
    }
}

/// Why a session cannot be started as the run describes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSession {
    /// The run filled in a permission that does not exist.
    #[error("`{0}` is no permission; `session.permission` can be ask, edits or all")]
    Permission(String),
    /// The run filled in a role that does not exist.
    #[error("there is no role `{0}`; `session.role` can be reviewer, worker or a role of the workflow")]
    Role(String),
    /// The run filled in something that is no number of minutes.
    #[error("`{0}` is no number of minutes; `session.wait` is a number greater than 0")]
    Wait(String),
}

crate::word_enum! {
    /// Whom a run waits for.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AwaitedParty {
        /// The agent.
        Agent = "agent",
        /// The user.
        User = "user",
        /// Sub-agents.
        Subagents = "subagents",
        /// The user's consent.
        Consent = "consent",
    }
}

/// Whom a run waits for, if it waits. Of several branches, the one in front counts first.
pub fn awaited_party(run: &Run) -> Option<AwaitedParty> {
    run.of_each_branch(awaited_in_front).into_iter().flatten().next()
}

/// Whom the branch in front waits for.
pub(super) fn awaited_in_front(run: &Run) -> Option<AwaitedParty> {
    if run.status != RunStatus::Active {
        return None;
    }
    match &run.position()?.wait {
        StepWait::Children(children) if children.iter().any(DispatchChild::is_in_call) => None,
        StepWait::Children(children) if children.iter().any(|child| child.execution.is_some()) => {
            let mut open = children.iter().filter(|child| child.outcome.is_none());
            let unsure = |child: &DispatchChild| {
                child.execution.is_some_and(|execution| execution.progress == ExecutionProgress::Unsure)
            };
            open.all(unsure).then_some(AwaitedParty::Consent)
        }
        StepWait::Agent => Some(AwaitedParty::Agent),
        StepWait::Children(_) => Some(AwaitedParty::Subagents),
        StepWait::Answer(_) | StepWait::Decision => Some(AwaitedParty::User),
        StepWait::Command { progress: ExecutionProgress::Unsure, .. } => Some(AwaitedParty::Consent),
        StepWait::Engine
        | StepWait::Command { .. }
        | StepWait::Listing(_)
        | StepWait::Validating { .. }
        | StepWait::Callee => None,
    }
}

/// The tickets that are waited for.
pub(super) fn tickets(run: &Run) -> Vec<Ticket> {
    run.of_each_branch(tickets_in_front).concat()
}

/// The tickets that the branch in front waits for.
pub(super) fn tickets_in_front(run: &Run) -> Vec<Ticket> {
    match run.position().map(|position| &position.wait) {
        Some(StepWait::Children(children)) => {
            let open = children.iter().enumerate().filter(|(_, child)| child.outcome.is_none());
            open.filter_map(|(index, child)| run.child_ticket(index, child)).collect()
        }
        Some(StepWait::Engine | StepWait::Callee) | None => Vec::new(),
        Some(_) => run.ticket().into_iter().collect(),
    }
}

/// What must be done outside the engine now: first what the branch in front needs, then the others. A run that is not
/// over and not paused always has something.
pub fn pending_effects(definition: &RunDefinition, run: &Run) -> Vec<PendingEffect> {
    run.of_each_branch(|run| effects_in_front(definition, run)).concat()
}

fn effects_in_front(definition: &RunDefinition, run: &Run) -> Vec<PendingEffect> {
    if run.status != RunStatus::Active {
        return Vec::new();
    }
    let Some((frame, position, workflow, step)) = run.current(definition) else { return Vec::new() };
    let (Some(ticket), Some(visit)) = (run.ticket(), run.visit_ticket()) else { return Vec::new() };
    let scope = ValueScope::new(run, frame, workflow);
    let id = step.id.clone();
    // A step whose command cannot be built is not entered, so there is one for every step that waits for its command.
    let execute = |order: Option<CommandSpec>| match order {
        Some(order) => vec![PendingEffect::Execute {
            ticket: ticket.clone(),
            visit: visit.clone(),
            step: id.clone(),
            order,
            context: ProgramContext::default(),
            timeout: None,
            delay: 0,
        }],
        None => Vec::new(),
    };
    match (&position.wait, &step.work) {
        (StepWait::Agent, StepWork::Agent(agent)) => {
            let session = match &agent.session {
                Some(session) => Some(session_request(session, workflow, &scope)),
                None => step_agent(run).map(|agent| Ok(plain_session(agent, step))),
            };
            vec![PendingEffect::Instruct { ticket, step: id, session }]
        }
        (StepWait::Children(children), StepWork::Command { .. }) => {
            branch_effects(run, step, children, workflow, scope)
        }
        (StepWait::Children(children), work) => {
            let together = match work {
                StepWork::Dispatch(dispatch) => dispatch.max_parallel.unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            let open = children.iter().enumerate().filter(|(_, child)| child.outcome.is_none());
            let delegate = |(index, child): (usize, &DispatchChild)| {
                let ticket = run.child_ticket(index, child)?;
                Some(PendingEffect::Delegate { ticket, step: step.id.clone(), child: child.clone() })
            };
            open.filter_map(delegate).take(together).collect()
        }
        (
            StepWait::Command { progress: ExecutionProgress::Started, .. }
            | StepWait::Listing(ExecutionProgress::Started)
            | StepWait::Validating { progress: ExecutionProgress::Started, .. },
            _,
        ) => vec![PendingEffect::Await { ticket }],
        (StepWait::Command { progress: ExecutionProgress::Ready, attempt }, StepWork::Command { .. }) => {
            execution(step, (ticket, visit), *attempt, workflow, &scope).into_iter().collect()
        }
        (StepWait::Listing(_), StepWork::Question(question)) => match &question.options {
            QuestionOptions::Command(action) => execute(command_spec::build_command(action, &scope, workflow).ok()),
            QuestionOptions::Free | QuestionOptions::Listed(_) | QuestionOptions::Variable(..) => Vec::new(),
        },
        (StepWait::Validating { answer, .. }, StepWork::Question(question)) => {
            execute(validation(workflow, question, scope, answer))
        }
        (StepWait::Command { .. }, _) => vec![PendingEffect::Consent { ticket, step: id }],
        (StepWait::Answer(asked), StepWork::Question(question)) => {
            let prompt = question.prompt.value.fill(&|reference| scope.get(reference));
            vec![PendingEffect::Ask { ticket, step: id, prompt, asked: asked.clone() }]
        }
        (StepWait::Decision, StepWork::Gate(gate)) => {
            let verdict = judge_gate(run, frame, &step.id, gate);
            let options = choices(gate, &verdict);
            let prompt = decision(step, &verdict, frame.refusals.get(&step.id), &options);
            let options = Some(options.into_iter().map(str::to_owned).collect());
            let asked = AskedQuestion { options, ..AskedQuestion::default() };
            vec![PendingEffect::Ask { ticket, step: id, prompt, asked }]
        }
        _ => Vec::new(),
    }
}

/// The execution of a command step, or of one of its branches.
fn execution(
    step: &WorkflowStep,
    (ticket, visit): (Ticket, Ticket),
    attempt: u32,
    workflow: &Workflow,
    scope: &ValueScope<'_>,
) -> Option<PendingEffect> {
    let StepWork::Command { action, retry, setting, .. } = &step.work else { return None };
    let order = command_spec::build_command(action, scope, workflow).ok()?;
    let context = command_spec::build_context(setting, scope).ok()?;
    let delay = if attempt > 1 { retry.delay } else { 0 };
    let (step, timeout) = (step.id.clone(), step.timeout);
    Some(PendingEffect::Execute { ticket, visit, step, order, context, timeout, delay })
}

/// What the branches of a command need: as many executions as there may be at a time, those before that are under way,
/// and at last what only the user can say.
fn branch_effects(
    run: &Run,
    step: &WorkflowStep,
    children: &[DispatchChild],
    workflow: &Workflow,
    scope: ValueScope<'_>,
) -> Vec<PendingEffect> {
    let together = step.branches.as_ref().map_or(1, |branches| branches.max_parallel);
    let (mut ready, mut started, mut unsure) = (Vec::new(), Vec::new(), Vec::new());
    for (index, child) in children.iter().enumerate().filter(|(_, child)| child.outcome.is_none()) {
        let tickets = run.child_ticket(index, child).zip(run.visit_child_ticket(index, child));
        let (Some(at), Some((ticket, visit))) = (child.execution, tickets) else { continue };
        match at.progress {
            ExecutionProgress::Ready => {
                let locals = branch_locals(child);
                ready.extend(execution(step, (ticket, visit), at.attempt, workflow, &scope.with(&locals)));
            }
            ExecutionProgress::Started => started.push(PendingEffect::Await { ticket }),
            ExecutionProgress::Unsure => unsure.push(PendingEffect::Consent { ticket, step: step.id.clone() }),
        }
    }
    ready.truncate(together.saturating_sub(started.len()));
    ready.into_iter().chain(started).chain(unsure).collect()
}

/// What the user must know to decide what happens at a gate whose rounds are used up.
fn decision(step: &WorkflowStep, verdict: &GateVerdict, reasons: Option<&Vec<String>>, options: &[&str]) -> String {
    let mut text = format!("`{}` has failed {} times, the limit:\n", step.title, verdict.round - 1);
    for reason in reasons.into_iter().flatten() {
        let _ = writeln!(text, "- {reason}");
    }
    text.push_str("What now?");
    for option in options {
        let _ = write!(text, "\n{option}: {}", meaning(option));
    }
    if !options.contains(&ACCEPT) && !verdict.checks.is_empty() {
        text.push_str("\nA failed check cannot be accepted.");
    }
    text
}

/// The name under which a run's context has the agent that does its steps.
pub const STEP_AGENT: &str = "step_agent";

/// The agent that does the steps of a run that say nothing about a session, if the person who started it named one.
fn step_agent(run: &Run) -> Option<String> {
    run.context.get(STEP_AGENT)?.as_str().filter(|agent| !agent.is_empty()).map(str::to_owned)
}

/// The session of a step that says nothing about one. Who reviews changes no file.
fn plain_session(agent: String, step: &WorkflowStep) -> SessionRequest {
    let reviews = step.work.review().is_some_and(|part| part.part != ReviewStage::Fix);
    SessionRequest { agent: Some(agent), role: reviews.then(|| "reviewer".to_owned()), ..SessionRequest::default() }
}

/// The session that a step's definition describes, with everything filled in; what is empty says nothing.
fn session_request(
    session: &SessionSpec,
    workflow: &Workflow,
    scope: &ValueScope<'_>,
) -> Result<SessionRequest, InvalidSession> {
    let filled = |text: &Option<PlacedValue<Template>>| {
        let text = text.as_ref().map(|text| text.value.fill(&|reference| scope.get(reference)))?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    // Words that are written out were judged when the definition was loaded.
    let is_literal = |text: &Option<PlacedValue<Template>>| text.as_ref().is_some_and(|text| text.value.is_literal());
    let permission = match filled(&session.permission).map(|word| (word.parse(), word)) {
        None => SessionRequest::default().permission,
        Some((Ok(permission), _)) => permission,
        // Only a definition that was pinned before unknown words were refused has one.
        Some((Err(_), _)) if is_literal(&session.permission) => Permission::Ask,
        Some((Err(_), word)) => return Err(InvalidSession::Permission(word)),
    };
    let role = filled(&session.role);
    if let Some(word) = role.as_ref().filter(|word| !is_literal(&session.role) && !is_session_role(workflow, word)) {
        return Err(InvalidSession::Role(word.clone()));
    }
    let wait = filled(&session.wait).map(|word| parse_wait(&word).ok_or(InvalidSession::Wait(word))).transpose()?;
    Ok(SessionRequest {
        agent: filled(&session.agent),
        model: filled(&session.model),
        role,
        worktree: filled(&session.worktree),
        permission,
        task: filled(&session.task),
        section: filled(&session.section),
        plan: filled(&session.plan),
        // What is no number names no line; the task is found by its words then.
        line: filled(&session.line).and_then(|line| line.parse().ok()),
        skills: filled(&session.skills),
        budget: filled(&session.budget),
        run_budget: filled(&session.run_budget),
        feedback: filled(&session.feedback),
        wait,
        resume: session.resume,
    })
}
