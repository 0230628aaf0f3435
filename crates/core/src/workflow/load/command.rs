//! How does a command's text become a program and its arguments?
//!
//! A string is split into words here, once, before anything is substituted. What only a shell could do is refused
//! with the safe way to say it.

use super::Reader;
use crate::workflow::definition::{Action, Argument, Builtin, Effects, Parse, Placed, Retry, Work};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::Name;
use crate::workflow::template::{Reference, Template};
use crate::yaml::{Node, Place, Value};

/// The own fields of a `command` step.
pub(super) const KEYS: &[&str] = &["command", "shell", "parse", "effect", "idempotent", "retry"];

pub(super) fn work(fields: &super::reader::Fields<'_>, place: Place, reader: &mut Reader<'_>) -> Option<Work> {
    let action = match (fields.get("command"), fields.get("shell")) {
        (Some(node), None) => action(node, reader),
        (None, Some(node)) => shell(node, reader),
        _ => {
            let help = "write `command: program argument …`, or `shell:` for a fixed script";
            reader.find(FindingCode::E01, place, "a command step executes one command", help);
            None
        }
    };
    let parses = [("text", Parse::Text), ("lines", Parse::Lines), ("json", Parse::Json)];
    let parse = fields.get("parse").and_then(|node| reader.word(node, "way to read output", &parses));
    let said = fields.get("effect");
    let said = said.and_then(|node| reader.word(node, "effect", &[("read", Effects::Read), ("write", Effects::Write)]));
    let idempotent = reader.flag_of(fields.get("idempotent"));
    let retry = retry(fields.get("retry"), reader);
    let action = action?;
    let effects = match (&action, said) {
        (Action::Builtin { builtin, .. }, _) => builtin.effects(),
        (_, Some(Effects::Read)) => Effects::Read,
        (_, _) if idempotent => Effects::Idempotent,
        (_, _) => Effects::Write,
    };
    Some(Work::Command { action, parse: parse.unwrap_or_default(), effects, retry })
}

fn retry<'t>(node: Option<&'t Node<'t>>, reader: &mut Reader<'_>) -> Retry {
    let Some(node) = node else { return Retry::default() };
    if !matches!(node.value, Value::Map(_)) {
        return Retry { max: reader.limit(node, 10).unwrap_or_default(), delay: 0 };
    }
    let fields = reader.fields(node, "`retry`", &["max", "delay"]);
    let max = fields.get("max").and_then(|node| reader.limit(node, 10));
    let delay = fields.get("delay").and_then(|node| reader.seconds(node));
    Retry { max: max.unwrap_or(1), delay: delay.unwrap_or(0) }
}

