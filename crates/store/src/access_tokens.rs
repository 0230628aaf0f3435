//! Tokens of programs and browsers that call over the network. Only their hashes are stored.

use maestro_core::id::{AccessTokenId, EntityId as _, ProjectId};
use serde::{Deserialize, Serialize};

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::projects;
use crate::secret_hash::hash_secret;
use crate::tokens::make_secret;
use crate::tx::{self, ChangeTx};
use crate::value::SqlRow;

/// What a token is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    /// A program.
    Client,
    /// The cookie of a browser.
    Browser,
}

impl TokenKind {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Browser => "browser",
        }
    }
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenAccess {
    /// Reading.
    Read,
    /// Reading and changing.
    Write,
}

impl TokenAccess {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl std::str::FromStr for TokenAccess {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            _ => Err("must be read or write"),
        }
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessToken {
    /// Which.
    pub id: AccessTokenId,
    /// What it is for, in a person's words.
    pub name: String,
    /// What it is kept in.
    pub kind: TokenKind,
    /// What it allows.
    pub access: TokenAccess,
    /// The only project it is for; without one, all of them.
    pub project: Option<ProjectId>,
    /// When it was made.
    pub created_at: i64,
    /// When it ends by itself.
    pub expires_at: Option<i64>,
}

const SELECT: &str = "SELECT id, name, kind, access, project_id, created_at, expires_at FROM access_tokens";

fn access_token(row: &mut SqlRow) -> Result<AccessToken, StoreError> {
    Ok(AccessToken {
        id: row.parsed()?,
        name: row.text()?,
        kind: match row.text()?.as_str() {
            "browser" => TokenKind::Browser,
            _ => TokenKind::Client,
        },
        // A word of a later program grants no more than this one knows.
        access: row.text()?.parse().unwrap_or(TokenAccess::Read),
        project: row.maybe_parsed()?,
        created_at: row.int()?,
        expires_at: row.maybe_int()?,
    })
}

/// A new token with its secret, which is seen this once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewAccessToken {
    /// The token.
    pub token: AccessToken,
    /// Its secret.
    pub secret: String,
}

/// Makes a token.
#[derive(Debug, Clone)]
pub struct CreateAccessToken {
    /// What it is for.
    pub name: String,
    /// What it is kept in.
    pub kind: TokenKind,
    /// What it allows.
    pub access: TokenAccess,
    /// The only project it is for.
    pub project: Option<ProjectId>,
    /// For how many milliseconds it is valid.
    pub lifetime: Option<i64>,
}

impl Change for CreateAccessToken {
    type Output = NewAccessToken;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<NewAccessToken, StoreError> {
        if let Some(project) = &self.project {
            projects::by_id(tx, project)?;
        }
        let (now, secret) = (tx.now, make_secret("mat_")?);
        let token = AccessToken {
            id: AccessTokenId::make(now, tx::random()?),
            name: self.name.clone(),
            kind: self.kind,
            access: self.access,
            project: self.project.clone(),
            created_at: now,
            expires_at: self.lifetime.map(|lifetime| now.saturating_add(lifetime)),
        };
        // Those that ended are of no use to anyone.
        tx.execute("DELETE FROM access_tokens WHERE expires_at <= $1", &[now.into()])?;
        tx.execute(
            "INSERT INTO access_tokens (id, name, kind, access, project_id, hash, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                (&token.id).into(),
                (&token.name).into(),
                token.kind.as_str().into(),
                token.access.as_str().into(),
                token.project.as_ref().into(),
                (&hash_secret(secret.as_bytes())).into(),
                now.into(),
                token.expires_at.into(),
            ],
        )?;
        Ok(NewAccessToken { token, secret })
    }
}

/// Revokes a token.
#[derive(Debug, Clone)]
pub struct RevokeAccessToken {
    /// Which.
    pub id: AccessTokenId,
}

impl Change for RevokeAccessToken {
    type Output = ();

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        match tx.execute("DELETE FROM access_tokens WHERE id = $1", &[(&self.id).into()])? {
            0 => Err(StoreError::not_found(RecordKind::Token, self.id.as_str())),
            _ => Ok(()),
        }
    }
}

/// The token with this hash, if it has not ended.
#[derive(Debug, Clone)]
pub struct TokenByHash {
    /// The hash of its secret.
    pub hash: String,
    /// The current time.
    pub now: i64,
}

impl Query for TokenByHash {
    type Output = Option<AccessToken>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<AccessToken>, StoreError> {
        let sql = format!("{SELECT} WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2)");
        db.row(&sql, &[(&self.hash).into(), self.now.into()])?.as_mut().map(access_token).transpose()
    }
}

/// All tokens that have not ended, oldest first.
#[derive(Debug, Clone)]
pub struct AccessTokenList {
    /// The current time.
    pub now: i64,
}

impl Query for AccessTokenList {
    type Output = Vec<AccessToken>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<AccessToken>, StoreError> {
        let sql = format!("{SELECT} WHERE expires_at IS NULL OR expires_at > $1 ORDER BY ord");
        db.rows(&sql, &[self.now.into()])?.iter_mut().map(access_token).collect()
    }
}
