//! Subscriptions of clients to changes of resources.
//!
//! Tasks and runs are followed by their events. Skills are on the disk and polled. Only different contents are reported.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use maestro_api::ChangeWatch;
use maestro_api::events::EventQuery;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::SubscriptionSink;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::McpHandler;
use super::address::ResourceAddress;
use super::client::ToolCaller;
use super::resources::{self, SkillLookup};

/// How often a skill is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How often a quiet subscription checks that its client is still there.
const STILL_THERE: Duration = Duration::from_mins(1);
/// How many addresses one client may subscribe to.
pub(super) const MOST: usize = 100;

/// The subscriptions of a client of the earlier protocol. They end with the client.
#[derive(Default)]
pub(super) struct WatchedResources(Mutex<BTreeMap<String, AbortHandle>>);

impl WatchedResources {
    /// Subscribes to an address, from now on. It may not exist yet.
    pub(super) async fn add(
        &self,
        mcp: &McpHandler,
        who: ToolCaller,
        uri: String,
        peer: Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mcp = mcp.for_client();
        let now = content_hash(&mcp, &who, &uri).await;
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.contains_key(&uri) {
            return Ok(());
        }
        if watched.len() >= MOST {
            return Err(ErrorData::invalid_params(format!("{MOST} addresses are watched already"), None));
        }
        let watch = watch(mcp, who, uri.clone(), now, peer);
        watched.insert(uri, tokio::spawn(watch).abort_handle());
        Ok(())
    }

    /// Ends a subscription.
    pub(super) fn remove(&self, uri: &str) {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
        watched.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for WatchedResources {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(AbortHandle::abort);
    }
}

/// What says that an address may have different contents.
enum ResourceChanges {
    /// The events of a task or a run.
    Events(Box<ChangeWatch>),
    /// Time, since a skill is on the disk.
    Disk,
}

impl ResourceChanges {
    async fn of(mcp: &McpHandler, who: &ToolCaller, uri: &str) -> Self {
        let query = match ResourceAddress::parse(uri) {
            Some(ResourceAddress::Task(task)) => EventQuery { task_id: Some(task.into()), ..EventQuery::default() },
            Some(ResourceAddress::Run(run) | ResourceAddress::RunLog { id: run, .. }) => {
                EventQuery { run_id: Some(run.to_string()), ..EventQuery::default() }
            }
            Some(ResourceAddress::Skill { .. }) | None => return Self::Disk,
        };
        mcp.api().watch(who, query).await.map_or(Self::Disk, |events| Self::Events(Box::new(events)))
    }

    async fn changed(&mut self) {
        match self {
            Self::Events(events) => events.changed().await,
            Self::Disk => sleep(LOOK).await,
        }
    }
}

/// Notifies a client of an address with different contents, until it disconnects.
async fn watch(mcp: McpHandler, who: ToolCaller, uri: String, mut last: Option<u64>, peer: Peer<RoleServer>) {
    let mut changes = ResourceChanges::of(&mcp, &who, &uri).await;
    while !peer.is_transport_closed() {
        if timeout(STILL_THERE, changes.changed()).await.is_err() {
            continue;
        }
        let now = content_hash(&mcp, &who, &uri).await;
        if now != last {
            last = now;
            if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(&*uri)).await.is_err() {
                return;
            }
        }
    }
}

/// Notifies a listener of each of these addresses with different contents, until the future is dropped.
pub(super) async fn notify(mcp: &McpHandler, who: &ToolCaller, uris: &[String], sink: &SubscriptionSink) {
    let each = uris.iter().map(|uri| async move {
        let mut last = content_hash(mcp, who, uri).await;
        let mut changes = ResourceChanges::of(mcp, who, uri).await;
        loop {
            changes.changed().await;
            let now = content_hash(mcp, who, uri).await;
            if now != last {
                last = now;
                // A send error means that the client disconnected, and nothing waits for this.
                let _ = sink.notify_resource_updated(uri.clone()).await;
            }
        }
    });
    let _: Vec<Infallible> = join_all(each).await;
    std::future::pending::<()>().await;
}

/// The hash of an address's contents; nothing where it does not exist.
async fn content_hash(mcp: &McpHandler, who: &ToolCaller, uri: &str) -> Option<u64> {
    let debug = |error: &_| tracing::debug!(uri, "it cannot be read now: {error}");
    let read = resources::read(mcp, who, uri, SkillLookup::Known).await.inspect_err(debug).ok()?;
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&read.contents).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}
