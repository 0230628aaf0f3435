//! Error messages for workflows that cannot be loaded.

use maestro_engine::workflows::DefinitionError;

use crate::output::error::CommandError;

impl From<DefinitionError> for CommandError {
    fn from(error: DefinitionError) -> Self {
        let message = error.to_string();
        match &error {
            DefinitionError::NotFound { close: Some(close), .. } => {
                Self::not_found(message).hint(format!("did you mean `{close}`?"))
            }
            DefinitionError::NotFound { close: None, .. } => {
                Self::not_found(message).hint("run `maestro workflow list` for the list")
            }
            DefinitionError::NoneAt(_) => {
                Self::not_found(message).hint("pass a YAML file, or a skill folder with `workflow.yaml`")
            }
            DefinitionError::Unsound { path, findings, .. } => {
                let check = format!("run `maestro workflow check {}` to see them in place", path.display());
                Self::invalid(message).with_reasons(findings).hint(check)
            }
            DefinitionError::Unreadable { source, .. } => Self::io(message, source).hint("check the file"),
            DefinitionError::NotText(_) => Self::invalid(message).hint("save it as UTF-8"),
            DefinitionError::TooLarge { .. } => {
                Self::invalid(message).hint("shorten its resources, or let agents read long ones as files")
            }
        }
    }
}
