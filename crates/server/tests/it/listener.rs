//! A server that really listens, and the little that tests need to talk to it.

use std::net::SocketAddr;

use maestro_server::{ConnectionLimits, ServerListeners, serve};
use serde_json::Value as Json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::world::Api;

/// A server that listens on loopback.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
}

impl Listening {
    pub(crate) async fn start(api: &Api) -> Self {
        Self::with(api, ConnectionLimits::default()).await
    }

    /// One whose connections may take only this.
    pub(crate) async fn with(api: &Api, limits: ConnectionLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let app = api.app.clone();
        let served = tokio::spawn(async move {
            let listeners = ServerListeners { network: vec![listener], limits, ..ServerListeners::default() };
            serve(listeners, app, None, async {
                let _ = ended.await;
            })
            .await;
        });
        Self { address, end: Some(end), served: Some(served) }
    }

    /// Tells the server to end, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        drop(self.end.take());
        if let Some(served) = self.served.take() {
            served.await.unwrap();
        }
    }

    /// Watches `/api/events` with this query and these header lines.
    pub(crate) async fn watch(&self, query: &str, headers: &str) -> Watcher {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!(
            "GET /api/events{query} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n{headers}\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut watcher = Watcher { reader: BufReader::new(stream) };
        // The first words come when the watcher has been let in.
        while watcher.line().await.unwrap() != "retry: 1000" {}
        watcher
    }

    /// Sends bytes and reads all that comes back.
    pub(crate) async fn raw(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

/// Somebody who watches the log.
pub(crate) struct Watcher {
    reader: BufReader<TcpStream>,
}

impl Watcher {
    /// The next line; nothing when the stream has ended.
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = tokio::time::timeout(std::time::Duration::from_secs(20), self.reader.read_line(&mut line));
        match read.await.unwrap() {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    /// The next event; nothing when the stream has ended.
    pub(crate) async fn event(&mut self) -> Option<Json> {
        let mut id = String::new();
        loop {
            let line = self.line().await?;
            if let Some(text) = line.strip_prefix("id: ") {
                text.clone_into(&mut id);
            } else if let Some(text) = line.strip_prefix("data: ") {
                let event: Json = serde_json::from_str(text).unwrap();
                assert_eq!(event["seq"].to_string(), id);
                return Some(event);
            }
        }
    }

    /// The next event, which must come without anybody doing anything.
    pub(crate) async fn soon(&mut self) -> Json {
        let event = tokio::time::timeout(std::time::Duration::from_secs(20), self.event());
        event.await.unwrap_or_else(|_| panic!("nothing happened")).unwrap()
    }

    /// The kinds of the next events.
    pub(crate) async fn kinds(&mut self, count: usize) -> Vec<String> {
        let mut kinds = Vec::new();
        for _ in 0..count {
            kinds.push(self.event().await.unwrap()["type"].as_str().unwrap().to_owned());
        }
        kinds
    }
}
