//! Limits of a session: an agent that reaches one stands still until a person allows more.

use maestro_core::agent::{EndCause, PermissionChoice, PermissionChoiceKind, TokenUsage};
use maestro_store::AskPermission;

use super::{PauseState, SessionMonitor};

/// A question about a limit.
pub(super) struct LimitQuestion {
    /// What the question is called.
    pub(super) request: String,
    /// The limit, in words.
    what: String,
}

impl SessionMonitor<'_> {
    /// Pauses an agent that used up what it may, and asks whether it may go on.
    pub(super) async fn enforce_budget(&mut self) {
        if self.limit.is_some() || self.history.evidence.ending != EndCause::Own {
            return;
        }
        let (spent, turns) = (self.history.ledger.spent(), self.history.progress.turns());
        let Some(what) = self.spec.budget.used_up(&spent, turns) else { return };
        let is_turns = self.spec.budget.turns.is_some_and(|most| turns > most);
        // Another agent takes over, so that no one has to answer.
        if is_turns || self.spec.taken_over(&self.kind.name, &spent).is_some() {
            return self.end_at_limit(what);
        }
        self.ask_for_more(what, &spent).await;
    }

    async fn ask_for_more(&mut self, what: String, spent: &TokenUsage) {
        if self.handle.pause().await.is_err() {
            return;
        }
        if self.is_at_work() {
            self.history.worked.extend(self.worker.machine.host.now());
        }
        let request = format!("limit-{}-{}", self.attempt, self.limits_asked);
        self.limits_asked += 1;
        let choice = |kind: PermissionChoiceKind, name: &str| PermissionChoice {
            id: kind.as_str().to_owned(),
            name: name.to_owned(),
            kind,
        };
        let ask = AskPermission {
            session: self.session.clone(),
            worker: self.name(),
            request: request.clone(),
            title: format!("the limit of {what} is reached; continue with as much again?"),
            detail: format!(
                "This session used {} tokens and ${:.2}. It is paused. `once` continues with as much again, `always` \
                 without a limit, `deny` ends it; its work is kept.",
                spent.tokens(),
                spent.cost_usd
            ),
            options: vec![
                choice(PermissionChoiceKind::AllowOnce, "Continue with as much again"),
                choice(PermissionChoiceKind::AllowAlways, "Continue without a limit"),
                choice(PermissionChoiceKind::RejectOnce, "End the session"),
            ],
            patience: self.spec.budget.patience(),
        };
        self.flush().await;
        match self.worker.store.write(ask).await {
            Ok(asked) => {
                self.asked.push((asked.request, asked.expires_at));
                self.limit = Some(LimitQuestion { request, what });
            }
            Err(error) => {
                self.record(Err::<(), _>(error));
                self.end_at_limit(what);
            }
        }
    }

    /// Does what was answered about a limit.
    pub(super) async fn decide_limit(&mut self, question: LimitQuestion, kind: PermissionChoiceKind) {
        let spent = self.history.ledger.spent();
        // While it stood still it did not work.
        self.history.worked.begin(self.worker.machine.host.now());
        match kind {
            PermissionChoiceKind::AllowOnce => self.raise_limits(&spent),
            PermissionChoiceKind::AllowAlways => {
                self.granted.unlimited = true;
                (self.spec.budget.cost_usd, self.spec.budget.tokens) = (None, None);
            }
            _ => return self.end_at_limit(question.what),
        }
        // A person may have paused the session meanwhile; then it goes on when they say so.
        if self.paused == PauseState::Running && self.handle.resume().await.is_err() {
            tracing::debug!("the agent ended before it went on");
        }
    }

    /// Allows as much again, of what is used up.
    fn raise_limits(&mut self, spent: &TokenUsage) {
        let (budget, granted) = (&mut self.spec.budget, &mut self.granted);
        if let Some(most) = budget.cost_usd.filter(|most| spent.cost_usd >= *most) {
            let more = budget.more_cost_usd.unwrap_or(most);
            granted.cost_usd += more;
            budget.cost_usd = Some(most + more);
        }
        if let Some(most) = budget.tokens.filter(|most| spent.tokens() >= *most) {
            let more = budget.more_tokens.unwrap_or(most);
            granted.tokens = granted.tokens.saturating_add(more);
            budget.tokens = Some(most.saturating_add(more));
        }
    }

    fn end_at_limit(&mut self, what: String) {
        self.history.evidence.ending = EndCause::Limit { what };
        self.handle.cancel();
    }
}
