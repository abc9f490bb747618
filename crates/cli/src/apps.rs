//! The applications that the program hosts: what each lets the engine run, and what it brings to the server.

use turnwise::{Engine, Job as _};
use turnwise_server::Application;

use crate::settings::Settings;

/// Lets the engine work for every application.
pub(crate) fn register(engine: &Engine, settings: &Settings) {
    turnwise_forge::register(engine, &settings.forge);
}

/// What every application brings to the server.
pub(crate) fn applications(engine: &Engine, settings: &Settings) -> Vec<Application> {
    vec![turnwise_forge::application(engine, &settings.forge)]
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
