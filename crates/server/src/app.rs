//! State shared by all requests.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use maestro_core::Event;
use maestro_core::agent::spawn::AgentEndpoints;
use maestro_engine::daemon::{Daemon, EventRetention, Maintenance, RunDriverOptions, RunDriverPool};
use maestro_engine::identity::ProcessIdentity;
use maestro_engine::runs::RunEngine;
use maestro_engine::worker::AgentWorker;
use maestro_engine::{ExecutionHost, Host};
use maestro_store::{AutomaticBackups, Clock, HostKind, RunHost, RunRecord, RunsOfHost, Store, StoreError};
use tokio::sync::watch;

use crate::live::{EventFeed, SocketHub};
use crate::metrics::ServerMetrics;
use crate::page_memory::PageMemory;
use crate::request_limits::RequestLimits;
use crate::sign_in_state::SignInState;
use crate::skill_changes::SkillChanges;

/// Who may call over the network, or within the process, without showing a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessPolicy {
    /// Every caller. So it is for a command that opened the database itself.
    Open,
    /// No caller. A stored token must be sent, or this one, which is the server's own.
    Token(Option<String>),
}

/// What a server is started with.
pub struct ServerOptions {
    /// Where everything is stored.
    pub store: Store,
    /// Who may call without a token.
    pub access: AccessPolicy,
    /// Host names, beside the loopback ones, by which the server may be called.
    pub hosts: Vec<String>,
    /// A text that no other server has, so that a client knows whom it reached.
    pub instance: String,
    /// What tells this server from others on the machine, also after a restart.
    pub site: String,
    /// The server's address, as browsers on this machine open it.
    pub url: String,
    /// The server's address, as phones in the same network open it; nothing where they cannot.
    pub phone: Option<String>,
    /// Which Maestro this is.
    pub version: String,
    /// The name of this machine.
    pub hostname: String,
    /// The clock.
    pub clock: Clock,
    /// What becomes of the old events of finished things.
    pub retention: EventRetention,
    /// The automatic backups of the database, where it is a file and this process is its server.
    pub backups: Option<AutomaticBackups>,
    /// The program around the server.
    pub host: Arc<dyn Host>,
    /// Where the programs of agents find Maestro.
    pub endpoints: AgentEndpoints,
    /// How long this process carries runs on; nothing where it carries none on.
    pub hosting: Option<HostKind>,
    /// What is needed to execute what runs order; without it only callers do.
    pub execution: Option<Arc<ExecutionHost>>,
    /// The dependencies of the MCP server; without them there is none.
    pub mcp: Option<McpSite>,
}

/// What the MCP server of a server is started with.
pub struct McpSite {
    /// The default directory for skills and runs, where no project is named.
    pub directory: PathBuf,
    /// Signals changed skills.
    pub changes: SkillChanges,
}

/// What all requests have at hand: one pointer, since each request copies it several times.
#[derive(Clone)]
pub struct AppState(Arc<AppParts>);

/// The parts of an app.
pub struct AppParts {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) hub: Arc<SocketHub>,
    /// Becomes true when the server ends, so that streams end too.
    pub(crate) closing: watch::Sender<bool>,
    pub(crate) facts: Arc<ServerFacts>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) metrics: Arc<ServerMetrics>,
    pub(crate) runs: RunEngine,
    pub(crate) drivers: RunDriverPool,
    pub(crate) sign_in: Arc<SignInState>,
    pub(crate) limits: Arc<RequestLimits>,
    pub(crate) page: Arc<PageMemory>,
    /// What is needed to execute something; nothing where only callers execute.
    pub(crate) execution: Option<Arc<ExecutionHost>>,
}

