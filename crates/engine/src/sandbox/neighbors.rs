//! Sockets of other programs in the file system, through which a program could act outside its sandbox.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Places that hold sockets of other programs: the user's session, its services, containers.
pub(super) const PLACES: [&str; 9] = [
    "/run/user",
    "/run/dbus",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/screen",
    "/run/libvirt",
    "/run/lxd",
    "/var/lib/incus",
];
/// Sockets that programs need to find names and to write logs.
const NEEDED: [&str; 4] = ["/run/nscd", "/run/systemd/resolve", "/run/systemd/journal", "/dev/log"];

/// The sockets that other programs have bound right now.
pub(super) fn bound_sockets() -> Vec<PathBuf> {
    let table = fs::read("/proc/self/net/unix").unwrap_or_default();
    let mut sockets = parse_table(&String::from_utf8_lossy(&table));
    sockets.retain(|path| fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()));
    sockets
}

/// The paths in the kernel's table, which are in its eighth column.
fn parse_table(table: &str) -> Vec<PathBuf> {
    let path = |line: &str| line.find(" /").map(|at| PathBuf::from(&line[at + 1..]));
    let mut paths: Vec<PathBuf> = table.lines().skip(1).filter_map(path).collect();
    paths.retain(|path| !NEEDED.iter().any(|needed| path.starts_with(Path::new(needed))));
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_paths_and_others() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 /run/b with blanks\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 2 @/abstract\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 3\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 4 /run/nscd/socket\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 5 /run/a\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 6 /run/a\n";
        assert_eq!(parse_table(table), [PathBuf::from("/run/a"), PathBuf::from("/run/b with blanks")]);
    }
}
