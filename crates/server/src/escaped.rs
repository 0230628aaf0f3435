//! How does a value stand in an address?

use std::fmt::Write as _;

/// A value as it stands in an address of the API.
pub fn escaped(value: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    value.bytes().fold(String::new(), |mut text, byte| {
        if keep(byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}
