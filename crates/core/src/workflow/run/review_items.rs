//! Items of a review, and the judgements on them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::excerpt::ellipsize;
use crate::workflow::definition::ReviewSeverity;
use crate::workflow::value_type::InvalidValue;

/// One thing to be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewItem {
    /// Its id within the review.
    pub id: String,
    /// The files it is about, as globs; none is all of them.
    pub scope: Vec<String>,
    /// What is checked.
    pub check: String,
    /// How much it matters.
    pub severity: ReviewSeverity,
    /// How it stands.
    pub status: ReviewItemStatus,
    /// What shows that it is well.
    pub evidence: Option<String>,
    /// What is wrong with it.
    pub finding: Option<String>,
}

impl ReviewItem {
    /// The item for a fresh review, without earlier findings.
    pub fn json_for_review(&self) -> Json {
        json!({"id": self.id, "scope": self.scope, "check": self.check, "severity": self.severity})
    }

    /// The item for the step that fixes it.
    pub fn json_for_fix(&self) -> Json {
        let mut told = json!({"id": self.id, "scope": self.scope, "check": self.check, "severity": self.severity});
        told["finding"] = json!(self.finding);
        if let Some(evidence) = &self.evidence {
            told["evidence"] = json!(evidence);
        }
        told
    }
}

/// How an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewItemStatus {
    /// It is not checked yet.
    Todo,
    /// It is well.
    Pass,
    /// It is not.
    Fail,
}

/// A judgement on an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemJudgement {
    /// Which item.
    pub id: String,
    /// Whether it passes. A judgement cannot be "not checked yet".
    pub pass: bool,
    /// What shows it, or what is wrong.
    pub text: String,
    /// Where what is wrong can be seen.
    #[serde(default)]
    pub seen: Option<String>,
}

/// The items in a report: `items` of the result, each with `check` and `severity`, and perhaps `id` and `scope`.
pub(super) fn items(result: &mut Map<String, Json>, most: usize) -> Result<Vec<ReviewItem>, InvalidValue> {
    let listed = listed(result)?;
    if listed.is_empty() || listed.len() > most {
        return Err(InvalidValue(format!("a review has 1 to {most} items, and there are {}", listed.len())));
    }
    let (mut items, mut faults): (Vec<ReviewItem>, Vec<String>) = (Vec::new(), Vec::new());
    for (index, entry) in listed.iter().enumerate() {
        let text = |key: &str| text_of(entry, key);
        let id = text("id").map_or_else(|| (index + 1).to_string(), str::to_owned);
        let said = text("severity").unwrap_or_default();
        let severity = ReviewSeverity::ALL.into_iter().find(|severity| severity.word().eq_ignore_ascii_case(said));
        if text("check").is_none() {
            faults.push(format!("item {id} has no `check`"));
        }
        if severity.is_none() {
            faults.push(format!("item {id}: `severity` is MUST, SHOULD or COULD, not `{}`", ellipsize(said, 40)));
        }
        if items.iter().any(|item| item.id == id) {
            faults.push(format!("two items have the id {id}"));
        }
        let (Some(check), Some(severity)) = (text("check"), severity) else { continue };
        items.push(ReviewItem {
            id,
            scope: scope(entry.get("scope")),
            check: check.to_owned(),
            severity,
            status: ReviewItemStatus::Todo,
            evidence: None,
            finding: None,
        });
    }
    if faults.is_empty() { Ok(items) } else { Err(InvalidValue(faults.join("; "))) }
}

