//! The client of the API: sends requests by a transport, repeats them where that is safe, and reads the answers.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Extensions, Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::error::{ClientError, ErrorBody};
use crate::request::{ApiRequest, RepeatPolicy};
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

/// The bytes of an answer, and where the list goes on.
struct RawAnswer {
    bytes: Bytes,
    next: Option<String>,
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
        let answer = self.ask(&request.method, &request.path, request.body, request.repeat).await?;
        read(&request.path, &answer.bytes)
    }

    /// Sends a request; its answer as it came, and what it says.
    pub async fn call_raw<T: DeserializeOwned>(&self, request: ApiRequest<T>) -> Result<ReceivedReply<T>, ClientError> {
        let answer = self.ask(&request.method, &request.path, request.body, request.repeat).await?;
        let raw: Json = read(&request.path, &answer.bytes)?;
        Ok(ReceivedReply { value: read(&request.path, &answer.bytes)?, raw })
    }

    /// Asks for a whole list, however many parts it comes in.
    pub async fn list<T: DeserializeOwned>(&self, request: ApiRequest<Vec<T>>) -> Result<Vec<T>, ClientError> {
        let mut items = Vec::new();
        let mut path = request.path.clone();
        loop {
            let answer = self.ask(&request.method, &path, request.body.clone(), RepeatPolicy::Safe).await?;
            items.append(&mut read::<Vec<T>>(&path, &answer.bytes)?);
            let Some(next) = answer.next else { return Ok(items) };
            let mark = if request.path.contains('?') { '&' } else { '?' };
            path = format!("{}{mark}cursor={next}", request.path);
        }
    }

    /// Asks for a whole list; its items as they came, and what they say.
    pub async fn list_raw<T: DeserializeOwned>(
        &self,
        request: ApiRequest<Vec<T>>,
    ) -> Result<ReceivedReply<Vec<T>>, ClientError> {
        let path = request.path.clone();
        let items: Vec<Json> = self.list(request.read_as::<Vec<Json>>()).await?;
        let value = items.iter().map(T::deserialize).collect::<Result<_, _>>();
        let value = value.map_err(|error| ClientError::Unreadable { path, cause: error.to_string() })?;
        Ok(ReceivedReply { raw: Json::Array(items), value })
    }

    /// Opens a live stream.
    pub async fn open_stream<T>(&self, request: ApiRequest<T>) -> Result<LiveStream, ClientError> {
        let body = request.body.transpose().map_err(|cause| unsendable(&request.path, cause))?;
        let mut http = self.request(&request.method, &request.path, body.as_deref())?;
        http.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        Ok(LiveStream::new(succeeded(self.transport.send(http).await?).await?.into_body()))
    }

    /// Asks, and asks again as long as that is safe and there is hope.
    async fn ask(
        &self,
        method: &Method,
        path: &str,
        body: Option<Result<String, String>>,
        repeat: RepeatPolicy,
    ) -> Result<RawAnswer, ClientError> {
        let body = body.transpose().map_err(|cause| unsendable(path, cause))?;
        let key = match &repeat {
            RepeatPolicy::ByKey(Some(key)) => Some(key.clone()),
            RepeatPolicy::ByKey(None) => Some(uuid::Uuid::now_v7().to_string()),
            RepeatPolicy::Safe | RepeatPolicy::Never => None,
        };
        let mut pauses = self.retry.pauses();
        loop {
            let mut request = self.request(method, path, body.as_deref())?;
            if let Some(key) = &key {
                let key = HeaderValue::from_str(key).map_err(|error| unsendable(path, error.to_string()))?;
                request.headers_mut().insert("idempotency-key", key);
            }
            let failed = match self.answer(request).await {
                Ok(answer) => return Ok(answer),
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

    async fn answer(&self, request: HttpRequest) -> Result<RawAnswer, ClientError> {
        let response = succeeded(self.transport.send(request).await?).await?;
        let next = response.headers().get(NEXT_CURSOR).and_then(|next| next.to_str().ok()).map(str::to_owned);
        Ok(RawAnswer { bytes: collect(response).await?, next })
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

fn read<T: DeserializeOwned>(path: &str, answer: &[u8]) -> Result<T, ClientError> {
    let text: &[u8] = if answer.is_empty() { b"null" } else { answer };
    serde_json::from_slice(text)
        .map_err(|error| ClientError::Unreadable { path: path.to_owned(), cause: error.to_string() })
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
