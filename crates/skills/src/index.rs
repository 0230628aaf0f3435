//! Index of a root: what earlier scans read, and whether it is still valid.
//!
//! For every directory that was looked into, an index keeps what was found there together with the stamps of the
//! directory and of each file that was read. As long as these are the same, so is what was found; whatever changed is
//! looked at again, alone. Three kinds of directories are never kept: those with a link in them, whose meaning depends
//! on other places; those with something that could not be read; and those that changed a moment ago.

mod bytes;
mod checksum;
mod packed;
mod record;
mod stamp;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use foldhash::fast::RandomState;
use maestro_core::settings::Validation;
use sha2::{Digest, Sha256};

use crate::listing::Directory;
use crate::pack::{Edit, hex};
use crate::roots::Root;
use crate::scan::{Folder, Visit};
use crate::text::read_bounded;
use bytes::{Reader, Writer};
use record::FoundKind;
use stamp::Moment;

pub(crate) use packed::Packed;
pub(crate) use stamp::Stamp;

/// What every index begins with. The last figure is the format's.
const MAGIC: &[u8; 8] = b"maestro2";

/// What its checksum takes.
const SUM_BYTES: usize = 8;

/// The largest index that is read or made.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// What earlier loads left behind: files in a directory, or bytes that a long-lived process holds.
#[derive(Debug, Clone)]
pub struct Memory {
    directory: Option<PathBuf>,
    held: HashMap<PathBuf, Arc<Vec<u8>>>,
    program: String,
    clock: fn() -> SystemTime,
}

impl Memory {
    /// Indexes that are files in `directory`, which need not exist. They are of use only to the same `program`, for
    /// another one might understand the same skills differently; so the text should differ for each build.
    pub fn on_disk(directory: PathBuf, program: String) -> Self {
        Self { directory: Some(directory), held: HashMap::new(), program, clock: SystemTime::now }
    }

    /// Indexes that only this process has.
    pub fn in_process() -> Self {
        Self { directory: None, held: HashMap::new(), program: String::new(), clock: SystemTime::now }
    }

    /// The same memory with another clock. It decides what changed too short a time ago to be kept.
    #[must_use]
    pub fn with_clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }

    /// Takes what a load returned, for the next one.
    pub fn put(&mut self, edits: Vec<Edit>) {
        self.held.extend(edits.into_iter().map(|edit| (edit.path, Arc::new(edit.bytes))));
    }

    pub(crate) fn take(&self, root: &Arc<Root>, validation: Validation) -> Kept {
        let mut key = Writer::default();
        key.text(&self.program);
        key.byte(validation as u8);
        key.bytes(root.path.as_os_str().as_encoded_bytes());
        // Without the program: a new one takes the place of the old one's file instead of leaving it behind.
        let mut place = Sha256::new();
        place.update([validation as u8]);
        place.update(root.path.as_os_str().as_encoded_bytes());
        let name = PathBuf::from(format!("{}.skills", hex(&place.finalize(), 32)));
        let bytes = self.read(&name).unwrap_or_default();
        let settled = Moment::before((self.clock)());
        Kept { name, key: key.as_slice().to_vec(), bytes, root: Arc::clone(root), settled }
    }

    fn read(&self, name: &Path) -> Option<Arc<Vec<u8>>> {
        if let Some(bytes) = self.held.get(name) {
            return Some(Arc::clone(bytes));
        }
        let contents = read_bounded(&self.directory.as_ref()?.join(name), MAX_BYTES).ok()?;
        (!contents.cut).then(|| Arc::new(contents.bytes))
    }
}

/// What is kept of one root, not looked into yet.
#[derive(Debug)]
pub(crate) struct Kept {
    name: PathBuf,
    key: Vec<u8>,
    bytes: Arc<Vec<u8>>,
    root: Arc<Root>,
    settled: Moment,
}

impl Kept {
    /// The records. An index that is damaged, or was made by another program or for another root, has none.
    pub(crate) fn index(&self) -> Index<'_> {
        Index { records: records(&self.bytes, &self.key).unwrap_or_default(), kept: self }
    }
}

fn records<'k>(bytes: &'k [u8], key: &[u8]) -> Option<Records<'k>> {
    let mut reader = Reader::new(bytes);
    if reader.raw(MAGIC.len())? != MAGIC {
        return None;
    }
    let sum = u64::from_le_bytes(reader.raw(SUM_BYTES)?.try_into().ok()?);
    if checksum::of_bytes(reader.rest()) != sum || reader.bytes()? != key {
        return None;
    }
    // About as many as there are: most records are those of a skill.
    let mut records = Records::with_capacity_and_hasher(reader.rest().len() / 448, RandomState::default());
    while !reader.is_empty() {
        let whole = reader.bytes()?;
        let end = bytes.len() - reader.rest().len();
        let relative = Reader::new(whole).bytes()?;
        records.insert(relative, Record { whole, end });
    }
    Some(records)
}

