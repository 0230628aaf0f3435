//! Content of answers in the kinds that a client's revision of the protocol knows: another kind makes a client refuse all.

use rmcp::RoleServer;
use rmcp::model::{ContentBlock, ProtocolVersion, ResourceContents};
use rmcp::service::RequestContext;

/// The address of a sound in the place of its own kind of content.
const SOUND: &str = "maestro://content/sound";

/// The content for the client of a request.
pub(super) fn for_client(blocks: Vec<ContentBlock>, context: &RequestContext<RoleServer>) -> Vec<ContentBlock> {
    match context.protocol_version() {
        Some(revision) => blocks.into_iter().filter_map(|block| known(block, &revision)).collect(),
        None => blocks,
    }
}

/// The same in a kind that a revision knows. What a link leads to is named in the text as well.
fn known(block: ContentBlock, revision: &ProtocolVersion) -> Option<ContentBlock> {
    match block {
        ContentBlock::ResourceLink(_) if *revision < ProtocolVersion::V_2025_06_18 => None,
        ContentBlock::Audio(sound) if *revision < ProtocolVersion::V_2025_03_26 => {
            let contents = ResourceContents::blob(sound.data, SOUND).with_mime_type(sound.mime_type);
            Some(ContentBlock::resource(contents))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{AudioContent, Resource};
    use serde_json::json;

    use super::*;

    fn kinds(revision: &ProtocolVersion) -> Vec<String> {
        let link = ContentBlock::resource_link(Resource::new("skill://a/b.md", "b.md"));
        let sound = ContentBlock::Audio(AudioContent::new("AAAA", "audio/wav"));
        let known = [ContentBlock::text("a"), link, sound].into_iter().filter_map(|block| known(block, revision));
        known.map(|block| json!(block)["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn an_earlier_revision_gets_no_kind_of_a_later_one() {
        assert_eq!(kinds(&ProtocolVersion::V_2024_11_05), ["text", "resource"]);
        assert_eq!(kinds(&ProtocolVersion::V_2025_03_26), ["text", "audio"]);
        assert_eq!(kinds(&ProtocolVersion::V_2025_06_18), ["text", "resource_link", "audio"]);
        assert_eq!(kinds(&ProtocolVersion::V_2026_07_28), ["text", "resource_link", "audio"]);
    }
}
