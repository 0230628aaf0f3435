//! Codes of open sign-in links, and failed attempts to sign in.

mod attempts;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use maestro_api::tokens::SignInLink;
use maestro_store::hash_secret;

pub(crate) use self::attempts::FailedAttempts;

/// For how long a code works, in milliseconds.
const CODE_TIME: i64 = 10 * 60 * 1000;
/// How many codes may be open.
const MOST_CODES: usize = 256;

/// The open codes, as hashes, and the failed attempts.
#[derive(Debug, Default)]
pub(crate) struct SignInState {
    /// Until when each works.
    codes: Mutex<BTreeMap<String, i64>>,
    pub(crate) attempts: FailedAttempts,
}

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodeError {
    #[error("too many sign-in links are open")]
    TooMany,
    #[error("no randomness: {0}")]
    Random(getrandom::Error),
}

/// The address of the sign-in form and of links; reachable without a token.
pub(crate) const PLACE: &str = "/page/sign-in";

impl SignInState {
    /// A link to this server that works once.
    pub(crate) fn make_link(&self, server: &str, now: i64) -> Result<SignInLink, CodeError> {
        let (code, expires_at) = self.make_code(now)?;
        Ok(SignInLink { url: format!("{server}{PLACE}?code={code}"), expires_at })
    }

    /// A code that works once, and until when.
    fn make_code(&self, now: i64) -> Result<(String, i64), CodeError> {
        let mut random = [0_u8; 24];
        getrandom::fill(&mut random).map_err(CodeError::Random)?;
        let code = random.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let until = now + CODE_TIME;
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, until| *until > now);
        if codes.len() >= MOST_CODES {
            return Err(CodeError::TooMany);
        }
        codes.insert(hash_secret(code.as_bytes()), until);
        Ok((code, until))
    }

    /// Uses up a code, if it still works.
    pub(crate) fn take_code(&self, code: &str, now: i64) -> bool {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.remove(&hash_secret(code.as_bytes())).is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_for_a_while() {
        let state = SignInState::default();
        let (code, until) = state.make_code(0).unwrap();
        assert!(!state.take_code("guess", 1) && state.take_code(&code, 1) && !state.take_code(&code, 1));
        let (late, _) = state.make_code(0).unwrap();
        assert!(!state.take_code(&late, until));
    }
}
