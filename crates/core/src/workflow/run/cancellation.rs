//! Cancellation of a run: the last parts of what it was doing are done before it is over.

use super::transition::{NextMove, Transition};
use super::{CallFrame, InputRefusal, RunEvent};
use crate::workflow::definition::EndStatus;

/// What is said of how a canceled workflow ends.
const CANCELED: &str = "the run was canceled";

fn is_ending(frame: &CallFrame) -> bool {
    frame.ending.is_some()
}

impl Transition<'_> {
    /// Cancels the run, after the last parts of the workflows in progress. One that is being canceled stops at once.
    pub(super) fn request_cancel(&mut self) -> Result<NextMove, InputRefusal> {
        if self.run.is_canceling {
            self.emit(RunEvent::Cancelled {});
            return Ok(NextMove::Wait);
        }
        let has_last_part = |frame: &&CallFrame| {
            is_ending(frame) || self.definition.workflow(&frame.workflow).is_some_and(|it| it.finally.is_some())
        };
        if self.run.all_frames().iter().any(has_last_part) {
            self.emit(RunEvent::Canceling {});
            return self.cancel_frames();
        }
        self.emit(RunEvent::Cancelled {});
        Ok(NextMove::Wait)
    }

    /// Gives up one workflow after the other, the innermost first, up to one that has a last part.
    fn cancel_frames(&mut self) -> Result<NextMove, InputRefusal> {
        loop {
            let frame = self.run.frames.len().saturating_sub(1);
            let aside = self.frame()?.branches_aside().next();
            if aside.is_some() {
                self.emit(RunEvent::Switched { frame, from: None, to: aside });
                continue;
            }
            if self.run.frames.iter().any(is_ending) {
                // Its last part is being done already, and goes on.
                return Ok(NextMove::Wait);
            }
            if let Some((last, _)) = &self.workflow()?.finally {
                let message = Some(CANCELED.to_owned());
                self.emit(RunEvent::Ending { status: EndStatus::Failure, message, is_canceled: true });
                return Ok(NextMove::Enter(last.clone()));
            }
            if frame == 0 {
                self.emit(RunEvent::Cancelled {});
                return Ok(NextMove::Wait);
            }
            self.emit(RunEvent::Dropped { frames: 1 });
        }
    }

    /// Whether the workflow that comes to its end here is given up with its run. What a last part calls is not.
    pub(super) fn is_canceled_here(&self) -> bool {
        let first = self.run.frames.iter().position(is_ending);
        self.run.is_canceling && first == Some(self.run.frames.len().saturating_sub(1))
    }

    /// Goes on with the workflow that called the one in front.
    pub(super) fn cancel_caller(&mut self) -> Result<NextMove, InputRefusal> {
        if self.run.frames.len() == 1 {
            self.emit(RunEvent::Cancelled {});
            return Ok(NextMove::Wait);
        }
        self.emit(RunEvent::Dropped { frames: 1 });
        self.cancel_frames()
    }
}
