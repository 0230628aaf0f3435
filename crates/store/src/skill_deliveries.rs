//! Skill texts that reached an agent, by hash, so that later versions of a text are distinguished.

use maestro_core::id::SessionId;
use serde::{Deserialize, Serialize};

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::tx::ChangeTx;
use crate::value::SqlRow;

maestro_core::word_enum! {
    /// How far a text got.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DeliveryStage {
        /// It was handed to the agent.
        Handed = "handed",
        /// The agent opened it.
        Opened = "opened",
        /// It was in what the agent sent to its model.
        Read = "read",
    }
}

/// A text that reached an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillDelivery {
    /// The skill.
    pub skill: String,
    /// The hash of its text.
    pub hash: String,
    /// How far it got.
    pub stage: DeliveryStage,
    /// When.
    pub at: i64,
}

/// Keeps that texts reached an agent; said twice, it is kept once.
#[derive(Debug, Clone)]
pub struct RecordDeliveries {
    /// Which session.
    pub session: SessionId,
    /// Which texts, by skill and hash, and how far they got.
    pub texts: Vec<(String, String, DeliveryStage)>,
}

impl Change for RecordDeliveries {
    type Output = ();

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
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
pub struct SkillDeliveries(
    /// Which session.
    pub SessionId,
);

impl Query for SkillDeliveries {
    type Output = Vec<SkillDelivery>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<SkillDelivery>, StoreError> {
        let sql = "SELECT skill, hash, stage, at FROM skill_deliveries WHERE session_id = $1 ORDER BY ord";
        db.rows(sql, &[(&self.0).into()])?.iter_mut().map(delivery).collect()
    }
}

fn delivery(row: &mut SqlRow) -> Result<SkillDelivery, StoreError> {
    Ok(SkillDelivery {
        skill: row.text()?,
        hash: row.text()?,
        stage: {
            let word = row.text()?;
            DeliveryStage::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("stage `{word}`")))?
        },
        at: row.int()?,
    })
}
