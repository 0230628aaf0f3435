//! Time that an agent usually takes until it does something, by its last sessions.

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::value::SqlRow;

/// How long an agent usually took from its request to the first thing it did, in milliseconds: the median of its last
/// sessions. Nothing where none of them is recent.
#[derive(Debug, Clone)]
pub struct UsualStart {
    /// The agent's name.
    pub agent: String,
}

impl Query for UsualStart {
    type Output = Option<i64>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<i64>, StoreError> {
        // Only the newest sessions are looked at, however many there are.
        let sql = "SELECT t.at - s.started_at FROM sessions s JOIN transcript t \
                   ON t.ord = (SELECT ord FROM transcript WHERE session_id = s.id ORDER BY ord LIMIT 1) \
                   WHERE s.agent = $1 AND s.ord > (SELECT coalesce(max(ord), 0) - 200 FROM sessions) \
                   ORDER BY s.ord DESC LIMIT 9";
        let mut times: Vec<i64> =
            db.rows(sql, &[(&self.agent).into()])?.iter_mut().map(SqlRow::int).collect::<Result<_, _>>()?;
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied())
    }
}
