//! The XML writer. Everything that is put in is escaped, so the text is well-formed whatever a value holds.

use std::fmt::Write as _;

use crate::workflow::render::phrases::escape_hidden;
use crate::workflow::tool::CodingTool;

pub(super) struct XmlPage<'t> {
    pub(super) text: String,
    pub(super) tool: &'t CodingTool,
    depth: usize,
}

/// What stands in a tag beside its name.
pub(super) type XmlAttributes<'a> = [(&'a str, &'a str)];

impl<'t> XmlPage<'t> {
    pub(super) fn new(tool: &'t CodingTool) -> Self {
        Self { text: String::new(), tool, depth: 0 }
    }

    fn tag(&mut self, name: &str, attributes: &XmlAttributes<'_>) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", attribute(value));
        }
    }

    pub(super) fn open(&mut self, name: &str, attributes: &XmlAttributes<'_>) {
        self.tag(name, attributes);
        self.text.push_str(">\n");
        self.depth += 1;
    }

    pub(super) fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        let _ = writeln!(self.text, "</{name}>");
    }

    pub(super) fn leaf(&mut self, name: &str, attributes: &XmlAttributes<'_>, text: &str) {
        self.tag(name, attributes);
        let _ = writeln!(self.text, ">{}</{name}>", escape(text.trim_end()));
    }

    /// An element that is all attributes.
    pub(super) fn empty(&mut self, name: &str, attributes: &XmlAttributes<'_>) {
        self.tag(name, attributes);
        self.text.push_str("/>\n");
    }

    pub(super) fn leaves(&mut self, name: &str, texts: &[String]) {
        for text in texts {
            self.leaf(name, &[], text);
        }
    }

    /// A block of leaves, if there is anything in it.
    pub(super) fn block(&mut self, name: &str, leaf: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.open(name, &[]);
            self.leaves(leaf, texts);
            self.close(name);
        }
    }
}

/// A text that can stand between the quotes of an attribute.
fn attribute(text: &str) -> String {
    escape(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// A text that can stand between tags. Characters that XML cannot hold, or that hide, become visible as replacements.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in escape_hidden(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            c => safe.push(c),
        }
    }
    safe
}
