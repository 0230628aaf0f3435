//! Private copies of what was consented to, so that nothing changes between the check and the execution.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::trust::{CoveredFile, below_folder, runs_files};

/// How many entries of a directory are linked beside a copy.
const MAX_ENTRIES: usize = 10_000;
/// The directory of all copies, below our data, where no program of a step or agent writes.
const FOLDER: &str = "sealed";
/// The names of makefiles in the order in which make looks for them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// The names of justfiles.
const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];

/// Copies of files and folders, which end with it.
#[derive(Debug, Default)]
pub struct SealedCopies {
    place: Option<TempDir>,
    /// The folders of skills, each with its copy.
    folders: Vec<(PathBuf, PathBuf)>,
    /// The files of the workspace by their names, each with its copy.
    files: BTreeMap<String, PathBuf>,
}

impl SealedCopies {
    /// A place for copies in the directory of our data.
    pub fn new(home: &Path) -> io::Result<Self> {
        let all = home.join(FOLDER);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&all)?;
        let place = tempfile::Builder::new().prefix("copy-").tempdir_in(all)?;
        Ok(Self { place: Some(place), ..Self::default() })
    }

    /// Copies of files of a workspace. Beside each copy, links lead to what is beside its file.
    pub fn of_files(home: &Path, workspace: &Path, files: &[CoveredFile]) -> io::Result<Self> {
        if files.is_empty() {
            return Ok(Self::default());
        }
        let mut copies = Self::new(home)?;
        copies.add_files(workspace, files)?;
        Ok(copies)
    }

    /// The directory of the copies, which programs must be able to read.
    pub fn place(&self) -> Option<PathBuf> {
        self.place.as_ref().map(|place| place.path().to_owned())
    }

    /// Where the copy of a folder goes; nothing is there yet.
    pub fn add_folder(&mut self, folder: &Path) -> Option<PathBuf> {
        let copy = self.place.as_ref()?.path().join(format!("skill-{}", self.folders.len()));
        self.folders.push((folder.to_owned(), copy.clone()));
        Some(copy)
    }

    /// Copies files of a workspace.
    pub fn add_files(&mut self, workspace: &Path, files: &[CoveredFile]) -> io::Result<()> {
        let Some(place) = self.place.as_ref().filter(|_| !files.is_empty()) else { return Ok(()) };
        let tree = place.path().join("tree");
        let mut folders = BTreeSet::from([PathBuf::new()]);
        for file in files {
            let name = Path::new(&file.name);
            folders.extend(name.ancestors().skip(1).map(Path::to_owned));
            let copy = tree.join(name);
            let parent = copy.parent().unwrap_or(&tree);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            let mode = if file.executable { 0o500 } else { 0o400 };
            let mut written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&copy)?;
            written.write_all(&file.bytes)?;
            self.files.insert(file.name.clone(), copy);
        }
        for folder in folders {
            link_neighbors(&workspace.join(&folder), &tree.join(&folder))?;
        }
        Ok(())
    }

    /// A program and its arguments with the copies in place of the originals.
    ///
    /// `cwd` is the directory in the workspace that it works in.
    pub(crate) fn redirect(
        &self,
        workspace: &Path,
        cwd: &Path,
        file: &Path,
        argv: &[String],
    ) -> (PathBuf, Vec<String>) {
        let file = PathBuf::from(self.redirect_text(&file.to_string_lossy()));
        let folder = cwd.strip_prefix(workspace).unwrap_or(Path::new(""));
        let copy = |word: &str| below_folder(workspace, folder, word).and_then(|name| self.files.get(&name));
        let file = copy(&file.to_string_lossy()).cloned().unwrap_or(file);
        let mut words = argv.iter().map(|word| self.redirect_text(word));
        let program = words.next().unwrap_or_default();
        let mut arguments: Vec<String> = words.collect();
        let flags = self.tool_flags(&program, &arguments, folder, cwd);
        if runs_files(&program, &arguments)
            && let Some((at, copy)) = arguments.iter().enumerate().find_map(|(at, word)| Some((at, copy(word)?)))
        {
            arguments[at] = copy.to_string_lossy().into_owned();
        }
        (file, std::iter::once(program).chain(flags).chain(arguments).collect())
    }

    /// A text in which the folders of skills are their copies.
    pub(crate) fn redirect_text(&self, text: &str) -> String {
        self.folders.iter().fold(text.to_owned(), |text, (folder, copy)| {
            text.replace(folder.to_string_lossy().as_ref(), copy.to_string_lossy().as_ref())
        })
    }

    /// The arguments by which a tool takes its commands from the copy.
    fn tool_flags(&self, program: &str, arguments: &[String], folder: &Path, cwd: &Path) -> Vec<String> {
        let tool = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let first =
            |names: &[&str]| names.iter().find_map(|name| self.files.get(folder.join(name).to_string_lossy().as_ref()));
        let says = |flags: &[&str]| arguments.iter().any(|word| flags.iter().any(|flag| word.starts_with(flag)));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        match tool {
            "make" | "gmake" if !says(&["-f", "-C", "--file", "--makefile", "--directory"]) => {
                first(&MAKEFILES).map(|copy| vec!["-f".to_owned(), text(copy)]).unwrap_or_default()
            }
            "just" if !says(&["-f", "-d", "--justfile", "--working-directory"]) => first(&JUSTFILES)
                .map(|copy| ["--justfile".to_owned(), text(copy), "--working-directory".to_owned(), text(cwd)].to_vec())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// Links to everything in a folder of which there is no copy.
fn link_neighbors(folder: &Path, copies: &Path) -> io::Result<()> {
    for entry in folder.read_dir()?.take(MAX_ENTRIES) {
        let entry = entry?;
        match symlink(entry.path(), copies.join(entry.file_name())) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
