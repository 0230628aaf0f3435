//! The connection to one server: plain HTTP over TCP or a Unix socket, kept open for the next request.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Uri, header};
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::error::{ClientError, ErrorCause};
use crate::socket_path::ShortPath;
use crate::transport::{HttpRequest, HttpResponse, SendFuture, Transport, boxed};

/// How long a server has to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server has to begin its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A server, and the connection to it while there is one.
#[derive(Debug)]
pub struct HttpConnection {
    url: String,
    address: ServerAddress,
    authority: String,
    /// A path that a proxy put before ours.
    prefix: String,
    connection: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

/// Where a server is reached.
#[derive(Debug, Clone)]
enum ServerAddress {
    Tcp { host: String, port: u16 },
    Socket(PathBuf),
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
            address: ServerAddress::Tcp {
                host: authority.host().trim_start_matches('[').trim_end_matches(']').to_owned(),
                port: authority.port_u16().unwrap_or(80),
            },
            authority: authority.to_string(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            connection: Mutex::new(None),
        })
    }

    /// The server with this address, reached over its socket on this machine.
    pub fn over_socket(url: &str, socket: &Path) -> Self {
        Self {
            url: url.to_owned(),
            address: ServerAddress::Socket(socket.to_owned()),
            authority: "localhost".to_owned(),
            prefix: String::new(),
            connection: Mutex::new(None),
        }
    }

    /// A way to the same server that shares nothing with this one.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            url: self.url.clone(),
            address: self.address.clone(),
            authority: self.authority.clone(),
            prefix: self.prefix.clone(),
            connection: Mutex::new(None),
        }
    }

    /// The socket that it goes over, if it is one.
    pub fn socket(&self) -> Option<&Path> {
        match &self.address {
            ServerAddress::Socket(path) => Some(path),
            ServerAddress::Tcp { .. } => None,
        }
    }

    /// Where the server answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A new connection that takes a request; until then nothing is sent.
    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let unreachable = |cause: ErrorCause| ClientError::Unreachable { url: self.url.clone(), cause };
        match &self.address {
            ServerAddress::Tcp { host, port } => {
                let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect((host.as_str(), *port))).await;
                let stream = stream.map_err(|late| unreachable(late.into()))?;
                let stream = stream.map_err(|error| unreachable(error.into()))?;
                // Small requests should not wait for more.
                let _ = stream.set_nodelay(true);
                self.open(stream).await
            }
            ServerAddress::Socket(path) => {
                let path = ShortPath::of(path).map_err(|error| unreachable(error.into()))?;
                let stream = timeout(CONNECT_TIMEOUT, UnixStream::connect(path.as_path())).await;
                let stream = stream.map_err(|late| unreachable(late.into()))?;
                self.open(stream.map_err(|error| unreachable(error.into()))?).await
            }
        }
    }

    /// The protocol on a stream that was just connected.
    async fn open(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let unreachable = |cause: ErrorCause| ClientError::Unreachable { url: self.url.clone(), cause };
        let (mut connection, driver) =
            handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(error.into()))?;
        tokio::spawn(async {
            if let Err(error) = driver.await {
                tracing::debug!("a connection to the server broke: {error}");
            }
        });
        let ready = timeout(CONNECT_TIMEOUT, connection.ready()).await;
        ready.map_err(|late| unreachable(late.into()))?.map_err(|error| unreachable(error.into()))?;
        Ok(connection)
    }

    /// Sends a request; a connection that broke is not used again.
    async fn exchange(&self, mut request: HttpRequest) -> Result<HttpResponse, ClientError> {
        let host = HeaderValue::from_str(&self.authority).map_err(|error| self.broken(error.into()))?;
        request.headers_mut().insert(header::HOST, host);
        if !self.prefix.is_empty() {
            let path = format!("{}{}", self.prefix, request.uri());
            *request.uri_mut() = path.parse().map_err(|error: http::uri::InvalidUri| self.broken(error.into()))?;
        }
        // A request that comes while another one's answer is not read to its end, as that of a live stream never is, opens
        // a connection of its own.
        let kept = self.connection.lock().await.take().filter(SendRequest::is_ready);
        let unsent = match kept {
            Some(connection) => match self.send_on(connection, request).await {
                Err(SendFailure::NotSent(request)) => {
                    tracing::debug!(url = self.url, "the server closed the connection; opening another");
                    *request
                }
                Err(SendFailure::Broken(error)) => return Err(error),
                Ok(response) => return Ok(response),
            },
            None => request,
        };
        match self.send_on(self.connect().await?, unsent).await {
            Err(SendFailure::NotSent(_)) => Err(ClientError::Unreachable {
                url: self.url.clone(),
                cause: "the server closed the connection".into(),
            }),
            Err(SendFailure::Broken(error)) => Err(error),
            Ok(response) => Ok(response),
        }
    }

    /// Sends a request on a connection, and keeps the connection once the answer arrives.
    async fn send_on(
        &self,
        mut connection: SendRequest<Full<Bytes>>,
        request: HttpRequest,
    ) -> Result<HttpResponse, SendFailure> {
        let answered = timeout(ANSWER_TIMEOUT, connection.try_send_request(request)).await;
        let answered = answered.map_err(|late| SendFailure::Broken(self.broken(late.into())))?;
        let response = answered.map_err(|mut error| match error.take_message() {
            Some(request) => SendFailure::NotSent(Box::new(request)),
            None => SendFailure::Broken(self.broken(error.into_error().into())),
        })?;
        *self.connection.lock().await = Some(connection);
        Ok(boxed(response))
    }

    fn broken(&self, cause: ErrorCause) -> ClientError {
        ClientError::Broken { what: format!("lost the connection to {}", self.authority), cause }
    }
}

