//! An agent that does what it is told: it walks through a run by the commands that are printed, with scripted words.

use serde_json::{Map, Value as Json, json};

use crate::sandbox::{Output, Sandbox};

/// What the agent, or the user it asks, says to a directive.
#[derive(Debug, Clone)]
pub(crate) enum Says {
    /// Whatever the directive would be content with.
    Anything,
    /// These fields, and for the others whatever is content.
    Fields(Json),
    /// The step ended with this, with these fields.
    Ended(&'static str, Json),
    /// The user answers this.
    Answer(String),
    /// The user answers nothing.
    Declined,
}

/// What the words are for each directive.
pub(crate) type Script<'s> = dyn FnMut(&Json) -> Says + 's;

/// How a walk came to its end.
pub(crate) struct Walked {
    /// What `--format json` says of the run that is over.
    pub(crate) finished: Json,
    /// Everything that was told, in the order of the walk: sub-agents' directives too.
    pub(crate) told: Vec<Json>,
    /// What was printed last, as text.
    pub(crate) last: String,
}

impl Walked {
    /// The steps of a workflow somebody was told about, in their order.
    pub(crate) fn steps(&self, workflow: &str) -> Vec<&str> {
        let own = self.told.iter().filter(|directive| directive["workflow"] == workflow);
        own.map(|directive| directive["step"]["id"].as_str().unwrap()).collect()
    }

    /// How often somebody was told to do a step.
    pub(crate) fn times(&self, workflow: &str, step: &str) -> usize {
        self.steps(workflow).into_iter().filter(|told| *told == step).count()
    }
}

/// An agent at work in a sandbox.
pub(crate) struct Agent<'s> {
    sandbox: &'s Sandbox,
    variables: Vec<(&'s str, &'s str)>,
    told: Vec<Json>,
}

impl<'s> Agent<'s> {
    pub(crate) fn of(sandbox: &'s Sandbox) -> Self {
        Self { sandbox, variables: Vec::new(), told: Vec::new() }
    }

    /// The same agent with a variable in its environment.
    pub(crate) fn with_variable(mut self, name: &'s str, value: &'s str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Starts a workflow, and does what it is told until nothing is left to be done.
    pub(crate) fn walk(mut self, start: &[&str], script: &mut Script<'_>) -> Walked {
        let args: Vec<&str> = ["workflow", "start"].iter().chain(start).copied().collect();
        let mut page = self.heard(&args, None);
        let runs = self.sandbox.maestro("workflow runs --all --json").json();
        let run = runs.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
        loop {
            let now = self.json(&["workflow", "next", &run], None);
            if now["status"].is_string() {
                return Walked { finished: now, told: self.told, last: page };
            }
            page = self.obey(&now, script, &[]).unwrap_or(page);
        }
    }

    /// Does what a directive says; what was printed then, unless others did it.
    fn obey(&mut self, directive: &Json, script: &mut Script<'_>, form: &[&str]) -> Option<String> {
        self.told.push(directive.clone());
        assert!(self.told.len() < 1000, "it goes on and on: {directive}");
        let dispatches = directive["dispatches"].as_array().unwrap();
        if !dispatches.is_empty() {
            for dispatch in dispatches {
                self.delegate(directive, dispatch, script);
            }
            return None;
        }
        let says = script(directive);
        let mut command = words(&directive["report"]);
        let said = match says {
            Says::Answer(answer) => {
                let place = command.iter().position(|word| word == "ANSWER").expect("no question was asked");
                command[place] = answer;
                None
            }
            Says::Declined => {
                command.retain(|word| word != "ANSWER");
                command.push("--declined".to_owned());
                None
            }
            says => Some(report(directive, &mut command, says)),
        };
        let mut args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        args.extend(form);
        Some(self.heard(&args, said.as_deref()))
    }

    /// Has a sub-agent do its part: it walks through its own workflow, or reports at once.
    fn delegate(&mut self, directive: &Json, dispatch: &Json, script: &mut Script<'_>) {
        let command = words(&dispatch["report"]);
        let args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        if dispatch["workflow"].is_null() {
            let mut task = directive.clone();
            task["dispatches"] = json!([dispatch]);
            let mut command = command.clone();
            let said = report(directive, &mut command, script(&task));
            let args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
            self.heard(&args, Some(&said));
            return;
        }
        let mut now = self.json(&args, None);
        while now["status"].is_null() {
            let run = now["run"].as_str().unwrap().to_owned();
            now = match self.obey(&now, script, &["--format", "json"]) {
                Some(page) => serde_json::from_str(&page).unwrap(),
                None => self.json(&["workflow", "next", &run], None),
            };
        }
        assert_eq!(now["status"], "reported", "a sub-agent's walk ends with a report: {now}");
    }

    fn json(&self, args: &[&str], said: Option<&str>) -> Json {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        serde_json::from_str(&self.heard(&args, said)).unwrap()
    }

    fn heard(&self, args: &[&str], said: Option<&str>) -> String {
        let output = self.run(args, said);
        assert_eq!(output.code, 0, "an obedient agent is refused nothing:\n{output}\n{}", said.unwrap_or_default());
        output.stdout()
    }

    fn run(&self, args: &[&str], said: Option<&str>) -> Output {
        match said {
            Some(said) => self.sandbox.maestro_told(&self.variables, args, said),
            None => self.sandbox.maestro_as(&self.variables, args),
        }
    }
}

/// Puts the outcome into a command that reports, and returns the result for it.
fn report(directive: &Json, command: &mut [String], says: Says) -> String {
    let (outcome, fields) = match says {
        Says::Anything => ("ok", json!({})),
        Says::Fields(fields) => ("ok", fields),
        Says::Ended(outcome, fields) => (outcome, fields),
        says => panic!("{says:?} is no report: {directive}"),
    };
    if let Some(place) = command.iter().position(|word| word == "OUTCOME") {
        outcome.clone_into(&mut command[place]);
    }
    let mut result: Map<String, Json> = Map::new();
    for (name, declared) in directive["result"].as_object().unwrap() {
        result.insert(name.clone(), fields.get(name).cloned().unwrap_or_else(|| content(declared)));
    }
    // What nobody asked for is told all the same, so that a mistake of the script is refused.
    result.extend(fields.as_object().unwrap().clone());
    Json::Object(result).to_string()
}

/// A value that fits what is declared.
fn content(declared: &Json) -> Json {
    match declared["type"].as_str().unwrap() {
        "int" => json!(1),
        "bool" => json!(true),
        "list" => json!([{"id": "X1", "text": "something"}]),
        "enum" => declared["values"][0].clone(),
        "object" => json!({}),
        _ => json!("something"),
    }
}

fn words(argv: &Json) -> Vec<String> {
    let words: Vec<String> = serde_json::from_value(argv.clone()).unwrap();
    assert_eq!(words[0], "maestro");
    words
}
