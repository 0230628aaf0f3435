//! Short ids: the shortest prefix of an id's random part that no other id has.

/// How many characters a short id has at least, so that it stays unambiguous for a while.
const SHORTEST: usize = 4;
/// How many characters can mean an id.
const FEWEST: usize = 2;
/// How many random characters end an id that Maestro made.
const RANDOM: usize = 9;

/// The random part of an id that Maestro made: the end of `task_1738713600000_z0k3h9x1q`, or the last group of a UUID.
/// Ids that callers brought have none.
pub fn random_part(id: &str) -> Option<&str> {
    let is_digits = |text: &str| text.len() >= 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((rest, random)) = id.rsplit_once('_') {
        let made = random.len() == RANDOM && rest.rsplit_once('_').is_some_and(|(_, time)| is_digits(time));
        return made.then_some(random);
    }
    let groups: Vec<&str> = id.split('-').collect();
    let is_uuid = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    groups.last().copied().filter(|_| is_uuid)
}

/// All ids among which a short one must be unambiguous.
#[derive(Debug, Clone, Default)]
pub struct ShortIds {
    ids: Vec<String>,
    /// The random parts, sorted.
    parts: Vec<String>,
}

impl ShortIds {
    /// The index of these ids.
    pub fn new(ids: impl IntoIterator<Item = String>) -> Self {
        let ids: Vec<String> = ids.into_iter().collect();
        let mut parts: Vec<String> = ids.iter().filter_map(|id| random_part(id)).map(str::to_owned).collect();
        parts.sort_unstable();
        Self { ids, parts }
    }

    /// The short form of an id; the whole id where it has none.
    pub fn shorten<'i>(&self, id: &'i str) -> &'i str {
        let Some(part) = random_part(id) else { return id };
        let at = self.parts.partition_point(|other| other.as_str() < part);
        let known = self.parts[at..].iter().take_while(|other| *other == part).count();
        let neighbors = [at.checked_sub(1).and_then(|before| self.parts.get(before)), self.parts.get(at + known)];
        let shared = neighbors.into_iter().flatten().map(|other| shared_prefix(other, part)).max().unwrap_or_default();
        let length = (shared + 1).max(SHORTEST);
        if known > 1 || length > part.len() { id } else { &part[..length] }
    }

    /// The ids that a text can mean: the very id, else those whose random part begins so, else those that begin so up to
    /// their random part.
    pub fn matches(&self, text: &str) -> Vec<&str> {
        if let Some(whole) = self.ids.iter().find(|id| *id == text) {
            return vec![whole];
        }
        if text.len() < FEWEST {
            return Vec::new();
        }
        let lower = text.to_ascii_lowercase();
        let by = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&str> {
            self.ids.iter().map(String::as_str).filter(|id| is_meant(id)).collect()
        };
        let random = by(&|id| random_part(id).is_some_and(|part| part.starts_with(&lower)));
        let reaches = |id: &str| random_part(id).is_some_and(|part| lower.len() > id.len() - part.len());
        if random.is_empty() { by(&|id| id.starts_with(&lower) && reaches(id)) } else { random }
    }
}

fn shared_prefix(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0199c0de-1a2b-7c3d-8e4f-k7q2m9x1zzzz";

    #[test]
    fn the_random_part_is_what_tells_ids_of_one_day_apart() {
        assert_eq!(random_part("task_1738713600000_z0k3h9x1q"), Some("z0k3h9x1q"));
        assert_eq!(random_part("0199c0de-1a2b-7c3d-8e4f-a7b2c9d1eeee"), Some("a7b2c9d1eeee"));
        for own in ["sess_1", "my-session", "task_1738713600000_short", "", RUN] {
            assert_eq!(random_part(own), None, "{own}");
        }
    }

    #[test]
    fn a_short_id_is_as_long_as_it_must_be_and_means_one_id() {
        let ids = ["task_1738713600000_abcde0001", "task_1738713600001_abcde9999", "sess_1738713600002_zzzz00000"];
        let known = ShortIds::new(ids.map(str::to_owned));
        assert_eq!(ids.map(|id| known.shorten(id)), ["abcde0", "abcde9", "zzzz"]);
        for id in ids {
            assert_eq!(known.matches(known.shorten(id)), [id]);
            assert_eq!(known.matches(id), [id]);
        }
        assert_eq!(known.matches("abcd"), ids[..2]);
        assert_eq!(known.matches("sess_1738713600002_z"), [ids[2]]);
        for none in ["", "z", "sess_", "sess_1738713600002"] {
            assert!(known.matches(none).is_empty(), "{none} says nothing of the random part");
        }
    }

    #[test]
    fn an_id_of_a_callers_own_is_shown_whole() {
        let known = ShortIds::new(["sess_1".to_owned(), "sess_2".to_owned()]);
        assert_eq!(known.shorten("sess_1"), "sess_1");
        assert_eq!(known.matches("sess_1"), ["sess_1"]);
    }
}
