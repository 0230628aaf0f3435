//! How long do the stat calls alone take that tell whether the skills of a directory are unchanged?
//!
//! `stat_floor DIRECTORY` asks about each directory in it and its `SKILL.md` once, and prints the milliseconds.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};

#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn main() -> io::Result<()> {
    let root = std::env::args_os().nth(1).ok_or_else(|| io::Error::other("name a directory"))?;
    let names: Vec<OsString> = fs::read_dir(&root)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    let files: Vec<PathBuf> = names.iter().map(|name| Path::new(name).join("SKILL.md")).collect();
    let handle = openat(CWD, &root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    let start = Instant::now();
    for (name, file) in names.iter().zip(&files) {
        statat(&handle, name, AtFlags::empty())?;
        statat(&handle, file, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    println!("{:.2}", start.elapsed().as_secs_f64() * 1000.0);
    Ok(())
}
