//! A client that reads answers as far as they come.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use maestro_test_model::Model;
use serde_json::Value;
use tokio::net::TcpStream;

/// An answer, and how it ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
    pub(crate) end: End,
}

#[derive(Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// As it should.
    Whole,
    /// The connection was cut.
    Cut,
    /// Nothing more came.
    Silence,
}

/// How long nothing comes where nothing more will come.
const SILENCE: Duration = Duration::from_secs(1);

pub(crate) async fn post(model: &Model, path: &str, body: &Value) -> Answer {
    send(&model.url(), "POST", path, body.to_string()).await
}

pub(crate) async fn get(model: &Model, path: &str) -> Answer {
    send(&model.url(), "GET", path, String::new()).await
}

pub(crate) async fn send(url: &str, method: &str, path: &str, body: String) -> Answer {
    let address = url.strip_prefix("http://").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::builder().method(method).uri(path).header("host", address);
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (status, kind, retry_after) =
        (response.status().as_u16(), header("content-type").unwrap_or_default(), header("retry-after"));
    let mut incoming = response.into_body();
    let mut bytes = Vec::new();
    let end = loop {
        match tokio::time::timeout(SILENCE, incoming.frame()).await {
            Err(_) => break End::Silence,
            Ok(None) => break End::Whole,
            Ok(Some(Err(_))) => break End::Cut,
            Ok(Some(Ok(frame))) => bytes.extend_from_slice(&frame.into_data().unwrap()),
        }
    };
    Answer { status, kind, retry_after, body: String::from_utf8(bytes).unwrap(), end }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The events of a stream: each name (empty where there is none) with its data, `[DONE]` left out.
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        assert_eq!((self.kind.as_str(), &self.end), ("text/event-stream", &End::Whole), "{}", self.body);
        let body = self.body.replace("\r\n", "\n");
        assert!(body.ends_with("\n\n"));
        let blocks = body.trim_end().split("\n\n").filter(|block| *block != "data: [DONE]");
        blocks
            .map(|block| {
                let (name, data) = block.split_once("data: ").unwrap();
                let name = name.trim().trim_start_matches("event: ");
                (name.to_owned(), serde_json::from_str(data).unwrap())
            })
            .collect()
    }
}
