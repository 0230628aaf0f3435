//! Short ids: understood in every request of a command, and made for what it prints.

use std::collections::BTreeMap;

use maestro_api::UntypedRequest;
use maestro_api::ids::{self, IdBody, IdQuery};
use maestro_core::short_id::{ShortIds, random_part};

use super::CliClient;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// How many candidates an error names.
const NAMED: usize = 5;

impl CliClient {
    /// The short forms of all ids. Without them, ids are shown whole.
    pub(crate) fn short_ids(&self) -> ShortIds {
        self.wait(self.load_short_ids())
    }

    /// The same while other things go on.
    pub(crate) async fn load_short_ids(&self) -> ShortIds {
        let known = self.known_ids().await.unwrap_or_default();
        ShortIds::new(known.into_iter().map(|known| known.id))
    }

    /// The record that an id or a short one means, if it is known.
    pub(crate) fn find_record(&self, id: &str) -> CommandResult<Option<IdBody>> {
        let known = self.wait(self.known_ids())?;
        let ids = ShortIds::new(known.iter().map(|known| known.id.clone()));
        match ids.matches(id).as_slice() {
            [] => Ok(None),
            [one] => Ok(known.iter().find(|known| known.id == *one).cloned()),
            many => Err(ambiguous(id, many)),
        }
    }

    async fn known_ids(&self) -> CommandResult<Vec<IdBody>> {
        Ok(self.api.call(ids::list(&IdQuery::default())).await?)
    }

    /// The request with whole ids in place of short ones. What means no id stays, and the API says so.
    pub(super) async fn expand(&self, request: UntypedRequest) -> CommandResult<UntypedRequest> {
        let mut short: Vec<String> = request.ids().into_iter().filter(|id| can_be_short(id)).collect();
        short.dedup();
        if short.is_empty() {
            return Ok(request);
        }
        // Where the ids cannot be had, the request itself says why.
        let Ok(known) = self.known_ids().await else { return Ok(request) };
        let known = ShortIds::new(known.into_iter().map(|known| known.id));
        let mut full = BTreeMap::new();
        for id in short {
            match known.matches(&id).as_slice() {
                [] if request.path().starts_with("/api/runs/") => return Err(unknown_run(&id)),
                [] => {}
                [one] => drop(full.insert(id, (*one).to_owned())),
                many => return Err(ambiguous(&id, many)),
            }
        }
        Ok(request.with_ids(&full))
    }
}

/// Whether a text may stand for a longer id.
fn can_be_short(id: &str) -> bool {
    !id.is_empty() && id != "null" && random_part(id).is_none()
}

fn unknown_run(id: &str) -> CommandError {
    CommandError::not_found(format!("unknown run `{id}`"))
        .hint("run `maestro workflow runs` for the runs and their IDs")
}

/// The error of a short id that means several.
pub(crate) fn ambiguous(id: &str, many: &[&str]) -> CommandError {
    let shown = many.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if many.len() > NAMED { ", …" } else { "" };
    CommandError::invalid(format!("`{id}` is ambiguous: {shown}{more}")).hint("pass more characters of the ID")
}
