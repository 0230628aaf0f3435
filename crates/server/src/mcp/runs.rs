//! Workflow tools for a model: Maestro executes commands, the client asks questions as it can, and the model receives
//! everything else and reports the results.

mod args;
mod page;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use maestro_api::ClientError;
use maestro_api::fields::PageQuery;
use maestro_api::runs::{self, NewRun, RefusedRun, RunAnswer, RunBody, RunQuery, RunReport};
use maestro_api::sessions::SteerAction;
use maestro_core::workflow::run::{RunState, Seen, Ticket, Waiting};
use maestro_core::workflow::told::{News, Now};
use maestro_engine::changes;
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, InputResponses, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use tokio::time::Instant;

use super::client::Who;
use super::library::{Flow, FlowKind};
use super::questions::{self, Asked, Given, Open, Origin, Response};
use super::tools::{Failure, told};
use super::{Mcp, clipped};

pub(super) use self::args::{AnswerArgs, NextArgs, ReportArgs, StartArgs, StatusArgs};

pub(super) const START: &str = "Start a workflow. Its commands are executed for you; the answer says what you do next, which you \
report with `run_report`.";
pub(super) const NEXT: &str =
    "Get the next action of a run, waiting a while for one that is busy. Use it to continue a run after a break.";
pub(super) const REPORT: &str =
    "Report the result of a run's directive and receive the next action. A repeated report has no effect.";
pub(super) const ANSWER: &str = "Answer a run's question with what the user said. Never make an answer up.";
pub(super) const STATUS: &str = "Show the state of a run without continuing it; without a run, all unfinished ones.";

/// The longest call before it answers that a run is busy. Clients give up after a minute.
const PATIENCE: Duration = Duration::from_secs(45);
/// How soon a busy run is first checked again, and the longest interval.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// How often a waiting client receives progress.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// How long a missing consent is doubted, since it may just have been given: twice the interval of the executor.
const RECONSIDERED: Duration = Duration::from_secs(2);
/// The argument of a workflow's tool with early answers.
const ANSWERS: &str = "answers";
/// How many runs are listed, newest first, and among how many.
const MOST_LISTED: usize = 50;
const MOST_SEEN: i64 = 10_000;

/// What happens to a busy run whose caller gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stake {
    /// It is cancelled, and its execution ends: the caller has started it.
    Ends,
    /// Nothing: the caller has only looked.
    Stays,
}

/// One call about a run.
pub(super) struct Turn<'t> {
    pub(super) mcp: &'t Mcp,
    pub(super) who: &'t Who,
    pub(super) context: &'t RequestContext<RoleServer>,
    pub(super) origin: Origin,
    /// The workflow that the call starts, if it does.
    begins: Option<FlowKind>,
    /// The question of the client's previous call.
    open: Option<Open>,
    given: InputResponses,
    /// Answers that came with the call, by step.
    answers: Map<String, Json>,
    /// The steps whose early answers were used.
    pub(super) spent: Vec<String>,
    /// The news before the last question of this call.
    pub(super) news: Vec<News>,
    until: Instant,
    /// Until when a missing consent is doubted.
    doubtful_until: Instant,
    /// How often the client received progress.
    told_of: AtomicU32,
}

impl<'t> Turn<'t> {
    pub(super) fn new(
        mcp: &'t Mcp,
        who: &'t Who,
        context: &'t RequestContext<RoleServer>,
        origin: Origin,
        state: Option<&str>,
        given: InputResponses,
    ) -> Result<Self, Failure> {
        let open = state.map(|state| mcp.parts.seal.open(state, &origin)).transpose()?;
        let now = Instant::now();
        Ok(Self {
            mcp,
            who,
            context,
            origin,
            begins: None,
            open,
            given,
            answers: Map::new(),
            spent: Vec::new(),
            news: Vec::new(),
            until: now + PATIENCE,
            doubtful_until: now,
            told_of: AtomicU32::new(0),
        })
    }

