//! Markdown as HTML, for texts by others: no markup of their own, and only links that can do no harm.

use std::fmt::Write as _;

use maestro_core::excerpt::split_chars;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::templates::escape;
use super::text::revealed;

/// The largest text that is parsed; a longer one is cut there.
const LARGEST: usize = 256 * 1024;
/// How deep blocks are nested; what is deeper stands beside each other.
const DEEPEST: usize = 40;

/// A text as HTML.
pub(super) fn to_html(text: &str) -> String {
    let (text, _) = split_chars(text, LARGEST);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = HtmlWriter::default();
    Parser::new_ext(text, options).for_each(|event| writer.add(event));
    writer.finish()
}

/// The HTML so far.
#[derive(Default)]
struct HtmlWriter {
    html: String,
    /// What closes the elements that are open.
    open: Vec<&'static str>,
    /// How many more are nested than are written.
    deeper: usize,
    columns: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl HtmlWriter {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            // Markup of others is shown as it is written.
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.html.push_str("<code>");
                self.text(&code);
                self.html.push_str("</code>");
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(done) => {
                let (glyph, word) = if done { ("☑", "done") } else { ("☐", "to do") };
                let _ = write!(self.html, "<span title=\"{word}\">{glyph}</span> ");
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.html.push_str(&escape(&revealed(text).unwrap_or_else(|| text.to_owned())));
    }

    fn start(&mut self, tag: &Tag<'_>) {
        if self.open.len() >= DEEPEST {
            self.deeper += 1;
            return;
        }
        let (begin, end) = match tag {
            Tag::Paragraph => ("<p>".to_owned(), "</p>"),
            // The page has headings of its own, and these are below them.
            Tag::Heading { level, .. } => {
                let level = match level {
                    HeadingLevel::H1 => 1,
                    HeadingLevel::H2 => 2,
                    _ => 3,
                };
                (format!("<p class=\"md-head md-{level}\">"), "</p>")
            }
            Tag::BlockQuote(_) => ("<blockquote>".to_owned(), "</blockquote>"),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(words) => words.split_whitespace().next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                let label = if language.is_empty() { "code" } else { language };
                let label = escape(&revealed(label).unwrap_or_else(|| label.to_owned()));
                (format!("<pre tabindex=\"0\" aria-label=\"{label}\"><code>"), "</code></pre>")
            }
            Tag::List(Some(first)) => (format!("<ol start=\"{first}\">"), "</ol>"),
            Tag::List(None) => ("<ul>".to_owned(), "</ul>"),
            Tag::Item => ("<li>".to_owned(), "</li>"),
            Tag::Emphasis => ("<em>".to_owned(), "</em>"),
            Tag::Strong => ("<strong>".to_owned(), "</strong>"),
            Tag::Strikethrough => ("<del>".to_owned(), "</del>"),
            Tag::Link { dest_url, .. } => link(dest_url),
            Tag::Image { .. } => ("<span class=\"md-image\">image: ".to_owned(), "</span>"),
            Tag::Table(columns) => {
                self.columns.clone_from(columns);
                ("<div class=\"scrolls\" tabindex=\"0\"><table>".to_owned(), "</table></div>")
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                ("<thead><tr>".to_owned(), "</tr></thead>")
            }
            Tag::TableRow => {
                self.column = 0;
                ("<tr>".to_owned(), "</tr>")
            }
            Tag::TableCell => self.cell(),
            _ => (String::new(), ""),
        };
        self.html.push_str(&begin);
        self.open.push(end);
    }

    fn cell(&mut self) -> (String, &'static str) {
        let class = match self.columns.get(self.column) {
            Some(Alignment::Right) => " class=\"md-right\"",
            Some(Alignment::Center) => " class=\"md-center\"",
            _ => "",
        };
        self.column += 1;
        if self.in_head { (format!("<th{class}>"), "</th>") } else { (format!("<td{class}>"), "</td>") }
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::TableHead {
            self.in_head = false;
        }
        if self.deeper > 0 {
            self.deeper -= 1;
        } else if let Some(end) = self.open.pop() {
            self.html.push_str(end);
        }
    }

    fn finish(mut self) -> String {
        while let Some(end) = self.open.pop() {
            self.html.push_str(end);
        }
        self.html
    }
}

/// A link to the web. Any other address is shown beside its words, and leads nowhere.
fn link(address: &str) -> (String, &'static str) {
    let hides = revealed(address).is_some();
    let web = ["https://", "http://"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    if web && !hides {
        let address = escape(address);
        let begin = format!(
            "<a class=\"md-link\" href=\"{address}\" title=\"{address}\" target=\"_blank\" rel=\"noreferrer noopener\">"
        );
        return (begin, "</a>");
    }
    let address = escape(&revealed(address).unwrap_or_else(|| address.to_owned()));
    (format!("<span class=\"md-link\" title=\"{address}\">"), "</span>")
}

#[cfg(test)]
mod tests {
    use super::to_html;

    #[test]
    fn ordinary_markdown_reads_as_it_is_meant() {
        let html = to_html(
            "# Plan\n\nUse **one** `bucket`:\n\n1. read\n2. [write](https://example.com/a?b&c)\n\n```rust\nlet a = 1;\n```\n\n| a | b |\n|--|--:|\n| 1 | 2 |\n\n- [x] done\n",
        );
        for part in [
            "<p class=\"md-head md-1\">Plan</p>",
            "<strong>one</strong> <code>bucket</code>",
            "<ol start=\"1\"><li>read</li>",
            "href=\"https://example.com/a?b&amp;c\"",
            "<pre tabindex=\"0\" aria-label=\"rust\"><code>let a = 1;\n</code></pre>",
            "<td class=\"md-right\">2</td>",
            "<span title=\"done\">☑</span> done",
        ] {
            assert!(html.contains(part), "no {part} in {html}");
        }
    }

    #[test]
    fn nothing_in_it_becomes_markup_of_ours() {
        let hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> a <b onclick=x>b</b>\n\n[x](javascript:alert(1)) [y](JaVaScRiPt:1) [z](data:text/html,1) ![i](https://x/y.png)\n\n```\"><script>\n</code></pre><script>\n```\n\n[q](https://a\"onmouseover=1) <https://b\"c> [h](https://a\u{202e}b)";
        let html = to_html(hostile);
        for wrong in ["<script", "<img", "<b ", "href=\"j", "href=\"J", "href=\"d", "\"onmouse", "\u{202e}"] {
            assert!(!html.contains(wrong), "{wrong} in {html}");
        }
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    }

    #[test]
    fn deep_nesting_ends_and_every_element_is_closed() {
        let html = to_html(&"> ".repeat(5000));
        assert_eq!(html.matches("<blockquote>").count(), html.matches("</blockquote>").count());
        assert!(html.len() < 10_000, "{}", html.len());
        let html = to_html(&format!("{}x", "- ".repeat(500)));
        assert_eq!(html.matches("<li>").count(), html.matches("</li>").count());
    }
}
