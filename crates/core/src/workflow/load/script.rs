//! Placeholders in scripts: one argument for the engine can be a whole script for a shell.

use super::DefinitionReader;
use crate::workflow::definition::{CommandArgument, PlacedValue};
use crate::workflow::finding::FindingCode;
use crate::workflow::template::Template;

/// Programs that read an argument as a script if one of these is in the option before it.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"];
/// Others, which do so behind one of the options below.
const INTERPRETERS: [&str; 9] = ["python", "perl", "ruby", "node", "php", "lua", "deno", "bun", "osascript"];
const OPTIONS: [&str; 6] = ["-c", "-e", "-E", "-r", "-p", "--eval"];

/// Finds fault with placeholders in scripts. The program may stand behind others, as in `env sh -c`.
pub(super) fn check(program: &str, arguments: &[CommandArgument], reader: &mut DefinitionReader<'_>) {
    let mut scripted = ScriptProgram::of(program);
    let mut script_comes = false;
    for argument in arguments {
        let CommandArgument::Text(word) = argument else { continue };
        if script_comes {
            filled(word, reader);
            return;
        }
        script_comes = scripted.as_ref().is_some_and(|scripted| scripted.announces(&word.text));
        scripted = ScriptProgram::of(&word.text).or(scripted);
    }
}

/// What kind of program reads scripts.
enum ScriptProgram {
    Shell,
    Interpreter,
}

impl ScriptProgram {
    fn of(program: &str) -> Option<Self> {
        let name = program.rsplit('/').next().unwrap_or(program);
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if SHELLS.contains(&name) {
            Some(Self::Shell)
        } else {
            INTERPRETERS.contains(&plain).then_some(Self::Interpreter)
        }
    }

    /// Whether a script follows this option.
    fn announces(&self, option: &str) -> bool {
        match self {
            Self::Shell => option.starts_with('-') && !option.starts_with("--") && option.ends_with('c'),
            Self::Interpreter => OPTIONS.contains(&option),
        }
    }
}

fn filled(script: &PlacedValue<Template>, reader: &mut DefinitionReader<'_>) {
    let Some((reference, at)) = script.value.references().next() else { return };
    let message = format!("`{{{reference}}}` would be read as part of a script");
    let help = "use `shell:` with `env`, or hand it over behind the script: [sh, -c, 'echo \"$1\"', sh, \"{name}\"]";
    let place = reader.place_in(script, at.0);
    reader.find(FindingCode::E14, place, message, help);
}
