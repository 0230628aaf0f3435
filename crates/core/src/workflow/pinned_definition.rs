//! Texts of a definition, pinned to a run so that changed files do not affect it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::definition::{ResourceSource, Workflow};
use super::load::{load_pinned, may_start};
use super::name::Name;
use super::run::RunDefinition;

/// How many bytes may be kept with one run.
pub const MAX_PINNED: usize = 1024 * 1024;

/// The texts of a workflow and of everything it reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedDefinition {
    /// What is walked through.
    pub main: String,
    /// Its definition and those it may call, by the names they are called by.
    pub definitions: BTreeMap<String, PinnedText>,
}

/// One definition with the texts it hands out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedText {
    /// The definition.
    pub text: String,
    /// The folder of the skill it belongs to.
    pub folder: String,
    /// What its resources say.
    pub resources: BTreeMap<Name, String>,
}

/// Why something pinned is no definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pinned definition of `{0}` is invalid")]
pub struct InvalidPin(pub String);

impl PinnedDefinition {
    /// How many bytes it has.
    pub fn size(&self) -> usize {
        let texts = self
            .definitions
            .values()
            .map(|definition| definition.text.len() + definition.resources.values().map(String::len).sum::<usize>());
        texts.sum()
    }

    /// The same texts, of which another one is walked through: what a sub-agent does by itself.
    pub fn from_within(&self, name: &str) -> Option<Self> {
        let definitions = self.definitions.clone();
        definitions.contains_key(name).then(|| Self { main: name.to_owned(), definitions })
    }

    /// Checks that a run may start with these texts: rules that are younger than a running run apply.
    pub fn check_start(&self) -> Result<(), InvalidPin> {
        let unsound = self.definitions.iter().find(|(_, definition)| !may_start(&definition.text));
        unsound.map_or(Ok(()), |(name, _)| Err(InvalidPin(name.clone())))
    }

    /// What can be walked through.
    pub fn definition(&self) -> Result<RunDefinition, InvalidPin> {
        let main = self.workflow(&self.main)?;
        let others = self.definitions.keys().filter(|name| **name != self.main);
        let callees = others.map(|name| Ok((name.clone(), self.workflow(name)?))).collect::<Result<_, InvalidPin>>()?;
        Ok(RunDefinition { main, callees })
    }

    fn workflow(&self, name: &str) -> Result<Workflow, InvalidPin> {
        let unsound = || InvalidPin(name.to_owned());
        let kept = self.definitions.get(name).ok_or_else(unsound)?;
        let mut workflow = load_pinned(&kept.text).ok_or_else(unsound)?;
        name.clone_into(&mut workflow.name);
        workflow.folder.clone_from(&kept.folder);
        for (name, resource) in &mut workflow.resources {
            // A run pins every resource or does not start; only rows of earlier versions may lack one.
            resource.text = kept.resources.get(name).cloned().unwrap_or_default();
        }
        Ok(workflow)
    }
}

/// The resources of a workflow and where each comes from.
pub fn sources(workflow: &Workflow) -> impl Iterator<Item = (&Name, &ResourceSource)> {
    workflow.resources.iter().map(|(name, resource)| (name, &resource.source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Permission;
    use crate::workflow::run::{
        InvalidSession, PendingEffect, Run, RunInput, SessionRequest, decide, evolve, pending_effects,
    };
    use serde_json::{Map, json};

    fn pinned(text: &str) -> PinnedDefinition {
        let pinned = PinnedText { text: text.to_owned(), folder: String::new(), resources: BTreeMap::new() };
        PinnedDefinition { main: "w".to_owned(), definitions: BTreeMap::from([("w".to_owned(), pinned)]) }
    }

    /// The session that the first step of a pinned definition asks for.
    fn session(text: &str) -> Result<SessionRequest, InvalidSession> {
        let definition = pinned(text).definition().unwrap();
        let context = Map::from_iter([("workspace".to_owned(), json!("/w"))]);
        let start = RunInput::Start { params: Map::new(), context, seed: 1, now: 0 };
        let events = decide(&definition, &Run::default(), start).unwrap();
        let run = events.iter().fold(Run::default(), evolve);
        match pending_effects(&definition, &run).into_iter().next() {
            Some(PendingEffect::Instruct { session: Some(session), .. }) => session,
            other => panic!("{other:?}"),
        }
    }

    fn step(session: &str) -> String {
        format!(
            "name: w\nparams: {{word: {{type: string, default: readonly}}}}\nsteps:\n\
             - {{id: a, type: agent, session: {{{session}}}, next: {{ok: end, fail: end}}}}\n"
        )
    }

    #[test]
    fn a_pinned_text_with_an_unknown_permission_loads_and_gets_the_safest_one() {
        let text = step("permission: readonly");
        assert!(super::super::load_workflow(&text, &super::super::LoadEnvironment::none()).0.is_none());
        assert!(pinned(&text).check_start().is_err(), "no run starts with it");
        assert_eq!(session(&text).unwrap().permission, Permission::Ask);
        assert_eq!(session(&step("permission: all")).unwrap().permission, Permission::All);
        assert_eq!(session(&step("agent: demo")).unwrap().permission, Permission::Edits);
    }

    #[test]
    fn mistakes_that_were_none_when_a_text_was_pinned_stop_no_run() {
        for step in [
            "{id: a, type: command, command: [run, '{item.nope}'], for_each: l}",
            "{id: a, type: command, command: [run], cwd: ../other}",
            "{id: a, type: question, prompt: 'Go on?', options: [{value: a, title: Do}, {value: b, title: Do}]}",
            "{id: a, type: set, values: {text: '{for x in n}{x}{end}'}}",
        ] {
            let text = format!(
                "name: w\nvariables: {{l: {{type: list, default: [], fields: {{id: string}}}}, n: {{type: int, default: 1}}, text: {{type: string, default: x}}}}\nsteps:\n- {step}\n"
            );
            assert!(pinned(&text).definition().is_ok(), "{step}");
            assert!(pinned(&text).check_start().is_err(), "no run starts with it: {step}");
        }
    }

    #[test]
    fn an_unknown_word_that_a_run_fills_in_makes_no_session() {
        let invalid = session(&step("permission: '{word}'")).unwrap_err();
        assert_eq!(invalid, InvalidSession::Permission("readonly".to_owned()));
        assert_eq!(invalid.to_string(), "`readonly` is no permission; `session.permission` can be ask, edits or all");
        assert_eq!(session(&step("role: '{word}'")), Err(InvalidSession::Role("readonly".to_owned())));
    }

    #[test]
    fn feedback_is_read_by_its_old_name_too() {
        for key in ["feedback", "mends"] {
            assert_eq!(session(&step(&format!("{key}: it is red"))).unwrap().feedback.as_deref(), Some("it is red"));
        }
    }
}
