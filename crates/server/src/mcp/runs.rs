//! Workflow tools for a model: Maestro executes commands, the client asks questions as it can, and the model receives
//! everything else and reports the results.

mod args;
mod open_runs;
mod page;
mod result_files;
mod start_refusal;
mod waiting;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use maestro_api::ClientError;
use maestro_api::runs::{self, NewRun, ParentTicket, RefusedRun, RunAnswer, RunBody, RunReport};
use maestro_core::RunId;
use maestro_core::workflow::run::{AnswerAuthor, AwaitedParty, FileState, Ticket};
use maestro_core::workflow::run_reply::{NextAction, RunUpdate};
use maestro_engine::git_changes;
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, InputResponses};
use rmcp::service::RequestContext;
use serde_json::{Map, Value as Json};
use tokio::time::Instant;

use super::McpHandler;
use super::client::ToolCaller;
use super::questions::{self, AskResult, CallOrigin, ClientResponse, QuestionAnswer, SealedQuestion};
use super::skill_index::{StartableWorkflow, WorkflowKind};
use super::tools::{ToolFailure, add_warning};

use self::result_files::ResultFiles;
use self::waiting::OnCancel;

pub(super) use self::args::{RunAnswerArgs, RunNextArgs, RunReportArgs, RunStartArgs, RunStatusArgs};

pub(super) const START: &str = "Use when the user asks for a workflow, or a skill names one. Starts it, executes its commands, and \
returns what you do next.";
pub(super) const REPORT: &str = "Use when you did what a run asked of you. Reports the result and returns the next step. Repeating it has no effect.";
pub(super) const ANSWER: &str =
    "Use when the user has answered a run's question. Passes the answer on; never make one up.";
pub(super) const NEXT: &str = "Use when a run was interrupted or busy. Returns what it needs now.";
pub(super) const STATUS: &str =
    "Use when you wait for a run, or look for open ones. Returns the state and changes nothing.";

/// The longest call before it answers that a run is busy. Clients give up after a minute.
const PATIENCE: Duration = Duration::from_secs(45);
/// How long a missing consent is doubted, since it may just have been given: twice the interval of the executor.
const RECONSIDERED: Duration = Duration::from_secs(2);
/// The argument of a workflow's tool with early answers.
const ANSWERS: &str = "answers";

/// One call about a run.
pub(super) struct RunCall<'t> {
    pub(super) mcp: &'t McpHandler,
    pub(super) who: &'t ToolCaller,
    pub(super) context: &'t RequestContext<RoleServer>,
    pub(super) origin: CallOrigin,
    /// The workflow that the call starts, if it does.
    begins: Option<WorkflowKind>,
    /// The question of the client's previous call.
    open: Option<SealedQuestion>,
    given: InputResponses,
    /// Answers that came with the call, by step.
    answers: Map<String, Json>,
    /// The steps whose early answers the user gave, in a form with several questions.
    users: BTreeSet<String>,
    /// The steps whose early answers were used.
    pub(super) spent: Vec<String>,
    /// The updates before the last question of this call.
    pub(super) updates: Vec<RunUpdate>,
    until: Instant,
    /// Until when a missing consent is doubted.
    doubtful_until: Instant,
    /// How often the client received progress.
    told_of: AtomicU32,
    /// Where the page begins, in a long text.
    from: usize,
}

