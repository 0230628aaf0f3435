//! Built-in texts about how work is judged.

/// The built-in conventions.
const BUILTIN: [(&str, &str); 6] = [
    ("structural", include_str!("../../../conventions/structural.md")),
    ("temporal", include_str!("../../../conventions/temporal.md")),
    ("severity", include_str!("../../../conventions/severity.md")),
    ("intent-markers", include_str!("../../../conventions/intent-markers.md")),
    ("documentation", include_str!("../../../conventions/documentation.md")),
    ("diff-format", include_str!("../../../conventions/diff-format.md")),
];

/// Where a workspace keeps its own, in order of precedence. They override the built-in ones.
pub(crate) const FOLDERS: [&str; 2] = [".maestro/conventions", ".claude/conventions"];

/// The text of a built-in convention.
pub(crate) fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
