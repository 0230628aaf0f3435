//! QR codes: for a terminal, and as a picture on the page.

use std::fmt::Write as _;

use qrcode::types::Color;
use qrcode::{EcLevel, QrCode};

/// How many modules around a code stay empty.
const QUIET: usize = 4;

/// The dark modules of a code, row by row, with the empty ones around it; nothing where the text is too long.
fn modules(text: &str) -> Option<Vec<Vec<bool>>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let width = code.width();
    let colors = code.to_colors();
    let dark = |row: usize, column: usize| {
        let (Some(row), Some(column)) = (row.checked_sub(QUIET), column.checked_sub(QUIET)) else { return false };
        row < width && column < width && colors[row * width + column] == Color::Dark
    };
    let size = width + 2 * QUIET;
    Some((0..size).map(|row| (0..size).map(|column| dark(row, column)).collect()).collect())
}

/// The code of a text for a terminal, two rows to a line, dark on light whatever the terminal's colors are.
pub fn terminal(text: &str) -> Option<String> {
    let rows = modules(text)?;
    let mut lines = String::new();
    for pair in rows.chunks(2) {
        // Light modules are drawn, because most terminals are dark.
        for (column, upper) in pair[0].iter().enumerate() {
            let lower = pair.get(1).is_none_or(|row| row[column]);
            lines.push(match (!upper, !lower) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
        }
        lines.push('\n');
    }
    Some(lines)
}

/// The code of a text as a picture.
pub(crate) fn svg(text: &str) -> Option<String> {
    let rows = modules(text)?;
    let size = rows.len();
    let mut path = String::new();
    for (y, row) in rows.iter().enumerate() {
        for (x, _) in row.iter().enumerate().filter(|(_, dark)| **dark) {
            // Writing to a string cannot fail.
            let _ = write!(path, "M{x} {y}h1v1h-1z");
        }
    }
    Some(format!(
        r##"<svg class="code" viewBox="0 0 {size} {size}" role="img" aria-label="Sign-in code"><rect width="{size}" height="{size}" fill="#fff"/><path d="{path}" fill="#000"/></svg>"##
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_square_and_has_its_corners() {
        let rows = modules("http://192.0.2.7:3000/page/sign-in?code=0123456789abcdef").unwrap();
        assert!(rows.iter().all(|row| row.len() == rows.len()));
        let corner = |row: usize, column: usize| rows[row + QUIET][column + QUIET];
        assert!((0..7).all(|at| corner(0, at) && corner(at, 0)) && !corner(1, 1) && corner(2, 2));
        assert!(!rows[0].iter().any(|dark| *dark), "quiet around it");
        assert!(modules(&"x".repeat(8000)).is_none());
    }

    #[test]
    fn a_terminal_shows_two_rows_to_a_line() {
        let text = terminal("maestro").unwrap();
        let rows = modules("maestro").unwrap();
        assert_eq!(text.lines().count(), rows.len().div_ceil(2));
        assert!(text.lines().all(|line| line.chars().count() == rows.len()));
    }
}
