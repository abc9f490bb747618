//! What is in force in this process, and what applications add to the dashboard.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Answer;
use crate::access::Caller;
use crate::problem::Problems;
use crate::state::{Application, Setting, Shared};

/// The settings in force.
#[derive(Serialize, ToSchema)]
pub(crate) struct Settings {
    settings: Vec<Setting>,
}

/// See the settings in force, without secrets.
#[utoipa::path(get, path = "/api/v1/settings", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Settings), Problems))]
pub(crate) async fn settings(State(server): State<Arc<Shared>>, caller: Caller) -> Answer<Settings> {
    caller.must_be_free()?;
    Ok(Json(Settings { settings: server.settings.clone() }))
}

/// What applications add.
#[derive(Serialize, ToSchema)]
pub(crate) struct Pages {
    pages: Vec<Application>,
}

/// List the pages that applications add to the dashboard.
#[utoipa::path(get, path = "/api/v1/pages", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Pages), Problems))]
pub(crate) async fn pages(State(server): State<Arc<Shared>>) -> Answer<Pages> {
    Ok(Json(Pages { pages: server.applications.clone() }))
}
