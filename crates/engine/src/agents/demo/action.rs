//! Actions of the demo agent, in scripts and prompts.

use std::io;

use serde::Deserialize;

/// An action. In a script, each is a line of JSON, or a sentence as in a prompt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum DemoAction {
    /// Writes a file.
    Add { file: String, text: String },
    /// Appends to a file.
    Append { file: String, text: String },
    /// Does the next task of a plan without boxes, or fixes the last one.
    Choose {
        plan: String,
        #[serde(default)]
        finding_to_fix: Option<String>,
    },
    /// Runs a command in a shell.
    Run { command: String },
    /// Reports the verdict of a review by a command in a shell.
    #[serde(skip)]
    Verdict { command: String },
    /// Says something.
    Say { text: String },
    /// Thinks something.
    Think { text: String },
    /// Calls `maestro` with these arguments.
    Report { words: Vec<String> },
    /// Asks before it does something.
    Ask { title: String, acts: Vec<DemoAction> },
    /// Reports usage of tokens.
    Tokens {
        input: u64,
        output: u64,
        #[serde(default)]
        cost_usd: Option<f64>,
    },
    /// Waits.
    Sleep { ms: u64 },
    /// Waits forever.
    Hang,
    /// Fails as if the model provider had.
    Fail { status: u16, message: String },
    /// Ends at once.
    Exit { code: u8 },
    /// Dies of a signal.
    Crash { signal: i32 },
    /// Prints lines.
    Flood { lines: u64 },
    /// Prints one line of so many megabytes.
    LongLine { megabytes: usize },
    /// Prints bytes that are not UTF-8.
    BadBytes,
    /// Leaves a process behind in a session of its own, which writes its pid into a file.
    Daemon { file: String },
    /// Does what the prompt says.
    Prompt,
    /// Ends the turn; the next actions belong to the next one.
    EndTurn,
}

/// The headings of the parts of a prompt with instructions.
const WHAT: [&str; 4] = ["## Your task", "## Task ", "## Instructions", "## Selected Task"];
/// The headings of the other parts.
const HOW: [&str; 6] = [
    "<skills_system",
    "It is done when:",
    "## Progress so far",
    "## Reporting",
    "## How your work is judged",
    "## Skills",
];

/// The findings of its reviews.
const SPLIT: &str = "put each item on a line of its own";
const PERIOD: &str = "end the text with a period";

/// The turns of a script.
pub(super) fn script(text: &str, prompt: &str) -> io::Result<Vec<Vec<DemoAction>>> {
    let mut turns = vec![Vec::new()];
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let acts = if line.starts_with('{') {
            vec![serde_json::from_str(line)?]
        } else {
            parse_sentence(line).into_iter().collect()
        };
        for act in acts {
            match (act, turns.last_mut()) {
                (DemoAction::EndTurn, _) | (_, None) => turns.push(Vec::new()),
                (DemoAction::Prompt, Some(turn)) => turn.extend(parse_prompt(prompt)),
                (act, Some(turn)) => turn.push(act),
            }
        }
    }
    Ok(turns)
}

/// The actions in a prompt. Where a prompt has a part with instructions, only that counts: the rest, above all the text
/// of skills, is background.
pub(super) fn parse_prompt(prompt: &str) -> Vec<DemoAction> {
    let is_told = |line: &str| WHAT.iter().any(|heading| line.starts_with(heading));
    let has_parts = prompt.lines().any(is_told);
    let mut listens = !has_parts;
    let mut acts: Vec<DemoAction> = Vec::new();
    if let Some(verdict) = verdict(prompt) {
        return verdict;
    }
    for line in prompt.lines() {
        if has_parts && is_told(line) {
            listens = true;
        } else if has_parts && HOW.iter().any(|heading| line.starts_with(heading)) {
            listens = false;
        }
        // A task often appears twice: as a title and as a text.
        acts.extend(parse_sentence(line).filter(|act| listens && !acts.contains(act)));
    }
    match review_finding(prompt) {
        Some(finding) => acts.into_iter().map(|act| fix_action(act, finding)).collect(),
        None => acts,
    }
}

