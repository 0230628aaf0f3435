//! The connection to one server: plain HTTP, kept open for the next request.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Uri, header};
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::error::{ClientError, ErrorCause};
use crate::transport::{HttpRequest, HttpResponse, SendFuture, Transport, boxed};

/// How long a server has to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server has to begin its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A server, and the connection to it while there is one.
#[derive(Debug)]
pub struct HttpConnection {
    url: String,
    host: String,
    port: u16,
    authority: String,
    /// A path that a proxy put before ours.
    prefix: String,
    connection: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

impl HttpConnection {
    /// The server at an address; nothing is sent yet.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        let bad = |why| ClientError::InvalidUrl { url: url.to_owned(), why };
        let uri: Uri = url.parse().map_err(|_| bad("not a URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(bad("only http:// is supported; use a tunnel or proxy on this machine for TLS"));
            }
            _ => return Err(bad("it must start with http://")),
        }
        let authority = uri.authority().ok_or_else(|| bad("missing host"))?;
        Ok(Self {
            url: url.to_owned(),
            host: authority.host().trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: authority.port_u16().unwrap_or(80),
            authority: authority.to_string(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            connection: Mutex::new(None),
        })
    }

    /// Where the server answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let unreachable = |cause: ErrorCause| ClientError::Unreachable { url: self.url.clone(), cause };
        let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect((self.host.as_str(), self.port))).await;
        let stream = stream.map_err(|late| unreachable(late.into()))?.map_err(|error| unreachable(error.into()))?;
        // Small requests should not wait for more.
        let _ = stream.set_nodelay(true);
        let (connection, driver) = handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(error.into()))?;
        tokio::spawn(driver);
        Ok(connection)
    }

    /// Sends a request; a connection that broke is not used again.
    async fn exchange(&self, mut request: HttpRequest) -> Result<HttpResponse, ClientError> {
        let broken = |cause: ErrorCause| ClientError::Broken {
            what: format!("lost the connection to {}", self.authority),
            cause,
        };
        let host = HeaderValue::from_str(&self.authority).map_err(|error| broken(error.into()))?;
        request.headers_mut().insert(header::HOST, host);
        if !self.prefix.is_empty() {
            let path = format!("{}{}", self.prefix, request.uri());
            *request.uri_mut() = path.parse().map_err(|error: http::uri::InvalidUri| broken(error.into()))?;
        }
        // A request that comes while another one's answer is not read to its end, as that of a live stream never is, opens
        // a connection of its own.
        let kept = self.connection.lock().await.take().filter(SendRequest::is_ready);
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        connection.ready().await.map_err(|error| broken(error.into()))?;
        let answered = timeout(ANSWER_TIMEOUT, connection.send_request(request)).await;
        let response = answered.map_err(|late| broken(late.into()))?.map_err(|error| broken(error.into()))?;
        *self.connection.lock().await = Some(connection);
        Ok(boxed(response))
    }
}

impl Transport for HttpConnection {
    fn send(&self, request: HttpRequest) -> SendFuture<'_> {
        Box::pin(self.exchange(request))
    }
}
