//! Skill texts that reached an agent, by hash, so that later versions of a text are distinguished.

use maestro_core::id::SessionId;
use serde::{Deserialize, Serialize};

use crate::change::{Change, Read};
use crate::db::Db;
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::Row;

/// How far a text got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It was handed to the agent.
    Handed,
    /// The agent opened it.
    Opened,
    /// It was in what the agent sent to its model.
    Read,
}

impl Stage {
    /// Its name as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handed => "handed",
            Self::Opened => "opened",
            Self::Read => "read",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Handed, Self::Opened, Self::Read].into_iter().find(|stage| stage.as_str() == word)
    }
}

/// A text that reached an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The skill.
    pub skill: String,
    /// The hash of its text.
    pub hash: String,
    /// How far it got.
    pub stage: Stage,
    /// When.
    pub at: i64,
}

/// Keeps that texts reached an agent; said twice, it is kept once.
#[derive(Debug, Clone)]
pub struct KeepReceipts {
    /// Which session.
    pub session: SessionId,
    /// Which texts, by skill and hash, and how far they got.
    pub texts: Vec<(String, String, Stage)>,
}

impl Change for KeepReceipts {
    type Output = ();

    fn apply(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        for (skill, hash, stage) in &self.texts {
            tx.execute(
                "INSERT INTO skill_deliveries (session_id, skill, hash, stage, at) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (session_id, skill, hash, stage) DO NOTHING",
                &[(&self.session).into(), skill.into(), hash.into(), stage.as_str().into(), tx.now.into()],
            )?;
        }
        Ok(())
    }
}

/// The texts that reached a session's agent.
#[derive(Debug, Clone)]
pub struct Receipts(
    /// Which session.
    pub SessionId,
);

impl Read for Receipts {
    type Output = Vec<Receipt>;

    fn load(&self, db: &mut Db<'_>) -> Result<Vec<Receipt>, StoreError> {
        let sql = "SELECT skill, hash, stage, at FROM skill_deliveries WHERE session_id = $1 ORDER BY ord";
        db.rows(sql, &[(&self.0).into()])?.iter_mut().map(receipt).collect()
    }
}

fn receipt(row: &mut Row) -> Result<Receipt, StoreError> {
    Ok(Receipt {
        skill: row.text()?,
        hash: row.text()?,
        stage: {
            let word = row.text()?;
            Stage::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("stage `{word}`")))?
        },
        at: row.int()?,
    })
}
