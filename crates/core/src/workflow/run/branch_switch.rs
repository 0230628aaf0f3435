//! Branches of a step that call workflows at the same time. One of them is in front: its frames are those of the run.

use super::evolve::apply_event;
use super::pending_effects::{awaited_in_front, tickets_in_front};
use super::transition::Transition;
use super::{AwaitedParty, BranchCall, CallFrame, DispatchChild, InputRefusal, Run, RunEvent, StepWait, Ticket};
use crate::workflow::definition::StepWork;

impl DispatchChild {
    /// Whether the workflow that it called has not ended.
    pub(super) fn is_in_call(&self) -> bool {
        self.outcome.is_none() && self.call.is_some()
    }

    /// Whether it has called no workflow yet.
    pub(super) fn is_callable(&self) -> bool {
        self.outcome.is_none() && self.call.is_none()
    }
}

impl CallFrame {
    /// The branches of the step that it is at.
    pub(super) fn branches(&self) -> &[DispatchChild] {
        match self.position.as_ref().map(|position| &position.wait) {
            Some(StepWait::Children(children)) => children,
            _ => &[],
        }
    }

    pub(super) fn branches_mut(&mut self) -> Option<&mut Vec<DispatchChild>> {
        match self.position.as_mut().map(|position| &mut position.wait) {
            Some(StepWait::Children(children)) => Some(children),
            _ => None,
        }
    }

    /// The branch whose frames are above this one.
    fn branch_in_front(&self) -> Option<usize> {
        self.branches().iter().position(|child| child.call == Some(BranchCall::InFront))
    }

    /// The branches whose frames are kept with them.
    pub(super) fn branches_aside(&self) -> impl Iterator<Item = usize> + '_ {
        let aside = |(index, child): (usize, &DispatchChild)| match &child.call {
            Some(BranchCall::Aside(_)) if child.outcome.is_none() => Some(index),
            _ => None,
        };
        self.branches().iter().enumerate().filter_map(aside)
    }

    /// The name by which the outcomes of its checks are kept: branches do not answer for each other.
    pub(super) fn check_owner(&self) -> String {
        match &self.branch {
            Some(branch) => format!("{}[{branch}]", self.workflow),
            None => self.workflow.clone(),
        }
    }
}

/// A run with one of its branches in front.
struct BranchView {
    run: Run,
    /// The switches that bring that branch to the front.
    way: Vec<RunEvent>,
}

impl Run {
    /// Whether branches wait aside while another one is in front.
    pub fn has_branches_aside(&self) -> bool {
        self.frames.iter().any(|frame| frame.branches_aside().next().is_some())
    }

    /// The run once for each branch that has called a workflow, with that branch in front; the one in front comes first.
    fn branch_views(&self) -> Vec<BranchView> {
        let mut views = vec![BranchView { run: self.clone(), way: Vec::new() }];
        let (mut next, mut below) = (0, vec![0]);
        while next < views.len() {
            let mut found = Vec::new();
            for (number, frame) in views[next].run.frames.iter().enumerate().skip(below[next]) {
                for to in frame.branches_aside() {
                    let switch = RunEvent::Switched { frame: number, from: frame.branch_in_front(), to: Some(to) };
                    let mut run = views[next].run.clone();
                    apply_event(&mut run, &switch);
                    let way = views[next].way.iter().cloned().chain([switch]).collect();
                    found.push((BranchView { run, way }, number + 1));
                }
            }
            for (view, from) in found {
                views.push(view);
                below.push(from);
            }
            next += 1;
        }
        views
    }

    /// The numbers of the branches that it is in, the outermost first.
    fn branch_numbers(&self) -> Vec<usize> {
        let path = self.frame().and_then(|frame| frame.branch.as_deref()).unwrap_or_default();
        path.split('/').filter_map(|number| number.parse().ok()).collect()
    }

    /// What is true of each of its branches when that is in front, beginning with the one that is.
    pub(super) fn of_each_branch<T>(&self, of: impl Fn(&Run) -> T) -> Vec<T> {
        if self.has_branches_aside() {
            self.branch_views().iter().map(|view| of(&view.run)).collect()
        } else {
            vec![of(self)]
        }
    }

    /// The run with the branch in front that waits for this ticket; as it is, where none does.
    #[must_use]
    pub fn in_front(&self, ticket: &Ticket) -> Run {
        let views = if self.has_branches_aside() { self.branch_views() } else { Vec::new() };
        let view = views.into_iter().find(|view| tickets_in_front(&view.run).contains(ticket));
        view.map_or_else(|| self.clone(), |view| view.run)
    }

    /// All frames, those of branches that wait aside included.
    pub(super) fn all_frames(&self) -> Vec<&CallFrame> {
        let mut found: Vec<&CallFrame> = self.frames.iter().collect();
        let mut next = 0;
        while next < found.len() {
            let aside = found[next].branches().iter().filter(|child| child.outcome.is_none());
            let frames = aside.filter_map(|child| match &child.call {
                Some(BranchCall::Aside(frames)) => Some(frames),
                _ => None,
            });
            let frames: Vec<&CallFrame> = frames.flatten().collect();
            found.extend(frames);
            next += 1;
        }
        found
    }
}

/// Brings another branch of the step of a frame to the front, or that frame itself.
pub(super) fn switch(run: &mut Run, frame: usize, from: Option<usize>, to: Option<usize>) {
    if frame >= run.frames.len() {
        return;
    }
    let mut above = run.frames.split_off(frame + 1);
    let serial = run.serial;
    let Some(children) = run.frames.last_mut().and_then(CallFrame::branches_mut) else { return };
    if let Some(child) = from.and_then(|from| children.get_mut(from)) {
        // What it waits for keeps its ticket, whatever others wait for meanwhile.
        if let Some(position) = above.last_mut().and_then(|frame| frame.position.as_mut()) {
            position.serial.get_or_insert(serial);
        }
        child.call = Some(BranchCall::Aside(above));
    }
    if let Some(child) = to.and_then(|to| children.get_mut(to))
        && let Some(BranchCall::Aside(frames)) = child.call.replace(BranchCall::InFront)
    {
        run.frames.extend(frames);
    }
}

