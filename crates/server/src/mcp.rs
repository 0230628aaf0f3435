//! MCP server: one handler for stdio and HTTP, for every revision of the protocol that its crate supports.

mod address;
mod answer_page;
mod client;
mod client_log;
mod directory;
mod file_content;
mod http;
mod known_content;
mod linked_files;
mod prompts;
mod questions;
mod resources;
mod runs;
mod skill_index;
mod skill_tools;
mod skills;
mod tools;
mod watches;
mod worker;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use maestro_core::excerpt::{ellipsize, one_line};
use maestro_core::hidden_chars::escape_hidden;
use maestro_engine::Host;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ExtensionCapabilities, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, json};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use self::client::{ReconnectingClient, ToolCaller};
use self::client_log::ClientLog;
use self::directory::WorkDirectory;
use self::questions::StateSeal;
use self::resources::SkillLookup;
use self::skill_index::SkillIndex;
use self::tools::ToolFrame;
use self::watches::WatchedResources;
use self::worker::ReportMemory;
use crate::skill_changes::SkillChanges;

pub use self::client::{Connect, Connection};
pub use self::directory::{McpPlace, OpenFolders};
pub(crate) use self::http::route;
pub(crate) use self::runs::directive_text;

/// How many milliseconds a list counts as fresh. A client that does not listen for changes sees a new skill that soon.
const FRESH_MS: u64 = 5_000;
/// The longest message.
const LINE: usize = 4 * 1024 * 1024;
/// How long open requests may take after the client closed its input. Some clients wait two seconds.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often the server checks whether a subscribed client is still connected.
const STILL_THERE: Duration = Duration::from_mins(1);
/// The instructions for a client's model. Some clients show the first five hundred characters only.
const INSTRUCTIONS: &str = "Maestro has skills (how work is done here) and workflows (steps that it keeps track of). When a task \
starts, call `find_skills` with it, and read what fits with `use_skill` first. To run a workflow call `run_start` \
or its own tool, do what it says, report with `run_report`, and go on until it is finished.";
/// The same for a session that works on a task.
const WORKER_INSTRUCTIONS: &str = "You work on a task of Maestro's: call `get_task_info` first, `report_progress` as you go, and \
`signal_completion` or `signal_blocker` at the end. Each answer says what changed meanwhile.";

/// The dependencies of a handler.
pub struct McpOptions {
    /// Connects to the API.
    pub connect: Connect,
    /// The program around the handler.
    pub host: Arc<dyn Host>,
    /// Signals changed skills.
    pub changes: SkillChanges,
    /// Where it works.
    pub place: McpPlace,
    /// The caller's session, where the connection does not say.
    pub session: Option<String>,
    /// The caller's task, where nothing else says.
    pub task: Option<String>,
    /// The version of Maestro.
    pub version: String,
}

/// Answers a client; cheap to clone.
#[derive(Clone)]
pub(crate) struct McpHandler {
    parts: Arc<McpParts>,
    link: Arc<ClientLink>,
}

/// The state of one client, while it is connected.
#[derive(Default)]
struct ClientLink {
    /// Whether it has shown that no person sees its forms.
    unseen: AtomicBool,
    /// Whether it receives notifications of changes.
    notified: AtomicBool,
    watched: WatchedResources,
    log: ClientLog,
}

struct McpParts {
    api: ReconnectingClient,
    skills: SkillIndex,
    directory: Arc<WorkDirectory>,
    changes: SkillChanges,
    session: Option<String>,
    task: Option<String>,
    seal: StateSeal,
    reports: ReportMemory,
    version: String,
    /// Becomes true when the server stops, or the client at the other end of a pipe disconnects.
    closing: watch::Receiver<bool>,
}

