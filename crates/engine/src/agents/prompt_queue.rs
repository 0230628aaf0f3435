//! Queue of prompts for an agent, and its requested end.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::{DriverCommand, TalkError};

/// How many prompts may wait.
pub(super) const MOST_PROMPTS: usize = 16;

/// The queue.
#[derive(Debug)]
pub(super) struct PromptQueue {
    prompts: VecDeque<String>,
    end: PromptQueueEnd,
}

/// Whether it must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptQueueEnd {
    /// Not yet.
    Open,
    /// After the queued prompts.
    Finish,
    /// Now.
    Cancel,
}

/// The next action.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextPrompt {
    /// Send this prompt.
    Prompt(String),
    /// Nothing yet.
    Wait,
    /// End.
    End,
}

impl PromptQueue {
    /// A queue with the first prompt.
    pub(super) fn new(prompt: String) -> Self {
        Self { prompts: VecDeque::from([prompt]), end: PromptQueueEnd::Open }
    }

    /// Adds a prompt.
    pub(super) fn say(&mut self, text: String) -> Result<(), TalkError> {
        match self.end {
            PromptQueueEnd::Finish | PromptQueueEnd::Cancel => Err(TalkError::Ended),
            PromptQueueEnd::Open if self.prompts.len() >= MOST_PROMPTS => Err(TalkError::Busy),
            PromptQueueEnd::Open => {
                self.prompts.push_back(text);
                Ok(())
            }
        }
    }

    /// End after the queued prompts.
    pub(super) fn finish(&mut self) {
        if self.end == PromptQueueEnd::Open {
            self.end = PromptQueueEnd::Finish;
        }
    }

    /// End now.
    pub(super) fn cancel(&mut self) {
        self.end = PromptQueueEnd::Cancel;
        self.prompts.clear();
    }

    /// Whether it must end before all prompts are done.
    pub(super) fn is_cancelled(&self) -> bool {
        self.end == PromptQueueEnd::Cancel
    }

    /// The next action.
    pub(super) fn next(&mut self) -> NextPrompt {
        match (self.prompts.pop_front(), self.end) {
            (Some(prompt), _) => NextPrompt::Prompt(prompt),
            (None, PromptQueueEnd::Open) => NextPrompt::Wait,
            (None, PromptQueueEnd::Finish | PromptQueueEnd::Cancel) => NextPrompt::End,
        }
    }
}

/// The next command of a user who still holds the handle.
pub(super) async fn next_command(talk: Option<&mut mpsc::Receiver<DriverCommand>>) -> Option<DriverCommand> {
    match talk {
        Some(talk) => talk.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_said_in_order_before_it_ends() {
        let mut queue = PromptQueue::new("one".to_owned());
        queue.say("two".to_owned()).unwrap();
        queue.finish();
        assert_eq!(queue.say("three".to_owned()), Err(TalkError::Ended));
        let all = [queue.next(), queue.next(), queue.next()];
        assert_eq!(all, [NextPrompt::Prompt("one".to_owned()), NextPrompt::Prompt("two".to_owned()), NextPrompt::End]);
    }

    #[test]
    fn too_much_is_not_taken_and_who_is_cancelled_is_told_nothing() {
        let mut queue = PromptQueue::new("one".to_owned());
        assert_eq!(queue.next(), NextPrompt::Prompt("one".to_owned()));
        assert_eq!(queue.next(), NextPrompt::Wait);
        let said = (0..=MOST_PROMPTS).flat_map(|_| queue.say("more".to_owned())).count();
        assert_eq!(said, MOST_PROMPTS);
        queue.cancel();
        queue.finish();
        assert!(queue.is_cancelled() && queue.next() == NextPrompt::End);
    }
}
