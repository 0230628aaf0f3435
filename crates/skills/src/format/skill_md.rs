//! Reader for `SKILL.md`: the Agent Skills fields, and the extensions that clients use.

use maestro_core::yaml::{SourcePosition, YamlNode, YamlPair, YamlValue};
use maestro_core::{ProblemCode, ProblemSeverity, closest_word};
use serde_json::{Map, Value as Json};

use super::findings::FileFindings;
use super::{missing_header, split_tools};
use crate::card::headings;
use crate::frontmatter::{self, HeaderRepair};
use crate::rules;
use crate::skill::{InvocationRules, Skill};
use crate::text::{self, HeadBuffer};

/// The fields of a `SKILL.md` that Maestro understands.
#[derive(Debug, Default)]
pub(super) struct SkillMd {
    pub(super) file: String,
    pub(super) name: Option<String>,
    pub(super) description: String,
    pub(super) version: Option<String>,
    /// The headings of its text, for its card.
    pub(super) headings: String,
    license: Option<String>,
    compatibility: Option<String>,
    author: Option<String>,
    when_to_use: Option<String>,
    argument_hint: Option<String>,
    triggers: Vec<String>,
    tags: Vec<String>,
    allowed_tools: Vec<String>,
    invocation: InvocationRules,
    metadata: Map<String, Json>,
    extra: Map<String, Json>,
}

/// What is suggested for a mistyped field.
const FIELDS: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "version",
    "author",
    "when_to_use",
    "argument-hint",
    "triggers",
    "tags",
    "disable-model-invocation",
    "user-invocable",
];

/// Fields of other clients and collections: they mean nothing here, and are no slips either.
const OTHER_FIELDS: &[&str] = &[
    "agent",
    "arguments",
    "category",
    "context",
    "date_added",
    "dependencies",
    "domain",
    "effort",
    "homepage",
    "hooks",
    "inputs",
    "model",
    "outputs",
    "paths",
    "permissions",
    "requires",
    "risk",
    "role",
    "source",
    "tools",
];

/// Reads a `SKILL.md` as far as its header reaches; nothing when it cannot be used.
pub(super) fn load(file: &str, directory: &str, findings: &mut FileFindings<'_>) -> Option<SkillMd> {
    let mut buffer = HeadBuffer::new();
    let head = findings.read_head(&mut buffer)?;
    let header = match &head.header {
        Ok(header) => header,
        Err(reason) => {
            missing_header::explain(&head, *reason, findings);
            return None;
        }
    };
    let yaml = match text::text_of(head.bytes.get(header.yaml.clone()).unwrap_or_default()) {
        Ok(yaml) => yaml,
        Err((line, column)) => {
            findings.add(text::not_utf8(&findings.path(), (line + header.lines_above, column)));
            return None;
        }
    };
    if file != "SKILL.md" {
        findings.warn(
            ProblemCode::FileNameCase,
            SourcePosition { line: 1, column: 1 },
            format!("named `{file}`, which most tools do not find"),
            "rename it to SKILL.md",
        );
    }
    if head.too_large {
        findings.add(text::too_large(&findings.path(), ProblemSeverity::Warning));
    }
    findings.set_line_offset(header.lines_above);
    // Its lines could pass for parts of a value; no side of it is what was meant.
    if let Some((place, message, help)) = missing_header::merge_conflict(yaml) {
        findings.error(ProblemCode::MergeConflict, place, message, help);
        return None;
    }
    // The tree borrows from text that repair may have replaced, so everything is taken out of it in one go.
    let parsed = frontmatter::parse(yaml, HeaderDraft::from_tree);
    let draft = match parsed {
        Ok(parsed) => {
            parsed.repairs.iter().for_each(|repair| report_repair(repair, findings));
            parsed.value
        }
        Err(error) => {
            let code = if error.excessive { ProblemCode::FrontmatterTooLarge } else { ProblemCode::FrontmatterInvalid };
            let help = if error.excessive { "write plain `key: value` lines" } else { "put quotes around the value" };
            findings.error(code, error.place, format!("the frontmatter cannot be read: {}", error.reason), help);
            return None;
        }
    };
    let mut form = draft.finish(file, directory, findings)?;
    form.headings = headings(head.bytes);
    Some(form)
}

