//! Words of a command.
//!
//! They are split by the rules of a shell for quotes, and by nothing else of it. What only a shell could do is refused
//! with the safe way to say it.

use super::run::{CommandSpec, GivenArgument};

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWord {
    /// What it says, without its quotes.
    pub text: String,
    /// Where it begins, in bytes.
    pub at: usize,
    /// Whether it is a pattern; what was quoted in it is then in brackets.
    pub glob: bool,
}

/// Something in a command that only a shell could understand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidWord {
    /// Where it is, in bytes.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// The safe way to say it.
    pub help: &'static str,
}

/// What a command that stands by itself, outside a workflow, orders: its words as they are.
pub fn parse_command(text: &str) -> Result<CommandSpec, InvalidWord> {
    let (words, bad) = split_words(text);
    if let Some(bad) = bad.into_iter().next() {
        return Err(bad);
    }
    let given =
        |word: CommandWord| if word.glob { GivenArgument::Glob(word.text) } else { GivenArgument::Text(word.text) };
    let mut words = words.into_iter();
    match words.next() {
        Some(CommandWord { text: program, glob: false, .. }) if !program.is_empty() => {
            Ok(CommandSpec::Program { program, arguments: words.map(given).collect() })
        }
        _ => {
            let (message, help) = ("the command names no program".to_owned(), "begin with the program's name");
            Err(InvalidWord { at: 0, message, help })
        }
    }
}

/// The words of a command by POSIX rules for quotes, without anything a shell would do to them, and what only a shell
/// could understand.
pub fn split_words(text: &str) -> (Vec<CommandWord>, Vec<InvalidWord>) {
    let mut splitter = WordSplitter::default();
    let mut bad: Vec<InvalidWord> = Vec::new();
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
                // `&&` and `$(` are one operator, reported once.
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
        bad.push(InvalidWord { at, message: "the quote is never closed".into(), help: "close it" });
    }
    splitter.end();
    (splitter.done, bad)
}

#[derive(Default)]
struct WordSplitter {
    done: Vec<CommandWord>,
    open: Option<(CommandWord, String)>,
}

impl WordSplitter {
    fn begin(&mut self, at: usize) -> &mut (CommandWord, String) {
        self.open.get_or_insert_with(|| (CommandWord { text: String::new(), at, glob: false }, String::new()))
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

fn operator(at: usize, c: char) -> InvalidWord {
    let help = match c {
        '|' => "make it two steps: `store` the output of the first and hand it to the second",
        '<' | '>' => "use `store` for output, or let the program open the file itself",
        '$' | '`' => "use `{name}` for a value; for what a program prints, a step with `store`",
        '~' => "write the path out",
        '(' | ')' => "quote it if it is meant as text",
        _ => "make it a step of its own; `next` says what follows on `ok` and `fail`",
    };
    let shown = if c == '\n' { "a line break".to_owned() } else { format!("`{c}`") };
    InvalidWord { at, message: format!("{shown} means something to a shell only, and no shell reads this"), help }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<(String, bool)> {
        let (words, bad) = split_words(text);
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
        let places = |text: &str| split_words(text).1.iter().map(|bad| bad.at).collect::<Vec<_>>();
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

    #[test]
    fn a_command_by_itself_is_an_order() {
        let text = |text: &str| GivenArgument::Text(text.to_owned());
        let arguments = vec![text("test"), text("{name}"), text("a b"), GivenArgument::Glob("*.rs".to_owned())];
        let expected = CommandSpec::Program { program: "cargo".to_owned(), arguments };
        assert_eq!(parse_command("cargo test {name} 'a b' *.rs"), Ok(expected));
        assert_eq!(parse_command("a; b").unwrap_err().at, 1);
        assert_eq!(parse_command("  ").unwrap_err().message, "the command names no program");
        assert!(parse_command("*.sh").is_err());
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_always_one_word(text in "[^']{0,20}") {
            let word = split(&format!("echo '{text}'"));
            prop_assert_eq!(&word[1], &(text, false));
        }
    }
}
