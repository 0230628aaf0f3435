//! Commands of steps: a program and its arguments from a text or a list.
//!
//! A string is split into words once, before anything is substituted.

use super::{DefinitionReader, foreign_words, program_setting, script};
use crate::workflow::command_words::split_words;
use crate::workflow::definition::{
    BuiltinCommand, CommandAction, CommandArgument, CommandEffects, CommandRetry, OutputParsing, PlacedValue, StepWork,
};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::Name;
use crate::workflow::template::{Template, ValueReference};
use crate::yaml::{SourcePosition, YamlNode, YamlValue};

/// The own fields of a `command` step.
pub(super) const KEYS: &[&str] = &[
    "command",
    "shell",
    "env",
    "cwd",
    "secrets",
    "parse",
    "effect",
    "idempotent",
    "retry",
    "for_each",
    "max_parallel",
];

pub(super) fn work(
    fields: &super::definition_reader::MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepWork> {
    let action = match (fields.get("command"), fields.get("shell")) {
        (Some(node), None) => action(node, reader),
        (None, Some(node)) => shell(node, reader),
        _ => {
            let help = "write `command: program argument …`, or `shell:` for a fixed script";
            reader.find(FindingCode::E01, place, "a command step executes one command", help);
            None
        }
    };
    let parses = [("text", OutputParsing::Text), ("lines", OutputParsing::Lines), ("json", OutputParsing::Json)];
    let parse = fields.get("parse").and_then(|node| reader.word(node, "way to read output", &parses));
    let said = fields.get("effect");
    let said = said.and_then(|node| {
        reader.word(node, "effect", &[("read", CommandEffects::Read), ("write", CommandEffects::Write)])
    });
    let idempotent = reader.flag_of(fields.get("idempotent"));
    let retry = retry(fields.get("retry"), reader);
    let setting = program_setting::read(fields, reader);
    let action = action?;
    if let CommandAction::BuiltinCommand { builtin, .. } = &action {
        program_setting::refuse(fields, *builtin, reader);
    }
    let effects = match (&action, said) {
        (CommandAction::BuiltinCommand { builtin, .. }, _) => builtin.effects(),
        (_, Some(CommandEffects::Read)) => CommandEffects::Read,
        (_, _) if idempotent => CommandEffects::Idempotent,
        (_, _) => CommandEffects::Write,
    };
    Some(StepWork::Command { action, parse: parse.unwrap_or_default(), effects, retry, setting })
}

fn retry<'t>(node: Option<&'t YamlNode<'t>>, reader: &mut DefinitionReader<'_>) -> CommandRetry {
    let Some(node) = node else { return CommandRetry::default() };
    if !matches!(node.value, YamlValue::Map(_)) {
        return CommandRetry { max: reader.limit(node, 10).unwrap_or_default(), delay: 0 };
    }
    let fields = reader.fields(node, "`retry`", &["max", "delay"]);
    let max = fields.get("max").and_then(|node| reader.limit(node, 10));
    let delay = fields.get("delay").and_then(|node| reader.seconds(node));
    CommandRetry { max: max.unwrap_or(1), delay: delay.unwrap_or(0) }
}

