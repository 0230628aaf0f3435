//! Search for words in tasks, sessions, runs and transcripts, within bounds.
//!
//! The newest tasks and sessions are found by any part of a word, older ones by how their words begin: looking through
//! all of them would take longer with every one of them.

use maestro_core::id::ProjectId;
use maestro_core::task::Task;

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::runs::{self, RunRecord};
use crate::search_words::{self, SearchedTable, word_range};
use crate::sql_query::SqlQuery;
use crate::task_rows;
use crate::value::SqlRow;

/// How many words count.
const MOST_WORDS: usize = 8;
/// How many tasks and sessions are looked through, the newest ones.
const NEWEST: i64 = 500;
/// How many transcript entries are looked through, the newest ones.
const TRANSCRIPT_WINDOW: i64 = 50_000;
/// How many runs are looked through, the newest ones.
const RUN_WINDOW: i64 = 500;
/// How much of a transcript entry stands around the first word that matches.
const BEFORE: i64 = 60;
const AROUND: i64 = 240;

/// The words of a search.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().take(MOST_WORDS)
}

/// The pattern by which a word is found anywhere, for `LIKE … ESCAPE '!'` on a text in lower case.
pub(crate) fn like_pattern(word: &str, db: &DbTx<'_>) -> String {
    // SQLite lowers only ASCII letters.
    let word = if db.is_postgres() { word.to_lowercase() } else { word.to_ascii_lowercase() };
    format!("%{}%", word.replace('!', "!!").replace('%', "!%").replace('_', "!_"))
}

/// Everything that contains each of some words.
#[derive(Debug, Clone)]
pub struct TextSearch {
    /// The words.
    pub text: String,
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// How many of a kind at most.
    pub limit: i64,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMatch {
    /// Its id, or that of what it is in.
    pub id: String,
    /// Its name.
    pub title: String,
    /// The text with the words.
    pub text: String,
    /// When it last changed.
    pub at: i64,
}

/// What was found, by kind, the newest first.
#[derive(Debug, Default)]
pub struct SearchMatches {
    /// Tasks by title and description.
    pub tasks: Vec<Task>,
    /// Sessions by name, agent and question.
    pub sessions: Vec<SearchMatch>,
    /// Runs by their state, which has their parameters and tasks.
    pub runs: Vec<RunRecord>,
    /// Transcript entries; the text is a part of the stored JSON.
    pub transcripts: Vec<SearchMatch>,
}

impl Query for TextSearch {
    type Output = SearchMatches;

    fn load(&self, db: &mut DbTx<'_>) -> Result<SearchMatches, StoreError> {
        let patterns: Vec<String> = words(&self.text).map(|word| like_pattern(word, db)).collect();
        if patterns.is_empty() {
            return Ok(SearchMatches::default());
        }
        Ok(SearchMatches {
            tasks: self.tasks(&patterns, db)?,
            sessions: self.sessions(&patterns, db)?,
            runs: self.runs(&patterns, db)?,
            transcripts: self.transcripts(&patterns, db)?,
        })
    }
}

/// The same query, only for rows whose text contains each word.
fn containing<'a>(query: SqlQuery<'a>, text: &str, patterns: &'a [String]) -> SqlQuery<'a> {
    let condition = format!("lower({text}) LIKE ? ESCAPE '!'");
    patterns.iter().fold(query, |query, pattern| query.only(&condition, pattern))
}

impl TextSearch {
    fn query(&self, select: &str, from: i64) -> SqlQuery<'_> {
        SqlQuery::new(format!("{select} WHERE ord >= $1"), from).only("project_id = ?", self.project.as_ref())
    }

    fn tasks(&self, patterns: &[String], db: &mut DbTx<'_>) -> Result<Vec<Task>, StoreError> {
        let read = |mut row: SqlRow| row.int().and_then(|_| task_rows::task(&mut row));
        self.rows_with(SearchedTable::Tasks, task_rows::SELECT, patterns, db)?.into_iter().map(read).collect()
    }