impl<'t> RunCall<'t> {
    pub(super) fn new(
        mcp: &'t McpHandler,
        who: &'t ToolCaller,
        context: &'t RequestContext<RoleServer>,
        origin: CallOrigin,
        state: Option<&str>,
        given: InputResponses,
    ) -> Result<Self, ToolFailure> {
        let open = match state {
            Some(state) => Some(mcp.parts.seal.open(state, &origin)?),
            None => None,
        };
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
            users: BTreeSet::new(),
            spent: Vec::new(),
            updates: Vec::new(),
            until: now + PATIENCE,
            doubtful_until: now,
            told_of: AtomicU32::new(0),
            from: 0,
        })
    }

    pub(super) async fn start(mut self, mut args: RunStartArgs) -> Result<CallToolResponse, ToolFailure> {
        self.answers = args.answers;
        // Some models send `null` for what they leave out.
        args.params.retain(|_, value| !value.is_null());
        self.begins = self.begins.or(Some(WorkflowKind::Workflow));
        if let Some(open) = self.open.take() {
            return self.resume(open).await;
        }
        self.answers.extend(questions::early_answers(&self.given));
        let parent = match (args.parent, args.ticket) {
            (Some(run), Some(ticket)) => Some(ParentTicket { run, ticket }),
            (None, None) => None,
            _ => return Err(ToolFailure::Message("give `parent` and `ticket` together, or neither".to_owned())),
        };
        if let Some(parent) = parent {
            // The parent's directive says which workflow it is, with which parameters.
            let run = NewRun { parent: Some(parent), ..NewRun::default() };
            let started = self.mcp.api().call(self.who, runs::create(&run)).await?;
            return self.settle(started, OnCancel::KeepRun).await;
        }
        let mut run = NewRun {
            workflow: Some(args.workflow),
            params: Some(args.params),
            task_id: self.mcp.parts.task.clone(),
            project_id: args.project_id,
            by_model: Some(true),
            permission: Some(self.mcp.skills().permission().await.to_string()),
            demo: Some(false),
            ..NewRun::default()
        };
        if run.project_id.is_none() {
            run.project_id = self.mcp.api().project(self.who).await?;
            run.workspace = Some(self.mcp.skills().directory.current().to_string_lossy().into_owned());
        }
        let request = runs::create(&run);
        let request = match args.key {
            Some(key) => request.under_key(key),
            None => request,
        };
        let started = match self.mcp.api().call(self.who, request).await {
            Ok(started) => started,
            Err(error) => {
                let offer = self.mcp.skills().tool_set().await?;
                let name = run.workflow.as_deref().unwrap_or_default();
                return Err(ToolFailure::Message(start_refusal::explain(&error, name, &offer)));
            }
        };
        self.log(&format!("run {} of `{}` started", started.summary.id, started.summary.workflow)).await;
        self.settle(started, OnCancel::CancelRun).await
    }

    /// Starts a workflow by its own tool: the arguments are its parameters.
    pub(super) async fn start_by_tool(
        mut self,
        flow: &StartableWorkflow,
        arguments: Json,
    ) -> Result<CallToolResponse, ToolFailure> {
        let Json::Object(mut params) = arguments else {
            return Err(ToolFailure::Message("the arguments are not an object".to_owned()));
        };
        self.begins = Some(flow.kind());
        let has_answers = flow.workflow.params.iter().any(|param| param.name.as_str() == ANSWERS);
        let answers = if has_answers { None } else { params.remove(ANSWERS) };
        let answers = match answers {
            None => Map::new(),
            Some(Json::Object(answers)) => answers,
            Some(_) => return Err(ToolFailure::Message(format!("`{ANSWERS}` is not an object with step ids as keys"))),
        };
        let workflow = flow.name.clone();
        self.start(RunStartArgs { workflow, params, answers, ..RunStartArgs::default() }).await
    }

    pub(super) async fn next(mut self, args: RunNextArgs) -> Result<CallToolResponse, ToolFailure> {
        self.answers = args.answers;
        if let Some(open) = self.open.take() {
            return self.resume(open).await;
        }
        let reply = self.get(&args.run_id).await?;
        self.doubtful_until = Instant::now() + RECONSIDERED;
        self.settle(reply, OnCancel::KeepRun).await
    }

    pub(super) async fn report(mut self, args: RunReportArgs) -> Result<CallToolResponse, ToolFailure> {
        if let Some(open) = self.open.take() {
            return self.resume(open).await;
        }
        let seen = self.review_state(self.get(&args.run_id).await?).await?;
        let report = RunReport {
            ticket: Some(args.ticket),
            outcome: args.outcome,
            set: Some(args.set),
            result: Some(args.result),
            seen: Some(seen),
        };
        match self.mcp.api().call(self.who, runs::report(args.run_id.trim(), &report)).await {
            Ok(reply) => self.settle(reply, OnCancel::CancelRun).await,
            Err(error) => refusal_reply(error),
        }
    }

    pub(super) async fn answer(mut self, args: RunAnswerArgs) -> Result<CallToolResponse, ToolFailure> {
        if let Some(open) = self.open.take() {
            return self.resume(open).await;
        }
        let given = match (args.value, args.instead) {
            (Some(value), None) => QuestionAnswer::Value(value),
            (None, Some(instead)) => QuestionAnswer::Instead(instead),
            _ => return Err(ToolFailure::Message("give `value`, or `instead` where there is no answer".to_owned())),
        };
        let ticket = match args.ticket {
            Some(ticket) => ticket,
            None => match self.get(&args.run_id).await?.next {
                NextAction::Directive { directive } if directive.question.is_some() => directive.ticket,
                _ => {
                    return Err(ToolFailure::Message(
                        "the run has no open question; call `run_next` for its next action".to_owned(),
                    ));
                }
            },
        };
        match self.submit(&run_id(&args.run_id)?.to_string(), &ticket, given, AnswerAuthor::Agent).await {
            Ok(reply) => self.settle(reply, OnCancel::CancelRun).await,
            Err(error) => refusal_reply(error),
        }
    }

    pub(super) async fn status(mut self, args: RunStatusArgs) -> Result<CallToolResponse, ToolFailure> {
        let Some(run) = args.run_id else { return open_runs::list(self.mcp, self.who).await.map(Into::into) };
        self.until = Instant::now() + PATIENCE.min(Duration::from_secs(args.wait_s));
        let reply = self.get(&run).await?;
        let reply = self.wait_idle(reply, OnCancel::KeepRun).await?;
        self.from = args.from;
        Ok(self.reply(reply).await.into())
    }

    /// Continues after a question to the client. A question that is no longer open was answered, by this call or
    /// another caller: then the run is reported as it is, and early answers for that question do not count.
    async fn resume(mut self, open: SealedQuestion) -> Result<CallToolResponse, ToolFailure> {
        self.answers.retain(|step, _| !open.spent.contains(step));
        (self.spent, self.updates) = (open.spent.clone(), open.updates.clone());
        let mut reply = self.get(&open.run).await?;
        let current = matches!(&reply.next, NextAction::Directive { directive } if directive.ticket == open.ticket);
        if current {
            // The updates before the question were already sent then.
            reply.updates.clear();
        }
        match open.read_response(&self.given, self.mcp).await? {
            ClientResponse::Answered(answered) if current => {
                self.add_users(answered.others);
                match self.submit(&open.run, &open.ticket, answered.given, AnswerAuthor::User).await {
                    Ok(reply) => self.settle(reply, OnCancel::CancelRun).await,
                    Err(error) => self.settle(run_of_error(&error).ok_or(error)?, OnCancel::KeepRun).await,
                }
            }
            ClientResponse::Unusable if current => Ok(self.reply(reply).await.into()),
            ClientResponse::Missing if current => self.settle(reply, OnCancel::KeepRun).await,
            _ => {
                self.answers.clear();
                self.settle(reply, OnCancel::KeepRun).await
            }
        }
    }

    /// Keeps what the user answered to later questions of the same form.
    fn add_users(&mut self, others: Map<String, Json>) {
        self.users.extend(others.keys().cloned());
        self.answers.extend(others);
    }

    /// Waits, asks and answers until the model or the user must act.
    async fn settle(mut self, reply: RunBody, stake: OnCancel) -> Result<CallToolResponse, ToolFailure> {
        let mut reply = self.take_over(reply).await;
        loop {
            reply = self.wait_idle(reply, stake).await?;
            if self.busy(&reply).is_some() {
                return Ok(self.reply(reply).await.into());
            }
            self.updates.append(&mut reply.updates);
            let NextAction::Directive { directive } = &reply.next else { return Ok(self.reply(reply).await.into()) };
            if directive.question.is_none() {
                return Ok(self.reply(reply).await.into());
            }
            // Whether to repeat a step that may have happened is the user's decision, and never an early answer.
            let foreseen = reply.summary.waiting == Some(AwaitedParty::User);
            let step = directive.step.id.as_str();
            let (given, by) = match self.answers.remove(step).filter(|_| foreseen) {
                Some(value) => {
                    self.spent.push(step.to_owned());
                    let by = if self.users.contains(step) { AnswerAuthor::User } else { AnswerAuthor::Agent };
                    (QuestionAnswer::Value(value), by)
                }
                None => match questions::ask(&self, &reply.summary.id, directive).await? {
                    AskResult::Answered(answered) => {
                        self.add_users(answered.others);
                        (answered.given, AnswerAuthor::User)
                    }
                    AskResult::Later(result) => return Ok((*result).into()),
                    AskResult::Unavailable => return Ok(self.reply(reply).await.into()),
                },
            };
            let ticket = directive.ticket.clone();
            // A person may take a while, and execution after that has its own time.
            self.until = self.until.max(Instant::now() + PATIENCE / 2);
            reply = match self.submit(&reply.summary.id, &ticket, given, by).await {
                Ok(reply) => reply,
                Err(error) => return refusal_reply(error),
            };
        }
    }

    /// The answer, with the files that a finished run hands back.
    async fn reply(&self, reply: RunBody) -> CallToolResult {
        if matches!(reply.next, NextAction::Finished { .. }) {
            self.log(&format!("run {} is over", reply.summary.id)).await;
        }
        let files = ResultFiles::of(&reply);
        let mut result = self.page(reply);
        if self.begins == Some(WorkflowKind::Workflow)
            && let Some(warning) = self.mcp.parts.directory.warning()
        {
            add_warning(&mut result, warning);
        }
        if let Some(files) = files {
            // An answer without its files is better than none.
            result.content.extend(tokio::task::spawn_blocking(|| files.read()).await.unwrap_or_default());
        }
        result
    }

    fn page(&self, mut reply: RunBody) -> CallToolResult {
        let mut updates = self.updates.clone();
        updates.append(&mut reply.updates);
        let mut reply = RunBody { updates, ..reply };
        reply.by_session = reply.by_session && self.busy(&reply).is_some();
        match self.begins {
            None => page::page(reply, self.from),
            Some(WorkflowKind::Workflow) => page::start_result(reply),
            Some(WorkflowKind::Command) => page::command_output(reply),
        }
    }

    async fn get(&self, run: &str) -> Result<RunBody, ToolFailure> {
        Ok(self.mcp.api().call(self.who, runs::get(&run_id(run)?.to_string())).await?)
    }

    async fn submit(
        &self,
        run: &str,
        ticket: &Ticket,
        given: QuestionAnswer,
        by: AnswerAuthor,
    ) -> Result<RunBody, ClientError> {
        let (ticket, by) = (Some(ticket.as_str().to_owned()), Some(by));
        let answer = match given {
            QuestionAnswer::Value(value) => RunAnswer { ticket, value: Some(value), instead: None, by },
            QuestionAnswer::Instead(instead) => RunAnswer { ticket, value: None, instead: Some(instead), by },
        };
        self.mcp.api().call(self.who, runs::answer(run.trim(), &answer)).await
    }

    /// The state of the files, where a review needs it.
    async fn review_state(&self, reply: RunBody) -> Result<FileState, ToolFailure> {
        let reviewed = matches!(&reply.next, NextAction::Directive { directive } if directive.round.review.is_some());
        // A sub-agent's run reports to a review of its parent.
        let is_wanted = reviewed || reply.summary.parent_run.is_some();
        if !is_wanted || reply.summary.workspace.is_empty() {
            return Ok(FileState::default());
        }
        let look = move || git_changes::review_state(reply.summary.workspace.as_ref(), reply.reviewed.as_deref());
        tokio::task::spawn_blocking(look).await.map_err(|error| ToolFailure::Message(error.to_string()))
    }
}

/// The id of a run, as a model gives it.
fn run_id(given: &str) -> Result<RunId, ToolFailure> {
    given.trim().parse().map_err(|_| {
        ToolFailure::Message(format!(
            "`{given}` is not the id of a run; call `run_status` without one for the open runs"
        ))
    })
}

/// How a run stands that did not accept a report.
fn run_of_error(error: &ClientError) -> Option<RunBody> {
    error.details::<RefusedRun>().map(|refused| refused.run)
}

/// Why a run refused an input, and what it expects.
fn refusal_reply(error: ClientError) -> Result<CallToolResponse, ToolFailure> {
    let Some(reply) = run_of_error(&error) else { return Err(error.into()) };
    Ok(page::refusal_result(&error.to_string(), reply).into())
}

/// The text that a client receives at a step, for people who want to see it.
pub(crate) fn directive_text(directive: maestro_core::workflow::Directive) -> String {
    page::directive_text(directive)
}
