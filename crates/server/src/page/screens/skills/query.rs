//! Uses of skills, as of one moment.

use std::collections::BTreeMap;

use maestro_core::excerpt::ellipsize;
use maestro_core::id::ProjectId;
use maestro_store::{
    DbTx, DeliveryStage, Query, SessionById, SkillReceiver, SkillReceivers, SkillUse, SkillUses, StoreError, TaskTitles,
};
use serde::Serialize;

use crate::page::cards::{TITLE, worker_name};

/// How many sessions that got a skill are shown.
const RECEIVERS: i64 = 20;
/// How much of a hash is shown.
const SHORT: usize = 8;

/// The query of the screen.
#[derive(Debug, Clone)]
pub(super) struct SkillScreenQuery {
    pub(super) project: Option<ProjectId>,
    pub(super) since: i64,
    /// The skill that is shown.
    pub(super) skill: Option<String>,
}

/// The contents.
#[derive(Debug)]
pub(super) struct SkillScreenSnapshot {
    pub(super) uses: BTreeMap<String, SkillUse>,
    pub(super) receivers: Vec<ReceiverLine>,
}

/// A session that got the skill.
#[derive(Debug, Serialize)]
pub(super) struct ReceiverLine {
    session: String,
    title: String,
    who: String,
    handed: bool,
    opened: bool,
    read: bool,
    hash: String,
    at: i64,
}

impl Query for SkillScreenQuery {
    type Output = SkillScreenSnapshot;

    fn load(&self, db: &mut DbTx<'_>) -> Result<SkillScreenSnapshot, StoreError> {
        let uses = SkillUses { project: self.project.clone(), since: self.since }.load(db)?;
        let receivers = match &self.skill {
            Some(skill) => {
                let wanted = SkillReceivers { skill: skill.clone(), project: self.project.clone(), limit: RECEIVERS };
                wanted.load(db)?
            }
            None => Vec::new(),
        };
        let receivers = receivers.into_iter().map(|receiver| receiver_line(receiver, db)).collect::<Result<_, _>>()?;
        Ok(SkillScreenSnapshot { uses, receivers })
    }
}

fn receiver_line(receiver: SkillReceiver, db: &mut DbTx<'_>) -> Result<ReceiverLine, StoreError> {
    let session = SessionById(receiver.session).load(db)?;
    let titles = TaskTitles { tasks: session.tasks.iter().take(1).cloned().collect() }.load(db)?;
    let title = titles.into_values().next().unwrap_or_else(|| session.name.clone());
    let got = |stage: DeliveryStage| receiver.stages.contains(&stage);
    Ok(ReceiverLine {
        title: ellipsize(&title, TITLE),
        who: worker_name(&session),
        handed: got(DeliveryStage::Handed),
        opened: got(DeliveryStage::Opened),
        read: got(DeliveryStage::Read),
        hash: receiver.hash.chars().take(SHORT).collect(),
        at: receiver.at,
        session: session.id.to_string(),
    })
}
