//! Words of tasks and sessions, by which a search finds those that are not among the newest.

use std::collections::BTreeSet;

use crate::db::DbTx;
use crate::error::StoreError;
use crate::value::SqlParam;

/// How many words a statement writes; always as many, so that it is prepared once.
const BATCH_SIZE: usize = 16;
/// How many characters of a text are looked at: its words are written by the one thread that writes.
const MOST_CHARACTERS: usize = 16_384;
/// How many characters of a word are kept.
const LONGEST: usize = 32;
/// How many rows are read at once while the words of all are written.
const PAGE: i64 = 1000;
/// How many rows with a word are counted at most: a word that more of them have is a frequent one.
const FREQUENT: i64 = 2000;

/// What is searched by its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchedTable {
    Tasks,
    Sessions,
}

impl SearchedTable {
    /// The table with its words.
    fn words(self) -> &'static str {
        match self {
            Self::Tasks => "task_words",
            Self::Sessions => "session_words",
        }
    }

    /// The table itself.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Sessions => "sessions",
        }
    }

    /// The text of a row whose words are kept, as SQL.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Tasks => "title || ' ' || description",
            Self::Sessions => "name || ' ' || coalesce(agent, '')",
        }
    }

    /// The condition that a row has a word that begins so; its parameters are the two ends of `word_range`.
    pub(crate) fn has_word(self) -> String {
        format!("ord IN (SELECT ord FROM {} WHERE word >= ? AND word < ?)", self.words())
    }
}

/// The words of a text, or of the beginning of a long one, in lower case. A script without spaces has a word for each character.
pub(crate) fn words_of(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut length = 0;
    for character in text.chars().take(MOST_CHARACTERS).flat_map(char::to_lowercase).chain([' ']) {
        let alone = character >= '\u{2e80}';
        if character.is_alphanumeric() && !alone {
            if length < LONGEST {
                word.push(character);
            }
            length += 1;
            continue;
        }
        if !word.is_empty() {
            words.insert(std::mem::take(&mut word));
        }
        length = 0;
        if alone && character.is_alphanumeric() {
            words.insert(character.to_string());
        }
    }
    words
}

/// All words that begin like this one lie from the first to before the second.
pub(crate) fn word_range(word: &str) -> (String, String) {
    (word.to_owned(), format!("{word}\u{10ffff}"))
}

/// Writes the words of a new row.
pub(crate) fn add(db: &mut DbTx<'_>, table: SearchedTable, ord: i64, text: &str) -> Result<(), StoreError> {
    write(db, table, ord, words_of(text))
}

/// Writes what changed of the words of a row.
pub(crate) fn change(
    db: &mut DbTx<'_>,
    table: SearchedTable,
    id: SqlParam<'_>,
    before: &str,
    after: &str,
) -> Result<(), StoreError> {
    if before == after {
        return Ok(());
    }
    let ord = db.number(&format!("SELECT ord FROM {} WHERE id = $1", table.name()), &[id])?;
    let (before, after) = (words_of(before), words_of(after));
    delete(db, table, ord, before.difference(&after))?;
    write(db, table, ord, after.difference(&before).cloned().collect())
}

/// Removes the words of a row that goes.
pub(crate) fn remove(db: &mut DbTx<'_>, table: SearchedTable, id: SqlParam<'_>, text: &str) -> Result<(), StoreError> {
    let ord = db.number(&format!("SELECT ord FROM {} WHERE id = $1", table.name()), &[id])?;
    delete(db, table, ord, words_of(text).iter())
}

fn write(db: &mut DbTx<'_>, table: SearchedTable, ord: i64, words: BTreeSet<String>) -> Result<(), StoreError> {
    let places: Vec<String> =
        (0..BATCH_SIZE).map(|place| format!("(${}, ${})", 2 * place + 1, 2 * place + 2)).collect();
    let sql = format!("INSERT INTO {} (word, ord) VALUES {} ON CONFLICT DO NOTHING", table.words(), places.join(", "));
    let words: Vec<String> = words.into_iter().collect();
    for part in words.chunks(BATCH_SIZE) {
        let cycled = part.iter().cycle().take(BATCH_SIZE);
        let params: Vec<SqlParam<'_>> = cycled.flat_map(|word| [word.into(), ord.into()]).collect();
        db.execute(&sql, &params)?;
    }
    Ok(())
}

fn delete<'a>(
    db: &mut DbTx<'_>,
    table: SearchedTable,
    ord: i64,
    words: impl Iterator<Item = &'a String>,
) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM {} WHERE word = $1 AND ord = $2", table.words());
    for word in words {
        db.execute(&sql, &[word.into(), ord.into()])?;
    }
    Ok(())
}

/// The one of these words that the fewest rows have, by how their words begin.
pub(crate) fn rarest(
    db: &mut DbTx<'_>,
    table: SearchedTable,
    words: BTreeSet<String>,
) -> Result<Option<String>, StoreError> {
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM {} WHERE word >= $1 AND word < $2 LIMIT {FREQUENT}) AS counted",
        table.words()
    );
    let mut found: Option<(i64, String)> = None;
    for word in words {
        let (from, to) = word_range(&word);
        let rows = db.number(&sql, &[(&from).into(), (&to).into()])?;
        if found.as_ref().is_none_or(|(fewest, _)| rows < *fewest) {
            found = Some((rows, word));
        }
    }
    Ok(found.map(|(_, word)| word))
}

/// Writes the words of all rows.
pub(crate) fn fill(db: &mut DbTx<'_>) -> Result<(), StoreError> {
    for table in [SearchedTable::Tasks, SearchedTable::Sessions] {
        let sql = format!("SELECT ord, {} FROM {} WHERE ord > $1 ORDER BY ord LIMIT $2", table.text(), table.name());
        let mut after = 0;
        loop {
            let rows = db.rows(&sql, &[after.into(), PAGE.into()])?;
            if rows.is_empty() {
                break;
            }
            for mut row in rows {
                after = row.int()?;
                add(db, table, after, &row.text()?)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let words: Vec<String> = words_of("Fix the Log-in (v2), the_end, ÄRGER 検索 x").into_iter().collect();
        assert_eq!(words, ["end", "fix", "in", "log", "the", "v2", "x", "ärger", "検", "索"]);
    }

    #[test]
    fn a_long_word_is_found_by_its_beginning() {
        let words = words_of(&"x".repeat(100));
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["x".repeat(LONGEST)]);
    }
}
