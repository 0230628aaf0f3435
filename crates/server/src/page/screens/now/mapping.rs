//! Presentation of the first page: the words and glyphs for each item, and their order.

use std::collections::{BTreeMap, BTreeSet};

use maestro_api::waiting::WaitingBody;
use maestro_core::excerpt::ellipsize;
use maestro_core::handoff::Handoff;
use maestro_core::id::{ProjectId, SessionId};
use maestro_core::session::SessionStatus;
use maestro_core::task::TaskStatus;
use maestro_core::{Project, Session};
use maestro_store::PermissionRequest;

use super::query::{BlockedTask, OverviewSnapshot};
use super::view::{
    EndedSessionCard, FirstSteps, HandoffLine, OverviewView, ProjectGroup, ProjectLine, SessionCard, SidePanel,
    TaskLine,
};
use crate::page::badge::{PAUSED, StateBadge, WAITING, WORKING, state};
use crate::page::cards::{
    DetailLevel, LastPrompt, PermissionCard, QUESTION, TITLE, WORDS, WaitingCard, end_badge, prompt_view, question,
    worker_name,
};
use crate::page::text::DisplayText;

/// From this many running sessions on, those of several projects are shown as counts.
const MANY: i64 = 12;
/// How many projects the sidebar lists.
const PROJECTS: usize = 12;

const BLOCKER: StateBadge = state("waits", "?", "blocker");

impl OverviewView {
    pub(in crate::page) fn new(seen: &OverviewSnapshot, waiting: &[WaitingBody]) -> Self {
        let mapper = OverviewMapper::of(seen);
        let mut waits = mapper.waiting_cards();
        waits.extend(waiting.iter().filter(|item| item.session_id.is_none()).filter_map(run_card));
        waits.sort_by_key(|wait| wait.since);
        let waiting = count(waiting.iter());
        let groups = mapper.groups();
        Self {
            waiting,
            waits,
            asks: mapper.permissions(),
            alive: seen.alive.total,
            running: if groups.is_empty() { mapper.running() } else { Vec::new() },
            groups,
            ended: seen.ended_badly.total + seen.ended_well.total,
            ended_badly: mapper.ended_badly(),
            ended_well: seen.ended_well.items.iter().map(|session| mapper.ended(session)).collect(),
            side: mapper.side(),
            steps: mapper.steps(),
        }
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> i64 {
    items.fold(0, |count, _| count + 1)
}

/// The contents, with the names of projects at hand.
struct OverviewMapper<'a> {
    seen: &'a OverviewSnapshot,
    names: BTreeMap<&'a ProjectId, &'a str>,
}

impl<'a> OverviewMapper<'a> {
    fn of(seen: &'a OverviewSnapshot) -> Self {
        let names = seen.projects.iter().map(|project| (&project.id, project.name.as_str())).collect();
        Self { seen, names }
    }

    fn admits(&self, project: &ProjectId) -> bool {
        self.seen.project.as_ref().is_none_or(|only| only.id == *project)
    }

    /// The name of a project, where it adds information.
    fn project(&self, id: &ProjectId) -> Option<String> {
        let tells = self.seen.project.is_none() && self.names.len() > 1;
        self.names.get(id).filter(|_| tells).map(|name| ellipsize(name, TITLE))
    }

    /// The title of a session's work, otherwise its name.
    fn title(&self, session: &Session) -> String {
        let title = session.tasks.first().and_then(|task| self.seen.titles.get(task));
        ellipsize(title.unwrap_or(&session.name), TITLE)
    }

    fn words(&self, session: &SessionId) -> Option<String> {
        let reported = self.seen.words.get(session);
        let said = self.seen.activity.get(session).and_then(|activity| activity.words.as_ref());
        match (reported, said) {
            (Some(line), Some((at, _))) if line.at >= *at => Some(ellipsize(&line.message, WORDS)),
            (_, Some((_, words))) => Some(ellipsize(&DisplayText::printed(words, WORDS + 1).text, WORDS)),
            (reported, None) => reported.map(|line| ellipsize(&line.message, WORDS)),
        }
    }

    /// The last message sent to a session since this moment.
    fn last_prompt(&self, session: &SessionId, since: i64) -> Option<LastPrompt> {
        let told = self.seen.told.get(session).filter(|told| told.created_at >= since)?;
        Some(prompt_view(told))
    }

    /// Since when a session asks: since it reported so.
    fn asks_since(&self, session: &Session) -> i64 {
        let line = self.seen.words.get(&session.id).filter(|line| line.kind.as_str() == "needs_input");
        line.map_or(session.last_activity, |line| line.at)
    }

    /// Whether a session has an unanswered question.
    fn asks(&self, session: &Session) -> bool {
        let wants = self.seen.questions.items.iter().any(|(asked, _)| asked.session == session.id);
        wants || session.needs_input.is_some() && self.last_prompt(&session.id, self.asks_since(session)).is_none()
    }

