//! Files of sockets that only this user can reach.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use maestro_api::ShortPath;
use tokio::net::UnixListener;

/// Which file a socket is: its device and inode.
pub(crate) type SocketIdentity = (u64, u64);

/// Listens on a socket that only this user can reach, in place of one that an earlier process left behind.
pub fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(ShortPath::of(path)?.as_path())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Which file is at a path.
pub(crate) fn identity(path: &Path) -> Option<SocketIdentity> {
    path.symlink_metadata().ok().map(|file| (file.dev(), file.ino()))
}

/// Removes a socket, unless another one is there by now, and its directory if nothing else is in it.
pub(crate) fn remove(path: &Path, own: Option<SocketIdentity>) {
    if own.is_some() && identity(path) == own {
        let _ = fs::remove_file(path);
        let _ = path.parent().map(fs::remove_dir);
    }
}
