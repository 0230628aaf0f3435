//! Files that a finished run names in its outputs, as content of the answer.

use std::path::{Component, Path, PathBuf};

use maestro_api::runs::RunBody;
use maestro_core::workflow::run_reply::NextAction;
use maestro_skills::read_bounded;
use rmcp::model::ContentBlock;
use serde_json::Value as Json;

use super::super::file_content;

/// How many files an answer has.
const MOST_FILES: usize = 4;
/// How many bytes they have together. In base64 they stay below one mebibyte.
const MOST_BYTES: u64 = 700 * 1024;

/// The outputs of a run that may be files, and where it works.
pub(super) struct ResultFiles {
    workspace: PathBuf,
    names: Vec<String>,
}

impl ResultFiles {
    /// What a run that is over hands back; nothing where it has no files of its own.
    pub(super) fn of(reply: &RunBody) -> Option<Self> {
        let NextAction::Finished { finished, .. } = &reply.next else { return None };
        let is_name = |text: &&str| {
            let path = Path::new(text);
            path.extension().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
        };
        let files = finished.outputs.values().filter_map(Json::as_str).filter(is_name);
        let names: Vec<String> = files.take(MOST_FILES).map(str::to_owned).collect();
        let workspace = PathBuf::from(&reply.summary.workspace);
        (!names.is_empty() && workspace.is_absolute()).then_some(Self { workspace, names })
    }

    /// The files that exist in the workspace and are not too large.
    pub(super) fn read(self) -> Vec<ContentBlock> {
        let Ok(workspace) = self.workspace.canonicalize() else { return Vec::new() };
        let mut room = MOST_BYTES;
        let mut blocks = Vec::new();
        for name in &self.names {
            let path = workspace.join(name);
            // Links lead elsewhere.
            if !path.canonicalize().is_ok_and(|real| real == path && real.is_file()) {
                continue;
            }
            let Some(contents) = read_bounded(&path, room).ok().filter(|contents| !contents.cut) else { continue };
            room = room.saturating_sub(contents.bytes.len() as u64);
            blocks.extend(file_content::of_bytes(&contents.bytes, format!("file://{}", path.display()), name));
        }
        blocks
    }
}
