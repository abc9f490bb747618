//! The tokens that are accepted: the one in the file, and those in the store, looked up again from time to time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use turnwise::{Engine, Error, Name, Scope, Time, Token};

use super::Caller;
use super::secret::Secret;
use crate::clock;

/// A token that was made or revoked through another node is known here after this time at the latest.
const FRESH: Duration = Duration::from_secs(2);

/// The name of the token in the file.
pub(crate) const ROOT: &str = "root";

/// Tokens by digest.
pub(crate) struct Ring {
    root: Arc<Caller>,
    /// Signs cookies: it changes with the root token.
    key: [u8; 32],
    known: Mutex<Known>,
    /// One look at the store at a time.
    looking: tokio::sync::Mutex<()>,
}

/// By digest, each with its end.
type Tokens = HashMap<[u8; 32], (Arc<Caller>, Option<Time>)>;

#[derive(Default)]
struct Known {
    tokens: Arc<Tokens>,
    looked: Option<Instant>,
}

impl Ring {
    pub(crate) fn new(root: &Secret) -> Self {
        let caller = Caller {
            name: Name::new(ROOT).expect("a fixed name is valid"),
            scopes: Scope::ALL.into_iter().collect(),
            owners: None,
            hash: root.hash(),
        };
        let key = super::secret::digest(&format!("cookie {}", root.reveal()));
        Ring { root: Arc::new(caller), key, known: Mutex::default(), looking: tokio::sync::Mutex::default() }
    }

    /// What cookies are signed with.
    pub(crate) fn key(&self) -> &[u8; 32] {
        &self.key
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose token has this digest, if anybody's.
    pub(crate) async fn find(&self, engine: &Engine, hash: &[u8; 32]) -> Result<Option<Arc<Caller>>, Error> {
        if *hash == self.root.hash {
            return Ok(Some(self.root.clone()));
        }
        if !self.is_fresh() {
            let looking = self.looking.lock().await;
            // Whoever waited finds what another has looked up.
            if !self.is_fresh() {
                self.look(engine).await?;
            }
            drop(looking);
        }
        let tokens = self.lock().tokens.clone();
        let Some((caller, until)) = tokens.get(hash) else { return Ok(None) };
        Ok(until.is_none_or(|until| until > clock::now()).then(|| caller.clone()))
    }

    /// The tokens have changed: the next one who asks looks again.
    pub(crate) fn forget(&self) {
        self.lock().looked = None;
    }

    fn is_fresh(&self) -> bool {
        self.lock().looked.is_some_and(|looked| looked.elapsed() < FRESH)
    }

    async fn look(&self, engine: &Engine) -> Result<(), Error> {
        let began = Instant::now();
        let found = engine.tokens().await?;
        let tokens = found.into_iter().map(|token| {
            let Token { name, hash, scopes, owners, until, .. } = token;
            let scopes: BTreeSet<Scope> = scopes;
            (hash, (Arc::new(Caller { name, scopes, owners, hash }), until))
        });
        *self.lock() = Known { tokens: Arc::new(tokens.collect()), looked: Some(began) };
        Ok(())
    }
}
