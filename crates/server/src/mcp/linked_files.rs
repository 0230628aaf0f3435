//! Files that a skill's text links to, as content of a prompt: most clients show a slash command no other way to read them.

use maestro_skills::Skill;
use maestro_skills::folder::read_file;
use rmcp::model::ContentBlock;

use super::address::of_skill;
use super::file_content;

/// How many files go with a prompt.
const MOST_FILES: usize = 4;
/// How many bytes they have together.
const MOST_BYTES: usize = 256 * 1024;

/// The linked files that exist, in the order of the text, as many as have room.
pub(super) fn of_text(skill: &Skill, text: &str) -> Vec<ContentBlock> {
    let mut room = MOST_BYTES;
    let mut names: Vec<&str> = Vec::new();
    let mut blocks = Vec::new();
    for name in targets(text) {
        if blocks.len() == MOST_FILES || names.contains(&name) {
            continue;
        }
        names.push(name);
        let Some(bytes) = read_file(skill, name).ok().filter(|bytes| bytes.len() <= room) else { continue };
        room -= bytes.len();
        blocks.extend(file_content::of_bytes(&bytes, of_skill(skill.id.as_str(), name), name));
    }
    blocks
}

/// The relative targets of Markdown links.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let target = |after: &str| -> Option<usize> { after.find([')', ' ', '\n', '#']) };
    text.split("](").skip(1).filter_map(move |after| {
        let name = &after[..target(after)?];
        let name = name.strip_prefix("./").unwrap_or(name);
        (!name.is_empty() && !name.contains(':')).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_are_files() {
        let text = "See [a](./a.md), ![b](img/b.png \"B\"), [c](https://x.y/c), [d](#top), [e](a.md#part), [f](open";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["a.md", "img/b.png", "a.md"]);
    }
}