impl<'d> Transition<'d> {
    /// Brings the branch to the front that waits for a ticket. What waits for none stays as it is.
    pub(super) fn bring_to_front(&mut self, ticket: &Ticket) {
        self.show_branch(&|run| tickets_in_front(run).contains(ticket));
    }

    /// Brings the first branch to the front, in the order of the items, of which this is true. Returns whether there is one.
    pub(super) fn show_branch(&mut self, is_wanted: &dyn Fn(&Run) -> bool) -> bool {
        if !self.run.has_branches_aside() {
            return is_wanted(&self.run);
        }
        let wanted = self.run.branch_views().into_iter().filter(|view| is_wanted(&view.run));
        let view = wanted.min_by_key(|view| view.run.branch_numbers());
        let is_found = view.is_some();
        for switch in view.into_iter().flat_map(|view| view.way) {
            self.emit(switch);
        }
        is_found
    }

    /// Calls the workflows of further branches, as many as there may be at a time, and then shows a branch that waits
    /// for a person or an agent: one with a question first, and the one that was shown before, if it is among them.
    pub(super) fn call_further_branches(&mut self, shown: &[Ticket]) -> Result<(), InputRefusal> {
        while let (false, Some((frame, step))) = (self.run.is_canceling, self.branching_frame()?) {
            let from = self.run.frames[frame].branch_in_front();
            if frame + 1 < self.run.frames.len() {
                self.emit(RunEvent::Switched { frame, from, to: None });
            }
            let next = self.continue_branches(step)?;
            self.proceed(next)?;
        }
        if self.run.is_over() || self.run.is_canceling || !self.run.has_branches_aside() {
            return Ok(());
        }
        let was_shown = |run: &Run| tickets_in_front(run).iter().any(|ticket| shown.contains(ticket));
        let asks = |run: &Run| matches!(awaited_in_front(run), Some(AwaitedParty::User | AwaitedParty::Consent));
        let awaits = |run: &Run| awaited_in_front(run).is_some();
        // A frame whose branches all wait aside is no place to be.
        let is_branch = |run: &Run| run.frame().is_some_and(|frame| frame.branches_aside().next().is_none());
        let _ = self.show_branch(&|run| asks(run) && was_shown(run))
            || self.show_branch(&asks)
            || self.show_branch(&|run| awaits(run) && was_shown(run))
            || self.show_branch(&awaits)
            || self.show_branch(&is_branch);
        Ok(())
    }

    /// The innermost frame whose step can call one more workflow.
    fn branching_frame(&self) -> Result<Option<(usize, &'d crate::workflow::definition::WorkflowStep)>, InputRefusal> {
        for (number, frame) in self.run.frames.iter().enumerate().rev() {
            let Some(position) = &frame.position else { continue };
            let workflow = self.definition.workflow(&frame.workflow).ok_or(InputRefusal::OtherDefinition)?;
            let step = workflow.step(&position.step).ok_or(InputRefusal::OtherDefinition)?;
            let Some(branches) = step.branches.as_ref().filter(|_| matches!(step.work, StepWork::Call(_))) else {
                continue;
            };
            let called = frame.branches().iter().filter(|child| child.is_in_call()).count();
            // In a state of before, the branch in front is not marked.
            let is_known = number + 1 == self.run.frames.len() || frame.branch_in_front().is_some();
            if is_known && called < branches.max_parallel && frame.branches().iter().any(DispatchChild::is_callable) {
                return Ok(Some((number, step)));
            }
        }
        Ok(None)
    }
}

/// The frame's branch of the run above, as a path.
pub(super) fn branch_path(run: &Run, branch: Option<usize>) -> Option<String> {
    let around = run.frame().and_then(|frame| frame.branch.clone());
    match (around, branch) {
        (around, None) => around,
        (None, Some(branch)) => Some((branch + 1).to_string()),
        (Some(around), Some(branch)) => Some(format!("{around}/{}", branch + 1)),
    }
}

/// Marks that a branch has called a workflow.
pub(super) fn mark_called(run: &mut Run, branch: usize) {
    if let Some(child) = run.frames.last_mut().and_then(CallFrame::branches_mut).and_then(|all| all.get_mut(branch)) {
        child.call = Some(BranchCall::InFront);
    }
}

/// Gives what waits in earlier branches tickets of its own, so that those of before do not count any more.
pub(super) fn renew_tickets(run: &mut Run) {
    let mut serial = run.serial;
    for frame in &mut run.frames {
        renew(frame, &mut serial);
    }
    run.serial = serial;
}

fn renew(frame: &mut CallFrame, serial: &mut u64) {
    if let Some(kept) = frame.position.as_mut().and_then(|position| position.serial.as_mut()) {
        *serial += 1;
        *kept = *serial;
    }
    for child in frame.branches_mut().into_iter().flatten() {
        if let Some(BranchCall::Aside(frames)) = &mut child.call {
            for frame in frames {
                renew(frame, serial);
            }
        }
    }
}

/// The branch in front is that of no frame any more.
pub(super) fn forget_front(run: &mut Run) {
    for child in run.frames.last_mut().and_then(CallFrame::branches_mut).into_iter().flatten() {
        if child.call == Some(BranchCall::InFront) {
            child.call = None;
        }
    }
}
