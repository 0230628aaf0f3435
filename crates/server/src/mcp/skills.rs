//! Skills extension of the protocol: the list of skills, the files of each, and the contents of its directories.

use maestro_skills::folder::{FolderChild, SKILL_MD, children, files, header};
use maestro_skills::{Catalogue, CatalogueEntry, Skill, name_fault};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult, ErrorCode};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::address::{ResourceAddress, of_skill};
use super::skill_index::SkillIndex;
use super::tools::put;
use super::{FRESH_MS, media_type};

/// The extension's name.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// How many skills or files a page has.
const PAGE: usize = 50;

/// Methods of every revision of the protocol itself. One that arrives here has parameters that its crate could not
/// parse.
const PROTOCOL: [&str; 10] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// The parameters of a request of the extension.
#[derive(Debug, Default, Deserialize)]
struct SkillParams {
    uri: Option<String>,
    cursor: Option<String>,
}

/// Answers a request of the extension.
pub(super) async fn answer(library: &SkillIndex, request: CustomRequest) -> Result<CustomResult, ErrorData> {
    let params: SkillParams = request.params_as().map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
    let asked = params.uri.as_deref().and_then(ResourceAddress::parse);
    let shelf = match &asked {
        Some(ResourceAddress::Skill { id, .. }) => library.own_skills_with(id).await,
        _ => library.own_skills().await,
    };
    let catalogue = shelf.map_err(|error| ErrorData::internal_error(error, None))?.catalogue;
    let method = request.method;
    let answer = tokio::task::spawn_blocking(move || match method.as_str() {
        "skills/list" => list(&catalogue, params.cursor.as_deref()),
        "skills/get" => get(&catalogue, &skill_param(params.uri)?),
        "resources/directory/read" => directory(&catalogue, &skill_param(params.uri)?, params.cursor.as_deref()),
        known if PROTOCOL.contains(&known) => Err(wrong(format!("the parameters of `{known}` do not fit"))),
        _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)),
    });
    answer.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.map(CustomResult::new)
}

fn skill_param(uri: Option<String>) -> Result<String, ErrorData> {
    uri.ok_or_else(|| wrong("`uri` is required".to_owned()))
}

fn wrong(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

fn unknown(uri: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no skill at `{uri}`"), Some(json!({ "uri": uri })))
}

/// The portable skills, sorted by name: those whose frontmatter has a name that all tools accept.
pub(super) fn portable(catalogue: &Catalogue) -> Vec<&CatalogueEntry> {
    let mut entries: Vec<&CatalogueEntry> =
        catalogue.skills.iter().filter(|entry| name_fault(entry.id()).is_none()).collect();
    entries.sort_by(|one, other| one.id().cmp(other.id()));
    entries
}

/// The page of a sorted list after a cursor, and the next cursor.
pub(super) fn page<'a, T>(
    items: &'a [T],
    cursor: Option<&str>,
    name: impl Fn(&T) -> &str,
) -> Result<(&'a [T], Option<String>), ErrorData> {
    let from = match cursor {
        None => 0,
        Some(cursor) => {
            let last =
                cursor.strip_prefix("after:").ok_or_else(|| wrong(format!("`{cursor}` is not a valid cursor")))?;
            items.partition_point(|item| name(item) <= last)
        }
    };
    let to = items.len().min(from + PAGE);
    let part = items.get(from..to).unwrap_or_default();
    let next = part.last().filter(|_| to < items.len()).map(|last| format!("after:{}", name(last)));
    Ok((part, next))
}

fn list(catalogue: &Catalogue, cursor: Option<&str>) -> Result<Json, ErrorData> {
    let entries = portable(catalogue);
    let (part, next) = page(&entries, cursor, |entry| entry.id())?;
    let skills: Vec<Json> = part.iter().filter_map(|entry| skill_json(entry.skill())).collect();
    Ok(complete(json!({ "skills": skills }), next))
}

fn get(catalogue: &Catalogue, uri: &str) -> Result<Json, ErrorData> {
    let found = match ResourceAddress::parse(uri) {
        Some(ResourceAddress::Skill { id, path }) if path == SKILL_MD => catalogue.get(&id).and_then(skill_json),
        _ => None,
    };
    let skill = found.ok_or_else(|| unknown(uri))?;
    Ok(complete(json!({ "skill": skill }), None))
}

/// A skill with its frontmatter and all its files; nothing if its frontmatter is not valid.
fn skill_json(skill: &Skill) -> Option<Json> {
    let id = skill.id.as_str();
    let header = header(skill)?;
    // A skill with too many files, or one that changes while it is read, is read file by file.
    let resources = match files(skill) {
        Ok(files) => {
            let file = |file: maestro_skills::folder::SkillFile| {
                let digest = format!("sha256:{}", file.digest);
                json!({ "uri": of_skill(id, &file.path), "digest": digest, "size": file.size })
            };
            Json::Array(files.into_iter().map(file).collect())
        }
        Err(_) => json!("dynamic"),
    };
    Some(json!({ "uri": of_skill(id, SKILL_MD), "frontmatter": header, "resources": resources }))
}

fn directory(catalogue: &Catalogue, uri: &str, cursor: Option<&str>) -> Result<Json, ErrorData> {
    let Some(ResourceAddress::Skill { id, path }) = ResourceAddress::parse(uri) else { return Err(unknown(uri)) };
    let skill = catalogue.get(&id).ok_or_else(|| unknown(uri))?;
    let children = children(skill, &path).map_err(|error| wrong(error.to_string()))?;
    let children = children.ok_or_else(|| wrong(format!("`{uri}` is not a directory of a skill")))?;
    let children: Vec<(String, FolderChild)> = children.into_iter().collect();
    let (part, next) = page(&children, cursor, |(name, _)| name.as_str())?;
    let child = |(name, child): &(String, FolderChild)| {
        let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let uri = of_skill(&id, &below);
        match child {
            FolderChild::Directory => json!({ "uri": uri, "name": name, "mimeType": "inode/directory" }),
            FolderChild::File { size } if below == SKILL_MD => json!({
                "uri": uri, "name": skill.id, "description": skill.description,
                "mimeType": media_type(name), "size": size,
            }),
            FolderChild::File { size } => {
                json!({ "uri": uri, "name": name, "mimeType": media_type(name), "size": size })
            }
        }
    };
    let resources: Vec<Json> = part.iter().map(child).collect();
    Ok(complete(json!({ "resources": resources }), next))
}

/// A complete response of the extension; the protocol's crate does not know it, and adds nothing to it.
fn complete(mut answer: Json, next: Option<String>) -> Json {
    put(&mut answer, "resultType", json!("complete"));
    put(&mut answer, "ttlMs", json!(FRESH_MS));
    put(&mut answer, "cacheScope", json!("private"));
    if let Some(next) = next {
        put(&mut answer, "nextCursor", json!(next));
    }
    answer
}
