//! Patterns of texts: a small part of regular expressions, matched in linear time.
//!
//! Characters, `.`, classes (`[a-z]`, `[^,]`, `\d`, `\w`, `\s`), groups, `|`, and the repetitions `*`, `+`, `?`, `{2}`, `{2,}`,
//! `{2,5}`. A pattern is about the whole text, so `^` and `$` around it are allowed and mean nothing.

use std::collections::BTreeSet;

/// How many characters a pattern may have.
const MAX_LEN: usize = 500;
/// How often something may be repeated by number.
const MAX_TIMES: usize = 256;
/// How many parts a pattern may have once its repetitions are written out.
const MAX_PARTS: usize = 5_000;
/// How deep groups may nest.
const MAX_DEPTH: usize = 32;

/// A pattern that texts match or do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPattern {
    text: String,
    parts: Vec<MatchPart>,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InvalidPattern {
    /// Where, in bytes.
    pub at: usize,
    /// What is wrong.
    pub reason: String,
}

/// One part of a compiled pattern; numbers are places of other parts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MatchPart {
    /// A character of this class.
    Class(CharClass),
    /// On with both.
    Split(usize, usize),
    /// On with another.
    Jump(usize),
    /// It matches.
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CharClass {
    ranges: Vec<(char, char)>,
    negated: bool,
}

impl CharClass {
    fn has(&self, c: char) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != self.negated
    }
}

#[derive(Debug, Clone)]
enum PatternNode {
    Class(CharClass),
    Sequence(Vec<PatternNode>),
    Either(Vec<PatternNode>),
    Repeat { node: Box<PatternNode>, least: usize, most: Option<usize> },
}

impl TextPattern {
    /// The pattern with this text.
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        if text.chars().count() > MAX_LEN {
            return Err(InvalidPattern { at: 0, reason: format!("a pattern has at most {MAX_LEN} characters") });
        }
        let inner = text.strip_prefix('^').unwrap_or(text);
        let start = text.len() - inner.len();
        let inner = match inner.strip_suffix('$') {
            Some(before) if !before.ends_with('\\') => before,
            _ => inner,
        };
        let mut parser = PatternParser { text: inner, at: 0, start, depth: 0 };
        let node = parser.either()?;
        if parser.at < inner.len() {
            return Err(parser.fault("a `)` that closes nothing"));
        }
        let mut parts = Vec::new();
        compile(&node, &mut parts).map_err(|()| InvalidPattern { at: 0, reason: "the pattern is too large".into() })?;
        parts.push(MatchPart::Done);
        Ok(Self { text: text.to_owned(), parts })
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let mut current = BTreeSet::new();
        self.follow(0, &mut current);
        for c in text.chars() {
            let mut next = BTreeSet::new();
            for at in &current {
                if matches!(&self.parts[*at], MatchPart::Class(class) if class.has(c)) {
                    self.follow(at + 1, &mut next);
                }
            }
            if next.is_empty() {
                return false;
            }
            current = next;
        }
        current.iter().any(|at| self.parts[*at] == MatchPart::Done)
    }

    /// Adds a part, and every part that follows it without a character.
    fn follow(&self, at: usize, reached: &mut BTreeSet<usize>) {
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            if !reached.insert(at) {
                continue;
            }
            match &self.parts[at] {
                MatchPart::Split(a, b) => open.extend([*a, *b]),
                MatchPart::Jump(to) => open.push(*to),
                MatchPart::Class(_) | MatchPart::Done => {}
            }
        }
    }
}

