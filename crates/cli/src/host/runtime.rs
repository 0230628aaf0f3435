//! Waiting for asynchronous work in a command, with code that exists once for all kinds of work.

use std::pin::{Pin, pin};

use tokio::runtime::Runtime;

/// Waits for work on a runtime. The runtime's loop is large, and compiled again for each type of work that it is given.
pub(crate) fn wait<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    let (mut work, mut result) = (pin!(work), None);
    loop {
        wait_for_end(runtime, pin!(async { result = Some(work.as_mut().await) }));
        if let Some(result) = result {
            return result;
        }
    }
}

fn wait_for_end(runtime: &Runtime, work: Pin<&mut dyn Future<Output = ()>>) {
    runtime.block_on(work);
}
