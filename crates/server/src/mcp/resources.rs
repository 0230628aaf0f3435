//! What can be read by its address? The files of skills, tasks, runs, and what happened to runs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maestro_skills::folder::{SKILL_MD, header, read_file};
use maestro_skills::{Catalogue, Entry};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::Value as Json;

use super::address::{Address, of_skill};
use super::desk::{Unheard, Who};
use super::{FRESH_MS, Mcp, clipped, media_type, skills};
use crate::escaped;

/// How many events of a run are read at once.
const LOG_PART: usize = 1000;

/// The skills' texts, as resources.
pub(super) fn list(catalogue: &Catalogue, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let entries = skills::portable(catalogue);
    let (part, next) = skills::page(&entries, cursor, |entry| entry.id())?;
    let resource = |entry: &&Entry| {
        let heading = entry.heading();
        Resource::new(of_skill(entry.id(), SKILL_MD), entry.id())
            .with_description(clipped(heading.description, 300))
            .with_mime_type("text/markdown")
    };
    let mut result = ListResourcesResult::with_all_items(part.iter().map(resource).collect());
    result.next_cursor = next;
    Ok(result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
}

/// The addresses by which the rest can be read.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = |address: &str, name: &str, description: &str, kind: &str| {
        ResourceTemplate::new(address, name).with_description(description).with_mime_type(kind)
    };
    let mut file = ResourceTemplate::new("skill://{skill}/{+path}", "skill-file");
    file = file.with_description("A file of a skill");
    let items = vec![
        file,
        template("maestro://tasks/{task}", "task", "A task with its subtasks", "application/json"),
        template("maestro://runs/{run}", "run", "A run: where it stands, and what is to be done", "application/json"),
        template("maestro://runs/{run}/log", "run-log", "What happened to a run, oldest first", "application/json"),
    ];
    ListResourceTemplatesResult::with_all_items(items).with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private)
}

/// Where a skill is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seek {
    /// Among those that are known.
    Known,
    /// On the disk as well.
    Anew,
}

/// What stands at an address.
pub(super) async fn read(mcp: &Mcp, who: &Who, uri: &str, seek: Seek) -> Result<ReadResourceResult, ErrorData> {
    let missing = || {
        ErrorData::resource_not_found(format!("there is nothing at `{uri}`"), Some(serde_json::json!({ "uri": uri })))
    };
    let contents = match Address::parse(uri).ok_or_else(missing)? {
        Address::Skill { id, path } => of_file(mcp, uri, id, path, seek).await?.ok_or_else(missing)?,
        Address::Task(id) => {
            let path = format!("/api/tasks/{}", escaped(&id.to_string()));
            let mut task = stored(mcp, who, &path, missing).await?;
            task["subtasks"] = stored(mcp, who, &format!("{path}/children?recursive=true"), missing).await?;
            in_json(uri, &task)
        }
        Address::Run(id) => in_json(uri, &stored(mcp, who, &format!("/api/runs/{id}"), missing).await?),
        Address::RunLog(id) => {
            let path = format!("/api/runs/{id}/log?limit={LOG_PART}");
            in_json(uri, &stored(mcp, who, &path, missing).await?)
        }
    };
    // What is stored changes by the second; a skill's text is fresh as long as lists are.
    let fresh = if uri.starts_with("skill://") { FRESH_MS } else { 0 };
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(fresh).with_cache_scope(CacheScope::Private))
}

async fn stored(mcp: &Mcp, who: &Who, path: &str, missing: impl Fn() -> ErrorData) -> Result<Json, ErrorData> {
    mcp.desk().get(who, path).await.map_err(|error| match error {
        error if error.is_not_found() => missing(),
        Unheard::Refused { message, .. } => ErrorData::invalid_params(message, None),
        Unheard::Unreachable(why) => ErrorData::internal_error(why, None),
    })
}

fn in_json(uri: &str, value: &Json) -> ResourceContents {
    ResourceContents::text(value.to_string(), uri).with_mime_type("application/json")
}

async fn of_file(
    mcp: &Mcp,
    uri: &str,
    id: String,
    path: String,
    seek: Seek,
) -> Result<Option<ResourceContents>, ErrorData> {
    let shelf = match seek {
        Seek::Known => mcp.library().own().await,
        Seek::Anew => mcp.library().own_with(&id).await,
    };
    let catalogue = shelf.map_err(|error| ErrorData::internal_error(error, None))?.catalogue;
    let kind = media_type(&path);
    let read = tokio::task::spawn_blocking(move || {
        let skill = catalogue.get(&id)?;
        header(skill)?;
        read_file(skill, &path).ok()
    });
    let bytes = read.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(bytes.map(|bytes| match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(kind),
        Err(binary) => {
            let kind = if kind.starts_with("text/") { "application/octet-stream" } else { kind };
            ResourceContents::blob(BASE64_STANDARD.encode(binary.as_bytes()), uri).with_mime_type(kind)
        }
    }))
}
