//! `maestro help`: the overview, a command, or the commands of agents.

use maestro_core::closest_word;

use crate::args::{Cli, HelpArgs};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::help;

pub(crate) fn run(args: &HelpArgs, world: &World) -> CommandResult {
    if let [topic] = args.topic.as_slice()
        && topic == "agent"
    {
        return Ok(CommandOutput::text(fitted(help::AGENT, world)));
    }
    let mut grammar = Cli::grammar();
    grammar.build();
    let mut command = &mut grammar;
    for word in &args.topic {
        let known: Vec<String> = command.get_subcommands().map(|known| known.get_name().to_owned()).collect();
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            let error = CommandError::not_found(format!("unknown command `{word}`"));
            match closest_word::closest(word, known.iter().map(String::as_str)) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint("run `maestro --help` for the list of commands"),
            }
        })?;
    }
    Ok(CommandOutput::text(fitted(&command.render_help().to_string(), world)))
}

fn fitted(text: &str, world: &World) -> String {
    world.width.map_or_else(|| text.to_owned(), |width| help::wrapped(text, width))
}
