//! Loader of workflow definitions, with every finding at once.
//!
//! The text is parsed into one tree with places. The code that walks the tree continues after a mistake, so that one pass
//! reports everything. Only a definition without errors is returned.

mod branches;
mod command;
mod declarations;
mod definition_reader;
mod foreign_words;
mod outcome_routes;
mod params;
#[cfg(test)]
mod planted_mistakes;
mod program_setting;
mod question;
mod review;
mod script;
mod session;
mod step_retry;
mod steps;
#[cfg(test)]
mod tests;
mod work;

use std::collections::BTreeMap;

pub(super) use definition_reader::DefinitionReader;
use definition_reader::LoadStrictness;
pub(super) use outcome_routes::{outcomes, own_outcomes};
pub(super) use session::{is_session_role, parse_wait};

use super::definition::{DEFAULT_TRANSITIONS, MAX_STEPS, MAX_TRANSITIONS, Variable, Workflow};
use super::finding::{FindingCode, WorkflowFinding};
use super::name::Name;
use super::tool::CodingTool;
use super::{graph, name_checks, references, review_checks, type_checks, warnings};
use crate::yaml::{self, SourcePosition, YamlNode, YamlValue};

/// The largest definition there is.
const MAX_TEXT: usize = 1024 * 1024;

/// What a definition may refer to outside itself. The caller supplies it; the core reads no files.
#[derive(Clone, Copy)]
pub struct LoadEnvironment<'a> {
    /// Whether the skill's folder has this file.
    pub file_exists: &'a dyn Fn(&str) -> bool,
    /// Whether there is a convention of this name.
    pub convention_exists: &'a dyn Fn(&str) -> bool,
    /// The workflow of this name, if there is one.
    pub callee: &'a dyn Fn(&str) -> Option<CalleeSignature>,
    /// The tool it is loaded for, if that is known.
    pub tool: Option<&'a CodingTool>,
}

impl LoadEnvironment<'_> {
    /// Nothing outside: no files, no conventions, no other workflows, no particular tool.
    pub fn none() -> Self {
        Self { file_exists: &|_| false, convention_exists: &|_| false, callee: &|_| None, tool: None }
    }

    /// The tool, if anything is known of it; what is not known is no reason for a finding.
    pub(super) fn known_tool(&self) -> Option<&CodingTool> {
        self.tool.filter(|tool| tool.is_known())
    }
}

/// What a caller needs to know of another workflow.
#[derive(Debug, Clone, Default)]
pub struct CalleeSignature {
    /// What it is started with; nothing while that is not known, and then nothing is said about it.
    pub params: Option<Vec<Variable>>,
    /// What it hands back; nothing while that is not known.
    pub outputs: Option<Vec<Name>>,
    /// The workflows it calls itself.
    pub calls: Vec<String>,
}

impl CalleeSignature {
    /// One of which only its name is known.
    pub fn anything() -> Self {
        Self::default()
    }

    /// What others need to know of this workflow.
    pub fn of(workflow: &Workflow) -> Self {
        let calls = references::calls(workflow).map(|(name, _)| name.to_owned()).collect();
        let outputs = workflow.outputs.iter().map(|(name, _)| name.clone()).collect();
        Self { params: Some(workflow.params.clone()), outputs: Some(outputs), calls }
    }
}

/// The workflow in `text`, if it has no errors, and everything that was found, in the order of the file.
pub fn load_workflow(text: &str, surroundings: &LoadEnvironment<'_>) -> (Option<Workflow>, Vec<WorkflowFinding>) {
    load_by(LoadStrictness::Start, text, surroundings)
}

/// The workflow in a text that was sound when it was pinned. Rules that are younger than the text do not apply to it, so
/// that a run continues after an upgrade.
pub(super) fn load_pinned(text: &str) -> Option<Workflow> {
    load_by(LoadStrictness::Pinned, text, &ANYWHERE).0
}

