//! Responses kept for idempotent requests. A caller that missed the response may repeat it with the same key.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::secret_hash::hash_secret;
use crate::tx::ChangeTx;
use crate::value::{from_json, to_json};

/// A request that must not be carried out twice.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The caller's key, with what it is for.
    pub request: String,
    /// What was asked; the same key with another request is a mistake.
    pub fingerprint: String,
}

/// The answer given before.
pub(crate) fn find_answer<T: DeserializeOwned>(
    tx: &mut ChangeTx<'_>,
    once: &IdempotencyKey,
) -> Result<Option<T>, StoreError> {
    let request = hash_secret(once.request.as_bytes());
    if tx.is_postgres() {
        // Of two concurrent requests with one key, only one may find no response.
        tx.rows("SELECT CAST(pg_advisory_xact_lock(7246292, hashtext($1)) AS TEXT)", &[(&request).into()])?;
    }
    let sql = "SELECT fingerprint, response FROM idempotent_responses WHERE request = $1";
    let row = tx.row(sql, &[(&request).into()])?;
    let Some(mut row) = row else { return Ok(None) };
    if row.text()? != once.fingerprint {
        return Err(StoreError::KeyReused);
    }
    Ok(Some(from_json(&row.text()?)?))
}

/// Keeps an answer with the change it belongs to.
pub(crate) fn save_answer(
    tx: &mut ChangeTx<'_>,
    once: &IdempotencyKey,
    answer: &impl Serialize,
) -> Result<(), StoreError> {
    let answer = to_json(answer)?;
    tx.execute(
        "INSERT INTO idempotent_responses (request, fingerprint, response, at) VALUES ($1, $2, $3, $4)",
        &[(&hash_secret(once.request.as_bytes())).into(), (&once.fingerprint).into(), (&answer).into(), tx.now.into()],
    )?;
    Ok(())
}
