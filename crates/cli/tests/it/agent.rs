//! An agent that does what it is told: it walks through a run by the commands that are printed, with scripted words.

use std::collections::BTreeSet;

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
    Ended(String, Json),
    /// The user answers this.
    Answer(String),
    /// The user answers nothing.
    Declined,
}

/// How an agent reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    /// As it is asked to.
    Careful,
    /// Wrongly at first, corrected by nothing but the refusal; then once more, with a ticket that is used up.
    Sloppy,
}

/// Which pages are read as text, which takes a call more for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageReading {
    /// Those of the agent itself.
    Own,
    /// Those of its sub-agents as well.
    All,
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
    /// Every page that was printed to somebody, as text: to the agent and to its sub-agents.
    pub(crate) pages: Vec<String>,
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
    manners: Manners,
    reading: PageReading,
    /// What is done once the sub-agents of a step have come back, and before their parent goes on.
    afterwards: Option<&'s dyn Fn(&Json)>,
    told: Vec<Json>,
    pages: Vec<String>,
}

impl<'s> Agent<'s> {
    pub(crate) fn of(sandbox: &'s Sandbox) -> Self {
        Self {
            sandbox,
            variables: Vec::new(),
            manners: Manners::Careful,
            reading: PageReading::Own,
            afterwards: None,
            told: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// The same agent with a variable in its environment.
    pub(crate) fn with_variable(mut self, name: &'s str, value: &'s str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// The same agent with other manners.
    pub(crate) fn with_manners(self, manners: Manners) -> Self {
        Self { manners, ..self }
    }

    /// The same agent, with all pages kept as text.
    pub(crate) fn reading_all(self) -> Self {
        Self { reading: PageReading::All, ..self }
    }

    /// The same agent, which does something each time that its sub-agents have come back from a step.
    pub(crate) fn with_afterwards(self, afterwards: &'s dyn Fn(&Json)) -> Self {
        Self { afterwards: Some(afterwards), ..self }
    }

    /// Starts a workflow, and does what it is told until nothing is left to be done.
    pub(crate) fn walk(mut self, start: &[&str], script: &mut Script<'_>) -> Walked {
        let args: Vec<&str> = ["workflow", "start"].iter().chain(start).copied().collect();
        let mut page = self.heard(&args, None);
        self.pages.push(page.clone());
        let runs = self.sandbox.maestro("workflow runs --all --json").json();
        let run = runs.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
        loop {
            let now = self.json(&["workflow", "next", &run], None);
            if now["status"].is_string() {
                return Walked { finished: now, told: self.told, last: page, pages: self.pages };
            }
            page = match self.obey(&now, script, &[]) {
                Some(page) => page,
                // Whoever has given work out asks again.
                None => self.heard(&["workflow", "next", &run], None),
            };
            self.pages.push(page.clone());
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
            if let Some(afterwards) = self.afterwards {
                afterwards(directive);
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
        let args: Vec<&str> = command[1..].iter().map(String::as_str).chain(form.iter().copied()).collect();
        match (self.manners, said) {
            (Manners::Sloppy, Some(said)) => Some(self.corrected(directive, &args, &said)),
            (_, said) => Some(self.heard(&args, said.as_deref())),
        }
    }

    /// Reports wrongly, takes over from what is right what the refusals name, and reports twice when it is accepted.
    fn corrected(&mut self, directive: &Json, args: &[&str], right: &str) -> String {
        let right: Map<String, Json> = serde_json::from_str(right).unwrap();
        let mut said = wrong(directive);
        // What is wrong within the items of a list is corrected in the end, as the refusals say it.
        let mut nearly: BTreeSet<String> = BTreeSet::new();
        for _ in 0..5 {
            let text = Json::Object(said.clone()).to_string();
            let output = self.run(args, Some(&text));
            if output.code == 0 {
                let again = self.run(args, Some(&text));
                assert_eq!(again.code, 0, "the same report again is answered the same: {again}");
                let late = self.run(args, Some("{\"late\": true}"));
                assert_ne!(late.code, 0, "what is said later changes nothing: {late}");
                return output.stdout();
            }
            let refusal = format!("{}{}", output.stdout(), output.stderr());
            self.pages.push(refusal.clone());
            let named = right.iter().filter(|(name, _)| refusal.contains(&format!("`{name}`")));
            let declared = directive["result"].as_object().unwrap();
            let corrected: Vec<(String, Json)> = named
                .map(|(name, value)| match half_right(value, declared.get(name)) {
                    Some(half) if nearly.insert(name.clone()) => (name.clone(), half),
                    _ => (name.clone(), value.clone()),
                })
                .collect();
            assert!(!corrected.is_empty(), "the refusal names no field:\n{refusal}\n{text}");
            said.extend(corrected);
        }
        panic!("four refusals do not say enough: {directive:#}\n{}", Json::Object(said));
    }

    /// Has a sub-agent do its part: it walks through its own workflow, or reports at once.
    fn delegate(&mut self, directive: &Json, dispatch: &Json, script: &mut Script<'_>) {
        let command = words(&dispatch["report"]);
        let args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        if dispatch["workflow"].is_null() {
            let mut task = directive.clone();
            task["dispatches"] = json!([dispatch]);
            if dispatch["result"].as_object().is_some_and(|result| !result.is_empty()) {
                task["result"] = dispatch["result"].clone();
            }
            let mut command = command.clone();
            let said = report(&task, &mut command, script(&task));
            let args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
            let page = self.heard(&args, Some(&said));
            self.pages.push(page);
            return;
        }
        let mut now = self.json(&args, None);
        let run = now["run"].as_str().unwrap().to_owned();
        let next = ["workflow", "next", run.as_str()];
        self.read_page(&args);
        while now["status"].is_null() {
            now = match self.obey(&now, script, &["--format", "json"]) {
                Some(page) => serde_json::from_str(&page).unwrap(),
                None => self.json(&next, None),
            };
            self.read_page(&next);
        }
        assert_eq!(now["status"], "reported", "a sub-agent's walk ends with a report: {now}");
    }

    /// Keeps what a sub-agent is told, where all pages are read.
    fn read_page(&mut self, args: &[&str]) {
        if self.reading == PageReading::All {
            let page = self.heard(args, None);
            self.pages.push(page);
        }
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
        Says::Anything => ("ok".to_owned(), json!({})),
        Says::Fields(fields) => ("ok".to_owned(), fields),
        Says::Ended(outcome, fields) => (outcome, fields),
        says => panic!("{says:?} is no report: {directive}"),
    };
    if let Some(place) = command.iter().position(|word| word == "OUTCOME") {
        command[place] = outcome;
    }
    let mut result: Map<String, Json> = Map::new();
    for (name, declared) in directive["result"].as_object().unwrap() {
        result.insert(name.clone(), content(declared));
    }
    // What nobody asked for is told all the same, so that a mistake of the script is refused.
    for (name, value) in fields.as_object().unwrap() {
        result.insert(name.clone(), completed(value.clone(), &directive["result"][name]));
    }
    Json::Object(result).to_string()
}

/// A list whose items have what they need beside what the script says of them.
fn completed(mut value: Json, declared: &Json) -> Json {
    let (Some(items), Some(fields)) = (value.as_array_mut(), declared["fields"].as_object()) else { return value };
    for item in items.iter_mut().filter_map(Json::as_object_mut) {
        for (name, field) in fields.iter().filter(|(_, field)| field["default"].is_null()) {
            item.entry(name.clone()).or_insert_with(|| content(field));
        }
    }
    value
}

/// A result in which every field is missing, or something else than it should be.
fn wrong(directive: &Json) -> Map<String, Json> {
    let wrong = |(name, declared): (&String, &Json)| {
        let value = match declared["type"].as_str().unwrap() {
            "list" => json!("one, two"),
            "enum" => json!("SOMETHING ELSE"),
            "bool" => json!("perhaps"),
            "int" => json!("many"),
            "object" => json!("an object"),
            _ => return None,
        };
        Some((name.clone(), value))
    };
    directive["result"].as_object().unwrap().iter().filter_map(wrong).collect()
}

/// A list whose items have a wrong word, and lack what they need; nothing where its items have no fields.
fn half_right(right: &Json, declared: Option<&Json>) -> Option<Json> {
    let fields = declared?["fields"].as_object()?;
    let mut items = right.as_array()?.clone();
    let first = items.first_mut()?.as_object_mut()?;
    let (name, field) = fields.iter().find(|(_, field)| field["default"].is_null())?;
    if field["type"] == "enum" {
        first.insert(name.clone(), json!("SOMETHING ELSE"));
    } else {
        first.remove(name);
    }
    for (name, _) in fields.iter().filter(|(_, field)| field["type"] == "list") {
        first.insert(name.clone(), json!("one, two"));
    }
    Some(Json::Array(items))
}

/// A value that fits what is declared.
pub(crate) fn content(declared: &Json) -> Json {
    let fields = || -> Option<Json> {
        let fields = declared["fields"].as_object()?;
        Some(fields.iter().map(|(name, field)| (name.clone(), content(field))).collect::<Map<_, _>>().into())
    };
    match declared["type"].as_str().unwrap() {
        "int" | "number" => json!(1),
        "bool" => json!(true),
        "list" if declared["pattern"] == ".+" => json!(["something"]),
        // What a text must look like is for a script to say.
        "list" if declared["pattern"].is_string() => json!([]),
        "list" => json!([fields().unwrap_or_else(|| json!({"id": "X1", "text": "something"}))]),
        "enum" => declared["values"][0].clone(),
        "object" => fields().unwrap_or_else(|| json!({})),
        _ => json!("something"),
    }
}

fn words(argv: &Json) -> Vec<String> {
    let words: Vec<String> = serde_json::from_value(argv.clone()).unwrap();
    assert_eq!(words[0], "maestro");
    words
}