/// Whether a run may start with a pinned text.
pub(super) fn may_start(text: &str) -> bool {
    load_by(LoadStrictness::Start, text, &ANYWHERE).0.is_some()
}

/// Surroundings that have everything: a pinned text was checked against its own when it was pinned.
const ANYWHERE: LoadEnvironment<'static> = LoadEnvironment {
    file_exists: &|_| true,
    convention_exists: &|_| true,
    callee: &|_| Some(CalleeSignature { params: None, outputs: None, calls: Vec::new() }),
    tool: None,
};

fn load_by(
    strictness: LoadStrictness,
    text: &str,
    surroundings: &LoadEnvironment<'_>,
) -> (Option<Workflow>, Vec<WorkflowFinding>) {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = DefinitionReader::new(text, strictness);
    let workflow = read(text, surroundings.known_tool(), &mut reader);
    if let Some(workflow) = &workflow {
        graph::check_graph(workflow, &mut reader);
        name_checks::check_names(workflow, &mut reader);
        type_checks::check_types(workflow, &mut reader);
        review_checks::check_reviews(workflow, &mut reader);
        references::check_references(workflow, surroundings, &mut reader);
        session::check(workflow, &mut reader);
        warnings::check_warnings(workflow, &mut reader);
    }
    let findings = reader.finish();
    let sound = !findings.iter().any(WorkflowFinding::is_error);
    (workflow.filter(|_| sound), findings)
}

/// The definition as far as it can be understood.
fn read(text: &str, tool: Option<&CodingTool>, reader: &mut DefinitionReader<'_>) -> Option<Workflow> {
    let start = SourcePosition { line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        reader.find(FindingCode::E20, start, "the definition has more than 1 MiB", "move long texts into resources");
        return None;
    }
    match yaml::parse_without_aliases(text) {
        Ok(tree) if matches!(tree.value, YamlValue::Map(_)) => workflow(&tree, tool, reader),
        Ok(tree) => {
            reader.find(
                FindingCode::E01,
                tree.place,
                "the definition is no mapping",
                "begin with `name:` and `steps:`",
            );
            None
        }
        Err(error) => {
            let message = format!("the YAML cannot be read: {error}");
            let help = if error.excessive {
                "write the text out where it is needed"
            } else {
                "indent with blanks, and put a text with `: `, `#` or a bracket at its beginning in quotes"
            };
            reader.find(FindingCode::E20, error.place, message, help);
            None
        }
    }
}

const KEYS: &[&str] = &[
    "workflow",
    "name",
    "aliases",
    "version",
    "description",
    "category",
    "compatibility",
    "requires",
    "params",
    "variables",
    "reviews",
    "roles",
    "validators",
    "limits",
    "start",
    "finally",
    "steps",
    "templates",
    "resources",
    "outputs",
    "listed",
];

fn workflow(tree: &YamlNode<'_>, tool: Option<&CodingTool>, reader: &mut DefinitionReader<'_>) -> Option<Workflow> {
    let fields = reader.fields(tree, "a workflow", KEYS);
    declarations::language(fields.get("workflow"), reader);
    let steps = match fields.get("steps") {
        Some(node) => steps::read(node, reader),
        None => Vec::new(),
    };
    if steps.len() > MAX_STEPS {
        let message = format!("{} steps; {MAX_STEPS} are allowed", steps.len());
        reader.find(FindingCode::E20, tree.place, message, "move some into a workflow of their own and `call` it");
    }
    let start = graph::find_start(fields.get("start"), &steps, tree.place, reader)?;
    let finally = graph::find_finally(fields.get("finally"), &steps, reader);
    let mut variables = params::read(fields.get("variables"), "variables", reader);
    params::add_stored(&mut variables, &steps);
    Some(Workflow {
        name: declarations::name(fields.get("name"), tree.place, reader),
        aliases: reader.texts_of(fields.get("aliases")),
        version: reader.text_of(fields.get("version")),
        description: reader.text_of(fields.get("description")).unwrap_or_default(),
        category: reader.text_of(fields.get("category")),
        compatibility: declarations::compatibility(fields.get("compatibility"), tool, reader),
        requires: declarations::requires(fields.get("requires"), reader),
        listed: reader.flag_of(fields.get("listed")),
        params: params::read(fields.get("params"), "params", reader),
        variables,
        reviews: review::declared(fields.get("reviews"), reader),
        roles: declarations::roles(fields.get("roles"), reader),
        validators: declarations::validators(fields.get("validators"), reader),
        max_transitions: max_transitions(fields.get("limits"), reader),
        start,
        finally,
        steps,
        templates: declarations::templates(fields.get("templates"), reader),
        resources: declarations::resources(fields.get("resources"), reader),
        outputs: reader.named_templates(fields.get("outputs")),
        folder: String::new(),
    })
}