/// What is known of one directory: its path below the root, the stamps, then what was found.
#[derive(Debug)]
struct Record<'k> {
    whole: &'k [u8],
    /// Where it ends in the index.
    end: usize,
}

/// By the path below the root.
type Records<'k> = HashMap<&'k [u8], Record<'k>, RandomState>;

/// What is known of the directories of one root.
#[derive(Debug)]
pub(crate) struct Index<'k> {
    records: Records<'k>,
    kept: &'k Kept,
}

/// What was found before and is so still.
#[derive(Debug)]
pub(crate) struct Recalled<'k> {
    pub(crate) visit: Visit<'k>,
    pub(crate) record: &'k [u8],
}

impl<'k> Index<'k> {
    /// What was found in a directory, if nothing has changed since. `base` is the root's directory.
    pub(crate) fn recall(&self, relative: &Path, base: &Directory<'_>) -> Option<Recalled<'k>> {
        let record = self.records.get(relative.as_os_str().as_encoded_bytes())?;
        let mut reader = Reader::new(record.whole);
        let named = reader.bytes()?;
        let named = range(record.end - reader.rest().len(), named.len())?;
        if reader.stamp()? != base.stamp_of_directory(relative).ok()?.to_bytes() {
            return None;
        }
        for _ in 0..reader.count()? {
            let file = reader.text()?;
            if reader.stamp()? != base.stamp_of_file(&relative.join(file)).ok()?.to_bytes() {
                return None;
            }
        }
        let root = &self.kept.root;
        let found = record::read(&mut reader, relative, root)?;
        let folder = match found.kind {
            FoundKind::Nothing => None,
            FoundKind::Broken => Some(Folder::Broken(root.below(relative))),
            FoundKind::Skill => {
                let (bytes, root) = (Arc::clone(&self.kept.bytes), Arc::clone(root));
                let fields = range(record.end, reader.rest().len())?;
                Some(Folder::Skill(Packed { bytes, root, relative: named, fields }.into()))
            }
        };
        let visit = Visit { folder, children: found.children, problems: found.problems };
        Some(Recalled { visit, record: record.whole })
    }

    /// An empty page for the next index.
    pub(crate) fn notes(&self) -> Notes<'k> {
        let mut written = Writer::default();
        written.raw(MAGIC);
        written.raw(&[0; SUM_BYTES]);
        written.bytes(&self.kept.key);
        Notes { recalled: Vec::new(), written, fresh: 0, scratch: Writer::default(), settled: self.kept.settled }
    }

    /// The index to be written, if the one there is no longer good enough.
    pub(crate) fn renewed(&self, notes: Notes<'_>) -> Option<Edit> {
        // Records that no longer hold do no harm. They go when there is something new, or when they are many.
        if notes.fresh == 0 && notes.recalled.len() * 2 >= self.records.len() {
            return None;
        }
        let mut written = notes.written;
        for record in notes.recalled {
            written.bytes(record);
        }
        let mut bytes = written.into_bytes();
        let (head, body) = bytes.split_at_mut_checked(MAGIC.len() + SUM_BYTES)?;
        head.get_mut(MAGIC.len()..)?.copy_from_slice(&checksum::of_bytes(body).to_le_bytes());
        let path = self.kept.name.clone();
        (bytes.len() as u64 <= MAX_BYTES).then_some(Edit { path, bytes, executable: false })
    }
}

/// The `length` bytes before `end`.
fn range(end: usize, length: usize) -> Option<Range<u32>> {
    let end = u32::try_from(end).ok()?;
    Some(end.checked_sub(u32::try_from(length).ok()?)?..end)
}

/// The stamps of a directory and of the files that were read in it, taken before they were.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) directory: Stamp,
    pub(crate) files: Vec<(String, Stamp)>,
}

/// What the next index will hold.
#[derive(Debug)]
pub(crate) struct Notes<'k> {
    recalled: Vec<&'k [u8]>,
    /// The index as far as it is written, and how many records are in it.
    written: Writer,
    fresh: usize,
    scratch: Writer,
    settled: Moment,
}

impl<'k> Notes<'k> {
    /// Keeps a record that still holds.
    pub(crate) fn keep(&mut self, record: &'k [u8]) {
        self.recalled.push(record);
    }

    /// Writes down what was found just now in the directory `relative`, which is at `path`.
    pub(crate) fn add(&mut self, relative: &Path, path: &Path, seen: &Seen, visit: &Visit<'_>) {
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
            self.fresh += 1;
        }
    }
}
