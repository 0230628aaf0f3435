//! Excerpts of texts: the one place that decides where a text is cut.
//!
//! Whatever is cut is cut between characters. What is shown to people is counted in characters, what is stored in bytes.

/// The first characters of a text, and the rest of it.
pub fn split_chars(text: &str, most: usize) -> (&str, &str) {
    let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
    text.split_at(end)
}

/// The first characters of a text.
pub fn first_chars(text: &str, most: usize) -> &str {
    split_chars(text, most).0
}

/// The first characters of a text, with a sign where there are more.
pub fn ellipsize(text: &str, most: usize) -> String {
    match split_chars(text, most) {
        (whole, "") => whole.to_owned(),
        (head, _) => format!("{}…", head.trim_end()),
    }
}

/// The words of a text on one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first and the last characters of a text, with a sign between them where there are more.
pub fn head_and_tail(text: &str, head: usize, tail: usize) -> String {
    let count = text.chars().count();
    if count <= head + tail {
        return text.to_owned();
    }
    let (_, end) = split_chars(text, count - tail);
    format!("{} … {end}", first_chars(text, head))
}

/// The first bytes of a text, as many as make whole characters.
pub fn first_bytes(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The last bytes of a text, as many as make whole characters.
pub fn last_bytes(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

/// A text that fits into so many bytes, the mark included that stands where it was cut, and how many bytes are gone. The
/// mark is made from that number.
pub fn fit_bytes(text: &str, most: usize, mark: impl Fn(usize) -> String) -> (String, usize) {
    if text.len() <= most {
        return (text.to_owned(), 0);
    }
    // No number is longer than that of all bytes.
    let kept = first_bytes(text, most.saturating_sub(mark(text.len()).len()));
    let gone = text.len() - kept.len();
    (format!("{kept}{}", mark(gone)), gone)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(ellipsize("grün", 4), "grün");
        assert_eq!(ellipsize("grün", 3), "grü…");
        assert_eq!(ellipsize("a b", 2), "a…");
        assert_eq!(head_and_tail("one two three", 3, 5), "one … three");
        assert_eq!(head_and_tail("one three", 3, 6), "one three");
        assert_eq!(last_bytes("grün", 2), "n");
        assert_eq!(first_bytes("grün", 3), "gr");
        assert_eq!(one_line(" a\n\tb "), "a b");
        assert_eq!(fit_bytes("0123456789", 8, |gone| format!("[-{gone}]")), ("012[-7]".to_owned(), 7));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_the_parts(text in "\\PC*", most in 0_usize..40) {
            let (head, rest) = split_chars(&text, most);
            prop_assert_eq!(format!("{head}{rest}"), text.clone());
            prop_assert!(head.chars().count() <= most);
            prop_assert!(rest.is_empty() || head.chars().count() == most);
        }

        #[test]
        fn an_excerpt_is_never_longer_than_it_may_be(text in "\\PC*", most in 0_usize..40, tail in 0_usize..40) {
            prop_assert!(ellipsize(&text, most).chars().count() <= most + 1);
            prop_assert!(head_and_tail(&text, most, tail).chars().count() <= most + tail + 3);
            prop_assert!(first_bytes(&text, most).len() <= most);
            prop_assert!(last_bytes(&text, most).len() <= most);
            prop_assert!(text.starts_with(first_bytes(&text, most)) && text.ends_with(last_bytes(&text, most)));
        }

        #[test]
        fn a_marked_text_fits_and_says_what_is_gone(text in "\\PC*", most in 20_usize..60) {
            let (cut, gone) = fit_bytes(&text, most, |gone| format!("[{gone}]"));
            prop_assert!(cut.len() <= most);
            let said = if gone == 0 { text.clone() } else { format!("{}[{gone}]", &text[..text.len() - gone]) };
            prop_assert_eq!(cut, said);
        }
    }
}
