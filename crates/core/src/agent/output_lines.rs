//! Output split into lines, with a limit on the length of a line.

/// How many bytes of a line are kept at most.
pub const MOST_LINE: usize = 1024 * 1024;

/// A line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputLine {
    /// All of it.
    Whole(Vec<u8>),
    /// Only its beginning; the rest was too much.
    Cut {
        /// The beginning.
        head: Vec<u8>,
        /// How many bytes are missing.
        bytes: u64,
    },
}

/// Takes bytes as they come and gives lines; holds [`MOST_LINE`] bytes at most.
#[derive(Debug, Default)]
pub struct LineSplitter {
    held: Vec<u8>,
    skipped: u64,
}

impl LineSplitter {
    /// The lines that end within these bytes.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<OutputLine> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.hold(&bytes[..end]);
            lines.push(self.take());
            bytes = &bytes[end + 1..];
        }
        self.hold(bytes);
        lines
    }

    /// The last line, if it has no end.
    pub fn finish(&mut self) -> Option<OutputLine> {
        (!self.held.is_empty()).then(|| self.take())
    }

    fn hold(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(MOST_LINE - self.held.len());
        self.held.extend_from_slice(&bytes[..kept]);
        self.skipped += (bytes.len() - kept) as u64;
    }

    fn take(&mut self) -> OutputLine {
        let mut line = std::mem::take(&mut self.held);
        match std::mem::take(&mut self.skipped) {
            0 => {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                OutputLine::Whole(line)
            }
            bytes => OutputLine::Cut { head: line, bytes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> OutputLine {
        OutputLine::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_found_however_the_bytes_come() {
        let mut lines = LineSplitter::default();
        assert_eq!(lines.push(b"a\nb"), [whole("a")]);
        assert_eq!(lines.push(b"c\r\n\nd"), [whole("bc"), whole("")]);
        assert_eq!((lines.finish(), lines.finish()), (Some(whole("d")), None));
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_is_whole() {
        let mut lines = LineSplitter::default();
        for _ in 0..160 {
            assert_eq!(lines.push(&vec![b'x'; 64 * 1024]), []);
            assert!(lines.held.capacity() <= 2 * MOST_LINE);
        }
        let bytes = 160 * 64 * 1024 - MOST_LINE as u64;
        assert_eq!(lines.push(b"\nnext\n"), [OutputLine::Cut { head: vec![b'x'; MOST_LINE], bytes }, whole("next")]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_but_what_is_told(chunks in proptest::collection::vec(proptest::collection::vec(0_u8..16, 0..50), 0..20)) {
            let mut lines = LineSplitter::default();
            let mut found: Vec<OutputLine> = chunks.iter().flat_map(|chunk| lines.push(chunk)).collect();
            found.extend(lines.finish());
            let all = chunks.concat();
            let mut expected: Vec<&[u8]> = all.split(|byte| *byte == b'\n').collect();
            if expected.last().is_some_and(|last| last.is_empty()) {
                expected.pop();
            }
            let expected: Vec<OutputLine> =
                expected.into_iter().map(|line| OutputLine::Whole(line.strip_suffix(b"\r").unwrap_or(line).to_vec())).collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
