//! The client of the API: sends requests by a transport, repeats them where that is safe, and reads the answers.

use std::error::Error;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Extensions, Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::error::{ClientError, ErrorBody};
use crate::request::{ApiRequest, RepeatPolicy, UntypedRequest};
use crate::retry::RetryPolicy;
use crate::stream::LiveStream;
use crate::transport::{HttpRequest, HttpResponse, Transport};

/// How much of a response is read.
const LARGEST: usize = 256 * 1024 * 1024;

/// The header with the cursor of the next part of a list.
const NEXT_CURSOR: HeaderName = HeaderName::from_static("maestro-next-cursor");

/// A way to the API, and who uses it. A clone is as cheap as it looks.
#[derive(Clone)]
pub struct ApiClient {
    transport: Arc<dyn Transport>,
    /// What every request says of who asks.
    headers: HeaderMap,
    /// The caller, for a router in this process.
    extensions: Extensions,
    retry: RetryPolicy,
}

/// An answer as it came, and what it says.
#[derive(Debug, Clone)]
pub struct ReceivedReply<T> {
    /// As it came, with everything that only a newer server knows.
    pub raw: Json,
    /// What it says.
    pub value: T,
}

/// An answer that was not read yet.
#[derive(Debug, Clone)]
pub struct UnreadAnswer {
    path: String,
    bytes: Bytes,
    /// Where the list goes on.
    next: Option<String>,
}

impl UnreadAnswer {
    /// What it says.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_str(self.text()?).map_err(|error| self.unreadable(&error))
    }

    fn text(&self) -> Result<&str, ClientError> {
        let text: &[u8] = if self.bytes.is_empty() { b"null" } else { &self.bytes };
        str::from_utf8(text).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, cause: &dyn Error) -> ClientError {
        ClientError::Unreadable { path: self.path.clone(), cause: cause.to_string() }
    }

    /// The answer as it came, and what it says.
    pub fn read_raw<T: DeserializeOwned>(&self) -> Result<ReceivedReply<T>, ClientError> {
        let raw = self.read()?;
        Ok(ReceivedReply { value: self.read()?, raw })
    }
}

