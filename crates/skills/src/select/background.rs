//! General frequency of words.
//!
//! Ten installed skills cannot show whether a word is rare or common. The table can. It was counted over several
//! thousand public skills: for each stem, how many have it in name or description, and how many anywhere. A word
//! that is rare among skills but common in English ("Tuesday") counts as common: it says nothing either.

/// Sorted by stem: `stem`, in name or description, anywhere.
const TABLE: &str = include_str!("../../data/background.tsv");

/// How many skills the table was counted over.
const SKILLS: f64 = 7781.0;

/// The shares of skills that have a word.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WordShare {
    /// In name or description.
    pub(crate) headline: f64,
    /// Anywhere.
    pub(crate) anywhere: f64,
}

/// Looks up a stem; an unknown word has no share.
pub(crate) fn share(stem: &str) -> WordShare {
    find(TABLE, stem).and_then(parse).unwrap_or_default()
}

fn parse(line: &str) -> Option<WordShare> {
    let mut cells = line.split('\t').skip(1).map(|cell| cell.parse::<f64>().ok());
    Some(WordShare { headline: cells.next()?? / SKILLS, anywhere: cells.next()?? / SKILLS })
}

/// Finds a stem's line by halving the table, which costs less than reading all of it into a map.
fn find<'a>(table: &'a str, stem: &str) -> Option<&'a str> {
    let mut rest = table;
    while !rest.is_empty() {
        let middle = rest.floor_char_boundary(rest.len() / 2);
        let start = rest.get(..middle)?.rfind('\n').map_or(0, |at| at + 1);
        let end = rest.get(start..)?.find('\n').map_or(rest.len(), |at| start + at);
        let line = rest.get(start..end)?;
        match line.split('\t').next()?.cmp(stem) {
            std::cmp::Ordering::Equal => return Some(line),
            std::cmp::Ordering::Less => rest = rest.get(end + 1..).unwrap_or_default(),
            std::cmp::Ordering::Greater => rest = rest.get(..start)?,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_found_again() {
        for line in TABLE.lines() {
            let stem = line.split('\t').next().unwrap();
            assert_eq!(find(TABLE, stem), Some(line));
        }
        assert!(TABLE.lines().is_sorted_by_key(|line| line.split('\t').next()));
    }

    #[test]
    fn common_words_have_a_larger_share_than_rare_ones_and_strangers_have_none() {
        assert!(share("data").headline > share("kubernet").headline);
        assert!(share("kubernet").headline > 0.0);
        assert_eq!(share("zzyzxq"), WordShare::default());
    }
}
