//! Byte encoding of what an index holds; reading trusts nothing.
//!
//! Numbers take as many bytes as they need, texts follow their length. Reading checks every length against what is
//! there, so a damaged index gives nothing, takes no memory for what it only claims to hold, and stops no program.

use serde_json::{Map, Number, Value as Json};

use crate::file_stamp::FileStamp;

/// How deep JSON may nest; the parser that it once came from allows no more.
const MAX_DEPTH: usize = 128;

/// Bytes that values are put at the end of.
#[derive(Debug, Default)]
pub(crate) struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    /// With room for so many bytes.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A text that may be absent: its length is counted from 1.
    pub(crate) fn option(&mut self, text: Option<&str>) {
        self.count(text.map_or(0, |text| text.len() + 1));
        self.raw(text.unwrap_or_default().as_bytes());
    }

    pub(crate) fn texts(&mut self, texts: &[String]) {
        self.count(texts.len());
        for text in texts {
            self.text(text);
        }
    }

    pub(crate) fn stamp(&mut self, stamp: FileStamp) {
        self.raw(&stamp.to_bytes());
    }

    pub(crate) fn map(&mut self, map: &Map<String, Json>) {
        self.count(map.len());
        for (key, value) in map {
            self.text(key);
            self.json(value);
        }
    }

    fn json(&mut self, value: &Json) {
        match value {
            Json::Null => self.byte(0),
            Json::Bool(false) => self.byte(1),
            Json::Bool(true) => self.byte(2),
            Json::Number(number) => {
                if let Some(whole) = number.as_u64() {
                    self.byte(3);
                    self.number(whole);
                } else if let Some(negative) = number.as_i64() {
                    self.byte(4);
                    self.number(negative.cast_unsigned());
                } else {
                    self.byte(5);
                    self.raw(&number.as_f64().unwrap_or_default().to_le_bytes());
                }
            }
            Json::String(text) => {
                self.byte(6);
                self.text(text);
            }
            Json::Array(items) => {
                self.byte(7);
                self.count(items.len());
                for item in items {
                    self.json(item);
                }
            }
            Json::Object(map) => {
                self.byte(8);
                self.map(map);
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Bytes that values are taken from the front of. What is not there is `None`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A count of things that take at least a byte each, so it cannot exceed what is left.
    pub(crate) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|&count| count <= self.bytes.len())
    }

    /// A number that is not a length.
    pub(crate) fn plain_number(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.raw(length)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(crate) fn string(&mut self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    /// A text that may be absent, or another instead.
    pub(crate) fn text_or(&mut self, instead: &'a str) -> Option<&'a str> {
        let Some(length) = self.plain_number()?.checked_sub(1) else { return Some(instead) };
        std::str::from_utf8(self.raw(length)?).ok()
    }

    /// A text that may be absent, put where it belongs if it is there.
    pub(crate) fn option(&mut self, place: &mut Option<String>) -> Option<()> {
        let Some(length) = self.plain_number()?.checked_sub(1) else { return Some(()) };
        *place = Some(std::str::from_utf8(self.raw(length)?).ok()?.to_owned());
        Some(())
    }

    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        // Not allocated by what the count says: a thing may be far larger than the byte it is read from.
        (0..count).map(|_| item(self)).collect()
    }

    pub(crate) fn texts(&mut self) -> Option<Vec<String>> {
        self.list(Self::string)
    }

    /// A stamp as it was written, to be compared with one of now.
    pub(crate) fn stamp(&mut self) -> Option<&'a [u8]> {
        self.raw(FileStamp::BYTES)
    }

    pub(crate) fn map(&mut self) -> Option<Map<String, Json>> {
        self.map_within(MAX_DEPTH)
    }

    fn map_within(&mut self, depth: usize) -> Option<Map<String, Json>> {
        let count = self.count()?;
        let mut map = Map::new();
        for _ in 0..count {
            map.insert(self.string()?, self.json(depth)?);
        }
        Some(map)
    }

    fn json(&mut self, depth: usize) -> Option<Json> {
        let below = depth.checked_sub(1)?;
        Some(match self.byte()? {
            0 => Json::Null,
            1 => Json::Bool(false),
            2 => Json::Bool(true),
            3 => self.number()?.into(),
            4 => self.number()?.cast_signed().into(),
            5 => Json::Number(Number::from_f64(f64::from_le_bytes(self.raw(8)?.try_into().ok()?))?),
            6 => Json::String(self.string()?),
            7 => Json::Array(self.list(|item| item.json(below))?),
            8 => Json::Object(self.map_within(below)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> Map<String, Json> {
        let value = json!({
            "nothing": null, "yes": true, "no": false, "large": u64::MAX, "small": i64::MIN, "minus": -1,
            "part": 0.25, "whole": 3.0, "text": "naïve\n", "list": [1, [], {"deep": [{}]}], "": "",
        });
        let Json::Object(map) = value else { panic!("an object") };
        map
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut writer = ByteWriter::default();
        writer.map(&sample());
        writer.option(None);
        writer.option(Some(""));
        writer.texts(&["a".to_owned(), String::new()]);
        writer.count(usize::MAX);
        let mut reader = ByteReader::new(writer.as_slice());
        assert_eq!(reader.map(), Some(sample()));
        let (mut absent, mut empty) = (None, None);
        reader.option(&mut absent).unwrap();
        reader.option(&mut empty).unwrap();
        assert_eq!((absent, empty), (None, Some(String::new())));
        assert_eq!(reader.texts(), Some(vec!["a".to_owned(), String::new()]));
        assert_eq!(reader.plain_number(), Some(usize::MAX));
        assert!(reader.is_empty());
    }

    #[test]
    fn what_is_cut_short_is_nothing() {
        let mut writer = ByteWriter::default();
        writer.map(&sample());
        for length in 0..writer.as_slice().len() {
            assert_eq!(ByteReader::new(&writer.as_slice()[..length]).map(), None, "{length}");
        }
    }

    #[test]
    fn a_claim_that_cannot_be_true_costs_no_memory() {
        let mut writer = ByteWriter::default();
        writer.count(usize::MAX);
        assert_eq!(ByteReader::new(writer.as_slice()).texts(), None);
        assert_eq!(ByteReader::new(writer.as_slice()).option(&mut None), None);
        assert_eq!(ByteReader::new(&[7; 10_000]).json(MAX_DEPTH), None, "lists in lists in lists");
        assert_eq!(ByteReader::new(&[0xff; 20]).plain_number(), None);
    }
}
