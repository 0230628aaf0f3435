//! Zip archives: plain files of the central directory, stored or deflated.

use std::io;

use flate2::read::DeflateDecoder;

use super::{UnpackedFiles, damaged, inflate};

/// Signatures: the end of the archive, an entry of its directory, the header of a file.
const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const HEADER: [u8; 4] = *b"PK\x03\x04";
/// The length of the end without its comment, and of an entry and a header without what varies.
const END_LENGTH: usize = 22;
const ENTRY_LENGTH: usize = 46;
const HEADER_LENGTH: usize = 30;
/// The kinds of entries in Unix modes.
const KIND: u32 = 0o170_000;
const PLAIN: u32 = 0o100_000;

/// The files of an archive.
pub(super) fn read(bytes: &[u8]) -> io::Result<UnpackedFiles> {
    let last = bytes.len().checked_sub(END_LENGTH).ok_or_else(damaged)?;
    let end = (0..=last).rev().find(|at| bytes[*at..].starts_with(&END)).ok_or_else(damaged)?;
    let (count, mut at) = (word(bytes, end + 10)?, long(bytes, end + 16)?);
    let mut found = UnpackedFiles::default();
    for _ in 0..count {
        let entry = bytes.get(at..at + ENTRY_LENGTH).filter(|entry| entry.starts_with(&ENTRY)).ok_or_else(damaged)?;
        let lengths = [word(entry, 28)?, word(entry, 30)?, word(entry, 32)?];
        let name = bytes.get(at + ENTRY_LENGTH..at + ENTRY_LENGTH + lengths[0]).ok_or_else(damaged)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let mode = u32::try_from(long(entry, 38)?).map_err(|_| damaged())? >> 16;
        let is_plain = mode & KIND == 0 || mode & KIND == PLAIN;
        // A set bit says that the contents are encrypted.
        if word(entry, 8)? & 1 == 1 {
            return Err(damaged());
        }
        if is_plain && !name.ends_with('/') {
            let packed = packed(bytes, long(entry, 42)?, long(entry, 20)?)?;
            let contents = match word(entry, 10)? {
                0 => packed.to_vec(),
                8 => inflate(DeflateDecoder::new(packed), found.room())?,
                _ => return Err(damaged()),
            };
            found.add(&name, contents, mode)?;
        } else if !is_plain && !name.ends_with('/') {
            found.leave_out(&name);
        }
        at += ENTRY_LENGTH + lengths.iter().sum::<usize>();
    }
    Ok(found)
}

/// The packed contents of a file whose header begins here.
fn packed(bytes: &[u8], header: usize, size: usize) -> io::Result<&[u8]> {
    let fixed = header.checked_add(HEADER_LENGTH).and_then(|end| bytes.get(header..end)).ok_or_else(damaged)?;
    if !fixed.starts_with(&HEADER) {
        return Err(damaged());
    }
    let begin = header + HEADER_LENGTH + word(fixed, 26)? + word(fixed, 28)?;
    begin.checked_add(size).and_then(|end| bytes.get(begin..end)).ok_or_else(damaged)
}

fn word(bytes: &[u8], at: usize) -> io::Result<usize> {
    let field: [u8; 2] = bytes.get(at..at + 2).and_then(|field| field.try_into().ok()).ok_or_else(damaged)?;
    Ok(usize::from(u16::from_le_bytes(field)))
}

fn long(bytes: &[u8], at: usize) -> io::Result<usize> {
    let field: [u8; 4] = bytes.get(at..at + 4).and_then(|field| field.try_into().ok()).ok_or_else(damaged)?;
    usize::try_from(u32::from_le_bytes(field)).map_err(|_| damaged())
}