impl ApiClient {
    /// A client that speaks for the local user.
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, headers: HeaderMap::new(), extensions: Extensions::new(), retry: RetryPolicy::NONE }
    }

    /// The same client, sending these headers with every request.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers.extend(headers);
        self
    }

    /// The same client, telling a router in this process this of every request.
    #[must_use]
    pub fn with_extension<E: Clone + Send + Sync + 'static>(mut self, extension: E) -> Self {
        self.extensions.insert(extension);
        self
    }

    /// The same client, repeating requests that got no answer.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sends a request and reads its answer.
    pub async fn call<T: DeserializeOwned>(&self, request: ApiRequest<T>) -> Result<T, ClientError> {
        self.ask(request.into_untyped()).await?.read()
    }

    /// Asks for a whole list, however many parts it comes in.
    pub async fn list<T: DeserializeOwned + Send>(&self, request: ApiRequest<Vec<T>>) -> Result<Vec<T>, ClientError> {
        let mut items = Vec::new();
        let mut add = |part: UnreadAnswer| {
            items.append(&mut part.read::<Vec<T>>()?);
            Ok(())
        };
        self.ask_for_parts(request.into_untyped(), &mut add).await?;
        Ok(items)
    }

    /// Asks for a whole list, and passes on each part that it comes in.
    pub async fn ask_for_parts(
        &self,
        mut request: UntypedRequest,
        add: &mut (dyn FnMut(UnreadAnswer) -> Result<(), ClientError> + Send),
    ) -> Result<(), ClientError> {
        request.repeat = RepeatPolicy::Safe;
        let whole = request.path.clone();
        let mark = if whole.contains('?') { '&' } else { '?' };
        loop {
            let mut answer = self.ask(request.clone()).await?;
            let next = answer.next.take();
            add(answer)?;
            let Some(next) = next else { return Ok(()) };
            request.path = format!("{whole}{mark}cursor={next}");
        }
    }

    /// Opens a live stream.
    pub async fn open_stream(&self, request: UntypedRequest) -> Result<LiveStream, ClientError> {
        let body = request.body.transpose().map_err(|cause| unsendable(&request.path, cause))?;
        let mut http = self.request(&request.method, &request.path, body.as_deref())?;
        http.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        Ok(LiveStream::new(succeeded(self.transport.send(http).await?).await?.into_body()))
    }

    /// Sends a request, and sends it again as long as that is safe and there is hope.
    pub async fn ask(&self, request: UntypedRequest) -> Result<UnreadAnswer, ClientError> {
        let UntypedRequest { method, path, body, repeat } = request;
        let body = body.transpose().map_err(|cause| unsendable(&path, cause))?;
        let key = match &repeat {
            RepeatPolicy::ByKey(Some(key)) => Some(key.clone()),
            RepeatPolicy::ByKey(None) => Some(uuid::Uuid::now_v7().to_string()),
            RepeatPolicy::Safe | RepeatPolicy::Never => None,
        };
        let mut pauses = self.retry.pauses();
        loop {
            let mut request = self.request(&method, &path, body.as_deref())?;
            if let Some(key) = &key {
                let key = HeaderValue::from_str(key).map_err(|error| unsendable(&path, error.to_string()))?;
                request.headers_mut().insert("idempotency-key", key);
            }
            let failed = match self.answer(request).await {
                Ok((bytes, next)) => return Ok(UnreadAnswer { path, bytes, next }),
                Err(failed) => failed,
            };
            if failed.was_not_sent() {
                self.transport.find_again().await;
            }
            let safe = repeat != RepeatPolicy::Never || failed.was_not_sent();
            match pauses.next().filter(|_| failed.is_transient() && safe) {
                Some(pause) => {
                    tracing::info!(%method, path, "sent again in {} ms: {failed}", pause.as_millis());
                    tokio::time::sleep(pause).await;
                }
                None => return Err(failed),
            }
        }
    }

    /// The bytes of an answer, and where its list goes on.
    async fn answer(&self, request: HttpRequest) -> Result<(Bytes, Option<String>), ClientError> {
        let response = succeeded(self.transport.send(request).await?).await?;
        let next = response.headers().get(NEXT_CURSOR).and_then(|next| next.to_str().ok()).map(str::to_owned);
        Ok((collect(response).await?, next))
    }

    fn request(&self, method: &Method, path: &str, body: Option<&str>) -> Result<HttpRequest, ClientError> {
        let mut request = Request::builder().method(method).uri(path);
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map_or_else(Full::default, |body| Full::from(body.to_owned()));
        let mut request = request.body(body).map_err(|error| unsendable(path, error.to_string()))?;
        request.headers_mut().extend(self.headers.clone());
        request.extensions_mut().extend(self.extensions.clone());
        Ok(request)
    }
}

fn unsendable(path: &str, cause: String) -> ClientError {
    ClientError::Unsendable { path: path.to_owned(), cause }
}

async fn collect(response: HttpResponse) -> Result<Bytes, ClientError> {
    let broken = |cause| ClientError::Broken { what: "the response ended early".to_owned(), cause };
    let (mut body, mut bytes) = (response.into_body(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(broken)?;
        bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        if bytes.len() > LARGEST {
            return Err(broken("it is larger than 256 MiB".into()));
        }
    }
    Ok(bytes.freeze())
}

/// Turns a refusal of the API into an error.
async fn succeeded(response: HttpResponse) -> Result<HttpResponse, ClientError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    // A proxy may answer in words of its own.
    let refusal: Option<ErrorBody> = serde_json::from_slice(&collect(response).await?).ok();
    Err(match refusal {
        Some(body) => {
            ClientError::Refused { status, code: body.code, message: body.message, details: body.details.map(Box::new) }
        }
        None => ClientError::Refused {
            status,
            code: String::new(),
            message: format!("the server answered {status}"),
            details: None,
        },
    })
}
