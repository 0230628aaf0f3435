//! Processes that carry runs on, and what became of the runs' results.

use std::fmt;
use std::str::FromStr;

use maestro_core::event::RunId;
use maestro_core::landing::LandingKind;
use maestro_core::work_state::RunLanding;
use maestro_core::workflow::run::RunEvent;
use serde::{Deserialize, Serialize};

use super::{RunRecord, SELECT, by_id, emit, record};
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::tx::ChangeTx;
use crate::value::{SqlRow, to_json};

maestro_core::word_enum! {
    /// How long a process that carries runs on lives.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum HostKind {
        /// A server that a person started; another one takes over what it leaves.
        Server = "server",
        /// The server of a single command; what it leaves waits for a person.
        Command = "command",
    }
}

/// A process that carries runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHost {
    /// How long it lives.
    pub kind: HostKind,
    /// Its name, which no other process has.
    pub process: String,
}

impl fmt::Display for RunHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.process)
    }
}

/// A text that names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no host of runs")]
pub struct InvalidRunHost(String);

impl FromStr for RunHost {
    type Err = InvalidRunHost;

    fn from_str(text: &str) -> Result<Self, InvalidRunHost> {
        let (kind, process) = text.split_once(' ').unwrap_or((text, ""));
        let kind = HostKind::from_word(kind).ok_or_else(|| InvalidRunHost(text.to_owned()))?;
        Ok(Self { kind, process: process.to_owned() })
    }
}

/// The hosts of all runs that go on; nothing for runs that no process has.
#[derive(Debug, Clone, Copy)]
pub struct HostsOfRuns;

impl Query for HostsOfRuns {
    type Output = Vec<Option<RunHost>>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT DISTINCT host FROM runs WHERE driver = 'server' AND status = 'running'";
        db.rows(sql, &[])?.iter_mut().map(SqlRow::maybe_parsed).collect()
    }
}

/// Runs that go on under this host, or under none; oldest first.
#[derive(Debug, Clone)]
pub struct RunsOfHost(
    /// Which host.
    pub Option<RunHost>,
);

impl Query for RunsOfHost {
    type Output = Vec<RunRecord>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunRecord>, StoreError> {
        let select = format!("{SELECT} WHERE driver = 'server' AND status = 'running'");
        let mut rows = match self.0.as_ref().map(ToString::to_string) {
            Some(host) => db.rows(&format!("{select} AND host = $1 ORDER BY ord"), &[(&host).into()])?,
            None => db.rows(&format!("{select} AND host IS NULL ORDER BY ord"), &[])?,
        };
        let read = |row: &mut SqlRow| {
            row.int()?;
            record(row)
        };
        rows.iter_mut().map(read).collect()
    }
}

/// Gives a run, and the runs of its sub-agents, to a process.
#[derive(Debug, Clone)]
pub struct HostRun {
    /// Which run.
    pub id: RunId,
    /// The process that carries it on.
    pub host: RunHost,
}

impl Change for HostRun {
    type Output = RunRecord;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<RunRecord, StoreError> {
        let (id, host) = (self.id.to_string(), self.host.to_string());
        tx.execute(
            "UPDATE runs SET host = $1 WHERE (id = $2 OR parent_run = $3) AND ended_at IS NULL",
            &[(&host).into(), (&id).into(), (&id).into()],
        )?;
        by_id(tx, &self.id)
    }
}

/// Records what became of a run's result. The last word counts.
#[derive(Debug, Clone)]
pub struct RecordLanding {
    /// Which run.
    pub id: RunId,
    /// What became of it.
    pub how: LandingKind,
    /// The branch it was merged into.
    pub into: Option<String>,
}

impl Change for RecordLanding {
    type Output = RunRecord;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<RunRecord, StoreError> {
        let before = by_id(tx, &self.id)?;
        let landing = RunLanding { how: self.how, at: tx.now, into: self.into.clone() };
        let id = self.id.to_string();
        let changed = tx.execute(
            "UPDATE runs SET landing = $1, updated_at = $2, revision = revision + 1 WHERE id = $3",
            &[(&to_json(&landing)?).into(), tx.now.into(), (&id).into()],
        )?;
        if changed == 0 {
            return Err(StoreError::not_found(RecordKind::Run, self.id));
        }
        emit(tx, &self.id, &before.about, &[RunEvent::Landed { how: self.how, into: self.into.clone() }]);
        by_id(tx, &self.id)
    }
}
