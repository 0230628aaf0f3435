//! Items that Maestro puts into a tool's settings, and how it recognizes them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::edit::read;
use super::tool_table::{EntryShape, WorkspaceVariable};
use super::{ConnectableTool, SERVER, SettingsFormat, SettingsScope};

/// One thing in a settings file.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsItem {
    /// The keys that lead to it.
    pub path: Vec<&'static str>,
    /// What stands there.
    pub slot: ItemSlot,
    /// What it is.
    pub value: Json,
    /// What a file that is made for it says before it.
    pub opening: Option<(&'static str, Json)>,
}

/// What the last key of an item's path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemSlot {
    /// The item itself.
    Member,
    /// A list of entries, each of which has a list of hooks; the item is one of these hooks.
    Hook,
    /// A list of hooks; the item is one of them.
    PlainHook,
}

impl ItemSlot {
    /// Whether the item is one of a list, in which it may stand more than once.
    pub(super) fn is_listed(self) -> bool {
        self != Self::Member
    }
}

/// Where an entry has its hooks.
pub(super) const HOOKS: &str = "hooks";
/// By which key most have what they start.
const COMMAND: &str = "command";
/// By which key most have the arguments of that.
const ARGS: &str = "args";

/// How an item that stands in a file already compares with the one that should.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ItemMatch {
    /// It does what it should.
    Same,
    /// It is Maestro's, and one word of it should be another by now.
    Stale(ProgramUpdate),
    /// It is exactly as an earlier Maestro wrote it, and all of it should be another by now.
    Outdated,
    /// It is not Maestro's.
    Other,
}

/// The one word of an item that changes when the program moves, and what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramUpdate {
    pub(super) place: ProgramPosition,
    pub(super) word: String,
}

/// Where in an item such a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramPosition {
    /// It is all that this key has.
    Whole(&'static str),
    /// It is the first of the list that this key has.
    FirstOf(&'static str),
}

impl ProgramUpdate {
    /// What an item is with that word in it; all else in it is its owner's.
    pub(super) fn put_into(&self, found: &Json) -> Json {
        let mut fresh = found.clone();
        let old = match self.place {
            ProgramPosition::Whole(key) => fresh.get_mut(key),
            ProgramPosition::FirstOf(key) => fresh.get_mut(key).and_then(|list| list.get_mut(0)),
        };
        if let Some(old) = old {
            *old = Json::from(self.word.as_str());
        }
        fresh
    }
}

/// The variable that stands for the folder that is open, in the tools that have one.
const WORKSPACE: &str = "${workspaceFolder}";

/// The MCP server `maestro` as a tool's settings name it, started by `program`.
///
/// OpenCode has two layouts; `text` is what its file says so far, which tells them apart.
pub fn server(client: ConnectableTool, scope: SettingsScope, program: &str, text: Option<&str>) -> SettingsItem {
    let facts = client.facts();
    let names_workspace = match facts.workspace {
        WorkspaceVariable::Absent => false,
        WorkspaceVariable::InProject => scope == SettingsScope::Project,
        WorkspaceVariable::Everywhere => true,
    };
    let args = if names_workspace { json!(["mcp", "--directory", WORKSPACE]) } else { json!(["mcp"]) };
    let plain = json!({ "command": program, "args": args });
    let stdio = json!({ "type": "stdio", "command": program, "args": args });
    let (path, value) = match facts.entry {
        EntryShape::Plain => (vec!["mcpServers", SERVER], plain),
        EntryShape::Stdio => (vec!["mcpServers", SERVER], stdio),
        EntryShape::Local => {
            (vec!["mcpServers", SERVER], json!({ "type": "local", "command": program, "args": args, "tools": ["*"] }))
        }
        EntryShape::Servers => (vec!["servers", SERVER], stdio),
        EntryShape::OpenCode if text.is_some_and(has_server_table) => {
            (vec!["mcp", "servers", SERVER], json!({ "type": "local", "command": [program, "mcp"] }))
        }
        EntryShape::OpenCode => {
            (vec!["mcp", SERVER], json!({ "type": "local", "command": [program, "mcp"], "enabled": true }))
        }
        EntryShape::Codex => (vec!["mcp_servers", SERVER], plain),
        EntryShape::Goose => (
            vec!["extensions", SERVER],
            json!({
                "name": SERVER, "type": "stdio", "cmd": program, "args": args, "envs": {}, "enabled": true,
                "timeout": 300,
            }),
        ),
        EntryShape::Context => {
            (vec!["context_servers", SERVER], json!({ "command": program, "args": args, "env": {} }))
        }
        EntryShape::Amp => (vec!["amp.mcpServers", SERVER], plain),
        EntryShape::Crush => (vec!["mcp", SERVER], stdio),
    };
    SettingsItem { path, slot: ItemSlot::Member, value, opening: None }
}

/// What a tool starts when it starts Maestro.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables that are set for it.
    pub env: BTreeMap<String, String>,
}

