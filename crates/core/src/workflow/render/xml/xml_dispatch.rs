//! XML blocks of a dispatch.

use serde_json::Value as Json;

use super::xml_page::XmlPage;
use crate::workflow::definition::ReviewStage;
use crate::workflow::directive::{Directive, DispatchInfo};
use crate::workflow::render::phrases::{
    SubagentSupport, begins_runs, command, more_count, outcomes, subagent_support, unstarted_command, with_outcome,
};
use crate::workflow::value_type::value_text;

impl XmlPage<'_> {
    /// One sub-agent, several that are started at once or in turn, or the first of several tasks for a tool that has
    /// no sub-agents.
    pub(super) fn dispatches(&mut self, directive: &Directive) {
        let dispatches = directive.dispatches.as_slice();
        let Some((first, others)) = dispatches.split_first() else { return };
        let count = dispatches.len().to_string();
        match subagent_support(self.tool) {
            SubagentSupport::Alone => {
                self.open("sequential_dispatch", &[("count", &count)]);
                let told = match others.len() {
                    0 => "You have no sub-agents: do this task yourself.".to_owned(),
                    count => {
                        format!("You have no sub-agents: do these tasks one after the other; {}.", more_count(count))
                    }
                };
                self.leaf("mandatory", &[], &told);
                self.shared(directive);
                self.dispatch(directive, first);
                self.close("sequential_dispatch");
            }
            _ if others.is_empty() => {
                self.constraint();
                self.shared(directive);
                self.dispatch(directive, first);
            }
            crew => {
                self.constraint();
                let (name, told) = if crew == SubagentSupport::AtOnce {
                    let told =
                        format!("Start exactly {count} sub-agents in a single message, and wait for all of them.");
                    ("parallel_dispatch", told)
                } else {
                    let told = format!("Start exactly {count} sub-agents, the next when the one before is done.");
                    ("sequential_dispatch", told)
                };
                self.open(name, &[("count", &count)]);
                self.leaf("mandatory", &[], &told);
                self.shared(directive);
                for dispatch in dispatches {
                    self.dispatch(directive, dispatch);
                }
                self.close(name);
            }
        }
    }

    pub(super) fn constraint(&mut self) {
        let told = "You delegate, and never do this work yourself: change no file here. Start the sub-agents below, give \
                    each exactly what is said for it below, and wait.";
        self.leaf("orchestrator_constraint", &[], told);
    }

    /// The instructions of every sub-agent without a run of its own: how to review, what its report holds, how it ends.
    fn shared(&mut self, directive: &Directive) {
        if !begins_runs(directive) {
            self.open("shared_context", &[]);
            self.response(directive);
            self.close("shared_context");
        }
    }

    fn dispatch(&mut self, directive: &Directive, dispatch: &DispatchInfo) {
        let by_role = || dispatch.role.as_ref().and_then(|role| self.tool.agent_for(role)).map(str::to_owned);
        let own = dispatch.agent.clone().or_else(by_role);
        let role = dispatch.role.as_ref().map_or("general-purpose", |role| role.as_str());
        let mode = if dispatch.free_form { "free-form" } else { "script" };
        let agent = own.as_deref().unwrap_or(role);
        let mut attributes = vec![("agent", agent), ("mode", mode)];
        attributes.extend(own.as_ref().map(|_| ("role", role)));
        attributes.extend([("child", dispatch.child.as_str()), ("ticket", dispatch.ticket.as_str())]);
        self.open("subagent_dispatch", &attributes);
        if let Some(model) = self.tool.model_for(dispatch.role.as_ref(), dispatch.model.as_deref()) {
            self.leaf("model_selection", &[("model", model)], &format!("Use {model}."));
        }
        if dispatch.workflow.is_some() {
            self.begin(directive, dispatch);
        } else {
            self.task(directive, dispatch);
        }
        self.close("subagent_dispatch");
    }

    /// What the sub-agent does and what it runs then.
    fn task(&mut self, directive: &Directive, dispatch: &DispatchInfo) {
        if !dispatch.with.is_empty() {
            self.open("context", &[]);
            for (name, value) in &dispatch.with {
                self.leaf("var", &[("name", name)], &value_text(value));
            }
            self.close("context");
        }
        self.leaves("prompt", dispatch.prompt.as_slice());
        if directive.part() == Some(ReviewStage::Verify) && !dispatch.items.is_empty() {
            self.checklist(&dispatch.items);
        } else {
            self.leaves("item", &dispatch.items.iter().map(Json::to_string).collect::<Vec<_>>());
        }
        if !dispatch.result.is_empty() {
            self.result("JSON on standard input", &dispatch.result);
        }
        if dispatch.free_form {
            self.leaf("free_form_instruction", &[], "It may work in any way; the report is the same.");
        }
        // Who has no sub-agents reports by itself, as INVOKE_AFTER says.
        if subagent_support(self.tool) != SubagentSupport::Alone {
            self.open("report", &[]);
            for (outcome, _) in outcomes(None) {
                self.leaf("case", &[("outcome", outcome)], &command(&with_outcome(&dispatch.report, outcome)));
            }
            self.close("report");
        }
    }

    /// What the sub-agent runs to begin a run of its own. That run is given everything else: who starts the sub-agent is
    /// not to tell it beforehand.
    fn begin(&mut self, directive: &Directive, dispatch: &DispatchInfo) {
        let argv = command(&dispatch.report);
        self.leaf("invoke", &[], &argv);
        if subagent_support(self.tool) != SubagentSupport::Alone {
            let told = format!(
                "The sub-agent's prompt MUST be exactly this: \"Follow the output of each command. Start by invoking: {argv}\""
            );
            self.leaf("handoff_instruction", &[], &told);
        }
        self.leaf("if_it_cannot_begin", &[], &command(&unstarted_command(&directive.run, dispatch)));
    }
}