    fn sessions(&self, patterns: &[String], db: &mut DbTx<'_>) -> Result<Vec<SearchMatch>, StoreError> {
        let select = "SELECT id, name, coalesce(needs_input, coalesce(agent, '')), last_activity FROM sessions";
        self.rows_with(SearchedTable::Sessions, select, patterns, db)?.into_iter().map(found).collect()
    }

    /// The rows with all words, the newest first.
    fn rows_with(
        &self,
        table: SearchedTable,
        select: &str,
        patterns: &[String],
        db: &mut DbTx<'_>,
    ) -> Result<Vec<SqlRow>, StoreError> {
        let from = newest_ord(table.name(), db)?.saturating_sub(NEWEST) + 1;
        // What a session asks is not among the words that are kept; it asks while it lives, and then it is new.
        let text = match table {
            SearchedTable::Tasks => table.text().to_owned(),
            SearchedTable::Sessions => format!("{} || ' ' || coalesce(needs_input, '')", table.text()),
        };
        let mut rows = containing(self.query(select, from), &text, patterns).rows(db, "ord DESC", self.limit)?;
        let missing = self.limit - i64::try_from(rows.len()).unwrap_or(i64::MAX);
        if from <= 1 || missing <= 0 {
            return Ok(rows);
        }
        let wanted = words(&self.text).flat_map(search_words::words_of).collect();
        if let Some(word) = search_words::rarest(db, table, wanted)? {
            let (first, end) = word_range(&word);
            let older = SqlQuery::new(format!("{select} WHERE ord < $1"), from)
                .only("project_id = ?", self.project.as_ref())
                .only_between(&table.has_word(), &first, &end);
            rows.extend(containing(older, table.text(), patterns).rows(db, "ord DESC", missing)?);
        }
        Ok(rows)
    }

    fn runs(&self, patterns: &[String], db: &mut DbTx<'_>) -> Result<Vec<RunRecord>, StoreError> {
        let from = newest_ord("runs", db)? - RUN_WINDOW;
        let query = self.query(runs::SELECT, from).and("parent_run IS NULL");
        let query = containing(query, "workflow || ' ' || state", patterns);
        let read = |mut row: SqlRow| row.int().and_then(|_| runs::record(&mut row));
        query.rows(db, "ord DESC", self.limit)?.into_iter().map(read).collect()
    }

    fn transcripts(&self, patterns: &[String], db: &mut DbTx<'_>) -> Result<Vec<SearchMatch>, StoreError> {
        let from = newest_ord("transcript", db)? - TRANSCRIPT_WINDOW;
        let Some(first) = words(&self.text).next() else { return Ok(Vec::new()) };
        let (place, first) =
            if db.is_postgres() { ("strpos", first.to_lowercase()) } else { ("instr", first.to_ascii_lowercase()) };
        let start = format!("{place}(lower(t.event), CAST($1 AS TEXT)) - {BEFORE}");
        let select = format!(
            "SELECT t.session_id, s.name, substr(t.event, CASE WHEN {start} < 1 THEN 1 ELSE {start} END, {AROUND}), t.at \
             FROM transcript t CROSS JOIN sessions s WHERE t.ord >= {from} AND s.id = t.session_id"
        );
        let query = SqlQuery::new(select, &first).only("s.project_id = ?", self.project.as_ref());
        containing(query, "t.event", patterns).rows(db, "t.ord DESC", self.limit)?.into_iter().map(found).collect()
    }
}

fn newest_ord(table: &str, db: &mut DbTx<'_>) -> Result<i64, StoreError> {
    db.number(&format!("SELECT CAST(coalesce(max(ord), 0) AS BIGINT) FROM {table}"), &[])
}

fn found(mut row: SqlRow) -> Result<SearchMatch, StoreError> {
    Ok(SearchMatch { id: row.text()?, title: row.text()?, text: row.text()?, at: row.int()? })
}