fn report_repair(repair: &HeaderRepair, findings: &mut FileFindings<'_>) {
    findings.warn(
        ProblemCode::FrontmatterRepaired,
        repair.place,
        format!("`{}` is not valid YAML ({}) and was read as text", repair.key, repair.reason),
        format!("write: {}", repair.replacement),
    );
}

/// A finding whose file is not known yet.
struct HeaderNote {
    code: ProblemCode,
    place: SourcePosition,
    message: String,
    help: String,
}

/// A header's fields, taken out of the tree but not yet judged.
struct HeaderDraft {
    is_mapping: bool,
    form: SkillMd,
    name_at: SourcePosition,
    description: Option<(String, SourcePosition)>,
    description_at: SourcePosition,
    compatibility_at: SourcePosition,
    notes: Vec<HeaderNote>,
}

impl HeaderDraft {
    fn from_tree(tree: &YamlNode<'_>) -> Self {
        let mut draft = Self {
            is_mapping: matches!(tree.value, YamlValue::Map(_)),
            form: SkillMd::default(),
            name_at: SourcePosition { line: 1, column: 1 },
            description: None,
            description_at: SourcePosition { line: 1, column: 1 },
            compatibility_at: SourcePosition::default(),
            notes: Vec::new(),
        };
        let YamlValue::Map(pairs) = &tree.value else { return draft };
        for (index, pair) in pairs.iter().enumerate() {
            if pairs.iter().take(index).any(|earlier| earlier.key == pair.key) {
                let help = "remove one of the two";
                draft.note(ProblemCode::FieldDuplicate, pair.place, format!("`{}` appears twice", pair.key), help);
            } else {
                draft.take(pair);
            }
        }
        draft
    }

    fn note(&mut self, code: ProblemCode, place: SourcePosition, message: impl Into<String>, help: impl Into<String>) {
        self.notes.push(HeaderNote { code, place, message: message.into(), help: help.into() });
    }

    fn take(&mut self, pair: &YamlPair<'_>) {
        let node = &pair.value;
        match pair.key.as_ref() {
            "name" => {
                self.name_at = node.place;
                self.form.name = self.text(pair).filter(|name| !name.is_empty());
            }
            "description" => {
                self.description_at = pair.place;
                self.description = self.text(pair).map(|text| (text, node.place));
            }
            "license" => self.form.license = self.words_or_none(pair),
            "compatibility" => {
                self.compatibility_at = node.place;
                self.form.compatibility = self.text(pair);
            }
            "metadata" => self.metadata(pair),
            "allowed-tools" | "allowed_tools" => self.form.allowed_tools = self.words(pair, split_tools),
            "version" => self.form.version = self.words_or_none(pair).or_else(|| self.form.version.take()),
            "author" => self.form.author = self.words_or_none(pair),
            "when_to_use" | "when-to-use" => self.form.when_to_use = self.words_or_none(pair),
            "argument-hint" | "argument_hint" => {
                self.form.argument_hint = Some(hint_text(node)).filter(|hint| !hint.is_empty());
            }
            "triggers" => self.form.triggers = self.words(pair, split_phrases),
            "tags" => self.form.tags = self.words(pair, split_phrases),
            "disable-model-invocation" | "disable_model_invocation" => {
                if let Some(disabled) = self.flag(pair) {
                    self.form.invocation.by_model &= !disabled;
                }
            }
            "user-invocable" | "user_invocable" => self.user_invocable(pair),
            "user-invokable" => {
                self.user_invocable(pair);
                self.typo(pair, "user-invocable");
            }
            key if OTHER_FIELDS.contains(&key) => {
                self.form.extra.insert(key.to_owned(), node.to_json());
            }
            key if is_translation(key) => {
                self.form.extra.insert(key.to_owned(), node.to_json());
            }
            key => {
                if let Some(known) = closest_word::closest(key, FIELDS.iter().copied()) {
                    self.typo(pair, known);
                }
                self.form.extra.insert(key.to_owned(), node.to_json());
            }
        }
    }

