//! Guides in the terminal: the texts of docs/, without the marks that tests read.

use crate::output::screen::{self, TextStyle};

/// How many columns a paragraph gets at most.
const READABLE: usize = 100;

/// A guide's name, what it is about, and its text.
pub(super) struct TerminalGuide {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    text: &'static str,
}

macro_rules! guides {
    ($($name:literal, $about:literal, $path:literal;)*) => {
        &[$(TerminalGuide {
            name: $name,
            about: $about,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/", $path)),
        }),*]
    };
}

/// Every guide, in the order of docs/README.md.
pub(super) const GUIDES: &[TerminalGuide] = guides! {
    "tutorial", "from an empty folder to a merged change, in ten minutes", "tutorial.md";
    "how-do-i", "short answers", "how-do-i.md";
    "install", "packages, completions, what is put where", "install.md";
    "skills", "see what agents know, write and test a skill", "guides/skills.md";
    "plans", "have a list of tasks done, checked and reviewed", "guides/plans.md";
    "workflows", "write a process that no agent can shorten", "guides/workflows.md";
    "agents", "choose, limit and add coding agents", "guides/agents.md";
    "editors", "use skills and workflows in your own tool", "guides/editors.md";
    "team-server", "share projects, tasks and agents", "guides/team-server.md";
    "security", "what is confined, what needs your consent", "guides/security.md";
    "moving", "from each of the five systems that Maestro unites", "guides/moving.md";
};

/// The guide about a command, where there is one.
pub(super) fn about_command(command: &str) -> Option<&'static str> {
    Some(match command {
        "skills" | "skill" => "skills",
        "plan" | "loop" | "do" | "diff" | "merge" | "revise" | "discard" => "plans",
        "workflow" => "workflows",
        "agents" => "agents",
        "connect" | "disconnect" | "mcp" => "editors",
        "up" | "worker" | "token" => "team-server",
        "trust" => "security",
        "import" => "moving",
        "uninstall" | "upgrade" | "completions" => "install",
        _ => return None,
    })
}

impl TerminalGuide {
    /// Its text without comments, and with links that a terminal can follow. For a terminal of this width, headings
    /// are bold, paragraphs fill the lines, and what can be typed is indented.
    pub(super) fn to_text(&self, width: Option<usize>, paint: TextStyle) -> String {
        let mut text = GuideText { text: String::new(), paragraph: String::new(), width, paint };
        let mut in_block = false;
        for line in self.text.lines().filter(|line| !(line.starts_with("<!-- ") && line.ends_with(" -->"))) {
            if line.starts_with("```") {
                in_block = !in_block;
                text.fence(line);
            } else if in_block {
                text.typed(line);
            } else {
                text.prose(&with_plain_links(line));
            }
        }
        text.end_paragraph();
        text.text
    }
}

/// A guide's text, as far as it is written.
struct GuideText {
    text: String,
    /// A paragraph or item of a list that goes on.
    paragraph: String,
    width: Option<usize>,
    paint: TextStyle,
}

impl GuideText {
    fn line(&mut self, line: &str) {
        if !(line.is_empty() && (self.text.is_empty() || self.text.ends_with("\n\n"))) {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn fence(&mut self, line: &str) {
        self.end_paragraph();
        if self.width.is_none() {
            self.line(line);
        }
    }

    /// A line of a command, an output or a file.
    fn typed(&mut self, line: &str) {
        if self.width.is_some() && !line.is_empty() { self.line(&format!("    {line}")) } else { self.line(line) }
    }

    fn prose(&mut self, line: &str) {
        let begins_item = line.trim_start().starts_with("- ");
        let stands_alone = line.is_empty() || line.starts_with(['#', '|']);
        if stands_alone || begins_item || self.width.is_none() {
            self.end_paragraph();
        }
        if !stands_alone && self.width.is_some() {
            let joint = if self.paragraph.is_empty() { "" } else { " " };
            self.paragraph.push_str(joint);
            self.paragraph.push_str(if joint.is_empty() { line } else { line.trim_start() });
        } else if line.starts_with('#') && self.width.is_some() {
            let heading = self.paint.strong(line.trim_start_matches(['#', ' ']));
            self.line(&heading);
        } else {
            self.line(line);
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if let Some(width) = self.width.filter(|_| !paragraph.is_empty()) {
            let indent = if paragraph.trim_start().starts_with("- ") { 2 } else { 0 };
            self.line(&screen::wrap(&paragraph, width.min(READABLE), indent));
        }
    }
}

/// A line whose links name the guide's command, or the file in the repository.
fn with_plain_links(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, shown, target, after)) = next_link(rest) {
        text.push_str(before);
        let file = target.split('#').next().unwrap_or_default();
        let guide = file.rsplit('/').next().and_then(|name| name.strip_suffix(".md"));
        let guide = guide.filter(|name| GUIDES.iter().any(|guide| guide.name == *name) && !file.starts_with("../"));
        let is_path = shown.contains(".md");
        let words = match guide {
            _ if file.is_empty() => shown.to_owned(),
            Some(name) if is_path => format!("`maestro help guide {name}`"),
            Some(name) => format!("{shown} (`maestro help guide {name}`)"),
            None if file.contains("://") => format!("{shown} ({target})"),
            None => {
                let path = format!("docs/{}", file.trim_start_matches("../"));
                if is_path { path } else { format!("{shown} ({path})") }
            }
        };
        text.push_str(&words);
        rest = after;
    }
    text + rest
}

/// The first link of a line: what is before it, its words, its target and what is after it.
fn next_link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = line.find("](")?;
    let begin = line[..middle].rfind('[')?;
    let end = middle + line[middle..].find(')')?;
    Some((&line[..begin], &line[begin + 1..middle], &line[middle + 2..end], &line[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_what_can_be_read_in_a_terminal() {
        assert_eq!(with_plain_links("See [plans](guides/plans.md)."), "See plans (`maestro help guide plans`).");
        assert_eq!(with_plain_links("[../loop.md](../loop.md) says it"), "docs/loop.md says it");
        assert_eq!(with_plain_links("[sandbox](../sessions.md#sandbox)"), "sandbox (docs/sessions.md)");
        assert_eq!(with_plain_links("**[Start](#start)** · [b](#b)"), "**Start** · b");
        assert_eq!(with_plain_links("[../agents.md](../agents.md)"), "docs/agents.md", "the table, not the guide");
        assert_eq!(with_plain_links("- [ ] a task"), "- [ ] a task");
    }

    #[test]
    fn paragraphs_fill_a_terminal_and_commands_stay_as_they_are() {
        let guide = TerminalGuide {
            name: "x",
            about: "",
            text: "# Title\n\nOne two three\nfour five.\n\n<!-- run -->\n```console\n$ a very long command line\n```\n\n- six seven\n  eight\n",
        };
        let shown = guide.to_text(Some(14), TextStyle::plain());
        assert_eq!(
            shown,
            "Title\n\nOne two three\nfour five.\n\n    $ a very long command line\n\n- six seven\n  eight\n"
        );
        assert!(guide.to_text(None, TextStyle::plain()).contains("```console\n$ a very long"));
    }
}
