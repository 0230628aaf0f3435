//! Command lines as a shell reads them, as far as that is certain: words, pipes and chains. Anything else is nothing.

/// A line: one command, or several in a pipe or a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The commands in their order; each has a word.
    pub(super) commands: Vec<Vec<ShellWord>>,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// What it says, without quotes.
    pub(super) text: String,
    /// Whether the shell puts names of files in its place.
    pub(super) is_pattern: bool,
}

impl ShellWord {
    /// A word that stands for itself.
    pub(super) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), is_pattern: false }
    }
}

impl CommandLine {
    /// One command whose words no shell reads.
    pub(super) fn of_words(words: &[String]) -> Option<Self> {
        let words: Vec<ShellWord> = words.iter().map(|word| ShellWord::literal(word)).collect();
        (!words.is_empty()).then(|| Self { commands: vec![words] })
    }

    /// What a shell would run. Nothing for a line that assigns, expands, redirects to a file, runs something in the
    /// background, or has any other sign that is not known here.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (commands, words) = (Vec::new(), Vec::new());
        let mut reader = CommandLineReader { rest: text.trim(), commands, words, expects: Separator::Needs };
        loop {
            reader.skip_blanks();
            if reader.rest.is_empty() {
                return reader.end();
            }
            if reader.take_discard() {
                continue;
            }
            match reader.take_separator() {
                Some(Separator::Needs) => {
                    reader.close()?;
                    reader.expects = Separator::Needs;
                }
                // Empty lines may follow a command.
                Some(Separator::Ends) if reader.words.is_empty() && reader.expects == Separator::Ends => {}
                Some(Separator::Ends) => reader.close()?,
                None => {
                    let word = reader.take_word()?;
                    reader.words.push(word);
                    reader.expects = Separator::Ends;
                }
            }
        }
    }
}

/// What stands between two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// A command comes after it.
    Needs,
    /// It ends a command.
    Ends,
}

/// Redirections that write nothing: to another output, or away.
const DISCARDS: [&str; 9] = [
    "2>&1",
    "2>/dev/null",
    "2> /dev/null",
    "1>/dev/null",
    "1> /dev/null",
    "&>/dev/null",
    ">/dev/null",
    "> /dev/null",
    "</dev/null",
];

/// Characters that make more of a line than words, where they are not in quotes.
const NOT_KNOWN: &str = "&<>()$`\\[]~%!{}\"'";

/// What is read of a line so far.
struct CommandLineReader<'a> {
    rest: &'a str,
    commands: Vec<Vec<ShellWord>>,
    words: Vec<ShellWord>,
    /// Whether a command must follow.
    expects: Separator,
}

impl CommandLineReader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Ends the command that is read, which must have a word.
    fn close(&mut self) -> Option<()> {
        let words = std::mem::take(&mut self.words);
        (!words.is_empty()).then(|| self.commands.push(words))
    }

    fn end(mut self) -> Option<CommandLine> {
        if !self.words.is_empty() {
            self.close()?;
        }
        (self.expects == Separator::Ends).then_some(CommandLine { commands: self.commands })
    }

    /// Takes a redirection that writes nothing, as a word of its own behind a command.
    fn take_discard(&mut self) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let is_alone = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '|', ';']);
        let known = DISCARDS.iter().find_map(|known| self.rest.strip_prefix(known).filter(|rest| is_alone(rest)));
        known.map(|rest| self.rest = rest).is_some()
    }

    fn take_separator(&mut self) -> Option<Separator> {
        const SEPARATORS: [(&str, Separator); 5] = [
            ("&&", Separator::Needs),
            ("||", Separator::Needs),
            ("|", Separator::Needs),
            (";", Separator::Ends),
            ("\n", Separator::Ends),
        ];
        let (rest, kind) = SEPARATORS.iter().find_map(|(text, kind)| Some((self.rest.strip_prefix(text)?, *kind)))?;
        self.rest = rest;
        Some(kind)
    }

    /// Takes a word; nothing where it is more than that.
    fn take_word(&mut self) -> Option<ShellWord> {
        let mut word = ShellWord::literal("");
        let mut quote: Option<char> = None;
        let mut chars = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, char)) = chars.next() {
            if quote.is_none() && ends_word(&self.rest[at..]) {
                end = at;
                break;
            }
            match (quote, char) {
                (None, '\'' | '"') => quote = Some(char),
                (Some(open), char) if char == open => quote = None,
                (None, char) if !is_plain(char, at) => return None,
                (Some(open), char) if !is_literal(open, char, chars.peek().map(|(_, next)| *next)) => return None,
                (quote, char) => {
                    word.is_pattern |= quote.is_none() && matches!(char, '*' | '?');
                    word.text.push(char);
                }
            }
        }
        if quote.is_some() {
            return None;
        }
        self.rest = &self.rest[end..];
        Some(word)
    }
}