fn compile(node: &PatternNode, parts: &mut Vec<MatchPart>) -> Result<(), ()> {
    if parts.len() > MAX_PARTS {
        return Err(());
    }
    match node {
        PatternNode::Class(class) => parts.push(MatchPart::Class(class.clone())),
        PatternNode::Sequence(nodes) => nodes.iter().try_for_each(|node| compile(node, parts))?,
        PatternNode::Either(nodes) => either(nodes, parts)?,
        PatternNode::Repeat { node, least, most } => {
            for _ in 0..*least {
                compile(node, parts)?;
            }
            match most {
                None => {
                    let split = parts.len();
                    parts.push(MatchPart::Jump(0));
                    compile(node, parts)?;
                    parts.push(MatchPart::Jump(split));
                    parts[split] = MatchPart::Split(split + 1, parts.len());
                }
                Some(most) => {
                    let mut splits = Vec::new();
                    for _ in *least..*most {
                        splits.push(parts.len());
                        parts.push(MatchPart::Jump(0));
                        compile(node, parts)?;
                    }
                    let end = parts.len();
                    for at in splits {
                        parts[at] = MatchPart::Split(at + 1, end);
                    }
                }
            }
        }
    }
    Ok(())
}

fn either(nodes: &[PatternNode], parts: &mut Vec<MatchPart>) -> Result<(), ()> {
    let mut ends = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        if index + 1 == nodes.len() {
            compile(node, parts)?;
            break;
        }
        let split = parts.len();
        parts.push(MatchPart::Jump(0));
        compile(node, parts)?;
        ends.push(parts.len());
        parts.push(MatchPart::Jump(0));
        parts[split] = MatchPart::Split(split + 1, parts.len());
    }
    let end = parts.len();
    for at in ends {
        parts[at] = MatchPart::Jump(end);
    }
    Ok(())
}

struct PatternParser<'t> {
    text: &'t str,
    at: usize,
    start: usize,
    depth: usize,
}

