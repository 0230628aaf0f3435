//! `maestro help`: the overview, a command, a guide, or the commands of agents.

mod guides;

use std::fmt::Write as _;

use maestro_core::closest_word;

use self::guides::GUIDES;
use crate::args::{Cli, HelpArgs};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::help;
use crate::output::screen::pad;

pub(crate) fn run(args: &HelpArgs, world: &World) -> CommandResult {
    if let [topic] = args.topic.as_slice()
        && topic == "agent"
    {
        return Ok(CommandOutput::text(fitted(help::AGENT, world)));
    }
    match args.topic.as_slice() {
        [topic] if topic == "guide" || topic == "guides" => return Ok(CommandOutput::text(list_guides())),
        [topic] if topic == "topics" => return Ok(CommandOutput::text(list_guides())),
        [topic, name] if topic == "guide" => return guide(name, world),
        [name] if Cli::grammar().find_subcommand(name).is_none() && is_guide(name) => return guide(name, world),
        _ => {}
    }
    let mut grammar = Cli::grammar();
    grammar.build();
    let mut command = &mut grammar;
    for word in &args.topic {
        let known: Vec<String> = command.get_subcommands().map(|known| known.get_name().to_owned()).collect();
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            if is_guide(word) {
                return CommandError::invalid("a guide is one word").hint(format!("run `maestro help guide {word}`"));
            }
            let error = CommandError::not_found(format!("unknown command `{word}`"));
            let guides = GUIDES.iter().map(|guide| guide.name);
            match closest_word::closest(word, known.iter().map(String::as_str).chain(guides)) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint("run `maestro --help` for the commands, `maestro help guide` for the guides"),
            }
        })?;
    }
    let mut text = command.render_help().to_string();
    if let [command] = args.topic.as_slice()
        && let Some(guide) = guides::about_command(command)
    {
        let _ = writeln!(text, "\nGuide: `maestro help guide {guide}`");
    }
    Ok(CommandOutput::text(fitted(&text, world)))
}

fn is_guide(name: &str) -> bool {
    GUIDES.iter().any(|guide| guide.name == name)
}

fn list_guides() -> String {
    let mut text = "Guides: `maestro help guide NAME`\n\n".to_owned();
    let width = GUIDES.iter().map(|guide| guide.name.len()).max().unwrap_or_default();
    for guide in GUIDES {
        let _ = writeln!(text, "  {}  {}", pad(guide.name, width), guide.about);
    }
    text
}

fn guide(name: &str, world: &World) -> CommandResult {
    let found = GUIDES.iter().find(|guide| guide.name == name);
    let unknown = || {
        let names: Vec<&str> = GUIDES.iter().map(|guide| guide.name).collect();
        CommandError::not_found(format!("unknown guide `{name}`")).hint(format!("guides: {}", names.join(", ")))
    };
    Ok(CommandOutput::text(found.ok_or_else(unknown)?.to_text(world.width, world.paint)))
}

fn fitted(text: &str, world: &World) -> String {
    world.width.map_or_else(|| text.to_owned(), |width| help::wrapped(text, width))
}