fn max_transitions(node: Option<&YamlNode<'_>>, reader: &mut DefinitionReader<'_>) -> u32 {
    let Some(node) = node else { return DEFAULT_TRANSITIONS };
    let fields = reader.fields(node, "limits", &["max_transitions"]);
    let node = fields.get("max_transitions");
    node.and_then(|node| reader.limit(node, MAX_TRANSITIONS)).unwrap_or(DEFAULT_TRANSITIONS)
}

/// The keys of the language, by the place where they stand.
pub(in crate::workflow) struct LanguageKeys {
    /// Of a definition.
    pub(in crate::workflow) root: &'static [&'static str],
    /// Of every step.
    pub(in crate::workflow) common: &'static [&'static str],
    /// Of each type of step beside these.
    pub(in crate::workflow) steps: Vec<(&'static str, &'static [&'static str])>,
    /// Of a parameter, a variable or a field.
    pub(in crate::workflow) declaration: &'static [&'static str],
    /// Of a session.
    pub(in crate::workflow) session: &'static [&'static str],
    /// Of the mappings with a few keys: their name, their keys, and which of them must be there.
    pub(in crate::workflow) small: &'static [SmallMapping],
}

/// A mapping with a few keys: its name, its keys, and which of them must be there.
type SmallMapping = (&'static str, &'static [&'static str], &'static [&'static str]);

/// All keys that the loader takes.
pub(in crate::workflow) fn language_keys() -> LanguageKeys {
    LanguageKeys {
        root: KEYS,
        common: steps::COMMON,
        steps: steps::types_with_keys(),
        declaration: params::KEYS,
        session: session::KEYS,
        small: &[
            ("requires", &["commands", "capabilities"], &[]),
            ("limits", &["max_transitions"], &[]),
            ("role", &["model"], &[]),
            ("validator", &["command"], &["command"]),
            ("resource", &["file", "convention", "section"], &[]),
            ("review", &["max_items"], &[]),
            ("review-part", &["name", "part"], &["name", "part"]),
            ("check", &["step"], &["step"]),
            ("expected", &["if_pass", "when_issues", "categories"], &[]),
            ("rule", &["when", "outcome", "else"], &[]),
            ("case", &["when", "next"], &["when", "next"]),
            ("shell", &["script", "env"], &["script"]),
            ("spread", &["spread"], &["spread"]),
            ("retry", &["max", "on", "feedback"], &[]),
            ("command-retry", &["max", "delay"], &[]),
            ("option", &["value", "title"], &["value"]),
            ("options", &["type", "command", "source", "list"], &[]),
            ("answer-check", &["type", "values"], &["values"]),
        ],
    }
}

/// The entries of a mapping by their names; the first of two equal ones counts.
fn by_name<T>(entries: Vec<(Name, T)>) -> BTreeMap<Name, T> {
    let mut map = BTreeMap::new();
    for (name, value) in entries {
        map.entry(name).or_insert(value);
    }
    map
}
