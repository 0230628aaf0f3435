//! Log: what goes on inside, for people as text and for machines as JSON.
//!
//! Lines go to a file beside the database, and to standard error where `MAESTRO_LOG` asks for them. Commands print their
//! own errors, so without it nothing is said twice.

mod file;

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr as _;

use maestro_core::secret_mask::SecretMask;
use maestro_store::DatabaseLocation;
use serde_json::{Map, Value as Json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Scope};

use self::file::LogFile;
use crate::args::{CliCommand, WorkerCommand};
use crate::host::world::World;
use crate::output::time;
use crate::server_process::database;

/// The variable that says what is logged: a level, or levels of parts, as in `warn,maestro_engine=debug`.
const FILTER: &str = "MAESTRO_LOG";
/// The variable that says how: `text` or `json`.
const FORMAT: &str = "MAESTRO_LOG_FORMAT";
/// Variables whose values must not be logged.
const SECRETS: [&str; 2] = ["MAESTRO_AUTH_TOKEN", "MAESTRO_SESSION_TOKEN"];

/// How a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogFormat {
    Text,
    Json,
}

/// Whether lines go to standard error, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogEcho {
    FileOnly,
    StandardError,
}

/// Logs what this process does from now on.
pub(crate) fn start(world: &World, command: Option<&CliCommand>) {
    let serves = match command {
        Some(CliCommand::Up(_)) => true,
        Some(CliCommand::Worker(args)) => matches!(args.command, WorkerCommand::Run { .. }),
        _ => false,
    };
    let usual = if serves { Level::INFO } else { Level::WARN };
    let wanted = world.variable(FILTER).filter(|filter| !filter.trim().is_empty());
    // A filter that cannot be understood must not keep a command from its work.
    let filter = wanted.map(Targets::from_str).transpose();
    let misunderstood = filter.as_ref().err().map(ToString::to_string);
    let filter = filter.unwrap_or_default();
    let echo = if filter.is_some() { LogEcho::StandardError } else { LogEcho::FileOnly };
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(Level::WARN).with_target("maestro", usual));
    let layer = LogLayer {
        format: if world.variable(FORMAT) == Some("json") { LogFormat::Json } else { LogFormat::Text },
        echo,
        file: LogFile::new(path(world)),
        mask: SecretMask::new(SECRETS.iter().filter_map(|name| world.variable(name))),
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    // There is only one for a process, and it is set here only.
    let _ = tracing::subscriber::set_global_default(subscriber);
    if let Some(reason) = misunderstood {
        tracing::warn!("`{FILTER}` is not a level or a list of levels: {reason}");
    }
}

/// The log beside the database; beside Maestro's other files where that is no file.
pub(crate) fn path(world: &World) -> PathBuf {
    match database::database_url(world) {
        DatabaseLocation::File(path) if path.extension().is_some_and(|extension| extension == "db") => {
            path.with_extension("log")
        }
        DatabaseLocation::File(path) => path.with_added_extension("log"),
        DatabaseLocation::Postgres(_) => world.maestro_home.join("maestro.log"),
    }
}

/// Writes what happens, line by line.
struct LogLayer {
    format: LogFormat,
    echo: LogEcho,
    file: LogFile,
    mask: SecretMask,
}

/// The fields of a span or an event.
#[derive(Default)]
struct LogFields(Map<String, Json>);

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = LogFields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<LogFields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // The outermost span comes first, and what the event itself says counts.
        let mut fields = LogFields::default();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(own) = span.extensions().get::<LogFields>() {
                fields.0.extend(own.0.clone());
            }
        }
        event.record(&mut fields);
        let message = fields.0.shift_remove("message").unwrap_or_default();
        let metadata = event.metadata();
        let line = match self.format {
            LogFormat::Text => text_line(*metadata.level(), metadata.target(), &message, &fields.0),
            LogFormat::Json => json_line(*metadata.level(), metadata.target(), message, fields.0),
        };
        let line = self.mask.apply(&line);
        self.file.write(&line);
        if self.echo == LogEcho::StandardError {
            // A closed standard error is no reason to stop.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }
}

fn text_line(level: Level, target: &str, message: &Json, fields: &Map<String, Json>) -> String {
    let mut line = format!("{} {level:>5} {target}: {}", now(), text_of(message));
    for (name, value) in fields {
        let _ = write!(line, " {name}={}", text_of(value));
    }
    // One line for one event, whatever is in it.
    line = line.replace(['\n', '\r'], " ");
    line.push('\n');
    line
}

fn now() -> String {
    time::iso(database::clock()())
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn json_line(level: Level, target: &str, message: Json, fields: Map<String, Json>) -> String {
    let mut line = Map::new();
    line.insert("time".to_owned(), now().into());
    line.insert("level".to_owned(), level.as_str().to_lowercase().into());
    line.insert("target".to_owned(), target.into());
    line.insert("message".to_owned(), message);
    for (name, value) in fields {
        line.entry(name).or_insert(value);
    }
    Json::Object(line).to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_says_what_happened_to_which_session_and_holds_no_secret() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("maestro.log");
        for (format, wanted) in [
            (LogFormat::Text, " WARN test: TOKEN=(secret) of session=ses_1 attempt=2\n"),
            (
                LogFormat::Json,
                r#""level":"warn","target":"test","message":"TOKEN=(secret) of","session":"ses_1","attempt":2}"#,
            ),
        ] {
            let mask = SecretMask::new(["hush-hush"].into_iter());
            let layer = LogLayer { format, echo: LogEcho::FileOnly, file: LogFile::new(path.clone()), mask };
            let subscriber =
                tracing_subscriber::registry().with(layer.with_filter(Targets::new().with_default(Level::INFO)));
            tracing::subscriber::with_default(subscriber, || {
                let _entered = tracing::info_span!("agent", session = "ses_1").entered();
                tracing::warn!(target: "test", attempt = 2, "TOKEN=hush-hush of");
                tracing::debug!(target: "test", "not asked for");
            });
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(wanted), "{text}");
            assert!(!text.contains("not asked for"), "{text}");
            fs::remove_file(&path).unwrap();
        }
    }
}