/// What a tool's settings have it start, if they name Maestro.
pub fn find_server_command(text: &str, format: SettingsFormat, client: ConnectableTool) -> Option<ServerCommand> {
    let item = server(client, SettingsScope::User, SERVER, Some(text));
    let whole = read(text, format).ok()?;
    let entry = item.find(&whole).filter(|entry| item.is_ours(entry))?;
    let command = command(entry)?.into_iter().map(str::to_owned).collect();
    let env = ["env", "envs", "environment"].iter().find_map(|name| entry.get(name)?.as_object());
    let text = |(name, value): (&String, &Json)| Some((name.clone(), value.as_str()?.to_owned()));
    Some(ServerCommand { command, env: env.into_iter().flatten().filter_map(text).collect() })
}

/// The calls of `maestro hook`, one for each event of a tool; none for a tool without hooks.
pub fn hooks(client: ConnectableTool, program: &str) -> Vec<SettingsItem> {
    let events: &[&str] = match client {
        ConnectableTool::ClaudeCode => &["SessionStart", "UserPromptSubmit", "Notification", "Stop", "SessionEnd"],
        ConnectableTool::Codex => &["SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop"],
        ConnectableTool::Gemini => &["SessionStart", "BeforeAgent", "Notification", "AfterAgent", "SessionEnd"],
        ConnectableTool::Cursor => &["sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"],
        _ => &[],
    };
    let command = format!("{} hook {}", quoted(program), client.as_str());
    let call = match client {
        // It counts in milliseconds, the others in seconds.
        ConnectableTool::Gemini => json!({ "type": "command", "name": SERVER, "command": command, "timeout": 5000 }),
        ConnectableTool::Cursor => json!({ "command": command, "timeout": 5 }),
        _ => json!({ "type": "command", "command": command, "timeout": 5 }),
    };
    // Cursor wants to know by which rules its file is written.
    let (slot, opening) = match client {
        ConnectableTool::Cursor => (ItemSlot::PlainHook, Some(("version", json!(1)))),
        _ => (ItemSlot::Hook, None),
    };
    let item = |event: &&'static str| SettingsItem {
        path: vec![HOOKS, event],
        slot,
        value: call.clone(),
        opening: opening.clone(),
    };
    events.iter().map(item).collect()
}

/// Whether a tool's settings have it call `maestro hook`, wherever the program is.
pub fn calls_maestro(text: &str, format: SettingsFormat, client: ConnectableTool) -> bool {
    read(text, format).is_ok_and(|whole| hooks(client, SERVER).iter().any(|item| item.find(&whole).is_some()))
}

/// A program as a shell reads it: tools hand their hooks to one.
fn quoted(program: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if program.chars().all(is_plain) { program.to_owned() } else { format!("'{}'", program.replace('\'', "'\\''")) }
}

/// Whether an OpenCode file has its servers in a table of their own, as its second version does.
fn has_server_table(text: &str) -> bool {
    super::json::value(text).is_ok_and(|value| value.pointer("/mcp/servers").is_some_and(Json::is_object))
}

impl SettingsItem {
    /// Compares what stands in a file with this.
    pub(super) fn compare(&self, found: &Json) -> ItemMatch {
        let (Some(found_words), Some(words)) = (self.words(found), self.words(&self.value)) else {
            return ItemMatch::Other;
        };
        // Arguments that the user added to Maestro's own stay.
        if found_words.starts_with(&words) {
            return ItemMatch::Same;
        }
        match self.fresh(found).filter(|_| is_ours(&found_words, &words)) {
            Some(_) if self.is_outdated(found) => ItemMatch::Outdated,
            // With changed arguments it is the user's, except for the program.
            Some(_) if found_words.first() == words.first() && self.slot == ItemSlot::Member => ItemMatch::Same,
            Some(fresh) => ItemMatch::Stale(fresh),
            None => ItemMatch::Other,
        }
    }

