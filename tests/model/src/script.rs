//! What does the model say, and when?

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::Turn;
use crate::taken::{Between, Taken};

/// What to say, by what a request holds.
///
/// As a file: `{"tags": {"TAG": [step, …], …}, "default": step}`, a step having the fields of [`Step`]. What an agent was
/// told only when it began is said again with `"taken": {"NAME": {"after": "…", "until": "…"}}`: `{{NAME}}` in what a step
/// says, and in the arguments of its calls, is what stood between these two when the model was last told.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The first tag, in this order, that is found anywhere in a request's text answers it.
    #[serde(default, deserialize_with = "in_order")]
    tags: Vec<(String, Vec<Step>)>,
    /// What answers a request without a tag: agents ask for titles and summaries, too.
    #[serde(default = "nothing_special")]
    default: Step,
    #[serde(default)]
    taken: BTreeMap<String, Between>,
}

/// One answer.
///
/// The first step of a tag answers its first request; a step that calls tools gives way to the next one when the results
/// of its calls have come. Only results that came after the tag was last said to the model count, so a second prompt in
/// the same session has steps of its own if it has a tag of its own, earlier in the script.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is said.
    pub text: Option<String>,
    /// A tool to call; short for one element of `tools`.
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    args: Option<Value>,
    #[serde(default)]
    namespace: Option<String>,
    /// Tools to call, all at once.
    #[serde(default)]
    tools: Vec<Call>,
    /// An error instead of an answer: its HTTP status.
    pub status: Option<u16>,
    /// What the error says.
    pub error: Option<String>,
    /// The seconds of the error's `Retry-After`.
    pub retry_after: Option<u64>,
    /// Seconds before anything is answered.
    #[serde(default)]
    pub sleep: f64,
    /// What goes wrong on the way.
    pub fault: Option<Fault>,
    /// Tokens in and out; 100 and 10 where nothing is said.
    pub usage: Option<[u64; 2]>,
    /// How many requests get this answer. After that the step is taken out of the script, so that the next one answers.
    pub times: Option<u32>,
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name, as the agent told the model.
    pub name: String,
    /// An object; over Responses also a text, for tools that take one.
    pub args: Value,
    /// Codex' name for the MCP server that has the tool; only Responses knows it.
    pub namespace: Option<String>,
}

/// What goes wrong with an answer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Nothing is ever answered.
    Hang,
    /// The first half comes, then nothing; the connection stays.
    Stall,
    /// The first half comes, then the connection ends.
    Disconnect,
    /// The first half comes, then half an event, then the answer ends as if it were whole.
    Malformed,
}

impl Script {
    /// Answers every request with the default.
    pub fn new() -> Self {
        Self { tags: Vec::new(), default: nothing_special(), taken: BTreeMap::new() }
    }

