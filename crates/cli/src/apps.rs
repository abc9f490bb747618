//! The applications that the program hosts: what each lets the engine run, and what it brings to the server.

use turnwise::{Engine, Job as _};
use turnwise_bingo::Bingo;
use turnwise_server::Application;

use crate::settings::Settings;

/// The applications of an engine. Their handlers work as long as this is kept: drop it before the engine is closed.
pub(crate) struct Apps {
    bingo: Bingo,
}

impl Apps {
    /// Lets the engine work for every application.
    pub(crate) fn register(engine: &Engine, settings: &Settings) -> Apps {
        turnwise_forge::register(engine, &settings.forge);
        let share = settings.slots.named("bingo");
        let bingo = turnwise_bingo::Settings {
            slots: share.map(|share| share.least),
            cap: share.and_then(|share| share.most),
            ..turnwise_bingo::Settings::default()
        };
        Apps { bingo: Bingo::register(engine, bingo) }
    }

    /// What every application brings to the server.
    pub(crate) fn applications(&self, engine: &Engine, settings: &Settings) -> Vec<Application> {
        vec![turnwise_bingo::application(&self.bingo), turnwise_forge::application(engine, &settings.forge)]
    }
}

/// Looks at the payload of an application's kind before it is accepted.
pub(crate) fn check(kind: &str, payload: &serde_json::Value) -> Result<(), String> {
    match kind {
        turnwise_forge::Generate::KIND => {
            Err(format!("jobs of kind `{kind}` are made from requests: use `turnwise forge submit FILE`"))
        }
        _ => crate::builtin::check(kind, payload),
    }
}
