//! Paths of Unix sockets that the kernel accepts, however long the directory's name is.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};

/// How long the path of a socket may be: `sun_path` of the smallest system, with its end.
const LONGEST: usize = 100;

/// A socket's path, by the handle of its directory where it would be too long.
#[derive(Debug)]
pub struct ShortPath {
    path: PathBuf,
    /// The directory, open for as long as the path is used.
    _directory: Option<OwnedFd>,
}

impl ShortPath {
    /// The path as it is given to the kernel.
    pub fn of(path: &Path) -> io::Result<Self> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a name"));
        };
        if path.as_os_str().len() <= LONGEST {
            return Ok(Self { path: path.to_owned(), _directory: None });
        }
        let directory = open(directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
        Ok(Self { path, _directory: Some(directory) })
    }

    /// The path to connect or bind to while this value lives.
    pub fn as_path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_path_stays_and_one_without_a_name_is_refused() {
        let path = Path::new("/run/maestro.sock");
        assert_eq!(ShortPath::of(path).unwrap().as_path(), path);
        assert!(ShortPath::of(Path::new("/")).is_err());
    }
}
