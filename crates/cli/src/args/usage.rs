//! Invalid command lines: what is wrong, and the command that was probably meant.

mod intents;

use std::error::Error as _;
use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use self::intents::{
    are_request, example_of, meant_by_extra_word, meant_by_name, meant_by_option, meant_by_word, meant_sentence,
    option_as_parameter,
};
use super::free_text::show_dashes;
use crate::output::error::CommandError;

/// The words that were typed, as far as they name a command.
struct TypedCommand<'a> {
    /// The command that they name.
    command: &'a Command,
    /// Its name from `maestro` on.
    name: String,
    /// What follows.
    rest: Vec<String>,
}

impl<'a> TypedCommand<'a> {
    fn of(grammar: &'a Command, arguments: &[OsString]) -> Self {
        let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).peekable();
        let mut typed = Self { command: grammar, name: "maestro".to_owned(), rest: Vec::new() };
        while let Some(word) = words.peek() {
            if let Some(option) = global_option(word, grammar) {
                let has_value = option.get_action().takes_values() && !word.contains('=');
                words.nth(usize::from(has_value));
                continue;
            }
            let Some(next) = typed.command.find_subcommand(word) else { break };
            typed.name = format!("{} {}", typed.name, next.get_name());
            typed.command = next;
            words.next();
        }
        typed.rest = words.collect();
        typed
    }

    fn help_hint(&self) -> String {
        format!("run `{} --help` for its arguments and options", self.name)
    }
}

/// The option of all commands that a word names.
fn global_option<'a>(word: &str, grammar: &'a Command) -> Option<&'a clap::Arg> {
    let name = word.strip_prefix("--")?.split('=').next()?;
    grammar.get_arguments().find(|option| option.is_global_set() && option.get_long() == Some(name))
}

/// What to answer to a command line that the grammar refused.
pub(super) fn explain(error: &clap::Error, grammar: &Command, arguments: &[OsString]) -> CommandError {
    let typed = TypedCommand::of(grammar, arguments);
    if let Some(plans) = several_plans(&typed) {
        return plans;
    }
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(error, &typed, grammar),
        ErrorKind::UnknownArgument => unknown_argument(error, &typed),
        ErrorKind::MissingRequiredArgument => missing_argument(error, &typed),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => invalid_value(error, &typed),
        ErrorKind::ArgumentConflict => conflict(error, &typed),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            CommandError::invalid(format!("missing command after `{}`", typed.name)).hint(subcommands(&typed))
        }
        _ => CommandError::invalid(first_paragraph(error)).hint(typed.help_hint()),
    }
}

/// `maestro loop` with more than one plan: the parser takes the first for a command.
fn several_plans(typed: &TypedCommand<'_>) -> Option<CommandError> {
    let plans: Vec<&String> = typed.rest.iter().take_while(|word| !word.starts_with('-')).collect();
    let [first, second, ..] = plans.as_slice() else { return None };
    (typed.name == "maestro loop" && intents::is_plan(first)).then(|| {
        CommandError::invalid(format!("unexpected argument `{second}` after `maestro loop {first}`"))
            .hint(format!("one plan at a time: `maestro loop {first}`, then `maestro loop {second}`"))
    })
}

fn first_paragraph(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The values of a kind that the parser noted, as they were typed.
fn noted(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![show_dashes(text)],
        Some(ContextValue::Strings(texts)) => texts.iter().map(|text| show_dashes(text)).collect(),
        _ => Vec::new(),
    }
}

