//! The table of coding agents: how each one is started, prompted and resumed.

mod agent_dirs;
mod agent_toml;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::parse::Format;
use crate::closest_word;
pub use crate::toml_table::TableMistake;
use crate::word_enum::words;

/// The built-in table.
const BUILTIN: &str = include_str!("agents.toml");

words! {
    /// How an agent is spoken with.
    pub enum Driver {
        /// It prints what it does, line by line.
        Json = "json",
        /// The Agent Client Protocol over its standard input and output.
        Acp = "acp",
        /// It is asked once and prints text.
        Text = "text",
    }

    /// How an agent gets its prompt; never as an argument, which every user of the machine can read and which may be too
    /// long.
    pub enum PromptDelivery {
        /// On standard input.
        Stdin = "stdin",
        /// As a message on standard input, in Claude Code's words: more can be said later, and it can ask.
        Stream = "stream",
        /// In a file, whose path stands for `{prompt_file}`.
        File = "file",
        /// As a message of the protocol.
        Protocol = "protocol",
    }

    /// What an agent may do without asking.
    pub enum Permission {
        /// Read.
        Ask = "ask",
        /// Edit files, and report.
        Edits = "edits",
        /// Everything.
        All = "all",
    }

    /// Whether an agent can run `maestro` to say how far it is.
    pub enum ReportAbility {
        /// It has a shell.
        Able = "able",
        /// It has none; what it did shows only in the files.
        Unable = "unable",
    }
}

/// A coding agent that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodingAgent {
    /// What it is called here.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// The ways to speak with it, the preferred one first.
    pub prefer: Vec<Driver>,
    /// Why that one.
    pub reason: Option<String>,
    /// What each way needs.
    pub drivers: BTreeMap<Driver, LaunchSpec>,
    /// Variables it is started with.
    pub env: BTreeMap<String, String>,
    /// Variables it is started with for a permission.
    pub permission_env: BTreeMap<Permission, BTreeMap<String, String>>,
    /// The variable that says how often it asks a model's server again.
    pub retries: Option<String>,
    /// Whether it can report.
    pub reporting: ReportAbility,
    /// What the model sees of a tool of an MCP server, with `{server}` and `{tool}`.
    pub mcp: Option<String>,
    /// The file of a project in which it looks for instructions.
    pub instructions: Option<String>,
    /// The folders of a project in which it looks for skills.
    pub skills: Vec<String>,
    /// Where it writes on its own account; see [`CodingAgent::places`].
    pub writes: Vec<String>,
    /// Patterns of files it leaves in a project that are not work.
    pub leaves: Vec<String>,
    /// Variables it gets of the user's environment, such as the keys of its models; `*` at the end stands for any rest.
    pub inherits: Vec<String>,
}

/// What one way to speak with an agent needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The programs to look for, the first that is there.
    pub programs: Vec<String>,
    /// Arguments at the beginning.
    pub args: Vec<String>,
    /// Arguments at the end.
    pub tail: Vec<String>,
    /// Arguments that name the model, with `{model}`.
    pub model: Vec<String>,
    /// The variable that names the model, where no argument does.
    pub model_env: Option<String>,
    /// Arguments that name a fresh session, with `{session}`; none, if the agent names it.
    pub session: Vec<String>,
    /// Arguments that resume a session, with `{session}`; none, if it cannot.
    pub resume: Vec<String>,
    /// The command that opens a session in the agent's own interface, with `{session}`; none, if it has none.
    pub attach: Vec<String>,
    /// Arguments for a permission.
    pub permissions: BTreeMap<Permission, Vec<String>>,
    /// Arguments for a permission in place of those, where our own sandbox holds the agent: one of its own cannot be put
    /// up inside of it.
    pub sandboxed: BTreeMap<Permission, Vec<String>>,
    /// The protocol's word for a permission, to be set when a session has started.
    pub modes: BTreeMap<Permission, String>,
    /// How it gets its prompt.
    pub prompt: PromptDelivery,
    /// What its output is written in.
    pub format: Format,
}

/// Which session of the agent's own a start is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationFlags<'a> {
    /// A fresh one; where the agent lets us, it has this name.
    Fresh(&'a str),
    /// One that was there before.
    Resumed(&'a str),
}

/// What is filled in when an agent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchValues<'a> {
    /// The session.
    pub conversation: ConversationFlags<'a>,
    /// The model, if not the agent's own choice.
    pub model: Option<&'a str>,
    /// The file with the prompt, for those that get it so.
    pub prompt_file: &'a str,
    /// What it may do.
    pub permission: Permission,
}

impl LaunchSpec {
    fn new(driver: Driver) -> Self {
        let (prompt, format) = match driver {
            Driver::Acp => (PromptDelivery::Protocol, Format::Text),
            Driver::Json => (PromptDelivery::Stdin, Format::Events),
            Driver::Text => (PromptDelivery::Stdin, Format::Text),
        };
        Self {
            programs: Vec::new(),
            args: Vec::new(),
            tail: Vec::new(),
            model: Vec::new(),
            model_env: None,
            session: Vec::new(),
            resume: Vec::new(),
            attach: Vec::new(),
            permissions: BTreeMap::new(),
            sandboxed: BTreeMap::new(),
            modes: BTreeMap::new(),
            prompt,
            format,
        }
    }

