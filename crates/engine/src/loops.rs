//! The loops: thin shells that wait for something and call the flow.

pub(crate) mod lease;
pub(crate) mod member;
pub(crate) mod scheduler;
pub(crate) mod sweep;
pub(crate) mod worker;

use tokio::sync::watch;

/// Ends when something was said, or when nobody is left who could say it.
pub(crate) async fn said(word: &mut watch::Receiver<bool>) {
    // A closed channel counts as said.
    let _ = word.wait_for(|said| *said).await;
}
