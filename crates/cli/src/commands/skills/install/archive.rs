//! Archives with skills: `.tar`, `.tar.gz`, `.zip` and `.skill`, unpacked in memory within limits. Links are left out.

mod tar;
mod zip;

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use maestro_skills::{FileWrite, read_bounded};

use super::incoming::{MOST_BYTES, MOST_FILES, SourceFiles};

/// Endings of archives that can be read. A `.skill` is a zip of one skill's folder.
const ENDINGS: [&str; 5] = [".tar.gz", ".tgz", ".tar", ".zip", ".skill"];

/// Endings of archives that cannot.
const OTHER_ENDINGS: [&str; 7] = [".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar.zst", ".7z", ".rar"];

/// Whether a name is that of an archive which cannot be read.
pub(super) fn is_unreadable(name: &str) -> bool {
    OTHER_ENDINGS.iter().any(|end| name.to_lowercase().ends_with(end))
}

/// Whether a name is that of an archive.
pub(super) fn is_archive(name: &str) -> bool {
    ENDINGS.iter().any(|end| name.to_lowercase().ends_with(end))
}

/// A name without the ending of an archive.
pub(super) fn stem(name: &str) -> &str {
    let length = ENDINGS.iter().find(|end| name.to_lowercase().ends_with(**end)).map_or(0, |end| end.len());
    &name[..name.len() - length]
}

/// The files of an archive, without the only folder that all of them may be in, and that folder's name.
pub(super) fn read(path: &Path) -> io::Result<(SourceFiles, Option<String>)> {
    let contents = read_bounded(path, MOST_BYTES)?;
    if contents.cut {
        return Err(too_large());
    }
    let bytes = contents.bytes;
    let mut unpacked = if bytes.starts_with(b"PK") {
        zip::read(&bytes)?
    } else if bytes.starts_with(&[0x1f, 0x8b]) {
        tar::read(&inflate(GzDecoder::new(bytes.as_slice()), MOST_BYTES)?)?
    } else {
        tar::read(&bytes)?
    };
    let folder = strip_common_folder(&mut unpacked.files);
    if let Some(folder) = &folder {
        for path in &mut unpacked.left_out {
            *path = path.strip_prefix(folder).unwrap_or(path).to_owned();
        }
    }
    Ok((SourceFiles { files: unpacked.files, left_out: unpacked.left_out }, folder))
}

/// All that a decoder yields, up to a limit: a few bytes can become very many.
fn inflate(decoder: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    decoder.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> io::Error {
    io::Error::other(format!("it has more than {MOST_FILES} files or {} MiB", MOST_BYTES >> 20))
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the archive is damaged or of a kind that is not supported")
}

/// The path of an entry, if it stays below the folder it is unpacked to.
fn safe_path(name: &str) -> io::Result<PathBuf> {
    let path = Path::new(name);
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let clean: Vec<Component<'_>> = parts.collect();
    if clean.is_empty() || !clean.iter().all(|part| matches!(part, Component::Normal(_))) || name.contains('\\') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it names `{name}`, which leads elsewhere")));
    }
    Ok(clean.into_iter().collect())
}

/// Files that are taken, within the limits.
#[derive(Default)]
struct UnpackedFiles {
    files: Vec<FileWrite>,
    /// Entries that are no plain files.
    left_out: Vec<PathBuf>,
    bytes: u64,
}

impl UnpackedFiles {
    /// How many bytes there is still room for.
    fn room(&self) -> u64 {
        MOST_BYTES - self.bytes
    }

    fn leave_out(&mut self, name: &str) {
        if self.left_out.len() < MOST_FILES {
            self.left_out.extend(safe_path(name).ok());
        }
    }

    fn add(&mut self, name: &str, bytes: Vec<u8>, mode: u32) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if self.files.len() >= MOST_FILES || self.bytes > MOST_BYTES {
            return Err(too_large());
        }
        let path = safe_path(name)?;
        // What a folder does not give either.
        let is_ignored = path
            .components()
            .any(|part| matches!(part, Component::Normal(name) if name == ".git" || name == "node_modules"));
        if !is_ignored {
            self.files.push(FileWrite { path, bytes, executable: mode & 0o111 != 0 });
        }
        Ok(())
    }
}

fn strip_common_folder(files: &mut [FileWrite]) -> Option<String> {
    let first = |file: &FileWrite| file.path.components().next().map(|part| part.as_os_str().to_owned());
    let folder = files.first().and_then(first)?;
    let is_inside = |file: &FileWrite| file.path.components().count() > 1 && first(file).as_ref() == Some(&folder);
    if !files.iter().all(is_inside) {
        return None;
    }
    for file in files {
        file.path = file.path.components().skip(1).collect();
    }
    Some(folder.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../x", "/etc/x", "a/../../x", "", "a\\..\\x"] {
            assert!(safe_path(name).is_err(), "{name}");
        }
        assert_eq!(safe_path("./a/b").unwrap(), Path::new("a/b"));
    }

    #[test]
    fn the_only_folder_is_left_out() {
        let file = |path: &str| FileWrite { path: path.into(), bytes: Vec::new(), executable: false };
        let mut files = [file("x-main/a"), file("x-main/b/c")];
        assert_eq!(strip_common_folder(&mut files).as_deref(), Some("x-main"));
        assert_eq!(files.map(|file| file.path), [PathBuf::from("a"), PathBuf::from("b/c")]);
        let mut files = [file("x/a"), file("b")];
        assert_eq!(strip_common_folder(&mut files), None);
        assert_eq!(files.map(|file| file.path), [PathBuf::from("x/a"), PathBuf::from("b")]);
    }

    #[test]
    fn archives_are_known_by_their_endings() {
        assert!(is_archive("a.tar.gz") && is_archive("A.ZIP") && is_archive("pdf.skill") && !is_archive("a/b"));
        assert!(is_unreadable("a.tar.xz") && !is_archive("a.tar.xz") && !is_unreadable("a.tar"));
        assert_eq!((stem("kit.tar.gz"), stem("kit.zip"), stem("kit")), ("kit", "kit", "kit"));
    }
}
