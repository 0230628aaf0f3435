//! Boxes of a plan's items. Reads the few characters at the start of an item's text; it never looks at the
//! rest of the document and never decides which task is worked on.

use super::PlanTaskStatus;

/// The characters, beyond the named statuses, that make a box. The set is small so that
/// `- [a] see above` and its like stay ordinary text.
const OTHER_MARKS: [char; 4] = ['-', '/', '>', '!'];

/// A slip of the pen: it was surely meant to be a box, but is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoxMistake {
    EmptyBox,
    PaddedBox,
    OddMark,
    NoSpaceAfterBox,
    NoText,
    TooDeep,
}

impl BoxMistake {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::EmptyBox => "this checkbox does not hold exactly one space, so it is not a task",
            Self::PaddedBox => "this checkbox has a space beside its mark, so it is not a task",
            Self::OddMark => "the mark in this checkbox is not known, so it is not a task",
            Self::NoSpaceAfterBox => "no space follows this checkbox, so it is not a task",
            Self::NoText => "this checkbox has no text, so it is not a task",
            Self::TooDeep => "this checkbox is nested too deeply to be read",
        }
    }

    pub(super) fn help(self) -> &'static str {
        match self {
            Self::EmptyBox => "write `[ ]` with one space for an open task",
            Self::PaddedBox => "write the mark alone, as in `[x]`",
            Self::OddMark => "write `[x]` for done and `[ ]` for open",
            Self::NoSpaceAfterBox => "put a space between the box and the text",
            Self::NoText => "say on the same line what is to be done, or remove the item",
            Self::TooDeep => "move it closer to the left margin",
        }
    }
}

/// What the start of an item's text turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemOpening {
    /// A box of this many bytes, a `?` included. Its text may still turn out to be empty.
    Box(PlanTaskStatus, usize),
    /// Something to be reported.
    Mistake(BoxMistake),
    /// Ordinary text.
    Text,
}

/// Reads the start of an item's text. `is_link` says that Markdown sees a link there.
pub(super) fn read(text: &str, is_link: bool) -> ItemOpening {
    let Some(inside) = text.strip_prefix('[') else {
        return ItemOpening::Text;
    };
    let Some((mark, after)) = inside
        .find([']', '\n', '\r'])
        .and_then(|end| inside.split_at_checked(end))
        .and_then(|(mark, rest)| Some((mark, rest.strip_prefix(']')?)))
    else {
        return ItemOpening::Text;
    };
    let mut chars = mark.chars();
    let status = match (chars.next(), chars.next()) {
        (Some(mark), None) => status(mark),
        _ => None,
    };
    let Some(status) = status else {
        return malformed(mark, after, is_link);
    };
    let (status, after) = match (status, after.strip_prefix('?')) {
        (PlanTaskStatus::Open, Some(after)) => (PlanTaskStatus::Optional, after),
        (status, Some(after)) => (status, after),
        (status, None) => (status, after),
    };
    if after.is_empty() || after.starts_with(char::is_whitespace) {
        return ItemOpening::Box(status, text.len().saturating_sub(after.len()));
    }
    // `[x](url)` and `[R]eboot` are ordinary Markdown; `[ ]text` can hardly be.
    let meant_as_box = matches!(status, PlanTaskStatus::Open | PlanTaskStatus::Optional | PlanTaskStatus::Done);
    if meant_as_box && !is_link { ItemOpening::Mistake(BoxMistake::NoSpaceAfterBox) } else { ItemOpening::Text }
}

fn status(mark: char) -> Option<PlanTaskStatus> {
    match mark {
        ' ' => Some(PlanTaskStatus::Open),
        'x' | 'X' => Some(PlanTaskStatus::Done),
        'R' => Some(PlanTaskStatus::Reviewed),
        '~' => Some(PlanTaskStatus::Deferred),
        other => OTHER_MARKS.contains(&other).then_some(PlanTaskStatus::Other(other)),
    }
}

fn malformed(mark: &str, after: &str, is_link: bool) -> ItemOpening {
    let bare = mark.trim();
    if is_link {
        ItemOpening::Text
    } else if mark.is_empty() {
        // `[]byte` and `[].concat()` are code without backticks.
        let after = after.strip_prefix('?').unwrap_or(after);
        if after.is_empty() || after.starts_with(char::is_whitespace) {
            ItemOpening::Mistake(BoxMistake::EmptyBox)
        } else {
            ItemOpening::Text
        }
    } else if bare.is_empty() {
        ItemOpening::Mistake(BoxMistake::EmptyBox)
    } else if matches!(bare, "✓" | "✔" | "☑" | "✅" | "✗" | "✘" | "❌") {
        ItemOpening::Mistake(BoxMistake::OddMark)
    } else if matches!(bare, "x" | "X") {
        ItemOpening::Mistake(BoxMistake::PaddedBox)
    } else {
        ItemOpening::Text
    }
}