impl PatternParser<'_> {
    fn either(&mut self) -> Result<PatternNode, InvalidPattern> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault("groups are nested too deep"));
        }
        let mut nodes = vec![self.sequence()?];
        while self.take('|') {
            nodes.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(PatternNode::Either(nodes))
    }

    fn sequence(&mut self) -> Result<PatternNode, InvalidPattern> {
        let mut nodes = Vec::new();
        while self.peek().is_some_and(|c| c != '|' && c != ')') {
            let node = self.one()?;
            nodes.push(self.repeated(node)?);
        }
        Ok(PatternNode::Sequence(nodes))
    }

    fn one(&mut self) -> Result<PatternNode, InvalidPattern> {
        let any = CharClass { ranges: vec![('\n', '\n')], negated: true };
        let Some(c) = self.next() else { return Err(self.fault("the pattern ends too early")) };
        match c {
            '.' => Ok(PatternNode::Class(any)),
            '(' => {
                let inner = self.either()?;
                if self.take(')') { Ok(inner) } else { Err(self.fault("a `(` that is never closed")) }
            }
            '[' => self.class().map(PatternNode::Class),
            '\\' => self.escaped().map(PatternNode::Class),
            '*' | '+' | '?' | '{' => {
                Err(self.fault(&format!("`{c}` repeats nothing; write `\\{c}` for the character")))
            }
            '^' | '$' => {
                Err(self.fault(&format!("`{c}` stands only around a pattern; write `\\{c}` for the character")))
            }
            c => Ok(PatternNode::Class(CharClass { ranges: vec![(c, c)], negated: false })),
        }
    }

    fn repeated(&mut self, node: PatternNode) -> Result<PatternNode, InvalidPattern> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.at += 1;
                let counts = self.counts()?;
                return Ok(PatternNode::Repeat { node: Box::new(node), least: counts.0, most: counts.1 });
            }
            _ => return Ok(node),
        };
        self.at += 1;
        if matches!(self.peek(), Some('*' | '+' | '?')) {
            return Err(self.fault("one repetition follows another; put the first into a group"));
        }
        Ok(PatternNode::Repeat { node: Box::new(node), least, most })
    }

    /// `{2}`, `{2,}` or `{2,5}`, after its brace.
    fn counts(&mut self) -> Result<(usize, Option<usize>), InvalidPattern> {
        let unclear = "write a repetition as `{2}`, `{2,}` or `{2,5}`";
        let least = self.count().ok_or_else(|| self.fault(unclear))?;
        let most = if self.take(',') { self.count() } else { Some(least) };
        let bounded = least <= MAX_TIMES && most.is_none_or(|most| (least..=MAX_TIMES).contains(&most));
        if !self.take('}') || !bounded {
            return Err(self.fault(unclear));
        }
        Ok((least, most))
    }

    fn count(&mut self) -> Option<usize> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().ok()?;
        self.at += end;
        Some(number)
    }

    /// What stands between brackets, after the first.
    fn class(&mut self) -> Result<CharClass, InvalidPattern> {
        let negated = self.take('^');
        let mut ranges = Vec::new();
        loop {
            let Some(c) = self.next() else { return Err(self.fault("a `[` that is never closed")) };
            let first = match c {
                ']' if !ranges.is_empty() => return Ok(CharClass { ranges, negated }),
                '\\' => {
                    let class = self.escaped()?;
                    if class.negated {
                        return Err(self.fault("`\\D`, `\\W` and `\\S` stand outside of brackets only"));
                    }
                    match class.ranges.as_slice() {
                        [(only, same)] if only == same => *only,
                        _ => {
                            ranges.extend(class.ranges);
                            continue;
                        }
                    }
                }
                c => c,
            };
            let is_range = self.peek() == Some('-') && !self.text[self.at + 1..].starts_with(']');
            let last = if is_range {
                self.at += 1;
                self.next()
                    .filter(|last| *last >= first && *last != '\\')
                    .ok_or_else(|| self.fault("a range runs backwards"))?
            } else {
                first
            };
            ranges.push((first, last));
        }
    }

    fn escaped(&mut self) -> Result<CharClass, InvalidPattern> {
        let Some(c) = self.next() else { return Err(self.fault("the pattern ends after a `\\`")) };
        let (ranges, negated) = match c {
            'd' | 'D' => (vec![('0', '9')], c == 'D'),
            'w' | 'W' => (vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')], c == 'W'),
            's' | 'S' => (vec![(' ', ' '), ('\t', '\r')], c == 'S'),
            'n' => (vec![('\n', '\n')], false),
            't' => (vec![('\t', '\t')], false),
            c if c.is_ascii_alphanumeric() => return Err(self.fault(&format!("`\\{c}` means nothing here"))),
            c => (vec![(c, c)], false),
        };
        Ok(CharClass { ranges, negated })
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn fault(&self, reason: &str) -> InvalidPattern {
        InvalidPattern { at: self.start + self.at, reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pattern_matches_whole_texts() {
        for (pattern, text, expected) in [
            ("[A-Z]{2,4}-\\d+", "ABC-12", true),
            ("[A-Z]{2,4}-\\d+", "A-12", false),
            ("[A-Z]{2,4}-\\d+", "ABC-12x", false),
            ("^v?\\d+(\\.\\d+)*$", "v1.20.3", true),
            ("^v?\\d+(\\.\\d+)*$", "v1.", false),
            ("yes|no|", "no", true),
            ("yes|no|", "", true),
            ("(a|bc){2}", "abc", true),
            (".*", "a\nb", false),
            ("[^,]+", "a,b", false),
            ("[\\w.-]+@x", "a.b-c@x", true),
            ("", "", true),
            ("a{0,2}b", "aab", true),
            ("(a*)*b", &"a".repeat(2000), false),
        ] {
            assert_eq!(TextPattern::parse(pattern).unwrap().matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_where_it_stands() {
        for (pattern, at) in
            [("a)", 1), ("(a", 2), ("*a", 1), ("a{2", 3), ("[a", 2), ("[b-a]", 4), ("\\q", 2), ("a**", 2), ("a$b", 2)]
        {
            assert_eq!(TextPattern::parse(pattern).unwrap_err().at, at, "{pattern}");
        }
        assert!(TextPattern::parse("((a{200}){200}){200}").is_err());
        assert!(TextPattern::parse(&"(".repeat(400)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        #[test]
        fn parsing_and_matching_never_panic(pattern in "[a-c()|*+?{}\\[\\]^$.\\\\d0-9,-]{0,24}", text in "[a-d0-9é]{0,24}") {
            if let Ok(pattern) = TextPattern::parse(&pattern) {
                let _ = pattern.matches(&text);
            }
        }
    }
}
