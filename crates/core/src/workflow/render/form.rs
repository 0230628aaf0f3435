//! The forms of a reply.

/// A form of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RenderForm {
    /// Plain text with headings at the margin.
    Text,
    /// Markdown.
    Markdown,
    /// XML with the blocks of the seed.
    Xml,
    /// Text for Aider: commands as `/run` lines, nothing for sub-agents.
    Aider,
    /// The data itself.
    Json,
}

impl RenderForm {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Text, Self::Markdown, Self::Xml, Self::Aider, Self::Json];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Xml => "xml",
            Self::Aider => "aider",
            Self::Json => "json",
        }
    }

    /// The form with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.word() == word)
    }
}
