//! Conflict markers that work leaves in files.

use std::collections::BTreeMap;

/// What `git diff --check` says of a line that looks like a marker.
const LEFT: &str = ": leftover conflict marker";

/// The files in which both ends of a conflict stand, as `git diff --check` lists their lines. A line of `=======` alone
/// may underline a heading.
pub(super) fn marked_files(listed: &str, line_of: impl Fn(&str, usize) -> Option<String>) -> Vec<String> {
    let mut ends: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for place in listed.lines().filter_map(|line| line.trim_end_matches('.').strip_suffix(LEFT)) {
        let Some((file, number)) = place.rsplit_once(':') else { continue };
        let line = number.parse().ok().and_then(|number| line_of(file, number)).unwrap_or_default();
        let (above, below) = ends.entry(file).or_default();
        *above |= line.starts_with("<<<<<<<");
        *below |= line.starts_with(">>>>>>>");
    }
    ends.into_iter().filter(|(_, (above, below))| *above && *below).map(|(file, _)| file.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_has_two_ends_and_a_heading_none() {
        let files = [
            ("a:b.txt", vec!["<<<<<<< HEAD", "one", "=======", "two", ">>>>>>> other"]),
            ("title.md", vec!["A title", "======="]),
            ("half.txt", vec!["<<<<<<< HEAD"]),
        ];
        let line = |file: &str, number: usize| {
            let (_, lines) = files.iter().find(|(name, _)| *name == file)?;
            lines.get(number - 1).map(|line| (*line).to_owned())
        };
        let listed = "a:b.txt:1: leftover conflict marker\na:b.txt:3: leftover conflict marker\n\
                      a:b.txt:5: leftover conflict marker\ntitle.md:2: leftover conflict marker\n\
                      half.txt:1: leftover conflict marker\na.txt:7: trailing whitespace.\n+one \n";
        assert_eq!(marked_files(listed, line), ["a:b.txt"]);
    }
}