    fn waiting_cards(&self) -> Vec<WaitingCard> {
        let questions = self.seen.asking.items.iter().map(|session| self.question(session));
        // What a session asks about is one card.
        let asked = |blocked: &&BlockedTask| {
            let session = blocked.session.as_ref();
            session.is_none_or(|session| session.status.is_over() || session.needs_input.is_none())
        };
        let blockers = self.seen.blocked.iter().filter(asked).map(|blocked| self.blocker(blocked));
        questions.chain(blockers).collect()
    }

    fn question(&self, session: &Session) -> WaitingCard {
        let since = self.asks_since(session);
        let told = self.last_prompt(&session.id, since);
        let (title, project) = (self.title(session), self.project(&session.project));
        WaitingCard { title, project, ..question(session, since, told) }
    }

    /// The open permission requests, oldest first.
    fn permissions(&self) -> Vec<PermissionCard> {
        let ask = |(asked, session): &(PermissionRequest, Session)| {
            let mut ask = PermissionCard::of(asked, worker_name(session), DetailLevel::Glance);
            ask.work = Some(self.title(session));
            ask.project = self.project(&session.project);
            ask
        };
        self.seen.questions.items.iter().map(ask).collect()
    }

    fn blocker(&self, blocked: &BlockedTask) -> WaitingCard {
        let BlockedTask { task, session, why } = blocked;
        let since = why.as_ref().map_or(task.updated_at, |line| line.at);
        let listens = session.as_ref().filter(|session| !session.status.is_over());
        let words = match (why, session) {
            (Some(line), _) => ellipsize(&line.message, QUESTION),
            (None, Some(_)) => "No reason given.".to_owned(),
            (None, None) => "Marked as blocked; no session works on it.".to_owned(),
        };
        WaitingCard {
            id: format!("block-{}", task.id),
            state: BLOCKER,
            who: session.as_ref().map(worker_name),
            title: ellipsize(&task.title, TITLE),
            project: self.project(&task.project),
            text: words,
            since,
            session: listens.map(|session| session.id.to_string()),
            task: Some(task.id.to_string()).filter(|_| listens.is_none()),
            told: listens.and_then(|session| self.last_prompt(&session.id, since)),
        }
    }

    fn running(&self) -> Vec<SessionCard> {
        self.seen.alive.items.iter().map(|session| self.run(session)).collect()
    }

    fn run(&self, session: &Session) -> SessionCard {
        let paused = session.status == SessionStatus::Paused;
        let reported = self.seen.words.get(&session.id).map_or(session.started_at, |line| line.at);
        let active_at = self.seen.activity.get(&session.id).map_or(reported, |activity| activity.at.max(reported));
        let title = self.title(session);
        SessionCard {
            id: format!("run-{}", session.id),
            session: session.id.to_string(),
            state: self.run_state(session),
            others: session.tasks.len().saturating_sub(1),
            project: self.project(&session.project),
            who: worker_name(session),
            words: self.words(&session.id),
            since: session.started_at,
            active_at,
            paused,
            name: ellipsize(&session.name, TITLE),
            role: session.role.as_str(),
            host: ellipsize(&session.hostname, TITLE),
            told: self.last_prompt(&session.id, i64::MIN),
            title,
        }
    }

    fn run_state(&self, session: &Session) -> StateBadge {
        let main = session.tasks.first();
        let blocked = |blocked: &BlockedTask| {
            Some(&blocked.task.id) == main && blocked.session.as_ref().is_some_and(|by| by.id == session.id)
        };
        match session.status {
            SessionStatus::Paused => PAUSED,
            _ if self.asks(session) => WAITING,
            _ if self.seen.blocked.iter().any(blocked) => WAITING,
            SessionStatus::Spawning => state("rest", "○", "starting"),
            SessionStatus::Idle => state("rest", "○", "idle"),
            _ => WORKING,
        }
    }

    /// The running sessions by project, where there are too many to list.
    fn groups(&self) -> Vec<ProjectGroup> {
        if self.seen.project.is_some() || self.seen.alive.total <= MANY {
            return Vec::new();
        }
        let group = |project: &Project| {
            let (working, alive) = self.sessions_of(&project.id);
            ProjectGroup {
                id: format!("group-{}", project.id),
                project: project.id.to_string(),
                name: ellipsize(&project.name, TITLE),
                working,
                resting: alive - working,
            }
        };
        let groups: Vec<ProjectGroup> = self.seen.projects.iter().map(group).collect();
        let groups: Vec<ProjectGroup> = groups.into_iter().filter(|group| group.working + group.resting > 0).collect();
        if groups.len() > 1 { groups } else { Vec::new() }
    }

