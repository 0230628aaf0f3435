//! Mounts that make up a program's own file system.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, mount_remount, move_mount,
    open_tree,
};

use super::mount_plan::{MountPlan, MountSource};

/// Options of mounts that must stay when one of them is changed.
const OPTIONS: [(&str, MountFlags); 7] = [
    ("nosuid", MountFlags::NOSUID),
    ("nodev", MountFlags::NODEV),
    ("noexec", MountFlags::NOEXEC),
    ("noatime", MountFlags::NOATIME),
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
    ("nosymfollow", MountFlags::NOSYMFOLLOW),
];

/// Why a program's file system could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot mount {}: {error}", path.display())]
pub(crate) struct MountError {
    path: PathBuf,
    error: io::Error,
}

fn at<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> MountError {
    let path = path.to_owned();
    move |error| MountError { path, error: error.into() }
}

/// Makes everything read-only, and then mounts what the plan says.
pub(super) fn apply(plan: &MountPlan) -> Result<(), MountError> {
    let root = Path::new("/");
    mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(at(root))?;
    // What was taken before everything is made read-only stays writable, and what is taken after does not.
    let mut trees: Vec<(&PathBuf, Option<OwnedFd>)> = Vec::new();
    for (target, source) in plan {
        let tree = match source {
            MountSource::Writable => Some(take(target)?),
            MountSource::Directory(path) => Some(take(path)?),
            _ => None,
        };
        trees.push((target, tree));
    }
    make_all_read_only()?;
    for ((target, tree), source) in trees.iter_mut().zip(plan.values()) {
        match source {
            MountSource::ReadOnly => *tree = Some(take(target)?),
            MountSource::NoFile => *tree = Some(take(Path::new("/dev/null"))?),
            _ => {}
        }
    }
    for ((target, tree), source) in trees.into_iter().zip(plan.values()) {
        place(target, source, tree)?;
    }
    for (target, _) in plan.iter().filter(|(_, source)| **source == MountSource::Nothing) {
        let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        mount_remount(target, flags, c"").map_err(at(target))?;
    }
    Ok(())
}

/// The processes of this namespace.
pub(super) fn mount_processes() -> Result<(), MountError> {
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"/proc", c"proc", flags, None).map_err(at(Path::new("/proc")))
}

/// A directory or file with all that is mounted in it, to be mounted elsewhere.
fn take(path: &Path) -> Result<OwnedFd, MountError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags).map_err(at(path))
}

fn place(target: &Path, source: &MountSource, tree: Option<OwnedFd>) -> Result<(), MountError> {
    let is_file = tree.as_ref().is_some_and(|tree| !is_folder(tree));
    create_target(target, is_file).map_err(at(target))?;
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    match (source, tree) {
        (_, Some(tree)) => move_mount(tree, c"", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH),
        (MountSource::Terminals, None) => {
            let options = c"newinstance,ptmxmode=0666,mode=0600";
            mount(c"devpts", target, c"devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options)
        }
        (MountSource::Memory, None) => mount(c"tmpfs", target, c"tmpfs", safe, c"mode=1777"),
        (_, None) => mount(c"tmpfs", target, c"tmpfs", safe, c"mode=0755"),
    }
    .map_err(at(target))
}

fn is_folder(tree: &OwnedFd) -> bool {
    rustix::fs::fstat(tree).is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir())
}

/// Something to mount on, where a cover took it out of sight.
fn create_target(target: &Path, is_file: bool) -> io::Result<()> {
    if target.symlink_metadata().is_ok() {
        return Ok(());
    }
    if !is_file {
        return fs::create_dir_all(target);
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    File::create(target).map(drop)
}

/// Makes all mounts read-only, apart from processes, which get a mount of their own.
fn make_all_read_only() -> Result<(), MountError> {
    let path = Path::new("/proc/self/mountinfo");
    let table = fs::read_to_string(path).map_err(at(path))?;
    for (target, flags) in table.lines().filter_map(parse_mount) {
        if target.starts_with("/proc") || flags.contains(MountFlags::RDONLY) {
            continue;
        }
        match mount_remount(&target, MountFlags::BIND | MountFlags::RDONLY | flags, c"") {
            // Below another mount, or where this user cannot go: out of reach for the program, too.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT | Errno::ACCESS | Errno::NOTDIR) => {}
            Err(error) => return Err(at(&target)(error)),
        }
    }
    Ok(())
}

/// The place and options of a line such as `36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw`.
fn parse_mount(line: &str) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(' ').skip(4);
    let (place, options) = (fields.next()?, fields.next()?);
    let mut flags = MountFlags::empty();
    for option in options.split(',') {
        flags |= OPTIONS.iter().find(|(name, _)| *name == option).map_or(MountFlags::empty(), |(_, flag)| *flag);
        if option == "ro" {
            flags |= MountFlags::RDONLY;
        }
    }
    Some((unescape(place), flags))
}

/// A path in which blanks, tabs, newlines and backslashes are octal numbers.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let number = more.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        if let Some(byte) = number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &more[3..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_keeps_its_options_and_its_blanks() {
        let line = r"36 35 98:0 /mnt1 /mnt\0402 rw,nosuid,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let flags = MountFlags::NOSUID | MountFlags::NOATIME;
        assert_eq!(parse_mount(line), Some((PathBuf::from("/mnt 2"), flags)));
        assert_eq!(parse_mount("36 35 98:0 / /a ro - x y z"), Some((PathBuf::from("/a"), MountFlags::RDONLY)));
        assert_eq!(parse_mount("36 35"), None);
    }
}
