//! The running server, as a test holds it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::script::Script;
use crate::serve;

/// A model server that runs until it is dropped; then its connections are cut, too.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Its own, so that ending it ends every answer that hangs, and that a test without a runtime can have one.
    runtime: Option<Runtime>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// Path and query.
    pub path: String,
    /// The body's bytes.
    pub body: Bytes,
    /// Which tag of the script answered it, if one did.
    pub tag: Option<String>,
    /// How many results of tools it held, counted from where the tag was last said.
    pub step: usize,
}

impl Request {
    /// The body as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Model {
    /// Starts a server on a free port.
    pub async fn start(script: Script) -> io::Result<Self> {
        let (runtime, shared) = prepare(script, None)?;
        let listening = runtime.spawn(listen(0, Arc::clone(&shared)));
        let address = listening.await.map_err(io::Error::other)??;
        Ok(Self { address, shared, runtime: Some(runtime) })
    }

    /// Starts a server on a free port, for tests that are not async.
    pub fn start_blocking(script: Script) -> io::Result<Self> {
        Self::start_on(0, script, None)
    }

    /// Starts a server on a port (0: a free one) that also writes each request to a file of its own in `record`.
    pub fn start_on(port: u16, script: Script, record: Option<PathBuf>) -> io::Result<Self> {
        let (runtime, shared) = prepare(script, record)?;
        let address = runtime.block_on(listen(port, Arc::clone(&shared)))?;
        Ok(Self { address, shared, runtime: Some(runtime) })
    }

    /// Where it is, without a slash at the end. Anthropic's and Gemini's clients take it as it is, OpenAI's with `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request to a model so far, in the order they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests().clone()
    }

    /// Says something else from now on.
    pub fn set_script(&self, script: Script) {
        *self.shared.script() = script;
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What the connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    record: Option<PathBuf>,
}

impl Shared {
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request; says its number.
    pub(crate) fn keep(&self, request: Request) -> usize {
        let mut requests = self.requests();
        if let Some(directory) = &self.record {
            // A test that reads the file will tell that it is missing.
            let _ = std::fs::write(directory.join(format!("{:04}.json", requests.len())), &request.body);
        }
        requests.push(request);
        requests.len() - 1
    }
}

fn prepare(script: Script, record: Option<PathBuf>) -> io::Result<(Runtime, Arc<Shared>)> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    Ok((runtime, Arc::new(Shared { script: Mutex::new(script), requests: Mutex::default(), record })))
}

async fn listen(port: u16, shared: Arc<Shared>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, serve::router(shared)).await });
    Ok(address)
}
