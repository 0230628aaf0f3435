//! Does every statement stay fast in a large database?
//!
//! Each test of this program records the statements that it has carried out, and asks the database at its end how it
//! would carry them out. A statement that visits all rows of a table that grows is refused, unless it is listed here
//! with a reason.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, OnceLock};

use maestro_core::session::{Approach, SessionStatus};
use maestro_core::task::TaskStatus;
use maestro_store::*;
use tracing::field::{Field, Visit};
use tracing::span;

use crate::world::{World, both};

both! {
    async fn every_list_and_number_by_every_filter(world) {
        let task = world.task("task").await;
        let session = world.session(&[&task]).await;
        let project = task.project.clone();
        let at = world.clock.load(std::sync::atomic::Ordering::Relaxed);
        let store = &world.store;
        for project in [None, Some(project)] {
            for group in [OverviewGroup::Asking, OverviewGroup::Alive, OverviewGroup::Failed(at), OverviewGroup::Completed(at)] {
                store.read(OverviewSessions { project: project.clone(), group, limit: 10 }).await.unwrap();
            }
            for group in TaskColumn::ALL {
                store.read(TaskColumnList { project: project.clone(), group, limit: 10 }).await.unwrap();
            }
            for status in [None, Some(TaskStatus::Blocked)] {
                let filter = TaskFilter { project: project.clone(), status, ..TaskFilter::default() };
                store.read(TaskList { filter, page: ListPage { limit: 10, after: 0 } }).await.unwrap();
            }
            for (status, liveness) in [
                (None, LivenessFilter::Any),
                (None, LivenessFilter::Alive),
                (None, LivenessFilter::NotCompleted),
                (Some(SessionStatus::Working), LivenessFilter::Any),
            ] {
                let filter = SessionFilter { project: project.clone(), task: None, status, liveness };
                store.read(SessionList { filter, page: ListPage { limit: 10, after: 0 } }).await.unwrap();
            }
            for status in [None, Some(RunState::Running)] {
                let page = ListPage { limit: 10, after: 0 };
                store.read(RunList { project: project.clone(), workflow: None, status, page }).await.unwrap();
            }
            store.read(RecentRuns { project: project.clone(), workflow: None, since: at, limit: 10 }).await.unwrap();
            store.read(CurrentRuns { project: project.clone(), since: at, limit: 10 }).await.unwrap();
            store.read(TaskNumbersQuery { project: project.clone() }).await.unwrap();
            store.read(WorkNumbersQuery { project: project.clone(), since: at }).await.unwrap();
            store.read(SpendSince { project: project.clone(), since: at }).await.unwrap();
            store.read(OpenQuestions { project: project.clone(), limit: 10 }).await.unwrap();
            store.read(AbandonedTasks { project: project.clone(), limit: 10 }).await.unwrap();
            store.read(PendingPermissions { project: project.clone(), session: None, at, limit: 10 }).await.unwrap();
            store.read(RecordIds { project: project.clone(), limit: 10 }).await.unwrap();
            let filter = EventFilter { project: project.clone(), ..EventFilter::default() };
            store.read(EventsAfter { seq: 0, limit: 10, filter: filter.clone() }).await.unwrap();
            store.read(EventHeadsAfter { seq: 0, limit: 10, filter: filter.clone() }).await.unwrap();
            store.read(EventPageAfter { seq: 0, limit: 10, filter: filter.clone() }).await.unwrap();
            store.read(LastEvents { after: 0, limit: 10, filter }).await.unwrap();
            store.read(EventSearch { project: project.clone(), limit: 10, ..EventSearch::default() }).await.unwrap();
            store.read(TextSearch { project, text: "task".to_owned(), limit: 10 }).await.unwrap();
        }
        let sessions = vec![session.id.clone()];
        store.read(LastTimelineEntries { sessions: sessions.clone(), kind: None }).await.unwrap();
        store.read(LastMessages { sessions: sessions.clone() }).await.unwrap();
        store.read(LastActivity { sessions }).await.unwrap();
        store.read(SubtaskCounts { parents: vec![task.id.clone()] }).await.unwrap();
        store.read(TaskTitles { tasks: vec![task.id.clone()] }).await.unwrap();
        store.read(QuestionsOfRuns { at }).await.unwrap();
        store.read(CountProjects).await.unwrap();
        store.read(AnyDueSpawn { now: at, scope: ClaimScope::Server }).await.unwrap();
        store.read(AnySilentSession { now: at, silence: 1 }).await.unwrap();
        let filter = TaskFilter { parent: Some(None), ..TaskFilter::default() };
        store.read(TaskList { filter, page: ListPage { limit: 10, after: 0 } }).await.unwrap();
    }

    async fn a_session_that_has_not_ended_is_found_in_every_status(world) {
        let alive = SessionStatus::ALL.into_iter().filter(|status| !status.is_over());
        for (number, status) in (1..).zip(alive) {
            let session = CreateSession { status, ..world.new_session(&[], Approach::Simple).await };
            world.store.write(session).await.unwrap();
            let alive = OverviewSessions { project: None, group: OverviewGroup::Alive, limit: 1 };
            assert_eq!(world.store.read(alive).await.unwrap().total, number, "{status}");
        }
    }
}

