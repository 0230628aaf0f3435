//! Tasks that can run in parallel: those that nothing in the plan orders after another open one.

use std::collections::HashMap;
use std::hash::Hash;

use super::{Plan, PlanTask, TaskSelection};

/// The tasks that wait for no other, in document order.
///
/// A parent waits for its pending descendants, an item of a numbered list for those above it in that list, and whatever
/// stands under a heading for what stands under the headings before.
#[must_use]
pub fn free_tasks(plan: &Plan) -> Vec<TaskSelection> {
    let mut waits = has_pending_descendants(plan);
    let (mut sections, mut lists) = (PlaceOrder::default(), PlaceOrder::default());
    for (at, task) in plan.tasks.iter().enumerate() {
        let mut waits_here = sections.waits((), task.sections_above, task);
        for (index, enclosing) in enclosing(plan, at) {
            if let Some(list) = enclosing.numbered_list {
                waits_here |= lists.waits(list, index, task);
            }
        }
        if let Some(waits) = waits.get_mut(at) {
            *waits |= waits_here;
        }
    }
    let free = plan.tasks.iter().zip(waits).filter(|(task, waits)| task.is_pending() && !waits);
    free.map(|(task, _)| TaskSelection::from(task)).collect()
}

/// A task and those that enclose it, the innermost first.
fn enclosing(plan: &Plan, at: usize) -> impl Iterator<Item = (usize, &PlanTask)> {
    let of = |index: usize| plan.tasks.get(index).map(|task| (index, task));
    std::iter::successors(of(at), move |(_, task)| task.parent.and_then(of))
}

/// For each task, whether one below it is pending.
fn has_pending_descendants(plan: &Plan) -> Vec<bool> {
    let mut found = vec![false; plan.tasks.len()];
    // Children stand after their parents, so one pass from the end carries it all the way up.
    for (at, task) in plan.tasks.iter().enumerate().rev() {
        let pending = task.is_pending() || found.get(at).copied().unwrap_or_default();
        if let Some(above) = task.parent.and_then(|parent| found.get_mut(parent)) {
            *above |= pending;
        }
    }
    found
}

/// Places that come one after another, for each thing that has such places.
struct PlaceOrder<K>(HashMap<K, PendingPlace>);

struct PendingPlace {
    number: usize,
    pending_here: bool,
    pending_before: bool,
}

impl<K> Default for PlaceOrder<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> PlaceOrder<K> {
    /// Whether a task at a place waits for one at an earlier place; takes note of the task.
    fn waits(&mut self, of: K, number: usize, task: &PlanTask) -> bool {
        let place = self.0.entry(of).or_insert(PendingPlace { number, pending_here: false, pending_before: false });
        if place.number != number {
            place.pending_before |= place.pending_here;
            (place.number, place.pending_here) = (number, false);
        }
        place.pending_here |= task.is_pending();
        place.pending_before
    }
}
