//! Uses of skills: how often each was given to sessions, and which sessions got one.

use std::collections::{BTreeMap, BTreeSet};

use maestro_core::id::{ProjectId, SessionId};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::skill_deliveries::DeliveryStage;
use crate::sql_query::SqlQuery;

/// How many receipts are counted at most, the newest ones.
const MOST: i64 = 10_000;
/// How many receipts a session has of one skill at most: a stage each, and a few texts.
const RECEIPTS_EACH: i64 = 8;

/// How often a skill was given to sessions, and opened by them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillUse {
    /// How many sessions received it.
    pub handed: i64,
    /// How many opened it.
    pub opened: i64,
}

/// How often each skill was used since a moment.
#[derive(Debug, Clone)]
pub struct SkillUses {
    /// Only in this project.
    pub project: Option<ProjectId>,
    /// Since when.
    pub since: i64,
}

impl Query for SkillUses {
    type Output = BTreeMap<String, SkillUse>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<BTreeMap<String, SkillUse>, StoreError> {
        // SQLite reads a CROSS JOIN from left to right: by time first, which is short, and not by project.
        let select = "SELECT d.skill, d.stage, d.session_id FROM skill_deliveries d CROSS JOIN sessions s \
                      WHERE d.at >= $1 AND s.id = d.session_id";
        let query = SqlQuery::new(select, self.since).only("s.project_id = ?", self.project.as_ref());
        let mut skills: BTreeMap<String, SkillUse> = BTreeMap::new();
        let mut counted = BTreeSet::new();
        for mut row in query.rows(db, "d.at DESC", MOST)? {
            let (skill, stage, session) = (row.text()?, row.text()?, row.text()?);
            if !counted.insert((skill.clone(), stage.clone(), session)) {
                continue;
            }
            let used = skills.entry(skill).or_default();
            match DeliveryStage::from_word(&stage) {
                Some(DeliveryStage::Handed) => used.handed += 1,
                Some(DeliveryStage::Opened) => used.opened += 1,
                Some(DeliveryStage::Read) | None => {}
            }
        }
        Ok(skills)
    }
}

/// A session that got a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillReceiver {
    /// The session.
    pub session: SessionId,
    /// The hash of the text it got last.
    pub hash: String,
    /// How far the text got.
    pub stages: Vec<DeliveryStage>,
    /// When it first got there.
    pub at: i64,
}

/// The sessions that got a skill, the newest first.
#[derive(Debug, Clone)]
pub struct SkillReceivers {
    /// The skill.
    pub skill: String,
    /// Only of this project.
    pub project: Option<ProjectId>,
    /// How many sessions.
    pub limit: i64,
}

impl Query for SkillReceivers {
    type Output = Vec<SkillReceiver>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<SkillReceiver>, StoreError> {
        let select = "SELECT d.session_id, d.hash, d.stage, d.at FROM skill_deliveries d CROSS JOIN sessions s \
                      WHERE d.skill = $1 AND s.id = d.session_id";
        let query = SqlQuery::new(select, &self.skill).only("s.project_id = ?", self.project.as_ref());
        let mut receivers: Vec<SkillReceiver> = Vec::new();
        for mut row in query.rows(db, "d.ord DESC", self.limit * RECEIPTS_EACH)? {
            let (session, hash, stage, at): (SessionId, String, String, i64) =
                (row.parsed()?, row.text()?, row.text()?, row.int()?);
            let Some(stage) = DeliveryStage::from_word(&stage) else { continue };
            match receivers.iter_mut().find(|known| known.session == session) {
                Some(known) => {
                    known.at = known.at.min(at);
                    if !known.stages.contains(&stage) {
                        known.stages.push(stage);
                    }
                }
                None => receivers.push(SkillReceiver { session, hash, stages: vec![stage], at }),
            }
        }
        receivers.truncate(usize::try_from(self.limit).unwrap_or_default());
        Ok(receivers)
    }
}
