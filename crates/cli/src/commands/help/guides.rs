//! Guides in the terminal: the texts of docs/, without the marks that tests read.

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

impl TerminalGuide {
    /// Its text without comments, and without the blank lines that they leave.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for line in self.text.lines().filter(|line| !(line.starts_with("<!-- ") && line.ends_with(" -->"))) {
            if !(line.is_empty() && text.ends_with("\n\n")) {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }
}