/// Answers the client on standard input and output until it disconnects. Nothing else may be printed meanwhile.
pub async fn serve_stdio(options: McpOptions) -> io::Result<()> {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let (ended, mut closing) = watch::channel(false);
    let input = EofInput { input, ended };
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LINE);
    match Box::pin(McpHandler::new(options, closing.clone()).serve(transport)).await {
        Ok(service) => tokio::select! {
            over = service.waiting() => over.map(drop).map_err(io::Error::other),
            // Requests that can be answered at once still are.
            () = async { let _ = closing.wait_for(|closing| *closing).await; tokio::time::sleep(LAST_WORDS).await } => Ok(()),
        },
        // A client that disconnects before its first message is not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

/// Standard input that signals its end.
struct EofInput<R> {
    input: R,
    ended: watch::Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for EofInput<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
        let read = ready!(Pin::new(&mut self.input).poll_read(cx, buffer));
        if read.is_err() || (room > 0 && buffer.remaining() == room) {
            self.ended.send_replace(true);
        }
        Poll::Ready(read)
    }
}

impl McpHandler {
    pub(crate) fn new(options: McpOptions, closing: watch::Receiver<bool>) -> Self {
        let directory = Arc::new(WorkDirectory::new(options.place));
        let parts = McpParts {
            api: ReconnectingClient::new(options.connect, Arc::clone(&directory)),
            skills: SkillIndex::new(options.host, Arc::clone(&directory)),
            directory,
            changes: options.changes,
            session: options.session,
            task: options.task,
            seal: StateSeal::default(),
            reports: ReportMemory::default(),
            version: options.version,
            closing,
        };
        Self { parts: Arc::new(parts), link: Arc::default() }
    }

    /// The same handler for another client, without state.
    fn for_client(&self) -> Self {
        Self { parts: Arc::clone(&self.parts), link: Arc::default() }
    }