/// The first line of a review's findings.
fn review_finding(prompt: &str) -> Option<&str> {
    let (_, after) = prompt.split_once("\n## findings\n")?;
    after.lines().map(str::trim).find(|line| !line.is_empty())
}

/// The same action again, with the finding applied. A file names a finding that is not one of our own.
pub(super) fn fix_action(act: DemoAction, finding: &str) -> DemoAction {
    match act {
        DemoAction::Add { file, text } if finding.ends_with(SPLIT) => {
            DemoAction::Add { file, text: text.replace(", ", "\n") }
        }
        DemoAction::Add { file, text } if finding.ends_with(PERIOD) => DemoAction::Add { file, text: text + "." },
        DemoAction::Add { file, text } => DemoAction::Add { file, text: format!("{text}\n{finding}") },
        DemoAction::Choose { plan, .. } => DemoAction::Choose { plan, finding_to_fix: Some(finding.to_owned()) },
        other => other,
    }
}

/// What a review finds wrong with the file of a task.
fn finding_of(prompt: &str) -> String {
    let added = prompt.lines().find_map(|line| match parse_sentence(line)? {
        DemoAction::Add { file, text } => Some((file, text)),
        _ => None,
    });
    match added {
        Some((file, text)) if text.contains(", ") => format!("{file}: {SPLIT}"),
        Some((file, _)) => format!("{file}: {PERIOD}"),
        None => "the work does not say enough".to_owned(),
    }
}

/// Its verdict if it is asked for a review: it passes, unless the task says that it fails its first review and there
/// were no findings before.
fn verdict(prompt: &str) -> Option<Vec<DemoAction>> {
    let (_, asked) = prompt.split_once("## Your verdict")?;
    let fails = prompt.contains("fails its first review") && !prompt.contains("## found_before");
    let wanted = if fails { "--outcome fail" } else { "--outcome pass" };
    let command = asked.lines().find(|line| line.contains(wanted))?.trim_start_matches("- ").trim_matches('`');
    let findings = if fails { finding_of(prompt) } else { String::new() };
    let reason = if prompt.contains("\n## unchanged\n") { "the task asks for no change" } else { "" };
    let result = serde_json::json!({ "findings": findings, "reason": reason });
    Some(vec![DemoAction::Verdict { command: format!("{command} <<'END'\n{result}\nEND") }])
}

/// The action of a line, without markup.
pub(super) fn parse_sentence(line: &str) -> Option<DemoAction> {
    let line = plain(line);
    let begin = line.find("Add a file ").map_or(line.as_str(), |at| &line[at..]);
    let words = |prefix: &str| begin.strip_prefix(prefix).map(str::trim).filter(|rest| !rest.is_empty());
    if let Some((file, text)) = words("Add a file ").and_then(|rest| rest.split_once(" that says ")) {
        return Some(DemoAction::Add { file: unquoted(file), text: unquoted(without_remark(text)) });
    }
    if let Some((text, file)) = words("Append ").and_then(|rest| rest.rsplit_once(" to ")) {
        return Some(DemoAction::Append { file: unquoted(file), text: unquoted(text) });
    }
    if let Some(plan) = words("Choose the next open task of ").and_then(|rest| rest.strip_suffix(" and do it")) {
        return Some(DemoAction::Choose { plan: unquoted(plan), finding_to_fix: None });
    }
    if let Some(command) = words("Run ") {
        return Some(DemoAction::Run { command: unquoted(command) });
    }
    words("Say ").map(|text| DemoAction::Say { text: unquoted(text) })
}

/// A line without the markup of a list, a heading or an element.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for character in line.chars() {
        match character {
            '<' if !inside && line.contains('>') => inside = true,
            '>' if inside => inside = false,
            _ if inside => {}
            other => text.push(other),
        }
    }
    let marks = |character: char| character.is_whitespace() || matches!(character, '-' | '*' | '#' | '[' | ']' | '>');
    let text = text.trim_start_matches(marks).trim_end();
    let text = text
        .split_once(": ")
        .filter(|(before, _)| before.len() <= 20 && !before.contains(' '))
        .map_or(text, |(_, after)| after);
    // A title is followed by the name of the task.
    let text = text.rsplit_once("** (`").map_or(text, |(title, _)| title);
    text.trim_matches('*').trim().to_owned()
}

