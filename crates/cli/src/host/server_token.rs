//! Token that the user gives a server: from a file, standard input or a variable.

use std::io::{self, Read as _};
use std::path::Path;

use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// The fewest characters of a token.
const SHORTEST: usize = 32;
/// The largest file with a token.
const LARGEST: u64 = 4096;

/// The token in a file, else the one that was given in words.
pub(crate) fn given(file: Option<&Path>, words: Option<&str>) -> CommandResult<Option<String>> {
    let text = match (file, words) {
        (Some(file), _) => Some(read(file)?),
        (None, words) => words.map(str::to_owned),
    };
    let token = text.map(|text| text.trim().to_owned()).filter(|token| !token.is_empty());
    match token {
        Some(token) if token.chars().count() < SHORTEST => {
            Err(CommandError::invalid(format!("a token must have at least {SHORTEST} characters"))
                .hint("use a longer one, or run `maestro token create NAME` for one that Maestro makes"))
        }
        token => Ok(token),
    }
}

fn read(file: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    let source: Box<dyn io::Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let unreadable = |error| CommandError::io(format!("cannot read {}", file.display()), &error);
        Box::new(std::fs::File::open(file).map_err(unreadable)?)
    };
    let done = source.take(LARGEST).read_to_string(&mut text);
    done.map_err(|error| CommandError::io(format!("cannot read a token from {}", file.display()), &error))?;
    Ok(text)
}
