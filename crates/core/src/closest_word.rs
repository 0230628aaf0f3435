//! Mistyped words: the one place that compares one with the known ones, and the error that lists these.

/// The known word closest to `typed`, if it is close enough to be worth suggesting.
///
/// Ties go to the word that comes first, so the answer does not depend on anything but its input.
pub fn closest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let length = typed.chars().count();
    let allowed = match length {
        0..=2 => return None,
        3..=5 => 1,
        6..=9 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for word in known {
        if word.chars().count().abs_diff(length) > allowed || !shares_an_end(&typed, word) {
            continue;
        }
        let distance = strsim::osa_distance(&typed, &word.to_lowercase());
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, word));
        }
    }
    best.map(|(_, word)| word)
}

/// A slip seldom hits both ends of a word, and looking there first spares most comparisons.
fn shares_an_end(a: &str, b: &str) -> bool {
    let same = |a: Option<char>, b: Option<char>| match (a, b) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(&b),
        _ => false,
    };
    same(a.chars().next(), b.chars().next()) || same(a.chars().next_back(), b.chars().next_back())
}

/// A word that is not one of those there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be one of {}", known.join(", "))]
pub struct UnknownWord {
    /// Those there are.
    pub known: Vec<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swapped_letter_is_recognised_and_a_stranger_is_not() {
        let known = ["skills_enabled", "skills_dirs"];
        assert_eq!(closest("skills_enabeld", known), Some("skills_enabled"));
        assert_eq!(closest("banana", known), None);
        assert_eq!(closest("", known), None);
    }
}
