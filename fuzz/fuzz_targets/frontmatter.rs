//! Whatever a `SKILL.md` begins with, reading its header ends, and ends without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maestro_skills::frontmatter;

fuzz_target!(|bytes: &[u8]| {
    let Ok(header) = frontmatter::find(bytes) else { return };
    assert!(header.yaml.end <= header.body_at && header.body_at <= bytes.len());
    if let Ok(yaml) = std::str::from_utf8(&bytes[header.yaml]) {
        let _ = frontmatter::parse(yaml, |tree| tree.to_json());
    }
});
