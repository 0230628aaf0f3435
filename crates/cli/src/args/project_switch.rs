//! The switch `--project` of `maestro config set`, which elsewhere is an option with the ID of a project.

use std::ffi::OsString;

/// The option of every command.
const EVERYWHERE: &str = "--project";
/// The switch of `config set` in the grammar.
const SWITCH: &str = "--in-project";
/// How the IDs of projects begin.
const ID: &str = "proj_";

/// The arguments with the switch under its own name; an ID behind it makes it the option.
pub(super) fn rename(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_setting = arguments.windows(2).any(|pair| pair[0] == "config" && pair[1] == "set");
    let is_id = |argument: &OsString| argument.to_str().is_some_and(|text| text.starts_with(ID));
    for at in (0..arguments.len()).filter(|_| is_setting) {
        if arguments[at] == EVERYWHERE && !arguments.get(at + 1).is_some_and(is_id) {
            arguments[at] = SWITCH.into();
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_a_setting_is_written_it_is_a_switch() {
        let renamed = |line: &str| {
            let words = rename(line.split(' ').map(OsString::from).collect());
            words.iter().map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(renamed("maestro config set --project verify x"), "maestro config set --in-project verify x");
        assert_eq!(renamed("maestro config set verify x --project"), "maestro config set verify x --in-project");
        assert_eq!(renamed("maestro config set a b --project proj_1"), "maestro config set a b --project proj_1");
        assert_eq!(renamed("maestro task list --project shop"), "maestro task list --project shop");
    }
}
