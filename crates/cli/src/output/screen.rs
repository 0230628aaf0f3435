//! Text for terminals: color, width, and removal of control characters.
//!
//! Whatever comes from a file is cleaned before it is shown to a person: control characters and invisible ones
//! become visible, so that no skill can move the cursor or hide its words.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use maestro_core::hidden_chars::is_invisible;
use maestro_core::{Problem, ProblemSeverity};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Which of the standard streams are terminals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalStreams {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

/// Whether what is printed can be read by anyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputReader {
    /// Possibly.
    Possible,
    /// No: standard output is closed, or the null device.
    None,
}

impl OutputReader {
    /// That of this process's standard output. A closed one is the null device by now: Rust opens it at the start.
    pub(crate) fn of_stdout() -> Self {
        let device = |file: &File| file.metadata().ok().filter(|found| found.file_type().is_char_device());
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        let null = File::open("/dev/null");
        match (stdout.as_ref().map(device), null.as_ref().map(device)) {
            (Ok(Some(stdout)), Ok(Some(null))) if stdout.rdev() == null.rdev() => Self::None,
            (Err(_), _) => Self::None,
            _ => Self::Possible,
        }
    }
}

/// When color is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal that wants it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Colors text, or leaves it alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextStyle {
    on: bool,
}

impl TextStyle {
    pub(crate) fn for_stdout(choice: ColorChoice) -> Self {
        Self::chosen(choice, io::stdout().is_terminal())
    }

    pub(crate) fn for_stderr(choice: ColorChoice) -> Self {
        Self::chosen(choice, io::stderr().is_terminal())
    }

    pub(crate) fn plain() -> Self {
        Self { on: false }
    }

    fn chosen(choice: ColorChoice, is_terminal: bool) -> Self {
        let wanted = || {
            let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            is_terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        };
        let on = match choice {
            ColorChoice::Auto => wanted(),
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        Self { on }
    }

    /// Whether color is used.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    fn styled(self, style: Style, text: &str) -> String {
        if self.on { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.styled(AnsiColor::Green.on_default(), text)
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.styled(AnsiColor::Red.on_default().bold(), text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.styled(AnsiColor::Yellow.on_default(), text)
    }

    pub(crate) fn help(self, text: &str) -> String {
        self.styled(AnsiColor::Cyan.on_default(), text)
    }

    /// Color of skills.
    pub(crate) fn skill(self, text: &str) -> String {
        self.styled(AnsiColor::Magenta.on_default(), text)
    }

    pub(crate) fn severity(self, severity: ProblemSeverity, text: &str) -> String {
        match severity {
            ProblemSeverity::Error => self.error(text),
            ProblemSeverity::Warning => self.warning(text),
            ProblemSeverity::Info => self.dim(text),
        }
    }
}

/// A problem on three lines: message, place, hint.
pub(crate) fn problem(problem: &Problem, paint: TextStyle) -> String {
    let head = paint.severity(problem.severity, &format!("{}[{}]", problem.severity, problem.code));
    let mut text = format!("{head}: {}\n", clean(&problem.message));
    let _ = writeln!(text, "  {} {}", paint.dim("-->"), clean_path(&place(problem)));
    let _ = writeln!(text, "  {} {}", paint.help("hint:"), clean(&problem.help));
    text
}

/// Where a problem is. A variable and a flag have no lines.
pub(crate) fn place(problem: &Problem) -> String {
    let path = problem.path.to_string_lossy();
    if path.starts_with('$') || path.starts_with("--") {
        return path.into_owned();
    }
    format!("{path}:{}:{}", problem.line, problem.column)
}

/// Text from a file, safe to show and on one line.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if is_plain_line(text) || (is_tidy(text) && !text.chars().any(|c| needs_escape(c) || is_odd_blank(c))) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&clean_path(word));
    }
    Cow::Owned(shown)
}

/// Whether blanks stand only between words, one at a time.
fn is_tidy(text: &str) -> bool {
    !text.starts_with(' ') && !text.ends_with(' ') && !text.contains("  ")
}

/// Whether there are only words of visible ASCII, with one blank between two, as in most text.
fn is_plain_line(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks::<WORD>();
    // Whether a blank came before, as its bit in a word; at the beginning there may be none.
    let mut before = 0x80;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let blanks = zeros(word ^ (EACH * u64::from(b' ')));
        if !is_visible(word) || blanks & (blanks << 8 | before) != 0 {
            return false;
        }
        before = blanks >> (8 * (WORD - 1));
    }
    let mut after_blank = before != 0;
    for byte in rest {
        if !matches!(byte, b' '..=b'~') || (after_blank && *byte == b' ') {
            return false;
        }
        after_blank = *byte == b' ';
    }
    text.is_empty() || !after_blank
}

