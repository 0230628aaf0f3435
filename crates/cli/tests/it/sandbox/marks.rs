//! What differs from run to run, and how is it named instead?

/// The prefixes of ids, and what they are called in outputs.
pub(super) const IDS: [(&str, &str); 5] =
    [("task_", "TASK"), ("sess_", "SESSION"), ("proj_", "PROJECT"), ("evt_", "LINE"), ("msg_", "MESSAGE")];

/// Whether a word is the id of a stored thing.
pub(super) fn is_id(word: &str) -> bool {
    if !IDS.iter().any(|(prefix, _)| word.starts_with(prefix)) {
        return false;
    }
    let parts: Vec<&str> = word.split('_').collect();
    matches!(parts.as_slice(), [_, time, random] if time.len() == 13 && random.len() == 9)
}

/// The ids in the bytes of a database: they are plain text there, and what surrounds them is not.
///
/// Every command of every test looks, and tests are not optimized; so most bytes are passed over. Each kind of id has twelve
/// hexadecimal digits or more in a row, and one of any twelve is met.
pub(super) fn ids_in_bytes(bytes: &[u8]) -> Vec<String> {
    const STRIDE: usize = 12;
    let mut ids = Vec::new();
    let mut at = STRIDE - 1;
    while at < bytes.len() {
        if !bytes[at].is_ascii_hexdigit() {
            at += STRIDE;
            continue;
        }
        let end = [(b'_', is_id as fn(&str) -> bool), (b'-', is_run_id)].map(|(also, is_wanted)| {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == also;
            let start = bytes[..at].iter().rposition(|byte| !is_part(byte)).map_or(0, |before| before + 1);
            let end = bytes[at..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| at + length);
            let word = String::from_utf8_lossy(&bytes[start..end]);
            if is_wanted(&word) && !ids.iter().any(|known| *known == word) {
                ids.push(word.into_owned());
            }
            end
        });
        at = end[0].min(end[1]) + STRIDE;
    }
    ids
}

/// Whether a word is the id of a run: a UUID.
pub(super) fn is_run_id(word: &str) -> bool {
    if word.len() != 36 {
        return false;
    }
    let parts: Vec<&str> = word.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// The text without what nobody can guess of a ticket: `step#1.[NONCE]`.
pub(super) fn without_nonces(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || (c.is_ascii_lowercase() && !matches!(c, 'i' | 'l' | 'o' | 'u'));
    let mut parts = text.split('#');
    let mut normal = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        normal.push('#');
        let nonce = part.split_once('.').and_then(|(visit, rest)| {
            let is_visit = visit.starts_with(|c: char| c.is_ascii_digit()) && !visit.contains(char::is_whitespace);
            let (nonce, rest) = rest.split_at_checked(6).filter(|_| is_visit)?;
            nonce.chars().all(is_digit).then_some((visit, rest))
        });
        match nonce {
            Some((visit, rest)) => normal.extend([visit, ".[NONCE]", rest]),
            None => normal.push_str(part),
        }
    }
    normal
}

/// The text without what depends on this kernel: the sandbox that `doctor` found.
pub(super) fn without_sandbox(text: &str) -> String {
    const KEY: &str = "\"sandbox\":{";
    if let Some((before, rest)) = text.split_once(KEY)
        && let Some((_, after)) = rest.split_once('}')
    {
        return format!("{before}\"sandbox\":\"[SANDBOX]\"{after}");
    }
    match text.split_once("\nSandbox\n").map(|(before, rest)| (before, rest.split_once("\n\n"))) {
        Some((before, Some((_, after)))) => format!("{before}\nSandbox\n  [SANDBOX]\n\n{after}"),
        _ => text.to_owned(),
    }
}

/// The text without the moments in it: thirteen digits that stand alone.
pub(super) fn without_times(text: &str) -> String {
    let mut normal = String::new();
    let mut digits = String::new();
    let flush = |normal: &mut String, digits: &mut String| {
        if digits.len() == 13 {
            // As a value of JSON it stays one.
            let quote = if normal.ends_with("\":") { "\"" } else { "" };
            normal.extend([quote, "[TIME]", quote]);
        } else {
            normal.push_str(digits);
        }
        digits.clear();
    };
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        flush(&mut normal, &mut digits);
        normal.push(c);
    }
    flush(&mut normal, &mut digits);
    normal
}

/// The text with every id of a stored thing replaced, `proj_1738713600000_x7k9m2p4q` by `[proj]`.
pub(super) fn without_ids(text: &str) -> String {
    let is_id_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut normal = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_id_part) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_id_part(c)).unwrap_or(from.len()));
        let parts: Vec<&str> = word.split('_').collect();
        normal.push_str(before);
        match parts.as_slice() {
            [prefix, time, tail] if time.len() == 13 && time.parse::<u64>().is_ok() && tail.len() == 9 => {
                normal.extend(["[", *prefix, "]"]);
            }
            _ => normal.push_str(word),
        }
        rest = after;
    }
    normal + rest
}

/// The text with the digest after each `prefix` replaced.
pub(super) fn without_digest(text: &str, prefix: &str, digits: usize) -> String {
    let mut parts = text.split(prefix);
    let mut normal = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        normal.push_str(prefix);
        match part.split_at_checked(digits) {
            Some((digest, rest)) if digest.chars().all(|c| c.is_ascii_hexdigit()) => {
                normal.push_str("[DIGEST]");
                normal.push_str(rest);
            }
            _ => normal.push_str(part),
        }
    }
    normal
}
