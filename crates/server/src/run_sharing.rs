//! Copies of runs for others. The page renders them and the API hands them out; neither knows the other.

use std::pin::Pin;

use maestro_core::RunId;

use crate::app::AppState;
use crate::error::ApiError;

/// A copy of a run: the name of its file, and its text.
pub(crate) type SharedCopy = Pin<Box<dyn Future<Output = Result<(String, String), ApiError>> + Send>>;

/// How a copy is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSharer(pub(crate) fn(AppState, RunId) -> SharedCopy);