    /// Reads a script file's text.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What answers requests that hold `tag`, unless an earlier one is there, too.
    #[must_use]
    pub fn on(mut self, tag: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Self {
        self.tags.push((tag.into(), steps.into_iter().collect()));
        self
    }

    /// What `{{name}}` stands for in answers: the text between these two in what the model was told.
    #[must_use]
    pub fn taking(mut self, name: impl Into<String>, after: impl Into<String>, until: impl Into<String>) -> Self {
        self.taken.insert(name.into(), Between { after: after.into(), until: until.into() });
        self
    }

    /// What answers requests that hold no tag.
    #[must_use]
    pub fn otherwise(mut self, step: Step) -> Self {
        self.default = step;
        self
    }

    /// Finds the tag of a request that says `text`. One whose steps call tools is not for requests that offer none:
    /// those are about the conversation, such as its title.
    pub(crate) fn tag(&self, text: &str, offers_tools: bool) -> Option<usize> {
        let fits = |steps: &[Step]| offers_tools || steps.iter().all(|step| step.calls().next().is_none());
        self.tags.iter().position(|(tag, steps)| text.contains(tag.as_str()) && fits(steps))
    }

    pub(crate) fn name(&self, tag: usize) -> &str {
        &self.tags[tag].0
    }

    /// Takes the step that answers a request of `tag` which holds `results`, and counts it.
    pub(crate) fn take(&mut self, tag: usize, results: usize) -> Step {
        let steps = &mut self.tags[tag].1;
        let mut left = results;
        let mut found = 0;
        while left > 0 && found + 1 < steps.len() {
            left = left.saturating_sub(steps[found].calls().count().max(1));
            found += 1;
        }
        // The last one answers whatever comes after it.
        let is_last = found + 1 >= steps.len();
        let Some(step) = steps.get_mut(found) else { return self.default.clone() };
        match &mut step.times {
            Some(times @ 2..) => *times -= 1,
            Some(_) if !is_last => return steps.remove(found),
            _ => {}
        }
        step.clone()
    }

    pub(crate) fn default(&self) -> Step {
        self.default.clone()
    }

    /// What of a conversation is said again.
    pub(crate) fn taken(&self, turns: &[Turn]) -> Taken {
        let found = self.taken.iter().filter_map(|(name, between)| Some((name.clone(), between.find(turns)?)));
        Taken(found.collect())
    }
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl Step {
    /// Says something.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Calls a tool.
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        Self::default().and_call(name, args)
    }

    /// Answers with an error.
    pub fn status(status: u16, error: impl Into<String>) -> Self {
        Self { status: Some(status), error: Some(error.into()), ..Self::default() }
    }

    /// Says something, and something goes wrong with it.
    pub fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::text("An answer that is long enough to be cut into several pieces.") }
    }

    /// Calls another tool with the same answer.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, args: Value) -> Self {
        self.tools.push(Call { name: name.into(), args, namespace: None });
        self
    }

    /// The last call's tool is one of an MCP server, as Codex names them.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        if let Some(call) = self.tools.last_mut() {
            call.namespace = Some(namespace.into());
        }
        self
    }

    /// Says so many tokens in and out.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some([input, output]);
        self
    }

    /// Waits before it answers.
    #[must_use]
    pub fn sleep(mut self, seconds: f64) -> Self {
        self.sleep = seconds;
        self
    }

    /// When to come again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Answers so many requests only.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// The same step with what was taken from the request.
    pub(crate) fn filled(mut self, taken: &Taken) -> Self {
        self.text = self.text.map(|text| taken.fill(&text));
        let args = self.args.iter_mut().chain(self.tools.iter_mut().map(|call| &mut call.args));
        args.for_each(|args| taken.fill_all(args));
        self
    }

    /// Every tool this step calls.
    pub(crate) fn calls(&self) -> impl Iterator<Item = Call> {
        let short = self.tool.as_ref().map(|name| Call {
            name: name.clone(),
            args: self.args.clone().unwrap_or_else(|| Value::Object(Map::new())),
            namespace: self.namespace.clone(),
        });
        short.into_iter().chain(self.tools.iter().cloned())
    }
}

fn nothing_special() -> Step {
    Step::text("Nothing was scripted for this.")
}

/// A map as its pairs: which tag comes first matters.
fn in_order<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<(String, Vec<Step>)>, D::Error> {
    let map = Map::deserialize(from)?;
    map.into_iter()
        .map(|(tag, steps)| {
            let read = serde_json::from_value(steps);
            read.map(|steps| (tag.clone(), steps)).map_err(|error| serde::de::Error::custom(format!("{tag}: {error}")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(script: &mut Script, results: usize) -> String {
        script.take(0, results).text.unwrap_or_default()
    }

    #[test]
    fn a_step_follows_when_all_results_of_the_one_before_have_come() {
        let both = Step::text("two").and_call("a", json!({})).and_call("b", json!({}));
        let mut script = Script::new().on("T", [both, Step::text("one").and_call("a", json!({})), Step::text("end")]);
        assert_eq!([0, 2, 3, 9].map(|results| said(&mut script, results)), ["two", "one", "end", "end"]);
    }

    #[test]
    fn a_step_with_a_count_gives_way_to_the_next_one() {
        let mut script = Script::new().on("T", [Step::text("busy").times(2), Step::text("now")]);
        assert_eq!([0, 0, 0, 0].map(|results| said(&mut script, results)), ["busy", "busy", "now", "now"]);
    }

    #[test]
    fn a_request_without_tools_gets_no_steps_that_call_some() {
        let script = Script::new().on("T", [Step::call("a", json!({}))]).on("T-2", [Step::text("x")]);
        assert_eq!(script.tag("about T-2", true), Some(0));
        assert_eq!(script.tag("about T-2", false), Some(1));
        assert_eq!(script.tag("about T", false), None);
    }

    #[test]
    fn a_file_is_read_in_its_order_and_held_to_its_fields() {
        let script = Script::parse(
            r#"{"tags": {"B": [{"tool": "sh", "args": {"cmd": "x"}, "namespace": "mcp__m"}, {"text": "ok", "usage": [1, 2]}],
                "A": [{"status": 429, "error": "slow", "retry_after": 3}, {"fault": "stall", "sleep": 0.5}]}}"#,
        )
        .unwrap();
        assert_eq!((script.name(0), script.name(1)), ("B", "A"));
        assert_eq!(script.tags[0].1[0].calls().next().unwrap().namespace.as_deref(), Some("mcp__m"));
        let error = Script::parse(r#"{"tags": {"A": [{"txt": "x"}]}}"#).unwrap_err().to_string();
        assert!(error.contains("A: unknown field `txt`"), "{error}");
    }
}
