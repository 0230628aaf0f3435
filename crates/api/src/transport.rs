//! Ways by which requests reach the API: a connection to a server, or a router in this process.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Body;
use tower::{Service, ServiceExt as _};

use crate::error::{ClientError, ErrorCause};

/// A request as it is sent.
pub type HttpRequest = Request<Full<Bytes>>;

/// A response as it arrives.
pub type HttpResponse = Response<UnsyncBoxBody<Bytes, ErrorCause>>;

/// A request on its way.
pub type SendFuture<'t> = BoxFuture<'t, Result<HttpResponse, ClientError>>;

/// Carries requests to the API and the responses back.
pub trait Transport: Send + Sync {
    /// Sends a request; the transport names the host it goes to.
    fn send(&self, request: HttpRequest) -> SendFuture<'_>;

    /// Looks for a server that moved, after a request did not reach it.
    fn find_again(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A response with its body as every transport gives it.
pub(crate) fn boxed<B>(response: Response<B>) -> HttpResponse
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<ErrorCause>,
{
    response.map(|body| body.map_err(Into::into).boxed_unsync())
}

/// The router of the API in this process.
#[derive(Debug, Clone)]
pub struct RouterTransport<S>(pub S);

impl<S, B> Transport for RouterTransport<S>
where
    S: Service<HttpRequest, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<ErrorCause>,
{
    fn send(&self, mut request: HttpRequest) -> SendFuture<'_> {
        request.headers_mut().entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
        let router = self.0.clone();
        Box::pin(async move {
            let response = router.oneshot(request).await;
            Ok(boxed(response.unwrap_or_else(|never| match never {})))
        })
    }
}
