//! Ways to call git: directly, or below a supervisor inside the sandbox.

use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What a call of git printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitOutput {
    /// Its exit code.
    pub(crate) code: i32,
    /// Its standard output.
    pub(crate) text: String,
}

/// Something that calls git in a workspace.
pub(crate) trait GitCaller: Sync {
    /// Why a call failed.
    type Error: From<String> + Send;

    /// Calls git, which must exit with one of these codes.
    fn call(&self, arguments: &[&str], codes: &[i32]) -> impl Future<Output = Result<GitOutput, Self::Error>> + Send;

    /// Makes a commit with these arguments of `git commit-tree`, and returns its name.
    fn make_commit(&self, arguments: &[&str]) -> impl Future<Output = Result<String, Self::Error>> + Send;

    /// Calls git with a file of its own as the index, and returns what it printed.
    fn text_with_index(
        &self,
        index: &Path,
        arguments: &[&str],
    ) -> impl Future<Output = Result<String, Self::Error>> + Send;

    /// Calls git, and returns what it printed.
    fn text(&self, arguments: &[&str]) -> impl Future<Output = Result<String, Self::Error>> + Send {
        async move { Ok(self.call(arguments, &[0]).await?.text) }
    }

    /// Whether a call succeeds; `1` is the answer no.
    fn holds(&self, arguments: &[&str]) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        async move { Ok(self.call(arguments, &[0, 1]).await?.code == 0) }
    }
}

/// The result of a future that waits for nothing, as those over direct calls are.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}
