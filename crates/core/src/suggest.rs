//! What did the user probably mean? The one place that compares a mistyped word with the known ones.

/// The known word closest to `typed`, if it is close enough to be worth suggesting.
///
/// Ties go to the word that comes first, so the answer does not depend on anything but its input.
pub fn closest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let allowed = match typed.chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        6..=9 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for word in known {
        let distance = strsim::osa_distance(&typed, &word.to_lowercase());
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, word));
        }
    }
    best.map(|(_, word)| word)
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