    pub(super) async fn start(mut self, args: StartArgs) -> Result<CallToolResponse, Failure> {
        self.answers = args.answers;
        self.begins = self.begins.or(Some(FlowKind::Workflow));
        if let Some(open) = self.open.take() {
            return self.go_on(open).await;
        }
        let mut run = NewRun {
            workflow: Some(args.workflow),
            params: Some(args.params),
            task_id: self.mcp.parts.task.clone(),
            project_id: args.project_id,
            ..NewRun::default()
        };
        if run.project_id.is_none() {
            run.project_id = self.mcp.api().project(self.who).await?;
            run.workspace = Some(self.mcp.library().directory.to_string_lossy().into_owned());
        }
        let request = runs::create(&run);
        let request = match args.key {
            Some(key) => request.under_key(key),
            None => request,
        };
        let started = self.mcp.api().call(self.who, request).await?;
        self.settle(started, Stake::Ends).await
    }

    /// Starts a workflow by its own tool: the arguments are its parameters.
    pub(super) async fn start_own(mut self, flow: &Flow, arguments: Json) -> Result<CallToolResponse, Failure> {
        let Json::Object(mut params) = arguments else {
            return Err(Failure::Told("the arguments are not an object".to_owned()));
        };
        self.begins = Some(flow.kind());
        let has_answers = flow.workflow.params.iter().any(|param| param.name.as_str() == ANSWERS);
        let answers = if has_answers { None } else { params.remove(ANSWERS) };
        let answers = match answers {
            None => Map::new(),
            Some(Json::Object(answers)) => answers,
            Some(_) => return Err(Failure::Told(format!("`{ANSWERS}` is not an object with step ids as keys"))),
        };
        self.start(StartArgs { workflow: flow.name.clone(), params, answers, project_id: None, key: None }).await
    }

    pub(super) async fn next(mut self, args: NextArgs) -> Result<CallToolResponse, Failure> {
        self.answers = args.answers;
        if let Some(open) = self.open.take() {
            return self.go_on(open).await;
        }
        let reply = self.get(&args.run_id).await?;
        self.doubtful_until = Instant::now() + RECONSIDERED;
        self.settle(reply, Stake::Stays).await
    }

    pub(super) async fn report(mut self, args: ReportArgs) -> Result<CallToolResponse, Failure> {
        if let Some(open) = self.open.take() {
            return self.go_on(open).await;
        }
        let seen = self.seen(self.get(&args.run_id).await?).await?;
        let report = RunReport {
            ticket: Some(args.ticket),
            outcome: args.outcome,
            set: Some(args.set),
            result: Some(args.result),
            seen: Some(seen),
        };
        match self.mcp.api().call(self.who, runs::report(args.run_id.trim(), &report)).await {
            Ok(reply) => self.settle(reply, Stake::Ends).await,
            Err(error) => refused(error),
        }
    }

    pub(super) async fn answer(mut self, args: AnswerArgs) -> Result<CallToolResponse, Failure> {
        if let Some(open) = self.open.take() {
            return self.go_on(open).await;
        }
        let given = match (args.value, args.instead) {
            (Some(value), None) => Given::Value(value),
            (None, Some(instead)) => Given::Instead(instead),
            _ => return Err(Failure::Told("give `value`, or `instead` where there is no answer".to_owned())),
        };
        let ticket = match args.ticket {
            Some(ticket) => ticket,
            None => match self.get(&args.run_id).await?.now {
                Now::Directive { directive } if directive.question.is_some() => directive.ticket,
                _ => {
                    return Err(Failure::Told(
                        "the run has no open question; call `run_next` for its next action".to_owned(),
                    ));
                }
            },
        };
        match self.submit(&args.run_id, &ticket, given).await {
            Ok(reply) => self.settle(reply, Stake::Ends).await,
            Err(error) => refused(error),
        }
    }

    pub(super) async fn status(mut self, args: StatusArgs) -> Result<CallToolResponse, Failure> {
        let Some(run) = args.run_id else { return self.open_runs().await.map(Into::into) };
        self.until = Instant::now() + PATIENCE.min(Duration::from_secs(args.wait_s));
        let reply = self.get(&run).await?;
        let reply = self.waited(reply, Stake::Stays).await?;
        Ok(self.told(reply).into())
    }