/// A text without the remark that follows it in brackets: which skills the task names, and how its review ends.
fn without_remark(text: &str) -> &str {
    let is_remark = |remark: &str| remark.starts_with('@') || remark.contains("fails its first review");
    text.strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
        .filter(|(_, remark)| is_remark(remark))
        .map_or(text, |(text, _)| text)
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let quoted = [('"', '"'), ('`', '`'), ('\'', '\''), ('\u{201c}', '\u{201d}')]
        .into_iter()
        .find_map(|(open, close)| text.trim_end_matches('.').strip_prefix(open)?.strip_suffix(close));
    quoted.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(file: &str, text: &str) -> DemoAction {
        DemoAction::Add { file: file.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn sentences_are_understood_in_lists_headings_and_elements() {
        for line in [
            "Add a file hello.txt that says hi there",
            "- [ ] Add a file `hello.txt` that says \"hi there\".",
            "> Add a file hello.txt that says hi there",
            "## Task: Add a file hello.txt that says 'hi there'",
            "<title>Add a file hello.txt that says hi there</title>",
            "Please do this: Add a file hello.txt that says hi there",
        ] {
            assert_eq!(parse_sentence(line), Some(add("hello.txt", "hi there")), "{line}");
        }
        assert_eq!(parse_sentence("Run `ls -l > list`"), Some(DemoAction::Run { command: "ls -l > list".to_owned() }));
        assert_eq!(parse_sentence("> Run ls"), parse_sentence("Run ls"));
        assert_eq!(parse_sentence("Run ls"), Some(DemoAction::Run { command: "ls".to_owned() }));
        let append = DemoAction::Append { file: "b.md".to_owned(), text: "a to z".to_owned() };
        assert_eq!(parse_sentence("Append \"a to z\" to b.md"), Some(append));
        assert_eq!(parse_sentence("1 < 2"), None);
        assert_eq!(parse_sentence("Running is healthy"), None);
    }

    #[test]
    fn of_a_prompt_with_parts_only_what_to_do_counts() {
        let prompt = "Say nothing\n## Your task\n\n**Add a file a that says b** (`task_1`)\n\nAdd a file a that says b\n\
                      ## Details\nSay c\n\nIt is done when:\n- Run ls\n\n## Reporting\nRun x\n## Skills\nRun y";
        assert_eq!(parse_prompt(prompt), [add("a", "b"), DemoAction::Say { text: "c".to_owned() }]);
        assert_eq!(parse_prompt("Say x\nnothing\nRun y").len(), 2);
    }

    #[test]
    fn a_finding_of_its_review_is_fixed_in_the_file() {
        let task = "Add a file prices.txt that says apples 3, pears 4 (@price-lists; fails its first review)";
        let added = parse_sentence(task).unwrap();
        assert_eq!(added, add("prices.txt", "apples 3, pears 4"));
        let finding = finding_of(&format!("> {task}\n"));
        assert_eq!(finding, "prices.txt: put each item on a line of its own");
        assert_eq!(fix_action(added, &finding), add("prices.txt", "apples 3\npears 4"));
        assert_eq!(fix_action(add("a", "b"), &finding_of("Add a file a that says b")), add("a", "b."));
        assert_eq!(fix_action(add("a", "b"), "say c"), add("a", "b\nsay c"));
        assert_eq!(parse_sentence("Add a file a that says f(x) (twice)"), Some(add("a", "f(x) (twice)")));
    }

    #[test]
    fn a_script_has_turns() {
        let text = "# first\nSay one\n{\"do\":\"end_turn\"}\n{\"do\":\"prompt\"}\n{\"do\":\"exit\",\"code\":3}\n";
        let turns = script(text, "Add a file a that says b").unwrap();
        assert_eq!(turns[0], [DemoAction::Say { text: "one".to_owned() }]);
        assert_eq!(turns[1], [add("a", "b"), DemoAction::Exit { code: 3 }]);
        assert!(script("{\"do\":\"fly\"}", "").is_err());
    }
}
