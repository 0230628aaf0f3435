//! The forms of a reply.

crate::word_enum! {
    /// A form of a reply.
    #[derive(PartialOrd, Ord)]
    pub enum RenderForm {
        /// Plain text with headings at the margin.
        Text = "text",
        /// Markdown.
        Markdown = "markdown",
        /// XML with the blocks of the seed.
        Xml = "xml",
        /// Text for Aider: commands as `/run` lines, nothing for sub-agents.
        Aider = "aider",
        /// The data itself.
        Json = "json",
    }
}
