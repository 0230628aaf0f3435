//! Addresses of resources: a file or directory of a skill, a task, a run, or a run's log.

use maestro_core::RunId;
use maestro_core::id::{EntityId as _, TaskId};

use maestro_api::in_path as escaped;

/// The target of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResourceAddress {
    /// Something in a skill's folder; an empty path is the folder itself.
    Skill {
        /// The skill's id.
        id: String,
        /// The path below its folder.
        path: String,
    },
    /// A task.
    Task(TaskId),
    /// A run.
    Run(RunId),
    /// The log of a run, after an event.
    RunLog {
        /// The run.
        id: RunId,
        /// The event before the first.
        after: Option<i64>,
    },
}

impl ResourceAddress {
    /// Parses an address of ours.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("skill://") {
            let parts: Vec<String> = rest.split('/').map(part).collect::<Option<_>>()?;
            let (id, path) = parts.split_first()?;
            return Some(Self::Skill { id: id.clone(), path: path.join("/") });
        }
        let parts: Vec<&str> = text.strip_prefix("maestro://")?.split('/').collect();
        match parts.as_slice() {
            ["tasks", id] => TaskId::parse(id).ok().map(Self::Task),
            ["runs", id] => id.parse().ok().map(Self::Run),
            ["runs", id, log] => {
                let after = match log.strip_prefix("log")? {
                    "" => None,
                    query => Some(query.strip_prefix("?after=")?.parse().ok()?),
                };
                id.parse().ok().map(|id| Self::RunLog { id, after })
            }
            _ => None,
        }
    }
}

/// The address of something in a skill's folder.
pub(super) fn of_skill(id: &str, path: &str) -> String {
    let mut address = format!("skill://{}", escaped(id));
    for part in path.split('/').filter(|part| !part.is_empty()) {
        address.push('/');
        address.push_str(&escaped(part));
    }
    address
}

/// A decoded segment of a path. One that would lead elsewhere is rejected.
fn part(text: &str) -> Option<String> {
    let part = decoded(text)?;
    let leads_elsewhere = matches!(part.as_str(), "" | "." | "..") || part.contains(['/', '\0']);
    (!leads_elsewhere).then_some(part)
}

/// A text with the bytes that its percent signs stand for.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            bytes.push(digit(rest.next())? * 16 + digit(rest.next())?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let address = of_skill("pdf", "references/two words%.md");
        assert_eq!(address, "skill://pdf/references/two%20words%25.md");
        let skill = ResourceAddress::Skill { id: "pdf".to_owned(), path: "references/two words%.md".to_owned() };
        assert_eq!(ResourceAddress::parse(&address), Some(skill));
    }

    #[test]
    fn nothing_leads_out_of_a_skill() {
        let out = [
            "skill://pdf/../x",
            "skill://pdf/%2e%2e/x",
            "skill://pdf/a%2Fb",
            "skill://",
            "skill://pdf/",
            "skill://pdf//x",
        ];
        for out in out {
            assert_eq!(ResourceAddress::parse(out), None, "{out}");
        }
        assert_eq!(ResourceAddress::parse("file:///etc/passwd"), None);
    }
}
