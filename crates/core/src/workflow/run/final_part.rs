//! The last part of a workflow: the steps of `finally`, which are done whatever it ends with.

use super::transition::{NextMove, Transition};
use super::{InputRefusal, PlannedEnding, RunEvent};
use crate::workflow::definition::EndStatus;

impl Transition<'_> {
    /// Begins the last part, if there is one and it has not started.
    pub(super) fn begin_last_part(
        &mut self,
        status: EndStatus,
        message: Option<&str>,
    ) -> Result<Option<NextMove>, InputRefusal> {
        let Some((last, _)) = &self.workflow()?.finally else { return Ok(None) };
        if self.frame()?.ending.is_some() {
            return Ok(None);
        }
        self.emit(RunEvent::Ending { status, message: message.map(str::to_owned), is_canceled: false });
        Ok(Some(NextMove::Enter(last.clone())))
    }

    /// How a workflow ends whose last part ended so: as it did before that part, unless only that part failed.
    pub(super) fn settle_ending(
        &self,
        status: EndStatus,
        message: Option<String>,
    ) -> Result<(EndStatus, Option<String>), InputRefusal> {
        match &self.frame()?.ending {
            Some(PlannedEnding { status: planned, message, .. }) if *planned != EndStatus::Success => {
                Ok((*planned, message.clone()))
            }
            Some(PlannedEnding { message: planned, .. }) if status == EndStatus::Success => {
                Ok((status, planned.clone().or(message)))
            }
            _ => Ok((status, message)),
        }
    }
}
