//! HTTP client for one server: one connection, plain HTTP, kept open for the next request.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, Uri};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::output::error::CommandError;

/// How long a server has to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a server has to begin its answer.
const LONGEST: Duration = Duration::from_mins(1);

/// A server, and the connection to it while there is one.
pub(crate) struct Remote {
    url: String,
    host: String,
    port: u16,
    authority: String,
    /// A path that a proxy put before ours.
    prefix: String,
    connection: Mutex<Option<SendRequest<Body>>>,
}

impl Remote {
    /// The server at an address; nothing is sent yet.
    pub(crate) fn new(url: &str) -> Result<Self, CommandError> {
        let bad = |why: &str| {
            CommandError::invalid(format!("`{url}` is not a server address: {why}"))
                .hint("use an address like http://127.0.0.1:3000")
        };
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

    /// Where it answers.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    async fn connect(&self) -> Result<SendRequest<Body>, CommandError> {
        let refused = |cause: &dyn std::error::Error| {
            CommandError::unreachable(format!("cannot connect to {}", self.url))
                .because(cause)
                .hint("run `maestro up`, or unset MAESTRO_API_URL and --server to work without a server")
        };
        let stream = timeout(PATIENCE, TcpStream::connect((self.host.as_str(), self.port))).await;
        let stream = stream.map_err(|late| refused(&late))?.map_err(|error| refused(&error))?;
        // Small requests should not wait for more.
        let _ = stream.set_nodelay(true);
        let (connection, driver) = handshake(TokioIo::new(stream)).await.map_err(|error| refused(&error))?;
        tokio::spawn(driver);
        Ok(connection)
    }

    /// Sends a request; a connection that broke is not used again.
    pub(crate) async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>, CommandError> {
        let broken = |error: &dyn std::error::Error| {
            CommandError::network(format!("lost the connection to {}", self.authority)).because(error)
        };
        if !self.prefix.is_empty() {
            let path = format!("{}{}", self.prefix, request.uri());
            *request.uri_mut() = path.parse().map_err(|error| broken(&error))?;
        }
        // Who asks while another one waits for an answer opens a connection of its own.
        let kept = self.connection.lock().await.take().filter(|connection| !connection.is_closed());
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        connection.ready().await.map_err(|error| broken(&error))?;
        let answered = timeout(LONGEST, connection.send_request(request)).await;
        let response = answered.map_err(|late| broken(&late))?.map_err(|error| broken(&error))?;
        *self.connection.lock().await = Some(connection);
        Ok(response.map(Body::new))
    }
}
