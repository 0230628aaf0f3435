//! Questions of an agent: which need no person, which are kept, and what becomes of those without an answer.

use maestro_core::agent::policy::ApprovalPolicy;
use maestro_core::agent::{AgentEvent, PermissionChoice, PermissionChoiceKind};
use maestro_store::{Actor, AnswerPermission, AskPermission, PermissionFilter, PermissionList, StoreError};

use super::SessionMonitor;

impl SessionMonitor<'_> {
    /// Keeps a question, unless it needs no answer of a person.
    pub(super) async fn ask(&mut self, event: &AgentEvent) {
        let AgentEvent::Asked { id, title, detail, call, options } = event else { return };
        let always = self.allowed.contains(&(title.clone(), detail.clone()));
        if let Some(kind) =
            self.automatic_answer(call.as_deref(), options).or(always.then_some(PermissionChoiceKind::AllowOnce))
        {
            return self.deliver(id, kind).await;
        }
        let ask = AskPermission {
            session: self.session.clone(),
            worker: self.name(),
            request: id.clone(),
            title: title.clone(),
            detail: detail.clone(),
            options: options.clone(),
            patience: self.spec.budget.patience(),
        };
        // The question is in the transcript before a person can answer it.
        self.flush().await;
        match self.worker.store.write(ask).await {
            Ok(asked) => self.asked.push((asked.request, asked.expires_at)),
            Err(error) => {
                self.record(Err::<(), _>(error));
                self.deliver(id, PermissionChoiceKind::RejectOnce).await;
            }
        }
    }

    /// The yes that needs no person.
    fn automatic_answer(&self, call: Option<&str>, options: &[PermissionChoice]) -> Option<PermissionChoiceKind> {
        let call = self.history.call(call?)?;
        let (permission, workspace) = (self.spec.permission, self.workspace.as_path());
        let policy = ApprovalPolicy { permission, workspace, checks: &self.checks };
        let offered = options.iter().any(|option| option.kind == PermissionChoiceKind::AllowOnce);
        (offered && policy.allows(call.kind, &call.input)).then_some(PermissionChoiceKind::AllowOnce)
    }

    /// Passes answers on.
    pub(super) async fn answer(&mut self) {
        if self.asked.is_empty() {
            return;
        }
        let wanted = PermissionList { session: Some(self.session.clone()), filter: PermissionFilter::All };
        let known = self.worker.store.read(wanted).await;
        let Some(known) = self.record(known) else { return };
        let mut open = Vec::new();
        for (request, expires) in std::mem::take(&mut self.asked) {
            let one = known.iter().find(|one| one.request == request);
            match one.and_then(|one| Some((one, one.answer?))) {
                Some((one, kind)) => {
                    if kind == PermissionChoiceKind::AllowAlways {
                        self.allowed.push((one.title.clone(), one.detail.clone()));
                    }
                    match self.limit.take_if(|limit| limit.request == request) {
                        Some(limit) => self.decide_limit(limit, kind).await,
                        None => self.deliver(&request, kind).await,
                    }
                }
                None => open.push((request, expires)),
            }
        }
        self.asked = open;
    }

    /// A question without an answer in time is denied.
    pub(super) async fn expire(&mut self) {
        let now = self.worker.machine.host.now();
        let late: Vec<String> =
            self.asked.iter().filter(|(_, expires)| *expires <= now).map(|(request, _)| request.clone()).collect();
        for request in late {
            let (session, answer) = (self.session.clone(), PermissionChoiceKind::RejectOnce);
            let expired = AnswerPermission { session, request, answer, actor: Actor::Worker };
            match self.worker.store.write(expired).await {
                // A person was faster, and that answer counts.
                Err(StoreError::Rule(_)) => {}
                stored => drop(self.record(stored)),
            }
        }
        self.answer().await;
    }

    /// Passes an answer on to the agent. One that has ended needs none any more.
    async fn deliver(&self, request: &str, kind: PermissionChoiceKind) {
        if self.handle.answer(request, kind).await.is_err() {
            tracing::debug!(request, "the agent ended before it got an answer");
        }
    }
}