/// Why a connection gave no answer to a request.
enum SendFailure {
    /// It was closed before any of the request was sent, so the request can go out on another one.
    NotSent(Box<HttpRequest>),
    /// It broke when the server may have received the request.
    Broken(ClientError),
}

impl Transport for HttpConnection {
    fn send(&self, request: HttpRequest) -> SendFuture<'_> {
        Box::pin(self.exchange(request))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http_body_util::BodyExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Long enough for a busy machine; only a failing test takes as long.
    const PATIENCE: Duration = Duration::from_secs(30);

    const STREAM: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n";
    const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nanswer";

    /// Answers each request on a connection: `/stream` with a body that never ends, anything else at once.
    async fn answer_requests(mut stream: TcpStream) {
        let mut received = Vec::new();
        while stream.read_buf(&mut received).await.is_ok_and(|read| read > 0) {
            if received.ends_with(b"\r\n\r\n") {
                let answer = if received.starts_with(b"GET /stream ") { STREAM } else { ANSWER };
                stream.write_all(answer.as_bytes()).await.unwrap();
                received.clear();
            }
        }
    }

    async fn serve() -> HttpConnection {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer_requests(stream));
            }
        });
        HttpConnection::new(&url).unwrap()
    }

    async fn get(connection: &HttpConnection, path: &str) -> HttpResponse {
        let request = HttpRequest::new(Full::default());
        let (mut parts, body) = request.into_parts();
        parts.uri = path.parse().unwrap();
        let answered = timeout(PATIENCE, connection.send(HttpRequest::from_parts(parts, body))).await;
        answered.expect("an answer in time").unwrap()
    }

    #[tokio::test]
    async fn a_stream_that_never_ends_holds_up_no_other_request() {
        let connection = serve().await;
        let mut stream = get(&connection, "/stream").await.into_body();
        let first = timeout(PATIENCE, stream.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "first");
        for _ in 0..3 {
            let answer = timeout(PATIENCE, get(&connection, "/other").await.into_body().collect()).await;
            assert_eq!(answer.unwrap().unwrap().to_bytes(), "answer");
        }
        drop(stream);
    }
}
