//! Index of a root: what earlier scans read, and whether it is still valid.
//!
//! For every directory that was looked into, an index keeps what was found there together with the stamps of the
//! directory and of each file that was read. As long as these are the same, so is what was found; whatever changed is
//! looked at again, alone. Three kinds of directories are never kept: those with a link in them, whose meaning depends
//! on other places; those with something that could not be read; and those that changed a moment ago.

mod record;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use foldhash::fast::RandomState;
use maestro_core::settings::SkillValidation;
use sha2::{Digest, Sha256};

use record::FoundKind;

use crate::bytes::{ByteReader, ByteWriter};
use crate::checksum;
use crate::directory::OpenDirectory;
use crate::directory_visit::{DirectoryVisit, SkillFolder};
use crate::encoded_skill::EncodedSkill;
use crate::file_stamp::{DirectoryStamps, StampCutoff};
use crate::pack::{FileWrite, hex};
use crate::roots::SkillRoot;
use crate::text::read_bounded;

/// What every index begins with. The last figure is the format's.
const MAGIC: &[u8; 8] = b"maestro2";

/// What its checksum takes.
const SUM_BYTES: usize = 8;

/// The largest index that is read or made.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// What earlier loads left behind: files in a directory, or bytes that a long-lived process holds.
#[derive(Debug, Clone)]
pub struct IndexStore {
    directory: Option<PathBuf>,
    cached: HashMap<PathBuf, Arc<Vec<u8>>>,
    program: String,
    clock: fn() -> SystemTime,
}

impl IndexStore {
    /// Indexes that are files in `directory`, which need not exist. They are of use only to the same `program`, for
    /// another one might understand the same skills differently; so the text should differ for each build.
    pub fn on_disk(directory: PathBuf, program: String) -> Self {
        Self { directory: Some(directory), cached: HashMap::new(), program, clock: SystemTime::now }
    }

    /// Indexes that only this process has.
    pub fn in_process() -> Self {
        Self { directory: None, cached: HashMap::new(), program: String::new(), clock: SystemTime::now }
    }

    /// The same memory with another clock. It decides what changed too short a time ago to be kept.
    #[must_use]
    pub fn with_clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }

    /// Takes what a load returned, for the next one.
    pub fn save(&mut self, edits: Vec<FileWrite>) {
        self.cached.extend(edits.into_iter().map(|edit| (edit.path, Arc::new(edit.bytes))));
    }

    pub(crate) fn load(&self, root: &Arc<SkillRoot>, validation: SkillValidation) -> IndexFile {
        let mut key = ByteWriter::default();
        key.text(&self.program);
        key.byte(validation as u8);
        key.bytes(root.path.as_os_str().as_encoded_bytes());
        // Without the program: a new one takes the place of the old one's file instead of leaving it behind.
        let mut place = Sha256::new();
        place.update([validation as u8]);
        place.update(root.path.as_os_str().as_encoded_bytes());
        let name = PathBuf::from(format!("{}.skills", hex(&place.finalize(), 32)));
        let bytes = self.read(&name).unwrap_or_default();
        let settled = StampCutoff::before((self.clock)());
        IndexFile { name, key: key.as_slice().to_vec(), bytes, root: Arc::clone(root), settled }
    }

    fn read(&self, name: &Path) -> Option<Arc<Vec<u8>>> {
        if let Some(bytes) = self.cached.get(name) {
            return Some(Arc::clone(bytes));
        }
        let path = self.directory.as_ref()?.join(name);
        match read_bounded(&path, MAX_BYTES) {
            Ok(contents) if !contents.cut => return Some(Arc::new(contents.bytes)),
            Ok(_) => tracing::warn!(index = %path.display(), "the index of skills is too large and not used"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(index = %path.display(), "the index of skills cannot be read: {error}"),
        }
        None
    }
}

/// What is kept of one root, not looked into yet.
#[derive(Debug)]
pub(crate) struct IndexFile {
    name: PathBuf,
    key: Vec<u8>,
    bytes: Arc<Vec<u8>>,
    root: Arc<SkillRoot>,
    settled: StampCutoff,
}

impl IndexFile {
    /// The records. An index that is damaged, or was made by another program or for another root, has none.
    pub(crate) fn index(&self) -> RootIndex<'_> {
        let records = if has_damage(&self.bytes) {
            tracing::warn!(index = %self.name.display(), root = %self.root.path.display(), "the index of skills is damaged");
            IndexRecords::default()
        } else {
            records(&self.bytes, &self.key).unwrap_or_default()
        };
        RootIndex { records, file: self }
    }
}

/// The checksum that an index of this format begins with, and what it is of.
fn split_checksum(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (sum, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<SUM_BYTES>()?;
    Some((u64::from_le_bytes(*sum), body))
}

fn has_damage(bytes: &[u8]) -> bool {
    split_checksum(bytes).is_some_and(|(sum, body)| checksum::of_bytes(body) != sum)
}

/// The records of an index that has no damage; none of one that another program made, or for another root.
fn records<'k>(bytes: &'k [u8], key: &[u8]) -> Option<IndexRecords<'k>> {
    let mut reader = ByteReader::new(split_checksum(bytes)?.1);
    if reader.bytes()? != key {
        return None;
    }
    // About as many as there are: most records are those of a skill.
    let mut records = IndexRecords::with_capacity_and_hasher(reader.rest().len() / 448, RandomState::default());
    while !reader.is_empty() {
        let whole = reader.bytes()?;
        let end = bytes.len() - reader.rest().len();
        let relative = ByteReader::new(whole).bytes()?;
        records.insert(relative, IndexRecord { whole, end });
    }
    Some(records)
}

