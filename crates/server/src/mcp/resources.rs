//! Resources by address: files of skills, tasks, runs, and logs of runs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maestro_core::hidden_chars::remove_hidden;
use maestro_skills::folder::{SKILL_MD, header, read_file};
use maestro_skills::{Catalogue, CatalogueEntry};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::address::{ResourceAddress, of_skill};
use super::client::ToolCaller;
use super::{FRESH_MS, McpHandler, clipped, media_type, skills};
use maestro_api::events::RunLogEntry;
use maestro_api::runs::{self, RunLogQuery};
use maestro_api::tasks::{self, DepthQuery, TaskBody};
use maestro_api::{ApiRequest, ClientError};

/// How many events of a run are read at once.
const LOG_PART: i64 = 1000;
/// How many bytes of them.
const LOG_BYTES: usize = 900 * 1024;
/// The largest content of an address, in bytes: a message stays below ten mebibytes.
const MOST_BYTES: usize = 7 * 1024 * 1024;

/// The skills' texts, as resources.
pub(super) fn list(catalogue: &Catalogue, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let entries = skills::portable(catalogue);
    let (part, next) = skills::page(&entries, cursor, |entry| entry.id())?;
    let resource = |entry: &&CatalogueEntry| {
        let heading = entry.heading();
        Resource::new(of_skill(entry.id(), SKILL_MD), entry.id())
            .with_description(clipped(heading.description, 300))
            .with_mime_type("text/markdown")
    };
    let mut result = ListResourcesResult::with_all_items(part.iter().map(resource).collect());
    result.next_cursor = next;
    Ok(result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
}

/// The address templates of all other resources.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = |address: &str, name: &str, description: &str, kind: &str| {
        ResourceTemplate::new(address, name).with_description(description).with_mime_type(kind)
    };
    let mut file = ResourceTemplate::new("skill://{skill}/{+path}", "skill-file");
    file = file.with_description("A file of a skill");
    let items = vec![
        file,
        template("maestro://tasks/{task}", "task", "A task with its subtasks", "application/json"),
        template("maestro://runs/{run}", "run", "A run: its state and next action", "application/json"),
        template("maestro://runs/{run}/log{?after}", "run-log", "The log of a run, oldest first", "application/json"),
    ];
    ListResourceTemplatesResult::with_all_items(items).with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private)
}

/// Where a skill is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkillLookup {
    /// Among the known ones.
    Known,
    /// On the disk as well.
    Fresh,
}

/// The contents of an address.
pub(super) async fn read(
    mcp: &McpHandler,
    who: &ToolCaller,
    uri: &str,
    seek: SkillLookup,
) -> Result<ReadResourceResult, ErrorData> {
    let missing = || {
        ErrorData::resource_not_found(format!("there is nothing at `{uri}`"), Some(serde_json::json!({ "uri": uri })))
    };
    let contents = match ResourceAddress::parse(uri).ok_or_else(missing)? {
        ResourceAddress::Skill { id, path } => of_file(mcp, uri, id, path, seek).await?.ok_or_else(missing)?,
        ResourceAddress::Task(id) => {
            let id = id.to_string();
            let task = stored(mcp, who, tasks::get(&id), missing).await?;
            let below = tasks::children(&id, DepthQuery { recursive: Some(true) });
            in_json(uri, &TaskResource { task, subtasks: stored(mcp, who, below, missing).await? })?
        }
        ResourceAddress::Run(id) => in_json(uri, &stored(mcp, who, runs::get(&id.to_string()), missing).await?)?,
        ResourceAddress::RunLog { id, after } => {
            let log = runs::log(&id.to_string(), RunLogQuery { after, limit: Some(LOG_PART) });
            in_json(uri, &first_entries(stored(mcp, who, log, missing).await?))?
        }
    };
    // Stored data changes by the second; a skill's text is fresh as long as lists are.
    let fresh = if uri.starts_with("skill://") { FRESH_MS } else { 0 };
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(fresh).with_cache_scope(CacheScope::Private))
}

/// As many entries of a log as a message may have; `?after=` continues after the last.
fn first_entries(entries: Vec<RunLogEntry>) -> Vec<RunLogEntry> {
    let mut room = LOG_BYTES;
    let mut kept = Vec::new();
    for entry in entries {
        let size = serde_json::to_vec(&entry).map_or(0, |bytes| bytes.len());
        let fits = size <= room;
        if !fits && !kept.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        kept.push(entry);
    }
    kept
}

/// A task with everything below it.
#[derive(Serialize)]
struct TaskResource {
    #[serde(flatten)]
    task: TaskBody,
    subtasks: Vec<TaskBody>,
}

async fn stored<T: DeserializeOwned>(
    mcp: &McpHandler,
    who: &ToolCaller,
    request: ApiRequest<T>,
    missing: impl Fn() -> ErrorData,
) -> Result<T, ErrorData> {
    mcp.api().call(who, request).await.map_err(|error| match error {
        error if error.is_not_found() => missing(),
        ClientError::Refused { message, .. } => ErrorData::invalid_params(message, None),
        other => ErrorData::internal_error(other.to_string(), None),
    })
}

fn in_json(uri: &str, value: &impl Serialize) -> Result<ResourceContents, ErrorData> {
    let text = serde_json::to_string(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    if text.len() > MOST_BYTES {
        return Err(ErrorData::invalid_params(format!("`{uri}` has {} bytes, which is too much", text.len()), None));
    }
    Ok(ResourceContents::text(text, uri).with_mime_type("application/json"))
}

async fn of_file(
    mcp: &McpHandler,
    uri: &str,
    id: String,
    path: String,
    seek: SkillLookup,
) -> Result<Option<ResourceContents>, ErrorData> {
    let shelf = match seek {
        SkillLookup::Known => mcp.skills().own_skills().await,
        SkillLookup::Fresh => mcp.skills().own_skills_with(&id).await,
    };
    let catalogue = shelf.map_err(|error| ErrorData::internal_error(error, None))?.catalogue;
    let kind = media_type(&path);
    let read = tokio::task::spawn_blocking(move || {
        let skill = catalogue.get(&id)?;
        header(skill)?;
        let debug = |error: &_| tracing::debug!(skill = %id, path, "the file cannot be read: {error}");
        read_file(skill, &path).inspect_err(debug).ok()
    });
    let bytes = read.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    if let Some(bytes) = bytes.as_ref().filter(|bytes| bytes.len() > MOST_BYTES) {
        let message = format!("`{uri}` has {} bytes, and at most {MOST_BYTES} are sent", bytes.len());
        return Err(ErrorData::invalid_params(message, None));
    }
    Ok(bytes.map(|bytes| match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(remove_hidden(&text).into_owned(), uri).with_mime_type(kind),
        Err(binary) => {
            let kind = if kind.starts_with("text/") { "application/octet-stream" } else { kind };
            ResourceContents::blob(BASE64_STANDARD.encode(binary.as_bytes()), uri).with_mime_type(kind)
        }
    }))
}
