//! A section of a Markdown text, found by its heading.

/// The section whose heading begins with these words, with the sections below it; nothing where there is none.
pub(super) fn text_section(text: &str, heading: &str) -> Option<String> {
    let wanted = heading.trim().to_lowercase();
    let mut found: Option<(usize, String)> = None;
    let mut fence = false;
    for line in text.lines() {
        fence ^= line.trim_start().starts_with("```");
        let level = if fence { 0 } else { line.chars().take_while(|c| *c == '#').count() };
        match &mut found {
            Some((own, _)) if (1..=*own).contains(&level) => break,
            Some((_, section)) => {
                section.push_str(line);
                section.push('\n');
            }
            None if level > 0 && begins(line[level..].trim(), &wanted) => found = Some((level, format!("{line}\n"))),
            None => {}
        }
    }
    found.map(|(_, section)| section.trim_end().to_owned() + "\n")
}

/// Whether a heading is these words, or these and more.
fn begins(heading: &str, wanted: &str) -> bool {
    let heading = heading.to_lowercase();
    let rest = heading.strip_prefix(wanted);
    !wanted.is_empty() && rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let text = "# All\n\n## code (diffs)\na\n### more\n```\n## no heading\n```\n\n## codebase\nb\n";
        assert_eq!(
            text_section(text, "code").as_deref(),
            Some("## code (diffs)\na\n### more\n```\n## no heading\n```\n")
        );
        assert_eq!(text_section(text, "Codebase").as_deref(), Some("## codebase\nb\n"));
        assert_eq!(text_section(text, "docs"), None);
    }
}