/// Tables that stay small, and the names of what a statement makes itself.
const SMALL: &[&str] = &[
    "projects",
    "access_tokens",
    "maintenance",
    "maestro_schema",
    "sqlite_master",
    "task_counts",
    "timeline_tail",
    "up",
    "down",
    "newest",
    "measured",
    "twice",
    "counted",
];

/// Indexes that hold little, or have the order that is asked for up to a limit: to visit one is cheap.
const SHORT_INDEXES: &[&str] =
    &["step_sessions_open", "permissions_open", "tokens_open", "runs_unlanded", "tasks_done"];

/// Why statements may visit a whole table, and what they are known by.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "A page begins at its cursor and ends at its limit.",
        &[
            "ord > $1 ORDER BY ord LIMIT",
            "ord > $1 ORDER BY ord DESC LIMIT",
            "seq > $1 ORDER BY seq LIMIT",
            "seq > $1 ORDER BY seq DESC LIMIT",
        ],
    ),
    (
        "The log is read since an event that the reader has seen; to find its lines by what they are about would cost \
         every report another tree.",
        &[
            "FROM events WHERE seq > $1 AND project = $2",
            "FROM events WHERE seq > $1 AND task = $2",
            "FROM events WHERE seq > $1 AND session = $2",
        ],
    ),
    (
        "A search looks through the newest, up to a bound.",
        &["WHERE ord >= $1", "FROM transcript t CROSS JOIN sessions s WHERE t.ord >= ", "WHERE seq >= $1 AND seq < $2"],
    ),
    ("The first row is enough.", &["SELECT ord FROM sessions LIMIT 1", "WHERE project_id = $1 LIMIT 1"]),
    (
        "A project goes with all that is its own.",
        &["DELETE FROM projects", "DELETE FROM handoffs WHERE project_id", "DELETE FROM runs WHERE project_id"],
    ),
    (
        "A migration runs once.",
        &[
            "INSERT INTO task_counts (project_id, status, priority, level, tasks)\n",
            "UPDATE runs SET awaited_agents = 1 WHERE waiting = 'agent'",
        ],
    ),
    (
        "A person asks for the check of the whole database, and waits for it.",
        &[
            "NOT IN (SELECT id FROM projects)",
            "parent_id NOT IN (SELECT id FROM tasks)",
            "task_id NOT IN (SELECT id FROM tasks)",
            "session_id NOT IN (SELECT id FROM sessions)",
            "NOT IN (SELECT session, at FROM events",
            "NOT IN (SELECT task FROM events",
            "NOT IN (SELECT hash FROM pinned_definitions)",
            "AND status <> 'cancelled' AND executor IS NOT NULL",
            "HAVING count(*) > 1) AS twice",
            "AS counted FULL JOIN",
            "task_sessions.status IN ('working', 'needs_input')",
            "AND messages.state = 'queued'",
            "AND queue_items.status = 'processing'",
            "SELECT type, payload FROM events WHERE version > 0 ORDER BY seq DESC LIMIT 1000",
        ],
    ),
];

/// What one statement would visit.
struct Visited {
    sql: String,
    table: String,
    how: String,
}

impl fmt::Display for Visited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    {}", self.table, self.how, self.sql.replace('\n', " "))
    }
}

/// Checks the statements of a test when it is dropped.
pub(crate) struct PlanCheck(DatabaseLocation);

impl PlanCheck {
    pub(crate) fn of(place: &DatabaseLocation) -> Self {
        RECORDER.get_or_init(|| {
            // A second one would come from a test's own subscriber, and the statements of that test are not seen.
            let _ = tracing::subscriber::set_global_default(StatementRecorder);
        });
        Self(place.clone())
    }
}