    /// Whether what stands in a file is this with the arguments that an earlier Maestro wrote, and nothing of anybody's.
    fn is_outdated(&self, found: &Json) -> bool {
        let Some([first, _, ..]) = self.value.get(ARGS).and_then(Json::as_array).map(Vec::as_slice) else {
            return false;
        };
        let mut earlier = self.value.clone();
        if let (Some((key, program)), Some(entries)) = (program(found), earlier.as_object_mut()) {
            entries.insert(key.to_owned(), program.clone());
            entries.insert(ARGS.to_owned(), json!([first]));
        }
        *found == earlier
    }

    /// The word that what stands in a file needs to be up to date.
    fn fresh(&self, found: &Json) -> Option<ProgramUpdate> {
        let place = match program(found)? {
            (key, Json::Array(_)) => ProgramPosition::FirstOf(key),
            (key, _) => ProgramPosition::Whole(key),
        };
        let word = match self.slot {
            ItemSlot::Member => self.words(&self.value)?.first().copied(),
            ItemSlot::Hook | ItemSlot::PlainHook => self.value.get(COMMAND)?.as_str(),
        };
        Some(ProgramUpdate { place, word: word?.to_owned() })
    }

    /// The words of the command that something in the item's place starts.
    fn words<'a>(&self, found: &'a Json) -> Option<Vec<&'a str>> {
        match self.slot {
            ItemSlot::Member => command(found),
            ItemSlot::Hook | ItemSlot::PlainHook => hook_command(found),
        }
    }

    /// Whether what stands in a file is Maestro's.
    pub(super) fn is_ours(&self, found: &Json) -> bool {
        self.compare(found) != ItemMatch::Other
    }

    /// What stands in the file of an item, if it does.
    pub(super) fn find<'a>(&self, whole: &'a Json) -> Option<&'a Json> {
        let there = self.path.iter().try_fold(whole, |value, key| value.get(key))?;
        match self.slot {
            ItemSlot::Member => Some(there),
            ItemSlot::Hook => {
                let lists = there.as_array()?.iter().filter_map(|entry| entry.get(HOOKS)?.as_array());
                lists.flatten().find(|hook| self.is_ours(hook))
            }
            ItemSlot::PlainHook => there.as_array()?.iter().find(|hook| self.is_ours(hook)),
        }
    }

    /// What a file says with the item in it.
    pub(super) fn put_into(&self, whole: &Json) -> Option<Json> {
        let mut whole = whole.clone();
        let (name, way) = self.path.split_last()?;
        let mut holder = whole.as_object_mut()?;
        for key in way {
            let inner = holder.entry(*key).or_insert_with(|| json!({}));
            if inner.is_null() {
                *inner = json!({});
            }
            holder = inner.as_object_mut()?;
        }
        match self.slot {
            ItemSlot::Member => drop(holder.insert((*name).to_owned(), self.value.clone())),
            ItemSlot::Hook => {
                let entries = holder.entry(*name).or_insert_with(|| json!([])).as_array_mut()?;
                match entries.iter_mut().filter_map(hooks_of).flatten().find(|hook| self.is_ours(hook)) {
                    Some(stale) => stale.clone_from(&self.value),
                    None => entries.push(self.entry()),
                }
            }
            ItemSlot::PlainHook => {
                let entries = holder.entry(*name).or_insert_with(|| json!([])).as_array_mut()?;
                match entries.iter_mut().find(|hook| self.is_ours(hook)) {
                    Some(stale) => stale.clone_from(&self.value),
                    None => entries.push(self.entry()),
                }
            }
        }
        Some(whole)
    }

    /// What a file says beside the item, and beside what is there for the item only.
    pub(super) fn rest_of(&self, whole: &Json) -> Json {
        let mut whole = whole.clone();
        self.take_from(&mut whole, &self.path);
        whole
    }

    fn take_from(&self, holder: &mut Json, path: &[&str]) {
        let (Some(holder), Some((key, deeper))) = (holder.as_object_mut(), path.split_first()) else { return };
        let Some(value) = holder.get_mut(*key) else { return };
        match (deeper.is_empty(), self.slot) {
            (false, _) => self.take_from(value, deeper),
            (true, ItemSlot::Member) => *value = Json::Null,
            (true, ItemSlot::Hook) => {
                if let Some(entries) = value.as_array_mut() {
                    entries.retain_mut(|entry| self.leaves_something(entry));
                }
            }
            (true, ItemSlot::PlainHook) => {
                if let Some(entries) = value.as_array_mut() {
                    entries.retain(|entry| !self.is_ours(entry));
                }
            }
        }
        let is_empty = match &*value {
            Json::Null => true,
            Json::Object(entries) => entries.is_empty(),
            Json::Array(list) => list.is_empty(),
            _ => false,
        };
        if is_empty {
            holder.remove(*key);
        }
    }

    /// Takes the item out of an entry with hooks, and says whether the entry is there for anything else.
    fn leaves_something(&self, entry: &mut Json) -> bool {
        let Some(hooks) = hooks_of(entry) else { return true };
        let all = hooks.len();
        hooks.retain(|hook| !self.is_ours(hook));
        hooks.len() == all || !hooks.is_empty()
    }

    /// What is one more of the list that the path leads to.
    pub(super) fn entry(&self) -> Json {
        match self.slot {
            ItemSlot::Member | ItemSlot::PlainHook => self.value.clone(),
            ItemSlot::Hook => json!({ HOOKS: [self.value] }),
        }
    }

    /// What a file says that is made for it.
    pub(super) fn whole_file(&self) -> Option<Json> {
        let opening = self.opening.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Some(opening.chain([((*self.path.first()?).to_owned(), self.wrapped(0))]).collect())
    }

    /// The path as a person would write it.
    pub(super) fn shown(&self, keys: usize) -> String {
        self.path[..keys.min(self.path.len())].join(".")
    }

    /// The item with everything around it that is missing below the key number `depth`.
    pub(super) fn wrapped(&self, depth: usize) -> Json {
        let innermost = match self.slot {
            ItemSlot::Member => self.value.clone(),
            ItemSlot::Hook | ItemSlot::PlainHook => json!([self.entry()]),
        };
        self.path[depth + 1..].iter().rev().fold(innermost, |inner, key| json!({ *key: inner }))
    }
}

