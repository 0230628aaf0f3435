//! Reader for a folder's workflow: its name and description. The workflow engine reads the steps.

use maestro_core::ProblemCode;
use maestro_core::yaml::{self, SourcePosition, YamlValue};

use super::findings::FileFindings;
use crate::skill::Skill;

/// What a workflow file says about itself.
#[derive(Debug)]
pub(super) struct WorkflowFile {
    pub(super) file: &'static str,
    pub(super) name: Option<String>,
    description: String,
    pub(super) version: Option<String>,
}

/// Reads a workflow's heading; nothing when the file is no YAML mapping.
pub(super) fn load(file: &'static str, findings: &mut FileFindings<'_>) -> Option<WorkflowFile> {
    let text = findings.read_document()?;
    let tree = match yaml::parse(text.trim_start_matches('\u{feff}')) {
        Ok(tree) => tree,
        Err(error) => {
            let message = format!("the workflow cannot be read: {}", error.reason);
            findings.error(ProblemCode::WorkflowInvalid, error.place, message, "fix the YAML here");
            return None;
        }
    };
    let YamlValue::Map(pairs) = &tree.value else {
        let help = "begin with `name:`, `description:` and `steps:`";
        findings.error(ProblemCode::WorkflowInvalid, tree.place, "the workflow is not a mapping", help);
        return None;
    };
    let field = |key: &str| {
        let pair = pairs.iter().find(|pair| pair.key == key)?;
        pair.value.text().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let description = field("description");
    if description.is_none() {
        findings.warn(
            ProblemCode::DescriptionMissing,
            SourcePosition { line: 1, column: 1 },
            "the workflow has no description",
            "add `description:` with what it does and when to use it",
        );
    }
    Some(WorkflowFile {
        file,
        name: field("name"),
        description: description.unwrap_or_default(),
        version: field("version"),
    })
}

impl WorkflowFile {
    /// Puts what this form decides into the skill.
    pub(super) fn fill(self, skill: &mut Skill) {
        skill.description = self.description;
    }
}