    /// The unfinished runs, of the current project or of all.
    async fn open_runs(&self) -> Result<CallToolResult, Failure> {
        let project = self.mcp.api().project(self.who).await?;
        let page = PageQuery { limit: Some(MOST_SEEN), cursor: None };
        let (mut lines, mut open) = (Vec::new(), Vec::new());
        for status in [RunState::Running, RunState::Paused] {
            let word = status.as_str();
            let query = RunQuery { project_id: project.clone(), status: Some(word.to_owned()), workflow: None };
            let found = self.mcp.api().call(self.who, runs::list(&query).with_query(&page)).await?;
            for run in found.into_iter().rev().take(MOST_LISTED) {
                let waits = run.waiting.map(|whom| format!(", waits for the {}", whom.as_str())).unwrap_or_default();
                let step = run.step.as_deref().unwrap_or_default();
                lines.push(format!("- {} {}: {word} at {step}{waits}", run.id, run.workflow));
                let (run_id, workflow, step, waiting) = (run.id, run.workflow, run.step, run.waiting);
                open.push(OpenRun { run_id, workflow, status, step, waiting });
            }
        }
        let text = if lines.is_empty() { "No run is open.".to_owned() } else { lines.join("\n") };
        Ok(told(text, json!({ "runs": open })))
    }

    /// Continues after a question to the client. A question that is no longer open was answered, by this call or
    /// another caller: then the run is reported as it is, and early answers for that question do not count.
    async fn go_on(mut self, open: Open) -> Result<CallToolResponse, Failure> {
        self.answers.retain(|step, _| !open.spent.contains(step));
        (self.spent, self.news) = (open.spent.clone(), open.news.clone());
        let mut reply = self.get(&open.run).await?;
        let current = matches!(&reply.now, Now::Directive { directive } if directive.ticket == open.ticket);
        if current {
            // The news before the question was already sent then.
            reply.news.clear();
        }
        match open.responded(&self.given, self.mcp).await? {
            Response::Answered(answered) if current => {
                self.answers.extend(answered.others);
                match self.submit(&open.run, &open.ticket, answered.given).await {
                    Ok(reply) => self.settle(reply, Stake::Ends).await,
                    Err(error) => self.settle(stands(&error).ok_or(error)?, Stake::Stays).await,
                }
            }
            Response::Unusable if current => Ok(self.told(reply).into()),
            Response::Missing if current => self.settle(reply, Stake::Stays).await,
            _ => {
                self.answers.clear();
                self.settle(reply, Stake::Stays).await
            }
        }
    }

    /// Waits, asks and answers until the model or the user must act.
    async fn settle(mut self, mut reply: RunBody, stake: Stake) -> Result<CallToolResponse, Failure> {
        loop {
            reply = self.waited(reply, stake).await?;
            if self.busy(&reply).is_some() {
                return Ok(self.told(reply).into());
            }
            self.news.append(&mut reply.news);
            let Now::Directive { directive } = &reply.now else { return Ok(self.told(reply).into()) };
            if directive.question.is_none() {
                return Ok(self.told(reply).into());
            }
            // Whether to repeat a step that may have happened is the user's decision, and never an early answer.
            let foreseen = reply.summary.waiting == Some(Waiting::User);
            let step = directive.step.id.as_str();
            let given = match self.answers.remove(step).filter(|_| foreseen) {
                Some(value) => {
                    self.spent.push(step.to_owned());
                    Given::Value(value)
                }
                None => match questions::ask(&self, &reply.summary.id, directive).await? {
                    Asked::Answered(answered) => {
                        self.answers.extend(answered.others);
                        answered.given
                    }
                    Asked::Later(result) => return Ok((*result).into()),
                    Asked::Nobody => return Ok(self.told(reply).into()),
                },
            };
            let ticket = directive.ticket.clone();
            // A person may take a while, and execution after that has its own time.
            self.until = self.until.max(Instant::now() + PATIENCE / 2);
            reply = match self.submit(&reply.summary.id, &ticket, given).await {
                Ok(reply) => reply,
                Err(error) => return refused(error),
            };
        }
    }

