//! Hidden characters, made visible.

/// A text in which nothing hides: what would steer a terminal or turn the order of reading becomes visible. Lines end alike.
pub fn escape_hidden(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_nothing = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}');
    let hides = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c) || is_nothing(c);
    text.replace("\r\n", "\n").replace(hides, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_turns_are_seen_and_plain_text_stays() {
        assert_eq!(escape_hidden("a\r\nb\tc é"), "a\nb\tc é");
        for hidden in ["\u{1b}[31m", "\u{7}", "\u{202e}", "\u{2066}", "\u{e0041}", "\r", "\u{0}"] {
            let shown = escape_hidden(hidden);
            assert!(shown.starts_with('\u{fffd}'), "{hidden:?}: {shown:?}");
        }
    }
}