/// What is known of one directory: its path below the root, the stamps, then what was found.
#[derive(Debug)]
struct IndexRecord<'k> {
    whole: &'k [u8],
    /// Where it ends in the index.
    end: usize,
}

/// By the path below the root.
type IndexRecords<'k> = HashMap<&'k [u8], IndexRecord<'k>, RandomState>;

/// What is known of the directories of one root.
#[derive(Debug)]
pub(crate) struct RootIndex<'k> {
    records: IndexRecords<'k>,
    file: &'k IndexFile,
}

/// What was found before and is so still.
#[derive(Debug)]
pub(crate) struct RecalledVisit<'k> {
    pub(crate) visit: DirectoryVisit<'k>,
    pub(crate) record: &'k [u8],
}

impl<'k> RootIndex<'k> {
    /// What was found in a directory, if nothing has changed since. `base` is the root's directory.
    pub(crate) fn recall(&self, relative: &Path, base: &OpenDirectory<'_>) -> Option<RecalledVisit<'k>> {
        let record = self.records.get(relative.as_os_str().as_encoded_bytes())?;
        let mut reader = ByteReader::new(record.whole);
        let named = reader.bytes()?;
        let named = range(record.end - reader.rest().len(), named.len())?;
        // What cannot be looked at now is read again, and that reports why.
        if reader.stamp()? != base.stamp_of_directory(relative).ok()?.to_bytes() {
            return None;
        }
        for _ in 0..reader.count()? {
            let file = reader.text()?;
            if reader.stamp()? != base.stamp_of_file(&relative.join(file)).ok()?.to_bytes() {
                return None;
            }
        }
        let root = &self.file.root;
        let found = record::read(&mut reader, relative, root)?;
        let folder = match found.kind {
            FoundKind::Nothing => None,
            FoundKind::Broken => Some(SkillFolder::Broken(root.below(relative))),
            FoundKind::Skill => {
                let (bytes, root) = (Arc::clone(&self.file.bytes), Arc::clone(root));
                let fields = range(record.end, reader.rest().len())?;
                Some(SkillFolder::Skill(EncodedSkill { bytes, root, relative: named, fields }.into()))
            }
        };
        let visit = DirectoryVisit { folder, children: found.children, problems: found.problems };
        Some(RecalledVisit { visit, record: record.whole })
    }

    /// An empty page for the next index.
    pub(crate) fn new_builder(&self) -> IndexBuilder<'k> {
        let mut written = ByteWriter::default();
        written.raw(MAGIC);
        written.raw(&[0; SUM_BYTES]);
        written.bytes(&self.file.key);
        IndexBuilder {
            reused: Vec::new(),
            written,
            added: 0,
            scratch: ByteWriter::default(),
            settled: self.file.settled,
        }
    }

    /// The index to be written, if the one there is no longer good enough.
    pub(crate) fn rebuild(&self, notes: IndexBuilder<'_>) -> Option<FileWrite> {
        // Records that no longer hold do no harm. They go when there is something new, or when they are many.
        if notes.added == 0 && notes.reused.len() * 2 >= self.records.len() {
            return None;
        }
        let mut written = notes.written;
        for record in notes.reused {
            written.bytes(record);
        }
        let mut bytes = written.into_bytes();
        let (head, body) = bytes.split_at_mut_checked(MAGIC.len() + SUM_BYTES)?;
        head.get_mut(MAGIC.len()..)?.copy_from_slice(&checksum::of_bytes(body).to_le_bytes());
        let path = self.file.name.clone();
        (bytes.len() as u64 <= MAX_BYTES).then_some(FileWrite { path, bytes, executable: false })
    }
}

/// The `length` bytes before `end`.
fn range(end: usize, length: usize) -> Option<Range<u32>> {
    let end = u32::try_from(end).ok()?;
    Some(end.checked_sub(u32::try_from(length).ok()?)?..end)
}

/// What the next index will hold.
#[derive(Debug)]
pub(crate) struct IndexBuilder<'k> {
    reused: Vec<&'k [u8]>,
    /// The index as far as it is written, and how many records are in it.
    written: ByteWriter,
    added: usize,
    scratch: ByteWriter,
    settled: StampCutoff,
}

impl<'k> IndexBuilder<'k> {
    /// Keeps a record that still holds.
    pub(crate) fn reuse(&mut self, record: &'k [u8]) {
        self.reused.push(record);
    }

    /// Writes down what was found just now in the directory `relative`, which is at `path`.
    pub(crate) fn add(&mut self, relative: &Path, path: &Path, seen: &DirectoryStamps, visit: &DirectoryVisit<'_>) {
        let mut stamps = seen.files.iter().map(|(_, stamp)| stamp).chain([&seen.directory]);
        if !stamps.all(|stamp| stamp.is_settled(self.settled)) {
            return;
        }
        let record = &mut self.scratch;
        record.clear();
        record.bytes(relative.as_os_str().as_encoded_bytes());
        record.stamp(seen.directory);
        record.count(seen.files.len());
        for (file, stamp) in &seen.files {
            record.text(file);
            record.stamp(*stamp);
        }
        if record::write(record, path, visit).is_some() {
            self.written.bytes(record.as_slice());
            self.added += 1;
        }
    }
}