    /// The arguments, filled in. Each placeholder stays inside its argument, and what is filled in is not read again.
    pub fn arguments(&self, fill: &LaunchValues<'_>) -> Vec<String> {
        let (session, named) = match fill.conversation {
            ConversationFlags::Fresh(session) => (session, &self.session),
            ConversationFlags::Resumed(session) => (session, &self.resume),
        };
        let model = if fill.model.is_some() { self.model.as_slice() } else { &[] };
        let permission = self.permissions.get(&fill.permission).map_or(&[][..], Vec::as_slice);
        let all = [&self.args, permission, model, named, &self.tail];
        let values =
            [("{session}", session), ("{model}", fill.model.unwrap_or_default()), ("{prompt_file}", fill.prompt_file)];
        all.into_iter().flatten().map(|argument| fill_placeholders(argument, &values)).collect()
    }

    /// The same, for an agent that our own sandbox holds.
    #[must_use]
    pub fn inside_sandbox(mut self) -> Self {
        self.permissions.extend(self.sandboxed.clone());
        self
    }

    /// The command that opens a session in the agent's own interface.
    pub fn attach_arguments(&self, session: &str) -> Vec<String> {
        self.attach.iter().map(|argument| fill_placeholders(argument, &[("{session}", session)])).collect()
    }

    /// Whether it can resume an earlier session.
    pub fn can_resume(&self) -> bool {
        self.prompt == PromptDelivery::Protocol || !self.resume.is_empty()
    }
}

/// The text with each placeholder replaced, in one pass.
fn fill_placeholders(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // A brace that begins no placeholder stands for itself.
        let (name, value) = values.iter().find(|(name, _)| rest.starts_with(name)).unwrap_or(&("{", "{"));
        out.push_str(value);
        rest = &rest[name.len()..];
    }
    out.push_str(rest);
    out
}

impl CodingAgent {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: name.to_owned(),
            prefer: Vec::new(),
            reason: None,
            drivers: BTreeMap::new(),
            env: BTreeMap::new(),
            permission_env: BTreeMap::new(),
            retries: None,
            reporting: ReportAbility::Able,
            mcp: None,
            instructions: None,
            skills: Vec::new(),
            writes: Vec::new(),
            leaves: Vec::new(),
            inherits: Vec::new(),
        }
    }

    /// What this way to speak with it needs, if there is such a way.
    pub fn launch(&self, driver: Driver) -> Option<&LaunchSpec> {
        self.drivers.get(&driver)
    }

    /// The ways to speak with it, the preferred ones first.
    pub fn drivers(&self) -> impl Iterator<Item = (Driver, &LaunchSpec)> {
        let others = Driver::ALL.iter().filter(|driver| !self.prefer.contains(driver));
        self.prefer.iter().chain(others).filter_map(|driver| Some((*driver, self.launch(*driver)?)))
    }

    /// The variables it is started with. `retries` is how often it may ask a model's server again by itself.
    pub fn variables(&self, launch: &LaunchSpec, fill: &LaunchValues<'_>, retries: u32) -> BTreeMap<String, String> {
        let mut variables = self.env.clone();
        variables.extend(self.permission_env.get(&fill.permission).into_iter().flatten().map(owned));
        variables.extend(self.retries.clone().map(|name| (name, retries.to_string())));
        variables.extend(launch.model_env.clone().zip(fill.model.map(str::to_owned)));
        variables
    }

    /// What the model sees of a tool of an MCP server.
    pub fn mcp_name(&self, server: &str, tool: &str) -> Option<String> {
        self.mcp.as_ref().map(|form| fill_placeholders(form, &[("{server}", server), ("{tool}", tool)]))
    }

    /// Whether a file in a project is something it leaves there on its own account, and no work.
    pub fn leaves_behind(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or(path);
        self.leaves.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => first.starts_with(beginning),
            None => first == pattern,
        })
    }

    /// The directories and files it writes on its own account: `~` is the home directory, `{config}`, `{data}`,
    /// `{state}` and `{cache}` the user's directories of that kind, and `$NAME` what a variable says, if it is set.
    pub fn places(&self, env: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        self.writes.iter().filter_map(|place| agent_dirs::expand_dir(place, env)).collect()
    }
}

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

/// The agents that are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCatalogue {
    agents: Vec<CodingAgent>,
}

impl AgentCatalogue {
    /// The built-in agents.
    pub fn builtin() -> Self {
        Self { agents: Vec::new() }.extend_from_toml(BUILTIN).0
    }

    /// These, with what a text adds or changes, and what is wrong with the text. An entry with a mistake counts as far
    /// as it can be understood.
    #[must_use]
    pub fn extend_from_toml(mut self, text: &str) -> (Self, Vec<TableMistake>) {
        let mistakes = agent_toml::add(text, &mut self.agents);
        (self, mistakes)
    }

    /// All of them, in the order in which they are shown.
    pub fn all(&self) -> &[CodingAgent] {
        &self.agents
    }

    /// The agent of this name.
    pub fn find(&self, name: &str) -> Result<&CodingAgent, UnknownAgent> {
        self.agents.iter().find(|agent| agent.name == name).ok_or_else(|| {
            let known: Vec<String> = self.agents.iter().map(|agent| agent.name.clone()).collect();
            let close = closest_word::closest(name, known.iter().map(String::as_str)).map(str::to_owned);
            UnknownAgent { name: name.to_owned(), close, known }
        })
    }
}

/// The name of an agent that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent `{name}`")]
pub struct UnknownAgent {
    /// What was named.
    pub name: String,
    /// What was probably meant.
    pub close: Option<String>,
    /// What could be meant.
    pub known: Vec<String>,
}
