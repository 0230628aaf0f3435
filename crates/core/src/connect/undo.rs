//! Record of a change to a file, which restores the file exactly.

use serde::{Deserialize, Serialize};

/// One change of a file, by what it takes to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileUndo {
    /// The file was made.
    Made {
        /// What it said then.
        text: String,
    },
    /// A part of it was replaced by another.
    Edited {
        /// What stood there before.
        removed: String,
        /// What has stood there since.
        inserted: String,
    },
}

/// What a file was before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriorContent {
    /// It was not there.
    Absent,
    /// It said this.
    Text(String),
}

impl FileUndo {
    /// What undoes a change from one text to another.
    pub fn of(before: Option<&str>, after: &str) -> Self {
        let Some(before) = before else { return Self::Made { text: after.to_owned() } };
        let same = |(a, b): &(char, char)| a == b;
        let ahead: usize = before.chars().zip(after.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (old, new) = (&before[ahead..], &after[ahead..]);
        let behind: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (mut start, mut behind, mut more) = (ahead, behind, 1);
        // What is changed may be a single letter: enough around it is taken along to find it again.
        while (start > 0 || behind > 0) && !stands_once(&after[start..after.len() - behind], after) {
            start = before.floor_char_boundary(start.saturating_sub(more));
            behind = after.len() - after.ceil_char_boundary(after.len() - behind.saturating_sub(more));
            more *= 2;
        }
        let part = |text: &str| text[start..text.len() - behind].to_owned();
        Self::Edited { removed: part(before), inserted: part(after) }
    }

    /// The text before the change, if what was changed still is as it was left; elsewhere anything may differ.
    pub fn apply(&self, now: &str) -> Option<PriorContent> {
        match self {
            Self::Made { text } => (text == now).then_some(PriorContent::Absent),
            Self::Edited { removed, inserted } => {
                let at = now.find(inserted.as_str()).filter(|_| stands_once(inserted, now))?;
                Some(PriorContent::Text(format!("{}{removed}{}", &now[..at], &now[at + inserted.len()..])))
            }
        }
    }
}

/// Whether a part of a text is found in it at one place only.
fn stands_once(part: &str, text: &str) -> bool {
    let mut places = text.match_indices(part);
    !part.is_empty() && places.next().is_some() && places.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_undone_although_the_rest_of_the_file_went_on() {
        let undo = FileUndo::of(Some("a = 1\nb = 2\n"), "a = 1\nmaestro = 3\nb = 2\n");
        assert_eq!(
            undo.apply("a = 7\nmaestro = 3\nb = 2\nc = 9\n"),
            Some(PriorContent::Text("a = 7\nb = 2\nc = 9\n".into()))
        );
        assert_eq!(undo.apply("a = 1\nmaestro = 4\nb = 2\n"), None, "what was written was changed");
        assert_eq!(undo.apply("maestro = 3\nmaestro = 3\n"), None, "it stands there twice");
    }

    #[test]
    fn a_change_of_a_letter_is_found_again_by_what_is_around_it() {
        for (before, after) in [("b ä/a/b b", "b ä/b/b b"), ("aaaa", "aaaaaa"), ("ü a ü", "ü ü"), ("x", "")] {
            let undo = FileUndo::of(Some(before), after);
            let undone = (!after.is_empty()).then(|| PriorContent::Text(before.into()));
            assert_eq!(undo.apply(after), undone, "{undo:?}");
        }
        let undo = FileUndo::of(Some("k = /a/m\nb = 1\n"), "k = /b/m\nb = 1\n");
        assert_eq!(undo.apply("k = /b/m\nb = 2\nc = 3\n"), Some(PriorContent::Text("k = /a/m\nb = 2\nc = 3\n".into())));
    }

    #[test]
    fn a_file_that_was_made_is_gone_again_unless_somebody_added_to_it() {
        let undo = FileUndo::of(None, "{}\n");
        assert_eq!(undo.apply("{}\n"), Some(PriorContent::Absent));
        assert_eq!(undo.apply("{\"a\": 1}\n"), None);
    }
}
