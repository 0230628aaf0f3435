//! A store of its own for each test: always a SQLite file, and a PostgreSQL schema where a server is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use maestro_core::id::ProjectId;
use maestro_store::{Clock, DatabaseLocation, Store, StoreOptions};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::plans::PlanCheck;

/// The variable with the address of a PostgreSQL server that tests may make schemas in.
pub(crate) const SERVER: &str = "MAESTRO_TEST_POSTGRES";

/// A store, its clock, and what must outlive it.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) project: OnceCell<ProjectId>,
    /// The name of the PostgreSQL schema, which its connections also bear.
    pub(crate) schema: Option<String>,
    /// Refuses statements that would visit all of a table, when the test is over.
    _plans: PlanCheck,
    _directory: Option<TempDir>,
}

impl World {
    pub(crate) fn sqlite() -> Self {
        Self::sqlite_holding("")
    }

    /// A database that these statements were carried out in before it is opened.
    pub(crate) fn sqlite_holding(statements: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("maestro.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(statements).unwrap();
        Self::at(DatabaseLocation::File(path), Some(directory), None)
    }

    /// Nothing where no server is given; the test says so and passes.
    pub(crate) fn postgres() -> Option<Self> {
        Self::postgres_holding("")
    }

    /// The same, with a schema that these statements were carried out in before it is opened.
    pub(crate) fn postgres_holding(statements: &str) -> Option<Self> {
        let Ok(server) = std::env::var(SERVER) else {
            eprintln!("skipped: {SERVER} is not set");
            return None;
        };
        let schema = format!("t_{}_{}", std::process::id(), uuid());
        let mut admin = postgres::Client::connect(&server, postgres::NoTls).unwrap();
        admin.batch_execute(&format!("CREATE SCHEMA {schema}; SET search_path TO {schema}; {statements}")).unwrap();
        let mark = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{mark}application_name={schema}&options=-c%20search_path%3D{schema}");
        Some(Self::at(DatabaseLocation::Postgres(url), None, Some(schema)))
    }

    fn at(place: DatabaseLocation, directory: Option<TempDir>, schema: Option<String>) -> Self {
        let clock = Arc::new(AtomicI64::new(1_738_713_600_000));
        let plans = PlanCheck::of(&place);
        let store = Store::open(place, &ticking(&clock)).unwrap();
        Self { store, clock, project: OnceCell::new(), schema, _plans: plans, _directory: directory }
    }

    /// Another handle on the same database, as another process would have.
    pub(crate) async fn again(&self, options: StoreOptions) -> Store {
        let (place, clock) = (self.store.location().clone(), ticking(&self.clock));
        tokio::task::spawn_blocking(move || Store::open_with(place, &clock, options)).await.unwrap().unwrap()
    }

    /// Carries out a statement behind the store's back.
    pub(crate) async fn sql(&self, statement: &'static str) {
        let place = self.store.location().clone();
        let work = move || match place {
            DatabaseLocation::File(path) => rusqlite::Connection::open(path).unwrap().execute_batch(statement).unwrap(),
            DatabaseLocation::Postgres(url) => {
                postgres::Client::connect(&url, postgres::NoTls).unwrap().batch_execute(statement).unwrap();
            }
        };
        tokio::task::spawn_blocking(work).await.unwrap();
    }

    /// Lets time pass.
    pub(crate) fn wait(&self, milliseconds: i64) {
        self.clock.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

/// A minute, as the store counts.
pub(crate) const MINUTE: i64 = 60 * 1000;

pub(crate) fn ticking(clock: &Arc<AtomicI64>) -> Clock {
    let clock = Arc::clone(clock);
    Arc::new(move || clock.load(Ordering::Relaxed))
}

/// A clock for stores whose time does not matter.
pub(crate) fn still() -> Clock {
    Arc::new(|| 1_738_713_600_000)
}

fn uuid() -> String {
    format!("{:x}", std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos())
}

/// Writes each test twice: once for each database.
macro_rules! both {
    ($(async fn $name:ident($world:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn check($world: &World) $body

            #[tokio::test]
            async fn on_sqlite() {
                check(&World::sqlite()).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                let world = tokio::task::spawn_blocking(World::postgres).await.unwrap();
                if let Some(world) = world {
                    check(&world).await;
                }
            }
        }
    )*};
}

pub(crate) use both;