    fn user_invocable(&mut self, pair: &YamlPair<'_>) {
        if let Some(invocable) = self.flag(pair) {
            self.form.invocation.by_user = invocable;
        }
    }

    fn typo(&mut self, pair: &YamlPair<'_>, known: &str) {
        let message = format!("unknown field `{}`", pair.key);
        self.note(ProblemCode::FieldTypo, pair.place, message, format!("did you mean `{known}`?"));
    }

    fn wrong_type(&mut self, pair: &YamlPair<'_>, expected: &str) {
        let message = format!("`{}` is {}", pair.key, pair.value.kind());
        self.note(ProblemCode::FieldType, pair.value.place, message, format!("it must be {expected}"));
    }

    fn text(&mut self, pair: &YamlPair<'_>) -> Option<String> {
        match &pair.value.value {
            YamlValue::Plain(_) | YamlValue::Quoted(_) => pair.value.text().map(|text| text.trim().to_owned()),
            YamlValue::List(_) | YamlValue::Map(_) => {
                self.wrong_type(pair, "text");
                None
            }
        }
    }

    /// Text that says something; an empty one is as good as none.
    fn words_or_none(&mut self, pair: &YamlPair<'_>) -> Option<String> {
        self.text(pair).filter(|text| !text.is_empty())
    }

    fn flag(&mut self, pair: &YamlPair<'_>) -> Option<bool> {
        let flag = pair.value.flag();
        if flag.is_none() && !pair.value.is_null() {
            self.wrong_type(pair, "true or false");
        }
        flag
    }

    fn words(&mut self, pair: &YamlPair<'_>, split: fn(&str) -> Vec<String>) -> Vec<String> {
        match &pair.value.value {
            YamlValue::Plain(_) | YamlValue::Quoted(_) => pair.value.text().map(split).unwrap_or_default(),
            YamlValue::List(items) => items.iter().filter_map(word).collect(),
            YamlValue::Map(_) => {
                self.wrong_type(pair, "text or a list");
                Vec::new()
            }
        }
    }

    fn metadata(&mut self, pair: &YamlPair<'_>) {
        match pair.value.to_json() {
            Json::Object(map) => {
                let hidden = map.get("internal") == Some(&Json::Bool(true));
                self.form.invocation.by_model &= !hidden;
                self.form.version = self.form.version.take().or_else(|| version_in(&map));
                self.form.metadata = map;
            }
            Json::Null => {}
            _ => self.wrong_type(pair, "a mapping"),
        }
    }

    /// Judges the fields; nothing when a rule refuses them.
    fn finish(mut self, file: &str, directory: &str, findings: &mut FileFindings<'_>) -> Option<SkillMd> {
        if !self.is_mapping {
            findings.error(
                ProblemCode::FrontmatterInvalid,
                SourcePosition { line: 1, column: 1 },
                "the frontmatter is not a list of `key: value` fields",
                "write `name: …` and `description: …` on lines of their own",
            );
            return None;
        }
        for note in self.notes {
            findings.warn(note.code, note.place, note.message, note.help);
        }
        judge_name(self.form.name.as_deref(), self.name_at, directory, findings);
        match self.description.filter(|(text, _)| !text.is_empty()) {
            Some((description, place)) => {
                judge_description(&description, place, findings);
                self.form.description = description;
            }
            None => findings.error(
                ProblemCode::DescriptionMissing,
                self.description_at,
                "there is no description",
                "add `description:` with what the skill does and when to use it",
            ),
        }
        if let Some(compatibility) = &self.form.compatibility {
            let chars = compatibility.chars().count();
            if chars == 0 || chars > rules::COMPATIBILITY_CHARS {
                findings.rule(
                    ProblemCode::CompatibilityInvalid,
                    self.compatibility_at,
                    format!("`compatibility` has {chars} characters, 1 to {} are allowed", rules::COMPATIBILITY_CHARS),
                    "shorten it, or leave it out",
                );
            }
        }
        file.clone_into(&mut self.form.file);
        findings.usable().then_some(self.form)
    }
}

