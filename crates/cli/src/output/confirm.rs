//! Yes-or-no questions at the terminal, on standard error so that standard output stays clean.

use std::io::{self, BufRead as _, Write as _};

use crate::output::error::CommandError;

/// Meaning of an empty answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmptyAnswer {
    Agrees,
    Refuses,
}

/// Asks, and returns whether the answer was yes.
pub(crate) fn confirm(question: &str, silence: EmptyAnswer) -> Result<bool, CommandError> {
    let choice = match silence {
        EmptyAnswer::Agrees => "[Y/n]",
        EmptyAnswer::Refuses => "[y/N]",
    };
    let ask = || -> io::Result<String> {
        let mut terminal = io::stderr().lock();
        write!(terminal, "{question} {choice} ")?;
        terminal.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(|error| CommandError::io("cannot read the answer", &error))?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "" => silence == EmptyAnswer::Agrees,
        "y" | "yes" => true,
        _ => false,
    })
}
