//! Uses of skills by a session's agent: which it opened, and which it left alone.

use std::path::PathBuf;

use maestro_core::id::SessionId;
use maestro_skills::UsageVerdict;
use maestro_store::{DeliveryStage, ProjectById, SessionById, SkillDeliveries, SkillDelivery, StoreError};

use super::AgentWorker;
use crate::host;

impl AgentWorker {
    /// Counts for the project which skills a session's agent opened.
    pub(super) async fn count_skill_uses(&self, session: &SessionId) -> Result<(), StoreError> {
        let uses = uses(&self.store.read(SkillDeliveries(session.clone())).await?);
        if uses.is_empty() {
            return Ok(());
        }
        let project = self.store.read(SessionById(session.clone())).await?.project;
        let directory = PathBuf::from(self.store.read(ProjectById(project)).await?.working_dir);
        let counted = host::ask(&self.machine.host, move |host| {
            host.count_skill_uses(&directory, &uses);
            Ok(())
        });
        if let Err(error) = counted.await {
            tracing::debug!("the uses of skills are not counted: {error}");
        }
        Ok(())
    }
}

/// Each skill that was handed over, once: opened or not.
fn uses(deliveries: &[SkillDelivery]) -> Vec<(String, UsageVerdict)> {
    let mut uses: Vec<(String, UsageVerdict)> = Vec::new();
    for handed in deliveries.iter().filter(|delivery| delivery.stage == DeliveryStage::Handed) {
        if uses.iter().any(|(skill, _)| *skill == handed.skill) {
            continue;
        }
        let is_opened = |other: &SkillDelivery| other.skill == handed.skill && other.stage != DeliveryStage::Handed;
        let usage = if deliveries.iter().any(is_opened) { UsageVerdict::Useful } else { UsageVerdict::Ignored };
        uses.push((handed.skill.clone(), usage));
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_handed_over_counts_once_as_opened_or_ignored() {
        let delivery = |skill: &str, stage| SkillDelivery { skill: skill.into(), hash: "a".into(), stage, at: 1 };
        let deliveries = [
            delivery("pdf", DeliveryStage::Handed),
            delivery("pdf", DeliveryStage::Handed),
            delivery("tdd", DeliveryStage::Handed),
            delivery("pdf", DeliveryStage::Opened),
            delivery("found", DeliveryStage::Read),
        ];
        let expected = [("pdf".to_owned(), UsageVerdict::Useful), ("tdd".to_owned(), UsageVerdict::Ignored)];
        assert_eq!(uses(&deliveries), expected);
    }
}
