//! Which texts about how work is judged come with the program?

/// The conventions that need no file.
const BUILTIN: [(&str, &str); 6] = [
    ("structural", include_str!("../../../conventions/structural.md")),
    ("temporal", include_str!("../../../conventions/temporal.md")),
    ("severity", include_str!("../../../conventions/severity.md")),
    ("intent-markers", include_str!("../../../conventions/intent-markers.md")),
    ("documentation", include_str!("../../../conventions/documentation.md")),
    ("diff-format", include_str!("../../../conventions/diff-format.md")),
];

/// Where a workspace keeps its own, the first one first. They come before those of the program.
pub(crate) const FOLDERS: [&str; 2] = [".maestro/conventions", ".claude/conventions"];

/// The text of a convention that comes with the program.
pub(crate) fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