/// Whether a word ends before this text.
fn ends_word(rest: &str) -> bool {
    rest.starts_with([' ', '\t', '\n', '|', ';']) || rest.starts_with("&&")
}

/// Whether a character outside of quotes is a part of a word, or of a pattern.
fn is_plain(char: char, at: usize) -> bool {
    // In the middle of a word `#` begins no comment, and some shells put a program's path in place of `=name`.
    !NOT_KNOWN.contains(char) && !char.is_control() && (at > 0 || !matches!(char, '#' | '='))
}

/// Whether a character within quotes stands for itself.
fn is_literal(quote: char, char: char, next: Option<char>) -> bool {
    match (quote, char) {
        ('"', '$' | '`' | '!') => false,
        // Before any other sign it stands for itself.
        ('"', '\\') => !matches!(next, None | Some('$' | '`' | '"' | '\\' | '\n' | '!')),
        (_, char) => !char.is_control() || matches!(char, '\t' | '\n'),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn commands(text: &str) -> Option<Vec<Vec<String>>> {
        let line = CommandLine::parse(text)?;
        let words = |command: Vec<ShellWord>| command.into_iter().map(|word| word.text).collect();
        Some(line.commands.into_iter().map(words).collect())
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn pipes_and_chains_are_their_commands() {
        assert_eq!(commands("cat  'a b' | wc -l"), Some(vec![words(&["cat", "a b"]), words(&["wc", "-l"])]));
        assert_eq!(commands("a && b || c; d\ne"), Some(["a", "b", "c", "d", "e"].map(|word| words(&[word])).to_vec()));
        assert_eq!(commands("a 2>&1 | b >/dev/null;"), Some(vec![words(&["a"]), words(&["b"])]));
        assert_eq!(commands("a\n\nb"), Some(vec![words(&["a"]), words(&["b"])]));
        assert_eq!(commands("a&&b|c"), Some(["a", "b", "c"].map(|word| words(&[word])).to_vec()));
        assert_eq!(commands("grep \"a\\|b\" f#1"), Some(vec![words(&["grep", "a\\|b", "f#1"])]));
        assert_eq!(commands("a ''"), Some(vec![words(&["a", ""])]));
        let line = CommandLine::parse("ls src/*.rs 'a*'").unwrap();
        assert_eq!(line.commands[0].iter().map(|word| word.is_pattern).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn what_is_more_than_that_is_not_understood() {
        for text in [
            "",
            " ",
            "|",
            "a |",
            "| a",
            "a &&",
            "a || ",
            "a | | b",
            "; a | ",
            "a & b",
            "a &",
            "a |& b",
            "a > f",
            "a >> f",
            "a < f",
            "a 2> f",
            "a >/dev/nullx",
            "a>/dev/null",
            "a <<'E'\nx\nE",
            "a <(b)",
            "$(a)",
            "`a`",
            "a $B",
            "a \"$B\"",
            "a \"`b`\"",
            "a \\\n b",
            "a \"\\$b\"",
            "(a)",
            "{ a; }",
            "a [b]",
            "~/a",
            "a # b",
            "#a",
            "!a",
            "a %1",
            "a 'b",
            "a \"b",
            "=a",
            "a\rb",
            "a {b,c}",
            ">/dev/null a",
            "2>&1",
        ] {
            assert_eq!(commands(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_word_is_made_up(text in "\\PC{0,60}") {
            if let Some(commands) = commands(&text) {
                let letters = |text: &str| text.chars().filter(|char| char.is_alphanumeric()).count();
                let read: usize = commands.iter().flatten().map(|word| letters(word)).sum();
                prop_assert!(read <= letters(&text));
                prop_assert!(commands.iter().all(|command| !command.is_empty()));
            }
        }

        #[test]
        fn words_in_quotes_are_read_as_they_are(
            given in proptest::collection::vec(proptest::collection::vec("[^'\\p{Cc}]{0,12}", 1..4), 1..4),
        ) {
            let quoted: Vec<String> = given
                .iter()
                .map(|words| words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "))
                .collect();
            for between in [" | ", "&&", " || ", ";", "\n"] {
                prop_assert_eq!(commands(&quoted.join(between)), Some(given.clone()));
            }
        }

        #[test]
        fn a_sign_that_does_more_is_never_read_over(
            before in "[a-z]{1,5}( [a-z]{1,5})?",
            sign in proptest::sample::select(vec!["$", "`", "(", ")", "<", ">", "\\", "{", "}", "&", "~", "%", "[", "]"]),
            after in "[a-z]{1,5}",
        ) {
            prop_assert_eq!(commands(&format!("{before} {sign}{after}")), None);
            prop_assert_eq!(commands(&format!("{before}{sign}{after}")), None);
        }
    }
}