fn unknown_command(error: &clap::Error, typed: &TypedCommand<'_>, grammar: &Command) -> CommandError {
    let word = noted(error, ContextKind::InvalidSubcommand).pop().unwrap_or_default();
    let answer = CommandError::invalid(format!("unknown command `{} {word}`", typed.name));
    let group = typed.name.strip_prefix("maestro").unwrap_or_default().trim_start();
    let words: Vec<&str> = typed.rest.iter().skip_while(|typed| **typed != word).map(String::as_str).collect();
    let next = words.get(1).copied();
    let sentence = meant_sentence(&words).filter(|_| group.is_empty());
    if let Some(meant) = sentence.as_ref().filter(|_| are_request(&words)) {
        return answer.hint(meant.as_str());
    }
    if let Some(meant) = meant_by_word(group, &word, next) {
        return answer.hint(meant);
    }
    // The closest comes last. Old names with a colon are for programs, and few mistype the first letter.
    let first = |name: &str| name.chars().next().map(|letter| letter.to_ascii_lowercase());
    let mut similar = noted(error, ContextKind::SuggestedSubcommand);
    similar.retain(|name| !name.contains(':') && first(name) == first(&word));
    // A sentence may begin with a word like a command's, and go on otherwise.
    let leads_on = |name: &&String| {
        let subcommands = typed.command.find_subcommand(name).filter(|command| command.has_subcommands());
        sentence.is_none()
            || subcommands.is_none_or(|command| next.is_some_and(|next| command.find_subcommand(next).is_some()))
    };
    if let Some(name) = similar.last().filter(leads_on) {
        return answer.hint(format!("did you mean `{} {name}`?", typed.name));
    }
    if !group.is_empty() {
        let hints = meant_by_name(group, &word).into_iter().chain([subcommands(typed)]);
        return hints.fold(answer, CommandError::hint);
    }
    if let Some(meant) = sentence {
        return answer.hint(meant);
    }
    match groups_with(grammar, &word).as_slice() {
        [] => answer.hint("run `maestro --help` for the list of commands"),
        names => answer.hint(format!("did you mean {}?", names.join(" or "))),
    }
}

/// The groups of commands, at most three, of which one has this name.
fn groups_with(grammar: &Command, word: &str) -> Vec<String> {
    let groups = grammar.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    groups.map(|group| format!("`maestro {} {word}`", group.get_name())).take(3).collect()
}

fn subcommands(typed: &TypedCommand<'_>) -> String {
    let shown = typed.command.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = shown.map(Command::get_name).collect();
    format!("its commands: {}; run `{} --help`", names.join(", "), typed.name)
}

fn unknown_argument(error: &clap::Error, typed: &TypedCommand<'_>) -> CommandError {
    let word = noted(error, ContextKind::InvalidArg).pop().unwrap_or_default();
    if let Some(option) = typed.rest.first().filter(|_| !word.starts_with('-')).filter(|first| is_unknown(first, typed))
    {
        // A sentence may begin with a dash, so the option was taken for one.
        let answer = CommandError::invalid(format!("`{}` has no option `{option}`", typed.name));
        return answer.hint(meant_by_option(&typed.name, option).unwrap_or_else(|| typed.help_hint()));
    }
    if !word.starts_with('-') {
        let answer = CommandError::invalid(format!("unexpected argument `{word}` after `{}`", typed.name));
        return answer.hint(unexpected_word(typed));
    }
    let answer = CommandError::invalid(format!("`{}` has no option `{word}`", typed.name));
    if let Some(meant) = meant_by_option(&typed.name, &word) {
        return answer.hint(meant);
    }
    let suggested = noted(error, ContextKind::SuggestedSubcommand).pop();
    if let Some(command) = suggested.or_else(|| later_command_with(&word, typed)) {
        return answer.hint(format!("it belongs after the command: `{} {command} {word} …`", typed.name));
    }
    // Few mistype the first letter.
    let first = |name: &str| name.trim_start_matches('-').chars().next();
    match noted(error, ContextKind::SuggestedArg).pop().filter(|option| first(option) == first(&word)) {
        Some(option) => answer.hint(format!("did you mean `{option}`?")),
        None => answer.hint(option_as_parameter(&typed.name, &word).unwrap_or_else(|| typed.help_hint())),
    }
}

/// The command further on that has this option.
fn later_command_with(option: &str, typed: &TypedCommand<'_>) -> Option<String> {
    let commands = typed.rest.iter().filter_map(|word| typed.command.find_subcommand(word));
    let mut having = commands.filter(|command| !is_unknown_to(command, option));
    having.next().map(|command| command.get_name().to_owned())
}

/// Whether a word is an option that the command does not have.
fn is_unknown(word: &str, typed: &TypedCommand<'_>) -> bool {
    is_unknown_to(typed.command, word)
}