/// Whether there is nothing but visible ASCII and blanks.
fn is_plain_ascii(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks::<WORD>();
    words.iter().all(|word| is_visible(u64::from_le_bytes(*word)))
        && rest.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// How many bytes are looked at together: lists of ten thousand descriptions are mostly this.
const WORD: usize = 8;
/// One in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Whether no byte is beyond ASCII, less than a blank, or a delete character.
fn is_visible(word: u64) -> bool {
    (word | word.wrapping_sub(EACH * u64::from(b' '))) & (EACH * 0x80) == 0 && zeros(word ^ (EACH * 0x7f)) == 0
}

/// The highest bit of each byte that is zero.
fn zeros(word: u64) -> u64 {
    const LOW: u64 = EACH * 0x7f;
    !(((word & LOW) + LOW) | word | LOW)
}

/// How many columns a text takes. Few texts need more than their length.
pub(crate) fn columns(text: &str) -> usize {
    if is_plain_ascii(text) { text.len() } else { text.width() }
}

fn is_odd_blank(c: char) -> bool {
    c != ' ' && c.is_whitespace()
}

/// A path or a message with paths in it, safe to show; its blanks stay as they are.
pub(crate) fn clean_path(text: &str) -> Cow<'_, str> {
    if !is_plain_ascii(text) && text.chars().any(needs_escape) {
        Cow::Owned(visible(text))
    } else {
        Cow::Borrowed(text)
    }
}

/// Several lines from a file, safe to show.
pub(crate) fn clean_lines(text: &str) -> String {
    text.split('\n')
        .map(|line| clean_path(line.trim_end_matches('\r')).replace("\\t", "    "))
        .collect::<Vec<_>>()
        .join("\n")
}

fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if needs_escape(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        shown
    })
}

fn needs_escape(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c)
}

/// Text cut to a width, with an ellipsis where something is missing.
pub(crate) fn fit(text: &str, width: usize) -> Cow<'_, str> {
    // No character is wider than it is long, so most texts need not be measured.
    if text.len() <= width || columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut used = 1;
    let mut cut = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(c);
    }
    let kept = cut.trim_end().len();
    cut.truncate(kept);
    cut.push('…');
    Cow::Owned(cut)
}

/// A line wrapped at words to a width; further lines are indented.
pub(crate) fn wrap(line: &str, width: usize, indent: usize) -> String {
    let indent = indent.min(width / 2);
    let mut wrapped = String::with_capacity(line.len());
    let mut rest = line;
    let mut room = width;
    while rest.width() > room {
        let Some(at) = break_at(rest, room) else { break };
        wrapped.push_str(rest[..at].trim_end());
        wrapped.push('\n');
        wrapped.extend(std::iter::repeat_n(' ', indent));
        rest = rest[at..].trim_start();
        room = width - indent;
    }
    wrapped + rest
}

/// Where a line is broken so that it fits, if there is a blank; a longer word stays whole.
fn break_at(line: &str, width: usize) -> Option<usize> {
    let start = line.len() - line.trim_start().len();
    let (mut used, mut last) = (0, None);
    for (at, c) in line.char_indices() {
        if c == ' ' && at > start {
            last = Some(at);
        }
        used += c.width().unwrap_or(0);
        if used > width && last.is_some() {
            return last;
        }
    }
    None
}

/// Text followed by blanks up to a width.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    let mut padded = String::with_capacity(text.len() + missing);
    padded.push_str(text);
    padded.push_str(&" ".repeat(missing));
    padded
}

/// A number and its noun.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_can_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}"), "a\\u{1b}[31mred\\u{7}");
        assert_eq!(clean("line\n  two\t three "), "line two three");
        assert_eq!(clean("abc\u{202e}fdp.exe"), "abc\\u{202e}fdp.exe");
        assert_eq!(clean("naïve – 日本"), "naïve – 日本");
        assert_eq!(clean("a\u{200b}b\u{e0041}c\u{e0100}"), "a\\u{200b}b\\u{e0041}c\\u{e0100}");
        assert_eq!(clean_lines("a\u{1b}c\r\nb"), "a\\u{1b}c\nb");
    }

    #[test]
    fn what_is_out_of_place_is_seen_wherever_it_stands() {
        let in_one_pass =
            |text: &str| assert_eq!(is_plain_line(text), is_plain_ascii(text) && is_tidy(text), "{text:?}");
        for length in 0..40 {
            let text = "x".repeat(length);
            assert!(is_plain_line(&text));
            in_one_pass(&format!("{text} "));
            for at in 0..length {
                for (odd, plain) in
                    [("\n", false), ("\u{1f}", false), ("\u{7f}", false), ("é", false), ("~", true), (" ", true)]
                {
                    let text = format!("{}{odd}{}", "x".repeat(at), "x".repeat(length - at));
                    assert_eq!(is_plain_ascii(&text), plain, "{text:?}");
                    assert_eq!(is_tidy(&text), odd != " " || at > 0, "{text:?}");
                    in_one_pass(&text);
                }
                let doubled = format!("{}  {}", "x".repeat(at), "x".repeat(length - at));
                assert!(!is_tidy(&doubled));
                in_one_pass(&doubled);
            }
        }
    }

    #[test]
    fn lines_are_wrapped_at_words() {
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("short", 9, 2), "short");
        assert_eq!(wrap("a-word-that-is-far-too-long and more", 10, 2), "a-word-that-is-far-too-long\n  and more");
        assert_eq!(wrap("    indented words here", 12, 6), "    indented\n      words\n      here");
    }

    #[test]
    fn text_is_cut_by_what_it_takes_on_the_screen() {
        assert_eq!(fit("日本語のテキスト", 7), "日本語…");
        assert_eq!(fit("short", 7), "short");
        assert_eq!(pad("日本", 6), "日本  ");
    }
}
