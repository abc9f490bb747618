//! The applications that stand on the engine: their handlers, and what they bring to the server.

use turnwise::Engine;
use turnwise_bingo::{Bingo, Settings};
use turnwise_server::Application;

use crate::settings::Slots;

/// The applications of an engine. Their handlers work as long as this is kept: drop it before the engine is closed.
pub(crate) struct Apps {
    bingo: Bingo,
}

impl Apps {
    /// Registers the handlers of every application.
    pub(crate) fn register(engine: &Engine, slots: &Slots) -> Apps {
        let share = slots.named("bingo");
        let settings = Settings {
            slots: share.map(|share| share.least),
            cap: share.and_then(|share| share.most),
            ..Settings::default()
        };
        Apps { bingo: Bingo::register(engine, settings) }
    }

    /// What they bring to a server.
    pub(crate) fn applications(&self) -> Vec<Application> {
        vec![turnwise_bingo::application(&self.bingo)]
    }
}