/// A text of an entry that says something.
fn text_of<'e>(entry: &'e Json, key: &str) -> Option<&'e str> {
    entry.get(key).and_then(Json::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn scope(value: Option<&Json>) -> Vec<String> {
    match value {
        Some(Json::String(glob)) => vec![glob.clone()],
        Some(Json::Array(globs)) => globs.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn listed(result: &mut Map<String, Json>) -> Result<Vec<Json>, InvalidValue> {
    match result.remove("items") {
        Some(Json::Array(items)) => Ok(items),
        _ => Err(InvalidValue("`items` is missing or not a list".into())),
    }
}

/// The judgements in a report about exactly the items that were given.
pub(super) fn judgements(result: &mut Map<String, Json>, given: &[&str]) -> Result<Vec<ItemJudgement>, InvalidValue> {
    let (mut judged, mut faults): (Vec<ItemJudgement>, Vec<String>) = (Vec::new(), Vec::new());
    let mut named = Vec::new();
    for entry in listed(result)? {
        match judgement(&entry, given) {
            Ok(one) if judged.iter().any(|judgement| judgement.id == one.id) => {
                faults.push(format!("item {} is judged twice", one.id));
            }
            Ok(one) => judged.push(one),
            Err(InvalidValue(fault)) => faults.push(fault),
        }
        named.extend(text_of(&entry, "id").map(str::to_owned));
    }
    let missing = given.iter().filter(|id| named.iter().all(|name| name != *id));
    faults.extend(missing.map(|id| format!("item {id} is not judged")));
    if faults.is_empty() { Ok(judged) } else { Err(InvalidValue(faults.join("; "))) }
}

fn judgement(entry: &Json, given: &[&str]) -> Result<ItemJudgement, InvalidValue> {
    let text = |key: &str| text_of(entry, key);
    let id = text("id").ok_or_else(|| InvalidValue("a judged item has no `id`".into()))?;
    if !given.contains(&id) {
        return Err(InvalidValue(format!("item {id} is not one of those given: {}", given.join(", "))));
    }
    let (pass, needed) = match text("status").map(str::to_ascii_lowercase).as_deref() {
        Some("pass") => (true, "evidence"),
        Some("fail") => (false, "finding"),
        _ => return Err(InvalidValue(format!("item {id}: `status` is pass or fail"))),
    };
    let said = text(needed).ok_or_else(|| InvalidValue(format!("item {id}: `{needed}` is missing")))?;
    let seen = text("evidence").filter(|_| !pass).map(str::to_owned);
    Ok(ItemJudgement { id: id.to_owned(), pass, text: said.to_owned(), seen })
}

/// Puts judgements into a review.
pub(super) fn record(items: &mut [ReviewItem], judgements: &[ItemJudgement]) {
    for judgement in judgements {
        let Some(item) = items.iter_mut().find(|item| item.id == judgement.id) else { continue };
        let said = Some(judgement.text.clone());
        let (status, evidence, finding) = if judgement.pass {
            (ReviewItemStatus::Pass, said, None)
        } else {
            (ReviewItemStatus::Fail, judgement.seen.clone(), said)
        };
        (item.status, item.evidence, item.finding) = (status, evidence, finding);
    }
}

/// The items that must be looked at again after a fix: what failed, and what is about a file that changed.
pub(super) fn touched_items(items: &[ReviewItem], changed: Option<&[String]>) -> Vec<String> {
    let again = |item: &&ReviewItem| match item.status {
        ReviewItemStatus::Fail => true,
        ReviewItemStatus::Pass => changed.is_none_or(|files| is_about(item, files)),
        ReviewItemStatus::Todo => false,
    };
    items.iter().filter(again).map(|item| item.id.clone()).collect()
}

/// The items that passed and are about a file that changed.
pub(super) fn outdated_items(items: &[ReviewItem], changed: &[String]) -> Vec<String> {
    let again = |item: &&ReviewItem| item.status == ReviewItemStatus::Pass && is_about(item, changed);
    items.iter().filter(again).map(|item| item.id.clone()).collect()
}

/// Whether an item is about one of these files.
fn is_about(item: &ReviewItem, files: &[String]) -> bool {
    if item.scope.is_empty() {
        return !files.is_empty();
    }
    files.iter().any(|file| item.scope.iter().any(|glob| glob_matches(glob, file)))
}

/// Whether a path matches a glob: `*` and `?` within a name, `**` across names.
pub(crate) fn glob_matches(glob: &str, path: &str) -> bool {
    fn from(glob: &[u8], path: &[u8]) -> bool {
        match (glob, path) {
            ([], []) => true,
            ([b'*', b'*', b'/', glob @ ..], _) if from(glob, path) => true,
            ([b'*', b'*', rest @ ..], _) => {
                from(rest, path) || path.split_first().is_some_and(|(_, path)| from(glob, path))
            }
            ([b'*', rest @ ..], _) => {
                from(rest, path)
                    || matches!(path.split_first(), Some((first, path)) if *first != b'/' && from(glob, path))
            }
            ([b'?', glob @ ..], [first, path @ ..]) if *first != b'/' => from(glob, path),
            ([a, glob @ ..], [b, path @ ..]) if a == b => from(glob, path),
            _ => false,
        }
    }
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    // A pattern of many stars would be tried in ever more ways, and has no use.
    if glob.matches('*').count() > 8 {
        return true;
    }
    from(glob.as_bytes(), path.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_what_one_expects() {
        for (glob, path, expected) in [
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**/*.rs", "src/a/b.rs", true),
            ("src/**/*.rs", "src/b.rs", true),
            ("**", "anything/at/all", true),
            ("a?c", "abc", true),
            ("docs", "docs/x", false),
            ("./src/*.rs", "src/a.rs", true),
        ] {
            assert_eq!(glob_matches(glob, path), expected, "{glob} {path}");
        }
    }
}