    /// The run once it is not busy any more, or after the longest wait.
    async fn waited(&self, mut reply: RunBody, stake: Stake) -> Result<RunBody, Failure> {
        let (mut pause, mut told, mut at) = (LOOK.0, String::new(), Instant::now());
        while let Some(title) = self.busy(&reply) {
            let now = Instant::now();
            if now >= self.until || (reply.not_allowed.is_some() && now >= self.doubtful_until) {
                return Ok(reply);
            }
            if title != told || at.elapsed() >= SIGN_OF_LIFE {
                (told, at) = (title.to_owned(), now);
                self.progress(title).await;
            }
            tokio::select! {
                biased;
                // The run continues when an executor is available again.
                () = self.mcp.closing() => return Ok(reply),
                () = self.context.ct.cancelled() => {
                    if stake == Stake::Ends {
                        // It may have ended meanwhile, which is as good.
                        let cancel = runs::steer(&reply.summary.id, SteerAction::Cancel);
                        let _ = self.mcp.api().call(self.who, cancel).await;
                    }
                    return Err(Failure::Told("the call was cancelled".to_owned()));
                }
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LOOK.1),
            }
            reply = self.get(&reply.summary.id).await?;
        }
        Ok(reply)
    }

    /// The work of others, if the caller has nothing to do but wait. A session may be the one started for it.
    fn busy<'r>(&self, reply: &'r RunBody) -> Option<&'r str> {
        let is_session = || self.who.session().is_some() || self.mcp.parts.session.is_some();
        match &reply.now {
            Now::Busy { title, .. } => Some(title),
            Now::Directive { directive } if reply.by_session && !is_session() => Some(&directive.step.title),
            _ => None,
        }
    }

    /// Sends progress to a client that asked for it.
    async fn progress(&self, title: &str) {
        if let Some(token) = self.context.meta.get_progress_token() {
            let count = self.told_of.fetch_add(1, Ordering::Relaxed) + 1;
            let note = ProgressNotificationParam::new(token, count.into()).with_message(clipped(title, 200));
            // A send error means that the client disconnected; the response will find that out.
            let _ = self.context.peer.notify_progress(note).await;
        }
    }

    fn told(&self, mut reply: RunBody) -> CallToolResult {
        let mut news = self.news.clone();
        news.append(&mut reply.news);
        let mut reply = RunBody { news, ..reply };
        reply.by_session = reply.by_session && self.busy(&reply).is_some();
        match self.begins {
            None => page::page(reply),
            Some(FlowKind::Workflow) => page::began(reply),
            Some(FlowKind::Command) => page::printed(reply),
        }
    }

    async fn get(&self, run: &str) -> Result<RunBody, ClientError> {
        self.mcp.api().call(self.who, runs::get(run.trim())).await
    }

    async fn submit(&self, run: &str, ticket: &Ticket, given: Given) -> Result<RunBody, ClientError> {
        let ticket = Some(ticket.as_str().to_owned());
        let answer = match given {
            Given::Value(value) => RunAnswer { ticket, value: Some(value), instead: None },
            Given::Instead(instead) => RunAnswer { ticket, value: None, instead: Some(instead) },
        };
        self.mcp.api().call(self.who, runs::answer(run.trim(), &answer)).await
    }

    /// The state of the files, where a review needs it.
    async fn seen(&self, reply: RunBody) -> Result<Seen, Failure> {
        let reviewed = matches!(&reply.now, Now::Directive { directive } if directive.round.review.is_some());
        if !reviewed || reply.summary.workspace.is_empty() {
            return Ok(Seen::default());
        }
        let look = move || changes::seen(reply.summary.workspace.as_ref(), reply.reviewed.as_deref());
        tokio::task::spawn_blocking(look).await.map_err(|error| Failure::Told(error.to_string()))
    }
}

/// A run that is not over, as a program reads it in a list.
#[derive(Serialize)]
struct OpenRun {
    run_id: String,
    workflow: String,
    status: RunState,
    step: Option<String>,
    waiting: Option<Waiting>,
}

/// How a run stands that did not accept a report.
fn stands(error: &ClientError) -> Option<RunBody> {
    error.details::<RefusedRun>().map(|refused| refused.run)
}

/// Why a run refused an input, and what it expects.
fn refused(error: ClientError) -> Result<CallToolResponse, Failure> {
    let Some(reply) = stands(&error) else { return Err(error.into()) };
    Ok(page::not_taken(&error.to_string(), reply).into())
}
