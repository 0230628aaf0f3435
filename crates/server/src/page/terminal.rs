//! Output of a terminal as HTML: its colors as classes, everything else that steers a terminal left out.

use std::fmt::Write as _;

use super::templates::escape;
use super::text::revealed;

/// How a piece of output looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PrintStyle {
    /// The color of its letters, from 0 to 7.
    color: Option<u8>,
    is_bold: bool,
    is_dim: bool,
}

impl PrintStyle {
    /// Applies the numbers of a color sequence.
    fn apply(&mut self, numbers: &str) {
        let mut numbers = numbers.split([';', ':']).map(|number| number.parse::<u32>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                22 => (self.is_bold, self.is_dim) = (false, false),
                30..=37 => self.color = u8::try_from(number - 30).ok(),
                90..=97 => self.color = u8::try_from(number - 90).ok(),
                39 => self.color = None,
                // A color of a palette or of three parts: the first eight of a palette are the usual ones.
                38 | 48 => match numbers.next() {
                    Some(5) => {
                        let chosen = numbers.next().filter(|chosen| *chosen < 16).map(|chosen| chosen % 8);
                        if number == 38 {
                            self.color = chosen.and_then(|chosen| u8::try_from(chosen).ok());
                        }
                    }
                    Some(2) => drop(numbers.by_ref().take(3).count()),
                    _ => {}
                },
                _ => {}
            }
        }
    }

    fn classes(self) -> Option<String> {
        const COLORS: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
        let color = self.color.and_then(|color| COLORS.get(usize::from(color))).map(|name| format!("t-{name}"));
        let weight = [(self.is_bold, "t-bold"), (self.is_dim, "t-dim")];
        let weight = weight.into_iter().filter(|(is_so, _)| *is_so).map(|(_, class)| class.to_owned());
        let classes: Vec<String> = color.into_iter().chain(weight).collect();
        (!classes.is_empty()).then(|| classes.join(" "))
    }
}

/// Output as HTML.
pub(super) fn to_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    let (mut style, mut piece) = (PrintStyle::default(), String::new());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            piece.push(c);
            continue;
        }
        match rest.next_if(|c| matches!(c, '[' | ']')) {
            Some('[') => {
                let mut numbers = String::new();
                let last = loop {
                    match rest.next() {
                        Some(c @ '@'..='~') => break Some(c),
                        Some(c) => numbers.push(c),
                        None => break None,
                    }
                };
                if last == Some('m') {
                    write_piece(&mut html, &mut piece, style);
                    style.apply(&numbers);
                }
            }
            Some(_) => {
                while rest.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {}
                rest.next_if_eq(&'\u{7}');
            }
            None if rest.next_if_eq(&'\\').is_some() => {}
            None => piece.push(c),
        }
    }
    write_piece(&mut html, &mut piece, style);
    html
}

fn write_piece(html: &mut String, piece: &mut String, style: PrintStyle) {
    if piece.is_empty() {
        return;
    }
    let text = escape(&revealed(piece).unwrap_or_else(|| piece.clone()));
    if let Some(classes) = style.classes() {
        let _ = write!(html, "<span class=\"{classes}\">{text}</span>");
    } else {
        html.push_str(&text);
    }
    piece.clear();
}

#[cfg(test)]
mod tests {
    use super::to_html;

    #[test]
    fn colors_are_kept_and_the_rest_is_dropped() {
        for (printed, html) in [
            ("\u{1b}[31mFAIL\u{1b}[0m a", "<span class=\"t-red\">FAIL</span> a"),
            (
                "\u{1b}[1;32mok\u{1b}[22m!\u{1b}[39m.",
                "<span class=\"t-green t-bold\">ok</span><span class=\"t-green\">!</span>.",
            ),
            ("\u{1b}[38;5;9mx\u{1b}[38;2;1;2;3my", "<span class=\"t-red\">x</span><span class=\"t-red\">y</span>"),
            ("\u{1b}]0;title\u{7}\u{1b}[2Jend\u{1b}", "end\\u{1b}"),
            ("\u{1b}[31m<b>\u{202e}", "<span class=\"t-red\">&lt;b&gt;\\u{202e}</span>"),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(to_html(printed), html);
        }
    }
}
