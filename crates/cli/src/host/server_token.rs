//! Token that a server creates for itself: one per machine, readable only by its user.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::host::files;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// Number of random bytes in a token.
const BYTES: usize = 32;

/// Its file.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join("run/token")
}

/// The existing token, if no other user can have read it.
pub(crate) fn stored(home: &Path) -> Option<String> {
    stored_at(&path(home))
}

fn stored_at(path: &Path) -> Option<String> {
    let file = path.symlink_metadata().ok()?;
    if !file.is_file() || file.permissions().mode() & 0o077 != 0 {
        return None;
    }
    let contents = maestro_skills::read_bounded(path, 4096).ok()?;
    let text = String::from_utf8(contents.bytes).ok()?;
    let token = text.trim();
    (token.len() >= BYTES).then(|| token.to_owned())
}

/// The existing token, or a new one.
pub(crate) fn make(home: &Path) -> CommandResult<String> {
    let hint = "pass one with --token or MAESTRO_AUTH_TOKEN, or set MAESTRO_HOME to a writable directory";
    create_at(&path(home)).map_err(|error| {
        CommandError::io(format!("cannot store a token in {}", path(home).display()), &error).hint(hint)
    })
}

/// Secret that seals the state clients keep for us; stored, so that a seal holds after a restart.
pub(crate) fn seal(home: &Path) -> CommandResult<Vec<u8>> {
    let path = home.join("run/seal");
    let made = create_at(&path).map_err(|error| {
        CommandError::io(format!("cannot store a secret in {}", path.display()), &error)
            .hint("set MAESTRO_HOME to a writable directory")
    })?;
    Ok(made.into_bytes())
}

fn create_at(path: &Path) -> io::Result<String> {
    if let Some(token) = stored_at(path) {
        return Ok(token);
    }
    let mut random = [0_u8; BYTES];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let token = random.iter().fold(String::from("maestro_"), |text, byte| text + &format!("{byte:02x}"));
    files::own_directory(path.parent().unwrap_or(path))?;
    files::write_private(path, format!("{token}\n").as_bytes())?;
    // Another server that starts now may have been second; both use what is stored.
    stored_at(path).ok_or_else(|| io::Error::other("cannot read it back"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_for_its_owner_only() {
        let home = tempfile::TempDir::new().unwrap();
        assert_eq!(stored(home.path()), None);
        let token = make(home.path()).unwrap();
        assert_eq!(make(home.path()).unwrap(), token);
        let mode = path(home.path()).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_token_that_others_could_read_is_made_anew() {
        let home = tempfile::TempDir::new().unwrap();
        let token = make(home.path()).unwrap();
        std::fs::set_permissions(path(home.path()), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(stored(home.path()), None);
        assert_ne!(make(home.path()).unwrap(), token);
    }
}