impl Drop for PlanCheck {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let statements = STATEMENTS.lock().unwrap().clone();
        let place = self.0.clone();
        // A client of PostgreSQL must not be used where futures are driven.
        let refused = std::thread::spawn(move || match place {
            DatabaseLocation::File(path) => sqlite_visits(&path, &statements),
            DatabaseLocation::Postgres(url) => postgres_visits(&url, &statements),
        });
        let refused: Vec<Visited> = refused.join().unwrap().into_iter().filter(is_refused).collect();
        let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "these statements visit all of a table that grows:\n{}", lines.join("\n"));
    }
}

fn is_refused(visited: &Visited) -> bool {
    !SMALL.contains(&visited.table.as_str())
        && !SHORT_INDEXES.iter().any(|index| visited.how.contains(index))
        && !ALLOWED.iter().flat_map(|(_, parts)| *parts).any(|part| visited.sql.contains(part))
}

/// What would find almost all tasks: those without a parent, and those of a status where the finished ones are asked for.
fn finds_most(sql: &str) -> &'static [&'static str] {
    match (sql.contains("parent_id IS NULL"), sql.contains("'archived')") && !sql.contains("NOT IN")) {
        (true, _) => &["tasks_by_parent (parent_id=?)"],
        (_, true) => &["tasks_by_status (status=?)"],
        _ => &[],
    }
}

fn is_query(sql: &str) -> bool {
    ["SELECT", "UPDATE", "DELETE", "WITH", "INSERT"].iter().any(|word| sql.starts_with(word))
        && !sql.contains("pg_advisory")
        && !sql.contains("information_schema")
}

/// What SQLite would visit. Without statistics, its plans do not depend on what is stored.
fn sqlite_visits(path: &std::path::Path, statements: &BTreeSet<String>) -> Vec<Visited> {
    let database = rusqlite::Connection::open(path).unwrap();
    let mut visits = Vec::new();
    for sql in statements.iter().filter(|sql| is_query(sql)) {
        // What is meant for the other database, or for an older schema, has no plan here.
        let Ok(mut plan) = database.prepare(&format!("EXPLAIN QUERY PLAN {sql}")) else { continue };
        let lines = plan.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>().unwrap();
        for line in lines {
            let mut words = line.split_whitespace();
            let scans = match words.next() {
                Some("SCAN") => true,
                // All rows after one: only a page of a whole list may do that.
                // And all of a project may be all there is.
                Some("SEARCH") => ["PRIMARY KEY (rowid>?)", "PRIMARY KEY (rowid<?)", "(project_id=?)"]
                    .iter()
                    .chain(finds_most(sql))
                    .any(|all| line.contains(all)),
                _ => false,
            };
            let table = words.next().unwrap_or_default();
            if scans
                && !line.starts_with("SCAN CONSTANT ROW")
                && !line.ends_with("VALUES CLAUSE")
                && !table.starts_with("(subquery")
            {
                visits.push(Visited { sql: sql.clone(), table: table.to_owned(), how: line.clone() });
            }
        }
    }
    visits
}

/// What PostgreSQL would visit. It plans by statistics, which a test has none of; so a statement is refused where no index
/// could be used at all. SQLite has the same indexes, and is asked for more.
fn postgres_visits(url: &str, statements: &BTreeSet<String>) -> Vec<Visited> {
    let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
    client.batch_execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan").unwrap();
    let mut visits = Vec::new();
    for sql in statements.iter().filter(|sql| is_query(sql)) {
        if client.batch_execute(&format!("PREPARE checked AS {sql}")).is_err() {
            continue;
        }
        let count = (1..100).take_while(|number| sql.contains(&format!("${number}"))).count();
        let nothing = if count == 0 { String::new() } else { format!("({})", vec!["NULL"; count].join(", ")) };
        for message in client.simple_query(&format!("EXPLAIN EXECUTE checked{nothing}")).unwrap() {
            let postgres::SimpleQueryMessage::Row(row) = message else { continue };
            let line = row.get(0).unwrap_or_default();
            if let Some((_, scanned)) = line.split_once("Seq Scan on ") {
                let table = scanned.split_whitespace().next().unwrap_or_default().to_owned();
                visits.push(Visited { sql: sql.clone(), table, how: line.trim().to_owned() });
            }
        }
        client.batch_execute("DEALLOCATE checked").unwrap();
    }
    visits
}

static RECORDER: OnceLock<()> = OnceLock::new();
static STATEMENTS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Records the statements that the store logs.
struct StatementRecorder;

struct StatementText(Option<String>);

impl Visit for StatementText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "sql" && !STATEMENTS.lock().unwrap().contains(value) {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

impl tracing::Subscriber for StatementRecorder {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "maestro_store::db"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = StatementText(None);
        event.record(&mut text);
        STATEMENTS.lock().unwrap().extend(text.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