    /// Waits for the end; forever where no sender is left.
    async fn wait_closing(&self) {
        if self.parts.closing.clone().wait_for(|closing| *closing).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn api(&self) -> &ReconnectingClient {
        &self.parts.api
    }

    fn skills(&self) -> &SkillIndex {
        &self.parts.skills
    }

    /// Whether a caller works on a task. Others can call a worker's tools with one, but are not shown them.
    fn has_task(&self, who: &ToolCaller) -> bool {
        who.session().is_some() || self.parts.session.is_some() || self.parts.task.is_some()
    }

    /// What a model reads first; a warning comes before everything else.
    fn instructions(&self, names_folders: bool) -> String {
        let warning = self.parts.directory.first_warning(names_folders);
        let worker = (self.parts.session.is_some() || self.parts.task.is_some()).then_some(WORKER_INSTRUCTIONS);
        let parts = [warning.as_deref(), worker, Some(INSTRUCTIONS)];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }
}

/// An internal error.
fn internal(why: String) -> ErrorData {
    ErrorData::internal_error(why, None)
}

/// The start of a text on one line.
fn clipped(text: &str, most: usize) -> String {
    ellipsize(&one_line(&escape_hidden(text)), most)
}

/// The media type of a file name.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).as_deref() {
        Some("md") => "text/markdown",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "application/yaml",
        Some("html" | "htm") => "text/html",
        Some("csv") => "text/csv",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("svg") => "image/svg+xml",
        Some("webp") => "image/webp",
        Some("mp3") => "audio/mpeg",
        Some("wav") => "audio/wav",
        Some("ogg" | "oga") => "audio/ogg",
        Some("flac") => "audio/flac",
        Some("m4a") => "audio/mp4",
        Some("pdf") => "application/pdf",
        Some("py") => "text/x-python",
        Some("sh") => "text/x-shellscript",
        Some("zip" | "gz" | "xlsx" | "docx" | "pptx" | "ttf" | "woff2") => "application/octet-stream",
        _ => "text/plain",
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        let mut extensions = ExtensionCapabilities::new();
        extensions.insert(skills::EXTENSION.to_owned(), Map::from_iter([("directoryRead".to_owned(), json!(true))]));
        capabilities.extensions = Some(extensions);
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("maestro", self.parts.version.clone()).with_title("Maestro"))
            .with_instructions(self.instructions(false))
    }

    /// The first answer of the earlier protocol. The client's folders are not known yet.
    #[allow(deprecated, reason = "clients of the earlier protocol may ask for log messages")]
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        answer.capabilities.logging = Some(Map::new());
        Ok(answer.with_instructions(self.instructions(request.capabilities.roots.is_some())))
    }

    #[allow(deprecated, reason = "clients of the earlier protocol ask for log messages this way")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.link.log.set_level(request.level);
        Ok(())
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if self.parts.directory.look_again(&context.peer).await {
            self.parts.changes.ring();
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.parts.directory.settle(&context).await;
        let offer = self.skills().tool_set().await.map_err(internal)?;
        let client = context.client_info();
        let frame = ToolFrame::of_client(client.as_ref().map_or("", |client| client.name.as_str()));
        let mut tools = offer.tools(frame).to_vec();
        if self.has_task(&ToolCaller::of(&context.extensions)) {
            tools.extend(tools::worker_tools());
        }
        let result = ListToolsResult::with_all_items(tools);
        Ok(result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.parts.directory.settle(&context).await;
        tools::call(self, request, &context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.parts.directory.settle(&context).await;
        let cursor = request.and_then(|request| request.cursor);
        prompts::list(self.skills(), cursor.as_deref()).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.parts.directory.settle(&context).await;
        prompts::get(self.skills(), request, &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.parts.directory.settle(&context).await;
        prompts::complete(self.skills(), &request).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.parts.directory.settle(&context).await;
        let cursor = request.and_then(|request| request.cursor);
        let catalogue = self.skills().own_skills().await.map_err(internal)?.catalogue;
        resources::list(&catalogue, cursor.as_deref())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.parts.directory.settle(&context).await;
        resources::read(self, &ToolCaller::of(&context.extensions), &request.uri, SkillLookup::Fresh)
            .await
            .map(Into::into)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.parts.directory.settle(&context).await;
        skills::answer(self.skills(), request).await
    }

    #[allow(deprecated, reason = "clients of the earlier protocol subscribe this way")]
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.parts.directory.settle(&context).await;
        self.link.watched.add(self, ToolCaller::of(&context.extensions), request.uri, context.peer).await
    }

    #[allow(deprecated, reason = "and end it this way")]
    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.link.watched.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.supported_by(&self.get_info().capabilities);
        if let Some(addresses) = &mut accepted.resource_subscriptions {
            addresses.truncate(watches::MOST);
        }
        Some(accepted)
    }

    /// Notifies a client of the current protocol that subscribed to changes.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let who = ToolCaller::of(&context.request_context().extensions);
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        tokio::select! {
            () = context.cancelled() => {}
            () = notify_lists(&self.parts.changes, &context) => {}
            () = watches::notify(self, &who, &uris, context.sink()) => {}
        }
        Ok(())
    }

    /// Notifies a client of the earlier protocol, which need not subscribe, while it is connected.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // The client may send this several times; one subscription is enough.
        if !self.link.notified.swap(true, Ordering::Relaxed) {
            tokio::spawn(notify_changes(self.parts.changes.clone(), context.peer));
        }
    }
}

/// Notifies a listener of changed lists, as far as it subscribed to them.
async fn notify_lists(changes: &SkillChanges, context: &SubscriptionContext) {
    let (mut changes, wanted, sink) = (changes.listen(), context.accepted(), context.sink());
    while changes.changed().await.is_ok() {
        // A send error means that the client disconnected, and nothing waits for this.
        if wanted.tools_list_changed == Some(true) {
            let _ = sink.notify_tool_list_changed().await;
        }
        if wanted.prompts_list_changed == Some(true) {
            let _ = sink.notify_prompt_list_changed().await;
        }
        if wanted.resources_list_changed == Some(true) {
            let _ = sink.notify_resource_list_changed().await;
        }
    }
}

async fn notify_changes(changes: SkillChanges, peer: Peer<RoleServer>) {
    let mut changes = changes.listen();
    while !peer.is_transport_closed() {
        match tokio::time::timeout(STILL_THERE, changes.changed()).await {
            Err(_) => {}
            Ok(Err(_)) => return,
            Ok(Ok(())) => {
                let tools = peer.notify_tool_list_changed().await;
                let prompts = peer.notify_prompt_list_changed().await;
                let resources = peer.notify_resource_list_changed().await;
                if tools.and(prompts).and(resources).is_err() {
                    return;
                }
            }
        }
    }
}
