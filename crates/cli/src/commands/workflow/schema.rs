//! `maestro workflow schema`: the JSON Schema of definitions, for editors.

use maestro_core::workflow::language_schema::language_schema;

use crate::output::command_output::{CommandOutput, CommandResult};

pub(super) fn run() -> CommandResult {
    CommandOutput::json(&language_schema())
}
