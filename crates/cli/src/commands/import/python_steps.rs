//! Steps in the text of a Python script: `StepDef(…)`, `Step(…)` and `{"title": …, "actions": […]}`. Only literals are
//! read; nothing is executed.

/// A step as far as its text says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PythonStep {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) actions: Vec<String>,
}

/// A piece of Python.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PythonToken {
    Text(String),
    Word(String),
    Mark(char),
}

/// The steps of a script, in the order of its text.
pub(super) fn read_steps(source: &str) -> Vec<PythonStep> {
    let tokens = tokens(source);
    let mut steps = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_call = matches!(&tokens[at], PythonToken::Word(word) if word == "StepDef" || word == "Step")
            && tokens.get(at + 1) == Some(&PythonToken::Mark('('));
        let is_entry = tokens[at] == PythonToken::Mark('{')
            && matches!(tokens.get(at + 1), Some(PythonToken::Text(key)) if key == "title" || key == "id")
            && tokens.get(at + 2) == Some(&PythonToken::Mark(':'));
        if is_call || is_entry {
            let begin = at + if is_call { 2 } else { 1 };
            let end = closing(&tokens, begin);
            let step = step_of(&tokens[begin..end]);
            steps.extend(Some(step).filter(|step| !step.title.is_empty() || !step.actions.is_empty()));
            at = end;
        }
        at += 1;
    }
    steps
}

/// Where the bracket that was opened before `begin` closes.
fn closing(tokens: &[PythonToken], begin: usize) -> usize {
    let mut depth = 1_usize;
    for (index, token) in tokens.iter().enumerate().skip(begin) {
        match token {
            PythonToken::Mark('(' | '[' | '{') => depth += 1,
            PythonToken::Mark(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len()
}

/// A step by its arguments: `name=value` or `"name": value`, at the top level.
fn step_of(arguments: &[PythonToken]) -> PythonStep {
    let (mut step, mut at) = (PythonStep::default(), 0);
    while at < arguments.len() {
        let key = match (&arguments[at], arguments.get(at + 1)) {
            (PythonToken::Word(key), Some(PythonToken::Mark('=')))
            | (PythonToken::Text(key), Some(PythonToken::Mark(':'))) => Some(key),
            _ => None,
        };
        let Some(key) = key else {
            // A nested value is skipped as a whole.
            at = match arguments[at] {
                PythonToken::Mark('(' | '[' | '{') => closing(arguments, at + 1) + 1,
                _ => at + 1,
            };
            continue;
        };
        let begin = at + 2;
        let (texts, end) = value(arguments, begin);
        match key.as_str() {
            "id" => step.id = texts.concat(),
            "title" => step.title = texts.concat(),
            "actions" => step.actions = texts,
            _ => {}
        }
        at = end.max(begin);
    }
    step
}

/// The texts of a value, and where it ends; texts beside each other are one, as Python has it.
fn value(tokens: &[PythonToken], begin: usize) -> (Vec<String>, usize) {
    let (mut texts, mut depth, mut joins): (Vec<String>, usize, bool) = (Vec::new(), 0, false);
    for (index, token) in tokens.iter().enumerate().skip(begin) {
        match token {
            PythonToken::Mark(',') if depth == 0 => return (texts, index),
            PythonToken::Mark('(' | '[' | '{') => depth += 1,
            PythonToken::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            PythonToken::Text(text) => match texts.last_mut().filter(|_| joins) {
                Some(last) => last.push_str(text),
                None => texts.push(text.clone()),
            },
            _ => {}
        }
        joins = matches!(token, PythonToken::Text(_));
    }
    (texts, tokens.len())
}

fn tokens(source: &str) -> Vec<PythonToken> {
    let letters: Vec<char> = source.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < letters.len() {
        let letter = letters[at];
        if letter == '#' {
            at = letters[at..].iter().position(|c| *c == '\n').map_or(letters.len(), |end| at + end);
        } else if letter == '"' || letter == '\'' {
            let (text, end) = literal(&letters, at);
            found.push(PythonToken::Text(text));
            at = end;
        } else if letter.is_alphanumeric() || letter == '_' {
            let rest = &letters[at..];
            let end = at + rest.iter().position(|c| !c.is_alphanumeric() && *c != '_').unwrap_or(rest.len());
            let word: String = letters[at..end].iter().collect();
            // The prefix of a literal is no word.
            let is_prefix = word.len() <= 2 && matches!(letters.get(end), Some('"' | '\''));
            if !is_prefix {
                found.push(PythonToken::Word(word));
            }
            at = end;
        } else {
            if !letter.is_whitespace() {
                found.push(PythonToken::Mark(letter));
            }
            at += 1;
        }
    }
    found
}

/// A literal that begins here, and where it ends.
fn literal(letters: &[char], begin: usize) -> (String, usize) {
    let quote = letters[begin];
    let is_long = letters.get(begin + 1) == Some(&quote) && letters.get(begin + 2) == Some(&quote);
    let width = if is_long { 3 } else { 1 };
    let (mut text, mut at) = (String::new(), begin + width);
    while at < letters.len() {
        let closes = letters[at..].iter().take(width).filter(|c| **c == quote).count() == width;
        if closes || (!is_long && letters[at] == '\n') {
            return (text, at + width);
        }
        if letters[at] == '\\' {
            match letters.get(at + 1) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('\n') | None => {}
                Some(other) => text.push(*other),
            }
            at += 1;
        } else {
            text.push(letters[at]);
        }
        at += 1;
    }
    (text, letters.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_in_all_three_forms() {
        let calls = "W = Workflow(\"w\", StepDef(id='look', title=\"Look # around\", actions=[\"Read {x}\", 'Say \"a\" '\n  'b'],\n handler=f, next={Outcome.OK: \"go\"}),\n StepDef(id=\"go\", title=r\"Go\", next={Outcome.OK: None}))";
        let steps = read_steps(calls);
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].id.as_str(), steps[0].title.as_str()), ("look", "Look # around"));
        assert_eq!(steps[0].actions, ["Read {x}", "Say \"a\" b"]);
        assert_eq!((steps[1].id.as_str(), steps[1].title.as_str()), ("go", "Go"));
        let table = "STEPS = {\n  1: {\"title\": \"One\", \"actions\": [\"a\", \"b\"]},  # \"title\"\n  2: Step(\n    title=\"\"\"Two\"\"\",\n    actions=[\"c\"], routing=LinearRouting(),\n  ),\n}";
        let steps: Vec<(String, usize)> =
            read_steps(table).into_iter().map(|step| (step.title, step.actions.len())).collect();
        assert_eq!(steps, [("One".to_owned(), 2), ("Two".to_owned(), 1)]);
    }

    #[test]
    fn a_cut_or_odd_script_has_no_steps() {
        for source in ["", "StepDef(", "'unclosed", "Step(x)", "print('title')", "{\"title\": title}"] {
            assert_eq!(read_steps(source), [], "{source}");
        }
    }
}