/// What does not change while the server runs.
pub(crate) struct ServerFacts {
    pub(crate) access: AccessPolicy,
    pub(crate) hosts: Vec<String>,
    pub(crate) instance: String,
    /// What tells this server from others on the machine, also after a restart.
    pub(crate) site: String,
    pub(crate) url: String,
    pub(crate) phone: Option<String>,
    /// The name of the cookie of browsers that signed in. Browsers keep one jar for all ports of a host.
    pub(crate) cookie: String,
    pub(crate) version: String,
    pub(crate) hostname: String,
    pub(crate) endpoints: AgentEndpoints,
    pub(crate) started: Instant,
    pub(crate) retention: EventRetention,
    pub(crate) backups: Option<AutomaticBackups>,
    pub(crate) mcp: Option<McpSite>,
}

impl Deref for AppState {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl AppState {
    /// An app without callers yet.
    pub fn new(options: ServerOptions) -> Self {
        let facts = ServerFacts {
            access: options.access,
            hosts: options.hosts,
            cookie: cookie_name(&options.site),
            site: options.site,
            url: options.url,
            phone: options.phone,
            instance: options.instance,
            version: options.version,
            hostname: options.hostname,
            endpoints: options.endpoints,
            started: Instant::now(),
            retention: options.retention,
            backups: options.backups,
            mcp: options.mcp,
        };
        let process = ProcessIdentity::of_this_process().as_str().to_owned();
        let host = options.hosting.map(|kind| RunHost { kind, process });
        let runs = RunEngine::of(options.store.clone()).hosted_by(host);
        let metrics = Arc::new(ServerMetrics::default());
        let execution = options.execution.clone();
        let drivers = RunDriverPool::new(RunDriverOptions {
            store: options.store.clone(),
            runs: runs.clone(),
            clock: Arc::clone(&options.clock),
            execution: options.execution,
            around: facts.endpoints.clone(),
            hostname: facts.hostname.clone(),
            observer: {
                let (metrics, host) = (Arc::clone(&metrics), Arc::clone(&options.host));
                Arc::new(move |event| {
                    metrics.observe(event);
                    host.log_event(event);
                })
            },
        });
        let feed = Arc::new(EventFeed::new(options.store.clone()));
        let hub = SocketHub::new(options.store.clone(), Arc::clone(&options.clock), Arc::clone(&feed));
        Self(Arc::new(AppParts {
            runs,
            drivers,
            feed,
            hub: Arc::new(hub),
            store: options.store,
            clock: options.clock,
            closing: watch::Sender::new(false),
            facts: Arc::new(facts),
            host: options.host,
            metrics,
            sign_in: Arc::default(),
            limits: Arc::default(),
            page: Arc::default(),
            execution,
        }))
    }

    /// What works in the background for this app.
    pub fn daemon(&self, worker: Option<AgentWorker>) -> Daemon {
        let health = self.drivers.health();
        let worker = worker.map(|worker| AgentWorker { health: health.clone(), ..worker });
        Daemon { maintenance: self.maintenance(), worker }
    }

    /// Takes over the runs of servers that are gone. Returns these, and those that wait for a person because their
    /// commands are gone.
    pub async fn adopt_runs(&self) -> Result<(Vec<RunRecord>, Vec<RunRecord>), StoreError> {
        Ok((self.runs.adopt_left().await?, self.runs.left_by_commands().await?))
    }

    /// Whether this process carries any run on. Where that cannot be read, it may.
    pub async fn carries_runs(&self) -> bool {
        let own = self.runs.host().cloned();
        self.store.read(RunsOfHost(own)).await.map_or(true, |runs| !runs.is_empty())
    }

    /// What is done beside all requests, even where no agents are started.
    pub fn maintenance(&self) -> Maintenance {
        Maintenance {
            store: self.store.clone(),
            runs: self.runs.clone(),
            clock: Arc::clone(&self.clock),
            retention: self.facts.retention,
            backups: self.facts.backups.clone(),
            drivers: self.drivers.clone(),
        }
    }

    /// Counts what happened to skills, and has it written down.
    pub(crate) fn record_skill_events(&self, event: &Event) {
        self.metrics.observe(event);
        self.host.log_event(event);
    }
}

/// The cookie of one server: those of others on the same machine have other names.
fn cookie_name(site: &str) -> String {
    let word: String = site.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("maestro_{word}")
}