    /// How many of a project's sessions are working, and how many have not ended. A session that waits for a person
    /// does not work.
    fn sessions_of(&self, project: &ProjectId) -> (i64, i64) {
        let of = self.seen.counts.sessions.iter().filter(|(id, _, _)| id == project);
        let (working, alive) = of.fold((0, 0), |(working, alive), (_, status, count)| {
            let works = if *status == SessionStatus::Working { *count } else { 0 };
            (working + works, alive + count)
        });
        let wanting = self.seen.questions.items.iter().map(|(_, session)| session);
        let asking = self.seen.asking.items.iter().filter(|session| self.asks(session)).chain(wanting);
        let blocked = self.seen.blocked.iter().filter_map(|blocked| blocked.session.as_ref());
        let stuck = asking.chain(blocked).filter(|session| session.project == *project);
        let stuck: BTreeSet<&SessionId> =
            stuck.filter(|session| session.status == SessionStatus::Working).map(|session| &session.id).collect();
        (working - count(stuck.into_iter()), alive)
    }

    /// Failed sessions come before cancelled ones.
    fn ended_badly(&self) -> Vec<EndedSessionCard> {
        let mut ended: Vec<EndedSessionCard> =
            self.seen.ended_badly.items.iter().map(|session| self.ended(session)).collect();
        ended.sort_by_key(|ended| ended.state.tone != "bad");
        ended
    }

    fn ended(&self, session: &Session) -> EndedSessionCard {
        let at = session.completed_at.unwrap_or(session.last_activity);
        let (state, reason) = end_badge(session);
        EndedSessionCard {
            id: format!("end-{}", session.id),
            session: session.id.to_string(),
            state,
            title: self.title(session),
            project: self.project(&session.project),
            who: worker_name(session),
            reason,
            words: self.words(&session.id),
            at,
            took: at - session.started_at,
        }
    }

    fn side(&self) -> SidePanel {
        let line = |project: &Project| {
            let (working, alive) = self.sessions_of(&project.id);
            let tasks =
                self.seen.counts.tasks.iter().filter(|(id, status, _)| *id == project.id && !status.is_closed());
            let open = tasks.map(|(_, _, count)| count).sum();
            ProjectLine { id: project.id.to_string(), name: ellipsize(&project.name, TITLE), working, alive, open }
        };
        let handoff = |handoff: &Handoff| HandoffLine {
            title: ellipsize(&handoff.title, TITLE),
            from: ellipsize(&handoff.from, TITLE),
            to: ellipsize(&handoff.to, TITLE),
            at: handoff.created_at,
        };
        let shown = TaskStatus::ALL.into_iter().filter(|status| *status != TaskStatus::Archived);
        SidePanel {
            projects: self
                .seen
                .projects
                .iter()
                .filter(|project| self.admits(&project.id))
                .take(PROJECTS)
                .map(line)
                .collect(),
            tasks: shown.filter_map(|status| self.tasks(status)).collect(),
            handoffs: self.seen.handoffs.items.iter().map(handoff).collect(),
            more_handoffs: self.seen.handoffs.next.is_some(),
        }
    }

    fn tasks(&self, status: TaskStatus) -> Option<TaskLine> {
        let tasks = self.seen.counts.tasks.iter().filter(|(id, is, _)| *is == status && self.admits(id));
        let count = tasks.map(|(_, _, count)| count).sum();
        let state = match status {
            TaskStatus::Todo => state("rest", "○", "to do"),
            TaskStatus::InProgress => state("working", "●", "in progress"),
            TaskStatus::InReview => state("plain", "–", "in review"),
            TaskStatus::Blocked => state("bad", "✗", "blocked"),
            TaskStatus::Completed => state("plain", "–", "completed"),
            TaskStatus::Cancelled | TaskStatus::Archived => state("rest", "○", "cancelled"),
        };
        (count > 0).then_some(TaskLine { state, count })
    }

    fn steps(&self) -> Option<FirstSteps> {
        let counts = &self.seen.counts;
        let steps = FirstSteps {
            project: !self.seen.projects.is_empty(),
            task: !counts.tasks.is_empty(),
            session: counts.any_session,
        };
        (self.seen.project.is_none() && !(steps.project && steps.task && steps.session)).then_some(steps)
    }
}

/// What a run itself asks, with the command that answers.
fn run_card(item: &WaitingBody) -> Option<WaitingCard> {
    let run = item.run_id.as_ref()?;
    let answers = if item.options.is_empty() { "TEXT".to_owned() } else { item.options.join("|") };
    let how = match (&item.ticket, item.kind) {
        (Some(_), _) => format!("Answer with `maestro session answer {run} {answers}`."),
        (None, _) => String::new(),
    };
    Some(WaitingCard {
        id: format!("wait-{run}"),
        state: state("waits", "?", item.kind.label()),
        who: Some(ellipsize(&item.name, TITLE)),
        title: String::new(),
        project: None,
        text: format!("{}\n{how}", ellipsize(&item.text, QUESTION)).trim_end().to_owned(),
        since: item.since,
        session: None,
        task: None,
        told: None,
    })
}
