//! Threads for work that waits for files or programs, beside the few of the async runtime.

use std::pin::{Pin, pin};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// Does work that waits, on a thread of its own. A panic in it continues here.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down before the work began, and drops this future next.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Drives a future that waits for files between its awaits, on a thread of its own. It is dropped with this one.
pub(crate) async fn drive<F>(start: impl FnOnce() -> F + Send + 'static) -> F::Output
where
    F: Future<Output: Send + 'static>,
{
    let (caller, caller_gone) = oneshot::channel::<()>();
    let runtime = Handle::current();
    let finished = run(move || {
        let mut finished = None;
        let whole = async {
            tokio::select! {
                biased;
                _ = caller_gone => {}
                output = start() => finished = Some(output),
            }
        };
        wait_for_end(&runtime, pin!(whole));
        finished
    })
    .await;
    drop(caller);
    match finished {
        Some(output) => output,
        // Only this future holds the caller's end.
        None => std::future::pending().await,
    }
}

/// The runtime's loop is large, and compiled again for each type of future that it is given.
fn wait_for_end(runtime: &Handle, work: Pin<&mut dyn Future<Output = ()>>) {
    runtime.block_on(work);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn the_runtime_goes_on_while_a_future_waits() {
        let (heartbeat, beats) = mpsc::channel();
        let waits = drive(move || async move {
            let beat = beats.recv_timeout(Duration::from_mins(1));
            tokio::task::yield_now().await;
            beat
        });
        let (beat, ()) = runtime().block_on(async { tokio::join!(waits, async { heartbeat.send(()).unwrap() }) });
        assert_eq!(beat, Ok(()));
    }

    #[test]
    fn a_future_is_dropped_with_the_one_who_waits_for_it() {
        let (started, is_started) = oneshot::channel();
        let (held, dropped) = oneshot::channel::<()>();
        let waits = drive(move || async move {
            let _held = held;
            started.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        runtime().block_on(async {
            tokio::select! {
                () = waits => panic!("it never ends"),
                is_started = is_started => is_started.unwrap(),
            }
            dropped.await.unwrap_err();
        });
    }
}
