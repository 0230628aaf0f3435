//! Tar archives: plain files with their names and modes, in the forms of ustar, GNU and pax.

use std::io;

use super::{UnpackedFiles, damaged};

/// The size of a header, and what contents are filled up to.
const BLOCK: usize = 512;

/// The files of an archive.
pub(super) fn read(bytes: &[u8]) -> io::Result<UnpackedFiles> {
    let mut found = UnpackedFiles::default();
    let (mut at, mut long_name) = (0, None);
    while let Some(header) = bytes.get(at..at + BLOCK).filter(|header| header.iter().any(|byte| *byte != 0)) {
        check(header)?;
        let size = usize::try_from(octal(&header[124..136])?).map_err(|_| damaged())?;
        let begin = at + BLOCK;
        let contents = begin.checked_add(size).and_then(|end| bytes.get(begin..end)).ok_or_else(damaged)?;
        match header[156] {
            b'0' | 0 => {
                let name = long_name.take().unwrap_or_else(|| name(header));
                let mode = u32::try_from(octal(&header[100..108])?).map_err(|_| damaged())?;
                if !name.ends_with('/') {
                    found.add(&name, contents.to_vec(), mode)?;
                }
            }
            b'L' => long_name = Some(text(contents)),
            b'x' => long_name = pax_path(contents).or(long_name),
            // What is said for all entries names no file.
            b'g' => {}
            // Links, devices and pipes.
            b'1'..=b'4' | b'6' => found.leave_out(&long_name.take().unwrap_or_else(|| name(header))),
            _ => long_name = None,
        }
        at = begin + size.div_ceil(BLOCK) * BLOCK;
    }
    if at == 0 { Err(damaged()) } else { Ok(found) }
}

/// Makes sure of a header by its sum, in which the sum's own field counts as blanks.
fn check(header: &[u8]) -> io::Result<()> {
    let of = |(index, byte): (usize, &u8)| u64::from(if (148..156).contains(&index) { b' ' } else { *byte });
    let sum: u64 = header.iter().enumerate().map(of).sum();
    if octal(&header[148..156])? == sum { Ok(()) } else { Err(damaged()) }
}

fn octal(field: &[u8]) -> io::Result<u64> {
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Ok(0) } else { u64::from_str_radix(digits, 8).map_err(|_| damaged()) }
}

/// A field up to its first zero byte.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn name(header: &[u8]) -> String {
    let name = text(&header[..100]);
    let prefix = if header[257..].starts_with(b"ustar\0") { text(&header[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// The path in a pax header, whose records are `LENGTH KEY=VALUE` lines.
fn pax_path(contents: &[u8]) -> Option<String> {
    let records = String::from_utf8_lossy(contents).into_owned();
    let path = |line: &str| Some(line.split_once(' ')?.1.strip_prefix("path=")?.to_owned());
    records.lines().find_map(path)
}