fn is_unknown_to(command: &Command, word: &str) -> bool {
    let (mut shorts, mut longs) = (
        command.get_arguments().filter_map(clap::Arg::get_short),
        command.get_arguments().filter_map(clap::Arg::get_long),
    );
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        return !name.is_empty() && longs.all(|known| known != name);
    }
    let letter = word.strip_prefix('-').and_then(|rest| rest.chars().next());
    letter.is_some_and(|letter| letter.is_ascii_alphabetic() && shorts.all(|known| known != letter))
}

/// The way out for a word too many: a sentence without quotes, or nothing that the command takes.
fn unexpected_word(typed: &TypedCommand<'_>) -> String {
    let words: Vec<&str> = typed.rest.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).collect();
    if let Some(meant) = meant_by_extra_word(&typed.name, &words) {
        return meant;
    }
    let takes_sentence = typed.command.get_positionals().last().is_some_and(|last| {
        let name = last.get_value_names().and_then(|names| names.first());
        name.is_some_and(|name| ["TASK", "TEXT", "TITLE", "PLAN.md|TASK", "MESSAGE"].contains(&name.as_str()))
    });
    if takes_sentence && words.len() > 2 {
        return format!("put the sentence in quotes: `{} \"{}\"`", typed.name, words.join(" "));
    }
    typed.help_hint()
}

fn missing_argument(error: &clap::Error, typed: &TypedCommand<'_>) -> CommandError {
    let missing = noted(error, ContextKind::InvalidArg);
    let names: Vec<String> = missing.iter().map(|name| name.replace(['<', '>'], "").replace("...", " …")).collect();
    let answer = CommandError::invalid(format!("missing argument: {}", names.join(", ")));
    match example_of(&typed.name, &typed.rest) {
        Some(example) => answer.hint(format!("for example: {example}")),
        None => answer.hint(typed.help_hint()),
    }
}

fn invalid_value(error: &clap::Error, typed: &TypedCommand<'_>) -> CommandError {
    let argument = noted(error, ContextKind::InvalidArg).pop().unwrap_or_default();
    let argument =
        argument.strip_prefix(['<', '[']).map_or(argument.as_str(), |name| name.trim_end_matches(['>', ']', '.']));
    let value = noted(error, ContextKind::InvalidValue).pop().unwrap_or_default();
    let valid = noted(error, ContextKind::ValidValue);
    let possible = (!valid.is_empty()).then(|| format!("possible: {}", valid.join(", ")));
    if value.is_empty() {
        let answer = CommandError::invalid(format!("`{argument}` needs a value"));
        if ["maestro connect", "maestro disconnect"].contains(&typed.name.as_str()) && argument.starts_with("--project")
        {
            return answer.hint("did you mean `--scope project`?");
        }
        return answer.hint(possible.unwrap_or_else(|| typed.help_hint()));
    }
    let reason = error.source().map(|source| format!(": {}", plain_reason(&source.to_string()))).unwrap_or_default();
    let answer = CommandError::invalid(format!("invalid value `{value}` for `{argument}`{reason}"));
    answer.hint(possible.unwrap_or_else(|| typed.help_hint()))
}

/// What the standard library says about numbers, in plain words.
fn plain_reason(reason: &str) -> String {
    match reason {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected a whole number".to_owned()
        }
        "invalid float literal" => "expected a number".to_owned(),
        _ => match reason.split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) {
            Some((least, most)) => format!("expected {least} to {most}"),
            None => reason.to_owned(),
        },
    }
}

fn conflict(error: &clap::Error, typed: &TypedCommand<'_>) -> CommandError {
    let argument = noted(error, ContextKind::InvalidArg).pop().unwrap_or_default();
    let others = noted(error, ContextKind::PriorArg);
    if argument.is_empty() {
        // A group of commands whose own argument was taken for one of them.
        let word = typed.rest.first().map(String::as_str).unwrap_or_default();
        let group = typed.name.strip_prefix("maestro ").unwrap_or_default();
        let answer = CommandError::invalid(format!("unknown command `{} {word}`", typed.name));
        let meant = meant_by_word(group, word, typed.rest.get(1).map(String::as_str));
        return answer.hint(meant.unwrap_or_else(|| subcommands(typed)));
    }
    let message = if others.is_empty() || others == [argument.clone()] {
        format!("`{argument}` is given twice")
    } else {
        format!("`{argument}` cannot be used with `{}`", others.join("`, `"))
    };
    CommandError::invalid(message).hint(typed.help_hint())
}
