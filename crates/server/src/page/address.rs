//! Addresses of the page, and their parts.

use axum::http::Uri;

use super::screens::ScreenId;
use crate::error::ApiError;

/// The parts of a path, decoded. An empty last one is none.
pub(super) fn segments(path: &str) -> Result<Vec<String>, ApiError> {
    let parts = path.trim_start_matches('/').split('/').filter(|part| !part.is_empty());
    parts.map(|part| decode(part).ok_or_else(|| ApiError::invalid("the address is not valid UTF-8"))).collect()
}

fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => u8::from_str_radix(std::str::from_utf8(&[rest.next()?, rest.next()?]).ok()?, 16).ok()?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// A part of a path, encoded.
pub(super) fn encode(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    part.bytes().map(one).collect()
}

/// The screen at an address of this server that was sent as text. Other sites' addresses are none.
pub(super) fn screen(text: &str) -> Result<Option<ScreenId>, ApiError> {
    let uri: Uri = text.parse().map_err(|_| ApiError::invalid("this is not an address of the page"))?;
    if uri.authority().is_some() || !text.starts_with('/') {
        return Err(ApiError::invalid("this is not an address of the page"));
    }
    ScreenId::parse(&uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_it_was_written() {
        for part in ["docs", "a b/c", "ü%", "?#&"] {
            assert_eq!(segments(&format!("/work/{}/", encode(part))).unwrap(), ["work", part]);
        }
        for wrong in ["/%", "/%f", "/%zz", "/%ff", "/%00"] {
            assert!(segments(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_our_own_addresses_are_screens() {
        assert!(matches!(screen("/"), Ok(Some(ScreenId::Now(_)))));
        assert!(matches!(screen("/sessions/s1?step=4"), Ok(Some(ScreenId::Run(_)))));
        assert!(matches!(screen("/nowhere"), Ok(None)));
        for foreign in ["http://elsewhere.example/", "//elsewhere.example/", "elsewhere", ""] {
            assert!(screen(foreign).is_err() || matches!(screen(foreign), Ok(None)), "{foreign}");
        }
        let address = screen("/sessions/s1?before=1.2.s1&step=4").unwrap().unwrap().address();
        assert_eq!(address, "/sessions/s1?step=4&before=1.2.s1");
    }
}
