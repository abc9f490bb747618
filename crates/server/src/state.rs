//! What every request has at hand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use turnwise::Engine;
use utoipa::ToSchema;

use crate::access::crowd::Crowd;
use crate::access::ring::Ring;
use crate::access::secret::Secret;
use crate::application::Application;
use crate::live::Live;
use crate::workers::Workers;

/// The longest that an answer is held back for something to happen; less than a request may take.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// What a server is made of.
pub struct Options {
    /// The engine that it speaks for.
    pub engine: Engine,
    /// The token that may do everything: it is kept in a file, not in the store.
    pub root: Secret,
    /// Where it listens.
    pub address: SocketAddr,
    /// Names beside those of this machine that requests may ask for, such as that of a proxy in front.
    pub hosts: Vec<String>,
    /// Which submissions this process takes.
    pub admission: Admission,
    /// The settings in force, to be shown.
    pub settings: Vec<Setting>,
    /// `embedded` or `fleet`, to be shown.
    pub profile: &'static str,
    /// What stands on the engine, with its routes and pages.
    pub applications: Vec<Application>,
    /// Said when the process stops: whoever waits for something gets an answer now.
    pub closing: watch::Receiver<bool>,
}

/// Which submissions a process takes, beyond what the engine itself refuses.
#[derive(Clone)]
pub struct Admission {
    /// Kinds that are off, each with what turns it on.
    pub off: Vec<(&'static str, &'static str)>,
    /// Looks at the payload of a kind before it is accepted: what is wrong with it, if anything is.
    pub check: fn(&str, &Value) -> Result<(), String>,
}

impl Default for Admission {
    /// Everything is taken.
    fn default() -> Self {
        Admission { off: Vec::new(), check: |_, _| Ok(()) }
    }
}

/// A setting in force. Secrets are hidden before they come here.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value, as it may be shown.
    pub value: String,
    /// Where it was said: `default`, `file`, `environment` or `flag`, perhaps with more.
    pub from: String,
}

/// A server for one engine. Cheap to clone.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) ring: Ring,
    pub(crate) crowd: Crowd,
    pub(crate) live: Arc<Live>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) address: SocketAddr,
    pub(crate) hosts: Vec<String>,
    pub(crate) admission: Admission,
    pub(crate) settings: Vec<Setting>,
    pub(crate) profile: &'static str,
    pub(crate) applications: Vec<Application>,
    pub(crate) closing: watch::Receiver<bool>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.0.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Makes one. It answers when it is [served](crate::serve).
    pub fn new(options: Options) -> Self {
        let Options { engine, root, address, hosts, admission, settings, profile, applications, closing } =
            options;
        Server(Arc::new(Shared {
            ring: Ring::new(&root),
            crowd: Crowd::default(),
            live: Arc::new(Live::new(engine.clone(), closing.clone())),
            workers: Arc::default(),
            engine,
            address,
            hosts,
            admission,
            settings,
            profile,
            applications,
            closing,
        }))
    }
}

impl Shared {
    /// How long to hold an answer back: what was asked for within the limit, and no longer than the process runs.
    pub(crate) async fn patience(&self, wait_ms: Option<u64>) {
        let wait = Duration::from_millis(wait_ms.unwrap_or(0)).min(WAIT);
        let mut closing = self.closing.clone();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // An error means that the process is going as well.
            _ = closing.wait_for(|closing| *closing) => {}
        }
    }
}
