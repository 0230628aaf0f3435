//! What does its user want of an agent that can be talked to: what is to be said next, and when is it to end?

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::{Talk, TalkError};

/// How many prompts may wait.
pub(super) const MOST_PROMPTS: usize = 16;

/// What is wanted of an agent.
#[derive(Debug)]
pub(super) struct Wishes {
    prompts: VecDeque<String>,
    end: End,
}

/// Whether it is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Not as far as is known.
    Open,
    /// After what was said so far.
    Finish,
    /// Now.
    Cancel,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This is to be said.
    Prompt(String),
    /// Nothing yet.
    Wait,
    /// It is to end.
    End,
}

impl Wishes {
    /// At first, it is told this.
    pub(super) fn new(prompt: String) -> Self {
        Self { prompts: VecDeque::from([prompt]), end: End::Open }
    }

    /// It is to be told more.
    pub(super) fn say(&mut self, text: String) -> Result<(), TalkError> {
        match self.end {
            End::Finish | End::Cancel => Err(TalkError::Ended),
            End::Open if self.prompts.len() >= MOST_PROMPTS => Err(TalkError::Busy),
            End::Open => {
                self.prompts.push_back(text);
                Ok(())
            }
        }
    }

    /// It is to end after what was said so far.
    pub(super) fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Finish;
        }
    }

    /// It is to end.
    pub(super) fn cancel(&mut self) {
        self.end = End::Cancel;
        self.prompts.clear();
    }

    /// Whether it is to end although it has not done everything.
    pub(super) fn is_cancelled(&self) -> bool {
        self.end == End::Cancel
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Next {
        match (self.prompts.pop_front(), self.end) {
            (Some(prompt), _) => Next::Prompt(prompt),
            (None, End::Open) => Next::Wait,
            (None, End::Finish | End::Cancel) => Next::End,
        }
    }
}

/// The next word of a user who is still there.
pub(super) async fn next_talk(talk: Option<&mut mpsc::Receiver<Talk>>) -> Option<Talk> {
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
        let mut wishes = Wishes::new("one".to_owned());
        wishes.say("two".to_owned()).unwrap();
        wishes.finish();
        assert_eq!(wishes.say("three".to_owned()), Err(TalkError::Ended));
        let all = [wishes.next(), wishes.next(), wishes.next()];
        assert_eq!(all, [Next::Prompt("one".to_owned()), Next::Prompt("two".to_owned()), Next::End]);
    }

    #[test]
    fn too_much_is_not_taken_and_who_is_cancelled_is_told_nothing() {
        let mut wishes = Wishes::new("one".to_owned());
        assert_eq!(wishes.next(), Next::Prompt("one".to_owned()));
        assert_eq!(wishes.next(), Next::Wait);
        let said = (0..=MOST_PROMPTS).flat_map(|_| wishes.say("more".to_owned())).count();
        assert_eq!(said, MOST_PROMPTS);
        wishes.cancel();
        wishes.finish();
        assert!(wishes.is_cancelled() && wishes.next() == Next::End);
    }
}