/// A command: a text, a list, or `{builtin: NAME, …}`.
pub(super) fn action(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<CommandAction> {
    match &node.value {
        YamlValue::Map(_) => builtin(node, reader),
        YamlValue::List(items) => listed(items, node, reader),
        YamlValue::Plain(_) | YamlValue::Quoted(_) => split(node, reader),
    }
}

fn builtin(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<CommandAction> {
    let known: Vec<(&str, BuiltinCommand)> =
        BuiltinCommand::ALL.iter().map(|builtin| (builtin.word(), *builtin)).collect();
    let pairs = reader.pairs(node, "a command");
    let Some(named) = pairs.iter().find(|pair| pair.key == "builtin") else {
        reader.find(FindingCode::E01, node.place, "this is no command", "write a text, a list, or `{builtin: NAME}`");
        return None;
    };
    let builtin = reader.word(&named.value, "built-in", &known)?;
    let mut allowed = vec!["builtin"];
    allowed.extend(builtin.arguments());
    reader.fields(node, &format!("`{}`", builtin.word()), &allowed);
    let mut arguments = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.key != "builtin") {
        let name = Name::parse(&pair.key).ok();
        arguments.extend(name.zip(reader.template(&pair.value)));
    }
    Some(CommandAction::BuiltinCommand { builtin, arguments: super::by_name(arguments) })
}

fn shell(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<CommandAction> {
    let fields = reader.fields(node, "`shell`", &["script", "env"]);
    let Some(script_node) = fields.get("script") else {
        reader.find(FindingCode::E01, node.place, "`shell` has no script", "add `script:`");
        return None;
    };
    let script = reader.text(script_node)?;
    if let Some((name, at)) = looks_filled(&script) {
        let place = reader.place_at(script_node, &script, at);
        let help = format!(
            "hand it over: `env: {{{}: \"{{{name}}}\"}}`, and use `${}`",
            name.to_uppercase(),
            name.to_uppercase()
        );
        reader.find(FindingCode::E14, place, format!("`{{{name}}}` in a script is not replaced"), help);
    }
    let mut env = std::collections::BTreeMap::new();
    if let Some(node) = fields.get("env") {
        for pair in reader.pairs(node, "`env`") {
            if let Some(template) = reader.template(&pair.value) {
                env.insert(pair.key.to_string(), template);
            }
        }
    }
    Some(CommandAction::Shell { script, env })
}

/// A name in braces in a script, which the author seems to expect to be replaced; `${name}` is the shell's own.
fn looks_filled(script: &str) -> Option<(&str, usize)> {
    let mut from = 0;
    while let Some(found) = script[from..].find('{') {
        let at = from + found;
        let inside = &script[at + 1..];
        let end = inside.find('}').unwrap_or(0);
        if !script[..at].ends_with('$') && Name::parse(&inside[..end]).is_ok() {
            return Some((&inside[..end], at));
        }
        from = at + 1;
    }
    None
}

fn listed(items: &[YamlNode<'_>], node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<CommandAction> {
    let Some((first, rest)) = items.split_first() else {
        reader.find(FindingCode::E14, node.place, "the command is empty", "begin with the program's name");
        return None;
    };
    let program = reader.template(first).and_then(|template| program(&template, reader));
    let mut arguments = Vec::new();
    for item in rest {
        if matches!(item.value, YamlValue::Map(_)) {
            let fields = reader.fields(item, "an argument", &["spread"]);
            arguments.extend(fields.get("spread").and_then(|node| spread(node, reader)));
        } else {
            arguments.extend(reader.template(item).map(CommandArgument::Text));
        }
    }
    let program = program?;
    script::check(&program, &arguments, reader);
    Some(CommandAction::Program { program, arguments })
}

fn spread(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<CommandArgument> {
    let text = reader.text(node)?;
    match ValueReference::parse(&text) {
        Ok(reference) => Some(CommandArgument::Spread(reference, node.place)),
        Err(reason) => {
            reader.find(FindingCode::E01, node.place, reason, "write `{spread: name}` with the name of a list");
            None
        }
    }
}

fn program(template: &PlacedValue<Template>, reader: &mut DefinitionReader<'_>) -> Option<String> {
    // Seed 5's way to a skill's own script: the folder is known before anything runs.
    let of_skill = template.text.starts_with("{skill_dir}/") && template.value.references().count() == 1;
    if let Some(help) = foreign_words::help_with_program(&template.text) {
        let message = format!("`{}` is for a shell, and no shell reads this", template.text);
        reader.find_at_start(FindingCode::E14, template.place, message, help);
    }
    if template.value.is_literal() || of_skill {
        return Some(template.text.clone());
    }
    let help = "name the program itself; choose between programs with a `conditional`";
    reader.find(FindingCode::E14, template.place, "the program's name has a placeholder", help);
    None
}

fn split(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<CommandAction> {
    let text = reader.text(node)?;
    let (words, bad) = split_words(&text);
    for bad in bad {
        let place = reader.place_at(node, &text, bad.at);
        reader.find(FindingCode::E14, place, bad.message, bad.help);
    }
    let mut arguments = Vec::new();
    for word in words {
        let place = reader.place_at(node, &text, word.at);
        match Template::parse(&word.text) {
            Ok(value) => {
                let placed = PlacedValue { value, place, text: word.text };
                arguments.push(if word.glob { CommandArgument::Glob(placed) } else { CommandArgument::Text(placed) });
            }
            Err(bad) => reader.find(FindingCode::E01, place, bad.reason, "names stand between braces, as in `{name}`"),
        }
    }
    let mut arguments = arguments.into_iter();
    let Some(CommandArgument::Text(first)) = arguments.next() else {
        reader.find(FindingCode::E14, node.place, "the command names no program", "begin with the program's name");
        return None;
    };
    let (program, arguments) = (program(&first, reader)?, arguments.collect::<Vec<_>>());
    script::check(&program, &arguments, reader);
    Some(CommandAction::Program { program, arguments })
}
