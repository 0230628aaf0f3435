//! Secret that seals the states which MCP clients keep for us: one per machine, readable only by its user.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::host::files;

/// Number of random bytes in a secret.
const BYTES: usize = 32;

/// A secret of a process that may not store one. What it seals is opened by itself only.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessSeal(std::sync::Arc<OnceLock<Vec<u8>>>);

impl ProcessSeal {
    /// The stored secret, so that a seal holds after a restart; where it is out of reach, one of this process.
    pub(crate) fn key(&self, home: &Path) -> io::Result<Vec<u8>> {
        if let Ok(stored) = create_at(&home.join("run/seal")) {
            return Ok(stored.into_bytes());
        }
        if let Some(own) = self.0.get() {
            return Ok(own.clone());
        }
        let made = random()?.into_bytes();
        Ok(self.0.get_or_init(|| made).clone())
    }
}

/// The existing secret, if no other user can have read it.
fn stored_at(path: &Path) -> Option<String> {
    let file = path.symlink_metadata().ok()?;
    if !file.is_file() || file.permissions().mode() & 0o077 != 0 {
        return None;
    }
    let contents = maestro_skills::read_bounded(path, 4096).ok()?;
    let text = String::from_utf8(contents.bytes).ok()?;
    let secret = text.trim();
    (secret.len() >= BYTES).then(|| secret.to_owned())
}

fn create_at(path: &Path) -> io::Result<String> {
    if let Some(secret) = stored_at(path) {
        return Ok(secret);
    }
    files::own_directory(path.parent().unwrap_or(path))?;
    files::write_private(path, format!("{}\n", random()?).as_bytes())?;
    // Another process that starts now may have been second; both use what is stored.
    stored_at(path).ok_or_else(|| io::Error::other("cannot read it back"))
}

fn random() -> io::Result<String> {
    let mut random = [0_u8; BYTES];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().fold(String::from("maestro_"), |text, byte| text + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_for_its_owner_only() {
        let home = tempfile::TempDir::new().unwrap();
        let key = ProcessSeal::default().key(home.path()).unwrap();
        assert_eq!(ProcessSeal::default().key(home.path()).unwrap(), key);
        let path = home.path().join("run/seal");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(ProcessSeal::default().key(home.path()).unwrap(), key, "others could read it");
    }

    #[test]
    fn where_nothing_can_be_stored_a_process_has_a_secret_of_its_own() {
        let (seal, nowhere) = (ProcessSeal::default(), Path::new("/dev/null/home"));
        let key = seal.key(nowhere).unwrap();
        assert_eq!(seal.key(nowhere).unwrap(), key);
        assert_ne!(ProcessSeal::default().key(nowhere).unwrap(), key);
    }
}