fn judge_name(name: Option<&str>, place: SourcePosition, directory: &str, findings: &mut FileFindings<'_>) {
    let Some(name) = name else {
        let help = format!("add `name: {}`", rules::valid_name(directory));
        findings.rule(ProblemCode::NameMissing, place, "there is no name; the directory's is used", help);
        return;
    };
    if let Some(fault) = rules::name_fault(name) {
        let help = match rules::valid_name(name) {
            valid if valid.is_empty() => "use lower-case letters, digits and single hyphens".to_owned(),
            valid => format!("rename it, for example to `{valid}`"),
        };
        findings.rule(ProblemCode::NameInvalid, place, format!("the name `{name}` breaks the rules: {fault}"), help);
    }
    if name != directory {
        findings.warn(
            ProblemCode::NameNotDirectory,
            place,
            format!("the name `{name}` is not the directory's, `{directory}`"),
            "rename one of the two: some tools know the skill by its name, others by its directory",
        );
    }
}

fn judge_description(description: &str, place: SourcePosition, findings: &mut FileFindings<'_>) {
    let chars = description.chars().count();
    if chars > rules::DESCRIPTION_CHARS {
        findings.rule(
            ProblemCode::DescriptionTooLong,
            place,
            format!("the description has {chars} characters, {} are allowed", rules::DESCRIPTION_CHARS),
            "say what it does and when to use it; the rest belongs into the body",
        );
    }
    if let Some((index, hidden)) = rules::hidden_character(description) {
        findings.warn(
            ProblemCode::HiddenUnicode,
            place,
            format!("the description hides U+{:04X} at character {}", u32::from(hidden), index + 1),
            "remove it; if you did not put it there, do not trust this skill",
        );
    }
}

/// A known field in another language: `description-cn`, `description_zh-TW`, `name.ja`.
fn is_translation(key: &str) -> bool {
    let is_language = |tag: &str| {
        let mut parts = tag.split(['-', '_']);
        let language = parts.next().unwrap_or_default();
        (2..=3).contains(&language.len())
            && language.bytes().all(|byte| byte.is_ascii_alphabetic())
            && parts.all(|part| (2..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    FIELDS.iter().any(|field| {
        key.strip_prefix(field).and_then(|rest| rest.strip_prefix(['-', '_', '.', ':'])).is_some_and(is_language)
    })
}

/// Clients show the hint as written; `[file]` is meant as text although YAML reads a list.
fn hint_text(node: &YamlNode<'_>) -> String {
    match &node.value {
        YamlValue::Plain(text) | YamlValue::Quoted(text) => text.trim().to_owned(),
        YamlValue::List(items) => format!("[{}]", items.iter().map(hint_text).collect::<Vec<_>>().join(", ")),
        YamlValue::Map(_) => node.to_json().to_string(),
    }
}

fn version_in(metadata: &Map<String, Json>) -> Option<String> {
    match metadata.get("version") {
        Some(Json::String(version)) => Some(version.clone()),
        Some(Json::Number(version)) => Some(version.to_string()),
        _ => None,
    }
}

fn word(node: &YamlNode<'_>) -> Option<String> {
    match &node.value {
        // A list item like `- when: the user asks` is a phrase with a colon in it.
        YamlValue::Map(pairs) => {
            let [pair] = pairs.as_slice() else { return None };
            pair.value.text().map(|value| format!("{}: {}", pair.key, value.trim()))
        }
        _ => node.text().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
    }
}

fn split_phrases(text: &str) -> Vec<String> {
    text.split([',', '\n']).map(str::trim).filter(|phrase| !phrase.is_empty()).map(str::to_owned).collect()
}

impl SkillMd {
    /// Puts what this form decides into the skill.
    pub(super) fn fill(self, skill: &mut Skill) {
        skill.description = self.description;
        skill.instructions = Some(self.file);
        skill.license = self.license.or_else(|| skill.license.take());
        skill.author = self.author.or_else(|| skill.author.take());
        skill.compatibility = self.compatibility;
        skill.when_to_use = self.when_to_use;
        skill.argument_hint = self.argument_hint;
        skill.triggers = self.triggers;
        skill.tags = self.tags;
        skill.allowed_tools = self.allowed_tools;
        skill.invocation = self.invocation;
        skill.metadata = self.metadata;
        skill.extra.extend(self.extra);
    }
}
