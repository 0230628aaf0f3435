//! Tokens of programs that call over the network, and links by which a browser signs in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fields::{DeletedReply, EmptyBody, whole_number};
use crate::request::{ApiRequest, in_path};
use crate::schemas::{IdText, NonBlankText};

/// A token, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccessToken)]
pub struct AccessTokenBody {
    #[schema(value_type = IdText)]
    pub id: String,
    pub name: String,
    /// `client`, `browser` or `session`.
    pub kind: String,
    /// `read` or `write`.
    #[schema(value_type = AccessWord)]
    pub access: String,
    /// The only project it is for; null: all of them.
    #[schema(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    pub created_at: i64,
    pub expires_at: Option<i64>,
}

/// What a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum AccessWord {
    /// To read.
    Read,
    /// To read and to change.
    Write,
}

/// What a token is made of.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewAccessToken)]
pub struct AccessTokenRequest {
    /// What it is for.
    #[schema(value_type = NonBlankText)]
    pub name: Option<String>,
    /// The only project it is for.
    #[schema(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    /// `read` or `write`, which is the default.
    #[schema(value_type = Option<AccessWord>)]
    pub access: Option<String>,
    /// After how many days it ends.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 36500)]
    pub days: Option<i64>,
}

/// A new token with its secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccessTokenSecret)]
pub struct AccessTokenReply {
    /// The token.
    #[serde(flatten)]
    pub about: AccessTokenBody,
    /// Seen this once.
    pub token: String,
}

/// A link by which a browser signs in, once.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInLink {
    /// The link.
    pub url: String,
    /// Until when it works.
    pub expires_at: i64,
}

/// All tokens that have not ended, oldest first.
pub fn list() -> ApiRequest<Vec<AccessTokenBody>> {
    ApiRequest::get("/api/tokens")
}

/// Makes a token. Repeated, it would be another one.
pub fn create(token: &AccessTokenRequest) -> ApiRequest<AccessTokenReply> {
    ApiRequest::step("/api/tokens", token)
}

/// Revokes a token, or all tokens of a session.
pub fn revoke(id: &str) -> ApiRequest<DeletedReply> {
    ApiRequest::delete(format!("/api/tokens/{}", in_path(id)))
}

/// Makes a link by which a browser signs in.
pub fn sign_in_link() -> ApiRequest<SignInLink> {
    ApiRequest::step("/api/sign-in-links", &EmptyBody {})
}
