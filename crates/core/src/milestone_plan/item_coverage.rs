//! Coverage of a plan by the items of a review: whether what must be looked at is, and whether there are enough.

use serde_json::Value as Json;

use super::MilestonePlan;
use crate::workflow::run::glob_matches;

/// No review has fewer items.
const LEAST_ITEMS: usize = 4;
/// More are never asked for.
const ENOUGH_ITEMS: usize = 16;

crate::word_enum! {
    /// What the items of a review have to cover.
    pub enum CoverageRule {
        /// Each milestone and each requirement.
        Completeness = "completeness",
        /// Each file with code.
        Code = "code",
        /// Nothing by name.
        Docs = "docs",
        /// Each acceptance criterion, unless an executed check shows it.
        Implementation = "implementation",
        /// Nothing by name.
        Documentation = "documentation",
        /// Each acceptance criterion, whatever checks there are, and each file.
        Small = "small",
    }
}

/// What the items do not cover. `checks` are the commands that are executed on the work.
pub fn missing_coverage(plan: &MilestonePlan, rule: CoverageRule, items: &[Json], checks: &[String]) -> Vec<String> {
    let texts: Vec<String> = items.iter().map(item_text).collect();
    let named = |word: &str| texts.iter().any(|text| names(text, word));
    let mut missing = Vec::new();
    let mut least = LEAST_ITEMS;
    let mut ask = |kind: &str, words: Vec<String>| {
        least = least.max(words.len());
        let absent: Vec<String> = words.into_iter().filter(|word| !named(word)).collect();
        if !absent.is_empty() {
            missing.push(format!("no item names {kind} {}", absent.join(", ")));
        }
    };
    let is_executed = |text: &str| checks.iter().any(|check| text.contains(&format!("`{check}`")));
    let criteria = |any: bool| {
        let open = plan.criteria().filter(|criterion| any || !is_executed(&criterion.text));
        open.map(|criterion| criterion.id.clone()).filter(|id| !id.is_empty()).collect::<Vec<_>>()
    };
    match rule {
        CoverageRule::Completeness => {
            ask("the milestone", plan.milestones.iter().map(|milestone| milestone.id.clone()).collect());
            ask("the requirement", plan.requirements.clone());
        }
        CoverageRule::Code => {
            ask("the file", plan.milestones.iter().flat_map(|one| &one.diffs).map(|diff| diff.path.clone()).collect());
        }
        CoverageRule::Implementation => ask("the acceptance criterion", criteria(false)),
        CoverageRule::Small => {
            ask("the acceptance criterion", criteria(true));
            ask("the file", plan.files().map(str::to_owned).collect());
        }
        CoverageRule::Docs | CoverageRule::Documentation => {}
    }
    let least = least.min(ENOUGH_ITEMS);
    if items.len() < least {
        let count = if items.len() == 1 { "1 item is".to_owned() } else { format!("{} items are", items.len()) };
        missing.push(format!("{count} too few for this change; write at least {least}"));
    }
    missing
}

/// What could be changed after the review without being looked at again: a scope says what reopens its item. `path` is the
/// plan's file.
pub fn scope_gap(plan: &MilestonePlan, path: &str, rule: CoverageRule, items: &[Json]) -> Option<String> {
    let covers = |item: &Json, file: &str| {
        let globs = item.get("scope").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        globs.is_empty() || globs.iter().filter_map(Json::as_str).any(|glob| glob_matches(glob, file))
    };
    match rule {
        // A fix of the plan changes the plan, whatever file an item is about.
        CoverageRule::Completeness | CoverageRule::Code | CoverageRule::Docs | CoverageRule::Small => {
            let blind: Vec<String> = items
                .iter()
                .enumerate()
                .filter(|(_, item)| !covers(item, path))
                .map(|(index, item)| {
                    item.get("id").and_then(Json::as_str).map_or_else(|| (index + 1).to_string(), str::to_owned)
                })
                .collect();
            (!blind.is_empty())
                .then(|| format!("the `scope` of {} leaves out `{path}`, where it is fixed", blind.join(", ")))
        }
        CoverageRule::Implementation => {
            let unseen: Vec<String> = plan
                .files()
                .filter(|file| items.iter().all(|item| !covers(item, file)))
                .map(|file| format!("`{file}`"))
                .collect();
            (!unseen.is_empty()).then(|| format!("no item has {} in its `scope`", unseen.join(", ")))
        }
        CoverageRule::Documentation => None,
    }
}

/// What an item says: all of its texts, so that its scope names files too.
fn item_text(item: &Json) -> String {
    match item {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(item_text).collect::<Vec<_>>().join("\n"),
        Json::Object(map) => map.values().map(item_text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Whether a text has a word, and not only as a part of another one.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_part);
        let after = text[at + word.len()..].chars().next().is_some_and(is_part);
        !before && !after
    })
}