/// A command: a text, a list, or `{builtin: NAME, …}`.
pub(super) fn action(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Action> {
    match &node.value {
        Value::Map(_) => builtin(node, reader),
        Value::List(items) => listed(items, node, reader),
        Value::Plain(_) | Value::Quoted(_) => split(node, reader),
    }
}

fn builtin(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Action> {
    let known: Vec<(&str, Builtin)> = Builtin::ALL.iter().map(|builtin| (builtin.word(), *builtin)).collect();
    let pairs = reader.pairs(node, "a command");
    let Some(named) = pairs.iter().find(|pair| pair.key == "builtin") else {
        reader.find(FindingCode::E01, node.place, "this is no command", "write a text, a list, or `{builtin: NAME}`");
        return None;
    };
    let builtin = reader.word(&named.value, "built-in", &known)?;
    let mut allowed = vec!["builtin"];
    allowed.extend(builtin.arguments());
    reader.fields(node, &format!("`{}`", builtin.word()), &allowed);
    let mut arguments = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.key != "builtin") {
        let name = Name::parse(&pair.key).ok();
        arguments.extend(name.zip(reader.template(&pair.value)));
    }
    Some(Action::Builtin { builtin, arguments: super::by_name(arguments) })
}

fn shell(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Action> {
    let fields = reader.fields(node, "`shell`", &["script", "env"]);
    let Some(script_node) = fields.get("script") else {
        reader.find(FindingCode::E01, node.place, "`shell` has no script", "add `script:`");
        return None;
    };
    let script = reader.text(script_node)?;
    if let Some((name, at)) = looks_filled(&script) {
        let place = reader.place_at(script_node, &script, at);
        let help = format!(
            "hand it over: `env: {{{}: \"{{{name}}}\"}}`, and use `${}`",
            name.to_uppercase(),
            name.to_uppercase()
        );
        reader.find(FindingCode::E14, place, format!("`{{{name}}}` in a script is not replaced"), help);
    }
    let mut env = std::collections::BTreeMap::new();
    if let Some(node) = fields.get("env") {
        for pair in reader.pairs(node, "`env`") {
            if let Some(template) = reader.template(&pair.value) {
                env.insert(pair.key.to_string(), template);
            }
        }
    }
    Some(Action::Shell { script, env })
}

/// A placeholder that somebody seems to expect in a script; `${name}` is the shell's own.
fn looks_filled(script: &str) -> Option<(&str, usize)> {
    let mut from = 0;
    while let Some(found) = script[from..].find('{') {
        let at = from + found;
        let inside = &script[at + 1..];
        let end = inside.find('}').unwrap_or(0);
        if !script[..at].ends_with('$') && Name::parse(&inside[..end]).is_ok() {
            return Some((&inside[..end], at));
        }
        from = at + 1;
    }
    None
}

fn listed(items: &[Node<'_>], node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Action> {
    let Some((first, rest)) = items.split_first() else {
        reader.find(FindingCode::E14, node.place, "the command is empty", "begin with the program's name");
        return None;
    };
    let program = reader.template(first).and_then(|template| program(&template, reader));
    let mut arguments = Vec::new();
    for item in rest {
        if matches!(item.value, Value::Map(_)) {
            let fields = reader.fields(item, "an argument", &["spread"]);
            arguments.extend(fields.get("spread").and_then(|node| spread(node, reader)));
        } else {
            arguments.extend(reader.template(item).map(Argument::Text));
        }
    }
    Some(Action::Program { program: program?, arguments })
}

fn spread(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Argument> {
    let text = reader.text(node)?;
    match Reference::parse(&text) {
        Ok(reference) => Some(Argument::Spread(reference, node.place)),
        Err(reason) => {
            reader.find(FindingCode::E01, node.place, reason, "write `{spread: name}` with the name of a list");
            None
        }
    }
}

fn program(template: &Placed<Template>, reader: &mut Reader<'_>) -> Option<String> {
    // Seed 5's way to a skill's own script: the folder is known before anything runs.
    let of_skill = template.text.starts_with("{skill_dir}/") && template.value.references().count() == 1;
    if template.value.is_literal() || of_skill {
        return Some(template.text.clone());
    }
    let help = "name the program itself; choose between programs with a `conditional`";
    reader.find(FindingCode::E14, template.place, "the program's name has a placeholder", help);
    None
}

fn split(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Action> {
    let text = reader.text(node)?;
    let (words, bad) = words(&text);
    for bad in bad {
        let place = reader.place_at(node, &text, bad.at);
        reader.find(FindingCode::E14, place, bad.message, bad.help);
    }
    let mut arguments = Vec::new();
    for word in words {
        let place = reader.place_at(node, &text, word.at);
        match Template::parse(&word.text) {
            Ok(value) => {
                let placed = Placed { value, place, text: word.text };
                arguments.push(if word.glob { Argument::Glob(placed) } else { Argument::Text(placed) });
            }
            Err(bad) => reader.find(FindingCode::E01, place, bad.reason, "names stand between braces, as in `{name}`"),
        }
    }
    let mut arguments = arguments.into_iter();
    let Some(Argument::Text(first)) = arguments.next() else {
        reader.find(FindingCode::E14, node.place, "the command names no program", "begin with the program's name");
        return None;
    };
    Some(Action::Program { program: program(&first, reader)?, arguments: arguments.collect() })
}

/// A word of a command.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    text: String,
    at: usize,
    /// Whether it is a pattern; what was quoted in it is then in brackets.
    glob: bool,
}

struct BadWord {
    at: usize,
    message: String,
    help: &'static str,
}

/// The words of a command by POSIX rules for quotes, without anything a shell would do to them, and what only a shell
/// could understand.
fn words(text: &str) -> (Vec<Word>, Vec<BadWord>) {
    let mut splitter = Splitter::default();
    let mut bad: Vec<BadWord> = Vec::new();
    let mut quote: Option<(char, usize)> = None;
    let mut chars = text.trim_end().char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote.map(|(quote, _)| quote), c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => splitter.quoted(c, at),
            (_, '$' | '`') => bad.push(operator(at, c)),
            (_, '\\') => {
                let escaped = chars.next().map_or('\\', |(_, escaped)| escaped);
                splitter.quoted(escaped, at);
            }
            (Some(_), c) => splitter.quoted(c, at),
            (None, '\'' | '"') => {
                splitter.begin(at);
                quote = Some((c, at));
            }
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '\n') => {
                splitter.end();
                // `&&` and `$(` are one operator, and told once.
                if bad.last().is_none_or(|last| last.at + 1 != at) {
                    bad.push(operator(at, c));
                }
            }
            (None, '~') if splitter.open.is_none() => bad.push(operator(at, c)),
            (None, c) if c.is_whitespace() => splitter.end(),
            (None, c) => splitter.bare(c, at),
        }
    }
    if let Some((_, at)) = quote {
        bad.push(BadWord { at, message: "the quote is never closed".into(), help: "close it" });
    }
    splitter.end();
    (splitter.done, bad)
}

#[derive(Default)]
struct Splitter {
    done: Vec<Word>,
    open: Option<(Word, String)>,
}

impl Splitter {
    fn begin(&mut self, at: usize) -> &mut (Word, String) {
        self.open.get_or_insert_with(|| (Word { text: String::new(), at, glob: false }, String::new()))
    }

    fn quoted(&mut self, c: char, at: usize) {
        let (word, pattern) = self.begin(at);
        word.text.push(c);
        match c {
            '*' | '?' | '[' => pattern.extend(['[', c, ']']),
            c => pattern.push(c),
        }
    }

    fn bare(&mut self, c: char, at: usize) {
        let (word, pattern) = self.begin(at);
        word.text.push(c);
        word.glob |= matches!(c, '*' | '?' | '[');
        pattern.push(c);
    }

    fn end(&mut self) {
        if let Some((mut word, pattern)) = self.open.take() {
            if word.glob {
                word.text = pattern;
            }
            self.done.push(word);
        }
    }
}

fn operator(at: usize, c: char) -> BadWord {
    let help = match c {
        '|' => "make it two steps: `store` the output of the first and hand it to the second",
        '<' | '>' => "use `store` for output, or let the program open the file itself",
        '$' | '`' => "use `{name}` for a value; for what a program prints, a step with `store`",
        '~' => "write the path out",
        '(' | ')' => "quote it if it is meant as text",
        _ => "make it a step of its own; `next` says what follows on `ok` and `fail`",
    };
    let shown = if c == '\n' { "a line break".to_owned() } else { format!("`{c}`") };
    BadWord { at, message: format!("{shown} means something to a shell only, and no shell reads this"), help }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<(String, bool)> {
        let (words, bad) = words(text);
        assert_eq!(bad.iter().map(|bad| bad.at).collect::<Vec<_>>(), [0; 0], "{text}");
        words.into_iter().map(|word| (word.text, word.glob)).collect()
    }

    #[test]
    fn words_are_split_as_a_shell_would_without_its_magic() {
        let plain = |words: &[&str]| words.iter().map(|word| ((*word).to_owned(), false)).collect::<Vec<_>>();
        assert_eq!(split("date +\"%Y-%m-%d.%H:%M:%S\""), plain(&["date", "+%Y-%m-%d.%H:%M:%S"]));
        assert_eq!(split("a 'b c' \"d 'e'\" f\\ g ''"), plain(&["a", "b c", "d 'e'", "f g", ""]));
        assert_eq!(split("echo ';' '$(x)' \"a;b\"\n"), plain(&["echo", ";", "$(x)", "a;b"]));
        assert_eq!(split("ls {tool}/*{role}.md '*'")[1..], [("{tool}/*{role}.md".into(), true), ("*".into(), false)]);
        assert_eq!(split("ls '*'*")[1], ("[*]*".into(), true));
    }

    #[test]
    fn what_only_a_shell_understands_is_refused_with_its_place() {
        let places = |text: &str| words(text).1.iter().map(|bad| bad.at).collect::<Vec<_>>();
        for (text, at) in [
            ("a | b; c", &[2, 5][..]),
            ("a && b", &[2]),
            ("a > b", &[2]),
            ("a $(b)", &[2, 5]),
            ("a \"`b`\"", &[3, 5]),
            ("~/x", &[0]),
            ("a\nb", &[1]),
            ("a 'b", &[2]),
        ] {
            assert_eq!(places(text), at, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_always_one_word(text in "[^']{0,20}") {
            let word = split(&format!("echo '{text}'"));
            prop_assert_eq!(&word[1], &(text, false));
        }
    }
}
