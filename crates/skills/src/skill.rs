//! Skills, independent of the format they were written in.
//!
//! The catalogue, selection, prompts, REST, MCP and the page know only this. Instructions are not kept here;
//! they are read on request.

use std::fmt;
use std::path::PathBuf;

use maestro_core::problem::lossy;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::card_key::CardKey;

/// The name a skill is known by. First wins when two skills have the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SkillId(String);

impl SkillId {
    /// An id from a name that is not blank; surrounding white space does not count.
    pub fn new(name: &str) -> Option<Self> {
        let name = name.trim();
        (!name.is_empty()).then(|| Self(name.to_owned()))
    }

    /// An id that was one before.
    pub(crate) fn of(id: &str) -> Self {
        Self(id.to_owned())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

maestro_core::word_enum! {
    /// The file that leads a skill folder.
    #[derive(PartialOrd, Ord, Hash, Serialize)]
    pub enum SkillFormat {
        /// Agent Skills: `SKILL.md` with frontmatter.
        #[serde(rename = "SKILL.md")]
        SkillMd = "SKILL.md",
        /// `manifest.json` with `skill.md`.
        #[serde(rename = "manifest.json")]
        Manifest = "manifest.json",
        /// `skill.json` with commands.
        #[serde(rename = "skill.json")]
        SkillJson = "skill.json",
        /// `workflow.yaml` or `skill.yaml`.
        #[serde(rename = "workflow")]
        Workflow = "workflow",
    }
}

maestro_core::word_enum! {
    /// Whether a skill belongs to this project or to the user.
    #[derive(PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SkillLocation {
        /// Found inside the project.
        Project = "project",
        /// Found elsewhere.
        Global = "global",
    }
}

maestro_core::word_enum! {
    /// What kind of place a skill was found in.
    #[derive(PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SkillSource {
        /// A skills directory of the project.
        Project = "project",
        /// A skills directory of the user.
        User = "user",
        /// A directory named on the command line.
        Given = "given",
        /// The workspace's own pack.
        Workspace = "workspace",
        /// The pack that comes with Maestro.
        Builtin = "builtin",
    }
}

maestro_core::word_enum! {
    /// What a skill is to Maestro.
    #[derive(Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SkillType {
        /// Part of every session.
        System = "system",
        /// Part of every session in a role.
        Role = "role",
        /// A user's own.
        Custom = "custom",
    }
}

/// Who may use a skill without an explicit request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct InvocationRules {
    /// A model may choose it by itself.
    pub by_model: bool,
    /// A person may call it by name.
    pub by_user: bool,
}

impl Default for InvocationRules {
    fn default() -> Self {
        Self { by_model: true, by_user: true }
    }
}

/// A command that a `skill.json` declares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkillCommand {
    /// What it is called by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its parameters as declared.
    pub parameters: Map<String, Json>,
    /// What carries it out: a program and its arguments, in which `{name}` is replaced by a parameter. Without it, the
    /// skill's text says how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
}

/// A folder an agent can learn from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skill {
    /// What it is known by: the frontmatter's name, else the directory's.
    #[serde(rename = "name")]
    pub id: SkillId,
    /// The name shown to people.
    pub display_name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The skill's directory, absolute.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Whether it belongs to the project or the user.
    pub location: SkillLocation,
    /// What kind of place it came from.
    pub source: SkillSource,
    /// The file that leads.
    pub format: SkillFormat,
    /// The leading file's name in the directory.
    pub file: String,
    /// The name of the file that holds its instructions, if there is one that may be read.
    #[serde(skip)]
    pub instructions: Option<String>,
    /// What it is to Maestro.
    #[serde(rename = "type")]
    pub kind: SkillType,
    /// Its version; `1.0.0` when none is given.
    pub version: String,
    /// The roles whose sessions get it, or `all`.
    pub assign_to: Vec<String>,
    /// What it says it can do.
    pub capabilities: Vec<String>,
    /// The skills it needs, by id or directory.
    pub dependencies: Vec<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs around it, in words.
    pub compatibility: Option<String>,
    /// When to use it, where that is said apart from the description.
    pub when_to_use: Option<String>,
    /// What a person may write after its name.
    pub argument_hint: Option<String>,
    /// Phrases that call for it.
    pub triggers: Vec<String>,
    /// Words it is filed under.
    pub tags: Vec<String>,
    /// The tools it asks for. A request, never a grant.
    pub allowed_tools: Vec<String>,
    /// Who may call upon it.
    pub invocation: InvocationRules,
    /// The frontmatter's `metadata`.
    pub metadata: Map<String, Json>,
    /// The manifest's `config`.
    pub config: Map<String, Json>,
    /// Commands it declares.
    pub commands: Vec<SkillCommand>,
    /// The name of the file that holds its workflow.
    pub workflow: Option<String>,
    /// Fields that mean nothing to Maestro, kept as they were.
    pub extra: Map<String, Json>,
    /// What stands for it where meaning is compared, as a hash.
    #[serde(skip)]
    pub card: CardKey,
}

/// The version of a skill that names none.
pub(crate) const DEFAULT_VERSION: &str = "1.0.0";

impl Skill {
    /// A skill of which nothing else is known.
    pub(crate) fn new(
        id: SkillId,
        path: PathBuf,
        (location, source): (SkillLocation, SkillSource),
        format: SkillFormat,
        file: String,
    ) -> Self {
        Self {
            display_name: id.as_str().to_owned(),
            id,
            description: String::new(),
            path,
            location,
            source,
            format,
            file,
            instructions: None,
            kind: SkillType::Custom,
            version: DEFAULT_VERSION.to_owned(),
            assign_to: Vec::new(),
            capabilities: Vec::new(),
            dependencies: Vec::new(),
            author: None,
            license: None,
            compatibility: None,
            when_to_use: None,
            argument_hint: None,
            triggers: Vec::new(),
            tags: Vec::new(),
            allowed_tools: Vec::new(),
            invocation: InvocationRules::default(),
            metadata: Map::new(),
            config: Map::new(),
            commands: Vec::new(),
            workflow: None,
            extra: Map::new(),
            card: CardKey::default(),
        }
    }

    /// The directory's own name.
    pub fn directory_name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// What a list shows of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillHeading<'a> {
    /// See [`Skill::id`].
    pub id: &'a str,
    /// See [`Skill::display_name`].
    pub display_name: &'a str,
    /// See [`Skill::description`].
    pub description: &'a str,
    /// See [`Skill::location`].
    pub location: SkillLocation,
    /// See [`Skill::source`].
    pub source: SkillSource,
    /// See [`Skill::format`].
    pub format: SkillFormat,
    /// See [`Skill::kind`].
    pub kind: SkillType,
    /// See [`Skill::version`].
    pub version: &'a str,
}