/// The hooks of an entry.
fn hooks_of(entry: &mut Json) -> Option<&mut Vec<Json>> {
    entry.get_mut(HOOKS)?.as_array_mut()
}

/// The words of the command that is a call of `maestro hook`; none of any other.
fn hook_command(hook: &Json) -> Option<Vec<&str>> {
    let (program, agent) = hook.get(COMMAND)?.as_str()?.rsplit_once(" hook ")?;
    Some(vec![program.trim_matches('\''), "hook", agent])
}

/// The words of the command that an entry starts.
fn command(entry: &Json) -> Option<Vec<&str>> {
    match program(entry)?.1 {
        Json::String(program) => {
            let rest = entry.get(ARGS).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
            std::iter::once(Some(program.as_str())).chain(rest.iter().map(Json::as_str)).collect()
        }
        Json::Array(words) => words.iter().map(Json::as_str).collect(),
        _ => None,
    }
}

/// What an entry has for the program that it starts, with the key that it has it by.
fn program(entry: &Json) -> Option<(&'static str, &Json)> {
    [COMMAND, "cmd"].into_iter().find_map(|key| Some((key, entry.get(key)?)))
}

/// Whether a command starts Maestro for the same purpose as the wanted one, wherever the program is.
fn is_ours(words: &[&str], wanted: &[&str]) -> bool {
    let ([program, purpose, ..], [own, wanted, ..]) = (words, wanted) else { return false };
    let is_name = |name: &OsStr| Path::new(own).file_name() == Some(name) || name.to_str().is_some_and(is_program_name);
    purpose == wanted && Path::new(program).file_name().is_some_and(is_name)
}

/// Whether a program's name is Maestro's, also of a copy such as `maestro-nightly`.
fn is_program_name(name: &str) -> bool {
    name.strip_prefix(SERVER).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '_']))
}
